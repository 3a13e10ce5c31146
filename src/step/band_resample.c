// Band, stage 3: particles below the band go, those that rise into it come.
//
// The liquid below the band is thought of as filled with particles that nobody keeps. One of them
// that the flow carries up into the band must be there: a lattice point of the band is seeded when
// its path back ends in a cell that was hidden before the step. What the flow carries down goes
// when it enters a hidden cell. So liquid is made and taken as the flow moves it across the band's
// edge, no more on one side than on the other, and never by how many particles a cell happens to
// hold.
#include "base/hash.h"
#include "grid/mask.h"
#include "particles/seed.h"
#include "step/band.h"
#include <math.h>
#include <omp.h>
#include <string.h>

// ---------------------------------------------------------------------------------- particles go

/// Whether any of the 27 tiles around one has a bit in a mask.
static bool any_near(const BrimSim *s, const uint8_t *mask, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t < 0) continue;
        for (int z = 0; z < s->grid.tile_depth; z++)
            if (mask_word(&s->grid, mask, t, z)) return true;
    }
    return false;
}

/// Marks the particles of [first, end) that are in hidden cells.
static void take(BrimSim *s, const uint8_t *hidden, uint32_t first, uint32_t end) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells;
    uint32_t *key = s->particles.key;
    for (uint32_t i = first; i < end; i++) {
        if (key[i] >= KEY_GONE) continue;
        int32_t slot = s->grid.slot_of[key[i] / cells];
        if (slot >= 0 && band_bit(hidden, (int64_t)slot * cells + key[i] % cells))
            key[i] = KEY_HIDDEN;
    }
}

// -------------------------------------------------------------------------------- particles come

/// A tile's lattice, and what tells where its points came from.
typedef struct Lattice {
    const BrimSim *s;
    int slot, per_axis;
    const float *back[3]; ///< blocks of halo 1: paths, cells
    bool faces;           ///< those lie on faces, each component on its own, and not on centres
    bool solid;           ///< solids are near
} Lattice;

/// An exchange of particles across the band's edge.
typedef struct Exchange {
    const uint8_t *hidden;  ///< [rows] cells that shall hold none; the sim's own are those before
    const uint8_t *rim;     ///< [rows] cells to look at for liquid that came up
    float *const *paths;    ///< by how many cells the liquid in each cell came
    bool faces;             ///< paths are on faces and not on cells
    float share;            ///< of the liquid that came up to make particles of, 0 to 2
    float *const *velocity; ///< [faces] that this liquid has, where it came from
} Exchange;

/// The paths of a tile and around it into the thread's blocks.
static Lattice lattice_of(const BrimSim *s, const Exchange *e, int slot) {
    Lattice l = {.s = s,
                 .slot = slot,
                 .faces = e->faces,
                 .per_axis = seed_per_axis(s->dim, s->def.particles_per_cell),
                 .solid = s->solid_count && s->tile_solid[slot] != SOLID_FAR};
    ThreadScratch *scratch = &s->scratch[omp_get_thread_num()];
    for (int a = 0; a < s->dim; a++) {
        block_load(&s->grid, slot, e->paths[a], e->faces ? (Place)a : PLACE_CELL, &s->sides, 1,
                   e->faces ? 0 : NAN, scratch->block[a]);
        l.back[a] = scratch->block[a];
    }
    return l;
}

