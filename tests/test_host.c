// What a program changes while a simulation runs: gravity, liquid, solids; and that checkpoints
// keep it.
#include "cases.h"
#include "scratch.h"
#include "test.h"

static BrimResult steps(BrimSim *sim, int count, BrimError *error) {
    BrimResult r = BRIM_OK;
    for (int i = 0; i < count && r == BRIM_OK; i++) r = brim_sim_step(sim, error);
    return r;
}

/// Saves, loads and runs both on: the same bits.
static void check_goes_on(Test *test_, BrimSim *sim, const BrimSimDef *def, int count) {
    BrimSim *resumed;
    BrimError error;
    CHECK_OK(brim_sim_save(sim, at("host.brim"), &error), error);
    CHECK_OK(brim_sim_load(def, at("host.brim"), &resumed, &error), error);
    CHECK(brim_sim_scene_hash(sim) == brim_sim_scene_hash(resumed));
    CHECK(brim_sim_change_count(sim) == brim_sim_change_count(resumed));
    CHECK_OK(steps(sim, count, &error), error);
    CHECK_OK(steps(resumed, count, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    brim_sim_destroy(&resumed);
}

static double mean_vy(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    double sum = 0;
    for (size_t i = 0; i < p.count; i++) sum += p.vy[i];
    return sum / (double)p.count;
}

TEST(gravity_set_by_the_program_acts_from_the_next_step_on) {
    Case c = case_box(2, 1, 32, 32, 1);
    BrimError error;
    BrimSim *sim;
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.step = 0.01, c.def.frame_rate = 10;
    case_liquid(&c, ball((BrimVec3){0.5f, 0.6f, 0}, 0.15f));
    CHECK_OK(case_create(&c, &sim, &error), error);
    uint64_t plain = brim_sim_scene_hash(sim);
    CHECK_OK(steps(sim, 3, &error), error);
    CHECK(fabs(mean_vy(sim)) < 1e-6);
    CHECK_OK(brim_sim_set_gravity(sim, (BrimVec3){0, -2, 0}, &error), error);
    CHECK(brim_sim_gravity(sim).y == -2 && brim_sim_change_count(sim) == 1);
    CHECK(brim_sim_scene_hash(sim) != plain);
    CHECK_OK(steps(sim, 5, &error), error);
    CHECK(fabs(mean_vy(sim) + 2 * 0.05) < 1e-4);
    CHECK(brim_sim_set_gravity(sim, (BrimVec3){0, NAN, 0}, &error) == BRIM_ERROR_INPUT);
    check_goes_on(test_, sim, &c.def, 4);
    CHECK(brim_sim_gravity(sim).y == -2);
    brim_sim_destroy(&sim);
}

TEST(liquid_added_in_mid_run_is_as_much_as_its_shape_holds) {
    for (int dim = 2; dim <= 3; dim++)
        for (int band = 0; band <= 3; band += 3) {
            Case c = case_tank(dim, dim == 2 ? 48 : 24, 0.3f);
            const float r = 0.15f;
            double dx = 1.0 / c.def.cells[0], cell = dim == 3 ? dx * dx * dx : dx * dx;
            double volume = dim == 3 ? 4.18879 * r * r * r : 3.14159 * r * r;
            BrimError error;
            BrimSim *sim;
            int64_t added, none;
            c.def.band_width = band;
            c.def.attributes = BRIM_ATTRIBUTE_SOURCE;
            CHECK_OK(case_create(&c, &sim, &error), error);
            CHECK_OK(steps(sim, 2, &error), error);
            int64_t before = brim_sim_stats(sim)->particles;
            BrimLiquidDef drop = {.shape = ball((BrimVec3){0.5f, 0.7f, 0.5f}, r),
                                  .velocity = {0, -1, 0}};
            CHECK_OK(brim_sim_add_liquid(sim, &drop, &added, &error), error);
            CHECK(fabs((double)added * cell / c.def.particles_per_cell / volume - 1) < 0.02);
            CHECK(brim_sim_stats(sim)->particles == before);
            // in the drop that waits, and in water, there is no room
            CHECK_OK(brim_sim_add_liquid(sim, &drop, &none, &error), error);
            CHECK(none < added / 10); // cells that the drop only touches are not full
            drop.shape.position.y = 0.14f, drop.shape.radius = 0.1f;
            CHECK_OK(brim_sim_add_liquid(sim, &drop, &added, &error), error);
            CHECK(added == 0);
            check_goes_on(test_, sim, &c.def, 12);
            CHECK(brim_sim_stats(sim)->emitted > before / 100);
            CHECK(fabs(brim_sim_stats(sim)->volume - 1) < 0.02);
            BrimParticles p = brim_sim_particles(sim);
            size_t marked = 0;
            for (size_t i = 0; i < p.count; i++)
                marked += ((const uint32_t *)p.extra[0].values)[i] == 1;
            CHECK(marked > 0);
            brim_sim_destroy(&sim);
        }
}

TEST(liquid_that_makes_no_sense_is_refused) {
    Case c = case_tank(2, 16, 0.5f);
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    BrimLiquidDef bad = {.shape = ball((BrimVec3){0.5f, 0.8f, 0}, -1)};
    CHECK(brim_sim_add_liquid(sim, &bad, NULL, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "liquid.sphere.radius"));
    bad.shape.radius = 0.1f, bad.velocity.x = NAN;
    CHECK(brim_sim_add_liquid(sim, &bad, NULL, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_add_liquid(NULL, &bad, NULL, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_add_liquid(sim, NULL, NULL, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_change_count(sim) == 0);
    brim_sim_destroy(&sim);
}

/// How much of the water is right of a place.
static double right_of(const BrimSim *sim, float x) {
    BrimParticles p = brim_sim_particles(sim);
    size_t count = 0;
    for (size_t i = 0; i < p.count; i++) count += p.x[i] > x;
    return (double)count / (double)p.count;
}

TEST(a_gate_that_the_program_removes_lets_the_water_go) {
    Case c = case_box(2, 1, 48, 32, 1);
    BrimError error;
    BrimSim *sim;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.3f, 0.4f, 0}));
    case_solid(&c, box_between((BrimVec3){0.3f, 0, 0}, (BrimVec3){0.35f, 0.6f, 0}));
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.2, &error), error);
    CHECK(right_of(sim, 0.35f) == 0);
    CHECK_OK(brim_sim_remove_solid(sim, 0, &error), error);
    CHECK(brim_sim_remove_solid(sim, 0, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_remove_solid(sim, 1, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_move_solid(sim, 0, (BrimVec3){0}, (BrimVec3){0}, 1, &error) == BRIM_ERROR_INPUT);
    check_goes_on(test_, sim, &c.def, 10);
    CHECK_OK(run_until(sim, 0.6, &error), error);
    CHECK(right_of(sim, 0.35f) > 0.3);
    brim_sim_destroy(&sim);
}
