// The thinnest wall of a shape, for the warning that a grid cannot see it.
//
// Simple shapes know theirs. For a difference, points are put on the surface of each part that is
// cut away, and from those that lie in the wall a ray goes straight through it: where it leaves
// through a surface that faces along the ray, its length is the thickness there. (It does not face
// along the ray at the rim of a cup, whose knife edge is no thin wall.)
#include "solid/shape.h"
#include <math.h>

enum { SIDE_3D = 20, SIDE_2D = 96, PROJECTIONS = 4, MARCHES = 48 };

typedef struct Points {
    int n;
    float x[CHUNK], y[CHUNK], z[CHUNK];
} Points;

/// Gradient of the distance by central differences over 2 h.
static void gradient(const Shape *s, const Points *p, float h, Points *g) {
    float d[CHUNK], e[CHUNK];
    float *out[3] = {g->x, g->y, g->z};
    for (int axis = 0; axis < 3; axis++) {
        Points q = *p;
        float *moved[3] = {q.x, q.y, q.z};
        for (int i = 0; i < p->n; i++) moved[axis][i] += h;
        shape_distance(s, p->n, q.x, q.y, q.z, d);
        for (int i = 0; i < p->n; i++) moved[axis][i] -= 2 * h;
        shape_distance(s, p->n, q.x, q.y, q.z, e);
        for (int i = 0; i < p->n; i++) out[axis][i] = (d[i] - e[i]) / (2 * h);
    }
    g->n = p->n;
}

/// Moves points to the surface along the gradient.
static void project(const Shape *s, Points *p, float h) {
    Points g;
    float d[CHUNK];
    for (int pass = 0; pass < PROJECTIONS; pass++) {
        shape_distance(s, p->n, p->x, p->y, p->z, d);
        gradient(s, p, h, &g);
        for (int i = 0; i < p->n; i++) {
            float g2 = g.x[i] * g.x[i] + g.y[i] * g.y[i] + g.z[i] * g.z[i];
            float step = g2 > 0.01f ? d[i] / g2 : 0;
            p->x[i] -= step * g.x[i], p->y[i] -= step * g.y[i], p->z[i] -= step * g.z[i];
        }
    }
}

/// Goes through the wall from points on the surface of `cut` along its normal; least length.
static float through_wall(const Shape *wall, const Shape *cut, const Points *p, float h) {
    Points normal, q = *p, exit;
    float off[CHUNK], d[CHUNK], length[CHUNK], least = INFINITY;
    shape_distance(cut, p->n, p->x, p->y, p->z, off);
    gradient(cut, p, h, &normal);
    for (int i = 0; i < p->n; i++) length[i] = 2 * h;
    for (int pass = 0; pass < MARCHES; pass++) {
        for (int i = 0; i < p->n; i++) {
            q.x[i] = p->x[i] + length[i] * normal.x[i];
            q.y[i] = p->y[i] + length[i] * normal.y[i];
            q.z[i] = p->z[i] + length[i] * normal.z[i];
        }
        shape_distance(wall, p->n, q.x, q.y, q.z, d);
        for (int i = 0; i < p->n; i++) length[i] += d[i] < 0 ? -d[i] : 0;
    }
    gradient(wall, &q, h, &exit);
    for (int i = 0; i < p->n; i++) {
        float n2 =
            normal.x[i] * normal.x[i] + normal.y[i] * normal.y[i] + normal.z[i] * normal.z[i];
        float facing = normal.x[i] * exit.x[i] + normal.y[i] * exit.y[i] + normal.z[i] * exit.z[i];
        bool on_surface = fabsf(off[i]) < h && fabsf(n2 - 1) < 0.1f && fabsf(d[i]) < h;
        if (on_surface && facing > 0.7f && length[i] > 2 * h && length[i] < least)
            least = length[i];
    }
    return least;
}

/// Box where the cut may touch the wall; false when it has no end.
static bool common_box(const Shape *body, const Shape *cut, float low[3], float high[3]) {
    float a[3], b[3];
    shape_bounds(body, low, high);
    shape_bounds(cut, a, b);
    for (int i = 0; i < body->dim; i++) {
        low[i] = fmaxf(low[i], a[i]), high[i] = fminf(high[i], b[i]);
        if (!isfinite(low[i]) || !isfinite(high[i])) return false;
    }
    if (body->dim == 2) low[2] = high[2] = 0;
    return true;
}

static float shell_thickness(const Shape *wall, const Shape *cut) {
    float low[3], high[3], least = INFINITY, largest = 0;
    if (!common_box(wall->children[0], cut, low, high)) return INFINITY;
    for (int i = 0; i < 3; i++) largest = fmaxf(largest, high[i] - low[i]);
    float h = 2e-4f * largest;
    bool flat = wall->dim == 2;
    int side = flat ? SIDE_2D : SIDE_3D, total = flat ? side * side : side * side * side;
    for (int start = 0; start < total; start += CHUNK) {
        Points p = {.n = total - start < CHUNK ? total - start : CHUNK};
        for (int i = 0; i < p.n; i++) {
            int at = start + i;
            p.x[i] = low[0] + (high[0] - low[0]) * ((float)(at % side) + 0.5f) / (float)side;
            p.y[i] = low[1] + (high[1] - low[1]) * ((float)(at / side % side) + 0.5f) / (float)side;
            p.z[i] = low[2] + (high[2] - low[2]) * ((float)(at / side / side) + 0.5f) / (float)side;
        }
        project(cut, &p, h);
        least = fminf(least, through_wall(wall, cut, &p, h));
    }
    return least;
}

float shape_thickness(const Shape *s) {
    float least = INFINITY;
    switch (s->kind) {
    case BRIM_SHAPE_BOX:
        for (int i = 0; i < s->dim; i++) least = fminf(least, 2 * s->half[i] * s->scale);
        return least;
    case BRIM_SHAPE_SPHERE:
    case BRIM_SHAPE_CAPSULE:
        return 2 * s->radius * s->scale;
    case BRIM_SHAPE_CYLINDER:
        return 2 * fminf(s->radius, s->half[1]) * s->scale;
    case BRIM_SHAPE_TORUS:
        return 2 * s->tube * s->scale;
    case BRIM_SHAPE_PLANE:
    case BRIM_SHAPE_HEIGHT_FIELD:
    case BRIM_SHAPE_MESH:
        return INFINITY;
    case BRIM_SHAPE_UNION:
    case BRIM_SHAPE_SMOOTH_UNION:
        for (int i = 0; i < s->child_count; i++)
            least = fminf(least, shape_thickness(s->children[i]));
        return least;
    case BRIM_SHAPE_DIFFERENCE:
        least = shape_thickness(s->children[0]);
        for (int i = 1; i < s->child_count; i++)
            least = fminf(least, shell_thickness(s, s->children[i]));
        return least;
    }
    return INFINITY;
}
