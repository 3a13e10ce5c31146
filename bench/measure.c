#include "bench.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

void give_up(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "bench: ");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

/// Resident memory of this process now, bytes.
static int64_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) give_up("cannot read /proc/self/statm");
    fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void read_all(int fd, void *to, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, (char *)to + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) give_up("a measurement ended without a result");
        done += (size_t)n;
    }
}

static void write_all(int fd, const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)from + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) give_up("cannot hand over a result: %s", strerror(errno));
        done += (size_t)n;
    }
}

int64_t in_child(void (*work)(const void *, void *), const void *argument, void *result,
                 size_t size) {
    int ends[2];
    if (pipe(ends) != 0) give_up("pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) give_up("fork: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        int64_t before = resident_bytes();
        work(argument, result);
        write_all(ends[1], result, size);
        write_all(ends[1], &before, sizeof before);
        _exit(0);
    }
    close(ends[1]);
    int64_t before;
    read_all(ends[0], result, size);
    read_all(ends[0], &before, sizeof before);
    close(ends[0]);
    struct rusage usage;
    int status;
    while (wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR) give_up("wait: %s", strerror(errno));
    return (int64_t)usage.ru_maxrss * 1024 - before;
}

// ------------------------------------------------------------------------------------- steps

typedef struct Plan {
    const BrimSimDef *def;
    double from;
    int steps;
} Plan;

static void run_plan(const void *argument, void *result) {
    const Plan *plan = argument;
    Steps *out = result;
    BrimError error;
    BrimSim *sim = NULL;
    if (brim_sim_create(plan->def, &sim, &error) != BRIM_OK) give_up("%s", error.message);
    // half a step early: times are sums of steps
    while (brim_sim_time(sim) < plan->from - 0.5 * plan->def->step)
        if (brim_sim_step(sim, &error) != BRIM_OK) give_up("%s", error.message);
    for (int i = 0; i < plan->steps; i++) {
        double start = now_ms();
        if (brim_sim_step(sim, &error) != BRIM_OK) give_up("%s", error.message);
        out->ms[i] = now_ms() - start;
        const BrimStats *stats = brim_sim_stats(sim);
        memcpy(out->stage_ms[i], stats->ms, sizeof stats->ms);
        out->iterations += (double)stats->iterations / plan->steps;
        if (stats->memory_bytes > out->memory_bytes) out->memory_bytes = stats->memory_bytes;
        out->particles = stats->particles;
        out->tiles = stats->tiles;
    }
    out->count = plan->steps;
    snprintf(out->isa, sizeof out->isa, "%s", brim_sim_isa_name(sim));
    brim_sim_destroy(&sim);
}

static void keep_least(double *a, double b) {
    if (b < *a) *a = b;
}

void keep_least_steps(Steps *best, const Steps *run) {
    if (best->count == 0) *best = *run;
    for (int i = 0; i < run->count; i++) {
        keep_least(&best->ms[i], run->ms[i]);
        for (int s = 0; s < BRIM_STAGE_COUNT; s++)
            keep_least(&best->stage_ms[i][s], run->stage_ms[i][s]);
    }
    if (run->peak_bytes < best->peak_bytes) best->peak_bytes = run->peak_bytes;
}

Steps measure_steps(const BrimSimDef *def, double from, int steps, int repeats) {
    Steps best = {0};
    Plan plan = {def, from, steps};
    for (int r = 0; r < repeats; r++) {
        Steps run = {0};
        run.peak_bytes = in_child(run_plan, &plan, &run, sizeof run);
        keep_least_steps(&best, &run);
    }
    return best;
}

double mean_of(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    return sum / count;
}

double least_of(const double *values, int count) {
    double least = values[0];
    for (int i = 1; i < count; i++) keep_least(&least, values[i]);
    return least;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(const double *values, int count) {
    double sorted[MAX_STEPS];
    memcpy(sorted, values, sizeof *values * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    return 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

double stage_mean(const Steps *steps, BrimStage stage) {
    double sum = 0;
    for (int i = 0; i < steps->count; i++) sum += steps->stage_ms[i][stage];
    return sum / steps->count;
}
