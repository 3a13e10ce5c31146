// Rays marched through the solids' signed distance, many at a time.
#include "base/memory.h"
#include "look/look.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 128, MARCH_STEPS = 192, BLOCK = 8 };

/// Rays of neighbouring pixels, marched together. Positions along them are depths of the view.
typedef struct Rays {
    int count;
    BrimVec3 origin[CHUNK], direction[CHUNK];
    float length[CHUNK];            ///< metres per unit of depth
    float begin[CHUNK], end[CHUNK]; ///< between these depths solids are met; begin > end: never
    float enter[CHUNK];             ///< depth at which the ray enters the box
    int8_t face[CHUNK];             ///< side of the box where it enters: 0 x, 1 y, 2 z
    bool solid_only;                ///< clear solids are not met
    float radius;                   ///< of the cone around a ray at depth 1 (parallel: any), m
    bool parallel;
} Rays;

/// What all rays of a picture have in common.
typedef struct Trace {
    const Solids *solids;
    const View *view;
    const float *limit; ///< [height][width] depth beyond which nothing is seen; NULL: none
    bool solid_only;
    int blocks_x, blocks_y;
    float *start; ///< [blocks] no solid before this depth in a block of pixels; NULL: unknown
} Trace;

/// Rays through every `step`-th pixel from (x, y) on.
static void aim_rays(Rays *r, const Trace *t, int x, int y, int step) {
    const View *v = t->view;
    int most = (v->width - x + step - 1) / step;
    r->count = most < CHUNK ? most : CHUNK;
    r->parallel = v->parallel, r->solid_only = t->solid_only;
    for (int i = 0; i < r->count; i++) {
        float px = (float)(x + i * step) + 0.5f * (float)step, py = (float)y + 0.5f * (float)step;
        r->direction[i] = view_ray(v, px, py, &r->origin[i]);
        r->length[i] = vec_length(r->direction[i]);
    }
}

static bool make_rays(Rays *r, const Trace *t, int x, int y) {
    bool any = false;
    aim_rays(r, t, x, y, 1);
    r->radius = 0.1f / t->view->scale;
    const float *limit = t->limit ? t->limit + (size_t)y * (size_t)t->view->width + x : NULL;
    const float *start = t->start ? t->start + (size_t)(y / BLOCK) * (size_t)t->blocks_x : NULL;
    for (int i = 0; i < r->count; i++) {
        BoxSpan span = box_span(t->solids->size, r->origin[i], r->direction[i]);
        r->enter[i] = r->begin[i] = span.begin, r->face[i] = (int8_t)span.face;
        if (start) r->begin[i] = fmaxf(span.begin, start[(x + i) / BLOCK]);
        r->end[i] = limit ? fminf(span.end, limit[i]) : span.end;
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
    solids_distance(s, r->solid_only, n, x, y, z, distance, clear);
}

/// Moves depth[i] of the rays in list[n] on until sign * distance is about their radius; INFINITY
/// for rays that reach their end first.
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
            float radius = r->radius * (r->parallel ? 1 : depth[i]);
            float d = sign * distance[k];
            if (d < 2 * radius) continue;
            // 0.9: distances of blends and height fields are only bounds
            depth[i] += 0.9f * (d - radius) / r->length[i];
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
        solids_distance(s, false, n, x, y, z, distance, NULL);
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
        if (depth[i] > r->enter[i]) continue;
        const float d[3] = {r->direction[i].x, r->direction[i].y, r->direction[i].z};
        memset(normal[i], 0, 3);
        normal[i][axis] = d[axis] > 0 ? -127 : 127;
    }
}

