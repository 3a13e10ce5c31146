// A CSV file that a run appends to: whole rows only.
#pragma once
#include "brim/brim.h"

typedef struct RowsFile RowsFile;

/// Opens a file that is there, to append to.
BrimResult rows_open(const char *path, RowsFile **file, BrimError *error);
/// Appends whole rows; on failure the file ends as it did before.
BrimResult rows_append(RowsFile *file, const char *text, size_t bytes, BrimError *error);
/// Makes the rows durable.
BrimResult rows_sync(RowsFile *file, BrimError *error);
void rows_close(RowsFile **file);