/// A block of halo 1 at a point in its own nodes, counted from the tile's first.
static float sample(const float *block, int dim, const float at[3]) {
    enum { EDGE = TILE + 2 };
    int node[3] = {0};
    float f[3] = {0}, sum = 0;
    for (int a = 0; a < dim; a++) {
        float x = fminf(fmaxf(at[a] + 1, 0), EDGE - 1.001f);
        node[a] = (int)x;
        f[a] = x - (float)node[a];
    }
    const float *low = block + (node[2] * EDGE + node[1]) * EDGE + node[0];
    for (int n = 0; n < (dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        sum += w * low[((n >> 2) * EDGE + (n >> 1 & 1)) * EDGE + (n & 1)];
    }
    return sum;
}

/// A random point of part `index` of a cell, in cells of the tile. Anywhere in the part, whatever
/// the scene's jitter: else a flow slower than the gap between points and the cell's sides would
/// carry particles down and never bring any up. Returns a random number from 0 to 1 that belongs to
/// the point.
static float point(const Lattice *l, int cell, int index, float at[3]) {
    const BrimSim *s = l->s;
    int n = l->per_axis, part = index % s->def.particles_per_cell;
    const int sub[3] = {part % n, part / n % n, part / (n * n)};
    const int local[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    TileCoord c = s->grid.coord[l->slot];
    uint64_t box = (uint64_t)grid_box_index(&s->grid, c.x, c.y, c.z);
    uint64_t id = (box * (uint64_t)s->grid.tile_cells + (uint64_t)cell) << 8 | (uint64_t)index;
    uint64_t h = hash_3(s->def.seed, id, (uint64_t)s->step + 1), h2 = hash_mix(h);
    const float r[3] = {hash_unit(h, 0), hash_unit(h, 1), hash_unit(h2, 0)};
    at[2] = 0;
    for (int a = 0; a < s->dim; a++)
        at[a] = (float)local[a] + ((float)sub[a] + 0.0005f + 0.999f * r[a]) / (float)n;
    return hash_unit(h2, 1);
}

/// Where a point of a tile was before the step, in cells of the tile.
static void origin(const Lattice *l, int cell, const float at[3], float from[3]) {
    const int local[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    TileCoord c = l->s->grid.coord[l->slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    int dim = l->s->dim;
    from[2] = 0;
    for (int a = 0; a < dim; a++) {
        float node[3] = {at[0] - 0.5f, at[1] - 0.5f, at[2] - 0.5f};
        if (l->faces) node[a] = at[a];
        const float own[3] = {(float)local[0], (float)local[1], (float)local[2]};
        float d = sample(l->back[a], dim, node);
        if (!(d == d)) d = sample(l->back[a], dim, own);
        float low = 1e-3f - (float)tile[a];
        float high = (float)(l->s->grid.cells[a] - tile[a]) - 1e-3f;
        from[a] = fminf(fmaxf(at[a] - d, low), high);
    }
}

static bool in_solid(const Lattice *l, const float at[3]) {
    const BrimSim *s = l->s;
    TileCoord c = s->grid.coord[l->slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    float f[3] = {0}, sum = 0;
    int node[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        node[a] = (int)at[a];
        f[a] = at[a] - (float)node[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < s->dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        int64_t i = grid_cell(&s->grid, tile[0] + node[0] + (n & 1),
                              tile[1] + node[1] + (n >> 1 & 1), tile[2] + node[2] + (n >> 2));
        sum += w * (i < 0 ? s->dx : s->solid_phi[i]);
    }
    return sum < 0;
}

/// Whether some of the liquid in a cell may have come from hidden cells: by the cell's path, and
/// how much those around it differ.
static bool cell_rises(const Lattice *l, int cell) {
    enum { EDGE = TILE + 2 };
    const BrimSim *s = l->s;
    static const int stride[3] = {1, EDGE, EDGE * EDGE};
    const int local[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    TileCoord c = s->grid.coord[l->slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    int node = ((s->dim == 3 ? local[2] + 1 : 0) * EDGE + local[1] + 1) * EDGE + local[0] + 1;
    int low[3] = {0}, high[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        float d = l->back[a][node], spread = 0;
        if (!(d == d)) return true;
        for (int b = 0; b < s->dim; b++) {
            float up = fabsf(l->back[a][node + stride[b]] - d);
            float down = fabsf(l->back[a][node - stride[b]] - d);
            float most = fmaxf(up == up ? up : 0, down == down ? down : 0);
            spread += l->faces ? most : 0.5f * most; // a cell reaches from one face to the next
        }
        float middle = (float)(tile[a] + local[a]) + 0.5f - d;
        float half = 0.5f + spread;
        int last = s->grid.cells[a] - 1;
        low[a] = (int)fminf(fmaxf(floorf(middle - half), 0), (float)last);
        high[a] = (int)fminf(fmaxf(floorf(middle + half), 0), (float)last);
    }
    bool any = false;
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x++) {
                int64_t i = grid_cell(&s->grid, x, y, z);
                any |= i >= 0 && band_bit(s->hidden, i);
            }
    return any;
}

/// Whether a point holds liquid that had no particle before the step. => where that came from
static bool rises(const Lattice *l, int cell, const float at[3], float from[3]) {
    const BrimSim *s = l->s;
    TileCoord c = s->grid.coord[l->slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    origin(l, cell, at, from);
    int x[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        if (!(from[a] == from[a])) return false;
        x[a] = tile[a] + (int)floorf(from[a]);
    }
    int64_t i = grid_cell(&s->grid, x[0], x[1], x[2]);
    return i >= 0 && band_bit(s->hidden, i) && !(l->solid && in_solid(l, at));
}

/// Calls for each point of a tile at which a particle is to be made; counts them.
typedef void MakePoint(void *context, const float at[3], const float from[3]);

static uint32_t visit_tile(const BrimSim *s, const Exchange *e, int slot, MakePoint *visit,
                           void *context) {
    const Grid *g = &s->grid;
    const uint8_t *rows = e->rim + (size_t)slot * (size_t)g->tile_rows;
    Lattice l = lattice_of(s, e, slot);
    uint32_t count = 0;
    int points = s->def.particles_per_cell * (e->share > 1 ? 2 : 1);
    for (int r = 0; r < g->tile_rows; r++)
        for (uint8_t bits = rows[r]; bits; bits &= (uint8_t)(bits - 1)) {
            int cell = r * TILE + __builtin_ctz(bits);
            bool some = cell_rises(&l, cell);
            for (int i = 0; some && i < points; i++) {
                float at[3], from[3], dice = point(&l, cell, i, at);
                float share = i < s->def.particles_per_cell ? e->share : e->share - 1;
                if (dice >= share || !rises(&l, cell, at, from)) continue;
                if (visit) visit(context, at, from);
                count++;
            }
        }
    return count;
}

static uint32_t count_tile(const BrimSim *s, const Exchange *e, int slot) {
    return mask_any(&s->grid, e->rim, slot) && any_near(s, s->hidden, slot)
               ? visit_tile(s, e, slot, NULL, NULL)
               : 0;
}

/// Velocity, and with APIC its gradient, of the liquid that came from a point.
static void give_velocity(BrimSim *s, const Exchange *e, int slot, const float from[3],
                          uint32_t i) {
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int a = 0; a < 3; a++) {
        float gradient[3] = {0}, v = 0;
        if (a < s->dim) {
            float node[3] = {0};
            for (int b = 0; b < s->dim; b++)
                node[b] = (float)tile[b] + from[b] - (a == b ? 0 : 0.5f);
            v = band_velocity(s, e->velocity[a], a, node, p->affine ? gradient : NULL);
        }
        p->attr[ATTR_VX + a][i] = v;
        for (int b = 0; b < 3 && p->affine; b++) p->attr[ATTR_AFFINE + 3 * a + b][i] = gradient[b];
    }
}

/// Where the next particle of a tile goes.
typedef struct Filler {
    BrimSim *s;
    const Exchange *e;
    int slot;
    uint32_t next, id;
} Filler;

static void fill_point(void *context, const float at[3], const float from[3]) {
    Filler *f = context;
    BrimSim *s = f->s;
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[f->slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    uint32_t i = f->next++;
    for (int a = 0; a < 3; a++)
        p->attr[ATTR_X + a][i] = a < s->dim ? ((float)tile[a] + at[a]) * s->dx : 0;
    give_velocity(s, f->e, f->slot, from, i);
    p->id[i] = f->id++;
    p->key[i] =
        cell_key(&s->grid, s->inv_dx, p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]);
}

/// What a drain's shape holds of the particles in [first, end) is gone at once.
static void drain_new(BrimSim *s, uint32_t first, uint32_t end) {
    Particles *p = &s->particles;
    double now = s->time + s->dt;
    for (int k = 0; k < s->drain_count; k++) {
        const Drain *d = &s->drains[k];
        if (now < d->def.start || now > d->def.stop) continue;
        for (uint32_t i = first; i < end; i += SEED_BATCH) {
            int n = end - i < SEED_BATCH ? (int)(end - i) : SEED_BATCH;
            float distance[SEED_BATCH];
            shape_distance(d->shape, n, p->attr[ATTR_X] + i, p->attr[ATTR_Y] + i,
                           p->attr[ATTR_Z] + i, distance);
            for (int m = 0; m < n; m++)
                if (distance[m] < 0) p->key[i + (uint32_t)m] = KEY_DRAINED;
        }
    }
}

/// Appends what rose into the band. False when out of memory.
static bool make(BrimSim *s, const Exchange *e) {
    int tiles = s->grid.tile_count;
    Particles *p = &s->particles;
    uint32_t *count = (uint32_t *)(void *)s->rhs; // [tiles + 1], far smaller than a field
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 2)
    for (int t = 0; t < tiles; t++) count[t] = count_tile(s, e, t);
    size_t sum = 0;
    for (int t = 0; t <= tiles; t++) {
        uint32_t here = t < tiles ? count[t] : 0;
        count[t] = (uint32_t)sum;
        sum += here;
    }
    size_t first = p->count;
    if (first + sum > UINT32_MAX - 16 || !particles_reserve(p, first + sum)) return false;
    p->count += sum;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 2)
    for (int t = 0; t < tiles; t++)
        if (count[t + 1] > count[t]) {
            Filler f = {s, e, t, (uint32_t)first + count[t], s->next_id + count[t]};
            visit_tile(s, e, t, fill_point, &f);
        }
    s->next_id += (uint32_t)sum;
    s->resampled += (int64_t)sum;
    s->band_raised += (double)sum;
    drain_new(s, (uint32_t)first, (uint32_t)p->count);
    return true;
}

/// `far`: particles may have moved farther than a tile.
static bool exchange(BrimSim *s, const Exchange *e, bool far) {
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < s->grid.tile_count; t++)
        if (far || any_near(s, e->hidden, t))
            take(s, e->hidden, tile_first(&s->particles, &s->grid, t),
                 tile_end(&s->particles, &s->grid, t));
    take(s, e->hidden, (uint32_t)s->particles.sorted, (uint32_t)s->particles.count);
    return make(s, e);
}

/// Exchanges favour neither side, but sums of chance walk, and displacements are larger where
/// particles are denser. Where density projection makes volume of particles, what is missing in the
/// whole account, or is too much, comes back within a few steps by the share of the rising liquid
/// that becomes particles.
static float share(const BrimSim *s) {
    enum { STEPS = 4 };
    if (s->def.volume == BRIM_VOLUME_NONE) return 1;
    double more = s->band_missing / (STEPS * fmax(s->band_raised, 1));
    return (float)fmin(fmax(1 + more, 0), 2);
}

bool band_resample(BrimSim *s) {
    BandNext next = band_next(s);
    s->band_share = share(s);
    s->band_raised = 0;
    const Exchange e = {next.hidden, next.rim, s->coefficient, false, s->band_share, s->velocity};
    if (!exchange(s, &e, reach_estimate(s) > TILE)) return false;
    memcpy(s->interior, next.interior, sim_rows(s));
    memcpy(s->hidden, next.hidden, sim_rows(s));
    return true;
}

// --------------------------------------------------------------------- after density projection

/// Cells up to `layers` faces away from hidden ones, and not hidden. => rim, by way of `spare`
static void find_rim(const BrimSim *s, int layers, uint8_t *rim, uint8_t *spare) {
    const Grid *g = &s->grid;
    memcpy(rim, s->hidden, sim_rows(s));
    for (int k = 0; k < layers; k++) {
        memcpy(spare, rim, sim_rows(s));
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 8)
        for (int t = 0; t < g->tile_count; t++) {
            TileMask m = mask_load(g, spare, t);
            for (int n = 0; n < 2 * s->dim; n++) {
                TileMask near = mask_neighbour(g, spare, t, n >> 1, n & 1 ? 1 : -1);
                for (int z = 0; z < g->tile_depth; z++) m.slice[z] |= near.slice[z];
            }
            mask_store(g, rim, t, &m);
        }
    }
    for (int t = 0; t < g->tile_count; t++) {
        TileMask m = mask_load(g, rim, t), hidden = mask_load(g, s->hidden, t);
        TileMask inside = mask_inside(g, t);
        for (int z = 0; z < g->tile_depth; z++) m.slice[z] &= ~hidden.slice[z] & inside.slice[z];
        mask_store(g, rim, t, &m);
    }
}

bool band_resample_shift(BrimSim *s, float largest) {
    BandNext next = band_next(s);
    find_rim(s, 2 + (int)largest, next.rim, next.interior);
    const Exchange e = {s->hidden, next.rim, s->velocity, true, s->band_share, s->old};
    return exchange(s, &e, false);
}
