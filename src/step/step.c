// One time step: the whole algorithm on one screen.
//
// Positions and velocities leap over one another: positions stand at t, velocities at t + dt/2, so
// that a body in free fall follows its parabola exactly and waves keep second order in time.
// Each step is therefore chosen one step ahead; `velocity_time` keeps the account.
#include "base/error.h"
#include "base/timer.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include "emit/stream.h"
#include "step/guard.h"
#include "step/stages.h"
#include "volume/settle.h"
#include "walls/solid_fine.h"
#include "warp/stage.h"
#include <math.h>

static bool mpm_on(const BrimSim *s) {
    return has_mpm(s);
}

static bool has_viscosity(const BrimSim *s) {
    return s->def.viscosity > 0;
}

static bool friction_acts(const BrimSim *s) {
    return has_friction(s);
}

static bool tension_acts(const BrimSim *s) {
    return s->def.surface_tension > 0 && pressure_acts(s);
}

static const Stage step_stages[] = {
    // what, in which column of the statistics, when; what it reads; what it writes
    {AT_SOLIDS, "solids", BRIM_STAGE_SOLIDS, stage_solids, NULL, "",
     "tile_solid solid_at shut cut rock solid_from solid_phi open solid_volume solid_part "
     "solid_least wall_speed fine_at fine_from fine_slot solid_fine"},
    {AT_ATOMISE, "atomise", BRIM_STAGE_ADVECT, stage_atomise, has_spray, "phi", "sprayed"},
    {AT_ADVECT, "advect", BRIM_STAGE_ADVECT, stage_advect, NULL,
     "velocity tile_speed tile_solid solid_at solid_phi solid_least open wall_speed fine_at "
     "solid_fine",
     "tile_reach"},
    {AT_TRACE, "trace", BRIM_STAGE_BAND, stage_trace, has_band,
     "velocity tile_speed tile_solid solid_at solid_phi wall_speed fine_at solid_fine rock phi "
     "interior hidden deepest shallowest",
     "carried traced path next_interior next_hidden rim edge"},
    {AT_EMIT, "emit", BRIM_STAGE_EMIT, stage_emit, NULL, "tile_speed", ""},
    {AT_LAND, "land", BRIM_STAGE_EMIT, stage_land, has_spray, "", ""},
    {AT_EXCHANGE, "exchange", BRIM_STAGE_BAND, stage_exchange, has_band,
     "velocity tile_speed tile_solid solid_at rock solid_phi solid_volume wall_speed fine_at "
     "solid_fine path next_interior next_hidden rim edge",
     "interior hidden risen"},
    {AT_IMMERSE, "immerse", BRIM_STAGE_BODIES, stage_immerse, bodies_immersed, "velocity", ""},
    {AT_SORT, "sort", BRIM_STAGE_SORT, stage_sort, NULL, "", ""},
    {AT_STRESS, "stress", BRIM_STAGE_FORCES, stage_stress, mpm_on,
     "tile_solid solid_at solid_phi solid_volume fine_at solid_fine hidden",
     "scatter_at node_mass node_rest node_velocity node_push"},
    {AT_SORT, "sort after stress", BRIM_STAGE_FORCES, stage_sort, mpm_on, "", ""},
    {AT_WEIGH, "weigh", BRIM_STAGE_DENSITY, stage_weigh, NULL,
     "tile_solid solid_at shut rock foreign solid_phi solid_volume solid_part solid_least fine_at "
     "solid_fine interior hidden",
     "scatter_at full below rigid density compression hidden_part weighed errors push_at push "
     "push_depth pushed"},
    {AT_SPREAD, "spread", BRIM_STAGE_DENSITY, stage_spread, density_moves,
     "tile_solid solid_at shut cut open solid_volume solid_part below rigid density weighed "
     "push_at push push_depth",
     "weighed_at errors potential coefficient diagonal rhs"},
    {AT_SHIFT, "shift", BRIM_STAGE_DENSITY, stage_shift, density_moves,
     "scatter_at tile_solid solid_at shut cut solid_phi solid_least open fine_at solid_fine hidden "
     "rigid weighed weighed_at push_at push push_depth pushed potential",
     "shift shift_known shift_most shift_sizes shift_sums"},
    {AT_SORT, "sort again", BRIM_STAGE_DENSITY, stage_sort, density_moves, "", ""},
    {AT_SWAP, "swap", BRIM_STAGE_BAND, stage_swap, has_band, "", ""},
    {AT_DEFORM, "deform", BRIM_STAGE_BODIES, stage_deform, bodies_immersed, "", ""},
    {AT_TO_GRID, "to_grid", BRIM_STAGE_TO_GRID, stage_to_grid, NULL,
     "solid_at foreign solid_phi fine_at interior",
     "velocity old known scatter_at scatter_rows reached weight inverse_density mixed"},
    {AT_SURFACE, "surface", BRIM_STAGE_SURFACE, stage_surface, NULL,
     "tile_solid solid_at shut cut rock foreign fine_at solid_fine solid_phi solid_part "
     "solid_volume open interior hidden",
     "tracked rough smooth steady even even_next near_air asked sunk beside around kept track_tile "
     "phi liquid wet added full deepest shallowest air shut_off fixed lit near_lit around_lit "
     "changed changing depth deeper"},
    {AT_COMBINE, "combine", BRIM_STAGE_BAND, stage_combine, has_band,
     "scatter_at tile_solid shut phi interior hidden traced reached weight shallowest",
     "velocity old known"},
    {AT_FORCES, "forces", BRIM_STAGE_FORCES, stage_forces, NULL, "known tile_solid shut phi liquid",
     "velocity"},
    {AT_VISCOSITY, "viscosity", BRIM_STAGE_FORCES, stage_viscosity, has_viscosity,
     "known tile_solid solid_at shut solid_phi solid_volume wall_speed phi",
     "velocity viscous_u viscous_r viscous_p viscous_q viscous_mass viscous_diagonal "
     "viscous_along_x viscous_along_y viscous_along_z viscous_cross viscous_used viscous_sums"},
    {AT_FRICTION, "friction", BRIM_STAGE_FORCES, stage_friction, friction_acts,
     "known tile_solid solid_at solid_phi wall_speed phi", "velocity rubbed"},
    {AT_TENSION, "tension", BRIM_STAGE_FORCES, stage_tension, tension_acts,
     "known tile_solid solid_at shut rock phi liquid wet",
     "velocity tension_phi tension_next curvature curvature_next curved pull pulled"},
    {AT_PRESSURE, "pressure", BRIM_STAGE_PROJECT, stage_pressure, pressure_acts,
     "known tile_solid solid_at shut cut open solid_volume wall_speed phi liquid wet "
     "compression below rigid inverse_density mixed",
     "velocity wet_at wet_from pressure weight_pressure coefficient diagonal rhs"},
    {AT_SUBTRACT, "subtract", BRIM_STAGE_PROJECT, stage_subtract, pressure_acts,
     "tile_solid solid_at shut cut open wall_speed phi liquid wet wet_at pressure inverse_density "
     "mixed",
     "velocity known gradient touched"},
    {AT_EXTRAPOLATE, "extrapolate", BRIM_STAGE_EXTRAPOLATE, stage_extrapolate, NULL,
     "scatter_at tile_reach tile_solid solid_at shut cut solid_phi open wall_speed liquid",
     "velocity old known tile_speed grown slid"},
    {AT_TO_PARTICLES, "to_particles", BRIM_STAGE_TO_PARTICLES, stage_to_particles, NULL,
     "velocity old scatter_at scatter_rows phi deepest", "tile_sums"},
    {AT_SYNC, "sync", BRIM_STAGE_BODIES, stage_sync, bodies_immersed, "velocity", ""},
    {AT_WEIGH_AFTER, "weigh after", BRIM_STAGE_MEASURE, stage_weigh_after, NULL,
     "tile_solid solid_at shut rock foreign solid_phi solid_volume solid_part solid_least fine_at "
     "solid_fine interior hidden",
     "scatter_at full below rigid settled pressed hidden_part_after weighed errors push_at push "
     "push_depth pushed"},
    {AT_EMERGE, "emerge", BRIM_STAGE_BODIES, stage_emerge, bodies_immersed, "", ""},
    {AT_MEASURE, "measure", BRIM_STAGE_MEASURE, stage_measure, NULL,
     "velocity tile_solid solid_at rock solid_volume phi liquid interior hidden shallowest",
     "tile_sums"},
};
enum { STAGES = sizeof step_stages / sizeof *step_stages };

