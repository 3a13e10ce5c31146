// Particles sorted by cell, and the cells in which the surface can be.
#include "base/error.h"
#include "base/memory.h"
#include "mesh/mesh.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = TILE * TILE * TILE, ROWS = TILE * TILE };
#define IN_SOLID UINT32_MAX ///< as a key

/// Arrays that only the sort needs.
typedef struct Sort {
    uint32_t *key;     ///< [count] tile of the box * 512 + cell
    uint32_t *by_tile; ///< [count] particles in the order of their tiles
    uint32_t *first;   ///< [box + 1] of each tile
    uint8_t *want;     ///< [box]
    int32_t *from;     ///< [box]
} Sort;

static void sort_free(Sort *s) {
    free(s->key), free(s->by_tile), free(s->first), free(s->want), free(s->from);
}

void bins_free(Bins *b) {
    grid_free(&b->grid);
    free(b->start), free(b->order), free(b->occupied), free(b->deep), free(b->active);
    *b = (Bins){0};
}

static BrimResult no_memory(size_t count, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the surface of %zu particles", count);
}

// ---------------------------------------------------------------------------------------- sort

static int cell_of(float x, Space space, int cells) {
    float c = floorf(space_to_grid(space, x));
    return c < 0 ? 0 : c >= (float)cells ? cells - 1 : (int)c;
}

/// A sort at work, as its loops see it.
typedef struct Sorting {
    Bins *b;
    Sort *s;
    const MeshScale *scale;
    const BrimParticles *p;
    const SolidList *solids;
    TeamCount bad;     ///< particles without a place
    TeamCount dropped; ///< those inside solids
} Sorting;

enum { KEYS_PART = 16384 };

static bool placed(const BrimParticles *p, size_t i) {
    return isfinite(p->x[i]) && isfinite(p->y[i]) && isfinite(p->z[i]);
}

/// (x) => key, of a part of the particles
static void make_keys(void *context, int index, int thread) {
    Sorting *sorting = context;
    const BrimParticles *p = sorting->p;
    const Grid *g = &sorting->b->grid;
    const MeshScale *scale = sorting->scale;
    size_t first = (size_t)index * KEYS_PART, end = first + KEYS_PART;
    for (size_t i = first; i < end && i < p->count; i++) {
        if (!placed(p, i)) {
            team_add(&sorting->bad, 1);
            continue;
        }
        int x = cell_of(p->x[i], scale->space, g->cells[0]);
        int y = cell_of(p->y[i], scale->space, g->cells[1]);
        int z = cell_of(p->z[i], scale->space, g->cells[2]);
        uint32_t tile =
            (uint32_t)grid_box_index(g, x >> TILE_SHIFT, y >> TILE_SHIFT, z >> TILE_SHIFT);
        sorting->s->key[i] = tile * CELLS + (uint32_t)(((z & 7) * TILE + (y & 7)) * TILE + (x & 7));
    }
}

/// (key) => first, by_tile.
static void sort_by_tile(Sort *s, size_t count, size_t box) {
    memset(s->first, 0, (box + 1) * sizeof *s->first);
    for (size_t i = 0; i < count; i++)
        if (s->key[i] != IN_SOLID) s->first[s->key[i] / CELLS + 1]++;
    for (size_t t = 0; t < box; t++) s->first[t + 1] += s->first[t];
    for (size_t i = 0; i < count; i++)
        if (s->key[i] != IN_SOLID) s->by_tile[s->first[s->key[i] / CELLS]++] = (uint32_t)i;
    for (size_t t = box; t > 0; t--) s->first[t] = s->first[t - 1];
    s->first[0] = 0;
}

