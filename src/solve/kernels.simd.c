// Kernels of the Poisson solver, a row of eight cells at a time. Rows without unknowns are skipped.
#include "base/eight.h"
#include "solve/level.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wpsabi"

typedef int32_t i4x __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t u8x __attribute__((vector_size(32), aligned(4), may_alias));

/// {first, v0 .. v6}
INLINE f8 shift_up(float first, f8 v) {
    return __builtin_shufflevector((f8){first}, v, 0, 8, 9, 10, 11, 12, 13, 14);
}

/// {v1 .. v7, last}
INLINE f8 shift_down(f8 v, float last) {
    return __builtin_shufflevector(v, (f8){last}, 1, 2, 3, 4, 5, 6, 7, 8);
}

INLINE f4 even_lanes(f8 v) {
    return __builtin_shufflevector(v, v, 0, 2, 4, 6);
}

INLINE f4 odd_lanes(f8 v) {
    return __builtin_shufflevector(v, v, 1, 3, 5, 7);
}

INLINE f4 pair_sums(f8 v) {
    return even_lanes(v) + odd_lanes(v);
}

// Comparisons go by the bits of floats that are not negative: not every instruction set compares
// rows of eight in one go.

/// All ones in lanes of v > 0, for v >= 0.
INLINE i8x positive(f8 v) {
    return (0 - (i8x)v) >> 31;
}

/// Lane by lane the larger of m and |v|, for m >= 0. A NaN counts as larger than infinity.
INLINE f8 larger(f8 m, f8 v) {
    i8x difference = (i8x)m - ((i8x)v & 0x7fffffff);
    return (f8)((i8x)m - (difference & (difference >> 31)));
}

INLINE float largest(f8 v) {
    i8x bits = (i8x)v;
    int32_t most = 0;
    for (int i = 0; i < 8; i++) most = bits[i] > most ? bits[i] : most;
    union {
        int32_t bits;
        float value;
    } out = {most};
    return out.value;
}

