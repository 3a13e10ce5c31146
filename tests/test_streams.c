// Sources and drains that follow the time, and forces.
#include "cases.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>

static BrimSourceDef *case_source(Case *c, BrimShapeDef shape, BrimVec3 velocity) {
    BrimSourceDef *source = &c->sources[c->def.source_count++];
    *source = brim_default_source_def();
    source->shape = shape, source->velocity = velocity;
    return source;
}

static BrimDrainDef *case_drain(Case *c, BrimShapeDef shape) {
    BrimDrainDef *drain = &c->drains[c->def.drain_count++];
    *drain = brim_default_drain_def();
    drain->shape = shape;
    return drain;
}

static double particle_volume(const BrimSim *sim) {
    const BrimSimDef *d = brim_sim_def(sim);
    double dx = d->size.x / d->cells[0];
    return pow(dx, d->dim) / d->particles_per_cell;
}

/// A wide, high tank without weight, so that what enters flies on.
static Case free_tank(void) {
    Case c = case_box(2, 4, 128, 64, 1);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.frame_rate = 20;
    return c;
}

TEST(source_velocity_and_flow_follow_formulas) {
    BrimError error;
    for (int k = 0; k < 3; k++) {
        Case c = free_tank();
        BrimSim *sim;
        BrimSourceDef *s =
            case_source(&c, box_between((BrimVec3){0.1f, 0.8f, 0}, (BrimVec3){0.2f, 1.2f, 0}),
                        (BrimVec3){1, 0, 0});
        // 0.4 m of a stream that is 2 t m/s fast; 0.1 + 0.2 t m2/s; off after 0.5 s by keys
        if (k == 0) s->velocity_formula[0] = "2 * t";
        if (k == 1) s->flow_formula = "0.1 + 0.2 * t";
        if (k == 2) s->flow_formula = "if(t < 0.5, 0.2, 0)";
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1, &error), error);
        double volume = (double)brim_sim_stats(sim)->emitted * particle_volume(sim);
        double due = k == 0 ? 0.4 : k == 1 ? 0.2 : 0.1;
        CHECK_NEAR(volume / due, 1, 0.04);
        BrimParticles p = brim_sim_particles(sim);
        float fastest = 0;
        for (size_t i = 0; i < p.count; i++) fastest = fmaxf(fastest, p.vx[i]);
        if (k == 0) CHECK(fastest > 1.8f && fastest < 2.1f);
        brim_sim_destroy(&sim);
    }
}

TEST(a_source_that_moves_leaves_a_trail) {
    BrimError error;
    Case c = free_tank();
    BrimSim *sim;
    // a tap that goes 2 m to the right in 1 s, its water down at 0.5 m/s as the tap sees it
    BrimSourceDef *s =
        case_source(&c, box_between((BrimVec3){0.4f, 1.6f, 0}, (BrimVec3){0.6f, 1.7f, 0}),
                    (BrimVec3){0, -0.5f, 0});
    s->motion.path_formula[0] = "2 * t";
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 1, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    double volume = (double)p.count * particle_volume(sim), low = 9, high = 0, vx = 0;
    CHECK_NEAR(volume, 0.2 * 0.5, 0.006); // through its width
    for (size_t i = 0; i < p.count; i++) {
        low = fmin(low, p.x[i]), high = fmax(high, p.x[i]), vx += p.vx[i] / (double)p.count;
    }
    CHECK_NEAR(vx, 2, 0.02);        // the water goes along with the tap
    CHECK(low > 2.3 && high < 2.7); // so it falls in a column below it
    brim_sim_destroy(&sim);

    Case turning = free_tank(); // a nozzle that turns by 90 degrees a second: it points up at 1 s
    s = case_source(&turning, box_between((BrimVec3){1.9f, 0.95f, 0}, (BrimVec3){2.1f, 1.05f, 0}),
                    (BrimVec3){1, 0, 0});
    s->motion.turn_formula[2] = "90 * t";
    CHECK_OK(case_create(&turning, &sim, &error), error);
    CHECK_OK(run_until(sim, 1, &error), error);
    p = brim_sim_particles(sim);
    double vy = 0;
    int young = 0;
    for (size_t i = 0; i < p.count; i++) // the last to come
        if (p.id[i] + 60 > p.count) vy += p.vy[i], young++;
    CHECK(young > 30);
    CHECK_NEAR(vy / young, 1, 0.1);
    CHECK_NEAR((double)p.count * particle_volume(sim), 0.1, 0.01);
    brim_sim_destroy(&sim);
}

