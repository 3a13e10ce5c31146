// Experiments of Kugelstadt, Longva, Thuerey, Bender: "Implicit density projection for volume
// conserving liquids", 2019. Volume and time: figures 3, 4, 5, 6 and 10.
#include "reproduce_idp.h"
#include "measure.h"
#include <math.h>
#include <stdio.h>

#define PAPER "Kugelstadt et al. 2019"

/// How the liquid keeps its volume, and how it looks in plots: colours tell settings apart, dashes
/// methods.
typedef struct Method {
    const char *name, *volume;
    int dash;
} Method;

static const Method flip = {"FLIP", "none", 2}, density = {"density", "density", 1};

static Setup new_setup(Result *r, const char *scene, const Method *method, int colour,
                       const char *label) {
    Setup s = {.scene = scene, .colour = colour, .dash = method->dash};
    s.label = sheet_text(&r->sheet, "%s%s%s", method->name, *label ? ", " : "", label);
    setup_set(r, &s, "solver.volume=%s", method->volume);
    return s;
}

static double change(const Trial *t, const char *column) {
    return 100 * (trial_end_mean(t, column, 1) - 1);
}

/// Rows of one trial with the method: what it promises at the end.
static void density_rows(Result *r, const Trial *t, double band, double least_ratio,
                         const char *paper) {
    bool whole = t->error.result == BRIM_OK;
    result_row(r, whole ? change(t, "volume") : NAN, -band, band, paper,
               "%s: liquid volume, change (%%)", t->label);
    result_row(r, 100 * trial_end_mean(t, "volume_ratio", 1), least_ratio, NAN, "above 98",
               "%s: eq. 19 (%%)", t->label);
    result_row(r, fabs(change(t, "volume") - change(t, "volume_cells")), NAN, 1.5, "",
               "%s: cells against level set (%%)", t->label);
}

static void flip_rows(Result *r, const Trial *t, const char *paper) {
    result_row(r, change(t, "volume"), NAN, NAN, "", "%s: liquid volume, change (%%)", t->label);
    result_row(r, change(t, "volume_ratio"), NAN, NAN, paper, "%s: eq. 19, change (%%)", t->label);
}

static void volume_panels(Result *r) {
    r->sheet.plot.one_legend = true;
    BrimPanelDef *p =
        result_lines(r, 0, "volume", 1, "All but what is compressed", "relative volume");
    if (!p) return;
    result_level(r, 0.99, 1.01, NULL);
    result_lines(r, 0, "volume_ratio", 1, "By eq. 19", "relative volume");
    r->sheet.plot.panel_height = 280;
}

// ------------------------------------------------------------------------------- figures 3, 4

static Trial *double_dam(Result *r, const Method *method, double step, double tolerance,
                         double seconds, int colour, const char *label) {
    Setup s = new_setup(r, "double-dam-2d.yaml", method, colour, label);
    setup_set(r, &s, "time.step=%g", step);
    setup_set(r, &s, "solver.tolerance=%g", tolerance);
    setup_set(r, &s, "time.duration=%g", seconds);
    return trial_run(r, &s);
}

static void figure3(Result *r) {
    static const double steps[] = {0.001, 0.005, 0.01, 0.02};
    static const char *const paper[] = {"+-10", "-14", "-26", "-58"};
    double seconds = r->quick ? 10 : 30, before = NAN;
    bool grows = true;
    for (int i = r->quick ? 1 : 0; i < 4; i++) {
        const char *label = sheet_text(&r->sheet, "%g ms", 1000 * steps[i]);
        Trial *without = double_dam(r, &flip, steps[i], 1e-3, seconds, i + 1, label);
        Trial *with = without ? double_dam(r, &density, steps[i], 1e-3, seconds, i + 1, label) : 0;
        if (!with) return;
        // the authors' own program ends at 92.4 % by eq. 19 with steps of 20 ms
        density_rows(r, with, 1, i == 3 ? 92.4 : NAN, "within 2, eq. 19");
        flip_rows(r, without, paper[i]);
        double loss = -change(without, "volume");
        if (loss <= before) grows = false;
        before = loss;
    }
    result_check(r, grows, "yes", "FLIP: the loss grows with the step");
    volume_panels(r);
}

