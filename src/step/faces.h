// Kernels on the cells and faces of one tile, a row of eight at a time. They know masks and
// neighbours but no solids.
#pragma once
#include "base/simd.h"
#include "grid/mask.h"

/// A tile of a field and its neighbours x-, x+, y-, ...; zeros stand for tiles that do not exist.
typedef struct TileView {
    const float *self, *side[6];
} TileView;

/// Zeros of a whole tile.
extern const float tile_zeros[TILE * TILE * TILE];

static inline TileView tile_view(const Grid *g, int slot, const float *field) {
    static const int offset[6] = {-1, 1, -3, 3, -9, 9};
    size_t cells = (size_t)g->tile_cells;
    TileView v = {.self = field + (size_t)slot * cells};
    for (int n = 0; n < 6; n++) {
        int32_t next = g->neighbour[slot][TILE_SELF + offset[n]];
        v.side[n] = next < 0 ? tile_zeros : field + (size_t)next * cells;
    }
    return v;
}

typedef struct FaceKernels {
    /// Faces in `wanted` get the mean of their known neighbours. near: mask_around of the known
    /// faces; v and out may be the same field.
    void (*grow)(const TileView *v, const TileMask near[6], const TileMask *wanted, int dim,
                 float *out);
    /// v => not a number outside `valued`; old (or NULL) => v - ratio old. Returns the largest |v|.
    float (*finish)(const TileMask *valued, int depth, float ratio, float *v, float *old);
} FaceKernels;

BRIM_KERNELS(FaceKernels, face_kernels)
