// Eight floats with a mask; for .simd.c files. (base/wide.h: as many as a register holds.)
#pragma once
#include "base/simd.h"
#include <stdint.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE f8 load8(const float *p) {
    return *(const f8 *)p;
}

INLINE void store8(float *p, f8 v) {
    *(f8 *)p = v;
}

/// Lanes whose mask is all bits, 0 of the others.
INLINE f8 where(i8x mask, f8 v) {
    return (f8)((i8x)v & mask);
}

INLINE f8 choose(i8x mask, f8 set, f8 other) {
    return (f8)(((i8x)set & mask) | ((i8x)other & ~mask));
}

/// Lanes of some bits.
INLINE i8x bit_lanes(uint8_t bits) {
    const i8x bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return ((int32_t)bits & bit) == bit;
}

INLINE f8 root(f8 v) {
#if defined(__AVX__)
    return (f8)_mm256_sqrt_ps((__m256)v);
#else
    for (int i = 0; i < 8; i++) v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}
