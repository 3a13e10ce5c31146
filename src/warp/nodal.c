#include "base/memory.h"
#include "warp/nodal_cell.h"
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
    if (grid->dim == 3) op->far = memory_new(most * SUM_FAR * NODAL_FAR * sizeof(float));
    bool sound = (op->far || grid->dim == 2) && op->link && op->anchor && op->smooth &&
                 op->weight && op->mean && op->edge[0] && op->edge[1] && op->edge[2] && op->diag &&
                 op->used && op->kept;
    if (sound)
        op->tiles = most;
    else
        nodal_free(op);
    return sound;
}

void nodal_free(NodalOperator *op) {
    free(op->link), free(op->anchor), free(op->smooth), free(op->weight), free(op->mean);
    for (int a = 0; a < 3; a++) free(op->edge[a]);
    free(op->diag), free(op->used), free(op->kept), free(op->far);
    *op = (NodalOperator){0};
}

size_t nodal_bytes(const NodalOperator *op) {
    if (op->tiles == 0) return 0;
    size_t n = (size_t)op->grid->tile_cells;
    size_t far = op->far ? SUM_FAR * NODAL_FAR * sizeof(float) : 0;
    return op->tiles * (n * (size_t)(op->links + 7 + NODAL_MEAN) * sizeof(float) + far + 2);
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
        int node = nodal_corner(e->dim, local, i);
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
            int node = nodal_corner(e->dim, local, i);
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
            int other = k ^ 1 << a, node = nodal_corner(dim, local, k);
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
    double mean[3][8], volume = nodal_open_mean(c, mean);
    for (int a = 0; a < e->dim; a++)
        for (int k = 0; k < e->corners; k++) to[(a * 8 + k) * n] = (float)mean[a][k];
    to[(NODAL_MEAN - 1) * n] = (float)volume;
}

static void store_nothing(NodalOperator *op, int slot) {
    const size_t n = (size_t)op->grid->tile_cells, at = (size_t)slot * n;
    op->used[slot] = 0;
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
    op->kept[slot] = nodal_load_corners(p, slot, &corners);
    if (!op->kept[slot]) {
        store_nothing(op, slot);
        return;
    }
    memset(op->mean + (size_t)slot * n * NODAL_MEAN, 0, n * NODAL_MEAN * sizeof(float));
    memset(&sums, 0, sizeof sums);
    EACH_CELL_AROUND(g, local) {
        if (!nodal_load_cell(p, &corners, slot, local, &cell)) continue;
        store_mean(op, &cell, local);
        if (cell.most_open == 0) continue;
        add_stiffness(&corners, &cell, local, &sums);
        add_edges(&cell, local, &sums);
    }
    store(op, &sums, slot);
}

/// Whether the kernels know such a problem.
static bool is_fast(const NodalProblem *p) {
    return p->kernels && p->map_kernels && p->grid->dim == 3 && p->rule == WARP_RULE_GAUSS;
}

/// A tile's cells that are in the domain: bits of rows.
static void find_cells(const Grid *g, int slot, uint8_t cells[TILE][TILE]) {
    const TileCoord t = g->coord[slot];
    const int end = g->cells[0] - t.x * TILE;
    const unsigned bits = end <= 0 ? 0 : end < TILE ? (1u << end) - 1 : 0xff;
    for (int z = 0; z < TILE; z++)
        for (int y = 0; y < TILE; y++)
            cells[z][y] =
                t.y * TILE + y < g->cells[1] && t.z * TILE + z < g->cells[2] ? (uint8_t)bits : 0;
}

/// Where sums at a tile's own nodes are kept until they are complete.
static float *own_sum(NodalOperator *op, int slot, int sum) {
    const size_t at = (size_t)slot * 512;
    if (sum < SUM_ANCHOR) return op->link + at * NODAL_LINKS + (size_t)sum * 512;
    if (sum == SUM_ANCHOR) return op->anchor + at;
    if (sum == SUM_VOLUME) return op->weight + at;
    if (sum == SUM_ALL) return op->smooth + at;
    return op->edge[sum - SUM_EDGE] + at;
}

/// What cells give to nodes on the far sides: [x = 8][z][y], then [y = 8][z][x], then [z =
/// 8][y][x].
enum { FAR_Y = NODAL_NODES * NODAL_NODES, FAR_Z = FAR_Y + NODAL_NODES * TILE };

static float *far_sum(const NodalOperator *op, int slot, int sum) {
    return op->far + ((size_t)slot * SUM_FAR + (size_t)sum) * NODAL_FAR;
}

