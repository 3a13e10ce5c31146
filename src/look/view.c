// Where the camera and the light stand.
#include "look/look.h"

static const float degree = 0.01745329252f;

/// Axes of a view that looks along `forward`, with y up.
static void set_axes(View *v, BrimVec3 forward) {
    v->forward = vec_unit(forward);
    v->right = vec_unit(vec_cross(v->forward, vec(0, 1, 0)));
    v->up = vec_cross(v->right, v->forward);
}

static BrimVec3 corner(BrimVec3 size, int i) {
    return vec(i & 1 ? size.x : 0, i & 2 ? size.y : 0, i & 4 ? size.z : 0);
}

/// Nearest eye along one axis of the picture: every corner's offset a and depth z must satisfy
/// |a - eye_a| <= slope * (z - eye_z). Gives the middle eye_a, returns the largest eye_z.
static float fit_axis(const View *v, BrimVec3 axis, BrimVec3 size, float slope, float *eye_a) {
    float most = -INFINITY, least = -INFINITY;
    for (int i = 0; i < 8; i++) {
        float a = vec_dot(corner(size, i), axis), z = vec_dot(corner(size, i), v->forward);
        most = fmaxf(most, a - slope * z);
        least = fmaxf(least, -a - slope * z);
    }
    *eye_a = (most - least) / 2;
    return -(most + least) / (2 * slope);
}

View view_camera(BrimVec3 size, int width, int height) {
    View v = {.width = width, .height = height};
    float w = (float)width, h = (float)height;
    // a long side is shown rather from the side; a flat box rather from above
    float azimuth = degree * (size.x >= size.z ? 32 : 58);
    float flat = smooth_step(0.2f, 1.0f, size.y / fmaxf(size.x, size.z));
    float elevation = degree * (34 - 17 * flat);
    set_axes(&v, vec(-sinf(azimuth) * cosf(elevation), -sinf(elevation),
                     -cosf(azimuth) * cosf(elevation)));
    v.scale = h / 2 / tanf(14 * degree);
    // the free part of the picture: text stands above and below it
    float top = 0.10f * h, bottom = 0.12f * h, side = 0.05f * w;
    v.centre_x = w / 2, v.centre_y = (top + h - bottom) / 2;
    float eye_x, eye_y;
    float z_x = fit_axis(&v, v.right, size, (w / 2 - side) / v.scale, &eye_x);
    float z_y = fit_axis(&v, v.up, size, (h - top - bottom) / 2 / v.scale, &eye_y);
    v.eye = vec_add(vec_add(vec_mul(v.right, eye_x), vec_mul(v.up, eye_y)),
                    vec_mul(v.forward, fminf(z_x, z_y)));
    return v;
}

View view_light(BrimVec3 size, BrimVec3 to_light, int resolution) {
    View v = {.parallel = true, .width = resolution, .height = resolution};
    set_axes(&v, vec_mul(to_light, -1));
    float radius = 0.5f * vec_length(size);
    v.scale = (float)resolution / (2.02f * radius);
    v.centre_x = v.centre_y = 0.5f * (float)resolution;
    v.eye = vec_add(vec_mul(size, 0.5f), vec_mul(v.forward, -1.5f * radius));
    return v;
}

BoxSpan box_span(BrimVec3 size, BrimVec3 origin, BrimVec3 direction) {
    const float o[3] = {origin.x, origin.y, origin.z};
    const float d[3] = {direction.x, direction.y, direction.z};
    const float high[3] = {size.x, size.y, size.z};
    BoxSpan span = {0, INFINITY, 1};
    for (int k = 0; k < 3; k++) {
        if (fabsf(d[k]) < 1e-12f) {
            if (o[k] < 0 || o[k] > high[k]) span.end = -INFINITY;
            continue;
        }
        float a = -o[k] / d[k], b = (high[k] - o[k]) / d[k];
        if (fminf(a, b) > span.begin) span.begin = fminf(a, b), span.face = k;
        span.end = fminf(span.end, fmaxf(a, b));
    }
    return span;
}
