// Stage 7: particles -> grid, by blocks of a tile and one cell around it (scatter.h).
#include "base/memory.h"
#include "grid/mask.h"
#include "step/scatter.h"
#include "step/stages.h"
#include "walls/solid_fine.h"
#include <string.h>

/// Blocks that weigh less than this on a face say nothing about its velocity.
static const float WEIGHT_MIN = 1e-6f;

/// Floats of one component of a block, and of the copy of its two sides behind the block.
static size_t component_floats(const BrimSim *s) {
    return s->dim == 3 ? SCATTER_3D / 3 : SCATTER_2D / 2;
}
static size_t side_floats(const BrimSim *s) {
    return s->dim == 3 ? SCATTER_SIDE_3D : SCATTER_SIDE_2D;
}
static size_t block_floats(const BrimSim *s) {
    return (size_t)s->dim * (component_floats(s) + 2 * side_floats(s));
}

static void clear_rows(const BrimSim *s, const ScatterRows *touched, float *block) {
    enum { E = SCATTER_EDGE };
    size_t component = component_floats(s);
    for (int z = 0; z < (s->dim == 3 ? E : 1); z++) {
        unsigned rows = touched->rows[z];
        if (!rows) continue;
        int first = __builtin_ctz(rows), count = 32 - __builtin_clz(rows) - first;
        for (int a = 0; a < s->dim; a++)
            memset(block + (size_t)a * component + 2 * E * (z * E + first), 0,
                   sizeof(float) * (size_t)(2 * E * count));
    }
}

/// Adds a layer of (momentum, weight) pairs of one component to another: what a particle gives to
/// nodes beyond the domain goes to the last ones inside, as grid -> particles repeats those.
static void fold_layer(float *component, const ScatterRows *touched, int axis, int depth, int from,
                       int to) {
    enum { E = SCATTER_EDGE };
    const int step = (to - from) * (axis == 0 ? 2 : axis == 1 ? 2 * E : 2 * E * E);
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < E; y++) {
            if (!(touched->rows[z] >> y & 1) || (axis == 1 && y != from) ||
                (axis == 2 && z != from))
                continue;
            float *row = component + 2 * E * (z * E + y);
            for (int i = axis == 0 ? 2 * from : 0; i < (axis == 0 ? 2 * from + 2 : 2 * E); i++)
                row[i + step] += row[i], row[i] = 0;
        }
}

static void fold_sides(const BrimSim *s, int slot, const ScatterRows *touched, float *block) {
    const Grid *g = &s->grid;
    const int16_t c[3] = {g->coord[slot].x, g->coord[slot].y, g->coord[slot].z};
    int depth = s->dim == 3 ? SCATTER_EDGE : 1;
    size_t component = component_floats(s);
    for (int axis = 0; axis < s->dim; axis++) {
        int end = g->cells[axis] - c[axis] * TILE; // cells of the domain from this tile on
        for (int a = 0; a < s->dim; a++) {
            if (a == axis) continue; // the normal component ends on the wall itself
            float *at = block + (size_t)a * component;
            if (c[axis] == 0) fold_layer(at, touched, axis, depth, 0, 1);
            if (end <= TILE) fold_layer(at, touched, axis, depth, end + 1, end);
        }
    }
}

/// Copies the first and the last column of a block to behind it: for the tiles beside, which would
/// else fetch a whole line of memory for each pair.
static void pack_sides(const BrimSim *s, const ScatterRows *touched, float *block) {
    enum { E = SCATTER_EDGE };
    size_t side = side_floats(s);
    for (int a = 0; a < s->dim; a++) {
        const float *from = block + (size_t)a * component_floats(s);
        float *to = block + (size_t)s->dim * component_floats(s) + (size_t)a * 2 * side;
        for (int z = 0; z < (s->dim == 3 ? E : 1); z++)
            for (unsigned rows = touched->rows[z]; rows; rows &= rows - 1) {
                int row = z * E + __builtin_ctz(rows);
                memcpy(to + 2 * row, from + 2 * E * row, 2 * sizeof(float));
                memcpy(to + side + 2 * row, from + 2 * E * row + 2 * (E - 1), 2 * sizeof(float));
            }
    }
}

/// A tile's particles into its block: (momentum, mass), or with a context (mass, volume).
static void scatter_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    float *block = scatter_block(s, slot, block_floats(s));
    ScatterRows *touched = &s->scatter_rows[slot];
    *touched = scatter_reach(s, slot);
    clear_rows(s, touched, block);
    Span span = sim_span(s, slot, 1);
    if (context) { // a particle's mass in the place of its velocity, and all volumes are 1
        for (int a = 0; a < s->dim; a++) span.attr[ATTR_VX + a] = span.attr[ATTR_MASS];
        span.attr[ATTR_MASS] = NULL;
    }
    s->transfer->to_block(&span, !context && particles_carry(&s->particles, ROW_AFFINE), block);
    fold_sides(s, slot, touched, block);
    if (touched->columns & (1 | 1 << (SCATTER_EDGE - 1))) pack_sides(s, touched, block);
}

