// Solids on a warped grid.
#include "scratch.h"
#include "test.h"
#include "warp/stage.h"
#include "warp_sim.h"

/// Water around a ball on the floor of a tank.
static const char *const pool[2] = {"brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 32}\n"
                                    "time: {duration: 1, cfl: 1}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [1, 0.413]}\n"
                                    "solids:\n"
                                    "  - sphere: {center: [0.5, 0.12], radius: 0.2}\n",
                                    "brim: 1\n"
                                    "domain: {size: [1, 1, 1], cells: 16}\n"
                                    "time: {duration: 1, cfl: 1}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0, 0], high: [1, 0.413, 1]}\n"
                                    "solids:\n"
                                    "  - sphere: {center: [0.5, 0.12, 0.5], radius: 0.2}\n"};
/// A tank that a paddle stirs.
static const char *const stirred = "brim: 1\n"
                                   "dim: 2\n"
                                   "domain: {size: [1, 1], cells: 32}\n"
                                   "time: {duration: 1, cfl: 1}\n"
                                   "liquid:\n"
                                   "  - box: {low: [0, 0], high: [1, 0.5]}\n"
                                   "solids:\n"
                                   "  - box: {center: [0.5, 0.28], size: [0.5, 0.12]}\n"
                                   "    rate: 180\n";

/// How deep the deepest particle is in a solid, cells of the regular grid.
static double deepest(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    double depth = 0;
    for (size_t i = 0; i < p.count; i++)
        for (int k = 0; k < sim->walls.solid_count; k++) {
            float d;
            solid_distance(sim->walls.solids[k], 1, &p.x[i], &p.y[i], &p.z[i], &d);
            depth = fmax(depth, (double)(-d * sim->inv_dx));
        }
    return depth;
}

/// Water at rest beside a curved wall: as much as there is room, calm, and outside the ball.
TEST(warp_water_rests_around_a_ball) {
    // area and volume of the ball above the floor, and their moments about it
    const double r = 0.2, low = 0.12, pi = acos(-1), turn = acos(-low / r);
    const double area = r * r * (turn - sin(turn) * cos(turn));
    const double moment = area * low + 2.0 / 3 * pow(r * sin(turn), 3);
    const double cap = r + low, volume = pi * cap * cap * (3 * r - cap) / 3;
    const double moment3 =
        low * volume + pi * (r * r * (r * r - low * low) / 2 - (pow(r, 4) - pow(low, 4)) / 4);
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {"grid.warp=0.75"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(pool[k], &scene, &error, sets, 1);
        CHECK(sim != NULL);
        double most = 0;
        const double taken = k ? volume : area;
        const double rest = 9810 * (0.413 * 0.413 / 2 - (k ? moment3 : moment));
        for (int frame = 0; frame < 12; frame++) {
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
            if (frame >= 6) most = fmax(most, sim->stats.max_speed);
        }
        double water = 0;
        for (size_t i = 0; i < sim->particles.count; i++) water += warp_volume(sim, i);
        water *= sim->cell_volume;
        CHECK_NEAR(water, 0.413 - taken, 0.02 * 0.413);
        CHECK_NEAR(sim->stats.potential_energy, rest, 0.03 * rest);
        CHECK_BELOW(most, k ? 0.12 : 0.05); // 2 m/s is the speed of a fall of its height
        CHECK_NEAR(sim->stats.volume, 1, 0.01);
        CHECK_BELOW(deepest(sim), 0.3);
        finish(&sim, &scene);
    }
}

