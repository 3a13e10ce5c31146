// Simulations from scenes given as text, for tests of the warped grid.
#pragma once
#include "base/hash.h"
#include "step/state.h"
#include <string.h>

/// A simulation of a scene with keys changed; NULL ends the list.
static inline BrimSim *start(const char *text, BrimScene **scene, BrimError *error,
                             const char *const *sets, int count) {
    BrimSim *sim = NULL;
    *scene = NULL;
    if (brim_scene_parse(text, strlen(text), "test", sets, count, scene, error) == BRIM_OK)
        brim_sim_create(brim_scene_def(*scene), &sim, error);
    return sim;
}

static inline void finish(BrimSim **sim, BrimScene **scene) {
    brim_sim_destroy(sim);
    brim_scene_destroy(scene);
}

static inline uint64_t particles_hash(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    const float *const array[6] = {p.x, p.y, p.z, p.vx, p.vy, p.vz};
    uint64_t h = p.count;
    for (int k = 0; k < 6; k++) h = hash_bytes(h, array[k], p.count * sizeof(float));
    return h;
}
