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
/// Cells up to which it is known what a vertex sees at rest.
static const double SIGHT = 2.5;

typedef struct Search {
    Body *body;
    double reach, deepest; ///< m, of the distance now, and below 0
    Seeker vertex;         ///< what each looks for
    float slack;           ///< m, of that, for rounding
    float meet, twice;     ///< m, from which on places do not touch; s, twice the step
    double apart, folds;   ///< m, least distance at rest: across the outside, through the body
} Search;

typedef struct Deviation {
    Body *body;
    double velocity[3], spin[3]; ///< of the body as a whole
    TeamLargest way2, speed2;    ///< of all vertices
} Deviation;

static void deviate(void *context, int index, int thread) {
    Deviation *m = context;
    Body *b = m->body;
    size_t from = (size_t)index * BODY_PIECE, end = from + BODY_PIECE;
    double way2 = 0, speed2 = 0;
    if (end > b->surface.vertex_count) end = b->surface.vertex_count;
    for (size_t i = from; i < end; i++) {
        double x[3] = {0}, turn[3], way[3] = {0}, speed[3] = {0};
        for (int a = 0; a < b->dim; a++) x[a] = b->surface.vertices[i][a] - b->centre[a];
        cross3(m->spin, x, turn);
        for (int a = 0; a < b->dim; a++) {
            way[a] = x[a];
            for (int c = 0; c < b->dim; c++)
                way[a] -= b->rotation[3 * a + c] * (b->rest[i][c] - b->elastic->rest_centre[c]);
            speed[a] = b->velocity[i][a] - m->velocity[a] - turn[a];
        }
        for (int a = 0; a < 3; a++) b->way[i][a] = (float)way[a], b->drift[i][a] = (float)speed[a];
        way2 = fmax(way2, dot3(way, way)), speed2 = fmax(speed2, dot3(speed, speed));
    }
    // up, for a float may be less
    team_raise(&m->way2, (float)(way2 * (1 + 1e-6)));
    team_raise(&m->speed2, (float)(speed2 * (1 + 1e-6)));
}