/// The table of a simulation's grid.
static const Stage *table_of(const BrimSim *s, int *count) {
    *count = s && s->warp ? warped_stage_count : STAGES;
    return s && s->warp ? warped_stages : step_stages;
}

const Stage *stage_of(const BrimSim *s, StageId id) {
    int count;
    const Stage *table = table_of(s, &count);
    for (int i = 0; i < count; i++)
        if (table[i].id == id) return &table[i];
    return NULL;
}

void stage_begin(BrimSim *s, StageId id) {
    s->stage = id;
    guard_enter(s);
}

BrimResult step_out_of_memory(const BrimSim *s, const char *stage, BrimError *error) {
    return fail(
        error, BRIM_LOST_MEMORY,
        "out of memory at step %lld (t = %.6g s) in stage %s with %zu particles on %d tiles:"
        " use fewer cells or particles",
        (long long)s->step + 1, s->time, stage, s->particles.count, s->grid.tile_count);
}

/// The row after the first of that name from `row` on; in a table without it the first beyond.
static int rows_end(const Stage *table, int row, int count, StageId last) {
    for (int i = row; i < count; i++)
        if (table[i].id == last) return i + 1;
    while (row < count && table[row].id <= last) row++;
    return row;
}

BrimResult stages_run(BrimSim *s, StageId first, StageId last, BrimError *error) {
    BrimResult result = BRIM_OK;
    int count, row = 0;
    const Stage *table = table_of(s, &count);
    while (row < count && table[row].id < first) row++;
    int end = rows_end(table, row, count, last);
    while (row < end && result == BRIM_OK) {
        const Stage *stage = &table[row++];
        if (!stage->when || stage->when(s)) {
            double begin = timer_ms();
            stage_begin(s, stage->id);
            result = stage->run(s, error);
            s->stats.ms[stage->column] += timer_ms() - begin;
        }
        // In a long step one density projection is followed by another one, after its sort.
        while (stage->id == AT_SORT && s->volume.again && table[row].id != AT_WEIGH) row--;
    }
    stage_begin(s, AT_REST);
    return result;
}

