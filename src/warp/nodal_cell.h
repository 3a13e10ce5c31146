// A cell of the nodal pressure with what its corners and its open part say, value by value: what
// assembly, right-hand side and update share.
#pragma once
#include "warp/nodal_kernels.h"

/// A cell with what its corners and its open part say.
typedef struct Cell {
    Element element;
    double d[8][3], phi[8], open[8];
    int liquid; ///< bit c: corner c is a node in the liquid
    bool cut;   ///< the free surface passes through it
    Surface surface;
    double most_open, least_open;
    int64_t at; ///< index into fields of cells
} Cell;

/// Node values of a tile and one node around it, [z+1][y+1][x+1] from -1 to 8.
typedef struct NodeBlock {
    float at[NODAL_BLOCK + NODAL_PADDING];
} NodeBlock;

/// What the cells around a tile are made of: level set and displacement of their corners.
typedef struct Corners {
    NodeBlock phi;
    float d[10 * 10 * 10][3];
    double value[8][8]; ///< of the shape functions at the rule's points
} Corners;

static inline int block_index(int x, int y, int z) {
    return ((z + 1) * 10 + y + 1) * 10 + x + 1;
}

/// Runs over the cells that touch nodes of a tile: from -1 to 7 along each axis.
#define EACH_CELL_AROUND(g, c)                                                  \
    for (c[2] = (g)->dim == 3 ? -1 : 0; c[2] < ((g)->dim == 3 ? 8 : 1); c[2]++) \
        for (c[1] = -1; c[1] < 8; c[1]++)                                       \
            for (c[0] = -1; c[0] < 8; c[0]++)

NodalNear nodal_near(const Grid *g, const float *field, size_t a_tile, const uint8_t *used,
                     int slot);
/// Row y, z of a field, -1 to 8 along x, from the tile and those around it. => row [10]
void nodal_load_row(const NodalNear *near, int y, int z, float missing, float *row);
void nodal_load_block(const Grid *g, const float *field, float missing, int slot, NodeBlock *b);
/// False when no node is in the liquid: the displacements are not looked up then.
bool nodal_load_corners(const NodalProblem *p, int slot, Corners *c);
/// Cell (x, y, z) of a tile, -1 to 7, with its corners' phi from the block. False when it is
/// outside the domain or has no liquid node.
bool nodal_load_cell(const NodalProblem *p, const Corners *corners, int slot, const int local[3],
                     Cell *c);
/// Adds to b, which holds what the tile's own cells gave, what those of lower neighbours did.
void nodal_join_flow(const NodalOperator *op, float *b, int slot);
/// Index in the tile of a corner of a cell, -1 when the node is in another tile.
int nodal_corner(int dim, const int local[3], int corner);
/// V Gm and V of a cell's open part: sums of f w B and of f w over the points.
double nodal_open_mean(const Cell *c, double mean[3][8]);
/// b -= integral of N flux over a cell's face on a side of the domain; d: displacements of its
/// corners, flux: out of the domain.
void nodal_side_flux(int dim, const double d[8][3], const int local[3], int axis, int far,
                     double flux, double *b);
/// Whether the level set in a cut cell is no surface that the ghost fluid could stand for: between
/// drops, at tips, in sheets thinner than the cell. By the cosine between the means of grad phi and
/// grad min(phi, 0) in reference space, where a plane has at least 1 / sqrt(dim), whichever corners
/// it cuts off and however long the cell is.
bool nodal_is_rough(const Cell *c);
/// Pressure of the surface at the corners of a cut cell; where it is not known the mean of the
/// others.
void nodal_cell_jump(const NodalProblem *p, const NodeBlock *jump, const int local[3],
                     double out[8]);
