// Layers of four by four nodes: sixteen floats; or rows of four nodes with four components each.
// Particles that reach the same nodes are taken together, whose sums then stay in registers: one
// after the other would each wait for the one before, whose rows overlap with its own. The order of
// sums is the same on every instruction set: same bits.
#include "base/lanes.h"
#include "base/wide.h"
#include "grid/sample.h"
#include "liquid/mpm_kernels.h"
#include <string.h>

// ---------------------------------------------------------------------------------------- groups

enum {
    CHUNK = MPM_MEANS,   ///< particles that are grouped at a time
    SIDE = MPM_EDGE - 3, ///< first nodes along an axis
    GROUPS = SIDE * SIDE * SIDE,
    ROWS = 16, ///< of nodes that a particle reaches; 2D: 4
    SOME = 16, ///< particles of a group that are worked on at a time
};

/// Particles `first` to `first` + count by their first node, and how far beyond the second one they
/// are along each axis, in that order.
typedef struct Groups {
    int first, count;
    int32_t key[CHUNK];
    uint16_t order[CHUNK];
    uint16_t start[GROUPS + 1];
    float x[3][CHUNK], part[CHUNK][4];
} Groups;

/// Places along an axis, in nodes from the block's first: a spline reaches from one before it to
/// two behind it. => x, key
INLINE void find_nodes(const Span *p, int axis, int side, Groups *g) {
    const float *from = p->attr[ATTR_X + axis] + g->first;
    const float last = (float)MPM_EDGE - 2.001f;
    for (int i = 0; i < g->count; i += WIDE) {
        // what lies beyond is of another tile, whose task may move it now
        const wide_int valid = wide_lanes() < g->count - i;
        const wide x = wide_load_some(from + i, valid) * p->space.inv_dx - p->corner[axis] - 0.5f;
        wide part;
        wide_int key = split(wide_clamp(x, wide_all(1), wide_all(last)), &part), had = {0};
        if (axis > 0) memcpy(&had, g->key + i, sizeof had);
        key = had + side * (key - 1);
        wide_store(g->x[axis] + i, part);
        memcpy(g->key + i, &key, sizeof key);
    }
}

INLINE void find_groups(const Span *p, int first, const int dim, Groups *g) {
    const int bins = dim == 3 ? GROUPS : SIDE * SIDE;
    g->first = first, g->count = p->count - first < CHUNK ? p->count - first : CHUNK;
    find_nodes(p, 0, 1, g), find_nodes(p, 1, SIDE, g);
    if (dim == 3) find_nodes(p, 2, SIDE * SIDE, g);
    memset(g->start, 0, sizeof g->start);
    for (int i = 0; i < g->count; i++) g->start[g->key[i] + 1]++;
    for (int k = 0; k < bins; k++) g->start[k + 1] = (uint16_t)(g->start[k + 1] + g->start[k]);
    for (int i = 0; i < g->count; i++) {
        const int k = g->start[g->key[i]]++;
        g->order[k] = (uint16_t)i;
        *(f4 *)g->part[k] = (f4){g->x[0][i], g->x[1][i], dim == 3 ? g->x[2][i] : 0, 0};
    }
    for (int k = bins; k > 0; k--) g->start[k] = g->start[k - 1];
    g->start[0] = 0;
}

/// First node of a group in a block.
INLINE int node_of(int key) {
    return (key / (SIDE * SIDE) * MPM_EDGE + key / SIDE % SIDE) * MPM_EDGE + key % SIDE;
}

// --------------------------------------------------------------------------------------- layers
// Sixteen lanes are a layer of four by four nodes along x and y; a register holds those from `at`
// on.

/// Four numbers along x.
INLINE wide repeat(const float x[4]) {
#if defined(__AVX512F__)
    return (wide)_mm512_broadcast_f32x4(_mm_loadu_ps(x));
#elif defined(__AVX2__)
    return (wide)_mm256_broadcast_ps((const __m128 *)(const void *)x);
#else
    return wide_load(x);
#endif
}

