// Band, stage 4: the grid's velocity and level set are carried along where the liquid is deep.
//
// A path back in time (Runge-Kutta 4) is followed from each cell centre; a face takes the mean of
// the paths of its two cells, which is as exact as the linear interpolation at the path's end. So a
// cell costs one path and not four, and a tile needs nothing of its neighbours but velocities.
#include "band/band.h"
#include "walls/solid_fine.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Cells that a Runge-Kutta step may cross: beyond, paths around obstacles are cut short.
static const float CELLS_A_SUBSTEP = 2.5f;

/// Cells hide where they are deeper than the band is wide, and show again when they are so much
/// less deep: each time chance has a say in how many particles are there, and water at rest would
/// do it over and over.
static const float HOLD = 0.5f;

bool band_deep_near(const BrimSim *s, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->deepest[t] <= -band_inner(s)) return true;
    }
    return false;
}

/// Whether there is something to carry to a tile: deep liquid, or such that was hidden a step ago
/// and is not deep any more.
static bool carried_to(const BrimSim *s, int slot) {
    return band_deep_near(s, slot) || band_any_near(s, s->hidden, slot);
}

/// Whether all around a tile is as deep as depths go.
static bool all_deep(const BrimSim *s, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (s->dim == 2 && n / 9 != 1) continue;
        if (t < 0 || s->shallowest[t] > -band_cut(s)) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------ value by value

/// One value of a field with the rules of block_load outside the domain; `missing` without a tile.
static float value_at(const BrimSim *s, const float *field, Place place, int x, int y, int z,
                      float missing) {
    int at[3] = {x, y, z};
    for (int a = 0; a < s->dim; a++) {
        int last = s->grid.cells[a] - ((int)place == a && !s->sides.open[2 * a + 1] ? 0 : 1);
        at[a] = at[a] < 0 ? 0 : at[a] > last ? last : at[a];
    }
    int64_t i = grid_cell(&s->grid, at[0], at[1], at[2]);
    return i < 0 ? missing : field[i];
}

/// A field at a point given in its own nodes.
static float field_at(const BrimSim *s, const float *field, Place place, const float at[3],
                      float missing) {
    float f[3] = {0}, sum = 0;
    int node[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        node[a] = (int)floorf(at[a]);
        f[a] = at[a] - (float)node[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < s->dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        if (w > 0)
            sum += w * value_at(s, field, place, node[0] + (n & 1), node[1] + (n >> 1 & 1),
                                node[2] + (n >> 2), missing);
    }
    return sum;
}

/// The values around a point of a field of faces, in the order of the bits of their offsets.
static void values_around(const BrimSim *s, int axis, const int low[3], float v[8]) {
    const Grid *g = &s->grid;
    int corners = s->dim == 3 ? 8 : 4;
    bool inside = true; // of one tile and of the domain
    for (int a = 0; a < s->dim; a++)
        inside &= low[a] >= 0 && low[a] + 1 < g->cells[a] && (low[a] & 7) < TILE - 1;
    int64_t at = inside ? grid_cell(g, low[0], low[1], low[2]) : -1;
    for (int n = 0; n < corners; n++) {
        const int step[3] = {n & 1, n >> 1 & 1, n >> 2};
        float value = at >= 0 ? s->velocity[axis][at + step[0] + step[1] * TILE + step[2] * 64]
                              : value_at(s, s->velocity[axis], (Place)axis, low[0] + step[0],
                                         low[1] + step[1], low[2] + step[2], 0);
        v[n] = value == value ? value : 0;
    }
}

float band_velocity(const BrimSim *s, int axis, const float node[3], float *gradient) {
    float f[3] = {0}, v[8], sum = 0;
    int low[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        low[a] = (int)floorf(node[a]);
        f[a] = node[a] - (float)low[a];
    }
    values_around(s, axis, low, v);
    if (gradient) gradient[0] = gradient[1] = gradient[2] = 0;
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < s->dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        sum += w * v[n];
        for (int a = 0; gradient && a < s->dim; a++) {
            float g = n >> a & 1 ? v[n] : -v[n];
            for (int b = 0; b < s->dim; b++)
                if (b != a) g *= n >> b & 1 ? f[b] : 1 - f[b];
            gradient[a] += g;
        }
    }
    return sum;
}

/// The path of one cell, value by value, for tiles too fast for a block.
static void trace_far(const BrimSim *s, const float centre[3], int substeps, float back[3]) {
    static const float reach[4] = {0, 0.5f, 0.5f, 1};
    float step = (float)s->dt / (float)substeps;
    back[0] = back[1] = back[2] = 0;
    for (int i = 0; i < substeps; i++) {
        float v[4][3] = {{0}};
        for (int stage = 0; stage < 4; stage++) {
            float at[3] = {0};
            for (int a = 0; a < s->dim; a++) {
                at[a] = (centre[a] - back[a]) * s->dx;
                if (stage) at[a] -= reach[stage] * step * v[stage - 1][a];
            }
            velocity_lookup(s, at, v[stage]);
        }
        for (int a = 0; a < s->dim; a++)
            back[a] +=
                (v[0][a] + 2 * (v[1][a] + v[2][a]) + v[3][a]) * (step * s->inv_dx * (1 / 6.0f));
    }
}

static void carry_far(const BrimSim *s, int slot, const float *field, Place place,
                      const float back[3][BAND_CELLS], float missing, float *out) {
    TileCoord c = s->grid.coord[slot];
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const float at[3] = {(float)(c.x * TILE + (i & 7)) - back[0][i],
                             (float)(c.y * TILE + (i >> 3 & 7)) - back[1][i],
                             s->dim == 3 ? (float)(c.z * TILE + (i >> 6)) - back[2][i] : 0};
        bool known = isfinite(at[0] + at[1] + at[2]);
        out[i] = known ? field_at(s, field, place, at, missing) : missing;
    }
}

