// Stage 11: velocity beyond the liquid. Layer by layer a face that touches known ones takes their
// mean; then faces on walls get the walls' velocity. What stays unknown is marked as not a number:
// a particle that gets there flies on by itself.
#include "step/stages.h"
#include <math.h>
#include <string.h>

/// Faces of a row that are not known but touch a known face of the same component.
static uint8_t row_candidates(const BrimSim *s, const uint8_t *known, int slot, int row) {
    const Grid *g = &s->grid;
    const int32_t *near = g->neighbour[slot];
    const uint8_t *mine = known + (size_t)slot * (size_t)g->tile_rows;
    int y = row & 7, z = row >> 3;
    unsigned here = mine[row], beside = here << 1 | here >> 1;
#define ROW(NEIGHBOUR, INDEX)                                                                      \
    (near[NEIGHBOUR] < 0 ? 0u : known[(size_t)near[NEIGHBOUR] * (size_t)g->tile_rows + (INDEX)])
    beside |= ROW(TILE_SELF - 1, (size_t)row) >> 7 | ROW(TILE_SELF + 1, (size_t)row) << 7;
    beside |= y > 0 ? mine[row - 1] : ROW(TILE_SELF - 3, (size_t)(row + 7));
    beside |= y < 7 ? mine[row + 1] : ROW(TILE_SELF + 3, (size_t)(row - 7));
    if (s->dim == 3) {
        beside |= z > 0 ? mine[row - 8] : ROW(TILE_SELF - 9, (size_t)(row + 56));
        beside |= z < 7 ? mine[row + 8] : ROW(TILE_SELF + 9, (size_t)(row - 56));
    }
#undef ROW
    uint8_t wanted = (uint8_t)(beside & ~here);
    return wanted ? wanted & row_inside(g, slot, row) : 0;
}

static float mean_of_known(const BrimSim *s, const float *v, const uint8_t *known, int slot,
                           int cell) {
    float sum = 0;
    int count = 0;
    for (int a = 0; a < s->dim; a++)
        for (int d = -1; d <= 1; d += 2) {
            int64_t i = grid_step(&s->grid, slot, cell, a, d);
            if (i < 0 || !(known[i >> 3] >> (i & 7) & 1)) continue;
            sum += v[i];
            count++;
        }
    return sum / (float)count;
}

/// One layer of one tile. Reads known faces, writes unknown ones; the new ones are noted in
/// `fresh` and become known when all tiles are done. Returns whether there were any.
static bool grow_tile(BrimSim *s, int axis, int slot, uint8_t *fresh) {
    float *v = s->velocity[axis];
    const uint8_t *known = s->known[axis];
    bool any = false;
    for (int r = 0; r < s->grid.tile_rows; r++) {
        uint8_t bits = row_candidates(s, known, slot, r);
        fresh[r] = bits;
        any |= bits != 0;
        for (; bits; bits &= (uint8_t)(bits - 1)) {
            int cell = r * TILE + __builtin_ctz(bits);
            v[(size_t)slot * (size_t)s->grid.tile_cells + (size_t)cell] =
                mean_of_known(s, v, known, slot, cell);
        }
    }
    return any;
}

/// Distance to the solids at a face and its direction; false far from them.
static bool solid_normal(const BrimSim *s, int slot, int cell, int axis, float n[3]) {
    TileCoord c = s->grid.coord[slot];
    int at[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7), c.z * TILE + (cell >> 6)};
    float length = 0;
    for (int b = 0; b < s->dim; b++) { // differences over the cells on both sides of the face
        float g = 0;
        for (int k = 0; k < (s->dim == 3 ? 8 : 4); k++) {
            int p[3] = {at[0] + (k & 1), at[1] + (k >> 1 & 1), at[2] + (k >> 2)};
            if (b == axis) p[b] += k >> b & 1 ? 0 : -1; // one cell to either side
            int64_t i = grid_cell(&s->grid, p[0], p[1], p[2]);
            if (i < 0) return false;
            g += k >> b & 1 ? s->solid_phi[i] : -s->solid_phi[i];
        }
        n[b] = g;
        length += g * g;
    }
    if (length <= 0) return false;
    for (int b = 0; b < s->dim; b++) n[b] /= sqrtf(length);
    return true;
}

