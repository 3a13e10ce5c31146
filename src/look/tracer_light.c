// Sky, sun and what they do to matte surfaces.
#include "base/error.h"
#include "base/memory.h"
#include "look/tracer.h"
#include <stdlib.h>

enum { CROSSINGS_MOST = 24, OPEN_RAYS = 40 };

static const float pi = 3.14159265f;
static const float sun_radius = 0.022f; ///< rad; wider than the true sun: softer shadows
/// Of the light that is kept from a place some comes all the same, by way of other surfaces.
static const float bounced = 0.3f;

// -------------------------------------------------------------------------------------- water

BrimVec3 water_filter(const Tracer *t, float distance) {
    BrimVec3 a = t->absorption;
    return vec(expf(-a.x * distance), expf(-a.y * distance), expf(-a.z * distance));
}

float water_mirror(float cosine, bool wet, float *bent) {
    float ratio = wet ? 1.333f : 1 / 1.333f;
    float rest = 1 - ratio * ratio * (1 - cosine * cosine);
    *bent = 0;
    if (rest <= 0) return 1;
    *bent = sqrtf(rest);
    // Fresnel, both polarisations; ratio = n of this side over n of the other
    float s = (ratio * cosine - *bent) / (ratio * cosine + *bent);
    float p = (cosine - ratio * *bent) / (cosine + ratio * *bent);
    return 0.5f * (s * s + p * p);
}

// ------------------------------------------------------------------------------------ the sun

/// Axes across a unit vector.
static void across(BrimVec3 n, BrimVec3 *u, BrimVec3 *v) {
    *u = vec_unit(vec_cross(fabsf(n.y) < 0.9f ? vec(0, 1, 0) : vec(1, 0, 0), n));
    *v = vec_cross(n, *u);
}

/// Share of light that comes straight along a ray through what is in its way: nothing through
/// solids, some through water and glass. *under gets the way through water.
static BrimVec3 light_through(const Tracer *t, const Ray *ray, bool wet, float *under) {
    BrimVec3 share = vec(1, 1, 1);
    RayHit hit;
    float begin = t->skin;
    *under = 0;
    BoxSpan span = box_span(t->size, ray->origin, ray->direction);
    if (span.begin > span.end) return share; // all that casts shadows stands in the box
    if (ray_blocked(t->matte, ray, t->skin, INFINITY)) return vec(0, 0, 0);
    for (int k = 0; k < CROSSINGS_MOST; k++) {
        if (!ray_meets(t->surface, ray, begin, INFINITY, &hit)) break;
        if (wet) *under += hit.distance - begin;
        float cosine = vec_dot(vec_unit(hit.normal), ray->direction), bent;
        // light that is bent aside arrives somewhere near: only the reflected part is lost
        float mirror = water_mirror(fabsf(cosine), false, &bent);
        if ((cosine < 0) != wet) share = vec_mul(share, 1 - 0.8f * mirror);
        wet = cosine < 0;
        begin = hit.distance + t->skin;
    }
    begin = t->skin;
    for (int k = 0; t->glass && k < CROSSINGS_MOST; k++) {
        if (!ray_meets(t->glass, ray, begin, INFINITY, &hit)) break;
        share = vec_mul(share, 0.93f);
        begin = hit.distance + t->skin;
    }
    return vec_tint(share, water_filter(t, *under));
}

static BrimVec3 sun_at(const Tracer *t, const Spot *spot, BrimVec3 normal, Sampler *sampler,
                       float *under) {
    BrimVec3 sun = t->sun, u, v;
    Square q = sampler_next(sampler, 0, 1);
    float radius = sun_radius * sqrtf(q.x), angle = 2 * pi * q.y;
    across(sun, &u, &v);
    *under = 0;
    BrimVec3 aside = vec_add(vec_mul(u, radius * cosf(angle)), vec_mul(v, radius * sinf(angle)));
    Ray ray = {.direction = vec_unit(vec_add(sun, aside)), .time = spot->time};
    float facing = vec_dot(normal, ray.direction);
    if (facing <= 0) return vec(0, 0, 0);
    ray.origin = vec_add(spot->point, vec_mul(spot->normal, t->lift));
    return vec_mul(vec_tint(t->sun_power, light_through(t, &ray, spot->wet, under)), facing);
}

/// A direction above a surface, more often where it counts more.
static BrimVec3 above(BrimVec3 normal, Square q) {
    BrimVec3 u, v;
    across(normal, &u, &v);
    float radius = sqrtf(q.x), angle = 2 * pi * q.y;
    return vec_add(vec_add(vec_mul(u, radius * cosf(angle)), vec_mul(v, radius * sinf(angle))),
                   vec_mul(normal, sqrtf(fmaxf(0, 1 - q.x))));
}

