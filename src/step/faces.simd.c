#include "step/faces.h"
#include <math.h>

#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

INLINE f8 load(const float *p) {
    return *(const f8 *)p;
}

INLINE void store(float *p, f8 v) {
    *(f8 *)p = v;
}

INLINE f8 keep(f8 v, i8x lanes) {
    return (f8)((i8x)v & lanes);
}

INLINE f8 choose(i8x lanes, f8 a, f8 b) {
    return (f8)(((i8x)a & lanes) | ((i8x)b & ~lanes));
}

/// A row's byte of a mask as lanes, all bits or none.
INLINE i8x row_lanes(const TileMask *m, int row) {
    const i8x bit = {1, 2, 4, 8, 16, 32, 64, 128};
    i8x all = (i8x){} + (int32_t)(m->slice[row >> 3] >> (8 * (row & 7)) & 0xff);
    return (all & bit) == bit;
}

/// The row's neighbours along an axis; row = z * 8 + y.
INLINE f8 before_x(const TileView *v, int row) {
    f8 x = load(v->self + row * 8), first = {v->side[0][row * 8 + 7]};
    return __builtin_shufflevector(first, x, 0, 8, 9, 10, 11, 12, 13, 14);
}

INLINE f8 behind_x(const TileView *v, int row) {
    f8 x = load(v->self + row * 8), last = {v->side[1][row * 8]};
    return __builtin_shufflevector(x, last, 1, 2, 3, 4, 5, 6, 7, 8);
}

INLINE f8 before_y(const TileView *v, int row) {
    return load(row & 7 ? v->self + row * 8 - 8 : v->side[2] + row * 8 + 56);
}

INLINE f8 behind_y(const TileView *v, int row) {
    return load((row & 7) < 7 ? v->self + row * 8 + 8 : v->side[3] + row * 8 - 56);
}

INLINE f8 before_z(const TileView *v, int row) {
    return load(row >> 3 ? v->self + row * 8 - 64 : v->side[4] + row * 8 + 448);
}

INLINE f8 behind_z(const TileView *v, int row) {
    return load(row >> 3 < 7 ? v->self + row * 8 + 64 : v->side[5] + row * 8 - 448);
}

/// Runs a statement for each row of which the mask holds a cell.
#define EACH_ROW(MASK, DEPTH, ...)                                         \
    for (int z_ = 0; z_ < (DEPTH); z_++)                                   \
        for (uint64_t left_ = (MASK)->slice[z_]; left_;) {                 \
            const int y_ = __builtin_ctzll(left_) >> 3, row = z_ * 8 + y_; \
            left_ &= ~((uint64_t)0xff << (8 * y_));                        \
            __VA_ARGS__                                                    \
        }

INLINE void add_known(f8 *sum, f8 *count, f8 v, const TileMask *near, int row) {
    i8x lanes = row_lanes(near, row);
    *sum += keep(v, lanes);
    *count += keep((f8){} + 1.0f, lanes);
}

INLINE void grow_dim(const TileView *v, const TileMask near[6], const TileMask *wanted, float *out,
                     const int dim) {
    EACH_ROW(wanted, dim == 3 ? TILE : 1, {
        f8 sum = {}, count = {};
        add_known(&sum, &count, before_x(v, row), &near[0], row);
        add_known(&sum, &count, behind_x(v, row), &near[1], row);
        add_known(&sum, &count, before_y(v, row), &near[2], row);
        add_known(&sum, &count, behind_y(v, row), &near[3], row);
        if (dim == 3) {
            add_known(&sum, &count, before_z(v, row), &near[4], row);
            add_known(&sum, &count, behind_z(v, row), &near[5], row);
        }
        i8x lanes = row_lanes(wanted, row);
        store(out + row * 8, choose(lanes, sum / count, load(out + row * 8)));
    })
}

static void grow(const TileView *v, const TileMask near[6], const TileMask *wanted, int dim,
                 float *out) {
    dim == 3 ? grow_dim(v, near, wanted, out, 3) : grow_dim(v, near, wanted, out, 2);
}

static float finish(const TileMask *valued, int depth, float ratio, float *v, float *old) {
    i8x most = {}; // of floats that are not negative the bits compare as the values do
    for (int row = 0; row < 8 * depth; row++) {
        i8x lanes = row_lanes(valued, row);
        f8 value = choose(lanes, load(v + row * 8), (f8){} + NAN);
        store(v + row * 8, value);
        if (old) store(old + row * 8, value - ratio * load(old + row * 8));
        i8x speed = (i8x)value & lanes & 0x7fffffff;
        i8x more = speed > most;
        most = (speed & more) | (most & ~more);
    }
    int32_t all = 0;
    for (int i = 0; i < 8; i++) all = most[i] > all ? most[i] : all;
    float fastest;
    memcpy(&fastest, &all, sizeof fastest);
    return fastest;
}

const FaceKernels ISA(face_kernels) = {grow, finish};
