// The linear systems of pressure and density: on tiles that have unknowns alone.
#pragma once
#include "step/state.h"

/// The tiles with at [tiles] > 0, which is 1 + their place in the order of slots, become the grid
/// of the system to come, and its arrays get the memory of the solver. => projection.system,
/// coefficient, diagonal, rhs. False: out of memory.
bool system_begin(BrimSim *s, const int32_t *at);
/// Gives the system to the solver; coefficient and diagonal are gone after that. False: out of
/// memory.
bool system_prepare(BrimSim *s);
/// Whether the solver's system has a cell as an unknown. row: its place there
static inline bool system_has(const BrimSim *s, int64_t row) {
    return poisson_has(s->projection.poisson, (int)(row / s->grid.tile_cells),
                       (int)(row % s->grid.tile_cells));
}

/// Wet tiles get places in the order of slots, and the pressure follows. (wet) => wet_at. False:
/// out of memory.
bool wet_arrange(BrimSim *s);
/// All tiles do: where the pressure is one of nodes, or comes from a file.
bool wet_arrange_all(BrimSim *s);
