// Between velocity and pressure at nodes: right-hand side and update.
#include "grid/mask.h"
#include "warp/nodal_cell.h"
#include <math.h>
#include <string.h>

// -------------------------------------------------------------------------------- right-hand side

static double solid_speed(const NodalSolids *s, int axis, int64_t at) {
    return s->velocity[axis] ? (double)s->velocity[axis][at] : 0;
}

void nodal_side_flux(int dim, const double d[8][3], const int local[3], int axis, int far,
                     double flux, double *b) {
    static const double at[2] = {0.21132486540518711775, 0.78867513459481288225}; // Gauss
    const int u = (axis + 1) % dim, v = dim == 3 ? (axis + 2) % 3 : axis;
    for (int k = 0; k < 1 << (dim - 1); k++) {
        double x[3] = {0}, J[3][3];
        x[axis] = far, x[u] = at[k & 1];
        if (dim == 3) x[v] = at[k >> 1];
        element_jacobian(dim, d, x, J);
        const double area = dim == 3 ? J[u][u] * J[v][v] - J[u][v] * J[v][u] : J[u][u];
        for (int i = 0; i < 1 << dim; i++) {
            const int node = nodal_corner(dim, local, i);
            if (node < 0 || (i >> axis & 1) != far) continue;
            double N = 1;
            for (int e = 0; e < dim; e++)
                if (e != axis) N *= i >> e & 1 ? x[e] : 1 - x[e];
            b[node] -= flux * N * area / (1 << (dim - 1));
        }
    }
}

