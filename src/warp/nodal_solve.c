#include "warp/nodal_solve.h"
#include "base/memory.h"
#include "solve/solve.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Of the damped steps: sum |K_ij| bounds the spectrum, so that anything below 2 is stable.
static const float DAMPING = 1.6f;
/// A descent stops at this part of the residual that it began with, and begins anew from the true
/// residual: float recurrences do not follow it further.
static const double DESCENT = 1e-5;

enum { VECTORS = 7 };

struct NodalSolver {
    const NodalOperator *op;
    Poisson *cycle; ///< on the 7-point matrix
    float *store;
    size_t store_capacity, cells;
    float *r, *z, *w, *p, *s, *e, *t; ///< [nodes]
    int32_t *component;               ///< [node] of a closed component, from 1 on; 0: none
    int64_t *queue;
    size_t component_capacity, queue_capacity;
    int closed;
};

NodalSolver *nodal_solver_new(BrimIsa isa, int threads) {
    NodalSolver *s = memory_zero(sizeof *s);
    if (!s) return NULL;
    s->cycle = poisson_new(isa, threads, NULL);
    if (!s->cycle) free(s), s = NULL;
    return s;
}

void nodal_solver_free(NodalSolver **solver) {
    NodalSolver *s = *solver;
    if (!s) return;
    poisson_free(&s->cycle);
    free(s->store), free(s->component), free(s->queue);
    free(s);
    *solver = NULL;
}

size_t nodal_solver_bytes(const NodalSolver *s) {
    return sizeof *s + poisson_bytes(s->cycle) + s->store_capacity * sizeof(float) +
           s->component_capacity * sizeof *s->component + s->queue_capacity * sizeof *s->queue;
}

// ------------------------------------------------------------------------------ closed components

/// The coefficient between a node and its neighbour along a link, forward or backward; *other is
/// the neighbour, -1 where there is none.
static float link_between(const NodalOperator *op, int64_t node, int link, int sign,
                          int64_t *other) {
    const Grid *g = op->grid;
    const int64_t n = g->tile_cells;
    const int slot = (int)(node / n), i = (int)(node % n);
    const signed char *d = nodal_link[link];
    *other = grid_near(g, slot, (i & 7) + sign * d[0], (i >> 3 & 7) + sign * d[1],
                       (i >> 6) + sign * d[2]);
    if (*other < 0) return 0;
    int64_t from = sign > 0 ? node : *other, tile = from / n;
    return op->used[tile] ? op->link[(tile * op->links + link) * n + from % n] : 0;
}

/// Marks all nodes that hang together with those in the queue.
static void flood(NodalSolver *s, size_t count, int32_t mark) {
    for (size_t k = 0; k < count; k++)
        for (int link = 0; link < s->op->links; link++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int64_t other;
                float a = link_between(s->op, s->queue[k], link, sign, &other);
                if (a == 0 || s->component[other]) continue;
                s->component[other] = mark;
                s->queue[count++] = other;
            }
}

/// Numbers the closed components: what no anchored node hangs together with.
static void find_closed(NodalSolver *s) {
    const NodalOperator *op = s->op;
    size_t count = 0;
    memset(s->component, 0, s->cells * sizeof *s->component);
    for (size_t i = 0; i < s->cells; i++)
        if (op->used[i / (size_t)op->grid->tile_cells] && op->smooth[i] > 0 && op->anchor[i] != 0)
            s->component[i] = -1, s->queue[count++] = (int64_t)i;
    flood(s, count, -1);
    s->closed = 0;
    for (size_t i = 0; i < s->cells; i++) {
        if (!op->used[i / (size_t)op->grid->tile_cells] || op->smooth[i] == 0) continue;
        if (s->component[i]) continue;
        s->component[i] = ++s->closed, s->queue[0] = (int64_t)i;
        flood(s, 1, s->closed);
    }
}

/// Takes the mean of each closed component out of a field, which is float or double.
static void remove_means(const NodalSolver *s, float *single, double *twice) {
    for (int c = 1; c <= s->closed; c++) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < s->cells; i++)
            if (s->component[i] == c) sum += single ? (double)single[i] : twice[i], count++;
        for (size_t i = 0; i < s->cells; i++) {
            if (s->component[i] != c) continue;
            if (single)
                single[i] -= (float)(sum / count);
            else
                twice[i] -= sum / count;
        }
    }
}

bool nodal_prepare(NodalSolver *s, const NodalOperator *op) {
    const Grid *g = op->grid;
    s->op = op;
    s->cells = (size_t)g->tile_count * (size_t)g->tile_cells;
    if (!memory_fit((void **)&s->store, &s->store_capacity, sizeof(float), VECTORS * s->cells) ||
        !memory_fit((void **)&s->component, &s->component_capacity, sizeof *s->component,
                    s->cells) ||
        !memory_fit((void **)&s->queue, &s->queue_capacity, sizeof *s->queue, s->cells))
        return false;
    float **const vector[VECTORS] = {&s->r, &s->z, &s->w, &s->p, &s->s, &s->e, &s->t};
    for (size_t k = 0; k < VECTORS; k++) *vector[k] = s->store + k * s->cells;
    memset(s->store, 0, VECTORS * s->cells * sizeof(float));
    if (!poisson_prepare(s->cycle, g, op->used, op->edge[0], op->edge[1], op->edge[2], op->diag))
        return false;
    find_closed(s);
    return true;
}

