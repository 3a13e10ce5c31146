#include "surface/level_set.h"
#include <math.h>

enum { SLICES = 4096 };

/// Mean depth f, in units of R, of a kernel's mass below a plane at depth z = 1 - 2 i / SLICES
/// under its centre: the slice of (1 - s^2)^3 at depth h weighs (1 - h^2)^e with e = 4 in 3D, 3.5
/// in 2D.
static void mean_depths(double e, double f[SLICES + 1]) {
    double mass = 0, moment = 0, dh = 2.0 / SLICES;
    f[0] = 1;
    for (int i = 1; i <= SLICES; i++) {
        double h = 1 - (i - 0.5) * dh, w = pow(1 - h * h, e);
        mass += w;
        moment += w * h;
        f[i] = moment / mass;
    }
}

LevelSetProfile level_set_profile(int dim) {
    double f[SLICES + 1], radius = 1.5;
    mean_depths(dim == 3 ? 4 : 3.5, f);
    double low = f[SLICES] - f[SLICES / 2], high = f[0] - f[SLICES / 2]; // f(-R), f(R) from f(0)
    LevelSetProfile p = {.radius = (float)radius,
                         .offset = (float)(radius * f[SLICES / 2]),
                         .low = (float)(low * radius),
                         .step = (float)((high - low) * radius / PROFILE_SIZE)};
    for (int i = PROFILE_SIZE, k = 1; i >= 0;
         i--) { // f falls along the slices: find and interpolate
        double wanted = f[SLICES / 2] + low + (high - low) * i / PROFILE_SIZE;
        while (k < SLICES && f[k] > wanted) k++;
        double part = (f[k - 1] - wanted) / (f[k - 1] - f[k]);
        p.distance[i] = (float)(radius * (1 - 2 * (k - 1 + part) / SLICES));
    }
    p.distance[0] = -p.radius;
    return p;
}

LevelSetProfile level_set_paper(void) {
    return (LevelSetProfile){.radius = 1.5f, .offset = 0.75f, .step = 1, .spline = true};
}
