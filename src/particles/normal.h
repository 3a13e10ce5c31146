// A unit vector and a number from 0 to 1 in 32 bits: octahedral, 13 bits along each of two axes,
// and 6 bits. 0 is "unknown". Axes are exact; the vector's error is below 2.5e-4.
#pragma once
#include <math.h>
#include <stdint.h>

enum { NORMAL_HALF = 4095, NORMAL_PARTS = 62 };

static inline float normal_sign(float v) {
    return v < 0 ? -1.0f : 1.0f;
}

/// n: of length 1, or nearly so; in 2D n[2] = 0. g: 0 to 1.
static inline uint32_t normal_pack(const float n[3], float g) {
    float sum = fabsf(n[0]) + fabsf(n[1]) + fabsf(n[2]);
    float u = n[0] / sum, v = n[1] / sum;
    float fold_u = (1 - fabsf(v)) * normal_sign(u), fold_v = (1 - fabsf(u)) * normal_sign(v);
    u = n[2] < 0 ? fold_u : u, v = n[2] < 0 ? fold_v : v;
    uint32_t x = (uint32_t)(int32_t)(u * NORMAL_HALF + NORMAL_HALF + 0.5f);
    uint32_t y = (uint32_t)(int32_t)(v * NORMAL_HALF + NORMAL_HALF + 0.5f);
    return x << 19 | y << 6 | (uint32_t)(1 + (int32_t)(g * NORMAL_PARTS + 0.5f));
}

/// The number that a word holds; below 0 where it is unknown.
static inline float normal_part(uint32_t word) {
    return (float)((int32_t)(word & 63) - 1) * (1.0f / NORMAL_PARTS);
}

/// => n of length 1
static inline void normal_unpack(uint32_t word, int dim, float n[3]) {
    float u = (float)((int32_t)(word >> 19) - NORMAL_HALF) * (1.0f / NORMAL_HALF);
    float v = (float)((int32_t)(word >> 6 & 8191) - NORMAL_HALF) * (1.0f / NORMAL_HALF);
    float z = dim == 3 ? 1 - fabsf(u) - fabsf(v) : 0, back = z < 0 ? -z : 0;
    float x = u - normal_sign(u) * back, y = v - normal_sign(v) * back;
    float length = sqrtf(x * x + y * y + z * z);
    n[0] = x / length, n[1] = y / length, n[2] = z / length;
}
