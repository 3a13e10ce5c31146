// The kernels of dense linear algebra here: sums of rows, from which products, factors and solves
// are made.
#pragma once
#include "base/simd.h"

/// Rows that add_four works on.
enum { FOUR = 4 };

typedef struct RowKernels {
    /// row [n] += sign sum over k < count of factor[k step] rows[k stride ..], k by k, so that the
    /// answer is the same bits everywhere.
    void (*add)(double *row, int n, double sign, const double *factor, int step, const double *rows,
                int stride, int count);
    /// The same for four rows, row i at out + i apart, by factor[i beside + k step]; sign 1 or -1.
    /// Each of `rows` is read once for all four.
    void (*add_four)(double *out, int apart, int n, int sign, const double *factor, int beside,
                     int step, const double *rows, int stride, int count);
    /// Sum of products: four partial sums in fixed order.
    double (*dot)(const double *a, const double *b, int n);
    /// x [n] => (U^T U)^-1 x, U [n][n] in an upper half.
    void (*solve)(const double *u, int n, double *x);
} RowKernels;
BRIM_KERNELS(RowKernels, row_kernels)

/// For this processor.
static inline const RowKernels *row_kernels(void) {
    return row_kernels_for(isa_choose(BRIM_ISA_AUTO));
}
