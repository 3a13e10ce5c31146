// Density at cell centres, eq. (12) of the density paper, and which cells it counts in.
#include "band/band.h"
#include "step/scatter.h"
#include "volume/density.h"
#include "walls/liquid_part.h"
#include "walls/solid_fine.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

enum { E = SCATTER_EDGE };

/// Errors at the lower edge of a band below this are left: there particles come and go by chance;
/// corrected, that would move the surface above, and its waves would make more of them come and go.
/// What an impact presses together is more.
static const float CHANCE = 0.25f;

/// A cell of which solids take more than this is a sliver, in which no particles may fit.
static const float SLIVER = 0.5f;

float density_ramp(const BrimSimDef *def) {
    // A whole number of them: rows of particles that cross the end of a ramp then give as much as
    // they take.
    const double spacings = 2;
    if (def->warp > 0 || def->nodal) return 1;
    return (float)fmin(spacings * pow(def->particles_per_cell, -1.0 / def->dim), 1);
}

static size_t block_floats(const BrimSim *s) {
    return s->dim == 3 ? WEIGHT_3D : WEIGHT_2D;
}

/// Adds a layer of a block to another.
static void fold_layer(float *block, int axis, int depth, int from, int to) {
    const int stride[3] = {1, E, E * E}, extent[3] = {E, E, depth};
    int b = (axis + 1) % 3, c = (axis + 2) % 3;
    for (int k = 0; k < extent[c]; k++)
        for (int j = 0; j < extent[b]; j++) {
            float *row = block + j * stride[b] + k * stride[c];
            row[to * stride[axis]] += row[from * stride[axis]];
            row[from * stride[axis]] = 0;
        }
}

/// Mirrors back what lies beyond walls: for even water the same as water beyond them, and no weight
/// is lost.
static void fold_walls(const BrimSim *s, int slot, float *block) {
    const int16_t c[3] = {s->grid.coord[slot].x, s->grid.coord[slot].y, s->grid.coord[slot].z};
    int depth = s->dim == 3 ? E : 1;
    for (int a = 0; a < s->dim; a++) {
        int end = s->grid.cells[a] - c[a] * TILE; // cells of the domain from this tile on
        if (c[a] == 0 && !s->sides.open[2 * a]) fold_layer(block, a, depth, 0, 1);
        if (end <= TILE && !s->sides.open[2 * a + 1]) fold_layer(block, a, depth, end + 1, end);
    }
}

/// context: density [cells]
static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    float *sums = (float *)context + (size_t)slot * (size_t)g->tile_cells;
    if (has_band(s) && band_all_hidden(s, slot)) {
        for (int i = 0; i < g->tile_cells; i++) sums[i] = 1;
        return;
    }
    memset(sums, 0, (size_t)g->tile_cells * sizeof *sums);
    scatter_sum(s, slot, block_floats(s), 0, 1, sums);
    float one = 1 / (float)s->def.particles_per_cell;
    for (int i = 0; i < g->tile_cells; i++) sums[i] *= one;
    if (has_band(s)) band_weigh(s, slot, sums);
    if (!solid_here(s, slot)) return;
    const float *part = s->solid_part + solid_cell(s, (int64_t)slot * g->tile_cells);
    if (fine_near(s, slot)) {
        const SolidNodes nodes = part_nodes(s, slot, thread);
        part_density(s, &nodes, slot, sums);
    }
    for (int i = 0; i < g->tile_cells; i++) sums[i] += part[i];
}

/// A tile's particles into its block.
static void scatter_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    size_t floats = block_floats(s);
    float *block = scatter_block(s, slot, floats);
    memset(block, 0, floats * sizeof *block);
    Span span = sim_span(s, slot, 1);
    s->volume.kernels->weigh(&span, s->volume.ramp, block);
    fold_walls(s, slot, block);
}

bool density_measure(BrimSim *s, float *density) {
    if (has_band(s)) band_weigh_begin(s);
    return scatter_run(s, &(Scatter){block_floats(s), scatter_tile, gather_tile, density});
}

// --------------------------------------------------------------------------------- wet cells

/// For each cell of a tile whether the face in a direction is shut by a wall or a solid.
static TileMask shut(const BrimSim *s, int slot, int n) {
    const Grid *g = &s->grid;
    int axis = n >> 1, up = n & 1;
    TileMask m = s->sides.open[n] ? (TileMask){{0}} : mask_side(g, slot, axis, up ? 1 : -1);
    TileMask solid = shut_faces(s, slot, n);
    for (int z = 0; z < g->tile_depth; z++) m.slice[z] |= solid.slice[z];
    return m;
}

