// Stage 12: grid -> particles, by FLIP's blend or with APIC's gradients.
#include "band/band.h"
#include "step/tiles.h"

/// At the lower edge of a band the grid takes no velocity from particles: there they take the
/// grid's. One that solids hold would else gather what it gets in each step.
static void take_grid_velocity(BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    const Grid *g = &s->grid;
    const uint32_t *start = s->particles.cell_start + (size_t)slot * (size_t)g->tile_cells;
    const float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells, *blocks[3] = {0};
    float edge = -band_inner(s) - 0.5f; // all of the cell's faces lie deeper than r
    if (!(s->deepest[slot] < edge)) return;
    for (int a = 0; a < s->dim; a++) {
        block_load_rows(g, slot, s->velocity[a], (Place)a, &s->sides, 0, s->scatter_rows[slot].rows,
                        scratch->block[a]);
        blocks[a] = scratch->block[a];
    }
    for (int first = 0, end; first < g->tile_cells; first = end + 1) {
        for (end = first; end < g->tile_cells && phi[end] < edge; end++) {
        }
        Span part = span_part(span, start[first] - start[0], start[end] - start[first]);
        if (part.count > 0) s->transfer->from_block(&part, false, 0, blocks, 1);
    }
}

static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    bool affine = particles_carry(&s->particles, ROW_AFFINE);
    // FLIP: ratio (v + new - old) + (1 - ratio) new = ratio v + (new - ratio old); the bracket is
    // what extrapolate left in `old`.
    float ratio = affine ? 0.0f : s->def.flip_ratio;
    float *const *field = affine ? s->velocity : s->old;
    ThreadScratch *scratch = &s->scratch[thread];
    const float *blocks[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        // a particle reads from the faces that it wrote to
        block_load_rows(&s->grid, slot, field[a], (Place)a, &s->sides, 0,
                        s->scatter_rows[slot].rows, scratch->block[a]);
        blocks[a] = scratch->block[a];
    }
    Span span = sim_span(s, slot, 1);
    s->transfer->from_block(&span, affine, ratio, blocks, 1);
    if (s->band && !affine) take_grid_velocity(s, slot, &span, scratch);
}

BrimResult stage_to_particles(BrimSim *s, BrimError *error) {
    (void)error;
    tiles_for(s, gather_tile, NULL);
    return BRIM_OK;
}
