// Stage 10: pressure. Makes the velocity of the liquid free of divergence.
//
// With q = p kick / (rho dx) in m/s, a face between cells i-1 and i gets  u -= q_i - q_(i-1),  and
// the net outflow of a cell, sum of open * u over its faces plus what moving walls push, must
// vanish:
//   sum over faces of open_f (q_c - q_neighbour) = -outflow        (cut cells, Batty et al. 2007)
// Towards air the surface, where q = 0, lies at theta of the way to the neighbour's centre
// (ghost fluid, Enright et al. 2003), so that face has the coefficient open / theta.
#include "base/error.h"
#include "grid/mask.h"
#include "step/stages.h"
#include <math.h>
#include <string.h>

/// The surface is not taken to be nearer to a centre than this part of a cell.
static const float THETA_MIN = 0.02f;

/// Part of the way from a liquid cell to its air neighbour at which the surface lies.
static inline float surface_theta(const BrimSim *s, int64_t liquid, int64_t air) {
    if (s->def.surface == BRIM_SURFACE_FLAGS) return 1;
    float inside = s->phi[liquid], outside = air < 0 ? LEVEL_SET_CUT : s->phi[air];
    float theta = inside / (inside - fmaxf(outside, 0));
    return theta > THETA_MIN ? theta : THETA_MIN;
}

/// A tile's liquid cells, those whose neighbours are liquid and those at the domain's sides; the
/// neighbours by direction x-, x+, y-, ...
typedef struct Around {
    TileMask liquid, wet[6], side[6];
    bool walls;  ///< solids are near
    bool moving; ///< and one of them moves
} Around;

static void look_around(const BrimSim *s, int slot, Around *a) {
    const Grid *g = &s->grid;
    a->liquid = mask_load(g, s->liquid, slot);
    for (int n = 0; n < 2 * s->dim; n++) {
        a->wet[n] = mask_neighbour(g, s->liquid, slot, n >> 1, n & 1 ? 1 : -1);
        a->side[n] = mask_side(g, slot, n >> 1, n & 1 ? 1 : -1);
    }
    a->walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    a->moving = a->walls && s->wall_speed[0] && s->tile_solid[slot] == SOLID_MOVING;
}

static inline bool has(const TileMask *m, int cell) {
    return m->slice[cell >> 6] >> (cell & 63) & 1;
}

/// What flows out of a cell through its faces, m/s: liquid through the open parts, and what
/// moving walls push in the rest.
static inline float cell_outflow(const BrimSim *s, const Around *around, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    float outflow = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (has(&around->side[n], cell)) continue;
        int a = n >> 1;
        int64_t face = n & 1 ? grid_step(&s->grid, slot, cell, a, 1) : me;
        if (face < 0) continue;
        float speed = s->velocity[a][face];
        if (around->walls) {
            float open = s->open[a][face];
            speed *= open;
            if (around->moving && open < 1) speed += (1 - open) * s->wall_speed[a][face];
        }
        outflow += n & 1 ? speed : -speed;
    }
    return outflow;
}

/// One row of the system.
static void build_cell(BrimSim *s, const Around *around, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    float diagonal = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (has(&around->side[n], cell)) continue;
        int a = n >> 1;
        bool wet = has(&around->wet[n], cell);
        float open = 1;
        int64_t next = -1;
        if (!wet || around->walls) next = grid_step(&s->grid, slot, cell, a, n & 1 ? 1 : -1);
        if (around->walls && (next >= 0 || !(n & 1))) open = s->open[a][n & 1 ? next : me];
        diagonal += wet || open == 0 ? open : open / surface_theta(s, me, next);
        if (!(n & 1) && wet) s->coefficient[a][me] = open;
    }
    if (diagonal <= 0) return; // shut in on all sides
    s->diagonal[me] = diagonal;
    s->rhs[me] = -cell_outflow(s, around, slot, cell);
}

