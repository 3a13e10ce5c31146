// Distances cell by cell from neighbours that have one; for .simd.c files.
#pragma once

static inline float least(float a, float b) {
    return a < b ? a : b;
}

static inline float most(float a, float b) {
    return a > b ? a : b;
}

/// The depth that |grad depth| = 1 gives a cell from its shallower neighbour along each axis
/// (Godunov's upwind scheme).
static inline float eikonal(float a, float b, float c, const int dim) {
    float low = least(a, b), high = most(a, b), mid = high;
    if (dim == 3) {
        float lowest = least(low, c), top = most(high, c);
        mid = most(low, least(high, c)); // the middle one of the three
        low = lowest, high = top;
    }
    float one = low + 1.0f, gap = mid - low;
    float root = 2.0f - gap * gap;
    float two = 0.5f * (low + mid + __builtin_sqrtf(root > 0 ? root : 0));
    float d = one <= mid ? one : two;
    if (dim == 2) return d;
    // about the lowest, so that depths of BAND_FAR do not overflow the squares
    float p = mid - low, q = high - low, sum = p + q;
    float inside = sum * sum - 3.0f * (p * p + q * q - 1.0f);
    float three = low + (sum + __builtin_sqrtf(inside > 0 ? inside : 0)) * (1.0f / 3.0f);
    return d <= high ? d : three;
}
