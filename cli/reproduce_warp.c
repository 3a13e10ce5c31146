// Experiments of Ibayashi, Wojtan, Thuerey, Igarashi, Ando: "Simulating Liquids on Dynamically
// Warping Grids", 2018: those on a mesh that stands still.
#include "reproduce.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAPER "Ibayashi et al. 2018"

/// Runs one case. False when the result has failed.
static bool warp_case(Result *r, BrimWarpTestDef def, BrimWarpTest *test) {
    BrimError error;
    def.threads = r->threads;
    if (r->code != EXIT_DONE) return false;
    if (brim_warp_test(&def, test, &error) == BRIM_OK) return true;
    r->code = report_result(&error, false);
    return false;
}

/// Draws the values of a case as disks where they are in space.
static void picture_of(Result *r, const BrimWarpTest *t, int cells, double size, const char *name,
                       double low, double high) {
    if (r->code != EXIT_DONE || r->no_pictures) return;
    BrimSimDef def = brim_default_sim_def();
    def.dim = 2;
    def.cells[0] = def.cells[1] = cells, def.cells[2] = 1;
    def.size = (BrimVec3){(float)size, (float)size, (float)(size / cells)};
    def.particles_per_cell = 1;
    float *zero = sheet_memory(&r->sheet, t->count * sizeof *zero);
    uint32_t *id = sheet_memory(&r->sheet, t->count * sizeof *id);
    if (!zero || !id) return;
    for (size_t i = 0; i < t->count; i++) zero[i] = 0, id[i] = (uint32_t)i;
    BrimFrame frame = {.count = t->count, .x = t->x, .y = t->y, .z = zero};
    frame.vx = frame.vy = frame.vz = zero, frame.id = id;
    BrimPictureDef picture = brim_default_picture_def();
    picture.width = 580, picture.height = 480;
    picture.style = BRIM_STYLE_PARTICLES;
    picture.colour = name, picture.values = t->value;
    picture.low = low, picture.high = high;
    picture.threads = r->threads;
    picture_write(r, &def, &frame, 0, NULL, &picture);
}

/// A panel of errors over cells, both axes logarithmic, to which curves are added.
static BrimPanelDef *error_panel(Result *r, const char *title, int series) {
    BrimPanelDef *panel = sheet_panel(&r->sheet);
    BrimSeries *s = sheet_memory(&r->sheet, (size_t)series * sizeof *s);
    if (!panel || !s) {
        result_fail(r, EXIT_MEMORY, "out of memory");
        return NULL;
    }
    *panel = (BrimPanelDef){.title = title,
                            .x_label = "cells along an axis",
                            .y_label = "mean error of the pressure",
                            .x_log = true,
                            .y_log = true,
                            .series = s};
    return panel;
}

static void add_curve(Result *r, BrimPanelDef *panel, const char *name, const double *x,
                      const double *y, int count, int colour, int dash) {
    double *copy = sheet_memory(&r->sheet, 2 * (size_t)count * sizeof *copy);
    if (!panel || !copy) return;
    for (int i = 0; i < count; i++) copy[i] = x[i], copy[count + i] = y[i];
    BrimSeries *series = (BrimSeries *)panel->series;
    series[panel->series_count++] = (BrimSeries){.name = name,
                                                 .x = copy,
                                                 .y = copy + count,
                                                 .count = (size_t)count,
                                                 .colour = colour,
                                                 .dash = dash,
                                                 .points = true};
}

/// Order of convergence: slope of the line through all errors, cells doubling.
static double order_of(const double *error, int count) {
    double middle = (count - 1) / 2.0, up = 0, down = 0;
    for (int i = 0; i < count; i++)
        up -= (i - middle) * log2(error[i]), down += (i - middle) * (i - middle);
    return up / down;
}

// ------------------------------------------------------------------------------------ figure 7

/// The largest value that rounds to a number of two digits.
static double two_digits(double value) {
    return value + 0.5 * pow(10, floor(log10(value)) - 1);
}

