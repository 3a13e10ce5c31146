#include "bodies/sums.h"

#define INLINE static inline __attribute__((always_inline))

/// As many doubles as a register holds, and as many floats.
#if defined(__AVX512F__)
enum { WIDE = 8 };
#elif defined(__AVX2__)
enum { WIDE = 4 };
#else
enum { WIDE = 2 };
#endif
typedef double wide __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
typedef float narrow __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef double d4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef float f4x __attribute__((vector_size(16), aligned(4), may_alias));

enum { MANY = 2 }; // registers of columns, each once for each axis: they stay while all rows go by

INLINE void pull_columns(const int dim, size_t count, const int many, int stride,
                         const double *factor, const float *rows, double *out) {
    wide sum[3][MANY] = {{{0}}};
    for (size_t n = 0; n < count; n++, rows += stride)
        for (int w = 0; w < many; w++) {
            const wide row = __builtin_convertvector(*(const narrow *)(rows + WIDE * w), wide);
            for (int a = 0; a < dim; a++) sum[a][w] += factor[(size_t)a * count + n] * row;
        }
    for (int a = 0; a < dim; a++)
        for (int w = 0; w < many; w++)
            *(wide *)(out + (ptrdiff_t)a * stride + WIDE * w) = sum[a][w];
}

/// Four columns.
INLINE void pull_four(const int dim, size_t count, int stride, const double *factor,
                      const float *rows, double *out) {
    d4 sum[3] = {{0}};
    for (size_t n = 0; n < count; n++, rows += stride) {
        const d4 row = __builtin_convertvector(*(const f4x *)rows, d4);
        for (int a = 0; a < dim; a++) sum[a] += factor[(size_t)a * count + n] * row;
    }
    for (int a = 0; a < dim; a++) *(d4 *)(out + (ptrdiff_t)a * stride) = sum[a];
}

INLINE void pull_of(const int dim, size_t count, int width, int stride, const double *factor,
                    const float *rows, double *out) {
    int i = 0;
    for (; i + MANY * WIDE <= width; i += MANY * WIDE)
        pull_columns(dim, count, MANY, stride, factor, rows + i, out + i);
    for (; i + WIDE <= width; i += WIDE)
        pull_columns(dim, count, 1, stride, factor, rows + i, out + i);
    for (; i + 4 <= width; i += 4) pull_four(dim, count, stride, factor, rows + i, out + i);
    for (; i < width; i++)
        for (int a = 0; a < dim; a++) {
            double sum = 0;
            for (size_t n = 0; n < count; n++)
                sum += factor[(size_t)a * count + n] * (double)rows[n * (size_t)stride + (size_t)i];
            out[a * stride + i] = sum;
        }
}

static void pull(int dim, size_t count, int width, int stride, const double *factor,
                 const float *rows, double *out) {
    if (dim == 3)
        pull_of(3, count, width, stride, factor, rows, out);
    else
        pull_of(2, count, width, stride, factor, rows, out);
}

/// A few rows at a time: their sums do not wait for one another.
INLINE void push_rows(const int dim, const int many, size_t count, int width, const float *rows,
                      const double *v, double *out) {
    d4 sum[3][2] = {{{0}}};
    int i = 0;
    for (; i + 4 <= width; i += 4)
        for (int n = 0; n < many; n++) {
            const d4 row =
                __builtin_convertvector(*(const f4x *)(rows + (ptrdiff_t)n * width + i), d4);
            for (int a = 0; a < dim; a++)
                sum[a][n] += row * *(const d4 *)(v + (ptrdiff_t)a * width + i);
        }
    for (int n = 0; n < many; n++)
        for (int a = 0; a < dim; a++) {
            double first = sum[a][n][0];
            for (int k = i; k < width; k++)
                first += (double)rows[(ptrdiff_t)n * width + k] * v[a * width + k];
            out[(size_t)a * count + (size_t)n] =
                (first + sum[a][n][1]) + (sum[a][n][2] + sum[a][n][3]);
        }
}

INLINE void push_of(const int dim, size_t count, int width, const float *rows, const double *v,
                    double *out) {
    size_t n = 0;
    for (; n + 2 <= count; n += 2)
        push_rows(dim, 2, count, width, rows + n * (size_t)width, v, out + n);
    for (; n < count; n++) push_rows(dim, 1, count, width, rows + n * (size_t)width, v, out + n);
}

static void push(int dim, size_t count, int width, const float *rows, const double *v,
                 double *out) {
    if (dim == 3)
        push_of(3, count, width, rows, v, out);
    else
        push_of(2, count, width, rows, v, out);
}

enum { SIXTEEN = SUM_PLACES / WIDE, TWO = 2 }; // registers of sixteen numbers; at a time

/// Sixteen places, as many at a time as registers hold their sums.
INLINE void mix_places(const int dim, int r, const float *places, const double *d, int count,
                       double *out) {
    for (int part = 0; part < SIXTEEN; part += TWO) {
        wide sum[3][TWO] = {{{0}}};
        const float *from = places + WIDE * part;
        for (int i = 0; i < r; i++, from += SUM_PLACES)
            for (int w = 0; w < TWO; w++) {
                const wide at = __builtin_convertvector(*(const narrow *)(from + WIDE * w), wide);
                for (int a = 0; a < dim; a++) sum[a][w] += d[a * r + i] * at;
            }
        for (int a = 0; a < dim; a++)
            for (int w = 0; w < TWO; w++)
                *(wide *)(out + (ptrdiff_t)a * count + WIDE * (part + w)) = sum[a][w];
    }
}

static void mix(int count, int dim, int r, const float *places, const double *d, double *out) {
    for (int n = 0; n < count; n += SUM_PLACES, places += r * SUM_PLACES)
        if (dim == 3)
            mix_places(3, r, places, d, count, out + n);
        else
            mix_places(2, r, places, d, count, out + n);
}

const SumKernels ISA(sum_kernels) = {pull, push, mix};
