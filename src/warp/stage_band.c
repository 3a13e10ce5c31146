// Narrow band on a warped mesh (band/band.h): cells below the band hold no particles, and the grid
// carries their velocity along. Depths count cells of the mesh.
//
// Paths go back in space from where a cell's centre is on the new mesh, through the flow of the old
// one, and end in cells of the old one: so rest and uniform flow stay exact however the mesh moves.
#include "warp/stage_band.h"
#include "grid/mask.h"
#include "walls/solid_masks.h"
#include "warp/nodal_cell.h"
#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// Cells beyond a path's end that interpolation with second differences reads.
enum { SHARP = 1 };

// ------------------------------------------------------------------------------------------ depths

/// Depth of a cell's centre below the surface from the distances at its corners, cells of the mesh.
static float centre_depth(const float phi[8], int dim) {
    float mean = 0, square = 0;
    for (int c = 0; c < 1 << dim; c++) mean += phi[c];
    for (int a = 0; a < dim; a++) {
        float slope = 0;
        for (int c = 0; c < 1 << dim; c++) slope += c >> a & 1 ? phi[c] : -phi[c];
        slope /= (float)(1 << (dim - 1)), square += slope * slope;
    }
    mean /= (float)(1 << dim);
    return fminf(fmaxf(-mean / sqrtf(fmaxf(square, 1e-6f)), -1), 1);
}

/// The tile's cells that the surface goes through have a depth, air has none and no say, the others
/// wait for theirs. Cells in solids are no air, as far inside as the level set goes. => cell_depth,
/// cell_deeper, fixed; lit: the tile has some of the surface
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const size_t base = (size_t)slot * (size_t)g->tile_cells;
    const TileMask inside = mask_inside(g, slot), rock = rock_cells(s, slot);
    TileMask fixed = {{0}};
    NodeBlock phi;
    nodal_load_block(g, s->phi, LEVEL_SET_CUT, slot, &phi);
    s->lit[slot] = false;
    for (int i = 0; i < g->tile_cells; i++) {
        float corner[8], depth = BAND_FAR;
        int liquid = 0;
        for (int c = 0; c < 1 << s->dim; c++) {
            corner[c] = phi.at[block_index((i & 7) + (c & 1), (i >> 3 & 7) + (c >> 1 & 1),
                                           (i >> 6) + (c >> 2))];
            liquid += corner[c] < 0;
        }
        const bool here = mask_has(&inside, i), solid = mask_has(&rock, i) && liquid > 0;
        const bool all = liquid == 1 << s->dim;
        if (here && !solid && liquid > 0 && !all)
            depth = centre_depth(corner, s->dim), s->lit[slot] = true;
        s->cell_depth[base + (size_t)i] = s->cell_deeper[base + (size_t)i] = depth;
        if (!here || !(all || solid)) fixed.slice[i >> 6] |= (uint64_t)1 << (i & 63);
    }
    mask_store(g, s->fixed, slot, &fixed);
}

/// Whether one of the tiles around has a flag.
static bool any_around(const BrimSim *s, const uint8_t *flag, int slot) {
    for (int n = 0; n < 27; n++) {
        const int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && flag[t]) return true;
    }
    return false;
}

typedef struct Pass {
    const uint8_t *last; ///< [tiles] that the last pass changed
    uint8_t *next;
    const float *from;
    float *to;
    TeamCount changed;
} Pass;

static void deepen_tile(BrimSim *s, int slot, int thread, void *context) {
    Pass *p = context;
    const Grid *g = &s->grid;
    float block[10 * 10 * 10];
    p->next[slot] = false;
    if (!any_around(s, p->last, slot)) return;
    block_load(g, slot, p->from, PLACE_CELL, &s->sides, 1, BAND_FAR, block);
    p->next[slot] =
        s->band.kernels->deepen(block, s->dim, s->fixed + (size_t)slot * (size_t)g->tile_rows,
                                p->to + (size_t)slot * (size_t)g->tile_cells);
    team_add(&p->changed, p->next[slot]);
}

