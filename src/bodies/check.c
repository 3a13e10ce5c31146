// Whether bodies stand where they can: inside the domain, not in one another, not in solids. What
// pins hold may be anywhere.
#include "base/error.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include <math.h>

/// Depth that contact takes back by itself, in cells.
static const float DEPTH = 0.5f;

static BrimResult check_place(const BrimSim *s, const Body *b, BrimError *error) {
    static const char *const side[] = {"x-", "x+", "y-", "y+", "z-", "z+"};
    for (int a = 0; a < s->dim; a++) {
        float end = (float)s->grid.cells[a] * s->dx;
        if (b->low[a] >= end || b->high[a] <= 0)
            return fail(error, BRIM_ERROR_INPUT,
                        "the body lies outside the domain, beyond its side %s: from %g to %g m",
                        side[2 * a + (b->low[a] >= end)], (double)b->low[a], (double)b->high[a]);
        float out[2] = {-b->low[a], b->high[a] - end};
        for (int n = 0; n < 2; n++)
            if (!b->elastic->pinned && !s->sides.open[2 * a + n] && out[n] > DEPTH * s->dx)
                return fail(error, BRIM_ERROR_INPUT,
                            "the body reaches %.3g m beyond the wall %s: move it inside, hold it "
                            "by pins, or open that side",
                            (double)out[n], side[2 * a + n]);
    }
    return BRIM_OK;
}

/// Deepest vertex of a body in a solid, m.
static float depth_in(const Body *b, const Solid *solid) {
    float most = 0, low[3], high[3];
    if (!solid_bounds(solid, low, high)) return 0;
    for (size_t i = 0; i < b->surface.vertex_count; i++) {
        const float *x = b->surface.vertices[i];
        float d;
        bool near = b->vertex_area[i] > 0;
        for (int a = 0; a < b->dim; a++) near &= x[a] > low[a] && x[a] < high[a];
        if (!near) continue;
        solid_distance(solid, 1, &x[0], &x[1], &x[2], &d);
        most = fmaxf(most, -d);
    }
    return most;
}

/// How deep a point lies in two solids at once, m; no more than in `one` where that is below
/// `least`.
static float depth_in_both(const Solid *one, const Solid *two, const float x[3], float least) {
    float d[2];
    solid_distance(one, 1, &x[0], &x[1], &x[2], &d[0]);
    if (-d[0] <= least) return -d[0];
    solid_distance(two, 1, &x[0], &x[1], &x[2], &d[1]);
    return fminf(-d[0], -d[1]);
}

/// How thick the room is that two solids share, m, looked at by half cells: bodies that cross, or
/// that stand at the same place, have no vertex in one another. Distances change by no more than
/// the way, and nearly all points of a row are passed over by that.
static float shared_by(const BrimSim *s, const Solid *one, const Solid *two) {
    const float sure = 0.9f; // of that, for distances that are told by a grid
    float low[2][3], high[2][3], most = 0, step = 0.5f * s->dx;
    int count[3] = {1, 1, 1};
    if (!solid_bounds(one, low[0], high[0]) || !solid_bounds(two, low[1], high[1])) return 0;
    for (int a = 0; a < s->dim; a++) {
        low[0][a] = fmaxf(low[0][a], low[1][a]);
        float length = fminf(high[0][a], high[1][a]) - low[0][a];
        if (!(length > 0)) return 0;
        count[a] = (int)fminf(ceilf(length / step), 1 << 12);
    }
    for (int k = 0; k < count[2]; k++)
        for (int j = 0; j < count[1]; j++)
            for (int i = 0, next; i < count[0]; i += next) {
                const float x[3] = {low[0][0] + step * ((float)i + 0.5f),
                                    low[0][1] + step * ((float)j + 0.5f),
                                    s->dim == 2 ? 0 : low[0][2] + step * ((float)k + 0.5f)};
                const float depth = depth_in_both(one, two, x, most);
                next = 1 + (int)fminf(sure * fmaxf(most - depth, 0) / step, 1 << 12);
                most = fmaxf(most, depth);
            }
    return 2 * most;
}

/// How deep a body stands in another solid, m.
static float depth_of(const BrimSim *s, const Body *b, const Solid *own, const Solid *other) {
    return fmaxf(depth_in(b, other), shared_by(s, own, other));
}

BrimResult bodies_check(const BrimSim *s, int index, BrimError *error) {
    const Bodies *bodies = s->bodies;
    const Body *b = &bodies->body[index];
    BrimResult r = check_place(s, b, error);
    for (int k = 0; r == BRIM_OK && !b->elastic->pinned && k < s->walls.solid_count; k++) {
        int other = k - bodies->first_solid;
        if (other == index || !solid_exists(s->walls.solids[k], s->walls.time)) continue;
        const Solid *own =
            b->twins ? b->twins->solid : s->walls.solids[bodies->first_solid + index];
        float depth = depth_of(s, b, own, s->walls.solids[k]);
        if (!(depth > DEPTH * s->dx)) continue;
        r = fail(error, BRIM_ERROR_INPUT,
                 "the body starts %.3g m deep in %s[%d], which would push it out: move one of them",
                 (double)depth, other >= 0 ? "bodies" : "solids", other >= 0 ? other : k);
    }
    for (int k = 0; r == BRIM_OK && b->twins && k < index; k++) {
        float depth = depth_of(s, b, b->twins->solid, bodies->body[k].twins->solid);
        if (depth > DEPTH * s->dx)
            r = fail(error, BRIM_ERROR_INPUT,
                     "the body starts %.3g m deep in bodies[%d]: move one of them", (double)depth,
                     k);
    }
    return r;
}
