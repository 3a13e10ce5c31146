// Hands of the host: taking hold of bodies, dragging them, letting go.
#include "base/error.h"
#include "bodies/bodies.h"
#include <math.h>
#include <string.h>

/// Accelerations of a free body, in multiples of that of gravity, that a hand may give it.
static const double STRENGTH = 20;

static bool finite3(BrimVec3 v) {
    return isfinite(v.x + v.y + v.z);
}

/// When velocities that are known have been walked: from then on a hand can change the way.
static double soonest(const BrimSim *s) {
    return s->primed ? s->time + s->dt_next : s->time;
}

// --------------------------------------------------------------------------------------- picking

/// Where a ray from o along d meets a triangle: how far along, in lengths of d; weights. INFINITY:
/// nowhere.
static double meet_triangle(const Body *b, uint32_t triangle, const double o[3], const double d[3],
                            double w[3]) {
    const uint32_t *t = b->surface.triangles[triangle];
    double e[3], f[3], from[3];
    for (int a = 0; a < 3; a++) {
        double corner = b->surface.vertices[t[0]][a];
        e[a] = b->surface.vertices[t[1]][a] - corner;
        f[a] = b->surface.vertices[t[2]][a] - corner;
        from[a] = o[a] - corner;
    }
    const double p[3] = {d[1] * f[2] - d[2] * f[1], d[2] * f[0] - d[0] * f[2],
                         d[0] * f[1] - d[1] * f[0]};
    const double q[3] = {from[1] * e[2] - from[2] * e[1], from[2] * e[0] - from[0] * e[2],
                         from[0] * e[1] - from[1] * e[0]};
    double det = e[0] * p[0] + e[1] * p[1] + e[2] * p[2];
    if (det == 0) return INFINITY;
    w[1] = (from[0] * p[0] + from[1] * p[1] + from[2] * p[2]) / det;
    w[2] = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / det;
    w[0] = 1 - w[1] - w[2];
    double far = (f[0] * q[0] + f[1] * q[1] + f[2] * q[2]) / det;
    return w[0] >= 0 && w[1] >= 0 && w[2] >= 0 && far >= 0 ? far : INFINITY;
}

/// The same in the plane, for a segment.
static double meet_segment(const Body *b, uint32_t triangle, const double o[3], const double d[3],
                           double w[3]) {
    const uint32_t *t = b->surface.triangles[triangle];
    const float *from = b->surface.vertices[t[0]], *to = b->surface.vertices[t[1]];
    double ex = (double)to[0] - from[0], ey = (double)to[1] - from[1];
    double det = d[0] * ey - d[1] * ex, x = from[0] - o[0], y = from[1] - o[1];
    if (det == 0) return INFINITY;
    double far = (x * ey - y * ex) / det;
    w[1] = (x * d[1] - y * d[0]) / det, w[0] = 1 - w[1], w[2] = 0;
    return w[0] >= 0 && w[1] >= 0 && far >= 0 ? far : INFINITY;
}

/// The point of a segment nearest to a place: how far off.
static double near_segment(const Body *b, uint32_t triangle, const double o[3], double w[3]) {
    const uint32_t *t = b->surface.triangles[triangle];
    const float *from = b->surface.vertices[t[0]], *to = b->surface.vertices[t[1]];
    double ex = (double)to[0] - from[0], ey = (double)to[1] - from[1];
    double square = ex * ex + ey * ey;
    double part = square > 0 ? ((o[0] - from[0]) * ex + (o[1] - from[1]) * ey) / square : 0;
    w[1] = fmin(fmax(part, 0), 1), w[0] = 1 - w[1], w[2] = 0;
    return hypot(from[0] + w[1] * ex - o[0], from[1] + w[1] * ey - o[1]);
}

/// 2D: a ray out of the plane goes through it at one place, and takes the body that is there.
static bool through_plane(const BrimSim *s, double o[3], const double d[3], bool *inside) {
    *inside = false;
    if (s->dim == 3 || d[2] == 0) return true;
    double far = -o[2] / d[2];
    if (far < 0) return false;
    for (int a = 0; a < 3; a++) o[a] += far * d[a];
    return *inside = true;
}

static bool pick(const BrimSim *s, BrimVec3 origin, BrimVec3 direction, Hand *hand) {
    double o[3] = {origin.x, origin.y, origin.z}, nearest = INFINITY, w[3];
    const double d[3] = {direction.x, direction.y, direction.z};
    bool inside;
    if (!through_plane(s, o, d, &inside)) return false;
    const float x = (float)o[0], y = (float)o[1], z = 0;
    for (int k = 0; k < s->bodies->count; k++) {
        const Body *b = &s->bodies->body[k];
        float distance = 0;
        if (inside) body_distance(b, 1, &x, &y, &z, &distance);
        if (distance > 0) continue;
        for (uint32_t t = 0; t < b->surface.triangle_count; t++) {
            double far = s->dim == 3 ? meet_triangle(b, t, o, d, w)
                         : inside    ? near_segment(b, t, o, w)
                                     : meet_segment(b, t, o, d, w);
            if (!(far < nearest)) continue;
            nearest = far, hand->body = k, hand->triangle = t;
            memcpy(hand->weight, w, sizeof w);
        }
    }
    return isfinite(nearest);
}

