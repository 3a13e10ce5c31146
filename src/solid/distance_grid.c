#include "solid/distance_grid.h"
#include "base/error.h"
#include "base/memory.h"
#include "solid/distance_near.h"
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

// ----------------------------------------------------------------------------------- building

static bool compute(DistanceGrid *g, const Trimesh *m) {
    size_t nodes = node_count(g);
    g->value = memory_new(nodes * sizeof *g->value);
    uint8_t *inside = memory_new(nodes);
    int32_t *crossings = NULL;
    bool ok = g->value && inside && distance_grid_unsigned(g, m) &&
              (crossings = memory_new(nodes * sizeof *crossings));
    if (ok) distance_grid_inside(g, m, false, NULL, NULL, crossings, inside);
    for (size_t i = 0; ok && i < nodes; i++)
        if (inside[i]) g->value[i] = -g->value[i];
    free(inside);
    free(crossings);
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

/// The same for a piece of the points, all at once.
static void sample_piece(const DistanceGrid *g, int n, const float *x, const float *y,
                         const float *z, float *out) {
    const DistanceKernels *kernels = distance_kernels_for(isa_choose(BRIM_ISA_AUTO));
    if (n == DISTANCE_POINTS) {
        kernels->sample(g, x, y, z, out);
        return;
    }
    float p[3][DISTANCE_POINTS] = {{0}}, d[DISTANCE_POINTS];
    size_t bytes = (size_t)n * sizeof(float);
    memcpy(p[0], x, bytes), memcpy(p[1], y, bytes), memcpy(p[2], z, bytes);
    kernels->sample(g, p[0], p[1], p[2], d);
    memcpy(out, d, bytes);
}

void distance_grid_sample(const DistanceGrid *g, int n, const float *x, const float *y,
                          const float *z, float *out) {
    int i = 0;
    for (; g->n[0] > 1 && n - i > 2; i += DISTANCE_POINTS) {
        int count = n - i < DISTANCE_POINTS ? n - i : DISTANCE_POINTS;
        sample_piece(g, count, x + i, y + i, z + i, out + i);
    }
    for (; i < n; i++) out[i] = sample_one(g, (float[3]){x[i], y[i], z[i]});
}
