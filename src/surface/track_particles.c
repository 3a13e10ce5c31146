// Particles learn from the grid where the surface is now.
#include "surface/track_tiles.h"
#include <math.h>
#include <string.h>

/// Cells as far as which the surface is made a distance for particles.
enum { PARTICLE_REACH = 4 };
/// Planes are distances already; cells.
static const float PLANES_KEPT = 1.5f;
enum { EDGE = TILE + 2, WIDE_EDGE = TILE + 4 };

/// Central differences of a block of halo 2 => gradient [3], blocks of halo 1.
static void differences(const float *block, int dim, float *gradient[3]) {
    int step[3] = {1, WIDE_EDGE, WIDE_EDGE * WIDE_EDGE};
    for (int z = 0; z < (dim == 3 ? EDGE : 1); z++)
        for (int y = 0; y < EDGE; y++) {
            const float *at = block + ((dim == 3 ? z + 1 : 0) * WIDE_EDGE + y + 1) * WIDE_EDGE + 1;
            size_t row = (size_t)((z * EDGE + y) * EDGE);
            for (int a = 0; a < dim; a++)
                for (int x = 0; x < EDGE; x++)
                    gradient[a][row + (size_t)x] = 0.5f * (at[x + step[a]] - at[x - step[a]]);
        }
}

/// (even, smooth) => (phi, normal)
static void renew_tile(BrimSim *s, int slot, int thread, void *context) {
    ThreadScratch *scratch = &s->scratch[thread];
    Span span = sim_span(s, slot, 1);
    if (!(s->track_tile[slot] & TRACK_AROUND) || span.count == 0) return;
    float *gradient[3] = {scratch->block[3], scratch->block[4], scratch->block[5]};
    block_load(&s->grid, slot, s->even, PLACE_CELL, &s->sides, 2, PARTICLE_REACH,
               scratch->block[0]);
    block_load(&s->grid, slot, s->even, PLACE_CELL, &s->sides, 1, PARTICLE_REACH,
               scratch->block[1]);
    block_load(&s->grid, slot, s->smooth, PLACE_CELL, &s->sides, 1, 0, scratch->block[2]);
    differences(scratch->block[0], s->dim, gradient);
    s->track->renew(&span, &(TrackBlocks){scratch->block[1],
                                          scratch->block[2],
                                          {gradient[0], gradient[1], gradient[2]}});
}

void track_particles(BrimSim *s) {
    if (s->grid.tile_count == 0) return;
    track_even(s, s->tracked, PLANES_KEPT, PARTICLE_REACH);
    tiles_for(s, renew_tile, NULL);
}
