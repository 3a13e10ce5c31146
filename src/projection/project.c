// Stage 10: pressure. Makes the velocity of the liquid free of divergence.
//
// With q = p kick / (rho dx) in m/s, a face between cells i-1 and i gets  u -= q_i - q_(i-1),  and
// the net outflow of a cell, sum of open * u over its faces plus what moving walls push, must
// vanish:
//   sum over faces of open_f (q_c - q_neighbour) = -outflow        (cut cells, Batty et al. 2007)
// Towards air the surface, where q = 0, lies at theta of the way to the neighbour's centre
// (ghost fluid, Enright et al. 2003), so that face has the coefficient open / theta. Where
// densities differ all of this is multiplied by beta of the face, see mixed.h.
#include "band/band.h"
#include "base/error.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include "emit/stream.h"
#include "projection/inlet.h"
#include "projection/mixed.h"
#include "projection/weight.h"
#include "step/stages.h"
#include "step/system.h"
#include "volume/density.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Part of the way from a liquid cell to its air neighbour at which the surface lies.
static inline float surface_theta(const BrimSim *s, int64_t liquid, int64_t air) {
    if (s->def.surface == BRIM_SURFACE_FLAGS) return 1;
    return surface_part(s->phi[liquid], air < 0 ? LEVEL_SET_CUT : s->phi[air]);
}

/// What flows out of a cell beside solids through its faces, m/s: liquid through the open parts,
/// and what moving walls push in the rest.
static inline float cell_outflow(const BrimSim *s, const Around *around, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    bool moving = s->wall_speed[0] && s->tile_solid[slot] == SOLID_MOVING;
    float outflow = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (mask_has(&around->side[n], cell)) continue;
        int a = n >> 1;
        int64_t face = n & 1 ? grid_step(&s->grid, slot, cell, a, 1) : me;
        if (face < 0) continue;
        float speed = s->velocity[a][face];
        float open = open_part(s, a, face);
        speed *= open;
        if (moving && open < 1) speed += (1 - open) * s->wall_speed[a][solid_cell(s, face)];
        outflow += n & 1 ? speed : -speed;
    }
    if (s->bodies) outflow += bodies_outflow(s, me);
    return outflow;
}

/// One row of the system, beside solids or between liquids.
static void build_cell(BrimSim *s, const Around *around, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell, row = wet_cell(s, me);
    float diagonal = 0;
    for (int a = 0; a < s->dim; a++) s->coefficient[a][row] = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (mask_has(&around->side[n], cell)) continue;
        int a = n >> 1;
        bool wet = mask_has(&around->wet[n], cell);
        float open = 1;
        int64_t next = grid_step(&s->grid, slot, cell, a, n & 1 ? 1 : -1), face = n & 1 ? next : me;
        if (face >= 0) open = open_part(s, a, face) * inverse_density(s, a, face);
        diagonal += wet || open == 0 ? open : open / surface_theta(s, me, next);
        if (!(n & 1) && wet) s->coefficient[a][row] = open;
    }
    bool shut_in = diagonal <= 0;
    s->diagonal[row] = shut_in ? 0 : diagonal;
    s->rhs[row] = shut_in ? 0 : -cell_outflow(s, around, slot, cell);
    if (shut_in) s->pressure[row] = 0;
}

/// First cell of a wet tile in the system.
static size_t system_base(const BrimSim *s, int slot) {
    return (size_t)(s->wet_at[slot] - 1) * (size_t)s->grid.tile_cells;
}

/// Eq. (8) of the density paper: what the density lacks or has too much of shall flow in or out, in
/// a step or in volume_time.
static void add_density_error(BrimSim *s, int slot) {
    float error[512];
    size_t base = system_base(s, slot);
    double time = s->def.volume == BRIM_VOLUME_DIRECT ? step_at_rest(s) : s->def.volume_time;
    if (s->def.mpm_control > 0) time = s->dt / s->def.mpm_control; // eq. (13) of Lim et al.
    density_errors(s, s->compression, s->liquid, slot, error);
    const TileMask full = inlet_full(s, slot);
    for (int i = 0; i < s->grid.tile_cells; i++)
        if (s->diagonal[base + (size_t)i] > 0 && !mask_has(&full, i))
            s->rhs[base + (size_t)i] += error[i] * (float)(s->dx / time);
}

