#include "warp/map.h"
#include <math.h>

/// The coarse cell that holds a point, and where in it.
typedef struct Place {
    int cell[3];
    double t[3]; ///< [0, 1]
} Place;

static Place place_of(const WarpMap *m, const double xi[3]) {
    Place p = {{0}, {0}};
    for (int a = 0; a < m->dim; a++) {
        double at = fmin(fmax(xi[a], 0), m->cells[a]) / m->ratio[a];
        int cell = (int)at;
        p.cell[a] = cell < m->coarse[a] ? cell : m->coarse[a] - 1;
        p.t[a] = at - p.cell[a];
    }
    return p;
}

/// Displacements of the corners of a coarse cell, cells of the grid.
static void coarse_corners(const WarpMap *m, const int cell[3], double d[8][3]) {
    for (int c = 0; c < 1 << m->dim; c++) {
        const float *at =
            m->d[map_node(m, cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2 & 1))];
        for (int a = 0; a < 3; a++) d[c][a] = (double)at[a];
    }
}

static void interpolate(int dim, const double d[8][3], const double t[3], double out[3]) {
    double v[8][3];
    for (int c = 0; c < 1 << dim; c++)
        for (int a = 0; a < 3; a++) v[c][a] = d[c][a];
    for (int axis = dim - 1; axis >= 0; axis--)
        for (int c = 0; c < 1 << axis; c++)
            for (int a = 0; a < 3; a++) v[c][a] += t[axis] * (v[c + (1 << axis)][a] - v[c][a]);
    for (int a = 0; a < 3; a++) out[a] = v[0][a];
}

void map_displacement(const WarpMap *m, const double xi[3], double d[3]) {
    double corner[8][3];
    Place p = place_of(m, xi);
    coarse_corners(m, p.cell, corner);
    interpolate(m->dim, corner, p.t, d);
}

void map_to_space(const WarpMap *m, const double xi[3], double x[3]) {
    double d[3];
    map_displacement(m, xi, d);
    for (int a = 0; a < 3; a++) x[a] = xi[a] + d[a];
}

/// J of the grid's coordinates: the coarse cell's corners are `ratio` cells apart.
static void jacobian_at(const WarpMap *m, const double corner[8][3], const double t[3],
                        double J[3][3]) {
    element_jacobian(m->dim, corner, t, J);
    for (int i = 0; i < m->dim; i++)
        for (int j = 0; j < m->dim; j++) {
            double one = i == j;
            J[i][j] = one + (J[i][j] - one) / m->ratio[i];
        }
}

void map_jacobian(const WarpMap *m, const double xi[3], double J[3][3]) {
    double corner[8][3];
    Place p = place_of(m, xi);
    coarse_corners(m, p.cell, corner);
    jacobian_at(m, corner, p.t, J);
}

double map_to_reference(const WarpMap *m, const double x[3], double xi[3], double tolerance,
                        int iterations) {
    for (int k = 0;; k++) {
        double corner[8][3], d[3], J[3][3], inverse[3][3], off[3], far = 0;
        Place p = place_of(m, xi);
        coarse_corners(m, p.cell, corner);
        interpolate(m->dim, corner, p.t, d);
        for (int a = 0; a < 3; a++) {
            off[a] = a < m->dim ? x[a] - xi[a] - d[a] : 0;
            far = fmax(far, fabs(off[a]));
        }
        if (far <= tolerance || k >= iterations) return far;
        jacobian_at(m, corner, p.t, J);
        matrix_invert(J, inverse);
        for (int i = 0; i < m->dim; i++) { // dxi = J^-T dx
            double step = 0;
            for (int a = 0; a < m->dim; a++) step += inverse[a][i] * off[a];
            xi[i] = fmin(fmax(xi[i] + step, 0), m->cells[i]);
        }
    }
}

void map_corners(const WarpMap *m, int x, int y, int z, double d[8][3]) {
    const int at[3] = {x, y, z};
    Place p = {{0}, {0}};
    double corner[8][3];
    for (int a = 0; a < m->dim; a++) p.cell[a] = at[a] / m->ratio[a];
    coarse_corners(m, p.cell, corner);
    for (int c = 0; c < 1 << m->dim; c++) {
        for (int a = 0; a < m->dim; a++)
            p.t[a] = (double)(at[a] - p.cell[a] * m->ratio[a] + (c >> a & 1)) / m->ratio[a];
        interpolate(m->dim, corner, p.t, d[c]);
    }
}

void map_determinants(const WarpMap *m, double *least, double *most) {
    *least = INFINITY, *most = -INFINITY;
    int cell[3];
    for (cell[2] = 0; cell[2] < m->coarse[2]; cell[2]++)
        for (cell[1] = 0; cell[1] < m->coarse[1]; cell[1]++)
            for (cell[0] = 0; cell[0] < m->coarse[0]; cell[0]++) {
                double corner[8][3], J[3][3];
                coarse_corners(m, cell, corner);
                for (int c = 0; c < 1 << m->dim; c++) {
                    double t[3] = {c & 1, c >> 1 & 1, c >> 2 & 1};
                    jacobian_at(m, corner, t, J);
                    double det = matrix_determinant(J);
                    *least = fmin(*least, det), *most = fmax(*most, det);
                }
            }
}
