// Faces whose density is not that of the scene's liquid, between liquids or in immersed bodies.
//
// With beta = rho_0 / rho of a face, rho_0 the scene's density, the pressure's force changes a
// velocity by beta times what it does in the liquid: beta multiplies the face's coefficient in the
// system (ghost fluid and open part alike) and the gradient that is subtracted. Particles -> grid
// writes it from the particles' attribute `mass`; where particles have none, nothing of this is
// there and all functions say so at once.
#pragma once
#include "grid/mask.h"
#include "step/state.h"

/// beta of a lower face along an axis.
static inline float inverse_density(const BrimSim *s, int axis, int64_t face) {
    bool mixed = s->mixed[0] && face >= 0 && (s->mixed[axis][face >> 3] >> (face & 7) & 1);
    return mixed ? s->inverse_density[axis][face] : 1;
}

/// Lower faces of a tile's cells along an axis with a beta.
static inline TileMask mixed_faces(const BrimSim *s, int slot, int axis) {
    return s->mixed[0] ? mask_load(&s->grid, s->mixed[axis], slot) : (TileMask){{0}};
}

/// Cells of a tile with such a face.
static inline TileMask mixed_cells(const BrimSim *s, int slot) {
    TileMask m = {{0}};
    for (int a = 0; a < s->dim && s->mixed[0]; a++) {
        TileMask low = mask_load(&s->grid, s->mixed[a], slot);
        TileMask high = mask_neighbour(&s->grid, s->mixed[a], slot, a, 1);
        for (int z = 0; z < s->grid.tile_depth; z++) m.slice[z] |= low.slice[z] | high.slice[z];
    }
    return m;
}
