#include "bodies/clusters.h"
#include "base/memory.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Vertices of a cluster, at most.
enum { VERTICES = 8 };

void clusters_free(Clusters *c) {
    free(c->vertex), free(c->first_vertex), free(c->faces), free(c->first_faces);
    free(c->vertex_box), free(c->face_box), free(c->vertex_cone), free(c->face_cone), free(c->near);
    free(c->vertex_rest), free(c->face_rest), free(c->vertex_way), free(c->face_way);
    free(c->vertex_drift), free(c->face_drift), free(c->sight);
    *c = (Clusters){0};
}

size_t clusters_bytes(const Clusters *c) {
    size_t count = (size_t)c->count;
    if (count == 0) return 0;
    return c->first_vertex[count] * sizeof *c->vertex + c->first_faces[count] * sizeof *c->faces +
           count * (9 * sizeof *c->face_box + 2 * sizeof *c->face_cone + 8) +
           (size_t)c->threads * count * (sizeof *c->near + sizeof *c->sight);
}

// --------------------------------------------------------------------------------------- at rest

/// Orders vertices so that the first `count` are those lowest along an axis (Hoare's find).
static void split(uint32_t *v, size_t size, size_t count, const float (*x)[3], int axis) {
    ptrdiff_t low = 0, high = (ptrdiff_t)size - 1, at = (ptrdiff_t)count;
    while (low < high) {
        float pivot = x[v[at]][axis];
        ptrdiff_t i = low, k = high;
        while (i <= k) {
            while (x[v[i]][axis] < pivot) i++;
            while (x[v[k]][axis] > pivot) k--;
            if (i > k) break;
            uint32_t t = v[i];
            v[i++] = v[k], v[k--] = t;
        }
        if (k < at) low = i;
        if (at < i) high = k;
    }
}

/// Halves a list of vertices across the longest side of their box, and again, until there are
/// `parts`; first [parts] of each.
static void halve(uint32_t *v, uint32_t from, uint32_t to, int parts, const float (*x)[3],
                  uint32_t *first) {
    if (parts == 1) {
        *first = from;
        return;
    }
    float side[3];
    int axis = 0;
    for (int a = 0; a < 3; a++) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t i = from; i < to; i++)
            low = fminf(low, x[v[i]][a]), high = fmaxf(high, x[v[i]][a]);
        side[a] = high - low;
        if (side[a] > side[axis]) axis = a;
    }
    uint32_t half = (to - from) / 2;
    split(v + from, to - from, half, x, axis);
    halve(v, from, from + half, parts / 2, x, first);
    halve(v, from + half, to, parts / 2, x, first + parts / 2);
}

/// Triangles go with the first of their corners.
static bool deal_triangles(Clusters *c, const Trimesh *m) {
    size_t count = (size_t)c->count;
    uint32_t *home = memory_new(m->vertex_count * sizeof *home);
    uint32_t *of = memory_zero(count * sizeof *of);
    for (uint32_t k = 0; home && k < count; k++)
        for (uint32_t i = c->first_vertex[k]; i < c->first_vertex[k + 1]; i++)
            home[c->vertex[i]] = k;
    for (size_t t = 0; home && of && t < m->triangle_count; t++) of[home[m->triangles[t][0]]]++;
    c->first_faces[0] = 0;
    for (size_t k = 0; of && k < count; k++) {
        c->first_faces[k + 1] = c->first_faces[k] + (of[k] + FACES - 1) / FACES;
        of[k] = 0;
    }
    if (home && of) c->faces = memory_zero(c->first_faces[count] * sizeof *c->faces);
    for (uint32_t t = 0; c->faces && t < m->triangle_count; t++) {
        uint32_t k = home[m->triangles[t][0]], n = of[k]++;
        c->faces[c->first_faces[k] + n / FACES].triangle[n % FACES] = t;
    }
    for (size_t k = 0; c->faces && k < count; k++)
        for (uint32_t n = of[k]; n % FACES; n++) {
            Faces *f = &c->faces[c->first_faces[k] + n / FACES];
            f->triangle[n % FACES] = NO_FACE;
        }
    free(home), free(of);
    return c->faces;
}

static const ClusterBox NOWHERE = {{INFINITY, INFINITY, INFINITY, 0},
                                   {-INFINITY, -INFINITY, -INFINITY, 0}};

static void widen(ClusterBox *box, const float low[3], const float high[3]) {
    for (int a = 0; a < 3; a++) {
        box->low[a] = low[a] < box->low[a] ? low[a] : box->low[a];
        box->high[a] = high[a] > box->high[a] ? high[a] : box->high[a];
    }
}

