// Sums over particles run over sixteen lanes on every instruction set and are folded in one order;
// all else is by lane: same bits.
#include "grid/sample.h"
#include "particles/chunk.h"
#include "surface/normal.h"
#include "surface/track_kernels.h"
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16 };
typedef float f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t i16 __attribute__((vector_size(64), aligned(4), may_alias));

// --------------------------------------------------------------------------------------- planes

/// Sums of weights: all, those of planes; of what counts of the past; of distances.
typedef struct Sums {
    f16 all, steady, planes, distance;
} Sums;

INLINE f16 load(const float *p) {
    f16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

/// A cell's centre, and how particles are seen from it: offset = scale * position + shift.
typedef struct Eye {
    const float *x[3];
    const TrackSeen *seen;
    float scale[3], shift[3], flip[3];
    const float *plane;
    float out[3]; ///< beta e: towards the air, as far as that is certain
    float rest;   ///< 1 - beta
} Eye;

/// What of a particle is not changed by a reflection.
typedef struct Known {
    f16 phi, steady;
    i16 has;
} Known;

INLINE void add(Sums *sums, const Eye *eye, const f16 offset[3], const f16 normal[3],
                const Known *known, i16 valid, const int dim) {
    f16 d2 = offset[0] * offset[0] + offset[1] * offset[1];
    if (dim == 3) d2 += offset[2] * offset[2];
    d2 *= 1.0f / (TRACK_REACH * TRACK_REACH);
    f16 k = 1.0f - d2;
    k = (f16)((i16)k & (k > 0.0f) & valid);
    f16 w = k * k / (TRACK_NEARNESS * TRACK_NEARNESS + d2);
    sums->all += w;
    sums->steady += w * known->steady;
    f16 facing = eye->out[0] * normal[0] + eye->out[1] * normal[1];
    f16 height = offset[0] * normal[0] + offset[1] * normal[1];
    if (dim == 3) facing += eye->out[2] * normal[2], height += offset[2] * normal[2];
    facing += eye->rest;
    w *= (f16)((i16)facing & (facing > 0.0f) & known->has);
    sums->planes += w;
    sums->distance += w * (known->phi - height);
}

INLINE void add_range(Sums *sums, const Eye *eye, uint32_t first, uint32_t end, const int dim) {
    static const i16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const TrackSeen *seen = eye->seen;
    for (uint32_t i = first; i < end; i += LANES) {
        i16 valid = lane < (int32_t)(end - i);
        f16 offset[3] = {0}, normal[3] = {0}, steady = load(seen->steady + i);
        Known known = {.phi = load(seen->phi + i), .has = (steady >= 0.0f) & valid};
        known.phi = (f16)((i16)known.phi & (known.phi < 0.0f) & known.has);
        known.steady = (f16)((i16)steady & known.has);
        for (int a = 0; a < dim; a++) {
            offset[a] = load(eye->x[a] + i) * eye->scale[a] + eye->shift[a];
            offset[a] = (f16)((i16)offset[a] & valid); // what lies beyond the end may be anything
            normal[a] = (f16)((i16)(load(seen->normal[a] + i) * eye->flip[a]) & known.has);
        }
        add(sums, eye, offset, normal, &known, valid, dim);
        const float *plane = eye->plane;
        if (!plane) continue;
        f16 above = offset[0] * plane[0] + offset[1] * plane[1] + plane[3];
        f16 along = normal[0] * plane[0] + normal[1] * plane[1];
        if (dim == 3) above += offset[2] * plane[2], along += normal[2] * plane[2];
        for (int a = 0; a < dim; a++) {
            offset[a] -= 2.0f * above * plane[a];
            normal[a] -= 2.0f * along * plane[a];
        }
        add(sums, eye, offset, normal, &known, valid & (above > 0.0f), dim);
    }
}

/// Adds particles that are reflected along x.
INLINE void add_reflected(Sums *sums, const Eye *eye, uint32_t first, uint32_t end, float flip,
                          float shift, const int dim) {
    Eye mirrored = *eye;
    mirrored.scale[0] *= flip;
    mirrored.flip[0] *= flip;
    mirrored.shift[0] += shift;
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

/// Each lane i and the one half of the lanes further on, until one is left.
INLINE float fold(f16 v) {
    float lane[LANES];
    memcpy(lane, &v, sizeof lane);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

/// The direction towards the air is certain from this offset of the mean on, in cells.
static const float CERTAIN = 0.15f;
/// Planes that weigh less than this together tell nothing.
static const float LEAST = 1e-3f;

INLINE void look(Eye *eye, const float mean[3][TILE], int x, const int dim) {
    float length2 = 0;
    for (int a = 0; a < dim; a++) length2 += mean[a][x] * mean[a][x];
    float length = sqrtf(length2), beta = length < CERTAIN ? length / CERTAIN : 1;
    for (int a = 0; a < dim; a++) eye->out[a] = length > 0 ? -mean[a][x] / length * beta : 0;
    eye->rest = 1 - beta;
}

INLINE void sum_cell(const LevelSetNear *near, Eye *eye, int x, int y, int z, Sums *sums,
                     const int dim) {
    const float at[3] = {near->corner[0] + (float)x + 0.5f, near->corner[1] + (float)y + 0.5f,
                         near->corner[2] + (float)z + 0.5f};
    eye->scale[0] = near->inv_dx, eye->shift[0] = -at[0], eye->flip[0] = 1;
    eye->plane = near->planes >> x & 1 ? near->plane[x] : NULL;
    for (int a = 0; a < 3; a++) eye->x[a] = near->x[a];
    for (int k = dim == 3 ? 0 : 1; k <= (dim == 3 ? 2 : 1); k++)
        for (int j = 0; j < 3; j++) {
            const LevelSetRow *row = near->row[k][j];
            for (int a = 1; a < 3; a++) {
                eye->scale[a] = near->inv_dx * row->flip[a - 1];
                eye->flip[a] = row->flip[a - 1];
                eye->shift[a] = row->shift[a - 1] - at[a];
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
        float all = fold(sums.all), weight = fold(sums.planes);
        bool tells = weight > LEAST;
        smooth[x] = tells ? fold(sums.distance) / weight : 0;
        steady[x] = tells ? fold(sums.steady) / all : -1;
    }
}

static void planes(const LevelSetNear *near, const TrackSeen *seen, int y, int z, uint8_t cells,
                   const float mean[3][TILE], float smooth[TILE], float steady[TILE]) {
    if (near->dim == 3)
        planes_dim(near, seen, y, z, cells, mean, smooth, steady, 3);
    else
        planes_dim(near, seen, y, z, cells, mean, smooth, steady, 2);
}

// --------------------------------------------------------------------------------------- strain

/// Between the 4 values of a slice, with the change over a cell along both axes.
INLINE wide slice_slope(const float *b, wide_int at, int edge, wide fx, wide fy, wide slope[2]) {
    wide c00, c10, c01, c11;
    wide_gather_pairs(b, at, &c00, &c10);
    wide_gather_pairs(b + edge, at, &c01, &c11);
    wide low = mix(c00, c10, fx), high = mix(c01, c11, fx);
    slope[0] = mix(c10 - c00, c11 - c01, fy);
    slope[1] = high - low;
    return mix(low, high, fy);
}

/// Change of a component over a cell along each axis; 0 where the grid knows none.
INLINE void slopes(const float *b, wide_int at, int edge, const wide f[3], wide slope[3],
                   const int dim) {
    wide value = slice_slope(b, at, edge, f[0], f[1], slope);
    if (dim == 3) {
        wide next[2], above = slice_slope(b + edge * edge, at, edge, f[0], f[1], next);
        slope[0] = mix(slope[0], next[0], f[2]);
        slope[1] = mix(slope[1], next[1], f[2]);
        slope[2] = above - value;
        value = mix(value, above, f[2]);
    }
    for (int b2 = 0; b2 < dim; b2++) slope[b2] = wide_select(value == value, slope[b2], (wide){0});
}

/// The normals that change: those of a chunk that there are.
INLINE bool chunk_normals(const uint32_t *word, int n, float normal[3][CHUNK], const int dim) {
    uint32_t any = 0;
    for (int i = 0; i < n; i++) any |= word[i];
    if (!any) return false;
    for (int i = 0; i < n; i++) {
        float v[3];
        normal_unpack(word[i], dim, v);
        for (int a = 0; a < 3; a++) normal[a][i] = v[a];
    }
    for (int i = n; i % WIDE; i++)
        for (int a = 0; a < 3; a++) normal[a][i] = normal[a][0];
    return true;
}

INLINE void strain_chunk(const float at[3][CHUNK], const float *const velocity[3], int n, int edge,
                         float rate, float normal[3][CHUNK], float stretch[CHUNK], const int dim) {
    for (int i = 0; i < n; i += WIDE) {
        wide x[3] = {0}, v[3] = {0}, e = {0}, turned[3] = {0};
        for (int a = 0; a < dim; a++) {
            x[a] = wide_clamp(wide_load(at[a] + i), wide_all(0.5f), wide_all((float)edge - 1.51f));
            v[a] = wide_load(normal[a] + i);
        }
        for (int a = 0; a < dim; a++) {
            wide f[3] = {0}, slope[3];
            wide_int cell[3] = {0};
            for (int b = 0; b < dim; b++) cell[b] = split(x[b] - (a == b ? 0.0f : 0.5f), &f[b]);
            slopes(velocity[a], (cell[2] * edge + cell[1]) * edge + cell[0], edge, f, slope, dim);
            for (int b = 0; b < dim; b++) turned[b] += rate * slope[b] * v[a];
        }
        for (int b = 0; b < dim; b++) e += turned[b] * v[b];
        wide length2 = {0};
        for (int b = 0; b < dim; b++) {
            v[b] += e * v[b] - turned[b];
            length2 += v[b] * v[b];
        }
        for (int b = 0; b < dim; b++) wide_store(normal[b] + i, v[b] / wide_sqrt(length2));
        wide_store(stretch + i, wide_clamp(e, wide_all(-0.5f), wide_all(0.5f)));
    }
}

INLINE void strain_dim(const Span *p, const float *const velocity[3], int halo, float time,
                       const int dim) {
    int edge = TILE + 2 * halo;
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL];
    float at[3][CHUNK], normal[3][CHUNK], stretch[CHUNK];
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        uint32_t *word = words + first;
        float *phi = p->attr[ATTR_PHI] + first;
        if (!chunk_normals(word, n, normal, dim)) continue;
        chunk_positions(p, first, n, edge, 0, at, dim);
        strain_chunk(at, velocity, n, edge, time * p->inv_dx, normal, stretch, dim);
        for (int i = 0; i < n; i++) {
            const float v[3] = {normal[0][i], normal[1][i], dim == 3 ? normal[2][i] : 0};
            uint32_t next = (normal_pack(v, 0) & ~63u) | (word[i] & 63);
            phi[i] += word[i] ? stretch[i] * phi[i] : 0;
            word[i] = word[i] ? next : 0;
        }
    }
}

static void strain(const Span *p, const float *const velocity[3], int halo, float time) {
    p->dim == 3 ? strain_dim(p, velocity, halo, time, 3) : strain_dim(p, velocity, halo, time, 2);
}

// ---------------------------------------------------------------------------------------- renew

/// Slopes of the distance from which on a surface has no other one near it, and from which on it
/// has none of a sheet.
static const float THIN_SLOPE = 0.6f, THICK_SLOPE = 0.9f;
/// Below this slope there is no direction.
static const float FLAT = 1e-3f;

/// The surface at a chunk's particles: what the grid says.
typedef struct Told {
    float distance[CHUNK], change[CHUNK], slope[CHUNK], normal[3][CHUNK];
} Told;

INLINE void ask_grid(const float at[3][CHUNK], const TrackBlocks *blocks, int n, Told *told,
                     const int dim) {
    enum { EDGE = TILE + 2 };
    for (int i = 0; i < n; i += WIDE) {
        wide f[3] = {0}, g[3] = {0}, length2 = {0};
        wide_int cell[3] = {0};
        for (int a = 0; a < dim; a++)
            cell[a] = split(wide_max(wide_load(at[a] + i), (wide){0}), &f[a]);
        wide_int node = (cell[2] * EDGE + cell[1]) * EDGE + cell[0];
        wide_store(told->distance + i, sample_near(blocks->distance, node, EDGE, f, dim));
        wide_store(told->change + i, sample_near(blocks->change, node, EDGE, f, dim));
        for (int a = 0; a < dim; a++) {
            g[a] = sample_near(blocks->gradient[a], node, EDGE, f, dim);
            length2 += g[a] * g[a];
        }
        wide slope = wide_sqrt(length2), divisor = wide_max(slope, wide_all(FLAT));
        wide_store(told->slope + i, slope);
        for (int a = 0; a < 3; a++) wide_store(told->normal[a] + i, g[a] / divisor);
    }
}

INLINE void renew_dim(const Span *p, const TrackBlocks *blocks, const int dim) {
    uint32_t *words = (uint32_t *)(void *)p->attr[ATTR_NORMAL];
    float at[3][CHUNK], steady[CHUNK];
    Told told;
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        float *phi = p->attr[ATTR_PHI] + first;
        chunk_positions(p, first, n, TILE + 2, 0.5f, at, dim);
        ask_grid(at, blocks, n, &told, dim);
        memcpy(steady, words + first, (size_t)n * sizeof *steady);
        for (int i = 0; i < n; i++) {
            float q = told.distance[i], had = phi[i] < 0 ? phi[i] : 0, slope = told.slope[i];
            bool known = steady[i] >= 0 && fabsf(q) < 1;
            float kept = (1 - TRACK_RENEWED) * (had + told.change[i]) + TRACK_RENEWED * q;
            phi[i] = known ? kept : q;
            float g = (slope - THIN_SLOPE) * (1 / (THICK_SLOPE - THIN_SLOPE));
            g = g < 0 ? 0 : g > 1 ? 1 : g;
            const float v[3] = {told.normal[0][i], told.normal[1][i], told.normal[2][i]};
            bool points = q > -TRACK_DEPTH && slope > FLAT;
            words[first + i] = points ? normal_pack(v, g) : 0;
        }
    }
}

static void renew(const Span *p, const TrackBlocks *blocks) {
    p->dim == 3 ? renew_dim(p, blocks, 3) : renew_dim(p, blocks, 2);
}

const TrackKernels ISA(track_kernels) = {planes, strain, renew};