static void figure4(Result *r) {
    static const double tolerances[] = {1e-2, 1e-3, 1e-4, 1e-6};
    static const char *const paper[] = {"-33", "-13 to -14", "-13 to -14", "-13 to -14"};
    double seconds = r->quick ? 10 : 30;
    for (int i = 0; i < 4; i++) {
        const char *label = sheet_text(&r->sheet, "tolerance %g", tolerances[i]);
        Trial *without = double_dam(r, &flip, 0.005, tolerances[i], seconds, i + 1, label);
        Trial *with =
            without ? double_dam(r, &density, 0.005, tolerances[i], seconds, i + 1, label) : 0;
        if (!with) return;
        density_rows(r, with, 1, NAN, "within 1, eq. 19");
        flip_rows(r, without, paper[i]);
    }
    volume_panels(r);
}

// ----------------------------------------------------------------------------------- figure 5

typedef struct Snapshot {
    Result *r;
    double time; ///< of the picture, s
    bool taken;
    double error; ///< mean density error inside, summed over the frames of the last second
    int frames, last_frame;
} Snapshot;

static void watch_figure5(const BrimSim *sim, void *context) {
    Snapshot *s = context;
    if (!s->taken && brim_sim_time(sim) >= s->time - 1e-9) {
        picture_take(s->r, sim, "speed", 1.5);
        s->taken = true;
    }
    int frame = brim_sim_frame(sim), end = brim_sim_frame_count(sim);
    if (frame == s->last_frame || frame < end - brim_sim_def(sim)->frame_rate) return;
    s->last_frame = frame;
    s->error += measure_density_error(sim), s->frames++;
}

static void figure5(Result *r) {
    static const Method methods[] = {{"none", "none", 2},
                                     {"direct (eq. 8)", "direct", 3},
                                     {"averaged, 1 s", "averaged", 4},
                                     {"density", "density", 1}};
    for (int i = 0; i < 4; i++) {
        Snapshot snapshot = {.r = r, .time = 2, .last_frame = -1};
        Setup s = new_setup(r, "double-dam-2d.yaml", &methods[i], i + 1, "");
        s.watch = watch_figure5, s.context = &snapshot;
        setup_set(r, &s, "time.step=0.02");
        setup_set(r, &s, "solver.tolerance=1e-3");
        setup_set(r, &s, "time.duration=%d", r->quick ? 6 : 30);
        Trial *t = trial_run(r, &s);
        if (!t) return;
        bool whole = t->error.result == BRIM_OK, ours = i == 3;
        result_row(r, whole ? change(t, "volume") : NAN, ours ? -1 : NAN, ours ? 1 : NAN, "",
                   "%s: liquid volume, change (%%)", t->label);
        result_row(r, 100 * snapshot.error / snapshot.frames, NAN, NAN, "",
                   "%s: mean density error inside (%%)", t->label);
        result_row(r, trial_most(t, "max_speed", 2), NAN, NAN, "",
                   "%s: largest speed after 2 s (m/s)", t->label);
    }
    r->sheet.plot.one_legend = true;
    result_lines(r, 0, "volume", 1, "All but what is compressed", "relative volume");
    result_level(r, 0.99, 1.01, NULL);
    BrimPanelDef *speed = result_lines(r, 0, "max_speed", 1, "Largest speed", "m/s");
    if (speed) speed->y_log = true; // direct is fifty times faster than the others
    pictures_join(r, 4, "at 2 s, from left to right: none, direct, averaged, density");
}

// ----------------------------------------------------------------------------------- figure 6

static void figure6(Result *r) {
    static const char *const transfer[] = {"flip", "apic"}, *const name[] = {"FLIP", "APIC"};
    static const char *const paper[] = {"-38.5", "-38"};
    for (int i = 0; i < 2; i++) {
        for (int with = 0; with < 2; with++) {
            Setup s = {.scene = "rotating-cuboid.yaml", .colour = i + 1, .dash = with ? 1 : 2};
            s.label = sheet_text(&r->sheet, "%s%s", name[i], with ? " with density" : "");
            setup_set(r, &s, "solver.volume=%s", with ? "density" : "none");
            setup_set(r, &s, "solver.transfer=%s", transfer[i]);
            setup_set(r, &s, "domain.cells=%d", r->quick ? 48 : 128);
            setup_set(r, &s, "time.duration=%d", r->quick ? 10 : 30);
            Trial *t = trial_run(r, &s);
            if (!t) return;
            double band = with ? 0.5 : NAN;
            result_row(r, t->error.result == BRIM_OK ? change(t, "volume") : NAN, -band, band,
                       with ? "within 0.5" : paper[i], "%s: liquid volume, change (%%)", t->label);
            result_row(r, change(t, "volume_ratio"), NAN, NAN, "", "%s: eq. 19, change (%%)",
                       t->label);
        }
    }
    volume_panels(r);
}

