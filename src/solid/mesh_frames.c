#include "solid/mesh_frames.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sequence.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Nodes around the mesh to which its distance is known outside, and how deep inside.
enum { MARGIN = 7, DEEP = 24 };
/// Up to so many nodes they stand at half the resolution.
static const double CHEAP_NODES = 1 << 20, MOST_NODES = 1 << 27;

// ------------------------------------------------------------------------------------- reading

static const float *vertex_of(const MeshFrames *f, int frame, size_t vertex) {
    return f->frame[(size_t)frame * f->mesh.vertex_count + vertex];
}

/// Whether a frame's triangles are those of the first.
static BrimResult same_topology(const Trimesh *first, const Trimesh *next, const SequenceFile *a,
                                const SequenceFile *b, BrimError *error) {
    if (first->vertex_count != next->vertex_count || first->triangle_count != next->triangle_count)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: %zu vertices and %zu triangles, but %s has %zu and %zu: all frames must "
                    "have one topology",
                    b->path, next->vertex_count, next->triangle_count, a->path, first->vertex_count,
                    first->triangle_count);
    for (size_t t = 0; t < first->triangle_count; t++)
        if (memcmp(first->triangles[t], next->triangles[t], sizeof *first->triangles) != 0)
            return fail(error, BRIM_ERROR_INPUT,
                        "%s: triangle %zu joins other vertices than in %s: all frames must have "
                        "one topology",
                        b->path, t, a->path);
    return BRIM_OK;
}

/// Reads frames 1 and on into `frame`; `same` narrows to vertices that are one in all of them.
static BrimResult read_rest(MeshFrames *f, const Sequence *files, uint32_t *same,
                            BrimError *error) {
    BrimResult r = BRIM_OK;
    size_t bytes = f->mesh.vertex_count * sizeof *f->frame;
    for (int i = 1; i < files->count && r == BRIM_OK; i++) {
        Trimesh next = {0};
        r = trimesh_load_raw(files->file[i].path, &next, error);
        if (r == BRIM_OK)
            r = same_topology(&f->mesh, &next, &files->file[0], &files->file[i], error);
        if (r == BRIM_OK) {
            memcpy(f->frame + (size_t)i * f->mesh.vertex_count, next.vertices, bytes);
            if (!trimesh_same(&next, same)) r = trimesh_out_of_memory(files->file[i].path, error);
        }
        trimesh_free(&next);
    }
    return r;
}

static BrimResult read_frames(MeshFrames *f, const Sequence *files, BrimError *error) {
    const char *name = files->file[0].path;
    BrimResult r = trimesh_load_raw(name, &f->mesh, error);
    if (r != BRIM_OK) return r;
    size_t n = f->mesh.vertex_count;
    if (n >> 31 || (n + 1) * (size_t)files->count >> 36)
        return fail(error, BRIM_ERROR_INPUT, "%s: %d frames of %zu vertices are too many", name,
                    files->count, n);
    f->count = files->count;
    f->frame = memory_new((n + 1) * (size_t)f->count * sizeof *f->frame);
    f->speed = memory_zero((size_t)f->count * sizeof *f->speed);
    f->velocity = memory_zero((n + 1) * sizeof *f->velocity);
    uint32_t *same = memory_zero((n + 1) * sizeof *same);
    if (!f->frame || !f->speed || !f->velocity || !same || !trimesh_same(&f->mesh, same)) {
        free(same);
        return trimesh_out_of_memory(name, error);
    }
    memcpy(f->frame, f->mesh.vertices, n * sizeof *f->frame);
    r = read_rest(f, files, same, error);
    if (r == BRIM_OK) r = trimesh_close_as(&f->mesh, same, name, error);
    free(same);
    return r;
}

// -------------------------------------------------------------------------------------- motion