INLINE float sum_lanes(f8 v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/// Lanes of the red cells (x + y + z even) of a row with y + z = parity; of the black ones for
/// parity + 1.
INLINE i8x red_lanes(int parity) {
    return (i8x){-1, 0, -1, 0, -1, 0, -1, 0} ^ -(parity & 1);
}

#define ALL_ROWS(depth) ((depth) > 1 ? ~(uint64_t)0 : (uint64_t)0xff)

/// Runs a statement for each row with unknowns: z, y, and i, its first cell. Full tiles have a loop
/// of their own, in which the choice between a tile and its neighbour is made by the compiler.
#define EACH_ROW(ROWS, DEPTH, ...)                                     \
    do {                                                               \
        if ((ROWS) == ALL_ROWS(DEPTH)) {                               \
            for (int z = 0; z < (DEPTH); z++) {                        \
                _Pragma("GCC unroll 8") for (int y = 0; y < 8; y++) {  \
                    const int i = z * 64 + y * 8;                      \
                    __VA_ARGS__                                        \
                }                                                      \
            }                                                          \
        } else {                                                       \
            for (uint64_t rows_ = (ROWS); rows_; rows_ &= rows_ - 1) { \
                const int row_ = __builtin_ctzll(rows_);               \
                const int z = row_ >> 3, y = row_ & 7, i = row_ * 8;   \
                __VA_ARGS__                                            \
            }                                                          \
        }                                                              \
    } while (0)

/// How much of a tile is uniform: nothing, the faces between unknowns, or everything. The kernels
/// are made for each of them, and those leave unread what is the same everywhere.
typedef enum Kind { MIXED, UNIFORM, REGULAR } Kind;

INLINE Kind kind_of(const Level *l, int slot) {
    return l->uniform[slot].diag > 0 ? REGULAR : l->uniform[slot].a > 0 ? UNIFORM : MIXED;
}

/// Calls a kernel for the tile's kind and depth: its last two arguments.
#define BY_KIND(level, slot, kernel, ...)     \
    switch (kind_of(level, slot)) {           \
    case REGULAR:                             \
        kernel(__VA_ARGS__, TILE, REGULAR);   \
        break;                                \
    case UNIFORM:                             \
        kernel(__VA_ARGS__, TILE, UNIFORM);   \
        break;                                \
    case MIXED:                               \
        if ((level)->grid->tile_depth > 1)    \
            kernel(__VA_ARGS__, TILE, MIXED); \
        else                                  \
            kernel(__VA_ARGS__, 1, MIXED);    \
    }

INLINE uint64_t rows_of(const Level *l, int slot, int depth, Kind kind) {
    return kind == REGULAR ? ALL_ROWS(depth) : l->rows[slot];
}

// ------------------------------------------------------------------ operator, with neighbours

/// A tile of a field, its six neighbours and the coefficients between them.
typedef struct View {
    const float *x, *xm, *xp, *ym, *yp, *zm, *zp;
    const float *ax, *axp, *ay, *ayp, *az, *azp; ///< the second: of the upper neighbour
    f8 a, diag;                                  ///< of a uniform and of a regular tile
} View;

INLINE const float *tile_of(const Level *l, const float *field, int slot) {
    return slot < 0 ? l->zeros : field + (size_t)slot * (size_t)l->grid->tile_cells;
}

INLINE View view(const Level *l, int slot, const float *field, int depth) {
    int32_t n[6];
    static const int offset[6] = {-1, 1, -3, 3, -9, 9};
    for (int k = 0; k < (depth > 1 ? 6 : 4); k++)
        n[k] = level_neighbour(l, slot, TILE_SELF + offset[k]);
    View v = {.x = tile_of(l, field, slot),
              .xm = tile_of(l, field, n[0]),
              .xp = tile_of(l, field, n[1]),
              .ym = tile_of(l, field, n[2]),
              .yp = tile_of(l, field, n[3]),
              .ax = level_faces(l, l->ax, slot),
              .axp = level_faces(l, l->ax, n[1]),
              .ay = level_faces(l, l->ay, slot),
              .ayp = level_faces(l, l->ay, n[3]),
              .a = (f8){} + l->uniform[slot].a,
              .diag = (f8){} + l->uniform[slot].diag};
    if (depth > 1) {
        v.zm = tile_of(l, field, n[4]);
        v.zp = tile_of(l, field, n[5]);
        v.az = level_faces(l, l->az, slot);
        v.azp = level_faces(l, l->az, n[5]);
    }
    return v;
}

/// Rows of the neighbours along y and z, and of the coefficients towards the upper ones.
typedef struct Around {
    const float *ym, *yp, *zm, *zp, *ayp, *azp;
} Around;

INLINE Around around(const View *v, int z, int y, int i, int depth) {
    Around a = {.ym = y > 0 ? v->x + i - 8 : v->ym + i + 56,
                .yp = y < 7 ? v->x + i + 8 : v->yp + i - 56,
                .ayp = y < 7 ? v->ay + i + 8 : v->ayp + i - 56};
    if (depth > 1) {
        a.zm = z > 0 ? v->x + i - 64 : v->zm + i + 448;
        a.zp = z < 7 ? v->x + i + 64 : v->zp + i - 448;
        a.azp = z < 7 ? v->az + i + 64 : v->azp + i - 448;
    }
    return a;
}

/// A x of a row, of which x is given. Cells that are no unknowns have x = 0, so that faces towards
/// them need not be told from others.
INLINE f8 apply_row(const View *v, const float *diag, f8 x, int z, int y, int i, int depth,
                    Kind kind) {
    Around n = around(v, z, y, i, depth);
    f8 xm = shift_up(v->xm[i + 7], x), xp = shift_down(x, v->xp[i]);
    if (kind != MIXED) {
        f8 sum = v->a * xm + v->a * xp;
        sum += v->a * load8(n.ym) + v->a * load8(n.yp);
        if (depth > 1) sum += v->a * load8(n.zm) + v->a * load8(n.zp);
        if (kind == REGULAR) return v->diag * x - sum;
        f8 d = load8(diag + i);
        return where(positive(d), d * x - sum);
    }
    f8 a = load8(v->ax + i);
    f8 sum = a * xm + shift_down(a, v->axp[i]) * xp;
    sum += load8(v->ay + i) * load8(n.ym) + load8(n.ayp) * load8(n.yp);
    if (depth > 1) sum += load8(v->az + i) * load8(n.zm) + load8(n.azp) * load8(n.zp);
    return load8(diag + i) * x - sum;
}

INLINE void apply_tile(const Level *l, int slot, const float *field, float *w, const float *r,
                       const float *s, TileDots *dots, int depth, Kind kind) {
    View v = view(l, slot, field, depth);
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    const float *diag = level_diag(l, slot);
    w += at, r += at, s += at;
    // Float sums over the tile's rows, 64 terms at most, double from there on.
    f8 ry = {}, yw = {}, ys = {};
    EACH_ROW(rows_of(l, slot, depth, kind), depth, {
        f8 x = load8(v.x + i);
        f8 ax = apply_row(&v, diag, x, z, y, i, depth, kind);
        store8(w + i, ax);
        ry += load8(r + i) * x;
        yw += ax * x;
        ys += load8(s + i) * x;
    });
    *dots = (TileDots){sum_lanes(ry), sum_lanes(yw), sum_lanes(ys)};
}

static void apply(const Level *l, int slot, const float *y, float *w, const float *r,
                  const float *s, TileDots *dots) {
    BY_KIND(l, slot, apply_tile, l, slot, y, w, r, s, dots)
}

/// Eight doubles.
#if defined(__AVX512F__)
typedef __m512d Wide;

INLINE Wide wide(f8 v) {
    return _mm512_cvtps_pd((__m256)v);
}

INLINE void add_product(Wide *sum, f8 a, f8 b) {
    *sum += wide(a) * wide(b);
}

INLINE f8 narrow(const Wide *v) {
    return (f8)_mm512_cvtpd_ps(*v);
}
#elif defined(__AVX2__)
typedef struct Wide {
    __m256d low, high;
} Wide;

INLINE Wide wide(f8 v) {
    return (Wide){_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)),
                  _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1))};
}

