// Stage 8: where the liquid is. Cells near the surface get a distance from the particles; the
// rest is known to be deep inside or far outside from which cells hold particles.
#include "surface/surface.h"
#include "band/band.h"
#include "surface/track.h"
#include "walls/liquid_part.h"
#include "walls/solid_fine.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Distance given to a cell of a film too thin for the averaged positions, in cells.
static const float FILM = -0.05f;

/// A sheet half a cell to each side of a face has both centres on its surface: on which side of it
/// positions see them is chance, up to this distance, in cells.
static const float TIE = 0.1f;

/// Rows of a mask in the nine tiles around one along y and z, and the three along x of each; NULL
/// where no tile exists.
typedef struct MaskTiles {
    const uint8_t *at[3][3][3]; ///< [dz + 1][dy + 1][dx + 1]
} MaskTiles;

static MaskTiles mask_tiles(const Grid *g, const uint8_t *mask, int slot) {
    MaskTiles tiles;
    const uint8_t **at = &tiles.at[0][0][0];
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        at[n] = t < 0 ? NULL : mask + (size_t)t * (size_t)g->tile_rows;
    }
    return tiles;
}

void pad_rows(const BrimSim *s, const uint8_t *mask, int slot, uint8_t outside, PaddedRows *rows) {
    const Grid *g = &s->grid;
    const TileCoord c = g->coord[slot];
    const MaskTiles tiles = mask_tiles(g, mask, slot);
    const int deep = s->dim == 3 ? 1 : 0, beyond = outside ? 0x3ff : 0;
    // bits of a row that lie beyond the domain
    const int left = c.x * TILE - 1 < 0 ? 1 : 0, inside = g->cells[0] - c.x * TILE + 1;
    const int over = (left | (inside < TILE + 2 ? 0x3ff << inside : 0)) & 0x3ff;
    for (int z = -deep; z < g->tile_depth + deep; z++)
        for (int y = -1; y <= TILE; y++) {
            int at_y = c.y * TILE + y, at_z = c.z * TILE + z;
            uint16_t *row = &rows->at[z + 1][y + 1];
            *row = (uint16_t)beyond;
            if (at_y < 0 || at_y >= g->cells[1] || at_z < 0 || at_z >= g->cells[2]) continue;
            int tz = z < 0 ? 0 : z >= g->tile_depth ? 2 : 1, ty = y < 0 ? 0 : y >= TILE ? 2 : 1;
            const uint8_t *const *along = tiles.at[tz][ty];
            int r = (z & 7) * TILE + (y & 7), bits = along[1] ? along[1][r] << 1 : 0;
            if (along[0]) bits |= along[0][r] >> 7;
            if (along[2]) bits |= (along[2][r] & 1) << 9;
            *row = (uint16_t)((bits & ~over) | (over & beyond));
        }
}

uint8_t row_deep(const PaddedRows *rows, int dim, int y, int z) {
    unsigned every = 0x3ff;
    for (int k = dim == 3 ? -1 : 0; k <= (dim == 3 ? 1 : 0); k++)
        for (int j = -1; j <= 1; j++) every &= rows->at[z + 1 + k][y + 1 + j];
    return (uint8_t)((every & every << 1 & every >> 1) >> 1);
}

/// Mirrors a cell coordinate into the domain. False beyond an open side.
static bool mirror(const BrimSim *s, int axis, int *at, float *flip, float *shift) {
    int last = s->grid.cells[axis] - 1;
    *flip = 1, *shift = 0;
    if (*at >= 0 && *at <= last) return true;
    if (s->sides.open[2 * axis + (*at > last)]) return false;
    *flip = -1;
    *shift = *at > last ? 2.0f * (float)s->grid.cells[axis] : 0.0f;
    *at = *at > last ? last : 0;
    return true;
}