/// Four numbers along y.
INLINE wide each(const float y[4], int at) {
#if defined(__AVX512F__)
    const __m512i row = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return (wide)_mm512_permutexvar_ps(row, _mm512_castps128_ps512(_mm_loadu_ps(y)));
#elif defined(__AVX2__)
    const __m256 low = _mm256_castps128_ps256(_mm_set1_ps(y[at / 4]));
    return (wide)_mm256_insertf128_ps(low, _mm_set1_ps(y[at / 4 + 1]), 1);
#else
    return wide_all(y[at / 4]);
#endif
}

/// Rows of a block as lanes.
INLINE wide rows_load(const float *nodes, int at) {
#if defined(__AVX512F__)
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(nodes));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(nodes + MPM_EDGE), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(nodes + 2 * MPM_EDGE), 2);
    return (wide)_mm512_insertf32x4(v, _mm_loadu_ps(nodes + 3 * MPM_EDGE), 3);
#elif defined(__AVX2__)
    nodes += at / 4 * MPM_EDGE;
    const __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(nodes));
    return (wide)_mm256_insertf128_ps(low, _mm_loadu_ps(nodes + MPM_EDGE), 1);
#else
    return wide_load(nodes + at / 4 * MPM_EDGE);
#endif
}
INLINE void rows_store(float *nodes, int at, wide v) {
#if defined(__AVX512F__)
    _mm_storeu_ps(nodes, _mm512_castps512_ps128((__m512)v));
    _mm_storeu_ps(nodes + MPM_EDGE, _mm512_extractf32x4_ps((__m512)v, 1));
    _mm_storeu_ps(nodes + 2 * MPM_EDGE, _mm512_extractf32x4_ps((__m512)v, 2));
    _mm_storeu_ps(nodes + 3 * MPM_EDGE, _mm512_extractf32x4_ps((__m512)v, 3));
#elif defined(__AVX2__)
    nodes += at / 4 * MPM_EDGE;
    _mm_storeu_ps(nodes, _mm256_castps256_ps128((__m256)v));
    _mm_storeu_ps(nodes + MPM_EDGE, _mm256_extractf128_ps((__m256)v, 1));
#else
    wide_store(nodes + at / 4 * MPM_EDGE, v);
#endif
}

/// A layer of a block.
enum { LAYER = MPM_EDGE * MPM_EDGE };

// -------------------------------------------------------------------------------------- weights

/// Weights of a particle along x, y and z, four nodes each, and their slopes.
typedef struct Stencil {
    float w[LANES], d[LANES];
} Stencil;

/// Of four nodes along each axis, and of four along x with four components each.
#define EACH(a, b, c, d) \
    { a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d }
#define REPEAT(a, b, c, d) \
    { a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d }
static const float axes[4][LANES] = {REPEAT(-1.0f / 6, 0.5f, -0.5f, 1.0f / 6),
                                     REPEAT(0.5f, -1, 0.5f, 0), REPEAT(-0.5f, 0, 0.5f, 0),
                                     REPEAT(1.0f / 6, 2.0f / 3, 1.0f / 6, 0)};
static const float along_x[4][LANES] = {EACH(-1.0f / 6, 0.5f, -0.5f, 1.0f / 6),
                                        EACH(0.5f, -1, 0.5f, 0), EACH(-0.5f, 0, 0.5f, 0),
                                        EACH(1.0f / 6, 2.0f / 3, 1.0f / 6, 0)};

/// The polynomials of mpm_spline in lanes from `at` on.
INLINE void spline_lanes(const float cubic[4][LANES], wide f, int at, wide *weight, wide *slope) {
    const wide a = wide_load(cubic[0] + at), b = wide_load(cubic[1] + at);
    const wide c = wide_load(cubic[2] + at), d = wide_load(cubic[3] + at);
    *weight = ((a * f + b) * f + c) * f + d;
    *slope = (3 * a * f + 2 * b) * f + c;
}

/// Of n particles of a group, from k on.
INLINE void find_stencils(const Groups *g, int k, int n, Stencil st[SOME], const int dim) {
    for (int i = 0; i < n; i++) {
        for (int at = 0; at < LANES; at += WIDE) {
            wide weight, slope;
            spline_lanes(axes, each(g->part[k + i], at), at, &weight, &slope);
            wide_store(st[i].w + at, weight), wide_store(st[i].d + at, slope);
        }
        if (dim == 2)
            *(f4 *)(st[i].w + 8) = (f4){1, 0, 0, 0}, *(f4 *)(st[i].d + 8) = (f4){0, 0, 0, 0};
    }
}

