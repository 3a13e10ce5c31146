// All is by lane: same bits on every instruction set.
#include "band/eikonal.h"
#include "base/lanes.h"
#include "grid/sample.h"
#include "particles/chunk.h"
#include "particles/normal_wide.h"
#include "surface/planes.h"
#include "surface/rows.h"
#include "surface/track_kernels.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"

// ------------------------------------------------------------------------- rows of a tile

/// Edge of a block with a halo of 1.
enum { EDGE = TILE + 2 };

/// A row and those beside it, one number for each of its cells.
typedef struct RowAround {
    float here[TILE], side[6][TILE]; ///< x-, x+, y-, ...
} RowAround;

INLINE f8 row_told(const TrackAround *t, int tile, int row, f8 none) {
    return t->told[tile][row] ? *(const f8 *)(t->tile[tile] + row * TILE) : none;
}

/// `row` stands for the one beyond where that is outside the domain.
INLINE f8 row_beside(const TrackAround *t, int axis, bool up, int row, f8 none) {
    const int step = axis == 1 ? 1 : TILE, at = axis == 1 ? row & 7 : row >> 3;
    if (at == (up ? t->last[axis] : t->first[axis])) return row_told(t, 0, row, none);
    if (at != (up ? TILE - 1 : 0)) return row_told(t, 0, up ? row + step : row - step, none);
    const int far = (TILE - 1) * step;
    return row_told(t, 2 * axis + 1 + up, up ? row - far : row + far, none);
}

INLINE void rows_around(const TrackAround *t, int row, float missing, RowAround *out,
                        const int dim) {
    const f8 none = (f8){0} + missing, here = row_told(t, 0, row, none);
    const f8 left = row_told(t, 1, row, none), right = row_told(t, 2, row, none);
    *(f8 *)out->here = here;
    *(f8 *)out->side[0] = __builtin_shufflevector(left, here, 7, 8, 9, 10, 11, 12, 13, 14);
    *(f8 *)out->side[1] = __builtin_shufflevector(here, right, 1, 2, 3, 4, 5, 6, 7, 8);
    if (t->first[0] == 0) out->side[0][0] = out->here[0];
    if (t->last[0] >= 0 && t->last[0] < TILE) out->side[1][t->last[0]] = out->here[t->last[0]];
    for (int n = 2; n < 2 * dim; n++) *(f8 *)out->side[n] = row_beside(t, n >> 1, n & 1, row, none);
}

INLINE void farther_dim(const TrackAround *t, const TileMask *wanted, float missing, float *out,
                        const int dim) {
    for (int row = 0; row < (dim == 3 ? TILE * TILE : TILE); row++) {
        const unsigned cells = mask_bits(wanted, row);
        if (!cells) continue;
        RowAround at;
        float next[TILE];
        rows_around(t, row, missing, &at, dim);
        for (int x = 0; x < TILE; x++) {
            float a = least(at.side[0][x], at.side[1][x]), b = least(at.side[2][x], at.side[3][x]);
            float c = dim == 3 ? least(at.side[4][x], at.side[5][x]) : 0;
            next[x] = least(at.here[x], eikonal(a, b, c, dim));
        }
        row_choose(cells, next, at.here, out + row * TILE);
    }
}

static void farther(const TrackAround *t, int dim, const TileMask *wanted, float missing,
                    float *out) {
    dim == 3 ? farther_dim(t, wanted, missing, out, 3) : farther_dim(t, wanted, missing, out, 2);
}

/// Second difference; 0 at the rim of what is known.
INLINE float bend(float low, float here, float high, float cut) {
    bool known = low < cut && low > -cut && high < cut && high > -cut;
    float b = low + high - 2 * here;
    return known ? b : 0;
}

INLINE void filter_dim(const TrackAround *t, const TileMask *wanted, float part, float cut,
                       float *out, const int dim) {
    for (int row = 0; row < (dim == 3 ? TILE * TILE : TILE); row++) {
        const unsigned cells = mask_bits(wanted, row);
        if (!cells) continue;
        RowAround at;
        float next[TILE];
        rows_around(t, row, cut, &at, dim);
        for (int x = 0; x < TILE; x++) {
            float here = at.here[x], sum = bend(at.side[0][x], here, at.side[1][x], cut);
            sum += bend(at.side[2][x], here, at.side[3][x], cut);
            if (dim == 3) sum += bend(at.side[4][x], here, at.side[5][x], cut);
            next[x] = here + part * sum;
        }
        row_choose(cells, next, at.here, out + row * TILE);
    }
}

