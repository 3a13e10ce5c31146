// The narrow band on a warped grid: particles near the surface alone, and what the grid carries
// along below them.
#include "scratch.h"
#include "test.h"
#include "warp/stage.h"
#include "warp_sim.h"
#include <math.h>
#include <stdlib.h>

static const char *const pool = "brim: 1\n"
                                "dim: 2\n"
                                "domain: {size: [1, 1], cells: 32}\n"
                                "time: {duration: 10, cfl: 1, frame_rate: 5}\n"
                                "grid: {warp: 0.75}\n"
                                "band: {width: 3}\n"
                                "liquid:\n"
                                "  - box: {low: [0, 0], high: [1, 0.613]}\n";
/// A ball stands in the water of two dams, in 3D.
static const char *const dams = "brim: 1\n"
                                "domain: {size: [1, 1, 0.5], cells: 24}\n"
                                "time: {duration: 10, cfl: 1}\n"
                                "grid: {warp: 0.75}\n"
                                "band: {width: 3}\n"
                                "liquid:\n"
                                "  - box: {low: [0, 0, 0], high: [0.35, 0.7, 0.5]}\n"
                                "  - box: {low: [0.65, 0, 0], high: [1, 0.5, 0.5]}\n"
                                "solids:\n"
                                "  - sphere: {center: [0.5, 0.1, 0.25], radius: 0.11}\n"
                                "    path: [0, '0.02*sin(9*t)', 0]\n";

/// Of all liquid, below the band too, cells.
static double water(const BrimSim *sim) {
    return sim->stats.volume * sim->start_volume + sim->volume.pressed_cells;
}

/// Water at rest stays so, with a third of the particles: it keeps no more energy than it has by
/// chance without a band.
TEST(warp_band_rests) {
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(pool, &scene, &error, NULL, 0);
    double energy = 0, height = 0;
    CHECK(sim != NULL);
    CHECK((double)sim->particles.count < 0.33 * (double)sim->seeded);
    for (int frame = 0; frame < 25; frame++) {
        CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        if (frame == 0) height = sim->stats.potential_energy;
        if (frame >= 10) energy += sim->stats.kinetic_energy / 15;
        CHECK(sim->stats.seeded + sim->stats.resampled == sim->stats.particles);
    }
    CHECK_BELOW(energy, 9e-4);
    CHECK_NEAR(sim->stats.potential_energy, height, 0.002 * height);
    finish(&sim, &scene);
}

/// A ball falls: what the grid carries along is as exact as what particles do, while the mesh
/// follows the ball.
TEST(warp_band_falls_freely) {
    static const char *const ball = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 48}\n"
                                    "time: {duration: 1, step: 0.01, frame_rate: 25}\n"
                                    "grid: {warp: 0.75}\n"
                                    "band: {width: 2}\n"
                                    "liquid:\n"
                                    "  - sphere: {center: [0.5, 0.7], radius: 0.22}\n"
                                    "    velocity: [0.2, 0]\n";
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(ball, &scene, &error, NULL, 0);
    CHECK(sim != NULL);
    const double mass = sim->particle_mass * (double)sim->stats.volume * sim->start_volume *
                        sim->def.particles_per_cell;
    double height = sim->stats.potential_energy / (mass * 9.81), moved = 0, off = 0;
    for (int step = 0; step < 20; step++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        moved = fmax(moved, sim->warp->motion.moved);
    }
    CHECK(sim->stats.interior > 100);
    for (size_t i = 0; i < sim_cells(sim); i++)
        if (sim->hidden[i >> 3] >> (i & 7) & 1)
            off = fmax(off, fabs((double)sim->velocity[0][i] - 0.2) +
                                fabs((double)sim->velocity[1][i] + 9.81 * sim->velocity_time));
    const double t = sim->time, fallen = height - sim->stats.potential_energy / (mass * 9.81);
    finish(&sim, &scene);
    CHECK(moved > 0.1);     // cells a step
    CHECK_BELOW(off, 5e-3); // m/s, of 2
    CHECK_NEAR(fallen, 0.5 * 9.81 * t * t, 0.01 * 0.5 * 9.81 * t * t);
}

