// Where the camera and the light stand.
#include "look/look.h"
#include <stddef.h>

static const float degree = 0.01745329252f;

/// Axes of a view that looks along `forward`, with y up; straight up and down, x to the right.
static void set_axes(View *v, BrimVec3 forward) {
    v->forward = vec_unit(forward);
    BrimVec3 across = vec_cross(v->forward, vec(0, 1, 0));
    v->right = vec_length(across) > 1e-4f ? vec_unit(across) : vec(1, 0, 0);
    v->up = vec_cross(v->right, v->forward);
}

static BrimVec3 corner(BrimVec3 size, int i) {
    return vec(i & 1 ? size.x : 0, i & 2 ? size.y : 0, i & 4 ? size.z : 0);
}

/// Nearest eye along one axis of the picture: every corner's offset a and depth z must satisfy
/// -below * (z - eye_z) <= a - eye_a <= above * (z - eye_z). Returns the largest eye_z.
static float fit_axis(const View *v, BrimVec3 axis, BrimVec3 size, float below, float above) {
    float most = -INFINITY, least = INFINITY;
    for (int i = 0; i < 8; i++) {
        float a = vec_dot(corner(size, i), axis), z = vec_dot(corner(size, i), v->forward);
        most = fmaxf(most, a - above * z);
        least = fminf(least, a + below * z);
    }
    return (least - most) / (below + above);
}

/// The eye's place along the axis when it stands at eye_z, in the middle of what is allowed.
static float fit_aside(const View *v, BrimVec3 axis, BrimVec3 size, float below, float above,
                       float eye_z) {
    float least = -INFINITY, most = INFINITY;
    for (int i = 0; i < 8; i++) {
        float a = vec_dot(corner(size, i), axis), z = vec_dot(corner(size, i), v->forward) - eye_z;
        least = fmaxf(least, a - above * z);
        most = fminf(most, a + below * z);
    }
    return 0.5f * (least + most);
}

/// What of a picture stays free around the box, and how the eye looks at it.
typedef struct Framing {
    float azimuth, elevation, angle; ///< degrees
    float top, bottom, side;         ///< shares of height and width
    float centre;                    ///< where straight ahead is, share of the height
} Framing;

static View frame_box(BrimVec3 size, int width, int height, const Framing *f) {
    View v = {.width = width, .height = height};
    float w = (float)width, h = (float)height;
    float azimuth = degree * f->azimuth, elevation = degree * f->elevation;
    set_axes(&v, vec(-sinf(azimuth) * cosf(elevation), -sinf(elevation),
                     -cosf(azimuth) * cosf(elevation)));
    v.scale = h / 2 / tanf(0.5f * f->angle * degree);
    v.centre_x = w / 2, v.centre_y = f->centre * h;
    float side = (0.5f - f->side) * w / v.scale;
    float above = (f->centre - f->top) * h / v.scale;
    float below = (1 - f->bottom - f->centre) * h / v.scale;
    float eye_z =
        fminf(fit_axis(&v, v.right, size, side, side), fit_axis(&v, v.up, size, below, above));
    float eye_x = fit_aside(&v, v.right, size, side, side, eye_z);
    float eye_y = fit_aside(&v, v.up, size, below, above, eye_z);
    v.eye =
        vec_add(vec_add(vec_mul(v.right, eye_x), vec_mul(v.up, eye_y)), vec_mul(v.forward, eye_z));
    return v;
}

/// 1 for a box as high as it is wide, 0 for a flat one.
static float box_height(BrimVec3 size) {
    return smooth_step(0.2f, 1.0f, size.y / fmaxf(size.x, size.z));
}

View view_camera(BrimVec3 size, int width, int height) {
    // a long side is shown rather from the side; a flat box rather from above; text stands above
    // and below
    const Framing framing = {.azimuth = size.x >= size.z ? 32 : 58,
                             .elevation = 34 - 17 * box_height(size),
                             .angle = 28,
                             .top = 0.10f,
                             .bottom = 0.12f,
                             .side = 0.05f,
                             .centre = 0.49f};
    return frame_box(size, width, height, &framing);
}

