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

BrimResult bodies_check(const BrimSim *s, int index, BrimError *error) {
    const Bodies *bodies = s->bodies;
    const Body *b = &bodies->body[index];
    BrimResult r = check_place(s, b, error);
    for (int k = 0; r == BRIM_OK && !b->elastic->pinned && k < s->walls.solid_count; k++) {
        int other = k - bodies->first_solid;
        if (other == index || !solid_exists(s->walls.solids[k], s->walls.time)) continue;
        float depth = depth_in(b, s->walls.solids[k]);
        if (!(depth > DEPTH * s->dx)) continue;
        r = fail(error, BRIM_ERROR_INPUT,
                 "the body starts %.3g m deep in %s[%d], which would push it out: move one of them",
                 (double)depth, other >= 0 ? "bodies" : "solids", other >= 0 ? other : k);
    }
    for (int k = 0; r == BRIM_OK && b->twins && k < index; k++) {
        float depth = depth_in(b, bodies->body[k].twins->solid);
        if (depth > DEPTH * s->dx)
            r = fail(error, BRIM_ERROR_INPUT,
                     "the body starts %.3g m deep in bodies[%d]: move one of them", (double)depth,
                     k);
    }
    return r;
}
