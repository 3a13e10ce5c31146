#include "projection/faces.h"
#include "base/eight.h"
#include <math.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wpsabi"

/// Some lanes of a row. The others are not touched, as another thread may be writing or reading
/// them: 0, and left as they are.
INLINE f8 load_lanes(const float *p, i8x lanes) {
#ifdef __AVX2__
    return (f8)_mm256_maskload_ps(p, (__m256i)lanes);
#else
    f8 v = {};
    for (int i = 0; i < 8; i++)
        if (lanes[i]) v[i] = p[i];
    return v;
#endif
}

INLINE void store_lanes(float *p, i8x lanes, f8 v) {
#ifdef __AVX2__
    _mm256_maskstore_ps(p, (__m256i)lanes, (__m256)v);
#else
    for (int i = 0; i < 8; i++)
        if (lanes[i]) p[i] = v[i];
#endif
}

/// A row's byte of a mask as lanes, all bits or none.
INLINE i8x row_lanes(const TileMask *m, int row) {
    return bit_lanes(mask_bits(m, row));
}

/// The row's neighbours along an axis; row = z * 8 + y.
INLINE f8 before_x(const TileView *v, int row) {
    f8 x = load8(v->self + row * 8), first = {v->side[0][row * 8 + 7]};
    return __builtin_shufflevector(first, x, 0, 8, 9, 10, 11, 12, 13, 14);
}

INLINE f8 behind_x(const TileView *v, int row) {
    f8 x = load8(v->self + row * 8), last = {v->side[1][row * 8]};
    return __builtin_shufflevector(x, last, 1, 2, 3, 4, 5, 6, 7, 8);
}

INLINE f8 before_y(const TileView *v, int row) {
    return load8(row & 7 ? v->self + row * 8 - 8 : v->side[2] + row * 8 + 56);
}

INLINE f8 behind_y(const TileView *v, int row) {
    return load8((row & 7) < 7 ? v->self + row * 8 + 8 : v->side[3] + row * 8 - 56);
}

INLINE f8 before_z(const TileView *v, int row) {
    return load8(row >> 3 ? v->self + row * 8 - 64 : v->side[4] + row * 8 + 448);
}

INLINE f8 behind_z(const TileView *v, int row) {
    return load8(row >> 3 < 7 ? v->self + row * 8 + 64 : v->side[5] + row * 8 - 448);
}

/// Runs a statement for each row of which the mask holds a cell.
#define EACH_ROW(MASK, DEPTH, ...)                                         \
    for (int z_ = 0; z_ < (DEPTH); z_++)                                   \
        for (uint64_t left_ = (MASK)->slice[z_]; left_;) {                 \
            const int y_ = __builtin_ctzll(left_) >> 3, row = z_ * 8 + y_; \
            left_ &= ~((uint64_t)0xff << (8 * y_));                        \
            __VA_ARGS__                                                    \
        }

/// The larger of m and |v|, as bits: of floats that are not negative they compare as the values do,
/// and what is not a number comes last.
INLINE i8x larger(i8x m, f8 v) {
    i8x bits = (i8x)v & 0x7fffffff, more = bits > m;
    return (bits & more) | (m & ~more);
}

INLINE float largest(i8x bits) {
    int32_t all = 0;
    for (int i = 0; i < 8; i++) all = bits[i] > all ? bits[i] : all;
    float value;
    memcpy(&value, &all, sizeof value);
    return value;
}

#if defined(__AVX512F__)
// Two rows of one slice at once: sixteen values side by side. Lanes are bits of a mask's two bytes.

/// Runs a statement for each pair of rows of which the mask holds a cell; at: its first cell.
#define EACH_PAIR(MASK, DEPTH, ...)                        \
    for (int z_ = 0; z_ < (DEPTH); z_++)                   \
        for (uint64_t left_ = (MASK)->slice[z_]; left_;) { \
            const int pair_ = __builtin_ctzll(left_) >> 4; \
            const int at = z_ * 64 + pair_ * 16;           \
            left_ &= ~((uint64_t)0xffff << (16 * pair_));  \
            __VA_ARGS__                                    \
        }

INLINE __mmask16 pair_lanes(const TileMask *m, int at) {
    return (__mmask16)(m->slice[at >> 6] >> (at & 63));
}

/// Lanes of another tile's values. Where none is asked for its memory is left alone: it would be
/// brought into the cache for nothing.
INLINE __m512 other_lanes(__m512 else_, __mmask16 lanes, const float *at) {
    return lanes ? _mm512_mask_loadu_ps(else_, lanes, at) : else_;
}

