// Runs that are already on disk: statistics and scene of a folder.
#pragma once
#include "cli.h"

typedef struct Run {
    char *folder;     ///< without trailing slashes; of a stats.csv by name: where it lies
    char *label;      ///< in legends
    BrimTable stats;  ///< at least one row
    char *record;     ///< run.json as text; NULL when there is none
    BrimScene *scene; ///< NULL when there is no run.json
} Run;

/// Reads DIR/stats.csv (or a stats.csv by name) and DIR/run.json. Reports what is wrong; returns
/// the exit code.
int run_open(Run *run, const char *path);
void run_close(Run *run);
/// Labels for a legend: the last parts of the paths, or the whole paths when these are alike.
int run_labels(Run *runs, int count);
/// Last value of a column, NaN when there is none.
double run_last(const Run *run, const char *column);

/// Numbers of the frames in FOLDER/particles, ascending, in new memory.
int run_frames(const Run *run, int **frames, int *count);
