// A cell of the band is cut into as many parts as it has particles, with a random point in each.
// Anywhere in the part, whatever the scene's jitter: else a flow slower than the gap between points
// and the cell's sides would carry particles down and never bring any up. A point whose path begins
// in a hidden cell holds liquid that had no particle.
#include "band/rise.h"
#include "base/hash.h"
#include "base/memory.h"
#include "particles/seed.h"
#include "walls/lookup.h"
#include "walls/sight.h"
#include "walls/solid_fine.h"
#include "walls/solid_masks.h"
#include <math.h>

enum { EDGE = TILE + 2 };

/// Cells that were hidden in the tiles around one: bit x + 8 of [z + 8][y + 8], in cells of the
/// tile; in 2D only z = 0. Cells beyond the domain are as those at its side.
typedef struct HiddenNear {
    uint32_t rows[3 * TILE][3 * TILE];
} HiddenNear;

/// A tile's points, and what tells where they came from.
typedef struct Lattice {
    const BrimSim *s;
    int slot, per_axis;
    int tile[3];          ///< first cell
    const float *back[3]; ///< blocks of halo 1: paths, cells
    bool solid;           ///< solids are near
    bool thin;            ///< and thin ones, which part liquid
    uint32_t turn[4];     ///< how far the points went since the first step, along each axis
    HiddenNear *hidden;
} Lattice;

static bool was_hidden(const BrimSim *s, int x, int y, int z) {
    int64_t i = grid_cell(&s->grid, x, y, z);
    return i >= 0 && band_bit(s->hidden, i);
}

static int within(int x, int end) {
    return x < 0 ? 0 : x < end ? x : end - 1;
}

/// A row of cells around a tile, y and z in cells of the domain.
static uint32_t hidden_row(const BrimSim *s, const int tile[3], int y, int z) {
    const Grid *g = &s->grid;
    y = within(y, g->cells[1]), z = within(z, g->cells[2]);
    uint32_t row = 0;
    for (int k = -1; k <= 1; k++) {
        int x = tile[0] + k * TILE;
        if (x < 0 || x >= g->cells[0]) continue;
        int64_t i = grid_cell(g, x, y, z);
        if (i >= 0) row |= (uint32_t)s->hidden[i >> 3] << (TILE * (k + 1));
    }
    uint32_t inside = 0xffffff;
    int end = g->cells[0] - tile[0] + TILE; // bits from here on lie beyond the domain
    if (tile[0] == 0) row |= row >> TILE & 1 ? 0xff : 0;
    if (end >= 3 * TILE) return row;
    inside >>= 3 * TILE - end;
    return (row & inside) | (row >> (end - 1) & 1 ? 0xffffff & ~inside : 0);
}

static void find_hidden(const BrimSim *s, const int tile[3], HiddenNear *near) {
    for (int z = -TILE; z < 2 * TILE; z++)
        for (int y = -TILE; y < 2 * TILE; y++)
            if (s->dim == 3 || z == 0)
                near->rows[z + TILE][y + TILE] = hidden_row(s, tile, tile[1] + y, tile[2] + z);
}

/// Whether a cell was hidden, in cells of the tile.
static bool hidden_at(const Lattice *l, int x, int y, int z) {
    if (x >= -TILE && x < 2 * TILE && y >= -TILE && y < 2 * TILE && z >= -TILE && z < 2 * TILE)
        return l->hidden->rows[z + TILE][y + TILE] >> (x + TILE) & 1;
    const int *cells = l->s->grid.cells;
    return was_hidden(l->s, within(l->tile[0] + x, cells[0]), within(l->tile[1] + y, cells[1]),
                      within(l->tile[2] + z, cells[2]));
}

static Lattice lattice_of(const BrimSim *s, int slot, int thread, HiddenNear *hidden) {
    TileCoord c = s->grid.coord[slot];
    Lattice l = {.s = s,
                 .slot = slot,
                 .per_axis = seed_per_axis(s->dim, s->def.particles_per_cell),
                 .tile = {c.x * TILE, c.y * TILE, c.z * TILE},
                 .solid = solid_here(s, slot),
                 .thin = fine_near(s, slot),
                 .hidden = hidden};
    static const double turns[4] = {0.8566748838545029, 0.7338918566271260, 0.6287067210378087,
                                    0.5385972572236101}; // powers of 1 / x, x^5 = x + 1
    for (int k = 0; k < 4; k++)
        l.turn[k] = (uint32_t)(uint64_t)fmod((double)(s->step + 1) * turns[k] * 0x1p24, 0x1p24);
    find_hidden(s, l.tile, hidden);
    ThreadScratch *scratch = &s->scratch[thread];
    for (int a = 0; a < s->dim; a++) {
        block_load(&s->grid, slot, s->path[a], PLACE_CELL, &s->sides, 1, NAN, scratch->block[a]);
        l.back[a] = scratch->block[a];
    }
    return l;
}

// ------------------------------------------------------------------------------------ one point