static void filter(const TrackAround *t, int dim, const TileMask *wanted, float part, float cut,
                   float *out) {
    dim == 3 ? filter_dim(t, wanted, part, cut, out, 3) : filter_dim(t, wanted, part, cut, out, 2);
}

// ---------------------------------------------------------------------------------------- blend

INLINE f8 size_of(f8 v) {
    return (f8)((i8x)v & 0x7fffffff);
}
INLINE f8 clamped(f8 part) {
    const f8 one = (f8){0} + 1.0f;
    part = where(part > 0.0f, part);
    return choose(part < one, part, one);
}

static void blend(const TrackBlend *b, uint8_t asked, uint8_t kept, const float rough[TILE],
                  const float even[TILE], const float steady[TILE], float smooth[TILE],
                  float tracked[TILE]) {
    const f8 now = load8(rough), past = load8(smooth), part = load8(steady);
    const i8x told = bit_lanes(asked) & (part >= 0.0f), counts = told & (part > 0.0f);
    const f8 to = choose(bit_lanes(kept), now + part * (load8(even) - now), now);
    const f8 apart = size_of(to - past);
    f8 lambda = (f8){0} + 1.0f;
    if (!b->forgets) {
        lambda = 1.0f - part;
        f8 more = lambda + part * b->fades * clamped((apart - b->chance) / b->chance);
        f8 astray = clamped((apart - TRACK_ASTRAY) / TRACK_ASTRAY) * b->way;
        more = choose(more > astray, more, astray);
        lambda = choose(size_of(now) < TRACK_BOUND, more, lambda);
    }
    const f8 way = lambda * (to - past);
    *(f8 *)tracked = choose(counts, past + way, now);
    *(f8 *)smooth = choose(counts, way, where(told, now - past));
}

// -------------------------------------------------------------------------------------- normals

/// normal_pack without the part: n of any length but 0.
INLINE wide_int pack(const wide n[3], const int dim) {
    wide sum = wide_abs(n[0]) + wide_abs(n[1]);
    if (dim == 3) sum += wide_abs(n[2]);
    wide u = n[0] / sum, v = n[1] / sum;
    if (dim == 3) {
        wide fold_u = wide_sign(1.0f - wide_abs(v), u), fold_v = wide_sign(1.0f - wide_abs(u), v);
        wide_int below = n[2] < 0.0f;
        u = wide_select(below, fold_u, u), v = wide_select(below, fold_v, v);
    }
    wide_int x = wide_to_int(u * (float)NORMAL_HALF + ((float)NORMAL_HALF + 0.5f));
    wide_int y = wide_to_int(v * (float)NORMAL_HALF + ((float)NORMAL_HALF + 0.5f));
    return x << 19 | y << 6;
}

/// The first n words.
INLINE void store_words(uint32_t *p, wide_int v, int n) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_epi32(p, n >= WIDE ? 0xffff : (__mmask16)((1u << n) - 1), (__m512i)v);
#else
    if (n >= WIDE)
        memcpy(p, &v, sizeof v);
    else
        for (int i = 0; i < n; i++) p[i] = (uint32_t)v[i];
#endif
}
INLINE void store_some(float *p, wide v, int n) {
    store_words((uint32_t *)(void *)p, (wide_int)v, n);
}

/// Whether any of some particles has a normal.
INLINE bool any_words(const uint32_t *word, int n) {
    uint32_t any = 0;
    for (int i = 0; i < n; i++) any |= word[i];
    return any != 0;
}

/// Words of some particles, else 0: those beyond a tile's are of another one, whose task may write
/// them now.
INLINE wide_int some_words(const uint32_t *word, wide_int valid) {
    return (wide_int)wide_load_some((const float *)(const void *)word, valid);
}

