// The ray-traced picture: meshes into a tree, then pixels, more samples where they differ.
#include "look/tracer.h"
#include "base/error.h"
#include "base/memory.h"
#include <pthread.h>
#include <stdlib.h>

enum { TILE = 16, SOLID_NODES = 12000000, MORE = 3 };

// ------------------------------------------------------------------------------------- meshes

/// Solids of one kind, cut by the box.
typedef struct CutSolids {
    const Solids *solids;
    bool clear;
} CutSolids;

static void cut_distance(const void *context, int n, const float *x, const float *y, const float *z,
                         float *distance) {
    const CutSolids *c = context;
    BrimVec3 size = c->solids->size;
    solids_distance_kind(c->solids, c->clear, n, x, y, z, distance);
    for (int i = 0; i < n; i++) {
        float out = fmaxf(fmaxf(-x[i], x[i] - size.x), fmaxf(-z[i], z[i] - size.z));
        out = fmaxf(out, fmaxf(-y[i], y[i] - size.y));
        distance[i] = fmaxf(distance[i], out);
    }
}

static bool any_solids(const Tracer *t, bool clear) {
    bool any = false;
    for (int i = 0; i < t->solids->count; i++) any = any || t->solids->clear[i] == clear;
    return any;
}

static BrimResult add_solids(Tracer *t, RayScene *to, bool clear, BrimError *error) {
    CutSolids cut = {t->solids, clear};
    ContourField field = {.distance = cut_distance, .context = &cut, .team = t->team};
    // as fine as half a cell, no finer than memory allows; nodes off the box's sides by a part of
    // their spacing, so that its sides fall between two
    field.spacing = fmaxf(0.5f * t->cell, cbrtf(t->size.x * t->size.y * t->size.z / SOLID_NODES));
    t->lift = fmaxf(t->lift, 0.06f * field.spacing);
    const float size[3] = {t->size.x, t->size.y, t->size.z};
    for (int k = 0; k < 3; k++) field.nodes[k] = (int)ceilf(size[k] / field.spacing + 0.5f) + 3;
    float before = -1.37f * field.spacing;
    field.low = vec(before, before, before);
    Contour contour;
    BrimResult result = contour_new(&field, &contour, error);
    if (result != BRIM_OK) return result;
    Mesh mesh = {.vertex_count = contour.vertex_count,
                 .triangle_count = contour.triangle_count,
                 .position = contour.position,
                 .triangle = contour.triangle};
    result = ray_scene_add(to, &mesh, clear ? MESH_GLASS : MESH_SOLID, 0, error);
    contour_free(&contour);
    return result;
}

/// A thin rod from a to b: a box without ends.
static int add_rod(float (*position)[3], uint32_t (*triangle)[3], int rods, BrimVec3 a, BrimVec3 b,
                   float half) {
    bool along_x = a.x != b.x, along_y = a.y != b.y;
    BrimVec3 u = along_x ? vec(0, half, 0) : along_y ? vec(0, 0, half) : vec(half, 0, 0);
    BrimVec3 v = along_x ? vec(0, 0, half) : along_y ? vec(half, 0, 0) : vec(0, half, 0);
    uint32_t first = 8 * (uint32_t)rods;
    for (int k = 0; k < 8; k++) {
        BrimVec3 p = k & 4 ? b : a;
        p = vec_add(p, vec_mul(u, k == 1 || k == 2 || k == 5 || k == 6 ? 1 : -1));
        p = vec_add(p, vec_mul(v, (k & 3) >= 2 ? 1 : -1));
        position[first + (uint32_t)k][0] = p.x, position[first + (uint32_t)k][1] = p.y;
        position[first + (uint32_t)k][2] = p.z;
    }
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t next = (k + 1) % 4, *one = triangle[first + 2 * k], *two = one + 3;
        one[0] = first + k, one[1] = first + next, one[2] = first + 4 + next;
        two[0] = first + k, two[1] = first + 4 + next, two[2] = first + 4 + k;
    }
    return rods + 1;
}

/// Rods along the edges where two walls of the domain meet, but for those on the floor.
static BrimResult add_tank(Tracer *t, const BrimSide sides[6], BrimError *error) {
    float position[12 * 8][3], half = 0.0011f * t->extent;
    uint32_t triangle[12 * 8][3];
    int rods = 0;
    const float size[3] = {t->size.x, t->size.y, t->size.z};
    for (int axis = 0; axis < 3; axis++) {
        int u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (int k = 0; k < 4; k++) {
            int at_u = k & 1, at_v = k >> 1;
            bool down = (u == 1 && !at_u) || (v == 1 && !at_v);
            bool open =
                sides[2 * u + at_u] != BRIM_SIDE_WALL || sides[2 * v + at_v] != BRIM_SIDE_WALL;
            if (down || open) continue;
            float a[3] = {0}, b[3] = {0};
            a[u] = b[u] = at_u ? size[u] + half : -half;
            a[v] = b[v] = at_v ? size[v] + half : -half;
            a[axis] = 0, b[axis] = size[axis];
            rods = add_rod(position, triangle, rods, vec(a[0], a[1], a[2]), vec(b[0], b[1], b[2]),
                           half);
        }
    }
    Mesh mesh = {.vertex_count = 8 * (size_t)rods,
                 .triangle_count = 8 * (size_t)rods,
                 .position = position[0],
                 .triangle = triangle[0]};
    return ray_scene_add(t->tank, &mesh, MESH_TANK, 0, error);
}

