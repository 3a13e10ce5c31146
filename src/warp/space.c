#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

bool warp_bends(const BrimSim *s) {
    return s->warp->mesh.strength > 0;
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
    if (!warp_bends(s)) return;
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