/// The rays in list[n] stand at clear solids: through them, out, and on to what is behind.
static void trace_behind(const Rays *r, const Solids *s, int n, const int *list, SolidHit *hit) {
    int on[CHUNK], met[CHUNK];
    float depth[CHUNK], distance[CHUNK];
    int8_t normal[CHUNK][3];
    bool clear[CHUNK];
    // a step to be clear of the skin that march() stops in
    for (int k = 0; k < n; k++)
        depth[list[k]] = hit[list[k]].near + 0.3f * s->cell / r->length[list[k]];
    march(r, s, n, list, -1, depth);
    n = keep_finite(n, list, depth, on);
    for (int k = 0; k < n; k++) depth[on[k]] += 0.3f * s->cell / r->length[on[k]];
    march(r, s, n, on, 1, depth);
    n = keep_finite(n, on, depth, met);
    normals(r, s, n, met, depth, normal);
    ray_distance(r, s, n, met, depth, distance, clear);
    for (int k = 0; k < n; k++) {
        hit[met[k]].behind = depth[met[k]];
        hit[met[k]].behind_clear = clear[k];
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

/// Where rays start: depths of the box's corners, and what is found.
typedef struct Starting {
    const Trace *trace;
    float low, high, *start;
} Starting;

static const SolidHit no_hit = {.near = INFINITY, .behind = INFINITY};

/// Marches the cones of a row of blocks. (t->start)
static void start_row(void *context, int y, int thread) {
    const Starting *s = context;
    const Trace *t = s->trace;
    for (int x = 0; x < t->blocks_x; x += CHUNK) {
        Rays rays;
        int list[CHUNK];
        aim_rays(&rays, t, x * BLOCK, y * BLOCK, BLOCK);
        rays.radius = 0.75f * BLOCK / t->view->scale;
        float *depth = s->start + (size_t)y * (size_t)t->blocks_x + (size_t)x;
        for (int i = 0; i < rays.count; i++)
            depth[i] = fmaxf(s->low, 0), rays.end[i] = s->high, list[i] = i;
        march(&rays, t->solids, rays.count, list, 1, depth);
    }
}

/// Fills t->start: a cone through each block of pixels is marched until it nears a solid. Without
/// memory for it the rays just start at the box.
static void start_blocks(Trace *t, Team *team) {
    const View *v = t->view;
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 8; i++) {
        BrimVec3 size = t->solids->size;
        BrimVec3 corner = vec(i & 1 ? size.x : 0, i & 2 ? size.y : 0, i & 4 ? size.z : 0);
        float depth = view_project(v, corner).z;
        low = fminf(low, depth), high = fmaxf(high, depth);
    }
    t->blocks_x = (v->width + BLOCK - 1) / BLOCK, t->blocks_y = (v->height + BLOCK - 1) / BLOCK;
    float *start = memory_new((size_t)t->blocks_x * (size_t)t->blocks_y * sizeof(float));
    if (!start) return;
    team_for(team, t->blocks_y, 1, start_row, &(Starting){t, low, high, start});
    t->start = start;
}

/// A picture of what solids hide, row by row; one of the two is not NULL.
typedef struct Tracing {
    const Trace *trace;
    SolidHit *hit;
    float *depth;
} Tracing;

static void trace_row(void *context, int y, int thread) {
    const Tracing *t = context;
    int width = t->trace->view->width;
    for (int x = 0; x < width; x += CHUNK) {
        Rays rays;
        SolidHit *out = t->hit + (size_t)y * (size_t)width + (size_t)x;
        bool any = make_rays(&rays, t->trace, x, y);
        for (int i = 0; i < rays.count; i++) out[i] = no_hit;
        if (any) trace_chunk(&rays, t->trace->solids, out);
    }
}

static void shadow_row(void *context, int y, int thread) {
    const Tracing *t = context;
    int width = t->trace->view->width;
    for (int x = 0; x < width; x += CHUNK) {
        Rays rays;
        int list[CHUNK];
        float near[CHUNK], *out = t->depth + (size_t)y * (size_t)width + (size_t)x;
        if (!make_rays(&rays, t->trace, x, y)) continue;
        int n = rays_in_box(&rays, list, near);
        march(&rays, t->trace->solids, n, list, 1, near);
        for (int i = 0; i < rays.count; i++) out[i] = fminf(out[i], near[i]);
    }
}

void solids_trace(const Solids *s, const View *v, const float *limit, SolidHit *hit, Team *team) {
    Trace trace = {.solids = s, .view = v, .limit = limit};
    start_blocks(&trace, team);
    team_for(team, v->height, 1, trace_row, &(Tracing){.trace = &trace, .hit = hit});
    free(trace.start);
}

void solids_shadow(const Solids *s, const View *v, float *depth, Team *team) {
    if (!s->count) return;
    Trace trace = {.solids = s, .view = v, .limit = depth, .solid_only = true};
    start_blocks(&trace, team);
    team_for(team, v->height, 1, shadow_row, &(Tracing){.trace = &trace, .depth = depth});
    free(trace.start);
}
