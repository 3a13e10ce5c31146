// Experiments of the density paper on particles and solids: section 4.1, figures 7, 8 and 9.
#include "measure.h"
#include "reproduce_idp.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const volumes[] = {"none", "density"};

// ----------------------------------------------------------------------------------- stability

typedef struct Recovery {
    double from;  ///< when the water begins to recover, s
    double full;  ///< cells that the particles fill at rest
    double back;  ///< first time with 99 % of the volume, s after `from`; NaN: never
    double part;  ///< volume at the last look, relative to full
    double start; ///< particles at the start
    int frame;    ///< of the last look
} Recovery;

static void watch_recovery(const BrimSim *sim, void *context) {
    Recovery *c = context;
    double count = (double)brim_sim_particles(sim).count;
    if (brim_sim_step_count(sim) == 0) {
        c->start = count, c->frame = 0;
        c->full = count / brim_sim_def(sim)->particles_per_cell;
    }
    if (brim_sim_frame(sim) == c->frame || brim_sim_time(sim) < c->from) return;
    c->frame = brim_sim_frame(sim);
    c->part = measure_liquid(sim) / c->full;
    if (isnan(c->back) && c->part >= 0.99) c->back = brim_sim_time(sim) - c->from;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// The slowest step over the median of the last quarter of them, which are settled.
static double slowest_step(const Trial *t) {
    const double *ms = trial_column(t, "ms_total");
    size_t count = t->steps.row_count, tail = count / 4 + 1;
    double *sorted = malloc(tail * sizeof *sorted);
    if (!sorted) return NAN;
    memcpy(sorted, ms + count - tail, tail * sizeof *sorted);
    qsort(sorted, tail, sizeof *sorted, by_value);
    double usual = sorted[tail / 2];
    free(sorted);
    return trial_most(t, "ms_total", 0) / usual;
}

static Trial *recover(Result *r, const char *scene, const char *name, int with, double from,
                      Recovery *c) {
    *c = (Recovery){.from = from, .back = NAN};
    Setup s = {.scene = scene, .dash = with ? 1 : 2, .watch = watch_recovery, .context = c};
    s.label = sheet_text(&r->sheet, "%s%s", name, with ? "" : " without");
    s.colour = strcmp(name, "collapsed") == 0 ? 1 : 2;
    setup_set(r, &s, "solver.volume=%s", volumes[with]);
    if (r->quick) {
        setup_set(r, &s, "domain.cells=32");
        if (from == 0) setup_set(r, &s, "liquid[0].particles=125000");
    }
    return trial_run(r, &s);
}

static void recovery_rows(Result *r, const Trial *t, const Recovery *c, int with) {
    // from the lid to the floor: the most that gravity can give
    double fall = sqrt(2 * 9.81 * 1.0);
    result_row(r, c->back, NAN, with ? 1 : NAN, with ? "below 1" : "never",
               "%s: 99 %% of the volume back after (s)", t->label);
    result_row(r, 100 * c->part, NAN, NAN, with ? "100" : "", "%s: volume at the end (%%)",
               t->label);
    if (!with) return;
    result_row(r, c->start - trial_last(t, "particles"), 0, 0, "0", "%s: particles lost", t->label);
    result_row(r, trial_most(t, "max_speed", c->from), NAN, fall, "", "%s: largest speed (m/s)",
               t->label);
}

void idp_stability(Result *r) {
    for (int with = 0; with < 2; with++) {
        Recovery c;
        Trial *t = recover(r, "collapsed-basin.yaml", "collapsed", with, 1, &c);
        if (!t) return;
        recovery_rows(r, t, &c, with);
    }
    for (int with = 0; with < 2; with++) {
        Recovery c;
        Trial *t = recover(r, "one-cell.yaml", "one cell", with, 0, &c);
        if (!t) return;
        recovery_rows(r, t, &c, with);
        if (with)
            result_row(r, slowest_step(t), NAN, 20, "", "%s: slowest step over a settled one",
                       t->label);
    }
    r->sheet.plot.one_legend = true;
    result_lines(r, 0, "volume_ratio", 1, "Volume by eq. 19", "relative volume");
    BrimPanelDef *speed = result_lines(r, 0, "max_speed", 1, "Largest speed", "m/s");
    if (speed) speed->y_zero = true;
}

// ------------------------------------------------------------------------------------ figure 8

typedef struct Settled {
    Result *r;
    Counts counts;
    double error; ///< mean density error inside
    bool taken;
} Settled;

static void watch_settled(const BrimSim *sim, void *context) {
    Settled *s = context;
    if (s->taken || brim_sim_frame(sim) < brim_sim_frame_count(sim)) return;
    s->taken = true;
    // the upper fifth belongs to the surface, whose cells are filled in part
    s->counts = measure_counts(sim, 0.8 * measure_level(sim));
    s->error = measure_density_error(sim);
    picture_take(s->r, sim, "density", 0.5);
}

static void histogram(Result *r, const Settled settled[2]) {
    static const char *const names[] = {"FLIP", "density"};
    BrimPanelDef *panel = sheet_panel(&r->sheet);
    BrimSeries *series = sheet_memory(&r->sheet, 2 * sizeof *series);
    Counts *kept = sheet_memory(&r->sheet, 2 * sizeof *kept);
    if (!panel || !series || !kept) return;
    for (int i = 0; i < 2; i++) {
        kept[i] = settled[i].counts;
        series[i] = (BrimSeries){.name = names[i],
                                 .x = kept[i].edge,
                                 .y = kept[i].share,
                                 .count = 28,
                                 .colour = 2 - i,
                                 .dash = 2 - i};
    }
    *panel = (BrimPanelDef){.kind = BRIM_PANEL_HISTOGRAM,
                            .title = "Particles per cell below the surface",
                            .x_label = "particles in a cell (9 at the start)",
                            .y_label = "% of the cells",
                            .series = series,
                            .series_count = 2};
}

void idp_figure8(Result *r) {
    Settled settled[2] = {{.r = r}, {.r = r}};
    for (int with = 0; with < 2; with++) {
        Setup s = {.scene = "double-dam-2d.yaml", .label = with ? "density" : "FLIP"};
        s.watch = watch_settled, s.context = &settled[with];
        setup_set(r, &s, "solver.volume=%s", volumes[with]);
        // the paper's figure is of its run at 1 ms, where FLIP opens voids inside the water
        setup_set(r, &s, "time.step=0.001");
        setup_set(r, &s, "time.duration=%d", r->quick ? 6 : 30);
        Trial *t = trial_run(r, &s);
        if (!t) return;
        result_row(r, settled[with].counts.mean, NAN, NAN, "", "%s: particles per cell, mean",
                   t->label);
        result_row(r, settled[with].counts.spread, NAN, NAN, "", "%s: standard deviation",
                   t->label);
        result_row(r, 100 * settled[with].error, NAN, NAN, "", "%s: mean density error inside (%%)",
                   t->label);
    }
    result_row(r, settled[1].counts.spread / settled[0].counts.spread, NAN, 0.5, "far less",
               "spread, density over FLIP");
    histogram(r, settled);
    pictures_join(r, 2, "density error in settled water: FLIP, density");
}

// ------------------------------------------------------------------------------------ figure 9

typedef struct Rabbit {
    Result *r;
    double before, after; ///< water level at the start; mean over the frames of the last second
    double area;          ///< of the rabbit, m^2
    double inside;        ///< particles in it after a second
    int frames, frame;
} Rabbit;

static void watch_rabbit(const BrimSim *sim, void *context) {
    Rabbit *c = context;
    if (brim_sim_step_count(sim) == 0) {
        *c = (Rabbit){.r = c->r, .before = measure_level(sim), .inside = NAN, .frame = -1};
        picture_take(c->r, sim, "density", 0.5);
    }
    int frame = brim_sim_frame(sim), end = brim_sim_frame_count(sim);
    if (frame == c->frame) return;
    c->frame = frame;
    double rate = brim_sim_def(sim)->frame_rate;
    if (frame == (int)(0.2 * rate) || frame == (int)rate || frame == end)
        picture_take(c->r, sim, "density", 0.5);
    if (frame == (int)rate) c->inside = measure_inside(sim), c->area = measure_solids(sim);
    if (frame > end - (int)rate) c->after += measure_level(sim), c->frames++;
}

void idp_figure9(Result *r) {
    for (int with = 0; with < 2; with++) {
        Rabbit c = {.r = r};
        Setup s = {.scene = "rabbit-2d.yaml", .dash = with ? 1 : 2, .colour = 2 - with};
        s.label = with ? "density" : "projected to the surface";
        s.watch = watch_rabbit, s.context = &c;
        setup_set(r, &s, "solver.volume=%s", volumes[with]);
        if (r->quick) setup_set(r, &s, "domain.cells=[92, 92]");
        Trial *t = trial_run(r, &s);
        if (!t) return;
        double rise = c.after / c.frames - c.before, width = 1;
        result_row(r, c.inside, with ? 0 : NAN, with ? 0 : NAN, with ? "0" : "",
                   "%s: particles inside after 1 s", t->label);
        result_row(r, 100 * rise * width / c.area, with ? 98 : NAN, with ? 102 : NAN,
                   with ? "rises" : "does not rise", "%s: rise of the level, %% of the rabbit",
                   t->label);
        result_row(r, 100 * (trial_end_mean(t, "volume", 1) - 1), NAN, NAN, "",
                   "%s: liquid volume, change (%%)", t->label);
    }
    r->sheet.plot.one_legend = true;
    result_lines(r, 0, "volume", 1, "All but what is compressed", "relative volume");
    result_lines(r, 0, "particles_in_solids", 1, "Particles inside the rabbit", "count");
    pictures_join(r, 4,
                  "at 0, 0.2, 1 s and the end; above projected to the surface, below density");
}
