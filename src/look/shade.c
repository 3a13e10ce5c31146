// Colours of water, solids, floor and background.
#include "look/scene.h"

typedef struct Palette {
    BrimVec3 floor, line, solid, glass, above, horizon, zenith, below;
    float grid; ///< spacing of the floor's lines, m
} Palette;

static Palette make_palette(const Scene *s) {
    BrimVec3 size = s->picture->def->size;
    float largest = fmaxf(size.x, size.z), power = powf(10, floorf(log10f(largest)));
    return (Palette){
        .floor = colour_hex(0xe6ebef),
        .line = colour_hex(0x8fa0b0),
        .solid = colour_hex(0xb9b4ad),
        .glass = colour_hex(0xd3dee6),
        .above = colour_hex(0xc9d6e2),
        .horizon = colour_hex(0xeef2f5),
        .zenith = colour_hex(0xa8c6e6),
        .below = colour_hex(0xd5dbe0),
        .grid = largest / power < 2.5f ? 0.1f * power
                : largest / power < 6  ? 0.25f * power
                                       : 0.5f * power,
    };
}

/// Light that arrives from a direction, the sun apart.
static BrimVec3 sky(const Palette *c, BrimVec3 direction) {
    float up = vec_unit(direction).y;
    return up > 0 ? vec_mix(c->horizon, c->zenith, sqrtf(up))
                  : vec_mix(c->horizon, c->below, fminf(1, -4 * up));
}

static BrimVec3 background(const Scene *s, const Palette *c, int y) {
    float t = (float)y / (float)s->camera.height;
    return vec_mix(c->above, c->horizon, smooth_step(0, 0.75f, t));
}

/// Light on a matte surface: sky from above, some from the floor, sun.
static BrimVec3 matte(BrimVec3 normal, float open, float lit) {
    float sun = fmaxf(0, vec_dot(normal, sun_direction())) * lit;
    BrimVec3 ambient =
        vec_mix(vec(0.36f, 0.37f, 0.39f), vec(0.56f, 0.59f, 0.63f), 0.5f + 0.5f * normal.y);
    // a weak lamp from the right keeps the shaded side readable
    float lamp = 0.13f * fmaxf(0, vec_dot(normal, vec(0.94f, 0.2f, 0.28f)));
    BrimVec3 fill = vec_mul(vec_add(ambient, vec(lamp, lamp, lamp)), open);
    return vec_add(fill, vec_mul(vec(0.64f, 0.62f, 0.58f), sun));
}

// ------------------------------------------------------------------------------------- floor

float floor_depth(const Scene *s, int x, int y) {
    BrimVec3 origin, ray = view_ray(&s->camera, (float)x + 0.5f, (float)y + 0.5f, &origin);
    return ray.y < 0 ? -origin.y / ray.y : INFINITY;
}

/// Share of a footprint of `blur` metres that the lines of a grid cover.
static float grid_cover(float x, float spacing, float width, float blur) {
    float distance = fabsf(x - spacing * rintf(x / spacing));
    return clampf((0.5f * (width + blur) - distance) / blur, 0, 1) * fminf(1, width / blur);
}

static BrimVec3 shade_floor(const Scene *s, const Palette *c, int x, int y, float depth, float open,
                            float lit) {
    BrimVec3 back = background(s, c, y), size = s->picture->def->size;
    BrimVec3 p = view_point(&s->camera, (float)x + 0.5f, (float)y + 0.5f, depth);
    float away = hypotf(p.x - 0.5f * size.x, p.z - 0.5f * size.z) / s->extent;
    float fade = smooth_step(0.55f, 1.5f, away);
    if (fade >= 1) return back;
    float blur = 2 * depth / s->camera.scale, width = 0.0016f * s->extent;
    float line =
        fmaxf(grid_cover(p.x, c->grid, width, blur), grid_cover(p.z, c->grid, width, blur));
    bool inside = p.x >= 0 && p.x <= size.x && p.z >= 0 && p.z <= size.z;
    BrimVec3 base = vec_mix(c->floor, c->line, line * (inside ? 0.55f : 0.25f));
    float shade = (0.45f + 0.55f * open) * (0.62f + 0.38f * lit);
    return vec_mix(vec_mul(base, shade), back, fade);
}

// ------------------------------------------------------------------------------------- solids

/// Clear walls hide more of what is behind them where the eye meets them at a slant.
static float wall_opacity(const Scene *s, int x, int y, BrimVec3 normal) {
    BrimVec3 origin, ray = view_ray(&s->camera, (float)x + 0.5f, (float)y + 0.5f, &origin);
    float away = 1 - fabsf(vec_dot(normal, vec_unit(ray)));
    return 0.22f + 0.6f * away * away;
}

// -------------------------------------------------------------------------------------- water

/// Slope of depth along a line of three samples: the side without a jump.
static float slope(float before, float here, float after) {
    float a = here - before, b = after - here;
    return fabsf(a) < fabsf(b) ? a : b;
}

