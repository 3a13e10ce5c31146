// The tracked surface: smooth by the particles' planes where water is calm, rough by their
// positions where it is not. Section numbers: docs/numerics.md.
#include "surface/track.h"
#include "band/band.h"
#include "surface/normal.h"
#include "surface/surface.h"
#include "surface/track_tiles.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Cells as far as which the rough surface is made a distance for its filter.
enum { FILTER_REACH = 5 };
/// Farther out averages of few positions are no distances; cells.
static const float ROUGH_KEPT = 0.75f;
/// Taubin's filter: a step inwards and one out again.
static const float FILTER_IN = 0.5f, FILTER_OUT = -0.53f;
/// Where the filter counts, and where memory may not err by more than half a cell; cells. (Deeper
/// the average of positions errs by as much itself.)
static const float FILTERED = 1.2f, BOUND = 0.5f;
/// Differences between memory and positions from which on memory fades at once, over as much.
static const float ASTRAY = 0.3f;

bool track_near(const BrimSim *s, int slot, uint8_t bit) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->track_tile[t] & bit) return true;
    }
    return false;
}

/// Cells of a row with one of a mask among the 3 x 3 x 3 around them.
static uint8_t row_any(const PaddedRows *rows, int dim, int y, int z) {
    unsigned any = 0;
    for (int k = dim == 3 ? -1 : 0; k <= (dim == 3 ? 1 : 0); k++)
        for (int j = -1; j <= 1; j++) any |= rows->at[z + 1 + k][y + 1 + j];
    return (uint8_t)((any | any << 1 | any >> 1) >> 1);
}

// ------------------------------------------------------------------------------ where to look

/// => near_air, TRACK_AIR. Only cells that see particles count.
static void find_air(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_rows;
    PaddedRows full, seen;
    uint8_t any = 0;
    pad_rows(s, full_cells(s), slot, 0xff, &full);
    pad_rows(s, s->particles.occupied, slot, 0, &seen);
    for (int r = 0; r < g->tile_rows; r++) {
        uint8_t cells = (uint8_t)~row_deep(&full, s->dim, r & 7, r >> 3);
        cells &= row_any(&seen, s->dim, r & 7, r >> 3) & row_inside(g, slot, r);
        s->near_air[base + (size_t)r] = cells;
        any |= cells;
    }
    s->track_tile[slot] = any ? TRACK_AIR : 0;
}

/// => TRACK_NEAR: cells are measured there, or beside it; TRACK_AROUND: their particles are seen
static void mark_tiles(BrimSim *s) {
    for (int t = 0; t < s->grid.tile_count; t++)
        if (track_near(s, t, TRACK_AIR)) s->track_tile[t] |= TRACK_NEAR;
    for (int t = 0; t < s->grid.tile_count; t++)
        if (track_near(s, t, TRACK_NEAR)) s->track_tile[t] |= TRACK_AROUND;
}

// --------------------------------------------------------------------------- particles unpacked

/// alpha, eq. (20): 1 for slow particles, 0 for fast ones.
typedef struct Fade {
    float high, inverse;
    bool square;
} Fade;

static Fade fade_of(const BrimSim *s) {
    bool square = s->def.tracking_blend == BRIM_BLEND_SQUARE;
    double low = square ? s->speed_low * s->speed_low : s->speed_low;
    double high = square ? s->speed_high * s->speed_high : s->speed_high;
    return (Fade){(float)high, (float)(1 / fmax(high - low, 1e-6 * high + 1e-30)), square};
}

static float alpha(const Fade *fade, float speed2) {
    float a = (fade->high - (fade->square ? speed2 : sqrtf(speed2))) * fade->inverse;
    return a < 0 ? 0 : a > 1 ? 1 : a;
}

/// What the sort keeps for its own use holds normals until the stage is over; the word of a normal
/// how much of the past counts.
TrackSeen track_seen(const BrimSim *s) {
    const Particles *p = &s->particles;
    return (TrackSeen){.phi = p->attr[ATTR_PHI],
                       .normal = {(const float *)(const void *)p->key,
                                  (const float *)(const void *)p->order, p->spare},
                       .steady = p->attr[ATTR_NORMAL]};
}

