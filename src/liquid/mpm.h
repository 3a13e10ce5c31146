// MPM sub-steps (Lim, Kim and Hong 2015, section 3.1): stress between particles, explicit in time,
// between two projections. Sums over particles go by cubic B-splines to nodes, which are the cells'
// centres.
#pragma once
#include "brim/brim.h"

enum {
    /// Cells beyond a tile that its particles' splines reach, also when sub-steps moved them by
    /// half
    /// a cell.
    MPM_HALO = 2,
    MPM_EDGE = 8 + 2 * MPM_HALO,
    MPM_BLOCK = MPM_EDGE * MPM_EDGE * MPM_EDGE,
};

typedef struct Mpm {
    float *push[3];  ///< [particles] velocity that the sub-steps gave so far, m/s
    size_t capacity; ///< of each
} Mpm;

void mpm_free(BrimSim *s);
/// Cubic B-spline of four nodes about a point a part f beyond the second, and its slope per cell.
void mpm_weights(float f, float weight[4], float slope[4]);
/// Sub-steps that a step takes: as many as the scene asks for, and as sound and friction need.
int mpm_substeps(const BrimSim *s, double dt);
