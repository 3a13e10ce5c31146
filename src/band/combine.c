// Band, stage 7: the particles' velocity near the surface, the grid's own below.
#include "band/band.h"
#include "grid/mask.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// How deep a face lies: the mean of its cells, of one where the other does not exist.
static float face_phi(const BrimSim *s, int slot, int cell, int axis) {
    int64_t below = grid_step(&s->grid, slot, cell, axis, -1);
    float phi = s->phi[(int64_t)slot * s->grid.tile_cells + cell];
    return below < 0 ? phi : 0.5f * (phi + s->phi[below]);
}

/// Faces of a tile that touch its interior, are not shut by solids and have a velocity carried
/// along. One that is shut would fall for ever: no pressure holds it.
static TileMask carried_faces(const BrimSim *s, int slot, int axis, const float *carried) {
    const Grid *g = &s->grid;
    TileMask own = mask_load(g, s->interior, slot), wanted = {{0}};
    TileMask low = mask_neighbour(g, s->interior, slot, axis, -1);
    TileMask shut = shut_faces(s, slot, 2 * axis);
    for (int z = 0; z < g->tile_depth; z++) {
        wanted.slice[z] = (own.slice[z] | low.slice[z]) & ~shut.slice[z];
        for (uint64_t bits = wanted.slice[z]; bits; bits &= bits - 1) {
            int bit = __builtin_ctzll(bits);
            if (!(carried[z * 64 + bit] == carried[z * 64 + bit]))
                wanted.slice[z] &= ~(bits & -bits);
        }
    }
    return wanted;
}

/// Lower faces of a tile's cells that touch hidden ones: particles are on one side at most.
static TileMask hidden_faces(const BrimSim *s, int slot, int axis) {
    TileMask faces = mask_load(&s->grid, s->hidden, slot);
    TileMask low = mask_neighbour(&s->grid, s->hidden, slot, axis, -1);
    for (int z = 0; z < s->grid.tile_depth; z++) faces.slice[z] |= low.slice[z];
    return faces;
}

/// One component of a tile. Faces deeper than r = R - 1, and those of hidden cells, take the
/// velocity carried along, the others the particles' (eq. 3); with `density` a blend by the
/// particles' weight (eq. 2). Where no particle gave a velocity the interior has only its own.
/// (velocity: carried along; old: the particles', where they reached the tile) => velocity, old,
/// known
static void combine_component(BrimSim *s, int slot, int axis, bool reached) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    float *carried = s->velocity[axis] + base, *u = s->old[axis] + base;
    const float *weight = s->weight[axis] + base;
    bool blend = s->def.band_combine == BRIM_BAND_DENSITY;
    float inner = band_inner(s);
    TileMask wanted = carried_faces(s, slot, axis, carried);
    TileMask known = mask_load(g, s->known[axis], slot), hidden = hidden_faces(s, slot, axis);
    if (!reached) memset(u, 0, (size_t)g->tile_cells * sizeof *u);
    for (int z = 0; z < g->tile_depth; z++) {
        for (uint64_t bits = wanted.slice[z]; bits; bits &= bits - 1) {
            int i = z * 64 + __builtin_ctzll(bits);
            uint64_t bit = bits & -bits;
            bool given = known.slice[z] & bit;
            if (blend && given)
                u[i] = carried[i] + fminf(1, weight[i]) * (u[i] - carried[i]);
            else if (!given || hidden.slice[z] & bit || face_phi(s, slot, i, axis) < -inner)
                u[i] = carried[i];
        }
        known.slice[z] |= wanted.slice[z];
    }
    mask_store(g, s->known[axis], slot, &known);
    memcpy(carried, u, (size_t)g->tile_cells * sizeof *u);
}

/// Whether all faces of a tile lie deeper than r, touch its interior and have a velocity carried
/// along: the usual case below the band.
static bool all_carried(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    if (s->traced[slot] != TRACED_ALL || s->def.band_combine == BRIM_BAND_DENSITY) return false;
    if (solid_here(s, slot) || !mask_full(g, s->interior, slot)) return false;
    for (int a = -1; a < s->dim; a++) {
        static const int offset[3] = {1, 3, 9};
        int32_t t = a < 0 ? slot : g->neighbour[slot][TILE_SELF - offset[a]];
        if (t >= 0 && s->shallowest[t] >= -band_inner(s)) return false;
    }
    return true;
}

/// A tile that nothing was carried along to.
static void leave_tile(BrimSim *s, int slot, bool reached) {
    size_t cells = (size_t)s->grid.tile_cells, base = (size_t)slot * cells;
    for (int a = 0; a < s->dim; a++) {
        if (!reached) memset(s->old[a] + base, 0, cells * sizeof(float));
        memcpy(s->velocity[a] + base, s->old[a] + base, cells * sizeof(float));
    }
}

static void combine_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    bool whole = all_carried(s, slot), near = particles_near(s, slot), reached = s->reached[slot];
    if (!s->traced[slot]) {
        leave_tile(s, slot, reached);
        return;
    }
    for (int a = 0; a < s->dim; a++) {
        if (!whole) {
            combine_component(s, slot, a, reached);
            continue;
        }
        memset(s->known[a] + (size_t)slot * (size_t)g->tile_rows, 0xff, (size_t)g->tile_rows);
        if (near)
            memcpy(s->old[a] + base, s->velocity[a] + base, (size_t)g->tile_cells * sizeof(float));
    }
}

BrimResult stage_swap(BrimSim *s, BrimError *error) {
    (void)error;
    fields_swap(s, FIELD_velocity, FIELD_carried);
    return BRIM_OK;
}

BrimResult stage_combine(BrimSim *s, BrimError *error) {
    (void)error;
    tiles_for(s, combine_tile, NULL);
    return BRIM_OK;
}
