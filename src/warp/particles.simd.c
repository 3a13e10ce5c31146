// As many particles at once as a register holds. Sorted particles often lie in one coarse cell:
// then its corners are loaded once instead of gathered.
#include "warp/particles.h"
#include "grid/sample.h"
#include "particles/chunk.h"
#include <math.h>

#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

// ------------------------------------------------------------------------------------------ map

/// Where a block lies on the coarse lattice.
typedef struct Frame {
    int base[3], last[3]; ///< coarse cell of the block's corner; the last one, from there
    float part[3];        ///< of the corner in that cell
} Frame;

INLINE Frame frame_of(const WarpLattice *l, const float corner[3]) {
    Frame f = {{0}, {0}, {0}};
    for (int a = 0; a < l->dim; a++) {
        const int ratio = l->cells[a] / l->coarse[a], at = (int)corner[a];
        const int base = at >= 0 ? at / ratio : -((ratio - 1 - at) / ratio);
        f.base[a] = base, f.last[a] = l->coarse[a] - 1 - base;
        f.part[a] = (corner[a] - (float)(base * ratio)) / (float)ratio;
    }
    return f;
}

INLINE wide_int least_int(wide_int a, wide_int b) {
    wide_int less = a < b;
    return (a & less) | (b & ~less);
}

/// The corners of coarse cells that were last looked up: points that move little stay in theirs.
typedef struct Corners {
    wide c[3][8];
    wide_int node;
} Corners;

/// Coarse cells that a vector of sorted points lies in where loading one after the other takes less
/// than a gather.
enum { CELLS_FEW = 3 };

/// Displacements of a component along a line of nodes through corner n of a coarse cell.
INLINE const float *corner_line(const WarpLattice *l, int j, int n, const int dim) {
    return l->d[j] + (n >> 1 & 1) * l->stride[1] + (n >> 2) * (dim == 3 ? l->stride[2] : 0);
}

INLINE void load_corners(const WarpLattice *l, wide_int node, Corners *k, const int dim) {
    int32_t lane[WIDE];
    memcpy(lane, &node, sizeof node);
    k->node = node;
    for (int j = 0; j < dim; j++)
        for (int n = 0; n < 1 << dim; n++)
            k->c[j][n] = wide_all(corner_line(l, j, n, dim)[lane[0] + (n & 1)]);
    wide_int other = node != lane[0];
    for (int count = 1; wide_bits(other) && count < CELLS_FEW; count++) {
        const int32_t at = lane[__builtin_ctz((unsigned)wide_bits(other))];
        const wide_int here = node == at;
        for (int j = 0; j < dim; j++)
            for (int n = 0; n < 1 << dim; n++)
                k->c[j][n] = wide_select(here, wide_all(corner_line(l, j, n, dim)[at + (n & 1)]),
                                         k->c[j][n]);
        other &= ~here;
    }
    if (!wide_bits(other)) return;
    for (int j = 0; j < dim; j++)
        for (int n = 0; n < 1 << dim; n += 2)
            wide_gather_pairs(corner_line(l, j, n, dim), node, &k->c[j][n], &k->c[j][n + 1]);
}

/// The coarse cells that points of a block lie in: their first nodes; t: where in them.
INLINE wide_int locate(const WarpLattice *l, const Frame *f, const wide at[3], wide t[3],
                       const int dim) {
    wide_int node = {0};
    for (int a = 0; a < dim; a++) {
        wide u = at[a] * l->per_cell[a] + f->part[a];
        wide_int c = least_int(wide_to_int(u), (wide_int){0} + f->last[a]);
        t[a] = u - wide_from_int(c);
        node += (c + f->base[a]) * l->stride[a];
    }
    return node;
}

/// Displacement, and J where `slopes`.
INLINE void evaluate(const WarpLattice *l, const Corners *corners, const wide t[3], wide d[3],
                     wide J[3][3], const bool slopes, const int dim) {
    for (int j = 0; j < dim; j++) {
        const wide *c = corners->c[j];
        wide x0 = c[1] - c[0], x1 = c[3] - c[2];
        wide a0 = c[0] + t[0] * x0, a1 = c[2] + t[0] * x1;
        wide y0 = a1 - a0, low = a0 + t[1] * y0, gx = x0 + t[1] * (x1 - x0), gy = y0;
        d[j] = low;
        if (dim == 3) {
            wide x2 = c[5] - c[4], x3 = c[7] - c[6];
            wide a2 = c[4] + t[0] * x2, a3 = c[6] + t[0] * x3;
            wide y1 = a3 - a2, high = a2 + t[1] * y1, gx1 = x2 + t[1] * (x3 - x2);
            d[j] = low + t[2] * (high - low);
            gx = gx + t[2] * (gx1 - gx), gy = y0 + t[2] * (y1 - y0);
            if (slopes) J[2][j] = (high - low) * l->per_cell[2] + (j == 2 ? 1.0f : 0.0f);
        }
        if (!slopes) continue;
        J[0][j] = gx * l->per_cell[0] + (j == 0 ? 1.0f : 0.0f);
        J[1][j] = gy * l->per_cell[1] + (j == 1 ? 1.0f : 0.0f);
    }
}

