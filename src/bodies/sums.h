// Kernels of sums over a body's functions at places: rows of floats, one number for each function.
#pragma once
#include "base/simd.h"
#include <stddef.h>

/// Places that mix works on at once.
enum { SUM_PLACES = 16 };

typedef struct SumKernels {
    /// out [width] = sum over n of factor[n] rows[n stride ..], n by n.
    void (*pull)(size_t count, int width, int stride, const double *factor, const float *rows,
                 double *out);
    /// out [count] = rows[n] . v: four partial sums in fixed order.
    void (*push)(size_t count, int width, const float *rows, const double *v, double *out);
    /// out [dim][count] = sum over i < r of the functions at `count` places, a multiple of
    /// SUM_PLACES, times d[a][i], i by i; places [count / SUM_PLACES][r][SUM_PLACES], d [dim][r].
    void (*mix)(int count, int dim, int r, const float *places, const double *d, double *out);
    /// to [dim][r] += factor[n][a] rows[n][..], for n < count one after the other.
    void (*add)(int dim, int count, int r, float (*factor)[3], const float *const *rows, float *to);
} SumKernels;
BRIM_KERNELS(SumKernels, sum_kernels)

/// For this processor.
static inline const SumKernels *sum_kernels(void) {
    return sum_kernels_for(isa_choose(BRIM_ISA_AUTO));
}
