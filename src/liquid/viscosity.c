// The solve for viscosity: conjugate gradients on all components at once. The diagonal is
// preconditioner enough for thin liquids; for thick ones each component gets a V-cycle on its own
// block of the matrix, which is a Poisson problem, so that iterations do not grow with resolution.
#include "base/error.h"
#include "liquid/viscosity_build.h"
#include "solve/cg.h"
#include "step/stages.h"
#include <math.h>
#include <string.h>

/// From this nu kick / dx^2 on a V-cycle pays.
static const float THICK = 5;
/// What may be left of the right-hand side, relative to the largest velocity.
static const double TOLERANCE = 1e-5;
/// What rounding leaves, relative to the largest velocity of the solution times the largest
/// diagonal.
static const double ROUNDING = 1e-7;

void viscous_block(const Grid *g, int slot, const float *field, float *block) {
    const int deep = g->dim == 3;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++, block += VISCOUS_EDGE) {
            const int tile = TILE_SELF + 9 * (z >> TILE_SHIFT) + 3 * (y >> TILE_SHIFT);
            const int row = ((z & 7) * TILE + (y & 7)) * TILE;
            for (int k = -1; k <= 1; k++) {
                int32_t t = g->neighbour[slot][tile + k];
                const float *from = t < 0 ? NULL : field + (size_t)t * (size_t)g->tile_cells + row;
                if (k == 0 && from) memcpy(block + 1, from, TILE * sizeof *from);
                if (k == 0 && !from) memset(block + 1, 0, TILE * sizeof *from);
                if (k < 0) block[0] = from ? from[TILE - 1] : 0;
                if (k > 0) block[TILE + 1] = from ? from[0] : 0;
            }
        }
}

/// A solve at work.
typedef struct Solve {
    BrimSim *s;
    float alpha, beta;
    bool thick, begun;
    double diagonal;  ///< largest
    ViscousSums sums; ///< after the last loop
} Solve;

static ViscousTile tile_system(const BrimSim *s, int slot) {
    float *const *along[3] = {s->viscous_along_x, s->viscous_along_y, s->viscous_along_z};
    const size_t at = (size_t)slot * (size_t)s->grid.tile_cells;
    ViscousTile t = {0};
    for (int a = 0; a < s->dim; a++) {
        t.mass[a] = s->viscous_mass[a] + at, t.diagonal[a] = s->viscous_diagonal[a] + at;
        for (int b = 0; b < s->dim; b++)
            t.along[b][a] = tile_view(&s->grid, slot, along[b][a], tile_zeros);
        for (int b = a + 1; b < s->dim; b++)
            t.cross[edge_of(a, b)] =
                tile_view(&s->grid, slot, s->viscous_cross[edge_of(a, b)], tile_zeros);
    }
    return t;
}

/// q = A of a vector on a tile. Returns its product with the vector.
static double apply_tile(BrimSim *s, int slot, int thread, float *const *vector) {
    ViscousTile t = tile_system(s, slot);
    const size_t at = (size_t)slot * (size_t)s->grid.tile_cells;
    const float *block[3] = {0};
    float *q[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        viscous_block(&s->grid, slot, vector[a], s->scratch[thread].block[a]);
        block[a] = s->scratch[thread].block[a], q[a] = s->viscous_q[a] + at;
    }
    return s->viscosity.kernels->apply(&t, s->dim, block, q);
}

/// q = A u. A loop of its own: neighbours read this tile's u, which the next one stores again.
static void start_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->viscous_used[slot]) apply_tile(s, slot, thread, s->viscous_u);
}

/// r -= A u, and with the diagonal as preconditioner the first product.
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const int n = s->grid.tile_cells;
    const size_t at = (size_t)slot * (size_t)n;
    ViscousSums *sums = &s->viscous_sums[slot];
    *sums = (ViscousSums){0};
    if (!s->viscous_used[slot]) return;
    for (int a = 0; a < s->dim; a++) // nothing is added to u: p is zero
        sums->rz += s->viscosity.kernels->step(n, 1, s->viscous_p[a] + at, s->viscous_q[a] + at,
                                               s->viscous_diagonal[a] + at, s->viscous_u[a] + at,
                                               s->viscous_r[a] + at, sums->most);
}

/// r . z after a V-cycle.
static void dot_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t at = (size_t)slot * (size_t)s->grid.tile_cells;
    if (!s->viscous_used[slot]) return;
    s->viscous_sums[slot].rz = 0;
    for (int a = 0; a < s->dim; a++)
        s->viscous_sums[slot].rz +=
            s->viscosity.kernels->dot(s->grid.tile_cells, s->viscous_r[a] + at,
                                      s->viscous_q[a] + at, s->viscous_diagonal[a] + at);
}

