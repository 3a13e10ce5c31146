// The level set on a warped mesh: averaged positions in reference space at nodes, turned into
// distances in space by the surface's foot below each node.
#include "band/band.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "warp/nodal_cell.h"
#include "warp/occupied.h"
#include "warp/stage_images.h"
#include <math.h>
#include <string.h>

/// Distance given to a node whose cells are all full though the averaged positions say air.
static const float FULL = -0.1f;

/// From one field of nodes to another.
typedef struct Smoothing {
    const float *from;
    float *to;
    int axis;
} Smoothing;

// ------------------------------------------------------------------------- which nodes to measure

/// Bits of a row of nodes: of which all cells around, `ring` in each direction, are in the mask, or
/// any.
static unsigned nodes_among(const BrimSim *s, const Occupied *o, int y, int z, int ring, bool all) {
    unsigned row = all ? ~0u : 0, out;
    const int deep = s->dim == 3 ? ring : 1;
    for (int k = s->dim == 3 ? -deep : 0; k < (s->dim == 3 ? deep : 1); k++)
        for (int j = -ring; j < ring; j++) {
            unsigned bits = o->row[s->dim == 3 ? z + SEEN + k : 0][y + SEEN + j];
            row = all ? row & bits : row | bits;
        }
    out = row >> (SEEN - ring);
    for (int k = 1; k < 2 * ring; k++)
        out = all ? out & row >> (SEEN - ring + k) : out | row >> (SEEN - ring + k);
    return out & 0xff;
}

/// Nodes of a tile, one byte a row.
typedef struct NodeMasks {
    uint8_t deep[TILE * TILE], sees[TILE * TILE]; ///< all cells that it sees are occupied, or any
    uint8_t among[TILE * TILE];                   ///< the cells beside it are
    bool any;                                     ///< some see the surface
} NodeMasks;

static void find_masks(const BrimSim *s, int slot, NodeMasks *m) {
    Occupied full, real;
    find_occupied(s, slot, true, &full);
    find_occupied(s, slot, false, &real);
    m->any = false;
    for (int r = 0; r < s->grid.tile_rows; r++) {
        const int y = r & 7, z = r >> 3;
        m->sees[r] = (uint8_t)nodes_among(s, &real, y, z, SEEN, false);
        m->deep[r] = m->sees[r] & (uint8_t)nodes_among(s, &full, y, z, SEEN, true);
        m->among[r] = (uint8_t)nodes_among(s, &full, y, z, 1, true);
        m->any = m->any || m->sees[r] != m->deep[r];
    }
}

/// What the nodes of a tile are, in block_at. AWAY: none sees the surface, but some may be deep,
/// others beyond the domain.
enum { ALL_AIR, ALL_DEEP, AWAY, NEAR_SURFACE };

/// Whether a tile beside one holds cells of the domain.
static bool tile_inside(const BrimSim *s, TileCoord t, int neighbour) {
    const int at[3] = {t.x + neighbour % 3 - 1, t.y + neighbour / 3 % 3 - 1,
                       t.z + neighbour / 9 - 1};
    for (int a = 0; a < s->dim; a++)
        if (at[a] < 0 || at[a] * TILE >= s->grid.cells[a]) return false;
    return s->dim == 3 || at[2] == 0;
}

/// What the nodes are in the midst of cells that are all occupied, or all not; otherwise their
/// masks say it.
static int tile_kind(const BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    uint8_t any = 0, all = 0xff;
    for (int n = 0; n < 27; n++) {
        const int32_t from = g->neighbour[slot][n];
        if (!tile_inside(s, g->coord[slot], n)) {
            if (n == TILE_SELF) all = 0;
            continue;
        }
        if (from < 0) all = 0;
        for (int r = 0; from >= 0 && r < g->tile_rows; r++) {
            const uint8_t row = full_cells(s)[(size_t)from * (size_t)g->tile_rows + (size_t)r];
            any |= row, all &= row;
        }
    }
    return all == 0xff ? ALL_DEEP : any ? NEAR_SURFACE : ALL_AIR;
}

