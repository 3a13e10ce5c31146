// Band, stage 8: how deep each cell lies below the surface, as far down as the band needs.
//
// Liquid cells beside air keep the distance that the particles gave them. From there depths go
// inwards through the liquid by |grad phi| = 1, a layer a pass. Neither walls nor solids are a
// surface: cells inside solids take the depth of the liquid beside them, so that the level set can
// be carried along a wall without being worn down by it.
#include "band/band.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Depth of a cell beside air of which the particles say nothing, in cells.
static const float UNSEEN = 0.5f;
/// Layers of cells inside solids that get a depth: as many as paths near a wall read.
enum { SOLID_LAYERS = 2 };

/// What the passes share: masks [rows], flags [tiles], depths [cells].
typedef struct Passes {
    uint8_t *air, *shut, *fixed;
    uint8_t *lit;    ///< tiles with a cell beside air
    uint8_t *near;   ///< tiles that depths may reach
    uint8_t *around; ///< those and the tiles around them, if near liquid that gets a depth: their
                     ///< depths are read
    uint8_t *changed[2]; ///< tiles whose depths the last and this pass changed
    float *depth[2];
    bool sealed; ///< no liquid has air beside it, and a moving solid may change that
    int pass;
    TeamCount tiles_changed; ///< in this pass
    uint8_t *known, *done;   ///< cells of solids with a depth before and after a layer
} Passes;

static Passes passes_of(BrimSim *s) {
    return (Passes){.air = s->air,
                    .shut = s->shut_off,
                    .fixed = s->fixed,
                    .lit = s->lit,
                    .near = s->near_lit,
                    .around = s->around_lit,
                    .changed = {s->changed, s->changing},
                    .depth = {s->depth, s->deeper}};
}

/// Which cells of a tile are air, and which are shut off by solids.
static void sort_cells(BrimSim *s, int slot, int thread, void *context) {
    Passes *p = context;
    const Grid *g = &s->grid;
    TileMask liquid = mask_load(g, s->liquid, slot), air = mask_inside(g, slot);
    TileMask shut = closed_cells(s, slot), rock = rock_cells(s, slot);
    for (int z = 0; z < g->tile_depth; z++) {
        air.slice[z] &= ~liquid.slice[z];
        shut.slice[z] = (shut.slice[z] | rock.slice[z]) & air.slice[z];
        air.slice[z] &= ~shut.slice[z];
    }
    mask_store(g, p->air, slot, &air);
    mask_store(g, p->shut, slot, &shut);
}

/// Liquid cells of a tile with an open face to air.
static TileMask beside_air(const BrimSim *s, int slot, const Passes *p) {
    const Grid *g = &s->grid;
    TileMask liquid = mask_load(g, s->liquid, slot), out = {{0}};
    for (int n = 0; n < 2 * s->dim; n++) {
        TileMask near = mask_neighbour(g, p->air, slot, n >> 1, n & 1 ? 1 : -1);
        TileMask shut = shut_faces(s, slot, n);
        for (int z = 0; z < g->tile_depth; z++)
            out.slice[z] |= near.slice[z] & liquid.slice[z] & ~shut.slice[z];
    }
    return out;
}

/// Finds a tile's cells beside air. A tile in which all liquid lies beside air is done.
static void light_tile(BrimSim *s, int slot, int thread, void *context) {
    Passes *p = context;
    const Grid *g = &s->grid;
    TileMask liquid = mask_load(g, s->liquid, slot), surface = beside_air(s, slot, p), fixed;
    uint64_t any = 0, deep = 0;
    for (int z = 0; z < g->tile_depth; z++) {
        any |= surface.slice[z];
        deep |= liquid.slice[z] & ~surface.slice[z];
        fixed.slice[z] = ~liquid.slice[z] | surface.slice[z];
    }
    p->lit[slot] = any != 0;
    p->changed[0][slot] = deep != 0;
    mask_store(g, p->fixed, slot, &fixed);
}

/// Whether a tile's depths may change in a pass: those of a tile around it did in the last one.
static bool awake(const BrimSim *s, const uint8_t *changed, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && changed[t]) return true;
    }
    return false;
}

/// Depth of a liquid cell beside air, whatever the particles say.
static float beside_depth(float phi) {
    return -phi < 1 ? -phi : 1;
}

