// What the parts of the library that make and keep simulations share.
#pragma once
#include "emit/emit.h"

/// A simulation with its solids, sources and drains, but without particles. `shapes` receives one
/// shape for each region of liquid; free them with sim_free_shapes.
BrimResult sim_build(const BrimSimDef *def, BrimSim **sim, Shape ***shapes, BrimError *error);
void sim_free_shapes(Shape ***shapes, int count);
/// Its liquid. Counts first, so that what is too large is refused before it is allocated.
BrimResult sim_seed(BrimSim *s, const BrimSimDef *def, Shape **shapes, BrimError *error);
/// Fails with the reason of the loss when a step has lost the simulation.
BrimResult sim_check_intact(const BrimSim *s, BrimError *error);
/// Bytes that a simulation of so many particles on so many tiles needs.
double sim_memory(const BrimSim *s, double particles, double tiles);
/// Bytes that the def or the machine allows.
double sim_memory_limit(const BrimSim *s);
/// Refuses what is beyond the def's limit or the machine's memory.
BrimResult sim_check_memory(const BrimSim *s, double particles, double tiles, BrimError *error);
/// Tiles that exist around those marked in [tile box]; marks them.
size_t sim_dilate(const BrimSim *s, uint8_t *tiles);
