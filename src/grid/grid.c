#include "grid/grid.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/// A cell of the liquid with its particles takes about so much, for messages.
static const double CELL_BYTES = 550;

BrimResult grid_init(Grid *grid, int dim, const int cells[3], BrimError *error) {
    *grid = (Grid){.dim = dim};
    double box = 1;
    for (int a = 0; a < 3; a++) {
        grid->cells[a] = cells[a];
        // one tile more than the cells need when they fill it: the faces on the far side are in it
        grid->tiles[a] = a == 2 && dim == 2 ? 1 : cells[a] / TILE + 1;
        box *= grid->tiles[a];
    }
    grid->tile_depth = dim == 2 ? 1 : TILE;
    grid->tile_rows = TILE * grid->tile_depth;
    grid->tile_cells = TILE * grid->tile_rows;
    for (int a = 0; a < 3; a++) // TileCoord has 16 bits
        if (grid->tiles[a] > INT16_MAX)
            return fail(error, BRIM_ERROR_MEMORY,
                        "a domain of %d cells along %c: at most %d, lower domain.cells", cells[a],
                        "xyz"[a], INT16_MAX * TILE - 1);
    // A particle's key is (tile box index, cell) in 32 bits.
    if (box * grid->tile_cells > 4294967295.0)
        return fail(error, BRIM_ERROR_MEMORY,
                    "a domain of %d x %d x %d cells is larger than the 2^32 that Brim can "
                    "address, and would take about %.2g TiB full of water: lower domain.cells",
                    cells[0], cells[1], cells[2], box * grid->tile_cells * CELL_BYTES / 0x1p40);
    size_t n = grid_box(grid);
    grid->slot_of = memory_new(n * sizeof *grid->slot_of);
    if (!grid->slot_of) return fail(error, BRIM_ERROR_MEMORY, "out of memory for %zu tiles", n);
    memset(grid->slot_of, 0xff, n * sizeof *grid->slot_of);
    return BRIM_OK;
}

void grid_free(Grid *grid) {
    free(grid->slot_of);
    free(grid->coord);
    free(grid->neighbour);
    *grid = (Grid){0};
}

size_t grid_bytes(const Grid *grid) {
    size_t box = grid->slot_of ? grid_box(grid) : 0;
    return box * sizeof *grid->slot_of + grid->coord_capacity * sizeof *grid->coord +
           grid->neighbour_capacity * sizeof *grid->neighbour;
}

/// So many tiles find their neighbours in the time that a thread takes to come.
enum { TILES_A_THREAD = 128 };

static void find_neighbours(void *context, int slot, int thread) {
    Grid *g = context;
    TileCoord c = g->coord[slot];
    int32_t *out = g->neighbour[slot];
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) *out++ = grid_slot(g, c.x + dx, c.y + dy, c.z + dz);
}

bool grid_rebuild(Grid *g, const uint8_t *want, int32_t *from, Team *team) {
    size_t box = grid_box(g), count = 0;
    for (size_t i = 0; i < box; i++) count += want[i] != 0;
    if (!memory_fit((void **)&g->coord, &g->coord_capacity, sizeof *g->coord, count) ||
        !memory_fit((void **)&g->neighbour, &g->neighbour_capacity, sizeof *g->neighbour, count)) {
        g->tile_count = 0;
        memset(g->slot_of, 0xff, box * sizeof *g->slot_of);
        return false;
    }
    int slot = 0;
    size_t i = 0;
    for (int z = 0; z < g->tiles[2]; z++)
        for (int y = 0; y < g->tiles[1]; y++)
            for (int x = 0; x < g->tiles[0]; x++, i++) {
                int32_t before = g->slot_of[i];
                g->slot_of[i] = -1;
                if (!want[i]) continue;
                g->coord[slot] = (TileCoord){(int16_t)x, (int16_t)y, (int16_t)z};
                from[slot] = before;
                g->slot_of[i] = slot++;
            }
    g->tile_count = slot;
    team_for(team, slot, TILES_A_THREAD, find_neighbours, g);
    return true;
}

/// A part of a grid in the making.
typedef struct Parting {
    Grid *part;
    const Grid *grid;
    const int32_t *at;
} Parting;

static void take_part(void *context, int slot, int thread) {
    const Parting *p = context;
    const int32_t *near = p->grid->neighbour[slot], place = p->at[slot] - 1;
    if (place < 0) return;
    p->part->coord[place] = p->grid->coord[slot];
    for (int n = 0; n < 27; n++)
        p->part->neighbour[place][n] = near[n] < 0 ? -1 : p->at[near[n]] - 1;
}

bool grid_part(Grid *part, const Grid *grid, const int32_t *at, Team *team) {
    Grid out = *grid;
    size_t count = 0;
    for (int t = 0; t < grid->tile_count; t++) count += at[t] > 0;
    out.slot_of = NULL, out.tile_count = 0;
    out.coord = part->coord, out.coord_capacity = part->coord_capacity;
    out.neighbour = part->neighbour, out.neighbour_capacity = part->neighbour_capacity;
    bool ok =
        memory_fit((void **)&out.coord, &out.coord_capacity, sizeof *out.coord, count) &&
        memory_fit((void **)&out.neighbour, &out.neighbour_capacity, sizeof *out.neighbour, count);
    if (ok) out.tile_count = (int)count;
    *part = out;
    Parting parting = {part, grid, at};
    if (ok) team_for(team, grid->tile_count, TILES_A_THREAD, take_part, &parting);
    return ok;
}
