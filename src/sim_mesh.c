// The surface of a simulation as it is.
#include "base/error.h"
#include "mesh/mesher.h"
#include "sim.h"
#include <stdlib.h>

BrimResult brim_sim_mesh(const BrimSim *sim, const BrimMeshDef *mesh_def, BrimMesh *mesh,
                         BrimError *error) {
    NEED(mesh, error);
    *mesh = (BrimMesh){0};
    NEED(sim, error);
    NEED(mesh_def, error);
    Solid **present = calloc((size_t)sim->solid_count + 1, sizeof(Solid *));
    if (!present) return fail(error, BRIM_ERROR_MEMORY, "out of memory for the surface's solids");
    int count = 0;
    for (int i = 0; i < sim->solid_count; i++)
        if (solid_exists(sim->solids[i], sim->time)) present[count++] = sim->solids[i];
    BrimParticles particles = brim_sim_particles(sim);
    particles.count -= particles.spray, particles.spray = 0;
    FilledCells below = {&sim->grid, sim->band ? sim->hidden : NULL};
    BrimSimDef def = sim->def;
    def.tracking_speed[0] = (float)sim->speed_low, def.tracking_speed[1] = (float)sim->speed_high;
    BrimResult result = mesh_make(&def, mesh_def, present, count, &particles, below, mesh, error);
    free((void *)present);
    return result;
}
