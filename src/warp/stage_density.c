// Implicit density projection on a warped mesh: displacements in space that bring the density at
// cell centres back to rest, from the operator of the pressure with M = I.
#include "base/error.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "particles/seed.h"
#include "step/stages.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// As in volume/density.c: errors beyond this are corrected over several steps; while the fastest
/// particle has not crossed so many cells the next projection can wait; what is moved farther,
/// cells, is cut.
static const float ERROR_MAX = 0.5f;
static const double TRAVEL_MAX = 1, MEAN_MAX = 0.1, SHIFT_MAX = 0.5;

enum { EDGE = TILE + 2 };

static size_t block_floats(const BrimSim *s) {
    return (size_t)2 * EDGE * EDGE * (s->dim == 3 ? EDGE : 1);
}

static float *block_at(const BrimSim *s, float *block, const int at[3]) {
    return block + 2 * (((s->dim == 3 ? at[2] + 1 : 0) * EDGE + at[1] + 1) * EDGE + at[0] + 1);
}

/// Adds a volume at a point, in cells of the tile, to number k of the cells around it; what lies
/// beyond a wall goes to the cell before it.
static void add_volume(const BrimSim *s, const int low[3], const double xi[3], double volume, int k,
                       float *block) {
    int cell[3][2] = {{0}};
    double weight[3][2] = {{1, 0}, {1, 0}, {1, 0}};
    for (int a = 0; a < s->dim; a++) {
        double at = xi[a] - 0.5;
        int first = (int)floor(at), last = s->grid.cells[a] - 1;
        weight[a][1] = at - first, weight[a][0] = 1 - weight[a][1];
        for (int i = 0; i < 2; i++) {
            int c = first + i;
            cell[a][i] = (c < 0 ? 0 : c > last ? last : c) - low[a];
        }
    }
    for (int c = 0; c < 1 << s->dim; c++) {
        const int at[3] = {cell[0][c & 1], cell[1][c >> 1 & 1], cell[2][c >> 2]};
        block_at(s, block, at)[k] +=
            (float)(volume * weight[0][c & 1] * weight[1][c >> 1 & 1] * weight[2][c >> 2]);
    }
}

/// Whether a tile or one beside it has particles.
static bool particles_around(const BrimSim *s, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 &&
            tile_first(&s->particles, &s->grid, t) != tile_end(&s->particles, &s->grid, t))
            return true;
    }
    return false;
}

/// Particles of a tile, and the points of the seeding lattice in all its cells.
static void scatter_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const int low[3] = {t.x * TILE, t.y * TILE, s->dim == 3 ? t.z * TILE : 0};
    const int side = seed_per_axis(s->dim, s->def.particles_per_cell);
    const WarpMap *m = &s->warp->mesh.map;
    float *block = s->work.at + (size_t)slot * block_floats(s);
    memset(block, 0, block_floats(s) * sizeof *block);
    for (uint32_t n = tile_first(&s->particles, g, slot); n < tile_end(&s->particles, g, slot);
         n++) {
        double xi[3];
        warp_particle(s, n, xi);
        add_volume(s, low, xi, warp_volume(s, n), 0, block);
    }
    if (!particles_around(s, slot)) return;
    TileMask inside = mask_inside(g, slot);
    for (int i = 0; i < g->tile_cells; i++) {
        if (!mask_has(&inside, i)) continue;
        for (int k = 0; k < s->def.particles_per_cell; k++) {
            const int place[3] = {k % side, k / side % side, k / (side * side)};
            const int cell[3] = {low[0] + (i & 7), low[1] + (i >> 3 & 7), low[2] + (i >> 6)};
            double xi[3] = {0}, J[3][3];
            for (int a = 0; a < s->dim; a++) xi[a] = cell[a] + (place[a] + 0.5) / side;
            map_jacobian(m, xi, J);
            add_volume(s, low, xi, matrix_determinant(J) / s->def.particles_per_cell, 1, block);
        }
    }
}

static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    for (int i = 0; i < g->tile_cells; i++) {
        float sum[2] = {0};
        for (int n = 0; n < 27; n++) {
            int32_t from = g->neighbour[slot][n];
            if (from < 0) continue;
            int at[3] = {i & 7, i >> 3 & 7, i >> 6}, d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            bool near = true;
            for (int a = 0; a < s->dim; a++) {
                at[a] -= TILE * d[a];
                near = near && at[a] >= -1 && at[a] <= TILE;
            }
            if (!near) continue;
            const float *v = block_at(s, s->work.at + (size_t)from * block_floats(s), at);
            sum[0] += v[0], sum[1] += v[1];
        }
        s->density[(size_t)slot * (size_t)g->tile_cells + (size_t)i] =
            sum[1] > 0 ? sum[0] / sum[1] : 0;
    }
}

/// Density of the cells: sum of v w over what the seeding lattice would give. False: out of memory.
static bool measure_density(BrimSim *s) {
    if (!work_fit(&s->work, (size_t)s->grid.tile_count * block_floats(s))) return false;
    tiles_for(s, scatter_tile, NULL);
    tiles_for(s, gather_tile, NULL);
    return true;
}

