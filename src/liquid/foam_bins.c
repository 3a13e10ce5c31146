// Particles sorted by tile and cell; the particles around a tile in one array.
#include "base/error.h"
#include "base/memory.h"
#include "liquid/foam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 15 }; ///< particles that a thread takes at a time
#define NOWHERE UINT32_MAX

BrimResult foam_bins_init(FoamBins *b, const FoamScale *s, BrimError *error) {
    *b = (FoamBins){0};
    BrimResult result = grid_init(&b->grid, s->dim, s->cells, error);
    if (result != BRIM_OK) return result;
    size_t box = grid_box(&b->grid);
    b->want = memory_zero(box), b->have = memory_zero(box);
    b->first = memory_new((box + 2) * sizeof *b->first);
    b->spare = memory_new(box * sizeof *b->spare);
    if (b->want && b->have && b->first && b->spare) return BRIM_OK;
    foam_bins_free(b);
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for foam");
}

void foam_bins_free(FoamBins *b) {
    grid_free(&b->grid);
    for (int a = 0; a < 3; a++) free(b->x[a]), free(b->u[a]), free(b->n[a]);
    free(b->start), free(b->source), free(b->want), free(b->have), free(b->key), free(b->by_tile);
    free(b->first), free(b->spare), free(b->chosen);
    *b = (FoamBins){0};
}

/// What is outside counts as in the outermost cells.
static inline int cell_along(float x, float inv, int cells) {
    float c = x * inv, last = (float)(cells - 1);
    return c > 0 ? (int)(c < last ? c : last) : 0;
}

uint32_t foam_cell(const FoamScale *s, const Grid *g, const float x[3], uint32_t *cell) {
    int c[3];
    for (int a = 0; a < 3; a++) c[a] = cell_along(x[a], s->inv_radius, s->cells[a]);
    *cell = (uint32_t)(((c[2] & 7) * TILE + (c[1] & 7)) * TILE + (c[0] & 7));
    return (uint32_t)grid_box_index(g, c[0] >> TILE_SHIFT, c[1] >> TILE_SHIFT, c[2] >> TILE_SHIFT);
}

/// out [box] is set where `in` is set in one of the 27 tiles around.
static void spread(const Grid *g, const uint8_t *in, uint8_t *out) {
    memset(out, 0, grid_box(g));
    size_t i = 0;
    for (int z = 0; z < g->tiles[2]; z++)
        for (int y = 0; y < g->tiles[1]; y++)
            for (int x = 0; x < g->tiles[0]; x++, i++)
                for (int n = 0; in[i] && n < 27; n++) {
                    int a = x + n % 3 - 1, b = y + n / 3 % 3 - 1, c = z + n / 9 - 1;
                    if (a >= 0 && b >= 0 && c >= 0 && a < g->tiles[0] && b < g->tiles[1] &&
                        c < g->tiles[2])
                        out[grid_box_index(g, a, b, c)] = 1;
                }
}

void foam_spread(FoamBins *b) {
    spread(&b->grid, b->want, b->have);
    memcpy(b->want, b->have, grid_box(&b->grid));
}

// ------------------------------------------------------------------------------------------ sort

typedef struct Sorting {
    FoamBins *bins;
    const FoamScale *scale;
    const FoamPlaces *places;
    bool normals;
} Sorting;

/// The cell of a stand-in, `i` counted from the first one on.
static const BrimInterior *cell_of(const Sorting *s, size_t i) {
    return &s->places->interior[s->bins->chosen[i / foam_stand_ins(s->scale)]];
}

static void place(const Sorting *s, size_t i, float x[3]) {
    const FoamPlaces *p = s->places;
    if (i < p->count) {
        for (int a = 0; a < 3; a++) x[a] = p->x[a][i] + (p->time != 0 ? p->time * p->w[a][i] : 0);
        return;
    }
    i -= p->count;
    const BrimInterior *c = cell_of(s, i);
    const int n = s->scale->stand, k = (int)(i % foam_stand_ins(s->scale));
    const int at[3] = {k % n, k / n % n, k / n / n};
    for (int a = 0; a < 3; a++) {
        float off = a < s->scale->dim ? ((float)at[a] + 0.5f) / (float)n - 0.5f : 0;
        x[a] = c->position[a] + off * s->scale->cell + p->interior_time * c->velocity[a];
    }
}

static float velocity(const Sorting *s, size_t i, int axis) {
    const FoamPlaces *p = s->places;
    return i < p->count ? p->w[axis][i] : cell_of(s, i - p->count)->velocity[axis];
}

