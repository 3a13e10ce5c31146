// Pressure at the nodes of a warped mesh, and the sums for the statistics.
#include "base/error.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "step/system.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

typedef struct Projection {
    NodalProblem problem;
    NodalOperator *op;
    double scale;      ///< from the last kick's pressure to this one's
    double divergence; ///< wanted everywhere, 1/s
} Projection;

static void assemble_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    nodal_assemble(&p->problem, p->op, slot);
    nodal_give_flow(p->op, s->velocity, s->nodal_rhs, slot); // while its cells are at hand
}

/// Operator and start value of a tile.
static void join_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    WarpState *w = s->warp;
    size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    nodal_join(&p->problem, p->op, slot);
    for (size_t i = at; i < at + n; i++)
        w->q[i] = p->op->smooth[i] > 0 ? p->scale * (double)s->pressure[i] : 0;
}

/// Volume of the liquid in the cells of a tile, by the level set; context: double [slot].
static void fill_tile(BrimSim *s, int slot, int thread, void *context) {
    const NodalOperator *op = &s->warp->op;
    const int64_t n = s->grid.tile_cells;
    double sum = 0;
    for (int i = 0; i < (int)n && op->kept[slot]; i++) {
        const float volume = op->mean[(slot * NODAL_MEAN + NODAL_MEAN - 1) * n + i];
        double below = 0, all = 0;
        for (int k = 0; k < 1 << s->dim && volume > 0; k++) {
            const int64_t at = grid_near(&s->grid, slot, (i & 7) + (k & 1),
                                         (i >> 3 & 7) + (k >> 1 & 1), (i >> 6) + (k >> 2));
            const double phi = at < 0 ? (double)LEVEL_SET_CUT : (double)s->phi[at];
            below -= fmin(phi, 0), all += fabs(phi);
        }
        if (volume > 0 && all > 0) sum += (double)volume * below / all;
    }
    ((double *)context)[slot] = sum;
}

double warp_filled(BrimSim *s) {
    double filled = 0;
    tiles_for(s, fill_tile, s->warp->gone);
    for (int t = 0; t < s->grid.tile_count; t++) filled += s->warp->gone[t];
    return filled;
}

/// The divergence by which the volume within the surface becomes that of the particles (Kim et al.
/// 2007): x, by how much it is too large, falls as under a damped spring. 1/s
static double control(BrimSim *s) {
    static const double STEPS = 25; // in which an error falls to a tenth
    const double filled = warp_filled(s);
    if (!(filled > 0) || !(s->start_volume > 0)) return 0;
    // the level set's own measure of the seeded liquid is not quite the particles'
    if (s->volume.control_start == 0) s->volume.control_start = filled / s->start_volume;
    const double x = filled / (s->volume.control_start * s->start_volume) - 1;
    const double dt = fmax(s->dt, s->dt_next), k = 2.3 / (STEPS * dt);
    s->volume.control_sum += x * s->dt;
    return -(k * x + k * k / 16 * s->volume.control_sum) / (1 + x);
}

/// Wanted divergence D of cells: b += integral of N D |J|, with a cell's volume shared by its
/// nodes.
static void add_divergence(BrimSim *s, const Projection *p, int slot) {
    const Grid *g = &s->grid;
    const int64_t n = g->tile_cells, base = slot * n;
    const double time = s->def.volume == BRIM_VOLUME_DIRECT ? step_at_rest(s) : s->def.volume_time;
    const bool local = s->def.volume == BRIM_VOLUME_DIRECT || s->def.volume == BRIM_VOLUME_AVERAGED;
    for (int i = 0; i < (int)n && p->op->used[slot]; i++) {
        double sum = 0;
        if (p->op->smooth[base + i] == 0) continue;
        for (int k = 0; k < 1 << s->dim; k++) {
            const int64_t at = grid_near(g, slot, (i & 7) - (k & 1), (i >> 3 & 7) - (k >> 1 & 1),
                                         (i >> 6) - (k >> 2));
            if (at < 0 || !p->op->kept[at / n]) continue;
            const float volume = p->op->mean[(at / n * NODAL_MEAN + NODAL_MEAN - 1) * n + at % n];
            sum += (double)volume * (local ? (double)s->compression[at] / time : p->divergence);
        }
        s->nodal_rhs[base + i] += (float)(sum * (double)s->dx / (1 << s->dim));
    }
}

