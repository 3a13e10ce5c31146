#include "liquid/force_fields.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "walls/solid_masks.h"
#include "warp/space.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Waves that gusts are made of.
enum { WAVES = 24 };

/// A wave of a gust: direction of its swing, across the way that it runs, so that gusts are free of
/// divergence.
typedef struct Wave {
    float swing[3], number[3]; ///< 1; 1/m
    float pace, phase;         ///< rad/s, rad
} Wave;

struct ForceField {
    BrimForceDef def;
    Shape *shape;        ///< where it acts, or the target; NULL: everywhere
    Formula *vector[3];  ///< of what the kind's vector is: acceleration, place, velocity
    Formula *strength;   ///< of time
    BrimVec3 *point;     ///< [def.point_count] copy of the curve's
    Wave wave[WAVES];    ///< wind
    float axis[3];       ///< unit
    float at[3], amount; ///< of the step: vector, strength
    bool acts;
};

// ------------------------------------------------------------------------------------- building

static void make_waves(ForceField *f, uint32_t seed, int index, int dim) {
    for (int i = 0; i < WAVES; i++) {
        Wave *w = &f->wave[i];
        uint64_t h = hash_3(seed, (uint64_t)index + 1, (uint64_t)i + 1), g = hash_mix(h);
        float u = 2 * hash_unit(h, 0) - 1, turn = 6.2831853f * hash_unit(h, 1);
        float flat = dim == 2 ? 1 : sqrtf(1 - u * u),
              way[3] = {flat * cosf(turn), flat * sinf(turn), dim == 2 ? 0 : u};
        // lengths from a half to twice the scale, evenly in their logarithm
        float k = 6.2831853f / (f->def.scale * exp2f(2 * hash_unit(g, 0) - 1));
        float tilt = 6.2831853f * hash_unit(g, 1);
        float across[3] = {-way[1], way[0], 0}, other[3], length = hypotf(way[0], way[1]);
        if (length < 1e-3f) across[0] = 1, across[1] = 0, length = 1;
        for (int a = 0; a < 3; a++) across[a] /= length;
        other[0] = way[1] * across[2] - way[2] * across[1];
        other[1] = way[2] * across[0] - way[0] * across[2];
        other[2] = way[0] * across[1] - way[1] * across[0];
        for (int a = 0; a < 3; a++) {
            w->number[a] = k * way[a];
            w->swing[a] = dim == 2 ? across[a] : cosf(tilt) * across[a] + sinf(tilt) * other[a];
        }
        // an eddy turns over in the time in which it moves by its own size
        w->pace = k * f->def.turbulence * (hash_unit(hash_mix(g), 0) - 0.5f);
        w->phase = 6.2831853f * hash_unit(hash_mix(g), 1);
    }
}

static BrimResult new_formulas(ForceField *f, const BrimNames *names, int dim, BrimError *error) {
    const BrimForceDef *d = &f->def;
    const char *const *text = d->kind == BRIM_FORCE_UNIFORM ? d->acceleration_formula
                              : d->kind == BRIM_FORCE_WIND  ? d->velocity_formula
                                                            : d->at_formula;
    unsigned of = d->kind == BRIM_FORCE_UNIFORM ? FORMULA_PLACE | FORMULA_T : FORMULA_T;
    BrimResult r = BRIM_OK;
    for (int a = 0; a < dim && r == BRIM_OK; a++)
        if (text[a]) r = formula_new(text[a], names, of, &f->vector[a], error);
    if (r == BRIM_OK && d->strength_formula)
        r = formula_new(d->strength_formula, names, FORMULA_T, &f->strength, error);
    return r;
}

static BrimResult new_force(ForceField *f, const BrimSim *s, const BrimSimDef *def, int index,
                            BrimError *error) {
    const BrimForceDef *d = &def->forces[index];
    f->def = *d;
    BrimResult r = new_formulas(f, &def->names, s->dim, error);
    if (r == BRIM_OK && d->within) r = shape_new(&d->shape, s->dim, s->dx, &f->shape, error);
    if (r != BRIM_OK) return r;
    float axis[3] = {d->axis.x, d->axis.y, d->axis.z}, length = 0;
    if (s->dim == 2) axis[0] = axis[1] = 0, axis[2] = 1;
    for (int a = 0; a < 3; a++) length += axis[a] * axis[a];
    for (int a = 0; a < 3; a++) f->axis[a] = length > 0 ? axis[a] / sqrtf(length) : 0;
    if (d->kind == BRIM_FORCE_WIND) make_waves(f, s->def.seed, index, s->dim);
    if (d->kind != BRIM_FORCE_CURVE) return BRIM_OK;
    f->point = memory_new((size_t)d->point_count * sizeof *f->point);
    if (!f->point) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < d->point_count; i++) f->point[i] = d->points[i].at;
    return BRIM_OK;
}

