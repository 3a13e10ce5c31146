// Band, stage 3: particles below the band go, those that rise into it come.
//
// The liquid below the band is thought of as filled with particles that nobody keeps. One of them
// that the flow carries up into the band must be there: a lattice point of the band is seeded when
// its path back ends in a cell that was hidden before the step. What the flow carries down goes
// when it enters a hidden cell. So liquid is made and taken as the flow moves it across the band's
// edge, no more on one side than on the other, and never by how many particles a cell happens to
// hold.
#include "grid/mask.h"
#include "particles/seed.h"
#include "step/band_rise.h"
#include <math.h>
#include <omp.h>
#include <string.h>

// ---------------------------------------------------------------------------------- particles go

/// Whether any of the 27 tiles around one has a bit in a mask.
static bool any_near(const BrimSim *s, const uint8_t *mask, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t < 0) continue;
        for (int z = 0; z < s->grid.tile_depth; z++)
            if (mask_word(&s->grid, mask, t, z)) return true;
    }
    return false;
}

/// Marks the particles of [first, end) that are in hidden cells.
static void take(BrimSim *s, const uint8_t *hidden, uint32_t first, uint32_t end) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells;
    uint32_t *key = s->particles.key;
    for (uint32_t i = first; i < end; i++) {
        if (key[i] >= KEY_GONE) continue;
        int32_t slot = s->grid.slot_of[key[i] / cells];
        if (slot >= 0 && band_bit(hidden, (int64_t)slot * cells + key[i] % cells))
            key[i] = KEY_HIDDEN;
    }
}

// -------------------------------------------------------------------------------- particles come

static uint32_t count_tile(const BrimSim *s, const BandExchange *e, int slot) {
    return mask_any(&s->grid, e->rim, slot) && any_near(s, s->hidden, slot)
               ? band_rising(s, e, slot, NULL, NULL)
               : 0;
}

/// Velocity, and with APIC its gradient, of the liquid that came from a point.
static void give_velocity(BrimSim *s, const BandExchange *e, int slot, const float from[3],
                          uint32_t i) {
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int a = 0; a < 3; a++) {
        float gradient[3] = {0}, v = 0;
        if (a < s->dim) {
            float node[3] = {0};
            for (int b = 0; b < s->dim; b++)
                node[b] = (float)tile[b] + from[b] - (a == b ? 0 : 0.5f);
            v = band_velocity(s, e->velocity[a], a, node, p->affine ? gradient : NULL);
        }
        p->attr[ATTR_VX + a][i] = v;
        for (int b = 0; b < 3 && p->affine; b++) p->attr[ATTR_AFFINE + 3 * a + b][i] = gradient[b];
    }
}

/// Where the next particle of a tile goes.
typedef struct Filler {
    BrimSim *s;
    const BandExchange *e;
    int slot;
    uint32_t next, id;
} Filler;

static void fill_point(void *context, const float at[3], const float from[3]) {
    Filler *f = context;
    BrimSim *s = f->s;
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[f->slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    uint32_t i = f->next++;
    for (int a = 0; a < 3; a++)
        p->attr[ATTR_X + a][i] = a < s->dim ? ((float)tile[a] + at[a]) * s->dx : 0;
    give_velocity(s, f->e, f->slot, from, i);
    p->id[i] = f->id++;
    p->key[i] =
        cell_key(&s->grid, s->inv_dx, p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]);
}

/// What a drain's shape holds of the particles in [first, end) is gone at once.
static void drain_new(BrimSim *s, uint32_t first, uint32_t end) {
    Particles *p = &s->particles;
    double now = s->time + s->dt;
    for (int k = 0; k < s->drain_count; k++) {
        const Drain *d = &s->drains[k];
        if (now < d->def.start || now > d->def.stop) continue;
        for (uint32_t i = first; i < end; i += SEED_BATCH) {
            int n = end - i < SEED_BATCH ? (int)(end - i) : SEED_BATCH;
            float distance[SEED_BATCH];
            shape_distance(d->shape, n, p->attr[ATTR_X] + i, p->attr[ATTR_Y] + i,
                           p->attr[ATTR_Z] + i, distance);
            for (int m = 0; m < n; m++)
                if (distance[m] < 0) p->key[i + (uint32_t)m] = KEY_DRAINED;
        }
    }
}

