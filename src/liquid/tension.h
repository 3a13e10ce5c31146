// Curvature of the surface.
#pragma once
#include "step/tiles.h"

/// (phi, rock) => curvature in cells near the surface, curved.
void find_curvature(BrimSim *s);
/// Curvature at the middle of 3 x 3 (x 3) values with these strides around `at`, 1/cells: positive
/// where the surface bulges, 0 where there is no slope.
float curvature_of(int dim, const float *at, int stride_y, int stride_z);
/// Curvature of the surface from that of a level at a distance, both as round as a ball: a mean
/// over levels to both sides is else too large by the square of their distance over that of the
/// radius.
float curvature_on_surface(int dim, float k, float distance);
