// Whole simulations on a warped grid.
#include "cases.h"
#include "scratch.h"
#include "test.h"
#include "warp/stage.h"
#include "warp_sim.h"
#include <stdlib.h>
#include <string.h>

static const char *const pool = "brim: 1\n"
                                "dim: 2\n"
                                "domain: {size: [1, 1], cells: 32}\n"
                                "time: {duration: 2, cfl: 1}\n"
                                "liquid:\n"
                                "  - box: {low: [0, 0], high: [1, 0.413]}\n";
static const char *const dam = "brim: 1\n"
                               "dim: 2\n"
                               "domain: {size: [1, 1], cells: 32}\n"
                               "time: {duration: 1, cfl: 1}\n"
                               "liquid:\n"
                               "  - box: {low: [0, 0], high: [0.4, 0.5]}\n";
static const char *const cube = "brim: 1\n"
                                "domain: {size: [1, 1, 1], cells: 16}\n"
                                "time: {duration: 1, cfl: 1}\n"
                                "liquid:\n"
                                "  - box: {low: [0, 0, 0], high: [0.5, 0.5, 1]}\n"
                                "  - sphere: {center: [0.6, 0.75, 0.5], radius: 0.12}\n";

/// Seeded as evenly as the mesh is: full cells weigh 1, whatever their size, and there are as many
/// particles in a cell at the surface as in one at the bottom.
TEST(warp_even_water_has_density_one) {
    for (int dim = 2; dim <= 3; dim++) {
        const char *const sets[] = {"grid.warp=0.75", "particles.jitter=0"};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(dim == 2 ? pool : cube, &scene, &error, sets, 2);
        CHECK(sim != NULL);
        const WarpMap *m = &sim->warp->mesh.map;
        double volume = 0,
               water = dim == 2 ? 0.413 : 0.25 + 4.0 / 3 * acos(-1) * 0.12 * 0.12 * 0.12;
        for (size_t i = 0; i < sim->particles.count; i++) volume += warp_volume(sim, i);
        CHECK_NEAR(volume / pow(dim == 2 ? 32 : 16, dim), water, 0.03 * water);
        CHECK(sim->warp->motion.least < 0.5 && sim->warp->motion.most > 1.2);
        CHECK(m->d[0][0] == 0 && m->d[1][0] == 0);
        sim->volume.crowded = true; // whatever the water has travelled
        CHECK_OK(warp_weigh(sim, &error), error);
        double worst = 0;
        int cells = 0;
        for (int slot = 0; slot < sim->grid.tile_count; slot++)
            for (int i = 0; i < sim->grid.tile_cells; i++) {
                bool deep = true; // below all that the surface's own cells give to
                for (int c = 0; c < 1 << dim; c++) {
                    int64_t node = grid_near(&sim->grid, slot, (i & 7) + (c & 1),
                                             (i >> 3 & 7) + (c >> 1 & 1), (i >> 6) + (c >> 2));
                    deep = deep && node >= 0 && sim->phi[node] <= -LEVEL_SET_CUT;
                }
                if (!deep) continue;
                cells++;
                double density = (double)sim->density[slot * sim->grid.tile_cells + i];
                worst = fmax(worst, fabs(density - 1));
            }
        CHECK(cells > 100);
        CHECK_BELOW(worst, 1e-4); // its own lattice: rest is 1 but for rounding
        finish(&sim, &scene);
    }
}

/// Water at rest stays, on a mesh that has settled around its surface and one that is regular.
TEST(warp_pool_stays_calm) {
    static const char *const kinds[2] = {"grid.nodal=true", "grid.warp=0.75"};
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {kinds[k]};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(pool, &scene, &error, sets, 1);
        CHECK(sim != NULL);
        double height = sim->stats.potential_energy;
        for (int frame = 0; frame < 12; frame++)
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        // a wave of the same height as the domain would be 3.1 m/s fast
        CHECK_BELOW(sim->stats.max_speed, 0.03);
        CHECK_NEAR(sim->stats.potential_energy / height, 1, 2e-3);
        CHECK_NEAR(sim->stats.volume, 1, 0.01);
        finish(&sim, &scene);
    }
}

