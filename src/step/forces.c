// Stage 9: body forces.
#include "step/stages.h"

void stage_forces(BrimSim *s, double kick) {
    BrimVec3 g = gravity_at(s, s->velocity_time + 0.5 * kick);
    const float add[3] = {(float)(g.x * kick), (float)(g.y * kick), (float)(g.z * kick)};
    for (int a = 0; a < s->dim; a++) {
        if (add[a] == 0) continue;
        float *v = s->velocity[a];
        const uint8_t *known = s->known[a];
        int64_t rows = (int64_t)sim_rows(s);
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (int64_t r = 0; r < rows; r++) {
            if (!known[r]) continue;
            for (int i = 0; i < TILE; i++) v[r * TILE + i] += known[r] >> i & 1 ? add[a] : 0.0f;
        }
    }
    s->velocity_time += kick;
}
