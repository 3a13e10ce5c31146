// Parts of a cell: what solids leave of it, as nodes at half cells see it. Outside nodes that edges
// join are one part; a wall as thin as half a cell divides the cells that it runs through.
#pragma once
#include "grid/grid.h"
#include <stdint.h>

enum {
    /// Nodes at half cells of a tile and one cell around it.
    HALF_EDGE = 2 * TILE + 5,
    HALF_NODES = HALF_EDGE * HALF_EDGE * HALF_EDGE,
};

/// The nodes of a cell that lie outside solids: bits x + 3 y + 9 z. low: distances from the cell's
/// low corner on, so many along an edge.
uint32_t outside_of(int dim, const float *low, int edge);

/// Those of the largest part, which the cell stands for: 0 where all are inside. outside: of the
/// cell
uint32_t largest_part(int dim, const float *low, int edge, uint32_t outside);

/// The outside node of a cell nearest to a point, as a bit. at: from the cell's low corner, in
/// cells
uint32_t nearest_node(int dim, uint32_t outside, const float at[3]);
