#include "elastic/dense.h"
#include "elastic/rows.h"
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/// Rows that are eliminated at a time: they stay in cache while all others are reduced by them.
enum { PANEL = 32, STRIP = 32 };

/// The first four columns of four rows, of which only the upper half is to change.
static void add_corner(const RowKernels *rows, double *out, int n, int sign, const double *u,
                       const double *v, int count) {
    double corner[FOUR * FOUR];
    for (int i = 0; i < FOUR; i++)
        memcpy(corner + FOUR * i, out + (size_t)i * (size_t)n, FOUR * sizeof *corner);
    rows->add_four(corner, FOUR, FOUR, sign, u, 1, n, v, n, count);
    for (int i = 0; i < FOUR; i++)
        memcpy(out + (size_t)i * (size_t)n + i, corner + FOUR * i + i,
               (size_t)(FOUR - i) * sizeof *corner);
}

void dense_add_upper(double *out, int n, int from, int to, int sign, const double *u,
                     const double *v, int count) {
    const RowKernels *rows = row_kernels();
    int i = from;
    for (; i + FOUR <= to; i += FOUR) {
        double *row = out + (size_t)i * (size_t)n + i;
        add_corner(rows, row, n, sign, u + i, v + i, count);
        rows->add_four(row + FOUR, n, n - i - FOUR, sign, u + i, 1, n, v + i + FOUR, n, count);
    }
    for (; i < to; i++)
        rows->add(out + (size_t)i * (size_t)n + i, n - i, sign, u + i, n, v + i, n, count);
}

/// Eliminates rows [from, to) within themselves, four at a time.
static bool factor_panel(double *a, int n, int from, int to) {
    const RowKernels *rows = row_kernels();
    const double *first = a + (size_t)from * (size_t)n;
    for (int four = from; four < to; four += FOUR) {
        int end = four + FOUR < to ? four + FOUR : to;
        dense_add_upper(a, n, four, end, -1, first, first, four - from);
        const double *own = a + (size_t)four * (size_t)n;
        for (int k = four; k < end; k++) {
            double *row = a + (size_t)k * (size_t)n;
            rows->add(row + k, n - k, -1, own + k, n, own + k, n, k - four);
            if (!(row[k] > 0) || !isfinite(row[k])) return false;
            double inverse = 1 / sqrt(row[k]);
            for (int j = k; j < n; j++) row[j] *= inverse;
        }
    }
    return true;
}

typedef struct Reduce {
    double *a;
    int n, from, to; ///< rows of the panel
} Reduce;

/// A strip of what comes after a panel.
static void reduce_strip(void *context, int strip, int thread) {
    const Reduce *r = context;
    const double *panel = r->a + (size_t)r->from * (size_t)r->n;
    int from = r->to + strip * STRIP, to = from + STRIP < r->n ? from + STRIP : r->n;
    dense_add_upper(r->a, r->n, from, to, -1, panel, panel, r->to - r->from);
    (void)thread;
}

bool dense_cholesky_by(Team *team, double *a, int n, int pivots) {
    for (int from = 0; from < pivots; from += PANEL) {
        Reduce r = {a, n, from, from + PANEL < pivots ? from + PANEL : pivots};
        if (!factor_panel(a, n, from, r.to)) return false;
        team_for(team, (n - r.to + STRIP - 1) / STRIP, 2, reduce_strip, &r);
    }
    return true;
}

bool dense_cholesky(double *a, int n, int pivots) {
    return dense_cholesky_by(NULL, a, n, pivots);
}

typedef struct Inverse {
    const double *u;
    int n;
    double *w, *out; ///< [n][n] U^-T, whose rows end at the diagonal; (U^T U)^-1
} Inverse;

