// Atomised spray: flight, landing, accounts, bits.
#include "cases.h"
#include "scratch.h"
#include "step/stages.h"
#include "test.h"
#include <string.h>

/// One particle that is spray from the first step on, in an empty box of 1 m.
static Case one_drop(int dim, BrimVec3 at, BrimVec3 velocity) {
    Case c = case_box(dim, 1, 32, 32, 32);
    float r = 0.5f / 32;
    if (dim == 2) at.z = 0;
    c.liquid[0] = (BrimLiquidDef){.shape = box_between((BrimVec3){at.x - r, at.y - r, at.z - r},
                                                       (BrimVec3){at.x + r, at.y + r, at.z + r}),
                                  .velocity = velocity,
                                  .particles = 1};
    c.def.liquid_count = 1;
    c.def.spray_speed[0] = 0.5f, c.def.spray_speed[1] = 1;
    c.def.spray_time = 1e-6; // without chance
    c.def.spray_drag = 0;
    c.def.step = 0.01;
    c.def.frame_rate = 100;
    return c;
}

TEST(spray_flies_along_its_parabola) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = one_drop(dim, (BrimVec3){0.2f, 0.2f, 0.5f}, (BrimVec3){1, 2.5f, 0});
        BrimSim *sim = NULL;
        BrimError error;
        CHECK_OK(case_create(&c, &sim, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        CHECK(p.count == 1 && p.spray == 0);
        double x = p.x[0], y = p.y[0];
        for (int i = 0; i < 40; i++) CHECK_OK(brim_sim_step(sim, &error), error);
        p = brim_sim_particles(sim);
        CHECK(p.count == 1 && p.spray == 1 && brim_sim_stats(sim)->spray == 1);
        CHECK(((const uint32_t *)p.extra[0].values)[0] == 1 &&
              strcmp(p.extra[0].name, "type") == 0);
        CHECK_NEAR(p.x[0] - x, 0.4, 1e-5);
        CHECK_NEAR(p.y[0] - y, 2.5 * 0.4 - 0.5 * 9.81 * 0.16, 2e-5);
        CHECK(sim->grid.tile_count == 0); // nothing of it is on the grid
        brim_sim_destroy(&sim);
    }
}

TEST(spray_falls_as_fast_as_drag_lets_it) {
    Case c = one_drop(3, (BrimVec3){0.5f, 0.9f, 0.5f}, (BrimVec3){0, -0.6f, 0});
    c.def.spray_drag = 40; // its end speed is 2.3 m/s
    c.def.step = 0.002, c.def.frame_rate = 500;
    BrimSim *sim = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 200; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    CHECK(p.spray == 1);
    // weight = 0.5 rho_air Cd A v^2 for a ball of a particle's volume
    double volume = pow(1.0 / 64, 3), radius = cbrt(volume * 3 / (4 * 3.14159265));
    double end = sqrt(2 * 1000 * volume * 9.81 / (1.2 * 40 * 3.14159265 * radius * radius));
    double now = 0.4 + 0.001; // velocities are half a step ahead
    CHECK_NEAR(-p.vy[0], end * tanh(9.81 * now / end + atanh(0.6 / end)), 0.005);
    brim_sim_destroy(&sim);
}