/// Values one cell on in direction n, x-, x+, y-, ...; of other tiles, which other threads may be
/// writing to, only some lanes.
INLINE __m512 pair_beside(const TileView *v, int at, __mmask16 some, const int n) {
    const float *self = v->self + at, *side = v->side[n] + at;
    const int pair = at >> 4 & 3, z = at >> 6;
    const __m512 none = _mm512_setzero_ps();
    if (n == 0) {
        const __m512i from =
            _mm512_setr_epi32(23, 0, 1, 2, 3, 4, 5, 6, 31, 8, 9, 10, 11, 12, 13, 14);
        const __m512 first = other_lanes(none, (__mmask16)(some << 7 & 0x8080), side);
        return _mm512_permutex2var_ps(_mm512_loadu_ps(self), from, first);
    }
    if (n == 1) {
        const __m512i from =
            _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 16, 9, 10, 11, 12, 13, 14, 15, 24);
        const __m512 last = other_lanes(none, (__mmask16)(some >> 7 & 0x0101), side);
        return _mm512_permutex2var_ps(_mm512_loadu_ps(self), from, last);
    }
    if (n == 2) {
        if (pair > 0) return _mm512_loadu_ps(self - 8);
        const __m512 high = _mm512_maskz_loadu_ps(0xff00, self - 8);
        return other_lanes(high, some & 0x00ff, side + 56);
    }
    if (n == 3) {
        if (pair < 3) return _mm512_loadu_ps(self + 8);
        const __m512 low = _mm512_maskz_loadu_ps(0x00ff, self + 8);
        return other_lanes(low, some & 0xff00, side - 56);
    }
    if (n == 4) return z > 0 ? _mm512_loadu_ps(self - 64) : other_lanes(none, some, side + 448);
    return z < 7 ? _mm512_loadu_ps(self + 64) : other_lanes(none, some, side - 448);
}

/// Sum over the neighbours that are in `near`, and how many.
INLINE void pair_known(const TileView *v, const TileMask near[6], int at, __m512 *sum,
                       __m512 *count, const int dim) {
    const __m512 one = _mm512_set1_ps(1);
    *sum = *count = _mm512_setzero_ps();
#pragma GCC unroll 6
    for (int n = 0; n < 2 * dim; n++) {
        const __mmask16 some = pair_lanes(&near[n], at);
        *sum = _mm512_mask_add_ps(*sum, some, *sum, pair_beside(v, at, some, n));
        *count = _mm512_mask_add_ps(*count, some, *count, one);
    }
}
#else
/// The row's neighbours in direction n: x-, x+, y-, ...; of those in other tiles, which other
/// threads may be writing to, only some lanes.
INLINE f8 beside_lanes(const TileView *v, int row, i8x lanes, const int n) {
    const float *self = v->self + row * 8, *side = v->side[n] + row * 8;
    if (n == 0) {
        f8 first = {lanes[0] ? side[7] : 0};
        return __builtin_shufflevector(first, load8(self), 0, 8, 9, 10, 11, 12, 13, 14);
    }
    if (n == 1) {
        f8 last = {lanes[7] ? side[0] : 0};
        return __builtin_shufflevector(load8(self), last, 1, 2, 3, 4, 5, 6, 7, 8);
    }
    if (n == 2) return row & 7 ? load8(self - 8) : load_lanes(side + 56, lanes);
    if (n == 3) return (row & 7) < 7 ? load8(self + 8) : load_lanes(side - 56, lanes);
    if (n == 4) return row >> 3 ? load8(self - 64) : load_lanes(side + 448, lanes);
    return row >> 3 < 7 ? load8(self + 64) : load_lanes(side - 448, lanes);
}

/// Sum over the neighbours that are in `near`, and how many.
INLINE void sum_known(const TileView *v, const TileMask near[6], int row, f8 *sum, f8 *count,
                      const int dim) {
#pragma GCC unroll 6
    for (int n = 0; n < 2 * dim; n++) {
        i8x lanes = row_lanes(&near[n], row);
        *sum += where(lanes, beside_lanes(v, row, lanes, n));
        *count += where(lanes, (f8){} + 1.0f);
    }
}
#endif

// ------------------------------------------------------------------------------- extrapolation