/// Rows of a tile that a neighbour's block reaches, bit z * 8 + y. d: its offset in tiles.
static uint64_t reached_rows(const Grid *g, const ScatterRows *from, const int d[3]) {
    if ((d[0] < 0 && !(from->columns >> (SCATTER_EDGE - 1))) || (d[0] > 0 && !(from->columns & 1)))
        return 0;
    uint64_t rows = 0;
    for (int z = d[2] > 0 ? TILE - 1 : 0; z < (d[2] < 0 ? 1 : g->tile_depth); z++) {
        unsigned bits = from->rows[g->dim == 3 ? z + 1 - TILE * d[2] : 0];
        bits = d[1] == 0 ? bits >> 1 & 0xff : d[1] < 0 ? bits >> (TILE + 1) & 1 : (bits & 1) << 7;
        rows |= (uint64_t)bits << (8 * z);
    }
    return rows;
}

/// Particles reach over a thin wall, and a face beyond it, where nothing holds it up, would fall
/// and they with it. Beside thin walls a face is known only when it touches a cell that holds
/// liquid of its own; others take the mean of those, as in air.
static void forget_beyond_walls(const BrimSim *s, int slot, int axis, TileMask *known) {
    const float near = 1.5f * s->dx;
    const Grid *g = &s->grid;
    if (!s->solid_at[slot] || !fine_near(s, slot)) return;
    TileMask own = own_cells(s, s->particles.occupied, slot);
    TileMask below = own_beside(s, s->particles.occupied, slot, axis, -1);
    for (int z = 0; z < g->tile_depth && has_band(s); z++)
        own.slice[z] |= mask_word(g, s->interior, slot, z);
    if (has_band(s)) {
        TileMask interior = mask_neighbour(g, s->interior, slot, axis, -1);
        for (int z = 0; z < g->tile_depth; z++) below.slice[z] |= interior.slice[z];
    }
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = known->slice[z] & ~(own.slice[z] | below.slice[z]); bits;
             bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            if (solid_distance_at(s, (int64_t)slot * g->tile_cells + cell) < near)
                known->slice[z] &= ~(bits & -bits);
        }
}

/// The blocks around a tile and what of it they reach. Returns the rows that any does.
static uint64_t find_near(const BrimSim *s, int slot, ScatterNear *near) {
    const Grid *g = &s->grid;
    size_t floats = block_floats(s), sides = (size_t)s->dim * component_floats(s);
    uint64_t reached = 0;
    *near = (ScatterNear){{0}, {0}, {0}};
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        if (t < 0 || s->scatter_at[t] < 0) continue;
        const int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        near->reach[n] = reached_rows(g, &s->scatter_rows[t], d);
        reached |= near->reach[n];
        near->block[n] = scatter_block(s, t, floats);
        near->side[n] = near->block[n] + sides;
    }
    return reached;
}

/// On to the next component.
static void next_component(const BrimSim *s, ScatterNear *near) {
    for (int n = 0; n < 27; n++)
        if (near->reach[n])
            near->block[n] += component_floats(s), near->side[n] += 2 * side_floats(s);
}

/// Sums the blocks that reach a tile and divides. => velocity, old, known; with a band only old,
/// and that only in tiles that particles reach: reached
static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    bool weights = has_band(s) && s->def.band_combine == BRIM_BAND_DENSITY;
    ScatterNear near;
    uint64_t reached = find_near(s, slot, &near);
    if (has_band(s)) s->reached[slot] = reached != 0;
    if (has_band(s) && !reached) {
        for (int a = 0; a < s->dim; a++) mask_store(g, s->known[a], slot, &(TileMask){{0}});
        return;
    }
    TileMask inside = mask_inside(g, slot);
    for (int a = 0; a < s->dim; a++) {
        TileMask known, far = mask_layer(g, slot, a, g->cells[a]);
        float *old = s->old[a] ? s->old[a] + base : NULL;
        s->transfer->gather(&near, s->dim, WEIGHT_MIN, has_band(s) ? old : s->velocity[a] + base,
                            has_band(s) ? NULL : old, weights ? s->weight[a] + base : NULL,
                            (uint8_t *)known.slice);
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] &= inside.slice[z] | far.slice[z];
        if (s->walls.fine_count) forget_beyond_walls(s, slot, a, &known);
        mask_store(g, s->known[a], slot, &known);
        next_component(s, &near);
    }
}

/// From blocks of (mass, volume) => inverse_density, mixed
static void gather_density(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    ScatterNear near;
    uint64_t reached = find_near(s, slot, &near);
    for (int a = 0; a < s->dim; a++, next_component(s, &near)) {
        TileMask known = {{0}}, mixed = {{0}};
        float *density = s->inverse_density[a] + (size_t)slot * (size_t)g->tile_cells;
        if (reached)
            s->transfer->gather(&near, s->dim, WEIGHT_MIN, density, NULL, NULL,
                                (uint8_t *)known.slice);
        for (int z = 0; z < g->tile_depth; z++)
            for (uint64_t bits = known.slice[z]; bits; bits &= bits - 1) {
                float *at = &density[z * 64 + __builtin_ctzll(bits)];
                if (*at != 1) mixed.slice[z] |= bits & -bits;
                *at = 1 / *at;
            }
        mask_store(g, s->mixed[a], slot, &mixed);
    }
}

/// False when out of memory.
static bool scatter_all(BrimSim *s) {
    const Scatter flow = {block_floats(s), scatter_tile, gather_tile, NULL};
    bool masses = true;
    const Scatter density = {block_floats(s), scatter_tile, gather_density, &masses};
    return (!s->mixed[0] || scatter_run(s, &density)) && scatter_run(s, &flow);
}

BrimResult stage_to_grid(BrimSim *s, BrimError *error) {
    return scatter_all(s) ? BRIM_OK : step_out_of_memory(s, "to_grid", error);
}
