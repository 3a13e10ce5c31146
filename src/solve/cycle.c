// One V-cycle of multigrid: the preconditioner.
//
// Smoothing is local to a tile (see PoissonKernels.smooth), and transfers are local to a coarse
// tile and its children. So a level needs two loops: one coming down to it, where each tile takes
// over its children's residual and smooths, and one going up from it, where each tile smooths and
// corrects its children. The smoother is its own transpose and so is the cycle.
#include "solve/solver.h"
#include <string.h>

/// Further smoothings on the coarsest level, which is one tile with at most 4 cells along an axis.
enum { COARSEST_SMOOTHINGS = 6 };

/// A level to come to, from the finer one or back to it.
typedef struct Visit {
    const PoissonKernels *kernels;
    const Level *fine, *level;
} Visit;

static void descend(void *context, int slot, int thread) {
    const Visit *v = context;
    const Level *fine = v->fine, *l = v->level;
    float *b = l->b + (size_t)slot * (size_t)l->grid->tile_cells;
    for (int octant = 0; octant < 8; octant++) {
        int child = l->child[slot][octant];
        if (child >= 0)
            v->kernels->restrict_residual(fine, child, fine->b, fine->z, b + level_block(octant));
    }
    v->kernels->smooth(l, slot, l->b, l->z);
}

static void ascend(void *context, int slot, int thread) {
    const Visit *v = context;
    const Level *fine = v->fine, *l = v->level;
    v->kernels->correct(l, slot, l->b, l->z, l->y);
    const float *y = l->y + (size_t)slot * (size_t)l->grid->tile_cells;
    for (int octant = 0; octant < 8; octant++) {
        int child = l->child[slot][octant];
        if (child >= 0) v->kernels->prolong(fine, child, y + level_block(octant), fine->z);
    }
}

static void correct_finest(void *context, int index, int thread) {
    const Poisson *s = context;
    const Level *l = &s->level[0];
    s->kernels->correct(l, s->active[index], l->b, l->z, l->y);
}

static void smooth_coarsest(Poisson *s) {
    const Level *l = &s->level[s->level_count - 1];
    size_t bytes = (size_t)l->grid->tile_cells * sizeof(float);
    for (int i = 0; i < COARSEST_SMOOTHINGS; i++) {
        s->kernels->correct(l, 0, l->b, l->z, l->y);
        memcpy(l->z, l->y, bytes);
    }
}

/// Visits the tiles of a level; small ones are left to the caller.
static void visit(Poisson *s, int k, TeamTask *task) {
    Visit v = {s->kernels, &s->level[k - 1], &s->level[k]};
    team_for(k < s->serial_level ? s->team : NULL, v.level->grid->tile_count, COARSE_A_THREAD, task,
             &v);
}

/// What the levels below level 1 say to its z.
static void correct_by_coarser(Poisson *s) {
    int last = s->level_count - 1;
    for (int k = 2; k <= last; k++) visit(s, k, descend);
    if (s->serial_level <= last) smooth_coarsest(s);
    for (int k = last; k >= 2; k--) visit(s, k, ascend);
}

/// A smoothing from z to y, and one from y to z.
static void smooth_on(void *context, int slot, int thread) {
    const Level *l = ((const Visit *)context)->level;
    ((const Visit *)context)->kernels->correct(l, slot, l->b, l->z, l->y);
}
static void smooth_back(void *context, int slot, int thread) {
    const Level *l = ((const Visit *)context)->level;
    ((const Visit *)context)->kernels->correct(l, slot, l->b, l->y, l->z);
}

/// level[0].z => y: once through the coarser levels, or with `twice` two times from level 1 on.
/// With V for the cycle from there on its answer is 2 V - V A V then, positive as long as V A stays
/// below 2; it was at most 1.5.
static void run(Poisson *s, bool twice) {
    if (s->level_count > 1) {
        visit(s, 1, descend);
        correct_by_coarser(s);
        if (twice) {
            visit(s, 1, smooth_on);
            visit(s, 1, smooth_back);
            correct_by_coarser(s);
        }
        visit(s, 1, ascend);
    }
    team_for(s->team, s->active_count, TILES_A_THREAD, correct_finest, s);
}

void cycle_run(Poisson *s) {
    run(s, false);
}

// ------------------------------------------------------------- as another solver's preconditioner

typedef struct Outer {
    Poisson *solver;
    const float *r;
    float *y;
} Outer;

static void take_tile(void *context, int index, int thread) {
    const Outer *o = context;
    const Level *l = &o->solver->level[0];
    size_t n = (size_t)l->grid->tile_cells, at = (size_t)o->solver->active[index] * n;
    memcpy(l->b + at, o->r + at, n * sizeof(float));
}

static void begin_tile(void *context, int index, int thread) {
    const Outer *o = context;
    const Level *l = &o->solver->level[0];
    o->solver->kernels->smooth(l, o->solver->active[index], l->b, l->z);
}

static void give_tile(void *context, int index, int thread) {
    const Outer *o = context;
    const Level *l = &o->solver->level[0];
    size_t n = (size_t)l->grid->tile_cells, at = (size_t)o->solver->active[index] * n;
    memcpy(o->y + at, l->y + at, n * sizeof(float));
}

void poisson_cycle(Poisson *s, bool longer, const float *r, float *y) {
    Outer outer = {s, r, y};
    s->closed.held = 0;
    team_for(s->team, s->active_count, TILES_A_THREAD, take_tile, &outer);
    closed_remove_mean(s, s->level[0].b);
    s->level[0].longer = longer;
    team_for(s->team, s->active_count, TILES_A_THREAD, begin_tile, &outer);
    run(s, longer);
    s->level[0].longer = false;
    team_for(s->team, s->active_count, TILES_A_THREAD, give_tile, &outer);
}

int poisson_closed(const Poisson *s) {
    return s->closed.count;
}
