#include "warp/nodal_cell.h"
#include <math.h>
#include <string.h>

NodalNear nodal_near(const Grid *g, const float *field, size_t a_tile, const uint8_t *used,
                     int slot) {
    NodalNear near;
    for (int n = 0; n < 27; n++) {
        int32_t t = g->neighbour[slot][n];
        near.at[n] = t < 0 || (used && !used[t]) ? NULL : field + (size_t)t * a_tile;
    }
    return near;
}

void nodal_load_row(const NodalNear *near, int y, int z, float missing, float *row) {
    const float *const *tile =
        near->at + TILE_SELF + 3 * (y >> TILE_SHIFT) + 9 * (z >> TILE_SHIFT); // [-1 .. 1]
    const int first = ((z & 7) * TILE + (y & 7)) * TILE;
    row[0] = tile[-1] ? tile[-1][first + 7] : missing;
    for (int x = 0; x < TILE; x++) row[x + 1] = tile[0] ? tile[0][first + x] : missing;
    row[9] = tile[1] ? tile[1][first] : missing;
}

void nodal_load_block(const Grid *g, const float *field, float missing, int slot, NodeBlock *b) {
    NodalNear near = nodal_near(g, field, (size_t)g->tile_cells, NULL, slot);
    int from = g->dim == 3 ? -1 : 0, to = g->dim == 3 ? 8 : 0;
    for (int z = from; z <= to; z++)
        for (int y = -1; y <= 8; y++)
            nodal_load_row(&near, y, z, missing, b->at + block_index(-1, y, z));
}

bool nodal_load_corners(const NodalProblem *p, int slot, Corners *c) {
    const Grid *g = p->grid;
    const TileCoord t = g->coord[slot];
    const int from = g->dim == 3 ? -1 : 0, to = g->dim == 3 ? 8 : 0;
    bool any = false;
    nodal_load_block(g, p->phi, 1, slot, &c->phi);
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
    const int64_t n = p->grid->tile_cells, place = nodal_solid_place(s, c->at / n);
    c->most_open = 0, c->least_open = 1;
    for (int k = 0; k < 8; k++) {
        const int point =
            (p->rule == WARP_RULE_ONE ? 0 : k) % (s->open_points ? s->open_points : 1);
        c->open[k] =
            place < 0 ? 1 : (double)s->open[(place * s->open_points + point) * n + c->at % n];
        c->most_open = fmax(c->most_open, c->open[k]);
        c->least_open = fmin(c->least_open, c->open[k]);
    }
}

bool nodal_is_rough(const Cell *c) {
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

bool nodal_load_cell(const NodalProblem *p, const Corners *corners, int slot, const int local[3],
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
    if (c->cut && nodal_is_rough(c)) c->surface.order = 1;
    return true;
}

int nodal_corner(int dim, const int local[3], int corner) {
    int x = local[0] + (corner & 1), y = local[1] + (corner >> 1 & 1);
    int z = dim == 3 ? local[2] + (corner >> 2) : 0;
    if (x < 0 || y < 0 || z < 0 || x >= TILE || y >= TILE || z >= TILE) return -1;
    return (z * TILE + y) * TILE + x;
}

double nodal_open_mean(const Cell *c, double mean[3][8]) {
    const Element *e = &c->element;
    double volume = 0;
    memset(mean, 0, 3 * sizeof *mean);
    for (int g = 0; g < e->points; g++) {
        const double part = c->open[g] * e->weight[g];
        volume += part;
        for (int a = 0; a < e->dim; a++)
            for (int k = 0; k < e->corners; k++) mean[a][k] += part * e->gradient[g][a][k];
    }
    return volume;
}
