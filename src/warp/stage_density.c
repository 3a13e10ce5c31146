// Density on a warped mesh: what the particles' volumes are of what the seeding lattice would give.
// The projection is that of a regular grid (volume/density.c), in reference space: displacements
// with a wanted divergence there, however long a cell is. One unknown to a cell sees what
// alternates from cell to cell; one to a node would not.
#include "band/band.h"
#include "base/error.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "particles/seed.h"
#include "step/stages.h"
#include "volume/density.h"
#include "walls/solid_masks.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// As in volume/density.c: while the fastest particle has not crossed so many cells the next
/// projection can wait.
static const double TRAVEL_MAX = 1;

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

static size_t rest_cells(const BrimSim *s) {
    return s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D;
}

static float *rest_block(const BrimSim *s, int slot) {
    return s->work.at + s->warp->rest_at + (size_t)slot * rest_cells(s);
}

/// Volumes of a tile's cells by their own points, behind all blocks.
static float *cell_volumes(const BrimSim *s, int slot) {
    return rest_block(s, s->grid.tile_count) + (size_t)slot * (size_t)s->grid.tile_cells;
}

/// With a band: what the points of hidden cells would give, behind those.
static float *hidden_block(const BrimSim *s, int slot) {
    return cell_volumes(s, s->grid.tile_count) + (size_t)slot * rest_cells(s);
}

/// Weights of points, n along each axis => out, a block; det is overwritten.
static void spread_points(const BrimSim *s, int slot, int side, float *det, float *half,
                          float *out) {
    const int n = side * TILE;
    const float part = 1 / (float)(s->dim == 3 ? side * side * side : side * side);
    if (s->dim == 3) {
        spread_axis(side, 1, n * n, det, half);
        spread_axis(side, WARP_EDGE, n, half, det);
        spread_axis(side, WARP_EDGE * WARP_EDGE, 1, det, out);
    } else {
        spread_axis(side, 1, n, det, half);
        spread_axis(side, WARP_EDGE, 1, half, out);
    }
    for (size_t i = 0; i < rest_cells(s); i++) out[i] *= part;
    warp_fold(s, slot, 1, out);
}

