#include "walls/liquid_part.h"
#include "band/band.h"
#include "step/stages.h"
#include "walls/cell_parts.h"
#include <math.h>
#include <string.h>

/// The cells around one: x + 3 y + 9 z, itself in the middle of 27 (2D: of the 9 in the middle
/// slice), their half-cell nodes along an axis, and those of the block they are read from.
enum { AROUND = 27, MIDDLE = 13, EDGE = 7, HALO = 2, BLOCK = 2 * (TILE + 2 * HALO) };

/// Half-cell nodes around a cell, [z][y] bit x; in 2D only [0].
typedef struct NodeBits {
    uint8_t row[EDGE][EDGE];
} NodeBits;

/// The cells around one, -1 where there are none, and which of the nodes there belong to it.
typedef struct Around27 {
    int own[3];
    int64_t cell[AROUND];
    int64_t image[AROUND];       ///< the same, beyond a closed side the cell before it
    bool counts[AROUND];         ///< a part of the kernel: not beyond an open side
    bool parted;                 ///< some nodes outside solids do not
    const float *phi;            ///< their distances, m: [z][y][x], BLOCK along each axis
    NodeBits outside, own_nodes; ///< outside solids; joined to the part that the cell stands for
} Around27;

SolidNodes part_nodes(const BrimSim *s, int slot, int thread) {
    if (!fine_near(s, slot)) return (SolidNodes){NULL, false};
    return solid_nodes(s, slot, thread, HALO, SOLID_REACH * s->dx, s->scratch[thread].block[0]);
}

/// The nodes of one of the cells: bits x + 3 y + 9 z.
static uint32_t nodes_of(const BrimSim *s, const NodeBits *bits, int n) {
    const int x = 2 * (n % 3), y = 2 * (n / 3 % 3), z = s->dim == 3 ? 2 * (n / 9) : 0;
    uint32_t nodes = 0;
    for (int k = s->dim == 3 ? 2 : 0; k >= 0; k--)
        for (int j = 2; j >= 0; j--) nodes = nodes << 3 | (bits->row[z + k][y + j] >> x & 7);
    return nodes;
}

/// Adds the nodes outside that edges join to those in `some`.
static void join_nodes(int depth, const NodeBits *outside, NodeBits *some) {
    for (bool more = true; more;) {
        more = false;
        for (int z = 0; z < depth; z++)
            for (int y = 0; y < EDGE; y++) {
                unsigned here = some->row[z][y], all = here | here << 1 | here >> 1;
                if (y > 0) all |= some->row[z][y - 1];
                if (y + 1 < EDGE) all |= some->row[z][y + 1];
                if (z > 0) all |= some->row[z - 1][y];
                if (z + 1 < depth) all |= some->row[z + 1][y];
                all &= outside->row[z][y];
                more |= all != here;
                some->row[z][y] = (uint8_t)all;
            }
    }
}

/// => phi, outside, own_nodes, parted
static void find_parts(const BrimSim *s, const SolidNodes *nodes, int cell, Around27 *around) {
    const int depth = s->dim == 3 ? EDGE : 1, first = 2 * (HALO - 1);
    const int low[3] = {first + 2 * (cell & 7), first + 2 * (cell >> 3 & 7),
                        first + 2 * (cell >> 6)};
    const int middle = s->dim == 3 ? (2 * BLOCK + 2) * BLOCK + 2 : 2 * BLOCK + 2;
    around->parted = false;
    if (!nodes->fine) return; // a wall that could part them is as thick as they are
    around->phi = nodes->phi + ((s->dim == 3 ? low[2] * BLOCK : 0) + low[1]) * BLOCK + low[0];
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < EDGE; y++) {
            unsigned bits = 0;
            for (int x = 0; x < EDGE; x++)
                bits |= (unsigned)(around->phi[(z * BLOCK + y) * BLOCK + x] > 0) << x;
            around->outside.row[z][y] = (uint8_t)bits;
        }
    uint32_t part =
        largest_part(s->dim, around->phi + middle, BLOCK, nodes_of(s, &around->outside, MIDDLE));
    memset(&around->own_nodes, 0, sizeof around->own_nodes);
    for (int k = 0; k < (s->dim == 3 ? 3 : 1); k++)
        for (int j = 0; j < 3; j++, part >>= 3)
            around->own_nodes.row[s->dim == 3 ? k + 2 : 0][j + 2] = (uint8_t)((part & 7) << 2);
    join_nodes(depth, &around->outside, &around->own_nodes);
    around->parted = memcmp(&around->outside, &around->own_nodes,
                            (size_t)depth * sizeof around->outside.row[0]) != 0;
}

