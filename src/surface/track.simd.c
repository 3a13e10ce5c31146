// Sums over particles run over sixteen lanes on every instruction set and are folded in one order;
// all else is by lane: same bits.
#include "band/eikonal.h"
#include "base/lanes.h"
#include "grid/sample.h"
#include "particles/chunk.h"
#include "particles/normal_wide.h"
#include "surface/track_kernels.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"

// --------------------------------------------------------------------------------------- planes

/// Sums of weights: all, those of planes; of what counts of the past; of distances.
typedef struct Sums {
    Lanes all, steady, planes, distance;
} Sums;

/// A cell's centre, and how particles are seen from it. Walls reflect the offset instead of the
/// particle: offset = flip * (where it is seen - centre) = position + shift, in cells.
typedef struct Eye {
    const float *x[3];
    const TrackSeen *seen;
    float scale; ///< cells / m
    float shift[3], flip[3];
    const float *plane;
    float out[3]; ///< beta e: towards the air, as far as that is certain
    float rest;   ///< 1 - beta
} Eye;

/// What of a particle is not changed by a reflection.
typedef struct Known {
    wide phi, steady;
    wide_int has, near; ///< a normal; not too deep for one
} Known;

/// part: of the lanes
INLINE void add(Sums *sums, int part, const float out[3], float rest, const wide offset[3],
                const wide normal[3], const Known *known, wide_int valid, const int dim) {
    wide d2 = offset[0] * offset[0] + offset[1] * offset[1];
    if (dim == 3) d2 += offset[2] * offset[2];
    d2 *= 1.0f / (TRACK_REACH * TRACK_REACH);
    wide k = (wide)((wide_int)wide_max(1.0f - d2, (wide){0}) & valid);
    wide w = k * k / (TRACK_NEARNESS * TRACK_NEARNESS + d2);
    sums->all[part] += (wide)((wide_int)w & known->near);
    sums->steady[part] += w * known->steady;
    wide facing = out[0] * normal[0] + out[1] * normal[1];
    wide height = offset[0] * normal[0] + offset[1] * normal[1];
    if (dim == 3) facing += out[2] * normal[2], height += offset[2] * normal[2];
    facing += rest;
    w *= (wide)((wide_int)facing & (facing > 0.0f) & known->has);
    sums->planes[part] += w;
    sums->distance[part] += w * (known->phi - height);
}

/// Adds a part of sixteen particles from i on.
INLINE void add_part(Sums *sums, int part, const Eye *eye, const float out[3], uint32_t i,
                     wide_int valid, const int dim) {
    const TrackSeen *seen = eye->seen;
    wide offset[3] = {0}, normal[3] = {0}, steady = wide_load(seen->steady + i);
    wide phi = wide_load(seen->phi + i);
    Known known = {.has = steady >= 0.0f, .near = phi > -TRACK_DEPTH};
    known.phi = (wide)((wide_int)phi & (phi < 0.0f));
    known.steady = (wide)((wide_int)steady & known.has & known.near);
    for (int a = 0; a < dim; a++) {
        offset[a] = wide_load(eye->x[a] + i) * eye->scale + eye->shift[a];
        normal[a] = wide_load(seen->normal[a] + i);
    }
    add(sums, part, out, eye->rest, offset, normal, &known, valid, dim);
    if (!eye->plane) return;
    float plane[3];
    for (int a = 0; a < 3; a++) plane[a] = eye->plane[a] * eye->flip[a];
    wide above = offset[0] * plane[0] + offset[1] * plane[1] + eye->plane[3];
    wide along = normal[0] * plane[0] + normal[1] * plane[1];
    if (dim == 3) above += offset[2] * plane[2], along += normal[2] * plane[2];
    for (int a = 0; a < dim; a++) {
        offset[a] -= 2.0f * above * plane[a];
        normal[a] -= 2.0f * along * plane[a];
    }
    add(sums, part, out, eye->rest, offset, normal, &known, valid & (above > 0.0f), dim);
}

/// Adds the particles [first, end). Those up to 15 beyond are read, and are numbers.
INLINE void add_range(Sums *sums, const Eye *eye, uint32_t first, uint32_t end, const int dim) {
    float out[3];
    for (int a = 0; a < 3; a++) out[a] = eye->out[a] * eye->flip[a];
    for (uint32_t i = first; i < end; i += LANES)
        for (int part = 0; part < LANE_PARTS; part++) {
            int left = (int)(end - i) - part * WIDE;
            if (part > 0 && left <= 0) break;
            add_part(sums, part, eye, out, i + (uint32_t)(part * WIDE), wide_lanes() < left, dim);
        }
}

