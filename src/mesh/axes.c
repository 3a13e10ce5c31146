#include "mesh/axes.h"
#include <math.h>

void axes_find(double a[3][3], double v[3][3]) {
    enum { SWEEPS = 12 };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) v[i][k] = i == k;
    for (int turn = 0; turn < 3 * SWEEPS; turn++) {
        int p = turn % 3, q = (p + 1) % 3;
        if (fabs(a[p][q]) <= 1e-12 * (fabs(a[p][p]) + fabs(a[q][q]))) continue;
        double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
        double c = 1 / sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 3; k++) {
            double x = a[k][p], y = a[k][q];
            a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
            double x = a[p][k], y = a[q][k];
            a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
            x = v[k][p], y = v[k][q];
            v[k][p] = c * x - s * y, v[k][q] = s * x + c * y;
        }
    }
}