void near_begin(const BrimSim *s, int slot, NearRows *rows) {
    TileCoord c = s->grid.coord[slot];
    LevelSetNear *near = &rows->near;
    near->inv_dx = s->inv_dx, near->dim = s->dim, near->planes = 0;
    for (int a = 0; a < 3; a++) near->x[a] = s->particles.attr[ATTR_X + a];
    near->corner[0] = (float)(c.x * TILE), near->corner[1] = (float)(c.y * TILE);
    near->corner[2] = (float)(c.z * TILE);
    int low = c.x * TILE - 1, high = c.x * TILE + TILE, end = s->grid.cells[0];
    mirror(s, 0, &low, &near->flip_x[0], &near->shift_x[0]);
    mirror(s, 0, &high, &near->flip_x[1], &near->shift_x[1]);
    // in a tile that hangs over the domain's end
    near->last = s->sides.open[1] || end >= (c.x + 1) * TILE ? -1 : end - 1 - c.x * TILE;
    near->last_shift = 2.0f * (float)end;
    memset(rows->ready, 0, sizeof rows->ready);
}

/// The particles of a row around a tile. A cell beyond a wall stands for the mirror image of the
/// one before it; beyond an open side there is nothing.
static void find_row(const BrimSim *s, int slot, int y, int z, LevelSetRow *row) {
    static const uint32_t none[TILE + 1];
    const Grid *g = &s->grid;
    const Particles *p = &s->particles;
    TileCoord c = g->coord[slot];
    int at_y = c.y * TILE + y, at_z = c.z * TILE + z;
    *row = (LevelSetRow){.start = none, .beside = {none, none}, .flip = {1, 1}};
    if (!mirror(s, 1, &at_y, &row->flip[0], &row->shift[0]) ||
        (s->dim == 3 && !mirror(s, 2, &at_z, &row->flip[1], &row->shift[1])))
        return;
    int ty = (at_y >> TILE_SHIFT) - c.y, tz = (at_z >> TILE_SHIFT) - c.z;
    const int32_t *tiles = g->neighbour[slot] + TILE_SELF + 9 * tz + 3 * ty; // [-1 .. 1]
    const int first = (at_z & 7) * 64 + (at_y & 7) * 8;
    if (tiles[0] >= 0) row->start = cell_starts(p, g, tiles[0]) + first;
    for (int k = 0; k < 2; k++) {
        int beside = c.x * TILE + (k ? TILE : -1);
        bool outside = beside < 0 || beside >= g->cells[0];
        // the image of the tile's own first or last cell; behind the last cell of a tile that
        // hangs over there is nothing
        int32_t tile = tiles[outside ? 0 : k ? 1 : -1];
        if (tile < 0 || (outside && s->sides.open[k])) continue;
        row->beside[k] = cell_starts(p, g, tile) + first + (k == outside ? TILE - 1 : 0);
    }
}

const LevelSetRow *near_row(const BrimSim *s, NearRows *rows, int slot, int y, int z) {
    LevelSetRow *row = &rows->at[z + 1][y + 1];
    if (!rows->ready[z + 1][y + 1]) {
        find_row(s, slot, y, z, row);
        rows->ready[z + 1][y + 1] = true;
    }
    return row;
}

/// The solid's surface near a cell as a plane: normal and the centre's distance, in cells. False
/// when it is too far to matter.
static bool solid_plane(const BrimSim *s, int slot, int cell, float plane[4]) {
    int corners = s->dim == 3 ? 8 : 4;
    float value[8], mean = 0, gradient[3] = {0}, length = 0;
    if (!solid_corners(s, slot, cell, value)) return false;
    for (int n = 0; n < corners; n++) {
        float d = value[n] * s->inv_dx;
        mean += d;
        for (int a = 0; a < s->dim; a++) gradient[a] += n >> a & 1 ? d : -d;
    }
    for (int a = 0; a < s->dim; a++) length += gradient[a] * gradient[a];
    if (mean > 1.5f * (float)corners || length < 1e-6f) return false;
    for (int a = 0; a < 3; a++) plane[a] = a < s->dim ? gradient[a] / sqrtf(length) : 0;
    plane[3] = mean / (float)corners;
    return true;
}

