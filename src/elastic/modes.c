#include "elastic/modes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What of an element the body does not fill has this part of its stiffness and mass, so that
/// nodes beyond the surface follow it smoothly and vibrate at frequencies that nobody looks at.
static const double ghost_stiffness = 1e-5, ghost_mass = 1e-8;
/// Change of an eigenvalue between iterations at which it counts as found.
static const double found = 1e-7;
enum { ITERATIONS = 60 };

void modes_free(Modes *m) {
    free(m->omega2);
    free(m->shape);
    free(m->answer);
    sparse_free(&m->mass);
    *m = (Modes){0};
}

// ------------------------------------------------------------------------------------ assembly

typedef struct ElementMatrix {
    double stiffness[ELEMENT_MOST][ELEMENT_MOST][9], mass[ELEMENT_MOST][ELEMENT_MOST];
} ElementMatrix;

/// Adds a point's share with weights for stiffness and mass.
static void add_point(const Lattice *l, const ModesParams *params, const Point *p, double stiff,
                      double heavy, ElementMatrix *m) {
    double value[ELEMENT_MOST], g[ELEMENT_MOST][3];
    int d = l->dim;
    lattice_functions(l, p, value, g);
    double mu = params->material.mu * p->volume * stiff;
    double lambda = params->material.lambda * p->volume * stiff;
    double density = params->density * p->volume * heavy;
    for (int i = 0; i < l->per_element; i++)
        for (int j = 0; j < l->per_element; j++) {
            double both = 0, *k = m->stiffness[i][j];
            for (int a = 0; a < d; a++) both += g[i][a] * g[j][a];
            for (int a = 0; a < d; a++)
                for (int b = 0; b < d; b++)
                    k[d * a + b] += lambda * g[i][a] * g[j][b] + mu * g[i][b] * g[j][a] +
                                    (a == b ? mu * both : 0);
            m->mass[i][j] += density * value[i] * value[j];
        }
}

typedef struct System {
    int free;        ///< nodes that can move
    int32_t *number; ///< [nodes] among those, -1: held
    int32_t *node;   ///< [elements][per_element] the same
    double (*place)[3];
    Sparse stiffness, mass;
    double shift;
    double *pull; ///< [free dofs][given] forces that given displacements of held nodes exert
    const double *given;
    int given_count;
} System;

/// What given displacements of node j do to node a, by the block k of the two.
static void add_pull(const Lattice *l, System *s, int32_t a, int32_t j, const double *k) {
    size_t d = (size_t)l->dim, width = (size_t)s->given_count, all = (size_t)l->node_count * d;
    for (size_t g = 0; g < width; g++)
        for (size_t c = 0; c < d; c++)
            for (size_t b = 0; b < d; b++)
                s->pull[((size_t)a * d + c) * width + g] -=
                    k[c * d + b] * s->given[g * all + (size_t)j * d + b];
}

static void scatter(const Lattice *l, int element, const ElementMatrix *m, System *s,
                    Sparse *scalar) {
    const int32_t *node = l->node + element * l->per_element, *number = s->number;
    Sparse *k = &s->stiffness, *mass = &s->mass;
    int d = l->dim;
    for (int i = 0; i < l->per_element; i++)
        for (int j = 0; j < l->per_element; j++) {
            *sparse_block(scalar, node[i], node[j]) += m->mass[i][j];
            int a = number[node[i]], b = number[node[j]];
            if (a >= 0 && b < 0 && s->pull) add_pull(l, s, a, node[j], m->stiffness[i][j]);
            if (a < 0 || b < 0) continue;
            double *to = sparse_block(k, a, b), *heavy = sparse_block(mass, a, b);
            for (int c = 0; c < d * d; c++) to[c] += m->stiffness[i][j][c];
            for (int c = 0; c < d; c++) heavy[c * d + c] += m->mass[i][j];
        }
}

static void system_free(System *s) {
    free(s->number);
    free(s->node);
    free(s->place);
    free(s->pull);
    sparse_free(&s->stiffness);
    sparse_free(&s->mass);
}