static void figure7(Result *r) {
    enum { SIZES = 6 };
    // regular first, regular second, warped first, warped second order
    static const double paper[4][SIZES] = {
        {4.9e-3, 3.0e-3, 1.5e-3, 7.1e-4, 3.6e-4, 1.9e-4},
        {2.3e-4, 5.2e-5, 1.3e-5, 3.4e-6, 9.1e-7, 2.4e-7},
        {4.4e-3, 1.5e-3, 4.5e-4, 1.7e-4, 6.0e-5, 2.3e-5},
        {1.3e-4, 2.8e-5, 5.6e-6, 1.3e-6, 3.3e-7, 9.8e-8},
    };
    static const char *const label[4] = {"regular, first order", "regular, second order",
                                         "warped, first order", "warped, second order"};
    const int sizes = r->quick ? 4 : SIZES;
    double cells[SIZES];
    BrimPanelDef *panel = error_panel(r, "Poisson's equation on a disk", 8);
    for (int k = 0; k < 4; k++) {
        double error[SIZES];
        for (int i = 0; i < sizes; i++) {
            BrimWarpTestDef def = brim_default_warp_test_def();
            BrimWarpTest t;
            def.cells = 32 << i;
            def.order = k % 2 + 1;
            // The paper's own strength, 1, has no limit that its mesh converges to; this is near
            // it.
            def.strength = k >= 2 ? 0.95 : 0;
            def.coarse_cells = 256;
            if (!warp_case(r, def, &t)) return;
            cells[i] = def.cells, error[i] = t.error;
            result_row(r, t.error, NAN, two_digits(paper[k][i]),
                       sheet_text(&r->sheet, "%.1e", paper[k][i]), "%s, %d: error", label[k],
                       def.cells);
            if (k % 2 && i == 1) picture_of(r, &t, def.cells, 1, "pressure", -0.4, 0);
            brim_warp_test_free(&t);
        }
        if (k % 2) result_row(r, order_of(error, sizes), 1.9, NAN, "2.0", "%s: order", label[k]);
        add_curve(r, panel, label[k], cells, error, sizes, k / 2 + 1, k % 2 + 1);
        add_curve(r, panel, sheet_text(&r->sheet, "paper: %s", label[k]), cells, paper[k], sizes,
                  k / 2 + 3, k % 2 + 1);
    }
    pictures_join(r, 2, "pressure at the nodes of 64 x 64 cells, regular and warped");
}

// ----------------------------------------------------------------------------------- figure 11

static void figure11(Result *r) {
    enum { SIZES = 6 };
    const int sizes = r->quick ? 4 : SIZES;
    double cells[SIZES], error[SIZES], speed[SIZES];
    BrimPanelDef *panel = error_panel(r, "Taylor-Green vortex", 3);
    for (int warped = 0; warped < 2; warped++) {
        const char *label = warped ? "warped" : "regular";
        for (int i = 0; i < sizes; i++) {
            BrimWarpTestDef def = brim_default_warp_test_def();
            BrimWarpTest t;
            def.kind = BRIM_WARP_VORTEX;
            def.cells = 32 << i;
            def.strength = warped ? 0.75 : 0;
            if (!warp_case(r, def, &t)) return;
            cells[i] = def.cells, error[i] = t.error, speed[i] = t.speed;
            result_row(r, t.error, NAN, NAN, "", "%s, %d: error of the pressure", label, def.cells);
            if (i == 1) picture_of(r, &t, def.cells, acos(-1), "pressure", -0.5, 0.5);
            brim_warp_test_free(&t);
        }
        result_row(r, order_of(error, sizes), 1.9, NAN, "converges", "%s: order", label);
        add_curve(r, panel, label, cells, error, sizes, warped + 1, 1);
        if (!warped) continue;
        result_row(r, order_of(speed, sizes), 1.9, NAN, "", "%s: order of the velocity left",
                   label);
        add_curve(r, panel, "warped: velocity left", cells, speed, sizes, 2, 2);
    }
    pictures_join(r, 2, "pressure at the nodes of 64 x 64 cells, regular and warped");
}

// ------------------------------------------------------------------------------------ figure 9

/// The pressure along the row of nodes nearest to the middle of a regular grid.
static void add_row(Result *r, BrimPanelDef *panel, const BrimWarpTest *t, int cells,
                    const char *name, int colour) {
    const int nodes = cells + 1;
    const size_t first = (size_t)(cells / 2) * (size_t)nodes;
    double *at = sheet_memory(&r->sheet, 2 * (size_t)nodes * sizeof *at);
    if (!at) return;
    for (int i = 0; i < nodes; i++) {
        at[i] = (double)t->x[first + (size_t)i];
        at[nodes + i] = (double)t->value[first + (size_t)i];
    }
    add_curve(r, panel, name, at, at + nodes, nodes, colour, 1);
}

