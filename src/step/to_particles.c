// Stage 12: grid -> particles, by FLIP's blend or with APIC's gradients.
#include "band/band.h"
#include "bodies/immersed.h"
#include "projection/inlet.h"
#include "step/stages.h"
#include <math.h>
#include <string.h>

/// At the lower edge of a band the grid takes no velocity from particles: there they take the
/// grid's. One that solids hold would else gather what it gets in each step.
static void take_grid_velocity(BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    const Grid *g = &s->grid;
    const uint32_t *start = cell_starts(&s->particles, g, slot);
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

/// Trilinear value at a particle in a block of halo 1, of values in cells, or on their lower faces
/// along an axis.
static float value_at(const BrimSim *s, const Span *span, const float *block, Place place,
                      uint32_t i) {
    enum { EDGE = TILE + 2 };
    float f[3] = {0}, value = 0;
    int cell[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        float x = span_at(span, a, (int)i) - ((int)place == a ? 0 : 0.5f);
        x = fminf(fmaxf(x, 0), (float)EDGE - 1.001f);
        cell[a] = (int)x;
        f[a] = x - (float)cell[a];
    }
    const float *at = block + (cell[2] * EDGE + cell[1]) * EDGE + cell[0];
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < s->dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        value += w * at[((n >> 2) * EDGE + (n >> 1 & 1)) * EDGE + (n & 1)];
    }
    return value;
}

/// Part of FLIP in a particle's velocity: 1 down to band.flip, 0 a cell below; the depth is
/// trilinear between cells, as velocities are. phi: a block of halo 1
static float flip_part(const BrimSim *s, const Span *span, const float *phi, uint32_t i) {
    float depth = value_at(s, span, phi, PLACE_CELL, i);
    return fminf(fmaxf((float)s->def.band_flip + 1 + depth, 0), 1);
}

/// Some particles' velocities become the grid's. => flip: what they were
static void take_grid(const BrimSim *s, const Span *part, const float *const blocks[3],
                      float *const flip[3]) {
    for (int a = 0; a < s->dim; a++)
        memcpy(flip[a], part->attr[ATTR_VX + a], (size_t)part->count * sizeof(float));
    s->transfer->from_block(part, false, 0, blocks, 1);
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
static void calm_below_flip(BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    const Grid *g = &s->grid;
    const uint32_t *start = cell_starts(&s->particles, g, slot);
    const float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells, *blocks[3] = {0};
    float *flip[3] = {scratch->block[3], scratch->block[4], scratch->block[5]};
    float above = 1 - (float)s->def.band_flip; // from there on no particle of a cell is below it
    if (!(s->deepest[slot] < above)) return;
    for (int a = 0; a < s->dim; a++) {
        block_load_rows(g, slot, s->velocity[a], (Place)a, &s->sides, 0, s->scatter_rows[slot].rows,
                        scratch->block[a]);
        blocks[a] = scratch->block[a];
    }
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

/// Lower faces along an axis that sources hold, 1, and others, 0, in a block of halo 1. False:
/// there are none.
static bool load_held(const BrimSim *s, int slot, int axis, float *block) {
    const int deep = s->dim == 3, cells = s->grid.tile_cells;
    bool any = false;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                int64_t at = grid_near(&s->grid, slot, x, y, z);
                const InletTile *inlet = at < 0 ? NULL : inlet_at(s, (int)(at / cells));
                bool held = inlet && mask_has(&inlet->held[2 * axis], (int)(at % cells));
                *block++ = held, any |= held;
            }
    return any;
}

/// As far as a particle reads from faces that a source holds it takes their velocity: what they
/// differ by from the particles around is the source's doing and comes anew in each step, so that
/// FLIP would add it up, in particles that stay beside the source to several times its speed.
static void take_held_velocity(BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    float *flip[3] = {scratch->block[3], scratch->block[4], scratch->block[5]};
    float *held = scratch->block[6];
    const float *blocks[3] = {0};
    bool near = false;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        near |= t >= 0 && inlet_at(s, t);
    }
    if (!near) return;
    for (int a = 0; a < s->dim; a++) {
        block_load_rows(&s->grid, slot, s->velocity[a], (Place)a, &s->sides, 0,
                        s->scatter_rows[slot].rows, scratch->block[a]);
        blocks[a] = scratch->block[a];
    }
    for (uint32_t done = 0, n; done < (uint32_t)span->count; done += n) {
        n = (uint32_t)span->count - done < BLOCK_MAX ? (uint32_t)span->count - done : BLOCK_MAX;
        Span part = span_part(span, done, n);
        take_grid(s, &part, blocks, flip);
        for (int a = 0; a < s->dim; a++) {
            bool any = load_held(s, slot, a, held);
            for (uint32_t i = 0; i < n; i++) {
                float share = any ? value_at(s, &part, held, (Place)a, i) : 0;
                float *v = &part.attr[ATTR_VX + a][i];
                *v = share > 0 ? *v + (1 - share) * (flip[a][i] - *v) : flip[a][i];
            }
        }
    }
}

static void gather_tile(BrimSim *s, int slot, int thread) {
    if (s->scatter_at[slot] < 0) return;
    bool affine = particles_carry(&s->particles, ROW_AFFINE);
    // FLIP: ratio (v + new - old) + (1 - ratio) new = ratio v + (new - ratio old); the bracket is
    // what extrapolate left in `old`.
    float ratio = affine ? 0.0f : s->def.flip_ratio;
    float *const *field = affine ? s->velocity : s->old;
    ThreadScratch *scratch = &s->scratch[thread];
    const float *blocks[3] = {0};
    for (int a = 0; a < s->dim; a++) block_ahead(&s->grid, slot, field[a]);
    for (int a = 0; a < s->dim; a++) {
        // a particle reads from the faces that it wrote to
        block_load_rows(&s->grid, slot, field[a], (Place)a, &s->sides, 0,
                        s->scatter_rows[slot].rows, scratch->block[a]);
        blocks[a] = scratch->block[a];
    }
    Span span = sim_span(s, slot, 1);
    s->transfer->from_block(&span, affine, ratio, blocks, 1);
    if (s->def.band_flip && !affine) calm_below_flip(s, slot, &span, scratch);
    if (has_band(s) && !affine) take_grid_velocity(s, slot, &span, scratch);
    if (pressure_acts(s) && !affine) take_held_velocity(s, slot, &span, scratch);
}

/// Measure sums over the particles, which are at hand here; not where bodies change them after
/// this.
static void finish_tile(BrimSim *s, int slot, int thread, void *context) {
    gather_tile(s, slot, thread);
    if (!bodies_immersed(s)) measure_particles(s, slot);
}

BrimResult stage_to_particles(BrimSim *s, BrimError *error) {
    (void)error;
    tiles_for(s, finish_tile, NULL);
    return BRIM_OK;
}