/// Keeps what a tile's cells give to its own nodes, and to those of the next tiles.
static void store_sum(const float (*from)[NODAL_NODES][NODAL_NODES], float *own, float *far) {
    for (int row = 0; row < TILE * TILE; row++)
        memcpy(own + row * TILE, from[row >> 3][row & 7], TILE * sizeof(float));
    for (int z = 0; z < NODAL_NODES; z++) {
        for (int y = 0; y < NODAL_NODES; y++) far[z * NODAL_NODES + y] = from[z][y][TILE];
        memcpy(far + FAR_Y + z * TILE, from[z][TILE], TILE * sizeof(float));
    }
    for (int y = 0; y < TILE; y++)
        memcpy(far + FAR_Z + y * TILE, from[TILE][y], TILE * sizeof(float));
}

static void store_sums(NodalOperator *op, const NodalSums *s, bool solids, int slot) {
    for (int k = 0; k < SUM_COUNT; k++) {
        // without solids all volume is open
        const float(*from)[NODAL_NODES][NODAL_NODES] =
            s->at[k == SUM_ALL && !solids ? SUM_VOLUME : k];
        store_sum(from, own_sum(op, slot, k), far_sum(op, slot, k));
    }
}

/// Adds to a sum of a tile's nodes what the cells of a lower neighbour give to them; side: bit a is
/// set where it is the one before along axis a.
static void add_far(float *own, const float *far, int side) {
    const int rows = side & 2 ? 1 : TILE, planes = side & 4 ? 1 : TILE;
    for (int z = 0; z < planes; z++)
        for (int y = 0; y < rows; y++) {
            float *to = own + (z * TILE + y) * TILE;
            const int fz = side & 4 ? TILE : z, fy = side & 2 ? TILE : y;
            if (side & 1) {
                to[0] += far[fz * NODAL_NODES + fy];
                continue;
            }
            const float *from = far + (side & 2 ? FAR_Y + fz * TILE : FAR_Z + y * TILE);
            for (int x = 0; x < TILE; x++) to[x] += from[x];
        }
}

/// Unknowns and weights from a tile's complete sums.
static void finish_tile(const NodalProblem *p, NodalOperator *op, int slot) {
    const size_t at = (size_t)slot * 512;
    unsigned any = 0;
    for (size_t i = at; i < at + 512; i++) {
        const float volume = op->weight[i], least = LEAST_OPEN * op->smooth[i];
        const bool unknown = p->phi[i] < 0 && volume > 0;
        op->smooth[i] = unknown ? 1 : 0;
        op->weight[i] = unknown ? 1 / (volume > least ? volume : least) : 0;
        any |= unknown;
    }
    op->used[slot] = any != 0;
}

/// Open parts of the cells around a tile's nodes, by point; those beyond the domain count as open.
/// False: no solid is near.
static bool load_open(const NodalProblem *p, int slot, NodeBlock open[8]) {
    const NodalSolids *s = &p->solids;
    const size_t n = (size_t)p->grid->tile_cells;
    bool any = false;
    for (int k = 0; k < 27; k++) {
        const int32_t t = p->grid->neighbour[slot][k];
        any = any || (t >= 0 && nodal_solid_place(s, t) >= 0);
    }
    for (int g = 0; g < 8 && any; g++) {
        NodalNear near;
        for (int k = 0; k < 27; k++) {
            const int32_t t = p->grid->neighbour[slot][k];
            const int64_t place = t < 0 ? -1 : nodal_solid_place(s, t);
            near.at[k] = place < 0 ? NULL
                                   : s->open + ((size_t)place * (size_t)s->open_points +
                                                (size_t)(g % s->open_points)) *
                                                   n;
        }
        for (int z = -1; z <= 8; z++)
            for (int y = -1; y <= 8; y++)
                nodal_load_row(&near, y, z, 1, open[g].at + block_index(-1, y, z));
    }
    return any;
}

/// By the kernels.
static void assemble_fast(const NodalProblem *p, NodalOperator *op, int slot) {
    const TileCoord t = p->grid->coord[slot];
    const WarpLattice lattice = warp_lattice(p->map);
    const float first[3] = {(float)(t.x * TILE - 1), (float)(t.y * TILE - 1),
                            (float)(t.z * TILE - 1)};
    NodeBlock phi, d[3];
    NodalSums sums;
    bool any = false;
    nodal_load_block(p->grid, p->phi, 1, slot, &phi);
    for (int i = block_index(0, 0, 0); i < NODAL_BLOCK; i++) any |= phi.at[i] < 0;
    op->kept[slot] = any;
    if (!any) return;
    p->map_kernels->points(&lattice, first, 1, NODAL_EDGE,
                           (float *const[3]){d[0].at, d[1].at, d[2].at}, NULL);
    NodalTile tile = {.phi = phi.at,
                      .d = {d[0].at, d[1].at, d[2].at},
                      .surface = p->surface,
                      .mean = op->mean + (size_t)slot * 512 * NODAL_MEAN};
    find_cells(p->grid, slot, tile.cells);
    NodeBlock open[8];
    const bool solids = load_open(p, slot, open);
    for (int g = 0; g < 8; g++) tile.open[g] = solids ? open[g].at : NULL;
    p->kernels->assemble(&tile, &sums);
    store_sums(op, &sums, solids, slot);
}

