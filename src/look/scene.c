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
    Spheres spheres = {.radius = 0.62f * p->spacing, .least = 0.8f};
    BrimResult result = water_splat(&seen, &s->sun, p->frame, &spheres, p->team, error);
    if (result != BRIM_OK) return result;
    s->shadow = seen.depth;
    solids_shadow(&p->solids, &s->sun, s->shadow, p->team);
    return BRIM_OK;
}

/// (water, hit, floor) => surface: the nearest that is not clear. A row of it.
static void join_row(void *context, int y, int thread) {
    Scene *s = context;
    int width = s->camera.width;
    for (int x = 0; x < width; x++) {
        size_t i = (size_t)y * (size_t)width + (size_t)x;
        float depth = fminf(s->water.depth[i], floor_depth(s, x, y));
        if (s->hit && !s->hit[i].clear) depth = fminf(depth, s->hit[i].near);
        if (s->hit && !s->hit[i].behind_clear) depth = fminf(depth, s->hit[i].behind);
        s->surface[i] = depth;
    }
}

/// Whether a point of the box is behind water or a solid.
static bool hidden(const Scene *s, BrimVec3 at) {
    int x = (int)at.x, y = (int)at.y;
    if (x < 0 || y < 0 || x >= s->camera.width || y >= s->camera.height) return true;
    size_t i = (size_t)y * (size_t)s->camera.width + (size_t)x;
    float front = s->surface[i], skin = s->picture->spacing + 0.004f * s->extent;
    if (s->hit) front = fminf(front, s->hit[i].near);
    return front + skin < at.z;
}

/// An edge of the box: each stretch that is in sight as one line.
static void draw_edge(const Scene *s, Image *image, BrimVec3 a, BrimVec3 b) {
    enum { PIECES = 512 };
    BrimVec3 ink = colour_hex(0x5b6b7a), begin = view_project(&s->camera, a);
    float fine = (float)s->fine, pen = fmaxf(1.0f, 1.3f * (float)image->height / 720);
    bool drawing = false;
    for (int k = 0; k <= PIECES; k++) {
        BrimVec3 at = view_project(&s->camera, vec_mix(a, b, (float)k / PIECES));
        bool seen = !hidden(s, at);
        if (seen && !drawing) begin = at;
        if (drawing && (!seen || k == PIECES))
            image_line(image, begin.x / fine, begin.y / fine, at.x / fine, at.y / fine, pen, ink,
                       0.35f);
        drawing = seen;
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
    bool joined = p->want->style == BRIM_STYLE_WATER;
    Spheres spheres = {.radius = (joined ? 0.75f : 0.55f) * p->spacing,
                       .least = 0.9f,
                       .walls = joined ? &p->def->size : NULL,
                       .value = p->value};
    result = water_splat(&s->water, &s->camera, p->frame, &spheres, p->team, error);
    if (result != BRIM_OK) return result;
    if (joined) {
        result =
            water_smooth(&s->water, &s->camera, 0.9f * p->spacing, 5 * p->spacing, p->team, error);
        if (result != BRIM_OK) return result;
        // smoothing rounds edges off, into the floor too
        water_clip(&s->water, &s->camera, p->def->size, p->team);
    }
    result = cast_shadow(s, error);
    if (result != BRIM_OK) return result;
    if (s->hit) solids_trace(&p->solids, &s->camera, s->water.depth, s->hit, p->team);
    team_for(s->picture->team, s->camera.height, 8, join_row, s);
    light_scene(s);
    shade_scene(s, image);
    foam_paint(p, &s->camera, s->fine, s->surface, image);
    draw_box(s, image);
    return BRIM_OK;
}

BrimResult scene_draw(Picture *p, BrimError *error) {
    int64_t pixels = (int64_t)p->image.width * p->image.height;
    Scene s = {.picture = p, .fine = pixels <= FINE_PIXELS ? 2 : 1};
    s.camera = picture_camera(p, s.fine, true);
    s.sun = view_light(p->def->size, sun_direction(), SHADOW_SIDE);
    s.extent = vec_length(p->def->size);
    BrimResult result = draw_stages(&s, &p->image, error);
    scene_free(&s);
    return result;
}
