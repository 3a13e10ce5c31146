#include "solid/distance_near.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// Part of a step by which a distance must become less to be worth a pass.
#define GAIN 0.005f
#define INLINE static inline __attribute__((always_inline))

INLINE f8 select8(i8x mask, f8 a, f8 b) {
    return (f8)(((i8x)a & mask) | ((i8x)b & ~mask));
}
INLINE f8 min8(f8 a, f8 b) {
    return select8(a < b, a, b);
}
INLINE f8 unit8(f8 t) {
    const f8 none = {0}, one = none + 1;
    return min8(select8(t > none, t, none), one);
}

INLINE f8 sqrt8(f8 v) {
#if defined(__AVX2__)
    return (f8)_mm256_sqrt_ps((__m256)v);
#else
    for (int i = 0; i < 8; i++) v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}
INLINE bool any8(i8x mask) {
#if defined(__AVX2__)
    return _mm256_movemask_ps((__m256)mask) != 0;
#else
    int32_t any = 0;
    for (int i = 0; i < 8; i++) any |= mask[i];
    return any != 0;
#endif
}

/// |p - t e|^2
INLINE f8 left_over(const f8 p[3], f8 t, const float e[3]) {
    const f8 x = p[0] - t * e[0], y = p[1] - t * e[1], z = p[2] - t * e[2];
    return x * x + y * y + z * z;
}

INLINE f8 along(const f8 p[3], const float e[3]) {
    return p[0] * e[0] + p[1] * e[1] + p[2] * e[2];
}

static void offer(const TriangleFrame *t, uint32_t id, float x, float y, float z, float step,
                  float *square, uint32_t *nearest) {
    const f8 lanes = {0, 1, 2, 3, 4, 5, 6, 7}, none = {0};
    const f8 p[3] = {x - t->corner[0] + lanes * step, none + (y - t->corner[1]),
                     none + (z - t->corner[2])};
    const f8 a = along(p, t->edge[0]), b = along(p, t->edge[1]);
    const f8 u = (t->ff * a - t->ef * b) * t->inverse, v = (t->ee * b - t->ef * a) * t->inverse;
    const f8 h = along(p, t->normal);
    const f8 q[3] = {p[0] - t->edge[0][0], p[1] - t->edge[0][1], p[2] - t->edge[0][2]};
    f8 d = left_over(p, unit8(a * t->by[0]), t->edge[0]);
    d = min8(d, left_over(p, unit8(b * t->by[1]), t->edge[1]));
    d = min8(d, left_over(q, unit8(along(q, t->across) * t->by[2]), t->across));
    if (!t->flat) d = select8((u >= none) & (v >= none) & (u + v <= 1), h * h, d);
    const f8 best = *(const f8 *)square;
    const i8x nearer = d < best, mine = (i8x){0} + (int32_t)id;
    *(f8 *)square = select8(nearer, d, best);
    *(i8x *)nearest = (mine & nearer) | (*(const i8x *)nearest & ~nearer);
}

/// Distance by |grad d| = 1, upwind, from the least neighbour along each axis.
INLINE f8 eikonal(f8 a, f8 b, f8 c, float h) {
    const f8 low = min8(a, b), high = select8(a < b, b, a), none = {0};
    const f8 second = min8(high, c), last = select8(high < c, c, high);
    const f8 first = min8(low, second), mid = select8(low < second, second, low);
    const f8 one = first + h, gap = mid - first, sum = first + mid + last;
    const f8 of_two = 2 * h * h - gap * gap;
    const f8 of_three = sum * sum - 3 * (first * first + mid * mid + last * last - h * h);
    const f8 two = 0.5f * (first + mid + sqrt8(select8(of_two > none, of_two, none)));
    const f8 three = (sum + sqrt8(select8(of_three > none, of_three, none))) * (1.0f / 3);
    const f8 d = select8(one > mid, two, one);
    return select8((one > mid) & (two > last), three, d);
}

/// The less of two and whose it is.
INLINE void less(f8 *d, i8x *triangle, f8 other, i8x of) {
    const i8x nearer = other < *d;
    *d = select8(nearer, other, *d);
    *triangle = (of & nearer) | (*triangle & ~nearer);
}

/// Of the two nodes beside each of eight in a row of n, the lesser.
INLINE void beside(const float *d, const uint32_t *triangle, int i, int n, f8 *least, i8x *of) {
    if (i > 0 && i + 8 < n) {
        *least = *(const f8 *)(d + i - 1), *of = *(const i8x *)(triangle + i - 1);
        less(least, of, *(const f8 *)(d + i + 1), *(const i8x *)(triangle + i + 1));
        return;
    }
    float x[2][8];
    int32_t t[2][8];
    for (int k = 0; k < 8; k++)
        for (int side = 0; side < 2; side++) {
            int at = i + k + 2 * side - 1;
            bool there = at >= 0 && at < n;
            x[side][k] = there ? d[at] : DISTANCE_FAR;
            t[side][k] = there ? (int32_t)triangle[at] : 0;
        }
    *least = *(const f8 *)x[0], *of = *(const i8x *)t[0];
    less(least, of, *(const f8 *)x[1], *(const i8x *)t[1]);
}

static bool spread(const float *const d[5], const uint32_t *const triangle[5], int n, float step,
                   float near, float most, float *to, uint32_t *to_triangle) {
    i8x changed = {0};
    for (int i = 0; i < n; i += 8) {
        const f8 now = *(const f8 *)(d[0] + i);
        const i8x mine = *(const i8x *)(triangle[0] + i), far = now > near;
        *(f8 *)(to + i) = now, *(i8x *)(to_triangle + i) = mine;
        if (!any8(far)) continue;
        f8 least[3], nearest;
        i8x of[3], whose;
        beside(d[0], triangle[0], i, n, &least[0], &of[0]);
        for (int a = 0; a < 2; a++) {
            least[a + 1] = (f8){0} + DISTANCE_FAR, of[a + 1] = mine;
            for (int k = 2 * a + 1; k <= 2 * a + 2; k++)
                if (d[k])
                    less(&least[a + 1], &of[a + 1], *(const f8 *)(d[k] + i),
                         *(const i8x *)(triangle[k] + i));
        }
        nearest = least[0], whose = of[0];
        less(&nearest, &whose, least[1], of[1]);
        less(&nearest, &whose, least[2], of[2]);
        // whatever comes is farther than the nearest by step / sqrt(3) at least
        const f8 bound = nearest + 0.57f * step;
        if (!any8(far & (bound < now) & (bound < most))) continue;
        const f8 come = eikonal(least[0], least[1], least[2], step);
        const i8x take = far & (come < now - GAIN * step) & (come <= most);
        *(f8 *)(to + i) = select8(take, come, now);
        *(i8x *)(to_triangle + i) = (whose & take) | (mine & ~take);
        changed |= take;
    }
    return any8(changed);
}

const DistanceKernels ISA(distance_kernels) = {offer, spread};
