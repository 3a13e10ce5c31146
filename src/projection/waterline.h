// The waterline: liquid cells whose centres lie in a solid, beside air.
//
// Such a cell's distance to the surface is none: the solid's plane mirrors the liquid below it, or
// a rule made the cell liquid. What lies between it and the air beside is the same surface as
// between the air and the liquid below, so towards air it sees no surface at a part of the way, but
// the pressure that the surface beside it continues to the air cell's centre: less than that on the
// surface by the weight of the liquid in between, as far as the old pressure says that it is held
// and does not fall. A tank in which a solid dips a part of a cell is then at rest.
#pragma once
#include "step/state.h"
#include "walls/solid_masks.h"

/// (pressure of the step before, phi) => waterline. scale: of that pressure to the kick of this
/// one.
void waterline_find(BrimSim *s, float scale);

/// Whether a liquid cell takes the pressure at its air neighbour's centre in direction n, and that
/// pressure, as q, for a weight of `slope` a cell's height, m/s.
bool waterline_pressure(const BrimSim *s, int64_t me, int n, int64_t air, float slope, float *q);

/// `slope` of a liquid cell in this step.
static inline float waterline_slope(const BrimSim *s, int64_t me) {
    int64_t at = solid_cell(s, me);
    return at < 0 ? 0 : s->waterline[at];
}

/// Lower faces of a tile's cells along an axis that belong to a cell whose centre lies in a solid.
static inline TileMask waterline_faces(const BrimSim *s, int slot, int axis) {
    TileMask m = rock_cells(s, slot);
    if (!s->walls.solid_count) return m;
    TileMask below = mask_neighbour(&s->grid, s->rock, slot, axis, -1);
    for (int z = 0; z < s->grid.tile_depth; z++) m.slice[z] |= below.slice[z];
    return m;
}