/// (first, by_tile) => key of particles of a tile that are inside solids. Returns how many are.
static size_t find_in_solids(const Sort *s, size_t box, const BrimParticles *p,
                             const SolidList *solids) {
    size_t found = 0;
    for (uint32_t first = s->first[box]; first < s->first[box + 1]; first += SOLID_CHUNK) {
        float x[3][SOLID_CHUNK], d[SOLID_CHUNK];
        int n = (int)(s->first[box + 1] - first);
        if (n > SOLID_CHUNK) n = SOLID_CHUNK;
        for (int i = 0; i < n; i++) {
            uint32_t k = s->by_tile[first + (uint32_t)i];
            x[0][i] = p->x[k], x[1][i] = p->y[k], x[2][i] = p->z[k];
        }
        solids_nearest(solids, n, x[0], x[1], x[2], d);
        for (int i = 0; i < n; i++) {
            if (!(d[i] < 0)) continue;
            s->key[s->by_tile[first + (uint32_t)i]] = IN_SOLID;
            found++;
        }
    }
    return found;
}

/// A tile of the box.
static void find_in_tile(void *context, int index, int thread) {
    Sorting *sorting = context;
    const Sort *s = sorting->s;
    const Grid *g = &sorting->b->grid;
    size_t t = (size_t)index;
    if (s->first[t] == s->first[t + 1]) return;
    size_t row = (size_t)g->tiles[0], slice = row * (size_t)g->tiles[1];
    const int tile[3] = {(int)(t % row), (int)(t % slice / row), (int)(t / slice)};
    if (!solids_near_tile(sorting->solids, sorting->scale, tile, 0)) return;
    team_add(&sorting->dropped, (int64_t)find_in_solids(s, t, sorting->p, sorting->solids));
}

/// Takes particles inside solids out of key, first, by_tile.
static void drop_in_solids(Sorting *sorting, Team *team) {
    size_t box = grid_box(&sorting->b->grid);
    if (!sorting->solids->count) return;
    team_for(team, (int)box, 16, find_in_tile, sorting);
    if (sorting->dropped) sort_by_tile(sorting->s, sorting->p->count, box);
}

/// Index among filled->grid's tiles of the one at the same place, -1 without one.
static int filled_slot(FilledCells filled, int x, int y, int z) {
    return filled.mask ? grid_slot(filled.grid, x, y, z) : -1;
}

static bool holds_water(const Grid *g, const Sort *s, FilledCells filled, int x, int y, int z) {
    int32_t t = grid_box_index(g, x, y, z);
    int slot = filled_slot(filled, x, y, z);
    if (s->first[t] != s->first[t + 1]) return true;
    for (int i = 0; i < ROWS && slot >= 0; i++)
        if (filled.mask[slot * ROWS + i]) return true;
    return false;
}

/// (first, filled) => want: tiles with water and those around them.
static void want_tiles(const Grid *g, Sort *s, FilledCells filled) {
    memset(s->want, 0, grid_box(g));
    for (int z = 0; z < g->tiles[2]; z++)
        for (int y = 0; y < g->tiles[1]; y++)
            for (int x = 0; x < g->tiles[0]; x++) {
                if (!holds_water(g, s, filled, x, y, z)) continue;
                for (int n = 0; n < 27; n++) {
                    int a = x + n % 3 - 1, b = y + n / 3 % 3 - 1, c = z + n / 9 - 1;
                    if (a >= 0 && b >= 0 && c >= 0 && a < g->tiles[0] && b < g->tiles[1] &&
                        c < g->tiles[2])
                        s->want[grid_box_index(g, a, b, c)] = 1;
                }
            }
}

/// Orders the particles of one cell by id; nearly always they are already.
static void sort_by_id(uint32_t *order, uint32_t count, const uint32_t *id) {
    for (uint32_t i = 1; i < count; i++) {
        uint32_t particle = order[i], k = i;
        for (; k > 0 && id[order[k - 1]] > id[particle]; k--) order[k] = order[k - 1];
        order[k] = particle;
    }
}

