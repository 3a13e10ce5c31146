// Friction at walls (walls.friction, walls.roughness) against its own law and by its consequences.
#include "cases.h"
#include "liquid/friction.h"
#include "step/stages.h"
#include "test.h"

TEST(friction_log_law_has_textbook_numbers) {
    // rough: h / z0 = 300, (0.41 / (ln 300 - 1))^2; smooth: u* from its own equation
    CHECK_NEAR(friction_log_law(1, 0.01, 1e-3, 0), 0.41 * 0.41 / (4.7038 * 4.7038), 1e-5);
    double c = friction_log_law(2, 0.005, 1e-12, 1e-6), star = 2 * sqrt(c);
    CHECK_NEAR(star, 2 * 0.41 / (log(0.005 * star / 0.11e-6) - 1), 1e-3 * star);
    // layers as thin as the roughness have a bound; water at rest none to speak of
    CHECK_BELOW(friction_log_law(1, 1e-5, 1e-3, 0), 0.17);
    CHECK(isfinite(friction_log_law(0, 0.01, 1e-3, 1e-6)));
}

/// Mean velocity along x of a slab that slides over the floor without weight, after a second.
static double slide(int dim, float height, bool solid, double friction, BrimError *error) {
    Case c = case_box(dim, 32, 32, 8, 8);
    const float floor = solid ? 2.3f : 0;
    const float deep = dim == 3 ? 8 : 0;
    BrimSim *sim;
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.volume = BRIM_VOLUME_NONE;
    c.def.step = 0.1, c.def.frame_rate = 10;
    c.def.wall_friction = friction;
    c.def.jitter = 0;
    case_liquid(&c, box_between((BrimVec3){4, floor, 0}, (BrimVec3){20, floor + height, deep}));
    c.liquid[0].velocity = (BrimVec3){1, 0, 0};
    if (solid) case_solid(&c, box_between((BrimVec3){-8, -8, -8}, (BrimVec3){40, floor, 16}));
    if (case_create(&c, &sim, error) != BRIM_OK) return NAN;
    double sum = NAN;
    if (run_until(sim, 1, error) == BRIM_OK) {
        BrimParticles p = brim_sim_particles(sim);
        sum = 0;
        for (size_t i = 0; i < p.count; i++) sum += (double)p.vx[i] / (double)p.count;
    }
    brim_sim_destroy(&sim);
    return sum;
}

TEST(friction_takes_what_its_law_says) {
    BrimError error;
    // du/dt = -C u^2 / h, C half the coefficient: u = 1 / (1 + C t / h)
    CHECK_NEAR(slide(2, 1, false, 0, &error), 1, 1e-4);
    CHECK_NEAR(slide(2, 1, false, 1, &error), 1 / (1 + 0.5 / 1), 0.03);
    // two of three rows of particles: thinner than a cell
    CHECK_NEAR(slide(2, 0.667f, false, 1, &error), 1 / (1 + 0.5 / 0.667), 0.04);
    CHECK_NEAR(slide(3, 1, false, 1, &error), slide(2, 1, false, 1, &error), 0.05);
}

TEST(friction_of_a_solid_floor_is_that_of_a_wall) {
    BrimError error;
    // the floor lies between faces: the layer of a cell is cut into two rows of them
    CHECK_NEAR(slide(2, 1, true, 1, &error), 1 / (1 + 0.5 / 1), 0.08);
    CHECK_NEAR(slide(2, 1, true, 0, &error), 1, 1e-2);
}

TEST(friction_is_a_coefficient_or_a_height) {
    Case c = case_tank(2, 8, 0.5f);
    BrimError error;
    BrimSim *sim = NULL;
    c.def.wall_friction = 0.005, c.def.wall_roughness = 0.001;
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "walls.roughness") != NULL);
}
