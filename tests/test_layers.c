// The layers of a narrow band: FLIP near the surface, PIC below, grid alone below that.
#include "cases.h"
#include "scratch.h"
#include "step/stages.h"
#include "test.h"
#include <string.h>

/// A deep tank with an eddy, and noise on the particles' own velocities.
static Case layered(int dim, int flip) {
    Case c = case_box(dim, 1, 32, 32, dim == 3 ? 8 : 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, dim == 3 ? 0.25f : 1}));
    c.liquid[0].spin = (BrimVec3){0, 0, 1};
    c.def.band_width = 5;
    c.def.band_flip = flip;
    c.def.flip_ratio = 1;
    c.def.volume = BRIM_VOLUME_NONE; // positions of both runs stay the same
    c.def.step = 0.005;
    return c;
}

TEST(layers_are_flip_above_and_pic_below) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSim *sim[2] = {NULL};
        BrimError error;
        for (int k = 0; k < 2; k++) {
            Case c = layered(dim, 0);
            CHECK_OK(case_create(&c, &sim[k], &error), error);
            BrimParticles p = brim_sim_particles(sim[k]);
            for (size_t i = 0; i < p.count; i++) p.vx[i] += 0.2f * sinf(37.0f * (float)p.id[i]);
            CHECK_OK(brim_sim_step(sim[k], &error), error);
            if (k) sim[k]->def.band_flip = 2; // both have the same flow in the step that follows
            CHECK_OK(brim_sim_step(sim[k], &error), error);
        }
        BrimSim *s = sim[1];
        BrimParticles p = brim_sim_particles(sim[0]), q = brim_sim_particles(s);
        CHECK(p.count == q.count && memcmp(p.id, q.id, p.count * 4) == 0);
        size_t upper = 0, lower = 0, wrong = 0;
        for (size_t i = 0; i < q.count; i++) {
            const float at[3] = {q.x[i], q.y[i], q.z[i]};
            float v[3] = {0}, depth = (0.6f - q.y[i]) * 32;
            velocity_lookup(s, at, v);
            if (depth < 1.6f)
                upper++,
                    wrong += fabsf(p.vx[i] - q.vx[i]) > 1e-6f || fabsf(p.vy[i] - q.vy[i]) > 1e-6f;
            if (depth > 3.4f && depth < 4.2f)
                lower++, wrong += fabsf(q.vx[i] - v[0]) > 1e-5f || fabsf(q.vy[i] - v[1]) > 1e-5f;
        }
        CHECK(upper > 100 && lower > 50);
        CHECK(wrong == 0);
        for (int k = 0; k < 2; k++) brim_sim_destroy(&sim[k]);
    }
}

TEST(layers_leave_a_uniform_flow_alone) {
    // a block of water in free flight keeps its velocity to rounding in all layers
    Case c = case_box(2, 1, 40, 40, 1);
    case_liquid(&c, ball((BrimVec3){0.4f, 0.4f, 0}, 0.3f));
    c.liquid[0].velocity = (BrimVec3){1, 0.5f, 0};
    c.def.gravity = (BrimVec3){0};
    c.def.band_width = 4, c.def.band_flip = 2;
    BrimSim *sim = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 4; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    float worst = 0;
    for (size_t i = 0; i < p.count; i++)
        worst = fmaxf(worst, fmaxf(fabsf(p.vx[i] - 1), fabsf(p.vy[i] - 0.5f)));
    CHECK_BELOW(worst, 2e-4);
    brim_sim_destroy(&sim);
}

TEST(layers_same_bits_for_any_thread_count_and_resumed) {
    Case c = layered(3, 2);
    c.def.volume = BRIM_VOLUME_DENSITY;
    BrimSim *sim[3] = {NULL};
    BrimError error;
    const char *path = at("layers.ckpt");
    CHECK_OK(case_create(&c, &sim[0], &error), error);
    c.def.threads = 3;
    CHECK_OK(case_create(&c, &sim[1], &error), error);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 2; k++) CHECK_OK(brim_sim_step(sim[k], &error), error);
    CHECK_OK(brim_sim_save(sim[0], path, &error), error);
    CHECK_OK(brim_sim_load(&c.def, path, &sim[2], &error), error);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 3; k++) CHECK_OK(brim_sim_step(sim[k], &error), error);
    CHECK(particle_hash(sim[0]) == particle_hash(sim[1]));
    CHECK(particle_hash(sim[0]) == particle_hash(sim[2]));
    CHECK_NEAR(brim_sim_stats(sim[0])->volume, 1, 0.01);
    for (int k = 0; k < 3; k++) brim_sim_destroy(&sim[k]);
}

TEST(layers_are_checked) {
    BrimError error;
    BrimSim *sim = NULL;
    Case c = layered(2, 6);
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT && strstr(error.message, "band.flip"));
    c = layered(2, 2);
    c.def.transfer = BRIM_TRANSFER_APIC;
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT && strstr(error.message, "flip"));
}
