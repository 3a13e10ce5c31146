// Rows of four nodes along x: of one component four floats, of four components sixteen. Particles
// that reach the same nodes are taken together, whose sums then stay in registers: one after the
// other would each wait for the one before, whose rows overlap with its own. The order of sums is
// the same on every instruction set: same bits.
#include "base/wide.h"
#include "liquid/mpm_kernels.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// ---------------------------------------------------------------------------------------- groups

enum {
    CHUNK = MPM_MEANS,   ///< particles that are grouped at a time
    SIDE = MPM_EDGE - 3, ///< first nodes along an axis
    GROUPS = SIDE * SIDE * SIDE,
    ROWS = 16,  ///< of nodes that a particle reaches; 2D: 4
    SOME = 16,  ///< particles of a group that are worked on at a time
    LANES = 16, ///< of four nodes along x with four components each
};

/// Particles `first` to `first` + count by their first node, and how far beyond the second one they
/// are along each axis, in that order.
typedef struct Groups {
    int first, count;
    uint16_t key[CHUNK], order[CHUNK];
    uint16_t start[GROUPS + 1];
    float x[3][CHUNK], part[3][CHUNK];
} Groups;

/// Places along an axis, in nodes from the block's first: a spline reaches from one before it to
/// two behind it. => x, key
INLINE void find_nodes(const Span *p, int axis, int side, Groups *g) {
    for (int i = 0; i < g->count; i++) {
        const float at = span_at(p, axis, g->first + i) - 0.5f, last = (float)MPM_EDGE - 2.001f;
        const float x = at < 1 ? 1 : at < last ? at : last;
        g->x[axis][i] = x - (float)(int)x;
        g->key[i] = (uint16_t)(g->key[i] + side * ((int)x - 1));
    }
}

INLINE void find_groups(const Span *p, int first, const int dim, Groups *g) {
    const int bins = dim == 3 ? GROUPS : SIDE * SIDE;
    g->first = first, g->count = p->count - first < CHUNK ? p->count - first : CHUNK;
    memset(g->key, 0, (size_t)g->count * sizeof *g->key);
    find_nodes(p, 0, 1, g), find_nodes(p, 1, SIDE, g);
    if (dim == 3) find_nodes(p, 2, SIDE * SIDE, g);
    memset(g->start, 0, sizeof g->start);
    for (int i = 0; i < g->count; i++) g->start[g->key[i] + 1]++;
    for (int k = 0; k < bins; k++) g->start[k + 1] = (uint16_t)(g->start[k + 1] + g->start[k]);
    for (int i = 0; i < g->count; i++) {
        const int k = g->start[g->key[i]]++;
        g->order[k] = (uint16_t)i;
        for (int a = 0; a < dim; a++) g->part[a][k] = g->x[a][i];
    }
    for (int k = bins; k > 0; k--) g->start[k] = g->start[k - 1];
    g->start[0] = 0;
}

/// First node of a group in a block.
INLINE int node_of(int key) {
    return (key / (SIDE * SIDE) * MPM_EDGE + key / SIDE % SIDE) * MPM_EDGE + key % SIDE;
}

/// Weights and slopes of a particle, and how far it is beyond its second node along x.
typedef struct Stencil {
    f4 w[3], d[3];
    float x;
} Stencil;

INLINE void find_stencil(const Groups *g, int k, const int dim, Stencil *st) {
    for (int a = 0; a < dim; a++) mpm_spline(g->part[a][k], &st->w[a], &st->d[a]);
    if (dim == 2) st->w[2] = (f4){1, 0, 0, 0}, st->d[2] = (f4){0, 0, 0, 0};
    st->x = g->part[0][k];
}

/// Nodes from a group's first to a row's.
INLINE int row_at(int row) {
    return (row >> 2) * MPM_EDGE * MPM_EDGE + (row & 3) * MPM_EDGE;
}

INLINE int rows_of(const int dim) {
    return dim == 3 ? ROWS : 4;
}

INLINE float fold(f4 v) {
    return (v[0] + v[1]) + (v[2] + v[3]);
}

/// Of four nodes along x with four components each: a number for each node, one for each component.
#define EACH(a, b, c, d) \
    { a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d }
#define REPEAT(a, b, c, d) \
    { a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d }
static const float cubic[4][LANES] = {EACH(-1.0f / 6, 0.5f, -0.5f, 1.0f / 6),
                                      EACH(0.5f, -1, 0.5f, 0), EACH(-0.5f, 0, 0.5f, 0),
                                      EACH(1.0f / 6, 2.0f / 3, 1.0f / 6, 0)};
static const float unit[3][LANES] = {REPEAT(0, 1, 0, 0), REPEAT(0, 0, 1, 0), REPEAT(0, 0, 0, 1)};

