// Distances by |grad phi| = 1 from the cells beside the surface, on both sides of it.
#include "band/band.h"
#include "surface/track_tiles.h"
#include "walls/solid_masks.h"
#include <math.h>

typedef struct Even {
    const float *field;
    const BandKernels *kernels;
    float cut, keep;
    int layer; ///< of cells in solids
} Even;

/// (field) => sunk
static void find_sunk(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    const float *at = e->field + (size_t)slot * (size_t)g->tile_cells;
    for (int r = 0; r < g->tile_rows; r++) {
        unsigned bits = 0;
        for (int x = 0; x < TILE; x++) bits |= (unsigned)(at[r * TILE + x] < 0) << x;
        s->sunk[(size_t)slot * (size_t)g->tile_rows + (size_t)r] = (uint8_t)bits;
    }
}

/// Cells with a face through which the surface goes; neither walls nor solids are one.
/// (sunk) => beside
static void find_beside(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask sunk = mask_load(g, s->sunk, slot), out = {{0}}, inside = mask_inside(g, slot);
    TileMask rock = rock_cells(s, slot);
    bool solids = s->solid_count && solid_near(s, slot);
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask next = mask_neighbour(g, s->sunk, slot, n >> 1, n & 1 ? 1 : -1);
        TileMask side = mask_side(g, slot, n >> 1, n & 1 ? 1 : -1), in_rock = {{0}};
        if (solids) in_rock = mask_neighbour(g, s->rock, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++)
            out.slice[z] |= (sunk.slice[z] ^ next.slice[z]) & inside.slice[z] &
                            ~(side.slice[z] | rock.slice[z] | in_rock.slice[z]);
    }
    mask_store(g, s->beside, slot, &out);
}

/// A mask and the cells with a face to one of it.
static TileMask widened(const BrimSim *s, const uint8_t *mask, int slot) {
    const Grid *g = &s->grid;
    TileMask out = mask_load(g, mask, slot);
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask next = mask_neighbour(g, mask, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++) out.slice[z] |= next.slice[z];
    }
    return out;
}

/// (beside) => around
static void find_around(BrimSim *s, int slot, int thread, void *context) {
    TileMask m = widened(s, s->beside, slot);
    mask_store(&s->grid, s->around, slot, &m);
}

/// (field, beside, around) => kept, even
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, rows = (size_t)slot * (size_t)g->tile_rows;
    TileMask near = widened(s, s->around, slot);
    for (int r = 0; r < g->tile_rows; r++) {
        unsigned kept = s->beside[rows + (size_t)r];
        for (int x = 0; x < TILE; x++) {
            float d = fabsf(e->field[base + (size_t)(r * TILE + x)]);
            kept |= (unsigned)((mask_bits(&near, r) >> x & 1) && d < e->keep) << x;
            s->even[base + (size_t)(r * TILE + x)] = kept >> x & 1 ? d : BAND_FAR;
        }
        s->kept[rows + (size_t)r] = (uint8_t)kept;
    }
}

/// One layer of cells farther: (even) => even_next
static void pass_tile(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    float *block = s->scratch[thread].block[0];
    float *out = s->even_next + (size_t)slot * (size_t)g->tile_cells;
    if (!(s->track_tile[slot] & TRACK_AROUND)) {
        for (int i = 0; i < g->tile_cells; i++) out[i] = BAND_FAR;
        return;
    }
    block_load(g, slot, s->even, PLACE_CELL, &s->sides, 1, BAND_FAR, block);
    e->kernels->deepen(block, s->dim, s->kept + (size_t)slot * (size_t)g->tile_rows, out);
}

/// Sign and cut. (even, sunk) => even
static void end_tile(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, rows = (size_t)slot * (size_t)g->tile_rows;
    for (int i = 0; i < g->tile_cells; i++) {
        float d = fminf(s->even[base + (size_t)i], e->cut);
        s->even[base + (size_t)i] = s->sunk[rows + (size_t)(i >> 3)] >> (i & 7) & 1 ? -d : d;
    }
}

/// How many cells deep in solids a cell is: 0 outside, 1 with a face to one outside, 2 beyond.
static int rock_layer(const BrimSim *s, int64_t cell) {
    const Grid *g = &s->grid;
    int slot = (int)(cell / g->tile_cells), at = (int)(cell % g->tile_cells);
    if (!band_bit(s->rock, cell)) return 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t next = grid_step(g, slot, at, n >> 1, n & 1 ? 1 : -1);
        if (next >= 0 && !band_bit(s->rock, next)) return 1;
    }
    return 2;
}

/// Cells in solids go on with the slope of those before them, so that differences beside a solid
/// are one-sided. The first layer from cells outside, the second from the first.
static void fill_rock(BrimSim *s, int slot, int thread, void *context) {
    const Even *e = context;
    const Grid *g = &s->grid;
    if (!solid_here(s, slot)) return;
    TileMask rock = rock_cells(s, slot);
    for (int cell = 0; cell < g->tile_cells; cell++) {
        int64_t here = (int64_t)slot * g->tile_cells + cell;
        float sum = 0, count = 0;
        if (!mask_has(&rock, cell) || rock_layer(s, here) != e->layer) continue;
        for (int n = 0; n < 2 * s->dim; n++) {
            int way = n & 1 ? 1 : -1;
            int64_t next = grid_step(g, slot, cell, n >> 1, way);
            if (next < 0 || rock_layer(s, next) != e->layer - 1) continue;
            float d = s->even[next];
            int64_t far =
                grid_step(g, (int)(next / g->tile_cells), (int)(next % g->tile_cells), n >> 1, way);
            if (far >= 0 && rock_layer(s, far) == 0) d += d - s->even[far];
            sum += d, count++;
        }
        if (count > 0) s->even[here] = fminf(fmaxf(sum / count, -e->cut), e->cut);
    }
}

void track_even(BrimSim *s, const float *field, float keep, int cells) {
    Even e = {
        .field = field, .kernels = band_kernels_for(s->isa), .cut = (float)cells, .keep = keep};
    tiles_for(s, find_sunk, &e);
    tiles_for(s, find_beside, &e);
    tiles_for(s, find_around, &e);
    tiles_for(s, begin_tile, &e);
    for (int pass = 0; pass < cells + 1; pass++) {
        tiles_for(s, pass_tile, &e);
        fields_swap(s, FIELD_even, FIELD_even_next);
    }
    tiles_for(s, end_tile, &e);
    for (e.layer = 1; e.layer <= 2 && s->solid_count; e.layer++) tiles_for(s, fill_rock, &e);
}