TEST(spray_joins_where_it_meets_a_wall_or_a_solid) {
    for (int solid = 0; solid < 3; solid++) {
        Case c = one_drop(2, (BrimVec3){0.2f, 0.5f, 0}, (BrimVec3){20, 0, 0});
        if (solid) // thinner than half a cell; the second one comes towards it
            case_solid(&c, box_between((BrimVec3){0.6f, 0, 0}, (BrimVec3){0.61f, 1, 1}));
        BrimKeyframe keys[2] = {{.time = 0}, {.time = 0.1, .position = {-0.2f, 0, 0}}};
        if (solid == 2)
            c.solids[0].motion = BRIM_MOTION_KEYFRAMES, c.solids[0].keyframes = keys,
            c.solids[0].keyframe_count = 2;
        BrimSim *sim = NULL;
        BrimError error;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int i = 0; i < 5; i++) CHECK_OK(brim_sim_step(sim, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        CHECK(p.count == 1 && p.spray == 0 && brim_sim_stats(sim)->rejoined >= 1);
        CHECK(((const uint32_t *)p.extra[0].values)[0] == 0);
        double limit = solid == 0 ? 1 : solid == 1 ? 0.6 : 0.6 - 0.1 * 0.2;
        CHECK(p.x[0] < limit + 0.01 && p.x[0] > 0.45);
        brim_sim_destroy(&sim);
    }
}

TEST(spray_leaves_through_open_sides_and_drains) {
    for (int drain = 0; drain < 2; drain++) {
        Case c = one_drop(2, (BrimVec3){0.5f, 0.5f, 0}, (BrimVec3){5, 0, 0});
        if (drain) {
            c.drains[0] = brim_default_drain_def();
            c.drains[0].shape = box_between((BrimVec3){0.8f, 0, 0}, (BrimVec3){1, 1, 1});
            c.def.drain_count = 1;
        } else {
            c.def.sides[1] = BRIM_SIDE_OPEN;
        }
        BrimSim *sim = NULL;
        BrimError error;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int i = 0; i < 20; i++) CHECK_OK(brim_sim_step(sim, &error), error);
        const BrimStats *stats = brim_sim_stats(sim);
        CHECK(stats->particles == 0 && stats->spray == 0);
        CHECK(stats->drained == drain && stats->left == 1 - drain);
        brim_sim_destroy(&sim);
    }
}

/// A block of water that hits an obstacle and a wall, with all that spray has to go with.
static Case splash(int dim) {
    Case c = case_box(dim, 1, 32, 32, 16);
    float z = dim == 3 ? 0.5f : 1;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.6f, z}));
    c.liquid[0].velocity = (BrimVec3){4, 0, 0};
    case_solid(&c, box_between((BrimVec3){0.6f, 0, 0}, (BrimVec3){0.7f, 0.15f, z}));
    c.def.spray_speed[0] = 1, c.def.spray_speed[1] = 1.5f;
    c.def.spray_time = 0.02;
    c.def.sides[3] = BRIM_SIDE_OPEN;
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = ball((BrimVec3){0.95f, 0.3f, dim == 3 ? 0.25f : 0}, 0.06f);
    c.def.drain_count = 1;
    c.def.cfl = 2;
    return c;
}

TEST(spray_is_in_every_account) {
    for (int band = 0; band <= 3; band += 3) {
        Case c = splash(2);
        c.def.band_width = band;
        BrimSim *sim = NULL;
        BrimError error;
        CHECK_OK(case_create(&c, &sim, &error), error);
        const BrimStats *stats = brim_sim_stats(sim);
        int64_t most = 0;
        for (int i = 0; i < 20; i++) {
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
            BrimParticles p = brim_sim_particles(sim);
            most = stats->spray > most ? stats->spray : most;
            double speed2 = 0, height = 0;
            for (size_t k = 0; k < p.count; k++) {
                speed2 += (double)p.vx[k] * p.vx[k] + (double)p.vy[k] * p.vy[k];
                height += p.y[k];
                CHECK((k >= p.count - p.spray) == (((const uint32_t *)p.extra[0].values)[k] == 1));
            }
            CHECK((int64_t)p.count == stats->particles && (int64_t)p.spray == stats->spray);
            CHECK(stats->atomised >= stats->rejoined + stats->spray); // some left
            if (band) continue;
            double mass = 1000.0 / (32 * 32 * 9);
            CHECK_NEAR(stats->kinetic_energy / (0.5 * mass * speed2), 1, 1e-5);
            CHECK_NEAR(stats->potential_energy / (9.81 * mass * height), 1, 1e-5);
        }
        CHECK(most > 5 && stats->rejoined > 20);
        CHECK_NEAR(stats->volume, 1, 0.03);
        brim_sim_destroy(&sim);
    }
}

