// Sources. Each holds a lattice of points that drifts with the stream. A step emits the points that
// entered its shape since the last one, where they are now: so a stream is as evenly filled as
// seeded water, at any speed and any time step.
#include "base/error.h"
#include "emit/lattice.h"
#include "emit/stream.h"
#include <math.h>

/// Points of a stream are in its shape, and out of walls, when they are so by this part of the
/// spacing: one that lay on a side at the end of a step would be in or out by rounding, and lost or
/// made twice when the next step judges otherwise. Sides of cells are such places.
static const float TIE = 0.01f;

/// Whether none of a source's shape is cut off.
static bool lies_within(const BrimSim *s, const Source *source) {
    bool within = true;
    for (int a = 0; a < s->dim; a++)
        within &= source->low[a] > 0 && source->high[a] < (float)s->grid.cells[a] * s->dx;
    return within;
}

double emit_rate(const BrimSim *s, const Source *source) {
    double drift = 0;
    if (source_varies(source)) return source->points * (double)source->pace / emit_spacing(s);
    for (int k = 0; k < 3; k++) drift += (double)source->drift[k] * source->drift[k];
    return source->points * sqrt(drift) / emit_spacing(s);
}

/// Drifts of one spacing after which a stream repeats itself, or nearly so.
static int windows_of(const float direction[3]) {
    int along = 0;
    for (int k = 0; k < 3; k++) along += direction[k] != 0;
    return along > 1 ? 128 : 1;
}

/// Points that enter the shape while the lattice drifts by one spacing: its cross-section. A stream
/// along an axis repeats itself after one spacing; a slanted one enters by rows at several
/// sides, each at its own pace, so the mean over a long drift counts.
static double cross_section(BrimSim *s, const Source *source, const float direction[3],
                            float spacing, bool past_solids) {
    float back[3], offset[3];
    for (int k = 0; k < 3; k++) back[k] = direction[k] * spacing;
    int windows = windows_of(direction);
    Appender a = {.s = s,
                  .shape = source->shape,
                  .spacing = spacing,
                  .skin = TIE * spacing,
                  .dry = true,
                  .past_solids = past_solids,
                  .back = back,
                  .windows = 1};
    for (int i = 0; i < windows; i++) {
        for (int k = 0; k < 3; k++) {
            offset[k] = fmodf((float)i * back[k], spacing);
            a.way[k] = (double)i * back[k];
        }
        seed_lattice(s->dim, spacing, offset, source->low, source->high, appender_visit, &a);
    }
    return (double)a.count / windows;
}

/// The cross-section of the shape itself, in points of the lattice that may be parts of one: by a
/// finer lattice, unless the shape has so many points that none is needed.
static double fine_section(BrimSim *s, const Source *source, const float direction[3], int most,
                           bool past_solids) {
    enum { FINEST = 8 };
    double points = windows_of(direction);
    for (int a = 0; a < s->dim; a++)
        points *= 1 + (double)(source->high[a] - source->low[a]) / (double)emit_spacing(s);
    int finer = FINEST;
    while (finer > 1 && points * pow(finer, s->dim) > most) finer--;
    if (finer == 1) return source->points;
    return cross_section(s, source, direction, emit_spacing(s) / (float)finer, past_solids) /
           pow(finer, s->dim - 1);
}

double emit_section(BrimSim *s, const Source *source, const float direction[3], int most,
                    double *fine) {
    Source at_rest = *source; // as its shape was made
    if (!emit_bounds(s, source->shape, at_rest.low, at_rest.high)) return *fine = 0;
    at_rest.points = cross_section(s, &at_rest, direction, emit_spacing(s), true);
    *fine = fine_section(s, &at_rest, direction, most, true);
    return at_rest.points;
}

