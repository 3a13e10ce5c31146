// Energy and force of a body, summed over its samples in order.
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/elastic.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void elastic_deformation(const Elastic *e, const double *d, int sample, double f[9]) {
    int n = e->dim, r = e->r;
    const double *g = e->sample_gradient + (size_t)sample * (size_t)(n * r);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double sum = a == b;
            for (int i = 0; i < r; i++) sum += d[i * n + a] * g[b * r + i];
            f[n * a + b] = sum;
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

double elastic_energy(const Elastic *e, const double *d, double *force) {
    int n = e->dim, r = e->r;
    double energy = e->hold ? hold_energy(e, d, force) : 0;
    if (force && !e->hold) memset(force, 0, (size_t)e->dofs * sizeof *force);
    for (int s = 0; s < e->sample_count; s++) {
        double f[9], stress[9], volume = e->sample_volume[s];
        const double *g = e->sample_gradient + (size_t)s * (size_t)(n * r);
        elastic_deformation(e, d, s, f);
        energy += volume * material_energy(&e->material, n, f, force ? stress : NULL);
        if (!force) continue;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                double t = -volume * stress[n * a + b];
                for (int i = 0; i < r; i++) force[i * n + a] += t * g[b * r + i];
            }
    }
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
