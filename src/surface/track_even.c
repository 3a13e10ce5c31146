// Distances by |grad phi| = 1 from the cells beside the surface, on both sides of it. Only rows of
// cells that a pass can change are read and written: each pass reaches one layer of cells farther.
#include "band/band.h"
#include "surface/track_tiles.h"
#include "walls/solid_masks.h"

typedef struct Even {
    const float *field;
    const uint8_t *sure; ///< [rows] cells that may keep their distance; NULL: all
    float cut, keep;
    uint8_t *reached, *next; ///< [rows] cells that have a distance: before a pass, and after it
    int layer;               ///< of cells in solids
} Even;

/// (field) => sunk
static void find_sunk(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    const float *at = e->field + (size_t)slot * (size_t)g->tile_cells;
    uint8_t *sunk = s->sunk + (size_t)slot * (size_t)g->tile_rows;
    for (int r = 0; r < g->tile_rows; r++) sunk[r] = row_below(at + r * TILE, 0);
}

/// Cells with a face through which the surface goes; neither walls nor solids are one.
/// (sunk) => beside
static void find_beside(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask sunk = mask_load(g, s->sunk, slot), out = {{0}}, inside = mask_inside(g, slot);
    TileMask rock = rock_cells(s, slot), next[6], in_rock[6];
    bool solids = s->walls.solid_count && solid_near(s, slot);
    mask_around(g, s->sunk, slot, next);
    if (solids) mask_around(g, s->rock, slot, in_rock);
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask side = mask_side(g, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++)
            out.slice[z] |= (sunk.slice[z] ^ next[n].slice[z]) & inside.slice[z] &
                            ~(side.slice[z] | rock.slice[z] | (solids ? in_rock[n].slice[z] : 0));
    }
    mask_store(g, s->beside, slot, &out);
}

TileMask track_widened(const BrimSim *s, const uint8_t *mask, int slot) {
    const Grid *g = &s->grid;
    TileMask out = mask_load(g, mask, slot), near[6];
    mask_around(g, mask, slot, near);
    for (int n = 0; n < 2 * s->dim; n++)
        for (int z = 0; z < g->tile_depth; z++) out.slice[z] |= near[n].slice[z];
    return out;
}

/// (beside) => around
static void find_around(BrimSim *s, int slot, int thread, void *context) {
    TileMask m = track_widened(s, s->beside, slot);
    mask_store(&s->grid, s->around, slot, &m);
}

/// (field, beside, around) => kept, and in its rows even, even_next
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, rows = (size_t)slot * (size_t)g->tile_rows;
    TileMask near = track_widened(s, s->around, slot);
    float far[TILE];
    row_fill(far, BAND_FAR);
    for (int z = 0; z < g->tile_depth && e->sure; z++)
        near.slice[z] &= mask_word(g, e->sure, slot, z);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = base + (size_t)(r * TILE);
        uint8_t kept = s->beside[rows + (size_t)r], may = mask_bits(&near, r);
        if (may | kept) {
            float size[TILE];
            row_size(e->field + at, size);
            kept |= may & row_below(size, e->keep);
            // a row in which nothing is near tells no distance beside the surface either
            row_choose(may ? kept : 0, size, far, s->even + at);
            memcpy(s->even_next + at, s->even + at, sizeof far);
        }
        s->kept[rows + (size_t)r] = kept;
    }
}

void track_around(const BrimSim *s, int slot, const float *field, const uint8_t *told,
                  TrackAround *out) {
    static const uint8_t none[TILE * TILE];
    static const int step[3] = {1, 3, 9};
    const Grid *g = &s->grid;
    const int32_t *next = g->neighbour[slot] + TILE_SELF;
    const int16_t corner[3] = {g->coord[slot].x, g->coord[slot].y, g->coord[slot].z};
    for (int n = 0; n < 7; n++) {
        int a = (n - 1) / 2;
        int32_t t = n == 0 ? slot : a < s->dim ? next[n & 1 ? -step[a] : step[a]] : -1;
        out->tile[n] = t < 0 ? field : field + (size_t)t * (size_t)g->tile_cells;
        out->told[n] = t < 0 ? none : told + (size_t)t * (size_t)g->tile_rows;
    }
    for (int a = 0; a < 3; a++) {
        int last = g->cells[a] - 1 - corner[a] * TILE;
        out->first[a] = corner[a] == 0 ? 0 : -1;
        out->last[a] = (int8_t)(last < TILE ? last : TILE);
    }
}

