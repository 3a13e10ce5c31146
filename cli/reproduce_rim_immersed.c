// The figures of Brandt et al. 2019 with their own coupling: immersed bodies that move by handles
// and projective dynamics (scenes/rim-*.yaml, bodies of our own shapes).
#include "measure.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>

#define PAPER "Brandt et al. 2019"

/// Young's modulus is twice the paper's stiffness: its energy is s |F - R|^2.

/// What is watched in a run.
typedef struct Watch {
    Result *r;
    double shots[4]; ///< times of pictures, s; 0: no more
    int shot;
    double deepest; ///< point of a body inside another or beyond a wall, cells
    double inside;  ///< largest part of the liquid that is more than half a cell inside a body
    double below;   ///< height, m: what liquid is below it at the end?
    double spilt;   ///< that part
    int frame;
} Watch;

/// Deepest vertex of one body inside another, m.
static double penetration(const BrimSim *sim, int a, int b) {
    BrimBodySurface s;
    if (brim_sim_body_surface(sim, a, &s, NULL) != BRIM_OK) return 0;
    size_t n = s.vertex_count;
    float *x = malloc((4 * n + 1) * sizeof *x), *y = x + n, *z = y + n, *d = z + n;
    double deepest = 0;
    for (size_t i = 0; x && i < n; i++)
        x[i] = s.position[i][0], y[i] = s.position[i][1], z[i] = s.position[i][2];
    if (x && brim_sim_body_distance(sim, b, n, x, y, z, d, NULL) == BRIM_OK)
        for (size_t i = 0; i < n; i++) deepest = fmax(deepest, -(double)d[i]);
    free(x);
    return deepest;
}

static double beyond_walls(const BrimSim *sim, int body) {
    const BrimSimDef *def = brim_sim_def(sim);
    BrimBodyState b;
    if (brim_sim_body_state(sim, body, &b, NULL) != BRIM_OK) return 0;
    const float low[3] = {b.low.x, b.low.y, b.low.z}, high[3] = {b.high.x, b.high.y, b.high.z};
    const float size[3] = {def->size.x, def->size.y, def->size.z};
    double most = 0;
    for (int a = 0; a < def->dim; a++)
        most = fmax(most, fmax(-(double)low[a], (double)high[a] - (double)size[a]));
    return most;
}

/// Part of the liquid that is more than half a cell inside a body.
static double liquid_inside(const BrimSim *sim, float cell) {
    BrimParticles p = brim_sim_particles(sim);
    float *d = malloc((p.count + 1) * sizeof *d);
    double inside = 0;
    for (int k = 0; d && k < brim_sim_body_count(sim); k++)
        if (brim_sim_body_distance(sim, k, p.count, p.x, p.y, p.z, d, NULL) == BRIM_OK)
            for (size_t i = 0; i < p.count; i++) inside += d[i] < -0.5f * cell;
    free(d);
    return p.count ? inside / (double)p.count : 0;
}

static void watch(const BrimSim *sim, void *context) {
    Watch *w = context;
    const BrimSimDef *def = brim_sim_def(sim);
    float cell = def->size.x / (float)def->cells[0];
    double time = brim_sim_time(sim);
    if (w->shot < 4 && w->shots[w->shot] > 0 && time >= w->shots[w->shot] - 1e-6)
        w->shot++, picture_take(w->r, sim, "speed", 5);
    if (brim_sim_frame(sim) == w->frame) return;
    w->frame = brim_sim_frame(sim);
    if (w->frame % 3 != 0 && w->frame < brim_sim_frame_count(sim)) return;
    for (int i = 0; i < brim_sim_body_count(sim); i++) {
        w->deepest = fmax(w->deepest, beyond_walls(sim, i) / cell);
        for (int k = 0; k < brim_sim_body_count(sim); k++)
            if (k != i) w->deepest = fmax(w->deepest, penetration(sim, i, k) / cell);
    }
    w->inside = fmax(w->inside, liquid_inside(sim, cell));
    BrimParticles p = brim_sim_particles(sim);
    double below = 0;
    for (size_t i = 0; i < p.count; i++) below += (double)p.y[i] < w->below;
    w->spilt = p.count ? below / (double)p.count : 0;
}