/// (v, normal) => normals unpacked, steady, TRACK_SLOW
static void unpack_tile(BrimSim *s, int slot, int thread, void *context) {
    const Fade *fade = context;
    const Particles *p = &s->particles;
    if (!(s->track_tile[slot] & TRACK_AROUND)) return;
    float *normal[3] = {(float *)(void *)p->key, (float *)(void *)p->order, p->spare};
    uint32_t first = tile_first(p, &s->grid, slot), end = tile_end(p, &s->grid, slot);
    bool slow = false;
    for (uint32_t i = first; i < end; i++) {
        float speed2 = 0, n[3] = {0}, steady = -1;
        uint32_t word;
        memcpy(&word, &p->attr[ATTR_NORMAL][i], sizeof word);
        for (int a = 0; a < s->dim; a++)
            speed2 += p->attr[ATTR_VX + a][i] * p->attr[ATTR_VX + a][i];
        if (word) normal_unpack(word, s->dim, n), steady = alpha(fade, speed2) * normal_part(word);
        for (int a = 0; a < 3; a++) normal[a][i] = n[a];
        memcpy(&p->attr[ATTR_NORMAL][i], &steady, sizeof steady);
        slow |= steady > 0;
    }
    if (slow) s->track_tile[slot] |= TRACK_SLOW;
}

// ---------------------------------------------------------------------------- rough and smooth

/// Distances where no particle tells: inside cells that are full, outside all others.
static void fill_far(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    const uint8_t *full = full_cells(s) + (size_t)slot * (size_t)g->tile_rows;
    for (int i = 0; i < g->tile_cells; i++) {
        bool in = full[i >> 3] >> (i & 7) & 1;
        s->rough[base + (size_t)i] = in ? -LEVEL_SET_CUT : LEVEL_SET_CUT;
        s->smooth[base + (size_t)i] = 0;
        s->steady[base + (size_t)i] = -1;
    }
}

/// Cells of a row within two of air that see particles.
static uint8_t row_wanted(const BrimSim *s, int slot, int r, const PaddedRows *air,
                          const PaddedRows *seen, const TileMask *allowed) {
    size_t at = (size_t)slot * (size_t)s->grid.tile_rows + (size_t)r;
    uint8_t cells = row_any(air, s->dim, r & 7, r >> 3) & row_any(seen, s->dim, r & 7, r >> 3);
    uint8_t hollow = full_cells(s)[at] & (uint8_t)~s->particles.occupied[at];
    return cells & mask_bits(allowed, r) & (uint8_t)~hollow;
}

/// (x, phi, normals) => rough, smooth, steady
static void measure_tile(BrimSim *s, int slot, int thread, void *context) {
    const LevelSetProfile *profile = context;
    const Grid *g = &s->grid;
    fill_far(s, slot);
    if (!(s->track_tile[slot] & TRACK_NEAR)) return;
    const TrackSeen seen = track_seen(s);
    bool slow = track_near(s, slot, TRACK_SLOW);
    TileMask allowed = allowed_cells(s, slot);
    PaddedRows air, there;
    NearRows rows;
    near_begin(s, slot, &rows);
    pad_rows(s, s->near_air, slot, 0, &air);
    pad_rows(s, s->particles.occupied, slot, 0, &there);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = (size_t)slot * (size_t)g->tile_cells + (size_t)(r * TILE);
        uint8_t cells = row_wanted(s, slot, r, &air, &there, &allowed), planes = 0;
        if (!cells) continue;
        float distance[TILE], mean[3][TILE];
        near_look(s, &rows, slot, r, cells);
        s->level_set->means(profile, &rows.near, r & 7, r >> 3, cells, distance, mean);
        for (uint8_t bits = cells; bits; bits &= (uint8_t)(bits - 1)) {
            int x = __builtin_ctz(bits);
            s->rough[at + (size_t)x] = distance[x];
            planes |= (uint8_t)((distance[x] < profile->radius) << x);
        }
        if (slow && planes)
            s->track->planes(&rows.near, &seen, r & 7, r >> 3, planes, (const float(*)[TILE])mean,
                             s->smooth + at, s->steady + at);
    }
}

