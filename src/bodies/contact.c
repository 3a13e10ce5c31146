// Contact by penalty at the vertices of a body's surface, taken at the end of the step: a body then
// never leaves faster than it came. Friction by Coulomb's law, smoothed near rest.
#include "bodies/contact.h"
#include "bodies/bodies.h"
#include "bodies/pins.h"
#include "bodies/shear.h"
#include <math.h>
#include <string.h>

/// Depth at which walls hold up the weight of all bodies, in cells.
static const double WEIGHT_DEPTH = 0.01;
/// How well the place is known where a vertex meets a wall, in cells.
static const double ENTRY = 0.02;
/// Slip below which friction is in proportion to it, in cells a second.
static const double SLIP = 0.01;

double contact_time(const Elastic *e) {
    return fmax(e->dn, e->kick);
}

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
                     float place[3], double normal[3], double *start) {
    double length = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]), t = 0;
    int pieces = 1 + (int)fmin(64, length / (0.5 * s->dx));
    *start = distance_on(solid, x, way, 0, place);
    bool outside = *start >= 0;
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
    double skin = CONTACT_SKIN * s->dx, own = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
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

/// The sides of the domain that a vertex has beyond it at the end of the step.
static bool touch_sides(BrimSim *s, const Vertex *x, const TouchVisit *to) {
    for (int n = 0; n < 2 * s->dim; n++) {
        int a = n >> 1;
        double end = (double)s->grid.cells[a] * s->dx, p = x->at[a] + x->dn * x->v[a];
        double depth = CONTACT_SKIN * s->dx + (n & 1 ? p - end : -p);
        if (s->sides.open[n] || depth <= 0) continue;
        Touch t = {.depth = depth, .body = -1, .start = n & 1 ? end - x->at[a] : x->at[a]};
        t.normal[a] = n & 1 ? -1 : 1;
        if (!to->visit(s, x, &t, to->context)) return false;
    }
    return true;
}

/// Whether a vertex looks at the wall of a body that it touches: beside an edge the nearest face
/// may be one that stands at right angles to what meets there.
static bool faces(const float normal[3], const Touch *t) {
    double dot = 0;
    for (int a = 0; a < 3; a++) dot += normal[a] * t->normal[a];
    return dot < -0.3;
}

/// How a vertex touches a solid, or a body as one, at the end of the step; depth 0: not at all.
static Touch touch_solid(const BrimSim *s, const Solid *solid, int body, const Vertex *x) {
    Touch t = {.body = body};
    double way[3];
    if (!may_touch(s, solid, body, x->at, x->v, x->dn)) return t;
    wall_velocity(s, solid, body, x->at, t.speed);
    for (int a = 0; a < 3; a++) way[a] = x->dn * (x->v[a] - t.speed[a]);
    t.depth =
        fmax(0, CONTACT_SKIN * s->dx - way_to(s, solid, x->at, way, t.place, t.normal, &t.start));
    return t;
}

/// All that a vertex touches at the end of the step: the sides of the domain and each body count by
/// themselves, of the solids, which may be parts of one wall, the deepest.
static bool touch_vertex(BrimSim *s, bool walls, const Vertex *x, const TouchVisit *to) {
    const Bodies *b = s->bodies;
    Touch deepest = {0};
    if (!touch_sides(s, x, to)) return false;
    for (int k = 0; k < s->walls.solid_count; k++) {
        if (k >= b->first_solid && k < b->first_solid + b->count) continue;
        Touch t = touch_solid(s, s->walls.solids[k], -1, x);
        if (t.depth > deepest.depth) deepest = t;
    }
    if (deepest.depth > 0 && !to->visit(s, x, &deepest, to->context)) return false;
    int bodies = walls ? 0 : s->walls.solid_count - b->first_solid;
    for (int k = 0; k < b->count && k < bodies; k++) {
        if (k == x->body) continue;
        Touch t = touch_solid(s, s->walls.solids[b->first_solid + k], k, x);
        if (!(t.depth > 0) || !faces(b->body[x->body].normal[x->vertex], &t)) continue;
        if (!to->visit(s, x, &t, to->context)) return false;
    }
    return true;
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
    double slip[3], along = 0, size = 0, skin = CONTACT_SKIN * dx, part = fmin(1, t->depth / skin);
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
            m[3 * a + c] = contact_time(b->elastic) * stiffness * nn + drag * ((a == c) - nn);
        }
    }
}

