// Linear interpolation in blocks, for as many points at once as a register holds; for .simd.c
// files.
#pragma once
#include "base/wide.h"

/// Cell and fraction of coordinates >= 0 in cells.
static inline wide_int split(wide at, wide *fraction) {
    wide_int cell = wide_to_int(at);
    *fraction = at - wide_from_int(cell);
    return cell;
}

/// The same with the cell as a number: cheaper than integers where indices are computed.
static inline wide whole(wide at, wide *fraction) {
    wide cell = wide_from_int(wide_to_int(at));
    *fraction = at - cell;
    return cell;
}

static inline wide mix(wide a, wide b, wide f) {
    return a + f * (b - a);
}

/// Between the 4 values of the slice from index `at` of a block with this edge.
static inline wide sample_slice(const float *b, wide_int at, int edge, wide fx, wide fy) {
    wide c00, c10, c01, c11;
    wide_gather_pairs(b, at, &c00, &c10);
    wide_gather_pairs(b + edge, at, &c01, &c11);
    return mix(mix(c00, c10, fx), mix(c01, c11, fx), fy);
}

static inline wide sample(const float *b, wide_int at, int edge, wide fx, wide fy, wide fz,
                          const int dim) {
    wide value = sample_slice(b, at, edge, fx, fy);
    if (dim == 2) return value;
    return mix(value, sample_slice(b + edge * edge, at, edge, fx, fy), fz);
}

/// The values around points, bit b of their index steps along axis b.
static inline void corner_values(const float *b, wide_int at, int edge, wide c[8], const int dim) {
    const bool runs = wide_in_runs(at);
    for (int n = 0; n < (dim == 3 ? 8 : 4); n += 2) {
        const float *first = b + ((n >> 2) * edge + (n >> 1 & 1)) * edge;
        if (runs)
            c[n] = wide_load_runs(first, at), c[n + 1] = wide_load_runs(first + 1, at);
        else
            wide_gather_pairs(first, at, &c[n], &c[n + 1]);
    }
}

static inline wide mix_corners(const wide c[8], const wide f[3], const int dim) {
    wide low = mix(mix(c[0], c[1], f[0]), mix(c[2], c[3], f[0]), f[1]);
    if (dim == 2) return low;
    return mix(low, mix(mix(c[4], c[5], f[0]), mix(c[6], c[7], f[0]), f[1]), f[2]);
}

/// The same as sample, for neighbouring points, which often lie in neighbouring cells.
static inline wide sample_near(const float *b, wide_int at, int edge, const wide f[3],
                               const int dim) {
    wide c[8];
    corner_values(b, at, edge, c, dim);
    return mix_corners(c, f, dim);
}

/// Components on lower faces, at points in block coordinates.
static inline void sample_faces(const float *const block[3], int edge, const wide at[3], wide v[3],
                                const int dim) {
    wide f[3] = {0}, g[3] = {0};
    wide_int on[3] = {0}, off[3] = {0};
    for (int a = 0; a < dim; a++) on[a] = split(at[a], &f[a]), off[a] = split(at[a] - 0.5f, &g[a]);
    v[0] = sample(block[0], (off[2] * edge + off[1]) * edge + on[0], edge, f[0], g[1], g[2], dim);
    v[1] = sample(block[1], (off[2] * edge + on[1]) * edge + off[0], edge, g[0], f[1], g[2], dim);
    if (dim == 3)
        v[2] =
            sample(block[2], (on[2] * edge + off[1]) * edge + off[0], edge, g[0], g[1], f[2], dim);
}
