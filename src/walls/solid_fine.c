#include "walls/solid_fine.h"
#include "base/memory.h"
#include "step/stages.h"
#include "walls/cell_parts.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

// ------------------------------------------------------------------------------------ sampling

/// Samples a tile that is newly fine.
static void sample_new_fine(void *context, int index, int thread) {
    const BrimSim *s = context;
    float *phi = s->solid_fine + (size_t)index * fine_tile_nodes(s);
    if (s->fine_from[index] >= 0) return;
    solids_sample_nodes(s, s->fine_slot[index], 2, 0, FINE_EDGE, phi, NULL);
    for (size_t i = 0; i < fine_tile_nodes(s); i++) phi[i] = fminf(phi[i], SOLID_REACH * s->dx);
}

bool fine_arrange(BrimSim *s) {
    int count = 0;
    bool same = true;
    for (int t = 0; t < s->grid.tile_count; t++) {
        int32_t at = s->solid_at[t] ? s->fine_at[s->solid_at[t] - 1] : 0;
        if (at) same &= at == ++count;
    }
    if (same && count == s->walls.fine_count) return true;
    if (!s->walls.fine_block)
        s->walls.fine_block =
            memory_new((size_t)s->threads_most * fine_block_nodes(s) * sizeof(float));
    if (!s->walls.fine_block ||
        !fields_reserve(s, WHERE_FINE, (size_t)count)) { // those without a place stay coarse
        for (int t = 0; t < s->grid.tile_count; t++)
            if (s->solid_at[t] && s->fine_at[s->solid_at[t] - 1] < 0)
                s->fine_at[s->solid_at[t] - 1] = 0;
        return false;
    }
    s->walls.fine_count = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        int32_t *at = s->solid_at[t] ? &s->fine_at[s->solid_at[t] - 1] : NULL;
        if (!at || !*at) continue;
        s->fine_from[s->walls.fine_count] = *at > 0 ? *at - 1 : -1;
        s->fine_slot[s->walls.fine_count] = t;
        *at = ++s->walls.fine_count;
    }
    fields_follow(s, WHERE_FINE, s->fine_from, count);
    team_for(s->team, count, 1, sample_new_fine, s);
    return true;
}

// ------------------------------------------------------------------------------------- reading

/// Nodes => nodes at half cells, those between as the mean of their neighbours.
static void refine(const float *block, int edge, int depth, float *fine) {
    int wide = 2 * edge;
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < edge; y++) {
            const float *from = block + (z * edge + y) * edge;
            float *to = fine + (size_t)((depth > 1 ? 2 * z : z) * wide + 2 * y) * (size_t)wide;
            for (int x = 0; x < edge; x++) {
                to[2 * x] = from[x];
                to[2 * x + 1] = x + 1 < edge ? 0.5f * (from[x] + from[x + 1]) : from[x];
            }
        }
    size_t slice = (size_t)wide * (size_t)wide;
    for (int z = 0; z < depth; z++)
        for (int y = 1; y < wide; y += 2) {
            float *to = fine + (size_t)(depth > 1 ? 2 * z : z) * slice + (size_t)(y * wide);
            const float *below = to - wide, *above = y + 1 < wide ? to + wide : below;
            for (int x = 0; x < wide; x++) to[x] = 0.5f * (below[x] + above[x]);
        }
    for (int z = 1; z < 2 * depth && depth > 1; z += 2) {
        float *to = fine + (size_t)z * slice;
        const float *below = to - slice, *above = z + 1 < 2 * depth ? to + slice : below;
        for (size_t i = 0; i < slice; i++) to[i] = 0.5f * (below[i] + above[i]);
    }
}

static int larger(int a, int b) {
    return a > b ? a : b;
}
static int smaller(int a, int b) {
    return a < b ? a : b;
}

/// Puts what a fine tile knows into a block: `from` is the tile's first node in the block.
static void patch(const float *tile, const int from[3], int edge, int dim, float *fine) {
    int first[3], end[3];
    for (int a = 0; a < 3; a++) {
        first[a] = larger(-from[a], 0);
        end[a] = smaller(edge - from[a], FINE_EDGE);
    }
    if (dim == 2) first[2] = 0, end[2] = 1;
    if (first[0] >= end[0]) return;
    for (int z = first[2]; z < end[2]; z++)
        for (int y = first[1]; y < end[1]; y++)
            memcpy(fine +
                       ((size_t)((dim == 3 ? from[2] + z : 0) * edge + from[1] + y) * (size_t)edge +
                        (size_t)(from[0] + first[0])),
                   tile + (z * FINE_EDGE + y) * FINE_EDGE + first[0],
                   (size_t)(end[0] - first[0]) * sizeof *fine);
}

static const float *fine_tile(const BrimSim *s, int slot) {
    return s->solid_fine + (size_t)(s->fine_at[s->solid_at[slot] - 1] - 1) * fine_tile_nodes(s);
}

bool fine_near(const BrimSim *s, int slot) {
    for (int n = 0; n < 27 && s->walls.fine_count; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && fine_here(s, t)) return true;
    }
    return false;
}

