// The sparse grid: a box of cells cut into tiles, of which only some exist.
//
//   domain          32 x 24 cells (2D drawn)          one tile, 8 x 8 (x 8 in 3D)
//   +----+----+----+----+                             row 7   56 57 58 59 60 61 62 63
//   |    | 3  | 4  |    |    slot_of[tile box]         ...
//   +----+----+----+----+      -1  3  4 -1             row 1    8  9 10 11 12 13 14 15
//   | 0  | 1  | 2  |    |       0  1  2 -1             row 0    0  1  2  3  4  5  6  7
//   +----+----+----+----+
//
// A field is one flat array: value of a cell = field[slot * tile_cells + z*64 + y*8 + x], with
// x, y, z in 0..7. In 2D a tile is one cell deep: 64 cells. A row of eight cells along x is the
// unit of SIMD; a mask of cells is one byte a row (bit x), mask[slot * tile_rows + z*8 + y].
// Slots count from 0 in the order of the tile box (x fastest), so a grid depends on which tiles
// exist and not on how it came about. Tiles at the far edges hang over the domain.
// Velocities live on the faces towards the lower neighbours: u of a cell is at its x- face, so the
// faces on the domain's far sides belong to the first cells beyond it.
#pragma once
#include "base/team.h"
#include "brim/brim.h"
#include <stdint.h>

enum { TILE = 8, TILE_SHIFT = 3, TILE_SELF = 13 };

typedef struct TileCoord {
    int16_t x, y, z;
} TileCoord;

typedef struct Grid {
    int dim;
    int cells[3];   ///< of the domain; cells[2] = 1 in 2D
    int tiles[3];   ///< of the box of tiles
    int tile_cells; ///< 512, or 64 in 2D
    int tile_rows;  ///< 64, or 8 in 2D
    int tile_depth; ///< cells of a tile along z: 8, or 1 in 2D

    int32_t *slot_of; ///< [tiles z][y][x] => slot, -1 where no tile exists
    int tile_count;
    size_t coord_capacity, neighbour_capacity;
    TileCoord *coord;         ///< [slot]
    int32_t (*neighbour)[27]; ///< [slot][(dz+1)*9 + (dy+1)*3 + dx+1] => slot or -1; 13 is itself
} Grid;

/// An empty grid. BRIM_ERROR_MEMORY when the box has more tiles than 32-bit cell keys can name.
BrimResult grid_init(Grid *grid, int dim, const int cells[3], BrimError *error);
void grid_free(Grid *grid);
size_t grid_bytes(const Grid *grid);

/// Makes exactly the tiles with want[tile box] != 0. from[new slot] => slot the tile had before,
/// or -1; room for as many as are wanted. False when out of memory: the grid is then empty.
bool grid_rebuild(Grid *grid, const uint8_t *want, int32_t *from, Team *team);

/// Makes `part` the tiles of a grid with at [slot] > 0, which is 1 + the slot that they get, in
/// order; it has no slot_of. False when out of memory.
bool grid_part(Grid *part, const Grid *grid, const int32_t *at, Team *team);

/// Number of tiles in the whole box.
static inline size_t grid_box(const Grid *g) {
    return (size_t)g->tiles[0] * (size_t)g->tiles[1] * (size_t)g->tiles[2];
}

/// Index in the tile box.
static inline int32_t grid_box_index(const Grid *g, int tx, int ty, int tz) {
    return (tz * g->tiles[1] + ty) * g->tiles[0] + tx;
}

/// Slot of the tile at tile coordinates, -1 outside the box or where none exists.
static inline int32_t grid_slot(const Grid *g, int tx, int ty, int tz) {
    if ((unsigned)tx >= (unsigned)g->tiles[0] || (unsigned)ty >= (unsigned)g->tiles[1] ||
        (unsigned)tz >= (unsigned)g->tiles[2])
        return -1;
    return g->slot_of[grid_box_index(g, tx, ty, tz)];
}

/// Index of a cell into fields, -1 where no tile exists. For tests, input and output; loops over
/// tiles go by slot.
static inline int64_t grid_cell(const Grid *g, int x, int y, int z) {
    if (x < 0 || y < 0 || z < 0) return -1;
    int32_t slot = grid_slot(g, x >> TILE_SHIFT, y >> TILE_SHIFT, z >> TILE_SHIFT);
    if (slot < 0) return -1;
    return (int64_t)slot * g->tile_cells + ((z & 7) * TILE + (y & 7)) * TILE + (x & 7);
}

/// The same in cells of a tile, of which it lies inside or in one beside it.
static inline int64_t grid_near(const Grid *g, int slot, int x, int y, int z) {
    int next = (x >> TILE_SHIFT) + 3 * (y >> TILE_SHIFT) + 9 * (z >> TILE_SHIFT);
    if (next) slot = g->neighbour[slot][TILE_SELF + next];
    if (slot < 0) return -1;
    return (int64_t)slot * g->tile_cells + ((z & 7) * TILE + (y & 7)) * TILE + (x & 7);
}

/// The same for the cells from `low` on that are around a point: bit a of k along axis a.
static inline void grid_near_corners(const Grid *g, int slot, const int low[3], int64_t out[8]) {
    const int deep = g->dim == 3 ? 2 : 1;
    int tile[3][2], in[3][2];
    for (int a = 0; a < 3; a++)
        for (int k = 0; k < 2; k++)
            tile[a][k] = (low[a] + k) >> TILE_SHIFT, in[a][k] = (low[a] + k) & 7;
    for (int z = 0, k = 0; z < deep; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 2; x++, k++) {
                const int32_t at =
                    g->neighbour[slot][TILE_SELF + tile[0][x] + 3 * tile[1][y] + 9 * tile[2][z]];
                out[k] = at < 0 ? -1
                                : (int64_t)at * g->tile_cells +
                                      ((in[2][z] * TILE + in[1][y]) * TILE + in[0][x]);
            }
}

/// Index of the cell one step along an axis from a cell of a tile (direction -1 or +1), -1 where no
/// tile exists.
static inline int64_t grid_step(const Grid *g, int slot, int cell, int axis, int direction) {
    const int shift = 3 * axis, stride = 1 << shift, local = cell >> shift & 7;
    if (local + direction >= 0 && local + direction < TILE)
        return (int64_t)slot * g->tile_cells + cell + direction * stride;
    static const int offset[3] = {1, 3, 9};
    int32_t next = g->neighbour[slot][TILE_SELF + direction * offset[axis]];
    if (next < 0) return -1;
    return (int64_t)next * g->tile_cells + cell - direction * (TILE - 1) * stride;
}
