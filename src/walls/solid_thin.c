#include "walls/solid_thin.h"
#include "grid/grid.h"
#include <math.h>

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

/// Whether a cell's corners outside do not all hang together.
static bool is_divided(const Outside *o, int x, int y, int z) {
    uint8_t all = (uint8_t)nodes_of(o, x, y, z, 2), part = all & (uint8_t)-all, before;
    do before = part, part |= joined_corners(part) & all;
    while (part != before);
    return part != all;
}

bool is_thin(const Outside *o) {
    const int deep = o->dim == 3 ? 1 : 0;
    for (int z = 0; z < (deep ? TILE + 1 : 1) && o->mixed; z++)
        for (int y = 0; y < TILE + 1; y++)
            for (int x = 0; x < TILE + 1; x++) {
                if (!is_cut(o, x, y, z)) continue;
                if (is_divided(o, x, y, z)) return true;
                if (x && y && z >= deep && falls_apart(nodes_of(o, x - 1, y - 1, z - deep, 4)))
                    return true;
            }
    return false;
}

/// How fast the distance rises along an axis on the node's own side of a wall: the steeper of the
/// ways to the nodes before and after it.
static float slope(const float *v, int stride, bool before, bool after) {
    float down = before ? v[0] - v[-stride] : 0, up = after ? v[stride] - v[0] : 0;
    return fabsf(down) > fabsf(up) ? down : up;
}

/// Whether the nodes at both ends of an edge lie on two sides of a wall: the distance falls from
/// both towards the edge's middle, and in directions that are more than a right angle apart. From
/// the nodes above a round wall that rises between them it falls in directions almost the same.
static bool faces_apart(int dim, const float *v, const int at[3], int axis, const int low[3],
                        const int high[3]) {
    static const int stride[3] = {1, NODES, NODES * NODES};
    const int along = stride[axis];
    const bool first = at[axis] == low[axis], last = at[axis] + 1 == high[axis];
    if (first && last) return false;
    float rise = last ? 0 : v[2 * along] - v[along], fall = first ? rise : v[-along] - v[0];
    if (last) rise = fall;
    if (!(v[0] + v[along] < fminf(fall, rise))) return false;
    float apart = fall * rise;
    for (int b = 0; b < dim; b++) {
        if (b == axis) continue;
        const bool before = at[b] > low[b], after = at[b] < high[b];
        apart -= slope(v, stride[b], before, after) * slope(v + along, stride[b], before, after);
    }
    return apart > 0;
}

/// Whether from some of a row's edges the distance falls towards the middle from the upper end: few
/// pass this, which is all that most rows are asked.
static bool any_falls(const float *v, int along, int count) {
    int32_t any = 0;
    for (int x = 0; x < count; x++) {
        const float low = v[x], high = v[x + along];
        any |= (low > 0) & (high > 0) & (low + high < v[x + 2 * along] - high);
    }
    return any;
}

/// The same of a row's edges along an axis, the first of which is at `at`.
static bool row_hides_wall(int dim, const float *phi, const int at[3], int axis, const int low[3],
                           const int high[3]) {
    static const int stride[3] = {1, NODES, NODES * NODES};
    const int along = stride[axis], end = high[0] - at[0] + (axis > 0);
    const float *v = phi + (at[2] * NODES + at[1]) * NODES + at[0];
    const int count = axis == 0 && end > TILE + 1 - at[0] ? TILE + 1 - at[0] : end;
    // the last edge before the domain's end has nothing beyond its upper node
    const bool last = axis > 0 && at[axis] + 1 == high[axis];
    const int inner = axis == 0 && at[0] + count == high[0] ? count - 1 : count;
    for (int x = last || any_falls(v, along, inner) ? 0 : inner; x < count; x++) {
        const int node[3] = {at[0] + x, at[1], at[2]};
        if (v[x] > 0 && v[x + along] > 0 && faces_apart(dim, v + x, node, axis, low, high))
            return true;
    }
    return false;
}

bool hides_wall(int dim, const float *phi, const int low[3], const int high[3]) {
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int a = 0; a < dim; a++) {
                const int at[3] = {low[0], y, z};
                if (a > 0 && (at[a] >= high[a] || at[a] > TILE)) continue;
                if (row_hides_wall(dim, phi, at, a, low, high)) return true;
            }
    return false;
}
