// Solids, drains and gravity, as whitewater meets them.
#include "base/error.h"
#include "base/memory.h"
#include "liquid/foam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static BrimResult no_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the walls that foam meets");
}

static BrimResult make_drains(FoamWalls *w, const BrimSimDef *def, float cell, BrimError *error) {
    size_t n = (size_t)def->drain_count + 1;
    w->drains = calloc(n, sizeof(Solid *));
    w->drain_time = calloc(n, sizeof *w->drain_time);
    if (!w->drains || !w->drain_time) return no_memory(error);
    for (int i = 0; i < def->drain_count; i++) {
        const BrimDrainDef *d = &def->drains[i];
        BrimSolidDef solid = brim_default_solid_def();
        solid.shape = d->shape, solid.motion = BRIM_MOTION_FORMULA;
        solid.path = d->motion.path, solid.turn = d->motion.turn;
        memcpy(solid.path_formula, d->motion.path_formula, sizeof solid.path_formula);
        memcpy(solid.turn_formula, d->motion.turn_formula, sizeof solid.turn_formula);
        BrimResult result = solid_new(&solid, def->dim, cell, &w->drains[i], error);
        if (result != BRIM_OK) return result;
        // one of a rate takes liquid alone
        bool all = !(d->rate > 0) && !d->rate_formula;
        w->drain_time[i][0] = d->start, w->drain_time[i][1] = all ? d->stop : d->start;
        w->drain_count++;
    }
    return BRIM_OK;
}

BrimResult foam_walls_init(FoamWalls *w, const BrimSimDef *def, BrimError *error) {
    *w = (FoamWalls){.gravity = def->gravity};
    for (int a = 0; a < def->dim; a++) {
        const char *text = def->gravity_formula[a];
        BrimResult result =
            text ? formula_new(text, &def->names, FORMULA_T, &w->formula[a], error) : BRIM_OK;
        if (result != BRIM_OK) return result;
    }
    memcpy(w->sides, def->sides, sizeof w->sides);
    float cell = def->size.x / (float)def->cells[0];
    w->solids = calloc((size_t)def->solid_count + 1, sizeof(Solid *));
    w->present = calloc((size_t)def->solid_count + 1, sizeof(Solid *));
    w->keys = calloc((size_t)def->gravity_key_count + 1, sizeof *w->keys);
    if (!w->solids || !w->present || !w->keys) return no_memory(error);
    for (int i = 0; i < def->solid_count; i++) {
        BrimResult result = solid_new(&def->solids[i], def->dim, cell, &w->solids[i], error);
        if (result != BRIM_OK) return result;
        w->solid_count++;
    }
    w->key_count = def->gravity_key_count;
    for (int i = 0; i < w->key_count; i++) w->keys[i] = def->gravity_keys[i];
    return make_drains(w, def, cell, error);
}

void foam_walls_free(FoamWalls *w) {
    for (int i = 0; i < w->solid_count; i++) solid_free(&w->solids[i]);
    for (int i = 0; i < w->drain_count; i++) solid_free(&w->drains[i]);
    for (int a = 0; a < 3; a++) formula_free(&w->formula[a]);
    free((void *)w->solids), free((void *)w->present), free((void *)w->drains);
    free(w->drain_time), free(w->keys);
    *w = (FoamWalls){0};
}

BrimVec3 foam_gravity(const FoamWalls *w, double time) {
    const BrimGravityKey *k = w->keys;
    int n = w->key_count;
    if (!n) {
        BrimVec3 g = w->gravity;
        if (w->formula[0]) g.x = (float)formula_at(w->formula[0], 0, 0, 0, time);
        if (w->formula[1]) g.y = (float)formula_at(w->formula[1], 0, 0, 0, time);
        if (w->formula[2]) g.z = (float)formula_at(w->formula[2], 0, 0, 0, time);
        return g;
    }
    if (time <= k[0].time) return k[0].gravity;
    for (int i = 1; i < n; i++) {
        if (time >= k[i].time) continue;
        BrimVec3 a = k[i - 1].gravity, b = k[i].gravity;
        float t = (float)((time - k[i - 1].time) / (k[i].time - k[i - 1].time));
        return (BrimVec3){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z)};
    }
    return k[n - 1].gravity;
}

bool foam_walls_place(FoamWalls *w, double time, double dt) {
    w->present_count = 0;
    for (int i = 0; i < w->solid_count; i++) {
        if (!solid_exists(w->solids[i], time)) continue;
        if (!solid_place(w->solids[i], time, dt)) return false;
        w->present[w->present_count++] = w->solids[i];
    }
    for (int i = 0; i < w->drain_count; i++)
        if (!solid_place(w->drains[i], time, dt)) return false;
    return true;
}

/// Picks the points that a box, grown by `reach`, holds: their numbers in `picked`.
static int pick(const float low[3], const float high[3], float reach, int n, float *const x[3],
                int *picked, float out[3][FOAM_POINTS]) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool in = true;
        for (int a = 0; a < 3; a++)
            in = in && x[a][i] >= low[a] - reach && x[a][i] <= high[a] + reach;
        if (!in) continue;
        for (int a = 0; a < 3; a++) out[a][count] = x[a][i];
        picked[count++] = i;
    }
    return count;
}

void foam_walls_distance(const FoamWalls *w, int n, float *const x[3], float reach, float *distance,
                         int *solid) {
    for (int i = 0; i < n; i++) distance[i] = INFINITY, solid[i] = -1;
    for (int k = 0; k < w->present_count; k++) {
        float low[3], high[3], point[3][FOAM_POINTS], d[FOAM_POINTS];
        int picked[FOAM_POINTS];
        if (!solid_bounds(w->present[k], low, high)) continue;
        int count = pick(low, high, reach, n, x, picked, point);
        if (!count) continue;
        solid_distance(w->present[k], count, point[0], point[1], point[2], d);
        for (int i = 0; i < count; i++)
            if (d[i] < distance[picked[i]] && d[i] < reach)
                distance[picked[i]] = d[i], solid[picked[i]] = k;
    }
}

void foam_walls_normal(const FoamWalls *w, int solid, const float x[3], int dim, float step,
                       float normal[3]) {
    float p[3][6], d[6], length = 0;
    for (int k = 0; k < 6; k++)
        for (int a = 0; a < 3; a++) p[a][k] = x[a] + (k / 2 == a ? (k % 2 ? step : -step) : 0);
    solid_distance(w->present[solid], 2 * dim, p[0], p[1], p[2], d);
    for (int a = 0; a < 3; a++) {
        normal[a] = a < dim ? d[2 * a + 1] - d[2 * a] : 0;
        length += normal[a] * normal[a];
    }
    length = sqrtf(length);
    for (int a = 0; a < 3; a++) normal[a] = length > 0 ? normal[a] / length : 0;
}

void foam_walls_drained(const FoamWalls *w, double time, int n, float *const x[3], bool *in) {
    memset(in, 0, (size_t)n * sizeof *in);
    for (int k = 0; k < w->drain_count; k++) {
        float low[3], high[3], point[3][FOAM_POINTS], d[FOAM_POINTS];
        int picked[FOAM_POINTS];
        if (time < w->drain_time[k][0] || time >= w->drain_time[k][1]) continue;
        if (!solid_bounds(w->drains[k], low, high)) continue;
        int count = pick(low, high, 0, n, x, picked, point);
        if (!count) continue;
        solid_distance(w->drains[k], count, point[0], point[1], point[2], d);
        for (int i = 0; i < count; i++) in[picked[i]] = in[picked[i]] || d[i] < 0;
    }
}
