// Kernels of the pressure at nodes in 3D: a tile at a time, rows of cells as
// vectors. Plain twins: nodal_assemble_ref and its like in nodal.c.
#pragma once
#include "base/simd.h"
#include "warp/nodal.h"

enum {
    /// Nodes of a tile and one around it.
    NODAL_EDGE = TILE + 2,
    NODAL_BLOCK = NODAL_EDGE * NODAL_EDGE * NODAL_EDGE,
    NODAL_PADDING = 16,
    /// Nodes of a tile's cells along an axis: the last ones are the next tile's.
    NODAL_NODES = TILE + 1,
    /// Those of a tile's cells that are other tiles'.
    NODAL_FAR = NODAL_NODES * NODAL_NODES * NODAL_NODES - TILE * TILE * TILE,
};

/// What is summed at nodes over the cells around them.
enum {
    SUM_LINK, ///< [NODAL_LINKS]
    SUM_ANCHOR = SUM_LINK + NODAL_LINKS,
    SUM_VOLUME,
    SUM_ALL,  ///< volume with what solids take of it
    SUM_EDGE, ///< [3] 7-point, to the lower neighbour
    SUM_COUNT = SUM_EDGE + 3,
    SUM_FLOW = SUM_COUNT, ///< beside those of the operator: V Gm^T u
    SUM_FAR,              ///< all that are kept of nodes of the next tiles
};

/// Below it a cut cell is rough; a plane has 0.577, in 2D 0.707.
#define NODAL_LEAST_COSINE(dim) ((dim) == 3 ? 0.56 : 0.69)

/// What a tile's own cells give to their nodes: [sum][z][y][x].
typedef struct NodalSums {
    float at[SUM_COUNT][NODAL_NODES][NODAL_NODES][NODAL_NODES];
} NodalSums;

/// What a tile is made from. Blocks are read up to NODAL_PADDING beyond their end.
typedef struct NodalTile {
    const float *phi, *d[3];   ///< [NODAL_BLOCK] level set and displacement of the nodes
    uint8_t cells[TILE][TILE]; ///< [z][y] bit x: the cell is in the domain
    Surface surface;
    float *mean;          ///< [NODAL_MEAN][cells of the tile]
    const float *open[8]; ///< [point][NODAL_BLOCK] open part of the cells; NULL: no solids
} NodalTile;

/// A tile's neighbours with their first values of a field; NULL where there is nothing to read.
typedef struct NodalNear {
    const float *at[27];
} NodalNear;

typedef struct NodalKernels {
    /// => sums, mean
    void (*assemble)(const NodalTile *tile, NodalSums *sums);
    /// y [nodes of the tile] = K x without what is no unknown. links: near[...] of [link][node].
    void (*apply)(const NodalNear *links, const float *anchor, const float *x, float *y);
    /// The same with x in double precision, in a block [NODAL_BLOCK].
    void (*apply_double)(const NodalNear *links, const float *anchor, const double *x, double *y);
    /// y = sum of |K_ij| over j, the diagonal included.
    void (*sum_rows)(const NodalNear *links, const float *anchor, float *y);
    /// sum [z][y][x] = V Gm^T u of the tile's cells.
    void (*flow)(const float *mean, const float *const u[3],
                 float sum[NODAL_NODES][NODAL_NODES][NODAL_NODES]);
    /// out [axis][cells of the tile] = Gm q, 0 in cells without a liquid node. q: a block.
    void (*gradient)(const float *mean, const float *q, float *const out[3]);
} NodalKernels;

BRIM_KERNELS(NodalKernels, nodal_kernels)