// ------------------------------------------------------------------------------------------ system

static bool occupied(const BrimSim *s, int slot, int x, int y, int z) {
    int64_t i = grid_near(&s->grid, slot, x, y, z);
    return i >= 0 && s->particles.occupied[i >> 3] >> (i & 7) & 1;
}

static bool outside(const BrimSim *s, int slot, int x, int y, int z) {
    const TileCoord t = s->grid.coord[slot];
    const int at[3] = {t.x * TILE + x, t.y * TILE + y, s->dim == 3 ? t.z * TILE + z : 0};
    for (int a = 0; a < s->dim; a++)
        if (at[a] < 0 || at[a] >= s->grid.cells[a]) return true;
    return false;
}

/// Nodes among cells with particles are liquid. => flag
static void flag_tile(BrimSim *s, int slot, int thread, void *context) {
    for (int i = 0; i < s->grid.tile_cells; i++) {
        bool wet = true, any = false;
        for (int c = 0; c < 1 << s->dim && wet; c++) {
            int x = (i & 7) - 1 + (c & 1), y = (i >> 3 & 7) - 1 + (c >> 1 & 1);
            int z = s->dim == 3 ? (i >> 6) - 1 + (c >> 2) : 0;
            if (outside(s, slot, x, y, z)) continue;
            wet = occupied(s, slot, x, y, z), any = true;
        }
        s->flag[(size_t)slot * (size_t)s->grid.tile_cells + (size_t)i] = wet && any ? -1 : 1;
    }
}

/// Error of a cell's density. Beside air only what is too much acts, or the surface would pull
/// itself together.
static float cell_error(const BrimSim *s, int slot, int x, int y, int z) {
    int64_t i = grid_near(&s->grid, slot, x, y, z);
    if (i < 0 || !occupied(s, slot, x, y, z)) return 0;
    float e = s->density[i] - 1;
    e = e > ERROR_MAX ? ERROR_MAX : e < -ERROR_MAX ? -ERROR_MAX : e;
    if (e >= 0) return e;
    for (int k = s->dim == 3 ? 0 : 9; k < (s->dim == 3 ? 27 : 18); k++) {
        int at[3] = {x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1};
        if (s->dim == 2) at[2] = 0;
        if (!outside(s, slot, at[0], at[1], at[2]) && !occupied(s, slot, at[0], at[1], at[2]))
            return 0;
    }
    return e;
}

typedef struct Shift {
    NodalProblem problem;
    NodalOperator *op;
} Shift;

/// b_i = sum over cells of the error times the integral of N_i |J|
static void build_tile(BrimSim *s, int slot, int thread, void *context) {
    const Shift *sh = context;
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const size_t n = (size_t)g->tile_cells, at = (size_t)slot * n;
    double b[512] = {0};
    nodal_assemble(&sh->problem, sh->op, slot);
    for (int z = s->dim == 3 ? -1 : 0; z < (s->dim == 3 ? TILE : 1); z++)
        for (int y = -1; y < TILE; y++)
            for (int x = -1; x < TILE; x++) {
                if (outside(s, slot, x, y, z)) continue;
                float error = cell_error(s, slot, x, y, z);
                if (error == 0) continue;
                double d[8][3], N[8];
                Element e;
                map_corners(&s->warp->mesh.map, t.x * TILE + x, t.y * TILE + y,
                            s->dim == 3 ? t.z * TILE + z : 0, d);
                element_shape(&e, s->dim, WARP_RULE_GAUSS, d);
                for (int p = 0; p < e.points; p++) {
                    element_values(s->dim, WARP_RULE_GAUSS, p, N);
                    for (int c = 0; c < e.corners; c++) {
                        int cx = x + (c & 1), cy = y + (c >> 1 & 1), cz = z + (c >> 2);
                        if (cx < 0 || cy < 0 || cz < 0 || cx > 7 || cy > 7 || cz > 7) continue;
                        b[(cz * TILE + cy) * TILE + cx] += (double)error * e.weight[p] * N[c];
                    }
                }
            }
    for (size_t i = 0; i < n; i++) {
        s->rhs[at + i] = sh->op->smooth[at + i] > 0 ? (float)b[i] : 0;
        s->warp->q[at + i] = 0;
    }
}

/// potential => displacement of cells in space, in shift; shift_known where it has a say
static void shift_cells(BrimSim *s, int slot, int thread, void *context) {
    const Shift *sh = context;
    const size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    for (int a = 0; a < s->dim; a++) memset(s->shift[a] + at, 0, n * sizeof(float));
    nodal_update(&sh->problem, sh->op, s->potential, s->shift, s->shift_known[0], slot);
}

