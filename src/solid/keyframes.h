// Paths through keyframes: of solids, and of what holds bodies.
#pragma once
#include "brim/brim.h"

/// Whether there is at least one, values are finite and times rise.
BrimResult keyframes_check(const BrimKeyframe *keys, int count, BrimError *error);

/// Cubic between keyframes, at rest before the first and after the last. value [6] and rate of
/// change [6]: position m, rotation degrees; in 2D those out of the plane are 0.
void keyframes_at(const BrimKeyframe *keys, int count, int dim, double time, double value[6],
                  double rate[6]);
