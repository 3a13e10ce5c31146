#include "forecast.h"
#include "emit/stream.h"
#include "sim.h"
#include <math.h>
#include <stdlib.h>

enum {
    PARTICLES_2D = 1500,
    PARTICLES_3D = 8000,
    PARTICLES_BAND = 12000, ///< enough for water below the band
    STEPS_MOST = 600,
    STEPS_FIXED = 200, ///< where only the particles are asked for
    FRAMES_FOAM = 300,
    FRAMES_MOST = 100,
    SURFACES = 8,    ///< of the coarse run that are made
    CELLS_LEAST = 8, ///< along the shortest edge
};

/// The fastest of many particles is faster than that of few: of 27 scenes, most of them shipped,
/// the steps were 0.69 to 1.13 times the run's with 1.1, 0.94 in the middle.
static const double FASTER = 1.2;
/// From step to step it scatters by a tenth (fifths of a normal distribution): near a whole number
/// of steps a frame this decides between one and two.
static const double SCATTER[] = {0.88, 0.95, 1, 1.05, 1.14};

double supply_until(const BrimSimDef *def, const Supply *supply, double time) {
    double sum = supply->seeded;
    for (int i = 0; i < def->source_count; i++) {
        const BrimSourceDef *d = &def->sources[i];
        sum += supply->rate[i] * fmax(0, fmin(time, d->stop) - fmax(d->start, 0));
    }
    return sum;
}

static bool has_open_side(const BrimSimDef *def) {
    bool open = false;
    for (int i = 0; i < 2 * def->dim; i++) open |= def->sides[i] == BRIM_SIDE_OPEN;
    return open;
}

bool forecast_helps(const BrimSimDef *def) {
    for (int i = 0; i < def->liquid_count; i++)
        if (def->liquid[i].particles > 0) return false; // as many, however coarse the cells
    return def->step <= 0 || has_open_side(def) || def->source_count || def->drain_count ||
           def->band_width;
}

/// The same scene with wider cells, of `particles` at its end so wide that about `few` are left.
static void make_coarse(const BrimSimDef *def, double particles, double few, BrimSimDef *coarse) {
    double wider = pow(fmax(particles, 1) / few, 1.0 / def->dim);
    double size[3] = {def->size.x, def->size.y, def->size.z};
    for (int a = 0; a < def->dim; a++) wider = fmin(wider, (double)def->cells[a] / CELLS_LEAST);
    *coarse = *def;
    if (!(wider > 1)) return;
    coarse->cells[0] = (int)ceil(def->cells[0] / wider);
    double cell = size[0] / coarse->cells[0];
    for (int a = 1; a < def->dim; a++) {
        coarse->cells[a] = (int)ceil(size[a] / cell - 1e-3);
        *(a == 1 ? &coarse->size.y : &coarse->size.z) = (float)(coarse->cells[a] * cell);
    }
    if (def->dim == 2) coarse->size.z = (float)cell;
}

/// What is summed up over the coarse run's steps.
typedef struct Sums {
    const BrimSimDef *def;
    const Supply *supply;
    double cell;             ///< of the scene, m
    double steps, particles; ///< of the scene; the latter times time, s
    double first;            ///< particles that the coarse run began with
    double due;              ///< by now emitted in the coarse run, were its sources free of solids
    double time, last;       ///< of the last step
    double wider;            ///< cells of the coarse run over those of the scene
    double vertices, foam;   ///< summed over surfaces and frames
    int surfaces, frames;
} Sums;

/// Steps of the scene in a second at a speed, as choose_dt makes them.
static double step_rate(const Sums *s, const BrimSim *sim, double speed) {
    const BrimSimDef *d = s->def;
    double pull = strongest_pull(sim), way = d->cfl * s->cell;
    // (v + g dt) dt = way, and no longer than water takes to fall one cell
    double rate = (speed + sqrt(speed * speed + 4 * pull * way)) / (2 * way);
    rate = fmax(rate, sqrt(pull / (2 * s->cell)));
    // ripples of surface tension: sqrt(cell^3)
    rate = fmax(rate, sqrt(pow(s->wider, 3)) / step_for_tension(sim));
    if (d->step_min > 0) rate = fmin(rate, 1 / d->step_min);
    if (d->step_max > 0) rate = fmax(rate, 1 / d->step_max);
    // steps end on frames, so a frame has a whole number of them
    return d->frame_rate * fmax(1, ceil(rate / d->frame_rate - 1e-6));
}

/// A step of the coarse run: what the scene's own would make of the same time. Of the water that
/// came so far as large a part is there.
static void add_step(Sums *s, const BrimSim *sim) {
    enum { FIFTHS = sizeof SCATTER / sizeof *SCATTER };
    const BrimSimDef *d = s->def;
    const BrimStats *stats = brim_sim_stats(sim);
    double dt = stats->time - s->time;
    for (int i = 0; i < FIFTHS; i++) {
        double speed = fmax(FASTER * SCATTER[i] * stats->max_speed, step_speed(sim));
        s->steps += dt / FIFTHS * step_rate(s, sim, speed);
    }
    double came = s->first + (double)stats->emitted;
    double emitted = supply_until(d, s->supply, stats->time) - s->supply->seeded;
    if (s->due > 0) emitted *= fmin(1, (double)stats->emitted / s->due);
    s->last = s->supply->seeded + emitted;
    if (came > 0) s->last *= (double)stats->particles / came;
    s->particles += dt * s->last, s->time = stats->time;
}

