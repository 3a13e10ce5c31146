// K q = b by flexible conjugate gradients. The preconditioner is one damped step, one V-cycle on
// the 7-point matrix of the same nodes (solve/), and one more damped step:
//   z = S r,  z += C (r - K z),  z += S (r - K z),   S = 1.7 / sum of |K_ij|
// K is no M-matrix on stretched cells: Gauss-Seidel inside tiles diverges on it, and S with the
// diagonal in place of the sums is at its edge.
#pragma once
#include "base/team.h"
#include "warp/nodal.h"

typedef struct NodalSolver NodalSolver;

typedef struct NodalParams {
    double tolerance; ///< stop when max |r_i| weight_i <= tolerance, or
    double reduction; ///< this part of that of b, whichever comes first
    int max_iterations;
} NodalParams;

typedef struct NodalReport {
    int iterations;
    double residual; ///< max |r_i| weight_i, with x in double precision; far from rounding by r's
                     ///< recurrence
    double initial;  ///< of the start value
    bool converged;
    int singular; ///< closed components whose constant was fixed
} NodalReport;

/// The team may be NULL: the caller's thread alone.
NodalSolver *nodal_solver_new(BrimIsa isa, Team *team);
void nodal_solver_free(NodalSolver **solver);
size_t nodal_solver_bytes(const NodalSolver *solver);

/// Takes an operator with all its tiles assembled and finishes it; it must not change until the
/// last solve. False: out of memory.
bool nodal_prepare(NodalSolver *solver, NodalOperator *op);
/// Solves from the start value in x [nodes], 0 outside the liquid. In closed components the mean of
/// b is taken out and x gets mean zero. False on a value that is not finite.
bool nodal_solve(NodalSolver *solver, float *b, double *x, const NodalParams *params,
                 NodalReport *report);
