#include "warp/occupied.h"

/// Bits of a row of cells, -2 to 9 along x; beyond the domain `beyond`.
static unsigned row_bits(const BrimSim *s, int slot, int y, int z, bool beyond) {
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const int at[3] = {t.x * TILE, t.y * TILE + y, s->dim == 3 ? t.z * TILE + z : 0};
    const unsigned all = (1u << ROWS) - 1;
    for (int a = 1; a < s->dim; a++)
        if (at[a] < 0 || at[a] >= g->cells[a]) return beyond ? all : 0;
    unsigned bits = 0;
    const int next = 3 * (y >> TILE_SHIFT) + (s->dim == 3 ? 9 * (z >> TILE_SHIFT) : 0);
    const size_t row = (size_t)((s->dim == 3 ? (z & 7) * TILE : 0) + (y & 7));
    for (int d = -1; d <= 1; d++) {
        const int32_t from = g->neighbour[slot][TILE_SELF + next + d];
        if (from < 0) continue;
        const size_t at_row = (size_t)from * (size_t)g->tile_rows + row;
        unsigned in = full_cells(s)[at_row];
        // a band's interior reaches into solids, but they are no liquid
        if (has_band(s) && s->walls.solid_count)
            in &= ~(s->rock[at_row] & ~(unsigned)s->particles.occupied[at_row]);
        if (beyond && s->walls.solid_count) in |= s->rock[at_row];
        bits |= d < 0 ? in >> (TILE - SEEN) : in << (SEEN + (d > 0 ? TILE : 0));
    }
    unsigned inside = all;
    if (at[0] == 0) inside &= ~((1u << SEEN) - 1);
    if (g->cells[0] - at[0] < TILE + SEEN) inside &= (1u << (g->cells[0] - at[0] + SEEN)) - 1;
    return (bits & inside) | (beyond ? all & ~inside : 0);
}

void find_occupied(const BrimSim *s, int slot, bool beyond, Occupied *o) {
    for (int z = 0; z < (s->dim == 3 ? ROWS : 1); z++)
        for (int y = 0; y < ROWS; y++)
            o->row[z][y] =
                (uint16_t)row_bits(s, slot, y - SEEN, s->dim == 3 ? z - SEEN : 0, beyond);
}