/// What the liquid below a band swallowed flows on from there, as fast as it came.
static void add_swallowed(BrimSim *s, const NodalOperator *op) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells;
    const int corners = 1 << s->dim;
    double flow = (double)s->dx / (s->band.swallow_time * s->def.particles_per_cell * corners);
    flow *= fmin(1, s->band.swallow_left / s->dt_next); // in the next step
    for (size_t k = 0; k < s->band.swallowed_count; k++) {
        const int32_t slot = s->grid.slot_of[s->band.swallowed[k] / cells];
        const int i = (int)(s->band.swallowed[k] % cells);
        for (int c = 0; c < corners && slot >= 0; c++) {
            const int64_t at = grid_near(&s->grid, slot, (i & 7) + (c & 1),
                                         (i >> 3 & 7) + (c >> 1 & 1), (i >> 6) + (c >> 2));
            if (at >= 0 && op->used[at / cells] && op->smooth[at] > 0)
                s->nodal_rhs[at] += (float)flow;
        }
    }
}

static void rhs_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    nodal_rhs(&p->problem, p->op, s->velocity, s->nodal_rhs, slot);
    warp_add_inlets(s, slot, s->nodal_rhs);
    if (s->primed && s->def.volume != BRIM_VOLUME_DENSITY && s->def.volume != BRIM_VOLUME_NONE)
        add_divergence(s, p, slot);
}

static void store_tile(BrimSim *s, int slot, int thread, void *context) {
    size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    for (size_t i = at; i < at + n; i++) s->pressure[i] = (float)s->warp->q[i];
}

static void update_tile(BrimSim *s, int slot, int thread, void *context) {
    const Projection *p = context;
    nodal_update(&p->problem, p->op, s->pressure, s->velocity, s->liquid, slot);
    nodal_give_flow(p->op, s->velocity, s->nodal_left, slot);
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
    nodal_rhs(&l->projection->problem, l->projection->op, s->velocity, s->nodal_left, slot);
    warp_add_inlets(s, slot, s->nodal_left);
    for (size_t i = at; i < at + n; i++)
        most = (float)larger_of(most, fabsf(s->nodal_left[i] * l->projection->op->weight[i]));
    team_raise(&l->largest, most);
}

static Projection projection(const BrimSim *s) {
    return (Projection){
        .problem = {.grid = &s->grid,
                    .map = &s->warp->mesh.map,
                    .rule = s->def.quadrature == BRIM_QUADRATURE_CORNERS ? WARP_RULE_CORNERS
                                                                         : WARP_RULE_GAUSS,
                    .surface = {.order = s->def.surface == BRIM_SURFACE_FLAGS ? 1 : 2,
                                .limit = GHOST_LIMIT},
                    .phi = s->phi,
                    .jump = s->def.surface_tension > 0 ? s->curvature : NULL,
                    .jump_scale = s->def.surface_tension * s->projection.kick_now /
                                  ((double)s->def.density * s->dx * s->dx),
                    .solids = s->warp->solids,
                    .kernels = s->warp->nodal,
                    .map_kernels = s->warp->kernels},
        .op = &s->warp->op};
}

/// Net outflow in m/s => |div u| dt.
static double to_ratio(const BrimSim *s) {
    return fmax(s->dt, s->dt_next) / (double)s->dx;
}