BrimResult force_fields_new(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    if (!def->force_count) return BRIM_OK;
    s->forces = memory_zero((size_t)def->force_count * sizeof *s->forces);
    if (!s->forces) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < def->force_count; i++) {
        s->force_count++;
        BrimError plain;
        BrimResult r = new_force(&s->forces[i], s, def, i, &plain);
        if (r != BRIM_OK) return fail(error, r, "forces[%d]: %.960s", i, plain.message);
    }
    return BRIM_OK;
}

void force_fields_free(BrimSim *s) {
    for (int i = 0; i < s->force_count; i++) {
        ForceField *f = &s->forces[i];
        shape_free(&f->shape);
        for (int a = 0; a < 3; a++) formula_free(&f->vector[a]);
        formula_free(&f->strength);
        free(f->point);
    }
    free(s->forces);
    s->forces = NULL, s->force_count = 0;
}

// ---------------------------------------------------------------------------------------- kinds

/// What a force does to one component: u => u + add, then towards `to` at `rate` a second.
typedef struct Push {
    float add, rate, to;
} Push;

/// Fades from 1 at 0 to 0 at the radius; everywhere 1 without one.
static float fade(float distance, float radius) {
    if (!(radius > 0)) return 1;
    float t = distance / radius;
    return t < 1 ? (1 - t * t) * (1 - t * t) : 0;
}

static void point_push(const ForceField *f, const float p[3], int axis, Push *push) {
    float d[3] = {f->at[0] - p[0], f->at[1] - p[1], f->at[2] - p[2]};
    float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (length > 0) push->add += f->amount * fade(length, f->def.radius) * d[axis] / length;
}

static void vortex_push(const ForceField *f, const float p[3], int axis, Push *push) {
    float d[3] = {p[0] - f->at[0], p[1] - f->at[1], p[2] - f->at[2]}, along = 0, length = 0;
    for (int a = 0; a < 3; a++) along += d[a] * f->axis[a];
    for (int a = 0; a < 3; a++) d[a] -= along * f->axis[a], length += d[a] * d[a];
    length = sqrtf(length);
    if (!(length > 0)) return;
    int b = (axis + 1) % 3, c = (axis + 2) % 3;
    float round = (f->axis[b] * d[c] - f->axis[c] * d[b]) / length;
    float weight = fade(length, f->def.radius);
    push->add += weight * (f->amount * round - f->def.pull * d[axis] / length);
}

/// Velocity of gusts, m/s; each component has the turbulence as its root mean square over all
/// three.
static float gust(const ForceField *f, const float p[3], double time, int axis) {
    float sum = 0;
    for (int i = 0; i < WAVES; i++) {
        const Wave *w = &f->wave[i];
        double turn = (double)w->number[0] * p[0] + (double)w->number[1] * p[1] +
                      (double)w->number[2] * p[2] + w->pace * time + w->phase;
        sum += w->swing[axis] * (float)cos(turn);
    }
    return f->def.turbulence * sum * sqrtf(6.0f / WAVES);
}

static void curve_push(const ForceField *f, const float p[3], int axis, Push *push) {
    float least = INFINITY, to[3] = {0}, tangent[3] = {0};
    for (int i = 0; i + 1 < f->def.point_count; i++) {
        const float a[3] = {f->point[i].x, f->point[i].y, f->point[i].z};
        const float b[3] = {f->point[i + 1].x, f->point[i + 1].y, f->point[i + 1].z};
        float ee = 0, de = 0, far = 0, foot[3];
        for (int k = 0; k < 3; k++)
            ee += (b[k] - a[k]) * (b[k] - a[k]), de += (p[k] - a[k]) * (b[k] - a[k]);
        float t = ee > 0 ? fminf(fmaxf(de / ee, 0), 1) : 0;
        for (int k = 0; k < 3; k++)
            foot[k] = a[k] + t * (b[k] - a[k]) - p[k], far += foot[k] * foot[k];
        if (!(far < least)) continue;
        least = far;
        for (int k = 0; k < 3; k++)
            to[k] = foot[k], tangent[k] = ee > 0 ? (b[k] - a[k]) / sqrtf(ee) : 0;
    }
    float length = sqrtf(least), weight = fade(length, f->def.radius);
    push->add += weight * f->amount * tangent[axis];
    if (length > 0) push->add += weight * f->def.pull * to[axis] / length;
}

