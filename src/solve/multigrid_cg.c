// Conjugate gradients with the multigrid preconditioner.
//
// Flexible conjugate gradients in the form that needs one synchronisation for its dot products:
//   y = M r, w = A y, beta = -(y.s)/(p.s), p = y + beta p, s = w + beta s, alpha = (r.y)/(p.s)
// with s = A p by recurrence. The new direction is made conjugate to the last one explicitly, which
// forgives a preconditioner that rounding has made slightly unsymmetric.
// Scalars come from sums for each tile, taken in the order of the tiles.
#include "solve/solver.h"
#include <math.h>
#include <string.h>

typedef struct Scalars {
    double alpha, beta, ps;
    bool sound; ///< finite, and p is a direction of descent
} Scalars;

/// term: y.Zy, which is not among the tiles' sums.
static Scalars next_scalars(const Poisson *s, const Scalars *last, double term) {
    double ry = 0, yw = term, ys = 0;
    for (int i = 0; i < s->active_count; i++)
        ry += s->dots[i].ry, yw += s->dots[i].yw, ys += s->dots[i].ys;
    double beta = last ? -ys / last->ps : 0;
    double ps = yw + beta * ys;
    return (Scalars){ry / ps, beta, ps, isfinite(ry / ps) && isfinite(beta) && ps > 0};
}

static void start_tile(void *context, int index, int thread) {
    const Task *t = context;
    Poisson *s = t->solver;
    const Level *l = &s->level[0];
    size_t cells = (size_t)l->grid->tile_cells, at = (size_t)s->active[index] * cells;
    memset(s->p + at, 0, cells * sizeof(float));
    memset(s->s + at, 0, cells * sizeof(float));
    s->kernels->smooth(l, s->active[index], l->b, l->z);
}

/// level[0].z = A y, with the dot products.
static void apply_tile(void *context, int index, int thread) {
    const Task *t = context;
    Poisson *s = t->solver;
    const Level *l = &s->level[0];
    s->kernels->apply(l, s->active[index], l->y, l->z, l->b, s->s, &s->dots[index]);
}

/// level[0].z = S r, with which the next cycle begins.
static void smooth_tile(void *context, int index, int thread) {
    const Task *t = context;
    const Poisson *s = t->solver;
    s->kernels->smooth(&s->level[0], s->active[index], s->level[0].b, s->level[0].z);
}

/// Takes the step, then smooths from zero for the next cycle while the tile is in cache.
static void update_tile(void *context, int index, int thread) {
    const Task *t = context;
    Poisson *s = t->solver;
    const Level *l = &s->level[0];
    size_t at = (size_t)s->active[index] * (size_t)l->grid->tile_cells;
    s->most[index].r = s->kernels->update(l->rows[s->active[index]], t->alpha, t->beta, l->y + at,
                                          l->z + at, s->p + at, s->s + at, t->x + at, l->b + at);
    s->kernels->smooth(l, s->active[index], l->b, l->z);
}

static void each_tile(Task *t, TeamTask *task) {
    team_for(t->team, t->solver->active_count, TILES_A_THREAD, task, t);
}

void multigrid_descend(Task *t, double target, int *iterations) {
    Poisson *s = t->solver;
    Scalars c;
    each_tile(t, start_tile);
    for (bool first = true; *iterations < t->params->max_iterations; first = false) {
        cycle_run(s);
        closed_add_levels(s, s->level[0].b, s->level[0].y);
        each_tile(t, apply_tile);
        double term = term_add(t->params, s->level[0].y, s->level[0].z);
        c = next_scalars(s, first ? NULL : &c, term);
        if (!c.sound) return;
        t->alpha = (float)c.alpha, t->beta = (float)c.beta;
        each_tile(t, update_tile);
        ++*iterations;
        if (!(largest_residual(s) > target)) return;
        if (s->closed.count == s->closed.held) continue;
        // Rounding gives the residual of a closed component a mean that no direction can reduce,
        // and that would grow beyond everything else.
        closed_remove_mean(s, s->level[0].b);
        each_tile(t, smooth_tile);
    }
}
