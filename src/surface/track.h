// The surface that particles carry along (Lim, Kim and Hong 2015): each knows its distance to it
// and the direction, so that calm water need not find its surface anew from where particles happen
// to be. Fast water does. docs/numerics.md tells where this departs from the paper.
#pragma once
#include "solid/shape.h"
#include "step/stages.h"

/// What particles know when a simulation begins: the distance to the surface of the liquids.
/// => (phi, normal), tracked, speeds between which memory fades
void track_start(BrimSim *s, const Shape *const *liquids, int count);
/// (x, v, phi, normal) => tracked, after `dt` s
void track_surface(BrimSim *s, double dt);
/// (tracked, v, phi, normal) => (phi, normal), after `dt` s
void track_particles(BrimSim *s, double dt);
/// Cells with a face through which a field's surface goes. (field) => sunk, beside
void track_beside(BrimSim *s, const float *field);
/// Distances by |grad phi| = 1 so many layers of cells away from those beside the surface, cut at
/// `cut`. Beside the surface they stay, and near it those below `keep` in cells that are `sure`
/// (NULL: all). (field, sunk, beside) => even
void track_even(BrimSim *s, const float *field, const uint8_t *sure, float keep, int layers,
                float cut);
