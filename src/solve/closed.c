// Closed components: cells that no known value can be reached from through open faces.
//
// A flood from the anchored cells reaches everything that is not closed; it works on 64 cells at a
// time, a plane of a tile as the bits of a word. Only what it does not reach is taken apart into
// components.
#include "base/memory.h"
#include "solve/solver.h"
#include <stdlib.h>
#include <string.h>

#define COLUMN_0 0x0101010101010101u ///< bits of x = 0
#define COLUMN_7 0x8080808080808080u

/// Spreads bits through the open faces inside a plane. fx, fy: faces towards lower neighbours.
static uint64_t spread_plane(uint64_t bits, uint64_t fx, uint64_t fy, uint64_t unknown) {
    fx &= ~COLUMN_0;
    while (bits != unknown) {
        uint64_t next = bits | (bits << 1 & fx) | (bits & fx) >> 1;
        next |= (next << 8 & fy) | (next & fy) >> 8;
        if (next == bits) break;
        bits = next;
    }
    return bits;
}

/// Spreads bits inside a tile until nothing changes.
static void spread_tile(const TileLinks *l, TileBits *bits, int depth) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int step = 0; step < 2 * depth; step++) {
            int z = step < depth ? step : 2 * depth - 1 - step;
            uint64_t b = bits->plane[z];
            if (z > 0) b |= bits->plane[z - 1] & l->z.plane[z];
            if (z + 1 < depth) b |= bits->plane[z + 1] & l->z.plane[z + 1];
            b = spread_plane(b, l->x.plane[z], l->y.plane[z], l->unknown.plane[z]);
            changed = changed || b != bits->plane[z];
            bits->plane[z] = b;
        }
    }
}

/// Adds what comes in through the six sides of a tile from its neighbours.
static void enter_tile(const Grid *g, const TileLinks *links, const TileBits *reached, int slot,
                       TileBits *bits) {
    static const TileLinks closed;
    static const TileBits none;
    const int32_t *n = g->neighbour[slot] + TILE_SELF;
    const TileLinks *own = &links[slot];
    const TileLinks *x1 = n[1] < 0 ? &closed : &links[n[1]];
    const TileLinks *y1 = n[3] < 0 ? &closed : &links[n[3]];
    const TileBits *from_x0 = n[-1] < 0 ? &none : &reached[n[-1]];
    const TileBits *from_x1 = n[1] < 0 ? &none : &reached[n[1]];
    const TileBits *from_y0 = n[-3] < 0 ? &none : &reached[n[-3]];
    const TileBits *from_y1 = n[3] < 0 ? &none : &reached[n[3]];
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t b = (from_x0->plane[z] >> 7 & COLUMN_0) & own->x.plane[z];
        b |= (from_x1->plane[z] & x1->x.plane[z] & COLUMN_0) << 7;
        b |= from_y0->plane[z] >> 56 & own->y.plane[z] & 0xff;
        b |= (from_y1->plane[z] & y1->y.plane[z]) << 56;
        bits->plane[z] |= b;
    }
    if (g->tile_depth == 1) return;
    if (n[-9] >= 0) bits->plane[0] |= reached[n[-9]].plane[7] & own->z.plane[0];
    if (n[9] >= 0) bits->plane[7] |= reached[n[9]].plane[0] & links[n[9]].z.plane[0];
}

/// A queue of tiles, each in it at most once.
typedef struct Queue {
    int32_t *slot;
    uint8_t *queued;
    int capacity, head, count;
} Queue;

static void push(Queue *q, int slot) {
    if (slot < 0 || q->queued[slot]) return;
    q->queued[slot] = 1;
    int at = q->head + q->count++;
    q->slot[at < q->capacity ? at : at - q->capacity] = slot;
}

static int pop(Queue *q) {
    int slot = q->slot[q->head];
    q->head = q->head + 1 == q->capacity ? 0 : q->head + 1;
    q->count--;
    q->queued[slot] = 0;
    return slot;
}