/// Still water gains no energy in time, wherever its surface lies between nodes: no more than the
/// staggered grid has from the chance of the particles, up to 9e-4 J.
TEST(warp_pool_gains_no_energy) {
    static const char *const kinds[2] = {"grid.nodal=true", "grid.warp=0.75"};
    static const char *const levels[3] = {"liquid[0].box.high=[1, 0.4075]",
                                          "liquid[0].box.high=[1, 0.425]",
                                          "liquid[0].box.high=[1, 0.434]"};
    for (int k = 0; k < 6; k++) {
        const char *const sets[] = {kinds[k & 1], levels[k >> 1], "time.duration=10",
                                    "time.frame_rate=5"};
        BrimScene *scene;
        BrimError error;
        double energy = 0;
        BrimSim *sim = start(pool, &scene, &error, sets, 4);
        CHECK(sim != NULL);
        for (int frame = 0; frame < 50; frame++) {
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
            if (frame >= 25) energy += sim->stats.kinetic_energy / 25;
        }
        CHECK_BELOW(energy, 9e-4);
        finish(&sim, &scene);
    }
}

/// Mean kinetic energy per mass, m^2/s^2, from 0.2 to 0.5 s in water at rest whose level lies at an
/// angle to the grid: over three levels.
static double slanted_energy(double degrees, const char *kind) {
    const double x = sin(degrees * M_PI / 180), y = cos(degrees * M_PI / 180);
    double mean = 0;
    for (int k = 0; k < 3; k++) {
        char text[512];
        const double level = 0.45 + 0.01 * k;
        snprintf(text, sizeof text,
                 "brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: 32}\n"
                 "time: {duration: 0.5, frame_rate: 20, cfl: 1}\ngravity: [%g, %g]\n"
                 "liquid:\n  - plane: {point: [0.5, %g], normal: [%g, %g]}\n",
                 -9.81 * x, -9.81 * y, level, x, y);
        const char *const sets[] = {kind};
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(text, &scene, &error, sets, 1);
        for (int frame = 0; sim && frame < 10; frame++) {
            if (brim_sim_advance_frame(sim, &error) != BRIM_OK) mean = NAN;
            if (frame >= 4) mean += sim->stats.kinetic_energy / (1000 * level) / 18;
        }
        if (!sim) mean = NAN;
        finish(&sim, &scene);
    }
    return mean;
}

/// Walls show the water as level, not bent towards them: images of a mirror drove it at 1.8e-5 and
/// 8.2e-5 m^2/s^2 with regular nodes, 2.4e-5 on a bent mesh.
TEST(warp_water_rests_below_a_slanted_level) {
    CHECK_BELOW(slanted_energy(15, "grid.nodal=true"), 0.8e-5);
    CHECK_BELOW(slanted_energy(30, "grid.nodal=true"), 4e-5);
    CHECK_BELOW(slanted_energy(30, "grid.warp=0.75"), 1.2e-5);
}

/// Walls show the level by gravity, which turns here by itself and then by the program: a
/// simulation that was loaded sees the same surface.
TEST(warp_level_is_the_same_when_loaded) {
    const char *const text = "brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: 32}\n"
                             "time: {duration: 9, frame_rate: 24, cfl: 1}\n"
                             "gravity: [9.81 * sin(t + 0.3), -9.81 * cos(t + 0.3)]\n"
                             "liquid:\n  - box: {low: [0, 0], high: [1, 0.4]}\n";
    const char *const sets[] = {"grid.warp=0.6"}, *const path = at("level.brim");
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(text, &scene, &error, sets, 1);
    CHECK(sim != NULL);
    for (int k = 0; k < 2 && sim; k++) {
        BrimSim *again = NULL;
        for (int i = 0; i < 5; i++) CHECK_OK(brim_sim_step(sim, &error), error);
        if (k == 1) CHECK_OK(brim_sim_set_gravity(sim, (BrimVec3){-4, -8, 0}, &error), error);
        CHECK_OK(brim_sim_save(sim, path, &error), error);
        CHECK_OK(brim_sim_load(brim_scene_def(scene), path, &again, &error), error);
        CHECK(again && memcmp(sim->phi, again->phi, sim_cells(sim) * sizeof *sim->phi) == 0);
        brim_sim_destroy(&again);
    }
    finish(&sim, &scene);
}