/// A piston comes through the wall of a channel, from nothing to five cells thick, and drives the
/// water before it at its own speed from the first step on.
TEST(warp_piston_drives_the_water_before_it) {
    static const char *const text[2] = {"brim: 1\n"
                                        "dim: 2\n"
                                        "domain: {size: [2, 0.5], cells: [32, 8]}\n"
                                        "gravity: [0, 0]\n"
                                        "time: {duration: 1, step: 0.02, frame_rate: 50}\n"
                                        "liquid:\n"
                                        "  - box: {low: [0, 0], high: [1.2, 0.5]}\n"
                                        "solids:\n"
                                        "  - box: {low: [-3, -1], high: [0.01, 1.5]}\n"
                                        "    path: [t, 0]\n",
                                        "brim: 1\n"
                                        "domain: {size: [2, 0.5, 0.5], cells: [32, 8, 8]}\n"
                                        "gravity: [0, 0, 0]\n"
                                        "time: {duration: 1, step: 0.02, frame_rate: 50}\n"
                                        "liquid:\n"
                                        "  - box: {low: [0, 0, 0], high: [1.2, 0.5, 0.5]}\n"
                                        "solids:\n"
                                        "  - box: {low: [-3, -1, -1], high: [0.01, 1.5, 1.5]}\n"
                                        "    path: [t, 0, 0]\n"};
    for (int k = 0; k < 4; k++) {
        const char *const sets[] = {k & 1 ? "grid.warp=0.75" : "grid.nodal=true"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(text[k >> 1], &scene, &error, sets, 1);
        CHECK(sim != NULL);
        double off = 0, mean = 0;
        for (int step = 0; step < (k >> 1 ? 4 : 15); step++) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            BrimParticles p = brim_sim_particles(sim);
            double sum = 0;
            for (size_t i = 0; i < p.count; i++) {
                sum += (double)p.vx[i] / (double)p.count;
                off = fmax(off, fabs((double)p.vx[i] - 1));
                off = fmax(off, fabs((double)p.vy[i]));
            }
            mean = fmax(mean, fabs(sum - 1));
        }
        CHECK_BELOW(mean, 0.005);
        CHECK_BELOW(off, 0.05); // one particle, beside the surface
        CHECK_BELOW(deepest(sim), 0.3);
        finish(&sim, &scene);
    }
}

TEST(warp_paddle_stirs_as_on_a_staggered_grid) {
    double energy[2];
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {k ? "grid.warp=0.75" : "grid.warp=0"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(stirred, &scene, &error, sets, 1);
        CHECK(sim != NULL);
        for (int frame = 0; frame < 12; frame++)
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        energy[k] = sim->stats.kinetic_energy;
        CHECK_NEAR(sim->stats.volume, 1, 0.01);
        CHECK_BELOW(deepest(sim), 0.5);
        if (k) CHECK(sim->warp->motion.least > 0);
        finish(&sim, &scene);
    }
    CHECK_NEAR(energy[1] / energy[0], 1, 0.25);
}

/// The same bits for any number of threads, and when it goes on from a checkpoint.
TEST(warp_stirs_bit_for_bit) {
    const char *path = at("warp-stirred.brim");
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {"grid.warp=0.75", k ? "threads=3" : "threads=1"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(stirred, &scene, &error, sets, 2), *again = NULL;
        CHECK(sim != NULL);
        for (int step = 0; step < 10; step++) CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_sim_save(sim, path, &error), error);
        CHECK_OK(brim_sim_load(brim_scene_def(scene), path, &again, &error), error);
        for (int step = 0; step < 5; step++) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            CHECK_OK(brim_sim_step(again, &error), error);
        }
        hash[k] = particles_hash(sim);
        CHECK(hash[k] == particles_hash(again));
        brim_sim_destroy(&again);
        finish(&sim, &scene);
    }
    CHECK(hash[0] == hash[1]);
}

/// What the water's momentum changes by is what the walls take: a dam that falls on
/// a block.
TEST(warp_forces_balance_momentum) {
    static const char *const text = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 0.75], cells: [32, 24]}\n"
                                    "time: {duration: 1, cfl: 1}\n"
                                    "grid: {warp: 0.75}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [0.3, 0.5]}\n"
                                    "solids:\n"
                                    "  - box: {center: [0.7, 0.1], size: [0.12, 0.24]}\n"
                                    "gauges:\n"
                                    "  - {name: block, force: {solid: 0}}\n"
                                    "  - {name: left, force: {side: x-}}\n"
                                    "  - {name: right, force: {side: x+}}\n";
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(text, &scene, &error, NULL, 0);
    CHECK(sim != NULL);
    double impulse = 0, hit = 0, off = 0, most = 0;
    while (brim_sim_time(sim) < 0.6) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        double momentum = 0, kick = sim->projection.kick;
        BrimParticles p = brim_sim_particles(sim);
        for (size_t i = 0; i < p.count; i++)
            momentum +=
                1000 * sim->cell_volume * (double)(sim->particles.attr[ATTR_VOLUME][i] * p.vx[i]);
        double gauge[3][BRIM_GAUGE_COLUMNS];
        for (int k = 0; k < 3; k++) CHECK_OK(brim_sim_gauge_read(sim, k, gauge[k], &error), error);
        for (int k = 0; k < 3; k++) impulse -= kick * gauge[k][0];
        hit = fmax(hit, gauge[0][0]);
        off = fmax(off, fabs(momentum - impulse)), most = fmax(most, fabs(momentum));
    }
    finish(&sim, &scene);
    CHECK(hit > 300 && most > 50);
    CHECK_BELOW(off, 0.06 * most);
}
