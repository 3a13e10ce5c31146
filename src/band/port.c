// Band: ports, where liquid comes and goes: sources, drains, open sides.
//
// Liquid near them counts as shallow at any depth, as far around as the flow may get in a step, so
// that it is made of particles: they bring a source's momentum, and what leaves is counted. Ports
// are so all the time, at work or not: one that opens finds its particles there.
#include "band/band.h"
#include "base/memory.h"
#include "emit/emit.h"
#include "emit/stream.h"
#include "warp/space.h"
#include <math.h>

/// Depth of liquid at a port, cells.
static const float AT_PORT = 0.5f;

/// Cells around ports that are as shallow: those that a step may cross.
static float port_reach(const BrimSim *s) {
    static const float LEAST = 2, MOST = 8;
    float cells = s->def.step > 0 ? ceilf((float)reach_estimate(s)) : (float)s->def.cfl;
    return fmaxf(LEAST, fminf(cells, MOST));
}

/// Whether a port with these bounds may have a say in a tile, or `more` cells around it.
static bool in_reach(const BrimSim *s, int slot, const float low[3], const float high[3],
                     float more) {
    TileCoord c = s->grid.coord[slot];
    const int16_t tile[3] = {c.x, c.y, c.z};
    float around = (port_reach(s) + band_cut(s) + more) * s->dx, edge = TILE * s->dx;
    float first[3], last[3];
    for (int a = 0; a < 3; a++) first[a] = (float)tile[a] * edge, last[a] = first[a] + edge;
    if (s->warp) warp_tile_box(s, slot, 0, first, last);
    for (int a = 0; a < s->dim; a++)
        if (low[a] > last[a] + around || high[a] < first[a] - around) return false;
    return true;
}

/// The half space beyond a side of the domain, as bounds.
static void side_bounds(const BrimSim *s, int side, float low[3], float high[3]) {
    for (int a = 0; a < 3; a++) low[a] = -INFINITY, high[a] = INFINITY;
    if (side & 1)
        low[side >> 1] = (float)s->grid.cells[side >> 1] * s->dx;
    else
        high[side >> 1] = 0;
}

static bool source_within(const BrimSim *s, int slot, float more) {
    for (int k = 0; k < s->source_count; k++)
        if (in_reach(s, slot, s->sources[k].low, s->sources[k].high, more)) return true;
    return false;
}

bool band_source_near(const BrimSim *s, int slot) {
    return source_within(s, slot, 0);
}

/// Particles that sources emitted a second since the last projection.
static double rate_of_sources(const BrimSim *s) {
    double sum = 0, now = s->time + s->dt;
    for (int k = 0; k < s->source_count; k++) {
        const BrimSourceDef *def = &s->sources[k].def;
        if (def->start < now && def->stop > now - s->volume.waited)
            sum += emit_rate(s, &s->sources[k]);
    }
    return sum;
}

bool band_swallow(BrimSim *s) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells;
    // What is left of the last time the account sees.
    if (!s->volume.again) s->band.swallowed_count = 0;
    uint32_t *key = s->particles.key;
    for (int t = 0; t < s->grid.tile_count; t++) {
        if (!source_within(s, t, TILE)) continue;
        uint32_t end = tile_end(&s->particles, t);
        for (uint32_t i = tile_first(&s->particles, t); i < end; i++) {
            if (key[i] >= KEY_GONE) continue;
            int32_t slot = s->grid.slot_of[key[i] / cells];
            if (slot < 0 || !band_bit(s->hidden, (int64_t)slot * cells + key[i] % cells) ||
                !band_source_near(s, slot))
                continue;
            if (!memory_grow((void **)&s->band.swallowed, &s->band.swallowed_capacity,
                             sizeof *s->band.swallowed, s->band.swallowed_count + 1,
                             s->band.swallowed_count))
                return false;
            s->band.swallowed[s->band.swallowed_count++] = key[i];
            key[i] = KEY_HIDDEN;
        }
    }
    // As fast as it came, but not much faster than sources emit: what a tank too full cannot hold
    // has nowhere to flow to.
    double rate = 2 * rate_of_sources(s);
    if (rate == 0) s->band.swallowed_count = 0;
    s->band.swallow_time =
        fmax(s->volume.waited, rate > 0 ? (double)s->band.swallowed_count / rate : 0);
    s->band.swallow_left = s->band.swallow_time;
    return true;
}

