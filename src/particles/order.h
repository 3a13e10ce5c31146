// Kernels of the sort: what they do to a tile's particles is the same bits on each instruction set.
#pragma once
#include "base/simd.h"
#include <stddef.h>
#include <stdint.h>

typedef struct OrderKernels {
    /// Keys from `low` on, less than `cells` beyond it, are of the tile, the others away. Ors of
    /// the former's table[key - low] => near. => away, at most [count]: the latter, as indices of
    /// key plus `first`. Returns how many.
    uint32_t (*survey)(const uint32_t *key, uint32_t count, uint32_t first, uint32_t low,
                       uint32_t cells, const uint32_t *table, uint32_t *near, uint32_t *away);
    /// order[start[cell] + place] = index plus `first`, of the particles of the tile.
    void (*place)(const uint32_t *key, uint32_t count, uint32_t first, uint32_t low, uint32_t cells,
                  const uint32_t *start, const uint32_t *place, uint32_t *order);
    /// out[i] = in[order[i]], of one array or two. most: of the indices, at least
    void (*take)(const uint32_t *order, size_t count, size_t most, const uint32_t *const in[2],
                 uint32_t *const out[2]);
} OrderKernels;

BRIM_KERNELS(OrderKernels, order_kernels)
