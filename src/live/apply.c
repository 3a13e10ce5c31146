// Doing what events say.
#include "base/error.h"
#include "sim.h"
#include <math.h>

/// Liquid in a ball takes on the velocity, all of it at the centre, none at the rim.
static void stir(BrimSim *s, const BrimEvent *e) {
    BrimParticles p = brim_sim_particles(s);
    const float r2 = e->radius * e->radius;
    for (size_t i = 0; i < p.count && r2 > 0; i++) {
        float x = p.x[i] - e->position.x, y = p.y[i] - e->position.y;
        float z = s->dim == 3 ? p.z[i] - e->position.z : 0;
        float d2 = x * x + y * y + z * z;
        if (d2 >= r2) continue;
        float w = (1 - d2 / r2) * (1 - d2 / r2);
        p.vx[i] += w * (e->velocity.x - p.vx[i]);
        p.vy[i] += w * (e->velocity.y - p.vy[i]);
        if (s->dim == 3) p.vz[i] += w * (e->velocity.z - p.vz[i]);
    }
}

/// A ball of liquid, of which only what has room comes in.
static BrimResult pour(BrimSim *s, const BrimEvent *e, BrimError *error) {
    BrimLiquidDef ball = {.shape = brim_default_shape_def(), .velocity = e->velocity};
    ball.shape.kind = BRIM_SHAPE_SPHERE;
    ball.shape.position = e->position, ball.shape.radius = e->radius;
    return brim_sim_add_liquid(s, &ball, NULL, error);
}

static BrimResult grab(BrimSim *s, BrimEvent *e, BrimError *error) {
    int hold = -1;
    BrimResult r = brim_sim_grab(s, e->position, e->velocity, &hold, NULL, error);
    if (r != BRIM_OK) return r;
    if (e->index < 0) e->index = hold;
    if (e->index == hold) return BRIM_OK;
    brim_sim_release(s, hold, NULL);
    return fail(error, BRIM_ERROR_INPUT, "the hold is number %d, not %d: other events are missing",
                hold, e->index);
}

BrimResult brim_sim_apply(BrimSim *sim, BrimEvent *event, BrimError *error) {
    NEED(sim, error);
    NEED(event, error);
    BrimResult r = sim_check_intact(sim, error);
    if (r != BRIM_OK) return r;
    switch (event->kind) {
    case BRIM_EVENT_SET:
        return brim_sim_set(sim, event->key, event->values, event->count, error);
    case BRIM_EVENT_MOVE:
        return brim_sim_move_solid(sim, event->index, event->position, event->rotation,
                                   event->duration, error);
    case BRIM_EVENT_GRAB:
        return grab(sim, event, error);
    case BRIM_EVENT_DRAG:
        return brim_sim_drag(sim, event->index, event->position, event->duration, error);
    case BRIM_EVENT_RELEASE:
        return brim_sim_release(sim, event->index, error);
    case BRIM_EVENT_POUR:
        return pour(sim, event, error);
    case BRIM_EVENT_STIR:
        stir(sim, event);
        return BRIM_OK;
    default:
        return fail(error, BRIM_ERROR_MISSING, "this build does not support this event");
    }
}