/// Stiffness of a vertex, N/m: a tenth of the surface carries the weight of all bodies at a depth
/// that nobody sees. A corner of a rigid body does so alone, and stops it within a step; an elastic
/// body's own elasticity is softer.
static double vertex_stiffness(const BrimSim *s, const Body *b, size_t vertex) {
    const Elastic *e = b->elastic;
    double area = b->vertex_area[vertex], mass = 0;
    for (int k = 0; k < s->bodies->count; k++) mass += s->bodies->body[k].elastic->mass;
    double load = mass * 9.81 / (WEIGHT_DEPTH * s->dx);
    if (e->params.rigid) return fmax(load, e->mass / (contact_time(e) * contact_time(e)));
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
/// its surface. context: the kick, s.
static bool push_back(BrimSim *s, const Vertex *x, const Touch *touch, void *context) {
    Body *b = &s->bodies->body[x->body];
    const float *row = b->row + x->vertex * (size_t)b->elastic->r;
    double force[3], m[9], kick = *(const double *)context;
    touch_force(b, touch, vertex_stiffness(s, b, x->vertex), x->v, s->dx, force, m);
    act(b, row, force, 1, m, kick);
    if (touch->body < 0) return true;
    Body *other = &s->bodies->body[touch->body];
    float foot[3], other_row[ELASTIC_DOFS_MOST];
    body_wall(other, touch->place, foot, other_row);
    act(other, other_row, force, -1, m, kick);
    for (int i = 0; i < 9; i++) m[i] *= kick;
    return joint_meet(s->bodies, x->body, row, touch->body, other_row, m);
}

/// Where a body touches itself the vertex and its foot push each other.
static void push_folds(BrimSim *s, Body *b, double kick) {
    float row[ELASTIC_COLUMNS_MOST];
    const Elastic *e = b->elastic;
    for (size_t n = 0; n < b->fold_count; n++) {
        const Fold *f = &b->fold[n];
        Touch t = {.start = f->start};
        double v[3] = {0}, force[3], m[9], way = 0;
        fold_row(b, f, row);
        for (int i = 0; i < e->r; i++)
            for (int a = 0; a < b->dim; a++) v[a] += row[i] * e->v[i * b->dim + a];
        for (int a = 0; a < 3; a++) t.normal[a] = f->normal[a], way += v[a] * f->normal[a];
        t.depth = CONTACT_SKIN * s->dx - f->start - contact_time(e) * way;
        if (!(t.depth > 0)) continue;
        touch_force(b, &t, vertex_stiffness(s, b, f->vertex), v, s->dx, force, m);
        act(b, row, force, 1, m, kick);
    }
}

/// Whether a body may come to touch anything as far ahead as contact looks, by its bounds.
static bool near_anything(const BrimSim *s, int me) {
    const Body *b = &s->bodies->body[me];
    double time = contact_time(b->elastic), reach = 3 * s->dx + 2 * time * b->fastest;
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
        if (body >= 0 && body < s->bodies->count) far += 2 * time * s->bodies->body[body].fastest;
        bool apart = false;
        for (int a = 0; a < s->dim; a++)
            apart |= low[a] > b->high[a] + far || high[a] < b->low[a] - far;
        if (!apart) return true;
    }
    return false;
}

static bool is_touched(BrimSim *s, const Vertex *x, const Touch *t, void *context) {
    return false;
}

typedef struct Ask {
    BrimSim *s;
    int body;
    bool walls;
    const double *v; ///< [dim][r]
} Ask;

/// Which vertices of a piece touch anything.
static void ask_piece(void *context, int index, int thread) {
    const Ask *ask = context;
    const Body *b = &ask->s->bodies->body[ask->body];
    BodyPiece p;
    (void)thread;
    body_mix(b, index, ask->v, &p);
    for (size_t i = 0; i < p.count; i++) {
        size_t n = p.from + i;
        Vertex x = {.body = ask->body,
                    .vertex = n,
                    .at = b->surface.vertices[n],
                    .dn = contact_time(b->elastic)};
        for (int a = 0; a < b->dim; a++) x.v[a] = p.x[(size_t)a * p.stride + i];
        b->touches[n] = b->vertex_area[n] > 0 &&
                        !touch_vertex(ask->s, ask->walls, &x, &(TouchVisit){is_touched, NULL});
    }
}

/// All touches of a body, in the order of its vertices.
static bool visit_body(BrimSim *s, int body, bool walls, const TouchVisit *to) {
    const Body *b = &s->bodies->body[body];
    const Elastic *e = b->elastic;
    double v[ELASTIC_DOFS_MOST];
    Ask ask = {s, body, walls, v};
    body_by_component(b, e->v, v);
    team_for(s->team, body_pieces(b), 1, ask_piece, &ask);
    for (size_t n = 0; n < b->surface.vertex_count; n++) {
        const float *row = b->row + n * (size_t)e->r;
        Vertex x = {.body = body, .vertex = n, .at = b->surface.vertices[n], .dn = contact_time(e)};
        if (!b->touches[n]) continue;
        for (int i = 0; i < e->r; i++)
            for (int a = 0; a < b->dim; a++) x.v[a] += row[i] * e->v[i * b->dim + a];
        if (!touch_vertex(s, walls, &x, to)) return false;
    }
    return true;
}

bool contact_visit(BrimSim *s, bool walls, const TouchVisit *to) {
    for (int k = 0; k < s->bodies->count; k++)
        if (near_anything(s, k) && !visit_body(s, k, walls, to)) return false;
    return true;
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
    shear_pull(s, kick);
    for (int k = 0; k < bodies->count; k++) push_folds(s, &bodies->body[k], kick);
    return contact_visit(s, false, &(TouchVisit){push_back, &kick});
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
