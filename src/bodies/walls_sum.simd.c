#include "bodies/walls_sum.h"

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
INLINE void pull_columns(size_t count, const int many, int width, const double *factor,
                         const float *rows, double *out) {
    wide sum[MANY] = {{0}};
    for (size_t n = 0; n < count; n++, rows += width)
        for (int w = 0; w < many; w++)
            sum[w] += factor[n] * __builtin_convertvector(*(const narrow *)(rows + WIDE * w), wide);
    for (int w = 0; w < many; w++) *(wide *)(out + WIDE * w) = sum[w];
}

static void pull(size_t count, int width, const double *factor, const float *rows, double *out) {
    int i = 0;
    for (; i + MANY * WIDE <= width; i += MANY * WIDE)
        pull_columns(count, MANY, width, factor, rows + i, out + i);
    for (; i + WIDE <= width; i += WIDE) pull_columns(count, 1, width, factor, rows + i, out + i);
    for (; i < width; i++) {
        out[i] = 0;
        for (size_t n = 0; n < count; n++)
            out[i] += factor[n] * (double)rows[n * (size_t)width + (size_t)i];
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

const WallKernels ISA(wall_kernels) = {pull, push};
