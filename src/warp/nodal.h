// Pressure on a warped grid: trilinear elements with the pressure at nodes and the velocity, all
// components, at cell centres (eq. 9 to 16), free surface by the generalised ghost fluid (eq. 20 to
// 22), solids by the open part of each cell.
//
// Node i of a tile is the lower corner of its cell i, so that node fields have the layout of cell
// fields; the nodes on the far sides are in the tiles beyond. All is in cells: with the cell width
// h the unknown is q = dt p / (rho h) in m/s,
//   K q = b,   K = sum of w B^T M B,   b = sum of w B^T u*,   u = u* - Mc Gm q.
#pragma once
#include "grid/grid.h"
#include "warp/map.h"

struct NodalKernels;
struct WarpKernels;

enum { NODAL_LINKS = 13, NODAL_MEAN = 25 };
/// The neighbours of a node that come after it, each with the one opposite it 26 in all; in 2D the
/// first four.
static const signed char nodal_link[NODAL_LINKS][3] = {
    {1, 0, 0},  {-1, 1, 0}, {0, 1, 0}, {1, 1, 0},  {-1, -1, 1}, {0, -1, 1}, {1, -1, 1},
    {-1, 0, 1}, {0, 0, 1},  {1, 0, 1}, {-1, 1, 1}, {0, 1, 1},   {1, 1, 1},
};

/// Solids in cells. Arrays by tile and cell, open [tile][open_points][cell], others [tile][cell];
/// all NULL where there are no solids.
typedef struct NodalSolids {
    const int32_t *at; ///< [slot] 1 + the tile's place in the arrays, 0: no solid is near; NULL:
                       ///< arrays hold all slots
    /// Open part at each point of the rule (open_points = 8, in 2D 4), or of each cell
    /// (open_points = 1).
    const float *open;
    int open_points;
    const float *velocity[3]; ///< of the solid in the cell, m/s; NULL: all at rest
    /// Part of the cell's face on a side of the domain that a solid covers, by axis; NULL: none.
    const float *covered[3];
} NodalSolids;

/// Place of a tile in the arrays of solids, -1: no solid is near.
static inline int64_t nodal_solid_place(const NodalSolids *s, int64_t slot) {
    return !s->open ? -1 : s->at ? s->at[slot] - 1 : slot;
}

/// What makes a system.
typedef struct NodalProblem {
    const Grid *grid;
    const WarpMap *map;
    WarpRule rule;
    Surface surface;
    const float *phi; ///< [nodes] signed distance in space, negative in the liquid, any unit
    /// [nodes] pressure on the surface, as q, at the nodes of cut cells, not a number where it is
    /// not known; NULL: 0. Times `jump_scale`.
    const float *jump;
    double jump_scale;
    NodalSolids solids;
    /// Fast ones, for 3D; NULL: value by value in double precision.
    const struct NodalKernels *kernels;
    const struct WarpKernels *map_kernels;
} NodalProblem;

/// The operator, in tiles. (K x)_i = anchor_i x_i + sum over links of link_ij (x_i - x_j): rows
/// between liquid nodes sum to zero exactly, whatever rounding does to the coefficients.
typedef struct NodalOperator {
    const Grid *grid;
    int links;     ///< 13, in 2D 4
    float *link;   ///< [slot][link][node] - K_ij
    float *anchor; ///< [node] - sum of K_ij over air nodes j
    float *smooth; ///< [node] 1 / sum of |K_ij|; 0: no unknown
    float *weight; ///< [node] 1 / volume: turns a residual into a divergence
    float *mean;   ///< [slot][NODAL_MEAN][cell] V Gm, [axis][corner], and V of cells with liquid
                   ///< nodes, 0 in others; of their open parts: sum of f w B and of f w
    float *edge[3], *diag; ///< [node] 7-point matrix of the preconditioner, as in solve.h
    uint8_t *used;         ///< [slot] the tile holds unknowns
    uint8_t *kept;         ///< [slot] it has cells with liquid nodes: mean is there
    const struct NodalKernels *kernels; ///< as in the problem
    float *far;   ///< [slot][sums][nodes] with kernels: what cells give to nodes of the next tiles
    bool flagged; ///< smooth holds 1 for unknowns until nodal_sum_rows was called for all tiles
    size_t tiles; ///< room for so many
} NodalOperator;

bool nodal_reserve(NodalOperator *op, const Grid *grid);
void nodal_free(NodalOperator *op);
size_t nodal_bytes(const NodalOperator *op);

/// Chooses the problem's kernels where they know it. Without this call: value by value.
void nodal_begin(const NodalProblem *problem, NodalOperator *op);
/// Makes what one tile's cells give to the operator. Tiles are independent of each other.
void nodal_assemble(const NodalProblem *problem, NodalOperator *op, int slot);
/// When all are assembled: the operator of one tile, but for smooth, which says what is an unknown,
/// and diag. Tiles are independent of each other.
void nodal_join(const NodalProblem *problem, NodalOperator *op, int slot);
/// When all are joined: => smooth, diag. Tiles are independent of each other.
void nodal_sum_rows(NodalOperator *op, int slot);
/// What one tile's cells give to b, where it has kernels: before nodal_rhs, which joins it, and
/// after the tile was assembled. Tiles are independent of each other.
void nodal_give_flow(NodalOperator *op, float *const u[3], float *b, int slot);
/// b [nodes of the tile] = sum over cells of w B^T (f u + (1 - f) u_s), less the flux of solids
/// through the domain's sides. u [3][cells]: m/s. All tiles are joined and have given their flow.
void nodal_rhs(const NodalProblem *problem, const NodalOperator *op, float *const u[3], float *b,
               int slot);
/// u -= Mc Gm q in the tile's cells that have a liquid node and an open part. updated [rows]: bits
/// of those cells, or NULL.
void nodal_update(const NodalProblem *problem, const NodalOperator *op, const float *q,
                  float *const u[3], uint8_t *updated, int slot);

/// y = K x on one tile, in float; y is 0 where there is no unknown.
void nodal_apply(const NodalOperator *op, const float *x, float *y, int slot);
/// r = b - K x on one tile with x in double precision, rounded once.
void nodal_residual(const NodalOperator *op, const float *b, const double *x, float *r, int slot);

/// Liquid nodes nearer to the surface than 0.01 of a cell's thickness become air: marks them in
/// sliver [nodes of the tile, as a mask of rows]. Scaling M down instead breaks M b = a.
void nodal_find_slivers(const Grid *grid, const float *phi, uint8_t *sliver, int slot);
