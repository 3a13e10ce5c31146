// Fields at a point.
#include "gauge/gauge.h"
#include "projection/weight.h"
#include "step/stages.h"
#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>

/// The 2^dim places around a point, on faces along `axis` or, with -1, in cell centres.
typedef struct Stencil {
    int count;
    int at[8][3];        ///< cell, or cell whose lower face it is
    double offset[8][3]; ///< from the point to there, m
    double weight[8];
} Stencil;

/// Leaves out what is beyond the domain.
static Stencil stencil_at(const BrimSim *s, const double at[3], int axis) {
    Stencil stencil = {0};
    int low[3] = {0};
    double part[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        double x = space_to_grid_double(s->space, at[a]) - (a == axis ? 0 : 0.5);
        low[a] = (int)floor(x), part[a] = x - low[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        int i = stencil.count;
        bool inside = true;
        double weight = 1;
        for (int a = 0; a < s->dim; a++) {
            int up = n >> a & 1, cell = low[a] + up;
            inside &= cell >= 0 && cell < s->grid.cells[a] + (a == axis);
            weight *= up ? part[a] : 1 - part[a];
            stencil.at[i][a] = cell;
            stencil.offset[i][a] = (cell + (a == axis ? 0 : 0.5)) * s->dx - at[a];
        }
        stencil.weight[i] = weight;
        stencil.count += inside && weight > 0;
    }
    return stencil;
}

static bool is_rock(const BrimSim *s, int64_t cell) {
    return s->walls.solid_count && cell_in(s->rock, cell);
}

/// A place on a warped grid, cells of reference space.
static void reference_of(const BrimSim *s, const double at[3], double xi[3]) {
    const double x[3] = {space_to_grid_double(s->space, at[0]),
                         space_to_grid_double(s->space, at[1]),
                         space_to_grid_double(s->space, at[2])};
    warp_from_place(s, x, xi);
}

double probe_level(const BrimSim *s, const double at[3]) {
    double xi[3];
    if (s->warp) {
        reference_of(s, at, xi);
        return warp_level_at(s, xi);
    }
    Stencil stencil = stencil_at(s, at, -1);
    double sum = 0, weights = 0;
    for (int i = 0; i < stencil.count; i++) {
        const int *c = stencil.at[i];
        int64_t cell = grid_cell(&s->grid, c[0], c[1], c[2]);
        if (cell >= 0 && is_rock(s, cell)) continue;
        sum += stencil.weight[i] * (cell < 0 ? LEVEL_SET_CUT : s->phi[cell]);
        weights += stencil.weight[i];
    }
    return weights > 0 ? sum / weights : LEVEL_SET_CUT;
}

/// What the pressure would be in a cell of air, so that it is 0 on the surface between it and the
/// liquid beside it; in units of the field.
static double ghost_pressure(const BrimSim *s, const int at[3], int64_t cell) {
    double sum = 0;
    int count = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int next[3] = {at[0], at[1], at[2]};
        next[n >> 1] += n & 1 ? 1 : -1;
        if (next[n >> 1] >= s->grid.cells[n >> 1]) continue;
        int64_t beside = grid_cell(&s->grid, next[0], next[1], next[2]);
        if (beside < 0 || !cell_in(s->liquid, beside) || s->phi[beside] >= 0) continue;
        double air = cell < 0 ? LEVEL_SET_CUT : fmaxf(s->phi[cell], 0);
        double depth = fmax(-(double)s->phi[beside], 0.1);
        sum -= shown_pressure(s, beside) * air / depth, count++;
    }
    return count ? sum / count : 0;
}

