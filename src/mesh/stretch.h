// Kernels stretched along the surface (Yu and Turk 2013): each particle's neighbours tell a mean
// position and a covariance; the particle moves to the first and its kernel takes the shape of the
// second, flat in a sheet, long in a thread, round where there are few neighbours.
#pragma once
#include "mesh/mesh.h"

/// A particle's kernel: W(x) = weight * (1 - |G (x - position)|^2)^3.
typedef struct StretchedKernel {
    float position[3]; ///< cells
    float g[6];        ///< xx, yy, zz, xy, yz, zx; 1/cells
    float weight;      ///< such that full water sums to 1
} StretchedKernel;

enum { STRETCH_HEIGHTS = 33 };

/// What the method is set to, in cells, and what it does to a flat surface.
typedef struct StretchScale {
    float radius;               ///< of a particle's neighbourhood
    float kernel;               ///< radius of a kernel that is not stretched
    float support;              ///< how far from where a particle was a kernel may reach
    float full;                 ///< neighbours' weight deep in the water
    float volume;               ///< of a particle
    float top;                  ///< above evenly filled water: how high its kernels reach
    float step;                 ///< between the heights of `sum`
    float normal;               ///< axis of a kernel at a flat surface, across it
    float sum[STRETCH_HEIGHTS]; ///< of kernels, at top, top - step, ...: never falling
} StretchScale;

/// Signed distance to the surface from a sum of kernels (as weight) and the nearest of them, cut at
/// half a radius inside.
float stretch_distance(const StretchScale *stretch, const LevelSums *sums);

/// From theory: the sums over a half-space, integrated along its depth.
StretchScale stretch_scale(const MeshScale *scale, double per_cell);

/// Kernels of all particles that blocks may ask for, in the order of bins->order; NULL when out of
/// memory.
StretchedKernel *stretch_particles(const MeshScale *scale, const StretchScale *stretch,
                                   const Bins *bins, const BrimParticles *particles,
                                   const LevelKernels *kernels, Team *team);
