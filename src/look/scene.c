// The 3D picture: the stages in order, and the box around the domain.
#include "look/scene.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdlib.h>

enum { SHADOW_SIDE = 1024, FINE_PIXELS = 10000000 };

static void scene_free(Scene *s) {
    water_free(&s->water);
    free(s->hit);
    free(s->surface);
    free(s->shadow);
    free(s->open);
    free(s->lit);
}

static BrimResult scene_buffers(Scene *s, BrimError *error) {
    const Image *image = &s->picture->image;
    size_t pixels = (size_t)image->width * (size_t)image->height;
    size_t samples = pixels * (size_t)(s->fine * s->fine);
    s->surface = memory_new(samples * sizeof(float));
    s->open = memory_new(2 * pixels * sizeof(float));
    s->lit = memory_new(2 * pixels * sizeof(float));
    if (s->picture->solids.count) s->hit = memory_new(samples * sizeof(SolidHit));
    if (!s->surface || !s->open || !s->lit || (s->picture->solids.count && !s->hit))
        return fail(error, BRIM_ERROR_MEMORY,
                    "out of memory for a picture of %d x %d; ask for a smaller one", image->width,
                    image->height);
    return BRIM_OK;
}

/// What the light meets: water and solids => shadow.
static BrimResult cast_shadow(Scene *s, BrimError *error) {
    const Picture *p = s->picture;
    Water seen;
    BrimResult result =
        water_splat(&seen, &s->sun, p->frame, 0.62f * p->spacing, 0.8f, false, p->threads, error);
    if (result != BRIM_OK) return result;
    s->shadow = seen.depth;
    solids_shadow(&p->solids, &s->sun, s->shadow, p->threads);
    return BRIM_OK;
}

/// (water, hit, floor) => surface: the nearest that is not clear.
static void join_surface(Scene *s) {
    int width = s->camera.width;
#pragma omp parallel for num_threads(s->picture->threads)
    for (int y = 0; y < s->camera.height; y++) {
        for (int x = 0; x < width; x++) {
            size_t i = (size_t)y * (size_t)width + (size_t)x;
            float depth = fminf(s->water.depth[i], floor_depth(s, x, y));
            if (s->hit) depth = fminf(depth, s->hit[i].clear ? s->hit[i].behind : s->hit[i].near);
            s->surface[i] = depth;
        }
    }
}

/// An edge of the box in short pieces; pieces behind water or solids are drawn faintly.
static void draw_edge(const Scene *s, Image *image, BrimVec3 a, BrimVec3 b) {
    BrimVec3 ink = colour_hex(0x5b6b7a);
    float fine = (float)s->fine, pen = fmaxf(1.0f, 1.3f * (float)image->height / 720);
    enum { PIECES = 256 };
    for (int k = 0; k < PIECES; k++) {
        BrimVec3 p = view_project(&s->camera, vec_mix(a, b, (float)k / PIECES));
        BrimVec3 q = view_project(&s->camera, vec_mix(a, b, (float)(k + 1) / PIECES));
        int x = (int)(0.5f * (p.x + q.x)), y = (int)(0.5f * (p.y + q.y));
        if (x < 0 || y < 0 || x >= s->camera.width || y >= s->camera.height) continue;
        size_t i = (size_t)y * (size_t)s->camera.width + (size_t)x;
        float front = s->surface[i], skin = s->picture->spacing + 0.004f * s->extent;
        if (s->hit) front = fminf(front, s->hit[i].near);
        bool hidden = front + skin < 0.5f * (p.z + q.z);
        image_line(image, p.x / fine, p.y / fine, q.x / fine, q.y / fine, pen, ink,
                   hidden ? 0.0f : 0.30f);
    }
}

static void draw_box(const Scene *s, Image *image) {
    BrimVec3 d = s->picture->def->size;
    for (int i = 0; i < 4; i++) {
        float u = i & 1 ? 1 : 0, v = i & 2 ? 1 : 0;
        draw_edge(s, image, vec(0, u * d.y, v * d.z), vec(d.x, u * d.y, v * d.z));
        draw_edge(s, image, vec(u * d.x, 0, v * d.z), vec(u * d.x, d.y, v * d.z));
        draw_edge(s, image, vec(u * d.x, v * d.y, 0), vec(u * d.x, v * d.y, d.z));
    }
}

static BrimResult draw_stages(Scene *s, Image *image, BrimError *error) {
    const Picture *p = s->picture;
    BrimResult result = scene_buffers(s, error);
    if (result != BRIM_OK) return result;
    result = water_splat(&s->water, &s->camera, p->frame, 0.8f * p->spacing, 0.9f, true, p->threads,
                         error);
    if (result != BRIM_OK) return result;
    result =
        water_smooth(&s->water, &s->camera, 0.9f * p->spacing, 5 * p->spacing, p->threads, error);
    if (result != BRIM_OK) return result;
    result = cast_shadow(s, error);
    if (result != BRIM_OK) return result;
    if (s->hit) solids_trace(&p->solids, &s->camera, s->hit, p->threads);
    join_surface(s);
    light_scene(s);
    shade_scene(s, image);
    draw_box(s, image);
    return BRIM_OK;
}

BrimResult scene_draw(Picture *p, BrimError *error) {
    int64_t pixels = (int64_t)p->image.width * p->image.height;
    Scene s = {.picture = p, .fine = pixels <= FINE_PIXELS ? 2 : 1};
    s.camera = view_camera(p->def->size, p->image.width * s.fine, p->image.height * s.fine);
    s.sun = view_light(p->def->size, sun_direction(), SHADOW_SIDE);
    s.extent = vec_length(p->def->size);
    BrimResult result = draw_stages(&s, &p->image, error);
    scene_free(&s);
    return result;
}
