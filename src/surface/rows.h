// Rows of eight cells and their bits.
#pragma once
#include "grid/grid.h"
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Cells of a row below a limit.
static inline uint8_t row_below(const float row[TILE], float limit) {
#if defined(__SSE2__)
    const __m128 to = _mm_set1_ps(limit);
    int low = _mm_movemask_ps(_mm_cmplt_ps(_mm_loadu_ps(row), to));
    return (uint8_t)(low | _mm_movemask_ps(_mm_cmplt_ps(_mm_loadu_ps(row + 4), to)) << 4);
#else
    unsigned bits = 0;
    for (int x = 0; x < TILE; x++) bits |= (unsigned)(row[x] < limit) << x;
    return (uint8_t)bits;
#endif
}
/// How far a row's values are from 0.
static inline void row_size(const float row[TILE], float out[TILE]) {
#if defined(__SSE2__)
    const __m128 sign = _mm_set1_ps(-0.0f);
    for (int half = 0; half < TILE; half += 4)
        _mm_storeu_ps(out + half, _mm_andnot_ps(sign, _mm_loadu_ps(row + half)));
#else
    for (int x = 0; x < TILE; x++) out[x] = row[x] < 0 ? -row[x] : row[x];
#endif
}
/// Cells of a row less than a limit away from 0.
static inline uint8_t row_within(const float row[TILE], float limit) {
    float size[TILE];
    row_size(row, size);
    return row_below(size, limit);
}

/// Of cells whose bit is set the one, of the others the other. (out may be either.)
static inline void row_choose(unsigned bits, const float set[TILE], const float other[TILE],
                              float out[TILE]) {
#if defined(__SSE2__)
    const __m128i all = _mm_set1_epi32((int)bits);
    for (int half = 0; half < TILE; half += 4) {
        const __m128i bit = half ? _mm_set_epi32(128, 64, 32, 16) : _mm_set_epi32(8, 4, 2, 1);
        const __m128 is = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_and_si128(all, bit), bit));
        const __m128 a = _mm_loadu_ps(set + half), b = _mm_loadu_ps(other + half);
        _mm_storeu_ps(out + half, _mm_or_ps(_mm_and_ps(is, a), _mm_andnot_ps(is, b)));
    }
#else
    for (int x = 0; x < TILE; x++) out[x] = bits >> x & 1 ? set[x] : other[x];
#endif
}

static inline void row_fill(float row[TILE], float value) {
    for (int x = 0; x < TILE; x++) row[x] = value;
}
