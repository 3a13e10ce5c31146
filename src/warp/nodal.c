#include "warp/nodal.h"
#include "base/memory.h"
#include "grid/mask.h"
#include "warp/nodal_kernels.h"
#include "warp/particles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Volume of a node's open part, as a part of all its volume, below which its weight grows no more.
static const float LEAST_OPEN = 0.05f;

// ----------------------------------------------------------------------------------------- memory

bool nodal_reserve(NodalOperator *op, const Grid *grid) {
    size_t tiles = (size_t)grid->tile_count, n = (size_t)grid->tile_cells;
    op->grid = grid;
    op->kernels = NULL, op->flagged = false;
    op->links = grid->dim == 3 ? NODAL_LINKS : 4;
    if (tiles <= op->tiles) return true;
    size_t most = memory_reserve(op->tiles, tiles);
    nodal_free(op);
    *op = (NodalOperator){.grid = grid, .links = grid->dim == 3 ? NODAL_LINKS : 4};
    op->link = memory_new(most * n * (size_t)op->links * sizeof(float));
    op->anchor = memory_new(most * n * sizeof(float));
    op->smooth = memory_new(most * n * sizeof(float));
    op->weight = memory_new(most * n * sizeof(float));
    op->mean = memory_new(most * n * NODAL_MEAN * sizeof(float));
    for (int a = 0; a < 3; a++) op->edge[a] = memory_new(most * n * sizeof(float));
    op->diag = memory_new(most * n * sizeof(float));
    op->used = memory_zero(most), op->kept = memory_zero(most);
    bool sound = op->link && op->anchor && op->smooth && op->weight && op->mean && op->edge[0] &&
                 op->edge[1] && op->edge[2] && op->diag && op->used && op->kept;
    if (sound)
        op->tiles = most;
    else
        nodal_free(op);
    return sound;
}

void nodal_free(NodalOperator *op) {
    free(op->link), free(op->anchor), free(op->smooth), free(op->weight), free(op->mean);
    for (int a = 0; a < 3; a++) free(op->edge[a]);
    free(op->diag), free(op->used), free(op->kept);
    *op = (NodalOperator){0};
}

size_t nodal_bytes(const NodalOperator *op) {
    if (op->tiles == 0) return 0;
    size_t n = (size_t)op->grid->tile_cells;
    return op->tiles * (n * (size_t)(op->links + 7 + NODAL_MEAN) * sizeof(float) + 2);
}

// -------------------------------------------------------------------------- a cell and its corners

/// A cell with what its corners and its open part say.
typedef struct Cell {
    Element element;
    double d[8][3], phi[8], open[8];
    int liquid; ///< bit c: corner c is a node in the liquid
    bool cut;   ///< the free surface passes through it
    Surface surface;
    double most_open;
    int64_t at; ///< index into fields of cells
} Cell;

/// Node values of a tile and one node around it, [z+1][y+1][x+1] from -1 to 8.
typedef struct NodeBlock {
    float at[NODAL_BLOCK + NODAL_PADDING];
} NodeBlock;

static int block_index(int x, int y, int z) {
    return ((z + 1) * 10 + y + 1) * 10 + x + 1;
}

static NodalNear near_tiles(const Grid *g, const float *field, size_t a_tile, const uint8_t *used,
                            int slot) {
    NodalNear near;
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        near.at[n] = t < 0 || (used && !used[t]) ? NULL : field + (size_t)t * a_tile;
    }
    return near;
}

/// Row y, z of a field, -1 to 8 along x, from the tile and those around it. => row [10]
static void load_row(const NodalNear *near, int y, int z, float missing, float *row) {
    const float *const *tile =
        near->at + TILE_SELF + 3 * (y >> TILE_SHIFT) + 9 * (z >> TILE_SHIFT); // [-1 .. 1]
    const int first = ((z & 7) * TILE + (y & 7)) * TILE;
    row[0] = tile[-1] ? tile[-1][first + 7] : missing;
    for (int x = 0; x < TILE; x++) row[x + 1] = tile[0] ? tile[0][first + x] : missing;
    row[9] = tile[1] ? tile[1][first] : missing;
}

static void load_block(const Grid *g, const float *field, float missing, int slot, NodeBlock *b) {
    NodalNear near = near_tiles(g, field, (size_t)g->tile_cells, NULL, slot);
    int from = g->dim == 3 ? -1 : 0, to = g->dim == 3 ? 8 : 0;
    for (int z = from; z <= to; z++)
        for (int y = -1; y <= 8; y++) load_row(&near, y, z, missing, b->at + block_index(-1, y, z));
}

/// What the cells around a tile are made of: level set and displacement of their corners.
typedef struct Corners {
    NodeBlock phi;
    float d[10 * 10 * 10][3];
    double value[8][8]; ///< of the shape functions at the rule's points
} Corners;

