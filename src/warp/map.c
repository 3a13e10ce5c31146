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
        double in = xi[a] < 0 ? 0 : xi[a] > m->cells[a] ? m->cells[a] : xi[a];
        double at = in / m->ratio[a];
        int cell = (int)at;
        p.cell[a] = cell < m->coarse[a] ? cell : m->coarse[a] - 1;
        p.t[a] = at - p.cell[a];
    }
    return p;
}

/// Displacements of the corners of a coarse cell, cells of the grid.
static void coarse_corners(const WarpMap *m, const int cell[3], double d[8][3]) {
    for (int c = 0; c < 1 << m->dim; c++) {
        size_t at = map_node(m, cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2 & 1));
        for (int a = 0; a < 3; a++) d[c][a] = (double)m->d[a][at];
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

/// Displacement and J at a place of a coarse cell in one go; inlined for each dimension.
static inline __attribute__((always_inline)) void
evaluate(const WarpMap *m, int dim, const Place *p, double d[3], double J[3][3]) {
    double v[8][3], g[3][8][3]; // values, and slopes along each axis, halved axis by axis
    for (int c = 0; c < 1 << dim; c++) {
        size_t at = map_node(m, p->cell[0] + (c & 1), p->cell[1] + (c >> 1 & 1),
                             dim == 3 ? p->cell[2] + (c >> 2 & 1) : 0);
        for (int a = 0; a < dim; a++) v[c][a] = (double)m->d[a][at];
    }
    for (int axis = dim - 1; axis >= 0; axis--)
        for (int c = 0; c < 1 << axis; c++)
            for (int a = 0; a < dim; a++) {
                double rise = v[c + (1 << axis)][a] - v[c][a];
                for (int k = axis + 1; k < dim; k++)
                    g[k][c][a] += p->t[axis] * (g[k][c + (1 << axis)][a] - g[k][c][a]);
                g[axis][c][a] = rise;
                v[c][a] += p->t[axis] * rise;
            }
    for (int i = 0; i < 3; i++) {
        d[i] = i < dim ? v[0][i] : 0;
        for (int j = 0; j < 3; j++)
            J[i][j] = (i == j) + (i < dim && j < dim ? g[i][0][j] / m->ratio[i] : 0);
    }
}

void map_point(const WarpMap *m, const double xi[3], double x[3], double J[3][3]) {
    Place p = place_of(m, xi);
    double d[3];
    if (m->dim == 3)
        evaluate(m, 3, &p, d, J);
    else
        evaluate(m, 2, &p, d, J);
    for (int a = 0; a < 3; a++) x[a] = xi[a] + d[a];
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

void map_jacobian(const WarpMap *m, const double xi[3], double J[3][3]) {
    double x[3];
    map_point(m, xi, x, J);
}

double map_to_reference(const WarpMap *m, const double x[3], double xi[3], double tolerance,
                        int iterations) {
    for (int k = 0;; k++) {
        double at[3], J[3][3], inverse[3][3], off[3], far = 0;
        map_point(m, xi, at, J);
        for (int a = 0; a < 3; a++) {
            off[a] = a < m->dim ? x[a] - at[a] : 0;
            far = fabs(off[a]) > far ? fabs(off[a]) : far;
        }
        if (far <= tolerance || k >= iterations) return far;
        matrix_invert(J, inverse);
        for (int i = 0; i < m->dim; i++) { // dxi = J^-T dx
            double to = xi[i];
            for (int a = 0; a < m->dim; a++) to += inverse[a][i] * off[a];
            xi[i] = to < 0 ? 0 : to > m->cells[i] ? m->cells[i] : to;
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

/// Determinants at one corner of a row of coarse cells: from the three edges that meet there.
static void corner_row(const WarpMap *m, int y, int z, int corner, float *least, float *most) {
    const int cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2, deep = m->dim == 3;
    const float part[3] = {1.0f / (float)m->ratio[0], 1.0f / (float)m->ratio[1],
                           deep ? 1.0f / (float)m->ratio[2] : 0};
    const float *low[3][3], *high[3][3]; // [axis][component]
    for (int j = 0; j < 3; j++) {
        low[0][j] = m->d[j] + map_node(m, 0, y + cy, z + cz), high[0][j] = low[0][j] + 1;
        low[1][j] = m->d[j] + map_node(m, cx, y, z + cz);
        high[1][j] = m->d[j] + map_node(m, cx, y + 1, z + cz);
        low[2][j] = m->d[j] + map_node(m, cx, y + cy, z);
        high[2][j] = m->d[j] + map_node(m, cx, y + cy, z + deep);
    }
    for (int x = 0; x < m->coarse[0]; x++) {
        float J[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                J[i][j] = part[i] * (high[i][j][x] - low[i][j][x]) + (i == j ? 1.0f : 0.0f);
        const float det = J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) -
                          J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
                          J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
        least[x] = det < least[x] ? det : least[x];
        most[x] = det > most[x] ? det : most[x];
    }
}

void map_determinants(const WarpMap *m, double *least, double *most) {
    enum { ROW = 256 };
    float low[ROW], high[ROW];
    for (int i = 0; i < ROW; i++) low[i] = INFINITY, high[i] = -INFINITY;
    for (int z = 0; z < m->coarse[2]; z++)
        for (int y = 0; y < m->coarse[1]; y++)
            for (int c = 0; c < 1 << m->dim; c++) corner_row(m, y, z, c, low, high);
    *least = INFINITY, *most = -INFINITY;
    for (int x = 0; x < m->coarse[0]; x++)
        *least = fmin(*least, (double)low[x]), *most = fmax(*most, (double)high[x]);
}