/// (by_tile, key) => start, order of one tile.
static void sort_cells(void *context, int slot, int thread) {
    const Sorting *sorting = context;
    Bins *b = sorting->b;
    const Sort *s = sorting->s;
    const uint32_t *id = sorting->p->id;
    TileCoord c = b->grid.coord[slot];
    int32_t box = grid_box_index(&b->grid, c.x, c.y, c.z);
    uint32_t first = s->first[box], end = s->first[box + 1], at[CELLS] = {0}, sum = first;
    uint32_t *start = b->start + (size_t)slot * CELLS;
    for (uint32_t i = first; i < end; i++) at[s->key[s->by_tile[i]] % CELLS]++;
    for (int k = 0; k < CELLS; k++) {
        uint32_t n = at[k];
        start[k] = at[k] = sum;
        sum += n;
    }
    for (uint32_t i = first; i < end; i++)
        b->order[at[s->key[s->by_tile[i]] % CELLS]++] = s->by_tile[i];
    for (int k = 0; k < CELLS && id; k++) sort_by_id(b->order + start[k], at[k] - start[k], id);
}

static BrimResult sort(Bins *b, Sort *s, const MeshScale *scale, const BrimParticles *p,
                       const SolidList *solids, FilledCells filled, Team *team, BrimError *error) {
    size_t box = grid_box(&b->grid);
    s->key = memory_new(p->count * sizeof *s->key);
    s->by_tile = memory_new(p->count * sizeof *s->by_tile);
    s->first = memory_new((box + 1) * sizeof *s->first);
    s->want = memory_new(box);
    s->from = memory_new(box * sizeof *s->from);
    b->order = memory_new(p->count * sizeof *b->order);
    if (!s->key || !s->by_tile || !s->first || !s->want || !s->from || !b->order)
        return no_memory(p->count, error);
    Sorting sorting = {.b = b, .s = s, .scale = scale, .p = p, .solids = solids};
    team_for(team, team_parts(p->count, KEYS_PART), 1, make_keys, &sorting);
    size_t bad = 0;
    while (sorting.bad && placed(p, bad)) bad++; // the first one
    if (sorting.bad)
        return fail(error, BRIM_ERROR_INPUT,
                    "particle %zu is at (%g, %g, %g): a surface needs finite positions", bad,
                    (double)p->x[bad], (double)p->y[bad], (double)p->z[bad]);
    sort_by_tile(s, p->count, box);
    drop_in_solids(&sorting, team);
    b->count = s->first[box];
    want_tiles(&b->grid, s, filled);
    if (!grid_rebuild(&b->grid, s->want, s->from, team)) return no_memory(p->count, error);
    size_t tiles = (size_t)b->grid.tile_count;
    b->start = memory_new((tiles * CELLS + 1) * sizeof *b->start);
    if (!b->start) return no_memory(p->count, error);
    team_for(team, b->grid.tile_count, 8, sort_cells, &sorting);
    b->start[tiles * CELLS] = (uint32_t)b->count;
    return BRIM_OK;
}

// --------------------------------------------------------------------------------------- cells

typedef struct Spreading {
    const Grid *g;
    const uint8_t *mask;
    uint8_t *out;
    int axis;
} Spreading;

/// Cells that are set or have a set neighbour along an axis.
static void spread_tile(void *context, int slot, int thread) {
    const Spreading *s = context;
    TileMask m = mask_load(s->g, s->mask, slot);
    TileMask low = mask_neighbour(s->g, s->mask, slot, s->axis, -1);
    TileMask high = mask_neighbour(s->g, s->mask, slot, s->axis, 1);
    for (int z = 0; z < TILE; z++) m.slice[z] |= low.slice[z] | high.slice[z];
    mask_store(s->g, s->out, slot, &m);
}

static void spread(const Grid *g, const uint8_t *mask, uint8_t *out, int axis, Team *team) {
    team_for(team, g->tile_count, 64, spread_tile, &(Spreading){g, mask, out, axis});
}