BrimResult warp_pressure(BrimSim *s, BrimError *error) {
    WarpState *w = s->warp;
    Projection p = projection(s);
    p.scale = s->projection.kick > 0 ? s->projection.kick_now / s->projection.kick : 0;
    s->projection.kick = s->projection.kick_now;
    warp_grow_to_liquid(s);
    bool room = wet_arrange_all(s) && nodal_reserve(&w->op, &s->grid) &&
                memory_fit((void **)&w->q, &w->q_capacity, sizeof *w->q, sim_cells(s)) &&
                memory_fit((void **)&w->gone, &w->gone_capacity, sizeof *w->gone,
                           (size_t)s->grid.tile_count);
    if (room) {
        nodal_begin(&p.problem, p.op);
        tiles_for(s, assemble_tile, &p);
        tiles_for(s, join_tile, &p);
        if (s->primed && s->def.volume == BRIM_VOLUME_CONTROL) p.divergence = control(s);
        tiles_for(s, rhs_tile, &p);
        if (has_band(s)) add_swallowed(s, p.op);
    }
    if (!room || !nodal_prepare(w->solver, &w->op)) return step_out_of_memory(s, "project", error);
    NodalParams params = {.tolerance = s->def.tolerance / to_ratio(s),
                          .max_iterations = s->def.max_iterations};
    NodalReport report;
    bool finite = nodal_solve(w->solver, s->nodal_rhs, w->q, &params, &report);
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

void warp_sum_tile(const BrimSim *s, int slot, int thread, TileSums *out) {
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const Span span = sim_span(s, slot, 1);
    const uint32_t first = tile_first(&s->particles, slot);
    const double full = s->def.particles_per_cell; // particles weigh as one of a regular grid does
    float *const *space = s->warp->space;
    float *const to[3] = {space[0] + first, space[1] + first, space[2] + first};
    WarpSums sums;
    s->warp->kernels->measure(&span, &lattice, to, &sums);
    *out = (TileSums){.speed2 = full * sums.square, .fastest2 = sums.fastest2};
    for (int a = 0; a < s->dim; a++) out->position[a] = full * sums.position[a];
    out->volume = sums.volume;
}

/// From a speed in space to the most that it may be in reference space, of a tile: its stretch is
/// the largest component at the centres of coarse cells.
static const float RATE_MOST = 2;

static float rate_bound(const BrimSim *s, int slot) {
    return RATE_MOST * sqrtf(s->tile_sums[slot].fastest2) * warp_tile_stretch(s, slot);
}

static float tile_rate(const BrimSim *s, int slot) {
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const Span span = sim_span(s, slot, 1);
    return sqrtf(s->warp->kernels->rate(&span, &lattice));
}

/// Where it could be the largest. context: float, what it must exceed
static void rate_tile(BrimSim *s, int slot, int thread, void *context) {
    TileSums *sums = &s->tile_sums[slot];
    if (!(rate_bound(s, slot) <= *(const float *)context)) // no number stays
        sums->rate = (float)larger_of((double)sums->rate, (double)tile_rate(s, slot));
}

void warp_find_rates(BrimSim *s) {
    int likely = 0;
    float most = -1;
    for (int t = 0; t < s->grid.tile_count; t++) {
        const float bound = rate_bound(s, t);
        if (bound > most) most = bound, likely = t;
    }
    float least = s->grid.tile_count ? tile_rate(s, likely) : 0;
    tiles_for(s, rate_tile, &least);
    if (s->grid.tile_count)
        s->tile_sums[likely].rate =
            (float)larger_of((double)s->tile_sums[likely].rate, (double)least);
}

bool warp_place_reserve(BrimSim *s) {
    WarpState *w = s->warp;
    if (s->particles.count + PARTICLE_PADDING <= w->space_capacity) return true;
    size_t capacity = 0, room = s->particles.capacity + PARTICLE_PADDING;
    for (int a = 0; a < 3; a++) {
        capacity = w->space_capacity;
        if (!memory_fit((void **)&w->space[a], &capacity, sizeof(float), room)) return false;
        memset(w->space[a], 0, capacity * sizeof(float)); // z in 2D
    }
    w->space_capacity = capacity;
    return true;
}

static void place_tile(BrimSim *s, int slot, int thread, void *context) {
    TileSums sums;
    warp_sum_tile(s, slot, thread, &sums);
}

bool warp_place(BrimSim *s) {
    if (!warp_place_reserve(s)) return false;
    tiles_for(s, place_tile, NULL);
    return true;
}