INLINE void add_product(Wide *sum, f8 a, f8 b) {
    Wide p = wide(a), q = wide(b);
    sum->low += p.low * q.low;
    sum->high += p.high * q.high;
}

INLINE f8 narrow(const Wide *v) {
    return (f8)_mm256_set_m128(_mm256_cvtpd_ps(v->high), _mm256_cvtpd_ps(v->low));
}
#else
typedef double Wide __attribute__((vector_size(64), aligned(8)));

INLINE Wide wide(f8 v) {
    return __builtin_convertvector(v, Wide);
}

INLINE void add_product(Wide *sum, f8 a, f8 b) {
    *sum += wide(a) * wide(b);
}

INLINE f8 narrow(const Wide *v) {
    return __builtin_convertvector(*v, f8);
}
#endif

/// b - A x of a row in double precision, rounded once.
INLINE f8 residual_row(const View *v, f8 b, const float *diag, int z, int y, int i, int depth,
                       Kind kind) {
    Around n = around(v, z, y, i, depth);
    const bool read = kind == MIXED; // else all faces between unknowns have the same coefficient
    f8 x = load8(v->x + i), d = kind == REGULAR ? v->diag : load8(diag + i);
    f8 a = read ? load8(v->ax + i) : v->a;
    Wide sum = wide(b);
    add_product(&sum, -d, x);
    add_product(&sum, a, shift_up(v->xm[i + 7], x));
    add_product(&sum, read ? shift_down(a, v->axp[i]) : a, shift_down(x, v->xp[i]));
    add_product(&sum, read ? load8(v->ay + i) : a, load8(n.ym));
    add_product(&sum, read ? load8(n.ayp) : a, load8(n.yp));
    if (depth > 1) {
        add_product(&sum, read ? load8(v->az + i) : a, load8(n.zm));
        add_product(&sum, read ? load8(n.azp) : a, load8(n.zp));
    }
    return kind == UNIFORM ? where(positive(d), narrow(&sum)) : narrow(&sum);
}

INLINE void residual_tile(const Level *l, int slot, const float *b, const float *field, float *r,
                          TileMost *out, int depth, Kind kind) {
    View v = view(l, slot, field, depth);
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    const float *diag = level_diag(l, slot);
    b += at, r += at;
    f8 most = {}, most_b = {};
    EACH_ROW(rows_of(l, slot, depth, kind), depth, {
        f8 rhs = load8(b + i), rest = residual_row(&v, rhs, diag, z, y, i, depth, kind);
        store8(r + i, rest);
        most = larger(most, rest);
        most_b = larger(most_b, rhs);
    });
    *out = (TileMost){largest(most), largest(most_b)};
}

