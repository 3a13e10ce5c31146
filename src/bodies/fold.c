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

/// Vertices by cubes of space.
typedef struct Cubes {
    int32_t *first, *next; ///< [mask + 1], [vertices] lists; -1: end
    uint32_t mask;
    float edge, low[3];
} Cubes;

typedef struct Search {
    const Body *body;
    Cubes cubes;
    double reach, deepest; ///< m, of the distance now, and below 0
    double apart, folds;   ///< m, least distance at rest: across the outside, through the body
} Search;

static void cube_of(const Cubes *c, const float x[3], int at[3]) {
    for (int a = 0; a < 3; a++) {
        float i = floorf((x[a] - c->low[a]) / c->edge);
        at[a] = i > 0 && i < 1e6f ? (int)i : 0;
    }
}

static uint32_t cube_hash(const Cubes *c, const int at[3]) {
    uint32_t h = (uint32_t)at[0] * 73856093u ^ (uint32_t)at[1] * 19349663u;
    return (h ^ (uint32_t)at[2] * 83492791u) & c->mask;
}

/// Vertices in falling order, so that lists rise.
static bool fill_cubes(const Body *b, double edge, Cubes *c) {
    size_t n = b->surface.vertex_count;
    *c = (Cubes){.edge = (float)edge, .mask = 1};
    while (c->mask + 1 < n) c->mask = 2 * c->mask + 1;
    for (int a = 0; a < b->dim; a++) c->low[a] = b->low[a];
    c->first = memory_new((c->mask + 1) * sizeof *c->first);
    c->next = memory_new(n * sizeof *c->next);
    if (!c->first || !c->next) return false;
    memset(c->first, -1, (c->mask + 1) * sizeof *c->first);
    for (size_t i = n; i-- > 0;) {
        int at[3];
        cube_of(c, b->surface.vertices[i], at);
        uint32_t h = cube_hash(c, at);
        c->next[i] = c->first[h], c->first[h] = (int32_t)i;
    }
    return true;
}

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

/// A vertex and a triangle; false when they are no fold, or farther apart than `best`.
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
    if (!(size < best)) return false;
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

/// The nearest place that a vertex may touch: around vertices that look at it.
static bool nearest_fold(const Search *s, uint32_t vertex, Fold *out) {
    const Body *b = s->body;
    const float *x = b->surface.vertices[vertex], *n = b->normal[vertex];
    double best = s->reach, near = s->cubes.edge;
    bool found = false;
    int at[3], to[3];
    cube_of(&s->cubes, x, at);
    for (int z = b->dim == 3 ? -1 : 0; z <= (b->dim == 3); z++)
        for (int k = 0; k < 9; k++) {
            to[0] = at[0] + k % 3 - 1, to[1] = at[1] + k / 3 - 1, to[2] = at[2] + z;
            int32_t i = s->cubes.first[cube_hash(&s->cubes, to)];
            for (; i >= 0; i = s->cubes.next[i]) {
                const float *y = b->surface.vertices[i], *m = b->normal[i];
                float d[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]};
                if (n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > 0) continue;
                if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > (float)(near * near)) continue;
                for (uint32_t t = b->fan_first[i]; t < b->fan_first[i + 1]; t++)
                    found |= try_triangle(s, vertex, b->fan[t], best, out, &best);
            }
        }
    return found;
}

bool folds_find(const BrimSim *s, Body *b) {
    double away, fastest, time = contact_time(b->elastic);
    b->fold_count = 0;
    if (!b->folds) return true;
    deviation(b, &away, &fastest);
    // what a pass may still change of the speed is as much again
    double skin = CONTACT_SKIN * s->dx, apart = APART * s->dx;
    if (2 * away + 4 * time * fastest < 0.5 * apart - skin) return true;
    double thickness = (double)shape_thickness(b->shape);
    Search search = {.body = b,
                     .apart = apart,
                     .reach = skin + s->dx + 4 * time * fastest,
                     .deepest = fmin(s->dx, 0.5 * thickness),
                     .folds = 2 * thickness};
    bool ok = fill_cubes(b, search.reach + b->longest, &search.cubes);
    for (uint32_t i = 0; ok && i < b->surface.vertex_count; i++) {
        Fold fold;
        if (!(b->vertex_area[i] > 0) || !nearest_fold(&search, i, &fold)) continue;
        ok = memory_grow((void **)&b->fold, &b->fold_room, sizeof *b->fold, b->fold_count + 1,
                         b->fold_count);
        if (ok) b->fold[b->fold_count++] = fold;
    }
    free(search.cubes.first), free(search.cubes.next);
    return ok;
}

void fold_row(const Body *b, const Fold *f, float *row) {
    size_t r = (size_t)b->elastic->r;
    memcpy(row, b->row + f->vertex * r, r * sizeof *row);
    for (int k = 0; k < 3; k++) {
        const float *at = b->row + b->surface.triangles[f->triangle][k] * r;
        for (size_t i = 0; i < r; i++) row[i] -= (float)f->weight[k] * at[i];
    }
}