TEST(a_drain_takes_its_rate_and_the_water_flows_to_it) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++) {
        int n = dim == 2 ? 48 : 20;
        Case c = case_box(dim, 1, n, n, n / 2);
        BrimSim *sim;
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.5f, 1}));
        BrimDrainDef *d =
            case_drain(&c, box_between((BrimVec3){0.4f, 0.1f, 0}, (BrimVec3){0.6f, 0.2f, 1}));
        d->rate = dim == 2 ? 0.1 : 0.05; // 0.1 m2/s a metre of depth
        c.def.frame_rate = 20;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1, &error), error);
        double taken = (double)brim_sim_stats(sim)->drained * particle_volume(sim);
        CHECK_NEAR(taken / d->rate, 1, 0.02);
        BrimParticles p = brim_sim_particles(sim);
        double inward = 0, near = 0, top = 0;
        for (size_t i = 0; i < p.count; i++) {
            top = fmax(top, p.y[i]);
            double side = (double)p.x[i] - 0.5;
            if (fabs(side) < 0.15 || fabs(side) > 0.3 || p.y[i] > 0.3f) continue;
            inward += side > 0 ? -(double)p.vx[i] : (double)p.vx[i], near++;
        }
        CHECK(near > 20);
        // what goes is 0.1 m2/s: through two sides of some 0.4 m depth about 0.1 m/s
        CHECK(inward / near > 0.04 && inward / near < 0.3);
        CHECK_NEAR(top, 0.4, 0.04);         // the level sinks as a whole
        CHECK(energy_per_mass(sim) < 0.02); // and calmly
        CHECK(brim_sim_stats(sim)->seeded == (int64_t)p.count + brim_sim_stats(sim)->drained);
        brim_sim_destroy(&sim);
    }
}

