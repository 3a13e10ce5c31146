// What a point on a warped grid sees of the particles, and what walls show it of them.
//
// Where liquid stands at a wall the slope of its pressure across the wall is that of its weight, so
// its surface meets the wall as level water does. Images are therefore mirrored along level planes:
// with t in such a plane and t . n = 1, x is seen at x - 2 (x . n) t. Where gravity is along the
// wall t is n, and images are those of a mirror.
#pragma once
#include "warp/stage.h"

/// (gravity at the end of the step) => down, slanted
void warp_find_level(BrimSim *s);
/// t of the domain's sides across an axis, at a point of reference space, cells. False: it is n.
bool warp_slant(const BrimSim *s, int axis, const double xi[3], double t[3]);
/// Weight and weighed offset of all that a point sees, cells. (spare: weights of the particles)
void warp_sum_point(const BrimSim *s, const float at[3], float sum[4]);
