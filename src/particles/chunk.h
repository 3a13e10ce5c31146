// Particles are taken in chunks through small arrays padded to whole vectors; for .simd.c files.
#pragma once
#include "base/wide.h"
#include "particles/transfer.h"

enum { CHUNK = 64 };

/// Positions of a chunk in coordinates of a block with this edge, less `off` cells.
static inline void chunk_positions(const Span *p, int first, int n, int edge, const float off,
                                   float at[3][CHUNK], const int dim) {
    // The difference to a corner below 0 may round up to the tile's far side, from where the next
    // value of a block would be beyond it.
    const float high = (float)(edge - 1) * (1 - 0x1p-24f);
    for (int a = 0; a < dim; a++) {
        const float *restrict in = p->attr[ATTR_X + a] + first;
        float *restrict out = at[a], corner = p->corner[a] + off;
        const Space space = p->space;
        for (int i = 0; i < n; i++) {
            float x = space_to_grid(space, in[i]) - corner;
            out[i] = x < high ? x : high;
        }
        for (int i = n; i % WIDE; i++) out[i] = out[0];
    }
}

/// The same of a register of particles along an axis; lanes that hold none are like the first.
static inline wide wide_position(const Span *p, int first, wide_int valid, int axis, int edge) {
    const float *from = p->attr[ATTR_X + axis] + first, high = (float)(edge - 1) * (1 - 0x1p-24f);
    const wide x = wide_select(valid, wide_load_some(from, valid), wide_all(from[0]));
    return wide_min(x * p->space.inv_dx - p->corner[axis], wide_all(high));
}
