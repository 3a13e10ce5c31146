// Distance to a mesh at the nodes of a grid, without sign: exact next to the surface, carried
// outwards from triangle to node within a band, and from there on by the eikonal equation.
#include "base/memory.h"
#include "solid/distance_grid.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>

/// Cells from the surface within which nodes know their nearest triangle.
static const float band_cells = 5;

/// For each node the nearest triangle known so far and its distance.
typedef struct Nearest {
    const DistanceGrid *grid;
    const Trimesh *mesh;
    float *distance;    ///< [nodes], INFINITY where none is known
    uint32_t *triangle; ///< [nodes]
    float (*box)[6];    ///< [triangles]
} Nearest;

static inline void node_position(const DistanceGrid *g, int i, int j, int k, double p[3]) {
    p[0] = g->origin[0] + (double)g->spacing * i;
    p[1] = g->origin[1] + (double)g->spacing * j;
    p[2] = g->origin[2] + (double)g->spacing * k;
}

/// The box around each triangle: low, high.
static float (*triangle_boxes(const Trimesh *mesh))[6] {
    float(*box)[6] = memory_new((mesh->triangle_count + 1) * sizeof *box);
    for (size_t t = 0; box && t < mesh->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            float a = mesh->vertices[mesh->triangles[t][0]][i];
            float b = mesh->vertices[mesh->triangles[t][1]][i];
            float c = mesh->vertices[mesh->triangles[t][2]][i];
            float low = a < b ? a : b, high = a < b ? b : a;
            box[t][i] = c < low ? c : low, box[t][i + 3] = c > high ? c : high;
        }
    return box;
}

/// Squared distance from p to a box.
static inline double box_distance2(const double p[3], const float box[6]) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double below = box[i] - p[i], above = p[i] - box[i + 3], d = below > above ? below : above;
        d = d > 0 ? d : 0;
        sum += d * d;
    }
    return sum;
}

/// Takes a triangle for a node at p when it is nearer than the one known; whether it did.
static inline bool offer(const Nearest *s, size_t node, uint32_t triangle, const double p[3]) {
    const uint32_t *t = s->mesh->triangles[triangle];
    const float *a = s->mesh->vertices[t[0]], *b = s->mesh->vertices[t[1]];
    const float *c = s->mesh->vertices[t[2]];
    double best = s->distance[node];
    if (box_distance2(p, s->box[triangle]) >= best * best) return false;
    float d = (float)sqrt(triangle_distance2(p, a, b, c));
    if (!(d < s->distance[node])) return false;
    s->distance[node] = d, s->triangle[node] = triangle;
    return true;
}

// --------------------------------------------------------------------- next to the surface

/// Nodes of the box around a triangle: all nodes of the cells that it crosses or just touches.
static void triangle_nodes(const Nearest *s, uint32_t triangle, int first[3], int last[3]) {
    const DistanceGrid *g = s->grid;
    const uint32_t *t = s->mesh->triangles[triangle];
    for (int i = 0; i < 3; i++) {
        float a = s->mesh->vertices[t[0]][i], b = s->mesh->vertices[t[1]][i];
        float c = s->mesh->vertices[t[2]][i];
        double low = fmin(a, fmin(b, c)), high = fmax(a, fmax(b, c));
        int from = (int)floor((low - g->origin[i]) / g->spacing - 0.01);
        int to = (int)ceil((high - g->origin[i]) / g->spacing + 0.01);
        first[i] = from < 0 ? 0 : from;
        last[i] = to > g->n[i] - 1 ? g->n[i] - 1 : to;
    }
}

/// Plane of a triangle; a triangle without area has the normal 0.
typedef struct Plane {
    double normal[3], offset;
} Plane;

static Plane triangle_plane(const Nearest *s, uint32_t triangle) {
    const uint32_t *t = s->mesh->triangles[triangle];
    const float *a = s->mesh->vertices[t[0]], *b = s->mesh->vertices[t[1]];
    const float *c = s->mesh->vertices[t[2]];
    double ab[3], ac[3], at[3];
    for (int i = 0; i < 3; i++)
        ab[i] = (double)b[i] - a[i], ac[i] = (double)c[i] - a[i], at[i] = a[i];
    Plane plane;
    cross3(ab, ac, plane.normal);
    double length = sqrt(dot3(plane.normal, plane.normal));
    for (int i = 0; i < 3; i++) plane.normal[i] = length > 0 ? plane.normal[i] / length : 0;
    plane.offset = dot3(plane.normal, at);
    return plane;
}

