// The liquid's surface from its particles: signed distance at cell centres.
#pragma once
#include "base/simd.h"
#include "grid/grid.h"
#include "particles/particles.h"

/// Distances are cut at this many cells.
#define LEVEL_SET_CUT 2.0f

enum { PROFILE_SIZE = 64 };

/// Averaged positions (Zhu and Bridson 2005): with the weights w_i = (1 - |x - x_i|^2 / R^2)^3 and
/// the mean position m = sum w_i x_i / sum w_i, their level set is |x - m| - r. For a full
/// half-space whose surface is z away that is a known monotone function f(z); the profile holds
/// its inverse, so that what comes out is the distance to a flat surface.
typedef struct LevelSetProfile {
    float radius;                     ///< R, in cells
    float offset;                     ///< r, in cells, chosen so that f(0) = 0
    float low, step;                  ///< the profile's first argument f(-R), and the step
    float distance[PROFILE_SIZE + 1]; ///< inverse of f, in cells
} LevelSetProfile;

/// The profile for two or three dimensions.
LevelSetProfile level_set_profile(int dim);

/// Particles [first, end) seen from a cell; reflected where they stand in for what a wall hides:
/// position' = flip * position + shift, per axis, in cells.
typedef struct LevelSetRange {
    uint32_t first, end;
    float flip[3], shift[3];
} LevelSetRange;

typedef struct LevelSetKernels {
    /// Signed distance at a point `at` (in cells) from the particles in some ranges, in cells.
    /// `plane` (normal, distance of the point from it in cells), or NULL: a solid's surface in
    /// which the particles are mirrored as well. The arrays x may be read 15 floats beyond `end`.
    float (*distance)(const LevelSetProfile *profile, const float *const x[3], float inv_dx,
                      int dim, const float at[3], const LevelSetRange *ranges, int range_count,
                      const float plane[4]);
} LevelSetKernels;

BRIM_KERNELS(LevelSetKernels, level_set_kernels)