/// False when no node is in the liquid: the displacements are not looked up then.
static bool load_corners(const NodalProblem *p, int slot, Corners *c) {
    const Grid *g = p->grid;
    const TileCoord t = g->coord[slot];
    const int from = g->dim == 3 ? -1 : 0, to = g->dim == 3 ? 8 : 0;
    bool any = false;
    load_block(g, p->phi, 1, slot, &c->phi);
    for (int z = from; z <= to && !any; z++)
        for (int i = block_index(-1, -1, z); i <= block_index(8, 8, z); i++)
            any = any || c->phi.at[i] < 0;
    if (!any) return false;
    for (int point = 0; point < 1 << g->dim; point++)
        element_values(g->dim, p->rule, point, c->value[point]);
    for (int z = from; z <= to; z++)
        for (int y = -1; y <= 8; y++)
            for (int x = -1; x <= 8; x++) {
                double d[3];
                const double xi[3] = {t.x * TILE + x, t.y * TILE + y, t.z * TILE + z};
                map_displacement(p->map, xi, d);
                for (int a = 0; a < 3; a++) c->d[block_index(x, y, z)][a] = (float)d[a];
            }
    return true;
}

static void cell_open(const NodalProblem *p, Cell *c) {
    const NodalSolids *s = &p->solids;
    c->most_open = 0;
    for (int k = 0; k < 8; k++) {
        double part = 1;
        if (s->open)
            part = s->open_points == 1
                       ? (double)s->open[c->at]
                       : (double)s->open[c->at * s->open_points +
                                         (p->rule == WARP_RULE_ONE ? 0 : k) % s->open_points];
        c->open[k] = part;
        c->most_open = fmax(c->most_open, part);
    }
}

/// Whether the level set in a cut cell is no surface that the ghost fluid could stand for: between
/// drops, at tips, in sheets thinner than the cell. By the cosine between the means of grad phi and
/// grad min(phi, 0) in reference space, where a plane has at least 1 / sqrt(dim), whichever corners
/// it cuts off and however long the cell is.
static bool is_rough(const Cell *c) {
    const int dim = c->element.dim;
    double aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < dim; i++) {
        double a = 0, b = 0;
        for (int k = 0; k < c->element.corners; k++) {
            a += k >> i & 1 ? c->phi[k] : -c->phi[k];
            b += k >> i & 1 ? fmin(c->phi[k], 0) : -fmin(c->phi[k], 0);
        }
        aa += a * a, bb += b * b, ab += a * b;
    }
    return !(ab > NODAL_LEAST_COSINE(dim) * sqrt(aa * bb));
}

/// Cell (x, y, z) of a tile, -1 to 7, with its corners' phi from the block. False when it is
/// outside the domain or has no liquid node.
static bool cell_load(const NodalProblem *p, const Corners *corners, int slot, const int local[3],
                      Cell *c) {
    const Grid *g = p->grid;
    const TileCoord t = g->coord[slot];
    const int at[3] = {t.x * TILE + local[0], t.y * TILE + local[1],
                       g->dim == 3 ? t.z * TILE + local[2] : 0};
    for (int a = 0; a < g->dim; a++)
        if (at[a] < 0 || at[a] >= g->cells[a]) return false;
    c->liquid = 0;
    for (int k = 0; k < 1 << g->dim; k++) {
        int i = block_index(local[0] + (k & 1), local[1] + (k >> 1 & 1), local[2] + (k >> 2));
        c->phi[k] = (double)corners->phi.at[i];
        if (c->phi[k] < 0) c->liquid |= 1 << k;
    }
    if (c->liquid == 0) return false;
    for (int k = 0; k < 8; k++) {
        int j = k & ((1 << g->dim) - 1); // in 2D the same four twice
        int i = block_index(local[0] + (j & 1), local[1] + (j >> 1 & 1), local[2] + (j >> 2));
        for (int a = 0; a < 3; a++) c->d[k][a] = (double)corners->d[i][a];
    }
    c->cut = c->liquid != (1 << (1 << g->dim)) - 1;
    c->at = grid_near(g, slot, local[0], local[1], local[2]);
    if (c->at < 0) return false;
    cell_open(p, c);
    element_shape(&c->element, g->dim, p->rule, c->d);
    c->surface = p->surface;
    if (c->cut && is_rough(c)) c->surface.order = 1;
    return true;
}

/// Runs over the cells that touch nodes of a tile: from -1 to 7 along each axis.
#define EACH_CELL_AROUND(g, c)                                                  \
    for (c[2] = (g)->dim == 3 ? -1 : 0; c[2] < ((g)->dim == 3 ? 8 : 1); c[2]++) \
        for (c[1] = -1; c[1] < 8; c[1]++)                                       \
            for (c[0] = -1; c[0] < 8; c[0]++)

/// Index in the tile of a corner of a cell, -1 when the node is in another tile.
static int corner_node(int dim, const int local[3], int corner) {
    int x = local[0] + (corner & 1), y = local[1] + (corner >> 1 & 1);
    int z = dim == 3 ? local[2] + (corner >> 2) : 0;
    if (x < 0 || y < 0 || z < 0 || x >= TILE || y >= TILE || z >= TILE) return -1;
    return (z * TILE + y) * TILE + x;
}

// --------------------------------------------------------------------------------------- assembly

