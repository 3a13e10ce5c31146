// A body touches itself where two parts of its surface that were apart at rest have come together.
// Vertices are paired with the nearest triangle that looks at them; pairs stay for all passes of a
// step, so that each pass sees the same walls.
//
// Two sides of a plate look away from each other and are a plate's thickness deep in one another,
// for who looks at places alone. The rest shape tells them from limbs that have met: limbs saw each
// other across the outside, and where the body was between two places that touch, it no longer is.
// What lay in the middle stays there under any compression, and is far off after a fold.
#include "bodies/fold.h"
#include "base/memory.h"
#include "bodies/body.h"
#include "bodies/contact.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Cosine above which two places look at each other.
static const double LOOKS = 0.3;
/// Cosine between the surface's normal at a foot and the way there: a corner has 0.7.
static const double OPPOSITE = 0.5;
/// How far what lay in the middle between two places is beside them after a fold, over their rest
/// distance: a hairpin bend has a half.
static const double ASIDE = 0.25;
/// Cells apart at rest from which two places count.
static const double APART = 1;

typedef struct Search {
    Body *body;
    double reach, deepest; ///< m, of the distance now, and below 0
    Seeker vertex;         ///< what each looks for
    float slack;           ///< m, of that, for rounding
    double apart, folds;   ///< m, least distance at rest: across the outside, through the body
} Search;

/// How far the surface is from a turned copy of its rest shape, and how fast it moves beside the
/// body's mean velocity, m and m/s.
static void deviation(const Body *b, double *away, double *fastest) {
    size_t n = b->surface.vertex_count;
    double mean[3] = {0}, far2 = 0, fast2 = 0;
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < b->dim; a++) mean[a] += b->velocity[i][a] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d2 = 0, v2 = 0;
        for (int a = 0; a < b->dim; a++) {
            double d = b->surface.vertices[i][a] - b->centre[a], v = b->velocity[i][a] - mean[a];
            for (int c = 0; c < b->dim; c++)
                d -= b->rotation[3 * a + c] * (b->rest[i][c] - b->elastic->rest_centre[c]);
            d2 += d * d, v2 += v * v;
        }
        far2 = fmax(far2, d2), fast2 = fmax(fast2, v2);
    }
    *away = sqrt(far2), *fastest = sqrt(fast2);
}

/// Where the place at rest is now.
static void place_now(const Body *b, const double rest[3], double now[3]) {
    const Elastic *e = b->elastic;
    double row[ELASTIC_COLUMNS_MOST];
    elastic_row(e, rest, row);
    memcpy(now, rest, 3 * sizeof *now);
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < b->dim; a++) now[a] += row[i] * e->d[i * b->dim + a];
}

/// Whether a vertex and a place that is `gap` from it now, and was `way` from it at rest, with the
/// normal `back` there, may touch.
static bool may_touch(const Search *s, uint32_t vertex, const double way[3], const float back[3],
                      const double gap[3]) {
    const Body *b = s->body;
    const float *out = b->rest_normal[vertex];
    double far = sqrt(dot3(way, way)), middle[3], now[3], looks = 0, looked = 0;
    if (far < s->apart) return false;
    for (int a = 0; a < 3; a++) looks += way[a] * out[a] / far, looked -= way[a] * back[a] / far;
    if (looks > LOOKS && looked > LOOKS) return true;
    if (far < s->folds || far < 2 * sqrt(dot3(gap, gap))) return false;
    for (int a = 0; a < 3; a++) middle[a] = b->rest[vertex][a] + 0.5 * way[a];
    place_now(b, middle, now);
    for (int a = 0; a < 3; a++) now[a] -= b->surface.vertices[vertex][a] - 0.5 * gap[a];
    return sqrt(dot3(now, now)) > ASIDE * far;
}