static bool number_free(const Lattice *l, const uint8_t *held, System *s) {
    size_t entries = (size_t)l->element_count * (size_t)l->per_element;
    s->number = memory_new((size_t)l->node_count * sizeof *s->number);
    s->place = memory_new((size_t)l->node_count * sizeof *s->place);
    s->node = memory_new(entries * sizeof *s->node);
    if (!s->number || !s->place || !s->node) return false;
    for (int i = 0; i < l->node_count; i++) {
        s->number[i] = held && held[i] ? -1 : s->free;
        if (s->number[i] >= 0) memcpy(s->place[s->free++], l->place[i], sizeof *s->place);
    }
    for (size_t i = 0; i < entries; i++) s->node[i] = s->number[l->node[i]];
    return true;
}

/// Points come element by element.
static void assemble(const Lattice *l, const Points *points, const double *filled,
                     const ModesParams *params, System *s, ElementMatrix *m, Sparse *scalar) {
    size_t at = 0;
    for (int e = 0; e < l->element_count; e++) {
        memset(m, 0, sizeof *m);
        for (; at < points->count && points->point[at].element == e; at++)
            add_point(l, params, &points->point[at], 1, 1, m);
        Point whole[ELEMENT_MOST];
        int n = filled[e] < 1 ? lattice_gauss(l, e, whole) : 0;
        for (int i = 0; i < n; i++) add_point(l, params, &whole[i], ghost_stiffness, ghost_mass, m);
        scatter(l, e, m, s, scalar);
    }
}

static double trace(const Sparse *m) {
    double sum = 0;
    for (int i = 0; i < m->count; i++) {
        const double *b = sparse_block(m, i, i);
        for (int a = 0; a < m->dim; a++) sum += b[a * m->dim + a];
    }
    return sum;
}

static bool build(const Lattice *l, const Points *points, const double *filled,
                  const ModesParams *params, System *s, Sparse *scalar) {
    ElementMatrix *m = memory_new(sizeof *m);
    int e = l->element_count, per = l->per_element;
    bool ok = m && number_free(l, params->held, s) &&
              sparse_pattern(&s->stiffness, l->dim, s->free, s->node, e, per) &&
              sparse_pattern(&s->mass, l->dim, s->free, s->node, e, per) &&
              sparse_pattern(scalar, 1, l->node_count, l->node, e, per);
    s->given = params->given, s->given_count = params->given_count;
    if (ok && s->given_count) {
        s->pull = memory_zero((size_t)(s->free * l->dim * s->given_count) * sizeof(double));
        ok = s->pull;
    }
    if (ok) assemble(l, points, filled, params, s, m, scalar);
    free(m);
    // rigid motions of a free body have no stiffness: a little mass makes the sum definite
    if (ok) s->shift = 1e-6 * trace(&s->stiffness) / trace(&s->mass);
    return ok;
}

// ----------------------------------------------------------------------------------- iteration

/// out [p][p] = x^T y over [dofs][p]
static void products(const double *x, const double *y, size_t dofs, int p, double *out) {
    memset(out, 0, (size_t)p * (size_t)p * sizeof *out);
    const RowKernels *rows = row_kernels();
    for (size_t from = 0; from < dofs; from += 64) { // rows that stay in cache
        int count = dofs - from < 64 ? (int)(dofs - from) : 64;
        int a = 0;
        for (; a + FOUR <= p; a += FOUR)
            rows->add_four(out + (size_t)a * (size_t)p, p, p, 1, x + from * (size_t)p + a, 1, p,
                           y + from * (size_t)p, p, count);
        for (; a < p; a++)
            rows->add(out + (size_t)a * (size_t)p, p, 1, x + from * (size_t)p + a, p,
                      y + from * (size_t)p, p, count);
    }
}

typedef struct Iteration {
    size_t dofs;
    int p;
    double *x, *mx, *y;                      ///< [dofs][p]
    double *small_k, *small_m, *vectors, *w; ///< [p][p]
    double *value, *last;                    ///< [p]
} Iteration;

static bool iteration_new(Iteration *it) {
    size_t big = it->dofs * (size_t)it->p * sizeof(double);
    size_t small = (size_t)it->p * (size_t)it->p * sizeof(double);
    it->x = memory_new(big), it->mx = memory_new(big), it->y = memory_new(big);
    it->small_k = memory_new(small), it->small_m = memory_new(small);
    it->vectors = memory_new(small), it->w = memory_new(small);
    it->value = memory_zero(small), it->last = memory_zero(small);
    return it->x && it->mx && it->y && it->small_k && it->small_m && it->vectors && it->w &&
           it->value && it->last;
}

