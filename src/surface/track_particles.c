// Particles learn from the grid where the surface is now.
#include "surface/track_tiles.h"
#include <math.h>
#include <string.h>

/// Planes are distances already; cells.
static const float PLANES_KEPT = 1.1f;
/// Layers of cells with distances below those beside the surface: particles of TRACK_DEPTH ask a
/// node below them for its slope.
enum { LAYERS = 3 };
enum { EDGE = TILE + 2, WIDE_EDGE = TILE + 4 };

/// Rows of a tile with particles that are to know a normal. => near [z], bit y; returns whether any
static bool find_near(const BrimSim *s, int slot, uint8_t near[TILE]) {
    const Grid *g = &s->grid;
    const float *even = s->even + (size_t)slot * (size_t)g->tile_cells;
    const uint32_t *start = cell_starts(&s->particles, g, slot);
    bool any = false;
    memset(near, 0, TILE);
    for (int r = 0; r < g->tile_rows; r++) {
        bool here = start[r * TILE] < start[r * TILE + TILE];
        here = here && row_below(even + r * TILE, -(TRACK_DEPTH + 1)) != 0xff;
        near[r >> 3] |= (uint8_t)(here << (r & 7));
        any |= here;
    }
    return any;
}

/// Rows of nodes at z of a block of halo 1 that particles of rows near them ask.
static unsigned node_rows(const uint8_t near[TILE], int dim, int z) {
    unsigned rows = 0;
    for (int k = dim == 3 ? z - 2 : 0; k <= (dim == 3 ? z : 0); k++)
        if (k >= 0 && k < TILE) rows |= near[k];
    return rows | rows << 1 | rows << 2;
}

/// context: float, s since the last surface. (even, smooth) => (phi, normal)
static void renew_tile(BrimSim *s, int slot, int thread, void *context) {
    ThreadScratch *scratch = &s->scratch[thread];
    Span span = sim_span(s, slot, 1);
    uint8_t near[TILE];
    if (!(s->track_tile[slot] & TRACK_AROUND) || span.count == 0) return;
    const int deep = s->dim == 3 ? 1 : 0;
    const float *distance = scratch->block[0], *change = scratch->block[1];
    TrackNode *nodes = (TrackNode *)(void *)scratch->block[2];
    _Static_assert(EDGE * EDGE * EDGE * sizeof *nodes <= sizeof scratch->block[2], "room");
    if (find_near(s, slot, near)) {
        block_load(&s->grid, slot, s->even, PLACE_CELL, &s->sides, 2, TRACK_FAR, scratch->block[0]);
        block_load(&s->grid, slot, s->smooth, PLACE_CELL, &s->sides, 1, 0, scratch->block[1]);
        for (int z = 0; z < (deep ? EDGE : 1); z++)
            for (int y = 0; y < EDGE; y++)
                if (node_rows(near, s->dim, z) >> y & 1)
                    s->tracking.kernels->nodes(distance +
                                                   ((z + deep) * WIDE_EDGE + y + 1) * WIDE_EDGE + 1,
                                               change + (z * EDGE + y) * EDGE, s->dim, y, z,
                                               nodes + (z * EDGE + y) * EDGE);
    }
    const uint32_t *start = cell_starts(&s->particles, &s->grid, slot);
    s->tracking.kernels->renew(&span, start, nodes, near, *(const float *)context);
}

void track_particles(BrimSim *s, double dt) {
    float time = (float)dt;
    if (s->grid.tile_count == 0) return;
    track_beside(s, s->tracked);
    track_even(s, s->tracked, s->asked, PLANES_KEPT, LAYERS, TRACK_FAR);
    tiles_for(s, renew_tile, &time);
}