/// Queues the neighbours that bits which are new in a tile may spread to.
static void push_neighbours(Queue *q, const Grid *g, int slot, const TileBits *added) {
    const int32_t *n = g->neighbour[slot] + TILE_SELF;
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) any |= added->plane[z];
    if (any & COLUMN_0) push(q, n[-1]);
    if (any & COLUMN_7) push(q, n[1]);
    if (any & 0xff) push(q, n[-3]);
    if (any >> 56) push(q, n[3]);
    if (g->tile_depth == 1) return;
    if (added->plane[0]) push(q, n[-9]);
    if (added->plane[7]) push(q, n[9]);
}

static bool add_part(Closed *c, int slot, const TileBits *cells) {
    if (!memory_grow((void **)&c->part, &c->part_capacity, sizeof *c->part, c->part_count + 1,
                     c->part_count))
        return false;
    int count = 0;
    for (int z = 0; z < 8; z++) count += __builtin_popcountll(cells->plane[z]);
    c->part[c->part_count++] = (ClosedPart){slot, c->count, count, *cells};
    return true;
}

/// Floods a tile from `seed` and from what its neighbours have reached. With `list`, what is new
/// becomes a part of the component at work. False: out of memory.
static bool visit(Poisson *s, Queue *q, int slot, const TileBits *seed, bool list) {
    const Grid *g = s->level[0].grid;
    TileBits *reached = &s->flood.reached[slot], next = *reached, added;
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) next.plane[z] |= seed->plane[z];
    enter_tile(g, s->flood.links, s->flood.reached, slot, &next);
    spread_tile(&s->flood.links[slot], &next, g->tile_depth);
    for (int z = 0; z < 8; z++) any |= added.plane[z] = next.plane[z] & ~reached->plane[z];
    if (!any) return true;
    *reached = next;
    push_neighbours(q, g, slot, &added);
    return !list || add_part(&s->closed, slot, &added);
}

static bool unreached(const Flood *f, int slot, TileBits *rest) {
    uint64_t any = 0;
    for (int z = 0; z < 8; z++) {
        rest->plane[z] = f->links[slot].unknown.plane[z] & ~f->reached[slot].plane[z];
        any |= rest->plane[z];
    }
    return any != 0;
}

static TileBits first_bit(const TileBits *bits) {
    TileBits first = {0};
    int z = 0;
    while (!bits->plane[z]) z++;
    first.plane[z] = bits->plane[z] & -bits->plane[z];
    return first;
}

/// Lists the component of one cell. Open faces lead nowhere else, so all components can share the
/// array of reached cells.
static bool find_component(Poisson *s, Queue *q, int slot, const TileBits *seed) {
    static const TileBits none;
    if (!visit(s, q, slot, seed, true)) return false;
    while (q->count > 0)
        if (!visit(s, q, pop(q), &none, true)) return false;
    s->closed.count++;
    return true;
}

static bool reserve(Poisson *s) {
    size_t tiles = (size_t)s->level[0].grid->tile_count;
    Flood *f = &s->flood;
    if (!memory_fit((void **)&f->queue, &f->queue_capacity, sizeof *f->queue, tiles) ||
        !memory_fit((void **)&f->queued, &f->queued_capacity, sizeof *f->queued, tiles))
        return false;
    if (tiles > 0) memset(f->queued, 0, tiles);
    return true;
}

void closed_begin(Poisson *s, int slot) {
    const TileLinks *links = &s->flood.links[slot];
    s->flood.reached[slot] = links->anchored;
    spread_tile(links, &s->flood.reached[slot], s->level[0].grid->tile_depth);
}

bool closed_find(Poisson *s) {
    static const TileBits none;
    Closed *c = &s->closed;
    Flood *f = &s->flood;
    c->count = 0, c->part_count = 0;
    if (!reserve(s)) return false;
    Queue q = {.slot = f->queue, .queued = f->queued, .capacity = s->level[0].grid->tile_count};
    TileBits rest;
    for (int i = 0; i < s->active_count; i++)
        if (unreached(f, s->active[i], &rest)) push(&q, s->active[i]);
    while (q.count > 0) visit(s, &q, pop(&q), &none, false);
    for (int i = 0; i < s->active_count; i++)
        while (unreached(f, s->active[i], &rest)) {
            TileBits seed = first_bit(&rest);
            if (!find_component(s, &q, s->active[i], &seed)) return false;
        }
    size_t count = (size_t)c->count;
    bool ok = memory_fit((void **)&c->sum, &c->sum_capacity, sizeof *c->sum, c->part_count) &&
              memory_fit((void **)&c->mean, &c->mean_capacity, sizeof *c->mean, count) &&
              memory_fit((void **)&c->cells, &c->cells_capacity, sizeof *c->cells, count) &&
              memory_fit((void **)&c->hidden, &c->hidden_capacity, sizeof *c->hidden, count) &&
              memory_fit((void **)&c->level, &c->level_capacity, sizeof *c->level, count);
    for (int k = 0; k < c->count && ok; k++) c->cells[k] = 0;
    for (size_t i = 0; i < c->part_count && ok; i++)
        c->cells[c->part[i].component] += c->part[i].cell_count;
    return ok;
}