/// What sources let in, see inlet.c. A cell all of whose faces are held needs no pressure.
static void add_inflow(BrimSim *s, int slot) {
    const InletTile *inlet = inlet_at(s, slot);
    size_t base = system_base(s, slot);
    for (int i = 0; i < s->grid.tile_cells; i++) {
        if (s->diagonal[base + (size_t)i] > 0)
            s->rhs[base + (size_t)i] += inlet->inflow[i];
        else
            s->rhs[base + (size_t)i] = s->pressure[base + (size_t)i] = 0;
    }
}

/// Cells beside solids and between liquids, over what the kernel for open water made of them.
static void build_special(BrimSim *s, int slot, const Around *around) {
    TileMask cut = cut_cells(s, slot), mixed = mixed_cells(s, slot);
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (uint64_t bits = around->liquid.slice[z] & (cut.slice[z] | mixed.slice[z]); bits;
             bits &= bits - 1)
            build_cell(s, around, slot, z * 64 + __builtin_ctzll(bits));
}

static void view_velocity(const BrimSim *s, int slot, TileView v[3]) {
    for (int a = 0; a < s->dim; a++) v[a] = tile_view(&s->grid, slot, s->velocity[a], tile_zeros);
}

static void build_open(BrimSim *s, int slot, const Around *around, float scale) {
    size_t base = system_base(s, slot);
    TileView velocity[3], phi = tile_view(&s->grid, slot, s->phi, tile_far);
    view_velocity(s, slot, velocity);
    SystemTile out = {s->diagonal + base, s->rhs + base, {0}, s->pressure + base};
    for (int a = 0; a < s->dim; a++) out.coefficient[a] = s->coefficient[a] + base;
    s->faces->build(around, velocity, s->def.surface == BRIM_SURFACE_FLAGS ? NULL : &phi, s->dim,
                    scale, &out);
}

/// The system of a tile, and its start value: the last pressure times `scale`, as kicks differ;
/// that of a cell that dried counts not.
static void build_tile(BrimSim *s, int slot, int thread, void *context) {
    const float scale = *(const float *)context;
    if (!s->wet[slot]) return;
    Around around = pressure_around(s, slot);
    build_open(s, slot, &around, scale);
    if (solid_here(s, slot) || s->mixed[0]) build_special(s, slot, &around);
    if (inlet_at(s, slot)) add_inflow(s, slot);
    if (s->primed && (s->def.volume == BRIM_VOLUME_DIRECT || s->def.volume == BRIM_VOLUME_AVERAGED))
        add_density_error(s, slot);
}
/// Subtracts the pressure's gradient on one face, beside solids or between liquids; leaves it in
/// `gradient`.
static void subtract_face(BrimSim *s, const Around *around, int axis, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    int64_t below = grid_step(&s->grid, slot, cell, axis, -1);
    bool wet = mask_has(&around->liquid, cell), wet_below = mask_has(&around->wet[2 * axis], cell);
    float gradient;
    if (wet && wet_below)
        gradient = pressure_at(s, me) - pressure_at(s, below);
    else if (wet)
        gradient = pressure_at(s, me) / surface_theta(s, me, below);
    else
        gradient = -pressure_at(s, below) / surface_theta(s, below, me);
    gradient *= inverse_density(s, axis, me);
    s->velocity[axis][me] -= gradient;
    s->gradient[axis][me] = gradient;
}

/// u -= grad q on the lower faces of a tile's cells along an axis that touch liquid; known from
/// here on. What was subtracted is left in `gradient`, and where in `touched`.
static void subtract_axis(BrimSim *s, int slot, int a) {
    static const int lower[3] = {-1, -3, -9};
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    const int32_t below = g->neighbour[slot][TILE_SELF + lower[a]];
    TileMask here = {{0}};
    if (!s->wet[slot] && (below < 0 || !s->wet[below])) {
        mask_store(g, s->touched[a], slot, &here);
        return;
    }
    Around around = {.liquid = mask_load(g, s->liquid, slot)}; // all that is needed of it
    around.wet[2 * a] = mask_neighbour(g, s->liquid, slot, a, -1);
    bool flags = s->def.surface == BRIM_SURFACE_FLAGS;
    TileView pressure = tile_view_some(g, slot, s->pressure, s->wet_at, tile_zeros);
    TileView phi = tile_view(g, slot, s->phi, tile_far);
    TileMask known = mask_load(g, s->known[a], slot), off = mask_side_faces(g, slot, a);
    TileMask shut = shut_faces(s, slot, 2 * a), cut = cut_faces(s, slot, a), whole;
    TileMask mixed = mixed_faces(s, slot, a), held = inlet_faces(s, slot, a);
    for (int z = 0; z < g->tile_depth; z++) {
        here.slice[z] = (around.liquid.slice[z] | around.wet[2 * a].slice[z]) & ~off.slice[z] &
                        ~shut.slice[z] & ~held.slice[z];
        known.slice[z] |= here.slice[z] | held.slice[z];
        cut.slice[z] |= mixed.slice[z];
        whole.slice[z] = here.slice[z] & ~cut.slice[z];
    }
    s->faces->subtract(&around, &whole, a, g->tile_depth, &pressure, flags ? NULL : &phi,
                       s->velocity[a] + base, s->gradient[a] + base);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = here.slice[z] & cut.slice[z]; bits; bits &= bits - 1)
            subtract_face(s, &around, a, slot, z * 64 + __builtin_ctzll(bits));
    mask_store(g, s->known[a], slot, &known);
    mask_store(g, s->touched[a], slot, &here);
}