void nodal_join(const NodalProblem *p, NodalOperator *op, int slot) {
    if (!op->kernels) return;
    const int32_t *near = op->grid->neighbour[slot] + TILE_SELF;
    bool any = op->kept[slot];
    for (int k = 0; k < SUM_COUNT && !any; k++)
        memset(own_sum(op, slot, k), 0, 512 * sizeof(float));
    for (int side = 1; side < 8; side++) {
        const int32_t t = near[-(side & 1) - 3 * (side >> 1 & 1) - 9 * (side >> 2)];
        if (t < 0 || !op->kept[t]) continue;
        any = true;
        for (int k = 0; k < SUM_COUNT; k++) add_far(own_sum(op, slot, k), far_sum(op, t, k), side);
    }
    if (any)
        finish_tile(p, op, slot);
    else
        store_nothing(op, slot);
}

void nodal_give_flow(NodalOperator *op, float *const u[3], float *b, int slot) {
    if (!op->kernels) return;
    const size_t first = (size_t)slot * 512;
    float sum[NODAL_NODES][NODAL_NODES][NODAL_NODES];
    if (!op->kept[slot]) {
        memset(b + first, 0, 512 * sizeof(float));
        return;
    }
    const float *const here[3] = {u[0] + first, u[1] + first, u[2] + first};
    op->kernels->flow(op->mean + first * NODAL_MEAN, here, sum);
    store_sum((const float(*)[NODAL_NODES][NODAL_NODES])sum, b + first,
              far_sum(op, slot, SUM_FLOW));
}

void nodal_join_flow(const NodalOperator *op, float *b, int slot) {
    const int32_t *near = op->grid->neighbour[slot] + TILE_SELF;
    for (int side = 1; side < 8; side++) {
        const int32_t t = near[-(side & 1) - 3 * (side >> 1 & 1) - 9 * (side >> 2)];
        if (t >= 0 && op->kept[t]) add_far(b + (size_t)slot * 512, far_sum(op, t, SUM_FLOW), side);
    }
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
    return nodal_near(op->grid, op->link, (size_t)op->grid->tile_cells * (size_t)op->links,
                      op->used, slot);
}

/// The sum of a node's edges, of a row of nodes.
static void sum_edges(const NodalOperator *op, int slot, int row, float out[TILE]) {
    const int32_t *near = op->grid->neighbour[slot] + TILE_SELF;
    const size_t at = (size_t)slot * 512;
    for (int i = 0; i < TILE; i++) out[i] = 0;
    for (int a = 0; a < 3; a++) {
        static const int next[3] = {1, 3, 9}, step[3] = {1, TILE, TILE * TILE};
        const int place = a == 1 ? row & 7 : row >> 3, t = near[next[a]];
        const float *lower = op->edge[a] + at + row * TILE;
        const float *beyond = t >= 0 && op->used[t] ? op->edge[a] + (size_t)t * 512 : NULL;
        float upper[TILE] = {0};
        if (a == 0) {
            memcpy(upper, lower + 1, (TILE - 1) * sizeof *upper);
            if (beyond) upper[TILE - 1] = beyond[row * TILE];
        } else if (place + 1 < TILE) {
            memcpy(upper, lower + step[a], sizeof upper);
        } else if (beyond) {
            memcpy(upper, beyond + row * TILE - (TILE - 1) * step[a], sizeof upper);
        }
        for (int i = 0; i < TILE; i++) out[i] += lower[i] + upper[i];
    }
}

void nodal_sum_rows(NodalOperator *op, int slot) {
    if (!op->flagged || !op->used[slot]) return;
    const size_t at = (size_t)slot * 512;
    float sum[512];
    NodalNear links = near_links(op, slot);
    op->kernels->sum_rows(&links, op->anchor + at, sum);
    for (int row = 0; row < TILE * TILE; row++) {
        float edges[TILE];
        sum_edges(op, slot, row, edges);
        for (int x = 0; x < TILE; x++) {
            const int i = row * TILE + x;
            const float anchor = op->anchor[at + (size_t)i];
            const bool unknown = op->smooth[at + (size_t)i] > 0;
            // exactly 0 inside: rounding would hide closed tanks
            op->diag[at + (size_t)i] = unknown ? edges[x] + (anchor > 0 ? anchor : 0) : 0;
            op->smooth[at + (size_t)i] = unknown && sum[i] > 0 ? 1 / sum[i] : 0;
        }
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
    nodal_load_block(g, x, 0, slot, &block);
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