/// What solids that cover a side of the domain carry through it. at_solid: the cell in their arrays
static void subtract_wall_flux(const NodalProblem *p, const Cell *c, const int local[3], int slot,
                               int64_t at_solid, double *b) {
    const Grid *g = p->grid;
    const TileCoord t = g->coord[slot];
    const int tile[3] = {t.x, t.y, t.z};
    for (int a = 0; a < g->dim; a++) {
        if (!p->solids.covered[a]) continue;
        for (int far = 0; far < 2; far++) {
            if (tile[a] * TILE + local[a] != (far ? g->cells[a] - 1 : 0)) continue;
            const double part = (double)p->solids.covered[a][at_solid];
            const double flux = (far ? 1 : -1) * part * solid_speed(&p->solids, a, at_solid);
            if (flux != 0) nodal_side_flux(g->dim, c->d, local, a, far, flux, b);
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

/// What moving solids carry into the cells around a tile: w B^T (1 - f) u_s, all of a cell less its
/// open part, and through the domain's sides.
static void add_solid_flow(const NodalProblem *p, int slot, double *sum) {
    const Grid *g = p->grid;
    const int64_t n = g->tile_cells;
    Corners corners;
    Cell c;
    int local[3];
    bool loaded = false;
    EACH_CELL_AROUND(g, local) {
        const int64_t at = grid_near(g, slot, local[0], local[1], local[2]);
        const int64_t place = at < 0 ? -1 : nodal_solid_place(&p->solids, at / n);
        double speed = 0, mean[3][8];
        for (int a = 0; a < g->dim && place >= 0; a++)
            speed = fmax(speed, fabs(solid_speed(&p->solids, a, place * n + at % n)));
        if (speed == 0) continue;
        if (!loaded && !nodal_load_corners(p, slot, &corners)) return;
        loaded = true;
        if (!nodal_load_cell(p, &corners, slot, local, &c)) continue;
        nodal_open_mean(&c, mean);
        for (int i = 0; i < c.element.corners && c.least_open < 1; i++) {
            const int node = nodal_corner(g->dim, local, i);
            for (int a = 0; a < g->dim && node >= 0; a++)
                sum[node] += (c.element.volume * c.element.mean[a][i] - mean[a][i]) *
                             solid_speed(&p->solids, a, place * n + at % n);
        }
        subtract_wall_flux(p, &c, local, slot, place * n + at % n, sum);
    }
}

void nodal_cell_jump(const NodalProblem *p, const NodeBlock *jump, const int local[3],
                     double out[8]) {
    const int corners = 1 << p->grid->dim;
    double sum = 0, count = 0;
    for (int k = 0; k < corners; k++) {
        const float v =
            jump->at[block_index(local[0] + (k & 1), local[1] + (k >> 1 & 1), local[2] + (k >> 2))];
        out[k] = (double)v * p->jump_scale;
        if (v == v) sum += out[k], count++;
    }
    for (int k = 0; k < corners; k++)
        if (isnan(out[k])) out[k] = count > 0 ? sum / count : 0;
}

/// What the pressure of the surface, ps, does to cut cells. With q = ps there the gradient is
/// grad ps + M grad (q - ps)0, ()0 being 0 at air nodes: - w B^T (B ps - M B ps0) at each point.
static void subtract_jump(const NodalProblem *p, int slot, double *sum) {
    const Grid *g = p->grid;
    const int all = (1 << (1 << g->dim)) - 1;
    Corners corners;
    NodeBlock jump;
    int local[3];
    if (!nodal_load_corners(p, slot, &corners)) return;
    nodal_load_block(g, p->jump, NAN, slot, &jump);
    EACH_CELL_AROUND(g, local) {
        int64_t at = -1;
        Cell c;
        double ps[8], out[8] = {0};
        const int liquid = liquid_corners(p, &corners.phi, slot, local, &at);
        if (liquid == 0 || liquid == all) continue;
        if (!nodal_load_cell(p, &corners, slot, local, &c)) continue;
        nodal_cell_jump(p, &jump, local, ps);
        for (int point = 0; point < c.element.points; point++) {
            const double(*B)[8] = c.element.gradient[point],
                  w = c.open[point] * c.element.weight[point];
            double M[3][3], whole[3] = {0}, inside[3] = {0}, v[3];
            element_ghost(c.element.corners, B, c.phi, &c.surface, M);
            for (int a = 0; a < g->dim; a++)
                for (int k = 0; k < c.element.corners; k++) {
                    whole[a] += B[a][k] * ps[k];
                    inside[a] += c.liquid >> k & 1 ? B[a][k] * ps[k] : 0;
                }
            for (int a = 0; a < g->dim; a++)
                v[a] = whole[a] - M[a][0] * inside[0] - M[a][1] * inside[1] - M[a][2] * inside[2];
            for (int k = 0; k < c.element.corners; k++)
                for (int a = 0; a < g->dim; a++) out[k] += w * B[a][k] * v[a];
        }
        for (int k = 0; k < c.element.corners; k++) {
            const int node = nodal_corner(g->dim, local, k);
            if (node >= 0) sum[node] -= out[k];
        }
    }
}

/// V Gm^T u, from what the assembly kept.
static void rhs_by_means(const NodalProblem *p, const NodalOperator *op, float *const u[3],
                         int slot, double *sum) {
    const Grid *g = p->grid;
    NodeBlock phi;
    int local[3];
    nodal_load_block(g, p->phi, 1, slot, &phi);
    EACH_CELL_AROUND(g, local) {
        int64_t at = -1;
        if (!liquid_corners(p, &phi, slot, local, &at)) continue;
        const int64_t n = g->tile_cells;
        const float *mean = op->mean + at / n * n * NODAL_MEAN + at % n;
        if (mean[(NODAL_MEAN - 1) * n] == 0) continue; // all solid: there may be no velocity
        for (int i = 0; i < 1 << g->dim; i++) {
            int node = nodal_corner(g->dim, local, i);
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
        nodal_join_flow(op, b, slot);
    } else {
        rhs_by_means(p, op, u, slot, sum);
        for (size_t i = 0; i < n; i++) b[first + i] = (float)sum[i], sum[i] = 0;
    }
    if (p->solids.velocity[0] || p->solids.velocity[1] || p->solids.velocity[2]) {
        add_solid_flow(p, slot, sum);
        for (size_t i = 0; i < n; i++) b[first + i] += (float)sum[i];
    }
    if (p->jump) {
        memset(sum, 0, sizeof sum);
        subtract_jump(p, slot, sum);
        for (size_t i = 0; i < n; i++) b[first + i] += (float)sum[i];
    }
    for (size_t i = 0; i < n; i++)
        if (op->smooth[first + i] == 0) b[first + i] = 0;
}

// ----------------------------------------------------------------------------------------- update

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

/// u -= Mc Gm q in one cell, with a pressure ps of the surface u -= Gm ps + Mc Gm (q - ps)0.
static void update_cell(const NodalProblem *p, const NodalOperator *op, const NodeBlock *phi,
                        const NodeBlock *pressure, const NodeBlock *jump, const int local[3],
                        bool whole, int64_t at, float *const u[3]) {
    const int dim = p->grid->dim, corners = 1 << dim;
    const int64_t n = p->grid->tile_cells;
    const float *mean = op->mean + at / n * n * NODAL_MEAN + at % n;
    const double volume = (double)mean[(NODAL_MEAN - 1) * n];
    double slope[3] = {0}, of_jump[3] = {0}, ps[8] = {0}, M[3][3];
    if (jump && !whole) nodal_cell_jump(p, jump, local, ps);
    Cell c = {.element = {.dim = dim, .corners = corners}, .surface = p->surface};
    for (int k = 0; k < corners; k++) {
        int from = block_index(local[0] + (k & 1), local[1] + (k >> 1 & 1), local[2] + (k >> 2));
        double v = phi->at[from] < 0 ? (double)pressure->at[from] - ps[k] : 0;
        c.phi[k] = (double)phi->at[from];
        for (int a = 0; a < dim; a++) {
            c.element.mean[a][k] = (double)mean[(a * 8 + k) * n] / volume;
            slope[a] += c.element.mean[a][k] * v;
            of_jump[a] += c.element.mean[a][k] * ps[k];
        }
    }
    if (!whole && nodal_is_rough(&c)) c.surface.order = 1;
    if (!whole) element_ghost(corners, c.element.mean, c.phi, &c.surface, M);
    for (int a = 0; a < dim; a++) {
        double v = whole ? slope[a] : M[a][0] * slope[0] + M[a][1] * slope[1] + M[a][2] * slope[2];
        u[a][at] = (float)((double)u[a][at] - v - of_jump[a]);
    }
}

void nodal_update(const NodalProblem *p, const NodalOperator *op, const float *q, float *const u[3],
                  uint8_t *updated, int slot) {
    const Grid *g = p->grid;
    const size_t n = (size_t)g->tile_cells, first = (size_t)slot * n;
    NodeBlock phi, pressure, jump;
    LiquidRows liquid;
    float slope[3][512];
    if (updated) memset(updated + (size_t)slot * (size_t)g->tile_rows, 0, (size_t)g->tile_rows);
    if (!op->kept[slot]) return;
    nodal_load_block(g, p->phi, 1, slot, &phi);
    nodal_load_block(g, q, 0, slot, &pressure);
    if (p->jump) nodal_load_block(g, p->jump, NAN, slot, &jump);
    if (op->kernels)
        op->kernels->gradient(op->mean + first * NODAL_MEAN, pressure.at,
                              (float *const[3]){slope[0], slope[1], slope[2]});
    find_liquid(g, &phi, &liquid);
    const float *mean = op->mean + first * NODAL_MEAN;
    TileMask inside = mask_inside(g, slot);
    for (int row = 0; row < g->tile_rows; row++) {
        const unsigned here = liquid.any[row] & mask_bits(&inside, row);
        unsigned done = 0;
        for (unsigned bits = here; bits; bits &= bits - 1) {
            const int x = __builtin_ctz(bits), i = row * TILE + x;
            const int local[3] = {x, row & 7, row >> 3};
            const int64_t at = (int64_t)first + i;
            const bool whole = liquid.all[row] >> x & 1;
            if (mean[(NODAL_MEAN - 1) * n + (size_t)i] == 0) continue; // no open part
            if (op->kernels && whole)
                for (int a = 0; a < 3; a++) u[a][at] -= slope[a][i];
            else
                update_cell(p, op, &phi, &pressure, p->jump ? &jump : NULL, local, whole, at, u);
            done |= 1u << x;
        }
        if (updated) updated[(size_t)slot * (size_t)g->tile_rows + (size_t)row] = (uint8_t)done;
    }
}