void warp_deepen(BrimSim *s) {
    uint8_t *flag[2] = {s->lit, s->changing};
    float *depth[2] = {s->cell_depth, s->cell_deeper};
    for (int k = 0; k < s->def.band_width + 3; k++) {
        Pass p = {flag[k & 1], flag[1 - (k & 1)], depth[k & 1], depth[1 - (k & 1)], 0};
        tiles_for(s, deepen_tile, &p);
        if (p.changed == 0) return;
    }
}

/// Depths => a level set, cut where the band does not care. A tank that is full to the brim has no
/// surface: where solids move all of its liquid becomes band. context: bool, whether it is so
static void end_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const bool sealed = *(bool *)context, port = band_port_near(s, slot);
    const size_t base = (size_t)slot * (size_t)g->tile_cells;
    const TileMask fixed = mask_load(g, s->fixed, slot);
    float most[BAND_CELLS], deepest = LEVEL_SET_CUT, shallowest = -BAND_FAR;
    if (port) band_port_depths(s, slot, most);
    for (int i = 0; i < g->tile_cells; i++) {
        // one that slept since has the same in both
        float *one = s->cell_depth + base + i,
              depth = fminf(*one, s->cell_deeper[base + (size_t)i]);
        const bool air = mask_has(&fixed, i) && depth >= BAND_FAR;
        if (sealed && !air)
            depth =
                band_bit(s->hidden, (int64_t)base + i) ? (float)s->def.band_width - 0.75f : 0.5f;
        if (port) depth = fminf(depth, most[i]);
        *one = air ? LEVEL_SET_CUT : -fminf(depth, band_cut(s));
        deepest = fminf(deepest, *one), shallowest = fmaxf(shallowest, *one);
    }
    s->deepest[slot] = deepest, s->shallowest[slot] = shallowest;
}

/// (phi at nodes) => cell_depth as a level set at cell centres, deepest, shallowest
static void find_depths(BrimSim *s) {
    bool sealed = false;
    tiles_for(s, begin_tile, NULL);
    for (int i = 0; i < s->walls.solid_count; i++) sealed |= solid_moves(s->walls.solids[i]);
    for (int t = 0; t < s->grid.tile_count; t++) sealed = sealed && !s->lit[t];
    warp_deepen(s);
    tiles_for(s, end_tile, &sealed);
}

// ------------------------------------------------------------------------------------------- paths

static bool flow_at(const void *context, const double xi[3], double u[3]) {
    const BrimSim *s = context;
    return warp_sample(s, s->velocity, xi, u);
}

/// Points of a tile, one for each cell, as particles that have a place and a velocity.
typedef struct Points {
    float x[3][BAND_CELLS + PARTICLE_PADDING], v[3][BAND_CELLS + PARTICLE_PADDING];
} Points;

static Span span_of(const BrimSim *s, int slot, int halo, Points *p) {
    Span span = sim_span(s, slot, halo);
    span.count = s->grid.tile_cells;
    memset(span.attr, 0, sizeof span.attr);
    for (int a = 0; a < 3; a++) span.attr[ATTR_X + a] = p->x[a], span.attr[ATTR_VX + a] = p->v[a];
    return span;
}

