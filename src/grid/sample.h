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

/// The same for neighbouring points, which often lie in neighbouring cells.
static inline wide sample_near(const float *b, wide_int at, int edge, wide fx, wide fy, wide fz,
                               const int dim) {
    if (!wide_in_runs(at)) return sample(b, at, edge, fx, fy, fz, dim);
    wide slice[2] = {{0}};
    for (int k = 0; k < dim - 1; k++, b += edge * edge)
        slice[k] = mix(mix(wide_load_runs(b, at), wide_load_runs(b + 1, at), fx),
                       mix(wide_load_runs(b + edge, at), wide_load_runs(b + edge + 1, at), fx), fy);
    return dim == 3 ? mix(slice[0], slice[1], fz) : slice[0];
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
