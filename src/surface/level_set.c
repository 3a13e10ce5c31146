#include "surface/level_set.h"
#include <math.h>

/// Mean depth, in units of R, of a kernel's mass below a plane at depth z under its centre:
/// the slice of (1 - s^2)^3 at depth h weighs (1 - h^2)^e with e = 4 in 3D and 3.5 in 2D.
static double mean_depth(double z, double e) {
    enum { STEPS = 400 };
    double mass = 0, moment = 0, dh = (1 - z) / STEPS;
    for (int i = 0; i < STEPS; i++) {
        double h = z + (i + 0.5) * dh, w = pow(1 - h * h, e);
        mass += w;
        moment += w * h;
    }
    return moment / mass;
}

LevelSetProfile level_set_profile(int dim) {
    double e = dim == 3 ? 4 : 3.5, radius = 1.5, at_surface = mean_depth(0, e);
    LevelSetProfile p = {.radius = (float)radius, .offset = (float)(radius * at_surface)};
    double low = -at_surface, high = 1 - at_surface; // f(-R), f(R), in units of R
    p.low = (float)(low * radius);
    p.step = (float)((high - low) * radius / PROFILE_SIZE);
    for (int i = 0; i <= PROFILE_SIZE; i++) {
        double wanted = low + (high - low) * i / PROFILE_SIZE, a = -1, b = 1;
        for (int k = 0; k < 40; k++) { // f is monotone: bisect
            double mid = 0.5 * (a + b);
            if (mid >= 1 || mean_depth(mid, e) - at_surface > wanted)
                b = mid;
            else
                a = mid;
        }
        p.distance[i] = (float)(0.5 * (a + b) * radius);
    }
    p.distance[0] = -p.radius;
    return p;
}
