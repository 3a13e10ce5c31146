// Kernels of the surface that particles carry along; track.h says what for.
#pragma once
#include "grid/mask.h"
#include "particles/transfer.h"

/// Part of its distance that a particle takes from the grid in a step is at most this, and at most
/// as many cells as it goes: at rest nothing errs, and renewing would shrink what is round.
#define TRACK_RENEWED 0.1f
/// Particles deeper than this have no normal, cells.
#define TRACK_DEPTH 1.75f
/// Distance, cells, where it is not known: more than nodes have that tell a slope at TRACK_DEPTH.
#define TRACK_FAR 4.0f

/// alpha, eq. (20): 1 for slow particles, 0 for fast ones.
typedef struct TrackFade {
    float high, inverse; ///< by speed, m/s, or its square
    bool square;
} TrackFade;

/// What the grid tells of the surface at a cell's centre; eight floats, so that two along x are one
/// vector.
typedef struct TrackNode {
    float distance, change, gradient[3]; ///< cells
    float along;                         ///< gradient . place in the block, cells
    float none[2];
} TrackNode;

/// A field in a tile and beside it: the tile itself, then those at x-, x+, y-, ...; only rows with
/// cells of the mask `told` are read, and what is beyond the domain is as the cell before it.
typedef struct TrackAround {
    const float *tile[7];
    const uint8_t *told[7];   ///< [rows]
    int8_t first[3], last[3]; ///< cells at the domain's ends; -1 and TILE where these are not here
} TrackAround;

/// How memory fades in a step.
typedef struct TrackBlend {
    float fades;  ///< part of what is beyond chance
    float way;    ///< part of what is astray
    float chance; ///< what it and positions may differ by, cells
    bool forgets; ///< there is no memory
} TrackBlend;

typedef struct TrackKernels {
    /// Distances one layer of cells farther by |grad d| = 1; `missing` where none is told yet.
    /// => out [cells] in the rows of the wanted ones
    void (*farther)(const TrackAround *around, int dim, const TileMask *wanted, float missing,
                    float *out);
    /// The same for a step of a filter: part of the second differences along the axes, but of none
    /// that reads a value beyond the cut, as all are that are not told.
    void (*filter)(const TrackAround *around, int dim, const TileMask *wanted, float part,
                   float cut, float *out);
    /// A row of the surface: where planes were asked and tell, of positions, or, where these are
    /// kept, of filtered ones, and of memory. smooth: memory => how far tracked is from it
    void (*blend)(const TrackBlend *blend, uint8_t asked, uint8_t kept, const float rough[TILE],
                  const float even[TILE], const float steady[TILE], float smooth[TILE],
                  float tracked[TILE]);
    /// (v, normal) => normals unpacked, in place of the words how much of the past counts. Returns
    /// the largest speed of those whose past does, -1 if none.
    float (*unpack)(const Span *p, const TrackFade *fade, float *const normal[3]);
    /// Carries distances and normals with the strain in the middle of their cell for `time` s:
    /// (phi, normal) of particles that have one. start [cells + 1]: first particles of the tile's
    /// cells, here and below; velocity: blocks with that halo, m/s.
    void (*strain)(const Span *p, const uint32_t *start, const float *const velocity[3], int halo,
                   float time);
    /// A row y, z of nodes of a block of halo 1: distances from one of halo 2, changes from one of
    /// halo 1.
    void (*nodes)(const float *distance, const float *change, int dim, int y, int z,
                  TrackNode row[TILE + 2]);
    /// (v, phi, steady in place of normal) => (phi, normal) after `time` s, from nodes: a block of
    /// halo 1. near: rows with particles that are to know a normal, bit y of near[z].
    void (*renew)(const Span *p, const uint32_t *start, const TrackNode *nodes, const uint8_t *near,
                  float time);
} TrackKernels;

BRIM_KERNELS(TrackKernels, track_kernels)
