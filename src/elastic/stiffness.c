// The stiffness of a body at a pose, made not negative.
//
// For a sample of volume V with F = P diag(s) Q^T the second derivative of its energy is
//   2 mu V |dF|^2 - sum over pairs i < j of 2 mu V min(1, 2 / (s_i + s_j)) (T_ij : dF)^2
//   + lambda V (cof F : dF)^2,   T_ij = P (e_i e_j^T - e_j e_i^T) Q^T / sqrt 2
// The first part does not depend on the pose and is summed once; of the others each is a vector
// times itself: four to a sample (2D: two). Samples are summed in parts of fixed size, the parts in
// order: the same bits for any number of threads.
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/elastic.h"
#include "elastic/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 8, BLOCK = 4, VECTORS_MOST = 4 };

/// By the body alone: many numbers need much room for each part.
static int part_count(const Elastic *e) {
    int parts = e->sample_count / 64 + 1;
    int most = e->dofs > 600 ? 2 : PARTS_MOST;
    return parts < most ? parts : most;
}

static int vector_count(const Elastic *e) {
    return e->dim == 3 ? 4 : 2;
}

/// Numbers of a part: its sum, vectors of a block, and those weighted.
static size_t part_room(const Elastic *e) {
    size_t n = (size_t)e->dofs;
    return n * n + 2 * n * (size_t)(BLOCK * vector_count(e));
}

size_t stiffness_room(const Elastic *e) {
    return (size_t)part_count(e) * part_room(e);
}

void stiffness_prepare(Elastic *e) {
    size_t r = (size_t)e->r, d = (size_t)e->dim;
    const RowKernels *rows = row_kernels();
    double *scaled = e->force; // [r], before the first step
    memset(e->even, 0, r * r * sizeof *e->even);
    for (size_t s = 0; s < (size_t)e->sample_count; s++)
        for (size_t b = 0; b < d; b++) {
            const double *g = e->sample_gradient + (s * d + b) * r;
            double f = 2 * e->material.mu * e->sample_volume[s];
            for (size_t i = 0; i < r; i++) scaled[i] = f * g[i];
            for (size_t i = 0; i < r; i++)
                rows->add(e->even + i * r, (int)r, 1, g + i, 1, scaled, 0, 1);
        }
    for (size_t i = 0; e->hold && i < r * r; i++) e->even[i] += e->hold[i];
    memset(e->force, 0, (size_t)e->dofs * sizeof *e->force);
}

/// x [dim][r] = T : grad, T [dim][dim]
static void contract(const Elastic *e, const double *t, const double *g, double *x) {
    const RowKernels *rows = row_kernels();
    int n = e->dim, r = e->r;
    memset(x, 0, (size_t)e->dofs * sizeof *x);
    for (int a = 0; a < n; a++) rows->add(x + (ptrdiff_t)a * r, r, 1, t + n * a, 1, g, r, n);
}

/// The vectors of a sample and those times their weights, at F.
static void sample_vectors(const Elastic *e, const double f[9], int sample, double *x, double *y) {
    const double *g = e->sample_gradient + (size_t)sample * (size_t)e->dofs;
    double t[9], volume = e->sample_volume[sample];
    int n = e->dim, at = 0;
    Svd svd = svd_of(n, f);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++, at++) {
            double sum = svd.s[i] + svd.s[j];
            double weight = -2 * e->material.mu * volume * (sum > 2 ? 2 / sum : 1);
            for (int a = 0; a < n; a++)
                for (int b = 0; b < n; b++)
                    t[n * a + b] = (svd.p[n * a + i] * svd.q[n * b + j] -
                                    svd.p[n * a + j] * svd.q[n * b + i]) *
                                   0.70710678118654752;
            double *to = x + (size_t)at * (size_t)e->dofs, *scaled = y + (to - x);
            contract(e, t, g, to);
            for (int k = 0; k < e->dofs; k++) scaled[k] = weight * to[k];
        }
    double *to = x + (size_t)at * (size_t)e->dofs, *scaled = y + (to - x);
    material_cofactor(n, f, t);
    contract(e, t, g, to);
    for (int k = 0; k < e->dofs; k++) scaled[k] = e->material.lambda * volume * to[k];
}

typedef struct Job {
    const Elastic *e;
    const double *d;
} Job;

/// One part: upper half of its sum, by component: [component][i][component][j].
static void add_part(void *context, int part, int thread) {
    const Job *job = context;
    const Elastic *e = job->e;
    int parts = part_count(e), n = e->dofs, vectors = vector_count(e);
    int from = (int)((int64_t)e->sample_count * part / parts);
    int to = (int)((int64_t)e->sample_count * (part + 1) / parts);
    double *sum = e->parts + (size_t)part * part_room(e);
    double *x = sum + (size_t)n * (size_t)n, *y = x + (size_t)n * (size_t)(BLOCK * vectors);
    (void)thread;
    memset(sum, 0, (size_t)n * (size_t)n * sizeof *sum);
    for (int s = from; s < to; s += BLOCK) {
        int count = to - s < BLOCK ? to - s : BLOCK;
        double all[3 * 3 * BLOCK], f[9];
        elastic_deformation(e, job->d, s, count, all);
        for (int k = 0; k < count; k++) {
            int d = e->dim;
            for (int i = 0; i < d * d; i++) f[i] = all[i / d * count * d + k * d + i % d];
            sample_vectors(e, f, s + k, x + (size_t)(k * vectors) * (size_t)n,
                           y + (size_t)(k * vectors) * (size_t)n);
        }
        dense_add_upper(sum, n, 0, n, 1, x, y, count * vectors);
    }
}

typedef struct Sum {
    const Elastic *e;
    double *k;
} Sum;

/// What belongs to function i of the sum of all parts and of what does not depend on the pose, to
/// [i][component][j][component].
static void gather(void *context, int index, int thread) {
    const Sum *sum = context;
    const Elastic *e = sum->e;
    size_t n = (size_t)e->dim, r = (size_t)e->r, dofs = (size_t)e->dofs, room = part_room(e);
    size_t i = (size_t)index;
    int parts = part_count(e);
    (void)thread;
    for (size_t a = 0; a < n; a++)
        for (size_t c = a; c < n; c++)
            for (size_t j = a == c ? i : 0; j < r; j++) {
                size_t at = (a * r + i) * dofs + c * r + j;
                double x = a == c ? e->even[i * r + j] : 0;
                for (int p = 0; p < parts; p++) x += e->parts[(size_t)p * room + at];
                sum->k[(i * n + a) * dofs + j * n + c] = x;
                sum->k[(j * n + c) * dofs + i * n + a] = x;
            }
}

void elastic_stiffness(const Elastic *e, const double *d, double *k) {
    Job job = {e, d};
    team_for(e->params.team, part_count(e), 1, add_part, &job);
    team_for(e->params.team, e->r, 8, gather, &(Sum){e, k});
}
