// One sub-step of all particles: what each one is, by the liquid around it, where it goes, what it
// runs into, and how old it gets.
#include "base/error.h"
#include "base/memory.h"
#include "liquid/foam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Move {
    FoamWork *work;
    float begin, dt; ///< of the sub-step within the interval, s
    float gravity[3];
    double end;       ///< time, s
    uint32_t *order;  ///< [count] particles by tile: those in no tile first
    uint32_t *first;  ///< [tiles + 2]
    int32_t *slot;    ///< [count]; -2: not born yet, or gone
    uint16_t *cell;   ///< [count]
    int alone_chunks; ///< of particles in no tile
    bool failed;
} Move;

/// Up to FOAM_POINTS particles at a time.
typedef struct Batch {
    int n;
    uint32_t index[FOAM_POINTS];
    float x[3][FOAM_POINTS];     ///< where the liquid is asked about, then where they are
    float distance[FOAM_POINTS]; ///< to the nearest solid
    int solid[FOAM_POINTS];
    bool touches[FOAM_POINTS]; ///< a wall
} Batch;

/// Where a particle was when the sub-step began; before its birth: where it would have been.
static void begin_at(const Move *m, uint32_t i, float x[3]) {
    const BrimFoamParticle *p = &m->work->particle[i];
    float late = m->work->begin[i] > m->begin ? m->work->begin[i] - m->begin : 0;
    for (int a = 0; a < 3; a++) x[a] = p->position[a] - late * p->velocity[a];
}

static float own_dt(const Move *m, uint32_t i) {
    float late = m->work->begin[i] > m->begin ? m->work->begin[i] - m->begin : 0;
    return m->dt - late;
}

// ------------------------------------------------------------------------------------- one batch

/// Share of a full kernel that the liquid fills, where walls leave room; mean velocity.
static float liquid_share(const Move *m, const FoamBlock *block, const Batch *b, int i,
                          float u[3]) {
    const BrimFoam *f = m->work->foam;
    const FoamScale *s = &f->scale;
    FoamSums sums;
    const float x[3] = {b->x[0][i], b->x[1][i], b->x[2][i]};
    f->kernels->sums(block, m->cell[b->index[i]], x, s->inv_radius, &sums);
    if (!(sums.weight > 0)) return 0;
    for (int a = 0; a < 3; a++) u[a] = sums.u[a] / sums.weight;
    float room = s->rest;
    for (int a = 0; a < s->dim; a++)
        room *= foam_wall_share(s, x[a]) * foam_wall_share(s, s->size[a] - x[a]);
    return sums.weight / (room * foam_wall_share(s, b->distance[i]));
}

/// (position, velocity) after dt: exact for a velocity that tends to `to` with time constant t.
static void relax(BrimFoamParticle *p, const float to[3], float t, float dt) {
    float left = expf(-dt / t), way = t * (1 - left);
    for (int a = 0; a < 3; a++) {
        float more = p->velocity[a] - to[a];
        p->position[a] += to[a] * dt + more * way;
        p->velocity[a] = to[a] + more * left;
    }
}

static void fly(const Move *m, BrimFoamParticle *p, float dt) {
    float drag = m->work->foam->def.drag, to[3];
    if (drag * dt > 1e-4f) {
        for (int a = 0; a < 3; a++) to[a] = m->gravity[a] / drag;
        relax(p, to, 1 / drag, dt);
        return;
    }
    for (int a = 0; a < 3; a++) {
        p->position[a] += dt * (p->velocity[a] + 0.5f * dt * m->gravity[a]);
        p->velocity[a] += dt * m->gravity[a];
    }
}

static void move_one(const Move *m, const FoamBlock *block, const Batch *b, int i) {
    const BrimFoamDef *d = &m->work->foam->def;
    BrimFoamParticle *p = &m->work->particle[b->index[i]];
    float u[3] = {0, 0, 0}, to[3], dt = own_dt(m, b->index[i]);
    float share = block ? liquid_share(m, block, b, i, u) : 0;
    if (share < d->density[0]) {
        p->type = BRIM_FOAM_SPRAY;
        fly(m, p, dt);
    } else if (share > d->density[1]) {
        p->type = BRIM_FOAM_BUBBLE;
        for (int a = 0; a < 3; a++) to[a] = u[a] - d->buoyancy * d->bubble_time * m->gravity[a];
        relax(p, to, d->bubble_time, dt);
    } else {
        p->type = BRIM_FOAM_FOAM;
        for (int a = 0; a < 3; a++) p->velocity[a] = u[a], p->position[a] += dt * u[a];
    }
}

