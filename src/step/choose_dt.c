// Stage 1: how long the step is.
#include "bodies/immersed.h"
#include "emit/stream.h"
#include "liquid/force_fields.h"
#include "step/stages.h"
#include "warp/stage.h"
#include <math.h>

BrimVec3 gravity_at(const BrimSim *s, double time) {
    const BrimGravityKey *k = s->gravity_keys;
    int n = s->def.gravity_key_count;
    if (s->host.gravity_set)
        return (BrimVec3){(float)s->host.gravity_x, (float)s->host.gravity_y,
                          (float)s->host.gravity_z};
    if (!n) {
        BrimVec3 g = s->def.gravity;
        Formula *const *f = s->gravity_formula;
        if (f[0]) g.x = (float)formula_at(f[0], 0, 0, 0, time);
        if (f[1]) g.y = (float)formula_at(f[1], 0, 0, 0, time);
        if (f[2]) g.z = (float)formula_at(f[2], 0, 0, 0, time);
        return g;
    }
    if (time <= k[0].time) return k[0].gravity;
    for (int i = 1; i < n; i++)
        if (time < k[i].time) {
            float f = (float)((time - k[i - 1].time) / (k[i].time - k[i - 1].time));
            BrimVec3 a = k[i - 1].gravity, b = k[i].gravity;
            return (BrimVec3){a.x + f * (b.x - a.x), a.y + f * (b.y - a.y), a.z + f * (b.z - a.z)};
        }
    return k[n - 1].gravity;
}