static void grow(const TileView *v, const TileMask near[6], const TileMask *wanted, int dim,
                 float *out) {
    // Written when all are known: a row that is read while a part of it is on its way to memory
    // waits until it has come there.
    float made[TILE * TILE * TILE];
    const int depth = dim == 3 ? TILE : 1;
#if defined(__AVX512F__)
    EACH_PAIR(wanted, depth, {
        __m512 sum, count;
        dim == 3 ? pair_known(v, near, at, &sum, &count, 3)
                 : pair_known(v, near, at, &sum, &count, 2);
        _mm512_storeu_ps(made + at, _mm512_div_ps(sum, count));
    })
    EACH_PAIR(wanted, depth, {
        _mm512_mask_storeu_ps(out + at, pair_lanes(wanted, at), _mm512_loadu_ps(made + at));
    })
#else
    EACH_ROW(wanted, depth, {
        f8 sum = {}, count = {};
        dim == 3 ? sum_known(v, near, row, &sum, &count, 3)
                 : sum_known(v, near, row, &sum, &count, 2);
        store8(made + row * 8, sum / count);
    })
    EACH_ROW(wanted, depth,
             { store_lanes(out + row * 8, row_lanes(wanted, row), load8(made + row * 8)); })
#endif
}

static float finish(const TileMask *valued, int depth, float ratio, float *v, float *old) {
    i8x most = {};
    for (int row = 0; row < 8 * depth; row++) {
        i8x lanes = row_lanes(valued, row);
        f8 value = choose(lanes, load8(v + row * 8), (f8){} + NAN);
        store8(v + row * 8, value);
        if (old) store8(old + row * 8, value - ratio * load8(old + row * 8));
        most = larger(most, where(lanes, value));
    }
    return largest(most);
}

// ----------------------------------------------------------------------------------- projection

/// The row's neighbours in direction n: x-, x+, y-, ...
INLINE f8 beside(const TileView *v, int row, const int n) {
    return n == 0   ? before_x(v, row)
           : n == 1 ? behind_x(v, row)
           : n == 2 ? before_y(v, row)
           : n == 3 ? behind_y(v, row)
           : n == 4 ? before_z(v, row)
                    : behind_z(v, row);
}

/// surface_part of a row.
INLINE f8 theta(f8 inside, f8 outside) {
    f8 depth = choose(-inside > DEPTH_MIN, -inside, (f8){} + DEPTH_MIN);
    return depth / (depth + where(outside > 0.0f, outside));
}

/// What flows out of the cells of a row, m/s.
INLINE f8 row_outflow(const Around *around, const TileView velocity[3], int row, const int dim) {
    f8 sum = {};
#pragma GCC unroll 3
    for (int a = 0; a < dim; a++) {
        f8 low = load8(velocity[a].self + row * 8), high = beside(&velocity[a], row, 2 * a + 1);
        sum -= where(~row_lanes(&around->side[2 * a], row), low);
        sum += where(~row_lanes(&around->side[2 * a + 1], row), high);
    }
    return sum;
}

INLINE void build_row(const Around *around, const TileView velocity[3], const TileView *phi,
                      float scale, const SystemTile *out, int row, const int dim) {
    const i8x liquid = row_lanes(&around->liquid, row);
    const f8 one = (f8){} + 1.0f;
    f8 diagonal = {}, inside = phi ? load8(phi->self + row * 8) : one;
#pragma GCC unroll 6
    for (int n = 0; n < 2 * dim; n++) {
        i8x wet = row_lanes(&around->wet[n], row);
        f8 weight = one;
        if (phi) weight = choose(wet, one, one / theta(inside, beside(phi, row, n)));
        diagonal += where(~row_lanes(&around->side[n], row), weight);
        if (!(n & 1)) store8(out->coefficient[n >> 1] + row * 8, where(wet & liquid, one));
    }
    store8(out->diagonal + row * 8, where(liquid, diagonal));
    store8(out->rhs + row * 8, where(liquid, -row_outflow(around, velocity, row, dim)));
    store8(out->pressure + row * 8, where(liquid, load8(out->pressure + row * 8) * scale));
}

INLINE void build_dim(const Around *around, const TileView velocity[3], const TileView *phi,
                      float scale, const SystemTile *out, const int dim) {
    for (int row = 0; row < (dim == 3 ? 64 : 8); row++) {
        if (around->liquid.slice[row >> 3] >> (8 * (row & 7)) & 0xff) {
            build_row(around, velocity, phi, scale, out, row, dim);
            continue;
        }
        store8(out->diagonal + row * 8, (f8){});
        store8(out->rhs + row * 8, (f8){});
        store8(out->pressure + row * 8, (f8){});
        for (int a = 0; a < dim; a++) store8(out->coefficient[a] + row * 8, (f8){});
    }
}

