// The warped grid's map from reference space, where the grid is regular, to space.
//
// Reference coordinates xi count cells; node i sits at xi = i. In space it stands at
//   x(xi) = xi + d(xi)                     (cells; times the cell width: metres)
// with displacements d given on a coarse lattice of nodes and trilinear in between. The ratio of
// the lattices is a whole number along each axis, so that every cell is a trilinear element.
#pragma once
#include "warp/element.h"
#include <stddef.h>

/// Cells of the coarse lattice along an axis, at most.
enum { MAP_COARSE_MOST = 256 };

typedef struct WarpMap {
    int dim;
    int cells[3];  ///< of the grid; cells[2] = 1 in 2D
    int coarse[3]; ///< cells of the coarse lattice, at most MAP_COARSE_MOST
    int ratio[3];  ///< cells / coarse
    float *d[3];   ///< [coarse nodes z][y][x] displacement along each axis, cells; z is one node
                   ///< deep in 2D. One piece of memory, d[0] its start
} WarpMap;

/// Nodes of the coarse lattice along an axis.
static inline int map_nodes(const WarpMap *m, int axis) {
    return m->coarse[axis] + (axis < m->dim);
}

static inline size_t map_node_count(const WarpMap *m) {
    return (size_t)map_nodes(m, 0) * (size_t)map_nodes(m, 1) * (size_t)map_nodes(m, 2);
}

static inline size_t map_node(const WarpMap *m, int x, int y, int z) {
    return ((size_t)z * (size_t)map_nodes(m, 1) + (size_t)y) * (size_t)map_nodes(m, 0) + (size_t)x;
}

/// Displacement of a point in reference space, cells. Points outside count as on the side.
void map_displacement(const WarpMap *m, const double xi[3], double d[3]);
/// x = xi + d(xi), cells.
void map_to_space(const WarpMap *m, const double xi[3], double x[3]);
/// Both of the following at once.
void map_point(const WarpMap *m, const double xi[3], double x[3], double J[3][3]);
/// J[i][j] = dx_j / dxi_i at a point; on a face between cells that of the upper cell.
void map_jacobian(const WarpMap *m, const double xi[3], double J[3][3]);
/// The xi that maps to x, by Newton from the start value in xi, the cell found anew each time.
/// Returns how far x(xi) is from x, cells: at most `tolerance` unless `iterations` were spent.
double map_to_reference(const WarpMap *m, const double x[3], double xi[3], double tolerance,
                        int iterations);
/// Displacements of the corners of a grid cell.
void map_corners(const WarpMap *m, int x, int y, int z, double d[8][3]);
/// Least and largest determinant over the corners of all coarse cells.
void map_determinants(const WarpMap *m, double *least, double *most);
