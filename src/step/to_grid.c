// Stage 7: particles -> grid. Each tile's particles go into a block of the tile and one cell
// around it; then each tile sums the blocks that reach into it, in fixed order. So no two threads
// write to one place and the sums are the same for any number of them.
#include "base/memory.h"
#include "grid/mask.h"
#include "step/stages.h"
#include <omp.h>
#include <string.h>

/// Blocks that weigh less than this on a face say nothing about its velocity.
static const float WEIGHT_MIN = 1e-6f;

static size_t block_floats(const BrimSim *s) {
    return s->dim == 3 ? SCATTER_3D : SCATTER_2D;
}

/// Adds a layer of (momentum, weight) pairs of one component to another: what a particle gives to
/// nodes beyond the domain goes to the last ones inside, as grid -> particles repeats those.
static void fold_layer(float *component, int axis, int depth, int from, int to) {
    enum { E = SCATTER_EDGE };
    const int stride[3] = {2, 2 * E, 2 * E * E};
    const int extent[3] = {E, E, depth};
    int b = (axis + 1) % 3, c = (axis + 2) % 3;
    for (int k = 0; k < extent[c]; k++)
        for (int j = 0; j < extent[b]; j++) {
            float *row = component + j * stride[b] + k * stride[c];
            for (int i = 0; i < 2; i++) {
                row[to * stride[axis] + i] += row[from * stride[axis] + i];
                row[from * stride[axis] + i] = 0;
            }
        }
}

static void fold_sides(const BrimSim *s, int slot, float *block) {
    const Grid *g = &s->grid;
    const int16_t c[3] = {g->coord[slot].x, g->coord[slot].y, g->coord[slot].z};
    int depth = s->dim == 3 ? SCATTER_EDGE : 1;
    size_t component = block_floats(s) / (size_t)s->dim;
    for (int axis = 0; axis < s->dim; axis++) {
        int end = g->cells[axis] - c[axis] * TILE; // cells of the domain from this tile on
        for (int a = 0; a < s->dim; a++) {
            if (a == axis) continue; // the normal component ends on the wall itself
            if (c[axis] == 0) fold_layer(block + (size_t)a * component, axis, depth, 0, 1);
            if (end <= TILE) fold_layer(block + (size_t)a * component, axis, depth, end + 1, end);
        }
    }
}

/// Numbers the tiles with particles. Returns how many there are.
static size_t number_blocks(BrimSim *s) {
    size_t blocks = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool occupied =
            tile_first(&s->particles, &s->grid, t) != tile_end(&s->particles, &s->grid, t);
        s->scatter_at[t] = occupied ? (int32_t)blocks++ : -1;
    }
    return blocks;
}

/// Adds a neighbour's block where it overlaps a tile. d: the neighbour's offset in tiles.
static void add_block(const float *component, const int d[3], int depth, float sums[][2]) {
    enum { E = SCATTER_EDGE };
    int first[3], count[3], to[3]; // in the block, how many, in the tile
    for (int a = 0; a < 3; a++) {
        first[a] = d[a] == 0 ? 1 : d[a] > 0 ? 0 : E - 1;
        count[a] = d[a] == 0 ? TILE : 1;
        to[a] = d[a] > 0 ? TILE - 1 : 0;
    }
    if (depth == 1) first[2] = to[2] = 0, count[2] = 1;
    for (int k = 0; k < count[2]; k++)
        for (int j = 0; j < count[1]; j++) {
            const float *in = component + 2 * (((first[2] + k) * E + first[1] + j) * E + first[0]);
            float *out = sums[((to[2] + k) * TILE + to[1] + j) * TILE + to[0]];
            if (count[0] == TILE)
                for (int i = 0; i < 2 * TILE; i++) out[i] += in[i];
            else
                out[0] += in[0], out[1] += in[1];
        }
}

/// Sums the blocks that reach a tile and divides. => velocity, old, known
static void gather_tile(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    size_t floats = block_floats(s), component = floats / (size_t)s->dim;
    float sums[512][2];
    for (int a = 0; a < s->dim; a++) {
        memset(sums, 0, (size_t)g->tile_cells * sizeof *sums);
        for (int n = 0; n < 27; n++) {
            int32_t t = g->neighbour[slot][n];
            if (t < 0 || s->scatter_at[t] < 0) continue;
            const int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            add_block(s->scatter + (size_t)s->scatter_at[t] * floats + (size_t)a * component, d,
                      g->tile_depth, sums);
        }
        size_t base = (size_t)slot * (size_t)g->tile_cells;
        float *velocity = s->velocity[a] + base, *old = s->old[a] ? s->old[a] + base : NULL;
        TileMask inside = mask_inside(g, slot), far = mask_layer(g, slot, a, g->cells[a]);
        TileMask known = {{0}};
        s->transfer->average((const float(*)[2])sums, g->tile_cells, WEIGHT_MIN, velocity,
                             (uint8_t *)known.slice);
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] &= inside.slice[z] | far.slice[z];
        mask_store(g, s->known[a], slot, &known);
        if (old && !s->band) memcpy(old, velocity, (size_t)g->tile_cells * sizeof *old);
        if (s->band && s->def.band_combine == BRIM_BAND_DENSITY)
            for (int i = 0; i < g->tile_cells; i++)
                s->coefficient[a][base + (size_t)i] = sums[i][1];
    }
}

bool stage_to_grid(BrimSim *s) {
    size_t floats = block_floats(s), blocks = number_blocks(s);
    if (!memory_grow((void **)&s->scatter, &s->scatter_capacity, sizeof *s->scatter,
                     blocks * floats, 0))
        return false;
    bool affine = s->particles.affine;
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (int t = 0; t < s->grid.tile_count; t++) {
            if (s->scatter_at[t] < 0) continue;
            float *block = s->scatter + (size_t)s->scatter_at[t] * floats;
            memset(block, 0, floats * sizeof *block);
            Span span = sim_span(s, t, 1);
            s->transfer->to_block(&span, affine, block);
            fold_sides(s, t, block);
        }
#pragma omp for schedule(dynamic, 4)
        for (int t = 0; t < s->grid.tile_count; t++) gather_tile(s, t);
    }
    return true;
}
