// The 7-point system with its multigrid preconditioner, for flexible conjugate gradients.
//
// A step and the smoothing from zero with which the next cycle begins are one visit of a tile.
// Scalars come from sums for each tile, taken in the order of the tiles.
#include "solve/solver.h"
#include <string.h>

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

static void begin(void *context) {
    Task *t = context;
    closed_remove_mean(t->solver, t->solver->level[0].b);
    each_tile(t, start_tile);
    t->drifted = false;
}

/// level[0].y = M level[0].b
static double precondition(void *context) {
    Task *t = context;
    // Rounding gives the residual of a closed component a mean that no direction can reduce, and
    // that would grow beyond everything else.
    if (t->drifted) closed_remove_mean(t->solver, t->solver->level[0].b);
    closed_hide_levels(t->solver, t->solver->level[0].b);
    if (t->drifted || t->solver->closed.held) each_tile(t, smooth_tile);
    cycle_run(t->solver);
    closed_add_levels(t->solver, t->solver->level[0].b, t->solver->level[0].y);
    return 0;
}

static CgDots apply(void *context, double beta) {
    Task *t = context;
    const Poisson *s = t->solver;
    (void)beta;
    each_tile(t, apply_tile);
    CgDots d = {.yw = term_add(t->params, s->level[0].y, s->level[0].z)};
    for (int i = 0; i < s->active_count; i++)
        d.ry += s->dots[i].ry, d.yw += s->dots[i].yw, d.ys += s->dots[i].ys;
    return d;
}

static double advance(void *context, double alpha, double beta) {
    Task *t = context;
    t->alpha = (float)alpha, t->beta = (float)beta;
    each_tile(t, update_tile);
    t->drifted = closed_drifts(t->solver);
    return largest_residual(t->solver);
}

CgSystem multigrid_system(Task *task) {
    return (CgSystem){.context = task,
                      .flexible = true,
                      .begin = begin,
                      .precondition = precondition,
                      .apply = apply,
                      .advance = advance};
}