void near_planes(const BrimSim *s, NearRows *rows, int slot, int row, uint8_t cells) {
    LevelSetNear *near = &rows->near;
    near->planes = 0;
    if (!cells || !solid_here(s, slot)) return;
    for (int x = 0; x < TILE; x++)
        if (cells >> x & 1 && solid_plane(s, slot, row * TILE + x, near->plane[x]))
            near->planes |= (uint8_t)(1 << x);
}

void near_look(const BrimSim *s, NearRows *rows, int slot, int row, uint8_t cells) {
    int y = row & 7, z = row >> 3, deep = s->dim == 3 ? 1 : 0;
    for (int k = -deep; k <= deep; k++)
        for (int j = -1; j <= 1; j++)
            rows->near.row[k + 1][j + 1] = near_row(s, rows, slot, y + j, z + k);
    near_planes(s, rows, slot, row, cells);
}

/// Distances at some cells (bits) of a row.
static void row_distances(const BrimSim *s, NearRows *rows, int slot, int row, uint8_t cells,
                          float out[TILE]) {
    if (s->tracking.kernels) { // it has been found
        size_t at = (size_t)slot * (size_t)s->grid.tile_cells + (size_t)(row * TILE);
        memcpy(out, s->tracked + at, TILE * sizeof *out);
        return;
    }
    near_look(s, rows, slot, row, cells);
    s->level_set->distances(&s->profile, &rows->near, row & 7, row >> 3, cells, out);
}

TileMask allowed_cells(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    TileMask m = bound_cells(s, slot), closed = closed_cells(s, slot), foreign = {{0}};
    if (s->walls.fine_count) foreign = mask_load(g, s->foreign, slot);
    for (int z = 0; z < g->tile_depth; z++) m.slice[z] &= ~(closed.slice[z] | foreign.slice[z]);
    return m;
}

/// Whether a tile is all interior and has no particles.
static bool below_band(const BrimSim *s, int slot, const TileMask *allowed) {
    const Grid *g = &s->grid;
    uint64_t all = ~(uint64_t)0;
    for (int z = 0; z < g->tile_depth; z++)
        all &= allowed->slice[z] & mask_word(g, s->interior, slot, z) &
               ~mask_word(g, s->particles.occupied, slot, z);
    return all == ~(uint64_t)0;
}

/// First the cells that hold particles: => phi, liquid. Those deep inside are known without asking.
static void measure_occupied(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const uint8_t *full = full_cells(s), *cells_of = full + (size_t)slot * (size_t)g->tile_rows;
    const uint8_t *interior =
        has_band(s) ? s->interior + (size_t)slot * (size_t)g->tile_rows : NULL;
    const uint8_t *occupied = s->particles.occupied + (size_t)slot * (size_t)g->tile_rows;
    const uint32_t *first = cell_starts(&s->particles, g, slot);
    float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells;
    uint8_t *liquid = s->liquid + (size_t)slot * (size_t)g->tile_rows;
    TileMask allowed = allowed_cells(s, slot);
    PaddedRows padded;
    NearRows near;
    bool ready = false, below = has_band(s) && below_band(s, slot, &allowed);
    for (int i = 0; i < g->tile_cells; i++) phi[i] = below ? -LEVEL_SET_CUT : LEVEL_SET_CUT;
    if (below) {
        memset(liquid, 0xff, (size_t)g->tile_rows);
        return;
    }
    for (int r = 0; r < g->tile_rows; r++) {
        uint8_t cells = cells_of[r] & mask_bits(&allowed, r);
        uint8_t inner = interior ? interior[r] : 0, empty = inner & (uint8_t)~occupied[r];
        for (uint8_t bits = cells & empty; bits; bits &= (uint8_t)(bits - 1))
            phi[r * TILE + __builtin_ctz(bits)] = -LEVEL_SET_CUT;
        liquid[r] = cells & empty;
        cells &= (uint8_t)~empty;
        if (!cells) continue;
        if (!ready) {
            pad_rows(s, full, slot, 0xff, &padded);
            near_begin(s, slot, &near);
            ready = true;
        }
        uint8_t deep = row_deep(&padded, s->dim, r & 7, r >> 3);
        float distance[TILE];
        if (cells & ~deep) row_distances(s, &near, slot, r, cells & (uint8_t)~deep, distance);
        for (; cells; cells &= (uint8_t)(cells - 1)) {
            int x = __builtin_ctz(cells), cell = r * TILE + x;
            float d = deep >> x & 1 ? -LEVEL_SET_CUT : distance[x];
            // A heap of particles at its rim pulls the mean away from a full cell's centre.
            if (first[cell + 1] - first[cell] >= (uint32_t)s->def.particles_per_cell)
                d = fminf(d, FILM);
            if (inner >> x & 1) d = fminf(d, FILM);
            phi[cell] = d;
            liquid[r] |= (uint8_t)((d < 0) << x);
        }
    }
}