/// One layer of cells farther: (even, reached) => even_next, next
static void pass_tile(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    TileMask reached = track_widened(s, e->reached, slot), todo = reached;
    mask_store(g, e->next, slot, &reached);
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) any |= todo.slice[z] &= ~mask_word(g, s->kept, slot, z);
    if (!any) return;
    TrackAround around;
    track_around(s, slot, s->even, e->reached, &around);
    s->tracking.kernels->farther(&around, s->dim, &todo, BAND_FAR,
                                 s->even_next + (size_t)slot * (size_t)g->tile_cells);
}

/// Sign and cut. (even, sunk) => even; kept: cells that are nearer than the cut
static void end_tile(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, rows = (size_t)slot * (size_t)g->tile_rows;
    float cut[TILE];
    row_fill(cut, e->cut);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = base + (size_t)(r * TILE);
        uint8_t sunk = s->sunk[rows + (size_t)r], near = 0;
        float *even = s->even + at, minus[TILE];
        if (e->reached[rows + (size_t)r]) near = row_below(even, e->cut);
        row_choose(near, even, cut, even);
        if (sunk) {
            for (int x = 0; x < TILE; x++) minus[x] = -even[x];
            row_choose(sunk, minus, even, even);
        }
        s->kept[rows + (size_t)r] = near;
    }
}

/// Cells in solids with a face to one outside. (rock) => next
static void find_rim(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    TileMask rim = {{0}}, next[6];
    if (solid_here(s, slot)) {
        TileMask rock = rock_cells(s, slot);
        mask_around(g, s->rock, slot, next);
        for (int n = 0; n < 2 * s->dim; n++)
            for (int z = 0; z < g->tile_depth; z++)
                rim.slice[z] |= rock.slice[z] & ~next[n].slice[z];
    }
    mask_store(g, e->next, slot, &rim);
}

/// How many cells deep in solids a cell is: 0 outside, 1 with a face to one outside, 2 beyond.
static int rock_layer(const BrimSim *s, const uint8_t *rim, int64_t cell) {
    return !band_bit(s->rock, cell) ? 0 : band_bit(rim, cell) ? 1 : 2;
}

/// Cells in solids go on with the slope of those before them, so that differences beside a solid
/// are one-sided. The first layer from cells outside, the second from the first.
static void fill_rock(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    if (!solid_here(s, slot)) return;
    TileMask todo = rock_cells(s, slot);
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t rim = mask_word(g, e->next, slot, z);
        todo.slice[z] &= mask_word(g, e->reached, slot, z) & (e->layer == 1 ? rim : ~rim);
        for (uint64_t bits = todo.slice[z]; bits; bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            int64_t here = (int64_t)slot * g->tile_cells + cell;
            float sum = 0, count = 0;
            for (int n = 0; n < 2 * s->dim; n++) {
                int way = n & 1 ? 1 : -1;
                int64_t next = grid_step(g, slot, cell, n >> 1, way);
                if (next < 0 || rock_layer(s, e->next, next) != e->layer - 1) continue;
                float d = s->even[next];
                int64_t far = grid_step(g, (int)(next / g->tile_cells), (int)(next % g->tile_cells),
                                        n >> 1, way);
                if (far >= 0 && rock_layer(s, e->next, far) == 0) d += d - s->even[far];
                sum += d, count++;
            }
            if (count == 0) continue;
            float mean = sum / count;
            s->even[here] = mean < -e->cut ? -e->cut : mean > e->cut ? e->cut : mean;
        }
    }
}

static void swap_masks(Even *e) {
    uint8_t *mask = e->reached;
    e->reached = e->next, e->next = mask;
}

void track_beside(BrimSim *s, const float *field) {
    Even e = {.field = field};
    tiles_for(s, find_sunk, &e);
    tiles_for(s, find_beside, &e);
}

void track_even(BrimSim *s, const float *field, const uint8_t *sure, float keep, int layers,
                float cut) {
    Even e = {.field = field,
              .sure = sure,
              .cut = cut,
              .keep = keep,
              .reached = s->kept,
              .next = s->beside};
    tiles_for(s, find_around, &e);
    tiles_for(s, begin_tile, &e);
    for (int pass = 0; pass < layers; pass++) {
        tiles_for(s, pass_tile, &e);
        fields_swap(s, FIELD_even, FIELD_even_next);
        swap_masks(&e);
        if (pass == 0) e.next = s->around; // kept stays
    }
    tiles_for(s, end_tile, &e);
    if (!s->walls.solid_count) return;
    // `next` is free now
    tiles_for(s, find_rim, &e);
    for (e.layer = 1; e.layer <= 2; e.layer++) tiles_for(s, fill_rock, &e);
}