static void figure9(Result *r) {
    BrimPanelDef *panel = error_panel(r, "One cell of a closed box moves up", 2);
    double checkerboard[2];
    if (!panel) return;
    panel->x_log = panel->y_log = false;
    panel->x_label = "x (m)", panel->y_label = "pressure below the cell (m^2/s^2)";
    for (int one = 1; one >= 0; one--) {
        const char *label = one ? "one point" : "2^d points";
        for (int dim = 2; dim <= 3; dim++) {
            BrimWarpTestDef def = {
                .kind = BRIM_WARP_CLOSED, .dim = dim, .cells = 8, .order = 2, .one_point = one};
            BrimWarpTest t;
            if (!warp_case(r, def, &t)) return;
            double expect = !one ? 1 : dim == 3 ? 26 : 2;
            result_row(r, t.null_space, expect, expect, one ? "a null space" : "none but constants",
                       "%s, %dD, box of 8 cells: null space", label, dim);
            brim_warp_test_free(&t);
        }
        BrimWarpTestDef def = brim_default_warp_test_def();
        BrimWarpTest t;
        def.kind = BRIM_WARP_PULSE;
        def.cells = 32, def.one_point = one;
        if (!warp_case(r, def, &t)) return;
        checkerboard[one] = t.checkerboard;
        result_row(r, t.checkerboard, NAN, NAN, one ? "oscillates" : "smooth",
                   "%s: checkerboard in the pressure", label);
        picture_of(r, &t, def.cells, 1, "pressure", -0.002, 0.002);
        add_row(r, panel, &t, def.cells, label, one + 1);
        brim_warp_test_free(&t);
    }
    result_row(r, checkerboard[1] / checkerboard[0], 3, NAN, "", "checkerboard, one over 2^d");
    pictures_join(r, 2, "pressure with one point and with four");
}

// ------------------------------------------------------------------------------------ figure 6

static void figure6(Result *r) {
    static const double tilt[] = {0, 5, 11, 20, 30, 42};
    enum { TILTS = sizeof tilt / sizeof *tilt };
    BrimPanelDef *panel = error_panel(r, "Calm water, tilted with gravity", 2);
    double worst[3][2] = {{0}}, at[2][TILTS];
    if (!panel) return;
    panel->x_log = false;
    panel->x_label = "tilt (degrees)", panel->y_label = "largest speed after a step (g dt)";
    for (int dim = 2; dim <= 3; dim++)
        for (int order = 1; order <= 2; order++)
            for (int k = 0; k < TILTS; k++) {
                BrimWarpTestDef def = {.kind = BRIM_WARP_POOL,
                                       .dim = dim,
                                       .cells = dim == 2 || !r->quick ? 32 : 16,
                                       .strength = 0.75,
                                       .order = order,
                                       .tilt = tilt[k]};
                BrimWarpTest t;
                if (!warp_case(r, def, &t)) return;
                worst[0][order - 1] = fmax(worst[0][order - 1], t.speed);
                if (dim == 2) at[order - 1][k] = fmax(t.speed, 1e-8);
                if (dim == 2 && k == 2) picture_of(r, &t, def.cells, 1, "speed in g dt", 0, 0.5);
                brim_warp_test_free(&t);
                if (order == 1) continue;
                def.drop_slivers = true;
                if (!warp_case(r, def, &t)) return;
                worst[1][1] = fmax(worst[1][1], t.speed);
                brim_warp_test_free(&t);
            }
    result_row(r, worst[0][0], 0.1, NAN, "grid-aligned", "first order: largest speed (g dt)");
    result_row(r, worst[0][1], NAN, 2e-5, "calm", "second order: largest speed (g dt)");
    result_row(r, worst[1][1], NAN, 0.01, "", "second order, slivers dropped: largest speed");
    add_curve(r, panel, "first order", tilt, at[0], TILTS, 1, 1);
    add_curve(r, panel, "second order", tilt, at[1], TILTS, 2, 1);
    pictures_join(r, 2, "speed of calm water after one step, first and second order, 11 degrees");
}

const Experiment warp_experiments[] = {
    {"warp-fig7", "Poisson's equation on a disk, regular and warped, first and second order",
     PAPER ", figure 7", "1 min", "10 s", "up to 256 cells instead of 1024", figure7},
    {"warp-fig11", "Taylor-Green vortex: convergence of the pressure, regular and warped",
     PAPER ", figure 11", "1 min", "5 s", "up to 256 cells instead of 1024", figure11},
    {"warp-fig9", "one against eight quadrature points: null space and checkerboard",
     PAPER ", figure 9", "1 s", "1 s", "nothing", figure9},
    {"warp-fig6", "calm water on a warped grid, free surface of first and second order",
     PAPER ", figure 6", "10 s", "5 s", "16 cells in 3D instead of 32", figure6},
    {0},
};
