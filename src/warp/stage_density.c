// Implicit density projection on a warped mesh: displacements in space that bring the density at
// cell centres back to rest, from the operator of the pressure with M = I.
#include "base/error.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "particles/seed.h"
#include "step/stages.h"
#include "warp/occupied.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// As in volume/density.c: errors beyond this are corrected over several steps; while the fastest
/// particle has not crossed so many cells the next projection can wait; what is moved farther,
/// cells, is cut.
static const float ERROR_MAX = 0.5f;
static const double TRAVEL_MAX = 1, MEAN_MAX = 0.1, SHIFT_MAX = 0.5;

// ----------------------------------------------------------------------------------------- density

/// Lattice points along an axis of a cell, at most; finer lattices are thinned out.
enum { SIDE_MOST_3D = 4, SIDE_MOST_2D = 14 };

/// One axis of the lattice's weights: in [outer][side * TILE][inner] => out
/// [outer][WARP_EDGE][inner], the tile's cells and one to either side.
static void spread_axis(int side, int outer, int inner, const float *in, float *out) {
    const int n = side * TILE;
    memset(out, 0, (size_t)(outer * WARP_EDGE * inner) * sizeof *out);
    for (int k = 0; k < n; k++) {
        const float at = ((float)k + 0.5f) / (float)side + 0.5f; // from the centre before the tile
        const int low = (int)at;
        const float part = at - (float)low;
        for (int o = 0; o < outer; o++) {
            const float *restrict v = in + (size_t)((o * n + k) * inner);
            float *restrict to = out + (size_t)((o * WARP_EDGE + low) * inner);
            for (int j = 0; j < inner; j++) to[j] += (1 - part) * v[j];
            for (int j = 0; j < inner; j++) to[inner + j] += part * v[j];
        }
    }
}

static int lattice_side(const BrimSim *s) {
    const int most = s->dim == 3 ? SIDE_MOST_3D : SIDE_MOST_2D;
    const int wanted = seed_per_axis(s->dim, s->def.particles_per_cell);
    return wanted < most ? wanted : most;
}

static float *rest_block(const BrimSim *s, int slot) {
    return s->work.at + s->warp->rest_at +
           (size_t)slot * (s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D);
}

/// What the seeding lattice of a tile would give to cells: the sum of w |J| / N over its points.
static void rest_tile(BrimSim *s, int slot, int thread, void *context) {
    const int side = lattice_side(s), n = side * TILE;
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE};
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    ThreadScratch *scratch = &s->scratch[thread];
    float *det = scratch->block[0], *half = scratch->block[3], *out = rest_block(s, slot), at[3];
    bool near = false;
    for (int k = 0; k < 27 && !near; k++) {
        const int32_t from = s->grid.neighbour[slot][k];
        near = from >= 0 && s->block_at[from] >= 0;
    }
    if (!near) return;
    for (int a = 0; a < 3; a++) at[a] = (float)tile[a] + 0.5f / (float)side;
    s->warp->kernels->points(&lattice, at, 1 / (float)side, n, NULL, det);
    bool over = false; // tiles may hang over the domain
    for (int a = 0; a < s->dim; a++) over = over || tile[a] + TILE > s->grid.cells[a];
    for (int i = 0; over && i < n * n * (s->dim == 3 ? n : 1); i++) {
        const int k[3] = {i % n, i / n % n, i / n / n};
        for (int a = 0; a < s->dim; a++)
            if (tile[a] + k[a] / side >= s->grid.cells[a]) det[i] = 0;
    }
    if (s->dim == 3) {
        spread_axis(side, 1, n * n, det, half);
        spread_axis(side, WARP_EDGE, n, half, det);
        spread_axis(side, WARP_EDGE * WARP_EDGE, 1, det, out);
    } else {
        spread_axis(side, 1, n, det, half);
        spread_axis(side, WARP_EDGE, 1, half, out);
    }
    const int cells = s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D;
    const float part = 1 / (float)(s->dim == 3 ? side * side * side : side * side);
    for (int i = 0; i < cells; i++) out[i] *= part;
    warp_fold(s, slot, 1, out);
}