/// Narrows nodes [*first, *last] of a row along x to those within two cells of the plane, so that
/// the work of a large oblique triangle goes with its area and not with its box.
static void near_plane(const DistanceGrid *g, const Plane *plane, const double row[3], int *first,
                       int *last) {
    double reach = 2.0 * g->spacing, slope = plane->normal[0] * g->spacing;
    double d = dot3(plane->normal, row) - plane->offset;
    if (fabs(slope) < 1e-6 * g->spacing) {
        if (fabs(d) > 1.01 * reach) *last = *first - 1;
        return;
    }
    double a = (-reach - d) / slope, b = (reach - d) / slope;
    double low = floor(fmin(a, b)), high = ceil(fmax(a, b));
    *first = low > *first ? (low > *last ? *last + 1 : (int)low) : *first;
    *last = high < *last ? (high < *first ? *first - 1 : (int)high) : *last;
}

static void fill_surface(const Nearest *s) {
    const DistanceGrid *g = s->grid;
    for (uint32_t t = 0; t < s->mesh->triangle_count; t++) {
        int a[3], b[3];
        triangle_nodes(s, t, a, b);
        Plane plane = triangle_plane(s, t);
        for (int k = a[2]; k <= b[2]; k++)
            for (int j = a[1]; j <= b[1]; j++) {
                size_t row = ((size_t)k * (size_t)g->n[1] + (size_t)j) * (size_t)g->n[0];
                double p[3];
                int first = a[0], last = b[0];
                node_position(g, 0, j, k, p);
                near_plane(g, &plane, p, &first, &last);
                for (int i = first; i <= last; i++) {
                    node_position(g, i, j, k, p);
                    offer(s, row + (size_t)i, t, p);
                }
            }
    }
}

// --------------------------------------------------------------------------------- in the band

/// Nodes whose triangle is to be offered to their neighbours.
typedef struct Front {
    uint32_t *nodes;
    size_t count, capacity;
} Front;

static bool front_add(Front *f, size_t node) {
    if (!memory_grow((void **)&f->nodes, &f->capacity, sizeof *f->nodes, f->count + 1, f->count))
        return false;
    f->nodes[f->count++] = (uint32_t)node;
    return true;
}

/// Offers the triangle of one node to its 26 neighbours; those that take it join the next front.
/// waiting [nodes] says which nodes are in a front. False when out of memory.
static bool offer_around(const Nearest *s, size_t node, uint8_t *waiting, Front *next) {
    const DistanceGrid *g = s->grid;
    size_t step[3] = {1, (size_t)g->n[0], (size_t)g->n[0] * (size_t)g->n[1]};
    int at[3] = {(int)(node % step[1]), (int)(node / step[1] % (size_t)g->n[1]),
                 (int)(node / step[2])};
    for (int side = 0; side < 27; side++) {
        int to[3] = {at[0] + side % 3 - 1, at[1] + side / 3 % 3 - 1, at[2] + side / 9 - 1};
        if (to[0] < 0 || to[1] < 0 || to[2] < 0 || to[0] >= g->n[0] || to[1] >= g->n[1] ||
            to[2] >= g->n[2])
            continue;
        size_t other = (size_t)to[0] + (size_t)to[1] * step[1] + (size_t)to[2] * step[2];
        // 1.75 cells: more than the way to the farthest neighbour
        if (s->distance[node] - 1.75f * g->spacing >= s->distance[other]) continue;
        // it has that one
        if (s->triangle[other] == s->triangle[node] && !isinf(s->distance[other])) continue;
        double p[3];
        node_position(g, to[0], to[1], to[2], p);
        if (!offer(s, other, s->triangle[node], p) || waiting[other]) continue;
        waiting[other] = 1;
        if (!front_add(next, other)) return false;
    }
    return true;
}

