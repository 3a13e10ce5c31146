// A vector of packed normals (normal.h).
#pragma once
#include "base/wide.h"
#include "particles/normal.h"
#include <string.h>

typedef uint32_t wide_word __attribute__((vector_size(4 * WIDE), may_alias));

static inline wide wide_abs(wide v) {
    return (wide)((wide_int)v & 0x7fffffff);
}
/// v with the sign of `of`.
static inline wide wide_sign(wide v, wide of) {
    return (wide)(((wide_int)v & 0x7fffffff) | ((wide_int)of & (int32_t)0x80000000));
}

/// normal_unpack and normal_part of a vector's words.
static inline wide normals_unpack(wide_int word, wide n[3], const int dim) {
    wide_int high = (wide_int)((wide_word)word >> 19);
    wide u = wide_from_int(high - NORMAL_HALF) * (1.0f / NORMAL_HALF);
    wide v = wide_from_int(((word >> 6) & 8191) - NORMAL_HALF) * (1.0f / NORMAL_HALF);
    wide z = {0}, x = u, y = v;
    if (dim == 3) {
        z = 1.0f - wide_abs(u) - wide_abs(v);
        wide back = wide_max(-z, (wide){0});
        x = u - wide_sign(back, u), y = v - wide_sign(back, v);
    }
    wide length = wide_sqrt(x * x + y * y + z * z);
    n[0] = x / length, n[1] = y / length, n[2] = z / length;
    return wide_from_int((word & 63) - 1) * (1.0f / NORMAL_PARTS);
}
