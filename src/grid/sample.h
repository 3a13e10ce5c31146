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

#if defined(__AVX512F__)
/// Whether the cells of points, less than 256 along each axis, lie in a window of 7 x 2 x 2, as
/// those of sorted particles often do. => its low corner
static inline bool window_around(const wide_int cell[3], int low[3]) {
    const __m512i at = (__m512i)(cell[0] | cell[1] << 8 | cell[2] << 16);
    const __m256i half =
        _mm256_min_epu8(_mm512_castsi512_si256(at), _mm512_extracti64x4_epi64(at, 1));
    __m128i least = _mm_min_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    least = _mm_min_epu8(least, _mm_shuffle_epi32(least, 0x4e));
    least = _mm_min_epu8(least, _mm_shuffle_epi32(least, 0xb1));
    const __m512i beyond = _mm512_sub_epi8(at, _mm512_broadcastd_epi32(least));
    const int corner = _mm_cvtsi128_si32(least);
    for (int a = 0; a < 3; a++) low[a] = corner >> (8 * a) & 0xff;
    return _mm512_cmpgt_epu8_mask(beyond, _mm512_set1_epi32(0x00010106)) == 0;
}

/// The values around points in 3D whose cells lie in a window: its rows of eight values are loaded,
/// and what a point needs is picked from registers. c: as by corner_values
static inline void window_values(const float *b, const wide_int cell[3], const int low[3], int edge,
                                 wide c[8]) {
    const wide_int in = (cell[0] - low[0]) + 8 * (cell[1] - low[1]) + 16 * (cell[2] - low[2]);
    const __m512i first = (__m512i)in, next = (__m512i)(in + 1);
    const int width = edge - low[0] < 8 ? edge - low[0] : 8; // not beyond the block
    const __mmask8 there = (__mmask8)(0xff >> (8 - width));
    const int slice = edge * edge;
    // a third row or slice beyond the block belongs to no point
    const int y[3] = {0, edge, low[1] + 2 < edge ? 2 * edge : edge};
    const int z[3] = {0, slice, low[2] + 2 < edge ? 2 * slice : slice};
    __m512 rows[2][3]; // [y][z]: rows y and y + 1
    b += low[2] * slice + low[1] * edge + low[0];
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        const __m256 middle = _mm256_maskz_loadu_ps(there, b + z[k] + y[1]);
        rows[0][k] = _mm512_insertf32x8(
            _mm512_castps256_ps512(_mm256_maskz_loadu_ps(there, b + z[k] + y[0])), middle, 1);
        rows[1][k] = _mm512_insertf32x8(_mm512_castps256_ps512(middle),
                                        _mm256_maskz_loadu_ps(there, b + z[k] + y[2]), 1);
    }
#pragma GCC unroll 4
    for (int n = 0; n < 4; n++) {
        c[2 * n] =
            (wide)_mm512_permutex2var_ps(rows[n & 1][n >> 1], first, rows[n & 1][(n >> 1) + 1]);
        c[2 * n + 1] =
            (wide)_mm512_permutex2var_ps(rows[n & 1][n >> 1], next, rows[n & 1][(n >> 1) + 1]);
    }
}
#endif

/// The values around points, which may lie in a window.
static inline void values_around(const float *b, const wide_int cell[3], int edge, wide c[8],
                                 const int dim) {
#if defined(__AVX512F__)
    int low[3];
    if (dim == 3 && window_around(cell, low)) {
        window_values(b, cell, low, edge, c);
        return;
    }
#endif
    const wide_int at = (cell[2] * edge + cell[1]) * edge + cell[0];
    for (int n = 0; n < (dim == 3 ? 8 : 4); n += 2)
        wide_gather_pairs(b + ((n >> 2) * edge + (n >> 1 & 1)) * edge, at, &c[n], &c[n + 1]);
}

/// Components on lower faces, at points in block coordinates.
static inline void sample_faces(const float *const block[3], int edge, const wide at[3], wide v[3],
                                const int dim) {
    wide f[3] = {0}, g[3] = {0};
    wide_int on[3] = {0}, off[3] = {0};
    for (int a = 0; a < dim; a++) on[a] = split(at[a], &f[a]), off[a] = split(at[a] - 0.5f, &g[a]);
#if defined(__AVX512F__)
    int on_low[3], off_low[3];
    if (dim == 3 && window_around(on, on_low) && window_around(off, off_low)) {
#pragma GCC unroll 3
        for (int a = 0; a < 3; a++) {
            wide_int cell[3];
            wide part[3], c[8];
            int low[3];
            for (int k = 0; k < 3; k++)
                cell[k] = k == a ? on[k] : off[k], part[k] = k == a ? f[k] : g[k],
                low[k] = k == a ? on_low[k] : off_low[k];
            window_values(block[a], cell, low, edge, c);
            v[a] = mix_corners(c, part, 3);
        }
        return;
    }
#endif
    v[0] = sample(block[0], (off[2] * edge + off[1]) * edge + on[0], edge, f[0], g[1], g[2], dim);
    v[1] = sample(block[1], (off[2] * edge + on[1]) * edge + off[0], edge, g[0], f[1], g[2], dim);
    if (dim == 3)
        v[2] =
            sample(block[2], (on[2] * edge + off[1]) * edge + off[0], edge, g[0], g[1], f[2], dim);
}