/// Depths to begin with.
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const Passes *p = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    if (!p->around[slot]) return;
    p->around[slot] = awake(s, p->changed[0], slot);
    TileMask liquid = mask_load(g, s->liquid, slot), fixed = mask_load(g, p->fixed, slot);
    float *one = p->depth[0] + base, *two = p->depth[1] + base;
    for (int i = 0; i < g->tile_cells && p->around[slot]; i++) one[i] = two[i] = BAND_FAR;
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = liquid.slice[z] & fixed.slice[z]; bits; bits &= bits - 1) {
            int i = z * 64 + __builtin_ctzll(bits);
            float *phi = &s->phi[base + (size_t)i];
            if (*phi <= -LEVEL_SET_CUT && !band_bit(s->particles.occupied, (int64_t)base + i))
                *phi = -UNSEEN;
            if (p->around[slot]) one[i] = two[i] = beside_depth(*phi);
        }
}

/// Marks the tiles that depths may reach, from those with cells beside air, and those around.
static void mark_near(BrimSim *s, Passes *p) {
    int tiles = s->grid.tile_count;
    memcpy(p->around, p->lit, (size_t)tiles);
    for (int cells = s->def.band_width + 3; cells > -TILE; cells -= TILE) {
        uint8_t *swap = p->near;
        p->near = p->around, p->around = swap;
        for (int t = 0; t < tiles; t++) p->around[t] = awake(s, p->near, t);
    }
}

/// The first pass has work where liquid without a depth is near cells with one.
static bool begins(const BrimSim *s, const Passes *p, int slot) {
    return p->changed[0][slot] && awake(s, p->lit, slot);
}

/// One pass over a tile from depth[from] to the other one. Returns whether it changed.
static bool pass_tile(BrimSim *s, int slot, const Passes *p, int from) {
    enum { EDGE = TILE + 2 };
    const Grid *g = &s->grid;
    float block[EDGE * EDGE * EDGE];
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    block_load(g, slot, p->depth[from], PLACE_CELL, &s->sides, 1, BAND_FAR, block);
    return s->band.kernels->deepen(block, s->dim, p->fixed + (size_t)slot * (size_t)g->tile_rows,
                                   p->depth[1 - from] + base);
}

/// A pass over a tile where something changed in the last one.
static void run_pass(BrimSim *s, int slot, int thread, void *context) {
    Passes *p = context;
    int from = p->pass & 1;
    uint8_t *last = p->changed[from], *next = p->changed[1 - from];
    bool wanted = p->near[slot] && (p->pass ? awake(s, last, slot) : begins(s, p, slot));
    next[slot] = wanted && pass_tile(s, slot, p, from);
    team_add(&p->tiles_changed, next[slot]);
}

static void run_passes(BrimSim *s, Passes *p) {
    for (p->pass = 0; p->pass < s->def.band_width + 3; p->pass++) {
        p->tiles_changed = 0;
        tiles_for(s, run_pass, p);
        if (p->tiles_changed == 0) break;
    }
}

/// Whether a tile is full of liquid that lies deeper than depths go.
static bool far_below(const BrimSim *s, int slot, const Passes *p) {
    return !p->sealed && !p->near[slot] && mask_full(&s->grid, s->liquid, slot) &&
           !band_port_near(s, slot);
}

/// Depth of liquid in a tank that is full to the brim: all of it becomes band, or else it would
/// stay deep for ever and fill what room a solid leaves. A hidden cell lies at the band's lower
/// edge, where it gets particles; any other has them, or will be air.
static float sealed_depth(const BrimSim *s, int64_t cell) {
    return band_bit(s->hidden, cell) ? (float)s->def.band_width - 0.75f : UNSEEN;
}

static bool solids_move(const BrimSim *s) {
    bool any = false;
    for (int i = 0; i < s->walls.solid_count; i++) any |= solid_moves(s->walls.solids[i]);
    return any;
}

/// (depth) => phi of the liquid that is not beside air; deepest
static void end_tile(BrimSim *s, int slot, int thread, void *context) {
    const Passes *p = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    const uint8_t *fixed = p->fixed + (size_t)slot * (size_t)g->tile_rows;
    const uint8_t *liquid = s->liquid + (size_t)slot * (size_t)g->tile_rows;
    const float *one = p->depth[0] + base, *two = p->depth[1] + base;
    float *phi = s->phi + base, cut = band_cut(s), deepest = LEVEL_SET_CUT;
    if (far_below(s, slot, p)) {
        for (int i = 0; i < g->tile_cells; i++) phi[i] = -cut;
        s->deepest[slot] = -cut;
        return;
    }
    if (p->near[slot] && !p->around[slot]) { // all of its liquid lies beside air
        for (int r = 0; r < g->tile_rows; r++)
            for (uint8_t bits = liquid[r]; bits; bits &= (uint8_t)(bits - 1))
                deepest = fminf(deepest, -beside_depth(phi[r * TILE + __builtin_ctz(bits)]));
        s->deepest[slot] = deepest;
        return;
    }
    float most[512];
    bool port = band_port_near(s, slot);
    if (port) band_port_depths(s, slot, most);
    for (int i = 0; i < g->tile_cells; i++) {
        if (!(liquid[i >> 3] >> (i & 7) & 1)) continue;
        float depth = p->sealed ? sealed_depth(s, (int64_t)base + i) : cut;
        if (p->near[slot]) { // a tile that slept since has the same in both
            depth = one[i] < two[i] ? one[i] : two[i];
            depth = depth < cut ? depth : cut;
        }
        if (port) depth = depth < most[i] ? depth : most[i];
        if (!(fixed[i >> 3] >> (i & 7) & 1)) phi[i] = -depth;
        deepest = -depth < deepest ? -depth : deepest;
    }
    s->deepest[slot] = deepest;
}

