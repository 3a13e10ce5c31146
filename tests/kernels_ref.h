// Plain twins of the kernels of density projection, narrow band and surface mesh: one value after
// the other, double precision, straight from the formulas.
#pragma once
#include "band/kernels.h"
#include "mesh/mesh.h"
#include "particles/density.h"

/// As DensityKernels, the weights into doubles of the same shape; moved positions => x [axis][n].
void ref_weigh(const Span *p, double ramp, double *block);
ShiftSums ref_shift(const Span *p, const float *const block[3], float scale, const float low[3],
                    const float high[3], double *const x[3]);

/// As BandKernels.
void ref_trace(const TraceParams *params, double back[3][BAND_CELLS]);
void ref_face_paths(const float *back, int axis, int dim, double *out);
void ref_carry(const float *block, int halo, int dim, bool sharp, uint32_t pairs,
               const float back[3][BAND_CELLS], float missing, double *out);
bool ref_deepen(const float *block, int dim, const uint8_t *fixed, double *out);

/// What LevelSums holds, in doubles.
typedef struct RefSums {
    double weight, mean[3], nearest, second[6];
} RefSums;
/// As LevelKernels.
RefSums ref_sum(const Block *b, double radius, const float at[3], const float plane[4]);
RefSums ref_velocity(const Block *b, double radius, const float at[3]);
RefSums ref_moments(const Block *b, double radius, const float at[3]);
RefSums ref_stretched(const Block *b, const float at[3], const float plane[4]);
