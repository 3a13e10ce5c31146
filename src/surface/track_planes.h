// The distance to the surface by the planes that particles carry. Those of a cell are summed once,
// and all cells around ask the sums. docs/numerics.md has the formulas.
#pragma once
#include "surface/level_set.h"
#include "surface/planes.h"

/// What particles know of the surface, unpacked; by the index of a particle.
typedef struct TrackSeen {
    const float *phi;       ///< cells
    const float *normal[3]; ///< in 2D two
    const float *steady;    ///< how much of the past counts, 0..1; below 0: no normal
} TrackSeen;

/// Reach of a cell's planes and how much nearer ones count more, as TRACK_REACH and TRACK_NEARNESS
/// for single ones, squares: the particles of a full cell lie a quarter around their middle.
#define PLANE_REACH2 2.5f
#define PLANE_NEARNESS2 0.1f

/// Particles of a cell that are near the surface, and those of them that have a normal. Places are
/// seen from the cell's middle, in cells.
enum {
    PLANE_NEAR,                     ///< how many
    PLANE_COUNT,                    ///< how many with a normal; below of these
    PLANE_STEADY,                   ///< sum of how much of the past counts
    PLANE_OFF,                      ///< mean of distance - half of normal . place
    PLANE_SPREAD,                   ///< mean square of places
    PLANE_NORMAL,                   ///< means
    PLANE_PLACE = PLANE_NORMAL + 3, ///< means
    PLANE_SUMS = PLANE_PLACE + 3,
};

/// Of the cells -1 to 8 of a tile's row, as it sees them: those of images are reflected.
typedef struct PlaneRow {
    float of[PLANE_SUMS][TILE + 2];
    bool any;  ///< has particles near the surface
    bool past; ///< and the past of some counts
} PlaneRow;

typedef struct PlaneKernels {
    /// Sums of some cells (bits, bit 0 is x = -1) of the row y, z of those around a tile; 0 in the
    /// others.
    void (*sum)(const LevelSetNear *near, const LevelSetRow *row, const TrackSeen *seen, int y,
                int z, unsigned cells, PlaneRow *out);
    /// Distances by planes, in cells, at the middles of some cells (bits) of a row, and the mean of
    /// how much of the past counts there; 0 and -1 where no plane tells and in other cells. around:
    /// [dz + 1][dy + 1], in 2D only [1]; mean: of positions, from the middle; `planes` and `plane`
    /// of `near` are read.
    void (*ask)(const LevelSetNear *near, const PlaneRow *const around[3][3], uint8_t cells,
                const float mean[3][TILE], float smooth[TILE], float steady[TILE]);
} PlaneKernels;

BRIM_KERNELS(PlaneKernels, plane_kernels)
