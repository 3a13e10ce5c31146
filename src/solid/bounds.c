// Boxes around shapes.
#include "solid/rotation.h"
#include "solid/shape.h"
#include <math.h>

typedef struct Bounds {
    double low[3], high[3];
} Bounds;

static Bounds cuboid(double x, double y, double z) {
    return (Bounds){{-x, -y, -z}, {x, y, z}};
}

static Bounds endless(void) {
    return cuboid(INFINITY, INFINITY, INFINITY);
}

/// A plane is bounded only when it faces along an axis.
static Bounds plane_bounds(const Shape *s) {
    Bounds b = endless();
    for (int i = 0; i < 3; i++) {
        if (s->normal[i] >= 1) b.high[i] = 0;
        if (s->normal[i] <= -1) b.low[i] = 0;
    }
    return b;
}

static Bounds local_bounds(const Shape *s) {
    Bounds b = endless();
    double r = s->radius;
    switch (s->kind) {
    case BRIM_SHAPE_BOX:
        return cuboid(s->half[0], s->half[1], s->half[2]);
    case BRIM_SHAPE_SPHERE:
        return cuboid(r, r, r);
    case BRIM_SHAPE_CYLINDER:
        return cuboid(r, s->half[1], r);
    case BRIM_SHAPE_CAPSULE:
        return cuboid(r, r + s->half[1], r);
    case BRIM_SHAPE_TORUS:
        return cuboid(r + s->tube, s->tube, r + s->tube);
    case BRIM_SHAPE_PLANE:
        return plane_bounds(s);
    case BRIM_SHAPE_HEIGHT_FIELD:
        b.high[1] = s->ground.high;
        return b;
    case BRIM_SHAPE_MESH:
        for (int i = 0; i < 3; i++) b.low[i] = s->mesh.low[i], b.high[i] = s->mesh.high[i];
        return b;
    default:
        return b;
    }
}

/// Adds rotation[i][j] * [low, high] to an interval; 0 times infinity is 0 here.
static void add_scaled(double factor, double low, double high, double *sum_low, double *sum_high) {
    if (fabs(factor) < 1e-12) return;
    *sum_low += factor > 0 ? factor * low : factor * high;
    *sum_high += factor > 0 ? factor * high : factor * low;
}

static Bounds place(const Bounds *local, const double rotation[9], const double position[3],
                    double scale) {
    Bounds b;
    for (int i = 0; i < 3; i++) {
        double low = 0, high = 0;
        for (int j = 0; j < 3; j++)
            add_scaled(rotation[3 * i + j], local->low[j], local->high[j], &low, &high);
        b.low[i] = position[i] + scale * low;
        b.high[i] = position[i] + scale * high;
    }
    return b;
}

static Bounds tree_bounds(const Shape *s) {
    if (s->child_count == 0) {
        Bounds local = local_bounds(s);
        return place(&local, s->frame.rotation, s->frame.position, s->frame.scale);
    }
    Bounds b = tree_bounds(s->children[0]);
    if (s->kind == BRIM_SHAPE_DIFFERENCE) return b;
    // each smooth join swells the surface by a quarter of the blend at most
    double swell = s->kind == BRIM_SHAPE_SMOOTH_UNION ? 0.25 * s->blend * (s->child_count - 1) : 0;
    for (int c = 1; c < s->child_count; c++) {
        Bounds next = tree_bounds(s->children[c]);
        for (int i = 0; i < 3; i++) {
            b.low[i] = fmin(b.low[i], next.low[i]);
            b.high[i] = fmax(b.high[i], next.high[i]);
        }
    }
    for (int i = 0; i < 3; i++) b.low[i] -= swell, b.high[i] += swell;
    return b;
}

static void store(const Bounds *b, int dim, float low[3], float high[3]) {
    for (int i = 0; i < 3; i++) low[i] = (float)b->low[i], high[i] = (float)b->high[i];
    if (dim == 2) low[2] = -INFINITY, high[2] = INFINITY;
}

bool shape_bounds(const Shape *shape, float low[3], float high[3]) {
    Bounds b = tree_bounds(shape);
    store(&b, shape->dim, low, high);
    return true;
}

bool shape_bounds_placed(const Shape *shape, const Placement *placement, float low[3],
                         float high[3]) {
    Bounds b = tree_bounds(shape);
    double rotation[9], position[3];
    for (int i = 0; i < 9; i++) rotation[i] = placement->rotation[i];
    for (int i = 0; i < 3; i++) position[i] = placement->position[i];
    b = place(&b, rotation, position, 1);
    store(&b, shape->dim, low, high);
    return true;
}