/// Ten seconds of splashing in two dimensions, half a second in three beside a moving ball: the
/// liquid stays as much, and the account of what particles and hidden cells hold closes.
TEST(warp_band_keeps_the_volume) {
    static const char *const text = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 32}\n"
                                    "time: {duration: 10, cfl: 1}\n"
                                    "grid: {warp: 0.75}\n"
                                    "band: {width: 3}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [0.3, 0.6]}\n"
                                    "  - box: {low: [0.7, 0], high: [1, 0.6]}\n";
    for (int dim = 2; dim <= 3; dim++) {
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(dim == 2 ? text : dams, &scene, &error, NULL, 0);
        double least = 1, most = 1, lowest = INFINITY;
        CHECK(sim != NULL);
        const double begin = sim->start_volume;
        for (int frame = 0; frame < (dim == 2 ? 240 : 12); frame++) {
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
            least = fmin(least, sim->stats.volume), most = fmax(most, sim->stats.volume);
            if (sim->time > 5) lowest = fmin(lowest, sim->stats.potential_energy);
            CHECK(sim->stats.seeded + sim->stats.resampled == sim->stats.particles);
        }
        CHECK_NEAR(water(sim) / begin, 1, 2e-3);
        CHECK(sim->start_volume == begin);
        CHECK(least > 0.99 && most < 1.01);
        const double rest = 0.5 * 9.81 * 1000 * pow(begin / 1024, 2);
        CHECK(dim == 3 || (lowest > 0.995 * rest && lowest < 1.03 * rest));
        finish(&sim, &scene);
    }
}

/// The wedge below a ball that lies on the floor: dry there is no liquid in it, and wet a liquid
/// node lies deeper in the ball than particles reach. The pressure was no number both before the
/// water came and after.
TEST(warp_band_flows_round_a_ball_on_the_floor) {
    static const char *const cells[] = {"domain.cells=40", "domain.cells=43"};
    for (int k = 0; k < 2; k++) {
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start("brim: 1\ndim: 2\ndomain: {size: [1, 0.8], cells: 43}\n"
                             "grid: {nodal: true}\nband: {width: 3}\n"
                             "liquid:\n  - box: {low: [0, 0], high: [0.4, 0.6]}\n"
                             "solids:\n  - sphere: {center: [0.8, 0.1], radius: 0.1}\n",
                             &scene, &error, cells + k, 1);
        CHECK(sim != NULL);
        for (int frame = 0; sim && frame < 14; frame++)
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        CHECK(!sim || fabs(sim->stats.volume - 1) < 0.02);
        finish(&sim, &scene);
    }
}

/// The same bits for any number of threads, on each instruction set, and from a checkpoint.
TEST(warp_band_bit_for_bit) {
    static const char *const how[] = {"threads=1", "threads=3", "isa=base"};
    const char *path = at("warp-band.brim");
    uint64_t hash[3];
    for (int k = 0; k < 3; k++) {
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(dams, &scene, &error, how + k, 1), *again = NULL;
        CHECK(sim != NULL);
        for (int step = 0; step < 8; step++) CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_sim_save(sim, path, &error), error);
        CHECK_OK(brim_sim_load(brim_scene_def(scene), path, &again, &error), error);
        for (int step = 0; step < 4; step++) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            CHECK_OK(brim_sim_step(again, &error), error);
        }
        CHECK(sim->stats.interior > 1000);
        hash[k] = particles_hash(sim);
        CHECK(hash[k] == particles_hash(again));
        CHECK(hash[k] == hash[0]);
        brim_sim_destroy(&again);
        finish(&sim, &scene);
    }
}

/// A deep tank takes less memory, and its waves are those of one without a band.
TEST(warp_band_saves_and_sways_alike) {
    static const char *const deep = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 64}\n"
                                    "time: {duration: 1, cfl: 1, frame_rate: 50}\n"
                                    "grid: {warp: 0.75}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [0.5, 0.7]}\n"
                                    "  - box: {low: [0.5, 0], high: [1, 0.6]}\n";
    double energy[2][50], memory[2], particles[2], off = 0, most = 0;
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {k ? "band.width=4" : "band.width=0"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(deep, &scene, &error, sets, 1);
        CHECK(sim != NULL);
        for (int frame = 0; frame < 50; frame++) {
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
            energy[k][frame] = sim->stats.kinetic_energy;
        }
        memory[k] = (double)sim->stats.memory_bytes;
        particles[k] = (double)sim->stats.particles;
        finish(&sim, &scene);
    }
    for (int i = 0; i < 50; i++) {
        off = fmax(off, fabs(energy[1][i] - energy[0][i]));
        most = fmax(most, energy[0][i]);
    }
    CHECK_BELOW(particles[1], 0.2 * particles[0]);
    CHECK_BELOW(memory[1], 0.85 * memory[0]); // the pressure's coefficients stay
    CHECK_BELOW(off, 0.1 * most);
}

