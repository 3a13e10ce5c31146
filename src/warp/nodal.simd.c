// Cells lie side by side in the lanes of a vector. K of a cell comes from the symmetric matrices
//   S = det J  J^-1^T M J^-1
// at the Gauss points by sums along one axis after the other: each entry is a sum over points of
// S_ab times slopes that are products of functions of one coordinate.
#include "base/wide.h"
#include "warp/nodal_kernels.h"
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/// Values of the linear functions of an axis at a Gauss point: of the near and of the far side.
#define NEAR 0.78867513459481288225f
#define FAR 0.21132486540518711775f

INLINE int node_index(int x, int y, int z) {
    return ((z + 1) * NODAL_EDGE + y + 1) * NODAL_EDGE + x + 1;
}

/// Cells of two rows are one piece of work: one vector, two or four.
enum { PIECE = 2 * TILE };

/// From a value of a block on: as many cells of a piece as a vector holds.
INLINE wide load_cells(const float *from) {
#if defined(__AVX512F__)
    return __builtin_shufflevector(*(const f8 *)from, *(const f8 *)(from + NODAL_EDGE), 0, 1, 2, 3,
                                   4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    return wide_load(from);
#endif
}

/// Values at the eight corners, bit a of the index along axis a.
INLINE void load_corners(const float *block, int x, int y, int z, wide out[8]) {
    UNROLL for (int c = 0; c < 8; c++) out[c] =
        load_cells(block + node_index(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)));
}

/// Slopes along an axis at the Gauss points, by the two other coordinates: [low + 2 * high].
INLINE void point_slopes(const wide v[8], const int axis, wide out[4]) {
    const int p = axis == 0 ? 2 : 1, q = axis == 2 ? 2 : 4, step = 1 << axis;
    wide e[4], f[4];
    UNROLL for (int k = 0; k < 4; k++) {
        const int c = (k & 1) * p + (k >> 1) * q;
        e[k] = v[c + step] - v[c];
    }
    UNROLL for (int k = 0; k < 4; k += 2) {
        f[k] = NEAR * e[k] + FAR * e[k + 1];
        f[k + 1] = FAR * e[k] + NEAR * e[k + 1];
    }
    UNROLL for (int k = 0; k < 2; k++) {
        out[k] = NEAR * f[k] + FAR * f[k + 2];
        out[k + 2] = FAR * f[k] + NEAR * f[k + 2];
    }
}

/// Which of the four slopes along an axis a Gauss point has.
INLINE int slope_of(const int axis, const int point) {
    return axis == 0 ? point >> 1 : axis == 1 ? (point & 1) + 2 * (point >> 2) : point & 3;
}

// ---------------------------------------------------------------------------------- ghost fluid

static const float LEAST_COSINE = 0.01f;

