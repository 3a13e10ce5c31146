// The way of a ray from the eye: bent and mirrored by water, through glass, to a matte surface or
// the sky.
#include "look/tracer.h"

enum { STEPS_MOST = 48, PANES_MOST = 8, SPLITS = 2, DEPTH_MOST = 10, FOAM_MOST = 24 };

typedef struct Path {
    Ray ray;
    float weight;    ///< share of the pixel that it will fill
    float travelled; ///< from the eye, m
    float begin;     ///< distance along the ray where it starts to look
    float pane;      ///< the same for glass
    int depth;       ///< surfaces of water met
    bool wet;
} Path;

/// What a path met: a mesh, the floor or the sky.
typedef enum Met { MET_SKY, MET_FLOOR, MET_MESH } Met;

/// A solid wins over water that lies on it: within this share of a cell they touch.
static const float touching = 0.05f;

/// Chance that a ray stops at a bubble: light goes around and through them.
static const float bubble_stops = 0.3f;

/// The first ball of foam before `end`, bubbles by chance.
static bool meet_foam(const Tracer *t, const Path *p, float end, Sampler *sampler, RayHit *hit) {
    RayHit found;
    float begin = 0;
    for (int k = 0; t->white && k < FOAM_MOST; k++) {
        if (!ray_meets(t->white, &p->ray, begin, end, &found)) return false;
        const BrimFoamParticle *q = &t->foam->particle[found.triangle];
        if (q->type != BRIM_FOAM_BUBBLE || sampler_next(sampler, 0, 1).x < bubble_stops) {
            *hit = found;
            return true;
        }
        begin = found.distance + 2 * q->size;
    }
    return false;
}

static Met meet(const Tracer *t, const Path *p, Sampler *sampler, RayHit *hit) {
    float ground = floor_distance(t, &p->ray);
    bool water = ray_meets(t->surface, &p->ray, p->begin, ground, hit);
    float end = !water ? ground : p->wet ? hit->distance + touching * t->cell : hit->distance;
    bool solid = ray_meets(t->matte, &p->ray, 0, end, hit);
    if (solid) end = hit->distance;
    bool tank = ray_meets(t->tank, &p->ray, 0, end, hit);
    if (tank) end = hit->distance;
    if (meet_foam(t, p, end, sampler, hit) || tank || solid || water) return MET_MESH;
    hit->distance = ground;
    return ground < INFINITY ? MET_FLOOR : MET_SKY;
}

static BrimVec3 at(const Path *p, float distance) {
    return vec_add(p->ray.origin, vec_mul(p->ray.direction, distance));
}

/// Whether a triangle lies on a side of the domain, to the last bit.
static bool on_side(const Tracer *t, const uint32_t v[3]) {
    const float size[3] = {t->size.x, t->size.y, t->size.z};
    for (int a = 0; a < 3; a++) {
        float x = t->water->position[3 * (size_t)v[0] + (size_t)a];
        if ((x == 0 || x == size[a]) && x == t->water->position[3 * (size_t)v[1] + (size_t)a] &&
            x == t->water->position[3 * (size_t)v[2] + (size_t)a])
            return true;
    }
    return false;
}

/// Way of the water at a hit from frame to frame, in pixels at `travelled` from the eye.
static float way_of_water(const Tracer *t, const RayHit *hit, float travelled) {
    const Mesh *m = t->water;
    if (!m->velocity) return INFINITY;
    const uint32_t *v = m->triangle + 3 * (size_t)hit->triangle;
    float fastest = 0;
    for (int k = 0; k < 3; k++) {
        const float *u = m->velocity + 3 * (size_t)v[k];
        fastest = fmaxf(fastest, vec_length(vec(u[0], u[1], u[2])));
    }
    return fastest * t->frame_time * t->camera.scale / travelled;
}

