// Narrow band on a warped mesh: particles come and go, and the account is of volume. Hidden cells
// are full: they hold what they measure in space on the mesh as it is.
#include "band/rise.h"
#include "base/memory.h"
#include "emit/emit.h"
#include "grid/mask.h"
#include "walls/solid_masks.h"
#include "warp/space.h"
#include "warp/stage.h"
#include "warp/stage_band.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------- hidden liquid

/// Volume of a tile's cells, in cells, and with `moment` the integral of the place over each. By
/// Gauss points: exact, since the determinant is quadratic along each axis of a cell.
static void cell_integrals(const BrimSim *s, int slot, float *volume, float *const moment[3]) {
    static const float gauss[2] = {0.21132486540518711775f, 0.78867513459481288225f};
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE}, n = g->tile_cells;
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const float part = 1 / (float)(1 << s->dim);
    float det[BAND_CELLS], off[3][BAND_CELLS];
    memset(volume, 0, (size_t)n * sizeof *volume);
    for (int a = 0; a < 3 && moment; a++) memset(moment[a], 0, (size_t)n * sizeof(float));
    for (int p = 0; p < 1 << s->dim; p++) {
        float first[3] = {0};
        for (int a = 0; a < s->dim; a++) first[a] = (float)tile[a] + gauss[p >> a & 1];
        s->warp->kernels->points(&lattice, first, 1, TILE,
                                 moment ? (float *const[3]){off[0], off[1], off[2]} : NULL, det);
        for (int i = 0; i < n; i++) volume[i] += part * det[i];
        for (int a = 0; a < s->dim && moment; a++)
            for (int i = 0; i < n; i++)
                moment[a][i] += part * det[i] * (first[a] + (float)(i >> 3 * a & 7) + off[a][i]);
    }
}

/// Part of a hidden cell that is open.
static float open_of(const BrimSim *s, int slot, int cell) {
    if (!solid_here(s, slot)) return 1;
    return 1 - solid_volume_of(s, (int64_t)slot * s->grid.tile_cells + cell);
}

static bool any_bit(const BrimSim *s, const TileMask *m) {
    uint64_t any = 0;
    for (int z = 0; z < s->grid.tile_depth; z++) any |= m->slice[z];
    return any != 0;
}

void warp_add_hidden(const BrimSim *s, int slot, int thread, TileSums *out) {
    const TileMask hidden = band_below_cells(s, slot);
    const size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    const float full = (float)s->def.particles_per_cell;
    float volume[BAND_CELLS], moment[3][BAND_CELLS], fastest2 = 0;
    float *const *velocity = s->primed ? s->velocity : s->carried;
    if (!any_bit(s, &hidden)) return;
    cell_integrals(s, slot, volume, (float *const[3]){moment[0], moment[1], moment[2]});
    for (int i = 0; i < s->grid.tile_cells; i++) {
        if (!mask_has(&hidden, i)) continue;
        const float open = open_of(s, slot, i);
        float square = 0;
        for (int a = 0; a < s->dim; a++) {
            const float u = velocity[a][base + (size_t)i];
            square += u == u ? u * u : 0; // a sliver in a solid may have none
            out->position[a] += (double)(full * open * moment[a][i] * s->dx);
        }
        fastest2 = fmaxf(fastest2, square);
        out->speed2 += (double)(full * open * volume[i] * square);
        out->volume += (double)(open * volume[i]);
        out->hidden += (double)(full * open), out->filled += (double)(full * open);
    }
    out->fastest2 = fmaxf(out->fastest2, fastest2);
    out->rate = fmaxf(out->rate, sqrtf(fastest2) * warp_tile_stretch(s, slot));
}

/// context: double [tiles], cells
static void hidden_tile(BrimSim *s, int slot, int thread, void *context) {
    const TileMask hidden = band_below_cells(s, slot);
    float volume[BAND_CELLS];
    double sum = 0;
    if (any_bit(s, &hidden)) {
        cell_integrals(s, slot, volume, NULL);
        for (int i = 0; i < s->grid.tile_cells; i++)
            if (mask_has(&hidden, i)) sum += (double)(open_of(s, slot, i) * volume[i]);
    }
    ((double *)context)[slot] = sum;
}