/// Sums over the cells around each node of a tile.
typedef struct Sums {
    double k[27][512]; ///< K_ij by direction, liquid neighbours only; 13 is the node itself
    double anchor[512], volume[512], all[512];
    double edge[3][2][512]; ///< 7-point, between a node and its lower and upper neighbour
} Sums;

static int direction(int from, int to) {
    int d = TILE_SELF;
    static const int stride[3] = {1, 3, 9};
    for (int a = 0; a < 3; a++) d += ((to >> a & 1) - (from >> a & 1)) * stride[a];
    return d;
}

static void add_stiffness(const Corners *corners, const Cell *c, const int local[3], Sums *s) {
    const Element *e = &c->element;
    double K[8][8];
    element_stiffness(e, c->open, c->cut ? c->phi : NULL, &c->surface, K);
    for (int i = 0; i < e->corners; i++) {
        int node = corner_node(e->dim, local, i);
        if (node < 0 || !(c->liquid >> i & 1)) continue;
        for (int j = 0; j < e->corners; j++)
            if (c->liquid >> j & 1)
                s->k[direction(i, j)][node] += K[i][j];
            else
                s->anchor[node] -= K[i][j];
    }
    for (int g = 0; g < e->points; g++) {
        const double *N = corners->value[g];
        for (int i = 0; i < e->corners; i++) {
            int node = corner_node(e->dim, local, i);
            if (node < 0) continue;
            s->volume[node] += c->open[g] * e->weight[g] * N[i];
            s->all[node] += e->weight[g] * N[i];
        }
    }
}

/// 7-point coefficient of an edge: its cells' det J (J^-T M J^-1)_aa at the centre, shared by the
/// cell's edges along a.
static void add_edges(const Cell *c, const int local[3], Sums *s) {
    const int dim = c->element.dim, edges = 1 << (dim - 1);
    const double middle[3] = {0.5, 0.5, dim == 3 ? 0.5 : 0};
    double J[3][3], inverse[3][3], M[3][3], open = 0;
    element_jacobian(dim, c->d, middle, J);
    double det = matrix_invert(J, inverse);
    if (c->cut) element_ghost(1 << dim, c->element.mean, c->phi, &c->surface, M);
    for (int g = 0; g < c->element.points; g++) open += c->open[g] / c->element.points;
    for (int a = 0; a < dim; a++) {
        double sum = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += inverse[i][a] * (c->cut ? M[i][j] : (double)(i == j)) * inverse[j][a];
        for (int k = 0; k < 1 << dim; k++) {
            int other = k ^ 1 << a, node = corner_node(dim, local, k);
            if (node < 0 || !(c->liquid >> k & 1) || !(c->liquid >> other & 1)) continue;
            s->edge[a][k < other][node] += open * det * sum / edges;
        }
    }
}

/// Index of the direction of a link in Sums.k.
static int link_direction(int link, int sign) {
    const signed char *d = nodal_link[link];
    return TILE_SELF + sign * (d[0] + 3 * d[1] + 9 * d[2]);
}

static void store(NodalOperator *op, const Sums *s, int slot) {
    const size_t n = (size_t)op->grid->tile_cells, at = (size_t)slot * n;
    op->used[slot] = 0;
    for (int i = 0; i < (int)n; i++) {
        float edges = 0;
        double diag = s->k[TILE_SELF][i], sum = fabs(diag);
        bool unknown = diag > 0 && s->volume[i] > 0;
        for (int k = 0; k < op->links; k++) {
            double forward = s->k[link_direction(k, 1)][i];
            sum += fabs(forward) + fabs(s->k[link_direction(k, -1)][i]);
            op->link[(at * (size_t)op->links) + (size_t)k * n + (size_t)i] =
                unknown ? (float)-forward : 0;
        }
        op->anchor[at + (size_t)i] = unknown ? (float)s->anchor[i] : 0;
        op->smooth[at + (size_t)i] = unknown ? (float)(1 / sum) : 0;
        op->weight[at + (size_t)i] =
            unknown ? (float)(1 / fmax(s->volume[i], (double)LEAST_OPEN * s->all[i])) : 0;
        for (int a = 0; a < 3; a++) {
            float lower = unknown ? (float)s->edge[a][0][i] : 0;
            op->edge[a][at + (size_t)i] = lower;
            edges += lower + (float)s->edge[a][1][i];
        }
        // exactly 0 inside: rounding would hide closed tanks
        op->diag[at + (size_t)i] = unknown ? edges + fmaxf(0, (float)s->anchor[i]) : 0;
        if (unknown) op->used[slot] = 1;
    }
}

/// Keeps V Gm and the volume of one of the tile's own cells.
static void store_mean(NodalOperator *op, const Cell *c, const int local[3]) {
    const Element *e = &c->element;
    const int64_t n = op->grid->tile_cells;
    if (local[0] < 0 || local[1] < 0 || (e->dim == 3 && local[2] < 0)) return;
    float *to = op->mean + c->at / n * n * NODAL_MEAN + c->at % n;
    for (int a = 0; a < e->dim; a++)
        for (int k = 0; k < e->corners; k++)
            to[(a * 8 + k) * n] = (float)(e->volume * e->mean[a][k]);
    to[(NODAL_MEAN - 1) * n] = (float)e->volume;
}