// ------------------------------------------------------------------------------------- tiles

/// Cells around a tile that are read: a path's end, and from there two nodes on.
static int halo_for(float reach) {
    return reach < 100 ? (int)(reach + 0.02f) + 2 : 100;
}

/// (velocity) => back [3][cells]
static void trace_tile(const BrimSim *s, int slot, float reach, ThreadScratch *scratch,
                       float back[3][BAND_CELLS]) {
    int halo = halo_for(reach), substeps = (int)fmaxf(1, ceilf(reach / CELLS_A_SUBSTEP));
    TraceParams p = {.halo = halo,
                     .dim = s->dim,
                     .substeps = substeps,
                     .scale = (float)s->dt / (float)substeps * s->inv_dx};
    if (halo <= BLOCK_HALO_MAX) {
        for (int a = 0; a < s->dim; a++) {
            block_load(&s->grid, slot, s->velocity[a], (Place)a, &s->sides, halo, NAN,
                       scratch->block[a]);
            p.velocity[a] = scratch->block[a];
        }
        s->band.kernels->trace(&p, back);
        return;
    }
    TileCoord c = s->grid.coord[slot];
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const float centre[3] = {(float)(c.x * TILE + (i & 7)) + 0.5f,
                                 (float)(c.y * TILE + (i >> 3 & 7)) + 0.5f,
                                 s->dim == 3 ? (float)(c.z * TILE + (i >> 6)) + 0.5f : 0};
        float d[3];
        trace_far(s, centre, substeps, d);
        for (int a = 0; a < s->dim; a++) back[a][i] = d[a];
    }
}

/// A field at the ends of a tile's paths; the block that it was loaded to, or lookups.
static void carry(const BrimSim *s, int slot, int halo, const float *field, const float *block,
                  Place place, uint32_t pairs, const float back[3][BAND_CELLS], float missing,
                  float *out) {
    if (halo > BLOCK_HALO_MAX)
        carry_far(s, slot, field, place, back, missing, out);
    else
        s->band.kernels->carry(block, halo, s->dim, place != PLACE_CELL && s->def.band_order == 2,
                               pairs, back, missing, out);
}