/// The next direction.
static void turn_tile(BrimSim *s, int slot, int thread, void *context) {
    const Solve *solve = context;
    const int n = s->grid.tile_cells;
    const size_t at = (size_t)slot * (size_t)n;
    if (!s->viscous_used[slot]) return;
    for (int a = 0; a < s->dim; a++)
        if (solve->thick)
            s->viscosity.kernels->turn_to(n, solve->beta, s->viscous_q[a] + at,
                                          s->viscous_diagonal[a] + at, s->viscous_p[a] + at);
        else
            s->viscosity.kernels->turn(n, solve->beta, s->viscous_r[a] + at,
                                       s->viscous_diagonal[a] + at, s->viscous_p[a] + at);
}

/// Its image.
static void image_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->viscous_used[slot]) s->viscous_sums[slot].pq = apply_tile(s, slot, thread, s->viscous_p);
}

/// The way along it.
static void step_tile(BrimSim *s, int slot, int thread, void *context) {
    const Solve *solve = context;
    const int n = s->grid.tile_cells;
    const size_t at = (size_t)slot * (size_t)n;
    ViscousSums *sums = &s->viscous_sums[slot];
    if (!s->viscous_used[slot]) return;
    *sums = (ViscousSums){0};
    for (int a = 0; a < s->dim; a++)
        sums->rz += s->viscosity.kernels->step(
            n, solve->alpha, s->viscous_p[a] + at, s->viscous_q[a] + at,
            s->viscous_diagonal[a] + at, s->viscous_u[a] + at, s->viscous_r[a] + at, sums->most);
}

static bool is_known(const BrimSim *s, int axis, size_t face) {
    return s->known[axis][face >> 3] >> (face & 7) & 1;
}

/// What friction changed, on known faces of the system: => q. 0 on others.
static void compare_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t n = (size_t)s->grid.tile_cells, first = (size_t)slot * n;
    for (int a = 0; a < s->dim; a++)
        for (size_t i = first; i < first + n; i++) {
            bool within = s->viscous_diagonal[a][i] > 0 && is_known(s, a, i);
            s->viscous_q[a][i] = within ? s->viscous_u[a][i] - s->velocity[a][i] : 0;
        }
}

/// The change of a face outside the system, on which particles at the surface hang: the mean over
/// the faces beside it that are within, or these particles would fall off.
static float carried(const BrimSim *s, int axis, int slot, int cell) {
    float sum = 0;
    int count = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t next = grid_step(&s->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
        if (next < 0 || !(s->viscous_diagonal[axis][next] > 0) || !is_known(s, axis, (size_t)next))
            continue;
        sum += s->viscous_q[axis][next], count++;
    }
    return count ? sum / (float)count : 0;
}

/// Known faces take their new velocity.
static void take_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t n = (size_t)s->grid.tile_cells, first = (size_t)slot * n;
    for (int a = 0; a < s->dim; a++)
        for (size_t i = first; i < first + n; i++) {
            if (!is_known(s, a, i)) continue;
            if (s->viscous_diagonal[a][i] > 0 || s->viscous_mass[a][i] == VISCOUS_HELD)
                s->velocity[a][i] = s->viscous_u[a][i];
            else
                s->velocity[a][i] += carried(s, a, slot, (int)(i - first));
        }
}

static float solved(const BrimSim *s, int axis, int64_t face) {
    return face < 0 ? 0 : s->viscous_u[axis][face];
}

/// What the other components' gradients give to held faces beside a face of component a.
static float cross_drag(const BrimSim *s, int a, int slot, int cell) {
    const Grid *g = &s->grid;
    const int64_t me = (int64_t)slot * g->tile_cells + cell;
    float sum = 0;
    for (int b = 0; b < s->dim; b++)
        for (int far = 0; far < 2 && b != a; far++) {
            const int64_t next = grid_step(g, slot, cell, b, far ? 1 : -1), edge = far ? next : me;
            if (next < 0 || s->viscous_mass[a][next] != VISCOUS_HELD) continue;
            const int64_t below =
                grid_step(g, (int)(edge / g->tile_cells), (int)(edge % g->tile_cells), a, -1);
            float change = solved(s, b, edge) - solved(s, b, below);
            sum += (far ? -1 : 1) * s->viscous_cross[edge_of(a < b ? a : b, a < b ? b : a)][edge] *
                   change;
        }
    return sum;
}

/// What solids got from the faces beside them, and how much less per speed of their own that would
/// be. => viscous_drag, viscous_grip
static void drag_tile(BrimSim *s, int slot, int thread, void *context) {
    const int64_t first = (int64_t)slot * s->grid.tile_cells, near = solid_cell(s, first);
    if (near < 0) return;
    for (int a = 0; a < s->dim; a++)
        for (int i = 0; i < s->grid.tile_cells; i++) {
            const float grip = s->viscous_grip[a][near + i];
            if (grip == 0) continue;
            s->viscous_drag[a][near + i] = grip * s->viscous_u[a][first + i] -
                                           s->viscous_drag[a][near + i] + cross_drag(s, a, slot, i);
            // a wall that gave way would take the face along
            s->viscous_grip[a][near + i] = grip - grip * grip / s->viscous_diagonal[a][first + i];
        }
}

