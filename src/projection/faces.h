// Kernels on the cells and faces of one tile without solids, a row of eight at a time.
#pragma once
#include "base/simd.h"
#include "grid/mask.h"

/// A tile of a field and its neighbours x-, x+, y-, ...
typedef struct TileView {
    const float *self, *side[6];
} TileView;

/// A whole tile of zeros, of the distance far from the surface, and of what is not a number.
extern const float tile_zeros[TILE * TILE * TILE], tile_far[TILE * TILE * TILE];
extern const float tile_unknown[TILE * TILE * TILE];

/// `missing` stands for tiles that do not exist.
static inline TileView tile_view(const Grid *g, int slot, const float *field,
                                 const float *missing) {
    static const int offset[6] = {-1, 1, -3, 3, -9, 9};
    size_t cells = (size_t)g->tile_cells;
    TileView v = {.self = field + (size_t)slot * cells};
    for (int n = 0; n < 6; n++) {
        int32_t next = g->neighbour[slot][TILE_SELF + offset[n]];
        v.side[n] = next < 0 ? missing : field + (size_t)next * cells;
    }
    return v;
}

/// The same for a field that holds only some tiles: at [slot] => 1 + the tile's place in it, 0:
/// none, as if it did not exist.
static inline TileView tile_view_some(const Grid *g, int slot, const float *field,
                                      const int32_t *at, const float *missing) {
    static const int offset[6] = {-1, 1, -3, 3, -9, 9};
    const int64_t cells = g->tile_cells;
    TileView v = {.self = at[slot] ? field + (at[slot] - 1) * cells : missing};
    for (int n = 0; n < 6; n++) {
        int32_t next = g->neighbour[slot][TILE_SELF + offset[n]];
        v.side[n] = next < 0 || !at[next] ? missing : field + (at[next] - 1) * cells;
    }
    return v;
}

/// A tile's liquid cells, those whose neighbours are liquid and those at the domain's sides; the
/// neighbours by direction x-, x+, y-, ...
typedef struct Around {
    TileMask liquid, wet[6], side[6];
} Around;

static inline Around around_tile(const Grid *g, const uint8_t *liquid, int slot) {
    Around a = {.liquid = mask_load(g, liquid, slot)};
    mask_around(g, liquid, slot, a.wet);
    for (int n = 0; n < 2 * g->dim; n++) a.side[n] = mask_side(g, slot, n >> 1, n & 1 ? 1 : -1);
    return a;
}

/// Least depth of a liquid centre below the surface, cells; bounds the terms of faces to air. A
/// bound on these terms themselves would hold at one face of a cell and not at another, and the
/// gradient at a surface that lies slanted would turn.
#define DEPTH_MIN 0.001f

/// Part of the way from a liquid centre to an air one at which the surface lies, from the distances
/// of both, cells.
static inline float surface_part(float inside, float outside) {
    float depth = -inside > DEPTH_MIN ? -inside : DEPTH_MIN;
    return depth / (depth + (outside > 0 ? outside : 0));
}

/// A tile's part of the pressure system, [cells].
typedef struct SystemTile {
    float *diagonal, *rhs, *coefficient[3];
    float *pressure; ///< start value
} SystemTile;

typedef struct FaceKernels {
    /// The system of a tile (see project.c); pressure *= scale. phi: NULL for surfaces half way.
    void (*build)(const Around *around, const TileView velocity[3], const TileView *phi, int dim,
                  float scale, const SystemTile *out);
    /// velocity -= pressure's difference on the given faces, which touch liquid; gradient, or NULL:
    /// what was subtracted.
    void (*subtract)(const Around *around, const TileMask *faces, int axis, int depth,
                     const TileView *pressure, const TileView *phi, float *velocity,
                     float *gradient);
    // carry and grow write the given faces and no others, and read of other tiles only faces in
    // `near`: others may be written meanwhile.

    /// The given faces lose the mean of the gradients beside them. near: mask_around of the faces
    /// that have one. beyond, or NULL: mask_around_2 of the same; then each is continued along the
    /// line through the one behind it, but neither turned about nor more than doubled.
    void (*carry)(const TileView *gradient, const TileMask near[6], const TileMask *beyond,
                  const TileMask *faces, int dim, float *velocity);
    /// Largest net outflow of a liquid cell, m/s; a value that is not a number is the largest.
    float (*outflow)(const Around *around, const TileView velocity[3], int dim);
    /// Square of the velocity, mean over each cell, of rows that hold one of `cells`; a face whose
    /// value is not a number, inside a solid, counts as the opposite one. => out [cells of a tile]
    void (*speeds)(const TileView velocity[3], const TileMask *cells, int dim, float *out);
    /// Faces in `wanted` get the mean of their known neighbours. near: mask_around of the known
    /// faces; v and out may be the same field.
    void (*grow)(const TileView *v, const TileMask near[6], const TileMask *wanted, int dim,
                 float *out);
    /// v => not a number outside `valued`; old (or NULL) => v - ratio old. Returns the largest |v|.
    float (*finish)(const TileMask *valued, int depth, float ratio, float *v, float *old);
} FaceKernels;

BRIM_KERNELS(FaceKernels, face_kernels)
