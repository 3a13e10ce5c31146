// Scenes by chance, each from a seed: thin vessels with water inside, turned anyhow, still or
// moving, with and without a band, at CFL 1 to 20. What they hold must stay in. Uses brim.h alone.
#pragma once
#include "cases.h"
#include <stdio.h>

/// What a scene of chance shows at its end.
typedef struct RandomResult {
    int particles, outside; ///< outside: on the wrong side of the wall
    double fastest;         ///< largest speed at any time over that of a fall through the vessel
    double gained;          ///< largest rise of the energy, over that of such a fall
    double risen;           ///< the same above its least so far, less the work of a wall that turns
    double volume;          ///< least volume at any time
    bool open;              ///< accounts do not close, or an error
    char what[96];
} RandomResult;

/// Uniform in [low, high], from a seed and a number.
static inline double chance(uint64_t seed, int k, double low, double high) {
    uint64_t h = seed * 0x9e3779b97f4a7c15u + (uint64_t)k * 0xbf58476d1ce4e5b9u + 1;
    for (int i = 0; i < 3; i++) h ^= h >> 30, h *= 0x94d049bb133111ebu, h ^= h >> 31;
    return low + (high - low) * (double)(h >> 11) * 0x1p-53;
}

enum { VESSEL_BOX, VESSEL_BALL, VESSEL_PIPE, VESSEL_KINDS };

/// A closed vessel of wall thickness `wall` about the middle of a unit box, in the frame of its
/// own; grow: by how much it is larger.
static inline BrimShapeDef vessel_shape(int kind, double grow) {
    BrimShapeDef s = brim_default_shape_def();
    float g = (float)grow;
    if (kind == VESSEL_BOX) {
        s.kind = BRIM_SHAPE_BOX;
        s.size = (BrimVec3){0.44f + 2 * g, 0.32f + 2 * g, 0.36f + 2 * g};
    } else if (kind == VESSEL_BALL) {
        s.kind = BRIM_SHAPE_SPHERE;
        s.radius = 0.24f + g;
    } else {
        s.kind = BRIM_SHAPE_CAPSULE;
        s.radius = 0.14f + g, s.height = 0.3f;
    }
    return s;
}

/// Distance of a point from the vessel's inner side, m, below 0 inside, in its frame.
static inline double vessel_distance(int kind, int dim, double x, double y, double z) {
    if (dim == 2) z = 0;
    if (kind == VESSEL_BALL) return sqrt(x * x + y * y + z * z) - 0.24;
    if (kind == VESSEL_BOX) {
        double d = fmax(fabs(x) - 0.22, fabs(y) - 0.16);
        return dim == 3 ? fmax(d, fabs(z) - 0.18) : d;
    }
    double along = fmax(fabs(y) - 0.15, 0);
    return sqrt(x * x + along * along + z * z) - 0.14;
}

/// Kinetic and potential energy, J/kg. Velocities are half a step ahead of positions, which are
/// brought to the same time.
static inline double random_energy(const BrimSim *sim) {
    const BrimStats *s = brim_sim_stats(sim);
    BrimParticles p = brim_sim_particles(sim);
    double mass = brim_sim_def(sim)->density, up = 0, count = (double)p.count;
    double dx = (double)brim_sim_def(sim)->size.x / brim_sim_def(sim)->cells[0];
    bool flat = brim_sim_def(sim)->cells[2] <= 1;
    mass *= (flat ? dx * dx : dx * dx * dx) / brim_sim_def(sim)->particles_per_cell;
    mass *= count + (double)s->interior;
    for (size_t i = 0; i < p.count; i++) up += (double)p.vy[i];
    return mass > 0
               ? (s->kinetic_energy + s->potential_energy) / mass + 9.81 * 0.5 * s->dt * up / count
               : 0;
}

/// Per mass of all liquid: angular momentum about a point, m^2/s, and how far its middle lies from
/// the point along x, m. Hidden liquid fills cells without particles.
typedef struct RandomTurn {
    double momentum, lever;
} RandomTurn;