static ViscousSums sum_tiles(const BrimSim *s) {
    ViscousSums all = {0};
    for (int t = 0; t < s->grid.tile_count; t++) {
        all.pq += s->viscous_sums[t].pq, all.rz += s->viscous_sums[t].rz;
        for (int k = 0; k < 2; k++)
            all.most[k] = (float)larger_of(all.most[k], s->viscous_sums[t].most[k]);
    }
    return all;
}

/// A Poisson solver for each component's block of the matrix. False when out of memory.
static bool prepare_cycles(BrimSim *s) {
    for (int a = 0; a < s->dim; a++) {
        if (!s->viscosity.component[a])
            s->viscosity.component[a] = poisson_new(s->isa, s->team, NULL);
        if (!s->viscosity.component[a] ||
            !poisson_prepare_held(s->viscosity.component[a], &s->grid, s->viscous_used,
                                  s->viscous_along_x[a], s->viscous_along_y[a],
                                  s->dim == 3 ? s->viscous_along_z[a] : NULL,
                                  s->viscous_diagonal[a]))
            return false;
    }
    return true;
}

/// Of the start value from u, later that of the recurrence: the right-hand side is gone by then.
static double residual(void *context) {
    Solve *solve = context;
    if (!solve->begun) {
        tiles_for(solve->s, start_tile, NULL);
        tiles_for(solve->s, begin_tile, NULL);
        solve->sums = sum_tiles(solve->s);
    }
    solve->begun = true;
    return solve->sums.pq == solve->sums.pq ? (double)solve->sums.most[0] : NAN;
}

static double rounding(void *context) {
    const Solve *solve = context;
    return ROUNDING * solve->diagonal * solve->sums.most[1];
}

/// p is zero from the build on.
static void begin(void *context) {
    (void)context;
}

/// q = C r, and r . q; with the diagonal that was summed on the way.
static double precondition(void *context) {
    Solve *solve = context;
    BrimSim *s = solve->s;
    if (!solve->thick) return solve->sums.rz;
    for (int a = 0; a < s->dim; a++)
        poisson_cycle(s->viscosity.component[a], false, s->viscous_r[a], s->viscous_q[a]);
    tiles_for(s, dot_tile, NULL);
    return sum_tiles(s).rz;
}

static CgDots apply(void *context, double beta) {
    Solve *solve = context;
    solve->beta = (float)beta;
    tiles_for(solve->s, turn_tile, solve);
    tiles_for(solve->s, image_tile, NULL);
    double pq = sum_tiles(solve->s).pq;
    if (!(pq > 0)) solve->sums.pq = NAN;
    return (CgDots){.yw = pq};
}

static double advance(void *context, double alpha, double beta) {
    Solve *solve = context;
    (void)beta;
    solve->alpha = (float)alpha;
    tiles_for(solve->s, step_tile, solve);
    solve->sums = sum_tiles(solve->s);
    return solve->sums.most[0];
}

BrimResult stage_viscosity(BrimSim *s, BrimError *error) {
    double nu = s->def.viscosity / s->def.density;
    ViscousBuild build = {.strength =
                              (float)(nu * s->projection.kick_now / ((double)s->dx * s->dx))};
    bool thick = build.strength >= THICK && s->def.preconditioner == BRIM_PRECONDITIONER_MULTIGRID;
    if (!(build.strength > 0)) return BRIM_OK;
    tiles_for(s, viscous_build_tile, &build);
    if (thick && !prepare_cycles(s)) return step_out_of_memory(s, "viscosity", error);
    Solve solve = {.s = s, .thick = thick, .diagonal = (double)team_largest(&build.most)};
    CgSystem system = {&solve, false,        0,     residual, NULL, rounding,
                       begin,  precondition, apply, advance};
    CgParams limits = {.tolerance = TOLERANCE * (double)team_largest(&build.speed),
                       .max_iterations = s->def.max_iterations};
    CgReport out = cg_solve(&system, &limits);
    s->viscosity.iterations = out.iterations;
    if (!isfinite(out.residual))
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage viscosity: the velocity is not a number",
                    (long long)s->step + 1, s->time);
    if (!out.converged)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage viscosity: after %d iterations %.3g m/s are "
                    "left, above %.3g: raise solver.max_iterations",
                    (long long)s->step + 1, s->time, out.iterations, out.residual,
                    fmax(limits.tolerance, rounding(&solve)));
    tiles_for(s, compare_tile, NULL);
    tiles_for(s, take_tile, NULL);
    if (s->walls.solid_count) tiles_for(s, drag_tile, NULL);
    return BRIM_OK;
}
