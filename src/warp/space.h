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
/// A new particle with its position in space: to reference space; as large as in the seeding of a
/// regular grid. (x) => (x, volume, key)
void warp_take_in(BrimSim *s, size_t i);
/// The point of reference space that stands at a place in space, cells both.
void warp_from_place(const BrimSim *s, const double x[3], double xi[3]);
/// Distance to the surface in space, cells, and pressure as the field is, between nodes at a point
/// of reference space.
double warp_level_at(const BrimSim *s, const double xi[3]);
double warp_pressure_at(const BrimSim *s, const double xi[3]);
