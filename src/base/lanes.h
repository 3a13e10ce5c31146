// Sixteen lanes on every instruction set, for sums over particles; for .simd.c files.
#pragma once
#include "base/eight.h"
#include "base/wide.h"
#include <stdint.h>
#include <string.h>

enum { LANES = 16 };
typedef float f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t i16 __attribute__((vector_size(64), aligned(4), may_alias));

INLINE f16 load(const float *p) {
    f16 v;
    memcpy(&v, p, sizeof v);
    return v;
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
