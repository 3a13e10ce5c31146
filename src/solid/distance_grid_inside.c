// Which nodes of a grid lie inside a mesh: rays along the grid lines count how they cross it.
#include "solid/distance_grid.h"
#include <math.h>
#include <string.h>

/// Which side of the edge a -> b the point lies on: +1 left, -1 right, 0 for an edge without
/// length. A point on the line is moved by (e, e^2) with e -> 0, so that of the triangles around
/// an edge or a corner exactly one is hit. Evaluated from the lower vertex, so that both triangles
/// of an edge get opposite answers in spite of rounding.
static int side_of(const double a[2], const double b[2], bool swap, double px, double py) {
    const double *from = swap ? b : a, *to = swap ? a : b;
    double ex = to[0] - from[0], ey = to[1] - from[1];
    double s = ex * (py - from[1]) - ey * (px - from[0]);
    if (s == 0) s = -ey;
    if (s == 0) s = ex;
    int sign = s > 0 ? 1 : s < 0 ? -1 : 0;
    return swap ? -sign : sign;
}

typedef struct Rays {
    const DistanceGrid *grid;
    int axis, u, v;     ///< rays along `axis` through the nodes of the (u, v) plane
    size_t stride[3];   ///< of nodes
    int32_t *crossings; ///< [nodes] that a ray meets between the node before and this one
    bool oriented;
    int slab_axis, first, last; ///< only nodes in these layers
    float low, high;            ///< of the layers, m, and a node more on either side
    double per_metre;           ///< nodes
} Rays;

typedef struct Cast {
    Rays rays;
    const Trimesh *mesh;
    uint8_t *inside;
    DistanceSlabs slabs;
} Cast;

/// Nodes between two places: [*first, *last]. A hair more, so that rounding leaves none out.
static void node_range(const Rays *r, int axis, double low, double high, int *first, int *last) {
    const DistanceGrid *g = r->grid;
    double a = (low - g->origin[axis]) * r->per_metre - 1e-3;
    double b = (high - g->origin[axis]) * r->per_metre + 1e-3;
    *first = axis == r->slab_axis ? r->first : 0;
    *last = axis == r->slab_axis ? r->last : g->n[axis] - 1;
    if (a > *first) *first = a > *last ? *last + 1 : (int)a + ((double)(int)a < a);
    if (b < *last) *last = b < *first ? *first - 1 : (int)b;
}

static double least_of(double a, double b, double c) {
    double d = a < b ? a : b;
    return d < c ? d : c;
}

static double most_of(double a, double b, double c) {
    double d = a > b ? a : b;
    return d > c ? d : c;
}

static double node_at(const DistanceGrid *g, int axis, int i) {
    return (double)g->origin[axis] + (double)g->spacing * i;
}

static void record(const Rays *r, size_t row, double at, int sign) {
    const DistanceGrid *g = r->grid;
    double node = floor((at - g->origin[r->axis]) / g->spacing) + 1;
    if (node >= g->n[r->axis]) return;
    size_t first = node > 0 ? (size_t)node : 0;
    r->crossings[row + first * r->stride[r->axis]] += r->oriented ? sign : 1;
}

/// Whether a triangle lies beside all layers of a slab.
static bool is_beside(const Rays *r, const Trimesh *m, const uint32_t t[3]) {
    const int axis = r->slab_axis;
    const float a = m->vertices[t[0]][axis], b = m->vertices[t[1]][axis];
    const float c = m->vertices[t[2]][axis];
    return (a < r->low && b < r->low && c < r->low) || (a > r->high && b > r->high && c > r->high);
}

static void cross_triangle(const Rays *r, const Trimesh *m, const uint32_t t[3]) {
    const DistanceGrid *g = r->grid;
    if (is_beside(r, m, t)) return;
    double p[3][2], depth[3];
    for (int k = 0; k < 3; k++) {
        const float *vertex = m->vertices[t[k]];
        p[k][0] = vertex[r->u], p[k][1] = vertex[r->v], depth[k] = vertex[r->axis];
    }
    int u0, u1, v0, v1;
    node_range(r, r->v, least_of(p[0][1], p[1][1], p[2][1]), most_of(p[0][1], p[1][1], p[2][1]),
               &v0, &v1);
    if (v0 > v1) return;
    node_range(r, r->u, least_of(p[0][0], p[1][0], p[2][0]), most_of(p[0][0], p[1][0], p[2][0]),
               &u0, &u1);
    if (u0 > u1) return;
    double area =
        (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]);
    for (int v = v0; v <= v1; v++)
        for (int u = u0; u <= u1; u++) {
            double x = node_at(g, r->u, u), y = node_at(g, r->v, v);
            int s = side_of(p[0], p[1], t[0] > t[1], x, y);
            if (s == 0 || side_of(p[1], p[2], t[1] > t[2], x, y) != s ||
                side_of(p[2], p[0], t[2] > t[0], x, y) != s)
                continue;
            double w1 = (x - p[0][0]) * (p[2][1] - p[0][1]) - (y - p[0][1]) * (p[2][0] - p[0][0]);
            double w2 = (p[1][0] - p[0][0]) * (y - p[0][1]) - (p[1][1] - p[0][1]) * (x - p[0][0]);
            double at =
                area == 0
                    ? depth[0]
                    : depth[0] + (w1 * (depth[1] - depth[0]) + w2 * (depth[2] - depth[0])) / area;
            record(r, (size_t)u * r->stride[r->u] + (size_t)v * r->stride[r->v], at, s);
        }
}

