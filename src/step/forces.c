// Stage 9: body forces.
#include "base/error.h"
#include "liquid/force_fields.h"
#include "step/stages.h"
#include <math.h>

/// Adds to the velocity on a tile's faces. context: what, along each axis, m/s
static void push_tile(BrimSim *s, int slot, int thread, void *context) {
    const float *add = context;
    for (int a = 0; a < s->dim; a++) {
        if (add[a] == 0) continue;
        TileMask pushed = faces_forced(s, slot, a);
        for (int r = 0; r < s->grid.tile_rows; r++) {
            uint8_t row = mask_bits(&pushed, r);
            float *v =
                s->velocity[a] + ((size_t)slot * (size_t)s->grid.tile_rows + (size_t)r) * TILE;
            if (!row) continue;
            for (int i = 0; i < TILE; i++) v[i] += row >> i & 1 ? add[a] : 0.0f;
        }
    }
}

BrimResult stage_forces(BrimSim *s, BrimError *error) {
    double kick = s->projection.kick_now;
    BrimVec3 g = gravity_at(s, s->velocity_time + 0.5 * kick);
    if (!isfinite(g.x + g.y + g.z))
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld: gravity is not a number at t = %.6g s: change its formulas",
                    (long long)s->step + 1, s->velocity_time + 0.5 * kick);
    float add[3] = {(float)(g.x * kick), (float)(g.y * kick), (float)(g.z * kick)};
    tiles_for(s, push_tile, add);
    BrimResult r = force_fields_push(s, s->velocity_time + 0.5 * kick, kick, error);
    s->velocity_time += kick;
    return r;
}
