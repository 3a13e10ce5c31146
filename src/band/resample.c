// Band, stage 3: particles below the band go, those that rise into it come.
//
// The liquid below the band is thought of as filled with particles that nobody keeps. One of them
// that the flow carries up into the band must be there: a lattice point of the band is seeded when
// its path back ends in a cell that was hidden before the step. What the flow carries down goes
// when it enters a hidden cell. So liquid is made and taken as the flow moves it across the band's
// edge, no more on one side than on the other, and never by how many particles a cell happens to
// hold.
#include "band/rise.h"
#include "base/hash.h"
#include "emit/stream.h"
#include "grid/mask.h"
#include "particles/seed.h"
#include "walls/solid_masks.h"
#include "warp/space.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------- particles go

/// Marks the particles of [first, end) that are in hidden cells, and those of the rim that are too
/// many. Returns how many.
static uint32_t take(BrimSim *s, const BandExchange *e, uint32_t first, uint32_t end) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells;
    uint32_t *key = s->particles.key, taken = 0;
    for (uint32_t i = first; i < end; i++) {
        if (key[i] >= KEY_GONE) continue;
        int32_t slot = s->grid.slot_of[key[i] / cells];
        if (slot < 0) continue;
        int64_t cell = (int64_t)slot * cells + key[i] % cells;
        bool goes = band_bit(e->hidden, cell);
        if (e->extra < 0 && band_bit(e->edge, cell)) {
            uint64_t h = hash_3(s->def.seed, particle_words(&s->particles, ATTR_ID)[i],
                                (uint64_t)s->step + 1);
            goes |= hash_unit(h, 0) < -e->extra;
        }
        if (goes) key[i] = KEY_HIDDEN, taken++;
    }
    return taken;
}

// -------------------------------------------------------------------------------- particles come

/// Velocity, and with APIC its gradient, of the liquid that came from a point.
static void give_velocity(BrimSim *s, int slot, const float from[3], uint32_t i) {
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    bool affine = particles_carry(p, ROW_AFFINE);
    for (int a = 0; a < 3; a++) {
        float gradient[3] = {0}, v = 0;
        if (a < s->dim) {
            float node[3] = {0};
            for (int b = 0; b < s->dim; b++)
                node[b] = (float)tile[b] + from[b] - (a == b ? 0 : 0.5f);
            v = band_velocity(s, a, node, affine ? gradient : NULL);
        }
        p->attr[ATTR_VX + a][i] = v;
        for (int b = 0; b < 3 && affine; b++) p->attr[ATTR_AFFINE + 3 * a + b][i] = gradient[b];
    }
}

void band_inherit(BrimSim *s, uint32_t i) {
    Particles *p = &s->particles;
    const Grid *g = &s->grid;
    float least = INFINITY;
    uint32_t nearest = i;
    int at[3] = {0};
    particle_start(p, i, 0);
    for (int a = 0; a < s->dim; a++) at[a] = (int)space_to_grid(s->space, p->attr[ATTR_X + a][i]);
    for (int n = 0; n < (s->dim == 3 ? 27 : 9); n++) {
        int64_t cell = grid_cell(g, at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1,
                                 s->dim == 3 ? at[2] + n / 9 - 1 : 0);
        if (cell < 0) continue;
        const uint32_t *start = cell_starts_from(p, g, cell);
        for (uint32_t k = start[0]; k < start[1]; k++) {
            float d2 = 0;
            for (int a = 0; a < s->dim; a++) {
                float d = p->attr[ATTR_X + a][k] - p->attr[ATTR_X + a][i];
                d2 += d * d;
            }
            if (d2 < least) least = d2, nearest = k;
        }
    }
    particle_inherit(p, i, nearest);
}

/// Makes particle i of a tile.
static void fill_point(BrimSim *s, int slot, const Risen *risen, uint32_t i) {
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int a = 0; a < 3; a++)
        p->attr[ATTR_X + a][i] = a < s->dim ? ((float)tile[a] + risen->at[a]) * s->dx : 0;
    give_velocity(s, slot, risen->from, i);
    if (particles_inherit(p)) band_inherit(s, i);
    p->key[i] =
        cell_key(&s->grid, s->space, p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]);
}

