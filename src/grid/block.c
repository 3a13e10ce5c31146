#include "grid/block.h"

/// Where a block's row comes from along one axis.
typedef struct Source {
    int tile;  ///< -1, 0, 1
    int local; ///< 0..7 within that tile
} Source;

/// The last place along an axis that has a value of its own.
static int last_place(const Grid *g, int axis, Place place, const Sides *sides) {
    if (place == PLACE_NODE) return g->tiles[axis] * TILE - 1;
    return (int)place == axis && !sides->open[2 * axis + 1] ? g->cells[axis] : g->cells[axis] - 1;
}

static Source source_of(const Grid *g, int axis, int tile, int local, Place place,
                        const Sides *sides) {
    int last = last_place(g, axis, place, sides), at = tile * TILE + local;
    at = at < 0 ? 0 : at > last ? last : at;
    return (Source){.tile = (at >> TILE_SHIFT) - tile, .local = at & 7};
}

/// What lies beyond the domain in a row of a tile at an x side.
static void mend_row(const Grid *g, int slot, Place place, const Sides *sides, int halo,
                     float *row) {
    int edge = TILE + 2 * halo;
    int end = halo - g->coord[slot].x * TILE + last_place(g, 0, place, sides) + 1;
    if (g->coord[slot].x == 0)
        for (int i = 0; i < halo; i++) row[i] = row[halo];
    for (int i = end; i < edge; i++) row[i] = row[end - 1];
}

static inline void copy(float *restrict out, const float *restrict in, const int n) {
    for (int i = 0; i < n; i++) out[i] = in[i];
}

static inline void fill(float *out, float value, const int n) {
    for (int i = 0; i < n; i++) out[i] = value;
}

/// A row from the three tiles that it crosses.
static inline void load_row(const Grid *g, const int32_t from[3], const float *field, float missing,
                            int row, float *out, const int halo) {
    size_t at = (size_t)(row * TILE), cells = (size_t)g->tile_cells;
    if (from[0] >= 0)
        copy(out, field + (size_t)from[0] * cells + at + TILE - halo, halo);
    else
        fill(out, missing, halo);
    if (from[1] >= 0)
        copy(out + halo, field + (size_t)from[1] * cells + at, TILE);
    else
        fill(out + halo, missing, TILE);
    if (from[2] >= 0)
        copy(out + halo + TILE, field + (size_t)from[2] * cells + at, halo);
    else
        fill(out + halo + TILE, missing, halo);
}

static inline __attribute__((always_inline)) void load_block(const Grid *g, int slot,
                                                             const float *field, Place place,
                                                             const Sides *sides, float missing,
                                                             float *block, const int halo) {
    TileCoord c = g->coord[slot];
    int edge = TILE + 2 * halo, deep = g->dim == 3 ? edge : 1;
    bool at_side = c.x == 0 || (c.x + 1) * TILE + halo > g->cells[0];
    for (int k = 0; k < deep; k++) {
        Source sz = g->dim == 2 ? (Source){0} : source_of(g, 2, c.z, k - halo, place, sides);
        for (int j = 0; j < edge; j++, block += edge) {
            Source sy = source_of(g, 1, c.y, j - halo, place, sides);
            const int32_t *from = g->neighbour[slot] + (sz.tile + 1) * 9 + (sy.tile + 1) * 3;
            load_row(g, from, field, missing, sz.local * TILE + sy.local, block, halo);
            if (at_side) mend_row(g, slot, place, sides, halo, block);
        }
    }
}

void block_load(const Grid *g, int slot, const float *field, Place place, const Sides *sides,
                int halo, float missing, float *block) {
    // The usual halos as constants, so that rows are copied without loops.
    if (halo == 1)
        load_block(g, slot, field, place, sides, missing, block, 1);
    else if (halo == 2)
        load_block(g, slot, field, place, sides, missing, block, 2);
    else if (halo == 3)
        load_block(g, slot, field, place, sides, missing, block, 3);
    else
        load_block(g, slot, field, place, sides, missing, block, halo);
}
