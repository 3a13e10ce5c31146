// Surface tension on a warped mesh: curvature in space from distances in reference space. The
// pressure of the surface itself is the projection's (nodal_flow.c).
#include "liquid/tension.h"
#include "warp/stage.h"
#include <math.h>

enum { EDGE = TILE + 2 };

/// Unit normal at the middle of a cell, and what its corners' functions have as gradients there.
typedef struct Face {
    double normal[3], gradient[3][8], volume, steepness;
} Face;

/// at: of the cell's low corner in blocks of nodes with halo 1. => false where there is no slope
static bool find_face(int dim, const float *const d[3], const float *distance, int at, Face *f) {
    const int step[3] = {1, EDGE, EDGE * EDGE}, corners = 1 << dim;
    const double part = 1.0 / (1 << (dim - 1));
    double J[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, inverse[3][3], length = 0;
    for (int i = 0; i < dim; i++)
        for (int c = 0; c < corners; c++) {
            const int p = at + (c & 1) * step[0] + (c >> 1 & 1) * step[1] + (c >> 2) * step[2];
            for (int j = 0; j < dim; j++) J[i][j] += (c >> i & 1 ? part : -part) * (double)d[j][p];
        }
    f->volume = matrix_invert(J, inverse);
    for (int a = 0; a < dim; a++) {
        f->normal[a] = 0;
        for (int c = 0; c < corners; c++) {
            const int p = at + (c & 1) * step[0] + (c >> 1 & 1) * step[1] + (c >> 2) * step[2];
            double g = 0;
            for (int i = 0; i < dim; i++) g += inverse[a][i] * (c >> i & 1 ? part : -part);
            f->gradient[a][c] = g;
            f->normal[a] += g * (double)distance[p];
        }
        length += f->normal[a] * f->normal[a];
    }
    f->steepness = sqrt(length);
    for (int a = 0; a < dim; a++) f->normal[a] /= f->steepness;
    return length > 1e-4;
}

/// Divergence of the normals of the cells around a node, each weighed by its volume; those beyond
/// walls are left out, by which the surface meets walls at 90 degrees.
static float node_curvature(const BrimSim *s, const float *const d[3], const float *distance,
                            const int node[3], int at) {
    const int step[3] = {1, EDGE, EDGE * EDGE}, dim = s->dim;
    const float limit = dim == 3 ? 2 : 1; // of a drop of a cell's radius
    double sum = 0, volume = 0, steep = 0, count = 0;
    for (int k = 0; k < 1 << dim; k++) {
        int low = at, opposite = 0;
        bool inside = true;
        for (int a = 0; a < dim; a++) {
            const int before = k >> a & 1; // the cell is before the node
            const int cell = node[a] - before;
            inside = inside && cell >= 0 && cell < s->grid.cells[a];
            low -= before * step[a], opposite |= before << a;
        }
        Face f;
        if (!inside || !find_face(dim, d, distance, low, &f)) continue;
        for (int a = 0; a < dim; a++) sum -= f.volume * f.gradient[a][opposite] * f.normal[a];
        volume += f.volume / (1 << dim), steep += f.steepness, count++;
    }
    if (count == 0) return 0;
    const float size = (float)(count / steep); // of a cell across the surface
    const float here = curvature_on_surface(dim, size * (float)(sum / volume), distance[at]);
    return fmaxf(-limit, fminf(here, limit)) / size;
}

void warp_curve(const BrimSim *s, int slot, const float *distance, float *curvature) {
    const TileCoord t = s->grid.coord[slot];
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    float place[3][EDGE * EDGE * EDGE + 16];
    const float first[3] = {(float)(t.x * TILE - 1), (float)(t.y * TILE - 1),
                            s->dim == 3 ? (float)(t.z * TILE - 1) : 0};
    s->warp->kernels->points(&lattice, first, 1, EDGE,
                             (float *const[3]){place[0], place[1], place[2]}, NULL);
    const float *const d[3] = {place[0], place[1], place[2]};
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const int local[3] = {i & 7, i >> 3 & 7, i >> 6};
        const int node[3] = {t.x * TILE + local[0], t.y * TILE + local[1], t.z * TILE + local[2]};
        if (curvature[i] != curvature[i]) continue;
        curvature[i] = node_curvature(
            s, d, distance, node,
            ((s->dim == 3 ? local[2] + 1 : 0) * EDGE + local[1] + 1) * EDGE + local[0] + 1);
    }
}

BrimResult warp_tension(BrimSim *s, BrimError *error) {
    (void)error;
    find_curvature(s);
    return BRIM_OK;
}
