#include "warp/element.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------- shape functions

/// Point p of a rule in [0, 1]^dim. => weight
static double rule_point(int dim, WarpRule rule, int p, double t[3]) {
    static const double gauss = 0.57735026918962576451; // 1 / sqrt 3
    for (int a = 0; a < 3; a++) {
        double side = p >> a & 1 ? 1 : -1;
        double at = rule == WARP_RULE_ONE ? 0 : rule == WARP_RULE_CORNERS ? side : gauss * side;
        t[a] = a < dim ? 0.5 + 0.5 * at : 0;
    }
    return rule == WARP_RULE_ONE ? 1 : 1.0 / (1 << dim);
}

static double shape_value(int dim, int corner, const double t[3]) {
    double v = 1;
    for (int a = 0; a < dim; a++) v *= corner >> a & 1 ? t[a] : 1 - t[a];
    return v;
}

static double shape_slope(int dim, int corner, int axis, const double t[3]) {
    double v = corner >> axis & 1 ? 1 : -1;
    for (int a = 0; a < dim; a++)
        if (a != axis) v *= corner >> a & 1 ? t[a] : 1 - t[a];
    return v;
}

void element_values(int dim, WarpRule rule, int point, double value[8]) {
    double t[3];
    rule_point(dim, rule, point, t);
    for (int c = 0; c < 1 << dim; c++) value[c] = shape_value(dim, c, t);
}

// -------------------------------------------------------------------------------- small matrices

double matrix_determinant(const double m[3][3]) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

double matrix_invert(const double m[3][3], double inverse[3][3]) {
    double det = matrix_determinant(m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int r = (j + 1) % 3, s = (j + 2) % 3, p = (i + 1) % 3, q = (i + 2) % 3;
            inverse[i][j] = (m[r][p] * m[s][q] - m[r][q] * m[s][p]) / det;
        }
    return det;
}

// ---------------------------------------------------------------------------------------- element

void element_jacobian(int dim, const double d[8][3], const double t[3], double J[3][3]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) J[i][j] = i == j;
    for (int i = 0; i < dim; i++)
        for (int c = 0; c < 1 << dim; c++) {
            double slope = shape_slope(dim, c, i, t);
            for (int j = 0; j < dim; j++) J[i][j] += slope * d[c][j];
        }
}

void element_shape(Element *e, int dim, WarpRule rule, const double d[8][3]) {
    *e = (Element){.dim = dim, .corners = 1 << dim, .points = rule == WARP_RULE_ONE ? 1 : 1 << dim};
    for (int p = 0; p < e->points; p++) {
        double t[3], J[3][3], inverse[3][3];
        double part = rule_point(dim, rule, p, t);
        element_jacobian(dim, d, t, J);
        e->weight[p] = part * matrix_invert(J, inverse);
        e->volume += e->weight[p];
        for (int c = 0; c < e->corners; c++)
            for (int i = 0; i < dim; i++) {
                double slope = shape_slope(dim, c, i, t);
                for (int a = 0; a < dim; a++) e->gradient[p][a][c] += inverse[a][i] * slope;
            }
        for (int a = 0; a < dim; a++)
            for (int c = 0; c < e->corners; c++)
                e->mean[a][c] += e->weight[p] * e->gradient[p][a][c];
    }
    for (int a = 0; a < dim; a++)
        for (int c = 0; c < e->corners; c++) e->mean[a][c] /= e->volume;
}

// ------------------------------------------------------------------------------------ ghost fluid

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Least cosine between grad phi and grad phi0.
static const double LEAST_COSINE = 0.01;

void ghost_matrix(const double a[3], const double b[3], double limit, double M[3][3]) {
    double aa = dot(a, a), bb = dot(b, b), ab = dot(a, b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) M[i][j] = i == j;
    if (!(ab > LEAST_COSINE * sqrt(aa * bb))) return;
    // eq. (36) without its rotation and with its misprint repaired:
    //   e = b/|b|, c = a - (a.e) e, M = (|a|^2 I + c c^T - |c|^2 e e^T)/(a.b) + (e c^T + c e^T)/|b|
    double length = sqrt(bb), e[3], c[3], ae = ab / length;
    for (int i = 0; i < 3; i++) e[i] = b[i] / length;
    for (int i = 0; i < 3; i++) c[i] = a[i] - ae * e[i];
    double cc = dot(c, c), most = sqrt(aa) * (sqrt(aa) + sqrt(cc)) / ab;
    double scale = most > limit ? limit / most : 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            M[i][j] = scale * (((i == j) * aa + c[i] * c[j] - cc * e[i] * e[j]) / ab +
                               (e[i] * c[j] + c[i] * e[j]) / length);
}

void element_ghost(int corners, const double gradient[3][8], const double phi[8],
                   const Surface *surface, double M[3][3]) {
    double a[3] = {0}, b[3] = {0};
    if (surface->order == 2)
        for (int i = 0; i < 3; i++)
            for (int c = 0; c < corners; c++) {
                a[i] += gradient[i][c] * phi[c];
                b[i] += gradient[i][c] * fmin(phi[c], 0);
            }
    ghost_matrix(a, b, surface->limit, M);
}

void element_stiffness(const Element *e, const double open[8], const double phi[8],
                       const Surface *surface, double K[8][8]) {
    memset(K, 0, 8 * sizeof *K);
    for (int p = 0; p < e->points; p++) {
        double M[3][3], MB[3][8];
        const double(*B)[8] = e->gradient[p];
        double w = open[p] * e->weight[p];
        if (w == 0) continue;
        if (phi) element_ghost(e->corners, B, phi, surface, M);
        for (int i = 0; i < 3; i++)
            for (int c = 0; c < e->corners; c++)
                MB[i][c] =
                    phi ? M[i][0] * B[0][c] + M[i][1] * B[1][c] + M[i][2] * B[2][c] : B[i][c];
        for (int r = 0; r < e->corners; r++)
            for (int c = 0; c < e->corners; c++)
                K[r][c] += w * (B[0][r] * MB[0][c] + B[1][r] * MB[1][c] + B[2][r] * MB[2][c]);
    }
}
