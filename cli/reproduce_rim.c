// Experiments of Brandt, Scandolo, Eisemann, Hildebrandt: "The Reduced Immersed Method for
// Real-Time Fluid-Elastic Solid Interaction and Contact Simulation", 2019, with bodies of our own
// shapes of the same sizes (scenes/rim-*.yaml).
#include "measure.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>

#define PAPER "Brandt et al. 2019"

// ------------------------------------------------------------------------------------ figure 8

/// A figure that floats: what is measured over the last seconds.
typedef struct Float {
    const char *file; ///< of its tetrahedra
    double from;      ///< s, when measuring begins
    double body, under, lift, speed;
    int count;
} Float;

/// The figure as tetrahedra instead of a shape.
static void take_tets(Result *r, BrimSimDef *def, void *context) {
    const Float *f = context;
    BrimBodyDef *body = sheet_memory(&r->sheet, sizeof *body);
    if (!body) {
        result_fail(r, EXIT_MEMORY, "out of memory");
        return;
    }
    *body = def->bodies[0];
    body->shape = brim_default_shape_def();
    body->shape.kind = BRIM_SHAPE_MESH, body->shape.file = f->file;
    def->bodies = body, def->body_count = 1;
}

static void watch_float(const BrimSim *sim, void *context) {
    Float *f = context;
    BrimBodyState state;
    double below;
    if (brim_sim_time(sim) < f->from || brim_sim_body_state(sim, 0, &state, NULL) != BRIM_OK)
        return;
    f->body += measure_body(sim, 0, measure_rim_level(sim), &below);
    f->under += below, f->lift += (double)state.pressure.y,
        f->speed += fabs((double)state.velocity.y);
    f->count++;
}

/// Stuffs the figure of a scene; the file's name, NULL when the result has failed.
static const char *stuff_figure(Result *r, int wanted) {
    BrimError error;
    BrimScene *scene = NULL;
    BrimTets tets;
    const char *path = trial_scene(r, "rim-figure.yaml"), *file = result_path(r, "-figure.msh");
    if (!path) return NULL;
    double start = wall_clock();
    BrimResult result = brim_scene_load(path, NULL, 0, &scene, &error);
    if (result == BRIM_OK)
        result = brim_tets_fill(&brim_scene_def(scene)->bodies[0].shape, wanted, 0, &tets, &error);
    brim_scene_destroy(&scene);
    if (result == BRIM_OK) {
        result_row(r, (double)tets.tet_count, 0.95 * wanted, 1.05 * wanted, "137,330",
                   "tetrahedra of the figure");
        result_row(r, wall_clock() - start, NAN, NAN, "", "s to fill it with them");
        result = brim_write_tets(&tets, file, &error);
        brim_tets_free(&tets);
    }
    if (result == BRIM_OK) return file;
    r->code = report_result(&error, false);
    return NULL;
}

static void figure8(Result *r) {
    static const struct {
        double density;
        const char *label;
    } cases[] = {{540, "density 540"}, {1000, "density 1000"}, {1850, "density 1850"}};
    const char *file = stuff_figure(r, r->quick ? 20000 : 137330);
    const int count = r->quick ? 1 : 3;
    const double until = r->quick ? 6 : 12;
    for (int i = 0; i < count && file; i++) {
        Float f = {.file = file, .from = until - 3};
        Setup setup = {.label = cases[i].label, .colour = i + 1, .dash = 1};
        setup.scene = "rim-figure.yaml", setup.change = take_tets;
        setup.watch = watch_float, setup.context = &f;
        setup_set(r, &setup, "bodies[0].density=%g", cases[i].density);
        setup_set(r, &setup, "time.duration=%g", until);
        Trial *t = trial_run(r, &setup);
        if (!t) return;
        result_check(r, t->error.result == BRIM_OK, "", cases[i].label);
        double part = f.under / f.body, weight = 9.81 * f.body / f.count * 1000;
        if (cases[i].density < 1000)
            result_row(r, part / (cases[i].density / 1000), 0.98, 1.02, "",
                       "%s: part under water over Archimedes'", cases[i].label);
        else
            result_row(r, f.lift / f.count / weight, 0.98, 1.02, "",
                       "%s: lift over weight of the water displaced", cases[i].label);
        result_row(r, f.speed / f.count, NAN, NAN, "", "%s: mean speed up and down (m/s)",
                   cases[i].label);
        result_row(r, trial_end_mean(t, "volume", until), 0.99, 1.01, "",
                   "%s: volume of the liquid", cases[i].label);
        result_row(r, (double)t->steps.row_count / t->wall, NAN, NAN, "126 (GPU)",
                   "%s: steps a second", cases[i].label);
    }
    result_lines(r, 0, "ms_total", 1, "time of a step", "ms");
}

const Experiment rim_experiments[] = {
    {"rim-fig8", "a figure of three densities dropped into a pool: draft by Archimedes",
     PAPER ", figure 8", "10 min", "1 min", "one density, 6 s, 20,000 tetrahedra", figure8},
    {0},
};