static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t n = (size_t)s->grid.tile_cells, base = (size_t)slot * n;
    float *sum = s->scratch[thread].block[4], *rest = s->scratch[thread].block[6];
    bool any = false;
    for (int k = 0; k < 27 && !any; k++) {
        const int32_t t = s->grid.neighbour[slot][k];
        any = t >= 0 && s->block_at[t] >= 0;
    }
    memset(s->density + base, 0, n * sizeof(float));
    if (!any) return;
    warp_sum_blocks(s, slot, 1, s->work.at + s->warp->rest_at, NULL, rest);
    warp_sum_blocks(s, slot, WARP_NUMBERS, s->work.at, s->block_at, sum);
    for (size_t i = 0; i < n; i++)
        s->density[base + i] = rest[i] > 0 ? sum[WARP_NUMBERS * i] / rest[i] : 0;
}

/// Density of the cells: sum of v w over what the seeding lattice would give. False: out of memory.
static bool measure_density(BrimSim *s) {
    const size_t cells = s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D;
    if (!warp_scatter(s, (size_t)s->grid.tile_count * cells)) return false;
    tiles_for(s, rest_tile, NULL);
    tiles_for(s, gather_tile, NULL);
    return true;
}

// ------------------------------------------------------------------------------------------ system

/// Nodes among cells with particles are liquid. => flag
static void flag_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    float *flag = s->flag + (size_t)slot * (size_t)g->tile_cells;
    Occupied full, real;
    find_occupied(s, slot, true, &full);
    find_occupied(s, slot, false, &real);
    for (int row = 0; row < g->tile_rows; row++) {
        const int y = (row & 7) + SEEN, z = s->dim == 3 ? (row >> 3) + SEEN : 0;
        unsigned all = ~0u, any = 0;
        for (int k = s->dim == 3 ? -1 : 0; k <= 0; k++)
            for (int j = -1; j <= 0; j++)
                all &= full.row[z + k][y + j], any |= real.row[z + k][y + j];
        all = all >> (SEEN - 1) & all >> SEEN, any = any >> (SEEN - 1) | any >> SEEN;
        for (int x = 0; x < TILE; x++) flag[row * TILE + x] = (all & any) >> x & 1 ? -1 : 1;
    }
}

/// Errors of a tile's densities. Beside air only what is too much acts, or the surface would pull
/// itself together.
static void find_errors(const BrimSim *s, int slot, float out[512]) {
    const Grid *g = &s->grid;
    const float *density = s->density + (size_t)slot * (size_t)g->tile_cells;
    Occupied o;
    find_occupied(s, slot, true, &o);
    for (int row = 0; row < g->tile_rows; row++) {
        const int y = (row & 7) + SEEN, z = s->dim == 3 ? (row >> 3) + SEEN : 0;
        unsigned among = ~0u;
        for (int k = s->dim == 3 ? -1 : 0; k <= (s->dim == 3); k++)
            for (int j = -1; j <= 1; j++) among &= o.row[z + k][y + j];
        among = among >> (SEEN - 1) & among >> SEEN & among >> (SEEN + 1);
        const unsigned here = s->particles.occupied[slot * g->tile_rows + row];
        for (int x = 0; x < TILE; x++) {
            float e = density[row * TILE + x] - 1;
            e = e > ERROR_MAX ? ERROR_MAX : e < -ERROR_MAX ? -ERROR_MAX : e;
            out[row * TILE + x] = here >> x & 1 && (e >= 0 || among >> x & 1) ? e : 0;
        }
    }
}

typedef struct Shift {
    NodalProblem problem;
    NodalOperator *op;
} Shift;

/// Operator of a tile; its cells' errors times an eighth of their volume => rhs, for the nodes
static void build_tile(BrimSim *s, int slot, int thread, void *context) {
    const Shift *sh = context;
    const size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    float error[512];
    nodal_assemble(&sh->problem, sh->op, slot);
    memset(s->rhs + at, 0, n * sizeof(float));
    memset(s->warp->q + at, 0, n * sizeof(double));
    if (!sh->op->kept[slot]) return;
    find_errors(s, slot, error);
    const float *volume = sh->op->mean + (at + n) * NODAL_MEAN - n;
    const float part = 1 / (float)(1 << s->dim);
    for (size_t i = 0; i < n; i++) s->rhs[at + i] = part * error[i] * volume[i];
}

