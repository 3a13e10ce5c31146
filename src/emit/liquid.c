// Regions of liquid: seeded when a simulation is made, or added while it runs.
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "emit/lattice.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

BrimResult flow_new(LiquidFlow *flow, const BrimLiquidDef *def, int dim, BrimError *error) {
    BrimResult r = BRIM_OK;
    *flow = (LiquidFlow){{NULL}};
    for (int a = 0; a < dim && r == BRIM_OK; a++)
        if (def->velocity_formula[a])
            r = formula_new(def->velocity_formula[a], def->shape.names, FORMULA_PLACE,
                            &flow->velocity[a], error);
    return r;
}

void flow_free(LiquidFlow *flow) {
    for (int a = 0; a < 3; a++) formula_free(&flow->velocity[a]);
}

BrimResult flow_check(const Particles *p, size_t from, BrimError *error) {
    for (size_t i = from; i < p->count; i++)
        for (int a = 0; a < 3; a++) {
            float v = p->attr[ATTR_VX + a][i];
            if (fabsf(v) <= 1e7f) continue;
            return fail(error, BRIM_ERROR_INPUT,
                        "liquid: the velocity along %c is %g m/s at (%g, %g, %g) m: change its "
                        "formula",
                        "xyz"[a], (double)v, (double)p -> attr[ATTR_X][i],
                        (double)p -> attr[ATTR_Y][i], (double)p -> attr[ATTR_Z][i]);
        }
    return BRIM_OK;
}

float liquid_velocity(const BrimLiquidDef *def, const LiquidFlow *flow, const float at[3],
                      int axis) {
    const float d[3] = {at[0] - def->shape.position.x, at[1] - def->shape.position.y,
                        at[2] - def->shape.position.z};
    float own[3] = {def->velocity.x, def->velocity.y, def->velocity.z};
    if (flow && flow->velocity[axis])
        own[axis] = (float)formula_at(flow->velocity[axis], at[0], at[1], at[2], 0);
    const float v[3] = {own[0] + def->spin.y * d[2] - def->spin.z * d[1],
                        own[1] + def->spin.z * d[0] - def->spin.x * d[2],
                        own[2] + def->spin.x * d[1] - def->spin.y * d[0]};
    return v[axis];
}

/// So many points at random in the shape, however dense. Gives up when hardly any place is free.
static bool visit_random(Appender *a, const float low[3], const float high[3], int wanted) {
    BrimSim *s = a->s;
    SeedBatch b;
    int64_t batches = 16 + 64 * ((int64_t)wanted / SEED_BATCH + 1);
    for (int64_t k = 0; k < batches && a->count < wanted; k++) {
        b.count = wanted - a->count < SEED_BATCH ? (int)(wanted - a->count) : SEED_BATCH;
        for (int i = 0; i < b.count; i++) {
            uint64_t h = hash_3(s->def.seed, (uint64_t)k, (uint64_t)i + 1), h2 = hash_mix(h);
            b.x[i] = low[0] + hash_unit(h, 0) * (high[0] - low[0]);
            b.y[i] = low[1] + hash_unit(h, 1) * (high[1] - low[1]);
            b.z[i] = s->dim == 3 ? low[2] + hash_unit(h2, 0) * (high[2] - low[2]) : 0;
        }
        if (!appender_visit(a, &b)) return false;
    }
    return true;
}

static bool visit_liquid(Appender *a, const float low[3], const float high[3], int particles) {
    const float none[3] = {0};
    if (particles > 0) {
        a->jitter = false;
        return visit_random(a, low, high, particles);
    }
    return seed_lattice(a->s->dim, a->spacing, none, low, high, appender_visit, a);
}

enum { RANDOM_SAMPLE = 1 << 20 };

int64_t emit_count(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index,
                   int64_t most, uint8_t *tiles) {
    float low[3], high[3];
    if (!emit_bounds(s, shapes[index], low, high)) return 0;
    Appender a = {.s = s,
                  .shape = shapes[index],
                  .spacing = emit_spacing(s),
                  .dry = true,
                  .most = most,
                  .earlier = shapes,
                  .earlier_count = index,
                  .tiles = tiles};
    // So many at random: a sample tells the tiles, and how many find a place.
    int sample = def->particles > RANDOM_SAMPLE ? RANDOM_SAMPLE : def->particles;
    visit_liquid(&a, low, high, sample);
    double share = sample > 0 ? (double)a.count / sample : 1;
    return sample == def->particles ? a.count : (int64_t)(share * def->particles);
}

void emit_cells(BrimSim *s, const Shape *const *shapes, int index, uint32_t *points) {
    float low[3], high[3];
    const float none[3] = {0};
    if (!emit_bounds(s, shapes[index], low, high)) return;
    Appender a = {.s = s,
                  .shape = shapes[index],
                  .spacing = emit_spacing(s),
                  .jitter = true,
                  .dry = true,
                  .points = points,
                  .earlier = shapes,
                  .earlier_count = index};
    seed_lattice(s->dim, a.spacing, none, low, high, appender_visit, &a);
}

bool emit_liquid(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index) {
    float low[3], high[3];
    if (!emit_bounds(s, shapes[index], low, high)) return true;
    Appender a = {.s = s,
                  .shape = shapes[index],
                  .spacing = emit_spacing(s),
                  .velocity = def->velocity,
                  .spin = def->spin,
                  .flow = &s->flows[index],
                  .centre = def->shape.position,
                  .density = def->density,
                  .origin = (uint32_t)index,
                  .jitter = true,
                  .hide = has_band(s),
                  .earlier = shapes,
                  .earlier_count = index};
    bool ok = visit_liquid(&a, low, high, def->particles);
    s->seeded += a.count;
    s->band.resampled -= a.hidden;
    return ok;
}

bool emit_waiting(BrimSim *s, const BrimLiquidDef *def, const LiquidFlow *flow, const Shape *shape,
                  uint32_t origin) {
    float low[3], high[3];
    if (!emit_bounds(s, shape, low, high)) return true;
    size_t before = s->waiting.count;
    uint32_t id = s->next_id;
    uint32_t *taken = memory_new((before + 1) * sizeof *taken);
    if (!taken) return false;
    if (before) memcpy(taken, s->waiting.key, before * sizeof *taken);
    qsort(taken, before, sizeof *taken, compare_keys);
    s->waiting.carries = s->particles.carries;
    Appender a = {.s = s,
                  .to = &s->waiting,
                  .shape = shape,
                  .spacing = emit_spacing(s),
                  .velocity = def->velocity,
                  .spin = def->spin,
                  .flow = flow,
                  .centre = def->shape.position,
                  .density = def->density,
                  .origin = origin,
                  .jitter = true,
                  .into_air = true,
                  .taken = taken,
                  .taken_count = before};
    bool ok = visit_liquid(&a, low, high, def->particles);
    free(taken);
    if (!ok) s->waiting.count = before, s->next_id = id;
    return ok;
}
