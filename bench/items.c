// What the library promises about speed and memory, measured through brim.h.
#include "bench.h"
#include <stdio.h>

static void row(Report *report, const char *item, const char *what, const char *metric,
                double value, const char *unit) {
    report_row(report, (Row){item, what, metric, value, unit, WANT_NOTHING, 0});
}

/// One cuboid of liquid from `corner` (cells) with `extent` (cells) in a box of `cells`^3 that is
/// `size` m wide.
static BrimSimDef block_in_box(int cells, float size, const int corner[3], const int extent[3],
                               BrimLiquidDef *water) {
    float h = size / (float)cells;
    *water = (BrimLiquidDef){.shape = brim_default_shape_def()};
    water->shape.kind = BRIM_SHAPE_BOX;
    water->shape.size =
        (BrimVec3){h * (float)extent[0], h * (float)extent[1], h * (float)extent[2]};
    water->shape.position = (BrimVec3){h * ((float)corner[0] + 0.5f * (float)extent[0]),
                                       h * ((float)corner[1] + 0.5f * (float)extent[1]),
                                       h * ((float)corner[2] + 0.5f * (float)extent[2])};
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = cells;
    def.size = (BrimVec3){size, size, size};
    def.liquid = water, def.liquid_count = 1;
    def.particles_per_cell = 8;
    def.tolerance = 1e-4;
    def.volume = BRIM_VOLUME_NONE;
    def.step = 0.002;
    def.frame_rate = 10; // steps are cut at frame times: keep those rare
    def.duration = 60;
    return def;
}

// ------------------------------------------------------------------------------------- step

static BrimScene *load_double_dam(void) {
    static const char *const SETS[] = {"time.step=0.002", "time.frame_rate=50",
                                       "solver.tolerance=0.0001"};
    BrimScene *scene = NULL;
    BrimError error;
    if (brim_scene_load("scenes/double-dam-3d.yaml", SETS, 3, &scene, &error) != BRIM_OK)
        give_up("%s", error.message);
    return scene;
}

/// The double dam in mid-splash: both columns have met and the water is thrown up.
static Steps run_double_dam(const BrimScene *scene, int threads, BrimVolume volume) {
    BrimSimDef def = *brim_scene_def(scene);
    def.threads = threads;
    def.volume = volume;
    return measure_steps(&def, 0.6, 100, 1);
}

static void report_stages(Report *report, const char *what, const Steps *steps) {
    for (int s = 0; s < BRIM_STAGE_COUNT; s++) {
        char metric[64];
        snprintf(metric, sizeof metric, "  %s", brim_stage_name((BrimStage)s));
        row(report, "step", what, metric, stage_mean(steps, (BrimStage)s), "ms");
    }
}

/// Returns the mean time of a step, ms.
static double report_double_dam(Report *report, Steps steps, int threads) {
    char what[64];
    snprintf(what, sizeof what, "double-dam-3d, %d thread%s", threads, threads > 1 ? "s" : "");
    double mean = mean_of(steps.ms, steps.count);
    Want want = threads == 2 ? WANT_AT_MOST : WANT_NOTHING;
    report_row(report, (Row){"step", what, "time per step, mean", mean, "ms", want, 14});
    row(report, "step", what, "time per step, least", least_of(steps.ms, steps.count), "ms");
    row(report, "step", what, "time per step, median", median_of(steps.ms, steps.count), "ms");
    row(report, "step", what, "particles through a step", 1e-3 * (double)steps.particles / mean,
        "million/s");
    row(report, "step", what, "solver iterations, mean", steps.iterations, "");
    report_stages(report, what, &steps);
    // what a step could not do with less: the whole state comes from memory and goes back once
    double traffic = 2e3 * (double)steps.memory_bytes / mean;
    row(report, "step", what, "state read and written once", 1e-9 * traffic, "GB/s");
    row(report, "step", what, "  share of the bandwidth",
        100 * traffic / measure_bandwidth(threads), "%");
    return mean;
}

void bench_step(Report *report) {
    enum { RUNS = 4 };
    int threads[] = {2, 1, core_count()}, kinds = core_count() > 2 ? 3 : 2;
    Steps best[3] = {0};
    double mean[3];
    BrimScene *scene = load_double_dam();
    // in turn, so that a machine that slows down for a while does so for all
    for (int r = 0; r < RUNS; r++)
        for (int k = 0; k < kinds; k++) {
            Steps run = run_double_dam(scene, threads[k], BRIM_VOLUME_NONE);
            keep_least_steps(&best[k], &run);
        }
    brim_scene_destroy(&scene);
    for (int k = 0; k < kinds; k++) mean[k] = report_double_dam(report, best[k], threads[k]);
    report_row(report, (Row){"step", "double-dam-3d", "2 threads against 1", mean[1] / mean[0],
                             "times", WANT_AT_LEAST, 1.7});
    if (kinds > 2)
        row(report, "step", "double-dam-3d", "all threads against 1", mean[1] / mean[2], "times");
}

/// Mean and largest time of a step over a whole scene.
typedef struct Whole {
    double mean_ms, largest_ms;
    int64_t steps;
} Whole;

static void run_whole(const void *argument, void *result) {
    const BrimSimDef *def = argument;
    Whole *out = result;
    BrimError error;
    BrimSim *sim = NULL;
    double sum = 0;
    if (brim_sim_create(def, &sim, &error) != BRIM_OK) give_up("%s", error.message);
    for (; brim_sim_time(sim) < def->duration - 0.5 * def->step; out->steps++) {
        double start = now_ms();
        if (brim_sim_step(sim, &error) != BRIM_OK) give_up("%s", error.message);
        double ms = now_ms() - start;
        sum += ms;
        if (ms > out->largest_ms) out->largest_ms = ms;
    }
    out->mean_ms = sum / (double)out->steps;
    brim_sim_destroy(&sim);
}