/// Nodes beyond the domain repeat those on its sides: the means of coarser ones see no thin wall.
static void repeat_sides(const BrimSim *s, int slot, int halo, float *fine) {
    const TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x, c.y, c.z}, edge = 2 * block_edge(halo);
    int low[3] = {0}, high[3] = {0};
    bool beyond = false;
    for (int a = 0; a < s->dim; a++) {
        const int end = 2 * (halo + s->grid.cells[a] - tile[a] * TILE);
        low[a] = tile[a] == 0 ? 2 * halo : 0, high[a] = smaller(end, edge - 1);
        beyond |= low[a] > 0 || high[a] < edge - 1;
    }
    for (int z = 0; z < (s->dim == 3 ? edge : 1) && beyond; z++)
        for (int y = 0; y < edge; y++) {
            const int at_y = larger(low[1], smaller(y, high[1]));
            float *from = fine + (larger(low[2], smaller(z, high[2])) * edge + at_y) * edge;
            float *to = fine + (z * edge + y) * edge;
            for (int x = 0; x < low[0]; x++) from[x] = from[low[0]];
            for (int x = high[0] + 1; x < edge; x++) from[x] = from[high[0]];
            if (from != to) memcpy(to, from, (size_t)edge * sizeof *to);
        }
}

SolidNodes solid_nodes(const BrimSim *s, int slot, int thread, int halo, float missing,
                       float *block) {
    solid_block(s, slot, halo, missing, block);
    if (!fine_near(s, slot)) return (SolidNodes){block, false};
    float *fine = s->walls.fine_block + (size_t)thread * fine_block_nodes(s);
    int edge = block_edge(halo);
    refine(block, edge, block_depth(&s->grid, halo), fine);
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t < 0 || !fine_here(s, t)) continue;
        const int from[3] = {2 * (halo + (n % 3 - 1) * TILE), 2 * (halo + (n / 3 % 3 - 1) * TILE),
                             2 * (halo + (n / 9 - 1) * TILE)};
        patch(fine_tile(s, t), from, 2 * edge, s->dim, fine);
    }
    repeat_sides(s, slot, halo, fine);
    return (SolidNodes){fine, true};
}

const float *fine_nodes(const BrimSim *s, int slot, int x, int y, int z) {
    TileCoord c = s->grid.coord[slot];
    int at = (y - c.y * 2 * TILE) * FINE_EDGE + x - c.x * 2 * TILE;
    if (s->dim == 3) at += (z - c.z * 2 * TILE) * FINE_EDGE * FINE_EDGE;
    return fine_tile(s, slot) + at;
}

// ---------------------------------------------------------------------- particles of other parts

/// Distances of a fine tile's half-cell nodes from a cell's low corner on.
static const float *cell_halves(const BrimSim *s, int slot, int cell) {
    int x = 2 * (cell & 7), y = 2 * (cell >> 3 & 7), z = 2 * (cell >> 6);
    return fine_tile(s, slot) + (z * FINE_EDGE + y) * FINE_EDGE + x;
}

uint32_t other_parts(const BrimSim *s, int slot, int cell) {
    const float *low = cell_halves(s, slot, cell);
    uint32_t outside = outside_of(s->dim, low, FINE_EDGE);
    return outside & ~largest_part(s->dim, low, FINE_EDGE, outside);
}

/// Whether a cell has parts, and particles only in those that it does not stand for.
static bool is_foreign(const BrimSim *s, int slot, int cell) {
    const uint32_t others = other_parts(s, slot, cell);
    if (!others) return false;
    const uint32_t outside = outside_of(s->dim, cell_halves(s, slot, cell), FINE_EDGE);
    TileCoord c = s->grid.coord[slot];
    const int low[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7),
                        c.z * TILE + (cell >> 6)};
    const Particles *p = &s->particles;
    const uint32_t *start = cell_starts(p, &s->grid, slot) + cell;
    for (uint32_t i = start[0]; i < start[1]; i++) {
        float at[3] = {0};
        for (int a = 0; a < s->dim; a++)
            at[a] = space_to_grid(s->space, p->attr[ATTR_X + a][i]) - (float)low[a];
        if (!(nearest_node(s->dim, outside, at) & others)) return false;
    }
    return true;
}

static void find_foreign_in(BrimSim *s, int slot, int thread, void *context) {
    TileMask foreign = {{0}};
    if (fine_here(s, slot)) {
        TileMask occupied = mask_load(&s->grid, s->particles.occupied, slot);
        TileMask cut = cut_cells(s, slot);
        for (int z = 0; z < s->grid.tile_depth; z++)
            for (uint64_t bits = occupied.slice[z] & cut.slice[z]; bits; bits &= bits - 1) {
                int k = __builtin_ctzll(bits);
                if (is_foreign(s, slot, z * 64 + k)) foreign.slice[z] |= (uint64_t)1 << k;
            }
    }
    mask_store(&s->grid, s->foreign, slot, &foreign);
}

void find_foreign(BrimSim *s) {
    if (s->solid_at && s->walls.fine_count) tiles_for(s, find_foreign_in, NULL);
}

TileMask own_cells(const BrimSim *s, const uint8_t *cells, int slot) {
    TileMask m = mask_load(&s->grid, cells, slot);
    if (!s->walls.fine_count) return m;
    TileMask foreign = mask_load(&s->grid, s->foreign, slot);
    for (int z = 0; z < s->grid.tile_depth; z++) m.slice[z] &= ~foreign.slice[z];
    return m;
}

TileMask own_beside(const BrimSim *s, const uint8_t *cells, int slot, int axis, int step) {
    TileMask m = mask_neighbour(&s->grid, cells, slot, axis, step);
    if (!s->walls.fine_count) return m;
    TileMask foreign = mask_neighbour(&s->grid, s->foreign, slot, axis, step);
    for (int z = 0; z < s->grid.tile_depth; z++) m.slice[z] &= ~foreign.slice[z];
    return m;
}
