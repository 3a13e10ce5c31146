// The level set on a warped mesh: averaged positions in reference space at nodes, turned into
// distances in space by the surface's foot below each node.
#include "grid/mask.h"
#include "step/stages.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// A particle of a tile reaches its nodes from -1 to 9; weight, weighed position.
enum { EDGE = TILE + 3, NUMBERS = 4 };

/// Distance given to a node whose cells are all full though the averaged positions say air.
static const float FULL = -0.1f;

/// From one field of nodes to another.
typedef struct Smoothing {
    const float *from;
    float *to;
    int axis;
} Smoothing;

static size_t block_floats(const BrimSim *s) {
    return (size_t)NUMBERS * EDGE * EDGE * (s->dim == 3 ? EDGE : 1);
}

static float *block_at(float *block, int x, int y, int z, int dim) {
    int at = ((dim == 3 ? z + 1 : 0) * EDGE + y + 1) * EDGE + x + 1;
    return block + (size_t)NUMBERS * (size_t)at;
}

/// Adds one point, a particle or its mirror image, in cells of the tile.
static void add_point(const BrimSim *s, const double at[3], double volume, float *block) {
    const double R = (double)s->profile.radius;
    int low[3] = {0}, high[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        low[a] = (int)fmax(ceil(at[a] - R), -1);
        high[a] = (int)fmin(floor(at[a] + R), TILE + 1);
    }
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x++) {
                double dx = at[0] - x, dy = at[1] - y, dz = s->dim == 3 ? at[2] - z : 0;
                double k = 1 - (dx * dx + dy * dy + dz * dz) / (R * R);
                if (k <= 0) continue;
                double w = volume * k * k * k;
                float *to = block_at(block, x, y, z, s->dim);
                // relative to the node: no digits are lost far from the origin
                to[0] += (float)w;
                to[1] += (float)(w * dx), to[2] += (float)(w * dy), to[3] += (float)(w * dz);
            }
}

static void scatter_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->block_at[slot] < 0) return;
    const double R = (double)s->profile.radius;
    const TileCoord t = s->grid.coord[slot];
    const int low[3] = {t.x * TILE, t.y * TILE, s->dim == 3 ? t.z * TILE : 0};
    Particles *p = &s->particles;
    float *block = warp_block(s, slot, block_floats(s));
    memset(block, 0, block_floats(s) * sizeof *block);
    for (uint32_t n = tile_first(p, &s->grid, slot); n < tile_end(p, &s->grid, slot); n++) {
        double xi[3], J[3][3];
        warp_particle(s, n, xi);
        map_jacobian(&s->warp->mesh.map, xi, J);
        // the profile is that of evenly filled reference space
        double weight = warp_volume(s, n) / matrix_determinant(J);
        for (int image = 0; image < 1 << s->dim; image++) { // beyond walls
            double at[3] = {0};
            bool near = true;
            for (int a = 0; a < s->dim; a++) {
                double end = s->grid.cells[a], v = xi[a];
                if (image >> a & 1) {
                    if (v < R)
                        v = -v;
                    else if (v > end - R)
                        v = 2 * end - v;
                    else
                        near = false;
                }
                at[a] = v - low[a];
            }
            if (near) add_point(s, at, weight, block);
        }
    }
}

static float profile_distance(const LevelSetProfile *p, float psi) {
    float at = (psi - p->low) / p->step;
    if (!(at > 0)) return p->distance[0];
    int i = (int)at < PROFILE_SIZE ? (int)at : PROFILE_SIZE - 1;
    float part = fminf(at - (float)i, 1);
    return p->distance[i] + part * (p->distance[i + 1] - p->distance[i]);
}

