// What solids and sides do to a tile's cells, as masks.
#pragma once
#include "grid/mask.h"
#include "step/state.h"

/// Whether a solid meets a tile.
static inline bool solid_here(const BrimSim *s, int slot) {
    return s->walls.solid_count && s->tile_solid[slot] != SOLID_FAR;
}

/// Cells of a tile whose face in direction n (x-, x+, y-, ...) a solid shuts.
static inline TileMask shut_faces(const BrimSim *s, int slot, int n) {
    if (!solid_here(s, slot)) return (TileMask){{0}};
    const uint8_t *shut = s->shut[n >> 1];
    return n & 1 ? mask_neighbour(&s->grid, shut, slot, n >> 1, 1)
                 : mask_load(&s->grid, shut, slot);
}

/// Cells of a tile with a face that is not wholly open: the kernels for rows do not know those.
static inline TileMask cut_cells(const BrimSim *s, int slot) {
    TileMask m = {{0}};
    if (!solid_here(s, slot)) return m;
    for (int a = 0; a < s->dim; a++) {
        TileMask low = mask_load(&s->grid, s->cut[a], slot);
        TileMask high = mask_neighbour(&s->grid, s->cut[a], slot, a, 1);
        for (int z = 0; z < s->grid.tile_depth; z++) m.slice[z] |= low.slice[z] | high.slice[z];
    }
    return m;
}

/// Lower faces of a tile's cells along an axis that are not wholly open.
static inline TileMask cut_faces(const BrimSim *s, int slot, int axis) {
    return solid_here(s, slot) ? mask_load(&s->grid, s->cut[axis], slot) : (TileMask){{0}};
}

/// Cells of a tile without an open face. A face beyond the last tile does not count.
static inline TileMask closed_cells(const BrimSim *s, int slot) {
    static const int offset[3] = {1, 3, 9};
    TileMask m = {{0}};
    if (!solid_here(s, slot)) return m;
    m = mask_load(&s->grid, s->shut[0], slot);
    for (int n = 1; n < 2 * s->dim; n++) {
        TileMask shut = shut_faces(s, slot, n), last = {{0}};
        if (n & 1 && s->grid.neighbour[slot][TILE_SELF + offset[n >> 1]] < 0)
            last = mask_tile_layer(&s->grid, n >> 1, TILE - 1);
        for (int z = 0; z < s->grid.tile_depth; z++) m.slice[z] &= shut.slice[z] | last.slice[z];
    }
    return m;
}

/// Cells of a tile whose centres lie in a solid.
static inline TileMask rock_cells(const BrimSim *s, int slot) {
    return solid_here(s, slot) ? mask_load(&s->grid, s->rock, slot) : (TileMask){{0}};
}

/// Cells of a tile inside the domain and not beside an open side, where pressure is zero.
static inline TileMask bound_cells(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    TileMask m = mask_inside(g, slot);
    for (int n = 0; n < 2 * s->dim; n++) {
        if (!s->sides.open[n]) continue;
        TileMask side = mask_side(g, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++) m.slice[z] &= ~side.slice[z];
    }
    return m;
}