/// The system of a tile, and its start value: the last pressure times `scale`, as kicks differ.
static void build_tile(BrimSim *s, int slot, float scale) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, bytes = (size_t)g->tile_cells * 4;
    memset(s->diagonal + base, 0, bytes);
    memset(s->rhs + base, 0, bytes);
    for (int a = 0; a < s->dim; a++) memset(s->coefficient[a] + base, 0, bytes);
    Around around;
    look_around(s, slot, &around);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = around.liquid.slice[z]; bits; bits &= bits - 1)
            build_cell(s, &around, slot, z * 64 + __builtin_ctzll(bits));
    float *start = s->pressure + base;
    for (int i = 0; i < g->tile_cells; i++) // that of a cell that dried counts not
        start[i] = s->diagonal[base + (size_t)i] == 0 ? 0 : start[i] * scale;
}

/// u -= grad q on the lower faces of a tile's cells that touch liquid; known from here on. What was
/// subtracted is left in `coefficient`, and where in `touched` [dim][rows].
static void subtract_tile(BrimSim *s, int slot, uint8_t *touched) {
    const Grid *g = &s->grid;
    Around around;
    look_around(s, slot, &around);
    for (int a = 0; a < s->dim; a++) {
        TileMask known = mask_load(g, s->known[a], slot), here = {{0}};
        const TileMask *below_wet = &around.wet[2 * a], sides = mask_side_faces(g, slot, a);
        for (int z = 0; z < g->tile_depth; z++)
            for (uint64_t bits = (around.liquid.slice[z] | below_wet->slice[z]) & ~sides.slice[z];
                 bits; bits &= bits - 1) {
                int bit = __builtin_ctzll(bits), cell = z * 64 + bit;
                int64_t me = (int64_t)slot * g->tile_cells + cell;
                if (around.walls && s->open[a][me] == 0) continue;
                int64_t below = grid_step(g, slot, cell, a, -1);
                bool wet = has(&around.liquid, cell), wet_below = has(below_wet, cell);
                float gradient;
                if (wet && wet_below)
                    gradient = s->pressure[me] - s->pressure[below];
                else if (wet)
                    gradient = s->pressure[me] / surface_theta(s, me, below);
                else
                    gradient = -s->pressure[below] / surface_theta(s, below, me);
                s->velocity[a][me] -= gradient;
                s->coefficient[a][me] = gradient;
                here.slice[z] |= (uint64_t)1 << bit;
            }
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] |= here.slice[z];
        mask_store(g, s->known[a], slot, &known);
        mask_store(g, touched + (size_t)a * sim_rows(s), slot, &here);
    }
}

/// The surface runs through the middle of cells, so particles below it also hang on faces between
/// two air cells. These get the pressure's pull of the liquid faces beside them, or the topmost
/// half cell would lag behind its wave.
static void carry_tile(BrimSim *s, int slot, const uint8_t *touched) {
    const Grid *g = &s->grid;
    for (int a = 0; a < s->dim; a++) {
        const uint8_t *mask = touched + (size_t)a * sim_rows(s);
        TileMask near[6], known = mask_load(g, s->known[a], slot), here = mask_load(g, mask, slot);
        for (int n = 0; n < 2 * s->dim; n++)
            near[n] = mask_neighbour(g, mask, slot, n >> 1, n & 1 ? 1 : -1);
        TileMask side = mask_side_faces(g, slot, a);
        for (int z = 0; z < g->tile_depth; z++) {
            uint64_t any = 0;
            for (int n = 0; n < 2 * s->dim; n++) any |= near[n].slice[z];
            for (uint64_t bits = any & known.slice[z] & ~here.slice[z] & ~side.slice[z]; bits;
                 bits &= bits - 1) {
                int cell = z * 64 + __builtin_ctzll(bits), count = 0;
                float pull = 0;
                for (int n = 0; n < 2 * s->dim; n++) {
                    if (!has(&near[n], cell)) continue;
                    int64_t i = grid_step(g, slot, cell, n >> 1, n & 1 ? 1 : -1);
                    pull -= s->coefficient[a][i];
                    count++;
                }
                s->velocity[a][(int64_t)slot * g->tile_cells + cell] += pull / (float)count;
            }
        }
    }
}

