// Weighing cannot go over particles (two may meet on a centre): it adds pairs of x-neighbours.
// Shifting gathers for as many particles at once as a register holds.
#include "particles/density.h"
#include "base/wide.h"

/// Particles are taken in chunks through small arrays padded to whole vectors.
enum { CHUNK = 64 };

typedef float f2 __attribute__((vector_size(8), aligned(4), may_alias));

/// Positions of a chunk in block coordinates, shifted by `off`.
static inline void chunk_positions(const Span *p, int first, int n, float off, float at[3][CHUNK],
                                   const int dim) {
    const float high = (SCATTER_EDGE - 1) * (1 - 0x1p-24f);
    for (int a = 0; a < dim; a++) {
        const float *restrict in = p->attr[ATTR_X + a] + first;
        float *restrict out = at[a], inv_dx = p->inv_dx, corner = p->corner[a] + off;
        for (int i = 0; i < n; i++) {
            float x = in[i] * inv_dx - corner;
            out[i] = x < high ? x : high; // a difference may round up to the tile's far side
        }
        for (int i = n; i % WIDE; i++) out[i] = out[0];
    }
}

static inline void weigh_dim(const Span *p, float *block, const int dim) {
    enum { ROW = SCATTER_EDGE, SLICE = ROW * ROW };
    float at[3][CHUNK];
    int32_t node[CHUNK];
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, 0.5f, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide_int index = {0};
            for (int a = dim - 1; a >= 0; a--) {
                wide x = wide_load(at[a] + i);
                wide_int cell = wide_to_int(x);
                wide_store(at[a] + i, x - wide_from_int(cell));
                index = index * ROW + cell;
            }
            memcpy(node + i, &index, sizeof index);
        }
        for (int i = 0; i < n; i++) {
            float fx = at[0][i], fy = at[1][i], fz = dim == 3 ? at[2][i] : 0;
            float *to = block + node[i];
            f2 low = {1.0f - fx, fx}, high = low * fy;
            low *= 1.0f - fy;
            if (dim == 2) {
                *(f2 *)to += low;
                *(f2 *)(to + ROW) += high;
                continue;
            }
            f2 low_up = low * fz, high_up = high * fz;
            *(f2 *)to += low - low_up;
            *(f2 *)(to + ROW) += high - high_up;
            *(f2 *)(to + SLICE) += low_up;
            *(f2 *)(to + SLICE + ROW) += high_up;
        }
    }
}

static void weigh(const Span *p, float *block) {
    p->dim == 3 ? weigh_dim(p, block, 3) : weigh_dim(p, block, 2);
}

// ---------------------------------------------------------------------------------- shifting

static inline wide mix(wide a, wide b, wide f) {
    return a + f * (b - a);
}

static inline wide sample_slice(const float *b, wide_int at, wide fx, wide fy) {
    enum { EDGE = TILE + 2 };
    wide c00, c10, c01, c11;
    wide_gather_pairs(b, at, &c00, &c10);
    wide_gather_pairs(b + EDGE, at, &c01, &c11);
    return mix(mix(c00, c10, fx), mix(c01, c11, fx), fy);
}

/// One component at points given by cells and fractions on and half a cell off the faces.
static inline wide sample(const float *b, const wide_int cell[3], const wide f[3], const int dim) {
    enum { EDGE = TILE + 2 };
    wide_int at = cell[1] * EDGE + cell[0];
    if (dim == 3) at += cell[2] * (EDGE * EDGE);
    wide value = sample_slice(b, at, f[0], f[1]);
    if (dim == 2) return value;
    return mix(value, sample_slice(b + EDGE * EDGE, at, f[0], f[1]), f[2]);
}

static inline wide length_of(const wide d[3], const int dim) {
    wide sum = d[0] * d[0] + d[1] * d[1];
    if (dim == 3) sum += d[2] * d[2];
    return wide_sqrt(sum);
}

static inline ShiftSums shift_dim(const Span *p, const float *const block[3], float scale,
                                  const float low[3], const float high[3], const int dim) {
    float at[3][CHUNK], by[3][CHUNK], length[CHUNK];
    ShiftSums sums = {0};
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide on_f[3] = {0}, off_f[3] = {0}, d[3];
            wide_int on[3] = {0}, off[3] = {0};
            for (int a = 0; a < dim; a++) {
                wide x = wide_load(at[a] + i);
                on[a] = wide_to_int(x), on_f[a] = x - wide_from_int(on[a]);
                off[a] = wide_to_int(x - 0.5f), off_f[a] = x - 0.5f - wide_from_int(off[a]);
            }
            for (int a = 0; a < dim; a++) {
                wide_int cell[3] = {off[0], off[1], off[2]};
                wide f[3] = {off_f[0], off_f[1], off_f[2]};
                cell[a] = on[a], f[a] = on_f[a];
                d[a] = scale * sample(block[a], cell, f, dim);
                wide_store(by[a] + i, d[a]);
            }
            wide_store(length + i, length_of(d, dim));
        }
        for (int i = 0; i < n; i++) {
            sums.sum += length[i];
            sums.largest = length[i] > sums.largest ? length[i] : sums.largest;
        }
        for (int a = 0; a < dim; a++) {
            float *restrict x = p->attr[ATTR_X + a] + first;
            for (int i = 0; i < n; i++) {
                float to = x[i] + by[a][i] * p->dx;
                to = to > low[a] ? to : low[a];
                x[i] = to < high[a] ? to : high[a];
            }
        }
    }
    return sums;
}

static ShiftSums shift(const Span *p, const float *const block[3], float scale, const float low[3],
                       const float high[3]) {
    return p->dim == 3 ? shift_dim(p, block, scale, low, high, 3)
                       : shift_dim(p, block, scale, low, high, 2);
}

const DensityKernels ISA(density_kernels) = {weigh, shift};
