// Energy and force of a body, summed over its samples in order.
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/elastic.h"
#include "elastic/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Samples that are an item for threads.
enum { PIECE = 16 };

bool forces_start(Elastic *e) {
    size_t points = (size_t)e->sample_count * (size_t)e->dim, r = (size_t)e->r;
    e->gradient_of = memory_new(points * r * sizeof(double));
    e->stress = memory_zero(points * (size_t)(e->dim + 1) * sizeof(double));
    e->share = memory_new((size_t)e->sample_count * sizeof(double));
    if (!e->gradient_of || !e->stress || !e->share) return false;
    for (size_t k = 0; k < points; k++)
        for (size_t i = 0; i < r; i++)
            e->gradient_of[i * points + k] = e->sample_gradient[k * r + i];
    return true;
}

/// The same of PIECE samples at most in 3D: gradients are read once for all three components; what
/// add_four makes of a fourth is left. d [dofs + 1]
static void deform_piece(const Elastic *e, const double *d, int sample, int count, double *f) {
    int wide = 3 * count, points = 3 * e->sample_count;
    double out[FOUR * 3 * PIECE];
    for (int k = 0; k < FOUR * wide; k++) out[k] = k / wide == k % 3;
    row_kernels()->add_four(out, wide, wide, 1, d, 1, 3, e->gradient_of + (ptrdiff_t)sample * 3,
                            points, e->r);
    memcpy(f, out, 3 * (size_t)wide * sizeof *f);
}

void elastic_deformation(const Elastic *e, const double *d, int sample, int count, double *f) {
    const RowKernels *rows = row_kernels();
    int n = e->dim, wide = count * n, points = e->sample_count * n;
    if (n == 3 && count <= PIECE) {
        double and_one[ELASTIC_DOFS_MOST + 1];
        memcpy(and_one, d, (size_t)e->dofs * sizeof *d);
        and_one[e->dofs] = 0;
        deform_piece(e, and_one, sample, count, f);
        return;
    }
    for (int a = 0; a < n; a++) {
        double *to = f + (ptrdiff_t)a * wide;
        for (int k = 0; k < wide; k++) to[k] = k % n == a;
        rows->add(to, wide, 1, d + a, n, e->gradient_of + (ptrdiff_t)sample * n, points, e->r);
    }
}

/// Of the springs that hold pins, with their force.
static double hold_energy(const Elastic *e, const double *d, double *force) {
    int n = e->dim, r = e->r;
    double energy = 0;
    for (int i = 0; i < r; i++)
        for (int a = 0; a < n; a++) {
            double f = 0;
            for (int j = 0; j < r; j++) f -= e->hold[(size_t)(i * r + j)] * d[j * n + a];
            energy -= 0.5 * f * d[i * n + a];
            if (force) force[i * n + a] = f;
        }
    return energy;
}

typedef struct Look {
    const Elastic *e;
    const double *d;
    bool forces;
} Look;

/// Energies of a piece's samples, and their stresses times what they stand for.
static void look_at(void *context, int piece, int thread) {
    const Look *look = context;
    const Elastic *e = look->e;
    int n = e->dim, from = piece * PIECE, points = e->sample_count * n;
    int count = e->sample_count - from < PIECE ? e->sample_count - from : PIECE;
    double all[3 * 3 * PIECE];
    (void)thread;
    elastic_deformation(e, look->d, from, count, all);
    for (int s = 0; s < count; s++) {
        double f[9], stress[9], volume = e->sample_volume[from + s];
        for (int k = 0; k < n * n; k++) f[k] = all[k / n * count * n + s * n + k % n];
        e->share[from + s] =
            volume * material_energy(&e->material, n, f, look->forces ? stress : NULL);
        for (int k = 0; k < n * n && look->forces; k++)
            e->stress[k / n * points + (from + s) * n + k % n] = -volume * stress[k];
    }
}

