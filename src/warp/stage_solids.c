// Solids on a warped mesh: open parts of cells for the pressure, and what keeps particles and
// velocities out of them. Distances at nodes are those of walls/, in reference space; particles
// meet the solids themselves, in space.
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

BrimResult warp_solids(BrimSim *s, BrimError *error) {
    BrimResult r = s->primed ? warp_move_mesh(s, error) : BRIM_OK;
    if (r == BRIM_OK) r = stage_solids(s, error);
    bool moves = false; // then advection asks for their velocity
    for (int i = 0; i < s->walls.solid_count; i++) moves |= solid_moves(s->walls.solids[i]);
    if (r == BRIM_OK && ((moves && !warp_open_cells(s)) || !warp_find_inlets(s)))
        r = step_out_of_memory(s, "solids", error);
    return r;
}

bool warp_sample_solids(BrimSim *s) {
    if (!s->walls.solid_count) return true;
    if (!solids_arrange(s)) return false;
    tiles_for(s, solids_sample_tile, NULL);
    return true;
}

// --------------------------------------------------------------------------------------- pressure

/// A part below this is none: its cell would be all sliver.
static const float OPEN_LEAST = 1e-3f;

/// The part outside of a piece of a cell, half as long as it, by the distance at its middle: exact
/// for walls along the grid, as in walls/solid_part.simd.c.
static float open_part_at(float distance) {
    const float f = 0.5f + 2 * distance;
    return f < OPEN_LEAST ? 0 : f < 1 ? f : 1;
}

/// Distances at a cell's corners, cells.
static void load_corners(const float *block, int dim, int i, float phi[8]) {
    enum { EDGE = TILE + 2 };
    const int low = ((dim == 3 ? (i >> 6) + 1 : 0) * EDGE + (i >> 3 & 7) + 1) * EDGE + (i & 7) + 1;
    for (int c = 0; c < 8; c++)
        phi[c] =
            block[low + (c & 1) + (c >> 1 & 1) * EDGE + (dim == 3 ? (c >> 2) * EDGE * EDGE : 0)];
}

/// Trilinear, a quarter of the cell from a corner.
static float octant_value(const float phi[8], int dim, int octant) {
    float sum = 0;
    for (int c = 0; c < 1 << dim; c++) {
        float w = 1;
        for (int a = 0; a < dim; a++) w *= (c >> a & 1) == (octant >> a & 1) ? 0.75f : 0.25f;
        sum += w * phi[c];
    }
    return sum;
}

/// Part of a cell's side that a solid covers, by the corners on it: bit `axis` is `far`.
static float covered_part(const float phi[8], int dim, int axis, int far) {
    float sum = 0;
    int pieces = 0;
    for (int k = 0; k < 1 << dim; k++) {
        if ((k >> axis & 1) != far) continue;
        float value = 0;
        for (int c = 0; c < 1 << dim; c++) {
            if ((c >> axis & 1) != far) continue;
            float w = 1;
            for (int a = 0; a < dim; a++)
                if (a != axis) w *= (c >> a & 1) == (k >> a & 1) ? 0.75f : 0.25f;
            value += w * phi[c];
        }
        sum += 1 - open_part_at(value), pieces++;
    }
    return sum / (float)pieces;
}

/// Velocity of the solids in a tile's cells, by the one that is nearest to their centres. => moving
static void find_velocity(BrimSim *s, int slot, size_t base) {
    enum { SLICE = TILE * TILE };
    const TileCoord t = s->grid.coord[slot];
    for (int z = 0; z < s->grid.tile_depth; z++) {
        float x[3][SLICE], phi[SLICE];
        int16_t owner[SLICE];
        for (int i = 0; i < SLICE; i++) {
            float at[3] = {(float)(t.x * TILE + (i & 7)) + 0.5f,
                           (float)(t.y * TILE + (i >> 3)) + 0.5f,
                           s->dim == 3 ? (float)(t.z * TILE + z) + 0.5f : 0};
            warp_to_place(s, at);
            for (int a = 0; a < 3; a++) x[a][i] = a < s->dim ? at[a] * s->dx : 0;
            phi[i] = INFINITY, owner[i] = -1;
        }
        solids_sample(s, slot, SLICE, x[0], x[1], x[2], phi, owner);
        for (int i = 0; i < SLICE; i++) {
            BrimVec3 v = {0, 0, 0};
            if (owner[i] >= 0)
                v = solid_velocity(s->walls.solids[owner[i]], x[0][i], x[1][i], x[2][i]);
            const float u[3] = {v.x, v.y, v.z};
            for (int a = 0; a < s->dim; a++)
                s->warp->wall[a][base + (size_t)(z * SLICE + i)] = u[a];
        }
    }
}

