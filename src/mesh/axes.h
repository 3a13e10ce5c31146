// The axes of a small symmetric matrix: the way a cloud of particles is spread.
#pragma once

/// Eigenvalues and vectors (columns) of a symmetric matrix, by turns in its planes (Jacobi). The
/// matrix becomes diagonal.
void axes_find(double matrix[3][3], double vectors[3][3]);