INLINE wide dot(const wide a[3], const wide b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// As ghost_matrix of element.c, symmetric: xx, yy, zz, xy, xz, yz.
INLINE void ghost(const wide a[3], const wide b[3], wide_int acts, float limit, wide M[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    wide aa = dot(a, a), bb = dot(b, b), ab = dot(a, b), e[3], c[3];
    acts &= ab > LEAST_COSINE * wide_sqrt(aa * bb);
    const wide one = wide_all(1);
    ab = wide_select(acts, ab, one), bb = wide_select(acts, bb, one);
    wide length = wide_sqrt(bb), ae = ab / length;
    UNROLL for (int i = 0; i < 3; i++) e[i] = b[i] / length;
    UNROLL for (int i = 0; i < 3; i++) c[i] = a[i] - ae * e[i];
    wide cc = dot(c, c), root = wide_sqrt(aa), most = root * (root + wide_sqrt(cc)) / ab;
    wide scale = wide_select(most > limit, limit / most, one), part = 1.0f / ab;
    wide per = 1.0f / length;
    UNROLL for (int k = 0; k < 6; k++) {
        const int i = row[k], j = column[k];
        wide v = c[i] * c[j] - cc * e[i] * e[j];
        if (i == j) v += aa;
        v = scale * (v * part + (e[i] * c[j] + c[i] * e[j]) * per);
        M[k] = wide_select(acts, v, wide_all(i == j ? 1 : 0));
    }
}

// -------------------------------------------------------------------------------------- geometry

/// A row of cells at the Gauss points.
typedef struct Points {
    wide C[8][3][3]; ///< adjoint: J^-1 det J
    wide det[8];
    wide part[8];    ///< weight of the rule times the open part
    wide flux[3][8]; ///< V Gm: [axis][corner]
    wide volume;
} Points;

/// Adds s N_a N_b of the two coordinates other than `axis` at a corner: the transpose of
/// point_slopes, with its sign.
INLINE void spread(const wide at[4], const int axis, wide out[8]) {
    const int p = axis == 0 ? 2 : 1, q = axis == 2 ? 2 : 4, step = 1 << axis;
    wide f[4], g[4];
    UNROLL for (int k = 0; k < 4; k += 2) {
        f[k] = NEAR * at[k] + FAR * at[k + 1];
        f[k + 1] = FAR * at[k] + NEAR * at[k + 1];
    }
    UNROLL for (int k = 0; k < 2; k++) {
        g[k] = NEAR * f[k] + FAR * f[k + 2];
        g[k + 2] = FAR * f[k] + NEAR * f[k + 2];
    }
    UNROLL for (int k = 0; k < 4; k++) {
        const int c = (k & 1) * p + (k >> 1) * q;
        out[c] -= g[k], out[c + step] += g[k];
    }
}

INLINE void find_points(const NodalTile *t, int x, int y, int z, Points *out) {
    wide slope[3][3][4]; // [axis of xi][component][which]
    UNROLL for (int j = 0; j < 3; j++) {
        wide v[8];
        load_corners(t->d[j], x, y, z, v);
        UNROLL for (int i = 0; i < 3; i++) {
            point_slopes(v, i, slope[i][j]);
            if (i == j)
                for (int k = 0; k < 4; k++) slope[i][j][k] += 1.0f;
        }
    }
    out->volume = (wide){0};
    for (int g = 0; g < 8; g++) {
        wide J[3][3];
        UNROLL for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) J[i][j] =
            slope[i][j][slope_of(i, g)];
        UNROLL for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
            const int r = (j + 1) % 3, s = (j + 2) % 3, p = (i + 1) % 3, q = (i + 2) % 3;
            out->C[g][i][j] = J[r][p] * J[s][q] - J[r][q] * J[s][p];
        }
        out->det[g] =
            J[0][0] * out->C[g][0][0] + J[0][1] * out->C[g][1][0] + J[0][2] * out->C[g][2][0];
        out->part[g] = wide_all(0.125f);
        if (t->open[0]) out->part[g] *= load_cells(t->open[g] + node_index(x, y, z));
        out->volume += out->part[g] * out->det[g];
    }
    UNROLL for (int k = 0; k < 3; k++) {
        UNROLL for (int c = 0; c < 8; c++) out->flux[k][c] = (wide){0};
        UNROLL for (int a = 0; a < 3; a++) {
            wide at[4] = {0};
            UNROLL for (int g = 0; g < 8; g++) at[slope_of(a, g)] += out->part[g] * out->C[g][k][a];
            spread(at, a, out->flux[k]);
        }
    }
}

/// Whether the level set in a cut cell is no surface that the ghost fluid could stand for.
INLINE wide_int is_rough(const wide phi[8], const wide phi0[8]) {
    wide a[3], b[3];
    UNROLL for (int i = 0; i < 3; i++) {
        a[i] = b[i] = (wide){0};
        UNROLL for (int c = 0; c < 8; c++) {
            if (c >> i & 1)
                a[i] += phi[c], b[i] += phi0[c];
            else
                a[i] -= phi[c], b[i] -= phi0[c];
        }
    }
    return ~(dot(a, b) > (float)NODAL_LEAST_COSINE(3) * wide_sqrt(dot(a, a) * dot(b, b)));
}

