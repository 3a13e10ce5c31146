// Sums of particles on the grid: the particles of each tile go into a block of the tile and as many
// cells around it as they reach, then each tile sums the blocks that reach into it, in fixed order.
// So no two threads write to one place and the sums are the same for any number of them.
//
// How far a block reaches beyond its tile, its halo, is the caller's choice: 1 for trilinear
// weights, 2 for cubic splines. It is told to sim_span (where the block begins), to scatter_sum,
// and to block_load for the way back; up to TILE cells the blocks around a tile are all that reach
// it.
#pragma once
#include "step/tiles.h"

/// What goes to the grid: `fill` writes the block of a tile with particles, `take` sums those
/// around a tile.
typedef struct Scatter {
    size_t floats; ///< of a block
    TileTask *fill, *take;
    void *context; ///< of both
} Scatter;

/// Blocks of a wave that keep so many threads busy.
static inline size_t scatter_wave(int threads) {
    enum { BLOCKS_A_THREAD = 16 };
    return threads > 1 ? BLOCKS_A_THREAD * (size_t)threads : 0;
}

/// Numbers the tiles with particles, => scatter_at, and runs both for all tiles. Blocks are in
/// `work`, and only as many at a time as memory that is there holds: layer by layer of tiles if it
/// must be. False when out of memory.
bool scatter_run(BrimSim *s, const Scatter *scatter);

/// The rows of a tile's block with a halo of 1 that its sorted particles reach: one cell around
/// them.
ScatterRows scatter_reach(const BrimSim *s, int slot);

/// The block of a tile with particles.
static inline float *scatter_block(const BrimSim *s, int slot, size_t floats) {
    return s->work.at + (size_t)s->scatter_at[slot] * floats;
}

/// Adds what blocks [z][y][x] with a halo hold in the cells of a tile, `first` floats from their
/// beginning. => sums [cells]
static inline __attribute__((always_inline)) void
scatter_sum(const BrimSim *s, int slot, size_t floats, size_t first, const int halo, float *sums) {
    const Grid *g = &s->grid;
    const int edge = TILE + 2 * halo;
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        if (t < 0 || s->scatter_at[t] < 0) continue;
        const int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        int low[3], high[3]; // of the tile's rows
        for (int a = 1; a < 3; a++) {
            low[a] = d[a] > 0 ? TILE - halo : 0;
            high[a] = d[a] < 0 ? halo : TILE;
        }
        if (g->dim == 2) low[2] = 0, high[2] = 1;
        const int z0 = g->dim == 3 ? halo - TILE * d[2] : 0;
        const float *block = scatter_block(s, t, floats) + first;
        for (int z = low[2]; z < high[2]; z++)
            for (int y = low[1]; y < high[1]; y++) {
                const float *in = block + ((z + z0) * edge + y + halo - TILE * d[1]) * edge + halo;
                float *out = sums + (z * TILE + y) * TILE;
                for (int x = 0; x < TILE && d[0] == 0; x++) out[x] += in[x];
                for (int x = 0; x < halo && d[0] < 0; x++) out[x] += in[x + TILE];
                for (int x = TILE - halo; x < TILE && d[0] > 0; x++) out[x] += in[x - TILE];
            }
    }
}
