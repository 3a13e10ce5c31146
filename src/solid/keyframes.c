#include "solid/keyframes.h"
#include "base/error.h"
#include <math.h>

static bool vector_ok(BrimVec3 v) {
    return fabsf(v.x) <= 1e7f && fabsf(v.y) <= 1e7f && fabsf(v.z) <= 1e7f;
}

BrimResult keyframes_check(const BrimKeyframe *keys, int count, BrimError *error) {
    if (count < 1 || !keys)
        return fail(error, BRIM_ERROR_INPUT, "a keyframed solid needs at least one keyframe");
    for (int i = 0; i < count; i++) {
        const BrimKeyframe *k = &keys[i];
        if (!(fabs(k->time) <= 1e9) || !vector_ok(k->position) || !vector_ok(k->rotation))
            return fail(error, BRIM_ERROR_INPUT, "keyframe %d: a value is not finite or above 1e7",
                        i + 1);
        if (i > 0 && !(k->time > k[-1].time))
            return fail(error, BRIM_ERROR_INPUT,
                        "keyframe %d: its time %g s is not after %g s, that of the one before",
                        i + 1, k->time, k[-1].time);
    }
    return BRIM_OK;
}

/// One of the six numbers of a keyframe; in 2D those out of the plane are 0.
static double key_value(const BrimKeyframe *k, int dim, int component) {
    switch (component) {
    case 0:
        return k->position.x;
    case 1:
        return k->position.y;
    case 2:
        return dim == 2 ? 0 : k->position.z;
    case 3:
        return dim == 2 ? 0 : k->rotation.x;
    case 4:
        return dim == 2 ? 0 : k->rotation.y;
    default:
        return k->rotation.z;
    }
}

/// Rate of change at a keyframe: that of the chord through its neighbours, less where it would
/// make the path overshoot a keyframe; 0 at turning points and at both ends.
static double key_rate(const BrimKeyframe *keys, int count, int dim, int key, int component) {
    if (key == 0 || key == count - 1) return 0;
    const BrimKeyframe *k = keys + key;
    double t0 = k[-1].time, t1 = k[0].time, t2 = k[1].time;
    double a = key_value(k - 1, dim, component), b = key_value(k, dim, component);
    double c = key_value(k + 1, dim, component);
    double before = (b - a) / (t1 - t0), after = (c - b) / (t2 - t1);
    if (before * after <= 0) return 0;
    // up to three times the flatter chord a cubic stays monotone
    double limit = 3 * fmin(fabs(before), fabs(after)), chord = (c - a) / (t2 - t0);
    return fabs(chord) < limit ? chord : copysign(limit, chord);
}

void keyframes_at(const BrimKeyframe *keys, int count, int dim, double time, double value[6],
                  double rate[6]) {
    int last = count - 1, k = 0;
    bool before = time <= keys[0].time, after = time >= keys[last].time;
    while (k + 1 < last && keys[k + 1].time <= time) k++;
    for (int c = 0; c < 6; c++) {
        if (before || after) {
            value[c] = key_value(&keys[before ? 0 : last], dim, c);
            rate[c] = 0;
            continue;
        }
        double h = keys[k + 1].time - keys[k].time, t = (time - keys[k].time) / h;
        double a = key_value(&keys[k], dim, c), b = key_value(&keys[k + 1], dim, c);
        double ra = h * key_rate(keys, count, dim, k, c);
        double rb = h * key_rate(keys, count, dim, k + 1, c);
        double u = 1 - t;
        value[c] =
            a * (1 + 2 * t) * u * u + b * (1 + 2 * u) * t * t + ra * t * u * u - rb * t * t * u;
        rate[c] = (6 * t * u * (b - a) + ra * u * (1 - 3 * t) + rb * t * (3 * t - 2)) / h;
    }
}
