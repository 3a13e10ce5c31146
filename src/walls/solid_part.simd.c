#include "walls/solid_part.h"
#include "grid/grid.h"
#include <string.h>

enum { N = PART_NODES, CELLS = N - 1, HALF = 2 * CELLS };

/// Values at the centres of the octants between planes of nodes, `width` numbers each.
static inline void to_octants(const float *node, const int width, float *out) {
    for (int c = 0; c < CELLS; c++)
        for (int i = 0; i < width; i++) {
            float a = node[c * width + i], b = node[(c + 1) * width + i];
            out[2 * c * width + i] = 0.75f * a + 0.25f * b;
            out[(2 * c + 1) * width + i] = 0.25f * a + 0.75f * b;
        }
}

/// nodes [z][y][x] => octants [z][y][x]
static void spread(const float *node, int depth, float *out) {
    float rows[N * N * HALF], slices[N * HALF * HALF];
    for (int r = 0; r < depth * N; r++) to_octants(node + r * N, 1, rows + r * HALF);
    float *to = depth == 1 ? out : slices;
    for (int z = 0; z < depth; z++) to_octants(rows + z * N * HALF, HALF, to + z * HALF * HALF);
    if (depth > 1) to_octants(slices, HALF * HALF, out);
}

/// Sums the four planes of octants that a cell's kernel covers, for the tile's eight layers.
static inline void to_cells(const float *octant, const int width, const float share[4],
                            float *out) {
    for (int c = 0; c < TILE; c++)
        for (int i = 0; i < width; i++) {
            float sum = 0;
            for (int k = 0; k < 4; k++) sum += share[k] * octant[(2 * c + 1 + k) * width + i];
            out[c * width + i] = sum;
        }
}

/// octants [z][y][x] => cells [z][y][x]
static void gather(const float *octant, int depth, const float share[4], float *out) {
    float rows[HALF * HALF * TILE], slices[HALF * TILE * TILE];
    for (int r = 0; r < depth * HALF; r++) to_cells(octant + r * HALF, 1, share, rows + r * TILE);
    for (int z = 0; z < depth; z++)
        to_cells(rows + z * HALF * TILE, TILE, share, slices + z * TILE * TILE);
    if (depth == 1)
        memcpy(out, slices, TILE * TILE * sizeof *out);
    else
        to_cells(slices, TILE * TILE, share, out);
}

/// Distances at octants' centres, cells; side: as below. => kernel, volume
static void fill(int dim, float *octant, float side, float *kernel, float *volume) {
    const float of_kernel[4] = {side, 0.5f - side, 0.5f - side, side};
    static const float of_cell[4] = {0, 0.5f, 0.5f, 0};
    int depth = dim == 2 ? 1 : HALF;
    for (int i = 0; i < depth * HALF * HALF; i++) {
        float f = 0.5f - 2 * octant[i];
        f = f > 0 ? f : 0;
        octant[i] = f < 1 ? f : 1;
    }
    if (kernel) gather(octant, depth, of_kernel, kernel);
    gather(octant, depth, of_cell, volume);
}

static void of_nodes(int dim, const float *node, float side, float *kernel, float *volume) {
    float octant[HALF * HALF * HALF];
    spread(node, dim == 2 ? 1 : N, octant);
    fill(dim, octant, side, kernel, volume);
}

static void of_halves(int dim, const float *half, float side, float *kernel, float *volume) {
    enum { EDGE = HALF + 1 };
    float octant[HALF * HALF * HALF];
    for (int i = 0; i < (dim == 2 ? 1 : HALF) * HALF * HALF; i++) {
        const float *low = half + (i / (HALF * HALF) * EDGE + i / HALF % HALF) * EDGE + i % HALF;
        float sum = low[0] + low[1] + low[EDGE] + low[EDGE + 1];
        low += EDGE * EDGE;
        octant[i] =
            dim == 2 ? 0.25f * sum : 0.125f * (sum + low[0] + low[1] + low[EDGE] + low[EDGE + 1]);
    }
    fill(dim, octant, side, kernel, volume);
}

const SolidPartKernels ISA(solid_part_kernels) = {of_nodes, of_halves};
