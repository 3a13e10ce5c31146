// Sparse symmetric matrices over the nodes of a mesh, and their factorisation: nested dissection by
// the nodes' places, then a multifrontal Cholesky.
#pragma once
#include "brim/brim.h"

/// Blocks of [dim][dim] between nodes that share an element. Both halves are stored.
typedef struct Sparse {
    int dim, count;  ///< components a node, nodes
    int32_t *start;  ///< [count + 1]
    int32_t *column; ///< [blocks] rising within a row; the row itself is among them
    double *block;   ///< [blocks][dim][dim]
} Sparse;

/// The pattern of all pairs of nodes that share an element; values 0. node [elements][per_element],
/// negative entries are left out. False when out of memory.
bool sparse_pattern(Sparse *m, int dim, int count, const int32_t *node, int elements,
                    int per_element);
void sparse_free(Sparse *m);
/// The block of a pair of nodes that share an element.
double *sparse_block(const Sparse *m, int row, int column);
/// out [dofs][width] = m x [dofs][width]
void sparse_apply(const Sparse *m, int width, const double *x, double *out);

typedef struct SparseFactor SparseFactor;

/// Factors a + shift b (same pattern); place [count][3] guides the dissection.
/// BRIM_ERROR_INPUT when the sum is not positive definite.
BrimResult sparse_factor(const Sparse *a, double shift, const Sparse *b, const double (*place)[3],
                         SparseFactor **factor, BrimError *error);
void sparse_factor_free(SparseFactor **factor);
/// Numbers stored.
size_t sparse_factor_size(const SparseFactor *factor);
/// x [dofs][width] => (a + shift b)^-1 x. False when out of memory.
bool sparse_factor_solve(const SparseFactor *factor, int width, double *x);
