// Dense linear algebra of the small matrices of a reduced body, in double precision, row major.
#pragma once
#include "base/team.h"
#include <stdbool.h>

/// a [n][n] symmetric (its upper half is read) => U in the upper half with U^T U = a. False when a
/// is not positive definite. Only the first `pivots` rows are eliminated when that is less than n:
/// the rest of the upper half is then what remains of a (the Schur complement).
bool dense_cholesky(double *a, int n, int pivots);
/// The same bits, by threads.
bool dense_cholesky_by(Team *team, double *a, int n, int pivots);

/// Rows [from, to) of out [n][n] from the diagonal on += sign u^T v, u and v [count][n], sign 1 or
/// -1; k by k, so that the answer is the same bits everywhere.
void dense_add_upper(double *out, int n, int from, int to, int sign, const double *u,
                     const double *v, int count);

/// out [n][n] = a^-1 by what dense_cholesky left in u; work [n][n].
void dense_inverse(const double *u, int n, double *work, double *out, Team *team);

/// m => (1 - Q Q^T) m (1 - Q Q^T), rows of q [count][n] orthonormal, count at most 6, m symmetric;
/// work [count][n].
void dense_project_out(double *m, int n, const double *q, int count, double *work, Team *team);

/// x [n] => a^-1 x, by what dense_cholesky left in u.
void dense_solve(const double *u, int n, double *x);

/// Eigenvalues in rising order and eigenvectors as rows of `vectors` [n][n]; a is overwritten.
/// The largest entry of each vector is positive, so that the answer is unique. Jacobi's method.
void dense_eigen(double *a, int n, double *values, double *vectors);

/// out [n] = a [n][m] x [m]
void dense_apply(const double *a, int n, int m, const double *x, double *out);

/// Sum of products. Four partial sums in fixed order: the same bits everywhere.
double dense_dot(const double *a, const double *b, int n);
