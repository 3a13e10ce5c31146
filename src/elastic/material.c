#include "elastic/material.h"
#include "elastic/dense.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

Material material_of(double young, double poisson) {
    return (Material){young / (2 * (1 + poisson)),
                      young * poisson / ((1 + poisson) * (1 - 2 * poisson))};
}

static double dot(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// v / |v|, or when v is nearly 0 a unit vector at right angles to `other` (NULL: any).
static void direction(double v[3], double least, const double *other) {
    double length = sqrt(dot(v, v));
    if (length > least) {
        for (int a = 0; a < 3; a++) v[a] /= length;
        return;
    }
    double any[3] = {1, 0, 0};
    if (other && fabs(other[0]) > 0.9) any[0] = 0, any[1] = 1;
    double part = other ? dot(any, other) : 0;
    for (int a = 0; a < 3; a++) v[a] = any[a] - (other ? part * other[a] : 0);
    length = sqrt(dot(v, v));
    for (int a = 0; a < 3; a++) v[a] /= length;
}

static Svd svd_2(const double f[9]) {
    // the turn that makes F symmetric, then its main axes
    double a = 0.5 * atan2(f[2] + f[1], f[0] - f[3]), b = 0.5 * atan2(f[2] - f[1], f[0] + f[3]);
    double u = a + b, v = a - b;
    Svd out = {.p = {cos(u), -sin(u), sin(u), cos(u)}, .q = {cos(v), -sin(v), sin(v), cos(v)}};
    double sum = hypot(f[0] + f[3], f[2] - f[1]), difference = hypot(f[0] - f[3], f[2] + f[1]);
    out.s[0] = 0.5 * (sum + difference), out.s[1] = 0.5 * (sum - difference);
    return out;
}

Svd svd_of(int dim, const double f[9]) {
    if (dim == 2) return svd_2(f);
    double a[9], values[3], rows[9], p[3][3], q[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a[3 * i + j] = f[i] * f[j] + f[3 + i] * f[3 + j] + f[6 + i] * f[6 + j];
    dense_eigen(a, 3, values, rows);
    memcpy(q[0], rows + 6, sizeof q[0]);
    memcpy(q[1], rows + 3, sizeof q[1]);
    cross(q[0], q[1], q[2]);
    Svd out;
    double least = 1e-9 * sqrt(fmax(values[2], 1e-300));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) p[k][i] = dot(f + 3 * i, q[k]);
    direction(p[0], 0, NULL);
    double along = dot(p[0], p[1]);
    for (int i = 0; i < 3; i++) p[1][i] -= along * p[0][i];
    direction(p[1], least, p[0]);
    cross(p[0], p[1], p[2]);
    for (int k = 0; k < 3; k++) {
        double image[3];
        for (int i = 0; i < 3; i++) image[i] = dot(f + 3 * i, q[k]);
        out.s[k] = dot(image, p[k]);
        for (int i = 0; i < 3; i++) out.p[3 * i + k] = p[k][i], out.q[3 * i + k] = q[k][i];
    }
    return out;
}

void material_cofactor(int dim, const double f[9], double out[9]) {
    if (dim == 2) {
        out[0] = f[3], out[1] = -f[2], out[2] = -f[1], out[3] = f[0];
        return;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            out[3 * i + j] = f[3 * a + c] * f[3 * b + d] - f[3 * a + d] * f[3 * b + c];
        }
}

/// The rotation of F in 3D by Newton's method, R => (R + R^-T) / 2, which squares its error with
/// each turn. False where F is nearly flat or turned inside out.
static bool polar_3(const double f[9], double r[9]) {
    enum { MOST = 12 };
    memcpy(r, f, 9 * sizeof *r);
    for (int n = 0; n < MOST; n++) {
        double cof[9], change = 0;
        material_cofactor(3, r, cof);
        double det = dot(r, cof);
        if (!(det > 0.01)) return false;
        for (int i = 0; i < 9; i++) {
            double next = 0.5 * r[i] + 0.5 / det * cof[i];
            change += (next - r[i]) * (next - r[i]), r[i] = next;
        }
        if (change < 1e-15) return true;
    }
    return false;
}

/// P Q^T
static void rotation_of(int dim, const double f[9], double r[9]) {
    if (dim == 3 && polar_3(f, r)) return;
    Svd svd = svd_of(dim, f);
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) {
            double sum = 0;
            for (int k = 0; k < dim; k++) sum += svd.p[dim * a + k] * svd.q[dim * b + k];
            r[dim * a + b] = sum;
        }
}

double material_energy(const Material *m, int dim, const double f[9], double stress[9]) {
    double r[9], cof[9], strain = 0;
    rotation_of(dim, f, r);
    material_cofactor(dim, f, cof);
    double j = dim == 3 ? dot(f, cof) : f[0] * cof[0] + f[1] * cof[1];
    for (int i = 0; i < dim * dim; i++) {
        strain += (f[i] - r[i]) * (f[i] - r[i]);
        if (stress) stress[i] = 2 * m->mu * (f[i] - r[i]) + m->lambda * (j - 1) * cof[i];
    }
    return m->mu * strain + 0.5 * m->lambda * (j - 1) * (j - 1);
}

/// hessian -= weight t t^T with t = P (e_i e_j^T - e_j e_i^T) Q^T / sqrt 2
static void subtract_turn(int dim, const Svd *svd, int i, int j, double weight, double *hessian) {
    double t[9];
    int n = dim * dim;
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++)
            t[dim * a + b] = (svd->p[dim * a + i] * svd->q[dim * b + j] -
                              svd->p[dim * a + j] * svd->q[dim * b + i]) *
                             0.70710678118654752;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) hessian[n * a + b] -= weight * t[a] * t[b];
}

void material_hessian(const Material *m, int dim, const double f[9], double *hessian) {
    Svd svd = svd_of(dim, f);
    double cof[9];
    int n = dim * dim;
    material_cofactor(dim, f, cof);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            hessian[n * a + b] = m->lambda * cof[a] * cof[b] + (a == b ? 2 * m->mu : 0);
    for (int i = 0; i < dim; i++)
        for (int j = i + 1; j < dim; j++) {
            double sum = svd.s[i] + svd.s[j];
            subtract_turn(dim, &svd, i, j, 2 * m->mu * (sum > 2 ? 2 / sum : 1), hessian);
        }
}