/// Carries triangles from node to node up to the edge of the band.
static bool fill_band(const Nearest *s, size_t nodes, float reach, uint8_t *waiting) {
    Front now = {0}, next = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < nodes; i++)
        if (s->distance[i] <= reach) {
            waiting[i] = 1;
            ok = front_add(&now, i);
        }
    while (ok && now.count > 0) {
        for (size_t i = 0; ok && i < now.count; i++) {
            size_t node = now.nodes[i];
            waiting[node] = 0;
            if (s->distance[node] <= reach) ok = offer_around(s, node, waiting, &next);
        }
        Front swap = now;
        now = next, next = swap;
        next.count = 0;
    }
    free(now.nodes);
    free(next.nodes);
    return ok;
}

// ------------------------------------------------------------------------------- farther away

/// Distance by |grad d| = 1, upwind, from the least neighbour along each axis.
static float eikonal(float a, float b, float c, float h) {
    float swap;
    if (a > b) swap = a, a = b, b = swap;
    if (b > c) swap = b, b = c, c = swap;
    if (a > b) swap = a, a = b, b = swap;
    float d = a + h;
    if (d <= b) return d;
    d = 0.5f * (a + b + sqrtf(2 * h * h - (b - a) * (b - a)));
    if (d <= c) return d;
    float sum = a + b + c, square = a * a + b * b + c * c;
    float root = sum * sum - 3 * (square - h * h);
    return (sum + sqrtf(root > 0 ? root : 0)) / 3;
}

/// One row along x; `around` are the rows beside it in y and z, or `nothing` at the edges.
static void sweep_row(float *d, int n, int sign, const float *const around[4], float h,
                      float reach) {
    for (int ii = 0; ii < n; ii++) {
        int i = sign > 0 ? ii : n - 1 - ii;
        if (d[i] <= reach) continue;
        float x0 = i > 0 ? d[i - 1] : INFINITY, x1 = i < n - 1 ? d[i + 1] : INFINITY;
        float y0 = around[0][i], y1 = around[1][i], z0 = around[2][i], z1 = around[3][i];
        float far = eikonal(x0 < x1 ? x0 : x1, y0 < y1 ? y0 : y1, z0 < z1 ? z0 : z1, h);
        if (far < d[i]) d[i] = far;
    }
}

/// One pass over the grid; bit i of `pass` turns axis i round. nothing [n x] is INFINITY.
static void sweep(DistanceGrid *g, int pass, const float *nothing) {
    size_t row = (size_t)g->n[0], layer = row * (size_t)g->n[1];
    for (int kk = 0; kk < g->n[2]; kk++)
        for (int jj = 0; jj < g->n[1]; jj++) {
            int j = pass & 2 ? g->n[1] - 1 - jj : jj, k = pass & 4 ? g->n[2] - 1 - kk : kk;
            float *d = g->value + (size_t)k * layer + (size_t)j * row;
            const float *const around[4] = {
                j > 0 ? d - row : nothing, j < g->n[1] - 1 ? d + row : nothing,
                k > 0 ? d - layer : nothing, k < g->n[2] - 1 ? d + layer : nothing};
            sweep_row(d, g->n[0], pass & 1 ? -1 : 1, around, g->spacing, band_cells * g->spacing);
        }
}

bool distance_grid_unsigned(DistanceGrid *g, const Trimesh *mesh) {
    size_t nodes = (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2];
    uint32_t *triangle = memory_zero(nodes * sizeof *triangle);
    uint8_t *waiting = memory_zero(nodes);
    float *nothing = memory_new((size_t)g->n[0] * sizeof *nothing);
    float(*box)[6] = triangle_boxes(mesh);
    bool ok = triangle && waiting && nothing && box;
    if (ok) {
        for (int i = 0; i < g->n[0]; i++) nothing[i] = INFINITY;
        for (size_t i = 0; i < nodes; i++) g->value[i] = INFINITY;
        Nearest s = {g, mesh, g->value, triangle, box};
        fill_surface(&s);
        ok = fill_band(&s, nodes, band_cells * g->spacing, waiting);
        for (int pass = 0; pass < (g->n[2] == 1 ? 4 : 8); pass++) sweep(g, pass, nothing);
    }
    free(triangle);
    free(waiting);
    free(nothing);
    free(box);
    return ok;
}