/// Cells in solids take the least depth of those beside them that have one. (known: those that do)
/// => phi, done
static void fill_shut(BrimSim *s, int slot, int thread, void *context) {
    const Passes *p = context;
    const uint8_t *known = p->known;
    const Grid *g = &s->grid;
    TileMask shut = mask_load(g, p->shut, slot), here = mask_load(g, known, slot), near[6];
    TileMask inside = mask_inside(g, slot);
    for (int n = 0; n < 2 * s->dim; n++)
        near[n] = mask_neighbour(g, known, slot, n >> 1, n & 1 ? 1 : -1);
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t any = 0;
        for (int n = 0; n < 2 * s->dim; n++) any |= near[n].slice[z];
        for (uint64_t bits = shut.slice[z] & ~here.slice[z] & any & inside.slice[z]; bits;
             bits &= bits - 1) {
            int bit = __builtin_ctzll(bits), cell = z * 64 + bit;
            float phi = -BAND_FAR;
            for (int n = 0; n < 2 * s->dim; n++)
                if (near[n].slice[z] >> bit & 1) {
                    float beside = s->phi[grid_step(g, slot, cell, n >> 1, n & 1 ? 1 : -1)];
                    phi = beside > phi ? beside : phi;
                }
            s->phi[(int64_t)slot * g->tile_cells + cell] = phi;
            here.slice[z] |= (uint64_t)1 << bit;
        }
    }
    mask_store(g, p->done, slot, &here);
}

static void fill_solids(BrimSim *s, Passes *p) {
    int tiles = s->grid.tile_count;
    const Grid *g = &s->grid;
    p->known = p->air, p->done = p->fixed; // both are done with
    for (int t = 0; t < tiles; t++) {
        TileMask shut = mask_load(g, p->shut, t), open = mask_inside(g, t);
        for (int z = 0; z < g->tile_depth; z++) open.slice[z] &= ~shut.slice[z];
        mask_store(g, p->known, t, &open);
    }
    for (int layer = 0; layer < SOLID_LAYERS; layer++) {
        tiles_for(s, fill_shut, p);
        uint8_t *swap = p->known;
        p->known = p->done, p->done = swap;
    }
}

/// => shallowest
static void range_tile(BrimSim *s, int slot, int thread, void *context) {
    const Passes *p = context;
    const Grid *g = &s->grid;
    const float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells;
    float high = -BAND_FAR;
    if (far_below(s, slot, p)) {
        s->shallowest[slot] = -band_cut(s);
        return;
    }
    for (int r = 0; r < g->tile_rows; r++) {
        uint8_t inside = row_inside(g, slot, r);
        for (int x = 0; x < TILE; x++) {
            float here = inside >> x & 1 ? phi[r * TILE + x] : -BAND_FAR;
            high = here > high ? here : high;
        }
    }
    s->shallowest[slot] = high;
}

bool band_distance_room(BrimSim *s) {
    return s->grid.tile_count == 0 || (fields_take(s, FIELD_depth) && fields_take(s, FIELD_deeper));
}

void band_distance(BrimSim *s) {
    if (s->grid.tile_count == 0) return; // no fields either
    int tiles = s->grid.tile_count;
    Passes p = passes_of(s);
    tiles_for(s, sort_cells, &p);
    tiles_for(s, light_tile, &p);
    p.sealed = solids_move(s);
    for (int t = 0; t < tiles; t++) p.sealed &= !p.lit[t];
    mark_near(s, &p);
    tiles_for(s, begin_tile, &p);
    run_passes(s, &p);
    tiles_for(s, end_tile, &p);
    if (s->walls.solid_count) fill_solids(s, &p);
    tiles_for(s, range_tile, &p);
}
