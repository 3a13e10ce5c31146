#include "walls/liquid_part.h"
#include "band/band.h"
#include "step/stages.h"
#include <math.h>

/// The cells around one: x + 3 y + 9 z, itself in the middle of 27 (2D: of the 9 in the middle
/// slice).
enum { AROUND = 27, MIDDLE = 13 };

/// Which of them open faces join to the one in the middle, as bits. cell: their indices, -1: none
static uint32_t joined(const BrimSim *s, const int64_t cell[AROUND]) {
    static const int stride[3] = {1, 3, 9};
    uint32_t found = 1u << MIDDLE, before, link[3] = {0}; // link: over the lower face
    for (int n = 0; n < AROUND; n++) {
        const int at[3] = {n % 3, n / 3 % 3, n / 9};
        int64_t i = cell[n];
        for (int a = 0; a < s->dim && i >= 0; a++)
            if (at[a] > 0 && cell[n - stride[a]] >= 0 && !(s->shut[a][i >> 3] >> (i & 7) & 1))
                link[a] |= 1u << n;
    }
    do {
        before = found;
        for (int a = 0; a < s->dim; a++)
            found |= (found << stride[a] & link[a]) | (found & link[a]) >> stride[a];
    } while (found != before);
    return found;
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

/// The cells around one, -1 where there are none, and which of them hang together with it.
typedef struct Around27 {
    int own[3];
    int64_t cell[AROUND];
    uint32_t joined;
} Around27;

/// False where none of them holds liquid.
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
        bool inside = true;
        for (int a = 0; a < 3; a++) inside &= at[a] >= 0 && at[a] < g->cells[a];
        int64_t i = !inside  ? -1
                    : within ? base + cell + n % 3 - 1 + (n / 3 % 3 - 1) * TILE + (n / 9 - 1) * 64
                             : grid_cell(g, at[0], at[1], at[2]);
        any |= i >= 0 &&
               (band_bit(s->particles.occupied, i) || (has_band(s) && band_bit(s->hidden, i)));
        around->cell[n] = i;
    }
    if (any) around->joined = joined(s, around->cell);
    return any;
}

/// What a full cell gives to the kernel about the middle one.
static float share_of(const BrimSim *s, int n) {
    const int off[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
    float share = 1, side = kernel_side(s);
    for (int a = 0; a < s->dim; a++) share *= off[a] ? side : 1 - 2 * side;
    return share;
}

/// Liquid of one of the cells in the kernel about the middle one, cells.
static float liquid_of(const BrimSim *s, const Around27 *around, int n) {
    const Particles *p = &s->particles;
    int64_t cell = around->cell[n];
    float sum = 0;
    const uint32_t *start = cell_starts_from(p, &s->grid, cell);
    for (uint32_t i = start[0]; i < start[1]; i++) {
        float w = 1;
        for (int a = 0; a < s->dim; a++)
            w *= kernel(s, a, space_to_grid(s->space, p->attr[ATTR_X + a][i]),
                        (float)around->own[a] + 0.5f);
        sum += w;
    }
    sum /= (float)s->def.particles_per_cell;
    if (has_band(s) && band_bit(s->hidden, cell))
        sum += share_of(s, n) * (1 - solid_volume_of(s, cell));
    return sum;
}

float liquid_part(const BrimSim *s, int slot, int cell) {
    Around27 around;
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell, solid = solid_cell(s, me);
    float room = solid < 0 ? 1 : 1 - s->solid_part[solid], sum = 0;
    if (has_band(s) && band_bit(s->hidden, me)) return 1;
    if (!look_around(s, slot, cell, &around)) return 0;
    for (int n = 0; n < AROUND; n++)
        if (around.joined >> n & 1) sum += liquid_of(s, &around, n);
    return sum < room ? sum / room : sum > 0 ? 1 : 0;
}

void part_density(const BrimSim *s, int slot, float *density) {
    Around27 around;
    const float *part = s->solid_part + solid_cell(s, (int64_t)slot * s->grid.tile_cells);
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        // without a solid in its kernel all hangs together; without liquid there is nothing to part
        if (!(part[cell] > 0 && density[cell] > 0)) continue;
        if (!look_around(s, slot, cell, &around)) continue;
        for (int n = 0; n < AROUND; n++) {
            if (around.joined >> n & 1 || around.cell[n] < 0) continue;
            density[cell] += share_of(s, n) * (1 - solid_volume_of(s, around.cell[n])) -
                             liquid_of(s, &around, n);
        }
    }
}