/// mask => cells of the 3 x 3 x 3 around each set one, in place; `spare` is as large.
static void spread_box(const Grid *g, uint8_t *mask, uint8_t *spare, Team *team) {
    spread(g, mask, spare, 0, team);
    spread(g, spare, mask, 1, team);
    spread(g, mask, spare, 2, team);
    memcpy(mask, spare, (size_t)g->tile_count * ROWS);
}

typedef struct Looking {
    const Bins *b;
    const MeshScale *scale;
    FilledCells full;
    uint8_t *empty;
} Looking;

/// (start) => occupied; `empty`: cells of the domain that are not filled.
static void look_at_counts(void *context, int slot, int thread) {
    const Looking *l = context;
    const Bins *b = l->b;
    const MeshScale *scale = l->scale;
    FilledCells full = l->full;
    const uint32_t *start = b->start + (size_t)slot * CELLS;
    TileMask occupied = {{0}}, filled = {{0}}, inside = mask_inside(&b->grid, slot);
    for (int k = 0; k < CELLS; k++) {
        uint32_t n = start[k + 1] - start[k];
        occupied.slice[k >> 6] |= (uint64_t)(n > 0) << (k & 63);
        filled.slice[k >> 6] |= (uint64_t)((float)n >= scale->dense_count) << (k & 63);
    }
    TileCoord c = b->grid.coord[slot];
    int other = filled_slot(full, c.x, c.y, c.z);
    for (int z = 0; z < TILE && other >= 0; z++) {
        uint64_t more = mask_word(full.grid, full.mask, other, z);
        occupied.slice[z] |= more, filled.slice[z] |= more;
    }
    mask_store(&b->grid, b->occupied, slot, &occupied);
    for (int z = 0; z < TILE; z++) inside.slice[z] &= ~filled.slice[z];
    mask_store(&b->grid, l->empty, slot, &inside);
}

/// (start) => occupied, deep, active.
static BrimResult tell_cells(Bins *b, const MeshScale *scale, FilledCells filled, size_t count,
                             Team *team, BrimError *error) {
    size_t rows = (size_t)b->grid.tile_count * ROWS;
    b->occupied = memory_new(rows), b->deep = memory_new(rows), b->active = memory_new(rows);
    uint8_t *spare = memory_new(rows);
    if (!b->occupied || !b->deep || !b->active || !spare) {
        free(spare);
        return no_memory(count, error);
    }
    Looking looking = {b, scale, filled, b->deep};
    team_for(team, b->grid.tile_count, 32, look_at_counts, &looking);
    spread_box(&b->grid, b->deep, spare, team);
    memcpy(b->active, b->occupied, rows);
    for (int ring = 0; (float)ring < scale->reach; ring++)
        spread_box(&b->grid, b->active, spare, team);
    for (size_t i = 0; i < rows; i++) {
        b->deep[i] = b->occupied[i] & (uint8_t)~b->deep[i];
        b->active[i] &= (uint8_t)~b->deep[i];
    }
    free(spare);
    return BRIM_OK;
}

void bins_take_out(Bins *b, const uint8_t *out) {
    size_t cells = (size_t)b->grid.tile_count * CELLS;
    uint32_t from = 0, to = 0;
    for (size_t cell = 0; cell < cells; cell++) {
        uint32_t end = b->start[cell + 1];
        for (; from < end; from++)
            if (!out[b->order[from]]) b->order[to++] = b->order[from];
        b->start[cell + 1] = to;
    }
    b->count = to;
}

BrimResult bins_make(Bins *b, const MeshScale *scale, const BrimParticles *particles,
                     const SolidList *solids, FilledCells filled, Team *team, BrimError *error) {
    *b = (Bins){0};
    BrimResult result = grid_init(&b->grid, 3, scale->cells, error);
    Sort s = {0};
    if (result == BRIM_OK) result = sort(b, &s, scale, particles, solids, filled, team, error);
    sort_free(&s);
    if (result == BRIM_OK) result = tell_cells(b, scale, filled, particles->count, team, error);
    if (result != BRIM_OK) bins_free(b);
    return result;
}