/// A block of halo 1 at a point in its own nodes, counted from the tile's first.
static float sample(const float *block, int dim, const float at[3]) {
    int node[3] = {0};
    float f[3] = {0}, sum = 0;
    for (int a = 0; a < dim; a++) {
        float x = at[a] + 1;
        x = x > 0 ? x : 0;
        x = x < EDGE - 1.001f ? x : EDGE - 1.001f;
        node[a] = (int)x;
        f[a] = x - (float)node[a];
    }
    const float *low = block + (node[2] * EDGE + node[1]) * EDGE + node[0];
    for (int n = 0; n < (dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        if (w > 0) sum += w * low[((n >> 2) * EDGE + (n >> 1 & 1)) * EDGE + (n & 1)];
    }
    return sum;
}

/// A number from 0 to 1 that begins at random and from step to step goes through the whole range as
/// evenly as can be (additive recurrences in four dimensions: Roberts 2018): over many steps as
/// many points rise as liquid does. Chance would pile up, move the surface, and stir water at rest.
static inline float spread(uint64_t h, int k, uint32_t turn) {
    return (float)(((uint32_t)(h >> (24 * k)) + turn) & 0xffffffu) * 0x1p-24f;
}

/// A random place along an axis: in part `sub` of n of a cell.
static inline float place_in(int cell, int sub, int n, float random) {
    return (float)cell + ((float)sub + 0.0005f + 0.999f * random) / (float)n;
}

/// A random point of part `index` of a cell, in cells of the tile, from the cell's hash. Returns a
/// random number from 0 to 1 that belongs to the point. Axis by axis and not in a loop: compilers
/// make vectors of its arrays and then wait for them.
static float point(const Lattice *l, int cell, uint64_t hash, int index, float at[3]) {
    int n = l->per_axis, row = index / n;
    uint64_t h = hash_mix(hash + (uint64_t)index), h2 = hash_mix(h);
    at[0] = place_in(cell & 7, index - row * n, n, spread(h, 0, l->turn[0]));
    at[1] = place_in(cell >> 3 & 7, row % n, n, spread(h, 1, l->turn[1]));
    at[2] = l->s->dim == 3 ? place_in(cell >> 6, row / n, n, spread(h2, 0, l->turn[2])) : 0;
    return spread(h2, 1, l->turn[3]);
}

/// Where a point of a tile was before, in cells of the tile. False where no velocity is known, as
/// in the void that a drain leaves: what is there came from nowhere.
static bool origin(const Lattice *l, int cell, const float at[3], float from[3]) {
    const float own[3] = {(float)(cell & 7), (float)(cell >> 3 & 7), (float)(cell >> 6)};
    from[2] = 0;
    for (int a = 0; a < l->s->dim; a++) {
        const float node[3] = {at[0] - 0.5f, at[1] - 0.5f, at[2] - 0.5f};
        float d = sample(l->back[a], l->s->dim, node);
        if (!(d == d)) d = sample(l->back[a], l->s->dim, own);
        if (!(d == d)) return false;
        float low = 1e-3f - (float)l->tile[a];
        float high = (float)(l->s->grid.cells[a] - l->tile[a]) - 1e-3f;
        float x = at[a] - d;
        x = x > low ? x : low;
        from[a] = x < high ? x : high;
    }
    return true;
}

static bool in_solid(const Lattice *l, const float at[3]) {
    float x[3] = {0};
    for (int a = 0; a < l->s->dim; a++) x[a] = ((float)l->tile[a] + at[a]) * l->s->dx;
    return solid_value(l->s, x) < 0;
}

/// Whether a wall stands between a point, m, and the middle of a cell of the tile, for which the
/// masks stand, when both have gone by some way.
static bool parted(const Lattice *l, const float at[3], const int cell[3], const float way[3]) {
    float middle[3] = {0};
    for (int a = 0; a < l->s->dim; a++)
        middle[a] = ((float)(l->tile[a] + cell[a]) + 0.5f) * l->s->dx + way[a];
    return !step_outside(l->s, middle) || wall_between(l->s, at, middle);
}

/// A path that would cross a wall ends before it; (from) => from. False when the point is none of
/// its cell's liquid. hidden: whether it was in hidden liquid at the path's end
static bool keep_side(const Lattice *l, int cell, const float at[3], float from[3], bool *hidden) {
    static const float none[3];
    const BrimSim *s = l->s;
    const int own[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    int before[3] = {0};
    float x[3] = {0}, start[3] = {0}, end[3], way[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        x[a] = ((float)l->tile[a] + at[a]) * s->dx;
        start[a] = ((float)l->tile[a] + from[a]) * s->dx;
    }
    if (parted(l, x, own, none)) return false;
    go_with_walls(s, start, (float)s->dt, end);
    float clear = clear_way(s, x, solid_value(s, x), end, solid_value(s, end));
    for (int a = 0; a < s->dim; a++) {
        way[a] = end[a] - start[a];
        end[a] += (1 - clear) * (x[a] - end[a]);
        from[a] = space_to_grid(s->space, end[a] - way[a]) - (float)l->tile[a];
        before[a] = (int)floorf(from[a]);
    }
    *hidden = hidden_at(l, before[0], before[1], before[2]) && !parted(l, end, before, way);
    return true;
}

// ------------------------------------------------------------------------------------- one cell

/// Where the liquid of a cell came from, roughly: a path and by how much those of its points may
/// differ from it, and which of the cells around there were hidden.
typedef struct Look {
    float path[3], spread[3];
    int low[3], size[3];
    bool hidden[27]; ///< a cell and half a spread on each side: at most three along an axis
    bool known;      ///< else paths differ too much, or one is missing: look at each point
    bool any;        ///< one of them was hidden
} Look;

static Look look_at(const Lattice *l, int cell) {
    static const int stride[3] = {1, EDGE, EDGE * EDGE};
    const BrimSim *s = l->s;
    const int local[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    int node = ((s->dim == 3 ? local[2] + 1 : 0) * EDGE + local[1] + 1) * EDGE + local[0] + 1;
    Look look = {.size = {1, 1, 1}, .known = true};
    for (int a = 0; a < s->dim; a++) {
        const float *back = l->back[a] + node;
        float d = back[0], spread = 1e-3f;
        for (int b = 0; b < s->dim; b++) {
            float up = fabsf(back[stride[b]] - d), down = fabsf(back[-stride[b]] - d);
            float most = up > down ? up : down;
            spread += 0.5f * most;
        }
        float middle = (float)local[a] + 0.5f - d;
        look.known &= spread < 0.5f && middle > -100 && middle < 100;
        if (!look.known) return look;
        look.path[a] = d, look.spread[a] = spread;
        look.low[a] = (int)floorf(middle - 0.5f - spread);
        look.size[a] = (int)floorf(middle + 0.5f + spread) - look.low[a] + 1;
    }
    int i = 0;
    for (int z = 0; z < look.size[2]; z++)
        for (int y = 0; y < look.size[1]; y++)
            for (int x = 0; x < look.size[0]; x++, i++) {
                look.hidden[i] = hidden_at(l, look.low[0] + x, look.low[1] + y, look.low[2] + z);
                look.any |= look.hidden[i];
            }
    return look;
}

/// Whether a point holds liquid that had no particle before.
static bool rises(const Lattice *l, const Look *look, int cell, const float at[3]) {
    int x[3] = {0};
    bool certain = look->known && !l->thin;
    for (int a = 0; a < l->s->dim && certain; a++) {
        float from = at[a] - look->path[a];
        x[a] = (int)floorf(from - look->spread[a]);
        certain = x[a] == (int)floorf(from + look->spread[a]);
        x[a] -= look->low[a];
    }
    if (certain) return look->hidden[(x[2] * look->size[1] + x[1]) * look->size[0] + x[0]];
    float from[3];
    bool hidden;
    if (!origin(l, cell, at, from)) return false;
    if (l->thin) return keep_side(l, cell, at, from, &hidden) && hidden;
    for (int a = 0; a < l->s->dim; a++) x[a] = (int)floorf(from[a]);
    return hidden_at(l, x[0], x[1], x[2]);
}

static bool keep(ThreadScratch *scratch, const float at[3], const float from[3]) {
    size_t count = scratch->risen_count;
    if (count == scratch->risen_capacity &&
        !memory_grow((void **)&scratch->risen, &scratch->risen_capacity, sizeof *scratch->risen,
                     count + 1024, count))
        return false;
    scratch->risen[scratch->risen_count++] =
        (Risen){{at[0], at[1], at[2]}, {from[0], from[1], from[2]}};
    return true;
}

bool band_rising(BrimSim *s, const BandExchange *e, int slot, int thread) {
    const Grid *g = &s->grid;
    const size_t at = (size_t)slot * (size_t)g->tile_rows;
    const uint8_t *rows = e->rim + at;
    TileCoord c = g->coord[slot];
    uint64_t box = (uint64_t)grid_box_index(g, c.x, c.y, c.z) * (uint64_t)g->tile_cells;
    HiddenNear hidden;
    Lattice l = lattice_of(s, slot, thread, &hidden);
    for (int r = 0; r < g->tile_rows; r++)
        for (uint8_t bits = rows[r]; bits; bits &= (uint8_t)(bits - 1)) {
            int cell = r * TILE + __builtin_ctz(bits);
            Look look = {.known = true};
            if (e->extra <= 0) look = look_at(&l, cell);
            bool some = !look.known || look.any || (l.thin && e->extra <= 0);
            float extra = e->edge[at + (size_t)r] & (bits & -bits) ? e->extra : 0;
            if (!some && extra <= 0) continue;
            // What is missing takes other points than what rises in the same step.
            uint64_t hash = hash_3(s->def.seed, box + (uint64_t)cell, e->extra > 0);
            for (int i = 0; i < s->def.particles_per_cell; i++) {
                float to[3], from[3], dice = point(&l, cell, hash, i, to);
                bool deep;
                if (dice >= extra && !(some && rises(&l, &look, cell, to))) continue;
                if (l.solid && in_solid(&l, to)) continue;
                if (!origin(&l, cell, to, from)) continue;
                if (l.thin && !keep_side(&l, cell, to, from, &deep)) continue;
                if (!keep(&s->scratch[thread], to, from)) return false;
            }
        }
    return true;
}
