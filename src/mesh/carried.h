// The surface that particles carry along (surface.tracking) at the nodes of a mesh: smooth by their
// planes where water is calm, by their positions where it is fast or thin.
#pragma once
#include "mesh/mesh.h"

typedef struct CarriedSurface {
    const float *phi;       ///< [particles] cells
    const uint32_t *normal; ///< [particles] packed (particles/normal.h)
    float high, inverse;    ///< alpha of eq. (20), by speed, m/s, or its square
    bool square;
} CarriedSurface;

/// Whether particles carry a surface; def->tracking_speed must be known.
bool carried_find(CarriedSurface *out, const BrimSimDef *def, const BrimParticles *particles);
/// A particle's distance, normal and how much of the past counts (below 0: it knows no surface).
void carried_at(const CarriedSurface *s, const BrimParticles *p, uint32_t i, float out[5]);
/// Distance at a point whose distance by positions is `rough`, from the same sums.
float carried_distance(const Block *block, const LevelKernels *kernels, const float at[3],
                       const float plane[4], const LevelSums *sums, float rough);
/// def->tracking_speed when the scene does not say it: as simulations choose it, but from boxes
/// around the liquids' shapes.
BrimResult carried_speeds(BrimSimDef *def, BrimError *error);