/// All that is sorted: particles, and stand-ins of the cells that are chosen.
static size_t sorted_count(const Sorting *s) {
    return s->places->count + s->bins->chosen_count * foam_stand_ins(s->scale);
}

/// The cells below a band in tiles that are wanted or beside one. False when out of memory, or
/// when there are too many.
static bool choose_interior(const Sorting *s) {
    FoamBins *b = s->bins;
    const FoamPlaces *p = s->places;
    b->chosen_count = b->too_many = 0;
    if (!p->interior_count) return true;
    if (!memory_fit((void **)&b->chosen, &b->chosen_capacity, sizeof *b->chosen, p->interior_count))
        return false;
    spread(&b->grid, b->want, b->have);
    for (size_t i = 0; i < p->interior_count; i++) {
        const BrimInterior *c = &p->interior[i];
        float x[3];
        uint32_t cell;
        for (int a = 0; a < 3; a++) x[a] = c->position[a] + p->interior_time * c->velocity[a];
        if (b->have[foam_cell(s->scale, &b->grid, x, &cell)])
            b->chosen[b->chosen_count++] = (uint32_t)i;
    }
    if (sorted_count(s) >= NOWHERE) b->too_many = sorted_count(s);
    return !b->too_many;
}

static void find_keys(void *context, int chunk, int thread) {
    const Sorting *s = context;
    const FoamPlaces *p = s->places;
    FoamBins *b = s->bins;
    size_t count = sorted_count(s), first = (size_t)chunk * CHUNK;
    size_t end = first + CHUNK < count ? first + CHUNK : count;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        float x[3];
        uint32_t cell;
        place(s, i, x);
        uint32_t tile = foam_cell(s->scale, &b->grid, x, &cell);
        bool path = p->halves && i < p->count;
        bool there = b->want[tile] && (!path || p->halves[i] & p->half);
        b->key[i] = there ? tile * (uint32_t)b->grid.tile_cells + cell : NOWHERE;
    }
}

/// (key) => first, by_tile, count
static void sort_by_tile(FoamBins *b, size_t count) {
    size_t box = grid_box(&b->grid);
    uint32_t cells = (uint32_t)b->grid.tile_cells, *first = b->first;
    memset(first, 0, (box + 2) * sizeof *first);
    for (size_t i = 0; i < count; i++)
        if (b->key[i] != NOWHERE) first[b->key[i] / cells + 2]++;
    for (size_t t = 0; t <= box; t++) first[t + 1] += first[t];
    for (size_t i = 0; i < count; i++)
        if (b->key[i] != NOWHERE) b->by_tile[first[b->key[i] / cells + 1]++] = (uint32_t)i;
    b->count = first[box];
}

/// Particles of a tile by cell, and copied: those of a cell in the order they came.
static void sort_tile(void *context, int slot, int thread) {
    const Sorting *s = context;
    FoamBins *b = s->bins;
    TileCoord c = b->grid.coord[slot];
    uint32_t box = (uint32_t)grid_box_index(&b->grid, c.x, c.y, c.z);
    uint32_t cells = (uint32_t)b->grid.tile_cells, first = b->first[box], end = b->first[box + 1];
    uint32_t at[TILE * TILE * TILE] = {0}, sum = first, *start = b->start + (size_t)slot * cells;
    (void)thread;
    for (uint32_t i = first; i < end; i++) at[b->key[b->by_tile[i]] % cells]++;
    for (uint32_t k = 0; k < cells; k++) {
        uint32_t n = at[k];
        start[k] = at[k] = sum;
        sum += n;
    }
    for (uint32_t i = first; i < end; i++) {
        uint32_t from = b->by_tile[i], to = at[b->key[from] % cells]++;
        float x[3];
        place(s, from, x);
        b->source[to] = from;
        for (int a = 0; a < 3; a++) b->x[a][to] = x[a], b->u[a][to] = velocity(s, from, a);
    }
}

static bool fit(FoamBins *b, size_t count, bool normals) {
    if (count > b->key_capacity) {
        free(b->key), free(b->by_tile);
        b->key = memory_new(count * sizeof *b->key);
        b->by_tile = memory_new(count * sizeof *b->by_tile);
        b->key_capacity = b->key && b->by_tile ? count : 0;
        if (!b->key_capacity) return false;
    }
    if (count > b->capacity) {
        bool ready = true;
        free(b->source);
        ready = (b->source = memory_new(count * sizeof *b->source)) != NULL;
        for (int a = 0; a < 3; a++) {
            free(b->x[a]), free(b->u[a]), free(b->n[a]);
            b->n[a] = NULL;
            ready = (b->x[a] = memory_new(count * sizeof(float))) && ready;
            ready = (b->u[a] = memory_new(count * sizeof(float))) && ready;
        }
        b->capacity = ready ? count : 0;
        if (!ready) return false;
    }
    for (int a = 0; a < 3 && normals; a++)
        if (!b->n[a] && !(b->n[a] = memory_new(b->capacity * sizeof(float)))) return false;
    return true;
}