/// How far particles may go is the same for all tiles before a flow tells it by tile.
static void reach_everywhere(BrimSim *s) {
    int reach = reach_cells(reach_estimate(s));
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_reach[t] = (uint8_t)reach;
}

/// Before the first step: seeded velocities, which the host may have changed, are made free of
/// divergence and brought to the middle of the step.
static BrimResult prime(BrimSim *s, BrimError *error) {
    BrimResult result = stage_measure(s, error);
    if (result != BRIM_OK) return result;
    s->dt = s->dt_next = choose_dt(s, s->time, s->frame);
    // or the tiles after settling would be others in a simulation that was loaded
    reach_everywhere(s);
    result = density_settle(s, error);
    if (result != BRIM_OK) return result;
    s->dt = s->dt_next = choose_dt(s, s->time, s->frame);
    result = stages_run(s, AT_SOLIDS, AT_SOLIDS, error);
    if (result != BRIM_OK) return result;
    if (bodies_immersed(s)) {
        for (int i = 0; i < s->grid.tile_count; i++) find_keys(s, i);
        result = stages_run(s, AT_IMMERSE, AT_SORT, error);
    }
    if (result != BRIM_OK) return result;
    find_foreign(s); // solids may have come since the particles were sorted
    reach_everywhere(s);
    s->projection.kick_now = 0.5 * s->dt;
    result = stages_run(s, AT_SWAP, AT_SYNC, error);
    if (result == BRIM_OK) result = stages_run(s, AT_EMERGE, AT_EMERGE, error);
    s->primed = result == BRIM_OK;
    return result;
}

static bool move_bodies(BrimSim *s) {
    double begin = timer_ms();
    bool ok = bodies_move(s, s->dt) && (!bodies_immersed(s) || immersed_remember(s));
    s->stats.ms[BRIM_STAGE_BODIES] += timer_ms() - begin;
    return ok;
}

BrimResult step_run(BrimSim *s, BrimError *error) {
    double begin = timer_ms();
    for (int i = 0; i < BRIM_STAGE_COUNT; i++) s->stats.ms[i] = 0;
    BrimResult result = s->primed ? BRIM_OK : prime(s, error);
    if (result != BRIM_OK) return result;
    if (has_spray(s) && !spray_take(s)) return step_out_of_memory(s, "spray", error);
    fields_release(s);
    s->dt = s->dt_next;
    double next = s->time + s->dt, frame_end = (double)(s->frame + 1) / s->def.frame_rate;
    int frame = s->frame;
    if (next >= frame_end * (1 - 1e-12)) next = frame_end, frame++;
    s->dt_next = choose_dt(s, next, frame);
    s->projection.kick_now = next + 0.5 * s->dt_next - s->velocity_time;

    if (s->bodies && !move_bodies(s)) return step_out_of_memory(s, "bodies", error);
    result = streams_place(s, s->time + s->dt, s->dt, error);
    if (result == BRIM_OK) result = stages_run(s, AT_SOLIDS, AT_SYNC, error);
    if (result != BRIM_OK) return result;
    s->time = next, s->frame = frame;
    s->step++;
    result = stages_run(s, AT_WEIGH_AFTER, AT_MEASURE, error);
    if (result == BRIM_OK && has_spray(s) && !spray_put_back(s))
        result = step_out_of_memory(s, "spray", error);
    s->stats.ms_total = timer_ms() - begin;
    return result;
}
