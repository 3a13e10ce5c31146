// Flow through a rectangle that is flat along one axis.
#include "gauge/gauge.h"
#include <math.h>

/// Part of a small square that lies beyond a surface at this distance from its middle, in its
/// edges.
static double part_beyond(double distance) {
    return fmin(1, fmax(0, 0.5 + distance));
}

bool gauge_flow(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    const double from[3] = {gauge->from.x, gauge->from.y, gauge->from.z};
    const double to[3] = {gauge->to.x, gauge->to.y, gauge->to.z};
    int normal = 0, count[3] = {1, 1, 1};
    double edge[3] = {1, 1, 1}, area = 1, flow = 0, wet = 0;
    for (int a = 0; a < s->dim; a++) {
        if (to[a] == from[a]) normal = a;
        // half a cell: the surface is as sharp as the level set
        count[a] = (int)fmin(1e4, fmax(1, ceil(2 * (to[a] - from[a]) * s->inv_dx)));
        edge[a] = (to[a] - from[a]) / count[a];
        if (to[a] > from[a]) area *= edge[a];
    }
    double mean_edge = s->dim == 3 ? sqrt(area) : area;
    for (int z = 0; z < count[2]; z++)
        for (int y = 0; y < count[1]; y++)
            for (int x = 0; x < count[0]; x++) {
                const int index[3] = {x, y, z};
                double at[3] = {0}, v[3];
                for (int a = 0; a < s->dim; a++)
                    at[a] = a == normal ? from[a] : from[a] + (index[a] + 0.5) * edge[a];
                double here = part_beyond(-probe_level(s, at) * s->dx / mean_edge);
                if (here > 0 && s->solid_count)
                    here *= part_beyond(probe_solid(s, at, NULL) / mean_edge);
                if (!(here > 0)) continue;
                probe_velocity(s, at, v);
                wet += here * area;
                if (v[normal] == v[normal]) flow += here * area * v[normal];
            }
    value[0] = flow, value[1] = wet;
    return true;
}