View view_water(BrimVec3 size, bool ground, int width, int height) {
    // a long side is shown rather from the side;
    // the horizon is in the picture: straight ahead lies below its middle, as when a lens is
    // shifted
    const Framing framing = {.azimuth = size.x > 1.3f * size.z   ? 20
                                        : size.z > 1.3f * size.x ? 70
                                                                 : 32,
                             .elevation = ground ? 42 : 23 - 5 * box_height(size),
                             .angle = 38,
                             .top = 0.08f,
                             .bottom = 0.07f,
                             .side = 0.06f,
                             .centre = ground ? 0.5f : 0.62f};
    return frame_box(size, width, height, &framing);
}

View view_box(BrimVec3 low, BrimVec3 high, int width, int height) {
    BrimVec3 size = vec_sub(high, low);
    View v = view_water(size, false, width, height);
    v.eye = vec_add(v.eye, low);
    return v;
}

/// Slope of a smooth curve through three keys, 0 at the ends of the way.
static float slope(float before, float after, double time_before, double time_after) {
    return time_after > time_before ? (after - before) / (float)(time_after - time_before) : 0;
}

/// A number between keys k and k + 1 of `count`, by Hermite's cubic.
static float between(const BrimCameraKey *keys, int count, int k, size_t offset, double time) {
    const BrimCameraKey *a = &keys[k], *b = &keys[k + 1];
    const BrimCameraKey *before = k > 0 ? a - 1 : a, *after = k + 2 < count ? b + 1 : b;
#define AT_KEY(KEY) (*(const float *)((const char *)(KEY) + offset))
    float gap = (float)(b->time - a->time), t = (float)(time - a->time) / gap;
    float from = k > 0 ? slope(AT_KEY(before), AT_KEY(b), before->time, b->time) : 0;
    float to = k + 2 < count ? slope(AT_KEY(a), AT_KEY(after), a->time, after->time) : 0;
    float t2 = t * t, t3 = t2 * t;
    return (2 * t3 - 3 * t2 + 1) * AT_KEY(a) + (t3 - 2 * t2 + t) * gap * from +
           (3 * t2 - 2 * t3) * AT_KEY(b) + (t3 - t2) * gap * to;
#undef AT_KEY
}

BrimCamera look_camera(const BrimLookDef *look, double time) {
    const BrimCameraKey *keys = look->keyframes;
    int n = look->keyframe_count, k = 0;
    if (n == 0) return (BrimCamera){look->eye, look->target, look->angle};
    while (k < n - 1 && keys[k + 1].time <= time) k++;
    if (time <= keys[0].time || k == n - 1)
        return (BrimCamera){keys[k].eye, keys[k].target, keys[k].angle};
    BrimCamera c;
    float *const to[7] = {&c.eye.x,    &c.eye.y,    &c.eye.z, &c.target.x,
                          &c.target.y, &c.target.z, &c.angle};
    const size_t from[7] = {offsetof(BrimCameraKey, eye.x),    offsetof(BrimCameraKey, eye.y),
                            offsetof(BrimCameraKey, eye.z),    offsetof(BrimCameraKey, target.x),
                            offsetof(BrimCameraKey, target.y), offsetof(BrimCameraKey, target.z),
                            offsetof(BrimCameraKey, angle)};
    for (int i = 0; i < 7; i++) *to[i] = between(keys, n, k, from[i], time);
    return c;
}

View view_from(const BrimCamera *camera, int width, int height) {
    View v = {.width = width, .height = height, .eye = camera->eye};
    set_axes(&v, vec_sub(camera->target, camera->eye));
    float angle = camera->angle > 0 ? camera->angle : 36;
    v.scale = (float)height / 2 / tanf(0.5f * angle * degree);
    v.centre_x = 0.5f * (float)width, v.centre_y = 0.5f * (float)height;
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