/// => block_at: whether the tile has nodes that see the surface, or solids
static void mark_tile(BrimSim *s, int slot, int thread, void *context) {
    NodeMasks masks;
    const bool walls = s->walls.solid_count && s->solid_at[slot];
    int kind = walls ? NEAR_SURFACE : tile_kind(s, slot);
    if (kind == NEAR_SURFACE && !walls) {
        find_masks(s, slot, &masks);
        if (!masks.any) kind = AWAY;
    }
    s->block_at[slot] = kind;
}

/// Weights of the particles that such nodes see. => spare of the particles
static void weigh_tile(BrimSim *s, int slot, int thread, void *context) {
    const Span span = sim_span(s, slot, 1);
    bool seen = false;
    for (int n = 0; n < 27 && !seen; n++) {
        const int32_t t = s->grid.neighbour[slot][n];
        seen = t >= 0 && s->block_at[t] == NEAR_SURFACE;
    }
    if (!seen || span.count == 0) return;
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    // the profile is that of evenly filled reference space
    s->warp->kernels->weigh(&span, &lattice, s->particles.spare + tile_first(&s->particles, slot));
}

// ------------------------------------------------------------------------------ averaged positions

static float profile_distance(const LevelSetProfile *p, float psi) {
    float at = (psi - p->low) / p->step;
    if (!(at > 0)) return p->distance[0];
    int i = (int)at < PROFILE_SIZE ? (int)at : PROFILE_SIZE - 1;
    float part = fminf(at - (float)i, 1);
    return p->distance[i] + part * (p->distance[i + 1] - p->distance[i]);
}

/// Whether the cells around a node are full.
static bool full_around(const BrimSim *s, const int node[3]) {
    const Grid *g = &s->grid;
    for (int c = 0; c < 1 << s->dim; c++) {
        const int at[3] = {node[0] - 1 + (c & 1), node[1] - 1 + (c >> 1 & 1),
                           s->dim == 3 ? node[2] - 1 + (c >> 2) : 0};
        bool outside = false;
        for (int a = 0; a < s->dim; a++) outside = outside || at[a] < 0 || at[a] >= g->cells[a];
        if (outside) continue;
        const int64_t i = grid_cell(g, at[0], at[1], at[2]);
        if (has_band(s) && i >= 0 && band_bit(s->interior, i)) continue;
        double sum = 0, J[3][3];
        const double centre[3] = {at[0] + 0.5, at[1] + 0.5, at[2] + 0.5};
        const uint32_t *start = cell_starts_from(&s->particles, g, i);
        for (uint32_t n = start[0]; n < start[1]; n++) sum += warp_volume(s, n);
        map_jacobian(&s->warp->mesh.map, centre, J);
        const double open = s->walls.solid_count ? 1 - (double)solid_volume_of(s, i) : 1;
        if (sum < 0.999 * open * matrix_determinant(J)) return false;
    }
    return true;
}

/// Solids beside a node as a plane in reference space: distance in cells, normal out of them.
typedef struct Plane {
    float distance, normal[3];
} Plane;

/// False: the node sees none.
static bool find_plane(const BrimSim *s, int slot, int i, Plane *p) {
    static const float DEEPEST = -2; // no cell with an open part has a corner deeper inside
    const int64_t me = (int64_t)slot * s->grid.tile_cells + i;
    if (!s->walls.solid_count || solid_cell(s, me) < 0) return false;
    const float here = solid_distance_at(s, me);
    float square = 0;
    p->distance = here * s->inv_dx;
    if (p->distance > s->profile.radius || p->distance < DEEPEST) return false;
    for (int a = 0; a < 3; a++) {
        p->normal[a] = 0;
        if (a >= s->dim) continue;
        const int64_t low = grid_step(&s->grid, slot, i, a, -1);
        const int64_t high = grid_step(&s->grid, slot, i, a, 1);
        p->normal[a] = (high < 0 ? here : solid_distance_at(s, high)) -
                       (low < 0 ? here : solid_distance_at(s, low));
        square += p->normal[a] * p->normal[a];
    }
    for (int a = 0; a < s->dim; a++) p->normal[a] /= sqrtf(square);
    return square > 0;
}

