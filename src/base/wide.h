// As many floats as the instruction set of a .simd.c file holds in a register, and gathers.
// Arithmetic on wide values is per lane and without fused operations, so a lane computes the same
// bits for any width.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { WIDE = 16 };
#elif defined(__AVX2__)
enum { WIDE = 8 };
#else
enum { WIDE = 4 };
#endif

typedef float wide __attribute__((vector_size(4 * WIDE), may_alias));
typedef int32_t wide_int __attribute__((vector_size(4 * WIDE), may_alias));

/// The same in memory, where it need not be aligned. (A memcpy would go by halves.)
typedef float wide_loose __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));

static inline wide wide_load(const float *p) {
    return *(const wide_loose *)p;
}

static inline void wide_store(float *p, wide v) {
    *(wide_loose *)p = v;
}

/// Of lanes whose mask is all bits, 0 of the others.
static inline wide wide_load_some(const float *p, wide_int mask) {
#if defined(__AVX512F__)
    return (wide)_mm512_maskz_loadu_ps(_mm512_movepi32_mask((__m512i)mask), p);
#elif defined(__AVX2__)
    return (wide)_mm256_maskload_ps(p, (__m256i)mask);
#else
    wide v = {0}; // what lies beside may be another thread's
    for (int i = 0; i < WIDE; i++)
        if (mask[i]) v[i] = p[i];
    return v;
#endif
}

/// Writes the lanes of a mask alone.
static inline void wide_store_some(float *p, wide_int mask, wide v) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, _mm512_movepi32_mask((__m512i)mask), (__m512)v);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(p, (__m256i)mask, (__m256)v);
#else
    for (int i = 0; i < WIDE; i++)
        if (mask[i]) p[i] = v[i];
#endif
}

/// 0, 1, 2, ...
static inline wide_int wide_lanes(void) {
#if defined(__AVX512F__)
    return (wide_int){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__AVX2__)
    return (wide_int){0, 1, 2, 3, 4, 5, 6, 7};
#else
    return (wide_int){0, 1, 2, 3};
#endif
}

static inline wide wide_all(float x) {
    return (wide){0} + x;
}

/// Towards zero.
static inline wide_int wide_to_int(wide v) {
    return __builtin_convertvector(v, wide_int);
}

static inline wide wide_from_int(wide_int v) {
    return __builtin_convertvector(v, wide);
}

/// mask (all bits or none, as comparisons give) ? a : b
static inline wide wide_select(wide_int mask, wide a, wide b) {
    return (wide)(((wide_int)a & mask) | ((wide_int)b & ~mask));
}

/// a < b ? a : b, and a > b ? a : b: the second where one is not a number.
static inline wide wide_min(wide a, wide b) {
#if defined(__AVX512F__)
    return (wide)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (wide)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return wide_select(a < b, a, b);
#endif
}

static inline wide wide_max(wide a, wide b) {
#if defined(__AVX512F__)
    return (wide)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (wide)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return wide_select(a > b, a, b);
#endif
}

/// A value that is not a number becomes `low`.
static inline wide wide_clamp(wide v, wide low, wide high) {
    return wide_min(wide_max(v, low), high);
}

static inline wide wide_sqrt(wide v) {
#if defined(__AVX512F__)
    return (wide)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
    return (wide)_mm256_sqrt_ps((__m256)v);
#else
    for (int i = 0; i < WIDE; i++) v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}

/// base[at] per lane
static inline wide wide_gather(const float *base, wide_int at) {
#if defined(__AVX512F__)
    return (wide)_mm512_i32gather_ps((__m512i)at, base, 4);
#elif defined(__AVX2__)
    return (wide)_mm256_i32gather_ps(base, (__m256i)at, 4);
#else
    wide v;
    for (int i = 0; i < WIDE; i++) v[i] = base[at[i]];
    return v;
#endif
}

