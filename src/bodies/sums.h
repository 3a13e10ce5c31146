// Kernels of sums over a body's functions at places: rows of floats, one number for each function.
#pragma once
#include "base/simd.h"
#include <stddef.h>

/// Places that mix works on at once.
enum { SUM_PLACES = 16 };

typedef struct SumKernels {
    /// out [dim][stride], the first `width` of each = sum over n of factor[a][n] rows[n stride ..],
    /// n by n; factor [dim][count].
    void (*pull)(int dim, size_t count, int width, int stride, const double *factor,
                 const float *rows, double *out);
    /// out [dim][count] = rows[n] . v[a]: four partial sums in fixed order; v [dim][width].
    void (*push)(int dim, size_t count, int width, const float *rows, const double *v, double *out);
    /// out [dim][count] = sum over i < r of the functions at `count` places, a multiple of
    /// SUM_PLACES, times d[a][i], i by i; places [count / SUM_PLACES][r][SUM_PLACES], d [dim][r].
    void (*mix)(int count, int dim, int r, const float *places, const double *d, double *out);
} SumKernels;
BRIM_KERNELS(SumKernels, sum_kernels)

/// For this processor.
static inline const SumKernels *sum_kernels(void) {
    return sum_kernels_for(isa_choose(BRIM_ISA_AUTO));
}
