// Band, stage 7: the particles' velocity near the surface, the grid's own below.
#include "step/band.h"
#include <math.h>
#include <string.h>

/// How deep a face lies: the mean of its cells, of one where the other does not exist.
static float face_phi(const BrimSim *s, int64_t cell, int64_t below) {
    return below < 0 ? s->phi[cell] : 0.5f * (s->phi[cell] + s->phi[below]);
}

/// One component of a tile. Faces deeper than r = R - 1 take the velocity carried along, the others
/// the particles' (eq. 3); with `density` a blend by the particles' weight (eq. 2). Where no
/// particle gave a velocity the interior has only its own.
static void combine_component(BrimSim *s, int slot, int axis) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    float *u = s->velocity[axis] + base, *carried = s->old[axis] + base;
    const float *weight = s->coefficient[axis] + base;
    uint8_t *known = s->known[axis] + (size_t)slot * (size_t)g->tile_rows;
    bool blend = s->def.band_combine == BRIM_BAND_DENSITY;
    float inner = band_inner(s);
    for (int i = 0; i < g->tile_cells && s->traced[slot]; i++) {
        int64_t me = (int64_t)base + i, below = grid_step(g, slot, i, axis, -1);
        bool given = known[i >> 3] >> (i & 7) & 1;
        bool interior = band_bit(s->interior, me) || (below >= 0 && band_bit(s->interior, below));
        if (!interior || !(carried[i] == carried[i])) continue;
        if (blend && given)
            u[i] = carried[i] + fminf(1, weight[i]) * (u[i] - carried[i]);
        else if (!given || (!blend && face_phi(s, me, below) < -inner))
            u[i] = carried[i];
        known[i >> 3] |= (uint8_t)(1 << (i & 7));
    }
    memcpy(carried, u, (size_t)g->tile_cells * sizeof *u);
}

void band_combine(BrimSim *s) {
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < s->grid.tile_count; t++)
        for (int a = 0; a < s->dim; a++) combine_component(s, t, a);
}
