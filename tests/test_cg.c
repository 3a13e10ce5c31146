// Conjugate gradients on a system that has nothing to do with tiles: a chain of springs with a
// term of rank one, in double precision.
#include "solve/cg.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { N = 60 };
static const double GROUND = 0.2;

/// A = springs between neighbours, one from each to the ground, and u u^T.
typedef struct Chain {
    double x[N], b[N], r[N], y[N], p[N], w[N], s[N];
    bool flexible, skew; ///< skew: a preconditioner that differs from one iteration to the next
    int applied, begun;
    double noise; ///< what rounding leaves
} Chain;

static double spring(int i) {
    return 1 + 0.5 * sin(3.0 * i);
}

static double rank_one(int i) {
    return 0.3 * cos(0.7 * i);
}

static void multiply(const double *x, double *out) {
    double dot = 0;
    for (int i = 0; i < N; i++) dot += rank_one(i) * x[i];
    for (int i = 0; i < N; i++) {
        double left = i > 0 ? x[i - 1] : 0, right = i + 1 < N ? x[i + 1] : 0;
        out[i] = spring(i) * (x[i] - left) + spring(i + 1) * (x[i] - right) + GROUND * x[i] +
                 rank_one(i) * dot;
    }
}

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i] * b[i];
    return sum;
}

static double largest(const double *v) {
    double most = 0;
    for (int i = 0; i < N; i++) {
        if (!isfinite(v[i])) return NAN;
        most = fmax(most, fabs(v[i]));
    }
    return most;
}

static double residual(void *context) {
    Chain *c = context;
    multiply(c->x, c->w);
    for (int i = 0; i < N; i++) c->r[i] = c->b[i] - c->w[i];
    return largest(c->r);
}

static double scale(void *context) {
    return largest(((Chain *)context)->b);
}

static double rounding(void *context) {
    return ((Chain *)context)->noise;
}

static void begin(void *context) {
    Chain *c = context;
    c->begun++;
    memset(c->p, 0, sizeof c->p), memset(c->s, 0, sizeof c->s);
}

static double precondition(void *context) {
    Chain *c = context;
    for (int i = 0; i < N; i++) {
        double diagonal = spring(i) + spring(i + 1) + GROUND + rank_one(i) * rank_one(i);
        c->y[i] = c->r[i] / diagonal;
        if (c->skew && (i + c->applied) % 3 == 0) c->y[i] *= 1.5;
    }
    return dot(c->r, c->y);
}

static CgDots apply(void *context, double beta) {
    Chain *c = context;
    c->applied++;
    if (c->flexible) {
        multiply(c->y, c->w);
        return (CgDots){dot(c->r, c->y), dot(c->y, c->w), dot(c->y, c->s)};
    }
    for (int i = 0; i < N; i++) c->p[i] = c->y[i] + beta * c->p[i];
    multiply(c->p, c->w);
    return (CgDots){.yw = dot(c->p, c->w)};
}

static double advance(void *context, double alpha, double beta) {
    Chain *c = context;
    for (int i = 0; i < N; i++) {
        if (c->flexible) {
            c->p[i] = c->y[i] + beta * c->p[i];
            c->s[i] = c->w[i] + beta * c->s[i];
        }
        c->x[i] += alpha * c->p[i];
        c->r[i] -= alpha * (c->flexible ? c->s : c->w)[i];
    }
    return largest(c->r);
}

static CgSystem system_of(Chain *c) {
    return (CgSystem){c,     c->flexible,  0,     residual, scale, rounding,
                      begin, precondition, apply, advance};
}

static double answer(int i) {
    return sin(1.0 + i) + 0.1 * i;
}

/// A chain whose solution is known.
static Chain chain(bool flexible) {
    Chain c = {.flexible = flexible};
    double x[N];
    for (int i = 0; i < N; i++) x[i] = answer(i);
    multiply(x, c.b);
    return c;
}

static double error_of(const Chain *c) {
    double worst = 0;
    for (int i = 0; i < N; i++) worst = fmax(worst, fabs(c->x[i] - answer(i)));
    return worst;
}

TEST(cg_both_forms_find_the_solution_in_as_many_steps_as_unknowns) {
    int iterations[2];
    for (int form = 0; form < 2; form++) {
        Chain c = chain(form);
        CgSystem system = system_of(&c);
        CgReport out = cg_solve(&system, &(CgParams){.tolerance = 1e-11, .max_iterations = 100});
        CHECK(out.converged && !out.limited && out.iterations <= N + 2);
        CHECK(out.initial > 1 && out.residual <= 1e-11);
        CHECK_BELOW(error_of(&c), 1e-9);
        iterations[form] = out.iterations;
    }
    CHECK(iterations[0] == iterations[1]); // the same directions in exact arithmetic
}

TEST(cg_the_flexible_form_forgives_a_preconditioner_that_changes) {
    int iterations[2];
    for (int form = 0; form < 2; form++) {
        Chain c = chain(form);
        c.skew = true;
        CgSystem system = system_of(&c);
        CgReport out = cg_solve(&system, &(CgParams){.tolerance = 1e-8, .max_iterations = 1000});
        iterations[form] = out.iterations;
        if (form) CHECK(out.converged);
    }
    CHECK(iterations[1] < iterations[0]);
}

TEST(cg_stops_by_reduction_by_rounding_and_by_count) {
    Chain c = chain(true);
    CgSystem system = system_of(&c);
    double b = largest(c.b);
    CgReport out = cg_solve(&system, &(CgParams){.reduction = 1e-3, .max_iterations = 100});
    CHECK(out.converged && out.residual <= 1e-3 * b && out.residual > 1e-9);
    c = chain(true), c.noise = 0.01;
    out = cg_solve(&system, &(CgParams){.tolerance = 1e-12, .max_iterations = 100});
    CHECK(out.converged && out.residual <= 0.01 && out.residual > 1e-9);
    c = chain(true);
    out = cg_solve(&system, &(CgParams){.tolerance = 1e-12, .max_iterations = 3});
    CHECK(!out.converged && !out.limited && out.iterations == 3);
    c = chain(true); // what the tolerance asks is met: no iteration
    out = cg_solve(&system, &(CgParams){.tolerance = 2 * b, .max_iterations = 3});
    CHECK(out.converged && out.iterations == 0 && c.begun == 0);
}

TEST(cg_begins_anew_from_the_true_residual) {
    Chain c = chain(true);
    CgSystem system = system_of(&c);
    system.descent = 1e-2;
    CgReport out = cg_solve(&system, &(CgParams){.tolerance = 1e-9, .max_iterations = 1000});
    CHECK(out.converged && c.begun >= 4);
    CHECK_BELOW(error_of(&c), 1e-7);
}

TEST(cg_what_is_not_a_number_ends_it) {
    for (int form = 0; form < 2; form++) {
        Chain c = chain(form);
        c.b[5] = NAN;
        CgSystem system = system_of(&c);
        CgReport out = cg_solve(&system, &(CgParams){.tolerance = 1e-9, .max_iterations = 100});
        CHECK(!out.converged && !(out.residual == out.residual) && out.iterations == 0);
    }
}