/// Adds the mirror images of particles beyond a plane: what they are to the node, they are
/// themselves to the node's own image.
static void add_images(const BrimSim *s, const int node[3], const Plane *p, float sum[4]) {
    float at[3] = {0}, more[4], along = 0;
    for (int a = 0; a < s->dim; a++) at[a] = (float)node[a] - 2 * p->distance * p->normal[a];
    warp_sum_point(s, at, more);
    for (int a = 0; a < s->dim; a++) along += more[1 + a] * p->normal[a];
    sum[0] += more[0];
    for (int a = 0; a < s->dim; a++) sum[1 + a] += more[1 + a] - 2 * along * p->normal[a];
}

/// With a band: whether all that the image of a node inside a solid sees outside of solids is
/// liquid, which may have no particles. In the wedge below a ball on the floor it sees nothing.
static bool image_deep(const BrimSim *s, const int node[3], const Plane *p) {
    const Grid *g = &s->grid;
    const uint8_t *full = full_cells(s);
    int low[3] = {0}, high[3] = {1, 1, 1};
    bool any = false;
    for (int a = 0; a < s->dim; a++) {
        const int at = (int)lrintf((float)node[a] - 2 * p->distance * p->normal[a]);
        low[a] = at - SEEN < 0 ? 0 : at - SEEN;
        high[a] = at + SEEN < g->cells[a] ? at + SEEN : g->cells[a];
    }
    for (int z = low[2]; z < high[2]; z++)
        for (int y = low[1]; y < high[1]; y++)
            for (int x = low[0]; x < high[0]; x++) {
                const int64_t i = grid_cell(g, x, y, z);
                if (i < 0 || !(band_bit(full, i) || band_bit(s->rock, i))) return false;
                any = any || band_bit(full, i);
            }
    return any;
}

static float node_distance(const BrimSim *s, const int node[3], bool among, const Plane *plane) {
    float sum[4];
    const float at[3] = {(float)node[0], (float)node[1], (float)node[2]};
    warp_sum_point(s, at, sum);
    if (plane) add_images(s, node, plane, sum);
    if (!(sum[0] > 0)) return LEVEL_SET_CUT;
    const float x = sum[1] / sum[0], y = sum[2] / sum[0], z = sum[3] / sum[0];
    float out = profile_distance(&s->profile, sqrtf(x * x + y * y + z * z) - s->profile.offset);
    return out > FULL && among && full_around(s, node) ? FULL : out;
}

/// => phibar; where no node sees the surface also phi
static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const size_t base = (size_t)slot * (size_t)g->tile_cells;
    NodeMasks m;
    if (s->block_at[slot] < AWAY) {
        const float out = s->block_at[slot] == ALL_DEEP ? -LEVEL_SET_CUT : LEVEL_SET_CUT;
        for (int i = 0; i < g->tile_cells; i++)
            s->phi[base + (size_t)i] = s->phibar[base + (size_t)i] = out;
        return;
    }
    const bool near = s->walls.solid_count && s->solid_at[slot];
    find_masks(s, slot, &m);
    for (int i = 0; i < g->tile_cells; i++) {
        const int node[3] = {t.x * TILE + (i & 7), t.y * TILE + (i >> 3 & 7),
                             s->dim == 3 ? t.z * TILE + (i >> 6) : 0};
        const int r = i >> 3, bit = i & 7;
        float out = m.deep[r] >> bit & 1 ? -LEVEL_SET_CUT : LEVEL_SET_CUT;
        bool inside = true;
        for (int a = 0; a < s->dim; a++) inside = inside && node[a] <= g->cells[a];
        Plane plane;
        const bool wall = inside && near && find_plane(s, slot, i, &plane);
        if (inside && ((m.sees[r] & ~m.deep[r]) >> bit & 1 || (wall && plane.distance < 0)))
            out = has_band(s) && wall && plane.distance < 0 && image_deep(s, node, &plane)
                      ? -LEVEL_SET_CUT
                      : node_distance(s, node, m.among[r] >> bit & 1, wall ? &plane : NULL);
        s->phibar[base + (size_t)i] = out;
        if (s->block_at[slot] == AWAY) s->phi[base + (size_t)i] = inside ? out : LEVEL_SET_CUT;
    }
}

