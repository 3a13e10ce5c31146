// Band, stage 12: particles in its inner layers take the velocity of the grid, wholly or in part.
#include "band/band.h"
#include "step/to_particles.h"
#include <math.h>
#include <string.h>

/// At the lower edge of a band the grid takes no velocity from particles: there they take the
/// grid's. One that solids hold would else gather what it gets in each step.
static void take_grid_below(const BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    const Grid *g = &s->grid;
    const uint32_t *start = cell_starts(&s->particles, g, slot);
    const float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells, *blocks[3] = {0};
    float edge = -band_inner(s) - 0.5f; // all of the cell's faces lie deeper than r
    if (!(s->deepest[slot] < edge)) return;
    read_blocks(s, slot, s->velocity, scratch, blocks);
    for (int first = 0, end; first < g->tile_cells; first = end + 1) {
        for (end = first; end < g->tile_cells && phi[end] < edge; end++) {
        }
        Span part = span_part(span, start[first] - start[0], start[end] - start[first]);
        if (part.count > 0) s->transfer->from_block(&part, false, 0, blocks, 1);
    }
}

/// Part of FLIP in a particle's velocity: 1 down to band.flip, 0 a cell below; the depth is
/// trilinear between cells, as velocities are. phi: a block of halo 1
static float flip_part(const BrimSim *s, const Span *span, const float *phi, uint32_t i) {
    float depth = span_value(s, span, phi, PLACE_CELL, i);
    return fminf(fmaxf((float)s->def.band_flip + 1 + depth, 0), 1);
}

/// Blends some particles' velocities with those of the grid. (v by FLIP) => v
static void blend_part(const BrimSim *s, const Span *part, const float *const blocks[3],
                       const float *phi, float *const flip[3]) {
    take_grid(s, part, blocks, flip);
    for (int i = 0; i < part->count; i++) {
        float share = flip_part(s, part, phi, (uint32_t)i);
        for (int a = 0; a < s->dim; a++) {
            float *v = &part->attr[ATTR_VX + a][i];
            *v += share * (flip[a][i] - *v);
        }
    }
}

/// The inner layer of a band with two (algorithm 2 of Lim, Kim and Hong 2015): below band.flip
/// cells particles have the accuracy of PIC. Blended from both, a uniform flow stays as it is.
static void calm_below_flip(const BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    const Grid *g = &s->grid;
    const uint32_t *start = cell_starts(&s->particles, g, slot);
    const float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells, *blocks[3] = {0};
    float *flip[3] = {scratch->block[3], scratch->block[4], scratch->block[5]};
    float above = 1 - (float)s->def.band_flip; // from there on no particle of a cell is below it
    if (!(s->deepest[slot] < above)) return;
    read_blocks(s, slot, s->velocity, scratch, blocks);
    block_load(g, slot, s->phi, PLACE_CELL, &s->sides, 1, LEVEL_SET_CUT, scratch->block[6]);
    for (int first = 0, end; first < g->tile_cells; first = end + 1) {
        for (end = first; end < g->tile_cells && phi[end] < above; end++) {
        }
        uint32_t at = start[first] - start[0], count = start[end] - start[first];
        for (uint32_t done = 0; done < count; done += BLOCK_MAX) {
            uint32_t n = count - done < BLOCK_MAX ? count - done : BLOCK_MAX;
            Span part = span_part(span, at + done, n);
            blend_part(s, &part, blocks, scratch->block[6], flip);
        }
    }
}

void band_calm(const BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    if (s->def.band_flip) calm_below_flip(s, slot, span, scratch);
    take_grid_below(s, slot, span, scratch);
}
