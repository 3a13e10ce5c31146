// Where whitewater is born: the potentials of the earlier frame, and new particles along the paths.
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "liquid/foam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// How much of full water a particle's neighbours lack to one side, averaged over them, when it is
/// at the surface: 0.17 (2D: 0.22) on a flat one, less than 0.03 in the chance of the bulk.
static const float surface_least = 0.1f;

float foam_clamp(float value, const float limits[2]) {
    if (!(value > limits[0])) return 0;
    return value >= limits[1] ? 1 : (value - limits[0]) / (limits[1] - limits[0]);
}

void foam_normal(const FoamScale *s, const float m[3], float normal[3]) {
    float length = sqrtf(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
    bool surface = length > surface_least * s->rest;
    for (int a = 0; a < 3; a++) normal[a] = surface ? m[a] / length : 0;
}

float foam_rate(const BrimFoamDef *def, const FoamSelf *self, const FoamPair *pair) {
    const float *u = self->u, *n = self->n;
    float square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], speed = sqrtf(square);
    float energy = foam_clamp(0.5f * square, def->energy);
    float along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2];
    // there is no air to trap deep in the water, where eddies too make neighbours come nearer
    float rate =
        def->trapped_rate * foam_clamp(pair->trapped, def->trapped) * fminf(pair->surface, 1);
    // a particle without a normal is never ahead of itself
    if (along > 0 && along >= def->crest_facing * speed)
        rate += def->crest_rate * foam_clamp(pair->crest, def->crest);
    return energy * rate;
}

// ------------------------------------------------------------------------------------ potentials

typedef struct Potentials {
    FoamWork *work;
    FoamBins *bins;
    uint8_t *fast, *near; ///< [tile box] with particles fast enough; those and tiles around them
    float *mean[3];       ///< [bins->count] averages over neighbours: velocity, then `out`
    float *own[3];        ///< [bins->count] of each particle, before that
    float *rate;          ///< [liquid] 1/s
    float *u[3];          ///< [liquid] averaged velocity
    bool failed;
} Potentials;

static void potentials_free(Potentials *p) {
    for (int a = 0; a < 3; a++) free(p->mean[a]), free(p->own[a]), free(p->u[a]);
    free(p->fast), free(p->near), free(p->rate);
}

static bool in_tiles(const Potentials *p, const uint8_t *mask, int slot) {
    TileCoord c = p->bins->grid.coord[slot];
    return mask[grid_box_index(&p->bins->grid, c.x, c.y, c.z)];
}

/// Takes the sides of the domain out of what points out of the liquid.
static void leave_sides(const FoamScale *s, const float x[3], FoamSums *sums) {
    for (int a = 0; a < s->dim; a++) {
        if (x[a] < s->radius && sums->out[a] < 0) sums->out[a] = 0;
        if (x[a] > s->size[a] - s->radius && sums->out[a] > 0) sums->out[a] = 0;
    }
}

/// So too for solids: the part that points into one within the kernel's reach.
static void leave_solids(const FoamWork *w, int n, const uint32_t *index, const FoamBins *b,
                         FoamSums *sums) {
    const FoamWalls *walls = &w->foam->walls;
    const FoamScale *s = &w->foam->scale;
    float x[3][FOAM_POINTS], distance[FOAM_POINTS];
    int solid[FOAM_POINTS];
    if (!walls->present_count) return;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) x[a][i] = b->x[a][index[i]];
    foam_walls_distance(walls, n, (float *const[3]){x[0], x[1], x[2]}, s->radius, distance, solid);
    for (int i = 0; i < n; i++) {
        float normal[3], *m = sums[i].out;
        if (solid[i] < 0) continue;
        foam_walls_normal(walls, solid[i], (float[3]){x[0][i], x[1][i], x[2][i]}, s->dim,
                          0.25f * s->spacing, normal);
        float along = m[0] * normal[0] + m[1] * normal[1] + m[2] * normal[2];
        for (int a = 0; a < 3 && along < 0; a++) m[a] -= along * normal[a];
    }
}