/// Where a particle is in space, m.
static void place_of(const BrimSim *s, uint32_t i, float *x, float *y, float *z) {
    float *const *attr = s->particles.attr, at[3];
    for (int a = 0; a < 3; a++) at[a] = attr[ATTR_X + a][i];
    for (int a = 0; a < 3 && s->warp; a++) at[a] = space_to_grid(s->space, at[a]);
    if (s->warp) warp_to_place(s, at);
    for (int a = 0; a < 3 && s->warp; a++) at[a] *= s->dx;
    *x = at[0], *y = at[1], *z = at[2];
}

/// What a drain's shape holds of the particles in [first, end) is gone at once.
static void drain_new(BrimSim *s, uint32_t first, uint32_t end) {
    Particles *p = &s->particles;
    double now = s->time + s->dt;
    for (int k = 0; k < s->drain_count; k++) {
        const Drain *d = &s->drains[k];
        if (now < d->def.start || now > d->def.stop || drain_limits(d)) continue;
        for (uint32_t i = first; i < end; i += SEED_BATCH) {
            int n = end - i < SEED_BATCH ? (int)(end - i) : SEED_BATCH;
            float distance[SEED_BATCH], at[3][SEED_BATCH];
            for (int m = 0; m < n; m++)
                place_of(s, i + (uint32_t)m, &at[0][m], &at[1][m], &at[2][m]);
            port_distance(d->shape, d->mover, n, at[0], at[1], at[2], distance);
            for (int m = 0; m < n; m++)
                if (distance[m] < 0) p->key[i + (uint32_t)m] = KEY_DRAINED;
        }
    }
}

/// What rises into the band of all tiles.
typedef struct Rising {
    const BandExchange *e;
    RisenTile *risen; ///< [tiles]
    uint32_t first;   ///< index of the first particle made
    TeamCount failed; ///< tiles that ran out of memory
} Rising;

static void find_risen(BrimSim *s, int slot, int thread, void *context) {
    Rising *r = context;
    const ThreadScratch *scratch = &s->scratch[thread];
    size_t first = scratch->risen_count;
    if (mask_any(&s->grid, r->e->rim, slot) && band_any_near(s, s->hidden, slot))
        team_add(&r->failed, !band_rising(s, r->e, slot, thread));
    r->risen[slot] = (RisenTile){.thread = (uint32_t)thread,
                                 .first = (uint32_t)first,
                                 .count = (uint32_t)(scratch->risen_count - first)};
}

static void fill_tile(BrimSim *s, int slot, int thread, void *context) {
    const Rising *r = context;
    const RisenTile *t = &r->risen[slot];
    for (uint32_t k = 0; k < t->count; k++) {
        uint32_t place = t->place + k;
        r->e->fill(s, slot, &s->scratch[t->thread].risen[t->first + k], r->first + place);
        particle_words(&s->particles, ATTR_ID)[r->first + place] = s->next_id + place;
    }
}

/// Appends what rose into the band. False when out of memory.
static bool make(BrimSim *s, const BandExchange *e) {
    int tiles = s->grid.tile_count;
    Particles *p = &s->particles;
    RisenTile *risen = s->risen;
    Rising rising = {.e = e, .risen = risen, .first = (uint32_t)p->count};
    for (int i = 0; i < s->threads_most; i++) s->scratch[i].risen_count = 0;
    tiles_for(s, find_risen, &rising);
    if (rising.failed) return false;
    size_t sum = 0, first = p->count;
    for (int t = 0; t < tiles; t++) {
        risen[t].place = (uint32_t)sum;
        sum += risen[t].count;
    }
    if (first + sum > UINT32_MAX - 16 || !particles_reserve(p, first + sum)) return false;
    p->count += sum;
    tiles_for(s, fill_tile, &rising);
    s->next_id += (uint32_t)sum;
    s->band.resampled += (int64_t)sum;
    drain_new(s, (uint32_t)first, (uint32_t)p->count);
    return true;
}

// ------------------------------------------------------------------------------------ the account

/// Part of all that may be missing: chasing it would stir water at rest.
static const double SLACK = 1e-3;