static void iteration_free(Iteration *it) {
    free(it->x), free(it->mx), free(it->y);
    free(it->small_k), free(it->small_m), free(it->vectors), free(it->w);
    free(it->value), free(it->last);
}

/// U^-T a U^-1 with U [p][p] upper.
static void congruence(const double *u, double *a, int p) {
    for (int pass = 0; pass < 2; pass++) {
        // rows: solve U^T z = column by column; then transposed, for the other side
        for (int k = 0; k < p; k++) {
            double *row = a + (size_t)k * (size_t)p;
            for (int b = 0; b < p; b++) row[b] /= u[(size_t)k * (size_t)p + (size_t)k];
            for (int j = k + 1; j < p; j++) {
                double f = u[(size_t)k * (size_t)p + (size_t)j];
                double *to = a + (size_t)j * (size_t)p;
                for (int b = 0; b < p; b++) to[b] -= f * row[b];
            }
        }
        for (int i = 0; i < p; i++)
            for (int j = i + 1; j < p; j++) {
                double x = a[(size_t)i * (size_t)p + (size_t)j];
                a[(size_t)i * (size_t)p + (size_t)j] = a[(size_t)j * (size_t)p + (size_t)i];
                a[(size_t)j * (size_t)p + (size_t)i] = x;
            }
    }
}

/// rows of `vectors` v => U^-1 v
static void back_substitute(const double *u, double *vectors, int p) {
    for (int r = 0; r < p; r++) {
        double *v = vectors + (size_t)r * (size_t)p;
        for (int k = p - 1; k >= 0; k--) {
            const double *row = u + (size_t)k * (size_t)p;
            v[k] = (v[k] - dense_dot(row + k + 1, v + k + 1, p - k - 1)) / row[k];
        }
    }
}

/// x [dofs][p] = y vectors^T
static void combine(const Iteration *it) {
    int p = it->p;
    for (int a = 0; a < p; a++) // transposed, so that rows add up
        for (int b = 0; b < p; b++)
            it->w[(size_t)b * (size_t)p + (size_t)a] =
                it->vectors[(size_t)a * (size_t)p + (size_t)b];
    memset(it->x, 0, it->dofs * (size_t)p * sizeof(double));
    const RowKernels *rows = row_kernels();
    size_t i = 0;
    for (; i + FOUR <= it->dofs; i += FOUR)
        rows->add_four(it->x + i * (size_t)p, p, p, 1, it->y + i * (size_t)p, p, 1, it->w, p, p);
    for (; i < it->dofs; i++)
        rows->add(it->x + i * (size_t)p, p, 1, it->y + i * (size_t)p, 1, it->w, p, p);
}

/// One step: y = (K + shift M)^-1 M x, then the best combinations of y. False when it broke down.
static bool advance(const System *s, const SparseFactor *factor, Iteration *it) {
    int p = it->p;
    memcpy(it->y, it->mx, it->dofs * (size_t)p * sizeof(double));
    if (!sparse_factor_solve(factor, p, it->y)) return false;
    products(it->y, it->mx, it->dofs, p, it->small_k); // y^T (K + shift M) y
    sparse_apply(&s->mass, p, it->y, it->mx);
    products(it->y, it->mx, it->dofs, p, it->small_m);
    if (!dense_cholesky(it->small_m, p, p)) return false;
    congruence(it->small_m, it->small_k, p);
    double *swap = it->last;
    it->last = it->value, it->value = swap;
    dense_eigen(it->small_k, p, it->value, it->vectors);
    back_substitute(it->small_m, it->vectors, p);
    combine(it);
    sparse_apply(&s->mass, p, it->x, it->mx);
    return true;
}

/// Displacements of all nodes with those of held ones given.
static bool find_answer(const Lattice *l, const System *s, const SparseFactor *factor, Modes *m) {
    size_t d = (size_t)l->dim, width = (size_t)s->given_count, all = (size_t)l->node_count * d;
    m->answer = memory_new(width * all * sizeof(double));
    if (!m->answer || !sparse_factor_solve(factor, s->given_count, s->pull)) return false;
    for (size_t g = 0; g < width; g++)
        for (size_t i = 0; i < all; i++) {
            int32_t node = s->number[i / d];
            m->answer[g * all + i] =
                node < 0 ? s->given[g * all + i] : s->pull[((size_t)node * d + i % d) * width + g];
        }
    return true;
}

