// The solids of the picture: made, placed, and asked for their distance.
#include "base/error.h"
#include "look/look.h"
#include "solid/solid.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 128 };

BrimResult solids_new(Solids *s, const BrimSimDef *def, double time, BrimError *error) {
    *s = (Solids){.size = def->size, .cell = def->size.x / (float)def->cells[0]};
    if (def->solid_count <= 0) return BRIM_OK;
    s->solid = calloc((size_t)def->solid_count, sizeof(Solid *));
    s->clear = calloc((size_t)def->solid_count, sizeof(bool));
    s->ground = calloc((size_t)def->solid_count, sizeof(bool));
    s->mesh = calloc((size_t)def->solid_count, sizeof(bool));
    s->look = calloc((size_t)def->solid_count, sizeof *s->look);
    if (!s->solid || !s->clear || !s->ground || !s->mesh || !s->look)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's solids");
    for (int i = 0; i < def->solid_count; i++) {
        Solid *solid = NULL;
        BrimResult result = solid_new(&def->solids[i], def->dim, s->cell, &solid, error);
        if (result != BRIM_OK) return result;
        if (!solid_exists(solid, time)) {
            solid_free(&solid);
            continue;
        }
        if (!solid_place(solid, time, 0)) {
            solid_free(&solid);
            return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's solids");
        }
        s->clear[s->count] = solid_thickness(solid) < 0.03f * vec_length(def->size);
        s->look[s->count] = def->solids[i].look;
        BrimGlass glass = def->solids[i].look.glass;
        if (glass != BRIM_GLASS_AUTO) s->clear[s->count] = glass == BRIM_GLASS_YES;
        s->mesh[s->count] = def->solids[i].shape.kind == BRIM_SHAPE_MESH;
        s->ground[s->count] = def->solids[i].shape.kind == BRIM_SHAPE_HEIGHT_FIELD;
        s->solid[s->count++] = solid;
    }
    return BRIM_OK;
}

void solids_free(Solids *s) {
    for (int i = 0; i < s->count; i++) solid_free(&s->solid[i]);
    free((void *)s->solid);
    free(s->clear);
    free(s->ground);
    free(s->mesh);
    free(s->look);
    *s = (Solids){0};
}

void solids_distance(const Solids *s, bool solid_only, int n, const float *x, const float *y,
                     const float *z, float *distance, bool *clear) {
    for (int i = 0; i < n; i++) distance[i] = INFINITY;
    for (int k = 0; k < s->count; k++) {
        if (solid_only && s->clear[k]) continue;
        for (int i = 0; i < n; i += CHUNK) {
            float d[CHUNK];
            int m = n - i < CHUNK ? n - i : CHUNK;
            solid_distance(s->solid[k], m, x + i, y + i, z + i, d);
            for (int j = 0; j < m; j++) {
                if (!(d[j] < distance[i + j])) continue;
                distance[i + j] = d[j];
                if (clear) clear[i + j] = s->clear[k];
            }
        }
    }
}

void solids_distance_kind(const Solids *s, bool clear, int n, const float *x, const float *y,
                          const float *z, float *distance) {
    for (int i = 0; i < n; i++) distance[i] = INFINITY;
    for (int k = 0; k < s->count; k++) {
        if (s->clear[k] != clear) continue;
        for (int i = 0; i < n; i += CHUNK) {
            float d[CHUNK];
            int m = n - i < CHUNK ? n - i : CHUNK;
            solid_distance(s->solid[k], m, x + i, y + i, z + i, d);
            for (int j = 0; j < m; j++) distance[i + j] = fminf(distance[i + j], d[j]);
        }
    }
}

/// The solid, not a clear one, that is nearest to a point.
static int nearest_solid(const Solids *s, BrimVec3 p) {
    int nearest = 0;
    float least = INFINITY;
    for (int k = 0; k < s->count; k++) {
        float d;
        if (s->clear[k]) continue;
        solid_distance(s->solid[k], 1, &p.x, &p.y, &p.z, &d);
        if (d < least) least = d, nearest = k;
    }
    return nearest;
}

BrimVec3 solids_normal(const Solids *s, BrimVec3 p, BrimVec3 otherwise) {
    // across the facets of meshes, whose true shape is smooth
    float h = (s->count && s->mesh[nearest_solid(s, p)] ? 0.4f : 0.02f) * s->cell, d[6];
    const float x[6] = {p.x - h, p.x + h, p.x, p.x, p.x, p.x};
    const float y[6] = {p.y, p.y, p.y - h, p.y + h, p.y, p.y};
    const float z[6] = {p.z, p.z, p.z, p.z, p.z - h, p.z + h};
    solids_distance(s, true, 6, x, y, z, d, NULL);
    BrimVec3 slope = vec(d[1] - d[0], d[3] - d[2], d[5] - d[4]);
    // where the box cuts a solid its distance slopes some other way
    bool sound = vec_length(slope) > 0.5f * h && vec_dot(vec_unit(slope), otherwise) > 0.3f;
    return sound ? vec_unit(slope) : otherwise;
}

float solids_roughness(const Solids *s, BrimVec3 p) {
    return s->count ? s->look[nearest_solid(s, p)].roughness : 1;
}

BrimVec3 solids_paint(const Solids *s, BrimVec3 p, BrimVec3 normal, bool wet) {
    int nearest = nearest_solid(s, p);
    BrimVec3 own = s->look[nearest].colour, clay = vec(0.46f, 0.30f, 0.20f);
    BrimVec3 rock = vec(0.17f, 0.145f, 0.12f), grass = vec(0.155f, 0.16f, 0.085f);
    if (own.x + own.y + own.z > 0) return own;
    if (wet && s->ground[nearest]) return vec(0.15f, 0.145f, 0.13f); // gravel
    return s->ground[nearest] ? vec_mix(rock, grass, smooth_step(0.6f, 0.95f, normal.y)) : clay;
}
