// Sums run over sixteen lanes on every instruction set and are folded in one order: same bits. The
// ranges of particles depend on the point alone, so that tiles agree on the nodes they share.
#include "mesh/mesh.h"
#include "surface/planes.h"
#include <math.h>
#include <string.h>

enum { LANES = 16 };
typedef float f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t i16 __attribute__((vector_size(64), aligned(4), may_alias));

typedef struct Sums {
    f16 w, x[3], nearest, second[6];
} Sums;

typedef enum What { OFFSETS, VELOCITY, MOMENTS, STRETCHED } What;

static inline __attribute__((always_inline)) f16 load(const float *p) {
    f16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline __attribute__((always_inline)) f16 weight(f16 d2, i16 valid, float inv_radius2) {
    f16 k = 1.0f - d2 * inv_radius2;
    k = (f16)((i16)k & (k > 0.0f) & valid);
    return k * k * k;
}

static inline void add(Sums *sums, const f16 offset[3], i16 valid, float inv_radius2) {
    f16 d2 = offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
    f16 w = weight(d2, valid, inv_radius2);
    sums->w += w;
    for (int a = 0; a < 3; a++) sums->x[a] += w * offset[a];
    i16 nearer = valid & (d2 < sums->nearest);
    sums->nearest = (f16)(((i16)d2 & nearer) | ((i16)sums->nearest & ~nearer));
}

static inline f16 offsets(const Block *b, uint32_t i, const float at[3], i16 valid, f16 offset[3]) {
    for (int a = 0; a < 3; a++) {
        offset[a] = load(b->x[a] + i) - at[a];
        offset[a] = (f16)((i16)offset[a] & valid); // what lies beyond the end may be anything
    }
    return offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
}

static const i16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static inline void add_range(Sums *sums, const Block *b, uint32_t first, uint32_t end,
                             const float at[3], const float plane[4], float inv_radius2) {
    for (uint32_t i = first; i < end; i += LANES) {
        i16 valid = lane < (int32_t)(end - i);
        f16 offset[3];
        offsets(b, i, at, valid, offset);
        add(sums, offset, valid, inv_radius2);
        if (!plane) continue;
        f16 above = offset[0] * plane[0] + offset[1] * plane[1] + offset[2] * plane[2] + plane[3];
        for (int a = 0; a < 3; a++) offset[a] -= 2.0f * above * plane[a];
        add(sums, offset, valid & (above > 0.0f), inv_radius2);
    }
}

static inline void add_velocity(Sums *sums, const Block *b, uint32_t first, uint32_t end,
                                const float at[3], float inv_radius2) {
    for (uint32_t i = first; i < end; i += LANES) {
        i16 valid = lane < (int32_t)(end - i);
        f16 offset[3], w = weight(offsets(b, i, at, valid, offset), valid, inv_radius2);
        sums->w += w;
        for (int a = 0; a < 3; a++) {
            f16 v = load(b->v[a] + i);
            sums->x[a] += w * (f16)((i16)v & valid);
        }
    }
}

static inline void add_moments(Sums *sums, const Block *b, uint32_t first, uint32_t end,
                               const float at[3], float inv_radius2) {
    for (uint32_t i = first; i < end; i += LANES) {
        i16 valid = lane < (int32_t)(end - i);
        f16 offset[3], w = 1.0f - offsets(b, i, at, valid, offset) * inv_radius2;
        w = (f16)((i16)w & (w > 0.0f) & valid);
        sums->w += w;
        for (int a = 0; a < 3; a++) {
            f16 part = w * offset[a];
            sums->x[a] += part;
            sums->second[a] += part * offset[a];
            sums->second[3 + a] += part * offset[(a + 1) % 3];
        }
    }
}

static inline void add_kernel(Sums *sums, const Block *b, uint32_t i, const f16 d[3], i16 valid) {
    f16 xy = load(b->g[3] + i), yz = load(b->g[4] + i), zx = load(b->g[5] + i);
    f16 x = load(b->g[0] + i) * d[0] + xy * d[1] + zx * d[2];
    f16 y = xy * d[0] + load(b->g[1] + i) * d[1] + yz * d[2];
    f16 z = zx * d[0] + yz * d[1] + load(b->g[2] + i) * d[2];
    f16 q2 = x * x + y * y + z * z, w = weight(q2, valid, 1.0f) * load(b->g[6] + i);
    sums->w += (f16)((i16)w & valid);
    i16 nearer = valid & (q2 < sums->nearest);
    sums->nearest = (f16)(((i16)q2 & nearer) | ((i16)sums->nearest & ~nearer));
}

static inline void add_stretched(Sums *sums, const Block *b, uint32_t first, uint32_t end,
                                 const float at[3], const float plane[4]) {
    for (uint32_t i = first; i < end; i += LANES) {
        i16 valid = lane < (int32_t)(end - i);
        f16 offset[3];
        offsets(b, i, at, valid, offset);
        add_kernel(sums, b, i, offset, valid);
        if (!plane) continue;
        // the image's kernel at the point is the particle's own at the point's image
        f16 above = offset[0] * plane[0] + offset[1] * plane[1] + offset[2] * plane[2] + plane[3];
        for (int a = 0; a < 3; a++) offset[a] += 2.0f * plane[3] * plane[a];
        add_kernel(sums, b, i, offset, valid & (above > 0.0f));
    }
}

static inline float fold(f16 v) {
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) v[i] += v[i + half];
    return v[0];
}

