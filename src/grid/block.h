// A tile with a halo of its neighbours' values, copied into one small dense array: the form in
// which particle kernels read and write the grid.
#pragma once
#include "grid/grid.h"

enum {
    BLOCK_HALO_MAX = 8,
    /// Floats of the largest block of one field, (8 + 2 * 8)^3.
    BLOCK_MAX = 24 * 24 * 24,
};

/// What lies outside the domain, by side (x-, x+, y-, ...).
typedef struct Sides {
    bool open[6];
} Sides;

/// What a field is located on, which decides its values outside the domain:
/// FACE_a: velocity component a. The last value inside repeats (along walls: free slip); the normal
/// component ends on the wall's own face, or before an open side.
/// NODE: cell corners (low corner of each cell), repeat. CELL: cell centres, repeat.
typedef enum Place { PLACE_FACE_X, PLACE_FACE_Y, PLACE_FACE_Z, PLACE_NODE, PLACE_CELL } Place;

/// field [cells] => block [z][y][x], edge 8 + 2 halo (z: 1 in 2D). Where no tile exists: `missing`.
void block_load(const Grid *g, int slot, const float *field, Place place, const Sides *sides,
                int halo, float missing, float *block);

/// The same with halo 1 and only some rows: bit y of rows[z] (2D: rows[0]); others stay as they
/// are.
void block_load_rows(const Grid *g, int slot, const float *field, Place place, const Sides *sides,
                     float missing, const uint16_t rows[TILE + 2], float *block);

/// The same for a field that holds only some tiles: at [slot] => 1 + the tile's place in it, 0
/// where all of the tile is `far`.
void block_load_some(const Grid *g, int slot, const float *field, const int32_t *at, float far,
                     Place place, const Sides *sides, int halo, float missing, float *block);

/// Fetches ahead what the next tile's block will need: the tile behind that one. Its own values and
/// its other neighbours' most loads of blocks have met before.
static inline void block_ahead(const Grid *g, int slot, const float *field) {
    if (slot + 2 >= g->tile_count) return;
    const float *tile = field + (size_t)(slot + 2) * (size_t)g->tile_cells;
    for (int i = 0; i < g->tile_cells; i += 16) __builtin_prefetch(tile + i);
}

/// Cells along an axis of a block.
static inline int block_edge(int halo) {
    return TILE + 2 * halo;
}
static inline int block_depth(const Grid *g, int halo) {
    return g->dim == 3 ? TILE + 2 * halo : 1;
}
