// How much liquid a cell beside solids holds.
#pragma once
#include "walls/solid_fine.h"

/// Distances around a tile from which the parts of cells are told; see solid_nodes.
SolidNodes part_nodes(const BrimSim *s, int slot, int thread);

/// The part of a cell's free room that liquid fills, 0 to 1, as the density counts it: particles
/// and hidden liquid by the trilinear kernel about the cell's centre, over what solids leave of
/// that kernel. Only what hangs together with the cell's own part counts, so that liquid beyond a
/// thin wall is none of it.
float liquid_part(const BrimSim *s, const SolidNodes *nodes, int slot, int cell);

/// Takes what lies beyond thin walls out of the density of a tile's cells, before that of solids
/// [cells]: the liquid there, and, as if it were solid, the room. So that water on one side of a
/// wall does not press on the other.
void part_density(const BrimSim *s, const SolidNodes *nodes, int slot, float *density);