static TileMost residual(const Level *l, int slot, const float *b, const float *x, float *r) {
    TileMost most = {0, 0};
    BY_KIND(l, slot, residual_tile, l, slot, b, x, r, &most)
    return most;
}

// ----------------------------------------------------------------------------------- smoother

enum { PLANE = 80, FIRST = PLANE + 8 }; ///< scratch: a border of zero rows around the tile's rows

/// The tile's rows inside a border of zeros.
typedef struct Scratch {
    float v[10 * PLANE] __attribute__((aligned(64)));
} Scratch;

/// Zeros around a full tile, or everywhere around and between the rows of another.
INLINE void clear_scratch(Scratch *t, uint64_t rows, int depth) {
    const int planes = depth > 1 ? depth + 2 : 2;
    if (rows != ALL_ROWS(depth)) {
        for (int i = 0; i < planes * PLANE; i += 8) store8(t->v + i, (f8){});
        return;
    }
    for (int i = 0; i < PLANE; i += 8) {
        store8(t->v + i, (f8){});
        if (depth > 1) store8(t->v + (depth + 1) * PLANE + i, (f8){});
    }
    for (int z = 1; z <= depth; z++) {
        store8(t->v + z * PLANE, (f8){});
        store8(t->v + z * PLANE + 72, (f8){});
    }
}

/// Coefficients of a tile.
typedef struct Faces {
    const float *ax, *ay, *az, *inverse;
    f8 a, regular_inverse; ///< of a uniform and of a regular tile
} Faces;

/// Sum of coefficient times neighbour over the neighbours inside the tile; t is the row in scratch.
/// At the upper sides any coefficient does: the neighbour there is zero.
INLINE f8 inner_neighbours(const Faces *f, const float *t, int z, int y, int i, int depth,
                           Kind kind) {
    f8 x = load8(t), xm = shift_up(0, x), xp = shift_down(x, 0);
    if (kind != MIXED) {
        f8 sum = f->a * xm + f->a * xp;
        sum += f->a * load8(t - 8) + f->a * load8(t + 8);
        return sum + (f->a * load8(t - PLANE) + f->a * load8(t + PLANE));
    }
    f8 a = load8(f->ax + i);
    f8 sum = a * xm + shift_down(a, 0) * xp;
    sum += load8(f->ay + i) * load8(t - 8) + load8(f->ay + i + 8 * (y < 7)) * load8(t + 8);
    if (depth > 1)
        sum += load8(f->az + i) * load8(t - PLANE) +
               load8(f->az + i + 64 * (z < 7)) * load8(t + PLANE);
    return sum;
}

/// 1 / diag in the red lanes of a row with y + z = parity.
INLINE f8 red_inverse(const Faces *f, int i, int parity, Kind kind) {
    f8 inverse = f->regular_inverse;
    if (kind != REGULAR) inverse = load8(f->inverse + i);
    return where(red_lanes(parity), inverse);
}

/// A row after a half sweep, from the tile in scratch: of the red cells if parity is z + y.
INLINE f8 relaxed(const Faces *f, const float *b, const float *t, int z, int y, int i, int parity,
                  int depth, Kind kind) {
    const f8 sum = load8(b + i) + inner_neighbours(f, t, z, y, i, depth, kind);
    return where(~red_lanes(parity), load8(t)) + sum * red_inverse(f, i, parity, kind);
}

