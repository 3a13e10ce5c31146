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

enum { MANY = 8 };

/// `many` registers of columns stay there while all rows go by.
INLINE void pull_columns(size_t count, const int many, int stride, const double *factor,
                         const float *rows, double *out) {
    wide sum[MANY] = {{0}};
    for (size_t n = 0; n < count; n++, rows += stride)
        for (int w = 0; w < many; w++)
            sum[w] += factor[n] * __builtin_convertvector(*(const narrow *)(rows + WIDE * w), wide);
    for (int w = 0; w < many; w++) *(wide *)(out + WIDE * w) = sum[w];
}

static void pull(size_t count, int width, int stride, const double *factor, const float *rows,
                 double *out) {
    int i = 0;
    for (; i + MANY * WIDE <= width; i += MANY * WIDE)
        pull_columns(count, MANY, stride, factor, rows + i, out + i);
    for (; i + WIDE <= width; i += WIDE) pull_columns(count, 1, stride, factor, rows + i, out + i);
    for (; i < width; i++) {
        out[i] = 0;
        for (size_t n = 0; n < count; n++)
            out[i] += factor[n] * (double)rows[n * (size_t)stride + (size_t)i];
    }
}

typedef double d4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef float f4x __attribute__((vector_size(16), aligned(4), may_alias));

/// A few rows at a time: their sums do not wait for one another.
INLINE void push_rows(const int many, int width, const float *rows, const double *v, double *out) {
    d4 sum[4] = {{0}};
    int i = 0;
    for (; i + 4 <= width; i += 4) {
        const d4 with = *(const d4 *)(v + i);
        for (int n = 0; n < many; n++)
            sum[n] +=
                __builtin_convertvector(*(const f4x *)(rows + (ptrdiff_t)n * width + i), d4) * with;
    }
    for (int n = 0; n < many; n++) {
        double first = sum[n][0];
        for (int k = i; k < width; k++) first += (double)rows[(ptrdiff_t)n * width + k] * v[k];
        out[n] = (first + sum[n][1]) + (sum[n][2] + sum[n][3]);
    }
}

static void push(size_t count, int width, const float *rows, const double *v, double *out) {
    size_t n = 0;
    for (; n + 4 <= count; n += 4) push_rows(4, width, rows + n * (size_t)width, v, out + n);
    for (; n < count; n++) push_rows(1, width, rows + n * (size_t)width, v, out + n);
}

enum { EIGHT = 8 / WIDE }; // registers of eight numbers

/// A few rows at a time, `dim` sums each.
INLINE void mix_rows(const int many, const int dim, int r, const float *rows, const double *d,
                     double *out) {
    wide sum[2][3][EIGHT] = {{{{0}}}};
    int i = 0;
    for (; i + 8 <= r; i += 8)
        for (int w = 0; w < EIGHT; w++)
            for (int n = 0; n < many; n++) {
                const float *from = rows + (ptrdiff_t)n * r + i + WIDE * w;
                const wide row = __builtin_convertvector(*(const narrow *)from, wide);
                for (int a = 0; a < dim; a++)
                    sum[n][a][w] += row * *(const wide *)(d + (ptrdiff_t)a * r + i + WIDE * w);
            }
    for (int n = 0; n < many; n++)
        for (int a = 0; a < 3; a++) {
            double s[8];
            for (int k = 0; k < 8; k++) s[k] = a < dim ? sum[n][a][k / WIDE][k % WIDE] : 0;
            for (int k = i; k < r && a < dim; k++)
                s[0] += (double)rows[(ptrdiff_t)n * r + k] * d[a * r + k];
            out[3 * n + a] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        }
}

static void mix(size_t count, int dim, int r, const float *rows, const double *d, double *out) {
    size_t n = 0;
    for (; n + 2 <= count && dim == 3; n += 2)
        mix_rows(2, 3, r, rows + n * (size_t)r, d, out + 3 * n);
    for (; n < count && dim == 3; n++) mix_rows(1, 3, r, rows + n * (size_t)r, d, out + 3 * n);
    for (; n < count; n++) mix_rows(1, 2, r, rows + n * (size_t)r, d, out + 3 * n);
}

INLINE void add_of(const int dim, const int corners, int r, const float *factor,
                   const float *const *rows, float *to) {
    int i = 0;
    for (; i + 8 <= r; i += 8)
        for (int a = 0; a < dim; a++) {
            f8 *at = (f8 *)(to + (ptrdiff_t)a * r + i), sum = *at;
            for (int k = 0; k < corners; k++) sum += factor[a] * *(const f8 *)(rows[k] + i);
            *at = sum;
        }
    for (; i < r; i++)
        for (int a = 0; a < dim; a++)
            for (int k = 0; k < corners; k++) to[a * r + i] += factor[a] * rows[k][i];
}

static void add(int dim, int corners, int r, const float *factor, const float *const *rows,
                float *to) {
    if (dim == 3 && corners == 3)
        add_of(3, 3, r, factor, rows, to);
    else
        add_of(dim, corners, r, factor, rows, to);
}

const SumKernels ISA(sum_kernels) = {pull, push, mix, add};
