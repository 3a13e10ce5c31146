// Contact by penalty at the vertices of a body's surface, taken at the end of the step: a body then
// never leaves faster than it came. Friction by Coulomb's law, smoothed near rest.
#include "bodies/bodies.h"
#include "bodies/pins.h"
#include <math.h>
#include <string.h>

/// Depth at which walls hold up the weight of all bodies, in cells.
static const double WEIGHT_DEPTH = 0.01;
/// Walls push from this far off on, softly at first, in cells: a body that comes and goes within a
/// step then finds a middle.
static const double SKIN = 0.1;
/// How well the place is known where a vertex meets a wall, in cells.
static const double ENTRY = 0.02;
/// Slip below which friction is in proportion to it, in cells a second.
static const double SLIP = 0.01;

typedef struct Touch {
    double depth;     ///< m, positive inside
    double normal[3]; ///< out of the wall
    double speed[3];  ///< of the wall, m/s
    int body;         ///< that the wall belongs to; -1: none
    float place[3];   ///< where on it, as it stands at the start of the step
} Touch;

/// Distance to a solid at a point and its normal.
static double solid_normal(const BrimSim *s, const Solid *solid, const float p[3],
                           double normal[3]) {
    float h = 0.1f * s->dx, x[7], y[7], z[7], d[7];
    for (int i = 0; i < 7; i++) x[i] = p[0], y[i] = p[1], z[i] = p[2];
    x[1] += h, x[2] -= h, y[3] += h, y[4] -= h, z[5] += h, z[6] -= h;
    solid_distance(solid, 7, x, y, z, d);
    double g[3] = {d[1] - d[2], d[3] - d[4], s->dim == 3 ? d[5] - d[6] : 0};
    double length = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int a = 0; a < 3; a++) normal[a] = length > 0 ? g[a] / length : 0;
    return d[0];
}

/// Velocity of a solid near a point; of a body the one that the passes have come to.
static void wall_velocity(const BrimSim *s, const Solid *solid, int body, const float x[3],
                          double out[3]) {
    out[0] = out[1] = out[2] = 0;
    if (body < 0) {
        BrimVec3 v = solid_velocity(solid, x[0], x[1], x[2]);
        out[0] = v.x, out[1] = v.y, out[2] = v.z;
        return;
    }
    const Body *b = &s->bodies->body[body];
    float foot[3], row[ELASTIC_DOFS_MOST];
    body_wall(b, x, foot, row);
    for (int i = 0; i < b->elastic->r; i++)
        for (int a = 0; a < b->dim; a++) out[a] += row[i] * b->elastic->v[i * b->dim + a];
}

static float distance_on(const Solid *solid, const float x[3], const double way[3], double t,
                         float place[3]) {
    float d;
    for (int a = 0; a < 3; a++) place[a] = x[a] + (float)(way[a] * t);
    solid_distance(solid, 1, &place[0], &place[1], &place[2], &d);
    return d;
}

/// How a vertex at x comes to a solid on its way through the step, from which the solid's own
/// motion is taken off: the distance at the end from the face where it came in, and where that is.
/// It is the face that counts: below it, at a corner, the nearest one may be another, and would
/// change with every pass.
static double way_to(const BrimSim *s, const Solid *solid, const float x[3], const double way[3],
                     float place[3], double normal[3]) {
    double length = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]), t = 0;
    int pieces = 1 + (int)fmin(64, length / (0.5 * s->dx));
    bool outside = distance_on(solid, x, way, 0, place) >= 0;
    for (int n = 1; n <= pieces && outside; n++) {
        double last = t;
        t = (double)n / pieces;
        outside = distance_on(solid, x, way, t, place) >= 0;
        for (double in = t; !outside && (in - last) * length > ENTRY * s->dx;) {
            double middle = 0.5 * (last + in);
            if (distance_on(solid, x, way, middle, place) >= 0)
                last = middle;
            else
                in = middle;
            t = last;
        }
    }
    for (int a = 0; a < 3; a++) place[a] = x[a] + (float)(way[a] * t);
    double distance = solid_normal(s, solid, place, normal);
    for (int a = 0; a < 3; a++) distance += normal[a] * way[a] * (1 - t);
    return distance;
}

/// Bounds of a solid, and how far a vertex that moves with v may come near it within the step.
static bool may_touch(const BrimSim *s, const Solid *solid, int body, const float x[3],
                      const double v[3], double dn) {
    float low[3], high[3];
    if (!solid_exists(solid, s->walls.time) || !solid_bounds(solid, low, high)) return false;
    double skin = SKIN * s->dx, own = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    // what a pass may still change of a body's speed is as much again
    double other = body >= 0 ? 2 * (double)s->bodies->body[body].fastest : 0;
    if (body < 0) {
        BrimVec3 u = solid_velocity(solid, x[0], x[1], x[2]);
        other = sqrt((double)u.x * u.x + (double)u.y * u.y + (double)u.z * u.z);
    }
    double reach = skin + s->dx + dn * (own + other);
    for (int a = 0; a < s->dim; a++)
        if (x[a] < low[a] - reach || x[a] > high[a] + reach) return false;
    return true;
}

