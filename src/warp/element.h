// One warped cell as a finite element: trilinear shape functions, quadrature, gradients, and the
// matrix of the generalised ghost fluid. Plain functions of a cell's corners in double precision.
//
// Lengths count cells. Corner c of a cell has bit 0 along x, bit 1 along y, bit 2 along z; in 2D
// there are four. Corners stand at their lattice place plus the displacement d, and everything is
// formed from differences of d. J[i][j] = dx_j / dxi_i (row = reference axis), so that
//   grad_x p = J^-1 grad_xi p,   dxi = J^-T dx.
#pragma once

/// Where a cell is integrated. GAUSS is the default; one point leaves checkerboards in the null
/// space and is there for comparison; CORNERS is a 7-point operator on a regular grid.
typedef enum WarpRule { WARP_RULE_GAUSS, WARP_RULE_CORNERS, WARP_RULE_ONE } WarpRule;

typedef struct Element {
    int dim, corners, points;
    double weight[8];         ///< [point] det J times the rule's weight, cells^dim
    double gradient[8][3][8]; ///< B: [point][axis][corner], 1 / cells
    double mean[3][8];        ///< Gm: [axis][corner], mean of B over the volume
    double volume;            ///< V, cells^dim
} Element;

/// J at a point of a cell, t in [0, 1]^dim. Rows and columns beyond dim are those of the identity.
void element_jacobian(int dim, const double d[8][3], const double t[3], double J[3][3]);
double matrix_determinant(const double m[3][3]);
/// inverse = m^-1; returns the determinant.
double matrix_invert(const double m[3][3], double inverse[3][3]);

/// Fills *e for a cell whose corners are displaced by d [corner].
void element_shape(Element *e, int dim, WarpRule rule, const double d[8][3]);
/// Values of the shape functions at point p of a rule.
void element_values(int dim, WarpRule rule, int point, double value[8]);

/// Largest eigenvalue that the ghost fluid may have: a last guard for rough level sets.
#define GHOST_LIMIT 5000.0

/// The symmetric M with M b = a of least condition number; a = grad phi, b = grad min(phi, 0).
/// The identity where b is zero or the angle is beyond acos 0.01; scaled down to `limit` beyond it.
void ghost_matrix(const double a[3], const double b[3], double limit, double M[3][3]);

/// How a cell's pressure gradient is upgraded at the free surface.
typedef struct Surface {
    int order;    ///< 1: pressure 0 at air nodes; 2: on the surface
    double limit; ///< of the eigenvalues of M
} Surface;

/// M at a point from the corners' phi (negative in the liquid) and the gradient B there.
void element_ghost(int corners, const double gradient[3][8], const double phi[8],
                   const Surface *surface, double M[3][3]);

/// K = sum over points of open[point] weight B^T M B. phi NULL: a cell without surface, M = I.
void element_stiffness(const Element *e, const double open[8], const double phi[8],
                       const Surface *surface, double K[8][8]);