/// How far the surface is from a turned copy of its rest shape, and how fast it moves beside a
/// rigid motion, which brings no two places together, m and m/s. => (way, drift)
static void deviation(Body *b, double *away, double *fastest) {
    Deviation m = {.body = b};
    double momentum[3], centre[3];
    elastic_centre(b->elastic, centre, m.velocity);
    elastic_spin(b->elastic, momentum, m.spin);
    team_for(b->elastic->params.team, body_pieces(b), 4, deviate, &m);
    *away = sqrt((double)team_largest(&m.way2)), *fastest = sqrt((double)team_largest(&m.speed2));
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

// ------------------------------------------------------------------------------------ at rest

/// How far from a vertex at rest the nearest place of a triangle is that may see it, and it that,
/// across the outside, as in may_touch; INFINITY: none.
static double seen_at_rest(const Body *b, uint32_t vertex, uint32_t triangle) {
    const uint32_t *t = b->surface.triangles[triangle];
    const float(*at)[3] = (const float(*)[3])b->surface.vertices;
    const double *x = b->rest[vertex], apart = APART * b->dx;
    double way[3][3], far2 = 0, looks = 0, looked = 0;
    for (int k = 0; k < 3; k++) {
        double along = 0;
        for (int a = 0; a < 3; a++) {
            way[k][a] = b->rest[t[k]][a] - x[a];
            along += way[k][a] * b->rest_normal[vertex][a];
        }
        far2 = fmax(far2, dot3(way[k], way[k])), looks = fmax(looks, along);
    }
    if (far2 < apart * apart || looks < LOOKS * apart) return INFINITY;
    for (int k = 0; k < 3; k++)
        for (int corner = 0; corner < 3; corner++) {
            double back = 0;
            for (int a = 0; a < 3; a++) back -= way[k][a] * b->rest_normal[t[corner]][a];
            looked = fmax(looked, back);
        }
    const double most = fmin(looks, looked) / LOOKS; // places that see one another are nearer
    if (most < apart) return INFINITY;
    double far = fmax(apart, sqrt(triangle_distance2(x, at[t[0]], at[t[1]], at[t[2]])));
    return far <= most ? far : INFINITY;
}

/// What vertices of a cluster see at rest.
static void see_from(void *context, int cluster, int thread) {
    Body *b = context;
    const Clusters *c = &b->clusters;
    int32_t *near = c->near + (ptrdiff_t)thread * c->count;
    const float most = (float)SIGHT * b->dx;
    Seeker all = clusters_seeker(c, cluster, most, 0);
    int count = clusters_near(c, &all, near);
    for (uint32_t i = c->first_vertex[cluster]; i < c->first_vertex[cluster + 1]; i++) {
        uint32_t v = c->vertex[i];
        double sight = most;
        for (int n = 0; n < count; n++)
            for (uint32_t k = c->first_faces[near[n]]; k < c->first_faces[near[n] + 1]; k++)
                for (int f = 0; f < FACES && c->faces[k].triangle[f] != NO_FACE; f++)
                    sight = fmin(sight, seen_at_rest(b, v, c->faces[k].triangle[f]));
        b->sight[v] = (float)sight;
    }
}

static void place_cluster(void *context, int cluster, int thread) {
    Body *b = context;
    ClusterPose pose = {&b->surface, (const float(*)[3])b->normal, (const float(*)[3])b->way,
                        (const float(*)[3])b->drift, b->dim};
    clusters_place(&b->clusters, cluster, &pose);
}

bool folds_new(Body *b) {
    size_t n = b->surface.vertex_count;
    Team *team = b->elastic->params.team;
    if (!b->folds) return true;
    b->rest_normal = memory_new(n * sizeof *b->rest_normal);
    b->fold = memory_new(n * sizeof *b->fold);
    b->sight = memory_new(n * sizeof *b->sight);
    b->way = memory_zero(n * sizeof *b->way), b->drift = memory_zero(n * sizeof *b->drift);
    b->folded = memory_new(n * sizeof *b->folded);
    if (!b->rest_normal || !b->fold || !b->sight || !b->way || !b->drift || !b->folded)
        return false;
    memcpy(b->rest_normal, b->normal, n * sizeof *b->rest_normal);
    if (!clusters_new(&b->surface, team_threads(team), &b->clusters)) return false;
    team_for(team, b->clusters.count, 16, place_cluster, b);
    clusters_join(&b->clusters);
    team_for(team, b->clusters.count, 4, see_from, b);
    return true;
}

// ---------------------------------------------------------------------------------------- now

/// The nearest place that a vertex may touch, in some clusters: see keep_near.
static bool nearest_fold(const Search *s, Seeker *seeker, uint32_t vertex, const int32_t *near,
                         const float *sight, int count, Fold *out) {
    const Clusters *c = &s->body->clusters;
    double best = s->reach;
    bool found = false;
    *out = (Fold){.triangle = UINT32_MAX};
    for (int n = 0; n < count; n++) {
        if (s->body->sight[vertex] > sight[n] || !clusters_meet(c, seeker, near[n])) continue;
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

/// How far apart at rest a vertex of a cluster and a face of another were at most, if they may come
/// so near within the step that they could touch: as folds_find says of the whole body.
static float meet_from(const Search *s, int cluster, int other) {
    const Clusters *c = &s->body->clusters;
    return s->meet + boxes_differ(&c->vertex_way[cluster], &c->face_way[other]) +
           s->twice * boxes_differ(&c->vertex_drift[cluster], &c->face_drift[other]);
}

/// Keeps of the clusters within reach those that vertices of one may touch: what they saw at rest,
/// or what lay a fold away, and near enough. sight: so far vertices must have seen there, at most.
static int keep_near(const Search *s, int cluster, int32_t *near, int count, float *sight) {
    const Clusters *c = &s->body->clusters;
    int kept = 0;
    float least = INFINITY;
    for (uint32_t i = c->first_vertex[cluster]; i < c->first_vertex[cluster + 1]; i++)
        least = fminf(least, s->body->sight[c->vertex[i]]);
    for (int n = 0; n < count; n++) {
        const float most = meet_from(s, cluster, near[n]);
        const bool fold = s->folds <= (double)most;
        if (!fold && least > most) continue;
        if (boxes_apart(&c->vertex_rest[cluster], &c->face_rest[near[n]]) > most) continue;
        sight[kept] = fold ? INFINITY : most, near[kept++] = near[n];
    }
    return kept;
}

/// Folds of the vertices of a cluster.
static void find_in(void *context, int cluster, int thread) {
    const Search *s = context;
    Body *b = s->body;
    const Clusters *c = &b->clusters;
    int32_t *near = c->near + (ptrdiff_t)thread * c->count;
    Seeker all = clusters_seeker(c, cluster, s->vertex.reach, s->vertex.turn);
    float *sight = c->sight + (ptrdiff_t)thread * c->count;
    int count = keep_near(s, cluster, near, clusters_near(c, &all, near), sight);
    for (uint32_t i = c->first_vertex[cluster]; i < c->first_vertex[cluster + 1]; i++) {
        uint32_t v = c->vertex[i];
        b->folded[v] = false;
        if (count == 0 || !(b->vertex_area[v] > 0)) continue;
        Seeker one = s->vertex;
        memcpy(one.axis, b->normal[v], sizeof one.axis);
        memcpy(one.box.low, b->surface.vertices[v], 3 * sizeof(float));
        memcpy(one.box.high, one.box.low, sizeof one.box.high);
        b->folded[v] = nearest_fold(s, &one, v, near, sight, count, &b->fold[v]);
    }
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
    search.meet = (float)(0.5 * apart + skin) + slack, search.twice = 2 * (float)time;
    team_for(s->team, b->clusters.count, 16, place_cluster, b);
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