/// Mean velocities of up to FOAM_POINTS particles, and what points out of the liquid at each.
static void average(Potentials *p, const FoamBlock *block, const uint32_t *index,
                    const uint16_t *cell, int n) {
    FoamBins *b = p->bins;
    const BrimFoam *f = p->work->foam;
    FoamSums sums[FOAM_POINTS];
    for (int i = 0; i < n; i++) {
        uint32_t k = index[i];
        const float x[3] = {b->x[0][k], b->x[1][k], b->x[2][k]};
        f->kernels->sums(block, cell[i], x, f->scale.inv_radius, &sums[i]);
        for (int a = 0; a < 3; a++) p->mean[a][k] = sums[i].u[a] / sums[i].weight;
        leave_sides(&f->scale, x, &sums[i]);
    }
    leave_solids(p->work, n, index, b, sums);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) p->own[a][index[i]] = sums[i].out[a];
}

/// Normals from the averages of what points out: in the bulk, where it is chance, it cancels.
static void smooth(Potentials *p, const FoamBlock *block, const uint32_t *index,
                   const uint16_t *cell, int n) {
    FoamBins *b = p->bins;
    const BrimFoam *f = p->work->foam;
    for (int i = 0; i < n; i++) {
        uint32_t k = index[i];
        const float x[3] = {b->x[0][k], b->x[1][k], b->x[2][k]};
        float normal[3];
        FoamSums sums;
        f->kernels->sums(block, cell[i], x, f->scale.inv_radius, &sums);
        for (int a = 0; a < 3; a++) sums.u[a] /= sums.weight;
        foam_normal(&f->scale, sums.u, normal);
        for (int a = 0; a < 3; a++) b->n[a][k] = normal[a];
    }
}

