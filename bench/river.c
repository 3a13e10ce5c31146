// The river at full size, to the end of its scene: does it fit, and what does a step cost once the
// canyon is full?
#include "bench.h"
#include <stdio.h>

static const double LONGEST = 150 * 60e3; ///< wall time, ms: a slow machine reports how far it came
enum { LAST = 20 };                       ///< steps at the end that are timed

typedef struct River {
    double create_ms;  ///< from the def to the first step
    double seconds;    ///< simulated
    double volume;     ///< least of all steps, relative
    int64_t particles; ///< most of all steps
    int64_t tiles, memory_bytes;
    double step_ms;                    ///< least of the last steps
    double stage_ms[BRIM_STAGE_COUNT]; ///< of the last step
    int64_t steps;
} River;

static void show_progress(const BrimStats *s) {
    if (s->step % 10 == 1)
        fprintf(stderr, "river: step %lld, %.2f s, %.2f M particles, %.0f ms, %.2f GiB\n",
                (long long)s->step, s->time, 1e-6 * (double)s->particles, s->ms_total,
                (double)s->memory_bytes / (1 << 30));
}

static void run_river(const void *argument, void *result) {
    const BrimSimDef *def = argument;
    River *out = result;
    BrimError error;
    BrimSim *sim = NULL;
    double start = now_ms(), recent[LAST] = {0};
    if (brim_sim_create(def, &sim, &error) != BRIM_OK) give_up("%s", error.message);
    out->create_ms = now_ms() - start;
    start = now_ms();
    while (brim_sim_time(sim) < def->duration && now_ms() - start < LONGEST) {
        if (brim_sim_step(sim, &error) != BRIM_OK) give_up("%s", error.message);
        const BrimStats *s = brim_sim_stats(sim);
        if (s->particles > out->particles) out->particles = s->particles;
        if (s->tiles > out->tiles) out->tiles = s->tiles;
        if (out->steps == 0 || s->volume < out->volume) out->volume = s->volume;
        if (s->memory_bytes > out->memory_bytes) out->memory_bytes = s->memory_bytes;
        recent[out->steps++ % LAST] = s->ms_total;
        for (int stage = 0; stage < BRIM_STAGE_COUNT; stage++) out->stage_ms[stage] = s->ms[stage];
        show_progress(s);
    }
    out->seconds = brim_sim_time(sim);
    out->step_ms = least_of(recent, out->steps < LAST ? (int)out->steps : LAST);
    brim_sim_destroy(&sim);
}

void bench_river(Report *report) {
    static const char *const SETS[] = {"domain.cells=1600", "time.step=0.02"};
    BrimScene *scene = NULL;
    BrimError error;
    if (brim_scene_load("scenes/river.yaml", SETS, 2, &scene, &error) != BRIM_OK)
        give_up("%s", error.message);
    River river = {0};
    int64_t peak = in_child(run_river, brim_scene_def(scene), &river, sizeof river);
    brim_scene_destroy(&scene);

    const char *what = "1600 x 400 x 800 cells";
    report_row(report, (Row){"river", what, "peak of the process", (double)peak / (1 << 30), "GiB",
                             WANT_AT_MOST, 8});
    report_row(report, (Row){"river", what, "as the library counts",
                             (double)river.memory_bytes / (1 << 30), "GiB", WANT_NOTHING, 0});
    report_row(report, (Row){"river", what, "particles, most", 1e-6 * (double)river.particles,
                             "million", WANT_NOTHING, 0});
    report_row(report, (Row){"river", what, "tiles, most", 1e-3 * (double)river.tiles, "thousand",
                             WANT_NOTHING, 0});
    report_row(report, (Row){"river", what, "time to create", 1e-3 * river.create_ms, "s",
                             WANT_NOTHING, 0});
    report_row(report, (Row){"river", what, "simulated", river.seconds, "s", WANT_NOTHING, 0});
    report_row(report, (Row){"river", what, "liquid volume, least", river.volume, "relative",
                             WANT_AT_LEAST, 0.99});
    report_row(report, (Row){"river", what, "time of a step at the end", river.step_ms, "ms",
                             WANT_NOTHING, 0});
    for (int stage = 0; stage < BRIM_STAGE_COUNT; stage++) {
        char metric[64];
        snprintf(metric, sizeof metric, "  %s", brim_stage_name((BrimStage)stage));
        report_row(report,
                   (Row){"river", what, metric, river.stage_ms[stage], "ms", WANT_NOTHING, 0});
    }
}
