// Stage 1: how long the step is.
#include "step/solid_fine.h"
#include "step/stages.h"
#include <math.h>

BrimVec3 gravity_at(const BrimSim *s, double time) {
    const BrimGravityKey *k = s->gravity_keys;
    int n = s->def.gravity_key_count;
    if (!n) return s->def.gravity;
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

/// The fastest corner of the boxes around moving solids, m/s: they push water to that speed.
static double solid_speed(const BrimSim *s) {
    double fastest = 0;
    for (int k = 0; k < s->solid_count; k++) {
        const Solid *solid = s->solids[k];
        float low[3], high[3];
        if (!solid_moves(solid) || !solid_exists(solid, s->time)) continue;
        if (!solid_bounds(solid, low, high)) continue;
        for (int a = 0; a < 3; a++) {
            float end = (float)s->grid.cells[a] * s->dx;
            low[a] = fminf(fmaxf(low[a], 0), end), high[a] = fminf(fmaxf(high[a], 0), end);
        }
        for (int n = 0; n < 8; n++)
            fastest = fmax(fastest, length(solid_velocity(solid, n & 1 ? high[0] : low[0],
                                                          n & 2 ? high[1] : low[1],
                                                          n & 4 ? high[2] : low[2])));
    }
    return fastest;
}

/// The speed after `dt` seconds of free fall, m/s.
static double fallen(const BrimSim *s, double speed, double dt) {
    return speed + dt * length(gravity_at(s, s->time));
}

static double fastest(const BrimSim *s) {
    return fmax(s->max_speed, solid_speed(s));
}

/// Whether a thin wall moves: one that crosses more than half a cell in a step leaves particles
/// behind on its other side.
static bool thin_moves(const BrimSim *s) {
    for (int t = 0; t < s->grid.tile_count && s->fine_count; t++)
        if (fine_here(s, t) && s->tile_solid[t] == SOLID_MOVING) return true;
    return false;
}

double choose_dt(const BrimSim *s, double time, int frame) {
    double frame_end = (double)(frame + 1) / s->def.frame_rate;
    double left = frame_end - time, dt = s->def.step;
    if (dt <= 0) {
        double longest = s->def.step_max > 0 ? s->def.step_max : 1 / s->def.frame_rate;
        dt = longest;
        // The speed at the end of the step counts, and that depends on the step: twice is enough.
        for (int i = 0; i < 2; i++) {
            double speed = fallen(s, fastest(s), time - s->time + dt);
            dt = speed * longest > s->def.cfl * s->dx ? s->def.cfl * s->dx / speed : longest;
        }
        double walls = thin_moves(s) ? solid_speed(s) : 0;
        if (walls * dt > 0.5 * s->dx) dt = 0.5 * s->dx / walls;
        if (dt < s->def.step_min) dt = s->def.step_min;
        // Equal steps to the end of the frame rather than a sliver at its end.
        dt = left / fmax(1, ceil(left / dt - 1e-6));
    }
    // Fixed steps: the last one of a frame is cut; one that would leave a sliver takes it along.
    return dt * (1 + 1e-6) >= left ? left : dt;
}

double reach_at_speed(const BrimSim *s, double speed) {
    double dt = fmax(s->dt_next, s->def.step);
    return fallen(s, speed, s->dt + dt) * dt / s->dx;
}

double reach_estimate(const BrimSim *s) {
    return reach_at_speed(s, fastest(s));
}

int reach_cells(double reach) {
    enum { MOST = 64 };
    return (reach < MOST ? (int)ceil(reach) : MOST) + 1;
}
