// The surface of a simulation as it is.
#include "base/error.h"
#include "mesh/bent.h"
#include "mesh/mesher.h"
#include "sim.h"
#include "warp/stage.h"
#include <stdlib.h>

BrimResult brim_sim_mesh(const BrimSim *sim, const BrimMeshDef *mesh_def, BrimMesh *mesh,
                         BrimError *error) {
    NEED(mesh, error);
    *mesh = (BrimMesh){0};
    NEED(sim, error);
    NEED(mesh_def, error);
    Solid **present = calloc((size_t)sim->walls.solid_count + 1, sizeof(Solid *));
    if (!present) return fail(error, BRIM_ERROR_MEMORY, "out of memory for the surface's solids");
    int count = 0;
    for (int i = 0; i < sim->walls.solid_count; i++)
        if (solid_exists(sim->walls.solids[i], sim->time)) present[count++] = sim->walls.solids[i];
    BrimParticles particles = brim_sim_particles(sim);
    particles.count -= particles.spray, particles.spray = 0;
    if (sim->warp) { // there cells hold as many particles everywhere; solids are given in space
        const float *const *x = (const float *const *)sim->particles.attr + ATTR_X;
        particles.x = x[0], particles.y = x[1], particles.z = x[2];
        count = 0;
    }
    FilledCells below = {&sim->grid, has_band(sim) ? sim->hidden : NULL};
    BrimSimDef def = sim->def;
    def.tracking_speed[0] = (float)sim->tracking.speed_low,
    def.tracking_speed[1] = (float)sim->tracking.speed_high;
    BrimResult result = mesh_make(&def, mesh_def, present, count, &particles, below, mesh, error);
    free((void *)present);
    if (result == BRIM_OK && sim->warp) bend_mesh(&sim->warp->mesh.map, sim->space, mesh);
    return result;
}