BrimResult emit_prepare(BrimSim *s, Source *source, int index, BrimError *error) {
    enum { MOST = 2000000 };
    const BrimSourceDef *def = &source->def;
    float direction[3] = {def->velocity.x, def->velocity.y, s->dim == 3 ? def->velocity.z : 0};
    float speed = sqrtf(direction[0] * direction[0] + direction[1] * direction[1] +
                        direction[2] * direction[2]);
    if (!emit_bounds(s, source->shape, source->low, source->high))
        return fail(error, BRIM_ERROR_INPUT,
                    "sources[%d]: the shape lies outside the domain: move "
                    "it inside",
                    index);
    if (source_varies(source)) return BRIM_OK; // each step anew: streams_place
    if (!(speed > 0))
        return fail(error, BRIM_ERROR_INPUT,
                    "sources[%d].velocity: must not be zero: it is the "
                    "direction and speed in which the stream leaves its shape",
                    index);
    for (int k = 0; k < 3; k++) direction[k] /= speed;
    source->points = cross_section(s, source, direction, emit_spacing(s), false);
    source->fine = fine_section(s, source, direction, MOST, false);
    double drift = speed;
    // Where the shape's sides fall between points the lattice makes up for it by its pace.
    if (source->points > 0) drift *= source->fine / source->points;
    double volume = s->cell_volume / s->def.particles_per_cell;
    double flow = def->flow > 0 ? def->flow : def->rate * volume;
    if (flow > 0) {
        if (source->points > 0) drift = flow / (source->points * volume) * emit_spacing(s);
        if (drift > 4 * speed)
            return fail(error, BRIM_ERROR_INPUT,
                        "sources[%d]: a flow of %.3g needs a speed of %.3g m/s through this shape, "
                        "far above its velocity of %.3g m/s: raise the velocity, widen the shape "
                        "or lower the flow",
                        index, flow, drift, (double)speed);
    }
    for (int k = 0; k < 3; k++) source->drift[k] = (float)(direction[k] * drift);
    return BRIM_OK;
}

bool emit_source(BrimSim *s, Source *source) {
    bool varies = source_varies(source);
    double from = fmax(s->time, source->def.start), to = fmin(s->time + s->dt, source->def.stop);
    if (to <= from) return true;
    float spacing = emit_spacing(s), back[3], offset[3], low[3], high[3], length = 0;
    double way[3];
    for (int k = 0; k < 3; k++) { // downstream of the shape too: what passed through it is there
        back[k] = (float)(source->drift[k] * (to - from));
        source->phase[k] += varies ? source->drift[k] * (to - from) : 0;
        way[k] = varies ? source->phase[k] : source->drift[k] * to;
        offset[k] = (float)fmod(way[k], spacing);
        length += back[k] * back[k];
        low[k] = fmaxf(source->low[k] + fminf(back[k], 0), 0);
        high[k] = fminf(source->high[k] + fmaxf(back[k], 0), (float)s->grid.cells[k] * s->dx);
    }
    Appender a = {.s = s,
                  .shape = source->shape,
                  .spacing = spacing,
                  .skin = TIE * spacing,
                  .velocity = source->def.velocity,
                  .origin = source->origin,
                  .density = source->def.density,
                  .jitter = true,
                  .back = back,
                  .way = {way[0], way[1], way[2]},
                  .within = lies_within(s, source),
                  .windows = (int)fmaxf(1, ceilf(sqrtf(length) / spacing))};
    if (varies) {
        a.velocity = (BrimVec3){source->stream[0], source->stream[1], source->stream[2]};
        a.spin = (BrimVec3){source->spin[0], source->spin[1], source->spin[2]};
        a.centre = (BrimVec3){source->centre[0], source->centre[1], source->centre[2]};
        a.mover = source->mover, a.until = to, a.span = to - from;
        if (!(source->pace > 0)) return true;
    }
    bool ok = seed_lattice(s->dim, spacing, offset, low, high, appender_visit, &a);
    if (a.mover) solid_place(a.mover, s->time + s->dt, s->dt);
    s->emitted += a.count;
    return ok;
}
