#include "grid/block.h"
#include <stdlib.h>
#include <string.h>

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

/// The row of a tile from which rows of a block are taken; of a tile that does not exist always the
/// same one.
typedef struct Rows {
    const float *first;
    size_t step; ///< floats from one row to the next
} Rows;

/// The three tiles that a row crosses, for each position of its tile along z and y.
typedef struct Crossed {
    Rows at[3][3][3]; ///< [dz + 1][dy + 1][dx + 1]
} Crossed;

static void find_crossed(const Grid *g, int slot, const float *field, const float none[TILE],
                         Crossed *out) {
    Rows *rows = &out->at[0][0][0];
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        rows[n] = t < 0 ? (Rows){none, 0} : (Rows){field + (size_t)t * (size_t)g->tile_cells, TILE};
    }
}

/// The same for a field of some tiles.
static void find_some(const Grid *g, int slot, const float *field, const int32_t *at,
                      const float none[TILE], const float far[TILE], Crossed *out) {
    Rows *rows = &out->at[0][0][0];
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        rows[n] = t < 0   ? (Rows){none, 0}
                  : at[t] ? (Rows){field + (size_t)(at[t] - 1) * (size_t)g->tile_cells, TILE}
                          : (Rows){far, 0};
    }
}

static inline void copy(float *restrict out, const float *restrict in, const int n) {
    memcpy(out, in, (size_t)n * sizeof *out); // n is known: no call, whole registers
}

static inline __attribute__((always_inline)) void
load_block(const Grid *g, int slot, const Crossed *crossed, Place place, const Sides *sides,
           const uint16_t *rows, float *block, const int halo) {
    enum { EDGE_MAX = TILE + 2 * BLOCK_HALO_MAX };
    TileCoord c = g->coord[slot];
    const int edge = TILE + 2 * halo, deep = g->dim == 3 ? edge : 1;
    bool at_side = c.x == 0 || (c.x + 1) * TILE + halo > g->cells[0];
    Source from_y[EDGE_MAX];
    for (int j = 0; j < edge; j++) from_y[j] = source_of(g, 1, c.y, j - halo, place, sides);
    for (int k = 0; k < deep; k++) {
        Source sz = g->dim == 2 ? (Source){0} : source_of(g, 2, c.z, k - halo, place, sides);
        for (int j = 0; j < edge; j++, block += edge) {
            if (rows && !(rows[k] >> j & 1)) continue;
            const Rows *tile = crossed->at[sz.tile + 1][from_y[j].tile + 1];
            const size_t row = (size_t)(sz.local * TILE + from_y[j].local);
            copy(block, tile[0].first + row * tile[0].step + TILE - halo, halo);
            copy(block + halo, tile[1].first + row * tile[1].step, TILE);
            copy(block + halo + TILE, tile[2].first + row * tile[2].step, halo);
            if (at_side) mend_row(g, slot, place, sides, halo, block);
        }
    }
}

/// Each halo as a constant, so that rows are copied without loops.
static void load_with_halo(const Grid *g, int slot, const Crossed *crossed, Place place,
                           const Sides *sides, int halo, float *block) {
#define HALO(N)                                                     \
    case N:                                                         \
        load_block(g, slot, crossed, place, sides, NULL, block, N); \
        return
    switch (halo) {
        HALO(1);
        HALO(2);
        HALO(3);
        HALO(4);
        HALO(5);
        HALO(6);
        HALO(7);
        HALO(BLOCK_HALO_MAX);
    default:
        abort(); // a block of another size would be written beyond its end
    }
#undef HALO
}

void block_load(const Grid *g, int slot, const float *field, Place place, const Sides *sides,
                int halo, float missing, float *block) {
    float none[TILE];
    Crossed crossed;
    for (int i = 0; i < TILE; i++) none[i] = missing;
    find_crossed(g, slot, field, none, &crossed);
    load_with_halo(g, slot, &crossed, place, sides, halo, block);
}

void block_load_rows(const Grid *g, int slot, const float *field, Place place, const Sides *sides,
                     float missing, const uint16_t rows[TILE + 2], float *block) {
    float none[TILE];
    Crossed crossed;
    for (int i = 0; i < TILE; i++) none[i] = missing;
    find_crossed(g, slot, field, none, &crossed);
    load_block(g, slot, &crossed, place, sides, rows, block, 1);
}

void block_load_some(const Grid *g, int slot, const float *field, const int32_t *at, float far,
                     Place place, const Sides *sides, int halo, float missing, float *block) {
    float none[TILE], same[TILE];
    Crossed crossed;
    for (int i = 0; i < TILE; i++) none[i] = missing, same[i] = far;
    find_some(g, slot, field, at, none, same, &crossed);
    load_with_halo(g, slot, &crossed, place, sides, halo, block);
}