/// S at the Gauss points: [pair xx yy zz xy xz yz][point], with the rule's weight.
INLINE void find_stiffness(const NodalTile *t, const Points *p, const wide phi[8],
                           const wide phi0[8], wide_int cut, const bool any_cut, wide S[6][8]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    wide a[3][4], b[3][4];
    wide_int acts = {0};
    if (any_cut) {
        if (t->surface.order == 2) acts = cut & ~is_rough(phi, phi0);
        UNROLL for (int i = 0; i < 3; i++) point_slopes(phi, i, a[i]), point_slopes(phi0, i, b[i]);
    }
    for (int g = 0; g < 8; g++) {
        const wide(*C)[3] = p->C[g], part = p->part[g] / p->det[g];
        wide M[6], MC[3][3];
        if (any_cut) {
            wide ga[3] = {0}, gb[3] = {0};
            UNROLL for (int k = 0; k < 3; k++) UNROLL for (int i = 0; i < 3; i++) {
                ga[k] += C[k][i] * a[i][slope_of(i, g)];
                gb[k] += C[k][i] * b[i][slope_of(i, g)];
            }
            // lengths do not matter, but they must not run out of range
            UNROLL for (int k = 0; k < 3; k++) ga[k] = ga[k] / p->det[g], gb[k] = gb[k] / p->det[g];
            ghost(ga, gb, acts, (float)t->surface.limit, M);
            UNROLL for (int j = 0; j < 3; j++) {
                MC[0][j] = M[0] * C[0][j] + M[3] * C[1][j] + M[4] * C[2][j];
                MC[1][j] = M[3] * C[0][j] + M[1] * C[1][j] + M[5] * C[2][j];
                MC[2][j] = M[4] * C[0][j] + M[5] * C[1][j] + M[2] * C[2][j];
            }
        }
        UNROLL for (int k = 0; k < 6; k++) {
            wide sum = {0};
            UNROLL for (int i = 0; i < 3; i++) if (any_cut) sum += C[i][row[k]] * MC[i][column[k]];
            else sum += C[i][row[k]] * C[i][column[k]];
            S[k][g] = sum * part;
        }
    }
}

// ------------------------------------------------------------------------------------- stiffness

/// Pairs of functions along an axis, 00, 01 and 11, summed over its two points.
INLINE void pairs(wide at0, wide at1, wide out[3]) {
    out[0] = (NEAR * NEAR) * at0 + (FAR * FAR) * at1;
    out[1] = (NEAR * FAR) * (at0 + at1);
    out[2] = (FAR * FAR) * at0 + (NEAR * NEAR) * at1;
}

/// Products of the functions that K is made of.
typedef struct Tensors {
    wide same[3][3][3];     ///< [axis][pair of the next axis][pair of the one after]
    wide mixed[3][2][2][3]; ///< [xy xz yz][first axis of j][second axis of i][pair of the third]
} Tensors;

INLINE void find_tensors(const wide S[6][8], Tensors *t) {
    UNROLL for (int a = 0; a < 3; a++) {
        const int p = a == 0 ? 2 : 1, q = a == 2 ? 2 : 4, step = 1 << a;
        wide half[2][3]; // [point along q][pair along p]
        UNROLL for (int k = 0; k < 2; k++) pairs(S[a][k * q] + S[a][k * q + step],
                                                 S[a][k * q + p] + S[a][k * q + p + step], half[k]);
        UNROLL for (int i = 0; i < 3; i++) pairs(half[0][i], half[1][i], t->same[a][i]);
    }
    UNROLL for (int m = 0; m < 3; m++) {
        static const int first[3] = {0, 0, 1}, second[3] = {1, 2, 2}, third[3] = {2, 1, 0};
        const int a = 1 << first[m], b = 1 << second[m], c = 1 << third[m];
        wide u[2][2][2]; // [function along a][function along b][point along c]
        UNROLL for (int k = 0; k < 2; k++) {
            wide v[2][2];
            UNROLL for (int l = 0; l < 2; l++) {
                const wide low = S[3 + m][k * c + l * b], high = S[3 + m][k * c + l * b + a];
                v[0][l] = NEAR * low + FAR * high, v[1][l] = FAR * low + NEAR * high;
            }
            UNROLL for (int i = 0; i < 2; i++) {
                u[i][0][k] = NEAR * v[i][0] + FAR * v[i][1];
                u[i][1][k] = FAR * v[i][0] + NEAR * v[i][1];
            }
        }
        UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 2; j++)
            pairs(u[i][j][0], u[i][j][1], t->mixed[m][i][j]);
    }
}

/// Which pair of functions two corners make along an axis.
#define PAIR(i, j, axis) (((i) >> (axis)&1) + ((j) >> (axis)&1))
#define SIDE(i, axis) ((i) >> (axis)&1)