/// Free fall: a ball follows its parabola while the mesh follows the ball.
TEST(warp_ball_falls_freely) {
    static const char *const ball = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 32}\n"
                                    "time: {duration: 1, step: 0.01, frame_rate: 25}\n"
                                    "liquid:\n"
                                    "  - sphere: {center: [0.5, 0.7], radius: 0.15}\n"
                                    "    velocity: [0.2, 0]\n";
    const char *const sets[] = {"grid.warp=0.75"};
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(ball, &scene, &error, sets, 1);
    CHECK(sim != NULL);
    size_t count = sim->particles.count;
    float *from = malloc(2 * count * sizeof *from);
    BrimParticles p = brim_sim_particles(sim);
    for (size_t i = 0; i < count; i++) from[2 * p.id[i]] = p.x[i], from[2 * p.id[i] + 1] = p.y[i];
    double moved = 0, off = 0;
    for (int step = 0; step < 24; step++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        moved = fmax(moved, sim->warp->motion.moved);
    }
    p = brim_sim_particles(sim);
    double t = sim->time;
    for (size_t i = 0; i < count; i++) {
        off = fmax(off, fabs((double)p.x[i] - (double)from[2 * p.id[i]] - 0.2 * t));
        off = fmax(off, fabs((double)p.y[i] - (double)from[2 * p.id[i] + 1] + 0.5 * 9.81 * t * t));
    }
    free(from);
    finish(&sim, &scene);
    CHECK(moved > 0.1);      // cells a step
    CHECK_BELOW(off, 0.004); // an eighth of a cell: the density projection moves particles too
}

/// Forces act in space: one that takes the weight of what is right of the middle keeps the ball
/// there up, wherever the mesh has its cells, and lets the other fall.
TEST(warp_forces_act_in_space) {
    static const char *const balls = "brim: 1\n"
                                     "dim: 2\n"
                                     "domain: {size: [1, 1], cells: 32}\n"
                                     "time: {duration: 1, step: 0.01, frame_rate: 25}\n"
                                     "grid: {warp: 0.75}\n"
                                     "liquid:\n"
                                     "  - sphere: {center: [0.25, 0.6], radius: 0.12}\n"
                                     "  - sphere: {center: [0.75, 0.6], radius: 0.12}\n"
                                     "forces:\n"
                                     "  - uniform: {acceleration: [0, '9.81 + 0*x']}\n"
                                     "    box: {low: [0.5, 0], high: [1, 1]}\n";
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(balls, &scene, &error, NULL, 0);
    CHECK(sim != NULL);
    for (int step = 0; step < 20; step++) CHECK_OK(brim_sim_step(sim, &error), error);
    const BrimParticles p = brim_sim_particles(sim);
    const double fallen = -9.81 * sim->velocity_time;
    double off = 0;
    for (size_t i = 0; i < p.count; i++)
        off = fmax(off, fabs((double)p.vy[i] - (p.x[i] > 0.5f ? 0 : fallen)));
    CHECK_BELOW(off, 0.02);
    finish(&sim, &scene);
}

/// Mean x of the foremost hundredth of the water.
static double front_of(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    const float *volume = sim->particles.attr[ATTR_VOLUME];
    float *x = malloc(p.count * sizeof *x);
    double all = 0, sum = 0, taken = 0;
    memcpy(x, p.x, p.count * sizeof *x);
    for (size_t i = 0; i < p.count; i++) all += volume ? (double)volume[i] : 1;
    while (taken < 0.01 * all) {
        size_t best = 0;
        for (size_t j = 0; j < p.count; j++)
            if (x[j] > x[best]) best = j;
        double v = volume ? (double)volume[best] : 1;
        sum += v * (double)x[best], taken += v, x[best] = -1;
    }
    free(x);
    return sum / taken;
}

/// Front and energy of a dam break after some frames of 1/20 s.
static BrimResult break_dam(const char *kind, const char *cells, int frames, double *front,
                            double *energy, BrimError *error) {
    const char *const sets[] = {kind, cells, "time.frame_rate=20", "time.step=0.0025"};
    BrimScene *scene;
    BrimSim *sim = start(dam, &scene, error, sets, 4);
    BrimResult result = sim ? BRIM_OK : error->result;
    for (int frame = 0; frame < frames && result == BRIM_OK; frame++)
        result = brim_sim_advance_frame(sim, error);
    if (result == BRIM_OK) *front = front_of(sim), *energy = sim->stats.kinetic_energy;
    finish(&sim, &scene);
    return result;
}

/// The front of a dam break at 32 cells runs as on a staggered grid of 128, whose own at 32 is 2 %
/// behind.
TEST(warp_dam_front_as_on_a_fine_staggered_grid) {
    static const char *const kinds[3] = {"grid.warp=0", "grid.nodal=true", "grid.warp=0.75"};
    double front[3], energy[3];
    for (int k = 0; k < 3; k++) {
        BrimError error;
        const char *cells = k ? "domain.cells=32" : "domain.cells=128";
        CHECK_OK(break_dam(kinds[k], cells, 3, &front[k], &energy[k], &error), error);
        CHECK_NEAR(front[k], front[0], 0.01 * front[0]);
        CHECK_NEAR(energy[k], energy[0], 0.02 * energy[0]);
    }
}