double probe_pressure(const BrimSim *s, const double at[3]) {
    double xi[3];
    if (s->warp) {
        reference_of(s, at, xi);
        return fmax(0, pressure_unit(s) * warp_pressure_at(s, xi));
    }
    Stencil stencil = stencil_at(s, at, -1);
    double sum = 0, weights = 0, unit = pressure_unit(s), weight[3];
    bool wet = false;
    gauge_weight(s, weight);
    for (int i = 0; i < stencil.count; i++) {
        const int *c = stencil.at[i];
        int64_t cell = grid_cell(&s->grid, c[0], c[1], c[2]);
        bool liquid = cell >= 0 && cell_in(s->liquid, cell);
        if (cell >= 0 && !liquid && is_rock(s, cell)) continue;
        double p = unit * (liquid ? shown_pressure(s, cell) : ghost_pressure(s, c, cell));
        for (int a = 0; a < s->dim; a++) p -= weight[a] * stencil.offset[i][a];
        sum += stencil.weight[i] * p, weights += stencil.weight[i];
        wet |= liquid;
    }
    if (!wet) return 0;
    double p = sum / weights;
    return p < 0 && probe_level(s, at) >= 0 ? 0 : p;
}

double probe_solid(const BrimSim *s, const double at[3], int *which) {
    double nearest = SOLID_REACH * s->dx;
    if (which) *which = -1;
    const float x = (float)at[0], y = (float)at[1], z = s->dim == 3 ? (float)at[2] : 0;
    for (int k = 0; k < s->walls.solid_count; k++) {
        float d;
        if (!solid_exists(s->walls.solids[k], s->walls.time)) continue;
        solid_distance(s->walls.solids[k], 1, &x, &y, &z, &d);
        if (!(d < nearest)) continue;
        nearest = d;
        if (which) *which = k;
    }
    return nearest;
}

/// A component of the velocity on faces; NaN where none is known.
static double face_velocity(const BrimSim *s, const double at[3], int axis) {
    Stencil stencil = stencil_at(s, at, axis);
    double sum = 0, weights = 0;
    for (int i = 0; i < stencil.count; i++) {
        const int *c = stencil.at[i];
        bool low = c[axis] == 0, high = c[axis] == s->grid.cells[axis];
        int64_t cell = grid_cell(&s->grid, c[0], c[1], c[2]);
        double v = cell < 0 ? NAN : s->velocity[axis][cell];
        if ((low && !s->sides.open[2 * axis]) || (high && !s->sides.open[2 * axis + 1])) v = 0;
        if (v != v) continue;
        sum += stencil.weight[i] * v, weights += stencil.weight[i];
    }
    return weights > 0 ? sum / weights : NAN;
}

void probe_velocity(const BrimSim *s, const double at[3], double velocity[3]) {
    int which;
    double slope[3], length = 0, towards = 0, d = probe_solid(s, at, &which);
    double xi[3];
    if (s->warp) {
        reference_of(s, at, xi);
        if (!warp_sample(s, s->velocity, xi, velocity))
            velocity[0] = velocity[1] = velocity[2] = NAN;
    }
    for (int a = 0; a < 3 && !s->warp; a++) velocity[a] = a < s->dim ? face_velocity(s, at, a) : 0;
    // within half a cell of a solid the normal component goes over into the solid's
    if (which < 0 || d >= 0.5 * s->dx) return;
    for (int a = 0; a < s->dim; a++) {
        double low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
        low[a] -= 0.25 * s->dx, high[a] += 0.25 * s->dx;
        slope[a] = probe_solid(s, high, NULL) - probe_solid(s, low, NULL);
        length += slope[a] * slope[a];
    }
    if (!(length > 0)) return;
    BrimVec3 w = solid_velocity(s->walls.solids[which], (float)at[0], (float)at[1], (float)at[2]);
    const double wall[3] = {w.x, w.y, w.z};
    for (int a = 0; a < s->dim; a++) towards += (velocity[a] - wall[a]) * slope[a] / length;
    towards *= fmin(1, 1 - 2 * d * s->inv_dx);
    for (int a = 0; a < s->dim; a++) velocity[a] -= towards * slope[a];
}