/// Then empty cells that have a face to liquid: => phi, and in `found` those that are liquid too,
/// as gaps between particles are.
static void measure_beside(BrimSim *s, int slot, uint8_t *found) {
    const Grid *g = &s->grid;
    TileMask occupied = mask_load(g, full_cells(s), slot), allowed, wanted = {{0}};
    uint64_t any = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask wet = mask_neighbour(g, s->liquid, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++) wanted.slice[z] |= wet.slice[z];
    }
    for (int z = 0; z < g->tile_depth; z++) any |= wanted.slice[z] &= ~occupied.slice[z];
    if (!any) return;
    allowed = allowed_cells(s, slot);
    NearRows near;
    bool ready = false;
    for (int r = 0; r < g->tile_rows; r++) {
        uint8_t cells = mask_bits(&wanted, r) & mask_bits(&allowed, r);
        if (cells && !ready) {
            near_begin(s, slot, &near);
            ready = true;
        }
        float distance[TILE];
        if (cells) row_distances(s, &near, slot, r, cells, distance);
        for (; cells; cells &= (uint8_t)(cells - 1)) {
            int x = __builtin_ctz(cells);
            s->phi[(size_t)slot * (size_t)g->tile_cells + (size_t)(r * TILE + x)] = distance[x];
            found[r] |= (uint8_t)((distance[x] < 0) << x);
        }
    }
}

/// Cells of a tile that have air beside them: by a face that is open, to a cell of the domain. Of a
/// cell whose centre lies in a solid, as in the wedge under a ball on the floor, nothing tells
/// whether it holds air: it is none to those beside it.
static TileMask air_beside(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    const bool solid = solid_here(s, slot);
    TileMask m = {{0}}, rock = {{0}};
    for (int n = 0; n < 2 * s->dim; n++) {
        int up = n & 1 ? 1 : -1;
        TileMask wet = mask_neighbour(g, s->liquid, slot, n >> 1, up);
        TileMask side = mask_side(g, slot, n >> 1, up), shut = shut_faces(s, slot, n);
        if (solid) rock = mask_neighbour(g, s->rock, slot, n >> 1, up);
        for (int z = 0; z < g->tile_depth; z++) {
            uint64_t wall = s->sides.open[n] ? 0 : side.slice[z];
            m.slice[z] |= ~(wet.slice[z] | rock.slice[z] | shut.slice[z] | wall);
        }
    }
    return m;
}

/// Cells that hold particles or that a solid cuts, beside liquid and with no air beside them, lie
/// below the surface. What particles are near does not tell it there: their mean is drawn away by
/// walls, or the flow along one has left a cell empty. Taken for air in the midst of liquid it
/// would suck it in, with the pressure of all the water above. A layer of them => found; returns
/// whether there are any.
static bool find_enclosed(const BrimSim *s, int slot, uint8_t *found) {
    const Grid *g = &s->grid;
    TileMask dry = mask_load(g, s->particles.occupied, slot), cut = cut_cells(s, slot);
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++)
        any |= dry.slice[z] = (dry.slice[z] | cut.slice[z]) & ~mask_word(g, s->liquid, slot, z);
    if (!any || fine_near(s, slot)) return false; // beyond a thin wall there may be other liquid
    TileMask air = air_beside(s, slot), allowed = allowed_cells(s, slot), wet = {{0}};
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask near = mask_neighbour(g, s->liquid, slot, n >> 1, n & 1 ? 1 : -1);
        TileMask shut = shut_faces(s, slot, n);
        for (int z = 0; z < g->tile_depth; z++) wet.slice[z] |= near.slice[z] & ~shut.slice[z];
    }
    any = 0;
    for (int z = 0; z < g->tile_depth; z++)
        any |= dry.slice[z] &= wet.slice[z] & ~air.slice[z] & allowed.slice[z];
    for (int r = 0; r < g->tile_rows; r++) found[r] |= mask_bits(&dry, r);
    return any != 0;
}

