#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

bool warp_bends(const BrimSim *s) {
    return s->warp->mesh.strength > 0 && !s->def.warp_still;
}

void warp_to_place(const BrimSim *s, float p[3]) {
    const double xi[3] = {p[0], p[1], p[2]};
    double x[3];
    map_to_space(&s->warp->mesh.map, xi, x);
    for (int a = 0; a < s->dim; a++) p[a] = (float)x[a];
}

void warp_node_places(const BrimSim *s, int slot, int edge, float *const x[3]) {
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x * TILE - 1, t.y * TILE - 1, t.z * TILE - 1};
    const float first[3] = {(float)tile[0], (float)tile[1], (float)tile[2]};
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const int count = edge * edge * (s->dim == 3 ? edge : 1);
    s->warp->kernels->points(&lattice, first, 1, edge, x, NULL);
    for (int i = 0; i < count; i++) {
        const int at[3] = {tile[0] + i % edge, tile[1] + i / edge % edge,
                           tile[2] + i / edge / edge};
        for (int a = 0; a < s->dim; a++) {
            const int last = s->grid.cells[a], c = at[a] < 0 ? 0 : at[a] > last ? last : at[a];
            x[a][i] = ((float)c + x[a][i]) * s->dx;
        }
        if (s->dim == 2) x[2][i] = 0;
    }
}

void warp_tile_box(const BrimSim *s, int slot, float reach, float low[3], float high[3]) {
    const WarpMap *m = &s->warp->mesh.map;
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE};
    int first[3] = {0}, last[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        const int from = (int)floorf(((float)tile[a] - reach) / (float)m->ratio[a]);
        const int to = (int)ceilf(((float)(tile[a] + TILE) + reach) / (float)m->ratio[a]);
        first[a] = from < 0 ? 0 : from > m->coarse[a] ? m->coarse[a] : from;
        last[a] = to < 0 ? 0 : to > m->coarse[a] ? m->coarse[a] : to;
        low[a] = INFINITY, high[a] = -INFINITY;
    }
    // between coarse nodes the map is multilinear: its extremes are at them
    for (int z = first[2]; z <= last[2]; z++)
        for (int y = first[1]; y <= last[1]; y++)
            for (int x = first[0]; x <= last[0]; x++) {
                const int node[3] = {x, y, z};
                const size_t i = map_node(m, x, y, z);
                for (int a = 0; a < s->dim; a++) {
                    const float at = ((float)(node[a] * m->ratio[a]) + m->d[a][i]) * s->dx;
                    low[a] = fminf(low[a], at), high[a] = fmaxf(high[a], at);
                }
            }
}

void warp_reference_distance(const BrimSim *s, int edge, float *phi) {
    enum { EDGE_MOST = TILE + 3 };
    // a mesh is compressed ten times at most, and cells may lie askew
    static const float LEAST = 0.02f, MOST = 50;
    const int stride[3] = {1, edge, edge * edge};
    const int count = edge * edge * (s->dim == 3 ? edge : 1);
    float in_space[EDGE_MOST * EDGE_MOST * EDGE_MOST];
    if (s->warp->mesh.strength == 0) return;
    memcpy(in_space, phi, (size_t)count * sizeof *phi);
    for (int i = 0; i < count; i++) {
        const int at[3] = {i % edge, i / edge % edge, i / edge / edge};
        const float here = in_space[i], sign = here < 0 ? -1 : 1;
        float square = 0;
        for (int a = 0; a < s->dim; a++) {
            float most = 0;
            if (at[a] > 0) most = fmaxf(most, sign * (here - in_space[i - stride[a]]));
            if (at[a] + 1 < edge) most = fmaxf(most, sign * (here - in_space[i + stride[a]]));
            square += most * most;
        }
        const float slope = sqrtf(square) * s->inv_dx;
        phi[i] = here / fminf(fmaxf(slope, LEAST), MOST);
    }
}

void warp_from_place(const BrimSim *s, const double x[3], double xi[3]) {
    for (int a = 0; a < 3; a++) xi[a] = a < s->dim ? fmin(fmax(x[a], 0), s->grid.cells[a]) : 0;
    const double to[3] = {xi[0], xi[1], xi[2]};
    map_to_reference(&s->warp->mesh.map, to, xi, 1e-6, 50);
}

void warp_take_in(BrimSim *s, size_t i) {
    Particles *p = &s->particles;
    double x[3], xi[3];
    for (int a = 0; a < 3; a++) x[a] = (double)space_to_grid(s->space, p->attr[ATTR_X + a][i]);
    warp_from_place(s, x, xi);
    for (int a = 0; a < s->dim; a++) {
        const double in =
            fmin(fmax(xi[a], (double)WARP_SIDE), s->grid.cells[a] - (double)WARP_SIDE);
        p->attr[ATTR_X + a][i] = (float)(in * (double)s->dx);
    }
    p->attr[ATTR_VOLUME][i] = 1.0f / (float)s->def.particles_per_cell;
    warp_key(s, i);
}

/// Between the values of a field of nodes; `missing` where there is no tile.
static double between_nodes(const BrimSim *s, const float *field, const double xi[3],
                            double missing) {
    double sum = 0;
    int low[3] = {0};
    double t[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        const int last = s->grid.cells[a] - 1, c = (int)floor(xi[a]);
        low[a] = c < 0 ? 0 : c > last ? last : c;
        t[a] = xi[a] - low[a];
    }
    for (int c = 0; c < 1 << s->dim; c++) {
        const int64_t at = grid_cell(&s->grid, low[0] + (c & 1), low[1] + (c >> 1 & 1),
                                     low[2] + (s->dim == 3 ? c >> 2 : 0));
        double w = 1;
        for (int a = 0; a < s->dim; a++) w *= c >> a & 1 ? t[a] : 1 - t[a];
        sum += w * (at < 0 ? missing : (double)field[at]);
    }
    return sum;
}

double warp_level_at(const BrimSim *s, const double xi[3]) {
    return between_nodes(s, s->phi, xi, (double)LEVEL_SET_CUT);
}

double warp_pressure_at(const BrimSim *s, const double xi[3]) {
    if (!s->wet_at[0]) return 0; // nobody has solved for it yet
    return between_nodes(s, s->pressure, xi, 0);
}