// ----------------------------------------------------------------------------------------- calls

/// The held point stays where it will be when the hand is first felt.
static BrimResult take(BrimSim *s, const Hand *like, int *grab, BrimVec3 *point, BrimError *error) {
    int at = hands_new(&s->bodies->hands);
    if (at < 0) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    Hand *h = &s->bodies->hands.hand[at];
    const Body *b = &s->bodies->body[like->body];
    double place[3], velocity[3];
    *h = *like;
    h->hosted = true, h->since = h->until = soonest(s);
    h->most = b->elastic->pinned ? 0 : STRENGTH * 9.81 * b->elastic->mass;
    hand_point(b, h, place, velocity);
    for (int a = 0; a < 3; a++)
        h->from[a] = h->to[a] = place[a] + (h->since - s->time) * velocity[a];
    if (point) *point = (BrimVec3){(float)place[0], (float)place[1], (float)place[2]};
    *grab = at;
    return BRIM_OK;
}

BrimResult brim_sim_grab(BrimSim *sim, BrimVec3 origin, BrimVec3 direction, int *grab,
                         BrimVec3 *point, BrimError *error) {
    NEED(sim, error);
    NEED(grab, error);
    *grab = -1;
    double length = hypot(hypot(direction.x, direction.y), direction.z);
    if (!finite3(origin) || !(length > 0) || !isfinite(length))
        return fail(error, BRIM_ERROR_INPUT,
                    "a grab needs a ray: a finite origin and a direction that is not 0");
    Hand hand = {0};
    if (!sim->bodies || !pick(sim, origin, direction, &hand))
        return fail(error, BRIM_ERROR_INPUT, "the ray meets no body");
    return take(sim, &hand, grab, point, error);
}

BrimResult brim_sim_grab_vertex(BrimSim *sim, int body, size_t vertex, int *grab,
                                BrimError *error) {
    NEED(sim, error);
    NEED(grab, error);
    *grab = -1;
    BrimBodySurface surface;
    BrimResult r = brim_sim_body_surface(sim, body, &surface, error);
    if (r != BRIM_OK) return r;
    for (size_t t = 0; t < surface.triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            if (surface.triangle[t][k] != vertex) continue;
            Hand hand = {.body = body, .triangle = (uint32_t)t};
            hand.weight[k] = 1;
            return take(sim, &hand, grab, NULL, error);
        }
    return fail(error, BRIM_ERROR_INPUT, "body %d has no vertex %zu in its surface of %zu", body,
                vertex, surface.vertex_count);
}

/// The host's hand of that name.
static BrimResult find(BrimSim *s, int grab, Hand **hand, BrimError *error) {
    Hands *hands = s->bodies ? &s->bodies->hands : NULL;
    if (!hands || grab < hands->kept || grab >= hands->count || hands->hand[grab].body < 0)
        return fail(error, BRIM_ERROR_INPUT, "grab %d: there is none, or it was released", grab);
    *hand = &hands->hand[grab];
    return BRIM_OK;
}

BrimResult brim_sim_drag(BrimSim *sim, int grab, BrimVec3 target, double duration,
                         BrimError *error) {
    Hand *h = NULL;
    NEED(sim, error);
    BrimResult r = find(sim, grab, &h, error);
    if (r != BRIM_OK) return r;
    if (!finite3(target) || !(duration >= 0) || !isfinite(duration))
        return fail(error, BRIM_ERROR_INPUT,
                    "grab %d: target and duration must be finite, duration >= 0", grab);
    double now[3], since = soonest(sim);
    hand_target(sim, h, since, now);
    memcpy(h->from, now, sizeof now);
    h->to[0] = target.x, h->to[1] = target.y, h->to[2] = sim->dim == 3 ? target.z : 0;
    h->since = since, h->until = since + duration;
    return BRIM_OK;
}

BrimResult brim_sim_release(BrimSim *sim, int grab, BrimError *error) {
    Hand *h = NULL;
    NEED(sim, error);
    BrimResult r = find(sim, grab, &h, error);
    if (r == BRIM_OK) h->body = -1, h->pulls = false;
    return r;
}

BrimResult brim_sim_grab_state(const BrimSim *sim, int grab, BrimGrabState *state,
                               BrimError *error) {
    Hand *h = NULL;
    NEED(sim, error);
    NEED(state, error);
    BrimResult r = find((BrimSim *)sim, grab, &h, error);
    if (r != BRIM_OK) return r;
    double point[3], velocity[3], target[3];
    hand_point(&sim->bodies->body[h->body], h, point, velocity);
    hand_target(sim, h, sim->time, target);
    *state = (BrimGrabState){h->body,
                             {(float)point[0], (float)point[1], (float)point[2]},
                             {(float)target[0], (float)target[1], (float)target[2]},
                             {0, 0, 0}};
    if (h->pulls)
        state->force = (BrimVec3){(float)h->force[0], (float)h->force[1], (float)h->force[2]};
    return BRIM_OK;
}