/// What a source deep in the liquid gives and a drain at the floor takes is in the account.
TEST(warp_band_has_ports) {
    static const char *const tank = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 48}\n"
                                    "time: {duration: 2, cfl: 1}\n"
                                    "grid: {warp: 0.75}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [1, 0.5]}\n"
                                    "sources:\n"
                                    "  - box: {low: [0.45, 0.1], high: [0.55, 0.15]}\n"
                                    "    velocity: [0, 1]\n"
                                    "drains:\n"
                                    "  - box: {low: [0.9, 0], high: [1, 0.05]}\n"
                                    "    start: 0.5\n";
    double left[2], came[2];
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {k ? "band.width=3" : "band.width=0"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(tank, &scene, &error, sets, 1);
        CHECK(sim != NULL);
        const double before = sim->start_volume;
        for (int frame = 0; frame < 12; frame++)
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        came[k] = sim->start_volume - before;
        for (int frame = 0; frame < 12; frame++)
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        const BrimStats *o = &sim->stats;
        CHECK(o->drained > 100);
        CHECK(o->seeded + o->emitted + o->resampled - o->drained - o->left == o->particles);
        left[k] = water(sim) / before;
        CHECK_NEAR(o->volume, 1, 0.02);
        finish(&sim, &scene);
    }
    CHECK_NEAR(came[1], came[0], 0.02 * came[0]); // sources give by layers
    CHECK_NEAR(left[1], left[0], 0.02);
}

/// Frames hold the cells of a regular grid that lie below the band, with their velocity, also
/// before the first step; so brim_mesher_mesh makes of them the surface of all the water.
TEST(warp_band_frames_hold_what_is_below) {
    static const char *const tank = "brim: 1\n"
                                    "domain: {size: [1, 1, 0.5], cells: 24}\n"
                                    "time: {duration: 1, cfl: 1}\n"
                                    "grid: {warp: 0.75}\n"
                                    "band: {width: 3}\n"
                                    "output: {interior: true}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0, 0], high: [1, 0.7, 0.5]}\n"
                                    "    velocity: [0.25, 0, 0.5]\n";
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(tank, &scene, &error, NULL, 0);
    CHECK(sim != NULL);
    for (int step = 0; step < 4; step++) {
        BrimInterior *cells;
        size_t count;
        double inside = 0;
        CHECK_OK(brim_sim_interior(sim, &cells, &count, &error), error);
        for (size_t i = 0; i < sim->particles.count; i++) inside += warp_volume(sim, i);
        CHECK_NEAR((double)count, sim->start_volume - inside, 0.04 * sim->start_volume);
        CHECK(count > 3000);
        for (size_t i = 0; i < count && step == 0; i++) { // none goes through walls
            const float *x = cells[i].position, *v = cells[i].velocity;
            const bool far = fabsf(x[0] - 0.5f) < 0.3f && fabsf(x[2] - 0.25f) < 0.1f;
            CHECK(!far || (fabsf(v[0] - 0.25f) < 1e-6f && fabsf(v[2] - 0.5f) < 1e-6f));
        }
        BrimParticles frame = brim_sim_particles(sim);
        BrimMeshDef def = brim_default_mesh_def();
        BrimMesher *mesher;
        BrimMesh mesh;
        frame.interior = cells, frame.interior_count = count;
        CHECK_OK(brim_mesher_create(brim_scene_def(scene), &def, &mesher, &error), error);
        CHECK_OK(brim_mesher_mesh(mesher, &frame, sim->time, &mesh, &error), error);
        CHECK_NEAR(brim_mesh_volume(&mesh), 0.35, 0.03 * 0.35);
        brim_mesh_free(&mesh);
        brim_mesher_destroy(&mesher);
        free(cells);
        CHECK_OK(brim_sim_step(sim, &error), error);
    }
    finish(&sim, &scene);
}