/// out = add + S b; `b`, `add` and `out` point to the tile, add may be NULL for zero.
INLINE void smooth_tile(const Level *l, int slot, const float *b, const float *add, float *out,
                        int depth, Kind kind) {
    const uint64_t rows = rows_of(l, slot, depth, kind);
    const Faces f = {level_faces(l, l->ax, slot),
                     level_faces(l, l->ay, slot),
                     depth > 1 ? level_faces(l, l->az, slot) : NULL,
                     level_inverse(l, slot),
                     (f8){} + l->uniform[slot].a,
                     1 / ((f8){} + l->uniform[slot].diag)};
    Scratch red, both;
    clear_scratch(&red, rows, depth);
    clear_scratch(&both, rows, depth);
    EACH_ROW(rows, depth, {
        const int t = FIRST + z * PLANE + y * 8;
        store8(red.v + t, load8(b + i) * red_inverse(&f, i, z + y, kind));
    });
    EACH_ROW(rows, depth, {
        const int t = FIRST + z * PLANE + y * 8;
        f8 sum = load8(b + i) + inner_neighbours(&f, red.v + t, z, y, i, depth, kind);
        store8(both.v + t, load8(red.v + t) + sum * red_inverse(&f, i, z + y + 1, kind));
    });
    if (l->longer) {
        for (int k = 0; k < LEVEL_LONGER; k++) {
            EACH_ROW(rows, depth, {
                const int t = FIRST + z * PLANE + y * 8;
                store8(red.v + t, relaxed(&f, b, both.v + t, z, y, i, z + y, depth, kind));
            });
            EACH_ROW(rows, depth, {
                const int t = FIRST + z * PLANE + y * 8;
                store8(both.v + t, relaxed(&f, b, red.v + t, z, y, i, z + y + 1, depth, kind));
            });
        }
        EACH_ROW(rows, depth, {
            const int t = FIRST + z * PLANE + y * 8;
            f8 value = relaxed(&f, b, both.v + t, z, y, i, z + y, depth, kind);
            if (add) value = load8(add + i) + value;
            store8(out + i, value);
        });
        return;
    }
    EACH_ROW(rows, depth, {
        const int t = FIRST + z * PLANE + y * 8;
        f8 sum = inner_neighbours(&f, both.v + t, z, y, i, depth, kind);
        f8 value = load8(both.v + t) + sum * red_inverse(&f, i, z + y, kind);
        if (add) value = load8(add + i) + value;
        store8(out + i, value);
    });
}

static void smooth(const Level *l, int slot, const float *b, float *z) {
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    BY_KIND(l, slot, smooth_tile, l, slot, b + at, NULL, z + at)
}

INLINE void correct_tile(const Level *l, int slot, const float *b, const float *field, float *out,
                         int depth, Kind kind) {
    View v = view(l, slot, field, depth);
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    const float *diag = level_diag(l, slot);
    float r[512] __attribute__((aligned(64)));
    b += at;
    EACH_ROW(rows_of(l, slot, depth, kind), depth, {
        f8 ax = apply_row(&v, diag, load8(v.x + i), z, y, i, depth, kind);
        store8(r + i, load8(b + i) - ax);
    });
    smooth_tile(l, slot, r, field + at, out + at, depth, kind);
}

static void correct(const Level *l, int slot, const float *b, const float *z,
                    float *y){BY_KIND(l, slot, correct_tile, l, slot, b, z, y)}

// ---------------------------------------------------------------------------------- transfers

INLINE void restrict_tile(const Level *l, int slot, const float *b, const float *field,
                          float *coarse, int depth, Kind kind) {
    View v = view(l, slot, field, depth);
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    const float *diag = level_diag(l, slot);
    f8 sums[16] = {};
    b += at;
    EACH_ROW(rows_of(l, slot, depth, kind), depth, {
        f8 r = load8(b + i) - apply_row(&v, diag, load8(v.x + i), z, y, i, depth, kind);
        sums[(z >> 1) * 4 + (y >> 1)] += r;
    });
    for (int k = 0; k < (depth > 1 ? 16 : 4); k++)
        *(f4 *)(coarse + (k >> 2) * 64 + (k & 3) * 8) = pair_sums(sums[k]);
}

static void restrict_residual(const Level *l, int slot, const float *b, const float *z,
                              float *coarse) {
    BY_KIND(l, slot, restrict_tile, l, slot, b, z, coarse)
}

static void prolong(const Level *l, int slot, const float *coarse, float *out) {
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    const float *inverse = level_inverse(l, slot);
    const bool regular = kind_of(l, slot) == REGULAR;
    out += at;
    for (uint64_t rows = l->rows[slot]; rows; rows &= rows - 1) {
        int row = __builtin_ctzll(rows), i = row * 8;
        f4 c = *(const f4 *)(coarse + (row >> 4) * 64 + (row >> 1 & 3) * 8);
        f8 twice = __builtin_shufflevector(c, c, 0, 0, 1, 1, 2, 2, 3, 3);
        if (!regular) twice = where(positive(load8(inverse + i)), twice);
        store8(out + i, load8(out + i) + twice);
    }
}

