// Loops over the tiles of a simulation: what of a step is parallel.
//
// One call is one loop over all tiles, each by one thread, in no particular order; the next
// begins when all are done (base/team.h). A task writes what belongs to its tile and reads of other
// tiles only what the loop does not write. What is summed over tiles is kept for each of them and
// added in the order of slots.
#pragma once
#include "step/state.h"

/// Works on a tile. thread: whose scratch, s->scratch[thread], it may use.
typedef void TileTask(BrimSim *s, int slot, int thread, void *context);

void tiles_for(BrimSim *s, TileTask *task, void *context);
/// The same for tiles [first, end).
void tiles_between(BrimSim *s, int first, int end, TileTask *task, void *context);
