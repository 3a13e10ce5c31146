// Scenes with known answers and what is measured on them, for the tests and for `make validate`.
// Uses brim.h alone.
#pragma once
#include <brim/brim.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A def with room for its lists. Fill, then case_create.
typedef struct Case {
    BrimSimDef def;
    BrimLiquidDef liquid[3];
    BrimSolidDef solids[4];
    BrimSourceDef sources[2];
    BrimDrainDef drains[2];
    BrimShapeDef parts[8]; ///< children of shapes
    BrimGravityKey gravity_keys[4];
} Case;

/// A box of size x n/size.. cells without liquid, threads = 1. cells_y, cells_z: of edge
/// size_x/cells_x.
static inline Case case_box(int dim, double size_x, int cells_x, int cells_y, int cells_z) {
    Case c = {.def = brim_default_sim_def()};
    double dx = size_x / cells_x;
    c.def.dim = dim;
    c.def.cells[0] = cells_x, c.def.cells[1] = cells_y, c.def.cells[2] = dim == 3 ? cells_z : 1;
    c.def.size = (BrimVec3){(float)size_x, (float)(dx * cells_y), (float)(dx * cells_z)};
    c.def.particles_per_cell = dim == 3 ? 8 : 9;
    c.def.gravity = (BrimVec3){0, -9.81f, 0};
    c.def.threads = 1;
    return c;
}

static inline BrimResult case_create(Case *c, BrimSim **sim, BrimError *error) {
    c->def.liquid = c->liquid, c->def.solids = c->solids;
    c->def.sources = c->sources, c->def.drains = c->drains;
    if (c->def.gravity_key_count) c->def.gravity_keys = c->gravity_keys;
    return brim_sim_create(&c->def, sim, error);
}

/// The box between two corners.
static inline BrimShapeDef box_between(BrimVec3 low, BrimVec3 high) {
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_BOX;
    shape.size = (BrimVec3){high.x - low.x, high.y - low.y, high.z - low.z};
    shape.position =
        (BrimVec3){0.5f * (low.x + high.x), 0.5f * (low.y + high.y), 0.5f * (low.z + high.z)};
    return shape;
}

static inline BrimShapeDef ball(BrimVec3 centre, float radius) {
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_SPHERE;
    shape.position = centre;
    shape.radius = radius;
    return shape;
}

static inline void case_liquid(Case *c, BrimShapeDef shape) {
    c->liquid[c->def.liquid_count++].shape = shape;
}

static inline void case_solid(Case *c, BrimShapeDef shape) {
    BrimSolidDef *solid = &c->solids[c->def.solid_count++];
    *solid = brim_default_solid_def();
    solid->shape = shape;
}

/// A unit tank of n^dim cells, filled to `depth`.
static inline Case case_tank(int dim, int n, float depth) {
    Case c = case_box(dim, 1, n, n, n);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, depth, 1}));
    return c;
}

/// Runs to a time; the last step may end a step later.
static inline BrimResult run_until(BrimSim *sim, double time, BrimError *error) {
    BrimResult r = BRIM_OK;
    while (r == BRIM_OK && brim_sim_time(sim) < time - 1e-9) r = brim_sim_step(sim, error);
    return r;
}

/// Kinetic energy over mass, m^2/s^2.
static inline double energy_per_mass(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    double sum = 0;
    for (size_t i = 0; i < p.count; i++)
        sum += 0.5 *
               ((double)p.vx[i] * p.vx[i] + (double)p.vy[i] * p.vy[i] + (double)p.vz[i] * p.vz[i]);
    return p.count ? sum / (double)p.count : 0;
}

static inline void centre_of_mass(const BrimSim *sim, double centre[3]) {
    BrimParticles p = brim_sim_particles(sim);
    centre[0] = centre[1] = centre[2] = 0;
    for (size_t i = 0; i < p.count; i++)
        centre[0] += p.x[i], centre[1] += p.y[i], centre[2] += p.z[i];
    for (int a = 0; a < 3; a++) centre[a] /= p.count ? (double)p.count : 1;
}

/// Sum of x cross v about the axis through the centre of mass along z (axis 2) or y (1), over
/// count.
static inline double spin_about(const BrimSim *sim, const double centre[3], int axis) {
    BrimParticles p = brim_sim_particles(sim);
    double sum = 0;
    for (size_t i = 0; i < p.count; i++)
        sum += axis == 2 ? (p.x[i] - centre[0]) * p.vy[i] - (p.y[i] - centre[1]) * p.vx[i]
                         : (p.z[i] - centre[2]) * p.vx[i] - (p.x[i] - centre[0]) * p.vz[i];
    return p.count ? sum / (double)p.count : 0;
}

/// Largest |p - rho g (depth - y)| over rho g depth, in cells more than one below the surface and
/// clear of it; -1 when the field cannot be read.
static inline double pressure_error(const BrimSim *sim, double depth) {
    const BrimSimDef *d = brim_sim_def(sim);
    size_t n = (size_t)d->cells[0] * (size_t)d->cells[1] * (size_t)d->cells[2];
    float *p = malloc(n * sizeof *p);
    double worst = -1, dx = d->size.x / d->cells[0], full = -(double)d->gravity.y * d->density;
    if (p && brim_sim_field(sim, BRIM_FIELD_PRESSURE, p, n, NULL) == BRIM_OK) {
        worst = 0;
        for (size_t i = 0; i < n; i++) {
            double y = ((double)(i / (size_t)d->cells[0] % (size_t)d->cells[1]) + 0.5) * dx;
            double exact = y < depth ? full * (depth - y) : 0;
            worst = fmax(worst, fabs(p[i] - exact) / (full * depth));
        }
    }
    free(p);
    return worst;
}

/// Hash of positions, velocities and ids in storage order (FNV-1a).
static inline uint64_t particle_hash(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    const void *array[] = {p.x, p.y, p.z, p.vx, p.vy, p.vz, p.id};
    uint64_t h = 1469598103934665603u;
    for (int a = 0; a < 7; a++)
        for (size_t i = 0; i < p.count; i++) {
            uint32_t bits;
            memcpy(&bits, (const char *)array[a] + 4 * i, 4);
            h = (h ^ bits) * 1099511628211u;
        }
    return h;
}

/// Zero crossings of a signal sampled in time, for its period.
typedef struct Crossings {
    double last_time, last_value, first, latest;
    int count, samples;
} Crossings;

static inline void crossings_add(Crossings *c, double time, double value) {
    if (c->samples++ && c->last_value * value < 0) {
        double at = c->last_time + (time - c->last_time) * c->last_value / (c->last_value - value);
        if (!c->count++) c->first = at;
        c->latest = at;
    }
    c->last_time = time, c->last_value = value;
}

/// Twice the mean time between crossings; 0 with less than two of them.
static inline double crossings_period(const Crossings *c) {
    return c->count > 1 ? 2 * (c->latest - c->first) / (c->count - 1) : 0;
}
