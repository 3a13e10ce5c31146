// Kernels on the faces of a tile, a row of eight at a time.
#include "liquid/viscosity.h"
#include "base/eight.h"
#include <math.h>

#pragma GCC diagnostic ignored "-Wpsabi"

enum { EDGE = VISCOUS_EDGE };

typedef double d8 __attribute__((vector_size(64), aligned(8), may_alias));

INLINE void add_to(d8 *sum, f8 v) {
    *sum += __builtin_convertvector(v, d8);
}

INLINE double fold(d8 s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// The larger of m and |v|, as bits: of floats that are not negative they compare as the values do,
/// and what is not a number comes last.
INLINE i8x larger(i8x m, f8 v) {
    i8x bits = (i8x)v & 0x7fffffff, more = bits > m;
    return (bits & more) | (m & ~more);
}

INLINE float largest(i8x bits, float before) {
    union {
        int32_t bits;
        float value;
    } most = {.value = before};
    for (int i = 0; i < 8; i++) most.bits = bits[i] > most.bits ? bits[i] : most.bits;
    return most.value;
}

/// The row's values one cell up along an axis.
INLINE f8 upper(const TileView *v, int row, const int axis) {
    const float *self = v->self + row * 8;
    if (axis == 0) {
        f8 last = {v->side[1][row * 8]};
        return __builtin_shufflevector(load8(self), last, 1, 2, 3, 4, 5, 6, 7, 8);
    }
    if (axis == 1) return load8((row & 7) < 7 ? self + 8 : v->side[3] + row * 8 - 56);
    return load8(row >> 3 < 7 ? self + 64 : v->side[5] + row * 8 - 448);
}

/// The own block of a component: its faces beside a row's, along one axis.
INLINE f8 along(const TileView *v, int row, const int axis, const int stride, const float *p) {
    f8 low = load8(v->self + row * 8), high = upper(v, row, axis), here = load8(p);
    return low * (here - load8(p - stride)) - high * (load8(p + stride) - here);
}

/// Two components meet on the edges below and above a row's faces along axis b: differences of the
/// other component o along axis a.
INLINE f8 across(const TileView *cross, int row, const int b, const int stride_a,
                 const int stride_b, const float *o) {
    f8 low = load8(cross->self + row * 8), high = upper(cross, row, b);
    return low * (load8(o) - load8(o - stride_a)) -
           high * (load8(o + stride_b) - load8(o + stride_b - stride_a));
}

INLINE double apply_component(const ViscousTile *t, const float *const block[3], float *q,
                              const int a, const int dim) {
    const int stride[3] = {1, EDGE, EDGE * EDGE};
    d8 dot = {};
    for (int row = 0; row < (dim == 3 ? 64 : 8); row++) {
        const int at = ((dim == 3 ? (row >> 3) + 1 : 0) * EDGE + (row & 7) + 1) * EDGE + 1;
        const float *p = block[a] + at;
        f8 sum = load8(t->mass[a] + row * 8) * load8(p);
#pragma GCC unroll 3
        for (int b = 0; b < dim; b++) {
            sum += along(&t->along[b][a], row, b, stride[b], p);
            if (b != a)
                sum +=
                    across(&t->cross[edge_of(a, b)], row, b, stride[a], stride[b], block[b] + at);
        }
        sum = where(load8(t->diagonal[a] + row * 8) > 0.0f, sum);
        store8(q + row * 8, sum);
        add_to(&dot, sum * load8(p));
    }
    return fold(dot);
}

static double apply(const ViscousTile *t, int dim, const float *const block[3], float *const q[3]) {
    if (dim == 2)
        return apply_component(t, block, q[0], 0, 2) + apply_component(t, block, q[1], 1, 2);
    return (apply_component(t, block, q[0], 0, 3) + apply_component(t, block, q[1], 1, 3)) +
           apply_component(t, block, q[2], 2, 3);
}

static double step(int cells, float alpha, const float *p, const float *q, const float *diagonal,
                   float *u, float *r, float most[2]) {
    d8 sum = {};
    i8x left = {}, fast = {};
    for (int c = 0; c < cells; c += 8) {
        f8 d = load8(diagonal + c), residual = load8(r + c) - alpha * load8(q + c);
        f8 speed = load8(u + c) + alpha * load8(p + c);
        store8(u + c, speed);
        store8(r + c, residual);
        add_to(&sum, where(d > 0.0f, residual * residual / d));
        left = larger(left, residual);
        fast = larger(fast, speed);
    }
    most[0] = largest(left, most[0]), most[1] = largest(fast, most[1]);
    return fold(sum);
}

static void turn(int cells, float beta, const float *r, const float *diagonal, float *p) {
    for (int c = 0; c < cells; c += 8) {
        f8 d = load8(diagonal + c);
        store8(p + c, where(d > 0.0f, load8(r + c) / d + beta * load8(p + c)));
    }
}

static double dot(int cells, const float *r, const float *z, const float *diagonal) {
    d8 sum = {};
    for (int c = 0; c < cells; c += 8)
        add_to(&sum, where(load8(diagonal + c) > 0.0f, load8(r + c) * load8(z + c)));
    return fold(sum);
}

static void turn_to(int cells, float beta, const float *z, const float *diagonal, float *p) {
    for (int c = 0; c < cells; c += 8)
        store8(p + c, where(load8(diagonal + c) > 0.0f, load8(z + c) + beta * load8(p + c)));
}

const ViscosityKernels ISA(viscosity_kernels) = {apply, step, turn, dot, turn_to};
