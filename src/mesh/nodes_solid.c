// Distances from a tile's nodes to solids, only where the surface asks for them.
#include "mesh/mesh.h"
#include <math.h>
#include <string.h>

enum { CHUNK = SOLID_CHUNK, NOT_WANTED = 0, WANTED = 1, KNOWN = 2 };

static float ring_position(const MeshScale *s, int axis, int tile, int local) {
    int g = tile * s->edge + local;
    // beyond the layers outside the domain, where only differences are taken
    if (g < 0 || g > s->nodes[axis] - 1) return (float)(g - 1) / (float)s->resolution;
    return node_position(s, axis, g);
}

void solids_nearest(const SolidList *list, int n, const float *x, const float *y, const float *z,
                    float *out) {
    float d[CHUNK];
    for (int i = 0; i < n; i++) out[i] = INFINITY;
    for (int k = 0; k < list->count; k++) {
        solid_distance(list->solids[k], n, x, y, z, d);
        for (int i = 0; i < n; i++) out[i] = fminf(out[i], d[i]);
    }
}

bool solids_near_tile(const SolidList *list, const MeshScale *s, const int tile[3], float margin) {
    if (!list->count) return false;
    float x[3], d, half = sqrtf(3.0f) * (0.5f * TILE + margin);
    for (int a = 0; a < 3; a++) x[a] = ((float)(TILE * tile[a]) + 0.5f * TILE) * s->dx;
    solids_nearest(list, 1, &x[0], &x[1], &x[2], &d);
    return d < half * s->dx;
}

static void flush(Nodes *n, const NodeInput *in, int count, const float x[3][CHUNK],
                  const int *index) {
    float d[CHUNK];
    solids_nearest(in->solids, count, x[0], x[1], x[2], d);
    for (int i = 0; i < count; i++) n->solid[index[i]] = d[i] * in->scale->inv_dx;
}

/// (wanted) => solid.
static void evaluate(Nodes *n, const NodeInput *in) {
    const MeshScale *s = in->scale;
    float x[3][CHUNK];
    int index[CHUNK], count = 0, i = 0;
    for (int c = -1; c <= s->edge + 1; c++)
        for (int b = -1; b <= s->edge + 1; b++)
            for (int a = -1; a <= s->edge + 1; a++, i++) {
                if (n->wanted[i] != WANTED) continue;
                n->wanted[i] = KNOWN;
                const int local[3] = {a, b, c};
                for (int k = 0; k < 3; k++)
                    x[k][count] = ring_position(s, k, n->tile[k], local[k]) * s->dx;
                index[count++] = i;
                if (count == CHUNK) flush(n, in, count, x, index), count = 0;
            }
    flush(n, in, count, x, index);
}

static void want_neighbours(Nodes *n, const MeshScale *s, int x, int y, int z) {
    int at = ring_index(s, x, y, z), stride = 1;
    for (int a = 0; a < 3; a++, stride *= s->edge + 3)
        for (int side = -1; side <= 1; side += 2)
            if (n->wanted[at + side * stride] == NOT_WANTED) n->wanted[at + side * stride] = WANTED;
}

void nodes_solid(Nodes *n, const NodeInput *in) {
    const MeshScale *s = in->scale;
    n->near_solid = solids_near_tile(in->solids, s, n->tile, 1 + s->radius);
    if (!n->near_solid) return;
    int edge = s->edge + 1, i = 0;
    memset(n->wanted, NOT_WANTED, sizeof n->wanted);
    for (int z = 0; z < edge; z++)
        for (int y = 0; y < edge; y++)
            for (int x = 0; x < edge; x++, i++)
                if (n->kind[i] != NODE_FAR) n->wanted[ring_index(s, x, y, z)] = WANTED;
    evaluate(n, in);
    i = 0;
    for (int z = 0; z < edge; z++)
        for (int y = 0; y < edge; y++)
            for (int x = 0; x < edge; x++, i++)
                if (n->kind[i] == NODE_ACTIVE &&
                    fabsf(n->solid[ring_index(s, x, y, z)]) < s->radius)
                    want_neighbours(n, s, x, y, z);
    evaluate(n, in);
}

bool node_plane(const Nodes *n, const MeshScale *s, int x, int y, int z, float plane[4]) {
    const int local[3] = {x, y, z};
    int at = ring_index(s, x, y, z), stride = 1;
    plane[3] = n->solid[at];
    if (!(fabsf(plane[3]) < s->radius)) {
        // deep inside: the direction does not matter, only that it is inside
        plane[0] = plane[1] = plane[2] = 0;
        return plane[3] < 0;
    }
    float length2 = 0;
    for (int a = 0; a < 3; a++, stride *= s->edge + 3) {
        float span = ring_position(s, a, n->tile[a], local[a] + 1) -
                     ring_position(s, a, n->tile[a], local[a] - 1);
        plane[a] = (n->solid[at + stride] - n->solid[at - stride]) / span;
        length2 += plane[a] * plane[a];
    }
    if (!(length2 > 1e-6f)) return false;
    for (int a = 0; a < 3; a++) plane[a] /= sqrtf(length2);
    return true;
}