INLINE float unpack_dim(const Span *p, const TrackFade *fade, float *const normal[3],
                        const int dim) {
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL];
    wide fastest = wide_all(-1);
    for (int i = 0; i < p->count; i += WIDE) {
        int n = p->count - i;
        wide v[3], speed = {0};
        const wide_int valid = wide_lanes() < n;
        wide_int word = some_words(words + i, valid), none = word == 0;
        if (wide_bits(~none) == 0) {
            for (int a = 0; a < dim; a++) store_some(normal[a] + i, (wide){0}, n);
            store_some((float *)(void *)words + i, wide_all(-1), n);
            continue;
        }
        for (int a = 0; a < dim; a++) {
            wide u = wide_load(p->attr[ATTR_VX + a] + i);
            speed += u * u;
        }
        wide pace = wide_sqrt(speed);
        if (!fade->square) speed = pace;
        wide part = normals_unpack(word, v, dim);
        wide alpha = wide_clamp((fade->high - speed) * fade->inverse, (wide){0}, wide_all(1));
        wide steady = wide_select(none, wide_all(-1), alpha * part);
        for (int a = 0; a < dim; a++) store_some(normal[a] + i, v[a], n);
        store_some((float *)(void *)words + i, steady, n);
        wide_int counts = (steady > 0.0f) & valid;
        fastest = wide_max(fastest, wide_select(counts, pace, wide_all(-1)));
    }
    float most = -1;
    for (int k = 0; k < WIDE; k++) most = fastest[k] > most ? fastest[k] : most;
    return most;
}

static float unpack_tile(const Span *p, const TrackFade *fade, float *const normal[3]) {
    return p->dim == 3 ? unpack_dim(p, fade, normal, 3) : unpack_dim(p, fade, normal, 2);
}

// --------------------------------------------------------------------------------------- strain

/// Change of the velocity over a cell, du_a / dx_b, in the middles of a row of cells; 0 where the
/// grid knows none.
typedef struct Slopes {
    float of[3][3][TILE]; ///< [a][b]
} Slopes;

INLINE void row_slopes(const float *const velocity[3], int halo, int y, int z, float rate,
                       Slopes *out, const int dim) {
    const int edge = TILE + 2 * halo, step[3] = {1, edge, edge * edge};
    const int at = ((dim == 3 ? z + halo : 0) * edge + y + halo) * edge + halo;
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) {
            const float *u = velocity[a] + at;
            const int sa = step[a], sb = step[b];
            f8 slope;
            if (a == b)
                slope = rate * (load8(u + sa) - load8(u));
            else
                slope = 0.25f * rate *
                        (load8(u + sb) - load8(u - sb) + (load8(u + sa + sb) - load8(u + sa - sb)));
            slope = (f8)((i8x)slope & (slope == slope));
            memcpy(out->of[a][b], &slope, sizeof slope);
        }
}

/// One of eight values per lane.
INLINE wide pick(const float of[TILE], wide_int at) {
#if defined(__AVX512F__)
    __m512 table = _mm512_broadcast_f32x8(_mm256_loadu_ps(of));
    return (wide)_mm512_permutexvar_ps((__m512i)at, table);
#elif defined(__AVX2__)
    return (wide)_mm256_permutevar8x32_ps(_mm256_loadu_ps(of), (__m256i)at);
#else
    return wide_gather(of, at);
#endif
}

INLINE void strain_row(const Span *p, const Slopes *slopes, int first, int end, float corner,
                       const int dim) {
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL];
    float *phi = p->attr[ATTR_PHI];
    for (int i = first; i < end; i += WIDE) {
        wide v[3] = {0}, turned[3] = {0}, e = {0};
        const wide_int valid = wide_lanes() < end - i;
        wide_int word = some_words(words + i, valid), none = word == 0;
        if (wide_bits(~none) == 0) continue;
        wide x = wide_load_some(p->attr[ATTR_X] + i, valid) * p->inv_dx - corner;
        wide_int cell = wide_to_int(wide_clamp(x, (wide){0}, wide_all(TILE - 0.5f)));
        normals_unpack(word, v, dim);
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) turned[b] += pick(slopes->of[a][b], cell) * v[a];
        for (int b = 0; b < dim; b++) e += turned[b] * v[b];
        for (int b = 0; b < dim; b++) v[b] += e * v[b] - turned[b];
        e = wide_clamp(e, wide_all(-0.5f), wide_all(0.5f));
        wide_int next = pack(v, dim) | (word & 63);
        wide had = wide_load_some(phi + i, valid);
        store_some(phi + i, wide_select(none, had, had + e * had), end - i);
        store_words(words + i, next & ~none, end - i);
    }
}

INLINE void strain_dim(const Span *p, const uint32_t *start, const float *const velocity[3],
                       int halo, float time, const int dim) {
    const uint32_t *words = (const uint32_t *)(const void *)p->attr[ATTR_NORMAL];
    for (int row = 0; row < (dim == 3 ? TILE * TILE : TILE); row++) {
        int first = (int)(start[row * TILE] - start[0]);
        int end = (int)(start[row * TILE + TILE] - start[0]);
        if (!any_words(words + first, end - first)) continue;
        Slopes slopes;
        row_slopes(velocity, halo, row & 7, row >> 3, time * p->inv_dx, &slopes, dim);
        strain_row(p, &slopes, first, end, p->corner[0] + (float)halo, dim);
    }
}

