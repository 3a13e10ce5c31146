// Conjugate gradients on whatever can be applied: the method knows neither cells nor stencils.
//
// A system is a symmetric positive (semi-)definite A with its vectors, which it keeps itself in the
// form that suits it: x, r = b - A x, y = M r, the search direction p and its image. Its functions
// are loops over tiles that also sum dot products, for each tile and then over tiles in their
// order. Constants that A does not see (closed components), terms of low rank and fused passes are
// the system's own affair.
//
// Two forms of the method:
// - plain: beta = (r.y) / (r.y before), p = y + beta p, w = A p, alpha = (r.y) / (p.w). For a
//   preconditioner that is symmetric to rounding; four vectors.
// - flexible: w = A y, beta = -(y.s) / (p.s), p = y + beta p, s = w + beta s, alpha = (r.y) /
// (p.s),
//   s = A p by recurrence. One sum over tiles in an iteration; each direction is made conjugate to
//   the last one explicitly, which forgives an M that rounding has made slightly unsymmetric.
#pragma once
#include <stdbool.h>

typedef struct CgDots {
    double ry; ///< flexible: r.y
    double yw; ///< y.Ay; plain: p.Ap
    double ys; ///< flexible: y.s, s the image of the last direction
} CgDots;

typedef struct CgSystem {
    void *context;
    bool flexible;
    /// A descent stops at this part of the residual that it began with, and begins anew from the
    /// true residual: float recurrences do not follow it further. 0: it does not.
    double descent;
    /// r = b - A x from x itself. Returns the largest |r|; NaN when a value is not finite.
    double (*residual)(void *context);
    /// Largest |b|, known after residual; only asked for with a reduction.
    double (*scale)(void *context);
    /// A residual that is nothing but rounding, after residual or advance; NULL: 0.
    double (*rounding)(void *context);
    /// Before the first iteration of a descent: p = 0.
    void (*begin)(void *context);
    /// y = M r. Returns r.y; flexible: anything.
    double (*precondition)(void *context);
    /// Plain: p = y + beta p, w = A p. Flexible: w = A y.
    CgDots (*apply)(void *context, double beta);
    /// x += alpha p, r -= alpha w; flexible: first p = y + beta p, s = w + beta s, and r -= alpha
    /// s. Returns the largest |r|.
    double (*advance)(void *context, double alpha, double beta);
} CgSystem;

typedef struct CgParams {
    double tolerance; ///< stop when the largest |r| <= tolerance, or
    double reduction; ///< this part of the largest |b|, whichever comes first
    int max_iterations;
} CgParams;

typedef struct CgReport {
    int iterations;
    double initial, residual; ///< of the start value and at the end
    bool converged;
    bool limited; ///< not converged, and x comes no closer in its precision: as good as it gets
} CgReport;

/// Solves from the start value in x. A residual that is not a number ends it.
CgReport cg_solve(const CgSystem *system, const CgParams *params);
