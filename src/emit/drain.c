// Drains take the particles that are inside them.
#include "base/error.h"
#include "emit/lattice.h"
#include "emit/stream.h"
#include "step/tiles.h"
#include "warp/space.h"

/// Whether a tile meets a box.
static bool meets(const BrimSim *s, int slot, const float low[3], const float high[3]) {
    float first[3], last[3];
    if (s->warp) {
        warp_tile_box(s, slot, TILE, first, last);
        for (int a = 0; a < s->dim; a++)
            if (high[a] < first[a] || low[a] > last[a]) return false;
        return true;
    }
    const int16_t c[3] = {s->grid.coord[slot].x, s->grid.coord[slot].y, s->grid.coord[slot].z};
    for (int a = 0; a < s->dim; a++) // particles may have moved out of their tile: one tile more
        if (high[a] < (float)(c[a] - 1) * TILE * s->dx || low[a] > (float)(c[a] + 2) * TILE * s->dx)
            return false;
    return true;
}

/// A drain at work. far: particles may lie anywhere
typedef struct Draining {
    int index;
    bool far;
    TeamCount taken;
} Draining;

/// Where particles are in space, m.
static void find_places(const BrimSim *s, uint32_t first, int n, float *const x[3]) {
    for (int i = 0; i < n; i++) {
        float at[3];
        for (int a = 0; a < 3; a++) at[a] = s->particles.attr[ATTR_X + a][first + (uint32_t)i];
        if (s->warp) {
            for (int a = 0; a < 3; a++) at[a] = space_to_grid(s->space, at[a]);
            warp_to_place(s, at);
            for (int a = 0; a < 3; a++) at[a] = space_from_grid(s->space, at[a]);
        }
        for (int a = 0; a < 3; a++) x[a][i] = at[a];
    }
}

/// Marks the sorted particles inside a drain.
static void drain_tile(BrimSim *s, int slot, int thread, void *context) {
    Draining *d = context;
    const Drain *drain = &s->drains[d->index];
    int64_t taken = 0;
    Particles *p = &s->particles;
    if (!d->far && !meets(s, slot, drain->low, drain->high)) return;
    uint32_t end = tile_end(p, slot);
    for (uint32_t i = tile_first(p, slot); i < end; i += SEED_BATCH) {
        int n = end - i < SEED_BATCH ? (int)(end - i) : SEED_BATCH;
        float x[3][SEED_BATCH], distance[SEED_BATCH];
        find_places(s, i, n, (float *const[3]){x[0], x[1], x[2]});
        port_distance(drain->shape, drain->mover, n, x[0], x[1], x[2], distance);
        for (int k = 0; k < n; k++) {
            uint32_t at = i + (uint32_t)k;
            if (!(distance[k] < 0) || p->key[at] >= KEY_LEFT) continue;
            if (!drain_takes(s, d->index, particle_words(p, ATTR_ID)[at])) continue;
            p->key[at] = KEY_DRAINED, taken++;
        }
    }
    team_add(&d->taken, taken);
}

void drains_empty(BrimSim *s) {
    bool far = s->drain_count && crosses_tiles(s); // then look at all
    drains_shares(s);
    for (int k = 0; k < s->drain_count; k++) {
        const Drain *d = &s->drains[k];
        double now = s->time + s->dt;
        if (now < d->def.start || now > d->def.stop) continue;
        Draining draining = {k, far, 0};
        tiles_for(s, drain_tile, &draining);
        drain_took(s, k, draining.taken);
    }
}