/// Cells [*low, *high] of the block that hold positions from `from` to `to`, along an axis.
static inline void span(const Block *b, int axis, float from, float to, int *low, int *high) {
    *low = (int)floorf(from) - b->origin[axis];
    *high = (int)floorf(to) - b->origin[axis];
    if (*low < 0) *low = 0;
    if (*high > b->edge - 1) *high = b->edge - 1;
}

/// Distance of a position from cell k of the block, along an axis.
static inline float away(const Block *b, int axis, int k, float at) {
    float low = (float)(b->origin[axis] + k);
    return at < low ? low - at : at > low + 1 ? at - (low + 1) : 0;
}

static inline void visit(const Block *b, float radius, const float at[3], const float plane[4],
                         const What what, LevelSums *out) {
    Sums sums = {0};
    sums.nearest = sums.nearest + INFINITY;
    float radius2 = radius * radius, inv_radius2 = 1.0f / radius2;
    int y0, y1, z0, z1;
    span(b, 1, at[1] - radius, at[1] + radius, &y0, &y1);
    span(b, 2, at[2] - radius, at[2] + radius, &z0, &z1);
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++) {
            float dy = away(b, 1, y, at[1]), dz = away(b, 2, z, at[2]);
            float left = radius2 - (dy * dy + dz * dz);
            if (!(left > 0)) continue;
            float half = sqrtf(left);
            int x0, x1;
            span(b, 0, at[0] - half, at[0] + half, &x0, &x1);
            const uint32_t *start = b->start + (z * b->edge + y) * b->edge;
            if (what == MOMENTS)
                add_moments(&sums, b, start[x0], start[x1 + 1], at, inv_radius2);
            else if (what == STRETCHED)
                add_stretched(&sums, b, start[x0], start[x1 + 1], at, plane);
            else if (what == VELOCITY)
                add_velocity(&sums, b, start[x0], start[x1 + 1], at, inv_radius2);
            else
                add_range(&sums, b, start[x0], start[x1 + 1], at, plane, inv_radius2);
        }
    out->weight = fold(sums.w);
    for (int a = 0; a < 3; a++) out->mean[a] = fold(sums.x[a]);
    out->nearest = INFINITY;
    for (int k = 0; k < 6 && what == MOMENTS; k++) out->second[k] = fold(sums.second[k]);
    for (int i = 0; i < LANES && (what == OFFSETS || what == STRETCHED); i++)
        if (sums.nearest[i] < out->nearest) out->nearest = sums.nearest[i];
}

// --------------------------------------------------------------------------------------- planes

typedef struct Planes {
    f16 all, planes, steady, distance;
} Planes;