/// Last, cells that were taken to be deep inside, since all around them hold particles, and have
/// one beside them that is air by its distance: => phi.
static void measure_top(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    if (!s->wet[slot]) return;
    float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells;
    TileMask air = air_beside(s, slot);
    PaddedRows padded;
    NearRows near;
    bool ready = false;
    for (int r = 0; r < g->tile_rows; r++) {
        size_t row = (size_t)slot * (size_t)g->tile_rows + (size_t)r;
        uint8_t cells = s->liquid[row] & s->particles.occupied[row] & mask_bits(&air, r), deep = 0;
        for (uint8_t bits = cells; bits; bits &= (uint8_t)(bits - 1)) {
            int x = __builtin_ctz(bits);
            deep |= (uint8_t)((phi[r * TILE + x] == -LEVEL_SET_CUT) << x);
        }
        if (!deep) continue;
        if (!ready) {
            if (has_band(s)) pad_rows(s, s->particles.occupied, slot, 0xff, &padded);
            near_begin(s, slot, &near);
            ready = true;
        }
        if (has_band(s))
            deep &= row_deep(&padded, s->dim, r & 7, r >> 3); // it sees no hidden liquid
        if (!deep) continue;
        float distance[TILE];
        row_distances(s, &near, slot, r, deep, distance);
        for (; deep; deep &= (uint8_t)(deep - 1)) {
            int x = __builtin_ctz(deep);
            phi[r * TILE + x] = fminf(distance[x], FILM);
        }
    }
}

/// Cells of a tile that stand on a floor: a wall or a shut face where gravity points.
static TileMask on_floor(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    BrimVec3 gravity = gravity_at(s, s->walls.time); // the end of the step, here and when resumed
    const float pull[3] = {gravity.x, gravity.y, s->dim == 3 ? gravity.z : 0};
    int axis = 0;
    for (int a = 1; a < s->dim; a++)
        if (fabsf(pull[a]) > fabsf(pull[axis])) axis = a;
    if (pull[axis] == 0) return (TileMask){{0}};
    int up = pull[axis] > 0;
    TileMask m =
        s->sides.open[2 * axis + up] ? (TileMask){{0}} : mask_side(g, slot, axis, up ? 1 : -1);
    TileMask shut = shut_faces(s, slot, 2 * axis + up);
    for (int z = 0; z < g->tile_depth; z++) m.slice[z] |= shut.slice[z];
    return m;
}

/// Films too thin for the averaged positions: cells with particles on a floor and no liquid cell
/// beside them. Drops and sheets as thin as that fly without pressure.
static void find_films(BrimSim *s, int slot, uint8_t *found) {
    const Grid *g = &s->grid;
    TileMask occupied = mask_load(g, s->particles.occupied, slot), floor = on_floor(s, slot);
    TileMask beside = mask_load(g, s->liquid, slot);
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask near = mask_neighbour(g, s->liquid, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++) beside.slice[z] |= near.slice[z];
    }
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++)
        any |= occupied.slice[z] &= floor.slice[z] & ~beside.slice[z];
    if (!any) return;
    TileMask allowed = allowed_cells(s, slot);
    for (int r = 0; r < g->tile_rows; r++)
        found[r] |= mask_bits(&occupied, r) & mask_bits(&allowed, r);
}

