#include "warp/sizing.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

WarpSizing warp_default_sizing(const int cells[3], double gravity, double cell_width) {
    double longest = fmax(cells[0], fmax(cells[1], cells[2]));
    // without gravity the paper's own unit, 1 m/s, with its 0.5
    double scale = sqrt(gravity * longest * cell_width);
    return (WarpSizing){.surface = 7,
                        .speed = scale > 0 ? 1.57 : 0.5,
                        .length = longest,
                        .unit_speed = scale > 0 ? scale : 1};
}

// ------------------------------------------------------------------------------------------- blur

/// A Gaussian with a standard deviation of one cell, cut at three.
enum { REACH = 3 };

static void blur_axis(const int n[3], int axis, const double *in, double *out) {
    double weight[REACH + 1], sum = 0;
    for (int k = 0; k <= REACH; k++) weight[k] = exp(-0.5 * k * k), sum += (k ? 2 : 1) * weight[k];
    size_t stride = axis == 0 ? 1 : axis == 1 ? (size_t)n[0] : (size_t)n[0] * (size_t)n[1];
    size_t count = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    for (size_t i = 0; i < count; i++) {
        int at = (int)(i / stride % (size_t)n[axis]);
        double v = 0;
        for (int k = -REACH; k <= REACH; k++) {
            int j = at + k < 0 ? 0 : at + k >= n[axis] ? n[axis] - 1 : at + k;
            v += weight[k < 0 ? -k : k] * in[i + (size_t)(j - at) * stride];
        }
        out[i] = v / sum;
    }
}

static void blur(Warp *w, double *f) {
    const int *n = w->map.coarse;
    blur_axis(n, 0, f, w->next);
    blur_axis(n, 1, w->next, w->spare);
    if (w->map.dim == 3)
        blur_axis(n, 2, w->spare, f);
    else
        memcpy(f, w->spare, warp_centres(w) * sizeof(double));
}

// ----------------------------------------------------------------------------------------- sizing

static double falloff(double sharpness, const float *value, size_t i, double unit) {
    return value && sharpness > 0 ? exp(-sharpness * fabs((double)value[i]) / unit) : 0;
}

BrimResult warp_size(Warp *w, const WarpSizing *z, const float *distance, const float *speed,
                     const float *solid, const float *extra, double *f, BrimError *error) {
    size_t n = warp_centres(w);
    for (size_t i = 0; i < n; i++) {
        f[i] = falloff(z->speed, speed, i, z->unit_speed) -
               falloff(z->surface, distance, i, z->length) -
               falloff(z->solid, solid, i, z->length) + (extra ? (double)extra[i] : 0);
        if (!isfinite(f[i]))
            return fail(error, BRIM_ERROR_INPUT,
                        "grid.warp: the sizing function is not a number at cell %zu of the "
                        "coarse lattice",
                        i);
    }
    blur(w, f);
    double mean = 0, least = 0;
    for (size_t i = 0; i < n; i++) mean += f[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++) f[i] -= mean, least = fmin(least, f[i]);
    // rounding of a constant is no wish
    double scale = least < -1e-12 ? w->strength / -least : 0;
    for (size_t i = 0; i < n; i++) f[i] *= scale;
    return BRIM_OK;
}

// --------------------------------------------------------------------------------------- distance

static float square_from(const float a[3], const float x[3]) {
    float dx = a[0] - x[0], dy = a[1] - x[1], dz = a[2] - x[2];
    return dx * dx + dy * dy + dz * dz;
}

/// One sweep in a given direction along each axis: each centre takes over its neighbours' point
/// when it is nearer than its own. True when something changed.
static bool sweep(const Warp *w, const float (*place)[3], float (*closest)[3], int direction) {
    const int *n = w->map.coarse;
    const size_t stride[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    bool changed = false;
    size_t count = warp_centres(w);
    for (size_t k = 0; k < count; k++) {
        int c[3];
        size_t left = k;
        for (int a = 0; a < 3; a++) {
            c[a] = (int)(left % (size_t)n[a]), left /= (size_t)n[a];
            if (direction >> a & 1) c[a] = n[a] - 1 - c[a];
        }
        size_t i = (size_t)c[0] + (size_t)c[1] * stride[1] + (size_t)c[2] * stride[2];
        float best = isnan(closest[i][0]) ? INFINITY : square_from(closest[i], place[i]);
        for (int a = 0; a < w->map.dim; a++) {
            bool far = direction >> a & 1;
            if (far ? c[a] + 1 >= n[a] : c[a] == 0) continue;
            const float *other = closest[far ? i + stride[a] : i - stride[a]];
            float d = isnan(other[0]) ? INFINITY : square_from(other, place[i]);
            if (!(d < best)) continue;
            best = d, changed = true;
            memcpy(closest[i], other, sizeof *closest);
        }
    }
    return changed;
}

bool warp_sweep_distance(const Warp *w, float (*closest)[3], double none, float *distance) {
    enum { ROUNDS = 3 };
    bool changed = true;
    size_t n = warp_centres(w);
    float(*place)[3] = memory_new(n * sizeof *place);
    if (!place) return false;
    for (size_t i = 0; i < n; i++) {
        double xi[3], x[3];
        warp_centre(w, i, xi);
        map_to_space(&w->map, xi, x);
        for (int a = 0; a < 3; a++) place[i][a] = (float)x[a];
    }
    for (int round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (int d = 0; d < 1 << w->map.dim; d++)
            changed |= sweep(w, (const float(*)[3])place, closest, d);
    }
    for (size_t i = 0; i < n; i++)
        distance[i] = isnan(closest[i][0]) ? (float)none : sqrtf(square_from(closest[i], place[i]));
    free(place);
    return true;
}
