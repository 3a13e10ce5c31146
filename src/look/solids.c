// Solids in the picture: rays marched through their signed distance.
#include "base/error.h"
#include "look/look.h"
#include "solid/solid.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 128, MARCH_STEPS = 192 };

BrimResult solids_new(Solids *s, const BrimSimDef *def, double time, BrimError *error) {
    *s = (Solids){.size = def->size, .cell = def->size.x / (float)def->cells[0]};
    if (def->solid_count <= 0) return BRIM_OK;
    s->solid = calloc((size_t)def->solid_count, sizeof(Solid *));
    s->clear = calloc((size_t)def->solid_count, sizeof(bool));
    if (!s->solid || !s->clear)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's solids");
    for (int i = 0; i < def->solid_count; i++) {
        Solid *solid = NULL;
        BrimResult result = solid_new(&def->solids[i], def->dim, s->cell, &solid, error);
        if (result != BRIM_OK) return result;
        if (!solid_exists(solid, time)) {
            solid_free(&solid);
            continue;
        }
        solid_place(solid, time, 0);
        s->clear[s->count] = solid_thickness(solid) < 0.03f * vec_length(def->size);
        s->solid[s->count++] = solid;
    }
    return BRIM_OK;
}

void solids_free(Solids *s) {
    for (int i = 0; i < s->count; i++) solid_free(&s->solid[i]);
    free((void *)s->solid);
    free(s->clear);
    *s = (Solids){0};
}

/// Distance to the nearest solid; with `solid_only`, of those that are not clear. Sets clear[n]
/// (when not NULL) to whether the nearest is.
static void nearest_solid(const Solids *s, bool solid_only, int n, const float *x, const float *y,
                          const float *z, float *distance, bool *clear) {
    for (int i = 0; i < n; i++) distance[i] = INFINITY;
    for (int k = 0; k < s->count; k++) {
        if (solid_only && s->clear[k]) continue;
        for (int i = 0; i < n; i += CHUNK) {
            float d[CHUNK];
            int m = n - i < CHUNK ? n - i : CHUNK;
            solid_distance(s->solid[k], m, x + i, y + i, z + i, d);
            for (int j = 0; j < m; j++) {
                if (!(d[j] < distance[i + j])) continue;
                distance[i + j] = d[j];
                if (clear) clear[i + j] = s->clear[k];
            }
        }
    }
}

void solids_distance(const Solids *s, int n, const float *x, const float *y, const float *z,
                     float *distance) {
    nearest_solid(s, false, n, x, y, z, distance, NULL);
}

// ----------------------------------------------------------------------------------- marching

/// Rays of neighbouring pixels, marched together. Positions along them are depths of the view.
typedef struct Rays {
    int count;
    BrimVec3 origin[CHUNK], direction[CHUNK];
    float length[CHUNK];            ///< metres per unit of depth
    float begin[CHUNK], end[CHUNK]; ///< where the ray is in the box; begin > end: never
    int8_t face[CHUNK];             ///< side of the box where it enters: 0 x, 1 y, 2 z
    bool solid_only;                ///< clear solids are not met
    float pixel;                    ///< size of a pixel at depth 1 (parallel: any), m
    bool parallel;
} Rays;

static bool make_rays(Rays *r, const Solids *s, const View *v, int x, int y) {
    bool any = false;
    r->count = v->width - x < CHUNK ? v->width - x : CHUNK;
    r->pixel = 1 / v->scale, r->parallel = v->parallel;
    r->solid_only = false;
    for (int i = 0; i < r->count; i++) {
        r->direction[i] = view_ray(v, (float)(x + i) + 0.5f, (float)y + 0.5f, &r->origin[i]);
        r->length[i] = vec_length(r->direction[i]);
        BoxSpan span = box_span(s->size, r->origin[i], r->direction[i]);
        r->begin[i] = span.begin, r->end[i] = span.end, r->face[i] = (int8_t)span.face;
        any = any || r->begin[i] < r->end[i];
    }
    return any;
}

static BrimVec3 ray_point(const Rays *r, int i, float depth) {
    return vec_add(r->origin[i], vec_mul(r->direction[i], depth));
}

/// Distance at one depth of each of the rays in `list`; clear [n] may be NULL.
static void ray_distance(const Rays *r, const Solids *s, int n, const int *list, const float *depth,
                         float *distance, bool *clear) {
    float x[CHUNK], y[CHUNK], z[CHUNK];
    for (int k = 0; k < n; k++) {
        BrimVec3 p = ray_point(r, list[k], depth[list[k]]);
        x[k] = p.x, y[k] = p.y, z[k] = p.z;
    }
    nearest_solid(s, r->solid_only, n, x, y, z, distance, clear);
}

/// Moves depth[i] of the rays in list[n] on until sign * distance is about 0; INFINITY for rays
/// that leave the box first.
static void march(const Rays *r, const Solids *s, int n, const int *list, float sign,
                  float *depth) {
    int active[CHUNK];
    float distance[CHUNK];
    memcpy(active, list, (size_t)n * sizeof *active);
    for (int step = 0; n > 0 && step < MARCH_STEPS; step++) {
        ray_distance(r, s, n, active, depth, distance, NULL);
        int left = 0;
        for (int k = 0; k < n; k++) {
            int i = active[k];
            float near = 0.2f * r->pixel * (r->parallel ? 1 : depth[i]);
            float d = sign * distance[k];
            if (d < near) continue;
            // 0.9: distances of blends and height fields are only bounds
            depth[i] += 0.9f * d / r->length[i];
            if (!(depth[i] < r->end[i]))
                depth[i] = INFINITY;
            else
                active[left++] = i;
        }
        n = left;
    }
}

