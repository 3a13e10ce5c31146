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

/// Whether somewhere among the 4 x 4 x 4 nodes around a cell that a solid cuts (2D: 4 x 4) those
/// outside do not all hang together by edges: two sides of a wall.
bool is_thin(const Outside *outside);

/// A thin wall may cut a cell into parts that do not meet, and what flows into one must not flow
/// out of another: the cell belongs to the largest of them. The outside corners of the others,
/// for the tile's cells and those below it.
typedef struct Parted {
    bool any;
    uint8_t corners[PART_NODES * PART_NODES * PART_NODES]; ///< by the cell's low corner: bits x + 2
                                                           ///< y + 4 z; only where any
} Parted;

void find_parted(const Outside *outside, const float *phi, Parted *parted);

/// The outside corners of a cell but for those of its largest part. low: the cell's low corner
/// among nodes with so many along an edge.
uint8_t parted_corners(int dim, const float *low, int edge);

/// Whether a corner of the lower face of a cell is such a one, of the cell on either side of it.
bool is_parted(const Parted *parted, int axis, int cell_low, int corner);
