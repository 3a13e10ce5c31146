// One time step: the whole algorithm on one screen.
//
// Positions and velocities leap over one another: positions stand at t, velocities at t + dt/2, so
// that a body in free fall follows its parabola exactly and waves keep second order in time.
// `velocity_time` keeps the account, so steps may change their length.
#include "base/error.h"
#include "base/timer.h"
#include "step/stages.h"
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
    return fail(error, BRIM_LOST_MEMORY,
                "out of memory at step %lld (t = %.6g s) in stage %s with %zu particles on %d tiles:"
                " use fewer cells or particles",
                (long long)s->step + 1, s->time, stage, s->particles.count, s->grid.tile_count);
}

/// From sorted particles to new velocities. `kick`: seconds of gravity.
static BrimResult update_velocity(BrimSim *s, double kick, Clock *clock, BrimError *error) {
    if (!stage_to_grid(s)) return out_of_memory(s, "to_grid", error);
    lap(clock, BRIM_STAGE_TO_GRID);
    stage_surface(s), lap(clock, BRIM_STAGE_SURFACE);
    stage_forces(s, kick), lap(clock, BRIM_STAGE_FORCES);
    BrimResult result = stage_project(s, error);
    lap(clock, BRIM_STAGE_PROJECT);
    if (result != BRIM_OK) return result;
    stage_extrapolate(s), lap(clock, BRIM_STAGE_EXTRAPOLATE);
    stage_to_particles(s), lap(clock, BRIM_STAGE_TO_PARTICLES);
    return BRIM_OK;
}

BrimResult step_run(BrimSim *s, BrimError *error) {
    double begin = timer_ms();
    Clock clock = {s->stats.ms, begin};
    for (int i = 0; i < BRIM_STAGE_COUNT; i++) clock.ms[i] = 0;

    choose_dt(s);
    stage_solids(s), lap(&clock, BRIM_STAGE_SOLIDS);
    if (!s->primed) { // seeded velocities, made free of divergence and half a step old
        BrimResult result = stage_measure(s, error); // the host may have written velocities
        if (result == BRIM_OK) result = update_velocity(s, 0.5 * s->dt, &clock, error);
        if (result != BRIM_OK) return result;
        s->primed = true;
    }
    stage_advect(s), lap(&clock, BRIM_STAGE_ADVECT);
    if (!stage_emit(s)) return out_of_memory(s, "emit", error);
    lap(&clock, BRIM_STAGE_EMIT);
    if (!stage_sort(s)) return out_of_memory(s, "sort", error);
    lap(&clock, BRIM_STAGE_SORT);
    double next = s->time + s->dt;
    BrimResult result = update_velocity(s, next + 0.5 * s->dt - s->velocity_time, &clock, error);
    if (result != BRIM_OK) return result;

    s->time = next;
    s->step++;
    double frame_end = (double)(s->frame + 1) / s->def.frame_rate;
    if (s->time >= frame_end * (1 - 1e-12)) s->time = frame_end, s->frame++;
    result = stage_measure(s, error);
    lap(&clock, BRIM_STAGE_MEASURE);
    s->stats.ms_total = timer_ms() - begin;
    return result;
}
