#include "elastic/sparse.h"
#include "base/memory.h"
#include "elastic/rows.h"
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/// Sorts and drops doubles; how many are left.
static int unique(int32_t *list, int n) {
    int out = 0;
    qsort(list, (size_t)n, sizeof *list, by_number);
    for (int i = 0; i < n; i++)
        if (out == 0 || list[out - 1] != list[i]) list[out++] = list[i];
    return out;
}

/// element_start [count + 1], element_of: the elements of each node.
typedef struct Elements {
    int32_t *start, *of;
} Elements;

static bool find_elements(Elements *e, int count, const int32_t *node, int elements,
                          int per_element) {
    size_t entries = (size_t)elements * (size_t)per_element;
    e->start = memory_zero(((size_t)count + 2) * sizeof *e->start);
    e->of = memory_new(entries * sizeof *e->of);
    if (!e->start || !e->of) return false;
    for (size_t i = 0; i < entries; i++)
        if (node[i] >= 0) e->start[node[i] + 2]++;
    for (int i = 0; i < count; i++) e->start[i + 2] += e->start[i + 1];
    for (size_t i = 0; i < entries; i++)
        if (node[i] >= 0) e->of[e->start[node[i] + 1]++] = (int32_t)(i / (size_t)per_element);
    return true;
}

bool sparse_pattern(Sparse *m, int dim, int count, const int32_t *node, int elements,
                    int per_element) {
    Elements e = {0};
    size_t room = 0;
    int32_t *near = NULL;
    size_t near_room = 0;
    *m = (Sparse){.dim = dim, .count = count};
    m->start = memory_zero(((size_t)count + 1) * sizeof *m->start);
    bool ok = m->start && find_elements(&e, count, node, elements, per_element);
    for (int i = 0; ok && i < count; i++) {
        int n = 0;
        size_t most = (size_t)(e.start[i + 1] - e.start[i]) * (size_t)per_element + 1;
        ok = memory_grow((void **)&near, &near_room, sizeof *near, most, 0);
        if (ok) near[n++] = i;
        for (int k = e.start[i]; ok && k < e.start[i + 1]; k++)
            for (int j = 0; j < per_element; j++) {
                int32_t other = node[(size_t)e.of[k] * (size_t)per_element + (size_t)j];
                if (other >= 0) near[n++] = other;
            }
        if (!ok) break;
        n = unique(near, n);
        size_t have = (size_t)m->start[i];
        ok = memory_grow((void **)&m->column, &room, sizeof *m->column, have + (size_t)n, have);
        if (ok) memcpy(m->column + have, near, (size_t)n * sizeof *near);
        m->start[i + 1] = m->start[i] + n;
    }
    if (ok) m->block = memory_zero((size_t)m->start[count] * (size_t)(dim * dim) * sizeof(double));
    free(near);
    free(e.start);
    free(e.of);
    return ok && m->block;
}

void sparse_free(Sparse *m) {
    free(m->start);
    free(m->column);
    free(m->block);
    *m = (Sparse){0};
}

double *sparse_block(const Sparse *m, int row, int column) {
    int low = m->start[row], high = m->start[row + 1] - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (m->column[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return m->block + (size_t)low * (size_t)(m->dim * m->dim);
}

void sparse_apply(const Sparse *m, int width, const double *x, double *out) {
    int d = m->dim;
    const RowKernels *rows = row_kernels();
    memset(out, 0, (size_t)m->count * (size_t)(d * width) * sizeof *out);
    for (int i = 0; i < m->count; i++)
        for (int k = m->start[i]; k < m->start[i + 1]; k++)
            for (int a = 0; a < d; a++) {
                const double *f = m->block + ((size_t)k * (size_t)d + (size_t)a) * (size_t)d;
                const double *from = x + (size_t)m->column[k] * (size_t)(d * width);
                double *to = out + ((size_t)i * (size_t)d + (size_t)a) * (size_t)width;
                rows->add(to, width, 1, f, 1, from, width, d);
            }
}
