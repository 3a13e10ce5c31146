// The 7-point system with its diagonal as preconditioner, for plain conjugate gradients, one
// thread, plain loops: the solver to compare the other one with.
#include "solve/solver.h"
#include <math.h>
#include <string.h>

static float diag_of(const Poisson *s, size_t c) {
    const size_t cells = (size_t)s->level[0].grid->tile_cells;
    return level_diag_of(&s->level[0], (int)(c / cells), (int)(c % cells));
}

/// Runs the statement after it for every unknown c.
#define EACH_UNKNOWN(s)                                                                     \
    for (size_t cells_ = (size_t)(s)->level[0].grid->tile_cells, i_ = 0;                    \
         i_ < (size_t)(s)->active_count; i_++)                                              \
        for (size_t c = (size_t)(s)->active[i_] * cells_, end_ = c + cells_; c < end_; c++) \
            if (diag_of(s, c) > 0)

static double dot(const Poisson *s, const float *a, const float *b) {
    double sum = 0;
    EACH_UNKNOWN(s) sum += (double)a[c] * (double)b[c];
    return sum;
}

/// out = a + scale b
static void combine(const Poisson *s, float *out, const float *a, double scale, const float *b) {
    EACH_UNKNOWN(s) out[c] = (float)((double)a[c] + scale * (double)b[c]);
}

static double largest(const Poisson *s, const float *r) {
    double most = 0;
    EACH_UNKNOWN(s) most = fmax(most, fabs((double)r[c]));
    return most;
}

static void multiply(const Poisson *s, const float *p, float *out) {
    const Level *l = &s->level[0];
    TileDots unused;
    for (int i = 0; i < s->active_count; i++)
        poisson_kernels_ref.apply(l, s->active[i], p, out, p, p, &unused);
}

/// Cells that are no unknowns are read as neighbours, times zero.
static void clear(const Poisson *s, float *field) {
    size_t cells = (size_t)s->level[0].grid->tile_cells;
    for (int i = 0; i < s->active_count; i++)
        memset(field + (size_t)s->active[i] * cells, 0, cells * sizeof(float));
}

// level[0]: b is r, z is M r, y is p; s is A p

static void begin(void *context) {
    Poisson *s = ((Task *)context)->solver;
    closed_remove_mean(s, s->level[0].b);
    clear(s, s->level[0].y);
}

static double precondition(void *context) {
    const Poisson *s = ((Task *)context)->solver;
    const float *r = s->level[0].b;
    float *z = s->level[0].z;
    EACH_UNKNOWN(s) z[c] = r[c] / diag_of(s, c);
    return dot(s, r, z);
}

static CgDots apply(void *context, double beta) {
    const Task *t = context;
    Poisson *s = t->solver;
    float *p = s->level[0].y;
    combine(s, p, s->level[0].z, beta, p);
    multiply(s, p, s->s);
    term_add(t->params, p, s->s);
    return (CgDots){.yw = dot(s, p, s->s)};
}

static double advance(void *context, double alpha, double beta) {
    const Task *t = context;
    Poisson *s = t->solver;
    float *r = s->level[0].b;
    (void)beta;
    combine(s, t->x, t->x, alpha, s->level[0].y);
    combine(s, r, r, -alpha, s->s);
    closed_remove_mean(s, r);
    return largest(s, r);
}

CgSystem jacobi_system(Task *task) {
    return (CgSystem){.context = task,
                      .begin = begin,
                      .precondition = precondition,
                      .apply = apply,
                      .advance = advance};
}
