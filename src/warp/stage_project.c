// Pressure at the nodes of a warped mesh, and the sums for the statistics.
#include "base/error.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

typedef struct Projection {
    NodalProblem problem;
    NodalOperator *op;
    double scale; ///< from the last kick's pressure to this one's
} Projection;

/// Operator and start value of a tile.
static void assemble_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    WarpState *w = s->warp;
    size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    nodal_assemble(&p->problem, p->op, slot);
    for (size_t i = at; i < at + n; i++)
        w->q[i] = p->op->smooth[i] > 0 ? p->scale * (double)s->pressure[i] : 0;
}

static void rhs_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    nodal_rhs(&p->problem, p->op, s->velocity, s->rhs, slot);
}

static void store_tile(BrimSim *s, int slot, int thread, void *context) {
    size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    for (size_t i = at; i < at + n; i++) s->pressure[i] = (float)s->warp->q[i];
}

static void update_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    nodal_update(&p->problem, p->op, s->pressure, s->velocity, s->liquid, slot);
}

/// Largest divergence left at a node, 1/s times the cell width; context: Projection.
typedef struct Left {
    Projection *projection;
    TeamLargest largest;
} Left;

static void measure_tile(BrimSim *s, int slot, int thread, void *context) {
    Left *l = context;
    size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    float most = 0;
    if (!l->projection->op->used[slot]) return;
    nodal_rhs(&l->projection->problem, l->projection->op, s->velocity, s->diagonal, slot);
    for (size_t i = at; i < at + n; i++)
        most = (float)larger_of(most, fabsf(s->diagonal[i] * l->projection->op->weight[i]));
    team_raise(&l->largest, most);
}

static Projection projection(const BrimSim *s) {
    return (Projection){
        .problem = {.grid = &s->grid,
                    .map = &s->warp->mesh.map,
                    .rule = WARP_RULE_GAUSS,
                    .surface = {.order = s->def.surface == BRIM_SURFACE_FLAGS ? 1 : 2,
                                .limit = GHOST_LIMIT},
                    .phi = s->phi},
        .op = &s->warp->op};
}

/// Net outflow in m/s => |div u| dt.
static double to_ratio(const BrimSim *s) {
    return fmax(s->dt, s->dt_next) / (double)s->dx;
}

BrimResult warp_pressure(BrimSim *s, BrimError *error) {
    WarpState *w = s->warp;
    Projection p = projection(s);
    p.scale = s->kick > 0 ? s->kick_now / s->kick : 0;
    s->kick = s->kick_now;
    warp_grow(s, 2, s->velocity, s->old, s->known[0], s->known[1]); // all cells with a liquid node
    bool room = nodal_reserve(&w->op, &s->grid) &&
                memory_fit((void **)&w->q, &w->q_capacity, sizeof *w->q, sim_cells(s));
    if (room) tiles_for(s, assemble_tile, &p), tiles_for(s, rhs_tile, &p);
    if (!room || !nodal_prepare(w->solver, &w->op)) return step_out_of_memory(s, "project", error);
    NodalParams params = {.tolerance = s->def.tolerance / to_ratio(s),
                          .max_iterations = s->def.max_iterations};
    NodalReport report;
    bool finite = nodal_solve(w->solver, s->rhs, w->q, &params, &report);
    s->stats.iterations = report.iterations;
    s->stats.residual = report.residual * to_ratio(s);
    if (!finite)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage project: the pressure is not a number",
                    (long long)s->step + 1, s->time);
    if (!report.converged && report.iterations >= s->def.max_iterations)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage project: after %d iterations the residual is "
                    "still %.3g, above solver.tolerance = %.3g: raise solver.max_iterations or "
                    "solver.tolerance",
                    (long long)s->step + 1, s->time, report.iterations, s->stats.residual,
                    s->def.tolerance);
    tiles_for(s, store_tile, NULL);
    return BRIM_OK;
}

BrimResult warp_subtract(BrimSim *s, BrimError *error) {
    Projection p = projection(s);
    Left left = {.projection = &p};
    tiles_for(s, update_tile, &p);
    tiles_for(s, measure_tile, &left);
    s->stats.max_divergence = (double)team_largest(&left.largest) * to_ratio(s);
    return BRIM_OK;
}

// ------------------------------------------------------------------------------------- statistics

/// Part of a cell inside the level set: as a plane at the corners' mean distance cuts it.
static double liquid_part(const BrimSim *s, int slot, int i) {
    double mean = 0, slope[3] = {0};
    const int corners = 1 << s->dim;
    for (int c = 0; c < corners; c++) {
        int64_t at = grid_near(&s->grid, slot, (i & 7) + (c & 1), (i >> 3 & 7) + (c >> 1 & 1),
                               (i >> 6) + (c >> 2));
        double v = at < 0 ? (double)LEVEL_SET_CUT : (double)s->phi[at];
        mean += v / corners;
        for (int a = 0; a < s->dim; a++) slope[a] += (c >> a & 1 ? v : -v) / (corners / 2);
    }
    double thick = sqrt(slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2]);
    if (thick < 1e-3) return mean < 0;
    return fmin(fmax(0.5 - mean / thick, 0), 1);
}

void warp_sum_tile(const BrimSim *s, int slot, TileSums *out) {
    const Grid *g = &s->grid;
    const WarpMap *m = &s->warp->mesh.map;
    const Particles *p = &s->particles;
    const TileCoord t = g->coord[slot];
    *out = (TileSums){0};
    for (uint32_t n = tile_first(p, g, slot); n < tile_end(p, g, slot); n++) {
        double xi[3], x[3], v[3], rate[3], J[3][3], inverse[3][3], square = 0, fast = 0;
        double mass = warp_volume(s, n) * s->def.particles_per_cell;
        warp_particle(s, n, xi);
        map_point(m, xi, x, J);
        matrix_invert(J, inverse);
        for (int a = 0; a < 3; a++) v[a] = (double)p->attr[ATTR_VX + a][n], square += v[a] * v[a];
        warp_pull_back(inverse, v, rate);
        for (int a = 0; a < s->dim; a++) fast += rate[a] * rate[a];
        out->speed2 += mass * square;
        for (int a = 0; a < s->dim; a++) out->position[a] += mass * x[a] * (double)s->dx;
        out->fastest2 = (float)larger_of(out->fastest2, square);
        out->rate = (float)larger_of(out->rate, sqrt(fast));
    }
    TileMask inside = mask_inside(g, slot);
    for (int i = 0; i < g->tile_cells; i++) {
        if (!mask_has(&inside, i)) continue;
        double part = liquid_part(s, slot, i), J[3][3];
        const double xi[3] = {t.x * TILE + (i & 7) + 0.5, t.y * TILE + (i >> 3 & 7) + 0.5,
                              t.z * TILE + (i >> 6) + 0.5};
        if (part == 0) continue;
        map_jacobian(m, xi, J);
        out->volume += part * matrix_determinant(J);
    }
}
