#include "walls/liquid_part.h"
#include "band/band.h"
#include <math.h>

/// The cells around one: x + 3 y + 9 z, itself in the middle of 27 (2D: of the 9 in the middle
/// slice).
enum { AROUND = 27, MIDDLE = 13 };

/// Which of them open faces join to the one in the middle, as bits. cell: their indices, -1: none
static uint32_t joined(const BrimSim *s, const int64_t cell[AROUND]) {
    static const int stride[3] = {1, 3, 9};
    uint32_t found = 1u << MIDDLE, before;
    do {
        before = found;
        for (int n = 0; n < AROUND; n++) {
            if (cell[n] < 0) continue;
            const int at[3] = {n % 3, n / 3 % 3, n / 9};
            for (int a = 0; a < s->dim; a++) { // over its lower face
                int below = n - stride[a];
                if (at[a] == 0 || cell[below] < 0) continue;
                if (((found >> n ^ found >> below) & 1) && open_part(s, a, cell[n]) > 0)
                    found |= 1u << n | 1u << below;
            }
        }
    } while (found != before);
    return found;
}

/// Weight of a place along an axis in the kernel about a cell's centre, both in cells; what lies
/// beyond a wall of the domain is the mirror image of what lies before it.
static float kernel(const BrimSim *s, int axis, float at, float centre) {
    float end = 2 * (float)s->grid.cells[axis];
    float w = fmaxf(0, 1 - fabsf(at - centre));
    if (!s->sides.open[2 * axis]) w += fmaxf(0, 1 - fabsf(-at - centre));
    if (!s->sides.open[2 * axis + 1]) w += fmaxf(0, 1 - fabsf(end - at - centre));
    return w;
}

float liquid_part(const BrimSim *s, int slot, int cell) {
    const Grid *g = &s->grid;
    const Particles *p = &s->particles;
    TileCoord c = g->coord[slot];
    const int own[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7),
                        c.z * TILE + (cell >> 6)};
    int64_t me = (int64_t)slot * g->tile_cells + cell, solid = solid_cell(s, me), near[AROUND];
    float room = solid < 0 ? 1 : 1 - s->solid_part[solid], sum = 0;
    if (s->band && band_bit(s->hidden, me)) return 1;
    for (int n = 0; n < AROUND; n++) {
        const int at[3] = {own[0] + n % 3 - 1, own[1] + n / 3 % 3 - 1, own[2] + n / 9 - 1};
        bool inside = true;
        for (int a = 0; a < 3; a++) inside &= at[a] >= 0 && at[a] < g->cells[a];
        near[n] = inside ? grid_cell(g, at[0], at[1], at[2]) : -1;
    }
    bool any = false; // most have none
    for (int n = 0; n < AROUND; n++)
        any |= near[n] >= 0 && (p->cell_start[near[n] + 1] > p->cell_start[near[n]] ||
                                (s->band && band_bit(s->hidden, near[n])));
    if (!any) return 0;
    uint32_t some = joined(s, near);
    for (int n = 0; n < AROUND; n++) {
        if (!(some >> n & 1)) continue;
        if (s->band && band_bit(s->hidden, near[n])) {
            const int off[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            float share = 1 - solid_volume_of(s, near[n]);
            for (int a = 0; a < s->dim; a++) share *= off[a] ? 0.125f : 0.75f;
            sum += share * (float)s->def.particles_per_cell;
        }
        for (uint32_t i = p->cell_start[near[n]]; i < p->cell_start[near[n] + 1]; i++) {
            float w = 1;
            for (int a = 0; a < s->dim; a++)
                w *= kernel(s, a, p->attr[ATTR_X + a][i] * s->inv_dx, (float)own[a] + 0.5f);
            sum += w;
        }
    }
    sum /= (float)s->def.particles_per_cell;
    return sum < room ? sum / room : sum > 0 ? 1 : 0;
}