static BrimResult iterate(const Lattice *l, const System *s, int wanted, Iteration *it, Modes *m,
                          BrimError *error) {
    SparseFactor *factor;
    BrimResult result = sparse_factor(&s->stiffness, s->shift, &s->mass, s->place, &factor, error);
    if (result != BRIM_OK) return result;
    for (size_t i = 0; i < it->dofs * (size_t)it->p; i++)
        it->x[i] = hash_unit(hash_mix(i + 1), 0) - 0.5;
    sparse_apply(&s->mass, it->p, it->x, it->mx);
    if (s->given_count && !find_answer(l, s, factor, m))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's pins");
    bool done = false;
    for (int n = 0; result == BRIM_OK && !done && n < ITERATIONS; n++) {
        if (!advance(s, factor, it))
            result = fail(error, BRIM_ERROR_INPUT,
                          "an elastic body's vibrations could not be found: its mesh or its pins "
                          "leave fewer than %d of them",
                          wanted);
        done = n > 0;
        for (int i = 0; i < wanted; i++)
            done &= fabs(it->value[i] - it->last[i]) <= found * it->value[i];
    }
    sparse_factor_free(&factor);
    return result;
}

// -------------------------------------------------------------------------------------- result

/// Copies modes [skip, skip + count) to all nodes; the largest entry of each is made positive.
static void spread(const Lattice *l, const System *s, const Iteration *it, int skip, Modes *m) {
    size_t d = (size_t)l->dim, p = (size_t)it->p, count = (size_t)m->count;
    for (size_t k = 0; k < count; k++) {
        double most = 0;
        for (size_t i = 0; i < it->dofs; i++) {
            double x = it->x[i * p + k + (size_t)skip];
            if (fabs(x) > fabs(most) * (1 + 1e-6)) most = x;
        }
        double sign = most < 0 ? -1 : 1;
        m->omega2[k] = it->value[k + (size_t)skip] - s->shift;
        for (size_t i = 0; i < (size_t)l->node_count * d; i++) {
            int32_t node = s->number[i / d];
            m->shape[i * count + k] =
                node < 0 ? 0 : sign * it->x[((size_t)node * d + i % d) * p + k + (size_t)skip];
        }
    }
}

BrimResult modes_new(const Lattice *l, const Points *points, const double *filled,
                     const ModesParams *params, Modes *m, BrimError *error) {
    System s = {0};
    Iteration it = {0};
    *m = (Modes){0};
    BrimResult result = BRIM_OK;
    if (!build(l, points, filled, params, &s, &m->mass))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's stiffness");
    if (result == BRIM_OK && params->wanted == 0) {
        system_free(&s);
        return BRIM_OK;
    }
    int skip = params->held ? 0 : l->dim == 3 ? 6 : 3;
    it.dofs = (size_t)s.free * (size_t)l->dim;
    int most = (int)it.dofs / 2 - skip;
    m->count = params->wanted < most ? params->wanted : most;
    if (result == BRIM_OK && m->count < 1)
        result =
            fail(error, BRIM_ERROR_INPUT, "an elastic body's pins leave nothing that can move");
    int wanted = m->count + skip;
    it.p = wanted + (wanted / 3 > 8 ? wanted / 3 : 8);
    if ((size_t)it.p > it.dofs) it.p = (int)it.dofs;
    if (result == BRIM_OK) {
        m->omega2 = memory_new((size_t)m->count * sizeof(double));
        m->shape = memory_new((size_t)l->node_count * (size_t)(l->dim * m->count) * sizeof(double));
        if (!iteration_new(&it) || !m->omega2 || !m->shape)
            result = fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's vibrations");
    }
    if (result == BRIM_OK) result = iterate(l, &s, wanted, &it, m, error);
    if (result == BRIM_OK) spread(l, &s, &it, skip, m);
    system_free(&s);
    iteration_free(&it);
    if (result != BRIM_OK) modes_free(m);
    return result;
}