static float water_depth(const Scene *s, int x, int y) {
    const Water *w = &s->water;
    if (x < 0 || y < 0 || x >= w->width || y >= w->height) return INFINITY;
    return w->depth[(size_t)y * (size_t)w->width + (size_t)x];
}

BrimVec3 water_normal(const Scene *s, int x, int y) {
    const View *v = &s->camera;
    float z = water_depth(s, x, y);
    float dx = slope(water_depth(s, x - 1, y), z, water_depth(s, x + 1, y));
    float dy = slope(water_depth(s, x, y - 1), z, water_depth(s, x, y + 1));
    if (!isfinite(dx)) dx = 0;
    if (!isfinite(dy)) dy = 0;
    float fx = (float)x + 0.5f, fy = (float)y + 0.5f;
    BrimVec3 p = view_point(v, fx, fy, z);
    BrimVec3 along_x = vec_sub(view_point(v, fx + 1, fy, z + dx), p);
    BrimVec3 along_y = vec_sub(view_point(v, fx, fy + 1, z + dy), p);
    return vec_unit(vec_cross(along_y, along_x));
}

static BrimVec3 shade_water(const Scene *s, const Palette *c, int x, int y, float open, float lit) {
    size_t i = (size_t)y * (size_t)s->camera.width + (size_t)x;
    BrimVec3 origin, ray = view_ray(&s->camera, (float)x + 0.5f, (float)y + 0.5f, &origin);
    BrimVec3 normal = water_normal(s, x, y), to_eye = vec_mul(vec_unit(ray), -1);
    BrimVec3 body =
        vec_tint(scale_colour(&s->picture->scale, s->water.value[i]), matte(normal, open, lit));
    float facing = clampf(vec_dot(normal, to_eye), 0, 1), away = 1 - facing;
    float mirror = 0.015f + 0.25f * away * away * away * away * away;
    BrimVec3 bounce = vec_sub(vec_mul(normal, 2 * facing), to_eye);
    BrimVec3 mirrored = vec_tint(sky(c, bounce), vec(0.72f, 0.86f, 1));
    BrimVec3 colour = vec_mix(body, vec_mul(mirrored, 0.4f + 0.6f * open), mirror);
    float shine = fmaxf(0, vec_dot(normal, vec_unit(vec_add(to_eye, sun_direction()))));
    float glint = 0.35f * powf(shine, 60) * lit;
    return vec_add(colour, vec(glint, glint, glint));
}

// ------------------------------------------------------------------------------------ samples

/// A solid over what is behind it.
static BrimVec3 over_solid(const Scene *s, const Palette *c, int x, int y, BrimVec3 behind,
                           const int8_t packed[3], bool clear, float open, float lit) {
    BrimVec3 normal = hit_normal(packed);
    if (!clear) return vec_tint(c->solid, matte(normal, open, lit));
    BrimVec3 glass = vec_tint(c->glass, matte(normal, 1, 1));
    return vec_mix(behind, glass, wall_opacity(s, x, y, normal));
}

static BrimVec3 shade_sample(const Scene *s, const Palette *c, int x, int y, float open,
                             float lit) {
    size_t i = (size_t)y * (size_t)s->camera.width + (size_t)x;
    float water = s->water.depth[i], ground = floor_depth(s, x, y), nearest = fminf(water, ground);
    BrimVec3 colour = background(s, c, y);
    if (water < ground)
        colour = shade_water(s, c, x, y, open, lit);
    else if (ground < INFINITY)
        colour = shade_floor(s, c, x, y, ground, open, lit);
    if (!s->hit) return colour;
    const SolidHit *h = &s->hit[i];
    if (h->behind < nearest)
        colour = over_solid(s, c, x, y, colour, h->behind_normal, h->behind_clear, open, lit);
    if (h->near < nearest)
        colour = over_solid(s, c, x, y, colour, h->near_normal, h->clear, open, lit);
    return colour;
}

typedef struct Shading {
    const Scene *s;
    const Palette *palette;
    Image *image;
} Shading;

static void shade_row(void *context, int y, int thread) {
    const Shading *shading = context;
    const Scene *s = shading->s;
    Image *image = shading->image;
    int fine = s->fine;
    for (int x = 0; x < image->width; x++) {
        size_t i = (size_t)y * (size_t)image->width + (size_t)x;
        BrimVec3 sum = vec(0, 0, 0);
        for (int k = 0; k < fine * fine; k++) {
            BrimVec3 c = shade_sample(s, shading->palette, x * fine + k % fine, y * fine + k / fine,
                                      s->open[i], s->lit[i]);
            // bright glints must not outshine the edge they are averaged with
            sum = vec_add(sum, vec(fminf(c.x, 1), fminf(c.y, 1), fminf(c.z, 1)));
        }
        image->pixel[i] = vec_mul(sum, 1 / (float)(fine * fine));
    }
}

void shade_scene(const Scene *s, Image *image) {
    Palette palette = make_palette(s);
    team_for(s->picture->team, image->height, 1, shade_row, &(Shading){s, &palette, image});
}