static void subtract_tile(BrimSim *s, int slot, int thread, void *context) {
    for (int a = 0; a < s->dim; a++) subtract_axis(s, slot, a);
}

/// The surface runs through the middle of cells, so particles below it also hang on faces between
/// two air cells. These get the pressure's pull of the liquid faces beside them, or the topmost
/// half cell would lag behind its wave: continued along a line, but not where surface tension
/// pulls, too: what it balances is carried on as it is.
static void carry_axis(BrimSim *s, int slot, int a) {
    const Grid *g = &s->grid;
    TileMask near[6], beyond[6], known = mask_load(g, s->known[a], slot);
    TileMask here = mask_load(g, s->touched[a], slot), side = mask_side_faces(g, slot, a);
    TileMask wanted = {{0}}, held = inlet_faces(s, slot, a);
    uint64_t all = 0;
    mask_around(g, s->touched[a], slot, near);
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t any = 0;
        for (int n = 0; n < 2 * s->dim; n++) any |= near[n].slice[z];
        any &= known.slice[z] & ~here.slice[z] & ~side.slice[z] & ~held.slice[z];
        all |= wanted.slice[z] = any;
    }
    if (!all) return;
    bool straight = s->def.surface_tension > 0;
    if (!straight) mask_around_2(g, s->touched[a], slot, beyond);
    TileView gradient = tile_view(g, slot, s->gradient[a], tile_zeros);
    s->faces->carry(&gradient, near, straight ? NULL : beyond, &wanted, s->dim,
                    s->velocity[a] + (size_t)slot * (size_t)g->tile_cells);
}

static void carry_tile(BrimSim *s, int slot, int thread, void *context) {
    bool wet = false;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        wet |= t >= 0 && s->wet[t];
    }
    for (int a = 0; a < s->dim && wet; a++) carry_axis(s, slot, a);
}

/// Faces on walls and inside solids have no velocity of their own.
static void forget_closed(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    for (int a = 0; a < s->dim; a++) {
        TileMask known = mask_load(g, s->known[a], slot), side = mask_side_faces(g, slot, a);
        TileMask shut = shut_faces(s, slot, 2 * a);
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] &= ~side.slice[z] & ~shut.slice[z];
        mask_store(g, s->known[a], slot, &known);
    }
}

/// Takes out the cells of a tile that swallowed something, from which it shall flow.
static void leave_swallowed(const BrimSim *s, int slot, TileMask *cells) {
    const uint32_t size = (uint32_t)s->grid.tile_cells;
    for (size_t k = 0; k < s->band.swallowed_count; k++)
        if (s->grid.slot_of[s->band.swallowed[k] / size] == slot) {
            uint32_t cell = s->band.swallowed[k] % size;
            cells->slice[cell >> 6] &= ~((uint64_t)1 << (cell & 63));
        }
}

/// Whether a cell beside solids has no open face: there is no pressure in it.
static bool is_shut_in(const BrimSim *s, const Around *around, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (mask_has(&around->side[n], cell)) continue;
        int64_t face = n & 1 ? grid_step(&s->grid, slot, cell, n >> 1, 1) : me;
        if (face < 0 || open_part(s, n >> 1, face) > 0) return false;
    }
    return true;
}