/// Outside towards the shape, from nothing on its surface to all a cell off; inside at rest and, by
/// `hold`, without weight.
static void target_push(const BrimSim *s, const ForceField *f, const float p[3], int axis,
                        float gravity, Push *push) {
    float h = 0.5f * s->dx, x[3] = {p[0], p[0], p[0]}, y[3] = {p[1], p[1], p[1]};
    float z[3] = {p[2], p[2], p[2]}, d[3], *along = axis == 0 ? x : axis == 1 ? y : z;
    along[1] -= h, along[2] += h;
    shape_distance(f->shape, 3, x, y, z, d);
    float slope = fminf(fmaxf((d[2] - d[1]) / (2 * h), -1), 1);
    if (d[0] > 0) {
        push->add -= f->amount * slope * fminf(d[0] * s->inv_dx, 1);
    } else {
        push->add -= f->def.hold * gravity;
        push->rate += f->def.damping;
    }
}

/// The level set at a face, or in a cell of a warped grid, whose corners have it: where it is
/// nearest to air.
static float level_at(const BrimSim *s, int axis, int slot, int cell) {
    float phi = s->phi[(int64_t)slot * s->grid.tile_cells + cell];
    if (!s->warp) {
        const int64_t below = grid_step(&s->grid, slot, cell, axis, -1);
        return below < 0 ? phi : fmaxf(phi, s->phi[below]);
    }
    for (int c = 1; c < 1 << s->dim; c++) {
        const int64_t at = grid_near(&s->grid, slot, (cell & 7) + (c & 1),
                                     (cell >> 3 & 7) + (c >> 1 & 1), (cell >> 6) + (c >> 2));
        phi = fmaxf(phi, at < 0 ? LEVEL_SET_CUT : s->phi[at]);
    }
    return phi;
}

/// Wind takes hold of the surface: all of it at a cell of air, none a cell and a half below.
static float exposed(const BrimSim *s, int axis, int slot, int cell) {
    return fminf(fmaxf((level_at(s, axis, slot, cell) + 1.5f) / 1.5f, 0), 1);
}

// ---------------------------------------------------------------------------------------- faces

typedef struct Pushing {
    double time;
    float kick, gravity[3];
} Pushing;

/// Where the force acts: 1 inside its shape, 0 outside, over a cell in between.
static float share_at(const BrimSim *s, const ForceField *f, const float p[3]) {
    float d;
    if (!f->shape || f->def.kind == BRIM_FORCE_TARGET) return 1;
    shape_distance(f->shape, 1, &p[0], &p[1], &p[2], &d);
    return fminf(fmaxf(0.5f - d * s->inv_dx, 0), 1);
}

static void push_face(const BrimSim *s, const ForceField *f, const Pushing *w, int axis, int slot,
                      int cell, const float p[3], float *u) {
    float share = share_at(s, f, p);
    Push push = {0};
    if (share <= 0) return;
    switch (f->def.kind) {
    case BRIM_FORCE_UNIFORM:
        push.add = f->at[axis];
        if (f->vector[axis])
            push.add = (float)formula_at(f->vector[axis], p[0], p[1], p[2], w->time);
        break;
    case BRIM_FORCE_POINT:
        point_push(f, p, axis, &push);
        break;
    case BRIM_FORCE_VORTEX:
        vortex_push(f, p, axis, &push);
        break;
    case BRIM_FORCE_WIND:
        push.rate = f->def.drag * exposed(s, axis, slot, cell);
        push.to = push.rate > 0 ? f->at[axis] : 0;
        if (push.rate > 0 && f->def.turbulence > 0) push.to += gust(f, p, w->time, axis);
        break;
    case BRIM_FORCE_CURVE:
        curve_push(f, p, axis, &push);
        break;
    case BRIM_FORCE_TARGET:
        target_push(s, f, p, axis, w->gravity[axis], &push);
        break;
    }
    *u += share * push.add * w->kick;
    // exactly over the step, so that a strong one never overshoots
    if (push.rate > 0) *u += (push.to - *u) * -expm1f(-share * push.rate * w->kick);
}

TileMask faces_forced(const BrimSim *s, int slot, int axis) {
    const Grid *g = &s->grid;
    TileMask m = mask_load(g, s->known[s->warp ? 0 : axis], slot);
    if (s->warp || !solid_here(s, slot)) return m;
    TileMask liquid = mask_load(g, s->liquid, slot), off = mask_side_faces(g, slot, axis);
    TileMask below = mask_neighbour(g, s->liquid, slot, axis, -1);
    TileMask shut = shut_faces(s, slot, 2 * axis);
    for (int z = 0; z < g->tile_depth; z++)
        m.slice[z] |= (liquid.slice[z] | below.slice[z]) & ~off.slice[z] & ~shut.slice[z];
    return m;
}