// ---------------------------------------------------------------------------------- figure 10

static Trial *double_dam_3d(Result *r, const Method *method, double step, double tolerance,
                            int colour) {
    const char *label = sheet_text(&r->sheet, "%g ms, %g", 1000 * step, tolerance);
    Setup s = new_setup(r, "double-dam-3d.yaml", method, colour, label);
    setup_set(r, &s, "time.step=%g", step);
    setup_set(r, &s, "solver.tolerance=%g", tolerance);
    setup_set(r, &s, "time.duration=%d", r->quick ? 4 : 10);
    return trial_run(r, &s);
}

static void figure10(Result *r) {
    Trial *fine = double_dam_3d(r, &flip, 0.002, 1e-4, 1);
    Trial *same = fine ? double_dam_3d(r, &density, 0.002, 1e-4, 1) : NULL;
    Trial *ours = same ? double_dam_3d(r, &density, 0.02, 1e-3, 2) : NULL;
    Trial *coarse = ours ? double_dam_3d(r, &flip, 0.02, 1e-3, 2) : NULL;
    if (!coarse) return;
    result_row(r, fine->wall / ours->wall, 7.8, NAN, "7.8", "time, %s over %s (wall clock)",
               fine->label, ours->label);
    result_row(r, fine->cpu / ours->cpu, NAN, NAN, "", "the same by processor time");
    result_row(r, change(ours, "volume"), -1, 1, "0.9", "%s: liquid volume, change (%%)",
               ours->label);
    result_row(r, change(fine, "volume"), NAN, NAN, "-10", "%s: liquid volume, change (%%)",
               fine->label);
    result_row(r, change(coarse, "volume"), NAN, NAN, "-35", "%s: liquid volume, change (%%)",
               coarse->label);
    result_row(r, 1000 * fine->wall / (double)fine->steps.row_count, NAN, NAN, "188",
               "%s: a step (ms)", fine->label);
    result_row(r, 1000 * same->wall / (double)same->steps.row_count, NAN, NAN, "242",
               "%s: a step (ms)", same->label);
    result_row(r,
               100 * trial_sum(same, "ms_density") /
                   (trial_sum(same, "ms_total") - trial_sum(same, "ms_density")),
               NAN, 29, "29", "the density stage adds to a step (%%)");
    volume_panels(r);
}

const Experiment idp_experiments[] = {
    {"idp-fig3", "2D double dam: volume over time for steps of 1, 5, 10, 20 ms", PAPER ", figure 3",
     "5 min", "25 s", "10 s, without 1 ms", figure3},
    {"idp-fig4", "2D double dam: volume over time for tolerances 1e-2 to 1e-6", PAPER ", figure 4",
     "3 min", "50 s", "10 s", figure4},
    {"idp-fig5", "2D double dam at 20 ms: ways to keep volume, side by side", PAPER ", figure 5",
     "7 min", "40 s", "6 s", figure5},
    {"idp-fig6", "rotating cuboid, FLIP and APIC, with and without", PAPER ", figure 6", "11 h",
     "6 min", "48^3 cells, 10 s", figure6},
    {"idp-stability", "a collapsed basin and a million particles in one cell recover",
     PAPER ", section 4.1 and figure 7", "2 min", "12 s", "32^3 cells", idp_stability},
    {"idp-fig8", "particles per cell in settled water, with and without", PAPER ", figure 8",
     "4 min", "40 s", "6 s", idp_figure8},
    {"idp-fig9", "water seeded inside a rabbit is pushed out, and the level rises",
     PAPER ", figure 9", "15 s", "4 s", "92^2 cells", idp_figure9},
    {"idp-fig10", "3D double dam: time at equal quality", PAPER ", figure 10", "7 min", "3 min",
     "4 s", figure10},
    {0},
};