/// Products of weights along x and y.
INLINE void find_layer(const float *x, const float *y, float layer[LANES]) {
    for (int at = 0; at < LANES; at += WIDE) wide_store(layer + at, repeat(x) * each(y, at));
}

/// Nodes from a group's first to a row's.
INLINE int row_at(int row) {
    return (row >> 2) * MPM_EDGE * MPM_EDGE + (row & 3) * MPM_EDGE;
}

INLINE int rows_of(const int dim) {
    return dim == 3 ? ROWS : 4;
}
INLINE int layers_of(const int dim) {
    return dim == 3 ? 4 : 1;
}

// ------------------------------------------------------------------------------------------ mass

/// Some particles of a group, from k on.
INLINE void add_some(const Span *p, const Groups *g, int k, int n, float mass, int parts,
                     float *block, const int dim) {
    Stencil st[SOME];
    float layer[SOME][LANES];
    find_stencils(g, k, n, st, dim);
    for (int i = 0; i < n; i++) find_layer(st[i].w, st[i].w + 4, layer[i]);
    for (int part = 0; part < parts; part++) {
        const float *value = part ? p->attr[ATTR_VX + part - 1] + g->first : NULL;
        float amount[SOME];
        for (int i = 0; i < n; i++) amount[i] = value ? mass * value[g->order[k + i]] : mass;
        for (int at = 0; at < LANES; at += WIDE) {
            float *nodes = block + part * MPM_BLOCK;
            wide sum[4];
            for (int z = 0; z < layers_of(dim); z++) sum[z] = rows_load(nodes + z * LAYER, at);
            for (int i = 0; i < n; i++) {
                const wide much = wide_load(layer[i] + at) * amount[i];
                for (int z = 0; z < layers_of(dim); z++) sum[z] += much * st[i].w[8 + z];
            }
            for (int z = 0; z < layers_of(dim); z++) rows_store(nodes + z * LAYER, at, sum[z]);
        }
    }
}

INLINE void add_mass(const Span *p, float mass, int parts, float *block, const int dim) {
    Groups g;
    for (int first = 0; first < p->count; first += CHUNK) {
        find_groups(p, first, dim, &g);
        for (int key = 0; key < (dim == 3 ? GROUPS : SIDE * SIDE); key++)
            for (int k = g.start[key], end = g.start[key + 1]; k < end; k += SOME)
                add_some(p, &g, k, end - k < SOME ? end - k : SOME, mass, parts,
                         block + node_of(key), dim);
    }
}

static void mass(const Span *p, float mass, int parts, float *block) {
    p->dim == 2 ? add_mass(p, mass, parts, block, 2) : add_mass(p, mass, parts, block, 3);
}

// ----------------------------------------------------------------------------------------- force

/// Some particles: weights, and layers by weights, by slopes along x and by slopes along y.
typedef struct Some {
    Stencil st[SOME];
    float layer[SOME][LANES], slope_x[SOME][LANES], slope_y[SOME][LANES];
} Some;

INLINE void find_some(const Groups *g, int k, int n, Some *some, const int dim) {
    find_stencils(g, k, n, some->st, dim);
    for (int i = 0; i < n; i++) {
        const Stencil *st = &some->st[i];
        find_layer(st->w, st->w + 4, some->layer[i]);
        find_layer(st->d, st->w + 4, some->slope_x[i]);
        find_layer(st->w, st->d + 4, some->slope_y[i]);
    }
}

/// A component of a group's nodes, a layer after the other.
typedef Lanes Layers[4];

INLINE void layers_load(const float *nodes, Layers out, const int dim) {
    for (int z = 0; z < layers_of(dim); z++)
        for (int part = 0; part < LANE_PARTS; part++)
            out[z][part] = rows_load(nodes + z * LAYER, part * WIDE);
}