/// Whether a cell beside a sheet is air that nothing else is near.
static bool clear_air(const BrimSim *s, int64_t cell) {
    if (cell < 0) return true;
    if (s->liquid[cell >> 3] >> (cell & 7) & 1) return false;
    // other cells are measured meanwhile
    return !(s->particles.occupied[cell >> 3] >> (cell & 7) & 1) || s->phi[cell] > 0.5f;
}

/// Whether a cell and the next along an axis hold a sheet together, this one more of it.
static bool holds_sheet(const BrimSim *s, int64_t cell, int axis, int step) {
    const Grid *g = &s->grid;
    int slot = (int)(cell / g->tile_cells), in_tile = (int)(cell % g->tile_cells);
    int64_t next = grid_step(g, slot, in_tile, axis, step);
    if (next < 0 || !(s->particles.occupied[next >> 3] >> (next & 7) & 1)) return false;
    if (s->liquid[next >> 3] >> (next & 7) & 1 || s->phi[next] >= TIE) return false;
    if (s->phi[cell] > s->phi[next] || (s->phi[cell] == s->phi[next] && step < 0)) return false;
    int beyond = (int)(next % g->tile_cells);
    return clear_air(s, grid_step(g, slot, in_tile, axis, -step)) &&
           clear_air(s, grid_step(g, (int)(next / g->tile_cells), beyond, axis, step));
}

/// Sheets of one cell whose middle lies between two: neither is liquid by its distance, and they
/// would be full of holes.
static void find_sheets(BrimSim *s, int slot, uint8_t *found) {
    const Grid *g = &s->grid;
    const int64_t first = (int64_t)slot * g->tile_cells;
    TileMask occupied = mask_load(g, s->particles.occupied, slot);
    TileMask liquid = mask_load(g, s->liquid, slot), allowed = allowed_cells(s, slot);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = occupied.slice[z] & allowed.slice[z] & ~liquid.slice[z]; bits;
             bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            bool sheet = false;
            for (int n = 0; n < 2 * s->dim && s->phi[first + cell] < TIE && !sheet; n++)
                sheet = holds_sheet(s, first + cell, n >> 1, n & 1 ? 1 : -1);
            if (sheet) found[cell >> 3] |= (uint8_t)(1 << (cell & 7));
        }
}

/// Whether a cell whose centre lies in a solid has liquid beside it that reaches over their face.
static bool water_covers_face(const BrimSim *s, int slot, int cell) {
    bool covers = false;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t next = grid_step(&s->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
        int64_t face = n & 1 ? next : (int64_t)slot * s->grid.tile_cells + cell;
        covers |= next >= 0 && s->liquid[next >> 3] >> (next & 7) & 1 &&
                  open_part(s, n >> 1, face) > 0 && s->phi[next] <= -0.5f;
    }
    return covers;
}

/// Cells that a solid cuts. Its surface is a plane there at best, in whose image the particles'
/// mean lies well; in inner corners, at round walls and where the flow has left the wall, the mean
/// is drawn away, and where the centre lies in the solid no distance tells anything. Taken for air
/// in the midst of liquid such a cell would suck it in, with the pressure of all the water above
/// (Batty et al. 2007 extend the liquid into solids to the same end). They are liquid when half of
/// their room is.
static void find_cut(BrimSim *s, int slot, int thread, uint8_t *found) {
    const Grid *g = &s->grid;
    if (!solid_here(s, slot)) return;
    TileMask near = mask_load(g, full_cells(s), slot), cells = cut_cells(s, slot);
    uint64_t any = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask beside = mask_neighbour(g, full_cells(s), slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < g->tile_depth; z++) near.slice[z] |= beside.slice[z];
    }
    TileMask rock = rock_cells(s, slot);
    for (int z = 0; z < g->tile_depth; z++) {
        cells.slice[z] = (cells.slice[z] | rock.slice[z]) & near.slice[z];
        any |= cells.slice[z] &= ~mask_word(g, s->liquid, slot, z);
    }
    if (!any) return;
    TileMask allowed = bound_cells(s, slot), closed = closed_cells(s, slot);
    for (int z = 0; z < g->tile_depth; z++) allowed.slice[z] &= ~closed.slice[z];
    const SolidNodes nodes = part_nodes(s, slot, thread);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = cells.slice[z] & allowed.slice[z]; bits; bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            bool in_solid = mask_has(&rock, cell);
            if ((in_solid && water_covers_face(s, slot, cell)) ||
                liquid_part(s, &nodes, slot, cell) > 0.5f)
                found[cell >> 3] |= (uint8_t)(1 << (cell & 7));
        }
}