/// b_i = sum over cells of the error times their volume's share => potential
static void gather_rhs(BrimSim *s, int slot, int thread, void *context) {
    enum { E = TILE + 2 };
    const Shift *sh = context;
    const size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    float *block = s->scratch[thread].block[0];
    block_load(&s->grid, slot, s->rhs, PLACE_NODE, &s->sides, 1, 0, block);
    const TileCoord t = s->grid.coord[slot];
    const int deep = s->dim == 3;
    for (int i = 0; i < (int)n; i++) {
        const int x = i & 7, y = i >> 3 & 7, z = i >> 6;
        float sum = 0;
        for (int c = 0; c < 1 << s->dim; c++) { // cell c below the node
            const int dx = c & 1, dy = c >> 1 & 1, dz = c >> 2;
            if (t.x * TILE + x < dx || t.y * TILE + y < dy || (deep && t.z * TILE + z < dz))
                continue;
            sum += block[((deep * (z + 1 - dz)) * E + y + 1 - dy) * E + x + 1 - dx];
        }
        s->potential[at + (size_t)i] = sh->op->smooth[at + (size_t)i] > 0 ? sum : 0;
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
    const Span span = sim_span(s, slot, 1);
    const uint32_t first = tile_first(&s->particles, &s->grid, slot);
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    ThreadScratch *scratch = &s->scratch[thread];
    float *const blocks[3] = {scratch->block[0], scratch->block[1], scratch->block[2]};
    float *length = s->particles.spare + first;
    double sum = 0;
    float largest = 0;
    s->shift_sums[slot] = (ShiftSums){0};
    if (span.count == 0) return;
    warp_load(s, slot, s->shift, 1, blocks);
    s->warp->kernels->shift(&span, &lattice, (const float *const *)blocks, (float)SHIFT_MAX,
                            WARP_SIDE, length);
    for (int i = 0; i < span.count; i++)
        sum += (double)length[i], largest = fmaxf(largest, length[i]);
    find_keys(s, slot);
    s->shift_sums[slot] = (ShiftSums){sum, largest};
}

/// Sums of |error| over a tile's occupied cells.
static void error_tile(BrimSim *s, int slot, int thread, void *context) {
    ShiftSums *out = (ShiftSums *)context + slot;
    float error[512];
    *out = (ShiftSums){0};
    if (tile_first(&s->particles, &s->grid, slot) == tile_end(&s->particles, &s->grid, slot))
        return;
    find_errors(s, slot, error);
    for (int i = 0; i < s->grid.tile_cells; i++) {
        out->sum += (double)fabsf(error[i]);
        out->largest = fmaxf(out->largest, fabsf(error[i]));
    }
}

/// Mean and largest |error| over occupied cells.
static bool report_errors(BrimSim *s, double *mean, double *largest) {
    WarpState *w = s->warp;
    double sum = 0, count = 0, most = 0;
    if (!memory_fit((void **)&w->errors, &w->errors_capacity, sizeof *w->errors,
                    (size_t)s->grid.tile_count))
        return false;
    tiles_for(s, error_tile, w->errors);
    for (int t = 0; t < s->grid.tile_count; t++)
        sum += w->errors[t].sum, most = fmax(most, (double)w->errors[t].largest);
    for (size_t i = 0; i < sim_rows(s); i++) count += __builtin_popcount(s->particles.occupied[i]);
    *mean = count > 0 ? sum / count : 0, *largest = most;
    return true;
}

BrimResult warp_weigh(BrimSim *s, BrimError *error) {
    s->stats.density_iterations = 0, s->stats.displaced_mean = s->stats.displaced_max = 0;
    s->weighs = false;
    if (s->def.volume != BRIM_VOLUME_DENSITY || !pressure_acts(s)) return BRIM_OK;
    s->travelled += s->max_speed * s->dt * (double)s->inv_dx;
    if (!s->crowded && s->travelled < TRAVEL_MAX) return BRIM_OK;
    if (!measure_density(s) ||
        !report_errors(s, &s->stats.density_error_mean, &s->stats.density_error_max))
        return step_out_of_memory(s, "density", error);
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
    tiles_for(s, gather_rhs, &sh);
    if (!nodal_prepare(w->solver, &w->op)) return step_out_of_memory(s, "density", error);
    NodalParams params = {.tolerance = s->def.volume_tolerance,
                          .max_iterations = s->def.max_iterations};
    NodalReport report;
    bool finite = nodal_solve(w->solver, s->potential, w->q, &params, &report);
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
    if (!measure_density(s) ||
        !report_errors(s, &s->stats.density_error_mean_after, &s->stats.density_error_max_after))
        return step_out_of_memory(s, "measure", error);
    return BRIM_OK;
}
