// Flow through a rectangle that is flat along one axis, and how much of it is wet.
//
// The flow is that of the particles' volume: each one counts with its velocity and a hat of one
// cell to either side of the rectangle, so that in a stream that does not change the flow is what
// enters and leaves, however thin the stream is for the level set. Cells below a narrow band count
// as the particles that they stand for.
#include "band/band.h"
#include "gauge/gauge.h"
#include "warp/stage.h"
#include <math.h>
#include <stdlib.h>

typedef struct Gate {
    double from[3], to[3];
    int normal;   ///< axis
    double scale; ///< 1 / the part of the hat that lies inside the domain
} Gate;

/// The integral of the hat of half-width 1 from -inf to x.
static double hat_up_to(double x) {
    x = fmin(1, fmax(-1, x));
    return x < 0 ? 0.5 * (1 + x) * (1 + x) : 1 - 0.5 * (1 - x) * (1 - x);
}

static Gate gate_of(const BrimSim *s, const BrimGaugeDef *gauge) {
    Gate g = {.from = {gauge->from.x, gauge->from.y, gauge->from.z},
              .to = {gauge->to.x, gauge->to.y, gauge->to.z}};
    for (int a = 0; a < s->dim; a++)
        if (g.to[a] == g.from[a]) g.normal = a;
    double at = space_to_grid_double(s->space, g.from[g.normal]), end = s->grid.cells[g.normal];
    double inside = hat_up_to(end - at) - hat_up_to(-at);
    g.scale = inside > 0 ? 1 / inside : 0;
    return g;
}

/// What a cell that is full of water without particles adds, m^3/s.
static double hidden_flow(const BrimSim *s, const Gate *g, int slot, int cell) {
    TileCoord c = s->grid.coord[slot];
    const int at[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7),
                       c.z * TILE + (cell >> 6)};
    double part = (double)band_part(s, slot, cell), middle[3] = {0}, v[3];
    for (int a = 0; a < s->dim; a++) {
        double low = at[a] * (double)s->dx, high = low + s->dx;
        middle[a] = 0.5 * (low + high);
        if (a == g->normal) { // the hat over the cell's width
            double d = at[a] - space_to_grid_double(s->space, g->from[a]);
            part *= hat_up_to(d + 1) - hat_up_to(d);
        } else {
            part *= fmax(0, fmin(high, g->to[a]) - fmax(low, g->from[a]));
        }
    }
    if (!(part > 0)) return 0;
    probe_velocity(s, middle, v);
    return v[g->normal] == v[g->normal] ? part * v[g->normal] : 0;
}

/// The same on a warped grid, by points as particles would be.
static double hidden_flow_warped(const BrimSim *s, const Gate *g, int slot, int cell) {
    enum { POINTS = 4 };             // along each axis
    static const double LONGEST = 4; // cells are not longer, in those of the regular grid
    const TileCoord c = s->grid.coord[slot];
    const int at[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7),
                       c.z * TILE + (cell >> 6)};
    const double middle[3] = {at[0] + 0.5, at[1] + 0.5, at[2] + 0.5};
    const double plane = g->from[g->normal] * s->inv_dx;
    double x[3], sum = 0;
    map_to_space(&s->warp->mesh.map, middle, x);
    if (fabs(x[g->normal] - plane) > LONGEST + 1) return 0;
    const int count = s->dim == 3 ? POINTS * POINTS * POINTS : POINTS * POINTS;
    for (int k = 0; k < count; k++) {
        const int place[3] = {k % POINTS, k / POINTS % POINTS, k / POINTS / POINTS};
        double xi[3] = {0}, J[3][3], u[3];
        bool inside = true;
        for (int a = 0; a < s->dim; a++) xi[a] = at[a] + (place[a] + 0.5) / POINTS;
        map_point(&s->warp->mesh.map, xi, x, J);
        for (int a = 0; a < s->dim; a++) {
            const double here = x[a] * (double)s->dx;
            inside = inside && (a == g->normal || (here >= g->from[a] && here < g->to[a]));
        }
        const double way = fabs(x[g->normal] - plane);
        if (!inside || way >= 1 || !warp_sample(s, s->velocity, xi, u)) continue;
        sum += matrix_determinant(J) * u[g->normal] * (1 - way);
    }
    return sum * (double)band_part(s, slot, cell) * s->cell_volume * s->inv_dx / count;
}