/// A row of nodes of the tile or of one beside it, by its place along an axis; NULL: no tile is
/// there.
static const float *row_along(const NodalNear *near, int y, int z) {
    const float *tile = near->at[TILE_SELF + 3 * (y >> TILE_SHIFT) + 9 * (z >> TILE_SHIFT)];
    return tile ? tile + ((z & 7) * TILE + (y & 7)) * TILE : NULL;
}

/// The distance at the next node, where it may be cut off: from one node to the next no distance
/// changes by more than a cell.
static float one_cell_from(float here, float next) {
    return fminf(fmaxf(next, here - 1), here + 1);
}

/// Slope along an axis at a node on one of the domain's sides across it: none along the level
/// planes that images are mirrored along.
static double slope_at_side(const BrimSim *s, const float *field, int slot, int i, const int at[3],
                            int axis) {
    const double xi[3] = {at[0], at[1], at[2]};
    const float here = field[(size_t)slot * (size_t)s->grid.tile_cells + (size_t)i];
    double t[3], slope = 0;
    if (!warp_slant(s, axis, xi, t)) return 0;
    for (int a = 0; a < s->dim; a++) {
        if (a == axis) continue;
        const int64_t low = at[a] > 0 ? grid_step(&s->grid, slot, i, a, -1) : -1;
        const int64_t high = at[a] < s->grid.cells[a] ? grid_step(&s->grid, slot, i, a, 1) : -1;
        const double from = low < 0 ? (double)here : (double)one_cell_from(here, field[low]);
        const double to = high < 0 ? (double)here : (double)one_cell_from(here, field[high]);
        if (low >= 0 || high >= 0) slope -= t[a] * (to - from) / ((low >= 0) + (high >= 0));
    }
    return slope;
}

/// One axis of the filter 1/4, 1/2, 1/4 on nodes beside the surface, mirrored at walls. It leaves
/// planes as they are and takes out what alternates from node to node: cell velocities cannot
/// answer to that. A node beside which there is no tile stays.
static void smooth_tile(BrimSim *s, int slot, int thread, void *context) {
    const Smoothing *f = context;
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const int a = f->axis, tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE}, wall = g->cells[a];
    if (s->block_at[slot] != NEAR_SURFACE) return;
    const NodalNear near = nodal_near(g, f->from, (size_t)g->tile_cells, NULL, slot);
    for (int r = 0; r < g->tile_rows; r++) {
        const int at[3] = {0, r & 7, r >> 3};
        const float *here = row_along(&near, at[1], at[2]);
        float low[TILE], high[TILE], *to = f->to + (here - f->from);
        for (int k = 0; k < 2; k++) {
            float *beside = k ? high : low;
            const int way = k ? 1 : -1, place = tile[a] + at[a];
            const int step = a > 0 && place == 0 ? 1 : a > 0 && place == wall ? -1 : way;
            const int next[3] = {step * (a == 0), step * (a == 1), step * (a == 2)};
            float row[TILE + 2];
            nodal_load_row(&near, at[1] + next[1], at[2] + next[2], NAN, row);
            memcpy(beside, row + 1 + next[0], TILE * sizeof *row);
        }
        if (a == 0 && tile[0] == 0) low[0] = high[0];
        if (a == 0 && wall - tile[0] < TILE) high[wall - tile[0]] = low[wall - tile[0]];
        for (int i = 0; i < TILE && s->warp->slanted[a]; i++) {
            const int node[3] = {tile[0] + i, tile[1] + at[1], tile[2] + at[2]};
            if (node[a] != 0 && node[a] != wall) continue;
            float *beyond = node[a] ? high : low;
            const double slope = slope_at_side(s, f->from, slot, r * TILE + i, node, a);
            beyond[i] += (float)((node[a] ? 2 : -2) * slope);
        }
        for (int i = 0; i < TILE; i++) {
            const bool alone = low[i] != low[i] || high[i] != high[i];
            const float mean = 0.5f * here[i] + 0.25f * (one_cell_from(here[i], low[i]) +
                                                         one_cell_from(here[i], high[i]));
            const bool beyond = tile[a] + (a == 0 ? i : at[a]) > wall;
            const bool stays = beyond || fabsf(here[i]) >= LEVEL_SET_CUT || alone;
            to[i] = stays ? here[i] : mean;
        }
    }
}