/// Where a time lies: between `frame` and `next`, whose neighbours are `before` and `after`, at the
/// share `t` of the way. Resting: all the same.
typedef struct Between {
    int before, frame, next, after;
    double t;
    bool rests;
} Between;

static Between between(const MeshFrames *f, double time) {
    double u = (time - f->first) * f->rate, last = f->count - 1;
    int n = f->count, i;
    if (u < 0) return (Between){0, 0, 0, 0, 0, true};
    if (!f->repeat && u >= last) return (Between){n - 1, n - 1, n - 1, n - 1, 0, true};
    if (f->repeat) u = fmod(u, n);
    i = (int)fmin(floor(u), n - 1);
    if (f->repeat) return (Between){i ? i - 1 : n - 1, i, (i + 1) % n, (i + 2) % n, u - i, false};
    return (Between){i ? i - 1 : -1, i, i + 1, i + 2 < n ? i + 2 : -1, u - i, false};
}

/// Cubic of a vertex's coordinate from a to b, of slopes m and n a frame; without neighbours the
/// slopes are those of the straight way.
typedef struct Cubic {
    double a, b, m, n;
} Cubic;

static Cubic cubic(const MeshFrames *f, const Between *w, size_t vertex, int axis) {
    Cubic c = {vertex_of(f, w->frame, vertex)[axis], vertex_of(f, w->next, vertex)[axis], 0, 0};
    c.m = w->before >= 0 ? 0.5 * (c.b - vertex_of(f, w->before, vertex)[axis]) : c.b - c.a;
    c.n = w->after >= 0 ? 0.5 * (vertex_of(f, w->after, vertex)[axis] - c.a) : c.b - c.a;
    return c;
}

static double place_at(const MeshFrames *f, const Between *w, size_t vertex, int axis) {
    if (w->frame == w->next) return vertex_of(f, w->frame, vertex)[axis];
    Cubic c = cubic(f, w, vertex, axis);
    double t = w->t, d = c.b - c.a;
    return c.a + t * (c.m + t * (3 * d - 2 * c.m - c.n + t * (c.m + c.n - 2 * d)));
}

static double slope_at(const MeshFrames *f, const Between *w, size_t vertex, int axis) {
    if (w->rests) return 0;
    Cubic c = cubic(f, w, vertex, axis);
    double t = w->t, d = c.b - c.a;
    return f->rate * (c.m + t * (2 * (3 * d - 2 * c.m - c.n) + 3 * t * (c.m + c.n - 2 * d)));
}

/// The derivative of a cubic is a Bezier curve of m, 3 d - m - n and n: it stays among them.
static void find_speeds(MeshFrames *f) {
    for (int i = 0; i < f->count; i++) {
        Between w = between(f, f->first + (i + 0.5) / f->rate);
        double most = 0;
        for (size_t v = 0; !w.rests && v < f->mesh.vertex_count; v++) {
            double square[3] = {0};
            for (int a = 0; a < 3; a++) {
                Cubic c = cubic(f, &w, v, a);
                double middle = 3 * (c.b - c.a) - c.m - c.n;
                square[0] += c.m * c.m, square[1] += middle * middle, square[2] += c.n * c.n;
            }
            most = fmax(most, fmax(square[0], fmax(square[1], square[2])));
        }
        f->speed[i] = f->rate * sqrt(most);
    }
}

double mesh_frames_way(const MeshFrames *f, double from, double to) {
    double way = 0, first = f->first;
    if (!f->repeat) to = fmin(to, first + (f->count - 1) / f->rate);
    from = fmax(from, first);
    double i = floor((from - first) * f->rate), last = (to - first) * f->rate;
    if (last - i > 2.0 * f->count) { // more than a whole round: by the fastest frame
        double most = 0;
        for (int k = 0; k < f->count; k++) most = fmax(most, f->speed[k]);
        return most * (to - from);
    }
    for (; i < last; i++) {
        double begin = fmax(from, first + i / f->rate), end = fmin(to, first + (i + 1) / f->rate);
        if (end > begin) way += (end - begin) * f->speed[(int)fmod(i, f->count)];
    }
    return way;
}