static BrimResult build_water(Tracer *t, const WaterPicture *p, BrimError *error) {
    BrimResult result = ray_scene_new(&t->surface, error);
    if (result == BRIM_OK) result = ray_scene_add(t->surface, t->water, MESH_WATER, p->blur, error);
    return result == BRIM_OK ? ray_scene_build(t->surface, error) : result;
}

static BrimResult build_solids(Tracer *t, RayScene **scene, bool clear, BrimError *error) {
    BrimResult result = ray_scene_new(scene, error);
    if (result == BRIM_OK && any_solids(t, clear)) result = add_solids(t, *scene, clear, error);
    return result == BRIM_OK ? ray_scene_build(*scene, error) : result;
}

static BrimResult build_tank(Tracer *t, const WaterPicture *p, BrimError *error) {
    BrimResult result = ray_scene_new(&t->tank, error);
    // ground that fills the box shows by itself where it ends
    bool ground = false;
    for (int i = 0; i < t->solids->count; i++) ground = ground || t->solids->ground[i];
    if (result == BRIM_OK && !ground && t->look->box) result = add_tank(t, p->def->sides, error);
    return result == BRIM_OK ? ray_scene_build(t->tank, error) : result;
}

static BrimResult build_foam(Tracer *t, const WaterPicture *p, BrimError *error) {
    const BrimFoamFrame *f = p->foam;
    if (!f || !f->count) return BRIM_OK;
    float(*ball)[4] = memory_new(f->count * sizeof *ball);
    float(*velocity)[3] = memory_new(f->count * sizeof *velocity);
    BrimResult result =
        ball && velocity ? ray_scene_new(&t->white, error)
                         : fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's foam");
    for (size_t i = 0; i < f->count && result == BRIM_OK; i++) {
        const BrimFoamParticle *q = &f->particle[i];
        for (int a = 0; a < 3; a++) ball[i][a] = q->position[a], velocity[i][a] = q->velocity[a];
        ball[i][3] = q->size;
    }
    if (result == BRIM_OK)
        result = ray_scene_add_balls(t->white, f->count, ball[0], velocity[0], MESH_FOAM, p->blur,
                                     error);
    if (result == BRIM_OK) result = ray_scene_build(t->white, error);
    free(ball), free(velocity);
    t->foam = f;
    return result;
}

BrimResult tracer_new(Tracer *t, const WaterPicture *p, BrimError *error) {
    BrimVec3 size = p->def->size;
    *t = (Tracer){.solids = p->solids, .water = p->water, .camera = p->camera, .size = size};
    t->team = p->team;
    t->cell = size.x / (float)p->def->cells[0];
    t->extent = vec_length(size);
    t->skin = 2e-3f * t->cell, t->lift = 0.03f * t->cell;
    t->look = &p->def->look;
    t->frame_time = (float)(1 / p->def->frame_rate);
    t->lens = 0.5f * t->look->aperture, t->focus = p->focus;
    float largest = fmaxf(size.x, size.z), power = powf(10, floorf(log10f(largest)));
    t->line = power * (largest / power < 2.5f ? 0.2f : largest / power < 6 ? 0.5f : 1);
    BrimResult result = tracer_light(t, error);
    if (result == BRIM_OK) result = build_water(t, p, error);
    if (result == BRIM_OK) result = build_solids(t, &t->matte, false, error);
    if (result == BRIM_OK && any_solids(t, true)) result = build_solids(t, &t->glass, true, error);
    if (result == BRIM_OK) result = build_tank(t, p, error);
    if (result == BRIM_OK) result = build_foam(t, p, error);
    if (result == BRIM_OK && t->look->ground) result = tracer_light_floor(t, error);
    if (result == BRIM_OK && t->look->ground && t->look->caustics) result = tracer_gather(t, error);
    if (result != BRIM_OK) tracer_free(t);
    return result;
}

void tracer_free(Tracer *t) {
    ray_scene_free(&t->surface);
    ray_scene_free(&t->matte);
    ray_scene_free(&t->tank);
    ray_scene_free(&t->glass);
    ray_scene_free(&t->white);
    free(t->open.value);
    free(t->lit.value);
    free(t->sky.pixel);
    t->open.value = t->lit.value = NULL, t->sky.pixel = NULL;
}