/// Normal of the water where it was met, smooth over triangles, towards the air.
static BrimVec3 water_normal_at(const Tracer *t, const RayHit *hit, BrimVec3 flat,
                                BrimVec3 direction) {
    const Mesh *m = t->water;
    if (!m->normal) return flat;
    const uint32_t *v = m->triangle + 3 * (size_t)hit->triangle;
    if (on_side(t, v)) return flat; // its edge may be that of the free surface
    const float weight[3] = {1 - hit->u - hit->v, hit->u, hit->v};
    BrimVec3 sum = vec(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        const float *n = m->normal + 3 * (size_t)v[k];
        sum = vec_add(sum, vec_mul(vec(n[0], n[1], n[2]), weight[k]));
    }
    BrimVec3 smooth = vec_unit(sum);
    // where the surface is creased, at walls, the mean of its sides means nothing
    bool same_side = (vec_dot(smooth, direction) < 0) == (vec_dot(flat, direction) < 0);
    return same_side && vec_dot(smooth, flat) > 0.6f ? smooth : flat;
}

/// Whether water that a ray leaves ends at a solid or at the floor, with a gap of less than a cell
/// that is the mesh's and not the water's.
static bool ends_at_matte(const Tracer *t, const Path *p, const RayHit *hit) {
    BrimVec3 q = at(p, hit->distance);
    float near = 1.2f * t->cell, distance, end = hit->distance + 3 * near;
    if (q.y < near && floor_distance(t, &p->ray) < end) return true;
    solids_distance(t->solids, true, 1, &q.x, &q.y, &q.z, &distance, NULL);
    return distance < near && ray_blocked(t->matte, &p->ray, hit->distance, end);
}

static BrimVec3 light_matte(const Tracer *t, const Path *p, const RayHit *hit, Met met,
                            Sampler *sampler) {
    Spot spot = {.point = at(p, hit->distance),
                 .normal = vec(0, 1, 0),
                 .direction = p->ray.direction,
                 .travelled = p->travelled + hit->distance,
                 .time = p->ray.time,
                 .wet = p->wet,
                 .depth = p->depth};
    if (met == MET_FLOOR) return light_floor(t, &spot, sampler);
    spot.normal = vec_unit(hit->normal);
    if (vec_dot(spot.normal, p->ray.direction) > 0) spot.normal = vec_mul(spot.normal, -1);
    if (hit->mesh == MESH_SOLID) spot.normal = solids_normal(t->solids, spot.point, spot.normal);
    if (hit->mesh == MESH_FOAM) return light_foam(t, &spot, sampler);
    return hit->mesh == MESH_TANK ? light_tank(t, &spot, sampler) : light_solid(t, &spot, sampler);
}

static BrimVec3 trace(const Tracer *t, Path p, Sampler *sampler);

/// The panes of glass on the way: some of the sky in each, the rest goes straight on.
static void pass_glass(const Tracer *t, Path *p, float end, BrimVec3 *light, BrimVec3 *filter) {
    RayHit hit;
    for (int k = 0; k < PANES_MOST && ray_meets(t->glass, &p->ray, p->pane, end, &hit); k++) {
        BrimVec3 n = vec_unit(hit.normal), d = p->ray.direction;
        float cosine = vec_dot(n, d), away = 1 - fabsf(cosine);
        float mirror = 0.04f + 0.6f * away * away * away * away * away;
        BrimVec3 bounce = vec_sub(d, vec_mul(n, 2 * cosine));
        bounce.y = fabsf(bounce.y);
        *light = vec_add(*light, vec_mul(vec_tint(*filter, sky_light(t, bounce, !p->wet)), mirror));
        *filter = vec_mul(vec_tint(*filter, vec(0.955f, 0.975f, 0.972f)), 1 - mirror);
        p->pane = hit.distance + t->skin;
    }
}

/// Turns the path at a point of the water's surface: mirrored or, with `bent` > 0, refracted.
static void turn(const Tracer *t, Path *p, BrimVec3 point, BrimVec3 normal, float cosine,
                 float bent) {
    BrimVec3 d = p->ray.direction;
    if (bent > 0) {
        float ratio = p->wet ? 1.333f : 1 / 1.333f;
        d = vec_add(vec_mul(d, ratio), vec_mul(normal, ratio * cosine - bent));
        p->wet = !p->wet;
    } else {
        d = vec_add(d, vec_mul(normal, 2 * cosine));
    }
    p->ray.origin = point, p->ray.direction = vec_unit(d);
    p->begin = p->pane = t->skin;
    p->depth++;
}

