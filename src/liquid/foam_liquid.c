// The liquid between two frames, and lengths that follow from the scene.
#include "base/error.h"
#include "base/memory.h"
#include "liquid/foam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ----------------------------------------------------------------------------------------- scale

/// Integral of 1 - r over the unit ball's (2D: disk's) slice at distance z from its centre.
static double slice(int dim, double z) {
    if (z >= 1) return 0;
    if (dim == 3) return 2 * M_PI * (1 / 6.0 - z * z / 2 + z * z * z / 3);
    double half = sqrt(1 - z * z);
    return half - (z > 0 ? z * z * asinh(half / z) : 0);
}

/// Shares of the kernel before a plane, by Simpson's rule between the steps.
static void fill_walls(FoamScale *s) {
    double sum = 0, step = 1.0 / FOAM_WALL_STEPS, part[FOAM_WALL_STEPS + 1] = {0};
    for (int i = 0; i < FOAM_WALL_STEPS; i++) {
        double a = slice(s->dim, i * step), b = slice(s->dim, (i + 0.5) * step);
        sum += step / 6 * (a + 4 * b + slice(s->dim, (i + 1) * step));
        part[i + 1] = sum;
    }
    for (int i = 0; i <= FOAM_WALL_STEPS; i++) s->wall[i] = (float)(0.5 + 0.5 * part[i] / sum);
}

size_t foam_stand_ins(const FoamScale *s) {
    size_t n = (size_t)s->stand;
    return s->dim == 2 ? n * n : n * n * n;
}

float foam_wall_share(const FoamScale *s, float distance) {
    float at = distance * s->inv_radius * FOAM_WALL_STEPS;
    if (!(at > 0)) return s->wall[0];
    if (at >= FOAM_WALL_STEPS) return 1;
    int i = (int)at;
    return s->wall[i] + (at - (float)i) * (s->wall[i + 1] - s->wall[i]);
}

void foam_scale_init(FoamScale *s, const BrimSimDef *def) {
    *s = (FoamScale){.dim = def->dim};
    double cell = (double)def->size.x / def->cells[0], per_cell = def->particles_per_cell;
    double spacing = cell / (def->dim == 2 ? sqrt(per_cell) : cbrt(per_cell));
    s->spacing = (float)spacing, s->radius = (float)(2 * spacing);
    // `stand` is the root of a square or cube number of particles in a cell: as dense as they are
    s->cell = (float)cell, s->stand = (int)ceil(cell / spacing - 1e-6);
    s->per_cell = def->particles_per_cell;
    s->inv_radius = 1 / s->radius;
    // integral of 1 - d / h, h = 2, over the ball or the disk
    s->rest = (float)(M_PI / 3 * (def->dim == 2 ? 4 : 8));
    const float size[3] = {def->size.x, def->size.y, def->dim == 2 ? 0 : def->size.z};
    for (int a = 0; a < 3; a++) {
        s->size[a] = size[a];
        s->cells[a] = (int)ceilf(size[a] * s->inv_radius);
        if (s->cells[a] < 1) s->cells[a] = 1;
    }
    fill_walls(s);
}

// ----------------------------------------------------------------------------------------- frame

void foam_liquid_free(FoamLiquid *l) {
    for (int a = 0; a < 3; a++) free(l->x[a]), free(l->v[a]);
    free(l->id), free(l->interior);
    *l = (FoamLiquid){0};
}

static bool liquid_fit(FoamLiquid *l, size_t count) {
    if (count <= l->capacity && l->id) return true;
    foam_liquid_free(l);
    bool ready = (l->id = memory_new(count * sizeof *l->id)) != NULL;
    for (int a = 0; a < 3; a++) {
        ready = (l->x[a] = memory_new(count * sizeof(float))) && ready;
        ready = (l->v[a] = memory_new(count * sizeof(float))) && ready;
    }
    l->capacity = ready ? count : 0;
    return ready;
}

typedef struct ById {
    uint32_t id, index;
} ById;

static int by_id(const void *a, const void *b) {
    const ById *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id)
                          : (x->index > y->index) - (x->index < y->index);
}

/// Places of the particles in the order of ids, in new memory; *order NULL when they are in order.
static bool find_order(const BrimParticles *p, ById **order) {
    bool sorted = true;
    *order = NULL;
    for (size_t i = 1; i < p->count && sorted; i++) sorted = p->id[i - 1] < p->id[i];
    if (sorted) return true;
    *order = memory_new(p->count * sizeof **order);
    if (!*order) return false;
    for (size_t i = 0; i < p->count; i++) (*order)[i] = (ById){p->id[i], (uint32_t)i};
    qsort(*order, p->count, sizeof **order, by_id);
    return true;
}

static BrimResult no_memory(size_t count, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the foam of %zu particles", count);
}

/// One particle. False when it has values that are not numbers.
static bool take(FoamLiquid *l, const FoamScale *s, const BrimParticles *p, size_t from,
                 size_t to) {
    const float x[3] = {p->x[from], p->y[from], s->dim == 2 ? 0 : p->z[from]};
    const float v[3] = {p->vx[from], p->vy[from], s->dim == 2 ? 0 : p->vz[from]};
    float sum = 0;
    for (int a = 0; a < 3; a++) {
        l->x[a][to] = fminf(fmaxf(x[a], 0), s->size[a]);
        l->v[a][to] = v[a];
        sum += x[a] * 0 + v[a] * 0;
    }
    l->id[to] = p->id[from];
    return sum == 0;
}

