// Contact by penalty at the vertices of a body's surface, taken at the end of the step: a body then
// never leaves faster than it came. Friction by Coulomb's law, smoothed near rest.
#include "bodies/bodies.h"
#include <math.h>
#include <string.h>

/// Depth at which what holds a rigid body up is its weight, in cells.
static const double RIGID_DEPTH = 0.01;
/// Walls push from this far off on, softly at first, in cells: a body that comes and goes within a
/// step then finds a middle.
static const double SKIN = 0.1;
/// Slip below which friction is in proportion to it, in cells a second.
static const double SLIP = 0.1;

typedef struct Touch {
    double depth;     ///< m, positive inside
    double normal[3]; ///< out of the wall
    double speed[3];  ///< of the wall, m/s
    Body *body;       ///< that the wall belongs to; NULL: none
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

/// The deepest wall at a point; false when there is none. Depths count from the skin on.
static bool find_touch(const BrimSim *s, const Body *me, const float p[3], Touch *touch) {
    double skin = SKIN * s->dx;
    *touch = (Touch){0};
    for (int n = 0; n < 2 * s->dim; n++) {
        int a = n >> 1;
        double end = (double)s->grid.cells[a] * s->dx;
        double depth = skin + (n & 1 ? p[a] - end : -p[a]);
        if (s->sides.open[n] || depth <= touch->depth) continue;
        *touch = (Touch){.depth = depth};
        touch->normal[a] = n & 1 ? -1 : 1;
    }
    for (int k = 0; k < s->solid_count; k++) {
        const Solid *solid = s->solids[k];
        float low[3], high[3], d;
        if (k == s->bodies->first_solid + (int)(me - s->bodies->body) ||
            !solid_exists(solid, s->solid_time) || !solid_bounds(solid, low, high))
            continue;
        bool near = true;
        for (int a = 0; a < s->dim; a++) near &= p[a] >= low[a] - skin && p[a] <= high[a] + skin;
        if (!near) continue;
        solid_distance(solid, 1, &p[0], &p[1], &p[2], &d);
        if (skin - (double)d <= touch->depth) continue;
        BrimVec3 v = solid_velocity(solid, p[0], p[1], p[2]);
        touch->depth = skin - solid_normal(s, solid, p, touch->normal);
        int body = k - s->bodies->first_solid;
        touch->body = body >= 0 && body < s->bodies->count ? &s->bodies->body[body] : NULL;
        touch->speed[0] = v.x, touch->speed[1] = v.y, touch->speed[2] = v.z;
    }
    return touch->depth > 0;
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
    if (!t->body) return true;
    double dot = 0;
    for (int a = 0; a < 3; a++) dot += normal[a] * t->normal[a];
    return dot < -0.3;
}

/// What pushes a body is pushed back, at the nearest point of its surface.
static void react(Body *b, const float p[3], const double force[3]) {
    float foot[3], row[ELASTIC_DOFS_MOST];
    body_wall(b, p, foot, row);
    for (int i = 0; i < b->elastic->r; i++)
        for (int a = 0; a < b->dim; a++) b->reaction[i * b->dim + a] -= row[i] * force[a];
}

/// Stiffness of a vertex, N/m.
static double vertex_stiffness(const BrimSim *s, const Body *b, size_t vertex) {
    const Elastic *e = b->elastic;
    double area = b->vertex_area[vertex];
    if (!e->params.rigid) return 10 * e->params.young * area / s->dx;
    // a tenth of the surface carries the weight at that depth
    return 10 * e->mass * 9.81 / (RIGID_DEPTH * s->dx) * area / b->surface_area;
}

void body_contact(const BrimSim *s, Body *b, double kick) {
    const Elastic *e = b->elastic;
    size_t dofs = (size_t)e->dofs;
    memset(b->contact, 0, dofs * sizeof *b->contact);
    if (b->touching) memset(b->extra, 0, dofs * dofs * sizeof *b->extra);
    b->touching = false;
    for (size_t n = 0; n < b->surface.vertex_count; n++) {
        const float *row = b->row + n * (size_t)e->r;
        double v[3] = {0}, force[3], m[9];
        if (b->vertex_area[n] == 0) continue;
        float p[3] = {0};
        for (int i = 0; i < e->r; i++)
            for (int a = 0; a < b->dim; a++) v[a] += row[i] * e->v[i * b->dim + a];
        for (int a = 0; a < b->dim; a++) p[a] = b->surface.vertices[n][a] + (float)(e->dn * v[a]);
        Touch touch;
        if (!find_touch(s, b, p, &touch) || !faces(b->normal[n], &touch)) continue;
        touch_force(b, &touch, vertex_stiffness(s, b, n), v, s->dx, force, m);
        for (int i = 0; i < e->r; i++)
            for (int a = 0; a < b->dim; a++) b->contact[i * b->dim + a] += row[i] * force[a];
        if (touch.body) react(touch.body, p, force);
        double exact[ELASTIC_DOFS_MOST];
        for (int i = 0; i < e->r; i++) exact[i] = row[i];
        body_stiffen(b, exact, m, kick);
    }
}