/// Adds particles that are reflected along x at `shift` / 2.
INLINE void add_reflected(Sums *sums, const Eye *eye, uint32_t first, uint32_t end, float flip,
                          float shift, const int dim) {
    Eye mirrored = *eye;
    mirrored.flip[0] *= flip;
    mirrored.shift[0] = flip * (eye->shift[0] + shift);
    add_range(sums, &mirrored, first, end, dim);
}

/// Adds what cell x sees of a row.
INLINE void add_row(Sums *sums, const LevelSetNear *near, const LevelSetRow *row, const Eye *eye,
                    int x, const int dim) {
    if (x == 0)
        add_reflected(sums, eye, row->first[0], row->end[0], near->flip_x[0], near->shift_x[0],
                      dim);
    add_range(sums, eye, row->start[x > 0 ? x - 1 : 0], row->start[x < 7 ? x + 2 : 8], dim);
    if (x == 7)
        add_reflected(sums, eye, row->first[1], row->end[1], near->flip_x[1], near->shift_x[1],
                      dim);
    else if (x == near->last)
        add_reflected(sums, eye, row->start[x], row->start[x + 1], -1, near->last_shift, dim);
}

INLINE void look(Eye *eye, const float mean[3][TILE], int x, const int dim) {
    float length2 = 0;
    for (int a = 0; a < dim; a++) length2 += mean[a][x] * mean[a][x];
    float length = sqrtf(length2), beta = length < TRACK_CERTAIN ? length / TRACK_CERTAIN : 1;
    for (int a = 0; a < dim; a++) eye->out[a] = length > 0 ? -mean[a][x] / length * beta : 0;
    eye->rest = 1 - beta;
}

INLINE void sum_cell(const LevelSetNear *near, Eye *eye, int x, int y, int z, Sums *sums,
                     const int dim) {
    const float at[3] = {near->corner[0] + (float)x + 0.5f, near->corner[1] + (float)y + 0.5f,
                         near->corner[2] + (float)z + 0.5f};
    eye->scale = near->inv_dx, eye->shift[0] = -at[0], eye->flip[0] = 1;
    eye->plane = near->planes >> x & 1 ? near->plane[x] : NULL;
    for (int a = 0; a < 3; a++) eye->x[a] = near->x[a];
    for (int k = dim == 3 ? 0 : 1; k <= (dim == 3 ? 2 : 1); k++)
        for (int j = 0; j < 3; j++) {
            const LevelSetRow *row = near->row[k][j];
            for (int a = 1; a < 3; a++) {
                eye->flip[a] = row->flip[a - 1];
                eye->shift[a] = row->flip[a - 1] * (row->shift[a - 1] - at[a]);
            }
            add_row(sums, near, row, eye, x, dim);
        }
}

INLINE void planes_dim(const LevelSetNear *near, const TrackSeen *seen, int y, int z, uint8_t cells,
                       const float mean[3][TILE], float smooth[TILE], float steady[TILE],
                       const int dim) {
    for (; cells; cells &= (uint8_t)(cells - 1)) {
        int x = __builtin_ctz(cells);
        Sums sums = {0};
        Eye eye = {.seen = seen};
        look(&eye, mean, x, dim);
        sum_cell(near, &eye, x, y, z, &sums, dim);
        float all = lanes_fold(sums.all), weight = lanes_fold(sums.planes);
        bool tells = weight > TRACK_LEAST;
        smooth[x] = tells ? lanes_fold(sums.distance) / weight : 0;
        steady[x] = tells ? lanes_fold(sums.steady) / all : -1;
    }
}

static void planes(const LevelSetNear *near, const TrackSeen *seen, int y, int z, uint8_t cells,
                   const float mean[3][TILE], float smooth[TILE], float steady[TILE]) {
    if (near->dim == 3)
        planes_dim(near, seen, y, z, cells, mean, smooth, steady, 3);
    else
        planes_dim(near, seen, y, z, cells, mean, smooth, steady, 2);
}

// ---------------------------------------------------------------------------- rows of a block

/// Blocks have a halo of 1; `wanted` cells get a new value, others keep theirs.
enum { EDGE = TILE + 2 };

INLINE const float *block_row(const float *block, int row, const int dim) {
    return block + ((dim == 3 ? (row >> 3) + 1 : 0) * EDGE + (row & 7) + 1) * EDGE + 1;
}

INLINE void farther_dim(const float *block, const TileMask *wanted, float *out, const int dim) {
    for (int row = 0; row < (dim == 3 ? TILE * TILE : TILE); row++) {
        const float *at = block_row(block, row, dim);
        const unsigned cells = mask_bits(wanted, row);
        if (!cells) continue;
        float next[TILE];
        for (int x = 0; x < TILE; x++) {
            float a = least(at[x - 1], at[x + 1]), b = least(at[x - EDGE], at[x + EDGE]);
            float c = dim == 3 ? least(at[x - EDGE * EDGE], at[x + EDGE * EDGE]) : 0;
            next[x] = least(at[x], eikonal(a, b, c, dim));
        }
        for (int x = 0; x < TILE; x++) out[row * TILE + x] = cells >> x & 1 ? next[x] : at[x];
    }
}