/// Open parts of a tile's cells. => open, covered, wall
static void open_tile(BrimSim *s, int slot, int thread, void *context) {
    if (!s->solid_at[slot]) return;
    WarpState *w = s->warp;
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE}, points = 1 << s->dim;
    const size_t n = (size_t)g->tile_cells, base = (size_t)(s->solid_at[slot] - 1) * n;
    float *block = s->scratch[thread].block[0];
    solid_block(s, slot, 1, SOLID_REACH * s->dx, block);
    for (int i = 0; i < (s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D); i++) block[i] *= s->inv_dx;
    for (int i = 0; i < g->tile_cells; i++) {
        const int at[3] = {tile[0] + (i & 7), tile[1] + (i >> 3 & 7), tile[2] + (i >> 6)};
        float phi[8];
        load_corners(block, s->dim, i, phi);
        for (int k = 0; k < points; k++)
            w->open[base * (size_t)points + (size_t)k * n + (size_t)i] =
                open_part_at(octant_value(phi, s->dim, k));
        for (int a = 0; a < s->dim; a++) {
            const bool low = at[a] == 0, high = at[a] == g->cells[a] - 1;
            w->covered[a][base + (size_t)i] =
                low || high ? covered_part(phi, s->dim, a, high && !low) : 0;
        }
    }
    if (s->tile_solid[slot] == SOLID_MOVING)
        find_velocity(s, slot, base);
    else
        for (int a = 0; a < s->dim; a++) memset(w->wall[a] + base, 0, n * sizeof(float));
}

bool warp_open_cells(BrimSim *s) {
    WarpState *w = s->warp;
    NodalSolids *out = &w->solids;
    size_t near = 0, n = (size_t)s->grid.tile_cells;
    bool moving = false;
    *out = (NodalSolids){0};
    w->walls_move = false;
    if (!s->walls.solid_count) return true;
    for (int t = 0; t < s->grid.tile_count; t++) {
        near += s->solid_at[t] != 0;
        moving |= s->tile_solid[t] == SOLID_MOVING;
    }
    if (near == 0) return true;
    const size_t points = (size_t)1 << s->dim, numbers = points + 2 * (size_t)s->dim;
    if (!memory_fit((void **)&w->solid_memory, &w->solid_capacity, sizeof(float),
                    near * n * numbers))
        return false;
    w->open = w->solid_memory;
    for (int a = 0; a < s->dim; a++) {
        w->wall[a] = w->open + near * n * (points + (size_t)a);
        w->covered[a] = w->open + near * n * (points + (size_t)(s->dim + a));
    }
    tiles_for(s, open_tile, NULL);
    *out = (NodalSolids){.at = s->solid_at, .open = w->open, .open_points = (int)points};
    w->walls_move = moving;
    for (int a = 0; a < s->dim && moving; a++)
        out->velocity[a] = w->wall[a], out->covered[a] = w->covered[a];
    return true;
}

// --------------------------------------------------------------------------------------- velocity

/// Normal of the solids in space at the centre of a cell, out of them. False: there is none.
static bool cell_normal(const BrimSim *s, int slot, const float phi[8], int i, double normal[3]) {
    const TileCoord t = s->grid.coord[slot];
    const double xi[3] = {t.x * TILE + (i & 7) + 0.5, t.y * TILE + (i >> 3 & 7) + 0.5,
                          s->dim == 3 ? t.z * TILE + (i >> 6) + 0.5 : 0};
    double slope[3] = {0}, J[3][3], inverse[3][3], square = 0;
    for (int a = 0; a < s->dim; a++)
        for (int c = 0; c < 1 << s->dim; c++)
            slope[a] += c >> a & 1 ? (double)phi[c] : -(double)phi[c];
    map_jacobian(&s->warp->mesh.map, xi, J);
    matrix_invert(J, inverse);
    for (int a = 0; a < 3; a++) {
        normal[a] = 0;
        for (int k = 0; k < s->dim && a < s->dim; k++) normal[a] += inverse[a][k] * slope[k];
        square += normal[a] * normal[a];
    }
    for (int a = 0; a < 3; a++) normal[a] /= sqrt(square);
    return square > 1e-12;
}

/// Cells more than this part inside solids have the velocity of others, along the wall.
static const float MOSTLY = 0.5f;

bool warp_mostly_solid(const BrimSim *s, int64_t cell) {
    return solid_volume_of(s, cell) > MOSTLY;
}