/// Points of the cells below a band alone, as far as they are open. det [points]
static void keep_hidden(const BrimSim *s, int slot, int side, float *det) {
    const int n = side * TILE;
    float open[512];
    for (int i = 0; i < s->grid.tile_cells; i++) open[i] = band_part(s, slot, i);
    for (int z = 0; z < (s->dim == 3 ? n : 1); z++)
        for (int y = 0; y < n; y++) {
            const float *row = open + ((z / side) * TILE + y / side) * TILE;
            float *to = det + (z * n + y) * n;
            for (int x = 0; x < TILE; x++)
                for (int k = 0; k < side; k++) to[x * side + k] *= row[x];
        }
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
    if (!near && has_band(s)) { // cells before it without particles: hidden liquid is at rest
        memset(out, 0, rest_cells(s) * sizeof *out);
        memset(hidden_block(s, slot), 0, rest_cells(s) * sizeof *out);
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
    float *volume = cell_volumes(s, slot);
    const float part = 1 / (float)(s->dim == 3 ? side * side * side : side * side);
    memset(volume, 0, (size_t)s->grid.tile_cells * sizeof *volume);
    for (int z = 0; z < (s->dim == 3 ? n : 1); z++)
        for (int y = 0; y < n; y++) {
            float *row = volume + ((z / side) * TILE + y / side) * TILE;
            const float *from = det + (z * n + y) * n;
            for (int x = 0; x < TILE; x++)
                for (int k = 0; k < side; k++) row[x] += part * from[x * side + k];
        }
    spread_points(s, slot, side, det, half, out);
    if (!has_band(s)) return;
    if (!mask_any(&s->grid, s->hidden, slot)) {
        memset(hidden_block(s, slot), 0, rest_cells(s) * sizeof(float));
    } else if (mask_full(&s->grid, s->hidden, slot) && !solid_here(s, slot)) {
        memcpy(hidden_block(s, slot), out, rest_cells(s) * sizeof(float));
    } else {
        s->warp->kernels->points(&lattice, at, 1 / (float)side, n, NULL, det);
        keep_hidden(s, slot, side, det); // those beyond the domain are not
        spread_points(s, slot, side, det, half, hidden_block(s, slot));
    }
}

/// Trilinear weights do not see particles that crowd and thin out within a cell's length: what the
/// cell holds by itself does. It has this part in the density that is corrected.
static const float OWN_PART = 0.3f;

/// Volume of a cell's particles.
static float own_volume(const BrimSim *s, int64_t cell) {
    const float *volume = s->particles.attr[ATTR_VOLUME];
    float sum = 0;
    const uint32_t *start = cell_starts_from(&s->particles, &s->grid, cell);
    for (uint32_t i = start[0]; i < start[1]; i++) sum += volume[i];
    return sum;
}

/// Adds what cells among others that hold particles hold by themselves.
static void add_own(const BrimSim *s, int slot, float *density) {
    const float *volume = cell_volumes(s, slot);
    TileMask near[6], here = mask_load(&s->grid, s->particles.occupied, slot);
    mask_around(&s->grid, full_cells(s), slot, near);
    for (int n = 0; n < 2 * s->dim; n++) {
        const TileMask wall = mask_side(&s->grid, slot, n >> 1, n & 1 ? 1 : -1);
        TileMask rock = {{0}};
        if (s->walls.solid_count)
            rock = mask_neighbour(&s->grid, s->rock, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < s->grid.tile_depth; z++)
            here.slice[z] &= near[n].slice[z] | wall.slice[z] | rock.slice[z];
    }
    const float *filled = NULL;
    if (solid_here(s, slot))
        filled = s->solid_volume + solid_cell(s, (int64_t)slot * s->grid.tile_cells);
    for (int i = 0; i < s->grid.tile_cells; i++) {
        if (!mask_has(&here, i)) continue;
        if (has_band(s) && band_bit(s->hidden, (int64_t)slot * s->grid.tile_cells + i)) continue;
        float own = own_volume(s, (int64_t)slot * s->grid.tile_cells + i) / volume[i];
        if (filled) own += filled[i];
        density[i] += OWN_PART * (own - density[i]);
    }
}

/// A density to measure.
typedef struct Measured {
    float *density; ///< [cells]
    bool own;       ///< with what cells hold by themselves
} Measured;

static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Measured *m = context;
    float *density = m->density;
    const size_t n = (size_t)s->grid.tile_cells, base = (size_t)slot * n;
    float *sum = s->scratch[thread].block[4], *rest = s->scratch[thread].block[6];
    bool any = false;
    for (int k = 0; k < 27 && !any; k++) {
        const int32_t t = s->grid.neighbour[slot][k];
        any = t >= 0 && s->block_at[t] >= 0;
    }
    memset(density + base, 0, n * sizeof(float));
    if (!any) { // below a band it is that at rest
        for (size_t i = 0; has_band(s) && i < n; i++)
            density[base + i] = band_bit(s->interior, (int64_t)(base + i)) ? 1 : 0;
        return;
    }
    warp_sum_blocks(s, slot, 1, s->work.at + s->warp->rest_at, NULL, rest);
    warp_sum_blocks(s, slot, 1, s->work.at, s->block_at, sum);
    if (has_band(s)) {
        float *hidden = s->scratch[thread].block[5];
        warp_sum_blocks(s, slot, 1, hidden_block(s, 0), NULL, hidden);
        for (size_t i = 0; i < n; i++) sum[i] += hidden[i];
    }
    for (size_t i = 0; i < n; i++) density[base + i] = rest[i] > 0 ? sum[i] / rest[i] : 0;
    if (solid_here(s, slot)) {
        const float *part = s->solid_part + solid_cell(s, (int64_t)base);
        for (size_t i = 0; i < n; i++) density[base + i] += part[i];
    }
    if (m->own) add_own(s, slot, density + base);
}

/// Density of the cells: sum of v w over what the seeding lattice would give. False: out of memory.
static bool measure_density(BrimSim *s, float *density, bool own) {
    const size_t more = (has_band(s) ? 2 : 1) * rest_cells(s) + (size_t)s->grid.tile_cells;
    if (has_band(s) && s->grid.tile_count) band_full(s);
    if (!warp_scatter(s, 1, (size_t)s->grid.tile_count * more)) return false;
    tiles_for(s, rest_tile, NULL);
    tiles_for(s, gather_tile, &(Measured){density, own});
    return true;
}

/// Of all tiles' errors.
static void report_errors(const BrimSim *s, double *mean, double *largest) {
    double sum = 0, cells = 0;
    *largest = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        sum += s->errors[t].sum, cells += s->errors[t].cells;
        *largest = larger_of(*largest, (double)s->errors[t].largest);
    }
    *mean = cells > 0 ? sum / cells : 0;
}

/// Density => its error. => compression
static void compress_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t n = (size_t)s->grid.tile_cells;
    float error[512];
    s->errors[slot] = density_errors(s, s->compression, s->weighed, slot, error);
    memcpy(s->compression + (size_t)slot * n, error, n * sizeof *error);
}