/// Mean of another component (or of the walls' speed) on the four (2D: two... four) faces around.
static float component_at(const BrimSim *s, float *const field[3], int slot, int cell, int axis,
                          int other) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    if (other == axis) return field[axis][me];
    TileCoord c = s->grid.coord[slot];
    int at[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7), c.z * TILE + (cell >> 6)};
    float sum = 0;
    int count = 0;
    for (int k = 0; k < 4; k++) {
        int p[3] = {at[0], at[1], at[2]};
        p[axis] -= k & 1;
        p[other] += k >> 1;
        int64_t i = grid_cell(&s->grid, p[0], p[1], p[2]);
        if (i < 0 || !(field[other][i] == field[other][i])) continue;
        sum += field[other][i];
        count++;
    }
    return count ? sum / (float)count : 0;
}

/// Velocity of a face inside a solid: what flows there must slide along the wall,
/// u -= ((u - u_wall) . n) n.
static float slide(const BrimSim *s, int slot, int cell, int axis, bool moving) {
    float n[3], normal = 0;
    float *const *v = s->velocity;
    float mine = v[axis][(size_t)slot * (size_t)s->grid.tile_cells + (size_t)cell];
    if (!solid_normal(s, slot, cell, axis, n)) return mine;
    for (int b = 0; b < s->dim; b++) {
        float u = component_at(s, v, slot, cell, axis, b);
        if (moving) u -= component_at(s, s->wall_speed, slot, cell, axis, b);
        normal += u * n[b];
    }
    return mine - normal * n[axis];
}

/// Sets faces on the domain's walls and inside solids. Slid values go to `out` first, so that no
/// face reads a slid neighbour.
static void constrain_tile(const BrimSim *s, int slot, int axis, float *out) {
    const Grid *g = &s->grid;
    TileCoord c = g->coord[slot];
    const int16_t tile[3] = {c.x, c.y, c.z};
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    bool walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    bool moving = walls && s->wall_speed[0] && s->tile_solid[slot] == SOLID_MOVING;
    for (int i = 0; i < g->tile_cells; i++) {
        float v = s->velocity[axis][base + (size_t)i];
        if (walls && v == v && s->open[axis][base + (size_t)i] == 0)
            v = slide(s, slot, i, axis, moving);
        if (tile[axis] == 0 && (i >> (3 * axis) & 7) == 0 && !s->sides.open[2 * axis]) v = 0;
        out[base + (size_t)i] = v;
    }
}

static void forget_unknown(BrimSim *s, int slot) {
    for (int a = 0; a < s->dim; a++)
        for (int r = 0; r < s->grid.tile_rows; r++) {
            size_t row = (size_t)slot * (size_t)s->grid.tile_rows + (size_t)r;
            uint8_t known = s->known[a][row];
            if (known == 0xff) continue;
            for (int x = 0; x < TILE; x++)
                if (!(known >> x & 1)) s->velocity[a][row * TILE + (size_t)x] = NAN;
        }
}

static void measure_tile(BrimSim *s, int slot) {
    float fastest = 0;
    size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    for (int a = 0; a < s->dim; a++)
        for (int i = 0; i < s->grid.tile_cells; i++) {
            float v = fabsf(s->velocity[a][base + (size_t)i]);
            fastest = v > fastest ? v : fastest;
        }
    s->tile_speed[slot] = fastest;
}

/// Runs one layer over all tiles; false when nothing was left to do.
static bool grow_layer(BrimSim *s) {
    int tiles = s->grid.tile_count;
    size_t rows = (size_t)s->grid.tile_rows;
    bool any = false;
#pragma omp parallel num_threads(s->threads) reduction(| : any)
    for (int a = 0; a < s->dim; a++) {
        uint8_t *fresh = (uint8_t *)s->rhs; // [rows], free after the projection
#pragma omp for schedule(dynamic, 4)
        for (int t = 0; t < tiles; t++) any |= grow_tile(s, a, t, fresh + (size_t)t * rows);
#pragma omp for schedule(static)
        for (int t = 0; t < tiles; t++)
            for (size_t r = (size_t)t * rows; r < (size_t)(t + 1) * rows; r++)
                s->known[a][r] |= fresh[r];
    }
    return any;
}

void stage_extrapolate(BrimSim *s) {
    int tiles = s->grid.tile_count;
    int layers = (int)fmin(ceil(reach_estimate(s)), 64) + 2;
    for (int i = 0; i < layers && grow_layer(s); i++) {
    }
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < tiles; t++) forget_unknown(s, t);
    for (int a = 0; a < s->dim; a++) {
        float *out = s->coefficient[a]; // free after the projection
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
        for (int t = 0; t < tiles; t++) constrain_tile(s, t, a, out);
    }
    for (int a = 0; a < s->dim; a++) {
        float *swap = s->velocity[a];
        s->velocity[a] = s->coefficient[a];
        s->coefficient[a] = swap;
    }
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < tiles; t++) measure_tile(s, t);
}