static float update(uint64_t rows, float alpha, float beta, const float *y, const float *w,
                    float *p, float *s, float *x, float *r) {
    f8 most = {};
    for (; rows; rows &= rows - 1) {
        int i = __builtin_ctzll(rows) * 8;
        f8 direction = load8(y + i) + beta * load8(p + i);
        f8 image = load8(w + i) + beta * load8(s + i);
        f8 rest = load8(r + i) - alpha * image;
        store8(p + i, direction);
        store8(s + i, image);
        store8(x + i, load8(x + i) + alpha * direction);
        store8(r + i, rest);
        most = larger(most, rest);
    }
    return largest(most);
}

// ------------------------------------------------------------------------------------- set-up

static uint64_t invert(const Level *l, int slot) {
    size_t at = (size_t)slot * (size_t)l->grid->tile_cells;
    uint64_t rows = 0;
    for (int row = 0; row < l->grid->tile_rows; row++) {
        f8 d = load8(l->diag + at + row * 8);
        i8x unknown = positive(d);
        store8(l->inverse + at + row * 8, where(unknown, 1 / d));
        uint64_t any = 0;
        for (int k = 0; k < 8; k += 2) any |= (uint64_t)(unknown[k] | unknown[k + 1]);
        rows |= (any & 1) << row;
    }
    return rows;
}

/// The six faces of the cells of a row, lower and upper along x, y, z: coefficients, and all ones
/// where there are unknowns on both sides.
typedef struct RowFaces {
    f8 a[6];
    i8x open[6];
} RowFaces;

/// v: of diag.
INLINE RowFaces row_faces(const View *v, int z, int y, int i) {
    Around n = around(v, z, y, i, TILE);
    f8 d = load8(v->x + i), ax = load8(v->ax + i);
    i8x unknown = positive(d);
    return (RowFaces){.a = {ax, shift_down(ax, v->axp[i]), load8(v->ay + i), load8(n.ayp),
                            load8(v->az + i), load8(n.azp)},
                      .open = {unknown & positive(shift_up(v->xm[i + 7], d)),
                               unknown & positive(shift_down(d, v->xp[i])),
                               unknown & positive(load8(n.ym)), unknown & positive(load8(n.yp)),
                               unknown & positive(load8(n.zm)), unknown & positive(load8(n.zp))}};
}

INLINE bool any_bit(i8x v) {
    int32_t any = 0;
    for (int i = 0; i < 8; i++) any |= v[i];
    return any != 0;
}

static Uniform uniform(const Level *l, int slot) {
    if (l->grid->tile_depth == 1) return (Uniform){0, 0};
    View v = view(l, slot, l->diag, TILE);
    f8 most = {};
    EACH_ROW(l->rows[slot], TILE, {
        RowFaces f = row_faces(&v, z, y, i);
        for (int k = 0; k < 6; k++) most = larger(most, f.a[k]);
    });
    const f8 a = (f8){} + largest(most), diag = (f8){} + v.x[0];
    i8x off = {}, differs = {};
    EACH_ROW(l->rows[slot], TILE, {
        RowFaces f = row_faces(&v, z, y, i);
        for (int k = 0; k < 6; k++) {
            off |= (i8x)f.a[k] ^ (i8x)where(f.open[k], a);
            differs |= ~f.open[k];
        }
        differs |= (i8x)load8(v.x + i) ^ (i8x)diag;
    });
    if (any_bit(off)) return (Uniform){0, 0};
    return (Uniform){a[0], ~l->rows[slot] || any_bit(differs) ? 0 : diag[0]};
}

/// Rows 0 to 3 and 4 to 7 of a plane; lane x holds the bits of column x.
typedef struct PlaneBits {
    u8x rows[2];
} PlaneBits;

INLINE void set_bits(PlaneBits *plane, i8x lanes, int y) {
    plane->rows[y >> 2] |= (u8x)lanes & ((u8x){1, 2, 4, 8, 16, 32, 64, 128} << (8 * (y & 3)));
}