/// Hands the particles of a tile on, some at a time.
static void visit_tile(Potentials *p, int slot, int thread,
                       void (*some)(Potentials *, const FoamBlock *, const uint32_t *,
                                    const uint16_t *, int)) {
    const FoamBins *b = p->bins;
    FoamBlock *block = &p->work->foam->block[thread];
    uint32_t cells = (uint32_t)b->grid.tile_cells, index[FOAM_POINTS];
    uint16_t cell[FOAM_POINTS];
    const uint32_t *start = b->start + (size_t)slot * cells;
    int n = 0;
    if (start[cells] == start[0] || !in_tiles(p, p->near, slot)) return;
    if (!foam_block_fill(block, b, slot)) {
        __atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (uint32_t c = 0; c < cells; c++)
        for (uint32_t i = start[c]; i < start[c + 1]; i++) {
            index[n] = i, cell[n++] = (uint16_t)c;
            if (n == FOAM_POINTS) some(p, block, index, cell, n), n = 0;
        }
    if (n) some(p, block, index, cell, n);
}

static void average_tile(void *context, int slot, int thread) {
    visit_tile(context, slot, thread, average);
}

static void smooth_tile(void *context, int slot, int thread) {
    visit_tile(context, slot, thread, smooth);
}

/// mean velocities, normals => rates of the particles of a tile
static void rate_tile(void *context, int slot, int thread) {
    Potentials *p = context;
    const FoamBins *b = p->bins;
    const BrimFoam *f = p->work->foam;
    FoamBlock *block = &f->block[thread];
    uint32_t cells = (uint32_t)b->grid.tile_cells;
    const uint32_t *start = b->start + (size_t)slot * cells;
    float scale = FOAM_FULL / f->scale.rest;
    if (start[cells] == start[0] || !in_tiles(p, p->fast, slot)) return;
    if (!foam_block_fill(block, b, slot)) {
        __atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (uint32_t c = 0; c < cells; c++)
        for (uint32_t i = start[c]; i < start[c + 1]; i++) {
            FoamSelf self;
            FoamPair pair;
            if (b->source[i] >= f->liquid.count) continue; // deep in the water
            for (int a = 0; a < 3; a++)
                self.x[a] = b->x[a][i], self.u[a] = b->u[a][i], self.n[a] = b->n[a][i];
            float square = self.u[0] * self.u[0] + self.u[1] * self.u[1] + self.u[2] * self.u[2];
            if (!(0.5f * square > f->def.energy[0])) continue;
            f->kernels->pair(block, (int)c, &self, f->scale.inv_radius, &pair);
            pair.trapped *= scale, pair.crest *= scale, pair.surface *= scale;
            uint32_t k = b->source[i];
            p->rate[k] = foam_rate(&f->def, &self, &pair);
            for (int a = 0; a < 3; a++) p->u[a][k] = self.u[a];
        }
}

/// Tiles with particles of enough energy; false when there are none.
static bool mark_fast(Potentials *p) {
    const BrimFoam *f = p->work->foam;
    const FoamLiquid *l = &f->liquid;
    bool any = false;
    for (size_t i = 0; i < l->count; i++) {
        float square = l->v[0][i] * l->v[0][i] + l->v[1][i] * l->v[1][i] + l->v[2][i] * l->v[2][i];
        if (!(0.5f * square > f->def.energy[0])) continue;
        const float x[3] = {l->x[0][i], l->x[1][i], l->x[2][i]};
        uint32_t cell;
        p->fast[foam_cell(&f->scale, &f->bins.grid, x, &cell)] = 1;
        any = true;
    }
    return any;
}

static void swap(float **a, float **b) {
    float *kept = *a;
    *a = *b, *b = kept;
}

/// (liquid) => rate, u. False when out of memory, or foam_bins_sort fails.
static bool find_rates(Potentials *p) {
    BrimFoam *f = p->work->foam;
    FoamBins *b = p->bins;
    size_t box = grid_box(&b->grid), n = f->liquid.count;
    p->fast = memory_zero(box), p->near = memory_new(box);
    p->rate = memory_zero((n + 1) * sizeof(float));
    if (!p->fast || !p->near || !p->rate) return false;
    if (!mark_fast(p)) return true;
    // rates need the normals of neighbours, these their neighbours: a ring of tiles each
    memcpy(b->want, p->fast, box);
    foam_spread(b);
    memcpy(p->near, b->want, box);
    foam_spread(b);
    FoamPlaces places = {.count = n,
                         .x = f->liquid.x,
                         .w = f->liquid.v,
                         .interior = f->liquid.interior,
                         .interior_count = f->liquid.interior_count};
    if (!foam_bins_sort(b, &f->scale, &places, true, f->team)) return false;
    for (int a = 0; a < 3; a++) {
        memset(b->n[a], 0, b->count * sizeof(float));
        p->mean[a] = memory_zero((b->capacity + 1) * sizeof(float));
        p->own[a] = memory_zero((b->capacity + 1) * sizeof(float));
        p->u[a] = memory_zero((n + 1) * sizeof(float));
        if (!p->mean[a] || !p->own[a] || !p->u[a]) return false;
    }
    team_for(f->team, b->grid.tile_count, 1, average_tile, p);
    for (int a = 0; a < 3; a++) swap(&b->u[a], &p->own[a]);
    if (!p->failed) team_for(f->team, b->grid.tile_count, 1, smooth_tile, p);
    for (int a = 0; a < 3; a++) swap(&b->u[a], &p->mean[a]);
    if (!p->failed) team_for(f->team, b->grid.tile_count, 1, rate_tile, p);
    return !p->failed;
}

// ---------------------------------------------------------------------------------------- births

/// How many a particle bears in the interval: the whole part of what is expected, the rest by
/// chance.
static uint32_t brood(const Potentials *p, uint32_t host, uint64_t *hash) {
    const BrimFoam *f = p->work->foam;
    *hash = hash_3(f->seed, f->liquid.id[host], (uint64_t)(int64_t)f->frame);
    return (uint32_t)(p->rate[host] * f->paths.duration + hash_unit(*hash, 0));
}

/// Two unit vectors across a direction; in 2D the second is 0.
static void across(const float d[3], int dim, float e[3], float g[3]) {
    float length = 1 / sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-30f);
    const float u[3] = {d[0] * length, d[1] * length, d[2] * length};
    if (dim == 2) {
        e[0] = -u[1], e[1] = u[0], e[2] = 0, g[0] = g[1] = g[2] = 0;
        return;
    }
    int least = fabsf(u[0]) < fabsf(u[1]) ? 0 : 1;
    if (fabsf(u[2]) < fabsf(u[least])) least = 2;
    float axis[3] = {0, 0, 0}, sum = 0;
    axis[least] = 1;
    for (int a = 0; a < 3; a++) e[a] = axis[a] - u[least] * u[a], sum += e[a] * e[a];
    for (int a = 0; a < 3; a++) e[a] /= sqrtf(sum);
    for (int a = 0; a < 3; a++)
        g[a] = u[(a + 1) % 3] * e[(a + 2) % 3] - u[(a + 2) % 3] * e[(a + 1) % 3];
}

/// One particle at a chance moment of a path, in a tube of half a spacing around it.
static void bear(const Potentials *p, size_t path, uint32_t host, uint64_t hash,
                 BrimFoamParticle *out, float *begin) {
    const BrimFoam *f = p->work->foam;
    const BrimFoamDef *d = &f->def;
    const FoamPaths *paths = &f->paths;
    uint64_t when = hash_mix(hash + 1), where = hash_mix(hash + 2), what = hash_mix(hash + 3);
    bool ends = paths->halves[path] == 1;
    float t = hash_unit(when, 0) * paths->duration * (ends ? 0.5f : 1);
    float r = sqrtf(hash_unit(where, 0)), angle = 6.2831853f * hash_unit(where, 1);
    const float u[3] = {p->u[0][host], p->u[1][host], p->u[2][host]};
    float e[3], g[3], speed = sqrtf(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    across(u, f->scale.dim, e, g);
    if (f->scale.dim == 2) r = 2 * hash_unit(where, 0) - 1, angle = 0;
    float c = r * cosf(angle), s = r * sinf(angle);
    for (int a = 0; a < 3; a++) {
        float aside = c * e[a] + s * g[a];
        out->position[a] =
            paths->x[a][path] + t * paths->w[a][path] + 0.5f * f->scale.spacing * aside;
        out->velocity[a] = u[a] + d->spread * speed * aside;
    }
    float small = hash_unit(what, 1);
    out->age = 0;
    out->life = d->life[0] + (d->life[1] - d->life[0]) * hash_unit(what, 0);
    out->size = (d->size[0] + (d->size[1] - d->size[0]) * small * small) * f->scale.spacing;
    out->type = BRIM_FOAM_FOAM;
    *begin = t;
}

static bool make_room(FoamWork *w, size_t count) {
    if (count <= w->capacity) return true;
    size_t capacity = count + count / 8;
    BrimFoamParticle *particle = realloc(w->particle, capacity * sizeof *particle);
    if (particle) w->particle = particle;
    float *begin = realloc(w->begin, capacity * sizeof *begin);
    if (begin) w->begin = begin;
    if (particle && begin) w->capacity = capacity;
    return particle && begin;
}

/// The births of all paths, in the order of the liquid's ids. False when out of memory.
static bool bear_all(const Potentials *p) {
    FoamWork *w = p->work;
    const FoamPaths *paths = &w->foam->paths;
    size_t most = (size_t)w->foam->def.most;
    for (size_t k = 0; k < paths->count; k++) {
        uint32_t host = paths->from[k];
        uint64_t hash;
        if (host == UINT32_MAX || !(p->rate[host] > 0)) continue;
        uint32_t n = brood(p, host, &hash);
        if (n > most) n = (uint32_t)most;
        if (!make_room(w, w->count + n)) return false;
        for (uint32_t i = 0; i < n && w->count < most; i++) {
            BrimFoamParticle *out = &w->particle[w->count];
            bear(p, k, host, hash_3(hash, i, 0), out, &w->begin[w->count]);
            out->id = w->next_id++;
            w->count++, w->born++;
        }
    }
    return true;
}

BrimResult foam_born(FoamWork *work, BrimError *error) {
    Potentials p = {.work = work, .bins = &work->foam->bins};
    bool ready =
        foam_walls_place(&work->foam->walls, work->foam->time, 0) && find_rates(&p) && bear_all(&p);
    potentials_free(&p);
    if (ready) return BRIM_OK;
    return foam_bins_fail(p.bins, work->foam->liquid.count, "the foam", error);
}
