// How much sky and sun reach each pixel: occlusion from the depth buffer, shadows from the light's.
#include "look/scene.h"

enum { TAPS = 16, PATTERN = 4 };

BrimVec3 sun_direction(void) {
    return vec_unit(vec(-0.40f, 1.0f, 0.48f));
}

/// Point k of a disk's spiral, turned by the pixel's place in a 4 x 4 pattern: the mean over the
/// pattern, taken afterwards, sees 256 points.
static void spiral(int k, int x, int y, float *dx, float *dy) {
    static const float turn[PATTERN * PATTERN] = {0, 8,  2, 10, 12, 4, 14, 6,
                                                  3, 11, 1, 9,  15, 7, 13, 5};
    float angle =
        2.39996323f * (float)k + 0.39269908f * turn[(y % PATTERN) * PATTERN + x % PATTERN];
    float radius = sqrtf(((float)k + 0.5f) / TAPS);
    *dx = radius * cosf(angle), *dy = radius * sinf(angle);
}

static float sky_share(const Scene *s, int x, int y, BrimVec3 p, float depth, BrimVec3 normal,
                       const float (*disk)[2]) {
    const View *v = &s->camera;
    float reach = 0.055f * s->extent;
    float pixels = clampf(reach * v->scale / depth, 3, 160), hidden = 0;
    for (int k = 0; k < TAPS; k++) {
        int sx = x + (int)lrintf(pixels * disk[k][0]), sy = y + (int)lrintf(pixels * disk[k][1]);
        if (sx < 0 || sy < 0 || sx >= v->width || sy >= v->height) continue;
        float z = s->surface[(size_t)sy * (size_t)v->width + (size_t)sx];
        if (!(z < INFINITY)) continue;
        BrimVec3 to = vec_sub(view_point(v, (float)sx + 0.5f, (float)sy + 0.5f, z), p);
        float distance = vec_length(to);
        float rise = vec_dot(to, normal) / (distance + 1e-6f * s->extent) - 0.12f;
        float near = 1 - distance * distance / (4 * reach * reach);
        if (rise > 0 && near > 0) hidden += rise * near;
    }
    return clampf(1 - 1.9f * hidden / TAPS, 0.15f, 1);
}

static float sun_share(const Scene *s, BrimVec3 p, BrimVec3 normal, const float (*disk)[2]) {
    const View *v = &s->sun;
    float skin = 1.5f * s->picture->spacing + 1.5f / v->scale;
    BrimVec3 at = view_project(v, vec_add(p, vec_mul(normal, skin)));
    float soft = 0.011f * s->extent * v->scale, seen = 0;
    for (int k = 0; k < TAPS; k++) {
        int x = (int)floorf(at.x + soft * disk[k][0]), y = (int)floorf(at.y + soft * disk[k][1]);
        float z = INFINITY;
        if (x >= 0 && y >= 0 && x < v->width && y < v->height)
            z = s->shadow[(size_t)y * (size_t)v->width + (size_t)x];
        seen += clampf((z - at.z) / skin + 1, 0, 1);
    }
    return seen / TAPS;
}

/// The sample of a pixel that is nearest to the eye.
static size_t nearest_sample(const Scene *s, int x, int y, int *sx, int *sy) {
    size_t best = 0;
    float least = INFINITY;
    for (int k = 0; k < s->fine * s->fine; k++) {
        int fx = x * s->fine + k % s->fine, fy = y * s->fine + k / s->fine;
        size_t i = (size_t)fy * (size_t)s->camera.width + (size_t)fx;
        if (k == 0 || s->surface[i] < least) best = i, least = s->surface[i], *sx = fx, *sy = fy;
    }
    return best;
}

static BrimVec3 surface_normal(const Scene *s, size_t i, int x, int y) {
    float depth = s->surface[i];
    if (depth == s->water.depth[i]) return water_normal(s, x, y);
    if (s->hit && depth == s->hit[i].near) return hit_normal(s->hit[i].near_normal);
    if (s->hit && depth == s->hit[i].behind) return hit_normal(s->hit[i].behind_normal);
    return vec(0, 1, 0);
}

static void light_pixel(const Scene *s, int x, int y, const float (*disk)[2], float *open,
                        float *lit) {
    int sx = 0, sy = 0;
    size_t i = nearest_sample(s, x, y, &sx, &sy);
    float depth = s->surface[i];
    *open = *lit = 1;
    if (!(depth < INFINITY)) return;
    BrimVec3 p = view_point(&s->camera, (float)sx + 0.5f, (float)sy + 0.5f, depth);
    BrimVec3 normal = surface_normal(s, i, sx, sy);
    *open = sky_share(s, sx, sy, p, depth, normal, disk);
    *lit = sun_share(s, p, normal, disk);
}

typedef struct Lighting {
    const Scene *s;
    const float (*disks)[TAPS][2];
    float *open, *lit; ///< not yet averaged
    const float *from; ///< what is averaged, and the result
    float *to;
} Lighting;

/// Mean over the 4 x 4 pattern, of pixels at about the same depth.
static void mean_row(void *context, int y, int thread) {
    const Lighting *l = context;
    const Scene *s = l->s;
    int width = s->picture->image.width, height = s->picture->image.height;
    float range = 0.03f * s->extent;
    for (int x = 0; x < width; x++) {
        float sum = 0, weight = 0;
        int sx = 0, sy = 0;
        float depth = s->surface[nearest_sample(s, x, y, &sx, &sy)];
        for (int k = 0; k < PATTERN * PATTERN; k++) {
            int nx = x + k % PATTERN - 1, ny = y + k / PATTERN - 1;
            if (nx < 0 || ny < 0 || nx >= width || ny >= height) continue;
            size_t n = (size_t)(ny * s->fine) * (size_t)s->camera.width + (size_t)(nx * s->fine);
            bool same = fabsf(s->surface[n] - depth) < range || (nx == x && ny == y);
            if (same) sum += l->from[(size_t)ny * (size_t)width + (size_t)nx], weight += 1;
        }
        l->to[(size_t)y * (size_t)width + (size_t)x] = weight > 0 ? sum / weight : 1;
    }
}

static void light_row(void *context, int y, int thread) {
    const Lighting *l = context;
    int width = l->s->picture->image.width;
    for (int x = 0; x < width; x++) {
        size_t i = (size_t)y * (size_t)width + (size_t)x;
        const float(*disk)[2] = l->disks[(y % PATTERN) * PATTERN + x % PATTERN];
        light_pixel(l->s, x, y, disk, &l->open[i], &l->lit[i]);
    }
}

void light_scene(Scene *s) {
    int width = s->picture->image.width, height = s->picture->image.height;
    size_t n = (size_t)width * (size_t)height;
    // the second half of each array holds what is not yet averaged
    Lighting l = {.s = s, .open = s->open + n, .lit = s->lit + n};
    float disks[PATTERN * PATTERN][TAPS][2];
    for (int k = 0; k < PATTERN * PATTERN; k++)
        for (int t = 0; t < TAPS; t++)
            spiral(t, k % PATTERN, k / PATTERN, &disks[k][t][0], &disks[k][t][1]);
    l.disks = (const float(*)[TAPS][2])disks;
    team_for(s->picture->team, height, 1, light_row, &l);
    l.from = l.open, l.to = s->open;
    team_for(s->picture->team, height, 1, mean_row, &l);
    l.from = l.lit, l.to = s->lit;
    team_for(s->picture->team, height, 1, mean_row, &l);
}