/// What the sources would have emitted until now if no solid were in their way.
static double emission_due(BrimSim *sim) {
    double sum = 0;
    for (int i = 0; i < sim->source_count; i++) {
        const BrimSourceDef *d = &sim->sources[i].def;
        double from = fmax(d->start, 0), to = fmin(brim_sim_time(sim), d->stop);
        sum += stream_amount(sim, &sim->sources[i], from, to);
    }
    return sum;
}

/// At a frame of the coarse run: what files of surfaces and foam will hold.
static void add_frame(Sums *s, const BrimSim *sim, BrimFoam *foam) {
    const BrimOutputDef *o = &s->def->output;
    int frame = brim_sim_frame(sim), all = brim_sim_frame_count(sim);
    BrimParticles p = brim_sim_particles(sim);
    BrimInterior *below = NULL;
    if (foam && brim_sim_interior(sim, &below, &p.interior_count, NULL) == BRIM_OK)
        p.interior = below;
    if (foam && brim_foam_advance(foam, &p, frame, brim_sim_time(sim), NULL) == BRIM_OK) {
        // born in the uppermost layers of particles
        double count = s->wider * s->wider * (double)brim_foam_frame(foam).count;
        s->foam += fmin(count, s->def->foam.most);
        s->frames++;
    }
    free(below);
    bool surface = o->surface != BRIM_SURFACE_OUTPUT_NONE || o->vdb;
    if (!surface || frame % (all / SURFACES + 1)) return;
    BrimMeshDef def = brim_default_mesh_def();
    def.resolution = o->surface_resolution, def.smooth = 0;
    BrimMesh mesh;
    if (brim_sim_mesh(sim, &def, &mesh, NULL) != BRIM_OK) return;
    s->vertices += s->wider * s->wider * (double)mesh.vertex_count;
    s->surfaces++;
    brim_mesh_free(&mesh);
}

static bool run_coarse(const BrimSimDef *coarse, Sums *sums) {
    BrimSim *sim = NULL;
    BrimFoam *foam = NULL;
    int frame = 0, most = sums->def->step > 0 ? STEPS_FIXED : STEPS_MOST;
    BrimResult r = brim_sim_create(coarse, &sim, NULL);
    if (r == BRIM_OK && coarse->output.foam)
        r = brim_foam_create(coarse, &coarse->foam, &foam, NULL);
    if (r == BRIM_OK) sums->first = (double)brim_sim_particles(sim).count;
    if (r == BRIM_OK) sums->last = sums->supply->seeded, add_frame(sums, sim, foam);
    for (int i = 0; i < most && r == BRIM_OK && sums->time < coarse->duration * 0.9999; i++) {
        r = brim_sim_step(sim, NULL);
        if (r != BRIM_OK) break;
        sums->due = emission_due(sim), add_step(sums, sim);
        if (brim_sim_frame(sim) > frame) frame = brim_sim_frame(sim), add_frame(sums, sim, foam);
    }
    brim_foam_destroy(&foam);
    brim_sim_destroy(&sim);
    return r == BRIM_OK && sums->time > 0;
}

/// No more steps and frames than the coarse run needs; where the scene's own steps are longer,
/// water crosses as many cells in a step as there.
static void make_hasty(const BrimSimDef *def, double wider, BrimSimDef *coarse) {
    coarse->cfl = fmax(def->cfl, 2);
    coarse->step_min = wider * (def->step > 0 ? def->step : def->step_min);
    coarse->step_max = wider * def->step_max;
    coarse->step = 0;
    // foam is made from frame to frame, all else is looked at now and then
    double frames = def->output.foam ? FRAMES_FOAM : FRAMES_MOST;
    coarse->frame_rate = fmin(def->frame_rate, frames / def->duration);
    coarse->gauge_count = 0;
    coarse->memory_limit = 0;
}

bool forecast_run(const BrimSimDef *def, const Supply *supply, Forecast *forecast) {
    double few = def->band_width ? PARTICLES_BAND : def->dim == 2 ? PARTICLES_2D : PARTICLES_3D;
    double all = supply_until(def, supply, def->duration);
    BrimSimDef coarse;
    make_coarse(def, all, few, &coarse);
    double wider = (double)def->cells[0] / coarse.cells[0];
    make_hasty(def, wider, &coarse);
    Sums sums = {
        .def = def, .supply = supply, .cell = (double)def->size.x / def->cells[0], .wider = wider};
    // bodies thinner than these cells end it at once
    if (coarse.duration * coarse.frame_rate < 1 || !run_coarse(&coarse, &sums)) return false;
    // beyond the steps that were allowed it goes on as it did, and water comes as it does
    double part = all > 0 ? sums.last / supply_until(def, supply, sums.time) : 1;
    double rest = fmax(0, def->duration - sums.time), end = part * all;
    forecast->steps = sums.steps * def->duration / sums.time;
    forecast->particles = (sums.particles + 0.5 * (sums.last + end) * rest) / def->duration;
    forecast->last = end;
    forecast->vertices = sums.surfaces ? sums.vertices / sums.surfaces : -1;
    forecast->foam = sums.frames ? sums.foam / sums.frames : 0;
    return true;
}
