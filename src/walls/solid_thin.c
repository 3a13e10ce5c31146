#include "walls/solid_thin.h"
#include "grid/grid.h"
#include <string.h>

enum { NODES = PART_NODES };

Outside outside_nodes(int dim, const float *phi) {
    Outside o = {.dim = dim};
    const uint16_t full = (1 << NODES) - 1;
    uint16_t some = 0, all = full;
    for (int z = 0; z < (dim == 3 ? NODES : 1); z++)
        for (int y = 0; y < NODES; y++, phi += NODES) {
            uint16_t bits = 0;
            for (int x = 0; x < NODES; x++) bits |= (uint16_t)((phi[x] > 0) << x);
            o.row[z][y] = bits;
            some |= bits, all &= bits;
        }
    o.mixed = some && all != full;
    return o;
}

/// The nodes of a cell, or of a cell and one around it, that lie outside: bits x + edge y + edge^2
/// z.
static uint64_t nodes_of(const Outside *o, int x, int y, int z, int edge) {
    uint64_t nodes = 0, mask = ((uint64_t)1 << edge) - 1;
    for (int k = o->dim == 3 ? edge - 1 : 0; k >= 0; k--)
        for (int j = edge - 1; j >= 0; j--)
            nodes = nodes << edge | (o->row[z + k][y + j] >> x & mask);
    return nodes;
}

/// Those that edges join to some of 4 x 4 x 4 nodes, and of 2 x 2 x 2.
static uint64_t joined_nodes(uint64_t some) {
    const uint64_t low_x = 0x7777777777777777, low_y = 0x0fff0fff0fff0fff;
    return (some & low_x) << 1 | (some >> 1 & low_x) | (some & low_y) << 4 | (some >> 4 & low_y) |
           some << 16 | some >> 16;
}

static uint8_t joined_corners(uint8_t some) {
    return (uint8_t)((some & 0x55) << 1 | (some & 0xaa) >> 1 | (some & 0x33) << 2 |
                     (some & 0xcc) >> 2 | some << 4 | some >> 4);
}

/// Whether nodes around a cell do not all hang together by edges.
static bool falls_apart(uint64_t all) {
    uint64_t part = all & (~all + 1), before;
    do before = part, part |= joined_nodes(part) & all;
    while (part != before);
    return part != all;
}

/// Whether a solid's surface runs through a cell.
static bool is_cut(const Outside *o, int x, int y, int z) {
    uint64_t corners = nodes_of(o, x, y, z, 2);
    return corners && corners != (o->dim == 3 ? 0xff : 0xf);
}

bool is_thin(const Outside *o) {
    for (int z = 0; z < (o->dim == 3 ? TILE : 1) && o->mixed; z++)
        for (int y = 0; y < TILE; y++)
            for (int x = 0; x < TILE; x++)
                if (is_cut(o, x + 1, y + 1, o->dim == 3 ? z + 1 : 0) &&
                    falls_apart(nodes_of(o, x, y, z, 4)))
                    return true;
    return false;
}

uint8_t parted_corners(int dim, const float *low, int edge) {
    float value[8], most = 0;
    uint8_t outside = 0, largest = 0;
    for (int i = 0; i < (dim == 3 ? 8 : 4); i++) {
        value[i] = low[((i >> 2) * edge + (i >> 1 & 1)) * edge + (i & 1)];
        outside |= (uint8_t)((value[i] > 0) << i);
    }
    uint8_t rest = outside;
    while (rest) {
        uint8_t part = rest & (uint8_t)-rest, before;
        do before = part, part |= joined_corners(part) & outside;
        while (part != before);
        if (part == outside) return 0;
        float size = 0;
        for (int i = 0; i < 8; i++)
            if (part >> i & 1) size += value[i];
        if (size > most) most = size, largest = part;
        rest &= (uint8_t)~part;
    }
    return outside & (uint8_t)~largest;
}

void find_parted(const Outside *o, const float *phi, Parted *parted) {
    parted->any = false;
    for (int z = 0; z < (o->dim == 3 ? TILE + 1 : 1) && o->mixed; z++)
        for (int y = 0; y < TILE + 1; y++)
            for (int x = 0; x < TILE + 1; x++) {
                if (!is_cut(o, x, y, z)) continue;
                int at = (z * NODES + y) * NODES + x;
                uint8_t corners = parted_corners(o->dim, phi + at, NODES);
                if (!corners) continue;
                if (!parted->any) memset(parted->corners, 0, sizeof parted->corners);
                parted->any = true;
                parted->corners[at] = corners;
            }
}

bool is_parted(const Parted *parted, int axis, int cell_low, int corner) {
    static const int stride[3] = {1, NODES, NODES * NODES};
    int off = corner - cell_low;
    int bit = off % NODES + 2 * (off % stride[2] / NODES) + 4 * (off / stride[2]);
    return parted->corners[cell_low] >> bit & 1 ||
           parted->corners[cell_low - stride[axis]] >> (bit | 1 << axis) & 1;
}
