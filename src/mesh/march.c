// Vertices on the lattice's edges, and the cubes that the surface passes.
#include "base/memory.h"
#include "mesh/mesh.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tile_mesh_free(TileMesh *t) {
    free(t->cut[0]); // the others are in the same memory
    free(t->rank[0]);
    free(t->vertex), free(t->sides), free(t->room), free(t->cube);
    *t = (TileMesh){.tile = {t->tile[0], t->tile[1], t->tile[2]}};
}

static int node_stride(const MeshScale *s, int axis) {
    int edge = s->edge + 1;
    return axis == 0 ? 1 : axis == 1 ? edge : edge * edge;
}

/// Visits own nodes; `i` counts them, `at` is their index with the next tiles' first.
#define FOR_OWN_NODES(S)                                                                     \
    for (int z = 0, i = 0; z < (S)->edge; z++)                                               \
        for (int y = 0; y < (S)->edge; y++)                                                  \
            for (int x = 0, at = (z * ((S)->edge + 1) + y) * ((S)->edge + 1); x < (S)->edge; \
                 x++, i++, at++)

/// (in) => cut, rank, vertex_count.
static bool find_cuts(TileMesh *t, const Nodes *n, const MeshScale *s) {
    size_t words = (size_t)(s->edge * s->edge * s->edge) / 64;
    t->cut[0] = memory_zero(3 * words * sizeof(uint64_t));
    t->rank[0] = memory_new(3 * words * sizeof(uint32_t));
    if (!t->cut[0] || !t->rank[0]) return false;
    uint32_t count = 0;
    for (int a = 0; a < 3; a++) {
        t->cut[a] = t->cut[0] + (size_t)a * words, t->rank[a] = t->rank[0] + (size_t)a * words;
        int stride = node_stride(s, a);
        FOR_OWN_NODES(s)
        t->cut[a][i / 64] |= (uint64_t)(n->in[at] != n->in[at + stride]) << (i % 64);
        for (size_t w = 0; w < words; w++) {
            t->rank[a][w] = count;
            count += (uint32_t)__builtin_popcountll(t->cut[a][w]);
        }
    }
    t->vertex_count = count;
    return true;
}

/// How far along an edge, from its end in the water, the surface is met first.
static float cross(const Nodes *n, const MeshScale *s, const int wet[3], const int dry[3],
                   uint8_t *sides) {
    int edge = s->edge + 1;
    float a = n->phi[(wet[2] * edge + wet[1]) * edge + wet[0]];
    float b = n->phi[(dry[2] * edge + dry[1]) * edge + dry[0]];
    float t = b > 0 ? a / (a - b) : 1;
    if (n->near_solid) {
        float c = n->solid[ring_index(s, wet[0], wet[1], wet[2])];
        bool known = n->kind[(dry[2] * edge + dry[1]) * edge + dry[0]] != NODE_FAR;
        float d = known ? n->solid[ring_index(s, dry[0], dry[1], dry[2])] : c;
        if (d <= 0 && c / (c - d) < t) {
            t = c / (c - d);
            *sides |= VERTEX_SOLID;
        }
    }
    return t < MESH_SNAP ? MESH_SNAP : t > 1 - MESH_SNAP ? 1 - MESH_SNAP : t;
}

/// Takes a vertex beside a node above a thin film down to the film's surface.
static void lower_to_film(const Nodes *n, const MeshScale *s, const int wet[3], float at[3]) {
    int edge = s->edge + 1;
    float film = n->film[(wet[2] * edge + wet[1]) * edge + wet[0]], plane[4], above = 0;
    if (film < 0 || !node_plane(n, s, wet[0], wet[1], wet[2], plane)) return;
    for (int a = 0; a < 3; a++)
        above += plane[a] * (at[a] - node_position(s, a, n->tile[a] * s->edge + wet[a]));
    // not all the way to the solid, where its other face is
    float least = MESH_SNAP / (float)s->resolution, down = plane[3] + above - fmaxf(film, least);
    for (int a = 0; a < 3 && down > 0; a++) {
        at[a] -= down * plane[a];
        at[a] = at[a] < 0 ? 0 : at[a] > (float)s->cells[a] ? (float)s->cells[a] : at[a];
    }
}

/// Whether a solid is within the kernel's radius of a node.
static bool near_solid(const Nodes *n, const MeshScale *s, const int node[3]) {
    float plane[4];
    return n->near_solid && node_plane(n, s, node[0], node[1], node[2], plane);
}