// ------------------------------------------------------------------------------------- pixels

/// Filmic curve (Narkowicz's fit of the ACES reference): deep shades stay, lights roll off.
static float tone(float x) {
    return clampf(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0, 1);
}

/// Exposure; then, for a screen, the curve.
static BrimVec3 tone_map(BrimVec3 c, float exposure, bool scene) {
    exposure *= 0.80f;
    if (scene) return vec_mul(c, exposure);
    return vec(tone(exposure * c.x), tone(exposure * c.y), tone(exposure * c.z));
}

/// Standard error of a pixel's lightness, 0 to 1, from which on it gets more samples: some weight
/// at the first, all of it at the second, so that a pixel changes little when it comes to be
/// unsure.
static const float unsure[2] = {0.010f, 0.014f};

/// The same for what one sample may change, steps of 255, where water stands still.
static const float flicker[2] = {0.2f, 0.4f};

/// Water that moves by less than this from frame to frame stands still, by twice this does not.
static const float still = 0.1f; // pixels

/// A share of [-1, 1] of a tent: samples of a pixel reach into its neighbours, less the farther.
static float tent(float x) {
    return x < 0.5f ? sqrtf(2 * x) - 1 : 1 - sqrtf(2 - 2 * x);
}

/// From a point of the lens, by way of what is sharp. d: of depth 1 along the camera's axis.
static void look_through_lens(const Tracer *t, BrimVec3 *origin, BrimVec3 *d, Square q) {
    float radius = t->lens * sqrtf(q.x), angle = 6.2831853f * q.y;
    BrimVec3 sharp = vec_add(*origin, vec_mul(*d, t->focus));
    *origin = vec_add(*origin, vec_add(vec_mul(t->camera.right, radius * cosf(angle)),
                                       vec_mul(t->camera.up, radius * sinf(angle))));
    *d = vec_sub(sharp, *origin);
}

static BrimVec3 sample_pixel(const Tracer *t, int x, int y, Sampler *s) {
    Square q = sampler_next(s, 0, 1), shutter = sampler_next(s, 0, 1);
    Ray ray = {.time = shutter.x};
    BrimVec3 d =
        view_ray(&t->camera, (float)x + 0.5f + tent(q.x), (float)y + 0.5f + tent(q.y), &ray.origin);
    if (t->lens > 0) look_through_lens(t, &ray.origin, &d, sampler_next(s, 0, 1));
    ray.direction = vec_unit(d);
    BrimVec3 c = tracer_look(t, &ray, s);
    // one glint must not outshine a whole pixel
    const float most = 4;
    return vec(fminf(c.x, most), fminf(c.y, most), fminf(c.z, most));
}

/// What a pixel's first samples are like. Colours are those of a screen.
typedef struct First {
    float mean, square;        ///< of lightness, 0 to 1, and sum of squared deviations from it
    uint8_t low[3], high[3];   ///< of the samples
    uint8_t shown[3], at_rest; ///< mean light; share of rest of the stillest water, of 255
} First;

/// A picture in the making.
typedef struct Drawing {
    const Tracer *t;
    const WaterPicture *p;
    Image *image; ///< after the first pass: sums of the first samples
    First *first; ///< [pixels]
    int across, tiles, done;
    pthread_mutex_t telling; ///< progress: one at a time
} Drawing;

static void shown_as(const Tracer *t, BrimVec3 c, uint8_t out[3]) {
    c = tone_map(c, t->look->exposure, false);
    out[0] = colour_byte(c.x), out[1] = colour_byte(c.y), out[2] = colour_byte(c.z);
}

static void widen(First *f, const uint8_t low[3], const uint8_t high[3]) {
    for (int k = 0; k < 3; k++) {
        if (low[k] < f->low[k]) f->low[k] = low[k];
        if (high[k] > f->high[k]) f->high[k] = high[k];
    }
}

/// Takes sample n.
static void add_sample(const Tracer *t, int x, int y, int n, BrimVec3 *sum, First *f) {
    Sampler s = {.pixel = (uint32_t)y * 65536u + (uint32_t)x, .sample = n, .moved = INFINITY};
    BrimVec3 c = sample_pixel(t, x, y, &s);
    *sum = vec_add(*sum, c);
    uint8_t seen[3], at_rest = (uint8_t)(255 * clampf(2 - s.moved / still, 0, 1));
    shown_as(t, c, seen);
    widen(f, seen, seen);
    if (at_rest > f->at_rest) f->at_rest = at_rest;
    float shown = sqrtf(tone(0.2f * c.x + 0.7f * c.y + 0.1f * c.z)), step = shown - f->mean;
    f->mean += step / (float)(n + 1), f->square += step * (shown - f->mean);
}