bool band_port_near(const BrimSim *s, int slot) {
    float low[3], high[3];
    if (band_source_near(s, slot)) return true;
    for (int k = 0; k < s->drain_count; k++)
        if (in_reach(s, slot, s->drains[k].low, s->drains[k].high, 0)) return true;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (!s->sides.open[n]) continue;
        side_bounds(s, n, low, high);
        if (in_reach(s, slot, low, high, 0)) return true;
    }
    return false;
}

/// Cell centres of a row of a tile, m.
static void row_centres(const BrimSim *s, int slot, int row, float at[3][TILE]) {
    TileCoord c = s->grid.coord[slot];
    for (int x = 0; x < TILE && s->warp; x++) {
        float p[3] = {(float)(c.x * TILE + x) + 0.5f, (float)(c.y * TILE + (row & 7)) + 0.5f,
                      s->dim == 3 ? (float)(c.z * TILE + (row >> 3)) + 0.5f : 0};
        warp_to_place(s, p);
        for (int a = 0; a < 3; a++) at[a][x] = p[a] * s->dx;
    }
    for (int x = 0; x < TILE && !s->warp; x++) {
        at[0][x] = space_middle(s->space, c.x * TILE + x);
        at[1][x] = space_middle(s->space, c.y * TILE + (row & 7));
        at[2][x] = s->dim == 3 ? space_middle(s->space, c.z * TILE + (row >> 3)) : 0;
    }
}

/// Takes the distances to a shape into those to the nearest port, m.
static void add_shape(const BrimSim *s, int slot, const Shape *shape, const Solid *mover,
                      const float low[3], const float high[3], float *nearest) {
    if (!in_reach(s, slot, low, high, 0)) return;
    for (int r = 0; r < s->grid.tile_rows; r++) {
        float at[3][TILE], d[TILE];
        row_centres(s, slot, r, at);
        port_distance(shape, mover, TILE, at[0], at[1], at[2], d);
        for (int x = 0; x < TILE; x++) nearest[r * TILE + x] = fminf(nearest[r * TILE + x], d[x]);
    }
}

static void add_side(const BrimSim *s, int slot, int side, float *nearest) {
    float end = (float)s->grid.cells[side >> 1] * s->dx;
    for (int r = 0; r < s->grid.tile_rows; r++) {
        float at[3][TILE];
        row_centres(s, slot, r, at);
        for (int x = 0; x < TILE; x++) {
            float place = at[side >> 1][x], d = side & 1 ? end - place : place;
            nearest[r * TILE + x] = fminf(nearest[r * TILE + x], d);
        }
    }
}

void band_port_depths(const BrimSim *s, int slot, float *depth) {
    for (int i = 0; i < s->grid.tile_cells; i++) depth[i] = INFINITY; // distance, until the end
    for (int k = 0; k < s->source_count; k++)
        add_shape(s, slot, s->sources[k].shape, s->sources[k].mover, s->sources[k].low,
                  s->sources[k].high, depth);
    for (int k = 0; k < s->drain_count; k++)
        add_shape(s, slot, s->drains[k].shape, s->drains[k].mover, s->drains[k].low,
                  s->drains[k].high, depth);
    for (int n = 0; n < 2 * s->dim; n++)
        if (s->sides.open[n]) add_side(s, slot, n, depth);
    float reach = port_reach(s);
    for (int i = 0; i < s->grid.tile_cells; i++) {
        float beyond = depth[i] * s->inv_dx - reach;
        depth[i] = AT_PORT + (beyond > 0 ? beyond : 0);
    }
}
