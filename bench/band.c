// What the narrow band costs and saves: a quiet pool at two depths, and thin sheets.
#include "bench.h"
#include <stdio.h>

/// Time of the steps outside the pressure solve, ms: the least of each stage over the steps.
static double rest_ms(const Steps *steps) {
    double sum = 0;
    for (int s = 0; s < BRIM_STAGE_COUNT; s++) {
        if (s == BRIM_STAGE_PROJECT) continue;
        double least = steps->stage_ms[0][s];
        for (int i = 1; i < steps->count; i++)
            if (steps->stage_ms[i][s] < least) least = steps->stage_ms[i][s];
        sum += least;
    }
    return sum;
}

/// A pool of 256 x 128 x 256 cells with a slow swell.
static Steps run_pool(int depth, int width) {
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    float h = 1.0f / 128;
    water.shape.kind = BRIM_SHAPE_BOX;
    water.shape.size = (BrimVec3){2, h * (float)depth, 2};
    water.shape.position = (BrimVec3){1, 0.5f * h * (float)depth, 1};
    water.spin = (BrimVec3){0, 0.2f, 0};
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[2] = 256, def.cells[1] = 128;
    def.size = (BrimVec3){2, 1, 2};
    def.liquid = &water, def.liquid_count = 1;
    def.volume = BRIM_VOLUME_NONE;
    def.step = 0.01, def.frame_rate = 10;
    def.threads = 1;
    def.band_width = width;
    return measure_steps(&def, 0, 6, 1);
}

static void pool(Report *report) {
    double ns[2]; // a cell more of depth
    for (int k = 0; k < 2; k++) {
        int width = k ? 3 : 0;
        const char *what = k ? "quiet pool, band" : "quiet pool, FLIP";
        Steps low = run_pool(32, width), high = run_pool(64, width);
        ns[k] = 1e6 * (rest_ms(&high) - rest_ms(&low)) / (256.0 * 256 * 32);
        report_row(report, (Row){"band", what, "a cell below the surface", ns[k], "ns", 0, 0});
        report_row(report, (Row){"band", what, "memory at 64 cells' depth",
                                 1e-6 * (double)high.memory_bytes, "MB", 0, 0});
        if (k)
            report_row(report, (Row){"band", what, "particles, 64 against 32 cells' depth",
                                     (double)high.particles / (double)low.particles, "times",
                                     WANT_AT_MOST, 1.01});
    }
    report_row(report, (Row){"band", "quiet pool", "a cell: band over its eight particles",
                             ns[1] / ns[0], "", WANT_AT_MOST, 0.2});
}

/// Sheets two cells thick that fall and spread: the band has nothing to save.
static Steps run_sheets(int width) {
    enum { SHEETS = 6 };
    BrimLiquidDef sheets[SHEETS];
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = 96;
    def.size = (BrimVec3){1, 1, 1};
    for (int i = 0; i < SHEETS; i++) {
        sheets[i] = (BrimLiquidDef){.shape = brim_default_shape_def()};
        sheets[i].shape.kind = BRIM_SHAPE_BOX;
        sheets[i].shape.size = (BrimVec3){0.8f, 2.0f / 96, 0.8f};
        sheets[i].shape.position = (BrimVec3){0.5f, 0.125f * (float)(i + 1), 0.5f};
        sheets[i].spin = (BrimVec3){0, 1, 0};
    }
    def.liquid = sheets, def.liquid_count = SHEETS;
    def.volume = BRIM_VOLUME_NONE;
    def.step = 0.004, def.frame_rate = 10;
    def.threads = 1;
    def.band_width = width;
    return measure_steps(&def, 0.05, 20, 1);
}

void bench_band(Report *report) {
    enum { TURNS = 3 };
    pool(report);
    double least[2] = {1e300, 1e300};
    for (int i = 0; i < TURNS; i++)
        for (int k = 0; k < 2; k++) {
            Steps steps = run_sheets(k ? 3 : 0);
            double ms = least_of(steps.ms, steps.count);
            if (ms < least[k]) least[k] = ms;
        }
    report_row(report, (Row){"band", "thin sheets", "band against FLIP",
                             100 * (least[1] / least[0] - 1), "% more", WANT_AT_MOST, 10});
}
