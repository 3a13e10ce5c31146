// gauges/NAME.csv: a row for each sample of a gauge, or for each step.
//
// Gauges are read at the ends of steps; samples in between are linear in time. Steps stay as they
// are. What there is at the start of a step is read off the simulation again after a resume, so
// the rows that follow are the same.
#pragma once
#include "brim/brim.h"

typedef struct GaugeFiles GaugeFiles;

/// Opens FOLDER/gauges/NAME.csv of all gauges for rows after the simulation's time: keeps the rows
/// up to it, cuts the later ones. A file that is not there is begun with its header. `def` is the
/// one that the simulation was made with. BRIM_ERROR_INPUT when a file is none of this gauge's,
/// BRIM_ERROR_DAMAGED when rows are missing.
BrimResult gauge_files_open(const char *folder, const BrimSim *sim, const BrimSimDef *def,
                            GaugeFiles **files, BrimError *error);
/// Appends the rows of the step that ended; those that have it already are passed over, so that a
/// call that failed can be repeated.
BrimResult gauge_files_append(GaugeFiles *files, const BrimSim *sim, BrimError *error);
BrimResult gauge_files_sync(GaugeFiles *files, BrimError *error);
void gauge_files_close(GaugeFiles **files);
