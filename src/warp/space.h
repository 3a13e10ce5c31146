// Where the grid of a simulation is in space when it bends: for whatever samples something given
// in space, as solids are, on its nodes.
#pragma once
#include "step/state.h"

/// Whether the mesh moves from step to step.
bool warp_bends(const BrimSim *s);
/// A point of reference space, cells, => the place in space that it stands at, cells.
void warp_to_place(const BrimSim *s, float p[3]);
/// Nodes [z][y][x] from -1 on, `edge` along each axis, of a tile => where they are, m. Those beyond
/// the domain repeat the ones on its sides.
void warp_node_places(const BrimSim *s, int slot, int edge, float *const x[3]);
/// Box in space, m, around a tile and so many cells of reference space.
void warp_tile_box(const BrimSim *s, int slot, float reach, float low[3], float high[3]);
/// Distances in space at nodes of a tile [z][y][x] => those in reference space: over the length of
/// their slope from node to node, which is taken towards the surface.
void warp_reference_distance(const BrimSim *s, int edge, float *phi);