/// The double dam from its first step to its last, as a user runs it.
void bench_whole(Report *report) {
    const char *what = "double-dam-3d, 10 s, 2 threads";
    BrimScene *scene = load_double_dam();
    BrimSimDef def = *brim_scene_def(scene);
    def.threads = 2;
    def.volume = BRIM_VOLUME_NONE;
    Whole whole = {0};
    in_child(run_whole, &def, &whole, sizeof whole);
    brim_scene_destroy(&scene);
    report_row(report,
               (Row){"whole", what, "time per step, mean", whole.mean_ms, "ms", WANT_AT_MOST, 20});
    row(report, "whole", what, "time per step, largest", whole.largest_ms, "ms");
    row(report, "whole", what, "steps", (double)whole.steps, "");
}

/// What the density projection adds to the rest of a step, both in the same run.
void bench_density(Report *report) {
    enum { RUNS = 4 };
    const char *what = "double-dam-3d, 2 threads";
    Steps best = {0};
    BrimScene *scene = load_double_dam();
    for (int r = 0; r < RUNS; r++) {
        Steps run = run_double_dam(scene, 2, BRIM_VOLUME_DENSITY);
        keep_least_steps(&best, &run);
    }
    brim_scene_destroy(&scene);
    double total = mean_of(best.ms, best.count), stage = stage_mean(&best, BRIM_STAGE_DENSITY);
    row(report, "density", what, "time per step, mean", total, "ms");
    row(report, "density", what, "  density", stage, "ms");
    report_row(report, (Row){"density", what, "adds to the rest of a step",
                             100 * stage / (total - stage), "%", WANT_AT_MOST, 29});
}

// ----------------------------------------------------------------------------------- memory

/// A box filled to seven eighths, tilted so that the water moves.
static void report_full_box(Report *report, int cells) {
    BrimLiquidDef water;
    BrimSimDef def =
        block_in_box(cells, 1, (int[]){0, 0, 0}, (int[]){cells, cells * 7 / 8, cells}, &water);
    def.gravity = (BrimVec3){3.0f, -9.3f, 0.0f};
    Steps steps = measure_steps(&def, 0, 8, 1);
    double particles = (double)steps.particles;
    char what[64];
    snprintf(what, sizeof what, "box of %d^3, %.1f M particles", cells, 1e-6 * particles);
    report_row(report,
               (Row){"memory", what, "peak of the process", (double)steps.peak_bytes / particles,
                     "B/particle", WANT_AT_MOST, 100});
    row(report, "memory", what, "as the library counts", (double)steps.memory_bytes / particles,
        "B/particle");
    row(report, "memory", what, "time", 1e6 * median_of(steps.ms, steps.count) / particles,
        "ns/particle");
}

void bench_memory(Report *report) {
    report_full_box(report, 64);
    report_full_box(report, 128);
}

// ------------------------------------------------------------------------------------ empty

/// A spinning block in free space, in a box of `cells`^3 cells of always the same size.
static Steps run_spinning_block(int cells) {
    int corner = cells / 2 - 20;
    BrimLiquidDef water;
    BrimSimDef def = block_in_box(cells, (float)cells / 64.0f, (int[]){corner, corner, corner},
                                  (int[]){40, 40, 40}, &water);
    water.spin = (BrimVec3){0, 0, 6};
    def.gravity = (BrimVec3){0, 0, 0};
    return measure_steps(&def, 0.01, 20, 5);
}

void bench_empty(Report *report) {
    Steps tight = run_spinning_block(64), wide = run_spinning_block(128);
    const char *what = "40^3 cells of water, 64^3 -> 128^3";
    report_row(report, (Row){"empty", what, "memory, library",
                             100.0 * ((double)wide.memory_bytes / (double)tight.memory_bytes - 1),
                             "% more", WANT_AT_MOST, 5});
    report_row(report, (Row){"empty", what, "memory, process",
                             100.0 * ((double)wide.peak_bytes / (double)tight.peak_bytes - 1),
                             "% more", WANT_AT_MOST, 5});
    report_row(report,
               (Row){"empty", what, "time",
                     100.0 * (mean_of(wide.ms, wide.count) / mean_of(tight.ms, tight.count) - 1),
                     "% more", WANT_AT_MOST, 5});
}

// ----------------------------------------------------------------------------------- linear

/// Time per particle, ns, of a collapsing column at `cells`^3; the step shrinks with the cells.
static double report_column(Report *report, int cells, int repeats) {
    BrimLiquidDef water;
    BrimSimDef def = block_in_box(cells, 1, (int[]){0, 0, 0},
                                  (int[]){cells * 3 / 5, cells * 7 / 10, cells * 3 / 5}, &water);
    def.step = 0.4 / cells;
    Steps steps = measure_steps(&def, 0.24, 10, repeats);
    double time = 1e6 * median_of(steps.ms, steps.count) / (double)steps.particles;
    char what[64];
    snprintf(what, sizeof what, "dam, %.2f M particles", 1e-6 * (double)steps.particles);
    row(report, "linear", what, "time", time, "ns/particle");
    row(report, "linear", what, "solver iterations, mean", steps.iterations, "");
    return time;
}

void bench_linear(Report *report) {
    double small = report_column(report, 80, 3);
    double large = report_column(report, 160, 2);
    report_row(report, (Row){"linear", "dam", "8 M against 1 M", large / small, "times",
                             WANT_AT_MOST, 1.3});
}