TEST(streams_run_the_same_for_any_threads_and_resumed) {
    BrimError error;
    Case c = case_box(2, 1, 40, 40, 1);
    BrimSim *one, *two, *three;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.3f, 1}));
    BrimSourceDef *s = case_source(
        &c, box_between((BrimVec3){0.1f, 0.8f, 0}, (BrimVec3){0.2f, 0.9f, 0}), (BrimVec3){1, 0, 0});
    s->motion.path_formula[0] = "0.2 * sin(6 * t)", s->motion.turn_formula[2] = "-60 * t";
    s->velocity_formula[1] = "0.5 * t", s->flow_formula = "0.1 + 0.05 * sin(9 * t)";
    BrimDrainDef *d =
        case_drain(&c, box_between((BrimVec3){0.7f, 0.05f, 0}, (BrimVec3){0.9f, 0.2f, 0}));
    d->rate_formula = "0.08 + 0.04 * cos(7 * t)", d->motion.path_formula[0] = "-0.3 * t";
    c.def.frame_rate = 20;
    CHECK_OK(case_create(&c, &one, &error), error);
    c.def.threads = 2;
    CHECK_OK(case_create(&c, &two, &error), error);
    CHECK_OK(run_until(one, 0.3, &error), error);
    CHECK_OK(run_until(two, 0.3, &error), error);
    CHECK(particle_hash(one) == particle_hash(two));
    CHECK_OK(brim_sim_save(one, at("streams.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("streams.brim"), &three, &error), error);
    CHECK_OK(run_until(one, 0.6, &error), error);
    CHECK_OK(run_until(three, 0.6, &error), error);
    CHECK(particle_hash(one) == particle_hash(three));
    brim_sim_destroy(&one), brim_sim_destroy(&two), brim_sim_destroy(&three);
    s->flow_formula = "1 / if(t < 0.1, 1, 0)";
    CHECK_OK(case_create(&c, &one, &error), error);
    CHECK(run_until(one, 0.3, &error) == BRIM_LOST_DIVERGED);
    CHECK(strstr(error.message, "sources[0]: flow is not a number"));
    brim_sim_destroy(&one);
}

// --------------------------------------------------------------------------------------- forces

/// A ball of liquid without weight at the middle of a unit box, and one force.
static BrimResult run_force(const BrimForceDef *force, int dim, double time, BrimSim **sim,
                            BrimError *error) {
    Case c = case_box(dim, 1, 32, 32, 32);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.forces = force, c.def.force_count = 1;
    c.def.frame_rate = 50;
    case_liquid(&c, ball((BrimVec3){0.5f, 0.5f, dim == 3 ? 0.5f : 0}, 0.12f));
    BrimResult r = case_create(&c, sim, error);
    if (r == BRIM_OK) r = run_until(*sim, time, error);
    return r;
}

static BrimVec3 mean_velocity(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    double v[3] = {0};
    for (size_t i = 0; i < p.count; i++) v[0] += p.vx[i], v[1] += p.vy[i], v[2] += p.vz[i];
    double n = (double)p.count;
    return (BrimVec3){(float)(v[0] / n), (float)(v[1] / n), (float)(v[2] / n)};
}

TEST(forces_of_each_kind_push_as_they_say) {
    BrimError error;
    BrimSim *sim;
    double c[3];
    BrimForceDef f = brim_default_force_def();
    f.acceleration = (BrimVec3){2, 0, 0};
    CHECK_OK(run_force(&f, 2, 0.1, &sim, &error), error);
    double late = brim_sim_stats(sim)->dt; // velocities are half a step ahead
    CHECK_NEAR(mean_velocity(sim).x, 2 * 0.1, 2 * late);
    CHECK_NEAR(mean_velocity(sim).y, 0, 1e-3);
    brim_sim_destroy(&sim);
    f.acceleration_formula[0] = "if(t < 0.05, 4, 0)", f.acceleration_formula[1] = "x - 0.5";
    CHECK_OK(run_force(&f, 2, 0.1, &sim, &error), error);
    CHECK_NEAR(mean_velocity(sim).x, 0.2, 4 * late);
    brim_sim_destroy(&sim);

    f = brim_default_force_def(); // towards a point, from its left
    f.kind = BRIM_FORCE_POINT, f.at = (BrimVec3){0.9f, 0.5f, 0.5f}, f.strength = 3;
    CHECK_OK(run_force(&f, 3, 0.1, &sim, &error), error);
    CHECK_NEAR(mean_velocity(sim).x, 0.3, 0.04);
    brim_sim_destroy(&sim);
    f.radius = 0.2f; // too far off
    CHECK_OK(run_force(&f, 2, 0.1, &sim, &error), error);
    CHECK_NEAR(mean_velocity(sim).x, 0, 1e-4);
    brim_sim_destroy(&sim);

    f = brim_default_force_def(); // about the middle: it turns, by the right hand
    f.kind = BRIM_FORCE_VORTEX, f.at = (BrimVec3){0.5f, 0.5f, 0}, f.strength = 2;
    CHECK_OK(run_force(&f, 2, 0.2, &sim, &error), error);
    centre_of_mass(sim, c);
    CHECK(spin_about(sim, c, 2) > 0.01);
    brim_sim_destroy(&sim);

    f = brim_default_force_def(); // wind: towards its speed, and no faster
    f.kind = BRIM_FORCE_WIND, f.velocity = (BrimVec3){1, 0, 0}, f.drag = 2;
    CHECK_OK(run_force(&f, 2, 0.2, &sim, &error), error);
    float windy = mean_velocity(sim).x;
    CHECK(windy > 0.05f && windy < 0.35f); // at the surface alone: less than 1 - exp(-0.4)
    brim_sim_destroy(&sim);
    f.turbulence = 1, f.scale = 0.1f;
    CHECK_OK(run_force(&f, 2, 0.2, &sim, &error), error);
    CHECK(fabsf(mean_velocity(sim).y) > 1e-3f); // gusts
    brim_sim_destroy(&sim);

    static const BrimForcePoint line[3] = {{{0.2f, 0.5f, 0}}, {{0.5f, 0.5f, 0}}, {{0.5f, 0.9f, 0}}};
    f = brim_default_force_def(); // along a bent line: on, and up at its end
    f.kind = BRIM_FORCE_CURVE, f.points = line, f.point_count = 3, f.strength = 3, f.pull = 1,
    f.radius = 0.5f;
    CHECK_OK(run_force(&f, 2, 0.2, &sim, &error), error);
    CHECK(mean_velocity(sim).x > 0.05f && mean_velocity(sim).y > 0.05f);
    brim_sim_destroy(&sim);
}

TEST(forces_end_at_their_shape_and_time) {
    BrimError error;
    BrimSim *sim;
    BrimForceDef f = brim_default_force_def();
    f.acceleration = (BrimVec3){0, 3, 0}, f.within = true;
    f.shape = box_between((BrimVec3){0, 0, -1}, (BrimVec3){0.5f, 1, 1}); // the left half
    CHECK_OK(run_force(&f, 2, 0.1, &sim, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    double left = 0, right = 0, nl = 0, nr = 0;
    for (size_t i = 0; i < p.count; i++) {
        if (p.x[i] < 0.44f) left += p.vy[i], nl++;
        if (p.x[i] > 0.56f) right += p.vy[i], nr++;
    }
    CHECK(left / nl > right / nr + 0.1); // what it tears along on the right comes by pressure
    brim_sim_destroy(&sim);
    f.within = false, f.start = 0.05, f.stop = 0.07;
    CHECK_OK(run_force(&f, 2, 0.12, &sim, &error), error);
    CHECK_NEAR(mean_velocity(sim).y, 3 * 0.02, 0.07);
    CHECK(mean_velocity(sim).y > 0.01f);
    brim_sim_destroy(&sim);
    f.stop = 0.01;
    CHECK(run_force(&f, 2, 0.1, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "forces[0].stop: must be later than start"));
    f = brim_default_force_def(), f.kind = BRIM_FORCE_TARGET, f.strength = 1;
    CHECK(run_force(&f, 2, 0.1, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "needs a shape"));
}

TEST(a_target_gathers_the_liquid) {
    BrimError error;
    BrimSim *sim;
    Case c = case_box(2, 1, 40, 40, 1);
    BrimForceDef f = brim_default_force_def();
    f.kind = BRIM_FORCE_TARGET, f.strength = 40, f.damping = 8, f.within = true;
    f.shape = ball((BrimVec3){0.5f, 0.55f, 0}, 0.25f);
    c.def.forces = &f, c.def.force_count = 1, c.def.frame_rate = 50;
    // as much as the ball holds, lying on the floor
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.196f, 1}));
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 2, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    size_t inside = 0;
    for (size_t i = 0; i < p.count; i++)
        inside += hypotf(p.x[i] - 0.5f, p.y[i] - 0.55f) < 0.25f + 1.0f / 40;
    CHECK((double)inside > 0.9 * (double)p.count);
    brim_sim_destroy(&sim);
}