/// K_ij of two different corners.
INLINE wide stiffness(const Tensors *t, const int i, const int j) {
    wide sum = {0};
    UNROLL for (int a = 0; a < 3; a++) {
        const int p = a == 0 ? 1 : 0, q = a == 2 ? 1 : 2;
        const wide v = t->same[a][PAIR(i, j, p)][PAIR(i, j, q)];
        if (SIDE(i, a) == SIDE(j, a))
            sum += v;
        else
            sum -= v;
    }
    UNROLL for (int m = 0; m < 3; m++) {
        const int a = m == 2 ? 1 : 0, b = m == 0 ? 1 : 2, c = 2 - m;
        const wide v = t->mixed[m][SIDE(j, a)][SIDE(i, b)][PAIR(i, j, c)];
        const wide w = t->mixed[m][SIDE(i, a)][SIDE(j, b)][PAIR(i, j, c)];
        if (SIDE(i, a) == SIDE(j, b))
            sum += v;
        else
            sum -= v;
        if (SIDE(j, a) == SIDE(i, b))
            sum += w;
        else
            sum -= w;
    }
    return sum;
}

/// The link along a direction, each coordinate -1 to 1.
INLINE int link_of(const int dx, const int dy, const int dz) {
    return dz > 0 ? 4 + (dx + 1) + 3 * (dy + 1) : dy > 0 ? 1 + dx + 1 : 0;
}

INLINE wide keep(wide v, wide_int mask) {
    return (wide)((wide_int)v & mask);
}

/// What the cells of a piece give to their nodes. Vectors write it, of any width; whole rows are
/// added up, in one order.
typedef struct Given {
    float link[28][PIECE];  ///< by pairs of corners
    float anchor[8][PIECE]; ///< by corners
    float volume[8][PIECE], all[8][PIECE];
    float edge[12][PIECE]; ///< [axis][edge]
    bool cut;              ///< some have a part in anchor
} Given;

INLINE void give_links(const Tensors *t, Given *out, int lane, const wide_int liquid[8],
                       wide_int on, const bool any_cut) {
    wide anchor[8] = {0};
    int pair = 0;
    UNROLL for (int i = 0; i < 8; i++) UNROLL for (int j = i + 1; j < 8; j++) {
        const wide k = -stiffness(t, i, j);
        wide_int both = on;
        if (any_cut) {
            both &= liquid[i] & liquid[j];
            anchor[i] += keep(k, liquid[i] & ~liquid[j] & on);
            anchor[j] += keep(k, liquid[j] & ~liquid[i] & on);
        }
        wide_store(out->link[pair++] + lane, keep(k, both));
    }
    UNROLL for (int i = 0; i < 8; i++) wide_store(out->anchor[i] + lane, anchor[i]);
}

/// 7-point coefficients: the mean of S_aa, shared by the cell's four edges along a.
INLINE void give_edges(const wide S[6][8], Given *out, int lane, const wide_int liquid[8],
                       wide_int on) {
    int edge = 0;
    UNROLL for (int a = 0; a < 3; a++) {
        wide sum = {0};
        UNROLL for (int g = 0; g < 8; g++) sum += S[a][g];
        sum *= 0.25f;
        UNROLL for (int c = 0; c < 8; c++) {
            if (c >> a & 1) continue;
            wide_store(out->edge[edge++] + lane, keep(sum, liquid[c] & liquid[c | 1 << a] & on));
        }
    }
}

/// Volume of the corners: det J shared by the shape functions. v: at the points
INLINE void give_volumes(wide v[8], float out[8][PIECE], int lane, wide_int on) {
    UNROLL for (int a = 0; a < 3; a++) UNROLL for (int g = 0; g < 8; g++) {
        if (g >> a & 1) continue;
        const wide low = v[g], high = v[g | 1 << a];
        v[g] = NEAR * low + FAR * high, v[g | 1 << a] = FAR * low + NEAR * high;
    }
    UNROLL for (int c = 0; c < 8; c++) wide_store(out[c] + lane, keep(v[c], on));
}

