// Multifrontal Cholesky. The nodes are parted by planes into two halves and a separator, again and
// again; each part of this tree has a dense front: its own nodes and, beyond them, those of
// separators above that it touches. What elimination of its own nodes leaves of the rest is added
// to the front above.
#include "base/error.h"
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/rows.h"
#include "elastic/sparse.h"
#include <stdlib.h>
#include <string.h>

enum {
    LEAF = 24, ///< nodes that are not parted further
    TRIES = 5, ///< planes that are tried
};

typedef struct Front {
    int first, own; ///< nodes [first, first + own) in the order of elimination
    int beyond;     ///< nodes of separators above
    int child[2];   ///< fronts, -1: none
    int32_t *row;   ///< [beyond] in the order of elimination, rising
    double *factor; ///< [own dim][(own + beyond) dim]: rows of U
    double *rest;   ///< [beyond dim][beyond dim] until the front above has taken it
} Front;

struct SparseFactor {
    int dim, count, front_count;
    size_t front_room;
    Front *front;    ///< each after its children
    int32_t *order;  ///< [count] node at each place of the elimination
    int32_t *number; ///< [count] place of each node
};

typedef struct Dissection {
    SparseFactor *f;
    const Sparse *a;
    const double (*place)[3];
    int8_t *side; ///< [count] scratch: 1 low, 2 high of the set that is parted, 0 not in it
    double *key;  ///< [count] scratch
} Dissection;

void sparse_factor_free(SparseFactor **factor) {
    SparseFactor *f = *factor;
    if (!f) return;
    for (int i = 0; i < f->front_count; i++) {
        free(f->front[i].row);
        free(f->front[i].factor);
        free(f->front[i].rest);
    }
    free(f->front);
    free(f->order);
    free(f->number);
    free(f);
    *factor = NULL;
}

size_t sparse_factor_size(const SparseFactor *f) {
    size_t size = 0;
    for (int i = 0; i < f->front_count; i++)
        size += (size_t)f->front[i].own * (size_t)(f->front[i].own + f->front[i].beyond);
    return size * (size_t)(f->dim * f->dim);
}

// --------------------------------------------------------------------------------- dissection

static int add_front(SparseFactor *f, int first, int own, int left, int right) {
    if (!memory_grow((void **)&f->front, &f->front_room, sizeof *f->front,
                     (size_t)f->front_count + 1, (size_t)f->front_count))
        return -1;
    f->front[f->front_count] = (Front){.first = first, .own = own, .child = {left, right}};
    return f->front_count++;
}