/// What a particle adds, m^3/s.
static double particle_flow(const BrimSim *s, const Gate *g, size_t i) {
    const Particles *p = &s->particles;
    float *const *place = s->warp ? s->warp->space : p->attr + ATTR_X;
    bool inside = true;
    for (int a = 0; a < s->dim; a++) {
        double x = place[a][i];
        inside &= a == g->normal || (x >= g->from[a] && x < g->to[a]);
    }
    double way = fabs(place[g->normal][i] - g->from[g->normal]) * s->inv_dx;
    if (!inside || way >= 1) return 0;
    double volume =
        s->warp ? s->cell_volume * warp_volume(s, i) : s->cell_volume / s->def.particles_per_cell;
    return volume * p->attr[ATTR_VX + g->normal][i] * (1 - way) * s->inv_dx;
}

/// value[0]: flow, m^3/s.
static void share_of_tile(const BrimSim *s, int slot, const BrimGaugeDef *gauge, TileShare *share) {
    const Gate g = gate_of(s, gauge);
    const Particles *p = &s->particles;
    TileCoord c = s->grid.coord[slot];
    const int corner[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int a = 0; a < s->dim && !s->warp; a++) {
        double low = (corner[a] - 1) * (double)s->dx, high = (corner[a] + TILE + 1) * (double)s->dx;
        if (g.to[a] < low || g.from[a] > high) return;
    }
    for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++)
        share->value[0] += particle_flow(s, &g, i);
    for (int cell = 0; has_band(s) && cell < s->grid.tile_cells; cell++)
        if (cell_in(s->hidden, (int64_t)slot * s->grid.tile_cells + cell))
            share->value[0] +=
                s->warp ? hidden_flow_warped(s, &g, slot, cell) : hidden_flow(s, &g, slot, cell);
    share->value[0] *= g.scale;
}

/// Part of a small square in water, from the level at its middle in its edges.
static double wet_part(double level) {
    return fmin(1, fmax(0, 0.5 - level));
}

/// By points half a cell apart: there the level set cannot bend.
static double wet_area(const BrimSim *s, const Gate *g) {
    int count[3] = {1, 1, 1};
    double edge[3] = {0}, area = 1, wet = 0;
    for (int a = 0; a < s->dim; a++) {
        if (a == g->normal) continue;
        count[a] = (int)fmin(1e4, ceil(2 * (g->to[a] - g->from[a]) * s->inv_dx));
        edge[a] = (g->to[a] - g->from[a]) / count[a];
        area *= edge[a];
    }
    double mean_edge = s->dim == 3 ? sqrt(area) : area;
    for (int i = 0; i < count[0] * count[1] * count[2]; i++) {
        const int index[3] = {i % count[0], i / count[0] % count[1], i / count[0] / count[1]};
        double at[3] = {0};
        for (int a = 0; a < s->dim; a++) at[a] = g->from[a] + (index[a] + 0.5) * edge[a];
        double here = wet_part(probe_level(s, at) * s->dx / mean_edge);
        if (here > 0 && s->walls.solid_count)
            here *= 1 - wet_part(probe_solid(s, at, NULL) / mean_edge);
        wet += here * area;
    }
    return wet;
}

bool gauge_flow(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    TileShare *shares = gauge_shares(s, gauge, share_of_tile);
    const Gate g = gate_of(s, gauge);
    if (!shares) return false;
    value[0] = 0, value[1] = wet_area(s, &g);
    for (int t = 0; t < s->grid.tile_count; t++) value[0] += shares[t].value[0];
    for (int64_t i = 0; i < s->spray.count; i++) // it lies behind the liquid
        value[0] += g.scale * particle_flow(s, &g, s->particles.count + (size_t)i);
    free(shares);
    return true;
}
