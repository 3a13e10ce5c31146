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
                        .solid = 7,
                        .length = longest,
                        .unit_speed = scale > 0 ? scale : 1,
                        .of_surface = 1,
                        .of_speed = 1};
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
        f[i] = z->of_speed * falloff(z->speed, speed, i, z->unit_speed) -
               z->of_surface * falloff(z->surface, distance, i, z->length) -
               z->of_solid * falloff(z->solid, solid, i, z->length) +
               (extra ? (double)extra[i] : 0);
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

/// Points of the surface and how far they are, of one lattice row or more.
typedef struct Points {
    float *x, *y, *z, *square; ///< nearest point, squared distance
    const float *px, *py, *pz; ///< where the centre is
} Points;

static Points points_from(const Points *p, size_t first) {
    return (Points){p->x + first,  p->y + first,  p->z + first, p->square + first,
                    p->px + first, p->py + first, p->pz + first};
}

/// Centres take over the point of another row's, or of their own row's, when it is nearer.
static inline void take(const Points *to, const Points *from, int i, int j) {
    const float x = from->x[j], y = from->y[j], z = from->z[j];
    const float dx = x - to->px[i], dy = y - to->py[i], dz = z - to->pz[i];
    const float d = dx * dx + dy * dy + dz * dz;
    const bool nearer = d < to->square[i];
    to->square[i] = nearer ? d : to->square[i];
    to->x[i] = nearer ? x : to->x[i];
    to->y[i] = nearer ? y : to->y[i];
    to->z[i] = nearer ? z : to->z[i];
}

/// From the row beside, straight on and across.
static void take_row(const Points *to, const Points *from, int n) {
    for (int shift = -1; shift <= 1; shift++)
#pragma GCC ivdep
        for (int i = shift < 0; i < n - (shift > 0); i++) take(to, from, i, i + shift);
}

static void sweep_row(const Points *row, int n) {
    for (int i = 1; i < n; i++) take(row, row, i, i - 1);
    for (int i = n - 2; i >= 0; i--) take(row, row, i, i + 1);
}

/// A slice: rows up and down, along each row both ways.
static void sweep_slice(const Points *slice, const int n[3]) {
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n[1]; k++) {
            const int y = pass ? n[1] - 1 - k : k;
            Points row = points_from(slice, (size_t)y * (size_t)n[0]);
            if (k > 0) {
                Points beside = points_from(slice, (size_t)(pass ? y + 1 : y - 1) * (size_t)n[0]);
                take_row(&row, &beside, n[0]);
            }
            sweep_row(&row, n[0]);
        }
}

/// From the slice before, with the rows to either side.
static void take_slice(const Points *to, const Points *from, const int n[3]) {
    for (int y = 0; y < n[1]; y++)
        for (int k = y > 0 ? y - 1 : 0; k <= (y + 1 < n[1] ? y + 1 : y); k++) {
            Points row = points_from(to, (size_t)y * (size_t)n[0]);
            Points beside = points_from(from, (size_t)k * (size_t)n[0]);
            take_row(&row, &beside, n[0]);
        }
}

void warp_sweep_distance(Warp *w, float *const closest[3], double none, float *distance) {
    const int *n = w->map.coarse;
    const size_t count = warp_centres(w), slice = (size_t)n[0] * (size_t)n[1];
    warp_places(w);
    Points all = {closest[0],  closest[1],  closest[2], distance,
                  w->place[0], w->place[1], w->place[2]};
    for (size_t i = 0; i < count; i++) distance[i] = INFINITY;
    for (size_t i = 0; i < count; i += (size_t)n[0]) {
        Points row = points_from(&all, i);
        for (int x = 0; x < n[0]; x++) take(&row, &row, x, x);
    }
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n[2]; k++) {
            const int z = pass ? n[2] - 1 - k : k;
            Points here = points_from(&all, (size_t)z * slice);
            if (k > 0) {
                Points before = points_from(&all, (size_t)(pass ? z + 1 : z - 1) * slice);
                take_slice(&here, &before, n);
            }
            sweep_slice(&here, n);
        }
    for (size_t i = 0; i < count; i++)
        distance[i] = closest[0][i] >= WARP_NOWHERE ? (float)none : sqrtf(distance[i]);
}