/// Largest net outflow of a cell in which pressure was solved, m/s.
static float outflow_of(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    if (!s->wet[slot]) return 0;
    Around around = pressure_around(s, slot);
    const InletTile *inlet = inlet_at(s, slot);
    if (s->band.swallowed_count && band_source_near(s, slot))
        leave_swallowed(s, slot, &around.liquid);
    TileMask cut = cut_cells(s, slot), beside;
    TileView velocity[3];
    view_velocity(s, slot, velocity);
    for (int z = 0; z < g->tile_depth; z++) {
        if (inlet) cut.slice[z] = ~(uint64_t)0;
        beside.slice[z] = around.liquid.slice[z] & cut.slice[z];
        around.liquid.slice[z] &= ~cut.slice[z];
    }
    float largest = s->faces->outflow(&around, velocity, s->dim);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = beside.slice[z]; bits; bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            if (is_shut_in(s, &around, slot, cell)) continue;
            float outflow = cell_outflow(s, &around, slot, cell);
            if (inlet) outflow -= inlet->inflow[cell];
            largest = (float)larger_of(largest, fabsf(outflow));
        }
    return largest;
}

/// context: TeamLargest, of net outflows
static void measure_tile(BrimSim *s, int slot, int thread, void *context) {
    forget_closed(s, slot);
    team_raise(context, outflow_of(s, slot));
}

/// What the liquid below a band swallowed flows on from there, as fast as it came.
static void add_swallowed(BrimSim *s) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells;
    if (s->band.swallowed_count == 0) return;
    double flow = s->dx / (s->band.swallow_time * s->def.particles_per_cell);
    flow *= fmin(1, s->band.swallow_left / s->dt_next); // in the next step
    for (size_t k = 0; k < s->band.swallowed_count; k++) {
        int32_t slot = s->grid.slot_of[s->band.swallowed[k] / cells];
        if (slot < 0 || !s->wet[slot]) continue;
        size_t i = system_base(s, slot) + s->band.swallowed[k] % cells;
        if (s->diagonal[i] > 0) s->rhs[i] += (float)flow;
    }
}

/// Net outflow in m/s => |div u| dt. Both steps that the kick spans count: a short one at the end
/// of a frame must not leave a divergence that the next kick inherits.
static double to_ratio(const BrimSim *s) {
    return fmax(s->dt, s->dt_next) / s->dx;
}

BrimResult stage_pressure(BrimSim *s, BrimError *error) {
    float scale = s->projection.kick > 0 ? (float)(s->projection.kick_now / s->projection.kick) : 0;
    s->projection.kick = s->projection.kick_now;
    bool room = wet_arrange(s) && system_begin(s, s->wet_at) && inlets_find(s, s->liquid, true);
    if (room) tiles_for(s, build_tile, &scale);
    if (room) drains_pull(s);
    if (room && has_band(s)) add_swallowed(s);

    if (!room || !system_prepare(s))
        return fail(error, BRIM_LOST_MEMORY, "out of memory at step %lld in stage project",
                    (long long)s->step + 1);
    PoissonParams params = {.tolerance = s->def.tolerance / to_ratio(s),
                            .max_iterations = s->def.max_iterations,
                            .preconditioner = s->def.preconditioner};
    PoissonReport report = {0};
    bool memory = false;
    bool walls = s->bodies && !bodies_immersed(s);
    bool finite = walls
                      ? bodies_solve(s, s->projection.kick_now, &params, &report, &memory)
                      : poisson_solve(s->projection.poisson, s->rhs, s->pressure, &params, &report);
    if (memory)
        return fail(error, BRIM_LOST_MEMORY, "out of memory at step %lld in stage project, bodies",
                    (long long)s->step + 1);
    s->stats.iterations = report.iterations;
    s->stats.residual = report.residual * to_ratio(s);
    if (!finite)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage project: the pressure is not a number",
                    (long long)s->step + 1, s->time);
    if (!report.converged && !report.limited)
        return fail(
            error, BRIM_LOST_DIVERGED,
            "step %lld (t = %.6g s), stage project: after %d iterations |div u| dt is still "
            "%.3g, above solver.tolerance = %.3g: raise solver.max_iterations or "
            "solver.tolerance",
            (long long)s->step + 1, s->time, report.iterations, s->stats.residual,
            s->def.tolerance);
    weight_split(s, &params);
    return BRIM_OK;
}

BrimResult stage_subtract(BrimSim *s, BrimError *error) {
    TeamLargest largest = 0;
    if (!fields_take(s, FIELD_gradient)) return step_out_of_memory(s, "subtract", error);
    tiles_for(s, subtract_tile, NULL);
    tiles_for(s, carry_tile, NULL);
    tiles_for(s, measure_tile, &largest);
    s->stats.max_divergence = (double)team_largest(&largest) * to_ratio(s);
    return BRIM_OK;
}