/// How far the liquid at each cell's centre came, in cells of the mesh: back [3][cells], not a
/// number where no velocity is known. block: velocities of a halo around the tile
static void trace_tile(const BrimSim *s, int slot, int halo, float *const block[3],
                       float back[3][BAND_CELLS]) {
    const Grid *g = &s->grid;
    const TileCoord c = g->coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    const WarpLattice old = warp_lattice(&s->warp->mesh.before),
                      new = warp_lattice(&s->warp->mesh.map);
    static const float still[10 * 10 * 10];
    Points p = {0};
    uint32_t far[BAND_CELLS];
    float centre[3][BAND_CELLS];
    for (int i = 0; i < g->tile_cells; i++) {
        const int at[3] = {i & 7, i >> 3 & 7, i >> 6};
        for (int a = 0; a < s->dim; a++) {
            centre[a][i] = space_middle(s->space, tile[a] + at[a]);
            p.x[a][i] = fminf(centre[a][i], ((float)g->cells[a] - 0.5f) * s->dx);
        }
    }
    // where the centres of the new mesh are in the old one
    Span span = span_of(s, slot, 1, &p);
    const WarpMove stand = {
        .old = new, .new = old, .halo = 1, .side = WARP_SIDE, .velocity = {still, still, still}};
    if (warp_bends(s)) s->warp->kernels->move(&span, &stand, far);
    span = span_of(s, slot, halo, &p);
    WarpMove m = {.old = old,
                  .new = old,
                  .halo = halo,
                  .time = -(float)s->dt,
                  .side = WARP_SIDE,
                  .scheme = s->def.advection,
                  .velocity = {block[0], block[1], block[2]}};
    int count = s->warp->kernels->move(&span, &m, far);
    for (int i = 0; i < count; i++) warp_move_one(&m, &span, (int)far[i], flow_at, s);
    for (int i = 0; i < g->tile_cells; i++) {
        const size_t at = (size_t)slot * (size_t)g->tile_cells + (size_t)i;
        const bool known = s->velocity[0][at] == s->velocity[0][at];
        for (int a = 0; a < 3; a++)
            back[a][i] = a >= s->dim ? 0 : known ? (centre[a][i] - p.x[a][i]) * s->inv_dx : NAN;
    }
}

/// Whether all around a tile is as deep as depths go.
static bool all_deep(const BrimSim *s, int slot) {
    for (int n = 0; n < 27; n++) {
        const int32_t t = s->grid.neighbour[slot][n];
        if (s->dim == 2 && n / 9 != 1) continue;
        if (t < 0 || s->shallowest[t] > -band_cut(s)) return false;
    }
    return true;
}

/// Value by value, for tiles too fast for a block.
static void carry_far(const BrimSim *s, int slot, const float back[3][BAND_CELLS], float *phi) {
    const TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const int at[3] = {i & 7, i >> 3 & 7, i >> 6};
        const size_t me = (size_t)slot * (size_t)s->grid.tile_cells + (size_t)i;
        double xi[3] = {0}, u[3];
        int cell[3] = {0};
        bool known = back[0][i] == back[0][i];
        for (int a = 0; a < s->dim && known; a++) {
            xi[a] = tile[a] + at[a] + 0.5 - (double)back[a][i];
            cell[a] = (int)xi[a];
        }
        known = known && warp_sample(s, s->velocity, xi, u);
        for (int a = 0; a < s->dim; a++) s->carried[a][me] = known ? (float)u[a] : NAN;
        const int64_t from = known ? grid_cell(&s->grid, cell[0], cell[1], cell[2]) : -1;
        phi[i] = from < 0 ? LEVEL_SET_CUT : s->cell_depth[from];
    }
}