/// Weight of a place in the kernel of the density, cells from its centre.
static float share_at(const BrimSim *s, float way) {
    float share = 0.5f + (0.5f - fabsf(way)) / s->volume.ramp;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/// Weight of a place along an axis in the kernel about a cell's centre, both in cells; what lies
/// beyond a wall of the domain is the mirror image of what lies before it.
static float kernel(const BrimSim *s, int axis, float at, float centre) {
    float end = 2 * (float)s->grid.cells[axis];
    float w = share_at(s, at - centre);
    if (!s->sides.open[2 * axis]) w += share_at(s, -at - centre);
    if (!s->sides.open[2 * axis + 1]) w += share_at(s, end - at - centre);
    return w;
}

/// False where none of the cells holds liquid.
static bool look_around(const BrimSim *s, int slot, int cell, Around27 *around) {
    const Grid *g = &s->grid;
    TileCoord c = g->coord[slot];
    const int64_t base = (int64_t)slot * g->tile_cells;
    bool any = false, within = true; // all in the cell's own tile
    for (int a = 0; a < s->dim; a++) within &= (cell >> 3 * a & 7) > 0 && (cell >> 3 * a & 7) < 7;
    around->own[0] = c.x * TILE + (cell & 7), around->own[1] = c.y * TILE + (cell >> 3 & 7);
    around->own[2] = c.z * TILE + (cell >> 6);
    for (int n = 0; n < AROUND; n++) {
        const int at[3] = {around->own[0] + n % 3 - 1, around->own[1] + n / 3 % 3 - 1,
                           around->own[2] + n / 9 - 1};
        bool inside = true, counts = s->dim == 3 || n / 9 == 1;
        int image[3];
        for (int a = 0; a < 3; a++) {
            const bool below = at[a] < 0, above = at[a] >= g->cells[a];
            inside &= !below && !above;
            counts &= a >= s->dim || !(below || above) || !s->sides.open[2 * a + above];
            image[a] = below ? 0 : above ? g->cells[a] - 1 : at[a];
        }
        int64_t i = !inside  ? -1
                    : within ? base + cell + n % 3 - 1 + (n / 3 % 3 - 1) * TILE + (n / 9 - 1) * 64
                             : grid_cell(g, at[0], at[1], at[2]);
        any |= i >= 0 &&
               (band_bit(s->particles.occupied, i) || (has_band(s) && band_bit(s->hidden, i)));
        around->cell[n] = i, around->counts[n] = counts;
        around->image[n] = inside ? i : counts ? grid_cell(g, image[0], image[1], image[2]) : -1;
    }
    return any;
}

/// What a full cell gives to the kernel about the middle one.
static float share_of(const BrimSim *s, int n) {
    const int off[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
    float share = 1, side = kernel_side(s);
    for (int a = 0; a < s->dim; a++) share *= off[a] ? side : 1 - 2 * side;
    return share;
}

/// Whether a particle in one of the cells is nearest to some of its nodes outside. at: cells
static bool is_nearest(const BrimSim *s, const Around27 *around, int n, const float at[3],
                       uint32_t outside, uint32_t some) {
    const float from[3] = {at[0] - (float)(around->own[0] + n % 3 - 1),
                           at[1] - (float)(around->own[1] + n / 3 % 3 - 1),
                           at[2] - (float)(around->own[2] + n / 9 - 1)};
    return nearest_node(s->dim, outside, from) & some;
}

/// Particles of one of the cells in the kernel about the middle one, cells: those that belong to
/// it, or the others.
static float particles_of(const BrimSim *s, const Around27 *around, int n, bool own) {
    const Particles *p = &s->particles;
    const uint32_t *start = cell_starts_from(p, &s->grid, around->cell[n]);
    uint32_t outside = 0, some = 0; // nodes of the cell, and those that tell
    if (start[0] == start[1]) return 0;
    if (around->parted) {
        outside = nodes_of(s, &around->outside, n), some = nodes_of(s, &around->own_nodes, n);
        if (!own) some ^= outside;
    }
    if (around->parted ? !some : !own) return 0;
    float sum = 0;
    for (uint32_t i = start[0]; i < start[1]; i++) {
        float at[3] = {0}, w = 1;
        for (int a = 0; a < s->dim; a++) {
            at[a] = space_to_grid(s->space, p->attr[ATTR_X + a][i]);
            w *= kernel(s, a, at[a], (float)around->own[a] + 0.5f);
        }
        if (w > 0 && (some == outside || is_nearest(s, around, n, at, outside, some))) sum += w;
    }
    return sum / (float)s->def.particles_per_cell;
}

/// Free room in an octant of the cells that does not belong to the middle one, a part of it. low:
/// its low node
static float other_room(const BrimSim *s, const Around27 *around, const int low[3]) {
    int outside = 0, other = 0, corners = s->dim == 3 ? 8 : 4;
    float sum = 0;
    for (int k = 0; k < corners; k++) {
        const int x = low[0] + (k & 1), y = low[1] + (k >> 1 & 1), z = low[2] + (k >> 2);
        sum += around->phi[(z * BLOCK + y) * BLOCK + x];
        outside += around->outside.row[z][y] >> x & 1;
        other += ~around->own_nodes.row[z][y] & around->outside.row[z][y] >> x & 1;
    }
    if (!other) return 0;
    float free = 0.5f + 2 * s->inv_dx * sum / (float)corners;
    free = free < 0 ? 0 : free > 1 ? 1 : free;
    return free * (float)other / (float)outside;
}

/// What free room of one of the cells that does not belong to the middle one would give to its
/// kernel.
static float lost_room(const BrimSim *s, const Around27 *around, int n) {
    const float side = kernel_side(s);
    const float share[6] = {0, side, 0.5f - side, 0.5f - side, side, 0};
    if (nodes_of(s, &around->outside, n) == nodes_of(s, &around->own_nodes, n)) return 0;
    float sum = 0;
    for (int k = 0; k < (s->dim == 3 ? 8 : 4); k++) {
        const int low[3] = {2 * (n % 3) + (k & 1), 2 * (n / 3 % 3) + (k >> 1 & 1),
                            s->dim == 3 ? 2 * (n / 9) + (k >> 2) : 0};
        float w = share[low[0]] * share[low[1]] * (s->dim == 3 ? share[low[2]] : 1);
        if (w > 0) sum += w * other_room(s, around, low);
    }
    return sum;
}

float liquid_part(const BrimSim *s, const SolidNodes *nodes, int slot, int cell) {
    Around27 around;
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell, solid = solid_cell(s, me);
    float room = solid < 0 ? 1 : 1 - s->solid_part[solid], sum = 0;
    if (has_band(s) && band_bit(s->hidden, me)) return 1;
    if (!look_around(s, slot, cell, &around)) return 0;
    find_parts(s, nodes, cell, &around);
    for (int n = 0; n < AROUND; n++) {
        const int64_t i = around.image[n];
        if (!around.counts[n]) continue;
        float lost = around.parted ? lost_room(s, &around, n) : 0;
        if (around.cell[n] >= 0) sum += particles_of(s, &around, n, true);
        if (has_band(s) && i >= 0 && band_bit(s->hidden, i))
            sum += fmaxf(share_of(s, n) * (1 - solid_volume_of(s, i)) - lost, 0);
        room -= lost;
    }
    return sum < room ? sum / room : sum > 0 ? 1 : 0;
}

void part_density(const BrimSim *s, const SolidNodes *nodes, int slot, float *density) {
    Around27 around;
    const float *part = s->solid_part + solid_cell(s, (int64_t)slot * s->grid.tile_cells);
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        // without a solid in its kernel all hangs together; without liquid there is nothing to part
        if (!(part[cell] > 0 && density[cell] > 0)) continue;
        if (!look_around(s, slot, cell, &around)) continue;
        find_parts(s, nodes, cell, &around);
        for (int n = 0; n < AROUND && around.parted; n++) {
            const int64_t i = around.image[n];
            if (!around.counts[n]) continue;
            if (around.cell[n] >= 0) density[cell] -= particles_of(s, &around, n, false);
            // hidden liquid fills the room
            if (!has_band(s) || i < 0 || !band_bit(s->hidden, i))
                density[cell] += lost_room(s, &around, n);
        }
    }
}
