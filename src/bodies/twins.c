// The particles that a body is full of: where they are, and how their velocities become the body's.
#include "base/error.h"
#include "base/memory.h"
#include "bodies/immersed.h"
#include "elastic/dense.h"
#include "elastic/rows.h"
#include "elastic/sparse.h"
#include "particles/seed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What is added to the mass of each function in the fit, of its mean: but for rounding none to 1,
/// x, y and z, which carry the body's weight.
static const double EXACT = 1e-10, STAY = 0.1;

void twins_free(Body *b) {
    Twins *t = b->twins;
    if (!t) return;
    free(t->element), free(t->value), free(t->rest), free(t->place), free(t->speed), free(t->sent);
    free(t->within), free(t->node), free(t->gram), free(t->star);
    solid_free(&t->solid);
    free(t);
    b->twins = NULL;
}

size_t twins_bytes(const Body *b) {
    const Twins *t = b->twins;
    if (!t) return 0;
    const Elastic *e = b->elastic;
    size_t each = (size_t)e->lattice.per_element * sizeof(float) + 12 * sizeof(float) + 5;
    return sizeof *t + t->count * each +
           sizeof(double) * (size_t)(e->dim * e->lattice.node_count + e->r * e->r + e->dofs);
}

// ------------------------------------------------------------------------------------- seeding

typedef struct Seeding {
    Body *body;
    size_t room[2];
    bool full; ///< out of memory
} Seeding;

static bool seed(void *context, const SeedBatch *batch) {
    Seeding *s = context;
    Twins *t = s->body->twins;
    float d[SEED_BATCH];
    shape_distance(s->body->shape, batch->count, batch->x, batch->y, batch->z, d);
    for (int i = 0; i < batch->count; i++) {
        if (d[i] >= 0) continue;
        size_t n = t->count;
        if (!memory_grow((void **)&t->rest, &s->room[0], sizeof *t->rest, n + 1, n)) s->full = true;
        if (s->full) return false;
        t->rest[n][0] = batch->x[i], t->rest[n][1] = batch->y[i];
        t->rest[n][2] = s->body->dim == 3 ? batch->z[i] : 0;
        t->count++;
    }
    return true;
}

/// Where each twin lies in the body's lattice.
static bool find_places(Body *b) {
    Twins *t = b->twins;
    const Lattice *l = &b->elastic->lattice;
    size_t n = t->count, each = (size_t)l->per_element;
    t->element = memory_new(n * sizeof *t->element);
    t->value = memory_new(n * each * sizeof *t->value);
    t->place = memory_new(n * sizeof *t->place);
    t->speed = memory_zero(n * sizeof *t->speed);
    t->sent = memory_zero(n * sizeof *t->sent);
    t->within = memory_zero(n);
    t->node = memory_zero((size_t)(l->dim * l->node_count) * sizeof *t->node);
    t->star = memory_zero((size_t)b->elastic->dofs * sizeof *t->star);
    if (!t->element || !t->value || !t->place || !t->speed || !t->sent || !t->within || !t->node ||
        !t->star)
        return false;
    for (size_t i = 0; i < n; i++) {
        double place[3] = {t->rest[i][0], t->rest[i][1], t->rest[i][2]}, value[ELEMENT_MOST];
        Point p = lattice_find(l, place);
        lattice_functions(l, &p, value, NULL);
        t->element[i] = p.element;
        for (size_t k = 0; k < each; k++) t->value[i * each + k] = (float)value[k];
    }
    return true;
}

/// B^T m B over the lattice's nodes, element by element.
static bool particle_mass(const Body *b, Sparse *m) {
    const Twins *t = b->twins;
    const Lattice *l = &b->elastic->lattice;
    int each = l->per_element;
    size_t square = (size_t)(each * each);
    double *all = memory_zero((size_t)l->element_count * square * sizeof *all);
    bool ok = all && sparse_pattern(m, 1, l->node_count, l->node, l->element_count, each);
    for (size_t i = 0; ok && i < t->count; i++) {
        double *to = all + (size_t)t->element[i] * square;
        const float *value = t->value + i * (size_t)each;
        for (int p = 0; p < each; p++)
            for (int q = 0; q < each; q++) to[p * each + q] += t->weight * value[p] * value[q];
    }
    for (int e = 0; ok && e < l->element_count; e++) {
        const int32_t *node = l->node + (size_t)(e * each);
        for (int p = 0; p < each; p++)
            for (int q = 0; q < each; q++)
                *sparse_block(m, node[p], node[q]) +=
                    all[(size_t)e * square + (size_t)(p * each + q)];
    }
    free(all);
    return ok;
}

/// gram = factor of U^T (B^T m B) U, which the exact mass makes 1. Functions that few twins see
/// stay near what the elastic step has: they would follow the noise of those.
static bool find_gram(Body *b) {
    Twins *t = b->twins;
    const Elastic *e = b->elastic;
    size_t r = (size_t)e->r, nodes = (size_t)e->lattice.node_count;
    const RowKernels *rows = row_kernels();
    Sparse m = {0};
    double *image = memory_new(nodes * r * sizeof *image), sum = 0;
    t->gram = memory_zero(r * r * sizeof *t->gram);
    bool ok = image && t->gram && particle_mass(b, &m);
    if (ok) {
        sparse_apply(&m, e->r, e->basis, image);
        for (size_t i = 0; i < r; i++)
            rows->add(t->gram + i * r, e->r, 1, e->basis + i, e->r, image, e->r, (int)nodes);
        for (size_t i = 0; i < r; i++) sum += t->gram[i * (r + 1)];
        for (size_t i = 0; i < r; i++) {
            double part = i <= (size_t)e->dim ? EXACT : STAY;
            t->gram[i * (r + 1)] += part * sum / (double)r;
        }
        ok = dense_cholesky(t->gram, e->r, e->r);
    }
    sparse_free(&m);
    free(image);
    return ok;
}

BrimResult twins_new(const BrimSim *s, Body *b, float flip, bool keep_out, BrimError *error) {
    Twins *t = b->twins = memory_zero(sizeof *t);
    if (!t) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    int across = seed_per_axis(s->dim, s->def.particles_per_cell);
    float low[3], high[3], spacing = s->dx / (float)across;
    Seeding seeding = {.body = b};
    t->flip = flip, t->keep_out = keep_out;
    t->mass = (float)(b->elastic->params.density / s->def.density);
    t->weight = b->elastic->params.density * s->cell_volume / s->def.particles_per_cell;
    shape_bounds(b->shape, low, high);
    if (s->dim == 2) low[2] = high[2] = 0;
    seed_lattice(s->dim, spacing, (const float[3]){0, 0, 0}, low, high, seed, &seeding);
    if (!seeding.full && t->count == 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "no particle of %.3g m fits into the body: make it larger, or cells smaller",
                    (double)spacing);
    if (seeding.full || !find_places(b) || !find_gram(b))
        return fail(error, BRIM_ERROR_MEMORY, "no memory for the %zu particles of a body",
                    t->count);
    SolidBody solid = body_solid(b);
    return solid_new_body(&solid, s->dim, &t->solid, error);
}
