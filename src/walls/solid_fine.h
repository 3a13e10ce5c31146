// Thin walls. A wall of one cell lies between two nodes or over one: interpolated from those, its
// sides are up to half a cell off, and in its middle the distance has no depth. In tiles with such
// walls the distance is sampled at half cells as well, for whatever moves particles.
#pragma once
#include "grid/mask.h"
#include "step/state.h"

/// A block of distances at nodes, m; edge (8 + 2 halo), twice that where it is fine.
typedef struct SolidNodes {
    const float *phi;
    bool fine;
} SolidNodes;

/// Makes room for the tiles that are thin now and samples those that are new or move.
/// (fine_at) => (fine_at, solid_fine). False when out of memory.
bool fine_arrange(BrimSim *s);

/// Distances around a tile, fine if a thin wall is near; in `block` or in memory of the thread's.
SolidNodes solid_nodes(const BrimSim *s, int slot, int thread, int halo, float missing,
                       float *block);

/// Whether a tile or one beside it is fine.
bool fine_near(const BrimSim *s, int slot);

/// Whether a tile is fine.
static inline bool fine_here(const BrimSim *s, int slot) {
    return s->walls.fine_count && s->solid_at[slot] && s->fine_at[s->solid_at[slot] - 1];
}

/// The half-cell nodes of a cell in a fine tile that belong to other parts of it than the largest.
uint32_t other_parts(const BrimSim *s, int slot, int cell);

/// (x) => foreign
void find_foreign(BrimSim *s);

/// Those of a tile's cells in a mask that hold liquid of the part they stand for, if any; and cells
/// whose neighbours in a direction do.
TileMask own_cells(const BrimSim *s, const uint8_t *cells, int slot);
TileMask own_beside(const BrimSim *s, const uint8_t *cells, int slot, int axis, int step);

/// Distances in m from a node of half cells in a fine tile, or on its far side, on: [z][y][x] of
/// edge FINE_EDGE.
const float *fine_nodes(const BrimSim *s, int slot, int x, int y, int z);
