// Conjugate gradients with the diagonal as preconditioner, one thread, plain loops: the solver to
// compare the other one with.
#include "solve/solver.h"
#include <math.h>
#include <string.h>

/// Runs the statement after it for every unknown c.
#define EACH_UNKNOWN(s)                                                                     \
    for (size_t cells_ = (size_t)(s)->level[0].grid->tile_cells, i_ = 0;                    \
         i_ < (size_t)(s)->active_count; i_++)                                              \
        for (size_t c = (size_t)(s)->active[i_] * cells_, end_ = c + cells_; c < end_; c++) \
            if ((s)->level[0].diag[c] > 0)

static double dot(const Poisson *s, const float *a, const float *b) {
    double sum = 0;
    EACH_UNKNOWN(s) sum += (double)a[c] * (double)b[c];
    return sum;
}

/// out = a + scale b
static void combine(const Poisson *s, float *out, const float *a, double scale, const float *b) {
    EACH_UNKNOWN(s) out[c] = (float)((double)a[c] + scale * (double)b[c]);
}

/// z = r / diag; returns max |r|.
static double precondition(const Poisson *s, const float *r, float *z) {
    double most = 0;
    EACH_UNKNOWN(s) {
        z[c] = r[c] / s->level[0].diag[c];
        most = fmax(most, fabs((double)r[c]));
    }
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

void jacobi_descend(Task *t, double target, int *iterations) {
    Poisson *s = t->solver;
    float *r = s->level[0].b, *z = s->level[0].z, *p = s->level[0].y, *q = s->s;
    clear(s, p);
    precondition(s, r, z);
    combine(s, p, z, 0, z);
    double rz = dot(s, r, z);
    while (*iterations < t->params->max_iterations) {
        multiply(s, p, q);
        term_add(t->params, p, q);
        double alpha = rz / dot(s, p, q);
        if (!isfinite(alpha)) return;
        combine(s, t->x, t->x, alpha, p);
        combine(s, r, r, -alpha, q);
        closed_remove_mean(s, r);
        ++*iterations;
        if (!(precondition(s, r, z) > target)) return;
        double last = rz;
        rz = dot(s, r, z);
        combine(s, p, z, rz / last, p);
    }
}
