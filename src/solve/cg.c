#include "solve/cg.h"
#include <math.h>

/// A new descent is worth it as long as the last one left less than this part.
static const double GAIN = 0.5;

/// A step along a direction; `last` is what the next one needs of it: r.y, flexible: p.s.
typedef struct Step {
    double alpha, beta, last;
    bool sound; ///< finite, and p is a direction of descent
} Step;

static Step plain_step(const CgSystem *s, double last) {
    double ry = s->precondition(s->context), beta = last > 0 ? ry / last : 0;
    CgDots d = s->apply(s->context, beta);
    double alpha = ry / d.yw;
    return (Step){alpha, beta, ry, isfinite(alpha) && isfinite(beta) && d.yw > 0};
}

static Step flexible_step(const CgSystem *s, double last) {
    s->precondition(s->context);
    CgDots d = s->apply(s->context, 0);
    double beta = last > 0 ? -d.ys / last : 0;
    double ps = d.yw + beta * d.ys, alpha = d.ry / ps;
    return (Step){alpha, beta, ps, isfinite(alpha) && isfinite(beta) && ps > 0};
}

static double rounding_of(const CgSystem *s) {
    return s->rounding ? s->rounding(s->context) : 0;
}

/// Iterates from r until its recurrence meets the target, the iterations are spent, or rounding
/// ends the descent.
static void descend(const CgSystem *s, double target, int most, int *iterations) {
    double last = 0;
    s->begin(s->context);
    while (*iterations < most) {
        Step step = s->flexible ? flexible_step(s, last) : plain_step(s, last);
        if (!step.sound) return;
        last = step.last;
        double left = s->advance(s->context, step.alpha, step.beta);
        ++*iterations;
        if (!(left > fmax(target, rounding_of(s)))) return;
    }
}

CgReport cg_solve(const CgSystem *s, const CgParams *params) {
    CgReport out = {0};
    out.initial = out.residual = s->residual(s->context);
    double target = params->tolerance, last = INFINITY;
    if (params->reduction > 0) target = fmax(target, params->reduction * s->scale(s->context));
    double least = fmax(target, rounding_of(s));
    // A residual that is not a number ends the loop too.
    while (out.residual > least && out.residual < GAIN * last &&
           out.iterations < params->max_iterations) {
        last = out.residual;
        descend(s, fmax(target, s->descent * last), params->max_iterations, &out.iterations);
        out.residual = s->residual(s->context);
        least = fmax(target, rounding_of(s));
    }
    out.converged = out.residual <= least;
    out.limited = out.residual > least && out.residual >= GAIN * last &&
                  out.iterations < params->max_iterations;
    return out;
}
