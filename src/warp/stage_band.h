// The narrow band on a warped mesh, stage by stage; see band/band.h.
#pragma once
#include "band/band.h"

/// After particles have moved: (velocity, phi on the old mesh) => carried, path; next masks
BrimResult warp_trace(BrimSim *s, BrimError *error);
/// Particles below the band go, those that rise into it come; what is then missing of the liquid,
/// the particles at the band's edge stand for.
BrimResult warp_exchange(BrimSim *s, BrimError *error);
/// (carried, particles' velocity) => velocity, old, known
BrimResult warp_combine(BrimSim *s, BrimError *error);

/// Cells that hold points of the seeding lattice, also inside solids, [box tile][row] => hidden,
/// interior. False: out of memory.
bool warp_hide(BrimSim *s, const uint8_t *filled);
/// Velocities of a simulation that begins. => carried
void warp_start_velocity(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                         int count);
/// Depths from those of fixed cells inwards, from the tiles that are lit. (cell_depth, cell_deeper,
/// fixed, lit) => both depths; the lesser counts
void warp_deepen(BrimSim *s);
/// Sums of the hidden liquid of a tile, for the statistics. => added to out
void warp_add_hidden(const BrimSim *s, int slot, int thread, TileSums *out);