/// Bounds of what stands at a cluster's vertices, x, and at the corners of its faces.
static void bound(const Clusters *c, int k, const Trimesh *m, const float (*x)[3],
                  ClusterBox *vertices, ClusterBox *faces) {
    ClusterBox v = NOWHERE, f = NOWHERE;
    for (uint32_t i = c->first_vertex[k]; i < c->first_vertex[k + 1]; i++)
        widen(&v, x[c->vertex[i]], x[c->vertex[i]]);
    for (uint32_t n = c->first_faces[k]; n < c->first_faces[k + 1]; n++)
        for (int i = 0; i < FACES && c->faces[n].triangle[i] != NO_FACE; i++) {
            const uint32_t *t = m->triangles[c->faces[n].triangle[i]];
            for (int corner = 0; corner < 3; corner++) widen(&f, x[t[corner]], x[t[corner]]);
        }
    *vertices = v, *faces = f;
}

bool clusters_new(const Trimesh *m, int threads, Clusters *c) {
    size_t n = m->vertex_count, count = 1;
    while (count * VERTICES < n) count *= 2;
    *c = (Clusters){.count = (int)count, .threads = threads};
    c->vertex = memory_new(n * sizeof *c->vertex);
    c->first_vertex = memory_new((count + 1) * sizeof *c->first_vertex);
    c->first_faces = memory_zero((count + 1) * sizeof *c->first_faces);
    c->vertex_box = memory_new(count * sizeof *c->vertex_box);
    c->face_box = memory_new(2 * count * sizeof *c->face_box);
    c->vertex_cone = memory_new(count * sizeof *c->vertex_cone);
    c->face_cone = memory_new(count * sizeof *c->face_cone);
    c->vertex_rest = memory_new(count * sizeof *c->vertex_rest);
    c->face_rest = memory_new(count * sizeof *c->face_rest);
    c->vertex_way = memory_new(count * sizeof *c->vertex_way);
    c->face_way = memory_new(count * sizeof *c->face_way);
    c->near = memory_new((size_t)threads * count * sizeof *c->near);
    c->vertex_drift = memory_new(count * sizeof *c->vertex_drift);
    c->face_drift = memory_new(count * sizeof *c->face_drift);
    c->sight = memory_new((size_t)threads * count * sizeof *c->sight);
    if (!c->sight || !c->vertex_drift || !c->face_drift || !c->vertex_rest || !c->face_rest ||
        !c->vertex_way || !c->face_way || !c->near || !c->vertex || !c->first_vertex ||
        !c->first_faces || !c->vertex_box || !c->face_box || !c->vertex_cone || !c->face_cone)
        return false;
    for (uint32_t i = 0; i < n; i++) c->vertex[i] = i;
    halve(c->vertex, 0, (uint32_t)n, c->count, (const float(*)[3])m->vertices, c->first_vertex);
    c->first_vertex[count] = (uint32_t)n;
    if (!deal_triangles(c, m)) return false;
    for (int k = 0; k < c->count; k++)
        bound(c, k, m, (const float(*)[3])m->vertices, &c->vertex_rest[k], &c->face_rest[k]);
    return true;
}

// ------------------------------------------------------------------------------------------- now

/// Of no length: 0.
static void make_unit(float v[3]) {
    float length = sqrtf(dot3f(v, v));
    for (int a = 0; a < 3; a++) v[a] = length > 0 ? v[a] / length : 0;
}

/// `least`: smallest cosine between the axis and a direction.
static void open_cone(ClusterCone *cone, float least) {
    cone->angle = acosf(least < -1 ? -1 : least > 1 ? 1 : least) + CLUSTER_SLACK;
    cone->cosine = cosf(cone->angle), cone->sine = sinf(cone->angle);
}