/// Light that is mirrored by the surface: traced when it counts, else guessed.
static BrimVec3 mirrored(const Tracer *t, const Path *p, BrimVec3 point, BrimVec3 normal,
                         float cosine, float mirror, Sampler *sampler) {
    Path q = *p;
    q.weight *= mirror;
    turn(t, &q, point, normal, cosine, 0);
    if (q.weight > 0.015f) return trace(t, q, sampler);
    q.ray.direction.y = fabsf(q.ray.direction.y);
    return q.wet ? t->deep : sky_light(t, q.ray.direction, true);
}

/// At the water's surface. Adds the light of the lesser way and goes on along the other.
static void cross_water(const Tracer *t, Path *p, const RayHit *hit, BrimVec3 *light,
                        BrimVec3 *filter, Sampler *sampler) {
    BrimVec3 flat = vec_unit(hit->normal), point = at(p, hit->distance);
    BrimVec3 n = water_normal_at(t, hit, flat, p->ray.direction);
    if (p->wet) n = vec_mul(n, -1);
    p->travelled += hit->distance;
    if (p->depth == 0) sampler->moved = way_of_water(t, hit, p->travelled);
    float bent, cosine = clampf(-vec_dot(n, p->ray.direction), 0, 1);
    float mirror = water_mirror(cosine, p->wet, &bent);
    if (bent > 0 && p->depth < SPLITS) {
        BrimVec3 other = mirrored(t, p, point, n, cosine, mirror, sampler);
        *light = vec_add(*light, vec_mul(vec_tint(*filter, other), mirror));
        *filter = vec_mul(*filter, 1 - mirror);
        p->weight *= 1 - mirror;
    } else if (bent > 0 && sampler_next(sampler, 0, 1).x < mirror) {
        bent = 0;
    }
    turn(t, p, point, n, cosine, bent);
}

static BrimVec3 trace(const Tracer *t, Path p, Sampler *sampler) {
    BrimVec3 light = vec(0, 0, 0), filter = vec(1, 1, 1);
    for (int step = 0; step < STEPS_MOST && p.depth < DEPTH_MOST; step++) {
        RayHit hit;
        Met met = meet(t, &p, sampler, &hit);
        if (t->glass) pass_glass(t, &p, hit.distance, &light, &filter);
        if (p.wet) {
            BrimVec3 left = water_filter(t, fminf(hit.distance, t->extent));
            BrimVec3 lost = vec_sub(vec(1, 1, 1), left);
            light = vec_add(light, vec_tint(vec_tint(filter, lost), t->deep));
            filter = vec_tint(filter, left);
        }
        if (met == MET_SKY)
            return vec_add(light, vec_tint(filter, sky_light(t, p.ray.direction, !p.wet)));
        bool water = met == MET_MESH && hit.mesh == MESH_WATER;
        if (!water) return vec_add(light, vec_tint(filter, light_matte(t, &p, &hit, met, sampler)));
        bool enters = vec_dot(hit.normal, p.ray.direction) < 0;
        if (enters != p.wet && !(p.wet && ends_at_matte(t, &p, &hit))) {
            cross_water(t, &p, &hit, &light, &filter, sampler);
            continue;
        }
        p.travelled += hit.distance;
        p.ray.origin = at(&p, hit.distance), p.begin = p.pane = t->skin;
    }
    return vec_add(light, vec_tint(filter, p.wet ? t->deep : sky_light(t, vec(0, 1, 0), false)));
}

BrimVec3 tracer_look(const Tracer *t, const Ray *ray, Sampler *sampler) {
    Path path = {.ray = *ray, .weight = 1};
    return trace(t, path, sampler);
}