/// A run with the rows that all figures have; pictures at parts of its time.
static Trial *run(Result *r, Setup *s, Watch *w, double seconds, bool liquid, const char *fps) {
    w->r = r;
    for (int i = 0; i < 4; i++) w->shots[i] = seconds * (i + 1) / 4;
    s->watch = watch, s->context = w, s->dash = 1;
    setup_set(r, s, "time.duration=%g", seconds);
    Trial *t = trial_run(r, s);
    if (!t) return NULL;
    result_check(r, t->error.result == BRIM_OK, "", s->label);
    result_row(r, w->deepest, NAN, 1, "none visible", "%s: deepest in another body or wall (cells)",
               s->label);
    if (liquid) {
        result_row(r, 100 * w->inside, NAN, 1, "none visible",
                   "%s: liquid over half a cell inside bodies (%%)", s->label);
        result_row(r, trial_end_mean(t, "volume", 1), 0.99, 1.01, "", "%s: volume of the liquid",
                   s->label);
    }
    result_row(r, (double)t->steps.row_count / t->wall, NAN, NAN, fps, "%s: steps a second",
               s->label);
    result_row(r, 100 * trial_sum(t, "ms_bodies") / trial_sum(t, "ms_total"), NAN, NAN, "",
               "%s: bodies' part of the time (%%)", s->label);
    return t;
}

static void figure1(Result *r) {
    Watch w = {0};
    Setup s = {.label = "two figures in a pool", .colour = 1, .scene = "rim-pool.yaml"};
    if (r->quick) setup_set(r, &s, "solver.tolerance=1e-2");
    run(r, &s, &w, r->quick ? 0.4 : 6, true, "98 (GPU)");
    pictures_join(r, 2, "a quarter, half, three quarters and all of the time");
}

static void figure2(Result *r) {
    static const struct {
        const char *label, *step;
        double young;
    } cases[] = {{"stiff, 1/60 s", "0.0166666667", 2e5},
                 {"soft, 1/60 s", "0.0166666667", 4e4},
                 {"stiff, 1/30 s", "0.0333333333", 2e5}};
    for (int i = 0; i < (r->quick ? 1 : 3); i++) {
        Watch w = {0};
        Setup s = {.label = cases[i].label, .colour = i + 1, .scene = "rim-animals.yaml"};
        setup_set(r, &s, "time.step=%s", cases[i].step);
        setup_set(r, &s, "bodies[0].young=%g", cases[i].young);
        setup_set(r, &s, "bodies[1].young=%g", cases[i].young);
        if (i == 2) setup_set(r, &s, "time.frame_rate=30");
        if (!run(r, &s, &w, r->quick ? 2 : 4, false, "94 (GPU)")) return;
    }
    pictures_join(r, 4, "rows: stiffness and step; columns: time");
}

static void figure4(Result *r) {
    Watch w = {0};
    Setup s = {.label = "cup", .colour = 1, .scene = "rim-cup.yaml"};
    run(r, &s, &w, r->quick ? 0.6 : 9, true, "129 (GPU)");
    pictures_join(r, 4, "a quarter, half, three quarters and all of the time");
}

static void figure5(Result *r) {
    for (int i = 0; i < (r->quick ? 1 : 2); i++) {
        Watch w = {0};
        Setup s = {.label = i ? "stiff" : "soft", .colour = i + 1, .scene = "rim-flood.yaml"};
        setup_set(r, &s, "bodies[0].young=%g", i ? 3e6 : 1e5);
        if (!run(r, &s, &w, r->quick ? 1.2 : 4, true, "")) return;
    }
    pictures_join(r, 4, "rows: stiffness; columns: time");
}

static void figure6(Result *r) {
    Watch w = {0}, v = {0};
    Setup s = {.label = "mat, ball and water", .colour = 1, .scene = "rim-mat.yaml"};
    Setup four = {.label = "four bodies", .colour = 2, .scene = "rim-four.yaml"};
    if (!run(r, &s, &w, r->quick ? 0.5 : 4, true, "80 (GPU)")) return;
    if (run(r, &four, &v, r->quick ? 0.2 : 3, false, "31 (GPU)"))
        pictures_join(r, 4, "rows: figures 6b and 6a; columns: time");
}

