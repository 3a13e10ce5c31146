// One V-cycle of multigrid: the preconditioner.
//
// Smoothing is local to a tile (see PoissonKernels.smooth), and transfers are local to a coarse
// tile and its children. So a level needs two barriers: one after coming down to it, where each
// tile takes over its children's residual and smooths, and one after going up from it, where each
// tile smooths and corrects its children. The smoother is its own transpose and so is the cycle.
#include "solve/solver.h"
#include <string.h>

/// Further smoothings on the coarsest level, which is one tile with at most 4 cells along an axis.
enum { COARSEST_SMOOTHINGS = 6 };

static void descend(Poisson *s, int k, Span span) {
    const Level *fine = &s->level[k - 1], *l = &s->level[k];
    for (int slot = span.from; slot < span.to; slot++) {
        float *b = l->b + (size_t)slot * (size_t)l->grid->tile_cells;
        for (int octant = 0; octant < 8; octant++) {
            int child = l->child[slot][octant];
            if (child >= 0)
                s->kernels->restrict_residual(fine, child, fine->b, fine->z,
                                              b + level_block(octant));
        }
        s->kernels->smooth(l, slot, l->b, l->z);
    }
}

static void ascend(Poisson *s, int k, Span span) {
    const Level *fine = &s->level[k - 1], *l = &s->level[k];
    for (int slot = span.from; slot < span.to; slot++) {
        s->kernels->correct(l, slot, l->b, l->z, l->y);
        const float *y = l->y + (size_t)slot * (size_t)l->grid->tile_cells;
        for (int octant = 0; octant < 8; octant++) {
            int child = l->child[slot][octant];
            if (child >= 0) s->kernels->prolong(fine, child, y + level_block(octant), fine->z);
        }
    }
}

static void smooth_coarsest(Poisson *s) {
    const Level *l = &s->level[s->level_count - 1];
    size_t bytes = (size_t)l->grid->tile_cells * sizeof(float);
    for (int i = 0; i < COARSEST_SMOOTHINGS; i++) {
        s->kernels->correct(l, 0, l->b, l->z, l->y);
        memcpy(l->z, l->y, bytes);
    }
}

static Span whole(const Poisson *s, int k) {
    return (Span){0, s->level[k].grid->tile_count};
}

void cycle_run(Poisson *s, int thread, int threads) {
    int serial = s->serial_level, last = s->level_count - 1;
    for (int k = 1; k < serial; k++) {
        descend(s, k, span_of(s->level[k].grid->tile_count, thread, threads));
#pragma omp barrier
    }
    if (serial <= last) {
        if (thread == 0) {
            for (int k = serial; k <= last; k++) descend(s, k, whole(s, k));
            smooth_coarsest(s);
            for (int k = last; k >= serial; k--) ascend(s, k, whole(s, k));
        }
#pragma omp barrier
    }
    for (int k = serial - 1; k >= 1; k--) {
        ascend(s, k, span_of(s->level[k].grid->tile_count, thread, threads));
#pragma omp barrier
    }
    const Level *l = &s->level[0];
    Span span = span_of(s->active_count, thread, threads);
    for (int i = span.from; i < span.to; i++)
        s->kernels->correct(l, s->active[i], l->b, l->z, l->y);
#pragma omp barrier
}
