#include "particles/particles.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void particles_free(Particles *p) {
    for (int a = 0; a < ATTR_MAX; a++) free(p->attr[a]);
    free(p->key);
    free(p->order);
    free(p->spare);
    free(p->tile_start);
    free(p->start_at);
    free(p->cell_start);
    free(p->occupied);
    *p = (Particles){0};
}

int particle_numbers(const Particles *p) {
    int numbers = 0;
    for (int row = 0; row < ROW_COUNT; row++)
        if (particles_carry(p, row)) numbers += attribute_rows[row].numbers;
    return numbers;
}

/// A value at birth as bits.
static uint32_t start_word(const AttributeRow *row, uint32_t origin) {
    float one = 1;
    uint32_t word = row->start == ATTRIBUTE_ORIGIN ? origin : row->start == ATTRIBUTE_ONE;
    if (row->start == ATTRIBUTE_ONE && row->type == ATTRIBUTE_FLOAT) memcpy(&word, &one, 4);
    return word;
}

void particle_start(Particles *p, size_t i, uint32_t origin) {
    for (int row = 0; row < ROW_COUNT; row++) {
        const AttributeRow *r = &attribute_rows[row];
        if (r->start == ATTRIBUTE_GIVEN || !particles_carry(p, row)) continue;
        for (int k = r->first; k < r->first + r->numbers; k++)
            particle_words(p, k)[i] = start_word(r, origin);
    }
}

bool particles_inherit(const Particles *p) {
    for (int row = 0; row < ROW_COUNT; row++)
        if (particles_carry(p, row) && attribute_rows[row].start != ATTRIBUTE_GIVEN) return true;
    return false;
}

void particle_inherit(Particles *p, size_t i, size_t from) {
    for (int row = 0; row < ROW_COUNT; row++) {
        const AttributeRow *r = &attribute_rows[row];
        if (r->start == ATTRIBUTE_GIVEN || !particles_carry(p, row)) continue;
        for (int k = r->first; k < r->first + r->numbers; k++)
            particle_words(p, k)[i] = particle_words(p, k)[from];
    }
}

size_t particles_bytes(const Particles *p) {
    return p->capacity * 4 * (size_t)(particle_numbers(p) + 3) + p->mask_capacity +
           4 * (p->tile_capacity + p->at_capacity + p->start_capacity);
}

/// A copy of *array of another size with its first `keep` elements.
static bool resize_one(void **array, size_t capacity, size_t keep) {
    void *other = memory_new((capacity + PARTICLE_PADDING) * 4);
    if (!other) return false;
    if (keep) memcpy(other, *array, keep * 4);
    free(*array);
    *array = other;
    return true;
}

/// Gives all arrays of particles another size. False when out of memory.
static bool resize(Particles *p, size_t capacity) {
    bool ok = true;
    for (int a = 0; a < ATTR_MAX && ok; a++)
        if (particles_carry(p, attribute_row(a)))
            ok = resize_one((void **)&p->attr[a], capacity, p->count);
    ok = ok && resize_one((void **)&p->key, capacity, p->count);
    ok = ok && resize_one((void **)&p->order, capacity, 0);
    ok = ok && resize_one((void **)&p->spare, capacity, 0);
    if (ok) p->capacity = capacity;
    return ok;
}

bool particles_reserve(Particles *p, size_t count) {
    return count <= p->capacity || resize(p, memory_reserve(p->capacity, count));
}

void particles_release(Particles *p, const Grid *g) {
    size_t tiles = (size_t)g->tile_count, fewer = p->count + p->count / 16;
    if (memory_spare(p->capacity, p->count)) {
        (void)resize(p, fewer); // what finds no room to move to stays larger than told
        p->capacity = fewer;
    }
    size_t places = 0;
    for (int t = 0; t < g->tile_count; t++)
        if (p->start_at[t] > places) places = p->start_at[t]; // they count up
    memory_shrink((void **)&p->tile_start, &p->tile_capacity, 4, tiles + 1);
    memory_shrink((void **)&p->start_at, &p->at_capacity, 4, tiles);
    memory_shrink((void **)&p->cell_start, &p->start_capacity, 4,
                  (places + 1) * (size_t)g->tile_cells + 1);
    memory_shrink((void **)&p->occupied, &p->mask_capacity, 1, tiles * (size_t)g->tile_rows);
}

bool particles_fit_tiles(Particles *p, const Grid *g, size_t tiles) {
    return memory_fit((void **)&p->tile_start, &p->tile_capacity, 4, tiles + 1) &&
           memory_fit((void **)&p->start_at, &p->at_capacity, 4, tiles) &&
           memory_fit((void **)&p->occupied, &p->mask_capacity, 1, tiles * (size_t)g->tile_rows);
}

bool particles_fit_cells(Particles *p, const Grid *g) {
    size_t places = 0, cells = (size_t)g->tile_cells;
    for (int t = 0; t < g->tile_count; t++)
        p->start_at[t] = tile_holds(p, t) ? (uint32_t)++places : 0;
    if (!memory_fit((void **)&p->cell_start, &p->start_capacity, 4, (places + 1) * cells + 1))
        return false;
    memset(p->cell_start, 0, (cells + 1) * sizeof *p->cell_start);
    p->cell_start[(places + 1) * cells] = p->tile_start[g->tile_count];
    return true;
}