/// Moves a vertex along its edge to where the surface passes it: among few particles the distance
/// is not linear between the edge's ends. A third value makes it so nearly.
static void refine(const Nodes *n, const Block *block, const NodeInput *in, int axis,
                   const int wet[3], const int dry[3], float at[3]) {
    const MeshScale *s = in->scale;
    int edge = s->edge + 1;
    float from = node_position(s, axis, n->tile[axis] * s->edge + wet[axis]);
    float to = node_position(s, axis, n->tile[axis] * s->edge + dry[axis]), phi;
    float t = (at[axis] - from) / (to - from);
    if (!nodes_sparse(n, block, in, at, &phi)) return;
    float a = n->phi[(wet[2] * edge + wet[1]) * edge + wet[0]];
    float b = fmaxf(n->phi[(dry[2] * edge + dry[1]) * edge + dry[0]], 0);
    t = phi < 0 ? t + phi / (phi - b) * (1 - t) : a / (a - phi) * t;
    t = t < MESH_SNAP ? MESH_SNAP : t > 1 - MESH_SNAP ? 1 - MESH_SNAP : t;
    at[axis] = from + t * (to - from);
}

/// Difference of the distance along an axis at a node, a node spacing; 0 where none is known.
static float slope(const Nodes *n, const MeshScale *s, const int node[3], int axis) {
    int edge = s->edge + 1, here = (node[2] * edge + node[1]) * edge + node[0];
    int last = s->nodes[axis] - 2 - n->tile[axis] * s->edge; // inside
    int way = node[axis] < s->edge && node[axis] < last ? 1 : -1;
    int there = here + way * node_stride(s, axis);
    if (node[axis] + way < 0 || n->kind[here] != NODE_ACTIVE || n->kind[there] != NODE_ACTIVE)
        return 0;
    return (n->phi[there] - n->phi[here]) * (float)way;
}

/// A vertex that stays away from its edge's end is off the surface where that passes the end. It
/// goes back to it across the edge: still apart from the vertices of other edges, and a calm level
/// that lies on nodes is flat.
static void settle(const Nodes *n, const MeshScale *s, int axis, const int wet[3], const int dry[3],
                   float at[3]) {
    int edge = s->edge + 1;
    float a = n->phi[(wet[2] * edge + wet[1]) * edge + wet[0]];
    float b = n->phi[(dry[2] * edge + dry[1]) * edge + dry[0]], t = b < 0 ? 1 : a / (a - b);
    if (t >= MESH_SNAP && t <= 1 - MESH_SNAP) return;
    float from = node_position(s, axis, n->tile[axis] * s->edge + wet[axis]);
    float to = node_position(s, axis, n->tile[axis] * s->edge + dry[axis]);
    float normal[3], length2 = 0;
    for (int k = 0; k < 3; k++) {
        normal[k] = slope(n, s, t < 0.5f ? wet : dry, k);
        length2 += normal[k] * normal[k];
    }
    if (!(length2 > 0)) return;
    // both ends may be below the surface, one by less than counts
    float off = (at[axis] - (from + t * (to - from))) * normal[axis];
    if (b < 0) off = (a + (at[axis] - from) / (to - from) * (b - a)) / (float)s->resolution;
    for (int k = 0; k < 3; k++) {
        at[k] -= off * normal[k] / length2;
        at[k] = at[k] < 0 ? 0 : at[k] > (float)s->cells[k] ? (float)s->cells[k] : at[k];
    }
}

