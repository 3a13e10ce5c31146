// Constants of closed components that a solve's term decides on.
//
// With e_k = 1 in component k and 0 elsewhere, over the root of its cells, A e_k = 0 and the term
// alone, L_kl = e_k.Z e_l, tells what a constant in one component does to the others: a body
// between pockets of water joins all of them. The eigenvectors of L are the constants that stand
// for themselves. Those whose value is rounding the term leaves open as A does: a rigid body of
// three degrees of freedom can not meet the volumes of four pockets.
#include "solve/solver.h"
#include <math.h>

/// Eigenvalues below this part of the largest are rounding: Z x comes in single precision.
static const double ROUNDING = 1e-6;

/// Takes a[i][j] of a symmetric matrix to 0 by a turn, of which v keeps account.
static void turn(double a[HELD][HELD], double v[HELD][HELD], int n, int i, int j) {
    if (fabs(a[i][j]) <= 1e-16 * sqrt(fabs(a[i][i] * a[j][j]))) return;
    double w = (a[j][j] - a[i][i]) / (2 * a[i][j]);
    double t = (w < 0 ? -1 : 1) / (fabs(w) + sqrt(w * w + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = a[k][i], y = a[k][j], p = v[k][i], q = v[k][j];
        a[k][i] = c * x - s * y, a[k][j] = s * x + c * y;
        v[k][i] = c * p - s * q, v[k][j] = s * p + c * q;
    }
    for (int k = 0; k < n; k++) {
        double x = a[i][k], y = a[j][k];
        a[i][k] = c * x - s * y, a[j][k] = s * x + c * y;
    }
}

/// Jacobi's method: a => its eigenvalues on the diagonal, vectors in the columns of v.
static void eigen(double a[HELD][HELD], double v[HELD][HELD], int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) v[i][k] = i == k;
    for (int sweep = 0; sweep < 20; sweep++)
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) turn(a, v, n, i, j);
}

/// Row k of L: what Z makes of all components where the k-th one is 1.
static void find_row(Poisson *s, const PoissonTerm *term, int k, double *row) {
    Closed *c = &s->closed;
    const Held *h = &c->joint;
    float *one = s->p, *out = s->s; // free before a descent
    closed_set(s, h->component[k], 1, one);
    term->apply(term->context, one, term->out);
    closed_set(s, h->component[k], 0, one);
    for (int l = 0; l < h->count; l++) closed_set(s, h->component[l], 0, out);
    for (size_t i = 0; i < term->count; i++) out[term->cell[i]] = term->out[i];
    closed_sum(s, out);
    for (int l = 0; l < h->count; l++)
        row[l] = c->mean[h->component[l]] / (h->root[k] * h->root[l]);
}

void held_find(Poisson *s, const PoissonTerm *term) {
    Closed *c = &s->closed;
    Held *h = &c->joint;
    double matrix[HELD][HELD], largest = 0;
    h->count = h->open = 0;
    if (c->held > HELD) return;
    for (int k = 0; k < c->count; k++)
        if (c->level[k] > 0) h->component[h->count] = k, h->root[h->count++] = sqrt(c->cells[k]);
    for (int k = 0; k < h->count; k++) find_row(s, term, k, matrix[k]);
    for (int k = 0; k < h->count; k++) // symmetric but for rounding
        for (int l = 0; l < k; l++)
            matrix[k][l] = matrix[l][k] = 0.5 * (matrix[k][l] + matrix[l][k]);
    eigen(matrix, h->vector, h->count);
    for (int i = 0; i < h->count; i++) largest = fmax(largest, matrix[i][i]);
    for (int i = 0; i < h->count; i++) {
        h->value[i] = matrix[i][i] > ROUNDING * largest ? matrix[i][i] : 0;
        h->open += h->value[i] == 0;
    }
}

void held_apply(const Held *h, bool inverse, double *sum) {
    double part[HELD];
    for (int i = 0; i < h->count; i++) {
        part[i] = 0;
        for (int k = 0; k < h->count; k++)
            part[i] += h->vector[k][i] * sum[h->component[k]] / h->root[k];
        if (inverse)
            part[i] = h->value[i] > 0 ? part[i] / h->value[i] : 0;
        else if (h->value[i] > 0)
            part[i] = 0;
    }
    for (int k = 0; k < h->count; k++) {
        double all = 0;
        for (int i = 0; i < h->count; i++) all += h->vector[k][i] * part[i];
        sum[h->component[k]] = all / h->root[k];
    }
}
