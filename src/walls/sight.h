// Lines of sight past solids. What lies on two sides of a wall never meets, however near.
#pragma once
#include "step/state.h"

/// How much of the straight way between two points, m, no solid stands in, 0 to 1. start, end: the
/// distances to solids there, m
float clear_way(const BrimSim *s, const float from[3], float start, const float to[3], float end);

/// Whether a solid stands between two points, m.
bool wall_between(const BrimSim *s, const float from[3], const float to[3]);

/// Where a point goes in the last `time` seconds of the step if it goes along with the solids
/// around it, m; itself where none move. The solids are known where they are at the step's end: so
/// the beginning of a way is compared with its end.
void go_with_walls(const BrimSim *s, const float at[3], float time, float end[3]);

/// Moves a point in a solid, m, out of it where that is nearest. False when it finds no way.
bool step_outside(const BrimSim *s, float at[3]);
