// Kernels of the surface that particles carry along; track.h says what for.
#pragma once
#include "particles/transfer.h"
#include "surface/level_set.h"

/// Reach of a particle's plane, in cells, and how much nearer ones count more.
#define TRACK_REACH 1.5f
#define TRACK_NEARNESS 0.2f
/// Part of its distance that a particle takes from the grid in a step.
#define TRACK_RENEWED 0.1f
/// Particles deeper than this have no normal, cells.
#define TRACK_DEPTH 3.25f

/// What particles know of the surface, unpacked; by the index of a particle.
typedef struct TrackSeen {
    const float *phi;       ///< cells
    const float *normal[3]; ///< in 2D two
    const float *steady;    ///< how much of the past counts, 0..1; below 0: no normal
} TrackSeen;

/// What the grid tells a tile's particles: blocks of halo 1.
typedef struct TrackBlocks {
    const float *distance, *change, *gradient[3];
} TrackBlocks;

typedef struct TrackKernels {
    /// Distances by planes, in cells, at the centres of some cells of a row, and the mean of how
    /// much of the past counts there; -1 where no plane tells. mean: of positions, from the centre.
    void (*planes)(const LevelSetNear *near, const TrackSeen *seen, int y, int z, uint8_t cells,
                   const float mean[3][TILE], float smooth[TILE], float steady[TILE]);
    /// Carries distances and normals with the strain for `time` s: (phi, normal) of particles that
    /// have one. velocity: blocks with that halo, m/s.
    void (*strain)(const Span *p, const float *const velocity[3], int halo, float time);
    /// (phi, steady in place of normal) => (phi, normal), from the grid.
    void (*renew)(const Span *p, const TrackBlocks *blocks);
} TrackKernels;

BRIM_KERNELS(TrackKernels, track_kernels)
