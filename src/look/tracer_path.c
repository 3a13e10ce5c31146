// The way of a ray from the eye: bent and mirrored by water, through glass, to a matte surface or
// the sky.
#include "look/tracer.h"

enum { STEPS_MOST = 48, SPLITS = 2, DEPTH_MOST = 10 };

typedef struct Path {
    Ray ray;
    float weight;    ///< share of the pixel that it will fill
    float travelled; ///< from the eye, m
    float begin;     ///< distance along the ray where it starts to look
    int depth;       ///< surfaces of water met
    bool wet;
} Path;

/// What a path met: a mesh, the floor or the sky.
typedef enum Met { MET_SKY, MET_FLOOR, MET_MESH } Met;

static Met meet(const Tracer *t, const Path *p, RayHit *hit) {
    float ground = floor_distance(t, &p->ray);
    if (ray_meets(t->rays, &p->ray, p->begin, ground, hit)) return MET_MESH;
    hit->distance = ground;
    return ground < INFINITY ? MET_FLOOR : MET_SKY;
}

static BrimVec3 at(const Path *p, float distance) {
    return vec_add(p->ray.origin, vec_mul(p->ray.direction, distance));
}

/// Normal of the water where it was met, smooth over triangles, towards the air.
static BrimVec3 water_normal_at(const Tracer *t, const RayHit *hit, BrimVec3 flat,
                                BrimVec3 direction) {
    const Mesh *m = t->water;
    if (!m->normal) return flat;
    const uint32_t *v = m->triangle + 3 * (size_t)hit->triangle;
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

/// What is behind water that a ray leaves.
typedef enum Behind { BEHIND_AIR, BEHIND_GAP, BEHIND_SOLID } Behind;

/// Water that touches a solid or the floor ends there: the surface lies on it, or leaves a gap of
/// less than a cell that is the mesh's and not the water's.
static Behind behind_water(const Tracer *t, const Path *p, const RayHit *hit) {
    BrimVec3 q = at(p, hit->distance);
    float near = 1.2f * t->cell, distance;
    solids_distance(t->solids, true, 1, &q.x, &q.y, &q.z, &distance, NULL);
    if (distance < 0.05f * t->cell) return BEHIND_SOLID;
    if (q.y > near && distance > near) return BEHIND_AIR;
    RayHit next;
    Path on = *p;
    on.begin = hit->distance + t->skin;
    Met met = meet(t, &on, &next);
    bool matte = met == MET_FLOOR || (met == MET_MESH && next.mesh == MESH_SOLID);
    return matte && next.distance - hit->distance < 3 * near ? BEHIND_GAP : BEHIND_AIR;
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
    return hit->mesh == MESH_TANK ? light_tank(t, &spot, sampler) : light_solid(t, &spot, sampler);
}

static BrimVec3 trace(const Tracer *t, Path p, Sampler *sampler);

/// A pane of glass: some of the sky in it, the rest goes straight on.
static void pass_glass(Path *p, const RayHit *hit, BrimVec3 *light, BrimVec3 *filter) {
    BrimVec3 n = vec_unit(hit->normal), d = p->ray.direction;
    float cosine = vec_dot(n, d), away = 1 - fabsf(cosine);
    float mirror = 0.04f + 0.6f * away * away * away * away * away;
    BrimVec3 bounce = vec_sub(d, vec_mul(n, 2 * cosine));
    bounce.y = fabsf(bounce.y);
    *light = vec_add(*light, vec_mul(vec_tint(*filter, sky_light(bounce, !p->wet)), mirror));
    *filter = vec_mul(vec_tint(*filter, vec(0.955f, 0.975f, 0.972f)), 1 - mirror);
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
    p->begin = t->skin;
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
    return q.wet ? deep_water() : sky_light(q.ray.direction, true);
}

/// At the water's surface. Adds the light of the lesser way and goes on along the other.
static void cross_water(const Tracer *t, Path *p, const RayHit *hit, BrimVec3 *light,
                        BrimVec3 *filter, Sampler *sampler) {
    BrimVec3 flat = vec_unit(hit->normal), point = at(p, hit->distance);
    BrimVec3 n = water_normal_at(t, hit, flat, p->ray.direction);
    if (p->wet) n = vec_mul(n, -1);
    p->travelled += hit->distance;
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
        Met met = meet(t, &p, &hit);
        if (p.wet) {
            BrimVec3 left = water_filter(t, fminf(hit.distance, t->extent));
            BrimVec3 lost = vec_sub(vec(1, 1, 1), left);
            light = vec_add(light, vec_tint(vec_tint(filter, lost), deep_water()));
            filter = vec_tint(filter, left);
        }
        if (met == MET_SKY)
            return vec_add(light, vec_tint(filter, sky_light(p.ray.direction, !p.wet)));
        bool water = met == MET_MESH && hit.mesh == MESH_WATER;
        bool glass = met == MET_MESH && hit.mesh == MESH_GLASS;
        if (!water && !glass)
            return vec_add(light, vec_tint(filter, light_matte(t, &p, &hit, met, sampler)));
        if (glass) pass_glass(&p, &hit, &light, &filter);
        bool enters = vec_dot(hit.normal, p.ray.direction) < 0;
        if (water && enters != p.wet) {
            Behind behind = p.wet ? behind_water(t, &p, &hit) : BEHIND_AIR;
            if (behind == BEHIND_SOLID) {
                hit.mesh = MESH_SOLID;
                return vec_add(light, vec_tint(filter, light_matte(t, &p, &hit, met, sampler)));
            }
            if (behind == BEHIND_AIR) {
                cross_water(t, &p, &hit, &light, &filter, sampler);
                continue;
            }
        }
        p.travelled += hit.distance;
        p.ray.origin = at(&p, hit.distance), p.begin = t->skin;
    }
    return vec_add(light, vec_tint(filter, p.wet ? deep_water() : sky_light(vec(0, 1, 0), false)));
}

BrimVec3 tracer_look(const Tracer *t, const Ray *ray, Sampler *sampler) {
    Path path = {.ray = *ray, .weight = 1};
    return trace(t, path, sampler);
}
