// Experiments of Ferstl, Ando, Wojtan, Westermann, Thuerey: "Narrow Band FLIP for Liquid
// Simulations", 2016.
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>

#define PAPER "Ferstl et al. 2016"

static const double ALL = 1e9; ///< seconds: the mean over a whole run

static Trial *run(Result *r, Setup *s, int width) {
    setup_set(r, s, "band.width=%d", width);
    return trial_run(r, s);
}

// ------------------------------------------------------------------------------------ figure 4

/// Mean over the steps of [from, to) s.
static double mean_between(const Trial *t, const char *name, double from, double to) {
    const double *time = trial_column(t, "time"), *value = trial_column(t, name);
    double sum = 0, count = 0;
    for (size_t i = 0; i < t->steps.row_count; i++)
        if (time[i] >= from && time[i] < to) sum += value[i], count++;
    return count > 0 ? sum / count : NAN;
}

static void figure4(Result *r) {
    double seconds = r->quick ? 5 : 10;
    const struct {
        const char *label, *combine;
        int width, dash;
    } kinds[] = {{"FLIP", "distance", 0, 1},
                 {"band, eq. 3", "distance", 3, 2},
                 {"band, eq. 2", "density", 3, 3}};
    Trial *t[3];
    for (int i = 0; i < 3; i++) {
        Setup s = {.label = kinds[i].label,
                   .colour = i + 1,
                   .dash = kinds[i].dash,
                   .scene = "band-waves.yaml"};
        setup_set(r, &s, "time.duration=%g", seconds);
        setup_set(r, &s, "band.combine=%s", kinds[i].combine);
        t[i] = run(r, &s, kinds[i].width);
        if (!t[i]) return;
    }
    double flip = trial_end_mean(t[0], "kinetic_energy", ALL);
    double third = trial_end_mean(t[1], "kinetic_energy", ALL);
    double last = trial_end_mean(t[0], "kinetic_energy", 1);
    result_row(r, 100 * (third / flip - 1), -10, 10, "almost identical",
               "eq. 3: mean kinetic energy against FLIP (%%)");
    result_row(
        r, trial_end_mean(t[1], "kinetic_energy", 1) / mean_between(t[1], "kinetic_energy", 0, 1),
        NAN, 1, "comes to rest", "eq. 3: energy of the last second over that of the first");
    result_row(r, trial_end_mean(t[2], "kinetic_energy", 1) / last, 1.2, NAN,
               "generates artificial momentum", "eq. 2: energy of the last second over FLIP's");
    result_lines(r, 0, "kinetic_energy", 1, "Waves in a tank", "kinetic energy (J)");
}

// ------------------------------------------------------------------------------------- table 1

/// A row of the table: what the paper measured, and what ours must reach.
typedef struct Case {
    const char *scene, *label;
    int cells;                                        ///< along x
    double seconds;                                   ///< that are run; 0: the scene's own
    double paper_particles, paper_memory, paper_rest; ///< FLIP's over the band's; NaN: not told
    double least_particles;
} Case;

static void mean_rows(Result *r, const Trial *t) {
    double project = trial_end_mean(t, "ms_project", ALL);
    double total = trial_end_mean(t, "ms_total", ALL);
    result_row(r, trial_end_mean(t, "particles", ALL), NAN, NAN, "", "%s: particles", t->label);
    result_row(r, trial_end_mean(t, "memory_bytes", ALL) / 1e6, NAN, NAN, "", "%s: memory (MB)",
               t->label);
    result_row(r, project, NAN, NAN, "", "%s: projection (ms a step)", t->label);
    result_row(r, total - project, NAN, NAN, "", "%s: rest (ms a step)", t->label);
}

static double rest(const Trial *t) {
    return trial_end_mean(t, "ms_total", ALL) - trial_end_mean(t, "ms_project", ALL);
}