/// On a grid fine enough for both, the front is that of the staggered grid.
TEST(warp_dam_front_as_on_the_staggered_grid) {
    static const char *const kinds[3] = {"grid.warp=0", "grid.nodal=true", "grid.warp=0.75"};
    double front[3], energy;
    for (int k = 0; k < 3; k++) {
        BrimError error;
        CHECK_OK(break_dam(kinds[k], "domain.cells=64", 5, &front[k], &energy, &error), error);
        CHECK_NEAR(front[k], front[0], 0.01 * front[0]);
    }
}

/// Period of the first mode, crests 2.6 cells high, by the crossings of the centre of mass.
static double slosh_on(int kind, BrimError *error) {
    SloshHeights heights;
    Case c = case_slosh(64, 0.5, 0.04, &heights);
    BrimSim *sim;
    Crossings crossings = {0};
    c.def.step = 0.005;
    c.def.nodal = kind == 1, c.def.warp = kind == 2 ? 0.75f : 0;
    if (case_create(&c, &sim, error) != BRIM_OK) return 0;
    while (crossings.count < 7 && brim_sim_time(sim) < 6) {
        if (brim_sim_step(sim, error) != BRIM_OK) break;
        BrimParticles p = brim_sim_particles(sim);
        const float *volume = sim->particles.attr[ATTR_VOLUME];
        double sum = 0, all = 0;
        for (size_t i = 0; i < p.count; i++) {
            double v = volume ? (double)volume[i] : 1;
            sum += v * (double)p.x[i], all += v;
        }
        crossings_add(&crossings, brim_sim_time(sim), sum / all - 0.5);
    }
    brim_sim_destroy(&sim);
    return crossings_period(&crossings);
}

/// Pressure at nodes and a warped mesh keep the staggered grid's period. Waves this steep are 0.2 %
/// slower than linear ones (Penney and Price 1952: (k a)^2 / 8).
TEST(warp_sloshing_as_on_the_staggered_grid) {
    double period[3];
    for (int kind = 0; kind < 3; kind++) {
        BrimError error = {0};
        period[kind] = slosh_on(kind, &error);
        CHECK_OK(error.result, error);
        CHECK_NEAR(period[kind], period[0], 0.002 * period[0]);
        CHECK_NEAR(period[kind], 1.002 * SLOSH_PERIOD_05, 0.002 * SLOSH_PERIOD_05);
    }
}

/// Ten seconds of splashing: the volume stays, splitting and joining particles closes its account,
/// and the water comes to rest at the height that it has room for.
TEST(warp_double_dam_keeps_its_volume) {
    static const char *const text = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 32}\n"
                                    "time: {duration: 10, cfl: 1}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [0.3, 0.6]}\n"
                                    "  - box: {low: [0.7, 0], high: [1, 0.6]}\n";
    const char *const sets[] = {"grid.warp=0.75", "threads=1"};
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(text, &scene, &error, sets, 2);
    CHECK(sim != NULL);
    double start = 0, end = 0, least = 1, most = 1, lowest = INFINITY;
    for (size_t i = 0; i < sim->particles.count; i++) start += warp_volume(sim, i);
    for (int frame = 0; frame < 240; frame++) {
        CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        const BrimStats *o = &sim->stats;
        least = fmin(least, o->volume), most = fmax(most, o->volume);
        if (o->time > 5) lowest = fmin(lowest, o->potential_energy);
        CHECK(o->seeded + o->resampled == o->particles);
    }
    for (size_t i = 0; i < sim->particles.count; i++) end += warp_volume(sim, i);
    int64_t resampled = sim->stats.resampled;
    finish(&sim, &scene);
    CHECK(resampled != 0);
    CHECK_NEAR(end / start, 1, 1e-5);
    CHECK(least > 0.99 && most < 1.01);
    // at rest the water is start / 1024 m high
    double rest = 0.5 * 9.81 * 1000 * pow(start / 1024, 2);
    CHECK(lowest > 0.995 * rest && lowest < 1.03 * rest); // it still sways
}

/// The volume within the surface, over that at the start: mean of the third second of splashing and
/// of two splashes.
static double filled_after(const char *volume, double *particles, BrimError *error) {
    static const char *const text = "brim: 1\n"
                                    "dim: 2\n"
                                    "domain: {size: [1, 1], cells: 32}\n"
                                    "time: {duration: 10, cfl: 1}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0], high: [0.3, 0.6]}\n"
                                    "  - box: {low: [0.7, 0], high: [1, 0.6]}\n";
    static const char *const seeds[2] = {"seed=1", "seed=2"};
    double mean = 0;
    for (int k = 0; k < 2; k++) {
        const char *const sets[] = {"grid.warp=0.75", "threads=1", volume, seeds[k]};
        BrimScene *scene;
        BrimSim *sim = start(text, &scene, error, sets, 4);
        double first = 0, last = 0;
        for (int frame = 0; sim && frame < 72; frame++) {
            if (brim_sim_advance_frame(sim, error) != BRIM_OK) break;
            if (frame == 0) first = warp_filled(sim);
            if (frame >= 48) last += warp_filled(sim) / 24;
            *particles = sim->stats.volume;
        }
        finish(&sim, &scene);
        mean += 0.5 * last / first;
    }
    return mean;
}

