// As many floats as the instruction set of a .simd.c file holds in a register, and gathers.
// Arithmetic on wide values is per lane and without fused operations, so a lane computes the same
// bits for any width.
#pragma once
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

static inline wide wide_load(const float *p) {
    wide v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void wide_store(float *p, wide v) {
    memcpy(p, &v, sizeof v);
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

/// A value that is not a number becomes `low`.
static inline wide wide_clamp(wide v, wide low, wide high) {
    v = wide_select(v > low, v, low);
    return wide_select(v < high, v, high);
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