/// Weights and slopes of these from lane `at` on, as in mpm_spline.
INLINE void spline_each(float f, int at, wide *weight, wide *slope) {
    const wide a = wide_load(cubic[0] + at), b = wide_load(cubic[1] + at);
    const wide c = wide_load(cubic[2] + at), d = wide_load(cubic[3] + at);
    *weight = ((a * f + b) * f + c) * f + d;
    *slope = (3 * a * f + 2 * b) * f + c;
}

// ------------------------------------------------------------------------------------------ mass

/// One component of a group: what `value` says of each particle, 1 without.
INLINE void add_values(const Groups *g, int key, float mass, const float *value, float *nodes,
                       const int dim) {
    f4 sum[ROWS];
    for (int r = 0; r < rows_of(dim); r++) sum[r] = *(f4 *)(nodes + row_at(r));
    for (int k = g->start[key]; k < g->start[key + 1]; k++) {
        Stencil st;
        find_stencil(g, k, dim, &st);
        const f4 along = st.w[0] * (value ? mass * value[g->first + g->order[k]] : mass);
        for (int z = 0; z < rows_of(dim) / 4; z++) {
            const f4 layer = along * st.w[2][z];
            for (int y = 0; y < 4; y++) sum[4 * z + y] += layer * st.w[1][y];
        }
    }
    for (int r = 0; r < rows_of(dim); r++) *(f4 *)(nodes + row_at(r)) = sum[r];
}

INLINE void add_mass(const Span *p, float mass, int parts, float *block, const int dim) {
    Groups g;
    for (int first = 0; first < p->count; first += CHUNK) {
        find_groups(p, first, dim, &g);
        for (int key = 0; key < (dim == 3 ? GROUPS : SIDE * SIDE); key++)
            for (int n = 0; n < parts && g.start[key] < g.start[key + 1]; n++)
                add_values(&g, key, mass, n ? p->attr[ATTR_VX + n - 1] : NULL,
                           block + n * MPM_BLOCK + node_of(key), dim);
    }
}

static void mass(const Span *p, float mass, int parts, float *block) {
    p->dim == 2 ? add_mass(p, mass, parts, block, 2) : add_mass(p, mass, parts, block, 3);
}

// ----------------------------------------------------------------------------------------- force

/// A component where a particle is, from its rows; of the mass: its density.
INLINE float value_at(const f4 *row, const Stencil *st, const int dim) {
    f4 sum = {0};
    for (int z = 0; z < rows_of(dim) / 4; z++) {
        f4 layer = row[4 * z] * st->w[1][0];
        for (int y = 1; y < 4; y++) layer += row[4 * z + y] * st->w[1][y];
        sum += layer * st->w[2][z];
    }
    return fold(sum * st->w[0]);
}

/// Slope of a component over a cell along each axis.
INLINE void slope_at(const float *nodes, const Stencil *st, float slope[3], const int dim) {
    f4 plain = {0}, along_y = {0}, along_z = {0};
    for (int r = 0; r < rows_of(dim); r++) {
        const f4 row = *(const f4 *)(nodes + row_at(r));
        const int y = r & 3, z = r >> 2;
        plain += row * (st->w[1][y] * st->w[2][z]);
        along_y += row * (st->d[1][y] * st->w[2][z]);
        along_z += row * (st->w[1][y] * st->d[2][z]);
    }
    slope[0] = fold(plain * st->d[0]);
    slope[1] = fold(along_y * st->w[0]), slope[2] = fold(along_z * st->w[0]);
}

/// A pressure of a particle pushes along the slopes of its weights. Lanes from `at` on => sum
INLINE void add_pressure(const Stencil *st, float pressure, int at, wide *sum, const int dim) {
    const wide x = wide_load(unit[0] + at), y = wide_load(unit[1] + at);
    const wide z = wide_load(unit[2] + at);
    wide weight, slope, layer[4];
    spline_each(st->x, at, &weight, &slope);
    const wide along = slope * x + weight * (y + z);
    for (int k = 0; k < 4; k++) layer[k] = along * (st->w[1][k] * (x + z) + st->d[1][k] * y);
    for (int k = 0; k < rows_of(dim) / 4; k++) {
        const wide up = st->w[2][k] * pressure * (x + y) + st->d[2][k] * pressure * z;
        for (int n = 0; n < 4; n++) sum[4 * k + n] += layer[n] * up;
    }
}

/// A stress.
INLINE void add_stress(const Stencil *st, float T[3][3], int at, wide *sum, const int dim) {
    const wide x = wide_load(unit[0] + at), y = wide_load(unit[1] + at);
    const wide z = wide_load(unit[2] + at);
    wide weight, slope, column[3];
    spline_each(st->x, at, &weight, &slope);
    for (int b = 0; b < 3; b++)
        column[b] = (T[0][b] * x + T[1][b] * y + T[2][b] * z) * (b ? weight : slope);
    for (int k = 0; k < rows_of(dim) / 4; k++) {
        const wide same = column[0] * st->w[2][k] + column[2] * st->d[2][k];
        const wide other = column[1] * st->w[2][k];
        for (int n = 0; n < 4; n++) sum[4 * k + n] += same * st->w[1][n] + other * st->d[1][n];
    }
}