int poisson_component(const Poisson *s, int64_t cell) {
    const Closed *c = &s->closed;
    if (c->count == 0) return -1;
    const int64_t cells = s->level[0].grid->tile_cells;
    const int slot = (int)(cell / cells), in = (int)(cell % cells);
    for (size_t i = 0; i < c->part_count; i++)
        if (c->part[i].slot == slot && c->part[i].cells.plane[in >> 6] >> (in & 63) & 1)
            return c->part[i].component;
    return -1;
}

void closed_free(Poisson *s) {
    free(s->closed.part), free(s->closed.sum), free(s->closed.mean), free(s->closed.level);
    free(s->closed.cells), free(s->closed.hidden);
    free(s->flood.links), free(s->flood.reached), free(s->flood.queue), free(s->flood.queued);
}

void closed_release(Poisson *s) {
    Closed *c = &s->closed;
    Flood *f = &s->flood;
    size_t tiles = s->level_count ? (size_t)s->level[0].grid->tile_count : 0;
    memory_drop((void **)&c->part, &c->part_capacity, c->part_count);
    memory_drop((void **)&c->sum, &c->sum_capacity, c->part_count);
    memory_drop((void **)&f->links, &f->links_capacity, tiles);
    memory_drop((void **)&f->reached, &f->reached_capacity, tiles);
    memory_drop((void **)&f->queue, &f->queue_capacity, tiles);
    memory_drop((void **)&f->queued, &f->queued_capacity, tiles);
}

size_t closed_bytes(const Poisson *s) {
    const Closed *c = &s->closed;
    const Flood *f = &s->flood;
    return c->part_capacity * sizeof *c->part + c->sum_capacity * sizeof *c->sum +
           c->mean_capacity * sizeof *c->mean + c->level_capacity * sizeof *c->level +
           c->cells_capacity * sizeof *c->cells + c->hidden_capacity * sizeof *c->hidden +
           f->links_capacity * sizeof *f->links + f->reached_capacity * sizeof *f->reached +
           f->queue_capacity * sizeof *f->queue + f->queued_capacity;
}

// -------------------------------------------------------------------------------------- means