static void store_nothing(NodalOperator *op, int slot) {
    const size_t n = (size_t)op->grid->tile_cells, at = (size_t)slot * n;
    op->used[slot] = op->kept[slot] = 0;
    memset(op->smooth + at, 0, n * sizeof(float));
    memset(op->diag + at, 0, n * sizeof(float));
}

/// Value by value.
static void assemble_plain(const NodalProblem *p, NodalOperator *op, int slot) {
    const Grid *g = p->grid;
    const size_t n = (size_t)g->tile_cells;
    Corners corners;
    Sums sums;
    Cell cell;
    int local[3];
    if (!load_corners(p, slot, &corners)) {
        store_nothing(op, slot);
        return;
    }
    op->kept[slot] = 1;
    memset(op->mean + (size_t)slot * n * NODAL_MEAN, 0, n * NODAL_MEAN * sizeof(float));
    memset(&sums, 0, sizeof sums);
    EACH_CELL_AROUND(g, local) {
        if (!cell_load(p, &corners, slot, local, &cell)) continue;
        store_mean(op, &cell, local);
        if (cell.most_open == 0) continue;
        add_stiffness(&corners, &cell, local, &sums);
        add_edges(&cell, local, &sums);
    }
    store(op, &sums, slot);
}

/// Whether the kernels know such a problem.
static bool is_fast(const NodalProblem *p) {
    return p->kernels && p->map_kernels && p->grid->dim == 3 && !p->solids.open &&
           p->rule == WARP_RULE_GAUSS;
}

/// Cells around a tile's nodes that are in the domain and have a tile: bits of rows.
static void find_cells(const Grid *g, int slot, uint16_t cells[TILE + 1][TILE + 1]) {
    const TileCoord t = g->coord[slot];
    for (int z = -1; z < TILE; z++)
        for (int y = -1; y < TILE; y++) {
            unsigned bits = 0;
            const int next = TILE_SELF + 3 * (y >> TILE_SHIFT) + 9 * (z >> TILE_SHIFT);
            const int gy = t.y * TILE + y, gz = t.z * TILE + z, end = g->cells[0] - t.x * TILE;
            if (gy >= 0 && gz >= 0 && gy < g->cells[1] && gz < g->cells[2]) {
                bits = g->neighbour[slot][next - 1] >= 0;
                if (g->neighbour[slot][next] >= 0) bits |= 0xffu << 1;
                if (end < TILE) bits &= (1u << (end + 1)) - 1;
            }
            cells[z + 1][y + 1] = (uint16_t)bits;
        }
}

/// What the kernel summed, as the operator of a tile.
static void store_sums(NodalOperator *op, const NodalSums *s, int slot) {
    const size_t at = (size_t)slot * 512;
    op->used[slot] = 0;
    for (int row = 0; row < TILE * TILE; row++) {
        const int y = row & 7, z = row >> 3;
        const size_t to = at + (size_t)row * TILE;
        for (int k = 0; k < NODAL_LINKS; k++)
            memcpy(op->link + at * NODAL_LINKS + (size_t)k * 512 + (size_t)row * TILE,
                   s->link[k][z][y] + 1, TILE * sizeof(float));
        memcpy(op->anchor + to, s->anchor[z][y] + 1, TILE * sizeof(float));
        unsigned any = 0;
        for (int x = 0; x < TILE; x++) {
            const float volume = s->volume[z][y][x + 1], anchor = s->anchor[z][y][x + 1];
            float edges = 0;
            for (int a = 0; a < 3; a++) {
                op->edge[a][to + (size_t)x] = s->edge[a][0][z][y][x + 1];
                edges += s->edge[a][0][z][y][x + 1] + s->edge[a][1][z][y][x + 1];
            }
            const bool unknown = s->liquid[row] >> x & 1 && volume > 0;
            any |= unknown;
            op->smooth[to + (size_t)x] = unknown;
            op->weight[to + (size_t)x] = unknown ? 1 / volume : 0;
            // exactly 0 inside: rounding would hide closed tanks
            op->diag[to + (size_t)x] = unknown ? edges + fmaxf(0, anchor) : 0;
        }
        if (any) op->used[slot] = 1;
    }
}