/// The same at points of a block.
INLINE void map_at(const WarpLattice *l, const Frame *f, const wide at[3], wide d[3], wide J[3][3],
                   const bool slopes, const int dim) {
    Corners corners;
    wide t[3];
    load_corners(l, locate(l, f, at, t, dim), &corners, dim);
    evaluate(l, &corners, t, d, J, slopes, dim);
}

INLINE wide determinant(const wide J[3][3], const int dim) {
    if (dim == 2) return J[0][0] * J[1][1] - J[0][1] * J[1][0];
    return J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) -
           J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
           J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
}

INLINE void invert(const wide J[3][3], wide inverse[3][3], const int dim) {
    wide part = 1.0f / determinant(J, dim);
    if (dim == 2) {
        inverse[0][0] = J[1][1] * part, inverse[0][1] = -J[0][1] * part;
        inverse[1][0] = -J[1][0] * part, inverse[1][1] = J[0][0] * part;
        return;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int r = (j + 1) % 3, s = (j + 2) % 3, p = (i + 1) % 3, q = (i + 2) % 3;
            inverse[i][j] = (J[r][p] * J[s][q] - J[r][q] * J[s][p]) * part;
        }
}

/// out = J^-T v
INLINE void pull_back(const wide inverse[3][3], const wide v[3], wide out[3], const int dim) {
    for (int i = 0; i < dim; i++) {
        out[i] = inverse[0][i] * v[0] + inverse[1][i] * v[1];
        if (dim == 3) out[i] += inverse[2][i] * v[2];
    }
}

// ------------------------------------------------------------------------------ cell velocities

INLINE wide side_weight(wide f, int upper) {
    if (upper) return f;
    return 1.0f - f;
}

/// Mean over the cells around that are known; `other` where none is.
INLINE void sample_known(const float *const block[3], wide_int at, int edge, const wide f[3],
                         const wide other[3], wide v[3], const int dim) {
    wide sum = {0}, add[3] = {0};
    for (int n = 0; n < 1 << dim; n++) {
        const int step = ((n >> 2) * edge + (n >> 1 & 1)) * edge + (n & 1);
        wide w = wide_all(1);
        for (int a = 0; a < dim; a++) w *= side_weight(f[a], n >> a & 1);
        wide first = wide_gather(block[0] + step, at);
        wide_int known = first == first;
        sum += wide_select(known, w, (wide){0});
        for (int a = 0; a < dim; a++) {
            wide c = a == 0 ? first : wide_gather(block[a] + step, at);
            add[a] += wide_select(known, w * c, (wide){0});
        }
    }
    wide_int any = sum > 0.0f;
    for (int a = 0; a < dim; a++)
        v[a] = wide_select(any, add[a] / wide_select(any, sum, wide_all(1)), other[a]);
}

/// Velocity at points of a block; `other` where no cell around is known.
INLINE void sample_cells(const float *const block[3], int edge, const wide at[3],
                         const wide other[3], wide v[3], const int dim) {
    wide f[3] = {0};
    wide_int c[3] = {0};
    for (int a = 0; a < dim; a++) c[a] = split(at[a] - 0.5f, &f[a]);
    wide_int node = (c[2] * edge + c[1]) * edge + c[0];
    for (int a = 0; a < dim; a++) v[a] = sample(block[a], node, edge, f[0], f[1], f[2], dim);
    wide_int unknown = v[0] != v[0];
    if (!wide_bits(unknown)) return;
    wide mean[3];
    sample_known(block, node, edge, f, other, mean, dim);
    for (int a = 0; a < dim; a++) v[a] = wide_select(unknown, mean[a], v[a]);
}

// -------------------------------------------------------------------------- particles -> grid

/// Low cell and fractions of a chunk.
typedef struct Stencil {
    int32_t cell[CHUNK];
    float f[3][CHUNK];
} Stencil;