static void farther(const float *block, int dim, const TileMask *wanted, float *out) {
    dim == 3 ? farther_dim(block, wanted, out, 3) : farther_dim(block, wanted, out, 2);
}

/// Second difference; 0 at the rim of what is known.
INLINE float bend(float low, float here, float high, float cut) {
    bool known = low < cut && low > -cut && high < cut && high > -cut;
    float b = low + high - 2 * here;
    return known ? b : 0;
}

INLINE void filter_dim(const float *block, const TileMask *wanted, float part, float cut,
                       float *out, const int dim) {
    for (int row = 0; row < (dim == 3 ? TILE * TILE : TILE); row++) {
        const float *at = block_row(block, row, dim);
        const unsigned cells = mask_bits(wanted, row);
        if (!cells) continue;
        float next[TILE];
        for (int x = 0; x < TILE; x++) {
            float here = at[x], sum = bend(at[x - 1], here, at[x + 1], cut);
            sum += bend(at[x - EDGE], here, at[x + EDGE], cut);
            if (dim == 3) sum += bend(at[x - EDGE * EDGE], here, at[x + EDGE * EDGE], cut);
            next[x] = here + part * sum;
        }
        for (int x = 0; x < TILE; x++) out[row * TILE + x] = cells >> x & 1 ? next[x] : at[x];
    }
}

static void filter(const float *block, int dim, const TileMask *wanted, float part, float cut,
                   float *out) {
    dim == 3 ? filter_dim(block, wanted, part, cut, out, 3)
             : filter_dim(block, wanted, part, cut, out, 2);
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

INLINE float unpack_dim(const Span *p, const TrackFade *fade, float *const normal[3],
                        const int dim) {
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL];
    wide fastest = wide_all(-1);
    for (int i = 0; i < p->count; i += WIDE) {
        int n = p->count - i;
        wide v[3], speed = {0};
        wide_int word = load_words(words + i), none = word == 0;
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
        wide_int counts = (steady > 0.0f) & (wide_lanes() < n);
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
            float *to = out->of[a][b];
            if (a == b)
                for (int x = 0; x < TILE; x++) to[x] = rate * (u[x + sa] - u[x]);
            else
                for (int x = 0; x < TILE; x++)
                    to[x] =
                        0.25f * rate * (u[x + sb] - u[x - sb] + (u[x + sa + sb] - u[x + sa - sb]));
            for (int x = 0; x < TILE; x++) to[x] = to[x] == to[x] ? to[x] : 0;
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
        wide_int word = load_words(words + i);
        wide x = wide_load(p->attr[ATTR_X] + i) * p->inv_dx - corner;
        wide_int cell = wide_to_int(wide_clamp(x, (wide){0}, wide_all(TILE - 0.5f)));
        normals_unpack(word, v, dim);
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) turned[b] += pick(slopes->of[a][b], cell) * v[a];
        for (int b = 0; b < dim; b++) e += turned[b] * v[b];
        for (int b = 0; b < dim; b++) v[b] += e * v[b] - turned[b];
        e = wide_clamp(e, wide_all(-0.5f), wide_all(0.5f));
        wide_int none = word == 0, next = pack(v, dim) | (word & 63);
        wide had = wide_load(phi + i);
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

INLINE void renew_chunk(const TrackNode *told, int n, const Span *p, int first, float pace,
                        const int dim) {
    float *phi = p->attr[ATTR_PHI] + first;
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL] + first;
    for (int i = 0; i < n; i += WIDE) {
        wide q = told_at(told + i, offsetof(TrackNode, distance));
        wide change = told_at(told + i, offsetof(TrackNode, change)), g[3] = {0}, length2 = {0};
        for (int a = 0; a < dim; a++) {
            g[a] = told_at(told + i, offsetof(TrackNode, gradient) + (size_t)a * sizeof(float));
            length2 += g[a] * g[a];
        }
        wide slope = wide_sqrt(length2), steady = (wide)load_words(words + i);
        wide had = wide_min(wide_load(phi + i), (wide){0});
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
            renew_chunk(told, n, p, i, pace, dim);
        }
    }
}

static void renew(const Span *p, const uint32_t *start, const TrackNode *nodes, const uint8_t *near,
                  float time) {
    const float pace = time * p->inv_dx;
    p->dim == 3 ? renew_dim(p, start, nodes, near, pace, 3)
                : renew_dim(p, start, nodes, near, pace, 2);
}

const TrackKernels ISA(track_kernels) = {planes, farther, filter, unpack_tile, strain, renew};