static int samples_of_part(const Drawing *d) {
    return (d->p->samples + 1) / 2;
}

/// Half of the samples.
static void begin_pixel(const Drawing *d, int x, int y, size_t at) {
    BrimVec3 sum = vec(0, 0, 0);
    First f = {.low = {255, 255, 255}};
    int n = samples_of_part(d);
    for (int k = 0; k < n; k++) add_sample(d->t, x, y, k, &sum, &f);
    shown_as(d->t, vec_mul(sum, 1 / (float)n), f.shown);
    d->image->pixel[at] = sum, d->first[at] = f;
}

/// Of a pixel and those around it, which tell of an edge that its own samples missed by chance.
static First around(const Drawing *d, int x, int y, size_t at) {
    First f = d->first[at];
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int u = x + dx, v = y + dy;
            if (u < 0 || v < 0 || u >= d->image->width || v >= d->image->height) continue;
            const First *g = &d->first[(size_t)v * (size_t)d->image->width + (size_t)u];
            widen(&f, g->shown, g->shown);
            if (g->at_rest > f.at_rest) f.at_rest = g->at_rest;
        }
    return f;
}

/// How much more samples count than the n there are: 0 to 1.
static float want_more(const First *f, int n, int most) {
    float error = n > 1 ? sqrtf(f->square / ((float)n * (float)(n - 1))) : INFINITY, range = 0;
    float more = clampf((error - unsure[0]) / (unsure[1] - unsure[0]), 0, 1);
    for (int k = 0; k < 3; k++) range = fmaxf(range, (float)(f->high[k] - f->low[k]));
    float steps = range * (float)f->at_rest / (255 * (float)n);
    float shows = clampf((steps - flicker[0]) / (flicker[1] - flicker[0]), 0, 1);
    return fmaxf(n < most ? more : 0, shows);
}

/// As many samples again as long as they differ too much for their mean to be sure, up to three
/// times what was asked for; more where the water stands still and one of them would be seen to
/// fall on this or that side of an edge from frame to frame.
static void end_pixel(const Drawing *d, int x, int y, size_t at) {
    BrimVec3 sum = d->image->pixel[at], mean = vec(0, 0, 0);
    First f = around(d, x, y, at);
    int part = samples_of_part(d), n = part;
    float left = 1;
    for (;;) {
        float more = want_more(&f, n, MORE * d->p->samples);
        mean = vec_add(mean, vec_mul(sum, left * (1 - more) / (float)n));
        left *= more;
        if (left <= 0) break;
        for (int k = 0; k < part; k++) add_sample(d->t, x, y, n++, &sum, &f);
    }
    d->image->pixel[at] = tone_map(mean, d->t->look->exposure, d->image->scene);
}

static void draw_tile(Drawing *d, int index, void (*draw)(const Drawing *, int, int, size_t)) {
    const BrimPictureDef *want = d->p->want;
    int left = index % d->across * TILE, top = index / d->across * TILE;
    for (int y = top; y < top + TILE && y < d->image->height; y++)
        for (int x = left; x < left + TILE && x < d->image->width; x++)
            draw(d, x, y, (size_t)y * (size_t)d->image->width + (size_t)x);
    if (!want || !want->progress) return;
    pthread_mutex_lock(&d->telling);
    want->progress(want->progress_context, 0.5 * (double)++d->done / d->tiles);
    pthread_mutex_unlock(&d->telling);
}

static void begin_tile(void *context, int index, int thread) {
    draw_tile(context, index, begin_pixel);
}

static void end_tile(void *context, int index, int thread) {
    draw_tile(context, index, end_pixel);
}

static BrimResult draw_pixels(const Tracer *t, const WaterPicture *p, Image *image,
                              BrimError *error) {
    int across = (image->width + TILE - 1) / TILE, down = (image->height + TILE - 1) / TILE;
    Drawing d = {.t = t, .p = p, .image = image, .across = across, .tiles = across * down};
    d.first = memory_new((size_t)image->width * (size_t)image->height * sizeof *d.first);
    if (!d.first)
        return fail(error, BRIM_ERROR_MEMORY,
                    "out of memory for a picture of %d x %d; ask for a smaller one", image->width,
                    image->height);
    pthread_mutex_init(&d.telling, NULL);
    team_for(t->team, d.tiles, 1, begin_tile, &d);
    team_for(t->team, d.tiles, 1, end_tile, &d);
    pthread_mutex_destroy(&d.telling);
    free(d.first);
    return BRIM_OK;
}

BrimResult water_picture_draw(const WaterPicture *p, Image *image, BrimError *error) {
    Tracer t;
    BrimResult result = tracer_new(&t, p, error);
    if (result != BRIM_OK) return result;
    result = draw_pixels(&t, p, image, error);
    tracer_free(&t);
    return result;
}
