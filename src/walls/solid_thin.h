// Thin walls as the nodes of a tile see them: where solids part what lies outside them.
#pragma once
#include "walls/solid_part.h"
#include <stdbool.h>
#include <stdint.h>

/// Which nodes of a tile and one cell around it lie outside the solids.
typedef struct Outside {
    int dim;
    bool mixed;                           ///< some do, some do not
    uint16_t row[PART_NODES][PART_NODES]; ///< [z][y] bit x
} Outside;

/// phi [z][y][x], PART_NODES along each axis.
Outside outside_nodes(int dim, const float *phi);

/// Whether somewhere among the corners of a cell that a solid cuts, or the 4 x 4 x 4 nodes around
/// it (2D: 4 x 4), those outside do not all hang together by edges: two sides of a wall.
bool is_thin(const Outside *outside);

/// Whether a wall so thin that it has no node in it stands on an edge of a tile's cells or of those
/// below them. low, high: the first and last nodes along each axis that lie in the domain.
bool hides_wall(int dim, const float *phi, const int low[3], const int high[3]);