INLINE void stencil_fill(Stencil *s, const float at[3][CHUNK], int n, const int dim) {
    for (int i = 0; i < n; i += WIDE) {
        wide_int c[3] = {0};
        for (int a = 0; a < dim; a++) {
            wide f;
            c[a] = split(wide_load(at[a] + i) - 0.5f, &f);
            wide_store(s->f[a] + i, f);
        }
        wide_int cell = (c[2] * WARP_EDGE + c[1]) * WARP_EDGE + c[0];
        memcpy(s->cell + i, &cell, sizeof cell);
    }
}

/// Gives a particle's volume and momentum to the cells around it. affine: [axis] change of
/// (0, u, v, w) over a cell in space; x: where the particle is.
INLINE void scatter(float *block, int cell, f4 value, float volume, const float f[3],
                    const f4 affine[3], const float x[3], const float *const centre[3],
                    const int dim) {
    for (int n = 0; n < 1 << dim; n++) {
        const int at = cell + ((n >> 2) * WARP_EDGE + (n >> 1 & 1)) * WARP_EDGE + (n & 1);
        float w = volume * (n & 1 ? f[0] : 1.0f - f[0]) * (n & 2 ? f[1] : 1.0f - f[1]);
        if (dim == 3) w *= n & 4 ? f[2] : 1.0f - f[2];
        f4 here = value;
        if (centre)
            for (int a = 0; a < dim; a++) here += affine[a] * (centre[a][at] - x[a]);
        *(f4 *)(block + WARP_NUMBERS * at) += here * w;
    }
}

INLINE void to_block_dim(const Span *p, const WarpLattice *l, const float *const centre[3],
                         float *block, const int dim) {
    float at[3][CHUNK], where[3][CHUNK];
    Stencil s;
    Frame frame = frame_of(l, p->corner);
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, WARP_EDGE, 0, at, dim);
        stencil_fill(&s, (const float(*)[CHUNK])at, n, dim);
        for (int i = 0; centre && i < n; i += WIDE) {
            wide x[3] = {0}, d[3] = {0};
            for (int a = 0; a < dim; a++) x[a] = wide_load(at[a] + i);
            map_at(l, &frame, x, d, NULL, false, dim);
            for (int a = 0; a < dim; a++) wide_store(where[a] + i, x[a] + d[a]);
        }
        for (int i = 0; i < n; i++) {
            const int k = first + i;
            const float f[3] = {s.f[0][i], s.f[1][i], dim == 3 ? s.f[2][i] : 0};
            f4 v = {1, p->attr[ATTR_VX][k], p->attr[ATTR_VY][k],
                    dim == 3 ? p->attr[ATTR_VZ][k] : 0};
            f4 affine[3] = {0};
            float x[3] = {0};
            for (int a = 0; centre && a < dim; a++) {
                x[a] = where[a][i];
                affine[a] = (f4){0, p->attr[ATTR_AFFINE + a][k], p->attr[ATTR_AFFINE + 3 + a][k],
                                 dim == 3 ? p->attr[ATTR_AFFINE + 6 + a][k] : 0};
            }
            scatter(block, s.cell[i], v, p->attr[ATTR_VOLUME][k], f, affine, x, centre, dim);
        }
    }
}

static void to_block(const Span *p, const WarpLattice *l, const float *const centre[3],
                     float *block) {
    if (p->dim == 3)
        centre ? to_block_dim(p, l, centre, block, 3) : to_block_dim(p, l, NULL, block, 3);
    else
        centre ? to_block_dim(p, l, centre, block, 2) : to_block_dim(p, l, NULL, block, 2);
}

typedef float f2 __attribute__((vector_size(8), aligned(4), may_alias));

INLINE void volumes_dim(const Span *p, float *block, const int dim) {
    float at[3][CHUNK];
    Stencil s;
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, WARP_EDGE, 0, at, dim);
        stencil_fill(&s, (const float(*)[CHUNK])at, n, dim);
        for (int i = 0; i < n; i++) {
            const f2 along = p->attr[ATTR_VOLUME][first + i] * (f2){1.0f - s.f[0][i], s.f[0][i]};
            const float fy = s.f[1][i], fz = dim == 3 ? s.f[2][i] : 0;
            const f2 low = along * (1.0f - fy), high = along * fy;
            float *to = block + s.cell[i];
            const float near = dim == 3 ? 1.0f - fz : 1.0f;
            *(f2 *)to += low * near;
            *(f2 *)(to + WARP_EDGE) += high * near;
            if (dim == 2) continue;
            *(f2 *)(to + WARP_EDGE * WARP_EDGE) += low * fz;
            *(f2 *)(to + WARP_EDGE * WARP_EDGE + WARP_EDGE) += high * fz;
        }
    }
}