/// Which cells around a node, `ring` cells in each direction, hold particles, or are beyond a wall.
static bool all_around(const BrimSim *s, int slot, const int local[3], int ring, bool full) {
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const int first[3] = {t.x * TILE, t.y * TILE, t.z * TILE};
    int deep = s->dim == 3 ? ring : 1;
    for (int z = -deep; z < (s->dim == 3 ? ring : 0); z++)
        for (int y = -ring; y < ring; y++)
            for (int x = -ring; x < ring; x++) {
                const int at[3] = {local[0] + x, local[1] + y, s->dim == 3 ? local[2] + z : 0};
                bool outside = false;
                for (int a = 0; a < s->dim; a++)
                    outside = outside || first[a] + at[a] < 0 || first[a] + at[a] >= g->cells[a];
                if (outside) continue;
                int64_t i = grid_near(g, slot, at[0], at[1], at[2]);
                if (i < 0 || !(s->particles.occupied[i >> 3] >> (i & 7) & 1)) return false;
                if (!full) continue;
                double sum = 0, centre[3], J[3][3];
                for (uint32_t n = s->particles.cell_start[i]; n < s->particles.cell_start[i + 1];
                     n++)
                    sum += warp_volume(s, n);
                for (int a = 0; a < 3; a++) centre[a] = first[a] + at[a] + 0.5;
                map_jacobian(&s->warp->mesh.map, centre, J);
                if (sum < 0.999 * matrix_determinant(J)) return false;
            }
    return true;
}

/// => phibar
static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    for (int i = 0; i < g->tile_cells; i++) {
        const int at[3] = {i & 7, i >> 3 & 7, i >> 6};
        float sum[NUMBERS] = {0}, out = LEVEL_SET_CUT;
        for (int n = 0; n < 27; n++) {
            int32_t from = g->neighbour[slot][n];
            if (from < 0 || s->block_at[from] < 0) continue;
            int place[3], d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            bool near = true;
            for (int a = 0; a < s->dim; a++) {
                place[a] = at[a] - TILE * d[a];
                near = near && place[a] >= -1 && place[a] <= TILE + 1;
            }
            if (!near) continue;
            const float *v = block_at(warp_block(s, from, block_floats(s)), place[0], place[1],
                                      s->dim == 3 ? place[2] : 0, s->dim);
            for (int k = 0; k < NUMBERS; k++) sum[k] += v[k];
        }
        if (sum[0] > 0) {
            float x = sum[1] / sum[0], y = sum[2] / sum[0], z = sum[3] / sum[0];
            out = profile_distance(&s->profile, sqrtf(x * x + y * y + z * z) - s->profile.offset);
            if (all_around(s, slot, at, 2, false))
                out = -LEVEL_SET_CUT;
            else if (out > FULL && all_around(s, slot, at, 1, true))
                out = FULL;
        }
        s->phibar[(size_t)slot * (size_t)g->tile_cells + (size_t)i] = out;
    }
}

/// Where a node on a line of nodes along an axis has a neighbour; mirrored beyond walls.
static int64_t beside(const BrimSim *s, int slot, int i, int axis, int at, int direction) {
    if (at == 0 || at == s->grid.cells[axis]) direction = at == 0 ? 1 : -1;
    return grid_step(&s->grid, slot, i, axis, direction);
}

/// One axis of the filter 1/4, 1/2, 1/4 on nodes beside the surface. It leaves planes as they are
/// and takes out what alternates from node to node: cell velocities cannot answer to that.
static void smooth_tile(BrimSim *s, int slot, int thread, void *context) {
    const Smoothing *f = context;
    const TileCoord t = s->grid.coord[slot];
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const int at[3] = {t.x * TILE + (i & 7), t.y * TILE + (i >> 3 & 7), t.z * TILE + (i >> 6)};
        const size_t me = (size_t)slot * (size_t)s->grid.tile_cells + (size_t)i;
        f->to[me] = f->from[me];
        if (at[f->axis] > s->grid.cells[f->axis] || fabsf(f->from[me]) >= LEVEL_SET_CUT) continue;
        int64_t low = beside(s, slot, i, f->axis, at[f->axis], -1);
        int64_t high = beside(s, slot, i, f->axis, at[f->axis], 1);
        if (low < 0 || high < 0) continue;
        f->to[me] = 0.5f * f->from[me] + 0.25f * (f->from[low] + f->from[high]);
    }
}

/// Slope of phibar at a node; mirrored beyond walls.
static void slope_at(const BrimSim *s, const float *phibar, int slot, int i, const int at[3],
                     double g[3]) {
    float here = phibar[(size_t)slot * (size_t)s->grid.tile_cells + (size_t)i];
    for (int a = 0; a < 3; a++) {
        g[a] = 0;
        if (a >= s->dim || at[a] <= 0 || at[a] >= s->grid.cells[a]) continue;
        int64_t low = grid_step(&s->grid, slot, i, a, -1);
        int64_t high = grid_step(&s->grid, slot, i, a, 1);
        double from = low < 0 ? (double)here : (double)phibar[low];
        double to = high < 0 ? (double)here : (double)phibar[high];
        g[a] = (to - from) / 2;
    }
}

