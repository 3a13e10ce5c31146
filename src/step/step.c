// One time step: the whole algorithm on one screen.
//
// Positions and velocities leap over one another: positions stand at t, velocities at t + dt/2, so
// that a body in free fall follows its parabola exactly and waves keep second order in time.
// Each step is therefore chosen one step ahead; `velocity_time` keeps the account.
#include "base/error.h"
#include "base/timer.h"
#include "step/stages.h"
#include "walls/solid_fine.h"
#include <math.h>

typedef struct Clock {
    double *ms, last;
} Clock;

/// Books the time since the last call on a stage.
static void lap(Clock *clock, BrimStage stage) {
    double now = timer_ms();
    clock->ms[stage] += now - clock->last;
    clock->last = now;
}

static BrimResult out_of_memory(const BrimSim *s, const char *stage, BrimError *error) {
    return fail(
        error, BRIM_LOST_MEMORY,
        "out of memory at step %lld (t = %.6g s) in stage %s with %zu particles on %d tiles:"
        " use fewer cells or particles",
        (long long)s->step + 1, s->time, stage, s->particles.count, s->grid.tile_count);
}

/// From sorted particles to new velocities. `kick`: seconds of gravity.
static BrimResult update_velocity(BrimSim *s, double kick, Clock *clock, BrimError *error) {
    if (s->band) band_swap(s);
    if (!stage_to_grid(s)) return out_of_memory(s, "to_grid", error);
    lap(clock, BRIM_STAGE_TO_GRID);
    stage_surface(s), lap(clock, BRIM_STAGE_SURFACE);
    if (s->band) band_combine(s), lap(clock, BRIM_STAGE_BAND);
    stage_forces(s, kick), lap(clock, BRIM_STAGE_FORCES);
    if (pressure_acts(s)) {
        BrimResult result = stage_project(s, kick, error);
        lap(clock, BRIM_STAGE_PROJECT);
        if (result != BRIM_OK) return result;
    }
    stage_extrapolate(s), lap(clock, BRIM_STAGE_EXTRAPOLATE);
    stage_to_particles(s), lap(clock, BRIM_STAGE_TO_PARTICLES);
    return BRIM_OK;
}

/// Before the first step: seeded velocities, which the host may have changed, are made free of
/// divergence and brought to the middle of the step.
static BrimResult prime(BrimSim *s, Clock *clock, BrimError *error) {
    BrimResult result = stage_measure(s, error);
    if (result != BRIM_OK) return result;
    s->dt = s->dt_next = choose_dt(s, s->time, s->frame);
    if (!stage_solids(s)) return out_of_memory(s, "solids", error);
    find_foreign(s); // solids may have come since the particles were sorted
    lap(clock, BRIM_STAGE_SOLIDS);
    int reach = reach_cells(reach_estimate(s)); // no flow tells it by tile yet
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_reach[t] = (uint8_t)reach;
    result = update_velocity(s, 0.5 * s->dt, clock, error);
    s->primed = result == BRIM_OK;
    return result;
}

BrimResult step_run(BrimSim *s, BrimError *error) {
    double begin = timer_ms();
    Clock clock = {s->stats.ms, begin};
    for (int i = 0; i < BRIM_STAGE_COUNT; i++) clock.ms[i] = 0;

    BrimResult result = s->primed ? BRIM_OK : prime(s, &clock, error);
    if (result != BRIM_OK) return result;
    fields_release(s);
    s->dt = s->dt_next;
    double next = s->time + s->dt, frame_end = (double)(s->frame + 1) / s->def.frame_rate;
    int frame = s->frame;
    if (next >= frame_end * (1 - 1e-12)) next = frame_end, frame++;
    s->dt_next = choose_dt(s, next, frame);

    if (!stage_solids(s)) return out_of_memory(s, "solids", error);
    lap(&clock, BRIM_STAGE_SOLIDS);
    stage_advect(s), lap(&clock, BRIM_STAGE_ADVECT);
    if (s->band) band_trace(s), lap(&clock, BRIM_STAGE_BAND);
    if (!stage_emit(s)) return out_of_memory(s, "emit", error);
    lap(&clock, BRIM_STAGE_EMIT);
    if (s->band && !band_resample(s)) return out_of_memory(s, "band", error);
    if (s->band) lap(&clock, BRIM_STAGE_BAND);
    if (!stage_sort(s)) return out_of_memory(s, "sort", error);
    lap(&clock, BRIM_STAGE_SORT);
    result = stage_density(s, error);
    lap(&clock, BRIM_STAGE_DENSITY);
    if (result != BRIM_OK) return result;
    result = update_velocity(s, next + 0.5 * s->dt_next - s->velocity_time, &clock, error);
    if (result != BRIM_OK) return result;

    s->time = next, s->frame = frame;
    s->step++;
    if (!density_after(s)) return out_of_memory(s, "measure", error);
    result = stage_measure(s, error);
    lap(&clock, BRIM_STAGE_MEASURE);
    s->stats.ms_total = timer_ms() - begin;
    return result;
}