static void figure7(Result *r) {
    Watch w = {0};
    Setup s = {.label = "figure in a pool", .colour = 1, .scene = "rim-drop.yaml"};
    Trial *t = run(r, &s, &w, r->quick ? 0.5 : 3, true, "126 (GPU)");
    if (!t) return;
    double n = (double)t->steps.row_count, bodies = trial_sum(t, "ms_bodies") / n;
    double all = trial_sum(t, "ms_total") / n;
    result_row(r, 1e3 * bodies, NAN, NAN, "2804 + 1775", "elasticity and transfers (us a step)");
    result_row(r, 1e3 * trial_sum(t, "ms_project") / n, NAN, NAN, "", "pressure (us a step)");
    result_row(r, 1e3 * (all - bodies), NAN, NAN, "2176 (GPU)", "all of the liquid (us a step)");
    result_row(r, 1e3 * all, NAN, NAN, "7500", "together (us a step)");
    pictures_join(r, 4, "a quarter, half, three quarters and all of the time");
}

static void table1(Result *r) {
    static const struct {
        const char *label, *scene, *fps;
        bool liquid;
    } rows[] = {{"buoyancy (8)", "rim-drop.yaml", "126", true},
                {"figures in pool (1)", "rim-pool.yaml", "98", true},
                {"animals (2)", "rim-animals.yaml", "94", false},
                {"cup in pool (4)", "rim-cup.yaml", "129", true},
                {"mat and ball (6b)", "rim-mat.yaml", "80", true},
                {"four bodies (6a)", "rim-four.yaml", "31", false}};
    for (int i = 0; i < 6; i++) {
        Setup s = {.label = rows[i].label, .colour = i + 1, .dash = 1, .scene = rows[i].scene};
        setup_set(r, &s, "time.duration=%g", i == 5 ? 0.0625 : r->quick ? 0.1 : 1.0);
        Trial *t = trial_run(r, &s);
        if (!t) return;
        if (rows[i].liquid)
            result_row(r, trial_last(t, "particles"), NAN, NAN, "", "%s: liquid particles",
                       rows[i].label);
        result_row(r, (double)t->steps.row_count / t->wall, NAN, NAN, rows[i].fps,
                   "%s: steps a second", rows[i].label);
        result_row(r, 100 * trial_sum(t, "ms_bodies") / trial_sum(t, "ms_total"), NAN, NAN, "",
                   "%s: bodies' part of the time (%%)", rows[i].label);
    }
    result_lines(r, 0, "ms_total", 1, "time of a step", "ms");
}

static void figure9(Result *r) {
    Watch w = {0};
    Setup s = {.label = "mat", .colour = 1, .scene = "rim-mat-small.yaml"};
    Trial *t = run(r, &s, &w, r->quick ? 0.25 : 2, true, "");
    if (!t) return;
    result_row(r, trial_last(t, "particles"), NAN, NAN, "59,000", "liquid particles");
    result_row(r, 1e3 * t->wall / (double)t->steps.row_count, NAN, 7480,
               "17 (GPU), 7480 (cut cells)", "ms a frame of 1/240 s");
    pictures_join(r, 4, "a quarter, half, three quarters and all of the time");
}

/// Figures 10 and 11: the same drop with several tolerances.
static void divergence(Result *r, bool pictures) {
    static const double tolerance[] = {1e-1, 1e-2, 1e-3, 1e-4};
    static const char *const label[] = {"1e-1", "1e-2", "1e-3", "1e-4"};
    double seconds = r->quick ? 0.5 : 10.0 / 3;
    for (int i = 0; i < 4; i++) {
        Watch w = {.r = r};
        Setup s = {.label = label[i], .colour = i + 1, .dash = 1};
        s.scene = "rim-drop.yaml";
        setup_set(r, &s, "time.duration=%g", seconds);
        setup_set(r, &s, "solver.tolerance=%g", tolerance[i]);
        for (int k = 0; k < 4 && pictures; k++)
            w.shots[k] = seconds * (const double[]){0.15, 0.35, 0.5, 1}[k];
        if (pictures) s.watch = watch, s.context = &w;
        Trial *t = trial_run(r, &s);
        if (!t) return;
        result_row(r, trial_sum(t, "iterations") / (double)t->steps.row_count, NAN, 200,
                   "200 or 10,000 (Jacobi)", "tolerance %s: iterations a step", label[i]);
        result_row(r, trial_sum(t, "max_divergence") / (double)t->steps.row_count, NAN,
                   1.5 * tolerance[i], "", "tolerance %s: largest |div u| dt, mean over steps",
                   label[i]);
        result_row(r, trial_end_mean(t, "volume", 0.2), 0.99, 1.01, "", "tolerance %s: volume",
                   label[i]);
        result_row(r, (double)t->steps.row_count / t->wall, NAN, NAN,
                   i == 3 ? "23 (10,000 iterations)" : "126 (200 iterations)",
                   "tolerance %s: steps a second", label[i]);
    }
    result_lines(r, 0, "max_divergence", 1, "largest |div u| dt", "");
    if (pictures) pictures_join(r, 4, "rows: tolerance; columns: frames 30, 70, 100, 200 of 200");
}