/// The cells below a band.
static BrimResult take_interior(FoamLiquid *l, const FoamScale *s, const BrimParticles *p,
                                int frame, BrimError *error) {
    l->interior_count = p->interior ? p->interior_count : 0;
    if (!l->interior_count) return BRIM_OK;
    if (foam_stand_ins(s) != (size_t)s->per_cell)
        return fail(error, BRIM_ERROR_INPUT,
                    "foam with cells below a band needs a %s number of particles in a cell, not %d",
                    s->dim == 2 ? "square" : "cube", s->per_cell);
    if (!memory_fit((void **)&l->interior, &l->interior_capacity, sizeof *l->interior,
                    l->interior_count))
        return no_memory(l->interior_count, error);
    memcpy(l->interior, p->interior, l->interior_count * sizeof *l->interior);
    for (size_t i = 0; i < l->interior_count; i++) {
        const float *x = l->interior[i].position, *v = l->interior[i].velocity;
        if (x[0] * 0 + x[1] * 0 + x[2] * 0 + v[0] * 0 + v[1] * 0 + v[2] * 0 == 0) continue;
        return fail(error, BRIM_ERROR_INPUT,
                    "frame %d: the cell below the band at (%g, %g, %g) has velocity (%g, %g, %g): "
                    "foam needs finite numbers",
                    frame, (double)x[0], (double)x[1], (double)x[2], (double)v[0], (double)v[1],
                    (double)v[2]);
    }
    return BRIM_OK;
}

BrimResult foam_liquid_set(FoamLiquid *l, const FoamScale *s, const BrimParticles *p, int frame,
                           BrimError *error) {
    ById *order;
    BrimParticles all = *p, liquid = all; // spray is not of it
    liquid.count -= all.spray < all.count ? all.spray : all.count;
    p = &liquid;
    if (p->count > UINT32_MAX - 1)
        return fail(error, BRIM_ERROR_INPUT, "foam of %zu particles: at most 2^32 - 2", p->count);
    if (!liquid_fit(l, p->count ? p->count : 1) || !find_order(p, &order))
        return no_memory(p->count, error);
    l->count = p->count;
    BrimResult result = BRIM_OK;
    for (size_t i = 0; i < p->count && result == BRIM_OK; i++) {
        size_t from = order ? order[i].index : i;
        if (!take(l, s, p, from, i))
            result =
                fail(error, BRIM_ERROR_INPUT,
                     "frame %d: the particle with id %u is at (%g, %g, %g) with velocity (%g, "
                     "%g, %g): foam needs finite numbers",
                     frame, p->id[from], (double)p->x[from], (double)p->y[from], (double)p->z[from],
                     (double)p->vx[from], (double)p->vy[from], (double)p->vz[from]);
        else if (i > 0 && l->id[i] == l->id[i - 1])
            result = fail(error, BRIM_ERROR_INPUT, "frame %d: two particles have the id %u", frame,
                          l->id[i]);
    }
    free(order);
    return result == BRIM_OK ? take_interior(l, s, p, frame, error) : result;
}

// ----------------------------------------------------------------------------------------- paths

void foam_paths_free(FoamPaths *p) {
    for (int a = 0; a < 3; a++) free(p->x[a]), free(p->w[a]);
    free(p->halves), free(p->from);
    *p = (FoamPaths){0};
}

static bool paths_fit(FoamPaths *p, size_t count) {
    if (count <= p->capacity && p->from) return true;
    foam_paths_free(p);
    bool ready =
        (p->halves = memory_new(count)) && (p->from = memory_new(count * sizeof(uint32_t)));
    for (int a = 0; a < 3; a++) {
        ready = (p->x[a] = memory_new(count * sizeof(float))) && ready;
        ready = (p->w[a] = memory_new(count * sizeof(float))) && ready;
    }
    p->capacity = ready ? count : 0;
    return ready;
}

/// A particle that is in frame a at place i, in frame b at place j, or in both (not SIZE_MAX).
static void add_path(FoamPaths *p, const FoamLiquid *a, size_t i, const FoamLiquid *b, size_t j) {
    size_t k = p->count++;
    bool first = i != SIZE_MAX, second = j != SIZE_MAX;
    float speed = 0, duration = p->duration;
    for (int c = 0; c < 3; c++) {
        float w = first && second ? (b->x[c][j] - a->x[c][i]) / duration
                  : first         ? a->v[c][i]
                                  : b->v[c][j];
        p->x[c][k] = first ? a->x[c][i] : b->x[c][j] - w * duration;
        p->w[c][k] = w;
        speed += w * w;
    }
    p->halves[k] = (uint8_t)((first ? 1 : 0) | (second ? 2 : 0));
    p->from[k] = first ? (uint32_t)i : UINT32_MAX;
    p->fastest = fmaxf(p->fastest, speed); // squared, until all are there
}

static void mark_interior(FoamPaths *p, const FoamLiquid *l) {
    for (size_t i = 0; i < l->interior_count; i++) {
        const float *v = l->interior[i].velocity;
        p->fastest = fmaxf(p->fastest, v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
}

bool foam_paths_make(FoamPaths *p, const FoamLiquid *a, const FoamLiquid *b, double duration) {
    if (!paths_fit(p, a->count + b->count + 1)) return false;
    p->count = 0, p->fastest = 0, p->duration = (float)duration;
    size_t i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool first = i < a->count && (j == b->count || a->id[i] <= b->id[j]);
        bool second = j < b->count && (i == a->count || b->id[j] <= a->id[i]);
        add_path(p, a, first ? i : SIZE_MAX, b, second ? j : SIZE_MAX);
        i += first, j += second;
    }
    mark_interior(p, a), mark_interior(p, b);
    p->fastest = sqrtf(p->fastest);
    return true;
}
