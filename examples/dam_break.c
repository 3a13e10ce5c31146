// A dam break: the program at the head of brim.h.
#include <brim/brim.h>
#include <stdio.h>

int main(void) {
    BrimShapeDef column = brim_default_shape_def();
    column.kind = BRIM_SHAPE_BOX;
    column.size = (BrimVec3){0.4f, 0.6f, 0.5f};
    column.position = (BrimVec3){0.2f, 0.3f, 0.25f};
    BrimLiquidDef water = {.shape = column};

    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = 64, def.cells[1] = 64, def.cells[2] = 32;
    def.size = (BrimVec3){1.0f, 1.0f, 0.5f};
    def.liquid = &water, def.liquid_count = 1;

    BrimError error;
    BrimSim *sim = NULL;
    if (brim_sim_create(&def, &sim, &error) != BRIM_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (int frame = 1; frame <= 48; frame++) {
        if (brim_sim_advance_frame(sim, &error) != BRIM_OK) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        BrimParticles p = brim_sim_particles(sim);
        printf("frame %d: %zu particles, first at height %g m\n", frame, p.count, p.y[0]);
    }
    brim_sim_destroy(&sim);
}