static void volumes(const Span *p, float *block) {
    p->dim == 3 ? volumes_dim(p, block, 3) : volumes_dim(p, block, 2);
}

// -------------------------------------------------------------------------- grid -> particles

/// Gradients in space of what is interpolated at points; where a cell around is unknown the first
/// component's are not numbers.
INLINE void gradients(const float *const block[3], const WarpLattice *l, const Frame *frame,
                      const wide at[3], wide C[3][3], const int dim) {
    wide f[3] = {0}, J[3][3], inverse[3][3], d[3];
    wide_int c[3] = {0};
    for (int a = 0; a < dim; a++) c[a] = split(at[a] - 0.5f, &f[a]);
    wide_int node = (c[2] * WARP_EDGE + c[1]) * WARP_EDGE + c[0];
    map_at(l, frame, at, d, J, true, dim);
    invert((const wide(*)[3])J, inverse, dim);
    for (int k = 0; k < dim; k++) {
        wide v[8], g[3] = {0};
        for (int n = 0; n < 1 << dim; n += 2)
            wide_gather_pairs(block[k] + ((n >> 2) * WARP_EDGE + (n >> 1 & 1)) * WARP_EDGE, node,
                              &v[n], &v[n + 1]);
        for (int a = 0; a < dim; a++)
            for (int n = 0; n < 1 << dim; n++) {
                wide w = v[n];
                for (int b = 0; b < dim; b++)
                    if (b != a) w *= side_weight(f[b], n >> b & 1);
                if (n >> a & 1)
                    g[a] += w;
                else
                    g[a] -= w;
            }
        for (int b = 0; b < dim; b++) {
            C[k][b] = inverse[b][0] * g[0] + inverse[b][1] * g[1];
            if (dim == 3) C[k][b] += inverse[b][2] * g[2];
        }
    }
}

INLINE void from_block_dim(const Span *p, float ratio, const float *const block[3],
                           const WarpLattice *l, const int dim) {
    float at[3][CHUNK], out[3][CHUNK], slope[3][3][CHUNK];
    Frame frame = {{0}, {0}, {0}};
    if (l) frame = frame_of(l, p->corner);
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, WARP_EDGE, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            const wide none[3] = {wide_all(NAN), wide_all(NAN), wide_all(NAN)};
            wide x[3] = {0}, v[3], C[3][3];
            for (int a = 0; a < dim; a++) x[a] = wide_load(at[a] + i);
            sample_cells(block, WARP_EDGE, x, none, v, dim);
            for (int a = 0; a < dim; a++) wide_store(out[a] + i, v[a]);
            if (!l) continue;
            gradients(block, l, &frame, x, C, dim);
            for (int a = 0; a < dim; a++)
                for (int b = 0; b < dim; b++) wide_store(slope[a][b] + i, C[a][b]);
        }
        for (int a = 0; a < dim; a++) {
            float *restrict v = p->attr[ATTR_VX + a] + first;
            for (int i = 0; i < n; i++)
                v[i] = out[a][i] == out[a][i] ? ratio * v[i] + out[a][i] : v[i];
            for (int b = 0; l && b < dim; b++) {
                float *restrict to = p->attr[ATTR_AFFINE + 3 * a + b] + first;
                for (int i = 0; i < n; i++)
                    to[i] = slope[0][0][i] == slope[0][0][i] ? slope[a][b][i] : to[i];
            }
        }
    }
}

static void from_block(const Span *p, float ratio, const float *const block[3],
                       const WarpLattice *l) {
    if (p->dim == 3)
        l ? from_block_dim(p, ratio, block, l, 3) : from_block_dim(p, ratio, block, NULL, 3);
    else
        l ? from_block_dim(p, ratio, block, l, 2) : from_block_dim(p, ratio, block, NULL, 2);
}

// ----------------------------------------------------------------------------------- advection

enum { NEWTON_MOST = 12 };
/// Single precision holds no more, cells.
static const float NEWTON_TOLERANCE = 1e-6f;
/// From here on one more step ends below that, since the map's slope changes by less than 0.1 over
/// a cell; if it stays in its coarse cell, beyond which the slope is another one.
static const float NEWTON_LAST = 4e-4f;

/// From here on the slope of this step does for the next one: it leaves less than NEWTON_TOLERANCE.
static const float NEWTON_KEEP = 0.05f;

/// Places in a box of reference space, in block coordinates.
typedef struct Box {
    float low[3], high[3];
} Box;

INLINE Box box_of(const WarpLattice *l, const float corner[3], float side) {
    Box b = {{0}, {0}};
    for (int a = 0; a < l->dim; a++)
        b.low[a] = side - corner[a], b.high[a] = (float)l->cells[a] - side - corner[a];
    return b;
}