/// Appends what rose into the band. False when out of memory.
static bool make(BrimSim *s, const BandExchange *e) {
    int tiles = s->grid.tile_count;
    Particles *p = &s->particles;
    uint32_t *count = (uint32_t *)(void *)s->rhs; // [tiles + 1], far smaller than a field
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 2)
    for (int t = 0; t < tiles; t++) count[t] = count_tile(s, e, t);
    size_t sum = 0;
    for (int t = 0; t <= tiles; t++) {
        uint32_t here = t < tiles ? count[t] : 0;
        count[t] = (uint32_t)sum;
        sum += here;
    }
    size_t first = p->count;
    if (first + sum > UINT32_MAX - 16 || !particles_reserve(p, first + sum)) return false;
    p->count += sum;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 2)
    for (int t = 0; t < tiles; t++)
        if (count[t + 1] > count[t]) {
            Filler f = {s, e, t, (uint32_t)first + count[t], s->next_id + count[t]};
            band_rising(s, e, t, fill_point, &f);
        }
    s->next_id += (uint32_t)sum;
    s->resampled += (int64_t)sum;
    s->band_raised += (double)sum;
    drain_new(s, (uint32_t)first, (uint32_t)p->count);
    return true;
}

/// `far`: particles may have moved farther than a tile.
static bool exchange(BrimSim *s, const BandExchange *e, bool far) {
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < s->grid.tile_count; t++)
        if (far || any_near(s, e->hidden, t))
            take(s, e->hidden, tile_first(&s->particles, &s->grid, t),
                 tile_end(&s->particles, &s->grid, t));
    take(s, e->hidden, (uint32_t)s->particles.sorted, (uint32_t)s->particles.count);
    return make(s, e);
}

/// BandExchanges favour neither side, but sums of chance walk, and displacements are larger where
/// particles are denser. Where density projection makes volume of particles, what is missing in the
/// whole account, or is too much, comes back within a few steps by the share of the rising liquid
/// that becomes particles.
static float share(const BrimSim *s) {
    enum { STEPS = 4 };
    if (s->def.volume == BRIM_VOLUME_NONE) return 1;
    double more = s->band_missing / (STEPS * fmax(s->band_raised, 1));
    return (float)fmin(fmax(1 + more, 0), 2);
}

bool band_resample(BrimSim *s) {
    BandNext next = band_next(s);
    s->band_share = share(s);
    s->band_raised = 0;
    const BandExchange e = {next.hidden, next.rim,      s->coefficient,
                            false,       s->band_share, s->velocity};
    if (!exchange(s, &e, reach_estimate(s) > TILE)) return false;
    memcpy(s->interior, next.interior, sim_rows(s));
    memcpy(s->hidden, next.hidden, sim_rows(s));
    return true;
}

// --------------------------------------------------------------------- after density projection

/// Cells up to `layers` faces away from hidden ones, and not hidden. => rim, by way of `spare`
static void find_rim(const BrimSim *s, int layers, uint8_t *rim, uint8_t *spare) {
    const Grid *g = &s->grid;
    memcpy(rim, s->hidden, sim_rows(s));
    for (int k = 0; k < layers; k++) {
        memcpy(spare, rim, sim_rows(s));
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 8)
        for (int t = 0; t < g->tile_count; t++) {
            TileMask m = mask_load(g, spare, t);
            for (int n = 0; n < 2 * s->dim; n++) {
                TileMask near = mask_neighbour(g, spare, t, n >> 1, n & 1 ? 1 : -1);
                for (int z = 0; z < g->tile_depth; z++) m.slice[z] |= near.slice[z];
            }
            mask_store(g, rim, t, &m);
        }
    }
    for (int t = 0; t < g->tile_count; t++) {
        TileMask m = mask_load(g, rim, t), hidden = mask_load(g, s->hidden, t);
        TileMask inside = mask_inside(g, t);
        for (int z = 0; z < g->tile_depth; z++) m.slice[z] &= ~hidden.slice[z] & inside.slice[z];
        mask_store(g, rim, t, &m);
    }
}

bool band_resample_shift(BrimSim *s, float largest) {
    BandNext next = band_next(s);
    find_rim(s, 2 + (int)largest, next.rim, next.interior);
    const BandExchange e = {s->hidden, next.rim, s->velocity, true, s->band_share, s->old};
    return exchange(s, &e, false);
}
