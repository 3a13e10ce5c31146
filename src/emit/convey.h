// Particles inside sources go with them.
#pragma once
#include "step/state.h"

/// Finds where particles inside running sources will be at the end of the step: on the lattice of
/// the stream, as those that the source emits. Not beside solids and sides that the stream runs
/// into: there the flow decides. False when out of memory.
bool convey_find(BrimSim *s);
/// Puts a tile's particles there, with the source's velocity.
void convey_tile(BrimSim *s, int slot);
/// Displacements move no particle that is inside a source, and none into one: remembers where they
/// are, and puts them back there. After inlets_find. False when out of memory.
bool convey_hold(BrimSim *s);
void convey_restore(BrimSim *s);
size_t convey_bytes(const BrimSim *s);
void convey_free(BrimSim *s);