static void rest_way(const Body *b, uint32_t from, const uint32_t to[3], const double w[3],
                     double way[3], float normal[3]) {
    for (int a = 0; a < 3; a++) {
        way[a] = -b->rest[from][a], normal[a] = 0;
        for (int k = 0; k < 3; k++) {
            way[a] += w[k] * b->rest[to[k]][a];
            normal[a] += (float)w[k] * b->rest_normal[to[k]][a];
        }
    }
}

/// Unit, out of the body.
static void face_normal(const Body *b, const uint32_t t[3], double n[3]) {
    const Trimesh *m = &b->surface;
    double e[3], f[3];
    for (int a = 0; a < 3; a++) {
        e[a] = (double)m->vertices[t[1]][a] - m->vertices[t[0]][a];
        f[a] = (double)m->vertices[t[2]][a] - m->vertices[t[0]][a];
    }
    cross3(e, f, n);
    if (b->dim == 2) n[0] = e[1], n[1] = -e[0], n[2] = 0;
    double length = sqrt(dot3(n, n));
    for (int a = 0; a < 3 && length > 0; a++) n[a] /= length;
}

/// A vertex and a triangle; false when they are no fold, or farther apart than `best`, or as far
/// but not the first.
static bool try_triangle(const Search *s, uint32_t vertex, uint32_t triangle, double best,
                         Fold *out, double *distance) {
    const Body *b = s->body;
    const Trimesh *m = &b->surface;
    const uint32_t *t = m->triangles[triangle];
    const float *x = m->vertices[vertex];
    Fold f = {.vertex = vertex, .triangle = triangle};
    double gap[3], round[3] = {0}, face[3], way[3], looks = 0;
    float at_rest[3];
    triangle_weights(m->vertices[t[0]], m->vertices[t[1]], m->vertices[t[2]], x, f.weight);
    for (int a = 0; a < 3; a++) {
        gap[a] = x[a];
        for (int k = 0; k < 3; k++) {
            gap[a] -= f.weight[k] * m->vertices[t[k]][a];
            round[a] += f.weight[k] * b->normal[t[k]][a];
        }
    }
    double size = sqrt(dot3(gap, gap)), along = dot3(gap, round), length = sqrt(dot3(round, round));
    if (!(size < best) && !(size == best && triangle < out->triangle)) return false;
    face_normal(b, t, face);
    for (int a = 0; a < 3; a++) looks += b->normal[vertex][a] * face[a];
    if (looks > -LOOKS) return false;
    // near the surface its normal, farther off the way there: beside an edge they differ
    bool near = size < CONTACT_SKIN * b->dx;
    if (!near && fabs(along) < OPPOSITE * length * size) return false;
    double side = along < 0 ? -1 : 1;
    for (int a = 0; a < 3; a++) f.normal[a] = near ? face[a] : side * gap[a] / size;
    f.start = near ? dot3(gap, face) : side * size;
    if (f.start < -s->deepest) return false;
    rest_way(b, vertex, t, f.weight, way, at_rest);
    if (!may_touch(s, vertex, way, at_rest, gap)) return false;
    *out = f, *distance = size;
    return true;
}

/// Whether a vertex and a place in a triangle were at rest as those that may touch must have been:
/// see may_touch.
static bool apart_at_rest(const Search *s, uint32_t vertex, uint32_t triangle) {
    const Body *b = s->body;
    const uint32_t *t = b->surface.triangles[triangle];
    double far2 = 0, looks = -INFINITY;
    for (int k = 0; k < 3; k++) {
        double way[3], along = 0;
        for (int a = 0; a < 3; a++) {
            way[a] = b->rest[t[k]][a] - b->rest[vertex][a];
            along += way[a] * b->rest_normal[vertex][a];
        }
        double d2 = dot3(way, way);
        far2 = d2 > far2 ? d2 : far2, looks = along > looks ? along : looks;
    }
    if (far2 < s->apart * s->apart) return false;
    return looks > LOOKS * s->apart || far2 >= s->folds * s->folds;
}