static void table1(Result *r) {
    static const Case cases[] = {
        {"band-pour.yaml", "pour", 128, 0.5, 9362306.0 / 561997, 518.0 / 303, 8.66 / 1.98, 16},
        {"band-letters.yaml", "letters", 256, 0, 16559617.0 / 880827, 857.0 / 456, 9.85 / 2.67, 18},
        {"band-dam-cylinders.yaml", "cylinders", 200, 0, 23891821.0 / 1079688, 1180.0 / 578,
         15.78 / 2.43, 22},
        {"band-dam-deep.yaml", "dam", 256, 0, 2889981.0 / 191625, NAN, 33.22 / 4.65, 15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        Trial *t[2];
        for (int k = 0; k < 2; k++) {
            Setup s = {.label = sheet_text(&r->sheet, "%s, %s", c->label, k ? "band" : "FLIP"),
                       .colour = (int)i + 1,
                       .dash = k ? 2 : 1,
                       .scene = c->scene};
            if (r->quick) setup_set(r, &s, "domain.cells=%d", c->cells / 2);
            if (c->seconds > 0) setup_set(r, &s, "time.duration=%g", c->seconds);
            t[k] = run(r, &s, k ? 3 : 0);
            if (!t[k]) return;
            mean_rows(r, t[k]);
        }
        // half the resolution has half as many layers below the band
        double half = r->quick ? 0.5 : 1;
        result_row(
            r, trial_end_mean(t[0], "particles", ALL) / trial_end_mean(t[1], "particles", ALL),
            c->least_particles * half, NAN, sheet_text(&r->sheet, "%.1f", c->paper_particles),
            "%s: particles, times fewer", c->label);
        result_row(
            r,
            trial_end_mean(t[0], "memory_bytes", ALL) / trial_end_mean(t[1], "memory_bytes", ALL),
            1, NAN, isnan(c->paper_memory) ? "" : sheet_text(&r->sheet, "%.1f", c->paper_memory),
            "%s: memory, times less", c->label);
        result_row(r, rest(t[0]) / rest(t[1]), r->quick ? 1.5 : 3, NAN,
                   sheet_text(&r->sheet, "%.1f", c->paper_rest),
                   "%s: time outside the projection, times less", c->label);
    }
    result_lines(r, 0, "particles", 1e-6, "Particles", "million");
}

// --------------------------------------------------------------------------------------- match

/// Where the front is, by the particle of the last thousandth along x.
typedef struct Front {
    double time[4096], x[4096];
    int count;
} Front;

static void watch_front(const BrimSim *sim, void *context) {
    Front *f = context;
    enum { BINS = 4096 };
    static const double LAST = 200; // particles
    BrimParticles p = brim_sim_particles(sim);
    const BrimSimDef *def = brim_sim_def(sim);
    if (f->count >= 4096) return;
    uint32_t *bins = calloc(BINS, sizeof *bins);
    if (!bins) return;
    for (size_t i = 0; i < p.count; i++) {
        int b = (int)(p.x[i] / def->size.x * BINS);
        bins[b < 0 ? 0 : b >= BINS ? BINS - 1 : b]++;
    }
    double seen = 0;
    int b = BINS;
    while (b > 0 && seen < LAST) seen += bins[--b];
    free(bins);
    f->time[f->count] = brim_sim_time(sim);
    f->x[f->count++] = ((double)b + 0.5) / BINS * def->size.x;
}

static double front_at(const Front *f, double time) {
    int i = 1;
    while (i < f->count - 1 && f->time[i] < time) i++;
    double part = (time - f->time[i - 1]) / (f->time[i] - f->time[i - 1]);
    return f->x[i - 1] + part * (f->x[i] - f->x[i - 1]);
}

static double column_at(const Trial *t, const char *name, double time) {
    const double *at = trial_column(t, "time"), *value = trial_column(t, name);
    size_t i = 1;
    while (i + 1 < t->steps.row_count && at[i] < time) i++;
    double part = (time - at[i - 1]) / (at[i] - at[i - 1]);
    return value[i - 1] + part * (value[i] - value[i - 1]);
}

static void match(Result *r) {
    Front *front = calloc(2, sizeof *front);
    Trial *t[2];
    if (!front) {
        result_fail(r, 1, "out of memory");
        return;
    }
    for (int k = 0; k < 2; k++) {
        Setup s = {.label = k ? "band" : "FLIP",
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "band-dam.yaml",
                   .watch = watch_front,
                   .context = &front[k]};
        setup_set(r, &s, "domain.cells=%d", r->quick ? 96 : 192);
        t[k] = run(r, &s, k ? 3 : 0);
        if (!t[k]) {
            free(front);
            return;
        }
    }
    double end = 4, impact = 0; // of the tank, m; first impact, s
    while (impact < 3 && front_at(&front[0], impact) < 0.97 * end) impact += 0.01;
    double worst_front = 0, worst_height = 0, worst_energy = 0, sum[2] = {0};
    for (double time = 0.1; time < impact; time += 0.02) {
        worst_front =
            fmax(worst_front, fabs(front_at(&front[1], time) / front_at(&front[0], time) - 1));
        worst_height = fmax(worst_height, fabs(column_at(t[1], "potential_energy", time) /
                                                   column_at(t[0], "potential_energy", time) -
                                               1));
    }
    for (double time = 0.1; time < 3; time += 0.25) { // quarters of a second, not single steps
        for (int k = 0; k < 2; k++)
            sum[k] = mean_between(t[k], "kinetic_energy", time, time + 0.25);
        worst_energy = fmax(worst_energy, fabs(sum[1] / sum[0] - 1));
    }
    free(front);
    result_row(r, 100 * worst_front, NAN, 2, "", "front until the first impact, difference (%%)");
    result_row(r, 100 * worst_height, NAN, 2, "", "mean height until then, difference (%%)");
    result_row(r, 100 * worst_energy, NAN, 10, "nearly indistinguishable",
               "kinetic energy over 3 s, quarters of a second, difference (%%)");
    result_lines(r, 0, "kinetic_energy", 1e-3, "Dam break", "kinetic energy (kJ)");
}

const Experiment nbflip_experiments[] = {
    {"nbflip-fig4", "waves in a tank: energy with the band joined by eq. 2 and eq. 3",
     PAPER ", figure 4", "20 s", "10 s", "5 s instead of 10", figure4},
    {"nbflip-table1", "pour, letters, dam with cylinders, dam: particles, memory and time",
     PAPER ", table 1", "1 h", "5 min", "half the resolution", table1},
    {"nbflip-match", "a dam break with the band against one without", PAPER ", section 4", "2 min",
     "10 s", "half the resolution", match},
    {0},
};