/// J at a node from the points half a cell to either side, one-sided on the domain's sides.
static void node_jacobian(const BrimSim *s, const int at[3], double J[3][3]) {
    const WarpMap *m = &s->warp->mesh.map;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) J[i][j] = i == j;
        if (i >= s->dim) continue;
        double low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]}, a[3], b[3];
        low[i] = fmax(low[i] - 0.5, 0), high[i] = fmin(high[i] + 0.5, s->grid.cells[i]);
        map_displacement(m, low, a);
        map_displacement(m, high, b);
        for (int j = 0; j < s->dim; j++) J[i][j] += (b[j] - a[j]) / (high[i] - low[i]);
    }
}

/// phibar => phi: distance in space to the foot, the point of the surface below the node.
static void foot_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const WarpMap *m = &s->warp->mesh.map;
    const TileCoord t = g->coord[slot];
    for (int i = 0; i < g->tile_cells; i++) {
        const size_t me = (size_t)slot * (size_t)g->tile_cells + (size_t)i;
        const int at[3] = {t.x * TILE + (i & 7), t.y * TILE + (i >> 3 & 7),
                           s->dim == 3 ? t.z * TILE + (i >> 6) : 0};
        float bar = s->phibar[me];
        bool inside = true;
        for (int a = 0; a < s->dim; a++) inside = inside && at[a] <= g->cells[a];
        s->phi[me] = inside ? bar : LEVEL_SET_CUT;
        if (!inside || !(fabsf(bar) < s->profile.radius)) continue;
        double slope[3], J[3][3], inverse[3][3], normal[3] = {0}, foot[3], x[3], below[3];
        slope_at(s, s->phibar, slot, i, at, slope);
        double square = slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2];
        if (square < 0.01) continue; // no direction: as in reference space
        const double xi[3] = {at[0], at[1], at[2]};
        for (int a = 0; a < 3; a++)
            foot[a] = a < s->dim
                          ? fmin(fmax(xi[a] - (double)bar * slope[a] / square, 0), g->cells[a])
                          : 0;
        map_to_space(m, xi, x);
        map_to_space(m, foot, below);
        node_jacobian(s, at, J);
        matrix_invert(J, inverse);
        double length = 0, distance = 0;
        for (int a = 0; a < s->dim; a++) {
            for (int b = 0; b < s->dim; b++) normal[a] += inverse[a][b] * slope[b];
            length += normal[a] * normal[a];
        }
        for (int a = 0; a < s->dim; a++) distance += (x[a] - below[a]) * normal[a] / sqrt(length);
        // the sign is phibar's
        s->phi[me] = bar < 0 ? (float)fmin(distance, -1e-6) : (float)fmax(distance, 0);
    }
}

static void find_slivers(BrimSim *s, int slot, int thread, void *context) {
    nodal_find_slivers(&s->grid, s->phi, context, slot);
}

static void drop_slivers(BrimSim *s, int slot, int thread, void *context) {
    const uint8_t *sliver = (const uint8_t *)context + (size_t)slot * (size_t)s->grid.tile_rows;
    float *phi = s->phi + (size_t)slot * (size_t)s->grid.tile_cells;
    for (int i = 0; i < s->grid.tile_cells; i++)
        if (sliver[i >> 3] >> (i & 7) & 1) phi[i] = 0;
}

BrimResult warp_surface(BrimSim *s, BrimError *error) {
    if (!warp_blocks(s, block_floats(s))) return step_out_of_memory(s, "surface", error);
    tiles_for(s, scatter_tile, NULL);
    tiles_for(s, gather_tile, NULL);
    float *from = s->phibar, *to = s->phi;
    for (int a = 0; a < s->dim; a++) {
        tiles_for(s, smooth_tile, &(Smoothing){from, to, a});
        float *other = from;
        from = to, to = other;
    }
    if (from != s->phibar) memcpy(s->phibar, from, sim_cells(s) * sizeof(float));
    tiles_for(s, foot_tile, NULL);
    tiles_for(s, find_slivers, s->sliver);
    tiles_for(s, drop_slivers, s->sliver);
    return BRIM_OK;
}
