// Loops over the faces of a tile, a row of eight at a time; the compiler makes vectors of them.
#include "liquid/viscosity.h"
#include <math.h>

#define INLINE static inline __attribute__((always_inline))

enum { EDGE = VISCOUS_EDGE };

INLINE double fold(const double sum[8]) {
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/// The row's values one cell up along an axis.
INLINE void upper(const TileView *v, int row, const int axis, float out[8]) {
    const float *self = v->self + row * 8, *from;
    if (axis == 0) {
        for (int i = 0; i < 7; i++) out[i] = self[i + 1];
        out[7] = v->side[1][row * 8];
        return;
    }
    if (axis == 1)
        from = (row & 7) < 7 ? self + 8 : v->side[3] + row * 8 - 56;
    else
        from = row >> 3 < 7 ? self + 64 : v->side[5] + row * 8 - 448;
    for (int i = 0; i < 8; i++) out[i] = from[i];
}

/// The own block of a component: its faces beside a row's, along one axis.
INLINE void add_along(const TileView *along, int row, const int axis, const int stride,
                      const float *p, float sum[8]) {
    const float *low = along->self + row * 8;
    float high[8];
    upper(along, row, axis, high);
    for (int i = 0; i < 8; i++)
        sum[i] += low[i] * (p[i] - p[i - stride]) - high[i] * (p[i + stride] - p[i]);
}

/// Two components meet on the edges below and above a row's faces along axis b: differences of the
/// other component o along axis a.
INLINE void add_cross(const TileView *cross, int row, const int b, const int along_a,
                      const int along_b, const float *o, float sum[8]) {
    const float *low = cross->self + row * 8;
    float high[8];
    upper(cross, row, b, high);
    for (int i = 0; i < 8; i++)
        sum[i] += low[i] * (o[i] - o[i - along_a]) -
                  high[i] * (o[i + along_b] - o[i + along_b - along_a]);
}

INLINE double apply_component(const ViscousTile *t, const float *const block[3], float *q,
                              const int a, const int dim) {
    static const int stride[3] = {1, EDGE, EDGE * EDGE};
    double dot[8] = {0};
    for (int row = 0; row < (dim == 3 ? 64 : 8); row++) {
        const int at = ((dim == 3 ? (row >> 3) + 1 : 0) * EDGE + (row & 7) + 1) * EDGE + 1;
        const float *p = block[a] + at, *mass = t->mass[a] + row * 8;
        const float *diagonal = t->diagonal[a] + row * 8;
        float sum[8];
        for (int i = 0; i < 8; i++) sum[i] = mass[i] * p[i];
#pragma GCC unroll 3
        for (int b = 0; b < dim; b++) {
            add_along(&t->along[b][a], row, b, stride[b], p, sum);
            if (b != a)
                add_cross(&t->cross[edge_of(a, b)], row, b, stride[a], stride[b], block[b] + at,
                          sum);
        }
        for (int i = 0; i < 8; i++) {
            float value = diagonal[i] > 0 ? sum[i] : 0;
            q[row * 8 + i] = value;
            dot[i] += (double)(value * p[i]);
        }
    }
    return fold(dot);
}

static double apply(const ViscousTile *t, int dim, const float *const block[3], float *const q[3]) {
    if (dim == 2)
        return apply_component(t, block, q[0], 0, 2) + apply_component(t, block, q[1], 1, 2);
    return (apply_component(t, block, q[0], 0, 3) + apply_component(t, block, q[1], 1, 3)) +
           apply_component(t, block, q[2], 2, 3);
}

/// The larger one; what is not a number stays.
INLINE float larger(float most, float value) {
    return value <= most ? most : value;
}

static double step(int cells, float alpha, const float *p, const float *q, const float *diagonal,
                   float *u, float *r, float most[2]) {
    double sum[8] = {0};
    float left[8] = {0}, fast[8] = {0};
    for (int c = 0; c < cells; c += 8)
        for (int i = 0; i < 8; i++) {
            float d = diagonal[c + i], residual = r[c + i] - alpha * q[c + i];
            float speed = u[c + i] + alpha * p[c + i];
            u[c + i] = speed;
            r[c + i] = residual;
            sum[i] += d > 0 ? (double)(residual * residual / d) : 0;
            left[i] = larger(left[i], fabsf(residual));
            fast[i] = larger(fast[i], fabsf(speed));
        }
    for (int i = 0; i < 8; i++)
        most[0] = larger(most[0], left[i]), most[1] = larger(most[1], fast[i]);
    return fold(sum);
}

static void turn(int cells, float beta, const float *r, const float *diagonal, float *p) {
    for (int i = 0; i < cells; i++) p[i] = diagonal[i] > 0 ? r[i] / diagonal[i] + beta * p[i] : 0;
}

static double dot(int cells, const float *r, const float *z, const float *diagonal) {
    double sum[8] = {0};
    for (int c = 0; c < cells; c += 8)
        for (int i = 0; i < 8; i++)
            sum[i] += diagonal[c + i] > 0 ? (double)(r[c + i] * z[c + i]) : 0;
    return fold(sum);
}

static void turn_to(int cells, float beta, const float *z, const float *diagonal, float *p) {
    for (int i = 0; i < cells; i++) p[i] = diagonal[i] > 0 ? z[i] + beta * p[i] : 0;
}

const ViscosityKernels ISA(viscosity_kernels) = {apply, step, turn, dot, turn_to};