/// Light from one direction of the surroundings.
static BrimVec3 surroundings(const Tracer *t, const Ray *ray) {
    float ground = floor_distance(t, ray);
    if (ray_blocked(t->matte, ray, t->skin, ground)) return vec_mul(t->sky_mean, bounced);
    BrimVec3 light =
        ground < INFINITY ? vec_mul(t->floor_mean, 0.85f) : sky_light(t, ray->direction, false);
    bool water = ray_blocked(t->surface, ray, t->skin, ground);
    return water ? vec_tint(light, vec(0.62f, 0.74f, 0.78f)) : light;
}

// -------------------------------------------------------------------------------------- floor

void floor_map_place(const Tracer *t, int points, FloorMap *m) {
    float margin = 0.8f * t->size.y;
    m->low = vec(-margin, 0, -margin);
    float wide = t->size.x + 2 * margin, deep = t->size.z + 2 * margin;
    m->step = fmaxf(wide, deep) / (float)points;
    m->count_x = (int)ceilf(wide / m->step) + 1, m->count_z = (int)ceilf(deep / m->step) + 1;
}

float floor_map_share(const FloorMap *m, BrimVec3 p) {
    float x = (p.x - m->low.x) / m->step, z = (p.z - m->low.z) / m->step;
    float edge =
        fminf(fminf(x, (float)(m->count_x - 1) - x), fminf(z, (float)(m->count_z - 1) - z));
    return edge > 0 ? smooth_step(0, 0.1f * (float)m->count_x, edge) : 0;
}

float floor_map_at(const FloorMap *m, BrimVec3 p) {
    float x = (p.x - m->low.x) / m->step, z = (p.z - m->low.z) / m->step;
    if (!(x >= 0 && z >= 0 && x < (float)(m->count_x - 1) && z < (float)(m->count_z - 1))) return 0;
    int i = (int)x, k = (int)z;
    float fx = x - (float)i, fz = z - (float)k;
    const float *row = m->value + k * m->count_x + i, *next = row + m->count_x;
    return (1 - fz) * ((1 - fx) * row[0] + fx * row[1]) + fz * ((1 - fx) * next[0] + fx * next[1]);
}

static float open_at(const Tracer *t, int x, int z, int ray_count) {
    BrimVec3 p = vec(t->open.low.x + t->open.step * (float)x, t->skin,
                     t->open.low.z + t->open.step * (float)z);
    Sampler sampler = {.pixel = (uint32_t)(z * t->open.count_x + x)};
    float sum = 0;
    for (int k = 0; k < ray_count; k++) {
        Ray ray = {p, above(vec(0, 1, 0), sampler_next(&sampler, k, ray_count)), 0.5f};
        bool water = ray_blocked(t->surface, &ray, t->skin, INFINITY);
        float share = ray_blocked(t->matte, &ray, t->skin, INFINITY) ? bounced : water ? 0.8f : 1;
        sum += share;
    }
    return sum / (float)ray_count;
}

/// Mean with the neighbours, along one axis.
static void soften(const float *from, float *to, int count, int stride) {
    for (int i = 0; i < count; i++) {
        float a = from[(i > 0 ? i - 1 : i) * stride];
        float b = from[(i + 1 < count ? i + 1 : i) * stride];
        to[i * stride] = 0.25f * (a + b) + 0.5f * from[i * stride];
    }
}

static void light_point(void *context, int index, int thread) {
    Tracer *t = context;
    int x = index % t->open.count_x;
    t->open.value[index] = open_at(t, x, index / t->open.count_x, OPEN_RAYS);
}

BrimResult tracer_light_floor(Tracer *t, BrimError *error) {
    // 112 points for a picture of the usual size
    FloorMap *m = &t->open;
    floor_map_place(t, 31 + (t->camera.width < 1280 ? t->camera.width : 1280) / 16, m);
    int n = m->count_x * m->count_z, wide = m->count_x;
    m->value = memory_new(2 * (size_t)n * sizeof(float));
    if (!m->value) return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's floor");
    team_for(t->team, n, 16, light_point, t);
    for (int z = 0; z < m->count_z; z++)
        soften(m->value + z * wide, m->value + n + z * wide, wide, 1);
    for (int x = 0; x < wide; x++) soften(m->value + n + x, m->value + x, m->count_z, wide);
    return BRIM_OK;
}

/// Share of a footprint of `blur` metres that lines cover.
static float line_cover(float x, float spacing, float width, float blur) {
    float distance = fabsf(x - spacing * rintf(x / spacing));
    return clampf((0.5f * (width + blur) - distance) / blur, 0, 1) * fminf(1, width / blur);
}

static BrimVec3 floor_paint(const Tracer *t, const Spot *spot) {
    BrimVec3 tile = vec(0.205f, 0.208f, 0.21f), joint = vec(0.07f, 0.073f, 0.078f), p = spot->point;
    float slant = fmaxf(0.05f, fabsf(spot->direction.y));
    float blur = 1.5f * spot->travelled / t->camera.scale, width = 0.0028f * t->extent;
    float cover =
        fmaxf(line_cover(p.x, t->line, width, blur), line_cover(p.z, t->line, width, blur / slant));
    return vec_mix(tile, joint, 0.75f * cover);
}