/// Faces on walls and inside solids have no velocity of their own.
static void forget_closed(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    bool walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    for (int a = 0; a < s->dim; a++) {
        TileMask known = mask_load(g, s->known[a], slot), side = mask_side_faces(g, slot, a);
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] &= ~side.slice[z];
        for (int i = 0; walls && i < g->tile_cells; i++)
            if (s->open[a][(size_t)slot * (size_t)g->tile_cells + (size_t)i] == 0)
                known.slice[i >> 6] &= ~((uint64_t)1 << (i & 63));
        mask_store(g, s->known[a], slot, &known);
    }
}

/// Largest net outflow of a cell in which pressure was solved, m/s.
static float tile_outflow(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    float largest = 0;
    Around around;
    look_around(s, slot, &around);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = around.liquid.slice[z]; bits; bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            if (s->diagonal[(int64_t)slot * g->tile_cells + cell] == 0) continue;
            float outflow = fabsf(cell_outflow(s, &around, slot, cell));
            if (!(outflow <= largest)) largest = outflow;
        }
    return largest;
}

BrimResult stage_project(BrimSim *s, double kick, BrimError *error) {
    int tiles = s->grid.tile_count;
    // Net outflow in m/s => |div u| dt. Both steps that the kick spans count: a short one at the
    // end of a frame must not leave a divergence that the next kick inherits.
    double to_ratio = fmax(s->dt, s->dt_next) / s->dx;
    float scale = s->kick > 0 ? (float)(kick / s->kick) : 0;
    s->kick = kick;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < tiles; t++) build_tile(s, t, scale);

    if (!poisson_prepare(s->poisson, &s->grid, s->coefficient[0], s->coefficient[1],
                         s->dim == 3 ? s->coefficient[2] : NULL, s->diagonal))
        return fail(error, BRIM_LOST_MEMORY, "out of memory at step %lld in stage project",
                    (long long)s->step + 1);
    PoissonParams params = {.tolerance = s->def.tolerance / to_ratio,
                            .max_iterations = s->def.max_iterations,
                            .preconditioner = s->def.preconditioner};
    PoissonReport report = {0};
    bool finite = poisson_solve(s->poisson, s->rhs, s->pressure, &params, &report);
    s->stats.iterations = report.iterations;
    s->stats.residual = report.residual * to_ratio;
    if (!finite)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage project: the pressure is not a number",
                    (long long)s->step + 1, s->time);
    if (!report.converged && !report.limited)
        return fail(
            error, BRIM_LOST_DIVERGED,
            "step %lld (t = %.6g s), stage project: after %d iterations |div u| dt is still "
            "%.3g, above solver.tolerance = %.3g: raise solver.max_iterations or "
            "solver.tolerance",
            (long long)s->step + 1, s->time, report.iterations, s->stats.residual,
            s->def.tolerance);

    float largest = 0;
    uint8_t *touched = (uint8_t *)s->rhs; // [dim][rows], free after the solve
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(dynamic, 4)
        for (int t = 0; t < tiles; t++) subtract_tile(s, t, touched);
#pragma omp for schedule(dynamic, 4)
        for (int t = 0; t < tiles; t++) carry_tile(s, t, touched);
#pragma omp for schedule(dynamic, 4) reduction(max : largest)
        for (int t = 0; t < tiles; t++) {
            float here = tile_outflow(s, t);
            if (!(here <= largest)) largest = here;
        }
#pragma omp for schedule(dynamic, 4)
        for (int t = 0; t < tiles; t++) forget_closed(s, t);
    }
    s->stats.max_divergence = (double)largest * to_ratio;
    return BRIM_OK;
}