/// The points at which the map takes the value x, from the start values in `at`. A lane that has
/// arrived stays, so that it does not matter which others it goes with.
INLINE void find_place(const WarpLattice *l, const Frame *frame, const Box *box, const wide x[3],
                       wide at[3], const int dim) {
    Corners corners;
    wide t[3], inverse[3][3] = {0};
    wide_int node = locate(l, frame, at, t, dim), done = {0}, anew = ~done;
    load_corners(l, node, &corners, dim);
    for (int k = 0; k < NEWTON_MOST; k++) {
        wide d[3], J[3][3], now[3][3], off[3] = {0}, step[3];
        wide_int open = {0}, far = {0}, near = ~open;
        if (wide_bits(anew)) {
            evaluate(l, &corners, t, d, J, true, dim);
            invert((const wide(*)[3])J, now, dim);
            for (int i = 0; i < dim; i++)
                for (int j = 0; j < dim; j++)
                    inverse[i][j] = wide_select(anew, now[i][j], inverse[i][j]);
        } else {
            evaluate(l, &corners, t, d, NULL, false, dim);
        }
        for (int a = 0; a < dim; a++) {
            off[a] = x[a] - (at[a] + d[a]);
            open |= (off[a] > NEWTON_TOLERANCE) | (off[a] < -NEWTON_TOLERANCE);
            far |= (off[a] > NEWTON_LAST) | (off[a] < -NEWTON_LAST);
            near &= (off[a] < NEWTON_KEEP) & (off[a] > -NEWTON_KEEP);
        }
        open &= ~done;
        if (!wide_bits(open)) return;
        pull_back((const wide(*)[3])inverse, off, step, dim);
        for (int a = 0; a < dim; a++)
            at[a] = wide_select(
                open, wide_clamp(at[a] + step[a], wide_all(box->low[a]), wide_all(box->high[a])),
                at[a]);
        node = locate(l, frame, at, t, dim);
        done |= ~open | (~far & (node == corners.node));
        if (!wide_bits(~done)) return;
        anew = ~(near & (node == corners.node));
        if (wide_bits(node != corners.node)) load_corners(l, node, &corners, dim);
    }
}

/// What one vector of particles does. at => its new place; returns the lanes that left the block.
INLINE wide_int move_wide(const WarpMove *m, const Frame frame[2], const Box *all, const Box *keep,
                          float scale, wide at[3], const wide own[3], const int dim) {
    const int edge = TILE + 2 * m->halo;
    const wide low = wide_all(0.5f), high = wide_all((float)edge - 0.51f);
    wide d[3], J[3][3], inverse[3][3], k[3][3], rate[3], to[3] = {0}, x[3], way[3];
    wide_int far = {0};
    map_at(&m->old, &frame[0], at, d, J, true, dim);
    invert((const wide(*)[3])J, inverse, dim);
    sample_cells(m->velocity, edge, at, own, k[0], dim);
    const bool third = m->scheme == BRIM_ADVECTION_RK3; // Ralston's
    for (int stage = 1; stage <= (third ? 2 : 1); stage++) {
        const float part = stage == 1 ? 0.5f : 0.75f;
        pull_back((const wide(*)[3])inverse, k[stage - 1], rate, dim);
        for (int a = 0; a < dim; a++) {
            to[a] = wide_clamp(at[a] + part * scale * rate[a], wide_all(all->low[a]),
                               wide_all(all->high[a]));
            far |= (to[a] < low) | (to[a] > high);
            to[a] = wide_clamp(to[a], low, high);
        }
        sample_cells(m->velocity, edge, to, own, k[stage], dim);
    }
    for (int a = 0; a < dim; a++) {
        way[a] = k[1][a];
        if (third) way[a] = (2.0f * k[0][a] + 3.0f * k[1][a] + 4.0f * k[2][a]) * (1.0f / 9.0f);
    }
    pull_back((const wide(*)[3])inverse, way, rate, dim);
    for (int a = 0; a < dim; a++) {
        x[a] = wide_clamp(at[a] + d[a] + scale * way[a], wide_all(keep->low[a]),
                          wide_all(keep->high[a]));
        at[a] =
            wide_clamp(at[a] + scale * rate[a], wide_all(keep->low[a]), wide_all(keep->high[a]));
    }
    find_place(&m->new, &frame[1], all, x, at, dim);
    for (int a = 0; a < dim; a++)
        at[a] = wide_clamp(at[a], wide_all(all->low[a] + 0.5f * m->side),
                           wide_all(all->high[a] - 0.5f * m->side));
    return far;
}