/// By the kernels; smooth holds flags then.
static void assemble_fast(const NodalProblem *p, NodalOperator *op, int slot) {
    const TileCoord t = p->grid->coord[slot];
    const WarpLattice lattice = warp_lattice(p->map);
    const float first[3] = {(float)(t.x * TILE - 1), (float)(t.y * TILE - 1),
                            (float)(t.z * TILE - 1)};
    NodeBlock phi, d[3];
    NodalSums sums;
    bool any = false;
    load_block(p->grid, p->phi, 1, slot, &phi);
    for (int i = 0; i < NODAL_BLOCK; i++) any |= phi.at[i] < 0;
    op->kept[slot] = any;
    if (!any) {
        store_nothing(op, slot);
        return;
    }
    p->map_kernels->points(&lattice, first, 1, NODAL_EDGE,
                           (float *const[3]){d[0].at, d[1].at, d[2].at}, NULL);
    NodalTile tile = {.phi = phi.at,
                      .d = {d[0].at, d[1].at, d[2].at},
                      .surface = p->surface,
                      .mean = op->mean + (size_t)slot * 512 * NODAL_MEAN};
    find_cells(p->grid, slot, tile.cells);
    p->kernels->assemble(&tile, &sums);
    for (int row = 0; row < TILE * TILE; row++) {
        unsigned liquid = 0;
        for (int x = 0; x < TILE; x++)
            liquid |= (unsigned)(phi.at[block_index(x, row & 7, row >> 3)] < 0) << x;
        sums.liquid[row] = (uint8_t)liquid;
    }
    store_sums(op, &sums, slot);
}

void nodal_begin(const NodalProblem *p, NodalOperator *op) {
    op->flagged = is_fast(p);
    op->kernels = op->flagged ? p->kernels : NULL;
}

void nodal_assemble(const NodalProblem *p, NodalOperator *op, int slot) {
    if (op->kernels)
        assemble_fast(p, op, slot);
    else
        assemble_plain(p, op, slot);
}

static NodalNear near_links(const NodalOperator *op, int slot) {
    return near_tiles(op->grid, op->link, (size_t)op->grid->tile_cells * (size_t)op->links,
                      op->used, slot);
}

void nodal_sum_rows(NodalOperator *op, int slot) {
    if (!op->flagged || !op->used[slot]) return;
    const size_t at = (size_t)slot * 512;
    float sum[512];
    NodalNear links = near_links(op, slot);
    op->kernels->sum_rows(&links, op->anchor + at, sum);
    for (int i = 0; i < 512; i++)
        op->smooth[at + (size_t)i] = op->smooth[at + (size_t)i] > 0 && sum[i] > 0 ? 1 / sum[i] : 0;
}

// -------------------------------------------------------------------------------- right-hand side

static double solid_speed(const NodalSolids *s, int axis, int64_t at) {
    return s->velocity[axis] ? (double)s->velocity[axis][at] : 0;
}

/// What solids that cover a side of the domain carry through it: - integral of N u_s . n.
static void subtract_wall_flux(const NodalProblem *p, const Cell *c, const int local[3], int slot,
                               double *b) {
    const Grid *g = p->grid;
    const int dim = g->dim;
    const TileCoord t = g->coord[slot];
    const int tile[3] = {t.x, t.y, t.z};
    static const double at[2] = {0.21132486540518711775, 0.78867513459481288225}; // Gauss
    for (int a = 0; a < dim; a++) {
        if (!p->solids.covered[a]) continue;
        for (int far = 0; far < 2; far++) {
            if (tile[a] * TILE + local[a] != (far ? g->cells[a] - 1 : 0)) continue;
            double part = (double)p->solids.covered[a][c->at];
            double flux = (far ? 1 : -1) * part * solid_speed(&p->solids, a, c->at);
            if (flux == 0) continue;
            int u = (a + 1) % dim, v = dim == 3 ? (a + 2) % 3 : a;
            for (int k = 0; k < 1 << (dim - 1); k++) {
                double x[3] = {0}, J[3][3];
                x[a] = far, x[u] = at[k & 1];
                if (dim == 3) x[v] = at[k >> 1];
                element_jacobian(dim, c->d, x, J);
                double area = dim == 3 ? J[u][u] * J[v][v] - J[u][v] * J[v][u] : J[u][u];
                for (int i = 0; i < 1 << dim; i++) {
                    int node = corner_node(dim, local, i);
                    if (node < 0 || (i >> a & 1) != far) continue;
                    double N = 1;
                    for (int e = 0; e < dim; e++)
                        if (e != a) N *= i >> e & 1 ? x[e] : 1 - x[e];
                    b[node] -= flux * N * area / (1 << (dim - 1));
                }
            }
        }
    }
}

/// Corners of a cell that are liquid, as bits; 0 outside the domain and where no tile is.
static int liquid_corners(const NodalProblem *p, const NodeBlock *phi, int slot, const int local[3],
                          int64_t *cell) {
    const Grid *g = p->grid;
    const TileCoord t = g->coord[slot];
    const int at[3] = {t.x * TILE + local[0], t.y * TILE + local[1], t.z * TILE + local[2]};
    int liquid = 0;
    for (int a = 0; a < g->dim; a++)
        if (at[a] < 0 || at[a] >= g->cells[a]) return 0;
    for (int k = 0; k < 1 << g->dim; k++)
        liquid |= (phi->at[block_index(local[0] + (k & 1), local[1] + (k >> 1 & 1),
                                       local[2] + (k >> 2))] < 0)
                  << k;
    if (liquid) *cell = grid_near(g, slot, local[0], local[1], local[2]);
    return *cell < 0 ? 0 : liquid;
}

