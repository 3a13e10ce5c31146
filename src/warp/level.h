// Averaged positions of weighed particles about a node: the sums behind the level set.
#pragma once
#include "base/simd.h"
#include <stdint.h>

/// Particles [first, end) as seen from a node: offset = scale * position + shift, in cells, and
/// with shear, whose diagonal is 0, + shear position.
typedef struct WarpRun {
    uint32_t first, end;
    float scale[3], shift[3];
    const float (*shear)[3]; ///< NULL: none
} WarpRun;

typedef struct WarpLevelKernels {
    /// out = sum of k, and of k times the offset along each axis, with k = weight (1 - d^2 /
    /// R^2)^3. Arrays are read up to 15 floats beyond a run's end.
    void (*sums)(const float *const x[3], const float *weight, const WarpRun *run, int runs,
                 float inv_radius2, int dim, float out[4]);
} WarpLevelKernels;

BRIM_KERNELS(WarpLevelKernels, warp_level_kernels)