// ----------------------------------------------------------------------------------- what rises

/// Velocity, and with APIC its gradient in space, at a point of the old mesh.
static void give_velocity(BrimSim *s, const double xi[3], uint32_t i) {
    Particles *p = &s->particles;
    double u[3] = {0}, slope[3][3] = {{0}}, J[3][3], inverse[3][3];
    warp_sample(s, s->velocity, xi, u);
    for (int a = 0; a < 3; a++) p->attr[ATTR_VX + a][i] = a < s->dim ? (float)u[a] : 0;
    if (!particles_carry(p, ROW_AFFINE)) return;
    for (int k = 0; k < s->dim; k++) {
        double low[3] = {xi[0], xi[1], xi[2]}, high[3] = {xi[0], xi[1], xi[2]}, v[3] = {0};
        low[k] = fmax(xi[k] - 0.5, 0), high[k] = fmin(xi[k] + 0.5, s->grid.cells[k]);
        if (!warp_sample(s, s->velocity, low, u) || !warp_sample(s, s->velocity, high, v)) continue;
        for (int a = 0; a < s->dim; a++) slope[a][k] = (v[a] - u[a]) / (high[k] - low[k]);
    }
    map_jacobian(&s->warp->mesh.before, xi, J);
    matrix_invert(J, inverse);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double sum = 0;
            for (int k = 0; k < s->dim && a < s->dim && b < s->dim; k++)
                sum += inverse[b][k] * slope[a][k];
            p->attr[ATTR_AFFINE + 3 * a + b][i] = (float)sum;
        }
}

/// A particle that rose: as large as one that is seeded where it is.
static void fill_point(BrimSim *s, int slot, const Risen *risen, uint32_t i) {
    Particles *p = &s->particles;
    const TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    double at[3] = {0}, from[3] = {0}, J[3][3];
    for (int a = 0; a < 3; a++) {
        const double end = s->grid.cells[a] - (double)WARP_SIDE;
        if (a < s->dim) {
            at[a] = fmin(fmax(tile[a] + (double)risen->at[a], (double)WARP_SIDE), end);
            from[a] = tile[a] + (double)risen->from[a];
        }
        p->attr[ATTR_X + a][i] = (float)(at[a] * (double)s->dx);
    }
    map_jacobian(&s->warp->mesh.map, at, J);
    p->attr[ATTR_VOLUME][i] = (float)(matrix_determinant(J) / s->def.particles_per_cell);
    give_velocity(s, from, i);
    if (particles_inherit(p)) band_inherit(s, i);
    warp_key(s, i);
}

// ------------------------------------------------------------------------------------ the account

/// The cell of a particle by its key, -1: it goes, or its tile is new.
static int64_t cell_of(const BrimSim *s, uint32_t i) {
    const uint32_t cells = (uint32_t)s->grid.tile_cells, key = s->particles.key[i];
    if (key >= KEY_GONE) return -1;
    const int32_t slot = s->grid.slot_of[key / cells];
    return slot < 0 ? -1 : (int64_t)slot * cells + key % cells;
}

/// What particles stand for: of all, or of those in cells of a mask; and by how much those grow.
typedef struct Tally {
    const uint8_t *cells; ///< [rows], NULL: all
    double *sum;          ///< [tiles], NULL: grow
    float grow;
} Tally;

static double tally(BrimSim *s, const Tally *t, uint32_t first, uint32_t end) {
    double sum = 0;
    for (uint32_t i = first; i < end; i++) {
        if (s->particles.key[i] >= KEY_GONE) continue;
        const int64_t cell = t->cells ? cell_of(s, i) : 0;
        if (cell < 0 || (t->cells && !band_bit(t->cells, cell))) continue;
        if (t->sum)
            sum += warp_volume(s, i);
        else
            s->particles.attr[ATTR_VOLUME][i] *= t->grow;
    }
    return sum;
}

