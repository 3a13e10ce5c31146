// Marching cubes from two rules instead of a list of cases.
//
// On a face of a cube whose corners are in and out in turn, each corner in the water is cut off by
// itself. Both cubes of a face follow the same rule, so their curves on it agree; each cube's
// curves join into loops, and each loop is a disc of triangles: the surface is closed.
//
// No edge inside a disc joins two points of one face of the cube. Only such an edge could occur in
// two cubes at once, so every edge of the surface has exactly two triangles.
#include "mesh/mesh.h"
#include <string.h>

enum { EDGES = 12 };

/// Edge between two corners that differ in one bit.
static int edge_between(int a, int b) {
    int axis = (a ^ b) == 1 ? 0 : (a ^ b) == 2 ? 1 : 2, low = a & b;
    return 4 * axis + (low >> (axis + 1) % 3 & 1) + 2 * (low >> (axis + 2) % 3 & 1);
}

/// Bits of the two faces (2 axis + side) that an edge lies on.
static int faces_of(int edge) {
    int axis = edge / 4, b = (axis + 1) % 3, c = (axis + 2) % 3;
    return 1 << (2 * b + (edge & 1)) | 1 << (2 * c + (edge >> 1 & 1));
}

/// Corners of a face, counter-clockwise seen from outside the cube.
static void face_corners(int axis, int side, int corner[4]) {
    int b = 1 << (axis + 1) % 3, c = 1 << (axis + 2) % 3, base = side << axis;
    corner[0] = base, corner[2] = base | b | c;
    corner[1] = base | (side ? b : c), corner[3] = base | (side ? c : b);
}

/// Curves on the faces: next[edge] is where the curve from an edge's point leads, -1 without one.
/// The water is on their left as seen from outside the cube.
static void trace_faces(int in, int next[EDGES]) {
    for (int i = 0; i < EDGES; i++) next[i] = -1;
    for (int face = 0; face < 6; face++) {
        int q[4];
        face_corners(face / 2, face % 2, q);
        for (int i = 0; i < 4; i++) { // a run of corners in the water begins at i, ends at k
            int before = (i + 3) % 4, k = i;
            if (!(in >> q[i] & 1) || in >> q[before] & 1) continue;
            while (in >> q[(k + 1) % 4] & 1) k = (k + 1) % 4;
            next[edge_between(q[before], q[i])] = edge_between(q[k], q[(k + 1) % 4]);
        }
    }
}

typedef struct Loop {
    int edge[EDGES], count;
    uint8_t (*out)[3];
} Loop;

static bool may_join(const Loop *l, int i, int k) {
    bool beside = k - i == 1 || (i == 0 && k == l->count - 1);
    return beside || !(faces_of(l->edge[i]) & faces_of(l->edge[k]));
}

/// Triangles of the points i to k of a loop, in which (i, k) is an edge; -1 when there is no way.
static int fill(const Loop *l, int i, int k, int n) {
    if (k - i < 2) return n;
    for (int j = i + 1; j < k; j++) {
        if (!may_join(l, i, j) || !may_join(l, j, k)) continue;
        int m = fill(l, i, j, n);
        if (m >= 0) m = fill(l, j, k, m);
        if (m < 0) continue;
        l->out[m][0] = (uint8_t)l->edge[i], l->out[m][1] = (uint8_t)l->edge[j];
        l->out[m][2] = (uint8_t)l->edge[k];
        return m + 1;
    }
    return -1;
}

void march_table_init(MarchTable *t) {
    memset(t, 0, sizeof *t);
    for (int in = 0; in < 256; in++) {
        int next[EDGES], n = 0;
        trace_faces(in, next);
        for (int first = 0; first < EDGES; first++) {
            if (next[first] < 0) continue;
            Loop loop = {.out = t->edges[in]};
            for (int e = first; next[e] >= 0;) {
                int to = next[e];
                loop.edge[loop.count++] = e;
                next[e] = -1;
                e = to;
            }
            n = fill(&loop, 0, loop.count - 1, n);
        }
        t->count[in] = (uint8_t)n;
    }
}