/// Sides of the domain: walls hold, what crosses an open one is gone.
static bool meet_sides(const FoamScale *s, const FoamWalls *w, BrimFoamParticle *p) {
    bool touches = false;
    for (int a = 0; a < 3; a++) {
        float *x = &p->position[a], *v = &p->velocity[a], least = p->size;
        bool low = *x < least, high = !low && *x > s->size[a] - least;
        if (a >= s->dim) {
            *x = *v = 0;
        } else if ((low || high) && w->sides[2 * a + high] == BRIM_SIDE_OPEN) {
            if (*x < 0 || *x > s->size[a]) p->life = 0;
        } else if (low || high) {
            *x = low ? least : s->size[a] - least;
            if (low ? *v < 0 : *v > 0) *v = 0;
            touches = true;
        }
    }
    return touches;
}

/// Out of a solid until it only touches it, with no velocity into it.
static void meet_solid(const FoamScale *s, const FoamWalls *w, BrimFoamParticle *p, int solid,
                       float distance) {
    float n[3], into = 0, *v = p->velocity, *x = p->position;
    foam_walls_normal(w, solid, x, s->dim, 0.25f * s->spacing, n);
    BrimVec3 own = solid_velocity(w->present[solid], x[0], x[1], x[2]);
    const float wall[3] = {own.x, own.y, own.z};
    for (int a = 0; a < 3; a++) {
        x[a] += (p->size - distance) * n[a];
        into += (v[a] - wall[a]) * n[a];
    }
    for (int a = 0; a < 3 && into < 0; a++) v[a] -= into * n[a];
}

/// Distance to the nearest solid at one point, INFINITY when it is farther than `reach`.
static float solid_near(const FoamWalls *w, const float x[3], float reach, int *solid) {
    float point[3] = {x[0], x[1], x[2]}, distance;
    foam_walls_distance(w, 1, (float *const[3]){&point[0], &point[1], &point[2]}, reach, &distance,
                        solid);
    return distance;
}

/// How far along a way, 0 to 1, a ball comes before it touches a solid that it goes towards; steps
/// as long as the distance allows. `normal` is the solid's there; 1: it never does.
static float free_way(const Move *m, const float x[3], const float way[3], float length, float size,
                      float normal[3]) {
    const FoamScale *s = &m->work->foam->scale;
    const FoamWalls *w = &m->work->foam->walls;
    float least = 0.1f * s->spacing, at = 0;
    while (at < length) {
        float p[3], into = 0;
        int solid;
        for (int a = 0; a < 3; a++) p[a] = x[a] + at / length * way[a];
        float distance = solid_near(w, p, length + size, &solid) - size;
        if (solid < 0) return 1;
        if (distance < least) {
            foam_walls_normal(w, solid, p, s->dim, 0.25f * s->spacing, normal);
            for (int a = 0; a < 3; a++) into += way[a] * normal[a];
            if (into < 0) return at / length;
        }
        at += distance > least ? distance : least;
    }
    return 1;
}

