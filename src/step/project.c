// Stage 10: pressure. Makes the velocity of the liquid free of divergence.
//
// With q = p dt / (rho dx) in m/s, a face between cells i-1 and i gets  u -= q_i - q_(i-1),  and the
// net outflow of a cell, sum of open * u over its faces plus what moving walls push, must vanish:
//   sum over faces of open_f (q_c - q_neighbour) = -outflow        (cut cells, Batty et al. 2007)
// Towards air the surface, where q = 0, lies at theta of the way to the neighbour's centre
// (ghost fluid, Enright et al. 2003), so that face has the coefficient open / theta.
#include "base/error.h"
#include "step/stages.h"
#include <math.h>
#include <string.h>

/// The surface is not taken to be nearer to a centre than this part of a cell.
static const float THETA_MIN = 0.02f;

static inline bool row_bit(const uint8_t *mask, int64_t cell) {
    return mask[cell >> 3] >> (cell & 7) & 1;
}

/// Part of the way from a liquid cell to its air neighbour at which the surface lies.
static inline float surface_theta(const BrimSim *s, int64_t liquid, int64_t air) {
    if (s->def.surface == BRIM_SURFACE_FLAGS) return 1;
    float inside = s->phi[liquid], outside = air < 0 ? LEVEL_SET_CUT : s->phi[air];
    float theta = inside / (inside - fmaxf(outside, 0));
    return theta > THETA_MIN ? theta : THETA_MIN;
}

/// Whether the face below (direction -1) or above a cell is one of the domain's sides.
static inline bool at_side(const BrimSim *s, TileCoord c, int cell, int axis, int direction) {
    const int16_t tile[3] = {c.x, c.y, c.z};
    int at = tile[axis] * TILE + (cell >> (3 * axis) & 7) + direction;
    return at < 0 || at >= s->grid.cells[axis];
}

/// One row of the system.
static void build_cell(BrimSim *s, int slot, int cell) {
    const Grid *g = &s->grid;
    int64_t me = (int64_t)slot * g->tile_cells + cell;
    float diagonal = 0, outflow = 0;
    bool walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    for (int a = 0; a < s->dim; a++)
        for (int d = -1; d <= 1; d += 2) {
            if (at_side(s, g->coord[slot], cell, a, d)) continue;
            int64_t next = grid_step(g, slot, cell, a, d), face = d < 0 ? me : next;
            float open = walls && face >= 0 ? s->open[a][face] : 1;
            float speed = face < 0 ? 0 : s->velocity[a][face] * open;
            if (walls && open < 1 && s->wall_speed[a] && s->tile_solid[slot] == SOLID_MOVING)
                speed += (1 - open) * s->wall_speed[a][face];
            outflow += (float)d * speed;
            bool wet = next >= 0 && row_bit(s->liquid, next);
            diagonal += wet || open == 0 ? open : open / surface_theta(s, me, next);
            if (d < 0) s->coefficient[a][me] = wet ? open : 0;
        }
    if (diagonal <= 0) return; // shut in on all sides
    s->diagonal[me] = diagonal;
    s->rhs[me] = -outflow;
}

static void build_tile(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, bytes = (size_t)g->tile_cells * 4;
    memset(s->diagonal + base, 0, bytes);
    memset(s->rhs + base, 0, bytes);
    for (int a = 0; a < s->dim; a++) memset(s->coefficient[a] + base, 0, bytes);
    const uint8_t *liquid = s->liquid + (size_t)slot * (size_t)g->tile_rows;
    for (int r = 0; r < g->tile_rows; r++)
        for (int x = 0; x < TILE; x++) {
            if (liquid[r] >> x & 1) build_cell(s, slot, r * TILE + x);
            // the start value of a cell that dried counts for nothing
            if (s->diagonal[base + (size_t)(r * TILE + x)] == 0)
                s->pressure[base + (size_t)(r * TILE + x)] = 0;
        }
}

/// u -= grad q on the faces of a tile that touch liquid; these are known from here on.
static void subtract_tile(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    size_t rows = (size_t)slot * (size_t)g->tile_rows;
    for (int a = 0; a < s->dim; a++)
        for (int cell = 0; cell < g->tile_cells; cell++) {
            int64_t me = (int64_t)slot * g->tile_cells + cell;
            int64_t below = grid_step(g, slot, cell, a, -1);
            bool wet = row_bit(s->liquid, me), wet_below = below >= 0 && row_bit(s->liquid, below);
            if (!wet && !wet_below) continue;
            if (at_side(s, g->coord[slot], cell, a, -1)) continue;
            if (s->solid_count && s->open[a][me] == 0) continue;
            float q = wet ? s->pressure[me] : 0, q_below = wet_below ? s->pressure[below] : 0;
            float gradient = q - q_below;
            if (!wet) gradient = -q_below / surface_theta(s, below, me);
            if (!wet_below) gradient = q / surface_theta(s, me, below);
            s->velocity[a][me] -= gradient;
            s->known[a][rows + (size_t)(cell >> 3)] |= (uint8_t)(1 << (cell & 7));
        }
}

/// Faces on walls and inside solids have no velocity of their own.
static void forget_closed(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    TileCoord c = g->coord[slot];
    const int16_t tile[3] = {c.x, c.y, c.z};
    size_t rows = (size_t)slot * (size_t)g->tile_rows;
    bool walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    for (int a = 0; a < s->dim; a++) {
        if (!walls && tile[a] != 0) continue;
        for (int r = 0; r < g->tile_rows; r++) {
            uint8_t closed = 0;
            if (tile[a] == 0)
                closed = a == 0 ? 1 : (a == 1 ? (r & 7) == 0 : r >> 3 == 0) ? 0xff : 0;
            if (walls)
                for (int x = 0; x < TILE; x++)
                    if (s->open[a][(rows + (size_t)r) * TILE + (size_t)x] == 0)
                        closed |= (uint8_t)(1 << x);
            s->known[a][rows + (size_t)r] &= (uint8_t)~closed;
        }
    }
}

/// Largest net outflow of a cell in which pressure was solved, m/s.
static float tile_outflow(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    float largest = 0;
    bool walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    for (int cell = 0; cell < g->tile_cells; cell++) {
        int64_t me = (int64_t)slot * g->tile_cells + cell;
        if (s->diagonal[me] == 0) continue;
        float outflow = 0;
        for (int a = 0; a < s->dim; a++)
            for (int d = -1; d <= 1; d += 2) {
                if (at_side(s, g->coord[slot], cell, a, d)) continue;
                int64_t face = d < 0 ? me : grid_step(g, slot, cell, a, d);
                float open = walls ? s->open[a][face] : 1;
                float speed = s->velocity[a][face] * open;
                if (open < 1 && s->wall_speed[a] && s->tile_solid[slot] == SOLID_MOVING)
                    speed += (1 - open) * s->wall_speed[a][face];
                outflow += (float)d * speed;
            }
        if (!(fabsf(outflow) <= largest)) largest = fabsf(outflow);
    }
    return largest;
}

BrimResult stage_project(BrimSim *s, BrimError *error) {
    int tiles = s->grid.tile_count;
    double to_ratio = s->dt / s->dx; // net outflow in m/s => |div u| dt
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < tiles; t++) build_tile(s, t);

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

    float largest = 0;
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(dynamic, 4)
        for (int t = 0; t < tiles; t++) subtract_tile(s, t);
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
