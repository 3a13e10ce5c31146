#include "base/team.h"
#include "bench.h"
#include <stdlib.h>

/// Doubles in each of the three arrays: 3 x 512 MiB, beyond the caches of large servers.
static const size_t COUNT = (size_t)64 << 20;
enum { RUNS = 8 };

/// Arrays of which each thread has its parts.
typedef struct Triad {
    double *a, *b, *c;
} Triad;

enum { PART = 1 << 16 };

static void fill_part(void *context, int index, int thread) {
    const Triad *t = context;
    for (size_t i = (size_t)index * PART, end = i + PART; i < end; i++)
        t->a[i] = 0, t->b[i] = 1, t->c[i] = 2;
}

static void add_part(void *context, int index, int thread) {
    const Triad *t = context;
    double *a = t->a, *b = t->b, *c = t->c;
    for (size_t i = (size_t)index * PART, end = i + PART; i < end; i++) a[i] = b[i] + 0.5 * c[i];
}

static void run_triad(const void *argument, void *result) {
    Team *team = team_new(*(const int *)argument);
    double *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b),
           *c = malloc(COUNT * sizeof *c);
    if (!a || !b || !c) give_up("no memory to measure the bandwidth");
    Triad triad = {a, b, c};
    team_for(team, (int)(COUNT / PART), 1, fill_part, &triad);

    double best = 0;
    for (int run = 0; run < RUNS; run++) {
        double start = now_ms();
        team_for(team, (int)(COUNT / PART), 1, add_part, &triad);
        double rate = 3e3 * sizeof *a * (double)COUNT / (now_ms() - start);
        if (rate > best) best = rate;
    }
    if (a[COUNT / 2] != 2) give_up("the bandwidth measurement computed nonsense");
    *(double *)result = best;
}

double measure_bandwidth(int threads) {
    double rate;
    in_child(run_triad, &threads, &rate, sizeof rate);
    return rate;
}

void bench_bandwidth(Report *report) {
    report_row(report, (Row){"bandwidth", "triad, 1 thread", "rate", 1e-9 * measure_bandwidth(1),
                             "GB/s", WANT_NOTHING, 0});
    report_row(report, (Row){"bandwidth", "triad, all threads", "rate",
                             1e-9 * measure_bandwidth(core_count()), "GB/s", WANT_NOTHING, 0});
}
