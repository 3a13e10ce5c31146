// stats.csv: a row for each step, whole rows only.
#pragma once
#include "brim/brim.h"
#include "io/rows.h"

typedef struct StatsColumn {
    const char *name;
    size_t offset; ///< in BrimStats
    bool count;    ///< int64_t, else double
} StatsColumn;

/// NULL past the last.
const StatsColumn *stats_column(int index);

/// Opens the file for rows after `step`: keeps the rows up to it, cuts the later ones and a torn
/// last line. A file that does not exist is begun with its header row. The file is replaced only
/// when complete. Columns that an older version did not write read as not a number in its rows.
/// BRIM_ERROR_INPUT when the file is none of Brim's, BRIM_ERROR_DAMAGED when rows up to `step` are
/// missing; one that was begun at a later checkpoint may lack all of them.
BrimResult stats_open(const char *path, int64_t step, RowsFile **file, BrimError *error);
/// Appends a row; on failure the file ends as it did before.
BrimResult stats_append(RowsFile *file, const BrimStats *stats, BrimError *error);