/// The whole sum where the open part differs from point to point, or a solid covers a side.
static void rhs_by_points(const NodalProblem *p, float *const u[3], int slot, double *sum) {
    const Grid *g = p->grid;
    Corners corners;
    Cell c;
    int local[3];
    if (!load_corners(p, slot, &corners)) return;
    EACH_CELL_AROUND(g, local) {
        if (!cell_load(p, &corners, slot, local, &c)) continue;
        for (int point = 0; point < c.element.points; point++)
            for (int a = 0; a < g->dim; a++) {
                double f = c.open[point];
                double flow = f > 0 ? f * (double)u[a][c.at] : 0;
                if (f < 1) flow += (1 - f) * solid_speed(&p->solids, a, c.at);
                flow *= c.element.weight[point];
                for (int i = 0; i < c.element.corners; i++) {
                    int node = corner_node(g->dim, local, i);
                    if (node >= 0) sum[node] += c.element.gradient[point][a][i] * flow;
                }
            }
        subtract_wall_flux(p, &c, local, slot, sum);
    }
}

/// V Gm^T u, from what the assembly kept.
static void rhs_by_means(const NodalProblem *p, const NodalOperator *op, float *const u[3],
                         int slot, double *sum) {
    const Grid *g = p->grid;
    NodeBlock phi;
    int local[3];
    load_block(g, p->phi, 1, slot, &phi);
    EACH_CELL_AROUND(g, local) {
        int64_t at = -1;
        if (!liquid_corners(p, &phi, slot, local, &at)) continue;
        const int64_t n = g->tile_cells;
        const float *mean = op->mean + at / n * n * NODAL_MEAN + at % n;
        for (int i = 0; i < 1 << g->dim; i++) {
            int node = corner_node(g->dim, local, i);
            if (node < 0) continue;
            for (int a = 0; a < g->dim; a++)
                sum[node] += (double)mean[(a * 8 + i) * n] * (double)u[a][at];
        }
    }
}

void nodal_rhs(const NodalProblem *p, const NodalOperator *op, float *const u[3], float *b,
               int slot) {
    const size_t n = (size_t)p->grid->tile_cells, first = (size_t)slot * n;
    double sum[512] = {0};
    if (!op->used[slot]) {
        memset(b + first, 0, n * sizeof(float));
        return;
    }
    if (op->kernels) {
        NodalNear mean = near_tiles(p->grid, op->mean, n * NODAL_MEAN, op->kept, slot), flow[3];
        for (int a = 0; a < 3; a++) flow[a] = near_tiles(p->grid, u[a], n, op->kept, slot);
        op->kernels->divergence(&mean, flow, b + first);
        for (size_t i = 0; i < n; i++)
            if (op->smooth[first + i] == 0) b[first + i] = 0;
        return;
    }
    if (p->solids.open)
        rhs_by_points(p, u, slot, sum);
    else
        rhs_by_means(p, op, u, slot, sum);
    for (size_t i = 0; i < n; i++) b[first + i] = op->smooth[first + i] > 0 ? (float)sum[i] : 0;
}

// ----------------------------------------------------------------------------------------- update

/// Whether a cell has an open part.
static bool is_open(const NodalProblem *p, int64_t at) {
    const NodalSolids *s = &p->solids;
    bool any = !s->open;
    for (int k = 0; s->open && k < s->open_points; k++)
        any = any || s->open[at * s->open_points + k] > 0;
    return any;
}

/// Which corners of a tile's cells are liquid: bits of rows.
typedef struct LiquidRows {
    uint8_t any[TILE * TILE], all[TILE * TILE];
} LiquidRows;

static void find_liquid(const Grid *g, const NodeBlock *phi, LiquidRows *out) {
    const int deep = g->dim == 3;
    unsigned row[TILE + 1][TILE + 1];
    for (int z = 0; z <= (deep ? TILE : 0); z++)
        for (int y = 0; y <= TILE; y++) {
            unsigned bits = 0;
            for (int x = 0; x <= TILE; x++)
                bits |= (unsigned)(phi->at[block_index(x, y, z)] < 0) << x;
            row[z][y] = bits;
        }
    for (int r = 0; r < g->tile_rows; r++) {
        const int y = r & 7, z = r >> 3;
        const unsigned a = row[z][y], b = row[z][y + 1], c = row[z + deep][y];
        const unsigned d = row[z + deep][y + 1], any = a | b | c | d, all = a & b & c & d;
        out->any[r] = (uint8_t)(any | any >> 1), out->all[r] = (uint8_t)(all & all >> 1);
    }
}

