// Sums run over sixteen lanes on every instruction set and are folded in one order: same bits.
#include "surface/level_set.h"
#include <math.h>
#include <string.h>

enum { LANES = 16 };
typedef float f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t i16 __attribute__((vector_size(64), aligned(4), may_alias));

/// Sum of weights and of weighted offsets from the point.
typedef struct Sums {
    f16 w, x[3];
} Sums;

static inline __attribute__((always_inline)) f16 load(const float *p) {
    f16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void add(Sums *sums, const f16 offset[3], i16 valid, float inv_radius2,
                       const int dim) {
    f16 d2 = offset[0] * offset[0] + offset[1] * offset[1];
    if (dim == 3) d2 += offset[2] * offset[2];
    f16 k = 1.0f - d2 * inv_radius2;
    k = (f16)((i16)k & (k > 0.0f) & valid);
    f16 w = k * k * k;
    sums->w += w;
    for (int a = 0; a < dim; a++) sums->x[a] += w * offset[a];
}

static inline void add_range(Sums *sums, const float *const x[3], float inv_dx,
                             const LevelSetRange *r, const float at[3], const float plane[4],
                             float inv_radius2, const int dim) {
    static const i16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (uint32_t i = r->first; i < r->end; i += LANES) {
        i16 valid = lane < (int32_t)(r->end - i);
        f16 offset[3] = {0};
        for (int a = 0; a < dim; a++) {
            offset[a] = load(x[a] + i) * (inv_dx * r->flip[a]) + (r->shift[a] - at[a]);
            offset[a] = (f16)((i16)offset[a] & valid); // what lies beyond the end may be anything
        }
        add(sums, offset, valid, inv_radius2, dim);
        if (!plane) continue;
        f16 above = offset[0] * plane[0] + offset[1] * plane[1] + plane[3];
        if (dim == 3) above += offset[2] * plane[2];
        for (int a = 0; a < dim; a++) offset[a] -= 2.0f * above * plane[a];
        add(sums, offset, valid & (above > 0.0f), inv_radius2, dim);
    }
}

static inline float fold(f16 v) {
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) v[i] += v[i + half];
    return v[0];
}

static inline float distance_dim(const LevelSetProfile *profile, const float *const x[3],
                                 float inv_dx, const float at[3], const LevelSetRange *ranges,
                                 int range_count, const float plane[4], const int dim) {
    Sums sums = {0};
    float inv_radius2 = 1.0f / (profile->radius * profile->radius);
    for (int r = 0; r < range_count; r++)
        add_range(&sums, x, inv_dx, &ranges[r], at, plane, inv_radius2, dim);
    float w = fold(sums.w), d2 = 0;
    if (w < 1e-6f) return LEVEL_SET_CUT;
    for (int a = 0; a < dim; a++) {
        float m = fold(sums.x[a]) / w;
        d2 += m * m;
    }
    float t = (sqrtf(d2) - profile->offset - profile->low) / profile->step;
    int i = (int)t;
    if (i >= PROFILE_SIZE) return LEVEL_SET_CUT;
    return profile->distance[i] +
           (t - (float)i) * (profile->distance[i + 1] - profile->distance[i]);
}

static float distance(const LevelSetProfile *profile, const float *const x[3], float inv_dx,
                      int dim, const float at[3], const LevelSetRange *ranges, int range_count,
                      const float plane[4]) {
    return dim == 3 ? distance_dim(profile, x, inv_dx, at, ranges, range_count, plane, 3)
                    : distance_dim(profile, x, inv_dx, at, ranges, range_count, plane, 2);
}

const LevelSetKernels ISA(level_set_kernels) = {distance};