/// Keeps V Gm and V of the tile's cells, 0 in those without a liquid node.
INLINE void store_means(const NodalTile *t, const Points *p, int cell, wide_int on) {
    UNROLL for (int k = 0; k < NODAL_MEAN - 1; k++)
        wide_store(t->mean + (size_t)k * 512 + cell, keep(p->flux[k >> 3][k & 7], on));
    wide_store(t->mean + (size_t)(NODAL_MEAN - 1) * 512 + cell, keep(p->volume, on));
}

/// As many cells of a piece as a vector holds, from (x, y, z) on, which is cell `lane` of it.
INLINE void give(const NodalTile *t, Given *out, int x, int y, int z, int lane, wide_int on) {
    wide phi[8], phi0[8], S[6][8];
    wide_int liquid[8], any = {0}, all = on;
    load_corners(t->phi, x, y, z, phi);
    UNROLL for (int c = 0; c < 8; c++) {
        liquid[c] = phi[c] < 0.0f;
        any |= liquid[c], all &= liquid[c];
        phi0[c] = wide_min(phi[c], (wide){0});
    }
    on &= any;
    Points p;
    Tensors tensors;
    find_points(t, x, y, z, &p);
    const bool any_cut = wide_bits(on & ~all) != 0;
    out->cut |= any_cut;
    if (any_cut)
        find_stiffness(t, &p, phi, phi0, on & ~all, true, S);
    else
        find_stiffness(t, &p, phi, phi0, on & ~all, false, S);
    find_tensors((const wide(*)[8])S, &tensors);
    if (any_cut)
        give_links(&tensors, out, lane, liquid, on, true);
    else
        give_links(&tensors, out, lane, liquid, on, false);
    give_edges((const wide(*)[8])S, out, lane, liquid, on);
    wide v[8];
    UNROLL for (int g = 0; g < 8; g++) v[g] = p.part[g] * p.det[g];
    give_volumes(v, out->volume, lane, on);
    if (t->open[0]) {
        UNROLL for (int g = 0; g < 8; g++) v[g] = 0.125f * p.det[g];
        give_volumes(v, out->all, lane, on);
    }
    store_means(t, &p, (z * TILE + y) * TILE + x, on);
}

/// Adds a row of cells' values to those of one of their corners.
INLINE void add(float (*sum)[NODAL_NODES][NODAL_NODES], int y, int z, const int corner,
                const float *row) {
    f8 *at = (f8 *)&sum[z + (corner >> 2)][y + (corner >> 1 & 1)][corner & 1];
    *at += *(const f8 *)row;
}

/// Adds what a row of cells gives, `from` in the piece.
INLINE void add_row(const Given *g, NodalSums *s, int from, int y, int z, bool solids) {
    int pair = 0, edge = 0;
    UNROLL for (int i = 0; i < 8; i++) UNROLL for (int j = i + 1; j < 8; j++) {
        // j comes after i: by z, then y, then x
        const int dx = (j & 1) - (i & 1), dy = (j >> 1 & 1) - (i >> 1 & 1);
        add(s->at[SUM_LINK + link_of(dx, dy, (j >> 2) - (i >> 2))], y, z, i,
            g->link[pair++] + from);
    }
    UNROLL for (int a = 0; a < 3; a++) UNROLL for (int c = 0; c < 8; c++) if (!(c >> a & 1))
        add(s->at[SUM_EDGE + a], y, z, c | 1 << a, g->edge[edge++] + from);
    UNROLL for (int c = 0; c < 8; c++) add(s->at[SUM_VOLUME], y, z, c, g->volume[c] + from);
    for (int c = 0; c < 8 && g->cut; c++) add(s->at[SUM_ANCHOR], y, z, c, g->anchor[c] + from);
    for (int c = 0; c < 8 && solids; c++) add(s->at[SUM_ALL], y, z, c, g->all[c] + from);
}

/// Whether a node of a piece's cells is in the liquid.
INLINE bool is_wet(const NodalTile *t, int y, int z) {
    i8x any = {0};
    for (int k = 0; k < 6; k++) {
        const float *row = t->phi + node_index(0, y + k % 3, z + k / 3);
        any |= (*(const f8 *)row < 0.0f) | (*(const f8 *)(row + 1) < 0.0f);
    }
    int out = 0;
    for (int i = 0; i < TILE; i++) out |= any[i];
    return out != 0;
}