/// u -= Mc Gm q in one cell.
static void update_cell(const NodalProblem *p, const NodalOperator *op, const NodeBlock *phi,
                        const NodeBlock *pressure, const int local[3], bool whole, int64_t at,
                        float *const u[3]) {
    const int dim = p->grid->dim, corners = 1 << dim;
    const int64_t n = p->grid->tile_cells;
    const float *mean = op->mean + at / n * n * NODAL_MEAN + at % n;
    const double volume = (double)mean[(NODAL_MEAN - 1) * n];
    double slope[3] = {0}, M[3][3];
    Cell c = {.element = {.dim = dim, .corners = corners}, .surface = p->surface};
    for (int k = 0; k < corners; k++) {
        int from = block_index(local[0] + (k & 1), local[1] + (k >> 1 & 1), local[2] + (k >> 2));
        double v = phi->at[from] < 0 ? (double)pressure->at[from] : 0;
        c.phi[k] = (double)phi->at[from];
        for (int a = 0; a < dim; a++) {
            c.element.mean[a][k] = (double)mean[(a * 8 + k) * n] / volume;
            slope[a] += c.element.mean[a][k] * v;
        }
    }
    if (!whole && is_rough(&c)) c.surface.order = 1;
    if (!whole) element_ghost(corners, c.element.mean, c.phi, &c.surface, M);
    for (int a = 0; a < dim; a++) {
        double v = whole ? slope[a] : M[a][0] * slope[0] + M[a][1] * slope[1] + M[a][2] * slope[2];
        u[a][at] = (float)((double)u[a][at] - v);
    }
}

void nodal_update(const NodalProblem *p, const NodalOperator *op, const float *q, float *const u[3],
                  uint8_t *updated, int slot) {
    const Grid *g = p->grid;
    const size_t n = (size_t)g->tile_cells, first = (size_t)slot * n;
    NodeBlock phi, pressure;
    LiquidRows liquid;
    float slope[3][512];
    if (updated) memset(updated + (size_t)slot * (size_t)g->tile_rows, 0, (size_t)g->tile_rows);
    if (!op->kept[slot]) return;
    load_block(g, p->phi, 1, slot, &phi);
    load_block(g, q, 0, slot, &pressure);
    if (op->kernels)
        op->kernels->gradient(op->mean + first * NODAL_MEAN, pressure.at,
                              (float *const[3]){slope[0], slope[1], slope[2]});
    find_liquid(g, &phi, &liquid);
    TileMask inside = mask_inside(g, slot);
    for (int row = 0; row < g->tile_rows; row++) {
        const unsigned here = liquid.any[row] & mask_bits(&inside, row);
        unsigned done = 0;
        for (unsigned bits = here; bits; bits &= bits - 1) {
            const int x = __builtin_ctz(bits), i = row * TILE + x;
            const int local[3] = {x, row & 7, row >> 3};
            const int64_t at = (int64_t)first + i;
            const bool whole = liquid.all[row] >> x & 1;
            if (!is_open(p, at)) continue;
            if (op->kernels && whole)
                for (int a = 0; a < 3; a++) u[a][at] -= slope[a][i];
            else
                update_cell(p, op, &phi, &pressure, local, whole, at, u);
            done |= 1u << x;
        }
        if (updated) updated[(size_t)slot * (size_t)g->tile_rows + (size_t)row] = (uint8_t)done;
    }
}

// --------------------------------------------------------------------------------------- operator

void nodal_apply(const NodalOperator *op, const float *x, float *y, int slot) {
    const Grid *g = op->grid;
    const size_t n = (size_t)g->tile_cells, at = (size_t)slot * n;
    NodeBlock block;
    if (!op->used[slot]) {
        memset(y + at, 0, n * sizeof(float));
        return;
    }
    NodalNear links = near_links(op, slot);
    load_block(g, x, 0, slot, &block);
    if (op->kernels) {
        op->kernels->apply(&links, op->anchor + at, block.at, y + at);
        return;
    }
    for (int row = 0; row < g->tile_rows; row++) {
        const int ry = row & 7, rz = row >> 3;
        const float *self = block.at + block_index(0, ry, rz),
                    *anchor = op->anchor + at + row * TILE;
        float sum[TILE];
        for (int i = 0; i < TILE; i++) sum[i] = anchor[i] * self[i];
        for (int k = 0; k < op->links; k++) {
            const signed char *d = nodal_link[k];
            const float *own = links.at[TILE_SELF] + (size_t)k * n + row * TILE;
            const float *up = block.at + block_index(d[0], ry + d[1], rz + d[2]);
            const float *down = block.at + block_index(-d[0], ry - d[1], rz - d[2]);
            const int by = ry - d[1], bz = rz - d[2];
            const float *const *tile =
                links.at + TILE_SELF + 3 * (by >> TILE_SHIFT) + 9 * (bz >> TILE_SHIFT);
            const size_t first = (size_t)k * n + (size_t)(((bz & 7) * TILE + (by & 7)) * TILE);
            float back[TILE] = {0}; // coefficients of the nodes that have this one as their link
            if (tile[0] && d[0] == 0)
                memcpy(back, tile[0] + first, sizeof back);
            else if (tile[0] && d[0] > 0)
                memcpy(back + 1, tile[0] + first, sizeof back - sizeof *back);
            else if (tile[0])
                memcpy(back, tile[0] + first + 1, sizeof back - sizeof *back);
            if (d[0] > 0) back[0] = tile[-1] ? tile[-1][first + 7] : 0;
            if (d[0] < 0) back[7] = tile[1] ? tile[1][first] : 0;
            for (int i = 0; i < TILE; i++)
                sum[i] += own[i] * (self[i] - up[i]) + back[i] * (self[i] - down[i]);
        }
        const float *smooth = op->smooth + at + row * TILE;
        for (int i = 0; i < TILE; i++)
            y[at + (size_t)(row * TILE + i)] = smooth[i] > 0 ? sum[i] : 0;
    }
}