/// The nearest place that a vertex may touch, in some clusters.
static bool nearest_fold(const Search *s, Seeker *seeker, uint32_t vertex, const int32_t *near,
                         int count, Fold *out) {
    const Clusters *c = &s->body->clusters;
    double best = s->reach;
    bool found = false;
    *out = (Fold){.triangle = UINT32_MAX};
    for (int n = 0; n < count; n++) {
        if (!clusters_meet(c, seeker, near[n])) continue;
        for (uint32_t i = c->first_faces[near[n]]; i < c->first_faces[near[n] + 1]; i++) {
            unsigned met = faces_met(&c->faces[i], seeker);
            for (int k = 0; met; k++, met >>= 1) {
                if (!(met & 1) || !apart_at_rest(s, vertex, c->faces[i].triangle[k]) ||
                    !try_triangle(s, vertex, c->faces[i].triangle[k], best, out, &best))
                    continue;
                seeker->reach = (float)best + s->slack, found = true;
            }
        }
    }
    return found;
}

/// Those of the vertices of a cluster.
static void find_in(void *context, int cluster, int thread) {
    const Search *s = context;
    Body *b = s->body;
    const Clusters *c = &b->clusters;
    int32_t *near = c->near + (ptrdiff_t)thread * c->count;
    Seeker all = clusters_seeker(c, cluster, s->vertex.reach, s->vertex.turn);
    int count = clusters_near(c, &all, near);
    for (uint32_t i = c->first_vertex[cluster]; i < c->first_vertex[cluster + 1]; i++) {
        uint32_t v = c->vertex[i];
        b->folded[v] = false;
        if (count == 0 || !(b->vertex_area[v] > 0)) continue;
        Seeker one = s->vertex;
        memcpy(one.axis, b->normal[v], sizeof one.axis);
        memcpy(one.box.low, b->surface.vertices[v], 3 * sizeof(float));
        memcpy(one.box.high, one.box.low, sizeof one.box.high);
        b->folded[v] = nearest_fold(s, &one, v, near, count, &b->fold[v]);
    }
}

static void place_cluster(void *context, int cluster, int thread) {
    Body *b = ((const Search *)context)->body;
    (void)thread;
    clusters_place(&b->clusters, cluster, &b->surface, (const float(*)[3])b->normal, b->dim);
}

void folds_find(const BrimSim *s, Body *b) {
    double away, fastest, time = contact_time(b->elastic);
    b->fold_count = 0;
    if (!b->folds) return;
    deviation(b, &away, &fastest);
    // what a pass may still change of the speed is as much again
    double skin = CONTACT_SKIN * s->dx, apart = APART * s->dx;
    if (2 * away + 4 * time * fastest < 0.5 * apart - skin) return;
    double thickness = (double)shape_thickness(b->shape);
    float slack = 1e-3f * s->dx, turn = acosf(-(float)LOOKS);
    Search search = {.body = b,
                     .apart = apart,
                     .reach = skin + s->dx + 4 * time * fastest,
                     .deepest = fmin(s->dx, 0.5 * thickness),
                     .folds = 2 * thickness,
                     .slack = slack,
                     .vertex = {.turn = turn, .cosine = cosf(turn), .sine = sinf(turn)}};
    search.vertex.reach = (float)search.reach + slack;
    team_for(s->team, b->clusters.count, 16, place_cluster, &search);
    clusters_join(&b->clusters);
    team_for(s->team, b->clusters.count, 4, find_in, &search);
    for (uint32_t i = 0; i < b->surface.vertex_count; i++)
        if (b->folded[i]) b->fold[b->fold_count++] = b->fold[i];
}

void fold_row(const Body *b, const Fold *f, float *row) {
    size_t r = (size_t)b->elastic->r;
    memcpy(row, b->row + f->vertex * r, r * sizeof *row);
    for (int k = 0; k < 3; k++) {
        const float *at = b->row + b->surface.triangles[f->triangle][k] * r;
        for (size_t i = 0; i < r; i++) row[i] -= (float)f->weight[k] * at[i];
    }
}
