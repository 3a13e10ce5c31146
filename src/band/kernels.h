// Kernels of the narrow band (Ferstl et al. 2016): the liquid that the grid carries.
#pragma once
#include "base/simd.h"
#include "grid/block.h"

/// The largest tile.
enum { BAND_CELLS = TILE * TILE * TILE };

/// All pairs of a tile's rows.
#define BAND_ALL_PAIRS 0xffffffffu

/// Depth of cells that no distance reaches, in cells.
#define BAND_FAR 1e9f

typedef struct TraceParams {
    const float *velocity[3]; ///< blocks, m/s; not a number where none is known
    int halo, dim;
    int substeps;
    float scale; ///< of a sub-step over dx: velocity to cells, s/m
} TraceParams;

typedef struct BandKernels {
    /// Paths back in time from the cell centres of a tile, fourth-order Runge-Kutta. => back: by
    /// how many cells the liquid in each centre came, not a number where a velocity is missing.
    void (*trace)(const TraceParams *params, float back[3][BAND_CELLS]);
    /// Paths of the lower faces of a tile along an axis from those of its cells: the mean of two,
    /// or on the tile's own lower side the line through the next two. => out [cells of a tile]
    void (*face_paths)(const float *back, int axis, int dim, float *out);
    /// Values of a block at its own nodes less `back`; `missing` where back is not a number.
    /// Trilinear, or `sharp`: with second differences, from one cell more of the halo. Only pairs
    /// of rows with a bit in `pairs`; the others are missing. => out [cells of a tile]
    void (*carry)(const float *block, int halo, int dim, bool sharp, uint32_t pairs,
                  const float back[3][BAND_CELLS], float missing, float *out);
    /// One pass of |grad depth| = 1 over a tile. In: depths of the tile and one cell around it, a
    /// block of halo 1, BAND_FAR where there is no liquid; `fixed` [rows]: cells that stay. The new
    /// depth is at most the old one. => out [cells]; returns whether any changed.
    bool (*deepen)(const float *block, int dim, const uint8_t *fixed, float *out);
} BandKernels;

BRIM_KERNELS(BandKernels, band_kernels)
