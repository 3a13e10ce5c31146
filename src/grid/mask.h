// Masks of a tile's cells as words: one bit a cell, one 64-bit word a slice (8 rows of 8 cells, bit
// y * 8 + x), eight slices in 3D and one in 2D. In memory a mask is one byte a row, which on the
// little-endian machines that Brim runs on is the same bytes.
#pragma once
#include "grid/grid.h"
#include <string.h>

typedef struct TileMask {
    uint64_t slice[TILE];
} TileMask;

#define MASK_COLUMN_0 0x0101010101010101u

static inline uint64_t mask_word(const Grid *g, const uint8_t *mask, int slot, int z) {
    uint64_t w;
    memcpy(&w, mask + (size_t)slot * (size_t)g->tile_rows + (size_t)(8 * z), sizeof w);
    return w;
}

/// Copies the mask of one tile. (Sizes that the compiler knows need no call.)
static inline void mask_copy(const Grid *g, void *to, const void *from) {
    if (g->dim == 3)
        memcpy(to, from, TILE * sizeof(uint64_t));
    else
        memcpy(to, from, sizeof(uint64_t));
}

static inline void mask_store(const Grid *g, uint8_t *mask, int slot, const TileMask *m) {
    mask_copy(g, mask + (size_t)slot * (size_t)g->tile_rows, m->slice);
}

static inline TileMask mask_load(const Grid *g, const uint8_t *mask, int slot) {
    TileMask m = {{0}};
    mask_copy(g, m.slice, mask + (size_t)slot * (size_t)g->tile_rows);
    return m;
}

static inline bool mask_has(const TileMask *m, int cell) {
    return m->slice[cell >> 6] >> (cell & 63) & 1;
}

/// Whether all cells of a tile are in the mask.
static inline bool mask_full(const Grid *g, const uint8_t *mask, int slot) {
    uint64_t all = ~(uint64_t)0;
    for (int z = 0; z < g->tile_depth; z++) all &= mask_word(g, mask, slot, z);
    return all == ~(uint64_t)0;
}

/// One row of a mask, bit x.
static inline uint8_t mask_bits(const TileMask *m, int row) {
    return (uint8_t)(m->slice[row >> 3] >> (8 * (row & 7)));
}

/// For each cell of a tile, the bit of its neighbour one step along an axis; 0 where no tile is.
static inline TileMask mask_neighbour(const Grid *g, const uint8_t *mask, int slot, int axis,
                                      int direction) {
    static const int offset[3] = {1, 3, 9};
    TileMask m = mask_load(g, mask, slot), out = {{0}};
    int32_t next = g->neighbour[slot][TILE_SELF + direction * offset[axis]];
    int last = g->tile_depth - 1;
    for (int z = 0; z <= last; z++) {
        uint64_t w = m.slice[z], n = axis < 2 && next >= 0 ? mask_word(g, mask, next, z) : 0;
        if (axis == 0)
            out.slice[z] = direction < 0
                               ? (w << 1 & ~MASK_COLUMN_0) | (n >> 7 & MASK_COLUMN_0)
                               : (w >> 1 & ~(MASK_COLUMN_0 << 7)) | (n & MASK_COLUMN_0) << 7;
        else if (axis == 1)
            out.slice[z] = direction < 0 ? w << 8 | n >> 56 : w >> 8 | n << 56;
        else if (direction < 0)
            out.slice[z] = z > 0 ? m.slice[z - 1] : next >= 0 ? mask_word(g, mask, next, last) : 0;
        else
            out.slice[z] = z < last ? m.slice[z + 1] : next >= 0 ? mask_word(g, mask, next, 0) : 0;
    }
    return out;
}

/// mask_neighbour for all directions x-, x+, y-, ...
static inline void mask_around(const Grid *g, const uint8_t *mask, int slot, TileMask near[6]) {
    static const uint8_t none[TILE * TILE];
    const int32_t *n = g->neighbour[slot] + TILE_SELF;
    const int32_t next[6] = {n[-1], n[1], n[-3], n[3], n[-9], n[9]};
    const int depth = g->tile_depth;
    TileMask m = mask_load(g, mask, slot), side[6];
    for (int k = 0; k < 6; k++)
        mask_copy(g, side[k].slice,
                  next[k] < 0 ? none : mask + (size_t)next[k] * (size_t)g->tile_rows);
    for (int z = 0; z < depth; z++) {
        uint64_t w = m.slice[z];
        near[0].slice[z] = (w << 1 & ~MASK_COLUMN_0) | (side[0].slice[z] >> 7 & MASK_COLUMN_0);
        near[1].slice[z] = (w >> 1 & ~(MASK_COLUMN_0 << 7)) | (side[1].slice[z] & MASK_COLUMN_0)
                                                                  << 7;
        near[2].slice[z] = w << 8 | side[2].slice[z] >> 56;
        near[3].slice[z] = w >> 8 | side[3].slice[z] << 56;
        near[4].slice[z] = z > 0 ? m.slice[z - 1] : side[4].slice[depth - 1];
        near[5].slice[z] = z < depth - 1 ? m.slice[z + 1] : side[5].slice[0];
    }
}