/// Their velocity goes along the wall, at its speed.
static void slip_tile(BrimSim *s, int slot, int thread, void *context) {
    if (!solid_here(s, slot)) return;
    const size_t n = (size_t)s->grid.tile_cells, base = (size_t)slot * n;
    const size_t solid = (size_t)(s->solid_at[slot] - 1) * n;
    float *block = s->scratch[thread].block[0];
    solid_block(s, slot, 1, SOLID_REACH * s->dx, block);
    for (int i = 0; i < (int)n; i++) {
        float phi[8];
        double normal[3], along = 0;
        if (s->solid_volume[solid + (size_t)i] <= MOSTLY) continue;
        if (isnan(s->velocity[0][base + (size_t)i])) continue;
        load_corners(block, s->dim, i, phi);
        if (!cell_normal(s, slot, phi, i, normal)) continue;
        for (int a = 0; a < s->dim; a++)
            along += normal[a] * ((double)s->velocity[a][base + (size_t)i] -
                                  (double)s->warp->wall[a][solid + (size_t)i]);
        for (int a = 0; a < s->dim; a++)
            s->velocity[a][base + (size_t)i] -= (float)(along * normal[a]);
    }
}

void warp_slip(BrimSim *s) {
    if (s->walls.solid_count && s->warp->open) tiles_for(s, slip_tile, NULL);
}

void warp_leave_cut(const BrimSim *s, int slot, TileMask *cells) {
    if (!solid_here(s, slot)) return;
    const int n = s->grid.tile_cells;
    const float *part = s->solid_volume + (size_t)(s->solid_at[slot] - 1) * (size_t)n;
    for (int i = 0; i < n; i++)
        if (part[i] > MOSTLY) cells->slice[i >> 6] &= ~((uint64_t)1 << (i & 63));
}

void warp_forget_cut(const BrimSim *s, int slot, TileMask *known) {
    if (!solid_here(s, slot)) return;
    const Grid *g = &s->grid;
    const float *part = s->solid_volume + (size_t)(s->solid_at[slot] - 1) * (size_t)g->tile_cells;
    const TileMask all = *known;
    for (int i = 0; i < g->tile_cells; i++) {
        if (!mask_has(&all, i) || part[i] <= MOSTLY) continue;
        bool other = false; // that may say more
        for (int k = 0; k < 2 * s->dim && !other; k++) {
            const int64_t next = grid_step(g, slot, i, k >> 1, k & 1 ? 1 : -1);
            other = next >= 0 && s->own[next >> 3] >> (next & 7) & 1 &&
                    solid_volume_of(s, next) <= MOSTLY;
        }
        if (other) known->slice[i >> 6] &= ~((uint64_t)1 << (i & 63));
    }
}

// -------------------------------------------------------------------------------------- particles

/// Distance to the nearest solid at a point in space, m; owner: which, -1: none.
static float distance_to(const BrimSim *s, const float x[3], int *owner) {
    float least = INFINITY, d;
    int who = -1;
    for (int k = 0; k < s->walls.solid_count; k++) {
        if (!solid_exists(s->walls.solids[k], s->walls.time)) continue;
        solid_distance(s->walls.solids[k], 1, &x[0], &x[1], &x[2], &d);
        d -= SOLID_SKIN * s->dx;
        if (d < least) least = d, who = k;
    }
    if (owner) *owner = who;
    return least;
}

/// Its slope there, of length 1. False: it has none.
static bool slope_of(const BrimSim *s, const float x[3], float out[3]) {
    const float step = 0.02f * s->dx;
    float square = 0;
    out[0] = out[1] = out[2] = 0;
    for (int a = 0; a < s->dim; a++) {
        float low[3] = {x[0], x[1], x[2]}, high[3] = {x[0], x[1], x[2]};
        low[a] -= step, high[a] += step;
        out[a] = (distance_to(s, high, NULL) - distance_to(s, low, NULL)) / (2 * step);
        square += out[a] * out[a];
    }
    for (int a = 0; a < s->dim; a++) out[a] /= sqrtf(square);
    return square > 1e-4f;
}

/// Cells that a particle goes at once beside solids, and so many times at most.
static const float STRIDE = 0.5f;
enum { STRIDES_MOST = 64, PUSHES = 4 };
/// Particles end this far outside, cells.
static const float OUTSIDE = 1e-3f;

/// Goes from `from` by `way` in the frame of the solids as they end the step. => at. Returns
/// whether it met one; normal: of the last that it met
static bool walk(const BrimSim *s, const float from[3], const float way[3], float at[3],
                 float normal[3]) {
    float length = 0, n[3];
    bool met = false;
    for (int a = 0; a < s->dim; a++) length += way[a] * way[a];
    const float wanted = ceilf(sqrtf(length) * s->inv_dx / STRIDE);
    const int strides = (int)fminf(fmaxf(wanted, 1), STRIDES_MOST);
    for (int a = 0; a < 3; a++) at[a] = from[a], normal[a] = 0;
    for (int k = 0; k < strides; k++) {
        for (int a = 0; a < s->dim; a++) at[a] += way[a] / (float)strides;
        for (int push = 0; push < PUSHES; push++) {
            const float d = distance_to(s, at, NULL);
            if (d >= 0 || !slope_of(s, at, n)) break;
            for (int a = 0; a < s->dim; a++)
                at[a] += (OUTSIDE * s->dx - d) * n[a], normal[a] = n[a];
            met = true;
        }
    }
    return met;
}