static void make_vertex(const Nodes *n, const Block *block, const NodeInput *input, int axis,
                        const int node[3], bool low_in, float out[6], uint8_t *sides) {
    const MeshScale *s = input->scale;
    int next[3] = {node[0], node[1], node[2]}, g[3];
    next[axis]++;
    float at[3];
    *sides = 0;
    for (int a = 0; a < 3; a++) {
        g[a] = n->tile[a] * s->edge + node[a];
        at[a] = node_position(s, a, g[a]);
        out[a] = at[a] * s->dx;
        if (a != axis && (g[a] == 1 || g[a] == s->nodes[a] - 2))
            *sides |= (uint8_t)(VERTEX_HELD << a);
    }
    bool first = g[axis] == 0, last = g[axis] + 1 == s->nodes[axis] - 1;
    if (first || last) {
        at[axis] = first ? 0 : (float)s->cells[axis];
        out[axis] = first ? 0 : s->size[axis];
        *sides |= (uint8_t)(VERTEX_WALL | (VERTEX_HELD | VERTEX_ON) << axis);
    } else {
        float end = node_position(s, axis, g[axis] + 1);
        float t = low_in ? cross(n, s, node, next, sides) : cross(n, s, next, node, sides);
        at[axis] = low_in ? at[axis] + t * (end - at[axis]) : end + t * (at[axis] - end);
        const int *wet = low_in ? node : next, *dry = low_in ? next : node;
        const bool solid = near_solid(n, s, wet);
        if (!*sides && !solid) {
            refine(n, block, input, axis, wet, dry, at);
            nodes_thin(n, block, input, at);
        }
        if (!(*sides & VERTEX_SOLID) && !solid) settle(n, s, axis, wet, dry, at);
        if (n->near_solid && !(*sides & VERTEX_SOLID))
            lower_to_film(n, s, low_in ? node : next, at);
        for (int a = 0; a < 3; a++) out[a] = at[a] * s->dx;
        // where the free surface meets a side, right on it
        for (int a = 0; a < 3; a++) {
            if (!(*sides >> a & 1)) continue;
            out[a] = g[a] == 1 ? 0 : s->size[a];
            *sides |= (uint8_t)(VERTEX_ON << a);
        }
    }
    LevelSums sums = {0};
    if (block->count) input->kernels->velocity(block, s->radius, at, &sums);
    for (int a = 0; a < 3; a++) out[3 + a] = sums.weight > 1e-6f ? sums.mean[a] / sums.weight : 0;
}

/// A vertex may be smoothed by a node spacing, and not farther than the nearest solid is: a little
/// less, since not all distances are exact.
static void find_room(TileMesh *t, const NodeInput *input, bool near_solid) {
    const MeshScale *s = input->scale;
    const float most = s->dx / (float)s->resolution, sure = 0.9f;
    for (uint32_t first = 0; first < t->vertex_count; first += SOLID_CHUNK) {
        float x[3][SOLID_CHUNK], d[SOLID_CHUNK];
        uint32_t left = t->vertex_count - first;
        int n = left < SOLID_CHUNK ? (int)left : SOLID_CHUNK;
        for (int i = 0; i < n; i++)
            for (int a = 0; a < 3; a++) x[a][i] = t->vertex[first + (uint32_t)i][a];
        if (near_solid) solids_nearest(input->solids, n, x[0], x[1], x[2], d);
        for (int i = 0; i < n; i++)
            t->room[first + (uint32_t)i] = near_solid ? fmaxf(fminf(most, sure * d[i]), 0) : most;
    }
}

static bool make_vertices(TileMesh *t, const Nodes *n, const Block *block, const NodeInput *input) {
    const MeshScale *s = input->scale;
    t->vertex = memory_new(t->vertex_count * sizeof *t->vertex);
    t->sides = memory_new(t->vertex_count);
    t->room = memory_new(t->vertex_count * sizeof *t->room);
    if (!t->vertex || !t->sides || !t->room) return false;
    uint32_t k = 0;
    for (int a = 0; a < 3; a++) {
        FOR_OWN_NODES(s) {
            if (!(t->cut[a][i / 64] >> (i % 64) & 1)) continue;
            const int node[3] = {x, y, z};
            make_vertex(n, block, input, a, node, n->in[at], t->vertex[k], &t->sides[k]);
            k++;
        }
    }
    find_room(t, input, n->near_solid);
    return true;
}

static uint32_t corners_in(const Nodes *n, const MeshScale *s, int at) {
    int edge = s->edge + 1;
    uint32_t bits = 0;
    for (int c = 0; c < 8; c++)
        bits |= (uint32_t)n->in[at + ((c >> 2) * edge + (c >> 1 & 1)) * edge + (c & 1)] << c;
    return bits;
}

static bool find_cubes(TileMesh *t, const Nodes *n, const MeshScale *s) {
    for (int pass = 0; pass < 2; pass++) {
        if (pass) t->cube = memory_new(t->cube_count * sizeof *t->cube);
        if (pass && !t->cube) return false;
        t->cube_count = 0;
        FOR_OWN_NODES(s) {
            uint32_t bits = corners_in(n, s, at);
            if (bits == 0 || bits == 255) continue;
            if (pass) t->cube[t->cube_count] = (uint32_t)i * 256 + bits;
            t->cube_count++;
        }
    }
    return true;
}

bool march_tile(TileMesh *t, const Nodes *nodes, const Block *block, const NodeInput *input) {
    memcpy(t->tile, nodes->tile, sizeof t->tile);
    if (find_cuts(t, nodes, input->scale) && make_vertices(t, nodes, block, input) &&
        find_cubes(t, nodes, input->scale))
        return true;
    tile_mesh_free(t);
    return false;
}
