// Outline of a 2D shape by dual contouring, the flat twin of look/contour.c: a vertex in each cell
// that the outline crosses, where the tangents through its crossings meet.
#include "base/error.h"
#include "base/memory.h"
#include "bodies/body.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Work {
    const Shape *shape;
    double low[2], spacing;
    int nodes[2];
    float *value;   ///< [y][x]
    int32_t *index; ///< [y][x] vertex of the cell that begins at a node, -1: none
    Trimesh *out;
} Work;

static double distance_at(const Work *w, double x, double y) {
    float px = (float)x, py = (float)y, pz = 0, d;
    shape_distance(w->shape, 1, &px, &py, &pz, &d);
    return d;
}

static float value_at(const Work *w, int x, int y) {
    return w->value[y * w->nodes[0] + x];
}

/// Where the distance is 0 on an edge of length `spacing` from (x, y) along an axis, by bisection.
static void crossing(const Work *w, int x, int y, int axis, double p[2]) {
    double a = 0, b = w->spacing;
    bool inside = value_at(w, x, y) < 0;
    double from[2] = {w->low[0] + w->spacing * x, w->low[1] + w->spacing * y};
    for (int k = 0; k < 30; k++) {
        double middle = 0.5 * (a + b);
        p[0] = from[0] + (axis == 0) * middle, p[1] = from[1] + (axis == 1) * middle;
        if ((distance_at(w, p[0], p[1]) < 0) == inside)
            a = middle;
        else
            b = middle;
    }
}

/// The vertex of the cell at (x, y); false when the outline does not cross it.
static bool cell_vertex(const Work *w, int x, int y, float out[3]) {
    static const int edge[4][3] = {{0, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}}; // x, y, axis
    double p[4][2], mean[2] = {0}, m[3] = {0.004, 0, 0.004}, rhs[2] = {0};
    int n = 0;
    for (int e = 0; e < 4; e++) {
        int ex = x + edge[e][0], ey = y + edge[e][1], axis = edge[e][2];
        if ((value_at(w, ex, ey) < 0) == (value_at(w, ex + (axis == 0), ey + (axis == 1)) < 0))
            continue;
        crossing(w, ex, ey, axis, p[n]);
        mean[0] += p[n][0], mean[1] += p[n][1], n++;
    }
    if (n == 0) return false;
    mean[0] /= n, mean[1] /= n;
    double h = 0.02 * w->spacing;
    for (int i = 0; i < n; i++) {
        double g[2] = {distance_at(w, p[i][0] + h, p[i][1]) - distance_at(w, p[i][0] - h, p[i][1]),
                       distance_at(w, p[i][0], p[i][1] + h) - distance_at(w, p[i][0], p[i][1] - h)};
        double length = hypot(g[0], g[1]);
        if (!(length > 0)) continue;
        g[0] /= length, g[1] /= length;
        double away = g[0] * (p[i][0] - mean[0]) + g[1] * (p[i][1] - mean[1]);
        m[0] += g[0] * g[0], m[1] += g[0] * g[1], m[2] += g[1] * g[1];
        rhs[0] += g[0] * away, rhs[1] += g[1] * away;
    }
    double det = m[0] * m[2] - m[1] * m[1];
    double q[2] = {mean[0] + (m[2] * rhs[0] - m[1] * rhs[1]) / det,
                   mean[1] + (m[0] * rhs[1] - m[1] * rhs[0]) / det};
    const int at[2] = {x, y};
    for (int a = 0; a < 2; a++) {
        double from = w->low[a] + w->spacing * at[a];
        out[a] = (float)fmin(fmax(q[a], from), from + w->spacing);
    }
    out[2] = 0;
    return true;
}

static bool add_segment(const Work *w, int32_t a, int32_t b) {
    Trimesh *o = w->out;
    if (a < 0 || b < 0) return true;
    if (!memory_grow((void **)&o->triangles, &o->triangle_capacity, sizeof *o->triangles,
                     o->triangle_count + 1, o->triangle_count))
        return false;
    uint32_t *t = o->triangles[o->triangle_count++];
    t[0] = (uint32_t)a, t[1] = t[2] = (uint32_t)b;
    return true;
}

/// Joins the two cells on both sides of each edge that the outline crosses.
static bool join(const Work *w) {
    for (int y = 1; y + 1 < w->nodes[1]; y++)
        for (int x = 1; x + 1 < w->nodes[0]; x++) {
            bool here = value_at(w, x, y) < 0;
            int me = y * w->nodes[0] + x;
            int32_t cell = w->index[me];
            // along x: the cells below and above; inside is on the left of a segment
            if (here != (value_at(w, x + 1, y) < 0)) {
                int32_t below = w->index[me - w->nodes[0]];
                if (!(here ? add_segment(w, below, cell) : add_segment(w, cell, below)))
                    return false;
            }
            if (here != (value_at(w, x, y + 1) < 0)) {
                int32_t left = w->index[me - 1];
                if (!(here ? add_segment(w, cell, left) : add_segment(w, left, cell))) return false;
            }
        }
    return true;
}

static bool place(Work *w) {
    Trimesh *o = w->out;
    for (int y = 0; y + 1 < w->nodes[1]; y++)
        for (int x = 0; x + 1 < w->nodes[0]; x++) {
            float p[3];
            w->index[y * w->nodes[0] + x] = -1;
            if (!cell_vertex(w, x, y, p)) continue;
            if (!memory_grow((void **)&o->vertices, &o->vertex_capacity, sizeof *o->vertices,
                             o->vertex_count + 1, o->vertex_count))
                return false;
            w->index[y * w->nodes[0] + x] = (int32_t)o->vertex_count;
            memcpy(o->vertices[o->vertex_count++], p, sizeof p);
        }
    return true;
}

BrimResult outline_new(const Shape *shape, const double low[2], const int nodes[2], double spacing,
                       Trimesh *out, BrimError *error) {
    *out = (Trimesh){.oriented = true};
    size_t count = (size_t)nodes[0] * (size_t)nodes[1];
    Work w = {shape, {low[0], low[1]}, spacing, {nodes[0], nodes[1]}, NULL, NULL, out};
    w.value = memory_new(count * sizeof *w.value);
    w.index = memory_new(count * sizeof *w.index);
    bool ok = w.value && w.index;
    for (int y = 0; ok && y < nodes[1]; y++)
        for (int x = 0; x < nodes[0]; x++)
            w.value[y * nodes[0] + x] =
                (float)distance_at(&w, low[0] + spacing * x, low[1] + spacing * y);
    ok = ok && place(&w) && join(&w);
    free(w.value);
    free(w.index);
    if (ok) return BRIM_OK;
    trimesh_free(out);
    return fail(error, BRIM_ERROR_MEMORY, "no memory for a body's outline");
}
