// The stages of a step as a table: what runs when, what it reads and writes, which column of the
// statistics it counts in.
#pragma once
#include "brim/brim.h"
#include "step/field_table.h"

typedef struct Stage {
    StageId id;
    const char *name;                                ///< for messages
    BrimStage column;                                ///< of the statistics
    BrimResult (*run)(BrimSim *s, BrimError *error); ///< an error loses the simulation
    bool (*when)(const BrimSim *s);                  ///< NULL: always
    const char *reads,
        *writes; ///< names of fields; what is written may be read. The sort moves all
} Stage;

/// The row of a stage of a simulation, or for NULL on a regular grid; NULL at rest.
const Stage *stage_of(const BrimSim *s, StageId id);