// --------------------------------------------------------------------------------------- filter

/// One step of Taubin's filter: (even) => even_next
static void filter_tile(BrimSim *s, int slot, int thread, void *context) {
    enum { EDGE = TILE + 2 };
    const float part = *(const float *)context / (float)(2 * s->dim), most = FILTER_REACH;
    const Grid *g = &s->grid;
    float *block = s->scratch[thread].block[0];
    float *out = s->even_next + (size_t)slot * (size_t)g->tile_cells;
    if (!(s->track_tile[slot] & TRACK_AROUND)) return;
    block_load(g, slot, s->even, PLACE_CELL, &s->sides, 1, most, block);
    for (int z = 0; z < g->tile_depth; z++)
        for (int y = 0; y < TILE; y++) {
            const float *at = block + ((s->dim == 3 ? z + 1 : 0) * EDGE + y + 1) * EDGE + 1;
            for (int x = 0; x < TILE; x++) {
                float here = at[x], sum = at[x - 1] + at[x + 1] + at[x - EDGE] + at[x + EDGE];
                if (s->dim == 3) sum += at[x - EDGE * EDGE] + at[x + EDGE * EDGE];
                float next = here + part * (sum - (float)(2 * s->dim) * here);
                *out++ = fabsf(here) < most ? next : here;
            }
        }
}

static void swap_even(BrimSim *s) {
    fields_swap(s, FIELD_even, FIELD_even_next);
}

/// (rough) => even: filtered
static void filter(BrimSim *s) {
    float in = FILTER_IN, out = FILTER_OUT;
    track_even(s, s->rough, ROUGH_KEPT, FILTER_REACH);
    for (int pass = 0; pass < s->def.tracking_passes; pass++) {
        tiles_for(s, filter_tile, &in);
        swap_even(s);
        tiles_for(s, filter_tile, &out);
        swap_even(s);
    }
}

// ---------------------------------------------------------------------------------------- blend

/// Part of the way from memory to where particles are.
typedef struct Blend {
    float least; ///< lambda_0
} Blend;

/// (rough, smooth, steady, even) => tracked, and smooth: how far tracked is from it
static void blend_tile(BrimSim *s, int slot, int thread, void *context) {
    const Blend *blend = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    for (size_t i = base; i < base + (size_t)g->tile_cells; i++) {
        float rough = s->rough[i], smooth = s->smooth[i], steady = s->steady[i], to = rough;
        s->tracked[i] = rough;
        s->smooth[i] = steady < 0 ? 0 : rough - smooth;
        if (steady <= 0) continue;
        if (fabsf(rough) < FILTERED) to += steady * (s->even[i] - rough);
        float lambda = 1 - (1 - blend->least) * steady;
        if (fabsf(rough) < BOUND)
            lambda = fmaxf(lambda, fminf((fabsf(to - smooth) - ASTRAY) / ASTRAY, 1));
        s->tracked[i] = smooth + lambda * (to - smooth);
        s->smooth[i] = lambda * (to - smooth);
    }
}

void track_surface(BrimSim *s, double dt) {
    Fade fade = fade_of(s);
    double memory = s->def.tracking_memory;
    Blend blend = {memory > 0 ? (float)(1 - exp(-dt / memory)) : 1};
    LevelSetProfile paper = level_set_paper();
    if (s->grid.tile_count == 0) return; // no fields either
    if (s->band) band_full(s);
    tiles_for(s, find_air, NULL);
    mark_tiles(s);
    tiles_for(s, unpack_tile, &fade);
    tiles_for(s, measure_tile, s->def.tracking_rough == BRIM_ROUGH_PAPER ? &paper : &s->profile);
    filter(s);
    tiles_for(s, blend_tile, &blend);
}