static void strain(const Span *p, const uint32_t *start, const float *const velocity[3], int halo,
                   float time) {
    p->dim == 3 ? strain_dim(p, start, velocity, halo, time, 3)
                : strain_dim(p, start, velocity, halo, time, 2);
}

// ---------------------------------------------------------------------------------------- renew

/// Eight vectors as eight nodes.
INLINE void store_nodes(const f8 v[8], TrackNode *row) {
    f8 a[8], b[8];
    for (int k = 0; k < 4; k++) { // pairs of numbers
        a[2 * k] = __builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[2 * k + 1] = __builtin_shufflevector(v[2 * k], v[2 * k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int k = 0; k < 2; k++) // fours: of the nodes 0, 4; 1, 5; 2, 6; 3, 7
        for (int m = 0; m < 2; m++) {
            f8 low = a[4 * k + m], high = a[4 * k + 2 + m];
            b[4 * k + 2 * m] = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
            b[4 * k + 2 * m + 1] = __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int n = 0; n < 4; n++) {
        f8 low = __builtin_shufflevector(b[n], b[4 + n], 0, 1, 2, 3, 8, 9, 10, 11);
        f8 high = __builtin_shufflevector(b[n], b[4 + n], 4, 5, 6, 7, 12, 13, 14, 15);
        memcpy(row + n, &low, sizeof low), memcpy(row + 4 + n, &high, sizeof high);
    }
}

static void nodes_row(const float *at, const float *change, int dim, int y, int z,
                      TrackNode row[TILE + 2]) {
    enum { WIDE_EDGE = TILE + 4, Z = WIDE_EDGE * WIDE_EDGE };
    const f8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int x = 0; x <= 2; x += 2) { // ten nodes
        const float *d = at + x;
        f8 v[8] = {*(const f8 *)d, *(const f8 *)(change + x)};
        v[2] = 0.5f * (*(const f8 *)(d + 1) - *(const f8 *)(d - 1));
        v[3] = 0.5f * (*(const f8 *)(d + WIDE_EDGE) - *(const f8 *)(d - WIDE_EDGE));
        if (dim == 3) v[4] = 0.5f * (*(const f8 *)(d + Z) - *(const f8 *)(d - Z));
        v[5] = v[2] * (lanes + (float)x) + v[3] * (float)y + v[4] * (float)z;
        store_nodes(v, row + x);
    }
}

/// Slopes of the distance from which on a surface has no other one near it, and from which on it
/// has none of a sheet.
static const float THIN_SLOPE = 0.6f, THICK_SLOPE = 0.9f;
/// Below this slope there is no direction.
static const float FLAT = 1e-3f;

/// The nodes around a chunk's particles: where they are in a block, and how much each row of two
/// counts.
typedef struct Corners {
    int32_t node[CHUNK];
    float along[CHUNK], row[4][CHUNK];
} Corners;

INLINE void find_corners(const float at[3][CHUNK], int n, Corners *out, const int dim) {
    for (int i = 0; i < n; i += WIDE) {
        wide f[3] = {0};
        wide_int cell[3] = {0};
        for (int a = 0; a < dim; a++)
            cell[a] = split(wide_max(wide_load(at[a] + i), (wide){0}), &f[a]);
        wide_int node = (cell[2] * EDGE + cell[1]) * EDGE + cell[0];
        memcpy(out->node + i, &node, sizeof node);
        wide_store(out->along + i, f[0]);
        for (int k = 0; k < (dim == 3 ? 4 : 2); k++) {
            wide part = f[1];
            if (!(k & 1)) part = 1.0f - f[1];
            if (dim == 3 && k & 2) part *= f[2];
            if (dim == 3 && !(k & 2)) part *= 1.0f - f[2];
            wide_store(out->row[k] + i, part);
        }
    }
}

/// What nodes tell a chunk's particles. => told [n]
INLINE void ask_nodes(const Corners *corners, const TrackNode *nodes, int n, TrackNode *told,
                      const int dim) {
    static const int step[4] = {0, EDGE, EDGE * EDGE, EDGE * EDGE + EDGE};
    for (int i = 0; i < n; i++) {
        const TrackNode *first = nodes + corners->node[i];
        f16 sum = load(&first->distance) * corners->row[0][i];
        for (int k = 1; k < (dim == 3 ? 4 : 2); k++)
            sum += load(&first[step[k]].distance) * corners->row[k][i];
        f8 low = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7);
        f8 high = __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
        low += corners->along[i] * (high - low);
        memcpy(told + i, &low, sizeof low);
    }
}