static double part_sum(const ClosedPart *p, const float *tile) {
    double lane[8] = {0};
    for (int z = 0; z < 8; z++, tile += 64) {
        uint64_t bits = p->cells.plane[z];
        if (bits == ~(uint64_t)0)
            for (int i = 0; i < 64; i++) lane[i & 7] += (double)tile[i];
        else
            for (; bits; bits &= bits - 1) {
                int i = __builtin_ctzll(bits);
                lane[i & 7] += (double)tile[i];
            }
    }
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static void part_subtract(const ClosedPart *p, float *tile, double mean) {
    for (int z = 0; z < 8; z++, tile += 64) {
        uint64_t bits = p->cells.plane[z];
        if (bits == ~(uint64_t)0)
            for (int i = 0; i < 64; i++) tile[i] = (float)((double)tile[i] - mean);
        else
            for (; bits; bits &= bits - 1) {
                float *v = &tile[__builtin_ctzll(bits)];
                *v = (float)((double)*v - mean);
            }
    }
}

/// Sums over components.
static void find_sums(Closed *c) {
    for (int k = 0; k < c->count; k++) c->mean[k] = 0;
    for (size_t i = 0; i < c->part_count; i++) c->mean[c->part[i].component] += c->sum[i];
}

/// A field that is summed and changed.
typedef struct Means {
    Closed *closed;
    const float *from;
    float *field;
    size_t tile_cells;
} Means;

static void sum_part(void *context, int index, int thread) {
    const Means *m = context;
    const ClosedPart *part = &m->closed->part[index];
    m->closed->sum[index] = part_sum(part, m->from + (size_t)part->slot * m->tile_cells);
}

/// Parts of one tile are of different cells.
static void subtract_part(void *context, int index, int thread) {
    const Means *m = context;
    const ClosedPart *part = &m->closed->part[index];
    double mean = m->closed->mean[part->component];
    if (mean != 0) part_subtract(part, m->field + (size_t)part->slot * m->tile_cells, mean);
}

void closed_sum(Poisson *s, const float *field) {
    Means means = {&s->closed, field, NULL, (size_t)s->level[0].grid->tile_cells};
    team_for(s->team, (int)s->closed.part_count, TILES_A_THREAD, sum_part, &means);
    find_sums(&s->closed);
}

/// field -= closed.mean
static void subtract_means(Poisson *s, float *field) {
    Means means = {&s->closed, NULL, field, (size_t)s->level[0].grid->tile_cells};
    team_for(s->team, (int)s->closed.part_count, TILES_A_THREAD, subtract_part, &means);
}

void closed_remove_mean(Poisson *s, float *field) {
    Closed *c = &s->closed;
    if (!closed_drifts(s)) return;
    closed_sum(s, field);
    for (int k = 0; k < c->count; k++) {
        bool level = c->held && c->level[k] > 0;
        c->mean[k] = !level ? c->mean[k] / c->cells[k] : c->joint.open ? c->mean[k] : 0;
    }
    if (c->held && c->joint.open) held_apply(&c->joint, false, c->mean);
    subtract_means(s, field);
}

bool closed_drifts(const Poisson *s) {
    const Closed *c = &s->closed;
    return c->count > c->held || (c->held && c->joint.open);
}

// ------------------------------------------------------------------------------------- levels

void closed_set(Poisson *s, int component, float value, float *field) {
    size_t cells = (size_t)s->level[0].grid->tile_cells;
    for (size_t i = 0; i < s->closed.part_count; i++) {
        const ClosedPart *p = &s->closed.part[i];
        if (p->component != component) continue;
        for (int z = 0; z < 8; z++)
            for (uint64_t bits = p->cells.plane[z]; bits; bits &= bits - 1)
                field[(size_t)p->slot * cells + (size_t)(64 * z + __builtin_ctzll(bits))] = value;
    }
}

void closed_find_levels(Poisson *s, const PoissonTerm *term) {
    Closed *c = &s->closed;
    c->held = 0;
    if (c->count == 0 || !term || !term->level) return;
    float *one = s->p; // free before a descent
    for (size_t i = 0; i < term->count; i++) one[term->cell[i]] = 0;
    for (int k = 0; k < c->count; k++) {
        closed_set(s, k, 1, one);
        c->level[k] = term->level(term->context, one);
        c->held += c->level[k] > 0;
        closed_set(s, k, 0, one);
    }
    held_find(s, term);
}

void closed_hide_levels(Poisson *s, float *r) {
    Closed *c = &s->closed;
    if (c->held == 0) return;
    closed_sum(s, r);
    for (int k = 0; k < c->count; k++)
        c->hidden[k] = c->mean[k] = c->level[k] > 0 ? c->mean[k] / c->cells[k] : 0;
    subtract_means(s, r);
}

void closed_add_levels(Poisson *s, float *r, float *y) {
    Closed *c = &s->closed;
    if (c->held == 0) return;
    closed_sum(s, y);
    for (int k = 0; k < c->count; k++) c->mean[k] = c->level[k] > 0 ? c->mean[k] / c->cells[k] : 0;
    subtract_means(s, y);
    for (int k = 0; k < c->count; k++) {
        c->mean[k] = -c->hidden[k] * c->cells[k];
        if (c->level[k] > 0 && !c->joint.count) c->mean[k] /= c->level[k];
    }
    if (c->joint.count) held_apply(&c->joint, true, c->mean);
    subtract_means(s, y);
    for (int k = 0; k < c->count; k++) c->mean[k] = -c->hidden[k];
    subtract_means(s, r);
}