/// Makes the cells found liquid.
static void add_cells(BrimSim *s, int slot, const uint8_t *found) {
    for (int r = 0; r < s->grid.tile_rows; r++) {
        size_t at = (size_t)slot * (size_t)s->grid.tile_rows + (size_t)r;
        s->liquid[at] |= found[r];
        for (uint8_t bits = found[r]; bits; bits &= (uint8_t)(bits - 1)) {
            float *phi = &s->phi[at * TILE + (size_t)__builtin_ctz(bits)];
            *phi = fminf(*phi, FILM);
        }
    }
}

/// Plain flags: a cell with a particle is liquid and the surface lies half a cell on.
static void flag_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask allowed = allowed_cells(s, slot);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = (size_t)slot * (size_t)g->tile_rows + (size_t)r;
        s->liquid[at] = full_cells(s)[at] & mask_bits(&allowed, r);
        for (int x = 0; x < TILE; x++)
            s->phi[at * TILE + (size_t)x] = s->liquid[at] >> x & 1 ? -0.5f : 0.5f;
    }
}

/// Cells that a pass adds to the liquid.
typedef struct Added {
    uint8_t *cells; ///< [rows]
    TeamCount tiles;
} Added;

static uint8_t *added_in(const BrimSim *s, const Added *added, int slot) {
    return added->cells + (size_t)slot * (size_t)s->grid.tile_rows;
}

/// Finds what cells of particles say nothing about. (phi, liquid) => added
static void find_beside(BrimSim *s, int slot, int thread, void *context) {
    uint8_t *here = added_in(s, context, slot);
    memset(here, 0, (size_t)s->grid.tile_rows);
    if (s->def.surface != BRIM_SURFACE_FLAGS)
        measure_beside(s, slot, here), find_films(s, slot, here), find_sheets(s, slot, here);
    find_cut(s, slot, thread, here);
}

static void add_tile(BrimSim *s, int slot, int thread, void *context) {
    add_cells(s, slot, added_in(s, context, slot));
    s->wet[slot] = mask_any(&s->grid, s->liquid, slot);
}

static void find_enclosed_in(BrimSim *s, int slot, int thread, void *context) {
    Added *added = context;
    uint8_t *here = added_in(s, added, slot);
    memset(here, 0, (size_t)s->grid.tile_rows);
    team_add(&added->tiles, find_enclosed(s, slot, here));
}

/// Fills a layer of cells that have no air beside them. Returns whether there was any.
static bool fill_enclosed(BrimSim *s, Added *added) {
    added->tiles = 0;
    tiles_for(s, find_enclosed_in, added);
    if (added->tiles == 0) return false;
    tiles_for(s, add_tile, added);
    return true;
}

bool find_surface(BrimSim *s) {
    Added added = {.cells = s->added};
    if (has_band(s) && !band_distance_room(s)) return false;
    if (has_band(s)) band_full(s);
    tiles_for(s, s->def.surface == BRIM_SURFACE_FLAGS ? flag_tile : measure_occupied, NULL);
    tiles_for(s, find_beside, &added);
    tiles_for(s, add_tile, &added);
    while (fill_enclosed(s, &added)) continue;
    if (s->def.surface != BRIM_SURFACE_FLAGS) tiles_for(s, measure_top, NULL);
    if (has_band(s)) band_distance(s);
    return true;
}

BrimResult stage_surface(BrimSim *s, BrimError *error) {
    if (s->tracking.kernels) track_surface(s, s->dt);
    if (!find_surface(s)) return step_out_of_memory(s, "surface", error);
    if (s->tracking.kernels) track_particles(s, s->dt);
    return BRIM_OK;
}
