#include "emit/convey.h"
#include "base/memory.h"
#include "emit/stream.h"
#include "projection/inlet.h"
#include "step/stages.h"
#include "walls/lookup.h"
#include <math.h>
#include <stdlib.h>

/// Whether a source keeps up its stream for the whole step and stays where it is.
static bool conveys(const BrimSim *s, const Source *source) {
    return source_runs(s, source) && !source->mover && source->def.start <= s->time &&
           source->def.stop >= s->time + s->dt;
}

/// Whether a way leads past solids and sides: none comes nearer than half a cell on it.
static bool is_clear(const BrimSim *s, int slot, const float from[3], const float way[3]) {
    float length = 0, x[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        float end = from[a] + way[a], size = (float)s->grid.cells[a] * s->dx, gap = 0.5f * s->dx;
        if (way[a] < 0 && end < gap && !s->sides.open[2 * a]) return false;
        if (way[a] > 0 && end > size - gap && !s->sides.open[2 * a + 1]) return false;
        length += way[a] * way[a];
    }
    if (length == 0 || (length < TILE * s->dx * TILE * s->dx && !solid_near(s, slot))) return true;
    if (!s->walls.solid_count) return true;
    int steps = (int)ceilf(2 * sqrtf(length) * s->inv_dx);
    float start = solid_value(s, from);
    for (int k = 1; k <= steps; k++) {
        for (int a = 0; a < s->dim; a++) x[a] = from[a] + way[a] * (float)k / (float)steps;
        float d = solid_value(s, x);
        if (d < 0.5f * s->dx && d < start) return false;
    }
    return true;
}

/// A source at work; time: for which its particles go on, s
typedef struct Conveying {
    int index;
    double time;
} Conveying;

/// context: Conveying
static void find_places(BrimSim *s, int slot, int thread, void *context) {
    enum { BATCH = 128 };
    const Conveying *c = context;
    const Source *source = &s->sources[c->index];
    const Particles *p = &s->particles;
    const uint32_t first = tile_first(p, slot), end = tile_end(p, slot);
    if (s->conveyed.first[slot] < 0 || !source_meets(s, source, slot, 0)) return;
    float way[3] = {0};
    for (int a = 0; a < s->dim; a++) way[a] = (float)(source->drift[a] * c->time);
    for (uint32_t i = first; i < end; i += BATCH) {
        int n = end - i < BATCH ? (int)(end - i) : BATCH;
        float d[BATCH];
        port_distance(source->shape, NULL, n, p->attr[ATTR_X] + i, p->attr[ATTR_Y] + i,
                      p->attr[ATTR_Z] + i, d);
        for (int k = 0; k < n; k++) {
            ConveyedPlace *to = &s->conveyed.place[s->conveyed.first[slot] + (i - first) + k];
            float from[3];
            for (int a = 0; a < 3; a++) from[a] = p->attr[ATTR_X + a][i + (uint32_t)k];
            if (c->time == 0 && to->source < 0)
                *to = (ConveyedPlace){{from[0], from[1], from[2]}, -1};
            if (!(d[k] < 0) || (source->blocked && !source_begins(s, source, from))) continue;
            if (source_crossed(s, source, from) || !is_clear(s, slot, from, way)) continue;
            *to = (ConveyedPlace){{from[0] + way[0], from[1] + way[1], from[2] + way[2]}, c->index};
        }
    }
}

