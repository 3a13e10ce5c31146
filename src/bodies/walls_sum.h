// Sums over the cells that a body closes: the kernels of B and B^T (walls.c).
#pragma once
#include "base/simd.h"
#include <stddef.h>

typedef struct WallKernels {
    /// out [width] = sum over n of factor[n] rows[n][..], n by n.
    void (*pull)(size_t count, int width, const double *factor, const float *rows, double *out);
    /// out [count] = rows[n] . v: four partial sums in fixed order.
    void (*push)(size_t count, int width, const float *rows, const double *v, double *out);
} WallKernels;
BRIM_KERNELS(WallKernels, wall_kernels)