/// Paths are read around tiles into which particles rise; none do without deep liquid somewhere.
void band_leave_tile(BrimSim *s, int slot, const BandNext *next) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells, rows = (size_t)slot * (size_t)g->tile_rows;
    memset(next->interior + rows, 0, (size_t)g->tile_rows);
    memset(next->hidden + rows, 0, (size_t)g->tile_rows);
    memset(next->rim + rows, 0, (size_t)g->tile_rows);
    memset(next->edge + rows, 0, (size_t)g->tile_rows);
    for (int a = 0; a < s->dim && next->deep; a++)
        for (int i = 0; i < g->tile_cells; i++) s->path[a][base + (size_t)i] = NAN;
}

void band_mask_tile(const BrimSim *s, int slot, float *phi, const BandNext *next) {
    const Grid *g = &s->grid;
    float width = (float)s->def.band_width, depth[BAND_CELLS];
    bool port = band_port_near(s, slot);
    if (port) band_port_depths(s, slot, depth);
    for (int i = 0; i < g->tile_cells && port; i++) phi[i] = fmaxf(phi[i], -depth[i]);
    const uint8_t *rock = solid_here(s, slot) ? s->rock : NULL; // no liquid rises from there
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = (size_t)slot * (size_t)g->tile_rows + (size_t)r;
        uint8_t was = s->hidden[at], inside = row_inside(g, slot, r), interior = 0, hidden = 0,
                edge = 0, rim = 0;
        for (int x = 0; x < TILE; x++) {
            float here = phi[r * TILE + x];
            interior |= (uint8_t)((here < -1) << x);
            hidden |= (uint8_t)((here < (was >> x & 1 ? HOLD : 0) - width) << x);
            // Liquid whose path began in a hidden cell lies at most HOLD and twice half a cell's
            // diagonal above the band's edge; near a port, where depths end, anywhere.
            rim |= (uint8_t)((here < 2.25f - width) << x);
            edge |= (uint8_t)((here < 2 - width) << x);
        }
        next->interior[at] = interior & inside;
        next->hidden[at] = hidden & inside & (uint8_t) ~(rock ? rock[at] : 0);
        next->edge[at] = edge & inside & (uint8_t)~hidden;
        next->rim[at] = (port ? 0xff : rim) & inside & (uint8_t)~hidden;
    }
}

/// Pairs of rows with faces whose velocity may be wanted: those of interior cells, and of cells
/// beside such, which lie at most a cell less deep. (level set carried along)
static uint32_t wanted_pairs(const BrimSim *s, const float *phi) {
    uint32_t pairs = 0;
    for (int i = 0; i < s->grid.tile_cells; i += 2 * TILE) {
        bool any = false;
        for (int k = 0; k < 2 * TILE; k++) any |= phi[i + k] < 0.5f;
        pairs |= (uint32_t)any << (i / (2 * TILE));
    }
    return pairs;
}

/// In a gap narrower than a cell no face across it has a velocity, and paths are unknown: there the
/// interior stays where it is, or the gap would turn into air.
static void hold_in_gaps(const BrimSim *s, int slot, float back[3][BAND_CELLS]) {
    TileMask interior = mask_load(&s->grid, s->interior, slot);
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (uint64_t bits = interior.slice[z]; bits; bits &= bits - 1) {
            int i = z * 64 + __builtin_ctzll(bits);
            bool known = true;
            for (int a = 0; a < s->dim; a++) known &= back[a][i] == back[a][i];
            for (int a = 0; a < s->dim && !known; a++) back[a][i] = 0;
        }
}

/// Whether all values of a tile's carried velocity are numbers.
static bool all_known(const BrimSim *s, int slot) {
    int missing = 0;
    for (int a = 0; a < s->dim; a++) {
        const float *u = s->carried[a] + (size_t)slot * (size_t)s->grid.tile_cells;
        for (int i = 0; i < s->grid.tile_cells; i++) missing += !(u[i] == u[i]);
    }
    return missing == 0;
}

