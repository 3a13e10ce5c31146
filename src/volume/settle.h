// Seeds beside solids, before the first step.
//
// A lattice does not fill the cells that a solid cuts evenly: they begin up to a tenth too full or
// too empty. The first projection of the density would mend that and lift the surface above, which
// then swings. So errors beside solids are evened out before, below a surface that is held: what
// there is too much of in one place goes where it is missing, and what is left over all is no
// reason to move.
#pragma once
#include "step/state.h"
#include "step/system.h"

/// Does so, where liquid touches solids. Velocities stay.
BrimResult density_settle(BrimSim *s, BrimError *error);

/// Keeps the errors of a tile's cells that have a solid in their kernel. Returns their sums.
DensityErrors settle_errors(const BrimSim *s, int slot, float *error);
/// Faces towards air are as walls.
void settle_shut(const BrimSim *s, Around *around);