static void assemble(const NodalTile *t, NodalSums *s) {
    Given given;
    memset(s, 0, sizeof *s);
    for (int z = 0; z < TILE; z++)
        for (int y = 0; y < TILE; y += 2) {
            const int cells = t->cells[z][y] | t->cells[z][y + 1] << TILE;
            if (!cells || !is_wet(t, y, z)) {
                for (int k = 0; k < NODAL_MEAN; k++)
                    memset(t->mean + k * 512 + (z * TILE + y) * TILE, 0, PIECE * sizeof(float));
                continue;
            }
            given.cut = false;
            for (int lane = 0; lane < PIECE; lane += WIDE) {
                const wide_int bit = ((wide_int){0} + 1) << wide_lanes();
                give(t, &given, lane & 7, y + (lane >> 3), z, lane,
                     (((wide_int){0} + (cells >> lane)) & bit) != 0);
            }
            for (int k = 0; k < 2; k++) add_row(&given, s, k * TILE, y + k, z, t->open[0] != NULL);
        }
}

// -------------------------------------------------------------------------------------- operator

/// A row of nodes whose links end in the row at work: its own, that of the tile to its left and
/// that to its right.
typedef struct BackRow {
    const float *own, *left, *right;
} BackRow;

/// The rows from which links come to a row, in the order of the links' first: those along x, across
/// y, and across z from y + 1, y and y - 1.
enum { BACK_ROWS = 5 };

INLINE void find_back_rows(const NodalNear *near, int y, int z, BackRow rows[BACK_ROWS]) {
    static const float nothing[NODAL_LINKS * 512];
    static const int dy[BACK_ROWS] = {0, -1, 1, 0, -1}, dz[BACK_ROWS] = {0, 0, -1, -1, -1};
    UNROLL for (int k = 0; k < BACK_ROWS; k++) {
        const int by = y + dy[k], bz = z + dz[k], first = ((bz & 7) * TILE + (by & 7)) * TILE;
        const float *const *tile =
            near->at + TILE_SELF + 3 * (by >> TILE_SHIFT) + 9 * (bz >> TILE_SHIFT);
        rows[k] = (BackRow){(tile[0] ? tile[0] : nothing) + first,
                            (tile[-1] ? tile[-1] : nothing) + first,
                            (tile[1] ? tile[1] : nothing) + first};
    }
}

/// Coefficients of the nodes that have those of a row as their link k: theirs towards it.
INLINE f8 back_links(const BackRow rows[BACK_ROWS], const int k) {
    const int dx = nodal_link[k][0], dy = nodal_link[k][1];
    const BackRow *row = &rows[k == 0 ? 0 : k < 4 ? 1 : 3 + dy];
    const f8 own = *(const f8 *)(row->own + k * 512);
    if (dx == 0) return own;
    if (dx > 0)
        return __builtin_shufflevector((f8){row->left[k * 512 + 7]}, own, 0, 8, 9, 10, 11, 12, 13,
                                       14);
    return __builtin_shufflevector(own, (f8){row->right[k * 512]}, 1, 2, 3, 4, 5, 6, 7, 8);
}

static void apply(const NodalNear *links, const float *anchor, const float *x, float *y) {
    const float *here = links->at[TILE_SELF];
    for (int row = 0; row < TILE * TILE; row++) {
        const float *at = x + node_index(0, row & 7, row >> 3);
        const f8 self = *(const f8 *)at;
        f8 sum = *(const f8 *)(anchor + row * TILE) * self;
        BackRow rows[BACK_ROWS];
        find_back_rows(links, row & 7, row >> 3, rows);
        UNROLL for (int k = 0; k < NODAL_LINKS; k++) {
            const signed char *d = nodal_link[k];
            const int off = (d[2] * NODAL_EDGE + d[1]) * NODAL_EDGE + d[0];
            const f8 own = *(const f8 *)(here + k * 512 + row * TILE);
            const f8 up = *(const f8 *)(at + off), down = *(const f8 *)(at - off);
            sum += own * (self - up) + back_links(rows, k) * (self - down);
        }
        *(f8 *)(y + row * TILE) = sum;
    }
}

typedef double d8 __attribute__((vector_size(64), aligned(8), may_alias));