bool foam_bins_sort(FoamBins *b, const FoamScale *scale, const FoamPlaces *places, bool normals,
                    Team *team) {
    size_t box = grid_box(&b->grid);
    Sorting s = {b, scale, places, normals};
    if (!choose_interior(&s)) return false;
    size_t count = sorted_count(&s);
    if (!fit(b, count ? count : 1, normals)) return false;
    team_for(team, (int)((count + CHUNK - 1) / CHUNK), 1, find_keys, &s);
    sort_by_tile(b, count);
    for (size_t t = 0; t < box; t++) b->have[t] = b->first[t + 1] > b->first[t];
    // a tile beside the water exists too, so that what is there finds the water
    uint8_t *around = memory_new(box);
    if (!around) return false;
    spread(&b->grid, b->have, around);
    bool ready = grid_rebuild(&b->grid, around, b->spare, NULL);
    free(around);
    size_t cells = (size_t)b->grid.tile_count * (size_t)b->grid.tile_cells;
    ready =
        ready && memory_fit((void **)&b->start, &b->start_capacity, sizeof *b->start, cells + 1);
    if (!ready) return false;
    team_for(team, b->grid.tile_count, 4, sort_tile, &s);
    b->start[cells] = (uint32_t)b->count;
    return true;
}

BrimResult foam_bins_fail(const FoamBins *b, size_t count, const char *what, BrimError *error) {
    if (b->too_many)
        return fail(
            error, BRIM_ERROR_MEMORY,
            "foam moves in too much water at once: %zu particles, with those that stand for "
            "the cells below the band, of at most %zu; use coarser cells",
            b->too_many, (size_t)NOWHERE - 1);
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for %s of %zu particles", what, count);
}

// ----------------------------------------------------------------------------------------- block

void foam_block_free(FoamBlock *block) {
    for (int a = 0; a < 3; a++) free(block->x[a]), free(block->u[a]), free(block->n[a]);
    for (int a = 0; a < 3; a++) block->x[a] = block->u[a] = block->n[a] = NULL;
    block->capacity = 0;
}

static bool block_fit(FoamBlock *block, size_t count) {
    if (count <= block->capacity) return true;
    foam_block_free(block);
    size_t wanted = count + count / 2, bytes = (wanted + FOAM_LANES) * sizeof(float);
    bool ready = true;
    for (int a = 0; a < 3; a++) {
        ready = (block->x[a] = memory_zero(bytes)) && ready;
        ready = (block->u[a] = memory_zero(bytes)) && ready;
        ready = (block->n[a] = memory_zero(bytes)) && ready;
    }
    block->capacity = ready ? wanted : 0;
    return ready;
}

/// First particle and number of a cell of the block, (-1, -1, -1) to (8, 8, 8) of the tile.
static uint32_t cell_range(const FoamBins *b, int slot, int x, int y, int z, uint32_t *first) {
    if (b->grid.dim == 2 && z != 0) return 0;
    int64_t cell = grid_near(&b->grid, slot, x, y, z);
    if (cell < 0) return 0;
    *first = b->start[cell];
    return b->start[cell + 1] - *first;
}

static void copy(FoamBlock *block, const FoamBins *b, uint32_t to, uint32_t from, uint32_t n) {
    for (int a = 0; a < 3; a++) {
        memcpy(block->x[a] + to, b->x[a] + from, n * sizeof(float));
        memcpy(block->u[a] + to, b->u[a] + from, n * sizeof(float));
        if (b->n[a]) memcpy(block->n[a] + to, b->n[a] + from, n * sizeof(float));
    }
}

bool foam_block_fill(FoamBlock *block, const FoamBins *b, int slot) {
    uint32_t count = 0, source[FOAM_EDGE * FOAM_EDGE * FOAM_EDGE], *from = source;
    int cell = 0;
    for (int z = -1; z <= TILE; z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                block->start[cell++] = count;
                *from = 0;
                count += cell_range(b, slot, x, y, z, from++);
            }
    block->start[cell] = block->count = count;
    block->tile = slot;
    if (!block_fit(block, count)) return false;
    for (int i = 0; i < cell; i++)
        copy(block, b, block->start[i], source[i], block->start[i + 1] - block->start[i]);
    return true;
}