/// What a vertex may touch at once: the sides of the domain and each body count by themselves, of
/// the solids, which may be parts of one wall, the deepest.
enum { TOUCHES = 6 + 1 + 8 };

/// The sides of the domain that a vertex at x that moves with v has beyond it at the end of the
/// step.
static int touch_sides(const BrimSim *s, const float x[3], const double v[3], double dn, Touch *t) {
    int count = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int a = n >> 1;
        double end = (double)s->grid.cells[a] * s->dx, p = x[a] + dn * v[a];
        double depth = SKIN * s->dx + (n & 1 ? p - end : -p);
        if (s->sides.open[n] || depth <= 0) continue;
        t[count] = (Touch){.depth = depth, .body = -1};
        t[count++].normal[a] = n & 1 ? -1 : 1;
    }
    return count;
}

/// All that a vertex at x that moves with v touches at the end of the step. Depths count from the
/// skin on.
static int find_touches(const BrimSim *s, int me, const float x[3], const double v[3], double dn,
                        Touch *touch) {
    int count = touch_sides(s, x, v, dn, touch), solid_at = -1;
    for (int k = 0; k < s->walls.solid_count && count < TOUCHES; k++) {
        const Solid *solid = s->walls.solids[k];
        int body = k - s->bodies->first_solid;
        if (body < 0 || body >= s->bodies->count) body = -1;
        if (body == me || !may_touch(s, solid, body, x, v, dn)) continue;
        Touch t = {.body = body};
        double way[3];
        wall_velocity(s, solid, body, x, t.speed);
        for (int a = 0; a < 3; a++) way[a] = dn * (v[a] - t.speed[a]);
        t.depth = SKIN * s->dx - way_to(s, solid, x, way, t.place, t.normal);
        if (!(t.depth > 0) || (body < 0 && solid_at >= 0 && t.depth <= touch[solid_at].depth))
            continue;
        int to = body < 0 && solid_at >= 0 ? solid_at : count++;
        touch[to] = t;
        if (body < 0) solid_at = to;
    }
    return count;
}

void body_stiffen(Body *b, const double *row, const double m[9], double weight) {
    int r = b->elastic->r, dim = b->dim;
    b->touching = true;
    for (int i = 0; i < r; i++)
        for (int a = 0; a < dim; a++) {
            double *to = b->extra + (size_t)(i * dim + a) * (size_t)b->elastic->dofs;
            for (int j = 0; j < r; j++)
                for (int c = 0; c < dim; c++)
                    to[j * dim + c] += weight * row[i] * row[j] * m[3 * a + c];
        }
}

/// Force of one vertex, with its slope in m: normal stiffness times the step, and friction.
static void touch_force(const Body *b, const Touch *t, double stiffness, const double v[3],
                        double dx, double force[3], double m[9]) {
    // quadratic within the skin, linear below it
    double slip[3], along = 0, size = 0, skin = SKIN * dx, part = fmin(1, t->depth / skin);
    double press = stiffness * (part * t->depth - 0.5 * part * part * skin);
    stiffness *= part;
    for (int a = 0; a < 3; a++) along += (v[a] - t->speed[a]) * t->normal[a];
    for (int a = 0; a < 3; a++) {
        slip[a] = v[a] - t->speed[a] - along * t->normal[a];
        size += slip[a] * slip[a];
    }
    double drag = b->friction * press / fmax(sqrt(size), SLIP * dx);
    for (int a = 0; a < 3; a++) {
        force[a] = press * t->normal[a] - drag * slip[a];
        for (int c = 0; c < 3; c++) {
            double nn = t->normal[a] * t->normal[c];
            m[3 * a + c] = b->elastic->dn * stiffness * nn + drag * ((a == c) - nn);
        }
    }
}

/// Whether a vertex looks at the wall of a body that it touches: beside an edge the nearest face
/// may be one that stands at right angles to what meets there. Walls and solids always count.
static bool faces(const float normal[3], const Touch *t) {
    if (t->body < 0) return true;
    double dot = 0;
    for (int a = 0; a < 3; a++) dot += normal[a] * t->normal[a];
    return dot < -0.3;
}

