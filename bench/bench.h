// Speed and memory of the library, measured by `make bench`. Every measurement runs in a process of
// its own, so that peak memory is that measurement's and threads start anew.
#pragma once
#include <brim/brim.h>
#include <stdbool.h>
#include <stdint.h>

// ----------------------------------------------------------------------------- measurements

enum { MAX_STEPS = 256 };

/// What a run of consecutive steps cost. After repeated runs: the least of each entry.
typedef struct Steps {
    int count;
    double ms[MAX_STEPS];
    double stage_ms[MAX_STEPS][BRIM_STAGE_COUNT];
    double iterations;    ///< of the pressure solver, mean over steps
    int64_t particles;    ///< at the end
    int64_t tiles;        ///< at the end
    int64_t memory_bytes; ///< as the library counts it, largest of all steps
    int64_t peak_bytes;   ///< growth of the process's resident memory to its peak
    char isa[16];
} Steps;

/// Runs `def` up to time `from` (s), then measures `steps` steps; `repeats` times, each in its own
/// process. Ends the program with a message on failure: a benchmark that fails says nothing.
Steps measure_steps(const BrimSimDef *def, double from, int steps, int repeats);

/// Keeps the least of each entry; an empty `best` takes `run` as it is.
void keep_least_steps(Steps *best, const Steps *run);

/// Runs work(argument, result) in a process of its own, which fills `result` (`size` bytes).
/// Returns the growth of that process's resident memory to its peak, bytes.
int64_t in_child(void (*work)(const void *argument, void *result), const void *argument,
                 void *result, size_t size);

double mean_of(const double *values, int count);
double least_of(const double *values, int count);
double median_of(const double *values, int count);
/// Mean over the steps of one stage, ms.
double stage_mean(const Steps *steps, BrimStage stage);

double now_ms(void);
/// Says what failed and ends the program with exit code 1.
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Bytes per second of a[i] = b[i] + s * c[i] over arrays larger than any cache, best of several.
double measure_bandwidth(int threads);

// ----------------------------------------------------------------------------------- report

/// What a number ought to be: at most or at least `target`.
typedef enum Want { WANT_NOTHING, WANT_AT_MOST, WANT_AT_LEAST } Want;

typedef struct Row {
    const char *item;   ///< "step"
    const char *what;   ///< "double-dam-3d, 2 threads"
    const char *metric; ///< "time per step"
    double value;
    const char *unit;
    Want want;
    double target;
} Row;

typedef struct Report Report;

/// `suffix` goes into the name of the CSV file: "" for a whole run.
Report *report_open(const char *suffix);
void report_row(Report *report, Row row);
/// Says where the CSV is and how many targets were missed, and releases.
void report_close(Report *report);

// ------------------------------------------------------------------------------------ items

int core_count(void);

void bench_bandwidth(Report *report);
void bench_step(Report *report);
void bench_whole(Report *report);
void bench_density(Report *report);
void bench_band(Report *report);
void bench_memory(Report *report);
void bench_empty(Report *report);
void bench_linear(Report *report);
void bench_pressure(Report *report);
void bench_river(Report *report);
void bench_threads(Report *report);