/// Sum by weights along z and of a layer.
INLINE float sum_layers(const Layers nodes, const float *z, const float *layer, const int dim) {
    Lanes sum;
    for (int part = 0; part < LANE_PARTS; part++) {
        sum[part] = nodes[0][part] * z[0];
        for (int k = 1; k < layers_of(dim); k++) sum[part] += nodes[k][part] * z[k];
        sum[part] *= wide_load(layer + part * WIDE);
    }
    return lanes_fold(sum);
}

/// => density, and of those the volumes and pressures of particles.
INLINE void find_pressures(const MpmStress *s, const float *nodes, const Some *some, int n,
                           float volume[SOME], float pressure[SOME], const int dim) {
    Layers mass;
    float density[SOME] = {0};
    layers_load(nodes, mass, dim);
    for (int i = 0; i < n; i++)
        density[i] = sum_layers(mass, some->st[i].w + 8, some->layer[i], dim);
    for (int i = 0; i < SOME; i += WIDE) {
        const wide d = wide_load(density + i);
        wide_store(volume + i, 1.0f / (s->per_cell * wide_max(d, wide_all(0.1f))));
        wide_store(pressure + i, s->sound2 * wide_max(d - 1.0f, (wide){0}));
    }
}

/// Stresses, times volumes. nodes: mass, velocity
INLINE void find_stresses(const MpmStress *s, const float *nodes, const Some *some, int n,
                          float inv_dx, const float volume[SOME], const float pressure[SOME],
                          float T[SOME][3][3], const int dim) {
    float G[SOME][3][3] = {{{0}}};
    for (int a = 0; a < dim; a++) {
        Layers velocity;
        layers_load(nodes + (a + 1) * MPM_BLOCK, velocity, dim);
        for (int i = 0; i < n; i++) {
            const float *w = some->st[i].w + 8;
            G[i][a][0] = sum_layers(velocity, w, some->slope_x[i], dim);
            G[i][a][1] = sum_layers(velocity, w, some->slope_y[i], dim);
            if (dim == 3) G[i][a][2] = sum_layers(velocity, some->st[i].d + 8, some->layer[i], dim);
        }
    }
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                T[i][a][b] = volume[i] * ((a == b ? pressure[i] : 0) -
                                          s->friction * (inv_dx * (G[i][a][b] + G[i][b][a])));
}

/// Pressures push along the slopes of weights. push: times volumes; which [n]: particles
INLINE void add_pressures(const Some *some, const float push[SOME], const int *which, int n,
                          float *force, const int dim) {
    for (int at = 0; at < LANES; at += WIDE)
        for (int z = 0; z < layers_of(dim); z++) {
            wide to[3];
            for (int a = 0; a < dim; a++)
                to[a] = rows_load(force + (a + 1) * MPM_BLOCK + z * LAYER, at);
            for (int k = 0; k < n; k++) {
                const int i = which[k];
                const float w = push[i] * some->st[i].w[8 + z];
                to[0] += wide_load(some->slope_x[i] + at) * w;
                to[1] += wide_load(some->slope_y[i] + at) * w;
                if (dim == 3)
                    to[2] += wide_load(some->layer[i] + at) * (push[i] * some->st[i].d[8 + z]);
            }
            for (int a = 0; a < dim; a++)
                rows_store(force + (a + 1) * MPM_BLOCK + z * LAYER, at, to[a]);
        }
}

/// Stresses.
INLINE void add_stresses(const Some *some, const float T[SOME][3][3], int n, float *force,
                         const int dim) {
    for (int at = 0; at < LANES; at += WIDE)
        for (int z = 0; z < layers_of(dim); z++)
            for (int a = 0; a < dim; a++) {
                float *nodes = force + (a + 1) * MPM_BLOCK + z * LAYER;
                wide to = rows_load(nodes, at);
                for (int i = 0; i < n; i++) {
                    const float w = some->st[i].w[8 + z], d = some->st[i].d[8 + z];
                    to += wide_load(some->slope_x[i] + at) * (T[i][a][0] * w);
                    to += wide_load(some->slope_y[i] + at) * (T[i][a][1] * w);
                    if (dim == 3) to += wide_load(some->layer[i] + at) * (T[i][a][2] * d);
                }
                rows_store(nodes, at, to);
            }
}

