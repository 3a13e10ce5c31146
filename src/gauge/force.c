// Force and torque of the pressure on a solid, on a body or on a side of the domain; on the first
// two also of a viscous liquid's friction.
//
// The faces of a cell and the piece of wall inside it close around its water: the wall's area,
// pointing out of the water, is (open of the lower face - open of the upper face) dx^(dim-1) along
// each axis. The force is the sum of pressure times area over the cells with liquid, and a body
// that is wholly under still water feels the weight of the volume that its faces close.
#include "gauge/force.h"
#include "bodies/bodies.h"
#include "projection/weight.h"
#include <math.h>
#include <stdlib.h>

/// Middle of a tile's cell, m.
static void middle_of(const BrimSim *s, int slot, int cell, double at[3]) {
    TileCoord c = s->grid.coord[slot];
    at[0] = (c.x * TILE + (cell & 7) + 0.5) * s->dx;
    at[1] = (c.y * TILE + (cell >> 3 & 7) + 0.5) * s->dx;
    at[2] = s->dim == 3 ? (c.z * TILE + (cell >> 6) + 0.5) * s->dx : 0;
}

static double face_area(const BrimSim *s) {
    return s->dim == 3 ? (double)s->dx * s->dx : (double)s->dx;
}

/// Area of the wall inside a cell, pointing out of the water; false without any.
static bool wall_area(const BrimSim *s, int slot, int cell, double area[3]) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    bool any = false;
    area[2] = 0;
    for (int a = 0; a < s->dim; a++) {
        int64_t next = grid_step(&s->grid, slot, cell, a, 1);
        double high = next < 0 ? 1 : open_part(s, a, next);
        area[a] = (open_part(s, a, me) - high) * face_area(s);
        any |= area[a] != 0;
    }
    return any;
}

/// The solid that a gauge is on: bodies with walls come after the def's.
static int solid_of(const BrimSim *s, const BrimGaugeDef *gauge) {
    if (gauge->body < 0) return gauge->solid;
    int at = s->bodies->first_solid;
    for (int i = 0; i < gauge->body; i++) at += !s->bodies->body[i].twins;
    return at;
}

void gauge_centre(const BrimSim *s, const BrimGaugeDef *gauge, double centre[3]) {
    double velocity[3];
    if (gauge->body >= 0) {
        elastic_centre(s->bodies->body[gauge->body].elastic, centre, velocity);
        return;
    }
    const SolidState state = solid_state(s->walls.solids[gauge->solid]);
    for (int a = 0; a < 3; a++) centre[a] = state.placement.position[a];
}

/// Friction of a viscous liquid on a solid, over the kick in which it acted.
static void share_of_friction(const BrimSim *s, int slot, const BrimGaugeDef *gauge,
                              TileShare *share) {
    const double unit = s->def.density * s->cell_volume / s->projection.kick_now;
    const int solid = solid_of(s, gauge);
    double centre[3];
    gauge_centre(s, gauge, centre);
    for (int cell = 0; cell < s->grid.tile_cells; cell++)
        for (int a = 0; a < s->dim; a++) {
            int64_t near = solid_cell(s, (int64_t)slot * s->grid.tile_cells + cell);
            double at[3], force[3] = {0}, arm[3] = {0};
            int which = 0;
            if (s->viscous_grip[a][near] == 0) continue;
            middle_of(s, slot, cell, at);
            at[a] -= 0.5 * s->dx;
            if (s->walls.solid_count > 1) probe_solid(s, at, &which);
            if (which != solid) continue;
            force[a] = unit * s->viscous_drag[a][near];
            for (int b = 0; b < s->dim; b++) arm[b] = at[b] - centre[b];
            add_force(share, arm, force);
        }
}

static void share_of_solid(const BrimSim *s, int slot, const BrimGaugeDef *gauge,
                           TileShare *share) {
    double area[3], at[3], force[3], arm[3], centre[3], unit = pressure_unit(s);
    const int solid = solid_of(s, gauge);
    if (!s->solid_at[slot] || !s->wet[slot]) return;
    if (s->def.viscosity > 0) share_of_friction(s, slot, gauge, share);
    gauge_centre(s, gauge, centre);
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
        int which = 0;
        if (!cell_in(s->liquid, me) || !wall_area(s, slot, cell, area)) continue;
        middle_of(s, slot, cell, at);
        if (s->walls.solid_count > 1) probe_solid(s, at, &which);
        if (which != solid) continue;
        for (int a = 0; a < 3; a++) {
            force[a] = unit * shown_pressure(s, me) * area[a];
            arm[a] = at[a] - centre[a];
        }
        if (s->dim == 2) arm[2] = 0;
        add_force(share, arm, force);
    }
}

static void share_of_side(const BrimSim *s, int slot, const BrimGaugeDef *gauge, TileShare *share) {
    const int axis = (gauge->side - 1) >> 1, high = (gauge->side - 1) & 1;
    const double size[3] = {s->def.size.x, s->def.size.y, s->dim == 3 ? s->def.size.z : 0};
    double at[3], force[3] = {0}, arm[3], weight[3], unit = pressure_unit(s);
    gauge_weight(s, weight);
    if (!s->wet[slot]) return;
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
        if (!cell_in(s->liquid, me)) continue;
        middle_of(s, slot, cell, at);
        int index = (int)floor(space_to_grid_double(s->space, at[axis]));
        if (index != (high ? s->grid.cells[axis] - 1 : 0)) continue;
        int64_t face = high ? grid_step(&s->grid, slot, cell, axis, 1) : me;
        double open = face < 0 || !s->walls.solid_count ? 1 : open_part(s, axis, face);
        // half a cell from the cell's middle to the wall
        double p = unit * shown_pressure(s, me) + (high ? 0.5 : -0.5) * s->dx * weight[axis];
        force[axis] = (high ? 1 : -1) * p * open * face_area(s);
        for (int a = 0; a < 3; a++) arm[a] = at[a] - 0.5 * size[a];
        arm[axis] = 0;
        add_force(share, arm, force);
    }
}

bool gauge_force(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    double sum[BRIM_GAUGE_COLUMNS] = {0};
    if (gauge->side > 0 || solid_exists(s->walls.solids[solid_of(s, gauge)], s->walls.time)) {
        ShareOfTile *const share =
            s->warp           ? gauge->side > 0 ? share_of_side_warped : share_of_solid_warped
            : gauge->side > 0 ? share_of_side
                              : share_of_solid;
        TileShare *shares = gauge_shares(s, gauge, share);
        if (!shares) return false;
        for (int t = 0; t < s->grid.tile_count; t++)
            for (int i = 0; i < BRIM_GAUGE_COLUMNS; i++) sum[i] += shares[t].value[i];
        free(shares);
    }
    static const int shown[2][BRIM_GAUGE_COLUMNS] = {{0, 1, 5, 5, 5, 5}, {0, 1, 2, 3, 4, 5}};
    for (int i = 0; i < BRIM_GAUGE_COLUMNS; i++) value[i] = sum[shown[s->dim - 2][i]];
    return true;
}