static void build(const Around *around, const TileView velocity[3], const TileView *phi, int dim,
                  float scale, const SystemTile *out) {
    dim == 3 ? build_dim(around, velocity, phi, scale, out, 3)
             : build_dim(around, velocity, phi, scale, out, 2);
}

INLINE void subtract_axis(const Around *around, const TileMask *faces, int depth,
                          const TileView *pressure, const TileView *phi, float *velocity,
                          float *gradient, const int axis) {
    EACH_ROW(faces, depth, {
        i8x here = row_lanes(&around->liquid, row), below = row_lanes(&around->wet[2 * axis], row);
        i8x lanes = row_lanes(faces, row);
        f8 high = where(here, load8(pressure->self + row * 8));
        f8 low = where(below, beside(pressure, row, 2 * axis));
        f8 difference = high - low;
        if (phi) {
            f8 mine = load8(phi->self + row * 8), its = beside(phi, row, 2 * axis);
            f8 part = theta(choose(here, mine, its), choose(here, its, mine));
            difference = choose(here & below, difference, difference / part);
        }
        f8 before = load8(velocity + row * 8);
        store8(velocity + row * 8, choose(lanes, before - difference, before));
        if (gradient)
            store8(gradient + row * 8, choose(lanes, difference, load8(gradient + row * 8)));
    })
}

static void subtract(const Around *around, const TileMask *faces, int axis, int depth,
                     const TileView *pressure, const TileView *phi, float *velocity,
                     float *gradient) {
    if (axis == 0)
        subtract_axis(around, faces, depth, pressure, phi, velocity, gradient, 0);
    else if (axis == 1)
        subtract_axis(around, faces, depth, pressure, phi, velocity, gradient, 1);
    else
        subtract_axis(around, faces, depth, pressure, phi, velocity, gradient, 2);
}

#if defined(__AVX512F__)
/// Values two cells on in direction n; no other thread writes to them.
INLINE __m512 pair_behind(const TileView *v, int at, const int n) {
    const float *self = v->self + at, *side = v->side[n] + at;
    if (n == 0) {
        const __m512i from =
            _mm512_setr_epi32(22, 23, 0, 1, 2, 3, 4, 5, 30, 31, 8, 9, 10, 11, 12, 13);
        return _mm512_permutex2var_ps(_mm512_loadu_ps(self), from, _mm512_loadu_ps(side));
    }
    if (n == 1) {
        const __m512i from =
            _mm512_setr_epi32(2, 3, 4, 5, 6, 7, 16, 17, 10, 11, 12, 13, 14, 15, 24, 25);
        return _mm512_permutex2var_ps(_mm512_loadu_ps(self), from, _mm512_loadu_ps(side));
    }
    const int step = n < 4 ? 16 : 128, place = n < 4 ? at >> 4 & 3 : at >> 7;
    if (n & 1) return _mm512_loadu_ps(place < 3 ? self + step : side - 3 * step);
    return _mm512_loadu_ps(place > 0 ? self - step : side + 3 * step);
}

/// Of the gradients in direction n, continued by those behind them.
INLINE __m512 pair_continued(const TileView *v, int at, __mmask16 some, __mmask16 beyond,
                             const int n) {
    const __m512 pull = pair_beside(v, at, some, n), most = _mm512_abs_ps(pull);
    __m512 more = _mm512_maskz_sub_ps(beyond, pull, pair_behind(v, at, n));
    more = _mm512_mask_mov_ps(more, _mm512_cmp_ps_mask(more, most, _CMP_GT_OQ), most);
    const __m512 least = _mm512_sub_ps(_mm512_set1_ps(-0.0f), most);
    more = _mm512_mask_mov_ps(more, _mm512_cmp_ps_mask(more, least, _CMP_LT_OQ), least);
    return _mm512_add_ps(pull, more);
}

