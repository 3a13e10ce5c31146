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
    bool spline; ///< weights are a cubic spline that ends at R, and distances |x - m| - r as they
                 ///< are: eq. (14), (15) of Lim, Kim and Hong (2015) with r = R / 2
} LevelSetProfile;

/// The profile for two or three dimensions.
LevelSetProfile level_set_profile(int dim);
/// That of the paper on tracking.
LevelSetProfile level_set_paper(void);

/// The particles of ten cells along x, the cells -1 to 8 of a tile's row. Those that stand in for
/// what a wall hides are reflected: position' = flip * position + shift, in cells.
typedef struct LevelSetRow {
    const uint32_t *start;     ///< [9] first particles of the cells 0 to 8
    const uint32_t *beside[2]; ///< [2] first particles of the cell -1, or 8, and of the next one
    float flip[2], shift[2];   ///< along y and z
} LevelSetRow;

/// What a row of a tile's cells sees.
typedef struct LevelSetNear {
    const float *x[3]; ///< positions of the particles, m; read up to 15 floats beyond a range's end
    float inv_dx;
    int dim;
    float corner[3];              ///< of the tile, in cells
    float flip_x[2], shift_x[2];  ///< reflections of the cells -1 and 8
    int last;                     ///< cell with a wall behind it whose image it sees; or -1
    float last_shift;             ///< of that image
    const LevelSetRow *row[3][3]; ///< [dz + 1][dy + 1]; in 2D only [1]
    /// The solid's surface near a cell in which the particles are mirrored as well: normal and
    /// distance of the cell's centre from it, in cells.
    float plane[TILE][4];
    uint8_t planes; ///< cells that have one
} LevelSetNear;

typedef struct LevelSetKernels {
    /// Signed distances, in cells, at the centres of some cells (bits) of the row y, z of a tile.
    void (*distances)(const LevelSetProfile *profile, const LevelSetNear *near, int y, int z,
                      uint8_t cells, float out[TILE]);
    /// The same, and the mean position less the cell's centre, in cells: 0 without particles.
    void (*means)(const LevelSetProfile *profile, const LevelSetNear *near, int y, int z,
                  uint8_t cells, float out[TILE], float mean[3][TILE]);
} LevelSetKernels;

BRIM_KERNELS(LevelSetKernels, level_set_kernels)