/// => vertices, velocity. Whether the vertices are other ones than before.
static bool move(MeshFrames *f, double time, double dt) {
    Between now = between(f, time), old = between(f, time - dt);
    bool other = false;
    double fastest = 0;
    for (size_t v = 0; v < f->mesh.vertex_count; v++) {
        double square = 0;
        for (int a = 0; a < 3; a++) {
            double x = place_at(f, &now, v, a);
            double w = dt > 0 ? (x - place_at(f, &old, v, a)) / dt : slope_at(f, &now, v, a);
            other |= f->mesh.vertices[v][a] != (float)x;
            f->mesh.vertices[v][a] = (float)x, f->velocity[v][a] = (float)w;
            square += w * w;
        }
        fastest = fmax(fastest, square);
    }
    f->fastest = sqrt(fastest);
    return other;
}

// ------------------------------------------------------------------------------------ distance

static double nodes_at(const DistanceGrid *g, int dim, double spacing) {
    double nodes = 1;
    for (int a = 0; a < dim; a++)
        nodes *= ceil(((double)g->high[a] - g->low[a]) / spacing) + 2 * MARGIN + 2;
    return nodes;
}

/// Nodes at multiples of their spacing around the mesh. False when they are too many.
static bool fit_grid(MeshFrames *f, const Trimesh *mesh, double resolution, DistanceGrid *g) {
    for (int a = 0; a < 3; a++) g->low[a] = INFINITY, g->high[a] = -INFINITY;
    for (size_t t = 0; t < 3 * mesh->triangle_count; t++)
        for (int a = 0; a < 3; a++) {
            float x = mesh->vertices[mesh->triangles[t / 3][t % 3]][a];
            g->low[a] = fminf(g->low[a], x), g->high[a] = fmaxf(g->high[a], x);
        }
    double spacing = 0.5 * resolution;
    if (nodes_at(g, f->dim, spacing) > CHEAP_NODES) spacing = resolution;
    if (!(nodes_at(g, f->dim, spacing) <= MOST_NODES)) return false;
    distance_grid_fit(g, f->dim, spacing, MARGIN);
    return true;
}

static bool find_distance(MeshFrames *f, const Trimesh *mesh, double resolution, DistanceGrid *g) {
    return fit_grid(f, mesh, resolution, g) &&
           distance_grid_near(g, mesh, DEEP, false, f->team, &f->distance);
}

/// A mesh that has left the plane of a 2D scene: one node, far from everything.
static bool be_nowhere(MeshFrames *f, DistanceGrid *g) {
    static const float far = 1e6f;
    DistanceWork *w = &f->distance;
    if (!memory_fit((void **)&g->value, &w->grid_room, sizeof *g->value, 1) ||
        !memory_fit((void **)&w->nearest, &w->room[0], sizeof *w->nearest, 1))
        return false;
    g->value[0] = far, w->nearest[0] = 0, f->from[0] = 0;
    for (int a = 0; a < 3; a++) g->n[a] = 1, g->origin[a] = g->low[a] = g->high[a] = far;
    return true;
}

bool mesh_frames_place(MeshFrames *f, double time, double dt, double resolution,
                       DistanceGrid *grid) {
    bool other = move(f, time, dt);
    if (!other && f->placed) return true;
    f->placed = false;
    const Trimesh *mesh = &f->mesh;
    if (f->dim == 2) {
        f->slice.vertex_count = f->slice.triangle_count = 0;
        if (!memory_fit((void **)&f->from, &f->from_room, sizeof *f->from, mesh->triangle_count) ||
            !trimesh_cut(mesh, &f->slice, f->from))
            return false;
        mesh = &f->slice;
    }
    f->placed =
        mesh->triangle_count ? find_distance(f, mesh, resolution, grid) : be_nowhere(f, grid);
    return f->placed;
}

