#include "elastic/rows.h"
#include <stdbool.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

/// As many doubles as a register holds: compilers take wider vectors apart in memory.
#if defined(__AVX512F__)
enum { WIDE = 8, FOUR_WIDE = 3 };
#elif defined(__AVX2__)
enum { WIDE = 4, FOUR_WIDE = 2 };
#else
enum { WIDE = 2, FOUR_WIDE = 2 };
#endif
typedef double wide __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
typedef double half __attribute__((vector_size(4 * WIDE), aligned(8), may_alias));

/// Registers of columns that one row has, and those of which four rows have FOUR_WIDE.
enum { ROW_WIDE = 4 };

/// `many` registers of columns stay there while all rows go by.
INLINE void add_tile(double *row, const int many, double sign, const double *factor, int step,
                     const double *rows, int stride, int count) {
    wide sum[ROW_WIDE];
    for (int w = 0; w < many; w++) sum[w] = *(const wide *)(row + WIDE * w);
    for (int k = 0; k < count; k++) {
        double f = sign * factor[(ptrdiff_t)k * step];
        const double *from = rows + (ptrdiff_t)k * stride;
        for (int w = 0; w < many; w++) sum[w] += f * *(const wide *)(from + WIDE * w);
    }
    for (int w = 0; w < many; w++) *(wide *)(row + WIDE * w) = sum[w];
}

static void add(double *row, int n, double sign, const double *factor, int step, const double *rows,
                int stride, int count) {
    int j = 0;
    for (; j + ROW_WIDE * WIDE <= n; j += ROW_WIDE * WIDE)
        add_tile(row + j, ROW_WIDE, sign, factor, step, rows + j, stride, count);
    for (; j + WIDE <= n; j += WIDE)
        add_tile(row + j, 1, sign, factor, step, rows + j, stride, count);
    for (; j < n; j++) {
        double sum = row[j];
        for (int k = 0; k < count; k++)
            sum += sign * factor[(ptrdiff_t)k * step] * rows[(ptrdiff_t)k * stride + j];
        row[j] = sum;
    }
}

/// What four rows are made of, for tiles of their columns.
typedef struct Four {
    double *out;
    const double *factor, *rows;
    ptrdiff_t apart, beside, step, stride;
    int count;
} Four;

/// Columns from j on, `many` times as wide as a VECTOR.
#define FOUR_TILE(NAME, VECTOR, LENGTH)                                                    \
    INLINE void NAME(const Four *t, int j, const int many, const bool minus) {             \
        VECTOR sum[FOUR][FOUR_WIDE];                                                       \
        const double *factor = t->factor, *rows = t->rows + j;                             \
        for (int i = 0; i < FOUR; i++)                                                     \
            for (int w = 0; w < many; w++)                                                 \
                sum[i][w] = *(const VECTOR *)(t->out + i * t->apart + j + LENGTH * w);     \
        for (int k = 0; k < t->count; k++, factor += t->step, rows += t->stride) {         \
            VECTOR from[FOUR_WIDE];                                                        \
            for (int w = 0; w < many; w++) from[w] = *(const VECTOR *)(rows + LENGTH * w); \
            for (int i = 0; i < FOUR; i++) {                                               \
                const double f = factor[i * t->beside];                                    \
                for (int w = 0; w < many; w++)                                             \
                    sum[i][w] = minus ? sum[i][w] - f * from[w] : sum[i][w] + f * from[w]; \
            }                                                                              \
        }                                                                                  \
        for (int i = 0; i < FOUR; i++)                                                     \
            for (int w = 0; w < many; w++)                                                 \
                *(VECTOR *)(t->out + i * t->apart + j + LENGTH * w) = sum[i][w];           \
    }
FOUR_TILE(four_wide, wide, WIDE)
FOUR_TILE(four_half, half, (WIDE / 2))

INLINE void four_rows(const Four *t, int n, const bool minus) {
    int j = 0;
    for (; j + FOUR_WIDE * WIDE <= n; j += FOUR_WIDE * WIDE) four_wide(t, j, FOUR_WIDE, minus);
    for (; j + WIDE <= n; j += WIDE) four_wide(t, j, 1, minus);
    for (; WIDE > 2 && j + WIDE / 2 <= n; j += WIDE / 2) four_half(t, j, 1, minus);
    for (; j < n; j++)
        for (int i = 0; i < FOUR; i++) {
            double sum = t->out[i * t->apart + j];
            for (int k = 0; k < t->count; k++) {
                double x = t->factor[i * t->beside + k * t->step] * t->rows[k * t->stride + j];
                sum = minus ? sum - x : sum + x;
            }
            t->out[i * t->apart + j] = sum;
        }
}

static void add_four(double *out, int apart, int n, int sign, const double *factor, int beside,
                     int step, const double *rows, int stride, int count) {
    const Four t = {out, factor, rows, apart, beside, step, stride, count};
    if (sign < 0)
        four_rows(&t, n, true);
    else
        four_rows(&t, n, false);
}

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

INLINE double dot_of(const double *a, const double *b, int n) {
    quad sum = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4) sum += *(const quad *)(a + i) * *(const quad *)(b + i);
    double first = sum[0];
    for (; i < n; i++) first += a[i] * b[i];
    return (first + sum[1]) + (sum[2] + sum[3]);
}

static double dot(const double *a, const double *b, int n) {
    return dot_of(a, b, n);
}

/// x of the first row of an upper triangle, taken out of the others.
INLINE void eliminate(const double *u, int n, int k, int end, double *x) {
    const double *row = u + (size_t)k * (size_t)n;
    x[k] /= row[k];
    for (int j = k + 1; j < end; j++) x[j] -= row[j] * x[k];
}

/// x of a row; what is beyond `end` is in `beyond`.
INLINE void substitute(const double *u, int n, int k, int end, double beyond, double *x) {
    const double *row = u + (size_t)k * (size_t)n;
    double sum = beyond;
    for (int j = k + 1; j < end; j++) sum += row[j] * x[j];
    x[k] = (x[k] - sum) / row[k];
}

/// Four rows at a time: each number of x beyond them is read once for all.
static void solve(const double *u, int n, double *x) {
    const int fours = n / FOUR * FOUR;
    for (int k = 0; k < fours; k += FOUR) {
        const double *r = u + (size_t)k * (size_t)n, *s = r + n, *t = s + n, *w = t + n;
        for (int i = k; i < k + FOUR; i++) eliminate(u, n, i, k + FOUR, x);
        const double a = x[k], b = x[k + 1], c = x[k + 2], d = x[k + 3];
        for (int j = k + FOUR; j < n; j++) x[j] = x[j] - r[j] * a - s[j] * b - t[j] * c - w[j] * d;
    }
    for (int k = fours; k < n; k++) eliminate(u, n, k, n, x);
    for (int k = n - 1; k >= fours; k--) substitute(u, n, k, n, 0, x);
    for (int k = fours - FOUR; k >= 0; k -= FOUR) {
        const double *row = u + (size_t)k * (size_t)n;
        quad sum[FOUR] = {{0}};
        for (int j = k + FOUR; j < fours; j += 4)
            for (int i = 0; i < FOUR; i++)
                sum[i] += *(const quad *)(row + (ptrdiff_t)i * n + j) * *(const quad *)(x + j);
        for (int i = FOUR - 1; i >= 0; i--) {
            double beyond = (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
            for (int j = fours; j < n; j++) beyond += row[(ptrdiff_t)i * n + j] * x[j];
            substitute(u, n, k + i, k + FOUR, beyond, x);
        }
    }
}

const RowKernels ISA(row_kernels) = {add, add_four, dot, solve};