static inline RandomTurn random_turn(const BrimSim *sim, BrimVec3 middle) {
    const BrimSimDef *d = brim_sim_def(sim);
    BrimParticles p = brim_sim_particles(sim);
    const int nx = d->cells[0], ny = d->cells[1], nz = d->cells[2] > 1 ? d->cells[2] : 1;
    const size_t cells = (size_t)nx * (size_t)ny * (size_t)nz;
    double dx = (double)d->size.x / nx, count = (double)p.count;
    RandomTurn t = {0};
    for (size_t i = 0; i < p.count; i++) {
        double x = (double)(p.x[i] - middle.x), y = (double)(p.y[i] - middle.y);
        t.momentum += x * (double)p.vy[i] - y * (double)p.vx[i], t.lever += x;
    }
    float *velocity = NULL, *density = NULL;
    if (d->band_width > 0) {
        velocity = malloc(3 * cells * sizeof *velocity), density = malloc(cells * sizeof *density);
        if (!velocity || !density ||
            brim_sim_field(sim, BRIM_FIELD_VELOCITY, velocity, 3 * cells, NULL) != BRIM_OK ||
            brim_sim_field(sim, BRIM_FIELD_DENSITY, density, cells, NULL) != BRIM_OK)
            t.momentum = NAN;
        else {
            for (size_t i = 0; i < p.count; i++) {
                int at[3] = {(int)((double)p.x[i] / dx), (int)((double)p.y[i] / dx),
                             nz > 1 ? (int)((double)p.z[i] / dx) : 0};
                density[((size_t)at[2] * (size_t)ny + (size_t)at[1]) * (size_t)nx + (size_t)at[0]] =
                    0;
            }
            for (size_t i = 0; i < cells; i++) {
                if (!(density[i] > 0.999f)) continue;
                double x = ((double)(i % (size_t)nx) + 0.5) * dx - (double)middle.x;
                double y = ((double)(i / (size_t)nx % (size_t)ny) + 0.5) * dx - (double)middle.y;
                double n = d->particles_per_cell;
                t.momentum += n * (x * (double)velocity[3 * i + 1] - y * (double)velocity[3 * i]);
                t.lever += n * x, count += n;
            }
        }
    }
    free(velocity), free(density);
    t.momentum /= count, t.lever /= count;
    return t;
}

