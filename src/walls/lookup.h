// Distances to solids at single points, by looking nodes up one by one.
#pragma once
#include "step/state.h"

/// Distance to the solids at a point, m, linear between nodes, those at half cells where there are
/// such.
float solid_value(const BrimSim *s, const float at[3]);
/// The same, and its gradient.
float solid_lookup(const BrimSim *s, const float at[3], float gradient[3]);