/// Columns of U^-T at a time, which stay in cache: what is above them is 0.
static void invert_strip(void *context, int strip, int thread) {
    const Inverse *p = context;
    const RowKernels *rows = row_kernels();
    int n = p->n, from = strip * STRIP, wide = n - from < STRIP ? n - from : STRIP;
    double *x = p->w + from;
    const double *first = x + (size_t)from * (size_t)n;
    for (int k = 0; k < n; k++) {
        memset(x + (size_t)k * (size_t)n, 0, (size_t)wide * sizeof *x);
        if (k >= from && k < from + wide) x[(size_t)k * (size_t)n + (size_t)(k - from)] = 1;
    }
    for (int four = from; four < n; four += FOUR) {
        int end = four + FOUR < n ? four + FOUR : n, done = end - four == FOUR ? four : from;
        double *own = x + (size_t)done * (size_t)n;
        const double *u = p->u + (size_t)from * (size_t)n;
        if (done > from) rows->add_four(own, n, wide, -1, u + four, 1, n, first, n, done - from);
        for (int k = four; k < end; k++) {
            double *row = x + (size_t)k * (size_t)n;
            rows->add(row, wide, -1, p->u + (size_t)done * (size_t)n + k, n, own, n, k - done);
            double inverse = 1 / p->u[(size_t)k * (size_t)n + (size_t)k];
            for (int j = 0; j < wide; j++) row[j] *= inverse;
        }
    }
    (void)thread;
}

/// Rows of a strip of W^T W, upper half; rows of W a panel at a time, which stays in cache.
static void square_strip(void *context, int strip, int thread) {
    const Inverse *p = context;
    int n = p->n, begin = strip * STRIP, end = begin + STRIP < n ? begin + STRIP : n;
    for (int i = begin; i < end; i++)
        memset(p->out + (size_t)i * (size_t)n, 0, (size_t)n * sizeof *p->out);
    for (int from = begin; from < n; from += PANEL) {
        int count = n - from < PANEL ? n - from : PANEL;
        const double *panel = p->w + (size_t)from * (size_t)n;
        dense_add_upper(p->out, n, begin, end, 1, panel, panel, count);
    }
    (void)thread;
}

void dense_inverse(const double *u, int n, double *work, double *out, Team *team) {
    Inverse p = {u, n, work, out};
    int strips = (n + STRIP - 1) / STRIP;
    team_for(team, strips, 1, invert_strip, &p);
    team_for(team, strips, 1, square_strip, &p);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            out[(size_t)j * (size_t)n + (size_t)i] = out[(size_t)i * (size_t)n + (size_t)j];
}

enum { OUT_MOST = 6 };

typedef struct Projection {
    double *m;
    int n, count;
    const double *q;
    double *image;                     ///< [count][n] m q
    double inner[OUT_MOST * OUT_MOST]; ///< [count][count] q m q
} Projection;

static void image_rows(void *context, int strip, int thread) {
    const Projection *p = context;
    int end = (strip + 1) * STRIP < p->n ? (strip + 1) * STRIP : p->n;
    for (int i = strip * STRIP; i < end; i++)
        for (int c = 0; c < p->count; c++)
            p->image[c * p->n + i] =
                dense_dot(p->m + (size_t)i * (size_t)p->n, p->q + (size_t)c * (size_t)p->n, p->n);
    (void)thread;
}

static void project_rows(void *context, int strip, int thread) {
    const Projection *p = context;
    const RowKernels *rows = row_kernels();
    int n = p->n, end = (strip + 1) * STRIP < n ? (strip + 1) * STRIP : n;
    for (int i = strip * STRIP; i < end; i++) {
        double mine[OUT_MOST], *row = p->m + (size_t)i * (size_t)n;
        for (int c = 0; c < p->count; c++) {
            mine[c] = -p->image[c * n + i];
            for (int d = 0; d < p->count; d++)
                mine[c] += p->inner[OUT_MOST * c + d] * p->q[d * n + i];
        }
        rows->add(row, n, -1, p->q + i, n, p->image, n, p->count);
        rows->add(row, n, 1, mine, 1, p->q, n, p->count);
    }
    (void)thread;
}

void dense_project_out(double *m, int n, const double *q, int count, double *work, Team *team) {
    Projection p = {.m = m, .n = n, .count = count, .q = q, .image = work};
    int strips = (n + STRIP - 1) / STRIP;
    team_for(team, strips, 2, image_rows, &p);
    for (int c = 0; c < count; c++)
        for (int d = 0; d < count; d++)
            p.inner[OUT_MOST * c + d] = dense_dot(q + (size_t)c * (size_t)n, work + d * n, n);
    team_for(team, strips, 2, project_rows, &p);
}