/// Whether a solid may meet a tile's particles, which go `reach` cells.
static bool may_meet(const BrimSim *s, int slot, float reach) {
    float low[3], high[3], first[3], last[3];
    warp_tile_box(s, slot, reach + SOLID_REACH, first, last);
    for (int k = 0; k < s->walls.solid_count; k++) {
        bool near = solid_exists(s->walls.solids[k], s->walls.time) &&
                    solid_bounds(s->walls.solids[k], low, high);
        for (int a = 0; a < s->dim && near; a++) near = high[a] >= first[a] && low[a] <= last[a];
        if (near) return true;
    }
    return false;
}

/// One particle that has moved; from: where it was in space, m.
static void keep_out(BrimSim *s, uint32_t i, const float from[3]) {
    Particles *p = &s->particles;
    double xi[3], to[3];
    float way[3] = {0}, start[3] = {0}, at[3], normal[3], wall[3] = {0}, length = 0;
    int owner;
    warp_particle(s, i, xi);
    map_to_space(&s->warp->mesh.map, xi, to);
    distance_to(s, from, &owner);
    if (owner < 0) return;
    if (solid_moves(s->walls.solids[owner])) {
        const BrimVec3 v = solid_velocity(s->walls.solids[owner], from[0], from[1], from[2]);
        wall[0] = v.x, wall[1] = v.y, wall[2] = v.z;
    }
    for (int a = 0; a < s->dim; a++) {
        start[a] = from[a] + (float)s->dt * wall[a];
        way[a] = (float)to[a] * s->dx - start[a];
        length += way[a] * way[a];
    }
    const float before = distance_to(s, start, NULL);
    if (before > sqrtf(length)) return; // it cannot get there
    if (!walk(s, start, way, at, normal)) return;
    if (distance_to(s, at, NULL) < 0 && before >= 0) memcpy(at, start, sizeof at); // held fast
    double x[3] = {0}, into = 0;
    for (int a = 0; a < s->dim; a++)
        x[a] = fmin(fmax((double)space_to_grid(s->space, at[a]), (double)WARP_SIDE),
                    s->grid.cells[a] - (double)WARP_SIDE);
    map_to_reference(&s->warp->mesh.map, x, xi, 1e-6, 30);
    for (int a = 0; a < s->dim; a++) {
        p->attr[ATTR_X + a][i] = (float)(xi[a] * (double)s->dx);
        into += (double)(normal[a] * (p->attr[ATTR_VX + a][i] - wall[a]));
    }
    for (int a = 0; a < s->dim && into < 0; a++) p->attr[ATTR_VX + a][i] -= (float)into * normal[a];
}

void warp_leave_solids(BrimSim *s, int slot, float reach) {
    if (!s->walls.solid_count || !may_meet(s, slot, reach)) return;
    float *const *space = s->warp->space;
    const uint32_t end = tile_end(&s->particles, slot);
    for (uint32_t i = tile_first(&s->particles, slot); i < end; i++)
        keep_out(s, i, (const float[3]){space[0][i], space[1][i], s->dim == 3 ? space[2][i] : 0});
}

bool warp_seed_beside(const BrimSim *s, double spacing, uint64_t chance, double xi[3]) {
    if (!s->walls.solid_count) return true;
    double x[3], J[3][3], slope[3] = {0}, square = 0;
    float at[3], n[3];
    map_point(&s->warp->mesh.map, xi, x, J);
    for (int a = 0; a < 3; a++) at[a] = a < s->dim ? (float)x[a] * s->dx : 0;
    const double d = (double)(distance_to(s, at, NULL) * s->inv_dx);
    if (d > 2 || d < -2 || !slope_of(s, at, n)) return d > 0;
    for (int i = 0; i < s->dim; i++) {
        for (int j = 0; j < s->dim; j++) slope[i] += J[i][j] * (double)n[j];
        square += slope[i] * slope[i];
    }
    const double here = d / sqrt(square), part = 0.5 + here / spacing; // in reference space
    if (part >= 1) return true;
    if (!(part > (double)hash_unit(chance, 0))) return false;
    for (int a = 0; a < s->dim; a++)
        xi[a] += (0.5 * part * spacing - here) * slope[a] / sqrt(square);
    return true;
}