/// Liquid below the band in a tile, in particles. context: [tiles]
static void count_tile(BrimSim *s, int slot, int thread, void *context) {
    RisenTile *tile = (RisenTile *)context + slot;
    TileMask below = band_below_cells(s, slot);
    double sum = 0;
    for (int z = 0; z < s->grid.tile_depth; z++) {
        sum += __builtin_popcountll(below.slice[z]);
        if (!solid_here(s, slot)) continue;
        for (uint64_t bits = below.slice[z]; bits; bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            sum -= (double)solid_volume_of(s, (int64_t)slot * s->grid.tile_cells + cell);
        }
    }
    tile->hidden = sum * s->def.particles_per_cell;
}

/// What is missing of all liquid when so many particles are taken: hidden liquid and particles made
/// less those taken are together what they were at the start, none.
static double missing(BrimSim *s, int64_t taken) {
    double hidden = 0, waiting = 0;
    tiles_for(s, count_tile, s->risen);
    for (int t = 0; t < s->grid.tile_count; t++) hidden += s->risen[t].hidden;
    if (s->band.swallowed_count) // what has not yet flown on
        waiting = (double)s->band.swallowed_count * s->band.swallow_left / s->band.swallow_time;
    return (double)(taken - s->band.resampled) - hidden - waiting;
}

/// Paths do not bring exactly as much as goes: sums of chance walk, and where a step crosses many
/// cells or a wall is near they are off. Where density projection makes volume of particles, what
/// is then missing in the whole account is made good, and what is too much goes: everywhere along
/// the band's edge alike, so that no wave is lifted. As a part of the particles there.
static float surplus(BrimSim *s, const BandExchange *e, int64_t taken) {
    double due = (double)(s->seeded + s->emitted - s->drained - s->left), slack = SLACK * due;
    if (s->def.volume == BRIM_VOLUME_NONE) return 0;
    double all = missing(s, taken), over = all - fmin(fmax(all, -slack), slack), cells = 0;
    for (int t = 0; t < s->grid.tile_count && over != 0; t++) {
        if (!mask_any(&s->grid, e->edge, t) || !band_any_near(s, s->hidden, t)) continue;
        for (int z = 0; z < s->grid.tile_depth; z++)
            cells += __builtin_popcountll(mask_word(&s->grid, e->edge, t, z));
    }
    if (cells == 0) return 0;
    return (float)fmin(fmax(over / (cells * s->def.particles_per_cell), -1), 1);
}

/// An exchange at work.
typedef struct Taking {
    const BandExchange *e;
    TeamCount taken;
} Taking;

/// Takes from a tile's particles. context: Taking
static void take_tile(BrimSim *s, int slot, int thread, void *context) {
    Taking *t = context;
    if (t->e->far || band_any_near(s, t->e->hidden, slot))
        team_add(&t->taken,
                 take(s, t->e, tile_first(&s->particles, slot), tile_end(&s->particles, slot)));
}

static int64_t take_all(BrimSim *s, const BandExchange *e) {
    Taking taking = {.e = e};
    tiles_for(s, take_tile, &taking);
    return (int64_t)taking.taken +
           take(s, e, (uint32_t)s->particles.sorted, (uint32_t)s->particles.count);
}

bool band_exchange(BrimSim *s, const BandExchange *e, int64_t *taken) {
    const int64_t gone = take_all(s, e);
    if (!make(s, e)) return false;
    memcpy(s->interior, s->next_interior, sim_rows(s));
    memcpy(s->hidden, s->next_hidden, sim_rows(s));
    if (taken) *taken = gone;
    return true;
}

/// False when out of memory.
static bool exchange(BrimSim *s) {
    if (!s->grid.tile_count) return true; // no liquid yet, and no fields
    const BandNext next = band_next(s);
    BandExchange e = {next.hidden, next.rim, next.edge, 0, crosses_tiles(s), fill_point};
    int64_t taken;
    if (!band_exchange(s, &e, &taken)) return false;
    e.extra = surplus(s, &e, taken);
    if (e.extra < 0) take_all(s, &e);
    return e.extra <= 0 || make(s, &e);
}

BrimResult stage_exchange(BrimSim *s, BrimError *error) {
    return exchange(s) ? BRIM_OK : step_out_of_memory(s, "band", error);
}