/// The values of a chunk that there are; what follows may be another tile's, or nobody's.
INLINE wide load_some(const float *from, int n) {
    if (n >= WIDE) return wide_load(from);
    wide v = {0};
    for (int i = 0; i < n; i++) v[i] = from[i];
    return v;
}

INLINE void store_some(float *to, wide v, int n) {
    if (n >= WIDE) {
        wide_store(to, v);
        return;
    }
    for (int i = 0; i < n; i++) to[i] = v[i];
}

INLINE int move_dim(const Span *p, const WarpMove *m, uint32_t *far, const int dim) {
    const Frame frame[2] = {frame_of(&m->old, p->corner), frame_of(&m->new, p->corner)};
    const Box all = box_of(&m->old, p->corner, 0), keep = box_of(&m->old, p->corner, m->side);
    float at[3][CHUNK];
    int count = 0;
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, TILE + 2 * m->halo, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide x[3] = {0}, v[3] = {0};
            for (int a = 0; a < dim; a++)
                x[a] = wide_load(at[a] + i),
                v[a] = load_some(p->attr[ATTR_VX + a] + first + i, n - i);
            const wide_int gone = move_wide(m, frame, &all, &keep, m->time * p->inv_dx, x, v, dim);
            for (uint32_t left = wide_bits(gone); left; left &= left - 1)
                if (__builtin_ctz(left) < n - i)
                    far[count++] = (uint32_t)(first + i + __builtin_ctz(left));
            for (int a = 0; a < dim; a++) {
                float *to = p->attr[ATTR_X + a] + first + i;
                const wide new = (x[a] + p->corner[a]) * p->dx;
                store_some(to, wide_select(gone, load_some(to, n - i), new), n - i);
            }
        }
    }
    return count;
}

static int move(const Span *p, const WarpMove *m, uint32_t *far) {
    return p->dim == 3 ? move_dim(p, m, far, 3) : move_dim(p, m, far, 2);
}

// ----------------------------------------------------------------------------------- statistics

/// Sums run over eight lanes on every instruction set.
enum { LANES = 8 };

typedef struct LaneSums {
    double volume[LANES], square[LANES], position[3][LANES];
    float fastest2[LANES];
} LaneSums;

/// The larger of two by lanes; what is not a number stays.
INLINE f8 larger(f8 most, f8 value) {
    const i8x lower = value <= most;
    return (f8)(((i8x)most & lower) | ((i8x)value & ~lower));
}

INLINE void add_chunk(LaneSums *s, int n, const float *volume, float square[CHUNK],
                      float x[3][CHUNK], const int dim) {
    float weight[CHUNK];
    for (int i = 0; i < n; i += LANES) *(f8 *)(weight + i) = *(const f8 *)(volume + i);
    for (int i = n; i % LANES; i++) {
        weight[i] = 0, square[i] = square[n - 1];
        for (int a = 0; a < dim; a++) x[a][i] = x[a][n - 1];
    }
    f8 volumes = {0}, squares = {0}, positions[3] = {{0}}; // of a chunk: floats are enough
    f8 fastest2 = *(const f8 *)s->fastest2;
    for (int i = 0; i < n; i += LANES) {
        const f8 w = *(const f8 *)(weight + i), v = *(const f8 *)(square + i);
        volumes += w, squares += w * v;
        for (int a = 0; a < dim; a++) positions[a] += w * *(const f8 *)(x[a] + i);
        fastest2 = larger(fastest2, v);
    }
    *(f8 *)s->fastest2 = fastest2;
    for (int k = 0; k < LANES; k++) {
        s->volume[k] += (double)volumes[k], s->square[k] += (double)squares[k];
        for (int a = 0; a < dim; a++) s->position[a][k] += (double)positions[a][k];
    }
}

INLINE void measure_dim(const Span *p, const WarpLattice *l, float *const space[3], WarpSums *sums,
                        const int dim) {
    const Frame frame = frame_of(l, p->corner);
    float at[3][CHUNK], square[CHUNK];
    LaneSums lanes = {0};
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, WARP_EDGE, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide x[3] = {0}, d[3], sum = {0};
            for (int a = 0; a < dim; a++) x[a] = wide_load(at[a] + i);
            map_at(l, &frame, x, d, NULL, false, dim);
            for (int a = 0; a < dim; a++) {
                const wide v = load_some(p->attr[ATTR_VX + a] + first + i, n - i);
                const wide place = (x[a] + d[a] + p->corner[a]) * p->dx;
                sum += v * v;
                wide_store(at[a] + i, place);
                store_some(space[a] + first + i, place, n - i);
            }
            wide_store(square + i, sum);
        }
        add_chunk(&lanes, n, p->attr[ATTR_VOLUME] + first, square, at, dim);
    }
    for (int k = 0; k < LANES; k++) {
        sums->volume += lanes.volume[k];
        sums->square += lanes.square[k];
        for (int a = 0; a < dim; a++) sums->position[a] += lanes.position[a][k];
        if (!(lanes.fastest2[k] <= sums->fastest2)) sums->fastest2 = lanes.fastest2[k];
    }
}