/// In 2D the mesh is segments: a ray along x crosses those that span its y, and the other way
/// round.
static void cross_segment(const Rays *r, const Trimesh *m, const uint32_t t[3]) {
    const DistanceGrid *g = r->grid;
    const float *a = m->vertices[t[0]], *b = m->vertices[t[1]];
    if (a[r->u] == b[r->u]) return;
    const float *low = a[r->u] < b[r->u] ? a : b, *high = low == a ? b : a;
    int u0, u1;
    node_range(r, r->u, low[r->u], high[r->u], &u0, &u1);
    for (int u = u0; u <= u1; u++) {
        double x = node_at(g, r->u, u);
        if (!(x >= low[r->u] && x < high[r->u])) continue;
        double t01 = (x - low[r->u]) / ((double)high[r->u] - low[r->u]);
        double at = low[r->axis] + t01 * ((double)high[r->axis] - low[r->axis]);
        record(r, (size_t)u * r->stride[r->u], at, low == a ? 1 : -1);
    }
}

/// Nodes of the plane through which rays of the slab go: [low, high] along u and v.
static void slab_plane(const Rays *r, int low[2], int high[2]) {
    const int axis[2] = {r->u, r->v};
    for (int k = 0; k < 2; k++) {
        bool cut = axis[k] == r->slab_axis;
        low[k] = cut ? r->first : 0, high[k] = cut ? r->last : r->grid->n[axis[k]] - 1;
    }
}

static void clear(const Rays *r) {
    int low[2], high[2];
    slab_plane(r, low, high);
    for (int v = low[1]; v <= high[1]; v++)
        for (int u = low[0]; u <= high[0]; u++) {
            size_t at = (size_t)u * r->stride[r->u] + (size_t)v * r->stride[r->v];
            for (int i = 0; i < r->grid->n[r->axis]; i++, at += r->stride[r->axis])
                r->crossings[at] = 0;
        }
}

/// Whether a ray along x, which has its nodes side by side, meets nothing.
static bool meets_nothing(const Rays *r, size_t row) {
    int32_t any = 0;
    for (int i = 0; i < r->grid->n[0]; i++) any |= r->crossings[row + (size_t)i];
    return any == 0;
}

/// Adds one vote to each node that the rays find inside.
static void vote(const Rays *r, uint8_t *votes) {
    int low[2], high[2];
    slab_plane(r, low, high);
    for (int v = low[1]; v <= high[1]; v++)
        for (int u = low[0]; u <= high[0]; u++) {
            size_t at = (size_t)u * r->stride[r->u] + (size_t)v * r->stride[r->v];
            int64_t winding = 0;
            if (r->axis == 0 && meets_nothing(r, at)) continue;
            for (int i = 0; i < r->grid->n[r->axis]; i++, at += r->stride[r->axis]) {
                winding += r->crossings[at];
                votes[at] += r->oriented ? winding != 0 : winding & 1;
            }
        }
}

/// One slab of the plane through which rays go: all that rays there meet.
static void cast_slab(void *context, int slab, int thread) {
    Cast *c = context;
    Rays r = c->rays;
    const DistanceGrid *g = r.grid;
    r.first = c->slabs.first[slab], r.last = c->slabs.first[slab + 1] - 1;
    r.low = (float)node_at(g, r.slab_axis, r.first - 1);
    r.high = (float)node_at(g, r.slab_axis, r.last + 1);
    r.per_metre = 1 / (double)g->spacing;
    clear(&r);
    const int32_t(*span)[2] = c->slabs.span;
    for (size_t t = 0; t < c->mesh->triangle_count; t++) {
        if (span && (span[t][0] > r.last || span[t][1] < r.first)) continue;
        g->n[2] == 1 ? cross_segment(&r, c->mesh, c->mesh->triangles[t])
                     : cross_triangle(&r, c->mesh, c->mesh->triangles[t]);
    }
    vote(&r, c->inside);
    (void)thread;
}

/// So many layers, evenly.
static DistanceSlabs even_slabs(int layers, const Team *team) {
    DistanceSlabs s = {.count = distance_slabs_for(team)};
    if (s.count > layers) s.count = layers;
    for (int i = 0; i <= s.count; i++) s.first[i] = (int)((int64_t)layers * i / s.count);
    return s;
}

void distance_grid_inside(const DistanceGrid *g, const Trimesh *mesh, bool sound,
                          const DistanceSlabs *slabs, Team *team, int32_t *crossings,
                          uint8_t *inside) {
    bool flat = g->n[2] == 1;
    size_t nodes = (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2];
    memset(inside, 0, nodes);
    int axes = sound ? 1 : flat ? 2 : 3;
    for (int axis = 0; axis < axes; axis++) {
        Cast c = {.mesh = mesh, .inside = inside};
        c.rays = (Rays){.grid = g,
                        .axis = axis,
                        .u = flat ? 1 - axis : (axis + 1) % 3,
                        .v = flat ? 2 : (axis + 2) % 3,
                        .slab_axis = flat        ? 1 - axis
                                     : axis == 2 ? 1
                                                 : 2,
                        .stride = {1, (size_t)g->n[0], (size_t)g->n[0] * (size_t)g->n[1]},
                        .crossings = crossings,
                        .oriented = mesh->oriented};
        c.slabs = axis == 0 && slabs ? *slabs : even_slabs(g->n[c.rays.slab_axis], team);
        team_for(team, c.slabs.count, 1, cast_slab, &c);
    }
    for (size_t i = 0; i < nodes && axes > 1; i++) inside[i] = inside[i] >= (axes == 3 ? 2 : 1);
}