/// Share of the sky that a point of the floor sees.
static float floor_seen(const Tracer *t, BrimVec3 p) {
    return 1 + floor_map_share(&t->open, p) * (floor_map_at(&t->open, p) - 1);
}

BrimVec3 light_floor(const Tracer *t, const Spot *spot, Sampler *sampler) {
    float dx = spot->point.x - 0.5f * t->size.x, dz = spot->point.z - 0.5f * t->size.z;
    float away = hypotf(dx, dz) / t->extent,
          haze = 1 - expf(-0.006f * fmaxf(0, away - 1.5f) * away);
    BrimVec3 far = sky_light(t, vec(spot->direction.x, 0, spot->direction.z), false);
    if (haze > 0.995f) return far;
    float under;
    BrimVec3 light = sun_at(t, spot, spot->normal, sampler, &under);
    if (t->lit.value) {
        float most = fmaxf(0, t->sun.y) * floor_map_at(&t->lit, spot->point);
        BrimVec3 gathered = vec_mul(vec_tint(t->sun_power, water_filter(t, under)), most);
        light = vec_mix(light, gathered, floor_map_share(&t->lit, spot->point));
    }
    BrimVec3 ambient = vec_mul(t->sky_mean, floor_seen(t, spot->point));
    if (spot->wet) ambient = vec_tint(ambient, water_filter(t, under));
    light = vec_tint(floor_paint(t, spot), vec_add(light, ambient));
    return vec_mix(light, far, haze);
}

// ------------------------------------------------------------------------------------- solids

/// A coat over a matte surface: the rougher, the wider and fainter what it mirrors.
static BrimVec3 polished(const Tracer *t, const Spot *spot, BrimVec3 matte, float roughness,
                         Sampler *sampler) {
    float cosine = clampf(-vec_dot(spot->normal, spot->direction), 0, 1), away = 1 - cosine;
    float mirror = (0.04f + 0.96f * away * away * away * away * away) * (1 - roughness);
    Ray ray = {.time = spot->time};
    BrimVec3 straight = vec_add(spot->direction, vec_mul(spot->normal, 2 * cosine));
    BrimVec3 aside = above(spot->normal, sampler_next(sampler, 0, 1));
    ray.origin = vec_add(spot->point, vec_mul(spot->normal, t->lift));
    ray.direction = vec_unit(vec_mix(straight, aside, roughness * roughness));
    BrimVec3 seen = surroundings(t, &ray);
    if (!ray_blocked(t->matte, &ray, t->skin, INFINITY) && ray.direction.y > 0)
        seen = sky_light(t, ray.direction, true);
    return vec_add(vec_mul(matte, 1 - mirror), vec_mul(seen, mirror));
}

BrimVec3 light_solid(const Tracer *t, const Spot *spot, Sampler *sampler) {
    BrimVec3 paint = solids_paint(t->solids, spot->point, spot->normal, spot->wet);
    float under;
    BrimVec3 light = sun_at(t, spot, spot->normal, sampler, &under), around = vec(0, 0, 0);
    int rays = spot->depth == 0 ? 3 : 1;
    for (int k = 0; k < rays; k++) {
        Ray ray = {.time = spot->time};
        ray.origin = vec_add(spot->point, vec_mul(spot->normal, t->lift));
        ray.direction = above(spot->normal, sampler_next(sampler, k, rays));
        around = vec_add(around, vec_mul(surroundings(t, &ray), 1 / (float)rays));
    }
    if (spot->wet) around = vec_tint(around, water_filter(t, under));
    BrimVec3 matte = vec_tint(paint, vec_add(light, around));
    float roughness = solids_roughness(t->solids, spot->point);
    return roughness < 1 ? polished(t, spot, matte, roughness, sampler) : matte;
}

/// White, and lit from all around as what scatters within is: half by the way the ball faces, half
/// as if it faced the light.
BrimVec3 light_foam(const Tracer *t, const Spot *spot, Sampler *sampler) {
    float under;
    BrimVec3 normal = vec_unit(vec_add(spot->normal, t->sun));
    BrimVec3 sun = sun_at(t, spot, normal, sampler, &under);
    BrimVec3 around = vec_mix(t->floor_mean, t->sky_mean, 0.65f + 0.35f * spot->normal.y);
    if (spot->wet) around = vec_tint(around, water_filter(t, under));
    return vec_mul(vec_add(sun, around), 0.9f);
}

BrimVec3 light_tank(const Tracer *t, const Spot *spot, Sampler *sampler) {
    float under;
    BrimVec3 sun = sun_at(t, spot, spot->normal, sampler, &under);
    BrimVec3 around = vec_mix(t->floor_mean, t->sky_mean, 0.5f + 0.5f * spot->normal.y);
    return vec_tint(vec(0.20f, 0.23f, 0.26f), vec_add(sun, around));
}