/// Stiffness of a vertex, N/m: a tenth of the surface carries the weight of all bodies at a depth
/// that nobody sees. A corner of a rigid body does so alone, and stops it within a step; an elastic
/// body's own elasticity is softer.
static double vertex_stiffness(const BrimSim *s, const Body *b, size_t vertex) {
    const Elastic *e = b->elastic;
    double area = b->vertex_area[vertex], mass = 0;
    for (int k = 0; k < s->bodies->count; k++) mass += s->bodies->body[k].elastic->mass;
    double load = mass * 9.81 / (WEIGHT_DEPTH * s->dx);
    if (e->params.rigid) return fmax(load, e->mass / (e->dn * e->dn));
    return fmax(10 * load * area / b->surface_area, 10 * e->soft * e->params.young * area / s->dx);
}

/// Adds a force at a row and what it adds to A.
static void act(Body *b, const float *row, const double force[3], double sign, const double m[9],
                double kick) {
    double exact[ELASTIC_DOFS_MOST];
    for (int i = 0; i < b->elastic->r; i++) {
        exact[i] = row[i];
        for (int a = 0; a < b->dim; a++) b->contact[i * b->dim + a] += sign * row[i] * force[a];
    }
    body_stiffen(b, exact, m, kick);
}

/// A body is pushed by what one of its vertices touches, and pushes it back at the nearest point of
/// its surface.
static bool push_back(BrimSim *s, int me, size_t vertex, const double v[3], const Touch *touch,
                      double kick) {
    Body *b = &s->bodies->body[me];
    const float *row = b->row + vertex * (size_t)b->elastic->r;
    double force[3], m[9];
    if (!faces(b->normal[vertex], touch)) return true;
    touch_force(b, touch, vertex_stiffness(s, b, vertex), v, s->dx, force, m);
    act(b, row, force, 1, m, kick);
    if (touch->body < 0) return true;
    Body *other = &s->bodies->body[touch->body];
    float foot[3], other_row[ELASTIC_DOFS_MOST];
    body_wall(other, touch->place, foot, other_row);
    act(other, other_row, force, -1, m, kick);
    for (int i = 0; i < 9; i++) m[i] *= kick;
    return joint_meet(s->bodies, me, row, touch->body, other_row, m);
}

static bool touch_vertex(BrimSim *s, int me, size_t vertex, double kick) {
    const Body *b = &s->bodies->body[me];
    const Elastic *e = b->elastic;
    const float *row = b->row + vertex * (size_t)e->r;
    double v[3] = {0};
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < b->dim; a++) v[a] += row[i] * e->v[i * b->dim + a];
    Touch touch[TOUCHES];
    int count = find_touches(s, me, b->surface.vertices[vertex], v, e->dn, touch);
    for (int n = 0; n < count; n++)
        if (!push_back(s, me, vertex, v, &touch[n], kick)) return false;
    return true;
}

/// Whether a body may come to touch anything within the step, by its bounds.
static bool near_anything(const BrimSim *s, int me) {
    const Body *b = &s->bodies->body[me];
    double reach = 3 * s->dx + 2 * b->elastic->dn * b->fastest;
    for (int n = 0; n < 2 * s->dim; n++) {
        int a = n >> 1;
        double end = (double)s->grid.cells[a] * s->dx;
        if (!s->sides.open[n] && (n & 1 ? end - b->high[a] : b->low[a]) < reach) return true;
    }
    for (int k = 0; k < s->walls.solid_count; k++) {
        float low[3], high[3];
        int body = k - s->bodies->first_solid;
        if (body == me || !solid_exists(s->walls.solids[k], s->walls.time)) continue;
        if (!solid_bounds(s->walls.solids[k], low, high)) return true;
        double far = reach;
        if (body >= 0 && body < s->bodies->count)
            far += 2 * b->elastic->dn * s->bodies->body[body].fastest;
        bool apart = false;
        for (int a = 0; a < s->dim; a++)
            apart |= low[a] > b->high[a] + far || high[a] < b->low[a] - far;
        if (!apart) return true;
    }
    return false;
}

static bool bodies_contact(BrimSim *s, double kick) {
    Bodies *bodies = s->bodies;
    bodies->joint.count = bodies->joint.row_count = 0;
    for (int k = 0; k < bodies->count; k++) {
        Body *b = &bodies->body[k];
        size_t dofs = (size_t)b->elastic->dofs;
        memset(b->contact, 0, dofs * sizeof *b->contact);
        if (b->touching) memset(b->extra, 0, dofs * dofs * sizeof *b->extra);
        b->touching = false;
    }
    for (int k = 0; k < bodies->count; k++) {
        const Body *b = &bodies->body[k];
        if (!near_anything(s, k)) continue;
        for (size_t n = 0; n < b->surface.vertex_count; n++)
            if (b->vertex_area[n] > 0 && !touch_vertex(s, k, n, kick)) return false;
    }
    return true;
}

bool bodies_held(BrimSim *s, double kick) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++)
        memset(b->body[k].hand, 0, (size_t)b->body[k].elastic->dofs * sizeof(double));
    if (!bodies_contact(s, kick)) return false;
    hands_pull(s, kick);
    pins_pull(s, kick);
    return true;
}