static void tally_tile(BrimSim *s, int slot, int thread, void *context) {
    const Tally *t = context;
    if (!t->sum && !band_any_near(s, t->cells, slot)) return;
    const double sum = tally(s, t, tile_first(&s->particles, slot), tile_end(&s->particles, slot));
    if (t->sum) t->sum[slot] = sum;
}

static double tally_all(BrimSim *s, const Tally *t) {
    double sum = tally(s, t, (uint32_t)s->particles.sorted, (uint32_t)s->particles.count);
    tiles_for(s, tally_tile, (void *)t);
    for (int k = 0; k < s->grid.tile_count && t->sum; k++) sum += t->sum[k];
    return sum;
}

/// Paths do not bring exactly as much as goes. Where something makes volume of particles, what is
/// missing of all liquid the particles along the band's edge stand for, all alike, so that no wave
/// is lifted.
static void balance(BrimSim *s, const uint8_t *edge) {
    static const double MOST = 0.05; // of what they stand for, in a step
    double *sum = s->warp->gone, hidden = 0, waiting = 0;
    if (s->def.volume == BRIM_VOLUME_NONE || !(s->start_volume > 0)) return;
    tiles_for(s, hidden_tile, sum);
    for (int t = 0; t < s->grid.tile_count; t++) hidden += sum[t];
    if (s->band.swallowed_count) // what has not yet flown on
        waiting = (double)s->band.swallowed_count * s->band.swallow_left / s->band.swallow_time /
                  s->def.particles_per_cell;
    const double there = tally_all(s, &(Tally){.sum = sum});
    const double beside = tally_all(s, &(Tally){.cells = edge, .sum = sum});
    if (!(beside > 0)) return;
    const double part = (s->start_volume - there - hidden - waiting) / beside;
    tally_all(s, &(Tally){.cells = edge, .grow = (float)(1 + fmin(fmax(part, -MOST), MOST))});
}

BrimResult warp_exchange(BrimSim *s, BrimError *error) {
    BrimResult r = warp_resample(s, error);
    if (r != BRIM_OK || !has_band(s) || !s->grid.tile_count) return r;
    const BandNext next = band_next(s);
    const BandExchange e = {next.hidden, next.rim, next.edge, 0, crosses_tiles(s), fill_point};
    const size_t first = s->particles.count;
    if (!memory_fit((void **)&s->warp->gone, &s->warp->gone_capacity, sizeof *s->warp->gone,
                    (size_t)s->grid.tile_count) ||
        !band_exchange(s, &e, NULL))
        return step_out_of_memory(s, "band", error);
    for (size_t i = first; i < s->particles.count; i++) // drained as soon as it rose
        if (s->particles.key[i] == KEY_DRAINED) s->start_volume -= warp_volume(s, i);
    balance(s, next.edge);
    return BRIM_OK;
}

// ------------------------------------------------------------------------------------------ start

/// (liquid) => air
static void air_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const TileMask liquid = mask_load(g, s->liquid, slot);
    TileMask air = mask_inside(g, slot);
    for (int z = 0; z < g->tile_depth; z++) air.slice[z] &= ~liquid.slice[z];
    mask_store(g, s->air, slot, &air);
}

/// Cells with points beside air have a depth; air has none and no say.
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const TileMask inside = mask_inside(g, slot), air = mask_load(g, s->air, slot);
    const TileMask liquid = mask_load(g, s->liquid, slot);
    TileMask near[6], fixed;
    mask_around(g, s->air, slot, near);
    s->lit[slot] = false;
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t beside = 0;
        for (int n = 0; n < 2 * s->dim; n++) beside |= near[n].slice[z];
        beside &= liquid.slice[z];
        s->lit[slot] = s->lit[slot] || beside;
        fixed.slice[z] = ~inside.slice[z] | air.slice[z] | beside;
        for (int k = 0; k < 64; k++) {
            const size_t i = (size_t)slot * (size_t)g->tile_cells + (size_t)(z * 64 + k);
            s->cell_depth[i] = s->cell_deeper[i] = beside >> k & 1 ? 0.5f : BAND_FAR;
        }
    }
    mask_store(g, s->fixed, slot, &fixed);
}

