// What solids take of the cells of a tile.
#pragma once
#include "base/simd.h"

enum {
    /// Nodes of a tile and one cell around it: -1 to 9 along each axis.
    PART_NODES = 11,
};

typedef struct SolidPartKernels {
    /// Distances in cells at nodes [z][y][x] (2D: one slice) => for each of the tile's cells the
    /// part of its kernel's weight (kernel may be NULL), and of its volume, that lies inside
    /// solids. side: the part of the kernel beyond one of the cell's faces. Integrated over octants
    /// of cells, each filled as far as a plane at the distance of its centre cuts it: exact for
    /// walls along the grid at half cells.
    void (*of_nodes)(int dim, const float *node, float side, float *kernel, float *volume);
    /// The same from distances at half cells, of as many cells: volumes are exact for them at
    /// quarter cells too.
    void (*of_halves)(int dim, const float *half, float side, float *kernel, float *volume);
} SolidPartKernels;
BRIM_KERNELS(SolidPartKernels, solid_part_kernels)
