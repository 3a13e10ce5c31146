// Which parts of a body's surface are near one another and look at one another: neighbours at rest
// form clusters, of which bounds say where they are and where they look.
#pragma once
#include "solid/triangle.h"
#include "solid/trimesh.h"
#include <math.h>

enum { FACES = 4 };
static const uint32_t NO_FACE = UINT32_MAX;
/// What bounds are widened by for rounding, radians.
static const float CLUSTER_SLACK = 1e-3f;
typedef float Float4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t Int4 __attribute__((vector_size(16)));

/// Triangles of a cluster; the last ones may be NO_FACE, which look nowhere.
typedef struct Faces {
    float normal[3][FACES]; ///< unit, out of the body
    float middle[3][FACES]; ///< m, of the corners
    float radius[FACES];    ///< m, of a ball around the middle that holds the triangle
    uint32_t triangle[FACES];
} Faces;

typedef struct ClusterBox {
    float low[4], high[4]; ///< m; the fourth is 0
} ClusterBox;

/// Directions within an angle of an axis.
typedef struct ClusterCone {
    float axis[3], angle, cosine, sine;
} ClusterCone;

typedef struct Clusters {
    int count, threads;     ///< a power of two; of scratch
    uint32_t *vertex;       ///< [vertices] by cluster
    uint32_t *first_vertex; ///< [count + 1]
    Faces *faces;           ///< by cluster
    uint32_t *first_faces;  ///< [count + 1]
    /// [2 count] a tree: the halves of box i are 2 i and 2 i + 1, the clusters come last.
    ClusterBox *face_box;
    ClusterBox *vertex_box;                ///< [count]
    ClusterCone *vertex_cone, *face_cone;  ///< [count]
    ClusterBox *vertex_rest, *face_rest;   ///< [count] at rest
    ClusterBox *vertex_way, *face_way;     ///< [count] how far they are from there: see place
    ClusterBox *vertex_drift, *face_drift; ///< [count] and how fast
    int32_t *near;                         ///< [threads][count] scratch for clusters_near
    float *sight;                          ///< [threads][count] and for what they are asked
} Clusters;

/// Of a surface at rest. False when out of memory.
bool clusters_new(const Trimesh *surface, int threads, Clusters *out);
void clusters_free(Clusters *c);
size_t clusters_bytes(const Clusters *c);

/// A surface as it is now, beside a moved and turned copy of itself at rest.
typedef struct ClusterPose {
    const Trimesh *surface;
    const float (*normal)[3];           ///< [vertices]
    const float (*way)[3], (*drift)[3]; ///< [vertices] how far they are from the copy and how fast
    int dim;
} ClusterPose;

/// Brings one cluster's faces and bounds to where the surface is.
void clusters_place(Clusters *c, int cluster, const ClusterPose *pose);
/// And then what holds several.
void clusters_join(Clusters *c);

/// A vertex, or vertices, that look for faces within `reach` of them whose normals are turned from
/// theirs by as much as `turn`.
typedef struct Seeker {
    ClusterBox box;
    float reach;                       ///< m
    float axis[3], turn, cosine, sine; ///< of their looks, `turn` less how far these are apart
} Seeker;

/// Those of a cluster.
Seeker clusters_seeker(const Clusters *c, int cluster, float reach, float turn);
/// Lists in out [count] the clusters that may have what it looks for. Returns how many.
int clusters_near(const Clusters *c, const Seeker *seeker, int32_t *out);

static inline Float4 not_below(Float4 v) {
    return (Float4)((Int4)v & (Int4)(v > (Float4){0}));
}

/// Whether two boxes may be as near as the seeker looks.
static inline bool seeker_within(const Seeker *s, const ClusterBox *box) {
    Float4 above = *(const Float4 *)box->low - *(const Float4 *)s->box.high;
    Float4 below = *(const Float4 *)s->box.low - *(const Float4 *)box->high;
    Float4 gap = not_below(above) + not_below(below); // one of them is not
    gap *= gap;
    return gap[0] + gap[1] + gap[2] <= s->reach * s->reach;
}

/// Whether a direction in the cone may be turned from the seeker's axis by as much as it wants.
static inline bool seeker_turned(const Seeker *s, const ClusterCone *cone) {
    return s->turn <= cone->angle ||
           dot3f(s->axis, cone->axis) <= s->cosine * cone->cosine + s->sine * cone->sine;
}

/// Least distance of two boxes.
static inline float boxes_apart(const ClusterBox *a, const ClusterBox *b) {
    Float4 above = *(const Float4 *)b->low - *(const Float4 *)a->high;
    Float4 below = *(const Float4 *)a->low - *(const Float4 *)b->high;
    Float4 gap = not_below(above) + not_below(below);
    gap *= gap;
    return sqrtf(gap[0] + gap[1] + gap[2]);
}

/// Largest difference of what two boxes hold.
static inline float boxes_differ(const ClusterBox *a, const ClusterBox *b) {
    Float4 one = *(const Float4 *)b->high - *(const Float4 *)a->low;
    Float4 two = *(const Float4 *)a->high - *(const Float4 *)b->low;
    Int4 more = one > two;
    Float4 most = (Float4)(((Int4)one & more) | ((Int4)two & ~more));
    most *= most;
    return sqrtf(most[0] + most[1] + most[2]);
}

/// Whether one of a cluster's faces may be what it looks for.
static inline bool clusters_meet(const Clusters *c, const Seeker *s, int cluster) {
    return seeker_within(s, &c->face_box[c->count + cluster]) &&
           seeker_turned(s, &c->face_cone[cluster]);
}

/// Which of some faces a vertex may look for: bits.
static inline unsigned faces_met(const Faces *f, const Seeker *v) {
    Float4 looks = {0}, along = {0}, far2 = {0}, reach = *(const Float4 *)f->radius + v->reach;
    unsigned met = 0;
    for (int a = 0; a < 3; a++) looks += v->axis[a] * *(const Float4 *)f->normal[a];
    Int4 is = looks <= v->cosine + CLUSTER_SLACK;
    if (!(is[0] | is[1] | is[2] | is[3])) return 0;
    for (int a = 0; a < 3; a++) {
        Float4 d = v->box.low[a] - *(const Float4 *)f->middle[a];
        along += d * *(const Float4 *)f->normal[a], far2 += d * d;
    }
    is &= (far2 <= reach * reach) & (along * along <= v->reach * v->reach);
    for (int i = 0; i < FACES; i++) met |= (unsigned)(is[i] & 1) << i;
    return met;
}