static inline void add_plane(Planes *sums, const float out[3], float rest, const f16 offset[3],
                             const f16 normal[3], f16 phi, f16 steady, i16 valid) {
    f16 d2 = offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
    d2 *= 1.0f / (TRACK_REACH * TRACK_REACH);
    f16 k = 1.0f - d2;
    k = (f16)((i16)k & (k > 0.0f) & valid);
    f16 w = k * k / (TRACK_NEARNESS * TRACK_NEARNESS + d2);
    i16 has = steady >= 0.0f;
    sums->all += w;
    sums->steady += w * (f16)((i16)steady & has);
    f16 facing = out[0] * normal[0] + out[1] * normal[1] + out[2] * normal[2] + rest;
    f16 height = offset[0] * normal[0] + offset[1] * normal[1] + offset[2] * normal[2];
    w *= (f16)((i16)facing & (facing > 0.0f) & has);
    sums->planes += w;
    sums->distance += w * (phi - height);
}

static inline void add_planes(Planes *sums, const Block *b, uint32_t first, uint32_t end,
                              const float at[3], const float out[3], float rest,
                              const float plane[4]) {
    for (uint32_t i = first; i < end; i += LANES) {
        i16 valid = lane < (int32_t)(end - i);
        f16 offset[3], normal[3], phi = load(b->carried[0] + i), steady = load(b->carried[4] + i);
        offsets(b, i, at, valid, offset);
        phi -= TRACK_ABOVE;
        phi = (f16)((i16)phi & (phi < 0.0f)) + TRACK_ABOVE;
        phi = (f16)((i16)phi & valid);
        steady = (f16)((i16)steady & valid);
        for (int a = 0; a < 3; a++) {
            normal[a] = load(b->carried[1 + a] + i);
            normal[a] = (f16)((i16)normal[a] & valid);
        }
        add_plane(sums, out, rest, offset, normal, phi, steady, valid);
        if (!plane) continue;
        f16 above = offset[0] * plane[0] + offset[1] * plane[1] + offset[2] * plane[2] + plane[3];
        f16 along = normal[0] * plane[0] + normal[1] * plane[1] + normal[2] * plane[2];
        for (int a = 0; a < 3; a++) {
            offset[a] -= 2.0f * above * plane[a];
            normal[a] -= 2.0f * along * plane[a];
        }
        add_plane(sums, out, rest, offset, normal, phi, steady, valid & (above > 0.0f));
    }
}

static void planes(const Block *b, const float at[3], const float out[3], const float plane[4],
                   PlaneSums *to) {
    Planes sums = {0};
    float radius = TRACK_REACH, radius2 = radius * radius;
    float rest = 1 - sqrtf(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    int y0, y1, z0, z1;
    span(b, 1, at[1] - radius, at[1] + radius, &y0, &y1);
    span(b, 2, at[2] - radius, at[2] + radius, &z0, &z1);
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++) {
            float dy = away(b, 1, y, at[1]), dz = away(b, 2, z, at[2]);
            float left = radius2 - (dy * dy + dz * dz);
            if (!(left > 0)) continue;
            float half = sqrtf(left);
            int x0, x1;
            span(b, 0, at[0] - half, at[0] + half, &x0, &x1);
            const uint32_t *start = b->start + (z * b->edge + y) * b->edge;
            add_planes(&sums, b, start[x0], start[x1 + 1], at, out, rest, plane);
        }
    *to = (PlaneSums){fold(sums.all), fold(sums.planes), fold(sums.steady), fold(sums.distance)};
}

// ------------------------------------------------------------------------------------ positions

static void sum(const Block *b, float radius, const float at[3], const float plane[4],
                LevelSums *sums) {
    if (plane)
        visit(b, radius, at, plane, OFFSETS, sums);
    else
        visit(b, radius, at, NULL, OFFSETS, sums);
}

static void velocity(const Block *b, float radius, const float at[3], LevelSums *sums) {
    visit(b, radius, at, NULL, VELOCITY, sums);
}

static void moments(const Block *b, float radius, const float at[3], LevelSums *sums) {
    visit(b, radius, at, NULL, MOMENTS, sums);
}

static void stretched(const Block *b, float radius, const float at[3], const float plane[4],
                      LevelSums *sums) {
    visit(b, radius, at, plane, STRETCHED, sums);
}

const LevelKernels ISA(level_kernels) = {sum, velocity, moments, stretched, planes};
