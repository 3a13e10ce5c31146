// Picks what to measure: bench [NAME...]; without a name all but threads and the river, which are
// long.
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Item {
    const char *name;
    void (*run)(Report *);
    bool on_request; ///< only when named
    const char *help;
} Item;

static const Item ITEMS[] = {
    {"bandwidth", bench_bandwidth, false, "memory bandwidth of the machine"},
    {"step", bench_step, false, "time of a whole step by stage, and what threads gain"},
    {"whole", bench_whole, false, "time of a step over a whole scene"},
    {"density", bench_density, false, "what the density projection adds to a step"},
    {"band", bench_band, false, "what the narrow band costs and saves"},
    {"memory", bench_memory, false, "bytes per particle in a box mostly full"},
    {"empty", bench_empty, false, "what the empty part of a box costs"},
    {"linear", bench_linear, false, "time per particle at 1 and at 8 million"},
    {"pressure", bench_pressure, false, "iterations and time of the solver by resolution"},
    {"threads", bench_threads, true, "what threads gain, also beside busy programs"},
    {"river", bench_river, true, "the river at 1600 x 400 x 800 cells (long)"},
};
enum { ITEM_COUNT = sizeof ITEMS / sizeof *ITEMS };

int core_count(void) {
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static bool named(const Item *item, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], item->name) == 0) return true;
    return argc < 2 && !item->on_request;
}

static bool known(const char *name) {
    for (int i = 0; i < ITEM_COUNT; i++)
        if (strcmp(name, ITEMS[i].name) == 0) return true;
    return false;
}

static int usage(const char *wrong) {
    fprintf(stderr, "bench: no such measurement: %s\nusage: bench [NAME...]\n", wrong);
    for (int i = 0; i < ITEM_COUNT; i++)
        fprintf(stderr, "  %-10s %s\n", ITEMS[i].name, ITEMS[i].help);
    return 2;
}

int main(int argc, char **argv) {
    char suffix[256] = "";
    for (int i = 1; i < argc; i++) {
        if (!known(argv[i])) return usage(argv[i]);
        size_t used = strlen(suffix);
        snprintf(suffix + used, sizeof suffix - used, "-%s", argv[i]);
    }
    Report *report = report_open(suffix);
    for (int i = 0; i < ITEM_COUNT; i++)
        if (named(&ITEMS[i], argc, argv)) ITEMS[i].run(report);
    report_close(report);
    return 0;
}
