// Flows that are given, so that only advection, sort and surface run, and how far the surface that
// particles carry is from the exact one.
#pragma once
#include "cases.h"
#include "step/stages.h"

// ------------------------------------------------------------------------------- a given flow

/// Velocity in cells/s at a point in cells.
typedef void Flow(const double at[3], double time, double v[3]);

static inline void face_point(const BrimSim *s, int64_t i, int axis, double at[3]) {
    const Grid *g = &s->grid;
    int slot = (int)(i / g->tile_cells), cell = (int)(i % g->tile_cells);
    const int c[3] = {g->coord[slot].x, g->coord[slot].y, g->coord[slot].z};
    for (int a = 0; a < 3; a++)
        at[a] = c[a] * TILE + (cell >> (3 * a) & 7) + (a == axis ? 0.0 : 0.5);
}

/// The flow on all faces of all tiles, in the middle of a step.
static inline void set_flow(BrimSim *s, Flow *flow, double time) {
    float fastest = 0;
    for (int a = 0; a < s->dim; a++)
        for (size_t i = 0; i < sim_cells(s); i++) {
            double at[3], v[3] = {0};
            face_point(s, (int64_t)i, a, at);
            flow(at, time, v);
            s->velocity[a][i] = (float)(v[a] * s->dx);
            fastest = fmaxf(fastest, fabsf(s->velocity[a][i]));
        }
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_speed[t] = fastest;
    s->max_speed = fastest;
}

/// Calm particles go with the flow, but no faster than calm water does.
static inline void set_calm(BrimSim *s, Flow *flow, double time) {
    const Particles *p = &s->particles;
    for (size_t i = 0; i < p->count; i++) {
        double at[3] = {0}, v[3] = {0}, had = 0, size = 0;
        for (int a = 0; a < s->dim; a++) {
            at[a] = (double)p->attr[ATTR_X + a][i] * (double)s->inv_dx;
            had = hypot(had, (double)p->attr[ATTR_VX + a][i]);
        }
        if (had > 1) continue;
        flow(at, time, v);
        for (int a = 0; a < s->dim; a++) size = hypot(size, v[a] * (double)s->dx);
        for (int a = 0; a < s->dim; a++)
            p->attr[ATTR_VX + a][i] = (float)(v[a] * (double)s->dx * fmin(1, 0.9 / (size + 1e-30)));
    }
}

static inline BrimResult flow_step(BrimSim *s, Flow *flow, double dt, BrimError *error) {
    s->dt = s->dt_next = dt;
    set_flow(s, flow, s->time + 0.5 * dt);
    BrimResult r = stages_run(s, AT_ADVECT, AT_ADVECT, error);
    if (r == BRIM_OK) r = stages_run(s, AT_SORT, AT_SORT, error);
    set_calm(s, flow, s->time + 0.5 * dt);
    if (r == BRIM_OK) r = stages_run(s, AT_SURFACE, AT_SURFACE, error);
    s->time += dt;
    return r;
}

static inline BrimResult flow_run(BrimSim *s, Flow *flow, double dt, int steps, BrimError *error) {
    BrimResult r = BRIM_OK;
    for (int i = 0; i < steps && r == BRIM_OK; i++) r = flow_step(s, flow, dt, error);
    return r;
}

/// A box of unit cells in which calm is whatever is seeded slower than 1 m/s.
static inline Case case_cells(int dim, int nx, int ny, int nz, double memory) {
    Case c = case_box(dim, nx, nx, ny, nz);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.tracking = BRIM_TRACKING_RESPONSIVE;
    c.def.tracking_speed[0] = 1, c.def.tracking_speed[1] = 2;
    c.def.tracking_memory = memory;
    c.def.volume = BRIM_VOLUME_NONE;
    return c;
}
static const double FOREVER = 1e12;

// ------------------------------------------------------------------------- what the surface is

/// Value of the level set at cell x, y, z, mirrored at the walls; 2 where there is no tile.
static inline double phi_at(const BrimSim *s, int x, int y, int z) {
    int at[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        at[a] = at[a] < 0 ? 0 : at[a];
        at[a] = at[a] >= s->grid.cells[a] ? s->grid.cells[a] - 1 : at[a];
    }
    int64_t i = grid_cell(&s->grid, at[0], at[1], at[2]);
    return i < 0 ? 2 : (double)s->tracked[i];
}

/// Calls `see` with each place where the surface crosses a line between cell centres, in cells.
typedef void See(const double at[3], void *context);
static inline void crossings(const BrimSim *s, See *see, void *context) {
    const int *n = s->grid.cells;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++)
                for (int a = 0; a < s->dim; a++) {
                    const int c[3] = {x, y, z};
                    if (c[a] + 1 >= n[a]) continue;
                    double p = phi_at(s, x, y, z);
                    double q = phi_at(s, x + (a == 0), y + (a == 1), z + (a == 2));
                    if ((p < 0) == (q < 0)) continue;
                    double at[3] = {x + 0.5, y + 0.5, z + 0.5};
                    at[a] += p / (p - q);
                    see(at, context);
                }
}

/// How far the surface is from an exact distance: mean, root mean square about it, largest.
typedef struct Off {
    double (*exact)(const double at[3]);
    double from, to; ///< along x
    double sum, squares, most;
    int count;
} Off;
static inline void off_see(const double at[3], void *context) {
    Off *o = context;
    if (at[0] < o->from || at[0] > o->to) return;
    double d = o->exact(at);
    o->sum += d, o->squares += d * d, o->count++;
    o->most = fmax(o->most, fabs(d));
}
static inline double off_mean(const Off *o) {
    return o->count ? o->sum / o->count : NAN;
}
static inline double off_rms(const Off *o) {
    return sqrt(fmax(0, o->squares / o->count - off_mean(o) * off_mean(o)));
}
static inline Off off(const BrimSim *s, double (*exact)(const double at[3])) {
    Off o = {.exact = exact,
             .from = 0.35 * s->grid.cells[0],
             .to = 0.65 * s->grid.cells[0]}; // far from walls
    crossings(s, off_see, &o);
    return o;
}

/// Area inside the level set and of what is inside it or the exact one alone, in cells; 2D.
static inline void areas(const BrimSim *s, double (*exact)(const double at[3]), double *area,
                         double *exact_area, double *apart) {
    enum { FINE = 8 };
    *area = *exact_area = *apart = 0;
    for (int y = 0; y < s->grid.cells[1] * FINE; y++)
        for (int x = 0; x < s->grid.cells[0] * FINE; x++) {
            double at[3] = {(x + 0.5) / FINE, (y + 0.5) / FINE, 0.5};
            double u = at[0] - 0.5, v = at[1] - 0.5;
            int i = (int)floor(u), j = (int)floor(v);
            u -= i, v -= j;
            double low = (1 - u) * phi_at(s, i, j, 0) + u * phi_at(s, i + 1, j, 0);
            double high = (1 - u) * phi_at(s, i, j + 1, 0) + u * phi_at(s, i + 1, j + 1, 0);
            bool in = (1 - v) * low + v * high < 0, should = exact(at) < 0;
            *area += in, *exact_area += should, *apart += in != should;
        }
    *area /= FINE * FINE, *exact_area /= FINE * FINE, *apart /= FINE * FINE;
}

static inline void still(const double at[3], double time, double v[3]) {
    v[0] = v[1] = v[2] = 0;
}