static void figure10(Result *r) {
    divergence(r, false);
}
static void figure11(Result *r) {
    divergence(r, true);
}

static void figure12(Result *r) {
    double spilt[2];
    for (int i = 0; i < 2; i++) {
        Watch w = {.below = 0.6};
        Setup s = {.label = i ? "without rule (14)" : "with rule (14)", .colour = i + 1};
        s.scene = "rim-cup-held.yaml", s.dash = 1, s.watch = watch, s.context = &w;
        double seconds = r->quick ? 1 : 2;
        w.r = r;
        for (int k = 0; k < 4; k++) w.shots[k] = seconds * (k + 1) / 4;
        setup_set(r, &s, "time.duration=%g", seconds);
        setup_set(r, &s, "bodies[0].keep_out=%s", i ? "false" : "true");
        Trial *t = trial_run(r, &s);
        if (!t) return;
        spilt[i] = w.spilt;
        result_check(r, t->error.result == BRIM_OK, "", s.label);
        result_row(r, 100 * w.inside, NAN, i ? NAN : 1, i ? "into the bottom" : "none",
                   "%s: liquid over half a cell inside the cup (%%)", s.label);
    }
    result_row(r, 100 * spilt[0], NAN, 0, "none", "with: liquid below the cup (%%)");
    result_row(r, 100 * spilt[1], NAN, NAN, "through the bottom",
               "without: liquid below the cup (%%)");
    pictures_join(r, 4, "rows: with and without; columns: time");
}

const Experiment rim_immersed_experiments[] = {
    {"rim-fig1", "two figures dragged in a pool", PAPER ", figure 1", "not measured", "1 min",
     "0.4 s", figure1},
    {"rim-fig2", "two animals pushed together, without water", PAPER ", figure 2", "not measured",
     "2 min", "one stiffness and step, 2 s", figure2},
    {"rim-fig4", "a cup that fills, sinks, is lifted and poured", PAPER ", figure 4",
     "not measured", "1 min", "0.6 s", figure4},
    {"rim-fig5", "a figure with its feet held in a dam break, soft and stiff", PAPER ", figure 5",
     "not measured", "1 min", "soft, 1.2 s", figure5},
    {"rim-fig6", "mat, ball and water; four bodies in contact", PAPER ", figure 6", "not measured",
     "2 min", "half a second, a fifth of one", figure6},
    {"rim-fig7", "time by part of the step", PAPER ", figure 7", "not measured", "10 s", "0.5 s",
     figure7},
    {"rim-table1", "steps a second of all six scenes", PAPER ", table 1", "not measured", "1 min",
     "six steps of each", table1},
    {"rim-fig9", "water poured on a mat, 100^3 cells", PAPER ", figure 9", "not measured", "2 min",
     "0.25 s", figure9},
    {"rim-fig10", "residual divergence against work", PAPER ", figure 10", "not measured", "1 min",
     "0.5 s", figure10},
    {"rim-fig11", "the same drop with four tolerances", PAPER ", figure 11", "not measured",
     "1 min", "0.5 s", figure11},
    {"rim-fig12", "a cup held at its rim and filled, rule (14) on and off", PAPER ", figure 12",
     "not measured", "2 min", "1 s", figure12},
    {0},
};
