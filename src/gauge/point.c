// Pressure and velocity at a point.
#include "gauge/gauge.h"
#include <math.h>

bool gauge_point(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    const double at[3] = {gauge->from.x, gauge->from.y, s->dim == 3 ? gauge->from.z : 0};
    double velocity[3];
    value[0] = probe_pressure(s, at);
    probe_velocity(s, at, velocity);
    // half a cell into the air the flow is still that of the surface
    bool dry = probe_level(s, at) > 0.5;
    for (int a = 0; a < s->dim; a++) value[1 + a] = dry ? NAN : velocity[a];
    return true;
}
