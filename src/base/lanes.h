// Sixteen lanes on every instruction set, for sums over particles; for .simd.c files.
#pragma once
#include "base/simd.h"
#include "base/wide.h"
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16 };
typedef float f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t i16 __attribute__((vector_size(64), aligned(4), may_alias));

INLINE f16 load(const float *p) {
    f16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE f8 load8(const float *p) {
    return *(const f8 *)p;
}
INLINE f8 where(i8x mask, f8 v) {
    return (f8)((i8x)v & mask);
}

/// Lanes of some bits.
INLINE i8x bit_lanes(uint8_t bits) {
    const i8x bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return ((int32_t)bits & bit) != 0;
}
INLINE f8 choose(i8x mask, f8 set, f8 other) {
    return (f8)(((i8x)set & mask) | ((i8x)other & ~mask));
}
INLINE f8 root(f8 v) {
#if defined(__AVX__)
    return (f8)_mm256_sqrt_ps((__m256)v);
#else
    for (int x = 0; x < 8; x++) v[x] = __builtin_sqrtf(v[x]);
    return v;
#endif
}

/// Each lane i and the one half of the lanes further on, until one is left.
INLINE float fold(f16 v) {
    f8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    f4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    f4 c = b + __builtin_shufflevector(b, b, 2, 3, 2, 3);
    return c[0] + c[1];
}

/// The sixteen lanes as registers hold them: compilers take vectors wider than a register apart
/// lane by lane where these are compared.
enum { LANE_PARTS = LANES / WIDE };
typedef wide Lanes[LANE_PARTS];

/// The same fold.
INLINE float lanes_fold(const Lanes v) {
#if defined(__AVX512F__)
    return fold((f16)v[0]);
#else
    f4 b;
#if defined(__AVX2__)
    f8 a = (f8)v[0] + (f8)v[1];
    b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
#else
    b = (f4)(v[0] + v[2]) + (f4)(v[1] + v[3]);
#endif
    f4 c = b + __builtin_shufflevector(b, b, 2, 3, 2, 3);
    return c[0] + c[1];
#endif
}