typedef struct Pull {
    const Elastic *e;
    double *force;
} Pull;
enum { COLUMNS = 16 };

/// Forces of the stresses on a few functions. In 3D gradients are read once for all axes; of a
/// fourth, whose stresses are room beyond the others', nothing is kept.
static void pull_functions(void *context, int index, int thread) {
    const Pull *p = context;
    const Elastic *e = p->e;
    const RowKernels *rows = row_kernels();
    int n = e->dim, from = index * COLUMNS, points = e->sample_count * n;
    int count = e->r - from < COLUMNS ? e->r - from : COLUMNS;
    double along[FOUR][COLUMNS] = {{0}};
    (void)thread;
    for (int a = 0; a < n; a++)
        for (int i = 0; i < count; i++) along[a][i] = p->force[(from + i) * n + a];
    if (n == 3)
        rows->add_four(along[0], COLUMNS, count, 1, e->stress, points, 1, e->sample_gradient + from,
                       e->r, points);
    for (int a = 0; a < n && n == 2; a++)
        rows->add(along[a], count, 1, e->stress + (ptrdiff_t)a * points, 1,
                  e->sample_gradient + from, e->r, points);
    for (int a = 0; a < n; a++)
        for (int i = 0; i < count; i++) p->force[(from + i) * n + a] = along[a][i];
}

double elastic_energy(const Elastic *e, const double *d, double *force) {
    double energy = e->hold ? hold_energy(e, d, force) : 0;
    if (force && !e->hold) memset(force, 0, (size_t)e->dofs * sizeof *force);
    Look look = {e, d, force != NULL};
    team_for(e->params.team, team_parts((size_t)e->sample_count, PIECE), 1, look_at, &look);
    for (int s = 0; s < e->sample_count; s++) energy += e->share[s];
    if (force)
        team_for(e->params.team, team_parts((size_t)e->r, COLUMNS), 1, pull_functions,
                 &(Pull){e, force});
    return energy;
}

void elastic_add_gravity(const Elastic *e, const double g[3], double *f) {
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < e->dim; a++) f[i * e->dim + a] += e->whole[i] * g[a];
}

void elastic_add_force(const Elastic *e, const double *row, const double force[3], double *f) {
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < e->dim; a++) f[i * e->dim + a] += row[i] * force[a];
}

/// energy - load d
static double potential(const Elastic *e, const double *d, const double *load) {
    return elastic_energy(e, d, NULL) - dense_dot(load, d, e->dofs);
}

/// Newton's method with steps halved until they go down. Stiffness never is negative, so the way
/// is always down.
bool elastic_settle(Elastic *e, const double *load) {
    enum { MOST = 400, HALVINGS = 30 };
    int n = e->dofs;
    double *step = e->w, *trial = e->z, size = sqrt(dense_dot(load, load, n));
    e->plain = false; // a is used up here
    for (int it = 0; it < MOST; it++) {
        elastic_energy(e, e->d, e->force);
        for (int i = 0; i < n; i++) step[i] = e->force[i] + load[i];
        if (sqrt(dense_dot(step, step, n)) <= 1e-10 * size) return true;
        elastic_stiffness(e, e->d, e->a);
        if (!dense_cholesky(e->a, n, n)) return false;
        dense_solve(e->a, n, step);
        // rounding of a stiff body's forces leaves no more than that
        if (sqrt(dense_dot(step, step, n)) <= 1e-8 * sqrt(dense_dot(e->d, e->d, n))) return true;
        double now = potential(e, e->d, load), part = 1;
        for (int h = 0; h < HALVINGS; h++, part *= 0.5) {
            for (int i = 0; i < n; i++) trial[i] = e->d[i] + part * step[i];
            if (potential(e, trial, load) <= now + 1e-12 * fabs(now)) break;
        }
        memcpy(e->d, trial, (size_t)n * sizeof *trial);
    }
    return false;
}