/// The same two cells on.
static inline void mask_around_2(const Grid *g, const uint8_t *mask, int slot, TileMask near[6]) {
    static const uint8_t none[TILE * TILE];
    const int32_t *n = g->neighbour[slot] + TILE_SELF;
    const int32_t next[6] = {n[-1], n[1], n[-3], n[3], n[-9], n[9]};
    const uint64_t columns = MASK_COLUMN_0 * 3;
    TileMask m = mask_load(g, mask, slot), side[6];
    for (int k = 0; k < 6; k++)
        mask_copy(g, side[k].slice,
                  next[k] < 0 ? none : mask + (size_t)next[k] * (size_t)g->tile_rows);
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t w = m.slice[z];
        near[0].slice[z] = (w << 2 & ~columns) | (side[0].slice[z] >> 6 & columns);
        near[1].slice[z] = (w >> 2 & ~(columns << 6)) | (side[1].slice[z] & columns) << 6;
        near[2].slice[z] = w << 16 | side[2].slice[z] >> 48;
        near[3].slice[z] = w >> 16 | side[3].slice[z] << 48;
        if (g->tile_depth == 1) continue;
        near[4].slice[z] = z > 1 ? m.slice[z - 2] : side[4].slice[z + TILE - 2];
        near[5].slice[z] = z < TILE - 2 ? m.slice[z + 2] : side[5].slice[z + 2 - TILE];
    }
}

/// Which of the eight rows of a slice hold a cell, bit y.
static inline unsigned mask_rows(uint64_t slice) {
    slice |= slice >> 4;
    slice |= slice >> 2;
    slice |= slice >> 1;
    return (unsigned)((slice & MASK_COLUMN_0) * 0x0102040810204080u >> 56);
}

/// Which of the eight columns of a slice hold a cell, bit x.
static inline unsigned mask_columns(uint64_t slice) {
    slice |= slice >> 32;
    slice |= slice >> 16;
    slice |= slice >> 8;
    return (unsigned)(slice & 0xff);
}

static inline bool mask_any(const Grid *g, const uint8_t *mask, int slot) {
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) any |= mask_word(g, mask, slot, z);
    return any != 0;
}

/// Cells of a tile that lie inside the domain.
static inline TileMask mask_inside(const Grid *g, int slot) {
    TileCoord c = g->coord[slot];
    int nx = g->cells[0] - c.x * TILE, ny = g->cells[1] - c.y * TILE;
    int nz = g->cells[2] - c.z * TILE;
    uint64_t w = nx >= TILE ? ~(uint64_t)0 : MASK_COLUMN_0 * ((1u << nx) - 1);
    if (ny < TILE) w &= ((uint64_t)1 << (8 * ny)) - 1;
    TileMask m;
    for (int z = 0; z < TILE; z++) m.slice[z] = z < nz ? w : 0;
    return m;
}

/// Cells of any tile in one of its layers along an axis; none where it has no such layer.
static inline TileMask mask_tile_layer(const Grid *g, int axis, int at) {
    TileMask m = {{0}};
    if (at < 0 || at >= TILE) return m;
    for (int z = 0; z < g->tile_depth; z++)
        m.slice[z] = axis == 0   ? MASK_COLUMN_0 << at
                     : axis == 1 ? (uint64_t)0xff << (8 * at)
                     : z == at   ? ~(uint64_t)0
                                 : 0;
    return m;
}

/// Cells of a tile in one layer of the domain: the cells with this coordinate along an axis.
static inline TileMask mask_layer(const Grid *g, int slot, int axis, int layer) {
    TileCoord c = g->coord[slot];
    const int16_t tile[3] = {c.x, c.y, c.z};
    return mask_tile_layer(g, axis, layer - tile[axis] * TILE);
}

/// Cells of a tile in the first (direction -1) or last layer of the domain along an axis.
static inline TileMask mask_side(const Grid *g, int slot, int axis, int direction) {
    return mask_layer(g, slot, axis, direction < 0 ? 0 : g->cells[axis] - 1);
}

/// Cells of a tile whose lower face along an axis lies on a side of the domain.
static inline TileMask mask_side_faces(const Grid *g, int slot, int axis) {
    TileMask m = mask_layer(g, slot, axis, 0), far = mask_layer(g, slot, axis, g->cells[axis]);
    for (int z = 0; z < g->tile_depth; z++) m.slice[z] |= far.slice[z];
    return m;
}