static void push_tile(BrimSim *s, int slot, int thread, void *context) {
    const Pushing *w = context;
    TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int a = 0; a < s->dim; a++) {
        const TileMask pushed = faces_forced(s, slot, a);
        for (int cell = 0; cell < s->grid.tile_cells; cell++) {
            size_t at = (size_t)slot * (size_t)s->grid.tile_cells + (size_t)cell;
            if (!mask_has(&pushed, cell)) continue;
            float p[3] = {(float)(tile[0] + (cell & 7)) + 0.5f,
                          (float)(tile[1] + (cell >> 3 & 7)) + 0.5f,
                          (float)(tile[2] + (cell >> 6)) + 0.5f};
            if (s->warp)
                warp_to_place(s, p);
            else
                p[a] -= 0.5f;
            for (int k = 0; k < 3; k++) p[k] = k < s->dim ? p[k] * s->dx : 0;
            for (int i = 0; i < s->force_count; i++)
                if (s->forces[i].acts)
                    push_face(s, &s->forces[i], w, a, slot, cell, p, &s->velocity[a][at]);
        }
    }
}

/// Vector and strength at a time. False when one is not a number.
static bool set_time(const BrimSim *s, ForceField *f, double time) {
    const BrimForceDef *d = &f->def;
    BrimVec3 v = d->kind == BRIM_FORCE_UNIFORM ? d->acceleration
                 : d->kind == BRIM_FORCE_WIND  ? d->velocity
                                               : d->at;
    const float fixed[3] = {v.x, v.y, v.z};
    float sum = 0;
    for (int a = 0; a < 3; a++) {
        f->at[a] = a < s->dim ? fixed[a] : 0;
        if (f->vector[a] && d->kind != BRIM_FORCE_UNIFORM)
            f->at[a] = (float)formula_at(f->vector[a], 0, 0, 0, time);
        sum += fabsf(f->at[a]);
    }
    f->amount = f->strength ? (float)formula_at(f->strength, 0, 0, 0, time) : d->strength;
    f->acts = time >= d->start && time < d->stop;
    return sum <= 1e8f && fabsf(f->amount) <= 1e8f;
}

BrimResult force_fields_push(BrimSim *s, double time, double kick, BrimError *error) {
    if (!s->force_count) return BRIM_OK;
    for (int i = 0; i < s->force_count; i++)
        if (!set_time(s, &s->forces[i], time))
            return fail(error, BRIM_LOST_DIVERGED,
                        "step %lld: forces[%d] is not a number, or too large, at t = %.6g s: "
                        "change its formulas",
                        (long long)s->step + 1, i, time);
    BrimVec3 g = gravity_at(s, time);
    Pushing w = {time, (float)kick, {g.x, g.y, g.z}};
    tiles_for(s, push_tile, &w);
    return BRIM_OK;
}

static float length3(const float v[3]) {
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// The largest of a uniform force's formulas over points of the domain.
static float strongest_formula(const BrimSim *s, const ForceField *f, double time) {
    enum { N = 3 };
    float most = 0;
    for (int i = 0; i < N * N * N; i++) {
        float a[3];
        for (int k = 0; k < 3; k++)
            a[k] = f->vector[k] ? (float)formula_at(f->vector[k], i % N * 0.5 * s->def.size.x,
                                                    i / N % N * 0.5 * s->def.size.y,
                                                    i / (N * N) * 0.5 * s->def.size.z, time)
                                : f->at[k];
        most = fmaxf(most, length3(a));
    }
    return most;
}

double force_fields_strongest(const BrimSim *s, double time) {
    double sum = 0;
    for (int i = 0; i < s->force_count; i++) {
        ForceField f = s->forces[i];
        if (!set_time(s, &f, time) || !f.acts) continue;
        float strong = fabsf(f.amount) + fabsf(f.def.pull);
        if (f.def.kind == BRIM_FORCE_UNIFORM) strong = strongest_formula(s, &f, time);
        if (f.def.kind == BRIM_FORCE_WIND) // relaxes towards a speed: no farther in a step
            strong = f.def.drag * (length3(f.at) + 2 * f.def.turbulence);
        if (isfinite(strong)) sum += (double)strong;
    }
    return sum;
}
