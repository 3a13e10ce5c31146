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

enum { MANY = WIDE == 8 ? 4 : 8 };

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

/// Eight functions, or fewer one by one, stay in registers while all rows go by.
INLINE void add_of(const int dim, int count, int r, float (*factor)[3], const float *const *rows,
                   float *to) {
    int i = 0;
    for (; i + 8 <= r; i += 8) {
        f8 sum[3];
        for (int a = 0; a < dim; a++) sum[a] = *(const f8 *)(to + (ptrdiff_t)a * r + i);
        for (int n = 0; n < count; n++) {
            const f8 row = *(const f8 *)(rows[n] + i);
            for (int a = 0; a < dim; a++) sum[a] += factor[n][a] * row;
        }
        for (int a = 0; a < dim; a++) *(f8 *)(to + (ptrdiff_t)a * r + i) = sum[a];
    }
    for (; i < r; i++)
        for (int a = 0; a < dim; a++) {
            float sum = to[a * r + i];
            for (int n = 0; n < count; n++) sum += factor[n][a] * rows[n][i];
            to[a * r + i] = sum;
        }
}

static void add(int dim, int count, int r, float (*factor)[3], const float *const *rows,
                float *to) {
    dim == 3 ? add_of(3, count, r, factor, rows, to) : add_of(2, count, r, factor, rows, to);
}

const SumKernels ISA(sum_kernels) = {pull, push, mix, add};