static void residual_fast(const NodalOperator *op, const float *b, const double *x, float *r,
                          int slot) {
    const size_t at = (size_t)slot * 512;
    double block[NODAL_BLOCK + NODAL_PADDING], y[512];
    for (int z = -1; z <= TILE; z++)
        for (int k = -1; k <= TILE; k++) {
            const int32_t *tile = op->grid->neighbour[slot] + TILE_SELF + 3 * (k >> TILE_SHIFT) +
                                  9 * (z >> TILE_SHIFT);
            const size_t first = (size_t)(((z & 7) * TILE + (k & 7)) * TILE);
            double *row = block + block_index(-1, k, z);
            row[0] = tile[-1] >= 0 ? x[(size_t)tile[-1] * 512 + first + 7] : 0;
            for (size_t i = 0; i < TILE; i++)
                row[i + 1] = tile[0] >= 0 ? x[(size_t)tile[0] * 512 + first + i] : 0;
            row[9] = tile[1] >= 0 ? x[(size_t)tile[1] * 512 + first] : 0;
        }
    NodalNear links = near_links(op, slot);
    op->kernels->apply_double(&links, op->anchor + at, block, y);
    for (size_t i = 0; i < 512; i++)
        r[at + i] = op->smooth[at + i] > 0 ? (float)((double)b[at + i] - y[i]) : 0;
}

void nodal_residual(const NodalOperator *op, const float *b, const double *x, float *r, int slot) {
    const Grid *g = op->grid;
    const size_t n = (size_t)g->tile_cells, at = (size_t)slot * n;
    if (op->kernels) {
        residual_fast(op, b, x, r, slot);
        return;
    }
    for (int i = 0; i < (int)n; i++) {
        const int lx = i & 7, ly = i >> 3 & 7, lz = i >> 6;
        double here = x[at + (size_t)i], sum = (double)b[at + (size_t)i];
        r[at + (size_t)i] = 0;
        if (op->smooth[at + (size_t)i] == 0) continue;
        sum -= (double)op->anchor[at + (size_t)i] * here;
        for (int k = 0; k < op->links; k++) {
            const signed char *d = nodal_link[k];
            int64_t up = grid_near(g, slot, lx + d[0], ly + d[1], lz + d[2]);
            int64_t down = grid_near(g, slot, lx - d[0], ly - d[1], lz - d[2]);
            float own = op->link[at * (size_t)op->links + (size_t)k * n + (size_t)i];
            if (up >= 0 && own != 0) sum -= (double)own * (here - x[up]);
            if (down < 0 || !op->used[down / (int64_t)n]) continue;
            int64_t tile = down / (int64_t)n, cell = down % (int64_t)n;
            float other = op->link[(tile * op->links + k) * (int64_t)n + cell];
            if (other != 0) sum -= (double)other * (here - x[down]);
        }
        r[at + (size_t)i] = (float)sum;
    }
}

// ---------------------------------------------------------------------------------------- slivers

static const double SLIVER = 0.01;

/// Central difference of a node field along an axis, one-sided at missing neighbours.
static double slope_along(const Grid *g, const float *phi, int slot, int node, int axis) {
    double here = (double)phi[(size_t)slot * (size_t)g->tile_cells + (size_t)node];
    const TileCoord t = g->coord[slot];
    const int at[3] = {t.x * TILE + (node & 7), t.y * TILE + (node >> 3 & 7),
                       t.z * TILE + (node >> 6)};
    int64_t low = at[axis] > 0 ? grid_step(g, slot, node, axis, -1) : -1;
    int64_t high = at[axis] < g->cells[axis] ? grid_step(g, slot, node, axis, 1) : -1;
    double a = low >= 0 ? (double)phi[low] : here, b = high >= 0 ? (double)phi[high] : here;
    return (b - a) / fmax(1, (low >= 0) + (high >= 0));
}

void nodal_find_slivers(const Grid *g, const float *phi, uint8_t *sliver, int slot) {
    for (int row = 0; row < g->tile_rows; row++) {
        unsigned bits = 0;
        for (int x = 0; x < TILE; x++) {
            int node = row * TILE + x;
            double here = (double)phi[(size_t)slot * (size_t)g->tile_cells + (size_t)node], sum = 0;
            if (!(here < 0)) continue;
            for (int a = 0; a < g->dim; a++) {
                double s = slope_along(g, phi, slot, node, a);
                sum += s * s;
            }
            bits |= (unsigned)(here > -SLIVER * sqrt(sum)) << x;
        }
        sliver[(size_t)slot * (size_t)g->tile_rows + (size_t)row] = (uint8_t)bits;
    }
}