/// Stress of a particle; without friction its pressure alone, T[0][0].
INLINE void find_stress(const MpmStress *s, const f4 *row, const float *nodes, const Stencil *st,
                        float inv_dx, float T[3][3], const bool viscous, const int dim) {
    const float density = value_at(row, st, dim);
    const float pressure = density > 1 ? s->sound2 * (density - 1) : 0;
    const float volume = 1 / (s->per_cell * (density > 0.1f ? density : 0.1f));
    float G[3][3] = {{0}};
    T[0][0] = volume * pressure;
    for (int a = 0; viscous && a < dim; a++) slope_at(nodes + (a + 1) * MPM_BLOCK, st, G[a], dim);
    for (int a = 0; viscous && a < 3; a++)
        for (int b = 0; b < 3; b++)
            T[a][b] =
                volume * ((a == b ? pressure : 0) - s->friction * (inv_dx * (G[a][b] + G[b][a])));
}

/// Some particles of a group, from k on.
INLINE void add_forces(const Groups *g, int k, int n, const MpmStress *s, float inv_dx,
                       const float *nodes, float *force, const bool viscous, const int dim) {
    Stencil st[SOME];
    float T[SOME][3][3];
    f4 row[ROWS];
    for (int r = 0; r < rows_of(dim); r++) row[r] = *(const f4 *)(nodes + row_at(r));
    for (int i = 0; i < n; i++) {
        find_stencil(g, k + i, dim, &st[i]);
        find_stress(s, row, nodes, &st[i], inv_dx, T[i], viscous, dim);
    }
    for (int at = 0; at < LANES; at += WIDE) {
        wide sum[ROWS];
        for (int r = 0; r < rows_of(dim); r++) sum[r] = wide_load(force + 4 * row_at(r) + at);
        for (int i = 0; i < n; i++)
            if (viscous)
                add_stress(&st[i], T[i], at, sum, dim);
            else if (T[i][0][0] > 0)
                add_pressure(&st[i], T[i][0][0], at, sum, dim);
        for (int r = 0; r < rows_of(dim); r++) wide_store(force + 4 * row_at(r) + at, sum[r]);
    }
}

INLINE void add_force(const Span *p, const MpmStress *s, const float *nodes, float *force,
                      const bool viscous, const int dim) {
    Groups g;
    for (int first = 0; first < p->count; first += CHUNK) {
        find_groups(p, first, dim, &g);
        for (int key = 0; key < (dim == 3 ? GROUPS : SIDE * SIDE); key++)
            for (int k = g.start[key], end = g.start[key + 1]; k < end; k += SOME)
                add_forces(&g, k, end - k < SOME ? end - k : SOME, s, p->inv_dx,
                           nodes + node_of(key), force + 4 * node_of(key), viscous, dim);
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
INLINE void find_means(const Groups *g, int k, int n, const float *nodes, float (*out)[4],
                       const int dim) {
    Stencil st[SOME];
    float parts[SOME][LANES];
    for (int i = 0; i < n; i++) find_stencil(g, k + i, dim, &st[i]);
    for (int at = 0; at < LANES; at += WIDE) {
        wide row[ROWS];
        for (int r = 0; r < rows_of(dim); r++) row[r] = wide_load(nodes + 4 * row_at(r) + at);
        for (int i = 0; i < n; i++) {
            wide sum = {0}, weight, slope;
            for (int z = 0; z < rows_of(dim) / 4; z++) {
                wide layer = row[4 * z] * st[i].w[1][0];
                for (int y = 1; y < 4; y++) layer += row[4 * z + y] * st[i].w[1][y];
                sum += layer * st[i].w[2][z];
            }
            spline_each(st[i].x, at, &weight, &slope);
            wide_store(parts[i] + at, sum * weight);
        }
    }
    for (int i = 0; i < n; i++) {
        const f4 *part = (const f4 *)parts[i];
        *(f4 *)out[g->order[k + i]] = (part[0] + part[1]) + (part[2] + part[3]);
    }
}

INLINE void mean_of(const Span *p, const float *nodes, int first, float (*out)[4], const int dim) {
    Groups g;
    find_groups(p, first, dim, &g);
    for (int key = 0; key < (dim == 3 ? GROUPS : SIDE * SIDE); key++)
        for (int k = g.start[key], end = g.start[key + 1]; k < end; k += SOME)
            find_means(&g, k, end - k < SOME ? end - k : SOME, nodes + 4 * node_of(key), out, dim);
}

static void mean(const Span *p, const float *nodes, int first, float (*out)[4]) {
    p->dim == 2 ? mean_of(p, nodes, first, out, 2) : mean_of(p, nodes, first, out, 3);
}

const MpmKernels ISA(mpm_kernels) = {mass, force, mean};