static void place_face(Faces *f, int i, const Trimesh *m, int dim, ClusterBox *box) {
    const uint32_t *t = m->triangles[f->triangle[i]];
    const float *p = m->vertices[t[0]], *q = m->vertices[t[1]], *r = m->vertices[t[2]];
    float e[3], g[3], low[3], high[3], middle[3], far2 = 0;
    for (int a = 0; a < 3; a++) {
        e[a] = q[a] - p[a], g[a] = r[a] - p[a];
        low[a] = p[a] < q[a] ? p[a] : q[a], high[a] = p[a] < q[a] ? q[a] : p[a];
        low[a] = r[a] < low[a] ? r[a] : low[a], high[a] = r[a] > high[a] ? r[a] : high[a];
        middle[a] = (p[a] + q[a] + r[a]) / 3;
    }
    for (int k = 0; k < 3; k++) {
        const float *x = m->vertices[t[k]];
        float d[3] = {x[0] - middle[0], x[1] - middle[1], x[2] - middle[2]};
        far2 = fmaxf(far2, dot3f(d, d));
    }
    float n[3] = {e[1] * g[2] - e[2] * g[1], e[2] * g[0] - e[0] * g[2], e[0] * g[1] - e[1] * g[0]};
    if (dim == 2) n[0] = e[1], n[1] = -e[0], n[2] = 0;
    make_unit(n);
    for (int a = 0; a < 3; a++) f->normal[a][i] = n[a], f->middle[a][i] = middle[a];
    f->radius[i] = sqrtf(far2);
    widen(box, low, high);
}

static void place_faces(Clusters *c, int k, const Trimesh *m, int dim) {
    ClusterBox box = NOWHERE;
    ClusterCone cone = {.angle = 0};
    float least = 1;
    for (uint32_t n = c->first_faces[k]; n < c->first_faces[k + 1]; n++)
        for (int i = 0; i < FACES && c->faces[n].triangle[i] != NO_FACE; i++) {
            place_face(&c->faces[n], i, m, dim, &box);
            for (int a = 0; a < 3; a++) cone.axis[a] += c->faces[n].normal[a][i];
        }
    make_unit(cone.axis);
    for (uint32_t n = c->first_faces[k]; n < c->first_faces[k + 1]; n++)
        for (int i = 0; i < FACES && c->faces[n].triangle[i] != NO_FACE; i++) {
            float cosine = 0;
            for (int a = 0; a < 3; a++) cosine += cone.axis[a] * c->faces[n].normal[a][i];
            least = fminf(least, cosine);
        }
    open_cone(&cone, least);
    c->face_box[c->count + k] = box, c->face_cone[k] = cone;
}

static void place_vertices(Clusters *c, int k, const Trimesh *m, const float (*normal)[3]) {
    ClusterBox box = NOWHERE;
    ClusterCone cone = {.angle = 0};
    float least = 1;
    for (uint32_t i = c->first_vertex[k]; i < c->first_vertex[k + 1]; i++) {
        uint32_t v = c->vertex[i];
        widen(&box, m->vertices[v], m->vertices[v]);
        for (int a = 0; a < 3; a++) cone.axis[a] += normal[v][a];
    }
    make_unit(cone.axis);
    for (uint32_t i = c->first_vertex[k]; i < c->first_vertex[k + 1]; i++)
        least = fminf(least, dot3f(cone.axis, normal[c->vertex[i]]));
    open_cone(&cone, least);
    c->vertex_box[k] = box, c->vertex_cone[k] = cone;
}

void clusters_place(Clusters *c, int k, const ClusterPose *pose) {
    bound(c, k, pose->surface, pose->way, &c->vertex_way[k], &c->face_way[k]);
    bound(c, k, pose->surface, pose->drift, &c->vertex_drift[k], &c->face_drift[k]);
    place_faces(c, k, pose->surface, pose->dim);
    place_vertices(c, k, pose->surface, pose->normal);
}

void clusters_join(Clusters *c) {
    for (int i = c->count - 1; i > 0; i--) {
        c->face_box[i] = c->face_box[2 * i];
        widen(&c->face_box[i], c->face_box[2 * i + 1].low, c->face_box[2 * i + 1].high);
    }
}

Seeker clusters_seeker(const Clusters *c, int cluster, float reach, float turn) {
    const ClusterCone *cone = &c->vertex_cone[cluster];
    Seeker s = {.box = c->vertex_box[cluster], .reach = reach, .turn = turn - cone->angle};
    memcpy(s.axis, cone->axis, sizeof s.axis);
    s.cosine = cosf(s.turn), s.sine = sinf(s.turn);
    return s;
}

int clusters_near(const Clusters *c, const Seeker *s, int32_t *out) {
    int count = 0, at = 1;
    do {
        if (seeker_within(s, &c->face_box[at])) {
            if (at < c->count) {
                at *= 2;
                continue;
            }
            if (seeker_turned(s, &c->face_cone[at - c->count])) out[count++] = at - c->count;
        }
        // to the next box beside this one, or beside those that it is the last of
        at++;
        while (!(at & 1)) at >>= 1;
    } while (at > 1);
    return count;
}
