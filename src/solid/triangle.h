// Distance from a point to a triangle.
#pragma once
#include <math.h>

static inline double dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline float dot3f(const float a[3], const float b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross3(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// Squared distance from the origin to the segment from a along e.
static inline double segment_distance2(const double a[3], const double e[3]) {
    double ee = dot3(e, e), t = ee > 0 ? -dot3(a, e) / ee : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    double q[3] = {a[0] + t * e[0], a[1] + t * e[1], a[2] + t * e[2]};
    return dot3(q, q);
}

/// Squared distance from p to the triangle (a, b, c). A triangle without area counts as its edges.
static inline double triangle_distance2(const double p[3], const float a[3], const float b[3],
                                        const float c[3]) {
    double A[3], B[3], C[3], e0[3], e1[3], e2[3], n[3], side[3];
    for (int i = 0; i < 3; i++) {
        A[i] = a[i] - p[i], B[i] = b[i] - p[i], C[i] = c[i] - p[i];
        e0[i] = B[i] - A[i], e1[i] = C[i] - B[i], e2[i] = A[i] - C[i];
    }
    cross3(e0, e1, n);
    double nn = dot3(n, n);
    if (nn > 0) {
        // the foot lies inside when it is on the inner side of all three edges
        cross3(e0, n, side);
        double s0 = dot3(side, A);
        cross3(e1, n, side);
        double s1 = dot3(side, B);
        cross3(e2, n, side);
        double s2 = dot3(side, C);
        if (s0 >= 0 && s1 >= 0 && s2 >= 0) {
            double h = dot3(n, A);
            return h * h / nn;
        }
    }
    double d0 = segment_distance2(A, e0), d1 = segment_distance2(B, e1);
    double d2 = segment_distance2(C, e2);
    double d = d0 < d1 ? d0 : d1;
    return d < d2 ? d : d2;
}

/// The foot of a point on a triangle, or on the segment from a to b where b and c are one place:
/// weights of its corners.
static inline void triangle_weights(const float a[3], const float b[3], const float c[3],
                                    const float p[3], double w[3]) {
    double e[3], f[3], d[3];
    for (int i = 0; i < 3; i++)
        e[i] = (double)b[i] - a[i], f[i] = (double)c[i] - a[i], d[i] = (double)p[i] - a[i];
    double ee = dot3(e, e), ff = dot3(f, f), ef = dot3(e, f), de = dot3(d, e), df = dot3(d, f);
    double det = ee * ff - ef * ef, u = 0, v = 0;
    if (b == c || !(det > 1e-12 * ee * ff)) {
        u = ee > 0 ? de / ee : 0;
    } else {
        u = (ff * de - ef * df) / det, v = (ee * df - ef * de) / det;
    }
    w[1] = fmin(fmax(u, 0), 1), w[2] = fmin(fmax(v, 0), 1);
    if (w[1] + w[2] > 1) {
        double sum = w[1] + w[2];
        w[1] /= sum, w[2] /= sum;
    }
    w[0] = 1 - w[1] - w[2];
}
