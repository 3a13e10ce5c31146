// Stage 12: grid -> particles, by FLIP's blend or with APIC's gradients.
#include "step/stages.h"
#include <omp.h>

void stage_to_particles(BrimSim *s) {
    bool affine = s->particles.affine;
    // FLIP: ratio (v + new - old) + (1 - ratio) new = ratio v + (new - ratio old); the bracket is
    // what extrapolate left in `old`.
    float ratio = affine ? 0.0f : s->def.flip_ratio;
    float *const *field = affine ? s->velocity : s->old;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
    for (int t = 0; t < s->grid.tile_count; t++) {
        if (s->scatter_at[t] < 0) continue;
        ThreadScratch *scratch = &s->scratch[omp_get_thread_num()];
        const float *blocks[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            // a particle reads from the faces that it wrote to
            block_load_rows(&s->grid, t, field[a], (Place)a, &s->sides, 0, s->scatter_rows[t].rows,
                            scratch->block[a]);
            blocks[a] = scratch->block[a];
        }
        Span span = sim_span(s, t, 1);
        s->transfer->from_block(&span, affine, ratio, blocks, 1);
    }
}