TEST(spray_keeps_momentum) {
    // without gravity and drag: two blocks that fly apart and tear
    Case c = case_box(2, 1, 32, 32, 1);
    c.def.gravity = (BrimVec3){0};
    case_liquid(&c, ball((BrimVec3){0.5f, 0.5f, 0}, 0.1f));
    c.liquid[0].velocity = (BrimVec3){0.4f, 0.2f, 0};
    c.liquid[0].spin = (BrimVec3){0, 0, 40};
    c.def.spray_speed[0] = 1, c.def.spray_speed[1] = 2;
    c.def.spray_drag = 0, c.def.spray_time = 0.01;
    BrimSim *sim = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 2; i++) CHECK_OK(brim_sim_advance_frame(sim, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    CHECK(p.spray >= 10);
    double sum[2] = {0};
    for (size_t i = 0; i < p.count; i++) sum[0] += p.vx[i], sum[1] += p.vy[i];
    // the rim has 4 m/s, and a disc of three cells does not tear evenly, with spray or without
    CHECK_NEAR(sum[0] / (double)p.count, 0.4, 0.03);
    CHECK_NEAR(sum[1] / (double)p.count, 0.2, 0.03);
    brim_sim_destroy(&sim);
}

static bool same(const BrimSim *a, const BrimSim *b) {
    BrimParticles p = brim_sim_particles(a), q = brim_sim_particles(b);
    bool equal = p.count == q.count && p.spray == q.spray && p.extra_count == q.extra_count;
    equal = equal && memcmp(p.x, q.x, p.count * 4) == 0 && memcmp(p.vy, q.vy, p.count * 4) == 0 &&
            memcmp(p.id, q.id, p.count * 4) == 0;
    for (int k = 0; equal && k < p.extra_count; k++)
        equal = memcmp(p.extra[k].values, q.extra[k].values, p.count * 4) == 0;
    return equal;
}

TEST(spray_same_bits_for_any_thread_count_and_resumed) {
    for (int kind = 0; kind < 3; kind++) {
        Case c = splash(kind ? 3 : 2);
        if (kind == 1) c.def.band_width = 3, c.def.tracking = BRIM_TRACKING_RESPONSIVE;
        if (kind == 2) c.def.transfer = BRIM_TRANSFER_APIC, c.def.attributes = 3;
        BrimSim *sim[3] = {NULL};
        BrimError error;
        const char *path = at("spray.ckpt");
        CHECK_OK(case_create(&c, &sim[0], &error), error);
        c.def.threads = 3;
        CHECK_OK(case_create(&c, &sim[1], &error), error);
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 2; k++) CHECK_OK(brim_sim_advance_frame(sim[k], &error), error);
        CHECK(brim_sim_stats(sim[0])->spray > 0);
        CHECK_OK(brim_sim_save(sim[0], path, &error), error);
        CHECK_OK(brim_sim_load(&c.def, path, &sim[2], &error), error);
        CHECK(same(sim[0], sim[2]));
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) CHECK_OK(brim_sim_advance_frame(sim[k], &error), error);
        CHECK(same(sim[0], sim[1]) && same(sim[0], sim[2]));
        CHECK(brim_sim_stats(sim[2])->atomised == brim_sim_stats(sim[0])->atomised);
        for (int k = 0; k < 3; k++) brim_sim_destroy(&sim[k]);
    }
}

TEST(spray_comes_last_in_frames_and_is_not_in_the_surface) {
    Case c = splash(3);
    const char *path = at("spray.ply");
    BrimSim *sim = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 6; i++) CHECK_OK(brim_sim_advance_frame(sim, &error), error);
    size_t spray = brim_sim_particles(sim).spray, count;
    CHECK(spray > 0);
    CHECK_OK(brim_write_particles(sim, path, &error), error);
    BrimFrame f;
    float *type = NULL, *x = NULL;
    CHECK_OK(brim_frame_read(path, &f, &error), error);
    CHECK(f.spray == spray);
    CHECK_OK(brim_frame_values(path, "type", &type, &count, &error), error);
    CHECK_OK(brim_frame_values(path, "x", &x, &count, &error), error);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += (type[i] == 1) != (i >= count - spray) || x[i] != f.x[i];
    CHECK(wrong == 0);
    BrimParticles with = brim_frame_particles(&f), without = with;
    without.count -= spray, without.spray = 0;
    BrimMesher *mesher = NULL;
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh a, b;
    CHECK_OK(brim_mesher_create(&c.def, &def, &mesher, &error), error);
    CHECK_OK(brim_mesher_mesh(mesher, &with, brim_sim_time(sim), &a, &error), error);
    CHECK_OK(brim_mesher_mesh(mesher, &without, brim_sim_time(sim), &b, &error), error);
    CHECK(a.vertex_count == b.vertex_count &&
          memcmp(a.position, b.position, a.vertex_count * sizeof *a.position) == 0);
    brim_mesh_free(&a), brim_mesh_free(&b);
    brim_mesher_destroy(&mesher);
    free(type), free(x);
    brim_frame_free(&f);
    brim_sim_destroy(&sim);
}
