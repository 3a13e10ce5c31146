#include "elastic/rows.h"
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

typedef double d8 __attribute__((vector_size(64), aligned(8), may_alias));

/// `wide` times eight columns stay in registers while all rows go by.
INLINE void add_tile(double *row, const int wide, double sign, const double *factor, int step,
                     const double *rows, int stride, int count) {
    d8 sum[4];
    for (int w = 0; w < wide; w++) sum[w] = *(const d8 *)(row + 8 * w);
    for (int k = 0; k < count; k++) {
        double f = sign * factor[(ptrdiff_t)k * step];
        const double *from = rows + (ptrdiff_t)k * stride;
        for (int w = 0; w < wide; w++) sum[w] += f * *(const d8 *)(from + 8 * w);
    }
    for (int w = 0; w < wide; w++) *(d8 *)(row + 8 * w) = sum[w];
}

static void add(double *row, int n, double sign, const double *factor, int step, const double *rows,
                int stride, int count) {
    int j = 0;
    for (; j + 32 <= n; j += 32) add_tile(row + j, 4, sign, factor, step, rows + j, stride, count);
    for (; j + 8 <= n; j += 8) add_tile(row + j, 1, sign, factor, step, rows + j, stride, count);
    for (; j < n; j++) {
        double sum = row[j];
        for (int k = 0; k < count; k++)
            sum += sign * factor[(ptrdiff_t)k * step] * rows[(ptrdiff_t)k * stride + j];
        row[j] = sum;
    }
}

const RowKernels ISA(row_kernels) = {add};
