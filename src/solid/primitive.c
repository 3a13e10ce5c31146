// Exact signed distances of the simple shapes, each in one loop that the compiler can vectorise.
#include "solid/shape.h"
#include <math.h>

static inline float least(float a, float b) {
    return a < b ? a : b;
}

static inline float most(float a, float b) {
    return a > b ? a : b;
}

static void box(const Shape *s, int n, const float *restrict x, const float *restrict y,
                const float *restrict z, float *restrict d) {
    float hx = s->half[0], hy = s->half[1], hz = s->half[2], scale = s->scale;
    for (int i = 0; i < n; i++) {
        float qx = fabsf(x[i]) - hx, qy = fabsf(y[i]) - hy, qz = fabsf(z[i]) - hz;
        float ox = most(qx, 0), oy = most(qy, 0), oz = most(qz, 0);
        float inside = least(most(qx, most(qy, qz)), 0);
        d[i] = scale * (sqrtf(ox * ox + oy * oy + oz * oz) + inside);
    }
}

static void sphere(const Shape *s, int n, const float *restrict x, const float *restrict y,
                   const float *restrict z, float *restrict d) {
    float radius = s->radius, scale = s->scale;
    for (int i = 0; i < n; i++)
        d[i] = scale * (sqrtf(x[i] * x[i] + y[i] * y[i] + z[i] * z[i]) - radius);
}

static void cylinder(const Shape *s, int n, const float *restrict x, const float *restrict y,
                     const float *restrict z, float *restrict d) {
    float radius = s->radius, half = s->half[1], scale = s->scale;
    for (int i = 0; i < n; i++) {
        float q = sqrtf(x[i] * x[i] + z[i] * z[i]) - radius, h = fabsf(y[i]) - half;
        float oq = most(q, 0), oh = most(h, 0);
        d[i] = scale * (sqrtf(oq * oq + oh * oh) + least(most(q, h), 0));
    }
}

static void capsule(const Shape *s, int n, const float *restrict x, const float *restrict y,
                    const float *restrict z, float *restrict d) {
    float radius = s->radius, half = s->half[1], scale = s->scale;
    for (int i = 0; i < n; i++) {
        float h = most(fabsf(y[i]) - half, 0);
        d[i] = scale * (sqrtf(x[i] * x[i] + h * h + z[i] * z[i]) - radius);
    }
}

static void plane(const Shape *s, int n, const float *restrict x, const float *restrict y,
                  const float *restrict z, float *restrict d) {
    float nx = s->normal[0], ny = s->normal[1], nz = s->normal[2], scale = s->scale;
    for (int i = 0; i < n; i++) d[i] = scale * (nx * x[i] + ny * y[i] + nz * z[i]);
}

static void torus(const Shape *s, int n, const float *restrict x, const float *restrict y,
                  const float *restrict z, float *restrict d) {
    float radius = s->radius, tube = s->tube, scale = s->scale;
    for (int i = 0; i < n; i++) {
        float q = sqrtf(x[i] * x[i] + z[i] * z[i]) - radius;
        d[i] = scale * (sqrtf(q * q + y[i] * y[i]) - tube);
    }
}

void shape_leaf_distance(const Shape *s, int n, const float *x, const float *y, const float *z,
                         float *d) {
    switch (s->kind) {
    case BRIM_SHAPE_BOX:
        box(s, n, x, y, z, d);
        return;
    case BRIM_SHAPE_SPHERE:
        sphere(s, n, x, y, z, d);
        return;
    case BRIM_SHAPE_CYLINDER:
        cylinder(s, n, x, y, z, d);
        return;
    case BRIM_SHAPE_CAPSULE:
        capsule(s, n, x, y, z, d);
        return;
    case BRIM_SHAPE_PLANE:
        plane(s, n, x, y, z, d);
        return;
    case BRIM_SHAPE_TORUS:
        torus(s, n, x, y, z, d);
        return;
    case BRIM_SHAPE_HEIGHT_FIELD:
        height_field_distance(&s->ground, n, x, y, z, d);
        break;
    case BRIM_SHAPE_MESH:
        distance_grid_sample(&s->mesh, n, x, y, z, d);
        break;
    case BRIM_SHAPE_UNION:
    case BRIM_SHAPE_DIFFERENCE:
    case BRIM_SHAPE_SMOOTH_UNION:
        return;
    }
    for (int i = 0; i < n; i++) d[i] *= s->scale;
}
