// Conjugate gradients with the multigrid preconditioner.
//
// Flexible conjugate gradients in the form that needs one synchronisation for its dot products:
//   y = M r, w = A y, beta = -(y.s)/(p.s), p = y + beta p, s = w + beta s, alpha = (r.y)/(p.s)
// with s = A p by recurrence. The new direction is made conjugate to the last one explicitly, which
// forgives a preconditioner that rounding has made slightly unsymmetric.
// All threads compute the same scalars from per-tile sums taken in the order of the tiles.
#include "solve/solver.h"
#include <math.h>
#include <string.h>

typedef struct Scalars {
    double alpha, beta, ps;
    bool sound; ///< finite, and p is a direction of descent
} Scalars;

static Scalars next_scalars(const Poisson *s, const Scalars *last) {
    double ry = 0, yw = 0, ys = 0;
    for (int i = 0; i < s->active_count; i++)
        ry += s->dots[i].ry, yw += s->dots[i].yw, ys += s->dots[i].ys;
    double beta = last ? -ys / last->ps : 0;
    double ps = yw + beta * ys;
    return (Scalars){ry / ps, beta, ps, isfinite(ry / ps) && isfinite(beta) && ps > 0};
}

static void start_pass(const Task *t) {
    Poisson *s = t->solver;
    const Level *l = &s->level[0];
    size_t cells = (size_t)l->grid->tile_cells;
    for (int i = t->span.from; i < t->span.to; i++) {
        size_t at = (size_t)s->active[i] * cells;
        memset(s->p + at, 0, cells * sizeof(float));
        memset(s->s + at, 0, cells * sizeof(float));
        s->kernels->smooth(l, s->active[i], l->b, l->z);
    }
}

/// level[0].z = A y, with the dot products.
static void apply_pass(const Task *t) {
    Poisson *s = t->solver;
    const Level *l = &s->level[0];
    for (int i = t->span.from; i < t->span.to; i++)
        s->kernels->apply(l, s->active[i], l->y, l->z, l->b, s->s, &s->dots[i]);
}

/// level[0].z = S r, with which the next cycle begins. Rounding gives the residual of a closed
/// component a mean that no direction can reduce, and that would grow beyond everything else.
static void smooth_closed(const Task *t) {
    Poisson *s = t->solver;
    closed_remove_mean(s, s->level[0].b, t->thread, t->threads);
    for (int i = t->span.from; i < t->span.to; i++)
        s->kernels->smooth(&s->level[0], s->active[i], s->level[0].b, s->level[0].z);
#pragma omp barrier
}

/// Takes the step, then smooths from zero for the next cycle while the tile is in cache.
static void update_pass(const Task *t, const Scalars *c) {
    Poisson *s = t->solver;
    const Level *l = &s->level[0];
    size_t cells = (size_t)l->grid->tile_cells;
    for (int i = t->span.from; i < t->span.to; i++) {
        size_t at = (size_t)s->active[i] * cells;
        s->most[i].r =
            s->kernels->update(l->rows[s->active[i]], (float)c->alpha, (float)c->beta, l->y + at,
                               l->z + at, s->p + at, s->s + at, t->x + at, l->b + at);
        s->kernels->smooth(l, s->active[i], l->b, l->z);
    }
}

void multigrid_descend(const Task *t, double target, int *iterations) {
    Scalars c;
    start_pass(t);
#pragma omp barrier
    for (bool first = true; *iterations < t->params->max_iterations; first = false) {
        cycle_run(t->solver, t->thread, t->threads);
        apply_pass(t);
#pragma omp barrier
        c = next_scalars(t->solver, first ? NULL : &c);
        if (!c.sound) return;
        update_pass(t, &c);
#pragma omp barrier
        ++*iterations;
        if (!(largest_residual(t->solver) > target)) return;
        if (t->solver->closed.count > 0) smooth_closed(t);
    }
}