INLINE void carry_pair(const TileView *v, const TileMask near[6], const TileMask *beyond,
                       const TileMask *faces, int at, float *velocity, const int dim) {
    __m512 sum = _mm512_setzero_ps(), count = sum;
    if (!beyond) {
        pair_known(v, near, at, &sum, &count, dim);
    } else {
#pragma GCC unroll 6
        for (int n = 0; n < 2 * dim; n++) {
            const __mmask16 some = pair_lanes(&near[n], at);
            if (!some) continue;
            const __m512 pull = pair_continued(v, at, some, pair_lanes(&beyond[n], at), n);
            sum = _mm512_mask_add_ps(sum, some, sum, pull);
            count = _mm512_mask_add_ps(count, some, count, _mm512_set1_ps(1));
        }
    }
    const __mmask16 lanes = pair_lanes(faces, at);
    const __m512 before = _mm512_maskz_loadu_ps(lanes, velocity + at);
    _mm512_mask_storeu_ps(velocity + at, lanes, _mm512_sub_ps(before, _mm512_div_ps(sum, count)));
}
#else
/// The row's values `steps` cells on in direction n: x-, x+, y-, ...; 1 or 2.
INLINE f8 steps_on(const TileView *v, int row, const int n, const int steps) {
    if (steps == 1) return beside(v, row, n);
    const float *self = v->self + row * 8, *side = v->side[n] + row * 8;
    if (n == 0)
        return __builtin_shufflevector(load8(side), load8(self), 6, 7, 8, 9, 10, 11, 12, 13);
    if (n == 1) return __builtin_shufflevector(load8(self), load8(side), 2, 3, 4, 5, 6, 7, 8, 9);
    const int step = n < 4 ? 8 : 64, at = n < 4 ? row & 7 : row >> 3, up = n & 1 ? 2 : -2;
    const bool inside = n & 1 ? at < 6 : at > 1;
    return load8(inside ? self + up * step : side + (up - 4 * up) * step);
}

/// Of the gradients in direction n, continued by those behind them.
INLINE f8 continued(const TileView *v, int row, const TileMask *beyond, const int n) {
    const f8 pull = steps_on(v, row, n, 1), most = (f8)((i8x)pull & 0x7fffffff);
    f8 more = where(row_lanes(beyond, row), pull - steps_on(v, row, n, 2));
    more = choose(more > most, most, more);
    return pull + choose(more < -most, -most, more);
}

INLINE void carry_row(const TileView *v, const TileMask near[6], const TileMask *beyond,
                      const TileMask *faces, int row, float *velocity, const int dim) {
    f8 sum = {}, count = {};
    if (!beyond) {
        sum_known(v, near, row, &sum, &count, dim);
    } else {
#pragma GCC unroll 6
        for (int n = 0; n < 2 * dim; n++) {
            if (!((const uint8_t *)near[n].slice)[row]) continue;
            const i8x lanes = row_lanes(&near[n], row);
            sum += where(lanes, continued(v, row, &beyond[n], n));
            count += where(lanes, (f8){} + 1.0f);
        }
    }
    store_lanes(velocity + row * 8, row_lanes(faces, row), load8(velocity + row * 8) - sum / count);
}

#endif

static void carry(const TileView *gradient, const TileMask near[6], const TileMask *beyond,
                  const TileMask *faces, int dim, float *velocity) {
#if defined(__AVX512F__)
    EACH_PAIR(faces, dim == 3 ? TILE : 1, {
        dim == 3 ? carry_pair(gradient, near, beyond, faces, at, velocity, 3)
                 : carry_pair(gradient, near, beyond, faces, at, velocity, 2);
    })
#else
    EACH_ROW(faces, dim == 3 ? TILE : 1, {
        dim == 3 ? carry_row(gradient, near, beyond, faces, row, velocity, 3)
                 : carry_row(gradient, near, beyond, faces, row, velocity, 2);
    })
#endif
}

static float outflow(const Around *around, const TileView velocity[3], int dim) {
    i8x most = {};
    EACH_ROW(&around->liquid, dim == 3 ? TILE : 1, {
        f8 out = dim == 3 ? row_outflow(around, velocity, row, 3)
                          : row_outflow(around, velocity, row, 2);
        most = larger(most, where(row_lanes(&around->liquid, row), out));
    })
    return largest(most);
}

// ------------------------------------------------------------------------------------- measures

/// The mean of a component's square over cells, from the values on their two faces.
INLINE f8 mean_square(f8 a, f8 b) {
    f8 low = choose(a == a, a, where(b == b, b)), high = choose(b == b, b, low);
    return (low * low + low * high + high * high) * (1.0f / 3.0f);
}

INLINE f8 row_speeds(const TileView velocity[3], int row, const int dim) {
    f8 sum = {};
#pragma GCC unroll 3
    for (int a = 0; a < dim; a++)
        sum += mean_square(load8(velocity[a].self + row * 8), beside(&velocity[a], row, 2 * a + 1));
    return sum;
}

static void speeds(const TileView velocity[3], const TileMask *cells, int dim, float *out) {
    EACH_ROW(cells, dim == 3 ? TILE : 1, {
        store8(out + row * 8,
               dim == 3 ? row_speeds(velocity, row, 3) : row_speeds(velocity, row, 2));
    })
}

const FaceKernels ISA(face_kernels) = {build, subtract, carry, outflow, speeds, grow, finish};
