#include "solid/distance_grid.h"
#include "base/error.h"
#include "base/memory.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Between the mesh and the edge of its grid, in units of the resolution.
static const double margin = 2.5;
/// Half the spacing is used up to this many nodes (32 MiB of distances).
static const double cheap_nodes = 1 << 23;
static const double most_nodes = 1 << 28;

void distance_grid_free(DistanceGrid *grid) {
    free(grid->value);
    *grid = (DistanceGrid){0};
}

static size_t node_count(const DistanceGrid *g) {
    return (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2];
}

size_t distance_grid_bytes(const DistanceGrid *grid) {
    return grid->value ? node_count(grid) * sizeof *grid->value : 0;
}

// -------------------------------------------------------------------------------------- size

/// Cells along an axis.
static double cells_at(const DistanceGrid *g, int axis, double resolution, double spacing) {
    double extent = (double)g->high[axis] - g->low[axis];
    return ceil(extent / spacing) + 2 * ceil(margin * resolution / spacing);
}

static double nodes_at(const DistanceGrid *g, int dim, double resolution, double spacing) {
    double nodes = 1;
    for (int i = 0; i < dim; i++) nodes *= cells_at(g, i, resolution, spacing) + 1;
    return nodes;
}

static BrimResult choose_size(DistanceGrid *g, const Trimesh *m, const char *name, int dim,
                              double resolution, BrimError *error) {
    for (int i = 0; i < 3; i++) g->low[i] = INFINITY, g->high[i] = -INFINITY;
    for (size_t t = 0; t < 3 * m->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            float x = m->vertices[m->triangles[t / 3][t % 3]][i];
            g->low[i] = x < g->low[i] ? x : g->low[i];
            g->high[i] = x > g->high[i] ? x : g->high[i];
        }
    for (int i = 0; i < dim; i++)
        if (!(g->high[i] > g->low[i]))
            return fail(error, BRIM_ERROR_INPUT, "%s: the mesh is flat, so it has no inside", name);
    double spacing = 0.5 * resolution;
    if (nodes_at(g, dim, resolution, spacing) > cheap_nodes) spacing = resolution;
    double nodes = nodes_at(g, dim, resolution, spacing);
    if (!(nodes <= most_nodes))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: the mesh is %g x %g x %g units; at a spacing of %g units its distance "
                    "field needs %.3g nodes, the limit is %.3g. Is its scale right?",
                    name, g->high[0] - (double)g->low[0], g->high[1] - (double)g->low[1],
                    g->high[2] - (double)g->low[2], spacing, nodes, most_nodes);
    g->spacing = (float)spacing;
    g->n[2] = 1;
    for (int i = 0; i < dim; i++) {
        int cells = (int)cells_at(g, i, resolution, spacing);
        double middle = 0.5 * ((double)g->low[i] + g->high[i]);
        g->n[i] = cells + 1;
        g->origin[i] = (float)(middle - 0.5 * cells * spacing);
    }
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------- distance

/// For each node the nearest triangle known so far and its squared distance.
typedef struct Nearest {
    const DistanceGrid *grid;
    const Trimesh *mesh;
    float *distance; ///< [nodes], INFINITY where none is known
    uint32_t *triangle;
} Nearest;

static inline double distance_to(const Nearest *s, uint32_t triangle, const double p[3]) {
    const uint32_t *t = s->mesh->triangles[triangle];
    return sqrt(triangle_distance2(p, s->mesh->vertices[t[0]], s->mesh->vertices[t[1]],
                                   s->mesh->vertices[t[2]]));
}

static inline void node_position(const DistanceGrid *g, int i, int j, int k, double p[3]) {
    p[0] = g->origin[0] + (double)g->spacing * i;
    p[1] = g->origin[1] + (double)g->spacing * j;
    p[2] = g->origin[2] + (double)g->spacing * k;
}

/// Nodes of the box around a triangle, one cell wider, so all nodes of the cells that it crosses.
static void triangle_nodes(const Nearest *s, uint32_t triangle, int first[3], int last[3]) {
    const DistanceGrid *g = s->grid;
    const uint32_t *t = s->mesh->triangles[triangle];
    for (int i = 0; i < 3; i++) {
        float a = s->mesh->vertices[t[0]][i], b = s->mesh->vertices[t[1]][i];
        float c = s->mesh->vertices[t[2]][i];
        double low = fmin(a, fmin(b, c)), high = fmax(a, fmax(b, c));
        int from = (int)floor((low - g->origin[i]) / g->spacing) - 1;
        int to = (int)ceil((high - g->origin[i]) / g->spacing) + 1;
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

static void fill_band(const Nearest *s) {
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
                    float d = (float)distance_to(s, t, p);
                    size_t at = row + (size_t)i;
                    if (d < s->distance[at]) s->distance[at] = d, s->triangle[at] = t;
                }
            }
    }
}

/// Takes over a neighbour's triangle where it is nearer.
static inline void offer(const Nearest *s, size_t at, size_t neighbour, const double p[3]) {
    float theirs = s->distance[neighbour];
    if (!(theirs - s->grid->spacing < s->distance[at])) return;
    uint32_t t = s->triangle[neighbour];
    if (isinf(theirs) || (t == s->triangle[at] && !isinf(s->distance[at]))) return;
    float d = (float)distance_to(s, t, p);
    if (d < s->distance[at]) s->distance[at] = d, s->triangle[at] = t;
}