static void apply_double(const NodalNear *links, const float *anchor, const double *x, double *y) {
    const float *here = links->at[TILE_SELF];
    for (int row = 0; row < TILE * TILE; row++) {
        const double *at = x + node_index(0, row & 7, row >> 3);
        const d8 self = *(const d8 *)at;
        d8 sum = __builtin_convertvector(*(const f8 *)(anchor + row * TILE), d8) * self;
        BackRow rows[BACK_ROWS];
        find_back_rows(links, row & 7, row >> 3, rows);
        UNROLL for (int k = 0; k < NODAL_LINKS; k++) {
            const signed char *d = nodal_link[k];
            const int off = (d[2] * NODAL_EDGE + d[1]) * NODAL_EDGE + d[0];
            const f8 own = *(const f8 *)(here + k * 512 + row * TILE);
            const d8 up = *(const d8 *)(at + off), down = *(const d8 *)(at - off);
            sum += __builtin_convertvector(own, d8) * (self - up) +
                   __builtin_convertvector(back_links(rows, k), d8) * (self - down);
        }
        *(d8 *)(y + row * TILE) = sum;
    }
}

INLINE f8 magnitude(f8 v) {
    return (f8)((i8x)v & 0x7fffffff);
}

static void sum_rows(const NodalNear *links, const float *anchor, float *y) {
    for (int row = 0; row < TILE * TILE; row++) {
        f8 diagonal = *(const f8 *)(anchor + row * TILE), sum = {0};
        BackRow rows[BACK_ROWS];
        find_back_rows(links, row & 7, row >> 3, rows);
        UNROLL for (int k = 0; k < NODAL_LINKS; k++) {
            const f8 own = *(const f8 *)(links->at[TILE_SELF] + k * 512 + row * TILE);
            const f8 back = back_links(rows, k);
            sum += magnitude(own) + magnitude(back);
            diagonal += own + back;
        }
        *(f8 *)(y + row * TILE) = sum + magnitude(diagonal);
    }
}

// ------------------------------------------------------------------- divergence and gradient

/// What a row of cells gives to one of their corners: their flux times the velocity.
INLINE f8 row_flow(const float *m, const float *const u[3], int cell, int corner) {
    const i8x on = *(const f8 *)(m + (NODAL_MEAN - 1) * 512 + cell) != 0.0f;
    f8 sum = *(const f8 *)(m + corner * 512 + cell) * *(const f8 *)(u[0] + cell) +
             *(const f8 *)(m + (8 + corner) * 512 + cell) * *(const f8 *)(u[1] + cell) +
             *(const f8 *)(m + (16 + corner) * 512 + cell) * *(const f8 *)(u[2] + cell);
    return (f8)((i8x)sum & on); // where none is liquid the velocity may be no number
}

static void flow(const float *mean, const float *const u[3],
                 float sum[NODAL_NODES][NODAL_NODES][NODAL_NODES]) {
    memset(sum, 0, sizeof *sum * NODAL_NODES);
    for (int row = 0; row < TILE * TILE; row++) UNROLL for (int c = 0; c < 8; c++) {
            const f8 given = row_flow(mean, u, row * TILE, c);
            add(sum, row & 7, row >> 3, c, (const float *)&given);
        }
}

static void gradient(const float *mean, const float *q, float *const out[3]) {
    for (int row = 0; row < TILE * TILE; row++) {
        const int cell = row * TILE;
        const f8 volume = *(const f8 *)(mean + (NODAL_MEAN - 1) * 512 + cell);
        const i8x on = volume != 0.0f;
        const f8 part = 1.0f / (f8)(((i8x)volume & on) | ((i8x)((f8){0} + 1.0f) & ~on));
        f8 corner[8];
        for (int c = 0; c < 8; c++)
            corner[c] = *(
                const f8 *)(q + node_index(c & 1, (row & 7) + (c >> 1 & 1), (row >> 3) + (c >> 2)));
        for (int k = 0; k < 3; k++) {
            f8 sum = {0};
            for (int c = 0; c < 8; c++)
                sum += *(const f8 *)(mean + (8 * k + c) * 512 + cell) * corner[c];
            *(f8 *)(out[k] + cell) = (f8)((i8x)(sum * part) & on);
        }
    }
}

const NodalKernels ISA(nodal_kernels) = {assemble, apply, apply_double, sum_rows, flow, gradient};