static void wet_tile(BrimSim *s, int slot, int thread, void *context) {
    uint8_t *wet = context; // [rows]
    const Grid *g = &s->grid;
    TileMask held = own_cells(s, full_cells(s), slot), may = bound_cells(s, slot);
    TileMask all, any = {{0}};
    memset(&all, 0xff, sizeof all);
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask near = own_beside(s, full_cells(s), slot, n >> 1, n & 1 ? 1 : -1);
        TileMask closed = shut(s, slot, n);
        for (int z = 0; z < g->tile_depth; z++) {
            all.slice[z] &= near.slice[z] | closed.slice[z];
            any.slice[z] |= near.slice[z] & ~closed.slice[z];
        }
    }
    for (int z = 0; z < g->tile_depth; z++) held.slice[z] |= all.slice[z] & any.slice[z];
    if (solid_here(s, slot)) {
        const float *filled = s->solid_volume + solid_cell(s, (int64_t)slot * g->tile_cells);
        for (int z = 0; z < g->tile_depth; z++)
            for (uint64_t bits = any.slice[z] & ~held.slice[z]; bits; bits &= bits - 1) {
                int bit = __builtin_ctzll(bits);
                if (filled[z * 64 + bit] > SLIVER) held.slice[z] |= (uint64_t)1 << bit;
            }
    }
    TileMask below = {{0}};
    if (has_rigid(s)) below = mask_load(g, has_band(s) ? s->below : s->rigid, slot);
    for (int z = 0; z < g->tile_depth; z++) held.slice[z] &= may.slice[z] & ~below.slice[z];
    mask_store(g, wet, slot, &held);
}

void density_wet(BrimSim *s, uint8_t *wet) {
    if (has_band(s)) band_full(s), band_below(s);
    if (bodies_immersed(s)) immersed_rigid(s);
    tiles_for(s, wet_tile, wet);
}

/// Adds the cells whose neighbours in a direction lie below a band, where it is full.
static void add_below(const BrimSim *s, int slot, int n, TileMask *near) {
    TileMask below = mask_neighbour(&s->grid, s->rigid, slot, n >> 1, n & 1 ? 1 : -1);
    for (int z = 0; z < s->grid.tile_depth; z++) near->slice[z] |= below.slice[z];
}

/// Wet cells of a tile that have air beside them.
static TileMask beside_air(const BrimSim *s, const uint8_t *wet, int slot) {
    const Grid *g = &s->grid;
    TileMask m = {{0}};
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask near = mask_neighbour(g, wet, slot, n >> 1, n & 1 ? 1 : -1);
        TileMask closed = shut(s, slot, n);
        if (has_rigid(s)) add_below(s, slot, n, &near);
        for (int z = 0; z < g->tile_depth; z++) m.slice[z] |= ~(near.slice[z] | closed.slice[z]);
    }
    return m;
}

/// The lowest cells of a band: those beside cells that are rigid.
static TileMask edge_cells(const BrimSim *s, int slot) {
    TileMask edge = {{0}};
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask below = mask_neighbour(&s->grid, s->rigid, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < s->grid.tile_depth; z++) edge.slice[z] |= below.slice[z];
    }
    return edge;
}

/// Whether liquid fills less than half of what solids leave of a cell.
static bool half_empty(const BrimSim *s, const float *density, int64_t cell) {
    const int64_t solid = solid_cell(s, cell);
    const float part = solid < 0 ? 0 : s->solid_part[solid];
    return density[cell] - part < 0.5f * (1 - part);
}

/// Whether a wet cell beside a wall or a sliver is part of a gap between that and the liquid: it
/// and another one beside it are less than half full. Such gaps hold air though no air is beside
/// them; filled, they would lift the water below a lid that does not touch it. density: [cells]
static bool in_gap(const BrimSim *s, const float *density, const uint8_t *wet, int slot, int cell) {
    bool wall = false, goes_on = false;
    if (s->def.volume != BRIM_VOLUME_DENSITY) return false; // the others are kept as published
    if (!half_empty(s, density, (int64_t)slot * s->grid.tile_cells + cell)) return false;
    for (int n = 0; n < 2 * s->dim; n++) {
        const TileMask closed = shut(s, slot, n);
        const int64_t next = grid_step(&s->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
        if (next < 0 || mask_has(&closed, cell)) {
            wall = true;
            continue;
        }
        const int64_t solid = solid_cell(s, next);
        wall |= solid >= 0 && s->solid_volume[solid] > SLIVER;
        goes_on |= wet[next >> 3] >> (next & 7) & 1 && half_empty(s, density, next);
    }
    return wall && goes_on;
}

DensityErrors density_errors(const BrimSim *s, const float *density, const uint8_t *wet, int slot,
                             float *error) {
    const Grid *g = &s->grid;
    const float *mine = density + (size_t)slot * (size_t)g->tile_cells;
    TileMask here = mask_load(g, wet, slot), air = beside_air(s, wet, slot);
    DensityErrors sums = {0};
    for (int z = 0; z < g->tile_depth && has_band(s); z++) // full, and without a count of particles
        here.slice[z] &= ~mask_word(g, s->below, slot, z);
    TileMask edge = has_band(s) ? edge_cells(s, slot) : (TileMask){{0}};
    memset(error, 0, (size_t)g->tile_cells * sizeof *error);
    const bool walls = solid_here(s, slot);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = here.slice[z]; bits; bits &= bits - 1) {
            int bit = __builtin_ctzll(bits), cell = z * 64 + bit;
            float e = mine[cell] - 1;
            if (edge.slice[z] >> bit & 1 && fabsf(e) < CHANCE) e = 0;
            // Signs come by chance, which branches would guess in vain. Few cells are so empty, or
            // beside solids, that they may be in a gap.
            const float least = air.slice[z] >> bit & 1 ? 0 : -INFINITY;
            e = e < least ? least : e;
            if ((mine[cell] < 0.5f || walls) && e < 0 && in_gap(s, density, wet, slot, cell)) e = 0;
            error[cell] = e;
            sums.sum += fabsf(e);
            sums.cells++;
            sums.largest = (float)larger_of(sums.largest, fabsf(e));
        }
    return sums;
}
