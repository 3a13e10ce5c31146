#include "walls/cell_parts.h"

uint32_t outside_of(int dim, const float *low, int edge) {
    uint32_t outside = 0;
    for (int i = 0; i < (dim == 3 ? 27 : 9); i++) {
        float value = low[((i / 9) * edge + i / 3 % 3) * edge + i % 3];
        outside |= (uint32_t)(value > 0) << i;
    }
    return outside;
}

/// Nodes outside that are joined to some of them.
static uint32_t joined_part(uint32_t some, uint32_t outside) {
    const uint32_t low_x = 0333333333, low_y = 0077077077; // nodes with another beyond them
    uint32_t part = some & outside, before;
    do {
        before = part;
        part |= (part & low_x) << 1 | (part >> 1 & low_x) | (part & low_y) << 3 |
                (part >> 3 & low_y) | part << 9 | part >> 9;
        part &= outside;
    } while (part != before);
    return part;
}

/// How large a part is: distances of its nodes, by the number of half cells around each.
static float size_of(int dim, const float *low, int edge, uint32_t part) {
    float size = 0;
    for (; part; part &= part - 1) {
        int i = __builtin_ctz(part), x = i % 3, y = i / 3 % 3, z = i / 9;
        int halves = (x == 1 ? 2 : 1) * (y == 1 ? 2 : 1) * (dim == 3 && z == 1 ? 2 : 1);
        size += (float)halves * low[(z * edge + y) * edge + x];
    }
    return size;
}

uint32_t largest_part(int dim, const float *low, int edge, uint32_t outside) {
    if (!outside || outside == (dim == 3 ? 0777777777 : 0777)) return outside;
    uint32_t largest = joined_part(outside & (~outside + 1), outside);
    if (largest == outside) return outside;
    float most = size_of(dim, low, edge, largest);
    for (uint32_t rest = outside & ~largest; rest;) {
        uint32_t part = joined_part(rest & (~rest + 1), outside);
        float size = size_of(dim, low, edge, part);
        if (size > most) most = size, largest = part;
        rest &= ~part;
    }
    return largest;
}

uint32_t nearest_node(int dim, uint32_t outside, const float at[3]) {
    int rounded = 0;
    for (int a = dim - 1; a >= 0; a--)
        rounded = 3 * rounded + (at[a] < 0.25f ? 0 : at[a] < 0.75f ? 1 : 2);
    if (outside >> rounded & 1) return (uint32_t)1 << rounded;
    uint32_t nearest = 0;
    float least = 4;
    for (; outside; outside &= outside - 1) {
        int i = __builtin_ctz(outside);
        const int node[3] = {i % 3, i / 3 % 3, i / 9};
        float distance2 = 0;
        for (int a = 0; a < dim; a++) {
            float d = at[a] - 0.5f * (float)node[a];
            distance2 += d * d;
        }
        if (distance2 < least) least = distance2, nearest = outside & (~outside + 1);
    }
    return nearest;
}