/// Runs the scene of a seed for `time` seconds; bands: some have one.
static inline RandomResult random_scene(uint64_t seed, double time, bool bands) {
    RandomResult r = {0};
    int dim = chance(seed, 0, 0, 1) < 0.7 ? 2 : 3, kind = (int)chance(seed, 1, 0, VESSEL_KINDS);
    int n = dim == 2 ? (int)chance(seed, 2, 40, 80) : (int)chance(seed, 2, 24, 32);
    double dx = 1.0 / n, wall = chance(seed, 3, 1, 1.6) * dx, cfl = pow(20, chance(seed, 4, 0, 1));
    double angle = chance(seed, 5, 0, 360), spin = 0;
    bool moving = chance(seed, 6, 0, 1) < 0.5, band = bands && chance(seed, 7, 0, 1) < 0.5;
    Case c = case_box(dim, 1, n, n, n);
    const BrimVec3 middle = {0.5f + (float)chance(seed, 8, -0.05, 0.05),
                             0.5f + (float)chance(seed, 9, -0.05, 0.05), 0.5f};
    c.parts[0] = vessel_shape(kind, wall), c.parts[1] = vessel_shape(kind, 0);
    BrimShapeDef shell = brim_default_shape_def();
    shell.kind = BRIM_SHAPE_DIFFERENCE;
    shell.children = c.parts, shell.child_count = 2;
    shell.position = middle, shell.rotation.z = (float)angle;
    case_solid(&c, shell);
    if (moving) { // about its own middle
        spin = chance(seed, 10, -180, 180);
        c.solids[0].motion = BRIM_MOTION_ROTATION;
        c.solids[0].axis = (BrimVec3){0, 0, 1}, c.solids[0].rate = (float)spin;
    }
    c.parts[2] = vessel_shape(kind, -0.01 * dx); // half full, in the vessel's frame
    c.parts[3] = box_between((BrimVec3){-1, 0, -1}, (BrimVec3){1, 1, 1});
    BrimShapeDef water = brim_default_shape_def();
    water.kind = BRIM_SHAPE_DIFFERENCE;
    water.children = c.parts + 2, water.child_count = 2;
    water.position = middle, water.rotation.z = (float)angle;
    case_liquid(&c, water);
    c.def.cfl = cfl, c.def.frame_rate = 20, c.def.band_width = band ? 3 : 0;
    snprintf(r.what, sizeof r.what, "%dD %s, %d cells, wall %.2f, cfl %.1f%s%s", dim,
             kind == VESSEL_BOX    ? "box"
             : kind == VESSEL_BALL ? "ball"
                                   : "pipe",
             n, wall / dx, cfl, moving ? ", turning" : "", band ? ", band" : "");
    BrimError error;
    BrimSim *sim;
    if (case_create(&c, &sim, &error) != BRIM_OK) {
        r.open = true;
        return r;
    }
    // Water falls no farther than the vessel is high; a wall that turns takes it along, or throws
    // it ahead with twice its speed. Where water closes on a wall a little of it is faster still,
    // by the energy of the rest: what may not grow is the energy of all, at any time. A vessel that
    // turns by w does the work w (dL + m g x dt), as gravity turns the water about its middle by
    // -m g x: E - w L - w g (integral of x) may not grow.
    double fall = sqrt(2 * 9.81 * 0.7), thrown = 2 * fabs(spin) * 3.14159265 / 180 * 0.35;
    double start = 0, least = INFINITY, turned = 0, rate = spin * 3.14159265358979 / 180;
    r.volume = 1;
    for (bool first = true; !r.open && brim_sim_time(sim) < time - 1e-9; first = false) {
        r.open = brim_sim_step(sim, &error) != BRIM_OK;
        double energy = random_energy(sim);
        if (first) start = energy + 0.5 * thrown * thrown + (moving ? 0.5 * fall * fall : 0);
        r.gained = fmax(r.gained, (energy - start) / (0.5 * fall * fall));
        if (moving) {
            RandomTurn turn = random_turn(sim, middle);
            turned += 9.81 * turn.lever * brim_sim_stats(sim)->dt;
            energy -= rate * (turn.momentum + turned);
        }
        least = fmin(least, energy);
        r.risen = fmax(r.risen, (energy - least) / (0.5 * fall * fall));
        r.fastest = fmax(r.fastest, brim_sim_stats(sim)->max_speed / (fall + thrown));
        r.volume = fmin(r.volume, brim_sim_stats(sim)->volume);
    }
    BrimParticles p = brim_sim_particles(sim);
    const BrimStats *s = brim_sim_stats(sim);
    double now = (angle + spin * brim_sim_time(sim)) * 3.14159265358979 / 180;
    for (size_t i = 0; i < p.count; i++) {
        double x = p.x[i] - middle.x, y = p.y[i] - middle.y, z = p.z[i] - middle.z;
        double at[2] = {cos(now) * x + sin(now) * y, cos(now) * y - sin(now) * x};
        r.outside += vessel_distance(kind, dim, at[0], at[1], z) > 0.5 * wall;
    }
    r.particles = (int)p.count;
    r.open |= s->seeded + s->resampled != s->particles || s->left != 0 || s->drained != 0;
    brim_sim_destroy(&sim);
    return r;
}

/// Whether all water is where it should be, none is miscounted, and no energy came from nowhere.
static inline bool random_good(const RandomResult *r) {
    return !r->outside && !r->open && r->particles > 0 && r->gained <= 0.02;
}

/// Whether a particle is faster than a fall through the vessel and not by energy of the others.
static inline bool random_too_fast(const RandomResult *r) {
    return r->fastest > 1.1 && r->risen > 0.02;
}
