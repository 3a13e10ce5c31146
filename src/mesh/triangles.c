// Triangles of a tile's cubes, with the vertices of the tiles that they touch.
#include "mesh/mesh.h"

/// The vertex on the edge along an axis from a node, counted over the whole mesh.
static uint32_t vertex_at(const TileMesh *t, int edge, int axis, const int node[3]) {
    int i = (node[2] * edge + node[1]) * edge + node[0];
    uint64_t before = t->cut[axis][i / 64] & (((uint64_t)1 << (i % 64)) - 1);
    return t->first_vertex + t->rank[axis][i / 64] + (uint32_t)__builtin_popcountll(before);
}

/// The tiles beyond the upper sides of a tile: bit a of the index is one step along axis a.
static void find_tiles(const TileMesh *tiles, const TileMesh *self, const TileBox *box,
                       const TileMesh *near[8]) {
    for (int n = 0; n < 8; n++) {
        int x = self->tile[0] + (n & 1), y = self->tile[1] + (n >> 1 & 1);
        int z = self->tile[2] + (n >> 2);
        near[n] = self;
        if (x >= box->tiles[0] || y >= box->tiles[1] || z >= box->tiles[2]) continue;
        int32_t slot = box->slot_of[(z * box->tiles[1] + y) * box->tiles[0] + x];
        if (slot >= 0) near[n] = &tiles[slot];
    }
}

static uint32_t cube_vertex(const TileMesh *const near[8], int edge, const int corner[3], int e) {
    int axis = e / 4, which = 0;
    int node[3] = {corner[0], corner[1], corner[2]};
    node[(axis + 1) % 3] += e & 1;
    node[(axis + 2) % 3] += e >> 1 & 1;
    for (int a = 0; a < 3; a++) {
        if (node[a] < edge) continue;
        node[a] -= edge;
        which |= 1 << a;
    }
    return vertex_at(near[which], edge, axis, node);
}

void march_triangles(const TileMesh *tiles, int index, const TileBox *box, const MeshScale *scale,
                     const MarchTable *table, uint32_t (*triangle)[3]) {
    const TileMesh *self = &tiles[index], *near[8];
    int edge = scale->edge;
    find_tiles(tiles, self, box, near);
    for (uint32_t c = 0; c < self->cube_count; c++) {
        int i = (int)(self->cube[c] / 256), in = (int)(self->cube[c] % 256);
        const int corner[3] = {i % edge, i / edge % edge, i / edge / edge};
        for (int k = 0; k < table->count[in]; k++, triangle++)
            for (int m = 0; m < 3; m++)
                (*triangle)[m] = cube_vertex(near, edge, corner, table->edges[in][k][m]);
    }
}