static int longest_axis(const Dissection *d, const int32_t *set, int n) {
    double low[3], high[3];
    int axis = 0;
    for (int k = 0; k < 3; k++) low[k] = high[k] = d->place[set[0]][k];
    for (int i = 1; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double x = d->place[set[i]][k];
            low[k] = x < low[k] ? x : low[k], high[k] = x > high[k] ? x : high[k];
        }
    for (int k = 1; k < 3; k++)
        if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
    return axis;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool touches_low(const Dissection *d, int32_t node) {
    for (int k = d->a->start[node]; k < d->a->start[node + 1]; k++)
        if (d->side[d->a->column[k]] == 1) return true;
    return false;
}

/// Marks sides for a cut below `at`; returns how many nodes would separate.
static int mark_sides(const Dissection *d, const int32_t *set, int n, int axis, double at,
                      int *low) {
    int separator = 0;
    *low = 0;
    for (int i = 0; i < n; i++) {
        bool below = d->place[set[i]][axis] < at;
        d->side[set[i]] = below ? 1 : 2, *low += below;
    }
    for (int i = 0; i < n; i++) separator += d->side[set[i]] == 2 && touches_low(d, set[i]);
    return separator;
}

/// The coordinate near the middle at which the fewest nodes separate.
static double choose_cut(const Dissection *d, const int32_t *set, int n, int axis) {
    for (int i = 0; i < n; i++) d->key[i] = d->place[set[i]][axis];
    qsort(d->key, (size_t)n, sizeof *d->key, by_value);
    double best = d->key[n / 2], last = -1e300, size = d->key[n - 1] - d->key[0];
    int fewest = n + 1;
    double tried[TRIES];
    for (int t = 0; t < TRIES; t++) tried[t] = d->key[(int)((int64_t)n * (3 + t) / 10)];
    for (int t = 0; t < TRIES; t++) {
        int low;
        if (tried[t] - last < 1e-9 * size) continue;
        last = tried[t];
        int separator = mark_sides(d, set, n, axis, tried[t] - 1e-9 * size, &low);
        if (low > 0 && separator < fewest) fewest = separator, best = tried[t];
    }
    return best - 1e-9 * size;
}

/// Orders the nodes set [n], which take the places from `first` on, and makes their fronts.
/// Returns the topmost front, -1 when out of memory.
static int dissect(Dissection *d, int32_t *set, int n, int first) {
    SparseFactor *f = d->f;
    int low = 0, separator = n;
    if (n > LEAF) {
        int axis = longest_axis(d, set, n);
        separator = mark_sides(d, set, n, axis, choose_cut(d, set, n, axis), &low);
    }
    int high = n - low - separator;
    if (n <= LEAF || low == 0 || high == 0) {
        for (int i = 0; i < n; i++) d->side[set[i]] = 0, f->order[first + i] = set[i];
        return add_front(f, first, n, -1, -1);
    }
    int32_t *part = memory_new((size_t)n * sizeof *part);
    if (!part) return -1;
    int at[3] = {0, low, low + high};
    for (int i = 0; i < n; i++) {
        bool below = d->side[set[i]] == 1;
        part[at[below ? 0 : touches_low(d, set[i]) ? 2 : 1]++] = set[i];
    }
    for (int i = 0; i < n; i++) d->side[set[i]] = 0;
    int left = dissect(d, part, low, first);
    int right = left < 0 ? -1 : dissect(d, part + low, high, first + low);
    for (int i = low + high; i < n; i++) f->order[first + i] = part[i];
    free(part);
    return right < 0 ? -1 : add_front(f, first + low + high, separator, left, right);
}

static int by_number(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/// Finds the rows beyond a front; mark [count] is below `stamp` everywhere.
static bool find_rows(SparseFactor *f, const Sparse *a, Front *t, int32_t *mark, int32_t stamp,
                      int32_t *list) {
    int end = t->first + t->own, n = 0;
    for (int i = t->first; i < end; i++) {
        int32_t node = f->order[i];
        for (int k = a->start[node]; k < a->start[node + 1]; k++) {
            int32_t to = f->number[a->column[k]];
            if (to >= end && mark[to] != stamp) mark[to] = stamp, list[n++] = to;
        }
    }
    for (int c = 0; c < 2 && t->child[c] >= 0; c++) {
        const Front *below = &f->front[t->child[c]];
        for (int i = 0; i < below->beyond; i++) {
            int32_t to = below->row[i];
            if (to >= end && mark[to] != stamp) mark[to] = stamp, list[n++] = to;
        }
    }
    qsort(list, (size_t)n, sizeof *list, by_number);
    t->beyond = n;
    t->row = memory_new((size_t)n * sizeof *t->row);
    if (t->row) memcpy(t->row, list, (size_t)n * sizeof *list);
    return t->row != NULL;
}

static bool analyse(SparseFactor *f, const Sparse *a, const double (*place)[3]) {
    size_t n = (size_t)a->count;
    int32_t *set = memory_new(n * sizeof *set), *mark = memory_new(n * sizeof *mark);
    Dissection d = {f, a, place, memory_zero(n), memory_new(n * sizeof(double))};
    bool ok = set && mark && d.side && d.key;
    for (int i = 0; ok && i < a->count; i++) set[i] = i, mark[i] = -1;
    ok = ok && dissect(&d, set, a->count, 0) >= 0;
    for (int i = 0; ok && i < a->count; i++) f->number[f->order[i]] = i;
    for (int i = 0; ok && i < f->front_count; i++) ok = find_rows(f, a, &f->front[i], mark, i, set);
    free(set);
    free(mark);
    free(d.side);
    free(d.key);
    return ok;
}

// ------------------------------------------------------------------------------------- numbers

/// Where a place of the elimination is in a front.
static int local(const Front *t, int32_t place) {
    if (place < t->first + t->own) return place - t->first;
    int low = 0, high = t->beyond - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->row[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return t->own + low;
}

/// Adds the matrix's rows of the front's own nodes to its upper half.
static void add_rows(const SparseFactor *f, const Front *t, const Sparse *a, double scale,
                     double *dense) {
    int d = f->dim;
    size_t edge = (size_t)((t->own + t->beyond) * d);
    for (int i = 0; i < t->own; i++) {
        int32_t node = f->order[t->first + i];
        for (int k = a->start[node]; k < a->start[node + 1]; k++) {
            int32_t to = f->number[a->column[k]];
            if (to < t->first + i) continue;
            int j = local(t, to);
            for (int p = 0; p < d; p++)
                for (int q = 0; q < d; q++)
                    dense[(size_t)(i * d + p) * edge + (size_t)(j * d + q)] +=
                        scale *
                        a->block[((size_t)k * (size_t)d + (size_t)p) * (size_t)d + (size_t)q];
        }
    }
}

/// Adds what a child left; its upper half lands in the upper half, as both are in one order.
static void add_child(const SparseFactor *f, const Front *t, const Front *child, double *dense) {
    int d = f->dim;
    size_t edge = (size_t)((t->own + t->beyond) * d), from = (size_t)(child->beyond * d);
    for (int i = 0; i < child->beyond; i++) {
        int to_i = local(t, child->row[i]);
        for (int j = i; j < child->beyond; j++) {
            int to_j = local(t, child->row[j]);
            for (int p = 0; p < d; p++)
                for (int q = 0; q < d; q++)
                    dense[(size_t)(to_i * d + p) * edge + (size_t)(to_j * d + q)] +=
                        child->rest[(size_t)(i * d + p) * from + (size_t)(j * d + q)];
        }
    }
}

static BrimResult eliminate(SparseFactor *f, Front *t, const Sparse *a, double shift,
                            const Sparse *b, BrimError *error) {
    int d = f->dim, edge = (t->own + t->beyond) * d, own = t->own * d, rest = t->beyond * d;
    double *dense = memory_zero((size_t)edge * (size_t)edge * sizeof *dense);
    t->factor = memory_new((size_t)own * (size_t)edge * sizeof *dense);
    t->rest = memory_new((size_t)rest * (size_t)rest * sizeof *dense);
    if (!dense || !t->factor || !t->rest) {
        free(dense);
        return fail(error, BRIM_ERROR_MEMORY, "no memory to factor an elastic body's stiffness");
    }
    add_rows(f, t, a, 1, dense);
    if (b) add_rows(f, t, b, shift, dense);
    for (int c = 0; c < 2 && t->child[c] >= 0; c++) {
        Front *child = &f->front[t->child[c]];
        add_child(f, t, child, dense);
        free(child->rest);
        child->rest = NULL;
    }
    bool sound = dense_cholesky(dense, edge, own);
    memcpy(t->factor, dense, (size_t)own * (size_t)edge * sizeof *dense);
    for (int i = 0; i < rest; i++)
        memcpy(t->rest + (size_t)i * (size_t)rest,
               dense + (size_t)(own + i) * (size_t)edge + (size_t)own,
               (size_t)rest * sizeof *dense);
    free(dense);
    return sound ? BRIM_OK
                 : fail(error, BRIM_ERROR_INPUT,
                        "an elastic body's stiffness matrix is not positive definite: its mesh is"
                        " degenerate or its material has no stiffness");
}

BrimResult sparse_factor(const Sparse *a, double shift, const Sparse *b, const double (*place)[3],
                         SparseFactor **factor, BrimError *error) {
    SparseFactor *f = memory_zero(sizeof *f);
    if (f) {
        f->dim = a->dim, f->count = a->count;
        f->order = memory_new((size_t)a->count * sizeof *f->order);
        f->number = memory_new((size_t)a->count * sizeof *f->number);
    }
    BrimResult result = BRIM_OK;
    if (!f || !f->order || !f->number || !analyse(f, a, place))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory to factor an elastic body's stiffness");
    for (int i = 0; result == BRIM_OK && i < f->front_count; i++)
        result = eliminate(f, &f->front[i], a, shift, b, error);
    if (result != BRIM_OK) sparse_factor_free(&f);
    *factor = f;
    return result;
}

// --------------------------------------------------------------------------------------- solve

/// Where the unknowns of a front's node k are in x.
static double *unknowns(const SparseFactor *f, const Front *t, int k, int width, double *x) {
    int place = k < t->own ? t->first + k : t->row[k - t->own];
    return x + (size_t)f->order[place] * (size_t)(f->dim * width);
}

static void gather(const SparseFactor *f, const Front *t, int width, double *x, double *local_x,
                   bool back) {
    size_t size = (size_t)(f->dim * width);
    for (int k = 0; k < t->own + t->beyond; k++) {
        double *global = unknowns(f, t, k, width, x), *here = local_x + (size_t)k * size;
        if (back)
            memcpy(global, here, size * sizeof *here);
        else
            memcpy(here, global, size * sizeof *here);
    }
}

static void forward(const RowKernels *rows, const Front *t, int d, int width, double *x) {
    int edge = (t->own + t->beyond) * d, own = t->own * d;
    for (int j = 0; j < edge; j++) {
        double *to = x + (size_t)j * (size_t)width;
        rows->add(to, width, -1, t->factor + j, edge, x, width, j < own ? j : own);
        double pivot = j < own ? t->factor[(size_t)j * (size_t)edge + (size_t)j] : 1;
        for (int w = 0; w < width && j < own; w++) to[w] /= pivot;
    }
}

static void backward(const RowKernels *rows, const Front *t, int d, int width, double *x) {
    int edge = (t->own + t->beyond) * d;
    for (int k = t->own * d - 1; k >= 0; k--) {
        const double *row = t->factor + (size_t)k * (size_t)edge;
        double *mine = x + (size_t)k * (size_t)width;
        rows->add(mine, width, -1, row + k + 1, 1, mine + width, width, edge - k - 1);
        for (int w = 0; w < width; w++) mine[w] /= row[k];
    }
}

bool sparse_factor_solve(const SparseFactor *f, int width, double *x) {
    int most = 0;
    for (int i = 0; i < f->front_count; i++) {
        int n = f->front[i].own + f->front[i].beyond;
        most = n > most ? n : most;
    }
    const RowKernels *rows = row_kernels();
    double *here = memory_new((size_t)most * (size_t)(f->dim * width) * sizeof *here);
    if (!here) return false;
    for (int i = 0; i < f->front_count; i++) {
        gather(f, &f->front[i], width, x, here, false);
        forward(rows, &f->front[i], f->dim, width, here);
        gather(f, &f->front[i], width, x, here, true);
    }
    for (int i = f->front_count - 1; i >= 0; i--) {
        gather(f, &f->front[i], width, x, here, false);
        backward(rows, &f->front[i], f->dim, width, here);
        gather(f, &f->front[i], width, x, here, true);
    }
    free(here);
    return true;
}