/// Control holds the volume within the surface, which grows by 6 to 11 % without (14 % at 48
/// cells); of that an error of the density in the pressure's right-hand side leaves less than half,
/// mean of six splashes 0.35.
TEST(warp_volume_by_the_pressure) {
    BrimError error = {0};
    double none, averaged, control, grown = filled_after("solver.volume=none", &none, &error);
    CHECK_OK(error.result, error);
    CHECK(grown > 1.03 && grown < 1.1);
    double within = filled_after("solver.volume=control", &control, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(within, 1, 0.01);
    within = filled_after("solver.volume=averaged", &averaged, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(within, 1, 0.5 * (grown - 1));
    CHECK(averaged > 0.97);
}

TEST(warp_same_bits_for_any_thread_count_and_instruction_set) {
    static const char *const how[] = {"threads=1", "threads=3", "isa=base", "isa=avx2",
                                      "isa=avx512"};
    for (int dim = 2; dim <= 3; dim++) {
        uint64_t expected = 0;
        for (int k = 0; k < 5; k++) {
            if (k > 2 && isa_choose(BRIM_ISA_AVX2 + k - 3) != (BrimIsa)(BRIM_ISA_AVX2 + k - 3))
                continue;
            const char *const sets[] = {"grid.warp=0.75", how[k]};
            BrimScene *scene;
            BrimError error;
            BrimSim *sim = start(dim == 2 ? dam : cube, &scene, &error, sets, 2);
            CHECK(sim != NULL);
            for (int step = 0; step < (dim == 2 ? 30 : 8); step++)
                CHECK_OK(brim_sim_step(sim, &error), error);
            const uint64_t hash = particles_hash(sim);
            if (k == 0) expected = hash;
            CHECK(hash == expected);
            CHECK(sim->warp->motion.least > 0);
            finish(&sim, &scene);
        }
    }
}

TEST(warp_resumes_bit_for_bit) {
    const char *const sets[] = {"grid.warp=0.75", "solver.transfer=apic", "solver.volume=control",
                                "surface_tension=0.07"};
    BrimScene *scene;
    BrimError error;
    const char *path = at("warp.brim");
    BrimSim *sim = start(dam, &scene, &error, sets, 4), *again = NULL;
    CHECK(sim != NULL);
    for (int step = 0; step < 12; step++) CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_save(sim, path, &error), error);
    CHECK_OK(brim_sim_load(brim_scene_def(scene), path, &again, &error), error);
    CHECK(particles_hash(sim) == particles_hash(again));
    for (int step = 0; step < 6; step++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_sim_step(again, &error), error);
    }
    CHECK(particles_hash(sim) == particles_hash(again));
    brim_sim_destroy(&again);
    finish(&sim, &scene);
}

TEST(warp_says_what_it_does_not_go_with) {
    static const char *const sets[][2] = {{"grid.warp=0.75", "walls.friction=0.5"},
                                          {"grid.warp=0.75", "band={width: 3, flip: 2}"},
                                          {"grid.warp=0.75", "solver.preconditioner=jacobi"},
                                          {"grid.nodal=true", "mpm.substeps=2"},
                                          {"grid.warp=0.5", "viscosity=1"},
                                          {"grid.warp=0.5", "spray.speed=[1, 2]"}};
    BrimScene *scene;
    BrimError error;
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        CHECK(start(dam, &scene, &error, sets[k], 2) == NULL);
        CHECK(strstr(error.message, "cannot be combined with") != NULL);
        brim_scene_destroy(&scene);
    }
    const char *const control[] = {"solver.volume=control"};
    CHECK(start(dam, &scene, &error, control, 1) == NULL);
    CHECK(strstr(error.message, "grid.warp") != NULL);
    brim_scene_destroy(&scene);
    const char *const strong[] = {"grid.warp=0.95"};
    CHECK(start(dam, &scene, &error, strong, 1) == NULL);
    CHECK(strstr(error.message, "grid.warp") != NULL);
    brim_scene_destroy(&scene);
}