static size_t nearest_node(const DistanceGrid *g, const float p[3]) {
    size_t at = 0, stride = 1;
    for (int a = 0; a < 3; a++) {
        double i = floor((p[a] - (double)g->origin[a]) / g->spacing + 0.5);
        size_t k = !(i > 0) ? 0 : i > g->n[a] - 1 ? (size_t)g->n[a] - 1 : (size_t)i;
        at += k * stride, stride *= (size_t)g->n[a];
    }
    return at;
}

void mesh_frames_velocity(const MeshFrames *f, const DistanceGrid *grid, const float point[3],
                          double velocity[3]) {
    const Trimesh *m = &f->mesh;
    uint32_t t = f->distance.nearest[nearest_node(grid, point)];
    if (f->dim == 2) t = f->from[t];
    const uint32_t *corner = m->triangles[t];
    const float *a = m->vertices[corner[0]], *b = m->vertices[corner[1]];
    const float *c = m->vertices[corner[2]];
    double w[3];
    triangle_weights(a, b, c, (float[3]){point[0], point[1], f->dim == 2 ? 0 : point[2]}, w);
    for (int k = 0; k < 3; k++) {
        velocity[k] = 0;
        for (int i = 0; i < 3; i++) velocity[k] += w[i] * f->velocity[corner[i]][k];
    }
    if (f->dim == 3) return;
    // what of the surface moves through the plane moves the outline along its normal
    double e0[3], e1[3], n[3];
    for (int k = 0; k < 3; k++) e0[k] = (double)b[k] - a[k], e1[k] = (double)c[k] - a[k];
    cross3(e0, e1, n);
    double flat = n[0] * n[0] + n[1] * n[1];
    for (int k = 0; k < 2 && flat > 0; k++) velocity[k] += n[k] * n[2] * velocity[2] / flat;
    velocity[2] = 0;
}

// --------------------------------------------------------------------------------- life and size

BrimResult mesh_frames_new(const BrimShapeDef *def, int dim, MeshFrames **frames,
                           BrimError *error) {
    *frames = NULL;
    if (!(def->frame_rate > 0 && def->frame_rate <= 1e6))
        return fail(error, BRIM_ERROR_INPUT,
                    "mesh: frame_rate = %g must be above 0 and at most 1e6 frames a second",
                    def->frame_rate);
    if (!(fabs(def->frame_start) <= 1e9))
        return fail(error, BRIM_ERROR_INPUT, "mesh: frame_start = %g s is not finite or too large",
                    def->frame_start);
    Sequence files;
    BrimResult r = sequence_find(def->frames, &files, error);
    if (r != BRIM_OK) return r;
    MeshFrames *f = memory_zero(sizeof *f);
    r = f ? BRIM_OK : trimesh_out_of_memory(def->frames, error);
    if (f) {
        f->dim = dim, f->rate = def->frame_rate, f->first = def->frame_start;
        f->repeat = def->frame_repeat;
        r = read_frames(f, &files, error);
    }
    if (r == BRIM_OK) find_speeds(f);
    sequence_free(&files);
    *frames = f;
    if (r != BRIM_OK) mesh_frames_free(frames);
    return r;
}

void mesh_frames_free(MeshFrames **frames) {
    MeshFrames *f = *frames;
    if (!f) return;
    trimesh_free(&f->mesh);
    trimesh_free(&f->slice);
    free(f->frame), free(f->speed), free(f->velocity);
    free(f->from);
    distance_work_free(&f->distance);
    free(f);
    *frames = NULL;
}

size_t mesh_frames_bytes(const MeshFrames *f) {
    return sizeof *f + f->mesh.vertex_count * ((size_t)f->count + 2) * sizeof *f->frame +
           f->mesh.triangle_count * sizeof *f->mesh.triangles + distance_work_bytes(&f->distance);
}
