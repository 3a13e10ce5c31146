#include "walls/sight.h"
#include "step/stages.h"
#include "walls/lookup.h"
#include <math.h>

/// A way ends where it is so deep in a solid, cells: half of what nodes at half cells show of the
/// thinnest wall that holds water, one cell. Less deep it only grazes a wall along which it runs.
static const float DEEP = 0.125f;
/// Least stride, cells: a part of such a wall.
static const float STRIDE = 0.25f;

float clear_way(const BrimSim *s, const float from[3], float start, const float to[3], float end) {
    float length = 0, last = 0;
    for (int a = 0; a < s->dim; a++) length += (to[a] - from[a]) * (to[a] - from[a]);
    length = sqrtf(length);
    for (float way = 0; way < length;) { // no point is farther from a wall than it is far to it
        float at[3] = {0}, part = way / length, distance = start;
        for (int a = 0; a < s->dim; a++) at[a] = from[a] + part * (to[a] - from[a]);
        if (way > 0) distance = solid_value(s, at);
        if (distance < -DEEP * s->dx) return last;
        if (distance + end > length - way) return 1;
        last = part;
        way += fmaxf(distance, STRIDE * s->dx);
    }
    return end < -DEEP * s->dx ? last : 1;
}

bool wall_between(const BrimSim *s, const float from[3], const float to[3]) {
    return clear_way(s, from, solid_value(s, from), to, solid_value(s, to)) < 1;
}

void go_with_walls(const BrimSim *s, const float at[3], float time, float end[3]) {
    float wall[3] = {0}, middle[3] = {0};
    for (int a = 0; a < 3; a++) end[a] = a < s->dim ? at[a] : 0;
    if (!s->wall_speed[s->dim - 1]) return;
    wall_lookup(s, at, wall); // a turning wall takes it along an arc: by the velocity half way
    for (int a = 0; a < s->dim; a++) middle[a] = at[a] + 0.5f * time * wall[a];
    wall_lookup(s, middle, wall);
    for (int a = 0; a < s->dim; a++) end[a] = at[a] + time * wall[a];
}

bool step_outside(const BrimSim *s, float at[3]) {
    enum { STEPS = 4 }; // on a corner's ridge one does not do
    for (int k = 0; k <= STEPS; k++) {
        float gradient[3], distance = solid_lookup(s, at, gradient), length2 = 0;
        if (distance >= 0) return true;
        for (int a = 0; a < s->dim; a++) length2 += gradient[a] * gradient[a];
        if (!(length2 > 0)) return false;
        for (int a = 0; a < s->dim; a++)
            at[a] += (0.01f * s->dx - distance) * gradient[a] / sqrtf(length2);
    }
    return false;
}
