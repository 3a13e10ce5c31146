// Band, stage 6: how hidden liquid enters the density projection.
//
// Cells below the band are full: their density is that at rest, and they give to the
// kernels of the cells beside them what evenly sampled liquid would (kernel_side). So a band at
// rest sees no edge.
//
// But for the surroundings of sources, hidden cells are rigid: too much liquid lifts the surface
// where it is. What a source deep in the liquid pushes into them is swallowed, and flows on from
// there by the pressure.
#include "band/band.h"
#include "grid/mask.h"
#include "walls/solid_masks.h"
#include <string.h>

void band_full(BrimSim *s) {
    for (size_t r = 0; r < sim_rows(s); r++) s->full[r] = s->particles.occupied[r] | s->interior[r];
}

/// No particle comes into a cell whose centre lies in a solid with hidden liquid beside it. Taken
/// for a part of the band, such cells would be a thread of water along the solid down to its foot,
/// whose errors the band had to swallow.
TileMask band_below_cells(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    TileMask below = mask_load(g, s->hidden, slot);
    if (solid_here(s, slot)) {
        TileMask near[6], rock = rock_cells(s, slot);
        mask_around(g, s->hidden, slot, near);
        for (int z = 0; z < g->tile_depth; z++) {
            uint64_t beside = 0;
            for (int n = 0; n < 2 * s->dim; n++) beside |= near[n].slice[z];
            below.slice[z] |=
                beside & rock.slice[z] & ~mask_word(g, s->particles.occupied, slot, z);
        }
    }
    return below;
}

static void below_tile(BrimSim *s, int slot, int thread, void *context) {
    TileMask below = band_below_cells(s, slot), none = {{0}};
    mask_store(&s->grid, s->below, slot, &below);
    mask_store(&s->grid, s->rigid, slot, band_source_near(s, slot) ? &none : &below);
}

void band_below(BrimSim *s) {
    tiles_for(s, below_tile, NULL);
}

double band_hidden_particles(const BrimSim *s) {
    double sum = 0;
    for (int t = 0; t < s->grid.tile_count; t++)
        for (int i = 0; i < s->grid.tile_cells; i++) sum += band_part(s, t, i);
    return sum * s->def.particles_per_cell;
}

/// At the stage at work.
static float *parts_of(const BrimSim *s) {
    return s->stage == AT_WEIGH ? s->hidden_part : s->hidden_part_after;
}

static void part_tile(BrimSim *s, int slot, int thread, void *context) {
    float *part = parts_of(s) + (size_t)slot * (size_t)s->grid.tile_cells;
    bool any = mask_any(&s->grid, s->hidden, slot), plain = !any;
    if (any && !solid_here(s, slot)) plain = mask_full(&s->grid, s->hidden, slot);
    for (int i = 0; i < s->grid.tile_cells && plain; i++) part[i] = any ? 1 : 0;
    for (int i = 0; i < s->grid.tile_cells && !plain; i++) part[i] = band_part(s, slot, i);
}

void band_weigh_begin(BrimSim *s) {
    tiles_for(s, part_tile, NULL);
}

bool band_all_hidden(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        if (s->dim == 2 && n / 9 != 1) continue;
        if (t < 0 || solid_here(s, t) || !mask_full(g, s->hidden, t)) return false;
    }
    return true;
}

void band_weigh(const BrimSim *s, int slot, float *density) {
    enum { EDGE = TILE + 2 };
    const Grid *g = &s->grid;
    if (!band_any_near(s, s->hidden, slot)) return;
    float block[EDGE * EDGE * EDGE], along_x[EDGE * EDGE * TILE], along_y[EDGE * TILE * TILE];
    const float side = kernel_side(s), own = 1 - 2 * side;
    int depth = s->dim == 3 ? EDGE : 1;
    block_load(g, slot, parts_of(s), PLACE_CELL, &s->sides, 1, 0, block);
    for (int r = 0; r < depth * EDGE; r++)
        for (int x = 0; x < TILE; x++) {
            const float *at = block + r * EDGE + x;
            along_x[r * TILE + x] = own * at[1] + side * (at[0] + at[2]);
        }
    for (int z = 0; z < depth; z++)
        for (int i = 0; i < TILE * TILE; i++) {
            const float *at = along_x + z * EDGE * TILE + i;
            along_y[z * TILE * TILE + i] = own * at[TILE] + side * (at[0] + at[2 * TILE]);
        }
    for (int i = 0; i < g->tile_cells; i++) {
        const float *at = along_y + i;
        float weight =
            s->dim == 2 ? at[0] : own * at[TILE * TILE] + side * (at[0] + at[2 * TILE * TILE]);
        density[i] += weight;
    }
}