/// Some particles of a group, from k on.
INLINE void add_forces(const Groups *g, int k, int n, const MpmStress *s, float inv_dx,
                       const float *nodes, float *force, const bool viscous, const int dim) {
    Some some;
    float volume[SOME], pressure[SOME], T[SOME][3][3];
    int which[SOME], count = 0;
    find_some(g, k, n, &some, dim);
    find_pressures(s, nodes, &some, n, volume, pressure, dim);
    if (viscous) {
        find_stresses(s, nodes, &some, n, inv_dx, volume, pressure, T, dim);
        add_stresses(&some, (const float(*)[3][3])T, n, force, dim);
        return;
    }
    for (int i = 0; i < n; i++) {
        which[count] = i, count += pressure[i] > 0;
        pressure[i] *= volume[i];
    }
    if (count) add_pressures(&some, pressure, which, count, force, dim);
}

INLINE void add_force(const Span *p, const MpmStress *s, const float *nodes, float *force,
                      const bool viscous, const int dim) {
    Groups g;
    for (int first = 0; first < p->count; first += CHUNK) {
        find_groups(p, first, dim, &g);
        for (int key = 0; key < (dim == 3 ? GROUPS : SIDE * SIDE); key++)
            for (int k = g.start[key], end = g.start[key + 1]; k < end; k += SOME)
                add_forces(&g, k, end - k < SOME ? end - k : SOME, s, p->inv_dx,
                           nodes + node_of(key), force + node_of(key), viscous, dim);
    }
}

static void force(const Span *p, const MpmStress *s, const float *nodes, float *force) {
    if (p->dim == 2)
        s->parts > 1 ? add_force(p, s, nodes, force, true, 2)
                     : add_force(p, s, nodes, force, false, 2);
    else
        s->parts > 1 ? add_force(p, s, nodes, force, true, 3)
                     : add_force(p, s, nodes, force, false, 3);
}

// ------------------------------------------------------------------------------------------ mean

/// Some particles of a group, from k on.
INLINE void find_means(const Groups *g, int k, int n, const float *nodes, float (*out)[MPM_MEANS],
                       const int dim) {
    Stencil st[SOME];
    float parts[SOME][LANES];
    find_stencils(g, k, n, st, dim);
    for (int at = 0; at < LANES; at += WIDE) {
        wide row[ROWS];
        for (int r = 0; r < rows_of(dim); r++) row[r] = wide_load(nodes + 4 * row_at(r) + at);
        for (int i = 0; i < n; i++) {
            wide sum = {0}, weight, slope;
            for (int z = 0; z < rows_of(dim) / 4; z++) {
                wide layer = row[4 * z] * st[i].w[4];
                for (int y = 1; y < 4; y++) layer += row[4 * z + y] * st[i].w[4 + y];
                sum += layer * st[i].w[8 + z];
            }
            spline_lanes(along_x, wide_all(g->part[k + i][0]), at, &weight, &slope);
            wide_store(parts[i] + at, sum * weight);
        }
    }
    for (int i = 0; i < n; i++) {
        const f4 *part = (const f4 *)parts[i];
        const f4 sum = (part[0] + part[1]) + (part[2] + part[3]);
        for (int a = 0; a < dim; a++) out[a][g->order[k + i]] = sum[a + 1];
    }
}

INLINE void mean_of(const Span *p, const float *nodes, int first, float (*out)[MPM_MEANS],
                    const int dim) {
    Groups g;
    find_groups(p, first, dim, &g);
    for (int key = 0; key < (dim == 3 ? GROUPS : SIDE * SIDE); key++)
        for (int k = g.start[key], end = g.start[key + 1]; k < end; k += SOME)
            find_means(&g, k, end - k < SOME ? end - k : SOME, nodes + 4 * node_of(key), out, dim);
}

static void mean(const Span *p, const float *nodes, int first, float (*out)[MPM_MEANS]) {
    p->dim == 2 ? mean_of(p, nodes, first, out, 2) : mean_of(p, nodes, first, out, 3);
}

const MpmKernels ISA(mpm_kernels) = {mass, force, mean};
