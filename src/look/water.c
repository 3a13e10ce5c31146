// Particles as spheres in a depth buffer, and the smoothing that joins them into a surface.
#include "base/error.h"
#include "base/memory.h"
#include "look/look.h"
#include <stdlib.h>
#include <string.h>

// A pixel of the splat buffer is a depth's bits above a particle's index. Depths are positive, so
// their bits sort like the numbers, and the least of all offers is the same in any order: threads
// may race for a pixel and the picture stays the same.
static const uint64_t nothing = UINT64_MAX;

static void offer(uint64_t *pixel, float depth, uint32_t index) {
    uint32_t bits;
    memcpy(&bits, &depth, sizeof bits);
    uint64_t key = (uint64_t)bits << 32 | index;
    uint64_t old = __atomic_load_n(pixel, __ATOMIC_RELAXED);
    while (key < old && !__atomic_compare_exchange_n(pixel, &old, key, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
    }
}

static void splat_sphere(uint64_t *pixels, const View *v, BrimVec3 p, const Spheres *spheres,
                         uint32_t index) {
    float radius = spheres->radius, least = spheres->least;
    BrimVec3 at = view_project(v, p);
    if (!(at.z > radius) || !(at.z < 1e30f)) return;
    float scale = v->parallel ? v->scale : v->scale / at.z;
    float r = fmaxf(radius * scale, least), metres = r / scale;
    if (!(at.x > -r && at.x < (float)v->width + r && at.y > -r && at.y < (float)v->height + r))
        return;
    int left = (int)fmaxf(ceilf(at.x - r - 0.5f), 0);
    int right = (int)fminf(floorf(at.x + r - 0.5f), (float)(v->width - 1));
    int top = (int)fmaxf(ceilf(at.y - r - 0.5f), 0);
    int bottom = (int)fminf(floorf(at.y + r - 0.5f), (float)(v->height - 1));
    for (int y = top; y <= bottom; y++) {
        uint64_t *row = pixels + (size_t)y * (size_t)v->width;
        float dy = ((float)y + 0.5f - at.y) / r;
        for (int x = left; x <= right; x++) {
            float dx = ((float)x + 0.5f - at.x) / r, rest = 1 - dx * dx - dy * dy;
            if (rest > 0) offer(&row[x], at.z - metres * sqrtf(rest), index);
        }
    }
}

/// Spheres drawn into pixels.
typedef struct Splat {
    Water *w;
    const View *view;
    const BrimFrame *frame;
    const Spheres *spheres;
    uint64_t *pixels;
} Splat;

/// (pixels) => depth, value of a row
static void unpack_row(void *context, int y, int thread) {
    const Splat *s = context;
    Water *w = s->w;
    const uint64_t *pixels = s->pixels;
    const float *value = s->spheres->value;
    size_t first = (size_t)y * (size_t)w->width;
    for (size_t i = first; i < first + (size_t)w->width; i++) {
        uint32_t bits = (uint32_t)(pixels[i] >> 32);
        float depth = INFINITY;
        if (pixels[i] != nothing) memcpy(&depth, &bits, sizeof depth);
        w->depth[i] = depth;
        if (value) w->value[i] = pixels[i] == nothing ? 0 : value[pixels[i] & UINT32_MAX];
    }
}

static float to_wall(float x, float high, float reach) {
    return fabsf(x) < reach ? 0 : fabsf(x - high) < reach ? high : x;
}

static void splat_particle(uint64_t *pixels, const View *v, BrimVec3 p, const Spheres *spheres,
                           uint32_t index) {
    splat_sphere(pixels, v, p, spheres, index);
    if (!spheres->walls) return;
    BrimVec3 high = *spheres->walls;
    float reach = 2 * spheres->radius;
    BrimVec3 at =
        vec(to_wall(p.x, high.x, reach), to_wall(p.y, high.y, reach), to_wall(p.z, high.z, reach));
    if (at.x != p.x || at.y != p.y || at.z != p.z) splat_sphere(pixels, v, at, spheres, index);
}

enum { SPLAT_PART = 4096 };

/// Draws a part of the particles.
static void splat_part(void *context, int index, int thread) {
    const Splat *s = context;
    const BrimFrame *f = s->frame;
    size_t first = (size_t)index * SPLAT_PART, end = first + SPLAT_PART;
    for (size_t i = first; i < end && i < f->count; i++)
        splat_particle(s->pixels, s->view, vec(f->x[i], f->y[i], f->z[i]), s->spheres, (uint32_t)i);
}

BrimResult water_splat(Water *w, const View *view, const BrimFrame *frame, const Spheres *spheres,
                       Team *team, BrimError *error) {
    size_t n = (size_t)view->width * (size_t)view->height;
    *w = (Water){.width = view->width, .height = view->height};
    uint64_t *pixels = memory_new(n * sizeof *pixels);
    w->depth = memory_new(n * sizeof(float));
    if (spheres->value) w->value = memory_new(n * sizeof(float));
    if (!pixels || !w->depth || (spheres->value && !w->value)) {
        free(pixels);
        water_free(w);
        return fail(error, BRIM_ERROR_MEMORY,
                    "out of memory for a picture of %d x %d; ask for a smaller one", view->width,
                    view->height);
    }
    memset(pixels, 0xff, n * sizeof *pixels);
    Splat splat = {w, view, frame, spheres, pixels};
    team_for(team, team_parts(frame->count, SPLAT_PART), 1, splat_part, &splat);
    team_for(team, w->height, 8, unpack_row, &splat);
    free(pixels);
    return BRIM_OK;
}

void water_free(Water *w) {
    free(w->depth);
    free(w->value);
    *w = (Water){0};
}

typedef struct Clipping {
    Water *w;
    const View *view;
    BrimVec3 size;
} Clipping;

static void clip_row(void *context, int y, int thread) {
    const Clipping *c = context;
    for (int x = 0; x < c->w->width; x++) {
        float *depth = &c->w->depth[(size_t)y * (size_t)c->w->width + (size_t)x];
        if (*depth == INFINITY) continue;
        BrimVec3 origin, ray = view_ray(c->view, (float)x + 0.5f, (float)y + 0.5f, &origin);
        BoxSpan span = box_span(c->size, origin, ray);
        // just inside the far side, so that the floor does not show through
        float inside = clampf(*depth, span.begin, 0.9999f * span.end);
        *depth = span.begin < span.end ? inside : INFINITY;
    }
}

void water_clip(Water *w, const View *view, BrimVec3 size, Team *team) {
    team_for(team, w->height, 1, clip_row, &(Clipping){w, view, size});
}

// ---------------------------------------------------------------------------------- smoothing

enum { TAPS_MOST = 24 };

typedef struct Smoothing {
    const View *view;
    float reach, range;
    size_t stride; ///< 1: along rows; width: along columns
} Smoothing;

/// One pixel, one direction. Samples count in pairs, or a slope would shift where one is left out:
/// a pair with a sample in front belongs in part to something else and is dropped; a sample far
/// behind counts as a little behind, so that edges round off and drops stay balls.
static void smooth_pixel(const Smoothing *s, const Water *from, size_t i, int before, int after,
                         float *depth, float *value) {
    float z0 = from->depth[i], pixels = s->reach * s->view->scale / z0;
    pixels = clampf(pixels, 0.5f, TAPS_MOST / 2.0f);
    int taps = (int)ceilf(2 * pixels);
    float falloff = -0.5f / (pixels * pixels), edge = z0 + 0.5f * s->reach;
    float sum = 1, z = z0, v = from->value[i], values = 1;
    for (int k = 1; k <= taps; k++) {
        size_t away = (size_t)k * s->stride;
        float a = k <= before ? from->depth[i - away] : INFINITY;
        float b = k <= after ? from->depth[i + away] : INFINITY;
        if (fminf(a, b) < z0 - s->range) continue;
        float weight = expf(falloff * (float)(k * k));
        if (a <= z0 + s->range) v += weight * from->value[i - away], values += weight;
        if (b <= z0 + s->range) v += weight * from->value[i + away], values += weight;
        z += weight * ((a <= z0 + s->range ? a : edge) + (b <= z0 + s->range ? b : edge));
        sum += 2 * weight;
    }
    *depth = z / sum, *value = v / values;
}

typedef struct SmoothPass {
    const Smoothing *s;
    const Water *from;
    Water *to;
} SmoothPass;

static void smooth_row(void *context, int y, int thread) {
    const SmoothPass *pass = context;
    const Smoothing *s = pass->s;
    const Water *from = pass->from;
    Water *to = pass->to;
    int w = from->width, h = from->height;
    for (int x = 0; x < w; x++) {
        size_t i = (size_t)y * (size_t)w + (size_t)x;
        to->depth[i] = INFINITY, to->value[i] = 0;
        if (from->depth[i] == INFINITY) continue;
        bool along_row = s->stride == 1;
        smooth_pixel(s, from, i, along_row ? x : y, along_row ? w - 1 - x : h - 1 - y,
                     &to->depth[i], &to->value[i]);
    }
}

BrimResult water_smooth(Water *w, const View *view, float reach, float range, Team *team,
                        BrimError *error) {
    size_t n = (size_t)w->width * (size_t)w->height;
    Water other = {.width = w->width, .height = w->height};
    other.depth = memory_new(n * sizeof(float));
    other.value = memory_new(n * sizeof(float));
    if (!other.depth || !other.value) {
        water_free(&other);
        return fail(error, BRIM_ERROR_MEMORY,
                    "out of memory for a picture of %d x %d; ask for a "
                    "smaller one",
                    w->width, w->height);
    }
    for (int pass = 0; pass < 3; pass++) {
        Smoothing s = {view, reach, range, 1};
        team_for(team, w->height, 1, smooth_row, &(SmoothPass){&s, w, &other});
        s.stride = (size_t)w->width;
        team_for(team, w->height, 1, smooth_row, &(SmoothPass){&s, &other, w});
    }
    water_free(&other);
    return BRIM_OK;
}