/// Follows the paths of a tile and carries along what the grid keeps. (velocity, phi) => carried,
/// traced, path; next masks; paths only, where particles may rise
static void follow_tile(BrimSim *s, int slot, int thread, void *context) {
    const BandNext *next = context;
    s->traced[slot] = TRACED_NONE;
    if (!next->far && !carried_to(s, slot)) {
        band_leave_tile(s, slot, next);
        return;
    }
    const size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    ThreadScratch *scratch = &s->scratch[thread];
    float back[3][BAND_CELLS], faces[3][BAND_CELLS], phi[BAND_CELLS];
    float reach = speed_around(s, slot) * (float)s->dt * s->inv_dx;
    int halo = halo_for(reach);
    bool deep = all_deep(s, slot);
    trace_tile(s, slot, reach, scratch, back);
    if (solid_here(s, slot)) hold_in_gaps(s, slot, back);
    if (deep)
        for (int i = 0; i < s->grid.tile_cells; i++) phi[i] = -band_cut(s);
    else {
        if (halo <= BLOCK_HALO_MAX)
            block_load(&s->grid, slot, s->phi, PLACE_CELL, &s->sides, halo, LEVEL_SET_CUT,
                       scratch->block[3]);
        carry(s, slot, halo, s->phi, scratch->block[3], PLACE_CELL, BAND_ALL_PAIRS,
              (const float(*)[BAND_CELLS])back, LEVEL_SET_CUT, phi);
    }
    if (!deep && fine_near(s, slot)) band_keep_sides(s, slot, back, phi, scratch->block[4]);
    uint32_t pairs = wanted_pairs(s, phi);
    band_mask_tile(s, slot, phi, next);
    // Paths are read a cell around tiles into which particles rise: none can near slow deep ones.
    bool rising = !deep || reach >= 2;
    for (int a = 0; a < s->dim && rising; a++)
        memcpy(s->path[a] + base, back[a], (size_t)s->grid.tile_cells * sizeof(float));
    for (int a = 0; a < s->dim; a++) {
        for (int b = 0; b < s->dim; b++) s->band.kernels->face_paths(back[b], a, s->dim, faces[b]);
        carry(s, slot, halo, s->velocity[a], scratch->block[a], (Place)a, pairs,
              (const float(*)[BAND_CELLS])faces, NAN, s->carried[a] + base);
    }
    s->traced[slot] = all_known(s, slot) ? TRACED_ALL : TRACED_SOME;
}

BrimResult stage_trace(BrimSim *s, BrimError *error) {
    if (!fields_take(s, FIELD_path)) return step_out_of_memory(s, "trace", error);
    BandNext next = band_next(s);
    next.far = crosses_tiles(s);
    for (int t = 0; t < s->grid.tile_count; t++)
        next.deep |= s->deepest[t] <= -band_inner(s) || mask_any(&s->grid, s->hidden, t);
    tiles_for(s, follow_tile, &next);
    return BRIM_OK;
}

// ---------------------------------------------------------------------------- tiles that stay

void band_keep_tiles(BrimSim *s) {
    const Grid *g = &s->grid;
    for (int t = 0; t < g->tile_count; t++) {
        TileMask m = mask_load(g, s->interior, t);
        uint64_t any = 0, first = m.slice[0], last = m.slice[g->tile_depth - 1];
        for (int z = 0; z < g->tile_depth; z++) any |= m.slice[z];
        if (!any) continue;
        // neighbours that a stencil of one cell reads
        const bool touches[3][3] = {
            {any & MASK_COLUMN_0, true, any & MASK_COLUMN_0 << 7},
            {any & 0xff, true, any >> 56},
            {g->dim == 3 && first, true, g->dim == 3 && last},
        };
        uint32_t bits = 0;
        for (int n = 0; n < 27; n++)
            if (touches[0][n % 3] && touches[1][n / 3 % 3] && touches[2][n / 9]) bits |= 1u << n;
        s->sort.reach[grid_box_index(g, g->coord[t].x, g->coord[t].y, g->coord[t].z)] |= bits;
    }
}