/// A number of the nodes per lane.
INLINE wide told_at(const TrackNode *told, size_t offset) {
    enum { STRIDE = sizeof(TrackNode) / sizeof(float) };
    return wide_gather((const float *)(const void *)((const char *)told + offset),
                       wide_lanes() * STRIDE);
}

/// Cells that particles go in a step, at most TRACK_RENEWED; pace: cells over a speed.
INLINE wide renewed(const Span *p, int i, float pace, const int dim) {
    wide speed2 = {0};
    for (int a = 0; a < dim; a++) {
        wide u = wide_load(p->attr[ATTR_VX + a] + i);
        speed2 += u * u;
    }
    return wide_min(pace * wide_sqrt(speed2), wide_all(TRACK_RENEWED));
}

INLINE void renew_chunk(const TrackNode *told, const float at[3][CHUNK], int n, const Span *p,
                        int first, float pace, const int dim) {
    float *phi = p->attr[ATTR_PHI] + first;
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL] + first;
    for (int i = 0; i < n; i += WIDE) {
        wide q = told_at(told + i, offsetof(TrackNode, distance));
        wide change = told_at(told + i, offsetof(TrackNode, change)), g[3] = {0}, length2 = {0};
        wide along = {0};
        for (int a = 0; a < dim; a++) {
            g[a] = told_at(told + i, offsetof(TrackNode, gradient) + (size_t)a * sizeof(float));
            length2 += g[a] * g[a];
            along += g[a] * wide_load(at[a] + i);
        }
        // trilinear in distance and slope together: exact for what is quadratic
        q += 0.5f * (along - told_at(told + i, offsetof(TrackNode, along)));
        const wide_int valid = wide_lanes() < n - i;
        wide slope = wide_sqrt(length2), steady = (wide)some_words(words + i, valid);
        wide had = wide_min(wide_load_some(phi + i, valid), wide_all(TRACK_ABOVE));
        wide part_new = renewed(p, first + i, pace, dim);
        wide kept = (1 - part_new) * (had + change) + part_new * q;
        wide_int known = (steady >= 0.0f) & (wide_abs(q) < 1.0f);
        store_some(phi + i, wide_select(known, kept, q), n - i);
        wide part = (slope - THIN_SLOPE) * (1 / (THICK_SLOPE - THIN_SLOPE));
        part = wide_clamp(part, (wide){0}, wide_all(1));
        wide_int word = pack(g, dim) | (1 + wide_to_int(part * (float)NORMAL_PARTS + 0.5f));
        store_words(words + i, word & (q > -TRACK_DEPTH) & (slope > FLAT), n - i);
    }
}

INLINE void renew_dim(const Span *p, const uint32_t *start, const TrackNode *nodes,
                      const uint8_t *near, float pace, const int dim) {
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL];
    float at[3][CHUNK], *phi = p->attr[ATTR_PHI];
    TrackNode told[CHUNK] = {0};
    Corners corners;
    for (int row = 0; row < (dim == 3 ? TILE * TILE : TILE); row++) {
        int first = (int)(start[row * TILE] - start[0]);
        int end = (int)(start[row * TILE + TILE] - start[0]);
        if (!(near[row >> 3] >> (row & 7) & 1)) {
            for (int i = first; i < end; i++) phi[i] = -TRACK_FAR, words[i] = 0;
            continue;
        }
        for (int i = first; i < end; i += CHUNK) {
            int n = end - i < CHUNK ? end - i : CHUNK;
            chunk_positions(p, i, n, TILE + 2, 0.5f, at, dim);
            find_corners(at, n, &corners, dim);
            ask_nodes(&corners, nodes, n, told, dim);
            renew_chunk(told, (const float(*)[CHUNK])at, n, p, i, pace, dim);
        }
    }
}

static void renew(const Span *p, const uint32_t *start, const TrackNode *nodes, const uint8_t *near,
                  float time) {
    const float pace = time * p->inv_dx;
    p->dim == 3 ? renew_dim(p, start, nodes, near, pace, 3)
                : renew_dim(p, start, nodes, near, pace, 2);
}

const TrackKernels ISA(track_kernels) = {farther, filter,    blend, unpack_tile,
                                         strain,  nodes_row, renew};
