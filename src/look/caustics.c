// Light of the sun on the floor, gathered and cast aside by the water: photons from the sun are
// followed through its surface and counted where they land.
#include "base/error.h"
#include "base/memory.h"
#include "look/tracer.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { MAP_POINTS = 320, PER_POINT = 20, TURNS_MOST = 12, ONE = 1 << 16 };

/// Sums are of whole numbers: the same for any order of photons.
typedef struct Gathering {
    Tracer *t;
    _Atomic uint64_t *count; ///< [map] photons times ONE
    BrimVec3 origin, u, v;   ///< the plane that photons start from, and its edges
    int rows, columns;
} Gathering;

/// Turns a photon at the water's surface. Returns whether it goes through; *left loses what is
/// mirrored then.
static bool bend(Ray *ray, BrimVec3 point, BrimVec3 normal, bool wet, float *left) {
    float cosine = clampf(-vec_dot(normal, ray->direction), 0, 1), bent;
    float mirror = water_mirror(cosine, wet, &bent), ratio = wet ? 1.333f : 1 / 1.333f;
    BrimVec3 d = ray->direction;
    ray->origin = point;
    if (bent <= 0) {
        ray->direction = vec_unit(vec_add(d, vec_mul(normal, 2 * cosine)));
        return false;
    }
    ray->direction = vec_unit(vec_add(vec_mul(d, ratio), vec_mul(normal, ratio * cosine - bent)));
    *left *= 1 - mirror;
    return true;
}

static BrimVec3 smooth_normal(const Tracer *t, const RayHit *hit) {
    BrimVec3 flat = vec_unit(hit->normal), sum = vec(0, 0, 0);
    if (!t->water->normal) return flat;
    const uint32_t *corner = t->water->triangle + 3 * (size_t)hit->triangle;
    const float weight[3] = {1 - hit->u - hit->v, hit->u, hit->v};
    for (int k = 0; k < 3; k++) {
        const float *n = t->water->normal + 3 * (size_t)corner[k];
        sum = vec_add(sum, vec_mul(vec(n[0], n[1], n[2]), weight[k]));
    }
    BrimVec3 n = vec_unit(sum);
    return vec_dot(n, flat) > 0.6f ? n : flat;
}

/// Where a photon lands on the floor, and how much of it is left; 0: elsewhere. What water absorbs
/// is not counted here: it depends on the colour.
static float follow(const Tracer *t, Ray ray, BrimVec3 *place) {
    float left = 1, begin = 0;
    bool wet = false;
    for (int k = 0; k < TURNS_MOST; k++) {
        RayHit hit;
        float end = floor_distance(t, &ray);
        bool water = ray_meets(t->surface, &ray, begin, end, &hit);
        if (water) end = hit.distance;
        if (ray_blocked(t->matte, &ray, begin, end)) return 0;
        if (t->glass && ray_blocked(t->glass, &ray, begin, end)) left *= 0.9f;
        if (!water) {
            *place = vec_add(ray.origin, vec_mul(ray.direction, end));
            return end < INFINITY ? left : 0;
        }
        BrimVec3 normal = smooth_normal(t, &hit);
        bool enters = vec_dot(hit.normal, ray.direction) < 0;
        BrimVec3 point = vec_add(ray.origin, vec_mul(ray.direction, hit.distance));
        begin = t->skin;
        if (enters == wet) { // the mesh's other side: straight on
            ray.origin = point;
            continue;
        }
        BrimVec3 towards = enters ? normal : vec_mul(normal, -1);
        if (bend(&ray, point, towards, wet, &left)) wet = !wet;
    }
    return 0;
}

static void emit_row(void *context, int row, int thread) {
    const Gathering *g = context;
    const FloorMap *m = &g->t->lit;
    for (int i = 0; i < g->columns; i++) {
        uint64_t h = hash_3(0x73756e, (uint64_t)row, (uint64_t)i);
        float a = ((float)i + (float)hash_unit(h, 0)) / (float)g->columns;
        float b = ((float)row + (float)hash_unit(h, 1)) / (float)g->rows;
        Ray ray = {.direction = vec_mul(g->t->sun, -1), .time = 0.5f};
        ray.origin = vec_add(g->origin, vec_add(vec_mul(g->u, a), vec_mul(g->v, b)));
        BrimVec3 p;
        float left = follow(g->t, ray, &p);
        float x = (p.x - m->low.x) / m->step, z = (p.z - m->low.z) / m->step;
        if (left <= 0 || !(x >= 0 && z >= 0)) continue;
        if (x >= (float)(m->count_x - 1) || z >= (float)(m->count_z - 1)) continue;
        int ix = (int)x, iz = (int)z;
        float fx = x - (float)ix, fz = z - (float)iz;
        for (int k = 0; k < 4; k++) {
            float share = (k & 1 ? fx : 1 - fx) * (k & 2 ? fz : 1 - fz) * left;
            size_t at = (size_t)(iz + (k >> 1)) * (size_t)m->count_x + (size_t)(ix + (k & 1));
            atomic_fetch_add_explicit(&g->count[at], (uint64_t)(share * ONE + 0.5f),
                                      memory_order_relaxed);
        }
    }
}

/// Photons start on a plane above all, shifted along the sun's way, that covers the map.
static void place_plane(Gathering *g) {
    const Tracer *t = g->t;
    const FloorMap *m = &t->lit;
    float up = 1.5f * t->size.y + t->extent, back = up / fmaxf(t->sun.y, 0.05f);
    g->origin = vec_add(m->low, vec_mul(t->sun, back));
    g->u = vec(m->step * (float)(m->count_x - 1), 0, 0);
    g->v = vec(0, 0, m->step * (float)(m->count_z - 1));
    int side = (int)sqrtf((float)PER_POINT);
    g->columns = side * (m->count_x - 1), g->rows = side * (m->count_z - 1);
}

BrimResult tracer_gather(Tracer *t, BrimError *error) {
    Gathering g = {.t = t};
    if (t->sun.y < 0.05f || t->look->sun_strength <= 0) return BRIM_OK; // none comes down
    floor_map_place(t, MAP_POINTS, &t->lit);
    size_t n = (size_t)t->lit.count_x * (size_t)t->lit.count_z;
    g.count = calloc(n, sizeof *g.count);
    t->lit.value = memory_new(n * sizeof(float));
    if (!g.count || !t->lit.value) {
        free((void *)g.count);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's caustics");
    }
    place_plane(&g);
    team_for(t->team, g.rows, 4, emit_row, &g);
    float full = (float)g.columns / (float)(t->lit.count_x - 1);
    full *= (float)g.rows / (float)(t->lit.count_z - 1);
    for (size_t i = 0; i < n; i++)
        t->lit.value[i] = (float)((double)g.count[i] / ((double)full * ONE));
    free((void *)g.count);
    return BRIM_OK;
}