static void measure(const Span *p, const WarpLattice *l, float *const space[3], WarpSums *sums) {
    *sums = (WarpSums){0};
    p->dim == 3 ? measure_dim(p, l, space, sums, 3) : measure_dim(p, l, space, sums, 2);
}

INLINE float rate_dim(const Span *p, const WarpLattice *l, const int dim) {
    const Frame frame = frame_of(l, p->corner);
    float at[3][CHUNK], square[CHUNK], most = 0;
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, WARP_EDGE, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide x[3] = {0}, v[3] = {0}, d[3], J[3][3], inverse[3][3], rate[3], sum = {0};
            for (int a = 0; a < dim; a++)
                x[a] = wide_load(at[a] + i),
                v[a] = load_some(p->attr[ATTR_VX + a] + first + i, n - i);
            map_at(l, &frame, x, d, J, true, dim);
            invert((const wide(*)[3])J, inverse, dim);
            pull_back((const wide(*)[3])inverse, v, rate, dim);
            for (int a = 0; a < dim; a++) sum += rate[a] * rate[a];
            wide_store(square + i, sum);
        }
        for (int i = 0; i < n; i++)
            if (!(square[i] <= most)) most = square[i]; // no number stays
    }
    return most;
}

static float rate(const Span *p, const WarpLattice *l) {
    return p->dim == 3 ? rate_dim(p, l, 3) : rate_dim(p, l, 2);
}

INLINE void weigh_dim(const Span *p, const WarpLattice *l, float *out, const int dim) {
    const Frame frame = frame_of(l, p->corner);
    float at[3][CHUNK], det[CHUNK];
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, TILE + 2 * WARP_FAR, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide x[3] = {0}, d[3], J[3][3];
            // what has left through an open side counts as on it: there is no mesh beyond
            for (int a = 0; a < dim; a++)
                x[a] = wide_clamp(wide_load(at[a] + i), wide_all(-p->corner[a]),
                                  wide_all((float)l->cells[a] - p->corner[a]));
            map_at(l, &frame, x, d, J, true, dim);
            wide_store(det + i, determinant((const wide(*)[3])J, dim));
        }
        for (int i = 0; i < n; i++) out[first + i] = p->attr[ATTR_VOLUME][first + i] / det[i];
    }
}

static void weigh(const Span *p, const WarpLattice *l, float *out) {
    p->dim == 3 ? weigh_dim(p, l, out, 3) : weigh_dim(p, l, out, 2);
}

// --------------------------------------------------------------------------------------- points

enum {
    ROWS_MOST = TILE + 4, ///< rows of coarse nodes along y or z that a box of points meets
    ROW_ROOM = 128,
    LINES = 8 * 1024, ///< floats of such rows for one component
};

/// Places of a box's points along an axis on the coarse lattice.
typedef struct Places {
    int first, count; ///< coarse nodes
    int cell[ROW_ROOM];
    float t[ROW_ROOM];
} Places;

INLINE void find_places(const WarpLattice *l, int axis, float first, float step, int edge,
                        Places *p) {
    for (int i = 0; i < edge; i++) {
        float at = first + step * (float)i, most = (float)l->cells[axis];
        at = at < 0 ? 0 : at > most ? most : at;
        const float u = at * l->per_cell[axis];
        const int cell = (int)u < l->coarse[axis] ? (int)u : l->coarse[axis] - 1;
        p->cell[i] = cell, p->t[i] = u - (float)cell;
    }
    for (int i = edge; i % WIDE; i++) p->cell[i] = p->cell[edge - 1], p->t[i] = p->t[edge - 1];
    p->first = p->cell[0], p->count = p->cell[edge - 1] - p->cell[0] + 2;
}

/// The rows of coarse nodes that a box of points meets, interpolated along x: what is left is
/// bilinear, without gathers.
typedef struct Lines {
    float value[3][LINES], slope[3][LINES]; ///< [component][(z * rows + y) * stride + x]
    Places place[3];
    int stride;
} Lines;

