// Sorts particles into tiles and cells after they moved, and makes the tiles that they need.
#pragma once
#include "base/team.h"
#include "particles/order.h"
#include "particles/particles.h"

typedef struct SortScratch {
    const OrderKernels *kernels;
    uint32_t *reach; ///< [tile box] bit n: the tile's neighbour n is within reach of a particle
    uint8_t *far;    ///< [tile box] farthest reach of a particle in the tile, cells
    uint32_t (*near)[512]; ///< [TILE] neighbours of a tile within 1, 2.. cells of each of its cells
    uint8_t *want;         ///< [tile box]
    int32_t *from;         ///< [new tiles] slot that the tile had before the sort, or -1
    uint32_t *movers;      ///< particles that changed tile, by the tile they go to
    uint32_t *mover_start; ///< [new tiles + 1] their ranges
    uint32_t *part_start;  ///< [parts][new tiles] first of those that come from a part of the tiles
    uint32_t *moved;       ///< [old tiles + 1] particles that leave the tile
    uint32_t *old_start;   ///< [old tiles + 1] first particles before the sort, and of the tail
    uint32_t *stayed;      ///< [old tiles + 1] particles that stay in the tile
    size_t from_capacity, mover_capacity, mover_start_capacity, old_start_capacity;
    size_t stayed_capacity, part_capacity, moved_capacity;
} SortScratch;

typedef struct SortCounts {
    size_t drained, left, hidden;
} SortCounts;

bool sort_init(SortScratch *s, const Grid *grid, BrimIsa isa);
void sort_free(SortScratch *s);
size_t sort_bytes(const SortScratch *s, const Grid *grid);

/// (key) [count] => all arrays sorted, cell_start, occupied, grid rebuilt.
/// Tiles exist wherever a particle is within reach, and where the caller set bits of s->reach
/// before. A particle's reach, in cells, is that of the tile where it was, reach [tiles], or
/// `reach_new` in the unsorted tail. Particles with keys from KEY_GONE on are taken out and
/// counted. Within a cell: those that stayed in the tile in their old order, then those that came,
/// by the tile they left; the same for any number of threads. s->from tells where the tiles were
/// before. False when out of memory.
bool particles_sort(Particles *p, Grid *grid, SortScratch *s, const uint8_t *reach, int reach_new,
                    Team *team, SortCounts *counts);

/// After a sort: the farthest reach of a tile's particles, 0 without any => reach [tiles]
void sort_take_reach(SortScratch *s, const Grid *grid, uint8_t *reach);
