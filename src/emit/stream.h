// Sources and drains that follow the time: velocity, flow and place by formulas, a drain's rate.
#pragma once
#include "step/stages.h"

/// Makes the formulas and the motion of a source or drain from its def.
BrimResult stream_new_source(const BrimSim *s, Source *source, BrimError *error);
BrimResult stream_new_drain(const BrimSim *s, Drain *drain, BrimError *error);
void stream_free_source(Source *source);
void stream_free_drain(Drain *drain);

/// Whether anything of a source changes with time.
static inline bool source_varies(const Source *source) {
    return source->mover || source->flow_at || source->velocity_at[0] || source->velocity_at[1] ||
           source->velocity_at[2];
}

/// Whether a tile, with some cells around it, and the box around a source meet.
static inline bool source_meets(const BrimSim *s, const Source *source, int slot, int cells) {
    const TileCoord c = s->grid.coord[slot];
    const int at[3] = {c.x, c.y, c.z};
    for (int a = 0; a < s->dim; a++)
        if (source->low[a] * s->inv_dx > (float)(at[a] * TILE + TILE + cells) ||
            source->high[a] * s->inv_dx < (float)(at[a] * TILE - cells))
            return false;
    return true;
}

/// Whether a drain takes so much and no more.
static inline bool drain_limits(const Drain *drain) {
    return drain->rate_at || drain->def.rate > 0;
}

/// Brings all of them to [time - dt, time]: place, bounds, velocity, drift. An error: a formula is
/// not a number.
BrimResult streams_place(BrimSim *s, double time, double dt, BrimError *error);
/// The fastest that a source's water may be from `from` to `to`, m/s.
double stream_speed(const Source *source, double from, double to);
/// Particles that a source emits from one time to another, as far as samples tell.
double stream_amount(BrimSim *s, const Source *source, double from, double to);

/// Signed distance to a source or drain as it is now; see shape_distance.
static inline void port_distance(const Shape *shape, const Solid *mover, int n, const float *x,
                                 const float *y, const float *z, float *distance) {
    if (mover)
        solid_distance(mover, n, x, y, z, distance);
    else
        shape_distance(shape, n, x, y, z, distance);
}

/// How likely a drain of a rate takes a particle of its own in this step => share [drains]; 1 for
/// those that take all.
void drains_shares(BrimSim *s);
/// Whether a particle in a drain goes.
bool drain_takes(const BrimSim *s, int drain, uint32_t id);
/// Books how many went.
void drain_took(BrimSim *s, int drain, int64_t count);
/// What flows into the drains of a rate, out of the pressure's sight => rhs, m/s.
void drains_pull(BrimSim *s);