/// Where particles inside sources are after some time. False: out of memory.
static bool find_after(BrimSim *s, double time) {
    Conveyed *c = &s->conveyed;
    size_t room = 0;
    c->any = false;
    for (int k = 0; k < s->source_count; k++) c->any |= conveys(s, &s->sources[k]);
    if (!c->any) return true;
    if (time > 0) inlets_block(s); // or inlets_find has done it
    const size_t tiles = (size_t)s->grid.tile_count;
    if (!memory_fit((void **)&c->first, &c->tiles_room, sizeof *c->first, tiles)) return false;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool near = false;
        for (int k = 0; k < s->source_count; k++)
            near |= conveys(s, &s->sources[k]) && source_meets(s, &s->sources[k], t, 0);
        c->first[t] = near ? (int64_t)room : -1;
        if (near) room += tile_end(&s->particles, t) - tile_first(&s->particles, t);
    }
    memory_drop((void **)&c->place, &c->room, room);
    if (!memory_fit((void **)&c->place, &c->room, sizeof *c->place, room)) return false;
    for (size_t i = 0; i < room; i++) c->place[i].source = -1;
    for (int k = 0; k < s->source_count; k++) {
        Conveying conveying = {k, time};
        if (conveys(s, &s->sources[k])) tiles_for(s, find_places, &conveying);
    }
    return true;
}

bool convey_find(BrimSim *s) {
    return find_after(s, s->dt);
}

bool convey_hold(BrimSim *s) {
    return find_after(s, 0);
}

/// Whether a particle lies in a source that keeps what it holds.
static bool is_inside(const BrimSim *s, const float x[3]) {
    float d;
    for (int k = 0; k < s->source_count; k++) {
        const Source *source = &s->sources[k];
        if (!conveys(s, source) || source->blocked) continue;
        port_distance(source->shape, NULL, 1, &x[0], &x[1], &x[2], &d);
        if (d < 0 && !source_crossed(s, source, x)) return true;
    }
    return false;
}

static void restore_tile(BrimSim *s, int slot, int thread, void *context) {
    const Particles *p = &s->particles;
    const uint32_t first = tile_first(p, slot), end = tile_end(p, slot);
    for (uint32_t i = first; i < end && s->conveyed.first[slot] >= 0; i++) {
        const ConveyedPlace *to = &s->conveyed.place[s->conveyed.first[slot] + (i - first)];
        const float at[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]};
        if (to->source < 0 && (is_inside(s, to->x) || !is_inside(s, at))) continue;
        for (int a = 0; a < s->dim; a++) p->attr[ATTR_X + a][i] = to->x[a];
        p->key[i] = cell_key(&s->grid, s->space, to->x[0], to->x[1], to->x[2]);
    }
}

void convey_restore(BrimSim *s) {
    if (s->conveyed.any) tiles_for(s, restore_tile, NULL);
}

void convey_tile(BrimSim *s, int slot) {
    const Particles *p = &s->particles;
    const uint32_t first = tile_first(p, slot), end = tile_end(p, slot);
    if (!s->conveyed.any || s->conveyed.first[slot] < 0) return;
    float low[3], high[3];
    domain_box(s, low, high);
    for (uint32_t i = first; i < end; i++) {
        const ConveyedPlace *to = &s->conveyed.place[s->conveyed.first[slot] + (i - first)];
        if (to->source < 0) continue;
        float sum = p->attr[ATTR_VX][i] + p->attr[ATTR_VY][i] + p->attr[ATTR_VZ][i];
        if (!isfinite(sum)) continue; // measure is to find it
        const Source *source = &s->sources[to->source];
        const BrimVec3 fixed = source->def.velocity;
        float v[3] = {fixed.x, fixed.y, fixed.z};
        for (int a = 0; a < s->dim; a++) {
            p->attr[ATTR_X + a][i] = fminf(fmaxf(to->x[a], low[a]), high[a]);
            p->attr[ATTR_VX + a][i] = source_varies(source) ? source->stream[a] : v[a];
        }
        for (int k = ATTR_AFFINE; p->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
            p->attr[k][i] = 0;
    }
}

size_t convey_bytes(const BrimSim *s) {
    const Conveyed *c = &s->conveyed;
    return c->room * sizeof *c->place + c->tiles_room * sizeof *c->first;
}

void convey_free(BrimSim *s) {
    free(s->conveyed.first);
    free(s->conveyed.place);
    s->conveyed = (Conveyed){0};
}