/// The way of a particle beside solids, from `x` to where it wants to be: it slides along what it
/// touches. Without this it would be through a wall of a cell before it is found in it.
static bool slide(const Move *m, BrimFoamParticle *p, const float x[3]) {
    enum { TURNS = 3 };
    bool touches = false;
    float from[3] = {x[0], x[1], x[2]}, way[3];
    for (int a = 0; a < 3; a++) way[a] = p->position[a] - x[a];
    for (int turn = 0; turn < TURNS; turn++) {
        float n[3], length = sqrtf(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
        float part = length > 0 ? free_way(m, from, way, length, p->size, n) : 1;
        for (int a = 0; a < 3; a++) from[a] += part * way[a];
        if (part == 1) break;
        float rest = 0, into = 0;
        for (int a = 0; a < 3; a++) rest += way[a] * n[a], into += p->velocity[a] * n[a];
        for (int a = 0; a < 3; a++) {
            way[a] = turn + 1 < TURNS ? (1 - part) * (way[a] - rest * n[a]) : 0;
            if (into < 0) p->velocity[a] -= into * n[a];
        }
        touches = true;
    }
    for (int a = 0; a < 3; a++) p->position[a] = from[a];
    return touches;
}

/// Whether a particle's way from `x` may end in the solid that is `distance` away.
static bool may_hit(const BrimFoamParticle *p, const float x[3], float distance) {
    float square = 0, most = distance - p->size;
    for (int a = 0; a < 3; a++) square += (p->position[a] - x[a]) * (p->position[a] - x[a]);
    return distance > 0 && (most <= 0 || square >= most * most);
}

/// Foam gets older; spray that has come to lie on a wall too, or it would be there for ever.
static void grow_old(BrimFoamParticle *p, float dt, bool touches) {
    p->age += dt;
    bool ages = p->type == BRIM_FOAM_FOAM || (p->type == BRIM_FOAM_SPRAY && touches);
    if (ages) p->life = p->life > dt ? p->life - dt : 0;
}

static void move_batch(const Move *m, const FoamBlock *block, Batch *b) {
    const BrimFoam *f = m->work->foam;
    float *const x[3] = {b->x[0], b->x[1], b->x[2]};
    bool drained[FOAM_POINTS];
    foam_walls_distance(&f->walls, b->n, x, f->scale.radius, b->distance, b->solid);
    for (int i = 0; i < b->n; i++) {
        BrimFoamParticle *p = &m->work->particle[b->index[i]];
        move_one(m, block, b, i);
        const float from[3] = {b->x[0][i], b->x[1][i], b->x[2][i]};
        bool slides = b->solid[i] >= 0 && may_hit(p, from, b->distance[i]);
        b->touches[i] = slides && slide(m, p, from);
        b->touches[i] = meet_sides(&f->scale, &f->walls, p) || b->touches[i];
        for (int a = 0; a < 3; a++) b->x[a][i] = p->position[a];
    }
    foam_walls_distance(&f->walls, b->n, x, f->scale.radius, b->distance, b->solid);
    foam_walls_drained(&f->walls, m->end, b->n, x, drained);
    for (int i = 0; i < b->n; i++) {
        BrimFoamParticle *p = &m->work->particle[b->index[i]];
        bool meets = b->solid[i] >= 0 && b->distance[i] < p->size;
        if (meets) {
            meet_solid(&f->scale, &f->walls, p, b->solid[i], b->distance[i]);
            meet_sides(&f->scale, &f->walls, p);
        }
        if (drained[i]) p->life = 0;
        grow_old(p, own_dt(m, b->index[i]), b->touches[i] || meets);
    }
}

static void move_range(const Move *m, const FoamBlock *block, uint32_t first, uint32_t end) {
    Batch b;
    for (uint32_t i = first; i < end; i += FOAM_POINTS) {
        b.n = end - i < FOAM_POINTS ? (int)(end - i) : FOAM_POINTS;
        for (int k = 0; k < b.n; k++) {
            float x[3];
            b.index[k] = m->order[i + (uint32_t)k];
            begin_at(m, b.index[k], x);
            for (int a = 0; a < 3; a++) b.x[a][k] = x[a];
        }
        move_batch(m, block, &b);
    }
}

// --------------------------------------------------------------------------------------- by tile

enum { CHUNK = 4096 };

/// Tiles first, then chunks of particles far from all liquid.
static void move_item(void *context, int item, int thread) {
    Move *m = context;
    const FoamBins *b = &m->work->foam->bins;
    int tiles = b->grid.tile_count;
    if (item >= tiles) {
        uint32_t first = (uint32_t)(item - tiles) * CHUNK, end = first + CHUNK;
        move_range(m, NULL, first, end < m->first[0] ? end : m->first[0]);
        return;
    }
    if (m->first[item] == m->first[item + 1]) return;
    FoamBlock *block = &m->work->foam->block[thread];
    if (foam_block_fill(block, b, item))
        move_range(m, block, m->first[item], m->first[item + 1]);
    else
        __atomic_store_n(&m->failed, true, __ATOMIC_RELAXED);
}

static bool moves(const Move *m, size_t i) {
    const FoamWork *w = m->work;
    return w->particle[i].life > 0 && w->begin[i] < m->begin + m->dt;
}

/// Sorts in the liquid around all that moves.
static bool find_liquid(const Move *m) {
    BrimFoam *f = m->work->foam;
    FoamBins *b = &f->bins;
    memset(b->want, 0, grid_box(&b->grid));
    for (size_t i = 0; i < m->work->count; i++) {
        float x[3];
        uint32_t cell;
        if (!moves(m, i)) continue;
        begin_at(m, (uint32_t)i, x);
        b->want[foam_cell(&f->scale, &b->grid, x, &cell)] = 1;
    }
    foam_spread(b);
    const FoamPaths *p = &f->paths;
    bool early = m->begin < 0.5f * p->duration;
    const FoamLiquid *l = early ? &f->liquid : &f->next;
    FoamPlaces places = {.count = p->count,
                         .x = p->x,
                         .w = p->w,
                         .time = m->begin,
                         .halves = p->halves,
                         .half = early ? 1 : 2,
                         .interior = l->interior,
                         .interior_count = l->interior_count,
                         .interior_time = early ? m->begin : m->begin - p->duration};
    return foam_bins_sort(b, &f->scale, &places, false, f->team);
}

/// => order, first: particles by the tile that they are in
static void sort_particles(Move *m) {
    const FoamWork *w = m->work;
    const Grid *g = &w->foam->bins.grid;
    // counted at slot + 2: those of no tile, slot -1, come first
    size_t tiles = (size_t)g->tile_count;
    memset(m->first, 0, (tiles + 3) * sizeof *m->first);
    for (size_t i = 0; i < w->count; i++) {
        float x[3];
        uint32_t cell;
        m->slot[i] = -2;
        if (!moves(m, i)) continue;
        begin_at(m, (uint32_t)i, x);
        m->slot[i] = g->slot_of[foam_cell(&w->foam->scale, g, x, &cell)];
        m->cell[i] = (uint16_t)cell;
        m->first[m->slot[i] + 2]++;
    }
    // counts become beginnings; filling moves each to where its particles end
    uint32_t sum = 0;
    for (size_t t = 1; t < tiles + 2; t++) {
        uint32_t n = m->first[t];
        m->first[t] = sum;
        sum += n;
    }
    for (size_t i = 0; i < w->count; i++)
        if (m->slot[i] > -2) m->order[m->first[m->slot[i] + 2]++] = (uint32_t)i;
    // first[0]: where those of no tile end; first[t], first[t + 1]: where tile t begins and ends
    for (size_t t = 0; t < tiles + 1; t++) m->first[t] = m->first[t + 1];
}

static bool make_room(Move *m) {
    size_t n = m->work->count + 1, tiles = (size_t)m->work->foam->bins.grid.tile_count;
    m->order = memory_new(n * sizeof *m->order);
    m->slot = memory_new(n * sizeof *m->slot);
    m->cell = memory_new(n * sizeof *m->cell);
    m->first = memory_new((tiles + 3) * sizeof *m->first);
    return m->order && m->slot && m->cell && m->first;
}

BrimResult foam_move(FoamWork *w, float begin, float dt, BrimError *error) {
    BrimFoam *f = w->foam;
    Move m = {.work = w, .begin = begin, .dt = dt};
    m.end = f->time + (double)begin + (double)dt;
    BrimVec3 g = foam_gravity(&f->walls, m.end - 0.5 * (double)dt);
    m.gravity[0] = g.x, m.gravity[1] = g.y, m.gravity[2] = f->scale.dim == 2 ? 0 : g.z;
    bool ready = foam_walls_place(&f->walls, m.end, (double)dt) && find_liquid(&m) && make_room(&m);
    if (ready) {
        sort_particles(&m);
        int chunks = (int)((m.first[0] + CHUNK - 1) / CHUNK);
        team_for(f->team, f->bins.grid.tile_count + chunks, 1, move_item, &m);
    }
    free(m.order), free(m.slot), free(m.cell), free(m.first);
    if (ready && !m.failed) return BRIM_OK;
    return foam_bins_fail(&f->bins, w->count, "the motion of foam", error);
}