/// phi => phibar
static void copy_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t n = (size_t)s->grid.tile_cells, at = (size_t)slot * n;
    if (s->block_at[slot] == NEAR_SURFACE) memcpy(s->phibar + at, s->phi + at, n * sizeof(float));
}

/// Slope of phibar at a node along an axis: across the surface where that lies to one side of the
/// node, since those two distances are what says where it is.
static double slope_along(const BrimSim *s, const float *phibar, int slot, int i, int axis) {
    const float here = phibar[(size_t)slot * (size_t)s->grid.tile_cells + (size_t)i];
    const int64_t low = grid_step(&s->grid, slot, i, axis, -1);
    const int64_t high = grid_step(&s->grid, slot, i, axis, 1);
    const float from = low < 0 ? here : phibar[low], to = high < 0 ? here : phibar[high];
    const bool below = (from < 0) != (here < 0), above = (to < 0) != (here < 0);
    if (below == above)
        return ((double)one_cell_from(here, to) - (double)one_cell_from(here, from)) / 2;
    return below ? (double)here - (double)from : (double)to - (double)here;
}

/// Slope of phibar at a node; mirrored beyond walls.
static void slope_at(const BrimSim *s, const float *phibar, int slot, int i, const int at[3],
                     double g[3]) {
    for (int a = 0; a < 3; a++) {
        g[a] = 0;
        if (a >= s->dim) continue;
        g[a] = at[a] > 0 && at[a] < s->grid.cells[a] ? slope_along(s, phibar, slot, i, a)
                                                     : slope_at_side(s, phibar, slot, i, at, a);
    }
}

/// Displacements of a tile's nodes and those around it.
typedef struct Displaced {
    float *d[3]; ///< blocks with halo 1
} Displaced;

static int block_node(int x, int y, int z) {
    return (z * (TILE + 2) + y) * (TILE + 2) + x;
}

/// J at a node from the nodes to either side, one-sided on the domain's sides.
static void node_jacobian(const BrimSim *s, const Displaced *b, int here, const int at[3],
                          double J[3][3]) {
    static const int step[3] = {1, TILE + 2, (TILE + 2) * (TILE + 2)};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) J[i][j] = i == j;
        if (i >= s->dim) continue;
        const int low = here - (at[i] > 0) * step[i];
        const int high = here + (at[i] < s->grid.cells[i]) * step[i];
        for (int j = 0; j < s->dim; j++)
            J[i][j] += (double)(b->d[j][high] - b->d[j][low]) / ((high - low) / step[i]);
    }
}

/// Distance in space from a node to its foot, the point of the surface below it; bar: that in
/// reference space.
static float foot_distance(const BrimSim *s, const Displaced *b, int here, const int at[3],
                           float bar, const double slope[3]) {
    double J[3][3], inverse[3][3], foot[3] = {0}, below[3], normal[3] = {0}, x[3] = {0};
    const double square = slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2];
    if (square < 0.01) return bar; // no direction: as in reference space
    for (int a = 0; a < s->dim; a++) {
        foot[a] = fmin(fmax(at[a] - (double)bar * slope[a] / square, 0), s->grid.cells[a]);
        x[a] = at[a] + (double)b->d[a][here];
    }
    map_to_space(&s->warp->mesh.map, foot, below);
    node_jacobian(s, b, here, at, J);
    matrix_invert(J, inverse);
    double length = 0, distance = 0;
    for (int a = 0; a < s->dim; a++) {
        for (int k = 0; k < s->dim; k++) normal[a] += inverse[a][k] * slope[k];
        length += normal[a] * normal[a];
    }
    for (int a = 0; a < s->dim; a++) distance += (x[a] - below[a]) * normal[a] / sqrt(length);
    // the sign is phibar's
    return bar < 0 ? (float)fmin(distance, -1e-6) : (float)fmax(distance, 0);
}