static double length(BrimVec3 v) {
    return sqrt((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
}

/// The corners, within the domain, of the box around a solid. False when it does not move or is not
/// there.
static bool moving_corners(const BrimSim *s, const Solid *solid, double time, float corner[8][3]) {
    float low[3], high[3];
    if (!solid_moves(solid) || !solid_exists(solid, time)) return false;
    if (!solid_bounds(solid, low, high)) return false;
    for (int a = 0; a < 3; a++) {
        float end = (float)s->grid.cells[a] * s->dx;
        low[a] = fminf(fmaxf(low[a], 0), end), high[a] = fminf(fmaxf(high[a], 0), end);
        for (int n = 0; n < 8; n++) corner[n][a] = n >> a & 1 ? high[a] : low[a];
    }
    return true;
}

/// The fastest corner of the boxes around moving solids, and vertex of bodies, m/s: they push water
/// to that speed.
static double solid_speed(const BrimSim *s) {
    double fastest = 0;
    float at[8][3];
    for (int k = 0; k < s->walls.solid_count; k++) {
        const Solid *solid = s->walls.solids[k];
        if (!moving_corners(s, solid, s->time, at)) continue;
        double own = solid_flexing(solid);
        if (solid_is_body(solid)) fastest = fmax(fastest, solid_body_speed(solid));
        for (int n = 0; n < 8 && !solid_is_body(solid); n++)
            fastest =
                fmax(fastest, own + length(solid_velocity(solid, at[n][0], at[n][1], at[n][2])));
    }
    return bodies_immersed(s) ? fmax(fastest, immersed_speed(s)) : fastest;
}

/// The longest way of such a corner over a step, m.
static double solid_ways(const BrimSim *s, double time, double dt) {
    double longest = 0;
    float at[8][3];
    for (int k = 0; k < s->walls.solid_count; k++) {
        if (!moving_corners(s, s->walls.solids[k], time + dt, at)) continue;
        for (int n = 0; n < 8; n++)
            longest = fmax(longest, solid_way(s->walls.solids[k], time, time + dt, at[n]));
    }
    return longest;
}

/// On a warped grid speeds count in reference space, where those in space may be larger.
static double stretch(const BrimSim *s) {
    return s->warp ? s->warp->stretch : 1;
}

/// The speed after `dt` seconds of free fall, m/s.
static double fallen(const BrimSim *s, double speed, double dt) {
    return speed + stretch(s) * dt * length(gravity_at(s, s->time));
}

/// By then this step and the next are over, s: neither crosses a frame's end.
static double soon_after(const BrimSim *s) {
    return s->time + 2 / s->def.frame_rate;
}

/// Speed of the streams that sources emit in this step or the next, m/s.
static double source_speed(const BrimSim *s) {
    double fastest = 0, soon = soon_after(s);
    for (int i = 0; i < s->source_count; i++) {
        const BrimSourceDef *def = &s->sources[i].def;
        if (def->start <= soon && def->stop >= s->time)
            fastest = fmax(fastest, source_varies(&s->sources[i])
                                        ? stream_speed(&s->sources[i], s->time, soon)
                                        : length(def->velocity));
    }
    return fastest;
}

double step_speed(const BrimSim *s) {
    return fmax(s->max_speed, stretch(s) * fmax(source_speed(s), solid_speed(s)));
}

/// Cells that a solid may cross in a step that we choose: no farther than a tile's block sees.
static const double WALL_CELLS = 4;

/// A step of at most `dt` in which no solid crosses more cells than that. One that the host puts
/// somewhere else at once crosses as many in any step: there is none to wait for.
static double step_for_walls(const BrimSim *s, double time, double dt) {
    double most = WALL_CELLS * s->dx / stretch(s), speed = solid_speed(s);
    if (speed * dt > most) dt = most / speed;
    for (int i = 0; i < 3; i++) { // a solid that gathers speed goes less far in less time
        double way = solid_ways(s, time, dt), shorter = dt * most / way;
        if (way <= most || solid_ways(s, time, shorter) > 0.9 * way) break;
        dt = shorter;
    }
    return dt;
}

double step_for_tension(const BrimSim *s) {
    if (!(s->def.surface_tension > 0)) return INFINITY;
    // cells of a mesh that bends are smaller
    const double least = s->warp ? s->warp->motion.least : 1;
    const double dx = s->dx * (least > 0 ? pow(least, 1.0 / s->dim) : 1);
    return sqrt(s->def.density * dx * dx * dx / (2 * 3.14159265 * s->def.surface_tension));
}

/// A key of gravity may bring more than there is now.
double strongest_pull(const BrimSim *s) {
    double soon = soon_after(s);
    double most = fmax(length(gravity_at(s, s->time)), length(gravity_at(s, soon)));
    enum { SAMPLES = 8 };
    bool formula = s->gravity_formula[0] || s->gravity_formula[1] || s->gravity_formula[2];
    for (int i = 1; i < SAMPLES && formula && !s->host.gravity_set; i++)
        most = fmax(most, length(gravity_at(s, s->time + (soon - s->time) * i / SAMPLES)));
    for (int i = 0; i < s->def.gravity_key_count && !s->host.gravity_set; i++)
        if (s->gravity_keys[i].time > s->time && s->gravity_keys[i].time < soon)
            most = fmax(most, length(s->gravity_keys[i].gravity));
    if (s->force_count)
        most += fmax(force_fields_strongest(s, s->time), force_fields_strongest(s, soon));
    return most;
}

/// The step that begins after `wait` seconds and takes the fastest particle, which falls faster and
/// faster, at most `way` m far at the speed that it ends with: (v + g dt) dt = way.
static double step_for_way(const BrimSim *s, double wait, double way) {
    double pull = stretch(s) * strongest_pull(s), speed = step_speed(s) + wait * pull;
    double sum = speed + sqrt(speed * speed + 4 * pull * way);
    return sum > 0 ? 2 * way / sum : INFINITY;
}

double step_for_waves(const BrimSim *s) {
    double pull = strongest_pull(s);
    return pull > 0 ? sqrt(2 * (double)s->dx / pull) : INFINITY;
}

double step_at_rest(const BrimSim *s) {
    if (s->def.step > 0) return s->def.step;
    double longest = s->def.step_max > 0 ? s->def.step_max : 1 / s->def.frame_rate;
    return fmax(fmin(fmin(longest, step_for_tension(s)), step_for_waves(s)), s->def.step_min);
}

double choose_dt(const BrimSim *s, double time, int frame) {
    double frame_end = (double)(frame + 1) / s->def.frame_rate;
    double left = frame_end - time, dt = s->def.step;
    if (dt <= 0) {
        dt = fmin(step_at_rest(s), step_for_way(s, time - s->time, s->def.cfl * s->dx));
        dt = step_for_walls(s, time, dt);
        if (dt < s->def.step_min) dt = s->def.step_min;
        // Equal steps to the end of the frame rather than a sliver at its end.
        dt = left / fmax(1, ceil(left / dt - 1e-6));
    }
    // Fixed steps: the last one of a frame is cut; one that would leave a sliver takes it along.
    return dt * (1 + 1e-6) >= left ? left : dt;
}

double reach_at_speed(const BrimSim *s, double speed) {
    double dt = fmax(s->dt_next, s->def.step);
    double reach = fallen(s, speed, s->dt + dt) * dt / s->dx;
    return has_mpm(s) ? fmax(reach, MPM_HALO) : reach; // all nodes of its splines exist
}

double reach_estimate(const BrimSim *s) {
    return reach_at_speed(s, step_speed(s));
}

bool crosses_tiles(const BrimSim *s) {
    double speed = step_speed(s);
    for (int t = 0; t < s->grid.tile_count; t++) speed = fmax(speed, (double)s->tile_speed[t]);
    return speed * s->dt > TILE * (double)s->dx;
}

int reach_cells(double reach) {
    enum { MOST = 64 };
    return (reach < MOST ? (int)ceil(reach) : MOST) + 1;
}
