// Kernels of the density projection: particles weigh on cell centres, and are shifted by
// displacements on faces.
#pragma once
#include "particles/transfer.h"

enum {
    /// Floats of a block of weights: the tile and one cell around it.
    WEIGHT_3D = SCATTER_EDGE * SCATTER_EDGE * SCATTER_EDGE,
    WEIGHT_2D = SCATTER_EDGE * SCATTER_EDGE,
};

/// What a shift did to a tile's particles.
typedef struct ShiftSums {
    float sum, largest; ///< of the distances, cells
} ShiftSums;

typedef struct DensityKernels {
    /// (x) [n] => weights [z][y][x], added: of a particle, which weighs 1, on the cells around it.
    /// Along each axis it passes from one cell to the next over `ramp` cells about their face: with
    /// 1 that is trilinear on cell centres, with 0 the cell it is in would have it all.
    void (*weigh)(const Span *p, float ramp, float *block);
    /// x += scale times the displacement interpolated from blocks of faces with a halo of one cell,
    /// in cells; kept inside [low, high], m.
    ShiftSums (*shift)(const Span *p, const float *const block[3], float scale, const float low[3],
                       const float high[3]);
    /// How far particles went. by [axis]: from where, m => cells
    ShiftSums (*lengths)(const Span *p, float *const by[3]);
    /// A surface that particles carry stays where it is when they are shifted by so many cells:
    /// (normal) => phi. by [axis]
    void (*stay)(const Span *p, const float *const by[3]);
    /// Largest |value| of `count`, a multiple of 16.
    float (*largest)(const float *values, int count);
} DensityKernels;

BRIM_KERNELS(DensityKernels, density_kernels)