INLINE void fill_lines(const WarpLattice *l, int edge, Lines *lines, const bool slopes,
                       const int dim) {
    const Places *p = lines->place;
    for (int z = 0; z < (dim == 3 ? p[2].count : 1); z++)
        for (int y = 0; y < p[1].count; y++)
            for (int j = 0; j < dim; j++) {
                const float *row = l->d[j] + (p[1].first + y) * l->stride[1] +
                                   (dim == 3 ? (p[2].first + z) * l->stride[2] : 0);
                const int to = (z * p[1].count + y) * lines->stride;
                for (int x = 0; x < edge; x += WIDE) {
                    wide_int cell;
                    wide low, rise;
                    memcpy(&cell, p[0].cell + x, sizeof cell);
                    wide_gather_pairs(row, cell, &low, &rise);
                    rise -= low;
                    wide_store(lines->value[j] + to + x, low + wide_load(p[0].t + x) * rise);
                    if (slopes) wide_store(lines->slope[j] + to + x, rise * l->per_cell[0]);
                }
            }
}

/// A row of points between four lines.
INLINE void points_row(const WarpLattice *l, const Lines *lines, const int line[4], int x, float ty,
                       float tz, wide d[3], wide J[3][3], const bool slopes, const int dim) {
    for (int j = 0; j < dim; j++) {
        const float *v = lines->value[j] + x, *g = lines->slope[j] + x;
        wide a = wide_load(v + line[0]), y0 = wide_load(v + line[1]) - a, low = a + ty * y0;
        wide gx = {0}, gy = y0, gz = {0};
        if (slopes) {
            gx = wide_load(g + line[0]);
            gx += ty * (wide_load(g + line[1]) - gx);
        }
        d[j] = low;
        if (dim == 3) {
            wide c = wide_load(v + line[2]), y1 = wide_load(v + line[3]) - c, high = c + ty * y1;
            gz = high - low, d[j] = low + tz * gz, gy = y0 + tz * (y1 - y0);
            if (slopes) {
                wide above = wide_load(g + line[2]);
                above += ty * (wide_load(g + line[3]) - above);
                gx += tz * (above - gx);
            }
        }
        if (!slopes) continue;
        J[0][j] = gx + (j == 0 ? 1.0f : 0.0f);
        J[1][j] = gy * l->per_cell[1] + (j == 1 ? 1.0f : 0.0f);
        if (dim == 3) J[2][j] = gz * l->per_cell[2] + (j == 2 ? 1.0f : 0.0f);
    }
}

INLINE void points_dim(const WarpLattice *l, const float first[3], float step, int edge,
                       float *const d[3], float *det, const bool slopes, const int dim) {
    Lines lines;
    lines.stride = (edge + 15) / 16 * 16;
    for (int a = 0; a < dim; a++) find_places(l, a, first[a], step, edge, &lines.place[a]);
    fill_lines(l, edge, &lines, slopes, dim);
    const Places *p = lines.place;
    const int last = (dim == 3 ? edge : 1) * edge * edge;
    for (int z = 0; z < (dim == 3 ? edge : 1); z++)
        for (int y = 0; y < edge; y++) {
            const int row = (z * edge + y) * edge, ly = p[1].cell[y] - p[1].first;
            const int lz = dim == 3 ? p[2].cell[z] - p[2].first : 0;
            int line[4];
            for (int k = 0; k < 4; k++)
                line[k] = ((lz + (k >> 1)) * p[1].count + ly + (k & 1)) * lines.stride;
            for (int x = 0; x < edge; x += WIDE) {
                wide off[3], J[3][3];
                points_row(l, &lines, line, x, p[1].t[y], dim == 3 ? p[2].t[z] : 0, off, J, slopes,
                           dim);
                // what goes beyond a row is written again with the next one
                const int n = last - row - x;
                for (int a = 0; d && a < dim; a++) store_some(d[a] + row + x, off[a], n);
                if (slopes) store_some(det + row + x, determinant((const wide(*)[3])J, dim), n);
            }
        }
}

static void points(const WarpLattice *l, const float first[3], float step, int edge,
                   float *const d[3], float *det) {
    if (l->dim == 3)
        det ? points_dim(l, first, step, edge, d, det, true, 3)
            : points_dim(l, first, step, edge, d, NULL, false, 3);
    else
        det ? points_dim(l, first, step, edge, d, det, true, 2)
            : points_dim(l, first, step, edge, d, NULL, false, 2);
}

const WarpKernels ISA(warp_kernels) = {to_block, volumes, from_block, move,
                                       measure,  rate,    weigh,      points};