static void move_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    double sum = 0, largest = 0;
    for (uint32_t n = tile_first(p, &s->grid, slot); n < tile_end(p, &s->grid, slot); n++) {
        double xi[3], dx[3], J[3][3], inverse[3][3], step[3], square = 0;
        warp_particle(s, n, xi);
        warp_key(s, n); // the sort left keys in another order
        if (!warp_sample(s, s->shift, xi, dx)) continue;
        map_jacobian(&s->warp->mesh.map, xi, J);
        matrix_invert(J, inverse);
        warp_pull_back(inverse, dx, step);
        for (int a = 0; a < s->dim; a++) square += step[a] * step[a];
        double length = sqrt(square), cut = length > SHIFT_MAX ? SHIFT_MAX / length : 1;
        for (int a = 0; a < s->dim; a++) {
            double in = fmin(fmax(xi[a] + cut * step[a], 1e-3), s->grid.cells[a] - 1e-3);
            p->attr[ATTR_X + a][n] = (float)(in * (double)s->dx);
        }
        warp_key(s, n);
        sum += cut * length, largest = fmax(largest, cut * length);
    }
    s->shift_sums[slot] = (ShiftSums){sum, (float)largest};
}

/// Mean and largest |error| over occupied cells.
static void report_errors(const BrimSim *s, double *mean, double *largest) {
    double sum = 0, count = 0, most = 0;
    for (int slot = 0; slot < s->grid.tile_count; slot++)
        for (int i = 0; i < s->grid.tile_cells; i++) {
            if (!occupied(s, slot, i & 7, i >> 3 & 7, i >> 6)) continue;
            double e = fabs((double)cell_error(s, slot, i & 7, i >> 3 & 7, i >> 6));
            sum += e, count++, most = fmax(most, e);
        }
    *mean = count > 0 ? sum / count : 0, *largest = most;
}

BrimResult warp_weigh(BrimSim *s, BrimError *error) {
    s->stats.density_iterations = 0, s->stats.displaced_mean = s->stats.displaced_max = 0;
    s->weighs = false;
    if (s->def.volume != BRIM_VOLUME_DENSITY || !pressure_acts(s)) return BRIM_OK;
    s->travelled += s->max_speed * s->dt * (double)s->inv_dx;
    if (!s->crowded && s->travelled < TRAVEL_MAX) return BRIM_OK;
    if (!measure_density(s)) return step_out_of_memory(s, "density", error);
    report_errors(s, &s->stats.density_error_mean, &s->stats.density_error_max);
    s->weighs = true;
    return BRIM_OK;
}

static Shift shifting(const BrimSim *s) {
    return (Shift){.problem = {.grid = &s->grid,
                               .map = &s->warp->mesh.map,
                               .rule = WARP_RULE_GAUSS,
                               .surface = {.order = 1, .limit = GHOST_LIMIT},
                               .phi = s->flag,
                               .kernels = s->warp->nodal,
                               .map_kernels = s->warp->kernels},
                   .op = &s->warp->op};
}

BrimResult warp_spread(BrimSim *s, BrimError *error) {
    WarpState *w = s->warp;
    Shift sh = shifting(s);
    size_t nodes = sim_cells(s);
    if (!nodal_reserve(&w->op, &s->grid) ||
        !memory_fit((void **)&w->q, &w->q_capacity, sizeof *w->q, nodes))
        return step_out_of_memory(s, "density", error);
    tiles_for(s, flag_tile, NULL);
    nodal_begin(&sh.problem, sh.op);
    tiles_for(s, build_tile, &sh);
    if (!nodal_prepare(w->solver, &w->op)) return step_out_of_memory(s, "density", error);
    NodalParams params = {.tolerance = s->def.volume_tolerance,
                          .max_iterations = s->def.max_iterations};
    NodalReport report;
    bool finite = nodal_solve(w->solver, s->rhs, w->q, &params, &report);
    s->stats.density_iterations = report.iterations;
    if (!finite)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage density: a displacement is not a number",
                    (long long)s->step + 1, s->time);
    for (size_t i = 0; i < nodes; i++) s->potential[i] = (float)w->q[i];
    return BRIM_OK; // what an unfinished solve leaves, the next step sees again
}

BrimResult warp_shift(BrimSim *s, BrimError *error) {
    Shift sh = shifting(s);
    float *const none[3] = {NULL, NULL, NULL};
    tiles_for(s, shift_cells, &sh);
    // particles in the upper half of surface cells hang on cells in air
    warp_grow(s, 1, s->shift, none, s->shift_known[0], s->shift_known[1]);
    tiles_for(s, move_tile, NULL);
    double sum = 0, largest = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        sum += s->shift_sums[t].sum;
        largest = larger_of(largest, (double)s->shift_sums[t].largest);
    }
    s->stats.displaced_mean = s->particles.count ? sum / (double)s->particles.count : 0;
    s->stats.displaced_max = largest;
    s->travelled = 0;
    s->crowded = largest >= SHIFT_MAX || s->stats.density_error_mean > MEAN_MAX;
    return BRIM_OK;
}

BrimResult warp_weigh_after(BrimSim *s, BrimError *error) {
    bool frame_ends = s->time == (double)s->frame / s->def.frame_rate;
    if (s->def.volume != BRIM_VOLUME_DENSITY || !frame_ends) return BRIM_OK;
    if (!measure_density(s)) return step_out_of_memory(s, "measure", error);
    report_errors(s, &s->stats.density_error_mean_after, &s->stats.density_error_max_after);
    return BRIM_OK;
}