void dense_solve(const double *u, int n, double *x) {
    row_kernels()->solve(u, n, x);
}

double dense_dot(const double *a, const double *b, int n) {
    return row_kernels()->dot(a, b, n);
}

void dense_apply(const double *a, int n, int m, const double *x, double *out) {
    const RowKernels *rows = row_kernels();
    for (int i = 0; i < n; i++) out[i] = rows->dot(a + (size_t)i * (size_t)m, x, m);
}

// ------------------------------------------------------------------------------------- eigen

/// Turns rows and columns p and q of a, and rows p and q of v, so that a[p][q] vanishes.
INLINE void turn(double *a, double *v, int n, int p, int q) {
    double *rp = a + (size_t)p * (size_t)n, *rq = a + (size_t)q * (size_t)n;
    double theta = 0.5 * (rq[q] - rp[p]) / rp[q];
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = rp[k], y = rq[k];
        rp[k] = c * x - s * y, rq[k] = s * x + c * y;
        x = v[(size_t)p * (size_t)n + (size_t)k], y = v[(size_t)q * (size_t)n + (size_t)k];
        v[(size_t)p * (size_t)n + (size_t)k] = c * x - s * y;
        v[(size_t)q * (size_t)n + (size_t)k] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * (size_t)n, x = row[p], y = row[q];
        row[p] = c * x - s * y, row[q] = s * x + c * y;
    }
}

INLINE bool off_diagonal(const double *a, int n, int p, int q) {
    double d = fabs(a[(size_t)p * (size_t)n + (size_t)p]);
    double e = fabs(a[(size_t)q * (size_t)n + (size_t)q]);
    double x = fabs(a[(size_t)p * (size_t)n + (size_t)q]);
    return x > 1e-17 * (d + e) && x > 1e-300;
}

INLINE void swap_rows(double *v, int n, int i, int j) {
    for (int k = 0; k < n; k++) {
        double x = v[(size_t)i * (size_t)n + (size_t)k];
        v[(size_t)i * (size_t)n + (size_t)k] = v[(size_t)j * (size_t)n + (size_t)k];
        v[(size_t)j * (size_t)n + (size_t)k] = x;
    }
}

INLINE void sort_rising(double *values, double *v, int n) {
    for (int i = 0; i < n; i++) {
        int least = i;
        for (int j = i + 1; j < n; j++)
            if (values[j] < values[least]) least = j;
        if (least == i) continue;
        double x = values[i];
        values[i] = values[least], values[least] = x;
        swap_rows(v, n, i, least);
    }
}

INLINE void fix_signs(double *v, int n) {
    for (int i = 0; i < n; i++) {
        double *row = v + (size_t)i * (size_t)n, most = 0;
        for (int k = 0; k < n; k++)
            if (fabs(row[k]) > fabs(most) * (1 + 1e-9)) most = row[k];
        for (int k = 0; most < 0 && k < n; k++) row[k] = -row[k];
    }
}

INLINE void jacobi(double *a, const int n, double *values, double *vectors) {
    enum { SWEEPS = 60 };
    memset(vectors, 0, (size_t)n * (size_t)n * sizeof(double));
    for (int i = 0; i < n; i++) vectors[(size_t)i * (size_t)n + (size_t)i] = 1;
    bool changed = true;
    for (int sweep = 0; changed && sweep < SWEEPS; sweep++) {
        changed = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (off_diagonal(a, n, p, q)) turn(a, vectors, n, p, q), changed = true;
    }
    for (int i = 0; i < n; i++) values[i] = a[(size_t)i * (size_t)n + (size_t)i];
    sort_rising(values, vectors, n);
    fix_signs(vectors, n);
}

void dense_eigen(double *a, int n, double *values, double *vectors) {
    if (n == 3)
        jacobi(a, 3, values, vectors); // of samples: many
    else
        jacobi(a, n, values, vectors);
}