/// base[at] and base[at + 1] per lane: pairs are fetched as one, which halves the loads.
static inline void wide_gather_pairs(const float *base, wide_int at, wide *first, wide *second) {
#if defined(__AVX512F__)
    const __m256i low = _mm512_castsi512_si256((__m512i)at);
    const __m256i high = _mm512_extracti64x4_epi64((__m512i)at, 1);
    const __m512 a = _mm512_castpd_ps(_mm512_i32gather_pd(low, base, 4));
    const __m512 b = _mm512_castpd_ps(_mm512_i32gather_pd(high, base, 4));
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    *first = (wide)_mm512_permutex2var_ps(a, even, b);
    *second = (wide)_mm512_permutex2var_ps(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
#elif defined(__AVX2__)
    const __m128i low = _mm256_castsi256_si128((__m256i)at);
    const __m128i high = _mm256_extracti128_si256((__m256i)at, 1);
    const __m256 a = _mm256_castpd_ps(_mm256_i32gather_pd((const double *)base, low, 4));
    const __m256 b = _mm256_castpd_ps(_mm256_i32gather_pd((const double *)base, high, 4));
    // lanes 0 1 4 5 2 3 6 7: halves of the two are interleaved
    const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
    *first = (wide)_mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8));
    *second = (wide)_mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8));
#else
    *first = wide_gather(base, at), *second = wide_gather(base + 1, at);
#endif
}

/// Four values of each lane side by side, those of lane i from out + 4 * wide_four(i) on: an order
/// that takes no shuffles across 16 bytes.
static inline int wide_four(int lane) {
    return (lane & 3) * (WIDE / 4) + (lane >> 2);
}

static inline void wide_store_fours(float *out, wide a, wide b, wide c, wide d) {
#if defined(__AVX512F__)
    const __m512 t[4] = {_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b),
                         _mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)};
    for (int k = 0; k < 4; k += 2) {
        wide_store(out + k * WIDE, (wide)_mm512_shuffle_ps(t[k / 2], t[k / 2 + 2], 0x44));
        wide_store(out + (k + 1) * WIDE, (wide)_mm512_shuffle_ps(t[k / 2], t[k / 2 + 2], 0xee));
    }
#elif defined(__AVX2__)
    const __m256 t[4] = {_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b),
                         _mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d)};
    for (int k = 0; k < 4; k += 2) {
        wide_store(out + k * WIDE, (wide)_mm256_shuffle_ps(t[k / 2], t[k / 2 + 2], 0x44));
        wide_store(out + (k + 1) * WIDE, (wide)_mm256_shuffle_ps(t[k / 2], t[k / 2 + 2], 0xee));
    }
#else
    for (int i = 0; i < WIDE; i++) wide_store(out + i * WIDE, (wide){a[i], b[i], c[i], d[i]});
#endif
}

/// One bit a lane of a mask, lane 0 in bit 0.
static inline uint32_t wide_bits(wide_int mask) {
#if defined(__AVX512F__)
    return (uint32_t)_mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#else
    uint32_t bits = 0;
    for (int i = 0; i < WIDE; i++) bits |= (uint32_t)(mask[i] & 1) << i;
    return bits;
#endif
}

/// Whether indices count up by one from lane to lane, in sixteen lanes in each half: then loads do
/// for gathers.
static inline bool wide_in_runs(wide_int at) {
#if defined(__AVX512F__)
    const __m512i half = (__m512i)(wide_lanes() & 8);
    const __m512i first = _mm512_permutexvar_epi32(half, (__m512i)at);
    return _mm512_cmpneq_epi32_mask((__m512i)(at - (wide_int)first), (__m512i)(wide_lanes() & 7)) ==
           0;
#else
    return wide_bits(at - at[0] != wide_lanes()) == 0;
#endif
}

/// base[at] per lane, of indices in runs.
static inline wide wide_load_runs(const float *base, wide_int at) {
#if defined(__AVX512F__)
    const __m256 low = _mm256_loadu_ps(base + at[0]), high = _mm256_loadu_ps(base + at[8]);
    return (wide)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
    return wide_load(base + at[0]);
#endif
}