// ------------------------------------------------------------------------------------------ solve

#define EACH_USED(s, slot)                                       \
    for (int slot = 0; slot < (s)->op->grid->tile_count; slot++) \
        if ((s)->op->used[slot])

#define EACH_NODE(s, slot, i)                                         \
    for (size_t i = (size_t)slot * (size_t)(s)->op->grid->tile_cells, \
                end_##i = i + (size_t)(s)->op->grid->tile_cells;      \
         i < end_##i; i++)

static void apply(const NodalSolver *s, const float *x, float *y) {
    EACH_USED(s, slot) nodal_apply(s->op, x, y, slot);
}

/// Sums are taken by tile, then over tiles in order.
static double dot(const NodalSolver *s, const float *a, const float *b) {
    double sum = 0;
    EACH_USED(s, slot) {
        double part = 0;
        EACH_NODE(s, slot, i) part += (double)a[i] * (double)b[i];
        sum += part;
    }
    return sum;
}

/// max |r_i| weight_i, NaN when one is not finite.
static double largest(const NodalSolver *s, const float *r) {
    double most = 0;
    EACH_USED(s, slot) {
        EACH_NODE(s, slot, i) {
            double v = fabs((double)r[i] * (double)s->op->weight[i]);
            if (!isfinite(v)) return NAN;
            most = fmax(most, v);
        }
    }
    return most;
}

/// z = M r.
static void precondition(NodalSolver *s) {
    const float *step = s->op->smooth;
    EACH_USED(s, slot) EACH_NODE(s, slot, i) s->z[i] = DAMPING * step[i] * s->r[i];
    apply(s, s->z, s->w);
    EACH_USED(s, slot) EACH_NODE(s, slot, i) {
        s->w[i] = s->op->diag[i] > 0 ? s->r[i] - s->w[i] : 0;
        s->t[i] = 0;
    }
    PoissonParams once = {.max_iterations = 1, .preconditioner = BRIM_PRECONDITIONER_MULTIGRID};
    PoissonReport report;
    poisson_solve(s->cycle, s->w, s->t, &once, &report);
    EACH_USED(s, slot) EACH_NODE(s, slot, i) s->z[i] += s->t[i];
    apply(s, s->z, s->w);
    EACH_USED(s, slot)
    EACH_NODE(s, slot, i) s->z[i] += DAMPING * step[i] * (s->r[i] - s->w[i]);
}

/// Iterates K e = r from e = 0 until r meets the target or the iterations are spent.
static void descend(NodalSolver *s, double target, int most, int *iterations) {
    double ps = 0;
    EACH_USED(s, slot) EACH_NODE(s, slot, i) s->e[i] = s->p[i] = s->s[i] = 0;
    while (*iterations < most) {
        precondition(s);
        apply(s, s->z, s->w);
        double ry = dot(s, s->r, s->z), yw = dot(s, s->z, s->w), ys = dot(s, s->z, s->s);
        double beta = ps > 0 ? -ys / ps : 0, next = yw + beta * ys, alpha = ry / next;
        if (!isfinite(alpha) || !isfinite(beta) || !(next > 0)) return;
        ps = next;
        EACH_USED(s, slot) EACH_NODE(s, slot, i) {
            s->p[i] = s->z[i] + (float)beta * s->p[i];
            s->s[i] = s->w[i] + (float)beta * s->s[i];
            s->e[i] += (float)alpha * s->p[i];
            s->r[i] -= (float)alpha * s->s[i];
        }
        ++*iterations;
        if (s->closed) remove_means(s, s->r, NULL);
        if (!(largest(s, s->r) > target)) return;
    }
}

static double true_residual(NodalSolver *s, const float *b, double *x) {
    remove_means(s, NULL, x);
    EACH_USED(s, slot) nodal_residual(s->op, b, x, s->r, slot);
    remove_means(s, s->r, NULL); // what rounding left of the mean of b
    return largest(s, s->r);
}

bool nodal_solve(NodalSolver *s, float *b, double *x, const NodalParams *params,
                 NodalReport *report) {
    *report = (NodalReport){.singular = s->closed};
    remove_means(s, b, NULL);
    double target = fmax(params->tolerance, params->reduction * largest(s, b)), last = INFINITY;
    report->initial = report->residual = true_residual(s, b, x);
    // a residual that is not a number ends the loop too
    while (report->residual > target && report->residual < 0.5 * last &&
           report->iterations < params->max_iterations) {
        last = report->residual;
        descend(s, fmax(target, DESCENT * last), params->max_iterations, &report->iterations);
        EACH_USED(s, slot) EACH_NODE(s, slot, i) x[i] += (double)s->e[i];
        report->residual = true_residual(s, b, x);
    }
    report->converged = report->residual <= target;
    return isfinite(report->residual);
}
