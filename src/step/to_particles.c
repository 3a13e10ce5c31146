// Stage 12: grid -> particles, by FLIP's blend or with APIC's gradients.
#include "step/stages.h"
#include <omp.h>

void stage_to_particles(BrimSim *s) {
    bool affine = s->particles.affine;
    float ratio = affine ? 0.0f : s->def.flip_ratio;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
    for (int t = 0; t < s->grid.tile_count; t++) {
        if (s->scatter_at[t] < 0) continue;
        ThreadScratch *scratch = &s->scratch[omp_get_thread_num()];
        const float *blocks[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            float *block = scratch->block[a], *old = scratch->block[3];
            block_load(&s->grid, t, s->velocity[a], (Place)a, &s->sides, 1, 0, block);
            if (s->old[a] && ratio > 0) {
                // ratio (v + new - old) + (1 - ratio) new = ratio v + (new - ratio old)
                int n = block_edge(1) * block_edge(1) * block_depth(&s->grid, 1);
                block_load(&s->grid, t, s->old[a], (Place)a, &s->sides, 1, 0, old);
                for (int i = 0; i < n; i++) block[i] -= ratio * old[i];
            }
            blocks[a] = block;
        }
        Span span = sim_span(s, t, 1);
        s->transfer->from_block(&span, affine, ratio, blocks, 1);
    }
}
