// Stage 12: grid -> particles, by FLIP's blend or with APIC's gradients.
#include "step/to_particles.h"
#include "band/band.h"
#include "bodies/immersed.h"
#include "projection/inlet.h"
#include "step/stages.h"
#include <math.h>
#include <string.h>

void read_blocks(const BrimSim *s, int slot, float *const field[3], ThreadScratch *scratch,
                 const float *blocks[3]) {
    for (int a = 0; a < s->dim; a++) {
        // a particle reads from the faces that it wrote to
        block_load_rows(&s->grid, slot, field[a], (Place)a, &s->sides, 0,
                        s->scatter_rows[slot].rows, scratch->block[a]);
        blocks[a] = scratch->block[a];
    }
}

float span_value(const BrimSim *s, const Span *span, const float *block, Place place, uint32_t i) {
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

void take_grid(const BrimSim *s, const Span *part, const float *const blocks[3],
               float *const was[3]) {
    for (int a = 0; a < s->dim; a++)
        memcpy(was[a], part->attr[ATTR_VX + a], (size_t)part->count * sizeof(float));
    s->transfer->from_block(part, false, 0, blocks, 1);
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
    read_blocks(s, slot, field, scratch, blocks);
    Span span = sim_span(s, slot, 1);
    s->transfer->from_block(&span, affine, ratio, blocks, 1);
    if (has_band(s) && !affine) band_calm(s, slot, &span, scratch);
    if (pressure_acts(s) && !affine) inlet_take(s, slot, &span, scratch);
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