/// For an error that joins the pressure's right-hand side.
static bool find_compression(BrimSim *s) {
    if (!measure_density(s, s->compression, true)) return false;
    density_wet(s, s->weighed);
    tiles_for(s, compress_tile, NULL);
    report_errors(s, &s->stats.density_error_mean, &s->stats.density_error_max);
    return true;
}

BrimResult warp_weigh(BrimSim *s, BrimError *error) {
    s->stats.density_iterations = 0, s->stats.displaced_mean = s->stats.displaced_max = 0;
    s->volume.waited += s->dt;
    s->band.swallow_left = fmax(0, s->band.swallow_left - s->dt);
    if (s->band.swallow_left == 0) s->band.swallowed_count = 0;
    s->volume.weighs = false;
    if (!pressure_acts(s)) return BRIM_OK;
    if (s->def.volume == BRIM_VOLUME_DIRECT || s->def.volume == BRIM_VOLUME_AVERAGED)
        return find_compression(s) ? BRIM_OK : step_out_of_memory(s, "density", error);
    if (s->def.volume != BRIM_VOLUME_DENSITY) return BRIM_OK;
    s->volume.travelled += s->max_speed * s->dt * (double)s->inv_dx;
    bool moving = false;
    for (int i = 0; i < s->walls.solid_count; i++) moving |= solid_moves(s->walls.solids[i]);
    if (!moving && !s->volume.crowded && s->volume.travelled < TRAVEL_MAX) return BRIM_OK;
    if (!measure_density(s, s->density, true)) return step_out_of_memory(s, "density", error);
    memcpy(s->scatter_at, s->block_at, (size_t)s->grid.tile_count * sizeof *s->scatter_at);
    density_wet(s, s->weighed);
    if (!push_out_find(s, &s->volume.inside)) return step_out_of_memory(s, "density", error);
    s->volume.weighs = true;
    return BRIM_OK;
}

static void error_tile(BrimSim *s, int slot, int thread, void *context) {
    float error[512];
    s->errors[slot] = density_errors(s, s->settled, s->weighed, slot, error);
}

/// The mean of a block's cells, with a halo of 1, and their neighbours, by 1/4, 1/2, 1/4.
static float mean_around(const float *block, int dim, int at) {
    static const float weight[3] = {0.25f, 0.5f, 0.25f};
    float sum = 0;
    for (int z = 0; z < (dim == 3 ? 3 : 1); z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 3; x++)
                sum += weight[x] * weight[y] * (dim == 3 ? weight[z] : 1) *
                       block[at + (z * WARP_EDGE + y) * WARP_EDGE + x];
    return sum;
}

/// What a tile holds beyond the room that there is, cells: as density_pressed has it. => pressed
static void press_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const float *here = s->settled + (size_t)slot * (size_t)g->tile_cells;
    float *block = s->scratch[thread].block[0], *rest = s->scratch[thread].block[6], most = 0;
    double sum = 0;
    for (int i = 0; i < g->tile_cells; i++) most = (float)larger_of((double)most, (double)here[i]);
    s->pressed[slot] = 0;
    if (most <= 1) return;
    block_load(g, slot, s->settled, PLACE_CELL, &s->sides, 1, 0, block);
    warp_sum_blocks(s, slot, 1, s->work.at + s->warp->rest_at, NULL, rest);
    for (int i = 0; i < g->tile_cells; i++) {
        const int at =
            ((s->dim == 3 ? i >> 6 : 0) * WARP_EDGE + (i >> 3 & 7)) * WARP_EDGE + (i & 7);
        const float over = mean_around(block, s->dim, at) - 1;
        if (!(over <= 0)) sum += (double)(over * rest[i]);
    }
    s->pressed[slot] = sum;
}

BrimResult warp_weigh_after(BrimSim *s, BrimError *error) {
    enum { STEPS_BETWEEN = 4 };
    bool frame_ends = s->time == (double)s->frame / s->def.frame_rate;
    bool errors = frame_ends && s->def.volume != BRIM_VOLUME_NONE;
    if (!errors && s->step % STEPS_BETWEEN != 1) return BRIM_OK;
    if (!measure_density(s, s->settled, false)) return step_out_of_memory(s, "measure", error);
    tiles_for(s, press_tile, NULL);
    s->volume.pressed_cells = 0;
    for (int t = 0; t < s->grid.tile_count; t++) s->volume.pressed_cells += s->pressed[t];
    if (!errors) return BRIM_OK;
    density_wet(s, s->weighed);
    tiles_for(s, error_tile, NULL);
    report_errors(s, &s->stats.density_error_mean_after, &s->stats.density_error_max_after);
    return BRIM_OK;
}