/// phibar => phi
static void foot_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    const size_t base = (size_t)slot * (size_t)g->tile_cells;
    ThreadScratch *scratch = &s->scratch[thread];
    Displaced b = {{scratch->block[0], scratch->block[1], scratch->block[2]}};
    bool loaded = false;
    if (s->block_at[slot] != NEAR_SURFACE) return;
    for (int i = 0; i < g->tile_cells; i++) {
        const int at[3] = {t.x * TILE + (i & 7), t.y * TILE + (i >> 3 & 7),
                           s->dim == 3 ? t.z * TILE + (i >> 6) : 0};
        const float bar = s->phibar[base + (size_t)i];
        bool inside = true;
        for (int a = 0; a < s->dim; a++) inside = inside && at[a] <= g->cells[a];
        s->phi[base + (size_t)i] = inside ? bar : LEVEL_SET_CUT;
        if (!inside || !(fabsf(bar) < s->profile.radius)) continue;
        if (!loaded) {
            const float first[3] = {(float)(t.x * TILE - 1), (float)(t.y * TILE - 1),
                                    s->dim == 3 ? (float)(t.z * TILE - 1) : 0};
            const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
            s->warp->kernels->points(&lattice, first, 1, TILE + 2, b.d, NULL);
            loaded = true;
        }
        double slope[3];
        slope_at(s, s->phibar, slot, i, at, slope);
        const int here = block_node((i & 7) + 1, (i >> 3 & 7) + 1, s->dim == 3 ? (i >> 6) + 1 : 0);
        s->phi[base + (size_t)i] = foot_distance(s, &b, here, at, bar, slope);
    }
}

static void find_slivers(BrimSim *s, int slot, int thread, void *context) {
    if (s->block_at[slot] == NEAR_SURFACE) nodal_find_slivers(&s->grid, s->phi, context, slot);
}

/// Pressure is 0 on open sides: their nodes are on the surface, or in air.
static void open_sides(BrimSim *s, int slot, int thread, void *context) {
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE};
    float *phi = s->phi + (size_t)slot * (size_t)s->grid.tile_cells;
    for (int n = 0; n < 2 * s->dim; n++) {
        const int a = n >> 1, node = (n & 1 ? s->grid.cells[a] : 0) - tile[a];
        if (!s->sides.open[n] || node < 0 || node >= TILE) continue;
        for (int i = 0; i < s->grid.tile_cells; i++)
            if ((i >> 3 * a & 7) == node) phi[i] = fmaxf(phi[i], 0);
    }
}

static void drop_slivers(BrimSim *s, int slot, int thread, void *context) {
    const uint8_t *sliver = (const uint8_t *)context + (size_t)slot * (size_t)s->grid.tile_rows;
    float *phi = s->phi + (size_t)slot * (size_t)s->grid.tile_cells;
    if (s->block_at[slot] != NEAR_SURFACE) return;
    for (int i = 0; i < s->grid.tile_cells; i++)
        if (sliver[i >> 3] >> (i & 7) & 1) phi[i] = 0;
}

BrimResult warp_surface(BrimSim *s, BrimError *error) {
    if (has_band(s) && s->grid.tile_count) band_full(s);
    warp_find_level(s);
    tiles_for(s, mark_tile, NULL);
    tiles_for(s, weigh_tile, NULL);
    tiles_for(s, gather_tile, NULL);
    float *from = s->phibar, *to = s->phi;
    for (int a = 0; a < s->dim; a++) {
        tiles_for(s, smooth_tile, &(Smoothing){from, to, a});
        float *other = from;
        from = to, to = other;
    }
    if (from != s->phibar) tiles_for(s, copy_tile, NULL);
    tiles_for(s, foot_tile, NULL);
    tiles_for(s, open_sides, NULL);
    tiles_for(s, find_slivers, s->sliver);
    tiles_for(s, drop_slivers, s->sliver);
    return BRIM_OK;
}
