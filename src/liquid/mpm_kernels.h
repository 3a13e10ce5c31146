// Sums of MPM sub-steps over the 64 nodes (2D: 16) around each particle.
#pragma once
#include "base/simd.h"
#include "liquid/mpm.h"
#include "particles/transfer.h"

enum { MPM_MEANS = 2048 };

/// What makes stress of a density and its flow. Masses and volumes are in full cells, lengths in
/// cells.
typedef struct MpmStress {
    float sound2;   ///< (cells/s)^2
    float friction; ///< cells^2/s
    float per_cell; ///< particles of a full cell
    int parts;      ///< components of a block that count: 1, with friction velocity as well
} MpmStress;

/// Blocks [component][node] of MPM_BLOCK nodes each, or [node][4] where it says so: what goes to or
/// comes from four nodes along x is then one vector of 16.
typedef struct MpmKernels {
    /// Adds mass and, with parts > 1, momentum of particles. => block
    void (*mass)(const Span *p, float mass, int parts, float *block);
    /// Adds the forces of particles. (nodes: mass, velocity in m/s) => force, components from 1 on,
    /// cells^3/s^2
    void (*force)(const Span *p, const MpmStress *stress, const float *nodes, float *force);
    /// Means of a vector where MPM_MEANS particles from `first` on are, or all that are left.
    /// (nodes [node][4], component 0 does not count) => out [axis]
    void (*mean)(const Span *p, const float *nodes, int first, float (*out)[MPM_MEANS]);
} MpmKernels;

BRIM_KERNELS(MpmKernels, mpm_kernels)

/// Weights of the four nodes along an axis, and their slopes, as polynomials in f.
static inline __attribute__((always_inline)) void mpm_spline(float f, f4 *weight, f4 *slope) {
    const f4 a = {-1.0f / 6, 0.5f, -0.5f, 1.0f / 6}, b = {0.5f, -1, 0.5f, 0};
    const f4 c = {-0.5f, 0, 0.5f, 0}, d = {1.0f / 6, 2.0f / 3, 1.0f / 6, 0};
    *weight = ((a * f + b) * f + c) * f + d;
    *slope = (3 * a * f + 2 * b) * f + c;
}
