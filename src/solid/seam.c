// Seams: where two parts of a union or a difference meet face to face.
//
// Least and largest of distances are bounds of the distance to the whole. On a face that two parts
// share both are 0, although nothing ends there: two shapes that are cut away side by side would
// leave a wall between them that is infinitely thin, and two that are joined a slit. Whether a
// point belongs to the whole is a question of what lies around it, so that is looked at: the
// largest ball about the point that is all inside, or all outside, gives its distance.
#include "solid/shape.h"
#include <math.h>
#include <stdlib.h>

/// Faces less apart than this are one, in units of the resolution.
static const float SAME_FACE = 0.02f;
/// Farther away than this, likewise, distances are of no use: balls need not be larger.
static const float LARGEST_BALL = 1.5f;

enum { SIDE = 5, AROUND = SIDE * SIDE * SIDE - 27 };

/// Points at distance r from `at`, in the directions of a cube's surface points, SIDE along an
/// edge.
static int points_around(int dim, const float at[3], float r, float x[AROUND], float y[AROUND],
                         float z[AROUND]) {
    int n = 0, layers = dim == 3 ? SIDE : 1;
    for (int k = 0; k < SIDE * SIDE * layers; k++) {
        int d[3] = {k % SIDE - 2, k / SIDE % SIDE - 2, dim == 3 ? k / (SIDE * SIDE) - 2 : 0};
        if (abs(d[0]) < 2 && abs(d[1]) < 2 && abs(d[2]) < 2) continue;
        float step = r / sqrtf((float)(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
        x[n] = at[0] + step * (float)d[0], y[n] = at[1] + step * (float)d[1];
        z[n++] = at[2] + step * (float)d[2];
    }
    return n;
}

/// Whether all points at distance r lie on one side: outside, or inside (sign = -1).
static bool one_side(const Shape *s, const float at[3], float r, float sign) {
    float x[AROUND], y[AROUND], z[AROUND], d[AROUND];
    int n = points_around(s->dim, at, r, x, y, z);
    shape_distance_bound(s, n, x, y, z, d);
    for (int i = 0; i < n; i++)
        if (sign * d[i] < -0.5f * SAME_FACE * s->resolution) return false;
    return true;
}

/// The radius of the largest ball that lies on one side, at least `from`.
static float largest_ball(const Shape *s, const float at[3], float from, float sign) {
    const float most = LARGEST_BALL * s->resolution, stride = 0.25f * s->resolution;
    float good = from, bad;
    if (!one_side(s, at, from + 2 * SAME_FACE * s->resolution, sign)) return from;
    do { // in strides, so that nothing thick is jumped over
        bad = good + stride;
        if (!one_side(s, at, bad, sign)) break;
        good = bad;
    } while (good < most);
    for (int i = 0; i < 6 && good < most; i++) {
        float middle = 0.5f * (good + bad);
        one_side(s, at, middle, sign) ? (good = middle) : (bad = middle);
    }
    return good;
}

bool seam_between(const Shape *s, float d, float e) {
    return fabsf(d + e) <= SAME_FACE * s->resolution &&
           fabsf(d - e) <= 2 * LARGEST_BALL * s->resolution;
}

float seam_distance(const Shape *s, float x, float y, float z, float bound) {
    const float at[3] = {x, y, z}, depth = fabsf(bound), face = SAME_FACE * s->resolution;
    if (bound > -face) {
        float ball = largest_ball(s, at, depth, 1);
        if (ball > depth) return ball;
    }
    if (bound < face) {
        float ball = largest_ball(s, at, depth, -1);
        if (ball > depth) return -ball;
    }
    return bound;
}
