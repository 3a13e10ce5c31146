// Experiments on a mesh that stands still: a whole box of cells with a level set given by a
// function, one projection at a time. What the papers' tables and the tests measure pressure with.
#pragma once
#include "warp/deform.h"
#include "warp/nodal_solve.h"
#include "warp/sizing.h"

typedef struct StillBox {
    Grid grid;
    Warp warp;
    NodalProblem problem;
    NodalOperator op;
    NodalSolver *solver;
    Team *team;
    size_t count;     ///< values of a field
    float *phi;       ///< [nodes] cells
    float *u[3];      ///< [cells]
    float *b;         ///< [nodes]
    double *q;        ///< [nodes]
    float *single;    ///< [nodes] q, rounded
    uint8_t *updated; ///< [rows] cells that the last projection changed
    NodalReport report;
} StillBox;

/// A function of a point in space, cells.
typedef double PointFunction(const void *context, const double x[3]);

/// A box without warp, second order, eight Gauss points, all of it liquid at rest. coarsest as in
/// warp_init.
BrimResult still_init(StillBox *box, int dim, const int cells[3], double strength, int coarsest,
                      int threads, BrimError *error);
void still_free(StillBox *box);

/// Bends the mesh towards the zeros of a signed distance.
BrimResult still_bend(StillBox *box, PointFunction *distance, const void *context,
                      BrimError *error);
/// phi at all nodes, from a function of space.
void still_level(StillBox *box, PointFunction *phi, const void *context);
/// Turns slivers into air; see nodal_find_slivers. False: out of memory.
bool still_drop_slivers(StillBox *box);

/// Assembles the operator. False: out of memory.
bool still_assemble(StillBox *box);
/// b from u.
void still_rhs(StillBox *box);
/// q from b, from 0, to a part of the largest |b|.
bool still_solve(StillBox *box, double reduction);
/// u -= Mc Gm q.
void still_update(StillBox *box);

/// Index of a cell or node into fields.
int64_t still_at(const StillBox *box, int x, int y, int z);
/// Where a node or, with half = 0.5, a cell's centre is in space, cells.
void still_place(const StillBox *box, int x, int y, int z, double half, double out[3]);
