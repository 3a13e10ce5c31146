// Which cells around a tile hold particles, as bits of rows.
#pragma once
#include "step/state.h"

/// Cells beyond a tile that are looked at: as far as a node's averaged position sees.
enum { SEEN = 2, ROWS = TILE + 2 * SEEN };

/// Bit x + 2 of [z + 2][y + 2]; in 2D [0].
typedef struct Occupied {
    uint16_t row[ROWS][ROWS];
} Occupied;

/// beyond: what cells outside the domain and inside solids count as.
void find_occupied(const BrimSim *s, int slot, bool beyond, Occupied *o);
