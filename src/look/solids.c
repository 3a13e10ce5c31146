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
    if (!s->solid || !s->clear)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's solids");
    for (int i = 0; i < def->solid_count; i++) {
        Solid *solid = NULL;
        BrimResult result = solid_new(&def->solids[i], def->dim, s->cell, &solid, error);
        if (result != BRIM_OK) return result;
        if (!solid_exists(solid, time)) {
            solid_free(&solid);
            continue;
        }
        solid_place(solid, time, 0);
        s->clear[s->count] = solid_thickness(solid) < 0.03f * vec_length(def->size);
        s->solid[s->count++] = solid;
    }
    return BRIM_OK;
}

void solids_free(Solids *s) {
    for (int i = 0; i < s->count; i++) solid_free(&s->solid[i]);
    free((void *)s->solid);
    free(s->clear);
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