/// One pass over the grid that carries triangles in the direction of `sign` (1 or -1 an axis).
static void sweep(const Nearest *s, const int sign[3]) {
    const DistanceGrid *g = s->grid;
    ptrdiff_t step[3] = {1, g->n[0], (ptrdiff_t)g->n[0] * g->n[1]};
    for (int kk = 0; kk < g->n[2]; kk++) {
        int k = sign[2] > 0 ? kk : g->n[2] - 1 - kk;
        for (int jj = 0; jj < g->n[1]; jj++) {
            int j = sign[1] > 0 ? jj : g->n[1] - 1 - jj;
            for (int ii = 0; ii < g->n[0]; ii++) {
                int i = sign[0] > 0 ? ii : g->n[0] - 1 - ii;
                ptrdiff_t at = k * step[2] + j * step[1] + i;
                double p[3];
                node_position(g, i, j, k, p);
                if (ii > 0) offer(s, (size_t)at, (size_t)(at - sign[0] * step[0]), p);
                if (jj > 0) offer(s, (size_t)at, (size_t)(at - sign[1] * step[1]), p);
                if (kk > 0) offer(s, (size_t)at, (size_t)(at - sign[2] * step[2]), p);
            }
        }
    }
}

static bool compute(DistanceGrid *g, const Trimesh *m) {
    size_t nodes = node_count(g);
    g->value = memory_new(nodes * sizeof *g->value);
    uint32_t *triangle = memory_zero(nodes * sizeof *triangle);
    uint8_t *inside = memory_new(nodes);
    bool ok = g->value && triangle && inside;
    if (ok) {
        for (size_t i = 0; i < nodes; i++) g->value[i] = INFINITY;
        Nearest s = {g, m, g->value, triangle};
        fill_band(&s);
        for (int pass = 0; pass < (g->n[2] == 1 ? 4 : 8); pass++)
            sweep(&s, (int[3]){pass & 1 ? -1 : 1, pass & 2 ? -1 : 1, pass & 4 ? -1 : 1});
        ok = distance_grid_inside(g, m, inside);
    }
    for (size_t i = 0; ok && i < nodes; i++)
        if (inside[i]) g->value[i] = -g->value[i];
    free(triangle);
    free(inside);
    return ok;
}

BrimResult distance_grid_new(const Trimesh *mesh, const char *name, int dim, double resolution,
                             DistanceGrid *grid, BrimError *error) {
    Trimesh slice = {0};
    BrimResult result = BRIM_OK;
    *grid = (DistanceGrid){0};
    if (dim == 2) {
        result = trimesh_slice(mesh, name, &slice, error);
        mesh = &slice;
    }
    if (result == BRIM_OK) result = choose_size(grid, mesh, name, dim, resolution, error);
    if (result == BRIM_OK && !compute(grid, mesh)) {
        double megabytes = 9e-6 * (double)node_count(grid);
        result = fail(error, BRIM_ERROR_MEMORY,
                      "%s: no memory for the mesh's distance field (%.0f MB)", name, megabytes);
    }
    if (result != BRIM_OK) distance_grid_free(grid);
    trimesh_free(&slice);
    return result;
}

// ------------------------------------------------------------------------------------- lookup

static inline float clamp(float x, float low, float high) {
    return x > low ? (x < high ? x : high) : low;
}

static inline float beyond(float x, float low, float high) {
    return x < low ? low - x : x > high ? x - high : 0;
}

/// Distance to the box of the grid, and to the tighter one of the mesh, for points outside.
static float outside_bound(const DistanceGrid *g, const float p[3], float inner) {
    float grid2 = 0, mesh2 = 0;
    for (int i = 0; i < 3; i++) {
        float edge = g->origin[i] + g->spacing * (float)(g->n[i] - 1);
        float a = g->n[i] > 1 ? beyond(p[i], g->origin[i], edge) : 0;
        float b = g->n[i] > 1 ? beyond(p[i], g->low[i], g->high[i]) : 0;
        grid2 += a * a, mesh2 += b * b;
    }
    // the grid's box is convex: the way to the surface beyond it is at least the hypotenuse
    float bound2 = grid2 + inner * inner;
    return sqrtf(bound2 > mesh2 ? bound2 : mesh2);
}

static inline float mix(float a, float b, float t) {
    return a + t * (b - a);
}

static float sample_one(const DistanceGrid *g, const float p[3]) {
    size_t at = 0, step[3] = {1, (size_t)g->n[0], (size_t)g->n[0] * (size_t)g->n[1]};
    float f[3];
    bool outside = false;
    for (int i = 0; i < 3; i++) {
        float x = (p[i] - g->origin[i]) / g->spacing, last = (float)(g->n[i] - 1);
        outside |= g->n[i] > 1 && !(x >= 0 && x <= last);
        x = clamp(x, 0, last);
        int cell = (int)x;
        cell = cell > g->n[i] - 2 ? g->n[i] - 2 : cell;
        cell = cell < 0 ? 0 : cell;
        f[i] = g->n[i] > 1 ? x - (float)cell : 0;
        at += (size_t)cell * step[i];
        step[i] = g->n[i] > 1 ? step[i] : 0;
    }
    const float *v = g->value + at;
    size_t x = step[0], y = step[1], z = step[2];
    float near = mix(mix(v[0], v[x], f[0]), mix(v[y], v[y + x], f[0]), f[1]);
    float far = mix(mix(v[z], v[z + x], f[0]), mix(v[z + y], v[z + y + x], f[0]), f[1]);
    float d = mix(near, far, f[2]);
    return outside ? outside_bound(g, p, d) : d;
}

void distance_grid_sample(const DistanceGrid *g, int n, const float *x, const float *y,
                          const float *z, float *out) {
    for (int i = 0; i < n; i++) out[i] = sample_one(g, (float[3]){x[i], y[i], z[i]});
}
