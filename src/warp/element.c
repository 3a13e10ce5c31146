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

/// Values of the linear functions of an axis at a rule's points: that of the side on which the
/// point is, and that of the other.
typedef struct Ends {
    double near, far;
} Ends;

static Ends rule_ends(WarpRule rule) {
    return rule == WARP_RULE_ONE       ? (Ends){0.5, 0.5}
           : rule == WARP_RULE_CORNERS ? (Ends){1, 0}
                                       : (Ends){0.78867513459481288225, 0.21132486540518711775};
}

/// Slopes of all shape functions at a point. => [axis][corner]
static inline void point_slopes(int dim, Ends ends, int p, double slope[3][8]) {
    for (int i = 0; i < dim; i++)
        for (int c = 0; c < 1 << dim; c++) {
            double v = c >> i & 1 ? 1 : -1;
            for (int a = 0; a < dim; a++)
                if (a != i) v *= (c ^ p) >> a & 1 ? ends.far : ends.near;
            slope[i][c] = v;
        }
}

/// One quadrature point; inlined for each dimension, so that the loops have no counters.
static inline __attribute__((always_inline)) void
shape_point(Element *e, int dim, Ends ends, double part, const double d[8][3], int p) {
    double slope[3][8], J[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, inverse[3][3];
    point_slopes(dim, ends, p, slope);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            for (int c = 0; c < 1 << dim; c++) J[i][j] += slope[i][c] * d[c][j];
    e->weight[p] = part * matrix_invert(J, inverse);
    e->volume += e->weight[p];
    for (int a = 0; a < dim; a++)
        for (int c = 0; c < 1 << dim; c++) {
            double v = 0;
            for (int i = 0; i < dim; i++) v += inverse[a][i] * slope[i][c];
            e->gradient[p][a][c] = v;
            e->mean[a][c] += e->weight[p] * v;
        }
}

void element_shape(Element *e, int dim, WarpRule rule, const double d[8][3]) {
    const Ends ends = rule_ends(rule);
    e->dim = dim, e->corners = 1 << dim;
    e->points = rule == WARP_RULE_ONE ? 1 : e->corners;
    e->volume = 0;
    memset(e->mean, 0, sizeof e->mean);
    for (int p = 0; p < e->points; p++) {
        if (dim == 3) {
            shape_point(e, 3, ends, 1.0 / e->points, d, p);
        } else {
            shape_point(e, 2, ends, 1.0 / e->points, d, p);
            memset(e->gradient[p][2], 0, sizeof e->gradient[p][2]);
        }
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

/// K += w B^T B, in 3D.
static void add_plain(const double B[3][8], double w, double K[8][8]) {
    for (int r = 0; r < 8; r++) {
        double x = w * B[0][r], y = w * B[1][r], z = w * B[2][r];
        for (int c = 0; c < 8; c++) K[r][c] += x * B[0][c] + y * B[1][c] + z * B[2][c];
    }
}

void element_stiffness(const Element *e, const double open[8], const double phi[8],
                       const Surface *surface, double K[8][8]) {
    memset(K, 0, 8 * sizeof *K);
    for (int p = 0; p < e->points; p++) {
        double M[3][3], MB[3][8];
        const double(*B)[8] = e->gradient[p];
        double w = open[p] * e->weight[p];
        if (w == 0) continue;
        if (!phi && e->dim == 3) {
            add_plain(B, w, K);
            continue;
        }
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