/// (depths) => interior, hidden
static void hide_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const TileMask rock = rock_cells(s, slot), air = mask_load(g, s->air, slot);
    TileMask interior = {{0}}, hidden = {{0}}, inside = mask_inside(g, slot);
    for (int i = 0; i < g->tile_cells; i++) {
        const size_t me = (size_t)slot * (size_t)g->tile_cells + (size_t)i;
        const float depth = fminf(s->cell_depth[me], s->cell_deeper[me]);
        if (!mask_has(&inside, i) || mask_has(&air, i) || mask_has(&rock, i)) continue;
        interior.slice[i >> 6] |= (uint64_t)(depth > 1) << (i & 63);
        hidden.slice[i >> 6] |= (uint64_t)(depth > (float)s->def.band_width) << (i & 63);
    }
    mask_store(g, s->interior, slot, &interior);
    mask_store(g, s->hidden, slot, &hidden);
}

bool warp_hide(BrimSim *s, const uint8_t *filled) {
    const Grid *g = &s->grid;
    const size_t rows = (size_t)g->tile_rows;
    bool any = false;
    if (g->tile_count == 0) return true;
    if (!fields_take(s, FIELD_cell_depth) || !fields_take(s, FIELD_cell_deeper)) return false;
    for (int t = 0; t < g->tile_count; t++) {
        const TileCoord c = g->coord[t];
        memcpy(s->liquid + (size_t)t * rows,
               filled + (size_t)grid_box_index(g, c.x, c.y, c.z) * rows, rows);
    }
    tiles_for(s, air_tile, NULL);
    tiles_for(s, begin_tile, NULL);
    for (int t = 0; t < g->tile_count; t++) any = any || mask_any(g, s->liquid, t);
    memset(s->interior, 0, sim_rows(s)), memset(s->hidden, 0, sim_rows(s));
    if (!any) return true; // nothing but solids
    warp_deepen(s);
    tiles_for(s, hide_tile, NULL);
    return true;
}

/// Liquids and their shapes.
typedef struct Liquids {
    const BrimLiquidDef *liquid;
    const Shape *const *shapes;
    int count;
} Liquids;

static void start_tile(BrimSim *s, int slot, int thread, void *context) {
    const Liquids *l = context;
    const Grid *g = &s->grid;
    const TileCoord c = g->coord[slot];
    const TileMask interior = mask_load(g, s->interior, slot);
    s->traced[slot] = TRACED_SOME;
    for (int i = 0; i < g->tile_cells; i++) {
        const size_t me = (size_t)slot * (size_t)g->tile_cells + (size_t)i;
        float at[3] = {(float)(c.x * TILE + (i & 7)) + 0.5f,
                       (float)(c.y * TILE + (i >> 3 & 7)) + 0.5f,
                       s->dim == 3 ? (float)(c.z * TILE + (i >> 6)) + 0.5f : 0};
        for (int a = 0; a < s->dim; a++) s->carried[a][me] = 0;
        if (!mask_has(&interior, i)) continue;
        warp_to_place(s, at);
        for (int a = 0; a < 3; a++) at[a] *= s->dx;
        for (int k = 0; k < l->count; k++) {
            float distance;
            shape_distance(l->shapes[k], 1, &at[0], &at[1], &at[2], &distance);
            if (distance >= 0) continue;
            for (int a = 0; a < s->dim; a++)
                s->carried[a][me] = liquid_velocity(&l->liquid[k], &s->flows[k], at, a);
            break;
        }
    }
}

void warp_start_velocity(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                         int count) {
    tiles_for(s, start_tile, &(Liquids){liquid, shapes, count});
}