/// Gradient of the distance where the rays in list[n] stand, by four points around each.
static void normals(const Rays *r, const Solids *s, int n, const int *list, const float *depth,
                    int8_t (*normal)[3]) {
    static const float corner[4][3] = {{1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {1, 1, 1}};
    BrimVec3 gradient[CHUNK];
    memset(gradient, 0, sizeof gradient);
    for (int c = 0; c < 4; c++) {
        float x[CHUNK], y[CHUNK], z[CHUNK], distance[CHUNK];
        float h = 0.05f * s->cell;
        for (int k = 0; k < n; k++) {
            BrimVec3 p = ray_point(r, list[k], depth[list[k]]);
            x[k] = p.x + h * corner[c][0], y[k] = p.y + h * corner[c][1];
            z[k] = p.z + h * corner[c][2];
        }
        solids_distance(s, n, x, y, z, distance);
        for (int k = 0; k < n; k++)
            gradient[k] = vec_add(
                gradient[k], vec_mul(vec(corner[c][0], corner[c][1], corner[c][2]), distance[k]));
    }
    for (int k = 0; k < n; k++) {
        BrimVec3 g = vec_unit(gradient[k]);
        int8_t *out = normal[list[k]];
        out[0] = (int8_t)lrintf(127 * g.x), out[1] = (int8_t)lrintf(127 * g.y);
        out[2] = (int8_t)lrintf(127 * g.z);
    }
}

static int keep_finite(int n, const int *list, const float *depth, int *kept) {
    int m = 0;
    for (int k = 0; k < n; k++)
        if (depth[list[k]] < INFINITY) kept[m++] = list[k];
    return m;
}

static int rays_in_box(const Rays *r, int *list, float *depth) {
    int n = 0;
    for (int i = 0; i < r->count; i++) {
        depth[i] = INFINITY;
        if (!(r->begin[i] < r->end[i])) continue;
        depth[i] = r->begin[i];
        list[n++] = i;
    }
    return n;
}

/// Where the box cuts a solid the cut is shown: its normal is that of the box's side.
static void cut_normals(const Rays *r, int n, const int *list, const float *depth,
                        int8_t (*normal)[3]) {
    for (int k = 0; k < n; k++) {
        int i = list[k], axis = r->face[i];
        if (depth[i] > r->begin[i]) continue;
        const float d[3] = {r->direction[i].x, r->direction[i].y, r->direction[i].z};
        memset(normal[i], 0, 3);
        normal[i][axis] = d[axis] > 0 ? -127 : 127;
    }
}

/// The rays in list[n] stand at clear solids: through them, out, and on to what is behind.
static void trace_behind(const Rays *r, const Solids *s, int n, const int *list, SolidHit *hit) {
    int on[CHUNK], met[CHUNK];
    float depth[CHUNK];
    int8_t normal[CHUNK][3];
    // a step to be clear of the skin that march() stops in
    for (int k = 0; k < n; k++)
        depth[list[k]] = hit[list[k]].near + 0.3f * s->cell / r->length[list[k]];
    march(r, s, n, list, -1, depth);
    n = keep_finite(n, list, depth, on);
    for (int k = 0; k < n; k++) depth[on[k]] += 0.3f * s->cell / r->length[on[k]];
    march(r, s, n, on, 1, depth);
    n = keep_finite(n, on, depth, met);
    normals(r, s, n, met, depth, normal);
    for (int k = 0; k < n; k++) {
        hit[met[k]].behind = depth[met[k]];
        memcpy(hit[met[k]].behind_normal, normal[met[k]], 3);
    }
}

static void trace_chunk(const Rays *r, const Solids *s, SolidHit *hit) {
    int list[CHUNK], met[CHUNK], m = 0;
    float depth[CHUNK], distance[CHUNK];
    int8_t normal[CHUNK][3];
    bool clear[CHUNK];
    int n = rays_in_box(r, list, depth);
    march(r, s, n, list, 1, depth);
    n = keep_finite(n, list, depth, met);
    normals(r, s, n, met, depth, normal);
    cut_normals(r, n, met, depth, normal);
    ray_distance(r, s, n, met, depth, distance, clear);
    for (int k = 0; k < n; k++) {
        SolidHit *h = &hit[met[k]];
        h->near = depth[met[k]], h->clear = clear[k];
        memcpy(h->near_normal, normal[met[k]], 3);
        if (clear[k]) list[m++] = met[k];
    }
    trace_behind(r, s, m, list, hit);
}

static const SolidHit no_hit = {.near = INFINITY, .behind = INFINITY};

void solids_trace(const Solids *s, const View *v, SolidHit *hit, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int y = 0; y < v->height; y++) {
        for (int x = 0; x < v->width; x += CHUNK) {
            Rays rays;
            SolidHit *out = hit + (size_t)y * (size_t)v->width + (size_t)x;
            bool any = make_rays(&rays, s, v, x, y);
            for (int i = 0; i < rays.count; i++) out[i] = no_hit;
            if (any) trace_chunk(&rays, s, out);
        }
    }
}

void solids_shadow(const Solids *s, const View *v, float *depth, int threads) {
    if (!s->count) return;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int y = 0; y < v->height; y++) {
        for (int x = 0; x < v->width; x += CHUNK) {
            Rays rays;
            int list[CHUNK];
            float near[CHUNK], *out = depth + (size_t)y * (size_t)v->width + (size_t)x;
            if (!make_rays(&rays, s, v, x, y)) continue;
            rays.solid_only = true;
            int n = rays_in_box(&rays, list, near);
            march(&rays, s, n, list, 1, near);
            for (int i = 0; i < rays.count; i++) out[i] = fminf(out[i], near[i]);
        }
    }
}