INLINE uint64_t plane_bits(const PlaneBits *plane) {
    uint32_t low = 0, high = 0;
    for (int i = 0; i < 8; i++) low |= plane->rows[0][i], high |= plane->rows[1][i];
    return (uint64_t)high << 32 | low;
}

INLINE void links_tile(const Level *l, int slot, TileLinks *out, int depth) {
    // Any field does for the view: of it only the tile itself is read.
    View v = view(l, slot, l->diag, depth);
    for (int z = 0; z < depth; z++) {
        PlaneBits unknown = {}, fx = {}, fy = {}, fz = {}, anchored = {};
#pragma GCC unroll 8
        for (int y = 0; y < 8; y++) {
            const int i = z * 64 + y * 8;
            Around n = around(&v, z, y, i, depth);
            f8 d = load8(v.x + i), a = load8(v.ax + i), b = load8(v.ay + i);
            f8 faces = (a + shift_down(a, v.axp[i])) + (b + load8(n.ayp));
            set_bits(&unknown, positive(d), y);
            set_bits(&fx, positive(a), y);
            set_bits(&fy, positive(b), y);
            if (depth > 1) {
                f8 c = load8(v.az + i);
                faces += c + load8(n.azp);
                set_bits(&fz, positive(c), y);
            }
            set_bits(&anchored, (i8x)(LEVEL_ANCHOR * d - (d - faces)) >> 31, y);
        }
        out->unknown.plane[z] = plane_bits(&unknown);
        out->x.plane[z] = plane_bits(&fx);
        out->y.plane[z] = plane_bits(&fy);
        out->z.plane[z] = plane_bits(&fz);
        out->anchored.plane[z] = plane_bits(&anchored);
    }
}

static void links(const Level *l, int slot, TileLinks *out) {
    *out = (TileLinks){0};
    if (l->grid->tile_depth > 1)
        links_tile(l, slot, out, TILE);
    else
        links_tile(l, slot, out, 1);
}

/// Sum of the two (2D) or four rows of a coarse row.
INLINE f8 four_rows(const float *p, int depth) {
    f8 sum = load8(p) + load8(p + 8);
    if (depth > 1) sum += load8(p + 64) + load8(p + 72);
    return sum;
}

/// Coarse sums over one row (2D) or two, `step` apart.
INLINE f4 two_rows(const float *p, int step, int depth) {
    f8 sum = load8(p);
    if (depth > 1) sum += load8(p + step);
    return pair_sums(sum);
}

INLINE void coarsen_tile(const Level *fine, int slot, const CoarseBlock *to, int depth) {
    size_t at = (size_t)slot * (size_t)fine->grid->tile_cells;
    for (int z = 0; z < depth; z += 2)
        for (int y = 0; y < 8; y += 2) {
            size_t i = at + (size_t)(z * 64 + y * 8);
            int o = z / 2 * 64 + y / 2 * 8;
            f8 x_faces = four_rows(fine->ax + i, depth);
            f4 whole = pair_sums(four_rows(fine->diag + i, depth));
            f4 inside = odd_lanes(x_faces) + two_rows(fine->ay + i + 8, 64, depth);
            *(f4 *)(to->ax + o) = 0.5f * even_lanes(x_faces);
            *(f4 *)(to->ay + o) = 0.5f * two_rows(fine->ay + i, 64, depth);
            if (depth > 1) {
                inside += two_rows(fine->az + i + 64, 8, depth);
                *(f4 *)(to->az + o) = 0.5f * two_rows(fine->az + i, 8, depth);
            }
            f4 diag = 0.5f * whole - inside;
            *(f4 *)(to->diag + o) = (f4)((i4x)diag & (diag > LEVEL_ROUNDING * whole));
        }
}

static void coarsen(const Level *fine, int slot, const CoarseBlock *to) {
    if (fine->grid->tile_depth > 1)
        coarsen_tile(fine, slot, to, TILE);
    else
        coarsen_tile(fine, slot, to, 1);
}

const PoissonKernels ISA(poisson_kernels) = {
    .invert = invert,
    .uniform = uniform,
    .links = links,
    .coarsen = coarsen,
    .smooth = smooth,
    .correct = correct,
    .restrict_residual = restrict_residual,
    .prolong = prolong,
    .apply = apply,
    .update = update,
    .residual = residual,
};
