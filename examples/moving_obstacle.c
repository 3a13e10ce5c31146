// A host that moves an obstacle every frame: a paddle swings to and fro at one end of a tank, waves
// run to the other end. Prints how far the water climbs there and how fast it moves, and writes one
// PLY file of particles a frame when given a folder:
//
//   moving_obstacle [FOLDER]
#include <brim/brim.h>
#include <math.h>
#include <stdio.h>

static const float PI = 3.14159265f;
enum { FRAMES = 96, FRAME_RATE = 24 };

/// A tank of 2 x 0.75 x 0.25 m, half a tank of water, a paddle that reaches to its floor.
static BrimResult create_tank(BrimSim **sim, int *paddle, BrimError *error) {
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    water.shape.kind = BRIM_SHAPE_BOX;
    water.shape.size = (BrimVec3){1.75f, 0.25f, 0.25f};
    water.shape.position = (BrimVec3){1.125f, 0.125f, 0.125f};

    BrimSimDef def = brim_default_sim_def();
    def.size = (BrimVec3){2.0f, 0.75f, 0.25f};
    def.cells[0] = 128, def.cells[1] = 48, def.cells[2] = 16;
    def.frame_rate = FRAME_RATE;
    def.duration = (double)FRAMES / FRAME_RATE;
    def.liquid = &water, def.liquid_count = 1;
    BrimResult result = brim_sim_create(&def, sim, error);
    if (result != BRIM_OK) return result;

    BrimSolidDef solid = brim_default_solid_def();
    solid.shape.kind = BRIM_SHAPE_BOX;
    solid.shape.size = (BrimVec3){0.0625f, 0.5f, 0.25f};
    solid.shape.position = (BrimVec3){0.21875f, 0.25f, 0.125f};
    return brim_sim_add_solid(*sim, &solid, paddle, error);
}

/// Sends the paddle to where it shall be at the end of this frame; the library gives it, and the
/// water that it pushes, the speed that takes it there in time.
static BrimResult move_paddle(BrimSim *sim, int paddle, int frame, BrimError *error) {
    const float period = 1.2f, stroke = 0.1f;
    float t = (float)frame / FRAME_RATE;
    BrimVec3 place = {stroke * 0.5f * (1.0f - cosf(2.0f * PI * t / period)), 0.0f, 0.0f};
    return brim_sim_move_solid(sim, paddle, place, (BrimVec3){0}, 1.0 / FRAME_RATE, error);
}

/// Height of the highest particle within 0.1 m of the far wall, m.
static float height_at_wall(BrimParticles p) {
    float height = 0.0f;
    for (size_t i = 0; i < p.count; i++)
        if (p.x[i] > 1.9f && p.y[i] > height) height = p.y[i];
    return height;
}

static BrimResult run(BrimSim *sim, int paddle, const char *folder, BrimError *error) {
    for (int frame = 1; frame <= FRAMES; frame++) {
        BrimResult result = move_paddle(sim, paddle, frame, error);
        if (result == BRIM_OK) result = brim_sim_advance_frame(sim, error);
        if (result != BRIM_OK) return result;
        printf("%5.2f s  water at the far wall %.3f m, fastest %.2f m/s\n", brim_sim_time(sim),
               height_at_wall(brim_sim_particles(sim)), brim_sim_stats(sim)->max_speed);
        if (!folder) continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%06d.ply", folder, frame);
        result = brim_write_particles(sim, path, error);
        if (result != BRIM_OK) return result;
    }
    return BRIM_OK;
}

int main(int argc, char **argv) {
    BrimError error;
    BrimSim *sim = NULL;
    int paddle;
    BrimResult result = create_tank(&sim, &paddle, &error);
    if (result == BRIM_OK) result = run(sim, paddle, argc > 1 ? argv[1] : NULL, &error);
    if (result != BRIM_OK) fprintf(stderr, "moving_obstacle: %s\n", error.message);
    brim_sim_destroy(&sim);
    return result == BRIM_OK ? 0 : 1;
}
