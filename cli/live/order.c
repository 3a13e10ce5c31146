#include "live/order.h"
#include <stdlib.h>
#include <string.h>

enum { TILE_CELLS = 8, OWN = 6 };

/// The tile of a particle; outside the domain the nearest.
static uint32_t tile_at(const BrimFrame *f, size_t i, float inverse, const int tiles[3]) {
    const float at[3] = {f->x[i] * inverse, f->y[i] * inverse, f->z[i] * inverse};
    int t[3];
    for (int a = 0; a < 3; a++) {
        float most = (float)(tiles[a] - 1);
        t[a] = (int)(at[a] > 0 ? at[a] < most ? at[a] : most : 0);
    }
    return (uint32_t)((t[2] * tiles[1] + t[1]) * tiles[0] + t[0]);
}

/// order [count] => particles by tile. False when out of memory.
static bool find_order(const BrimSimDef *def, const BrimFrame *f, uint32_t *order) {
    const int cells[3] = {def->cells[0], def->cells[1], def->dim == 3 ? def->cells[2] : 1};
    int tiles[3];
    for (int a = 0; a < 3; a++) tiles[a] = (cells[a] + TILE_CELLS - 1) / TILE_CELLS;
    size_t all = (size_t)tiles[0] * (size_t)tiles[1] * (size_t)tiles[2];
    float inverse = (float)def->cells[0] / (def->size.x * TILE_CELLS);
    uint32_t *first = calloc(all + 1, sizeof *first), *tile = malloc((f->count + 1) * sizeof *tile);
    if (first && tile) {
        for (size_t i = 0; i < f->count; i++) {
            tile[i] = tile_at(f, i, inverse, tiles);
            first[tile[i] + 1]++;
        }
        for (size_t t = 0; t < all; t++) first[t + 1] += first[t];
        for (size_t i = 0; i < f->count; i++) order[first[tile[i]]++] = (uint32_t)i;
    }
    bool ok = first && tile;
    free(first);
    free(tile);
    return ok;
}

/// Attributes keep their bits, whether they are floats or words.
static void gather(uint32_t *to, const void *from, const uint32_t *order, size_t count) {
    const uint32_t *words = from;
    for (size_t i = 0; i < count; i++) to[i] = words[order[i]];
}

bool order_particles(const BrimSimDef *def, const BrimFrame *f, Ordered *o) {
    size_t arrays = OWN + (size_t)f->extra_count, below = f->interior ? f->interior_count : 0;
    size_t wanted = arrays * f->count + sizeof(BrimInterior) / sizeof(float) * below + 1;
    if (wanted > o->capacity) {
        free(o->memory);
        o->memory = malloc(wanted * sizeof *o->memory);
        o->capacity = o->memory ? wanted : 0;
    }
    uint32_t *order = malloc((f->count + 1) * sizeof *order);
    bool ok = order && o->memory && find_order(def, f, order);
    const float *own[OWN] = {f->x, f->y, f->z, f->vx, f->vy, f->vz};
    o->view = (BrimParticles){0};
    for (size_t k = 0; ok && k < arrays; k++) {
        const void *from = k < OWN ? (const void *)own[k] : f->extra[k - OWN].values;
        gather((uint32_t *)o->memory + k * f->count, from, order, f->count);
    }
    free(order);
    if (!ok) return false;
    float *m = o->memory;
    size_t n = f->count;
    BrimInterior *interior = (BrimInterior *)(m + arrays * n);
    if (below) memcpy(interior, f->interior, below * sizeof *interior);
    o->view = (BrimParticles){.count = n,
                              .x = m,
                              .y = m + n,
                              .z = m + 2 * n,
                              .vx = m + 3 * n,
                              .vy = m + 4 * n,
                              .vz = m + 5 * n,
                              .extra_count = f->extra_count,
                              .interior = below ? interior : NULL,
                              .interior_count = below};
    for (int i = 0; i < f->extra_count; i++) {
        memcpy(o->name[i], f->extra_name[i], sizeof o->name[i]);
        o->view.extra[i] =
            (BrimAttribute){o->name[i], "", f->extra[i].whole, m + (OWN + (size_t)i) * n};
    }
    return true;
}

void order_free(Ordered *o) {
    free(o->memory);
    *o = (Ordered){0};
}