static void follow_tile(BrimSim *s, int slot, int thread, void *context) {
    const BandNext *next = context;
    const size_t n = (size_t)s->grid.tile_cells, base = (size_t)slot * n;
    ThreadScratch *scratch = &s->scratch[thread];
    float *const block[3] = {scratch->block[0], scratch->block[1], scratch->block[2]};
    float back[3][BAND_CELLS], phi[BAND_CELLS];
    s->traced[slot] = TRACED_NONE;
    if (!next->far && !band_deep_near(s, slot) && !band_any_near(s, s->hidden, slot)) {
        band_leave_tile(s, slot, next);
        return;
    }
    const float mesh = (float)s->warp->motion.moved * warp_tile_stretch(s, slot); // it moves too
    const float reach = speed_around(s, slot) * (float)s->dt * s->inv_dx + mesh;
    const int wanted = (int)fminf(reach + 1.02f, 99) + 1 + SHARP;
    const int halo = wanted < BLOCK_HALO_MAX ? wanted : BLOCK_HALO_MAX;
    warp_load(s, slot, s->velocity, halo, block);
    trace_tile(s, slot, halo, block, back);
    if (wanted > BLOCK_HALO_MAX)
        carry_far(s, slot, (const float(*)[BAND_CELLS])back, phi);
    else {
        const bool sharp = s->def.band_order == 2;
        for (int a = 0; a < s->dim; a++)
            s->band.kernels->carry(block[a], halo, s->dim, sharp, BAND_ALL_PAIRS,
                                   (const float(*)[BAND_CELLS])back, NAN, s->carried[a] + base);
        const bool deep = all_deep(s, slot);
        if (!deep)
            block_load(&s->grid, slot, s->cell_depth, PLACE_CELL, &s->sides, halo, LEVEL_SET_CUT,
                       block[0]);
        for (size_t i = 0; i < n && deep; i++) phi[i] = -band_cut(s);
        if (!deep)
            s->band.kernels->carry(block[0], halo, s->dim, false, BAND_ALL_PAIRS,
                                   (const float(*)[BAND_CELLS])back, LEVEL_SET_CUT, phi);
    }
    band_mask_tile(s, slot, phi, next);
    for (int a = 0; a < s->dim; a++) memcpy(s->path[a] + base, back[a], n * sizeof(float));
    s->traced[slot] = TRACED_SOME;
}

BrimResult warp_trace(BrimSim *s, BrimError *error) {
    if (!s->grid.tile_count) return BRIM_OK;
    if (!fields_take(s, FIELD_cell_depth) || !fields_take(s, FIELD_cell_deeper) ||
        !fields_take(s, FIELD_path))
        return step_out_of_memory(s, "trace", error);
    find_depths(s);
    BandNext next = band_next(s);
    next.far = crosses_tiles(s);
    for (int t = 0; t < s->grid.tile_count; t++)
        next.deep |= s->deepest[t] <= -band_inner(s) || mask_any(&s->grid, s->hidden, t);
    tiles_for(s, follow_tile, &next);
    s->warp->walls_move = false, s->warp->inlet_count = 0; // the sort leaves them behind
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------------- combine

/// Cells below the band and those beside them: particles are on one side at most.
static TileMask beside_hidden(const BrimSim *s, int slot) {
    TileMask near[6], out = mask_load(&s->grid, s->hidden, slot);
    mask_around(&s->grid, s->hidden, slot, near);
    for (int n = 0; n < 2 * s->dim; n++)
        for (int z = 0; z < s->grid.tile_depth; z++) out.slice[z] |= near[n].slice[z];
    return out;
}

/// Those cells, and cells of the interior that no particle gave a velocity, take what the grid
/// carried along (eq. 3 of Ferstl et al.). (velocity: that; old: the particles') => velocity, old,
/// known
static void combine_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const size_t n = (size_t)g->tile_cells, base = (size_t)slot * n;
    TileMask known = mask_load(g, s->known[0], slot), interior = mask_load(g, s->interior, slot);
    const TileMask deep = beside_hidden(s, slot);
    // What is mostly inside a solid takes the velocity of cells beside it: its own keeps errors.
    if (s->walls.solid_count) warp_leave_cut(s, slot, &interior);
    for (int i = 0; i < (int)n; i++) {
        const size_t me = base + (size_t)i;
        const float *u = &s->velocity[0][me];
        const bool carried = s->traced[slot] != TRACED_NONE && mask_has(&interior, i) && *u == *u &&
                             (!mask_has(&known, i) || mask_has(&deep, i));
        for (int a = 0; a < s->dim; a++) {
            if (carried)
                s->old[a][me] = s->velocity[a][me];
            else
                s->velocity[a][me] = s->old[a][me];
        }
        if (carried) known.slice[i >> 6] |= (uint64_t)1 << (i & 63);
    }
    mask_store(g, s->known[0], slot, &known);
    mask_store(g, s->own, slot, &known);
}

BrimResult warp_combine(BrimSim *s, BrimError *error) {
    (void)error;
    tiles_for(s, combine_tile, NULL);
    return BRIM_OK;
}
