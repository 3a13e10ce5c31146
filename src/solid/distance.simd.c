#include "base/eight.h"
#include "base/wide.h"
#include "solid/distance_near.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// Part of a step by which a distance must become less to be worth a pass.
#define GAIN 0.05f

INLINE f8 min8(f8 a, f8 b) {
#if defined(__AVX2__)
    return (f8)_mm256_min_ps((__m256)a, (__m256)b); // a < b ? a : b
#else
    return choose(a < b, a, b);
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

// --------------------------------------------------------------------------------- to the surface

/// Nodes of a row, or of two rows one above the other, that are worked on at once.
enum { ROWS = WIDE == 16 ? 2 : 1, ALONG = WIDE == 16 ? 8 : WIDE };

typedef struct Rows {
    int j[ROWS];      ///< along y; twice the same where there is but one
    size_t row[ROWS]; ///< where each begins
    wide y;           ///< m
    float z;
} Rows;

/// Lanes of the first row get of[0], those of the second of[1].
INLINE wide_int by_row(const int of[ROWS]) {
    wide_int v = (wide_int){0} + of[0];
    if (ROWS == 2) v += ((wide_lanes() >> 3) & 1) * (of[ROWS - 1] - of[0]);
    return v;
}

INLINE Rows rows_at(const DistanceRows *g, int j, int k, int last) {
    Rows r = {.z = (float)k * g->step};
    for (int n = 0; n < ROWS; n++) {
        r.j[n] = j + n > last ? last : j + n;
        r.row[n] = ((size_t)k * (size_t)g->n[1] + (size_t)r.j[n]) * (size_t)g->n[0];
    }
    r.y = wide_from_int(by_row(r.j)) * g->step;
    return r;
}

INLINE wide load_rows(const float *from, const Rows *r, int i) {
#if defined(__AVX512F__)
    const __m512 first = _mm512_castps256_ps512(_mm256_loadu_ps(from + r->row[0] + i));
    return (wide)_mm512_insertf32x8(first, _mm256_loadu_ps(from + r->row[1] + i), 1);
#else
    return wide_load(from + r->row[0] + i);
#endif
}

INLINE void store_rows(float *to, const Rows *r, int i, wide v) {
#if defined(__AVX512F__)
    _mm256_storeu_ps(to + r->row[0] + i, _mm512_castps512_ps256((__m512)v));
    _mm256_storeu_ps(to + r->row[1] + i, _mm512_extractf32x8_ps((__m512)v, 1));
#else
    wide_store(to + r->row[0] + i, v);
#endif
}

/// A triangle for all lanes, or one for each.
typedef struct WideFrame {
    wide corner[3], along[3], across[3], normal[3], length, apex[2], by[2];
} WideFrame;

INLINE WideFrame same_frame(const TriangleFrame *t) {
    WideFrame f = {.length = wide_all(t->length)};
    for (int a = 0; a < 3; a++) {
        f.corner[a] = wide_all(t->corner[a]), f.along[a] = wide_all(t->along[a]);
        f.across[a] = wide_all(t->across[a]), f.normal[a] = wide_all(t->normal[a]);
    }
    for (int a = 0; a < 2; a++) f.apex[a] = wide_all(t->apex[a]), f.by[a] = wide_all(t->by[a]);
    return f;
}

INLINE WideFrame own_frames(const TriangleFrame *t, wide_int which) {
    const wide_int at = which * (int32_t)(sizeof *t / sizeof(float));
    WideFrame f = {.length = wide_gather(&t->length, at)};
    for (int a = 0; a < 3; a++) {
        f.corner[a] = wide_gather(&t->corner[a], at), f.along[a] = wide_gather(&t->along[a], at);
        f.across[a] = wide_gather(&t->across[a], at), f.normal[a] = wide_gather(&t->normal[a], at);
    }
    for (int a = 0; a < 2; a++)
        f.apex[a] = wide_gather(&t->apex[a], at), f.by[a] = wide_gather(&t->by[a], at);
    return f;
}

INLINE wide dot(const wide p[3], const wide e[3]) {
    return p[0] * e[0] + p[1] * e[1] + p[2] * e[2];
}

/// Squared distance in a plane from (x, y) to the way from 0 to (ex, ey); by: 1 / its length^2.
INLINE wide square_to(wide x, wide y, wide ex, wide ey, wide by) {
    const wide t = wide_clamp((x * ex + y * ey) * by, wide_all(0), wide_all(1));
    const wide dx = x - t * ex, dy = y - t * ey;
    return dx * dx + dy * dy;
}

/// Squared distance from a place to a triangle: from its plane, and in that from its edges.
INLINE wide square_from(const WideFrame *t, wide x, wide y, wide z) {
    const wide p[3] = {x - t->corner[0], y - t->corner[1], z - t->corner[2]}, none = wide_all(0);
    const wide u = dot(p, t->along), v = dot(p, t->across), h = dot(p, t->normal);
    const wide beyond = u - wide_clamp(u, none, t->length); // the ends of ab
    const wide from_b = u - t->length, back = t->apex[0] - t->length;
    wide d = beyond * beyond + v * v;
    d = wide_min(d, square_to(u, v, t->apex[0], t->apex[1], t->by[0]));
    d = wide_min(d, square_to(from_b, v, back, t->apex[1], t->by[1]));
    const wide_int above = (v >= none) & (t->apex[1] * u >= t->apex[0] * v) &
                           (back * v >= t->apex[1] * from_b) & (t->apex[1] > none);
    return h * h + wide_select(above, none, d);
}

/// Nodes [first, last] of a row; none: last < first.
typedef struct Span {
    int first, last;
} Span;

/// Those of a triangle's box: all of a narrow one, which takes one look in any case, of others the
/// nodes within reach of the plane, so that the work of a large oblique triangle goes with its area
/// and not with its box.
INLINE Span near_plane(const TriangleFrame *t, const DistanceRows *g, float y, float z) {
    const float slope = t->normal[0] * g->step, from = (float)t->low[0], to = (float)t->high[0];
    const Span none = {g->n[0], -1}, all = {t->low[0], t->high[0]};
    if (!(t->apex[1] > 0) || t->high[0] - t->low[0] < 8) return all;
    const float d = -t->normal[0] * t->corner[0] + t->normal[1] * (y - t->corner[1]) +
                    t->normal[2] * (z - t->corner[2]);
    if (slope < 1e-3f * g->step && slope > -1e-3f * g->step)
        return d > 1.1f * g->reach || d < -1.1f * g->reach ? none : all;
    const float a = (-g->reach - d) / slope, b = (g->reach - d) / slope;
    const float low = a < b ? a : b, high = a < b ? b : a;
    if (!(low <= to && high >= from)) return none;
    // what is cut off here is less than a node, and neither is below 0
    return (Span){low > from ? (int)low : t->low[0], high < to ? (int)high + 1 : t->high[0]};
}

/// Offers a triangle to nodes of rows from node i on, within their spans.
INLINE void offer_nodes(const WideFrame *t, uint32_t id, const DistanceRows *g, const Rows *rows,
                        int i, wide_int first, wide_int last) {
    const wide_int node = i + (wide_lanes() & (ALONG - 1)), mine = (wide_int){0} + (int32_t)id;
    const wide d = square_from(t, wide_from_int(node) * g->step, rows->y, wide_all(rows->z));
    const wide best = load_rows(g->value, rows, i);
    const wide_int nearer = (d < best) & (node >= first) & (node <= last);
    store_rows(g->value, rows, i, wide_select(nearer, d, best));
    float *nearest = (float *)g->nearest; // moved about, not looked at
    store_rows(nearest, rows, i, wide_select(nearer, (wide)mine, load_rows(nearest, rows, i)));
}

static void offer(const TriangleFrame *t, uint32_t id, const DistanceRows *g, const int low[2],
                  const int high[2]) {
    const WideFrame frame = same_frame(t);
    for (int k = low[1]; k <= high[1]; k++)
        for (int j = low[0]; j <= high[0]; j += ROWS) {
            const Rows rows = rows_at(g, j, k, high[0]);
            int first[ROWS], last[ROWS], from = g->n[0], to = -1;
            for (int n = 0; n < ROWS; n++) {
                Span span = near_plane(t, g, (float)rows.j[n] * g->step, rows.z);
                first[n] = span.first, last[n] = span.last;
                if (span.first < from) from = span.first;
                if (span.last > to) to = span.last;
            }
            const wide_int firsts = by_row(first), lasts = by_row(last);
            for (int i = from; i <= to; i += ALONG)
                offer_nodes(&frame, id, g, &rows, i > g->n[0] - ALONG ? g->n[0] - ALONG : i, firsts,
                            lasts);
        }
}

// -------------------------------------------------------------------------------------- outwards

/// Distance by |grad d| = 1, upwind, from the least neighbour along each axis.
INLINE f8 eikonal(f8 a, f8 b, f8 c, float h) {
    const f8 low = min8(a, b), high = choose(a < b, b, a), none = {0};
    const f8 second = min8(high, c), last = choose(high < c, c, high);
    const f8 first = min8(low, second), mid = choose(low < second, second, low);
    const f8 one = first + h, gap = mid - first, sum = first + mid + last;
    const f8 of_two = 2 * h * h - gap * gap;
    const f8 of_three = sum * sum - 3 * (first * first + mid * mid + last * last - h * h);
    const f8 two = 0.5f * (first + mid + root(choose(of_two > none, of_two, none)));
    const f8 three = (sum + root(choose(of_three > none, of_three, none))) * (1.0f / 3);
    const f8 d = choose(one > mid, two, one);
    return choose((one > mid) & (two > last), three, d);
}

/// The less of two and whose it is.
INLINE void less(f8 *d, i8x *triangle, f8 other, i8x of) {
    const i8x nearer = other < *d;
    *d = choose(nearer, other, *d);
    *triangle = (of & nearer) | (*triangle & ~nearer);
}

/// The nodes before and after each of eight from node i on in a row of n; nothing beyond its ends.
INLINE f8 before8(const float *d, int i, f8 end) {
    if (i > 0) return *(const f8 *)(d + i - 1);
    return __builtin_shufflevector(*(const f8 *)d, end, 8, 0, 1, 2, 3, 4, 5, 6);
}
INLINE f8 after8(const float *d, int i, int n, f8 end) {
    if (i + 8 < n) return *(const f8 *)(d + i + 1);
    return __builtin_shufflevector(*(const f8 *)(d + i), end, 1, 2, 3, 4, 5, 6, 7, 8);
}

/// Of the two nodes beside each of eight, the lesser.
INLINE void beside(const float *d, const uint32_t *triangle, int i, int n, f8 *least, i8x *of) {
    const f8 far = (f8){0} + DISTANCE_FAR, none = {0};
    const float *whose = (const float *)triangle; // moved about, not looked at
    *least = before8(d, i, far), *of = (i8x)before8(whose, i, none);
    less(least, of, after8(d, i, n, far), (i8x)after8(whose, i, n, none));
}

/// The least of the six nodes beside each of eight.
INLINE f8 least_beside(const float *const d[5], int i, int n) {
    const f8 far = (f8){0} + DISTANCE_FAR;
    f8 least = min8(before8(d[0], i, far), after8(d[0], i, n, far));
    for (int k = 1; k < 5; k++)
        if (d[k]) least = min8(least, *(const f8 *)(d[k] + i));
    return least;
}

/// Eight nodes from i on: see DistanceKernels. Returns what changed.
INLINE int spread_eight(const float *const d[5], const uint32_t *const triangle[5], int i, int n,
                        float step, float near, float most, float *to, uint32_t *to_triangle) {
    const f8 now = *(const f8 *)(d[0] + i);
    const i8x mine = *(const i8x *)(triangle[0] + i), far = now > near;
    *(f8 *)(to + i) = now, *(i8x *)(to_triangle + i) = mine;
    if (!any8(far)) return 0;
    // whatever comes is farther than the nearest by step / sqrt(3) at least
    const f8 bound = least_beside(d, i, n) + 0.57f * step;
    if (!any8(far & (bound < now) & (bound < most))) return 0;
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
    const f8 come = eikonal(least[0], least[1], least[2], step);
    const i8x take = far & (come < now - GAIN * step) & (come <= most);
    if (!any8(take)) return 0;
    *(f8 *)(to + i) = choose(take, come, now);
    *(i8x *)(to_triangle + i) = (whose & take) | (mine & ~take);
    return CHANGED_ANY | (take[0] & CHANGED_FIRST) | (take[7] & CHANGED_LAST);
}

static bool spread(const float *const d[5], const uint32_t *const triangle[5], int n, float step,
                   float near, float most, uint8_t *eights, float *to, uint32_t *to_triangle) {
    int any = 0;
    for (int i = 0; i < n; i += 8) {
        int now = 0;
        if (eights[i / 8]) now = spread_eight(d, triangle, i, n, step, near, most, to, to_triangle);
        eights[i / 8] = (uint8_t)now, any |= now;
    }
    return any;
}

static void refine(const TriangleFrame *frames, const DistanceRows *g, const int low[2],
                   const int high[2], float near, float most) {
    for (int k = low[1]; k <= high[1]; k++)
        for (int j = low[0]; j <= high[0]; j += ROWS) {
            const Rows rows = rows_at(g, j, k, high[0]);
            for (int i = 0; i < g->n[0]; i += ALONG) {
                const wide now = load_rows(g->value, &rows, i);
                const wide_int far = (now > near) & (now <= most);
                if (!wide_bits(far)) continue;
                const wide_int which = (wide_int)load_rows((float *)g->nearest, &rows, i) & far;
                const WideFrame frame = own_frames(frames, which);
                const wide_int node = i + (wide_lanes() & (ALONG - 1));
                const wide d = wide_sqrt(
                    square_from(&frame, wide_from_int(node) * g->step, rows.y, wide_all(rows.z)));
                store_rows(g->value, &rows, i, wide_select(far & (d < now), d, now));
            }
        }
}

// -------------------------------------------------------------------------------------- lookup

INLINE wide mix(wide a, wide b, wide t) {
    return a + t * (b - a);
}

/// Node below a place along an axis and the part of the way to the next.
INLINE wide_int below(const DistanceGrid *g, int axis, wide place, wide *part, wide_int *outside) {
    const wide last = wide_all((float)(g->n[axis] - 1)), none = wide_all(0);
    wide x = (place - g->origin[axis]) / g->spacing;
    if (g->n[axis] == 1) {
        *part = none;
        return (wide_int){0};
    }
    *outside |= ~((x >= none) & (x <= last));
    x = wide_select(x > none, wide_select(x < last, x, last), none);
    const wide_int most = (wide_int){0} + (g->n[axis] - 2), cell = wide_to_int(x);
    const wide_int at = cell > most, node = (most & at) | (cell & ~at);
    *part = x - wide_from_int(node);
    return node;
}

INLINE wide sample_wide(const DistanceGrid *g, wide x, wide y, wide z, wide_int *outside) {
    const int n0 = g->n[0], n1 = g->n[1], up = n1 > 1 ? n0 : 0, in = g->n[2] > 1 ? n0 * n1 : 0;
    wide f[3], a[2], b[2], c[2], d[2];
    wide_int at = below(g, 0, x, &f[0], outside);
    at += n0 * below(g, 1, y, &f[1], outside);
    at += n0 * n1 * below(g, 2, z, &f[2], outside);
    wide_gather_pairs(g->value, at, &a[0], &a[1]);
    wide_gather_pairs(g->value + up, at, &b[0], &b[1]);
    const wide near = mix(mix(a[0], a[1], f[0]), mix(b[0], b[1], f[0]), f[1]);
    if (!in) return near;
    wide_gather_pairs(g->value + in, at, &c[0], &c[1]);
    wide_gather_pairs(g->value + in + up, at, &d[0], &d[1]);
    return mix(near, mix(mix(c[0], c[1], f[0]), mix(d[0], d[1], f[0]), f[1]), f[2]);
}

INLINE wide beyond(wide x, float low, float high) {
    const wide above = wide_select(x > high, x - high, wide_all(0));
    return wide_select(x < low, low - x, above);
}

/// As outside_bound.
INLINE wide bound_wide(const DistanceGrid *g, const wide p[3], wide inner) {
    wide grid2 = wide_all(0), mesh2 = wide_all(0);
    for (int i = 0; i < 3; i++) {
        if (g->n[i] == 1) continue;
        const float edge = g->origin[i] + g->spacing * (float)(g->n[i] - 1);
        const wide a = beyond(p[i], g->origin[i], edge), b = beyond(p[i], g->low[i], g->high[i]);
        grid2 += a * a, mesh2 += b * b;
    }
    const wide bound2 = grid2 + inner * inner;
    return wide_sqrt(wide_select(bound2 > mesh2, bound2, mesh2));
}

static void sample(const DistanceGrid *g, const float *x, const float *y, const float *z,
                   float *out) {
    for (int i = 0; i < DISTANCE_POINTS; i += WIDE) {
        const wide p[3] = {wide_load(x + i), wide_load(y + i), wide_load(z + i)};
        wide_int outside = {0};
        wide d = sample_wide(g, p[0], p[1], p[2], &outside);
        if (wide_bits(outside)) d = wide_select(outside, bound_wide(g, p, d), d);
        wide_store(out + i, d);
    }
}

const DistanceKernels ISA(distance_kernels) = {offer, spread, refine, sample};
