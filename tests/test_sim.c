// Simulations as a host sees them: the same bits whatever the machine, edge cases, mass balance.
#include "base/simd.h"
#include "cases.h"
#include "scratch.h"
#include "test.h"

/// A dam break with all that has a state: a turning solid, one with keyframes, a source, a drain.
static Case busy_case(int dim, BrimTransfer transfer) {
    Case c = case_box(dim, 1, 32, 24, dim == 3 ? 16 : 1);
    float deep = dim == 3 ? 0.5f : 0;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.35f, 0.4f, deep}));
    case_solid(&c, box_between((BrimVec3){0.5f, 0.05f, 0}, (BrimVec3){0.7f, 0.15f, 0.4f}));
    c.solids[0].motion = BRIM_MOTION_ROTATION;
    c.solids[0].axis = (BrimVec3){0, 0, 1};
    c.solids[0].rate = 200;
    static const BrimKeyframe keys[] = {{.time = 0, .position = {0, 0, 0}},
                                        {.time = 0.3, .position = {0, 0.2f, 0}}};
    case_solid(&c, ball((BrimVec3){0.85f, 0.1f, 0.2f}, 0.08f));
    c.solids[1].motion = BRIM_MOTION_KEYFRAMES;
    c.solids[1].keyframes = keys, c.solids[1].keyframe_count = 2;
    case_solid(&c, box_between((BrimVec3){0.15f, 0.2f, 0}, (BrimVec3){0.18f, 0.5f, 0.5f}));
    c.solids[2].shape.rotation.z = 20; // a thin wall
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = ball((BrimVec3){0.5f, 0.6f, 0.25f}, 0.08f);
    c.sources[0].velocity = (BrimVec3){1, -1, 0};
    c.def.drain_count = 1;
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = box_between((BrimVec3){0.9f, 0, 0}, (BrimVec3){1, 0.1f, 0.5f});
    c.def.sides[1] = BRIM_SIDE_OPEN;
    c.def.transfer = transfer;
    c.def.frame_rate = 30;
    return c;
}

enum { BUSY_STEPS = 24 };

static BrimResult step_times(BrimSim *sim, int count, BrimError *error) {
    BrimResult r = BRIM_OK;
    for (int i = 0; i < count && r == BRIM_OK; i++) r = brim_sim_step(sim, error);
    return r;
}

/// Hash after BUSY_STEPS steps; 0 on error.
static uint64_t busy_hash(Case *c, BrimError *error) {
    BrimSim *sim;
    if (case_create(c, &sim, error) != BRIM_OK) return 0;
    uint64_t h = step_times(sim, BUSY_STEPS, error) == BRIM_OK ? particle_hash(sim) : 0;
    brim_sim_destroy(&sim);
    return h;
}

TEST(same_bits_for_any_thread_count_and_instruction_set) {
    static const int threads[] = {1, 2, 3, 8, 1};
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            Case c = busy_case(dim, (BrimTransfer)transfer);
            BrimError error = {0};
            uint64_t expected = 0;
            for (int k = 0; k < 5; k++) { // the last one is a second run
                c.def.threads = threads[k];
                uint64_t h = busy_hash(&c, &error);
                CHECK_OK(error.result, error);
                if (k == 0) expected = h;
                CHECK(h == expected);
            }
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                if (isa_choose((BrimIsa)isa) != (BrimIsa)isa) continue;
                c.def.isa = (BrimIsa)isa;
                CHECK(busy_hash(&c, &error) == expected);
            }
        }
}

TEST(another_seed_gives_another_run) {
    Case c = busy_case(2, BRIM_TRANSFER_FLIP);
    BrimError error;
    uint64_t a = busy_hash(&c, &error);
    c.def.seed = 7;
    uint64_t b = busy_hash(&c, &error);
    CHECK(a && b && a != b);
}

TEST(saved_in_mid_run_goes_on_bit_for_bit) {
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++)
            for (int at_step = 0; at_step < BUSY_STEPS; at_step += 11) {
                Case c = busy_case(dim, (BrimTransfer)transfer);
                BrimError error;
                BrimSim *sim, *resumed;
                CHECK_OK(case_create(&c, &sim, &error), error);
                CHECK_OK(step_times(sim, at_step, &error), error);
                CHECK_OK(brim_sim_save(sim, at("mid.brim"), &error), error);
                CHECK_OK(brim_sim_load(&c.def, at("mid.brim"), &resumed, &error), error);
                CHECK(particle_hash(sim) == particle_hash(resumed));
                CHECK(brim_sim_stats(sim)->kinetic_energy ==
                      brim_sim_stats(resumed)->kinetic_energy);
                CHECK_OK(step_times(sim, BUSY_STEPS - at_step, &error), error);
                CHECK_OK(step_times(resumed, BUSY_STEPS - at_step, &error), error);
                CHECK(particle_hash(sim) == particle_hash(resumed));
                CHECK(brim_sim_time(sim) == brim_sim_time(resumed));
                brim_sim_destroy(&sim);
                brim_sim_destroy(&resumed);
            }
}

TEST(saved_with_the_hosts_solids_goes_on_bit_for_bit) {
    Case c = busy_case(2, BRIM_TRANSFER_APIC);
    BrimError error;
    BrimSim *sim, *resumed;
    BrimSolidDef paddle = brim_default_solid_def();
    int index, again;
    paddle.shape = box_between((BrimVec3){0.3f, 0, 0}, (BrimVec3){0.36f, 0.3f, 0});
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(step_times(sim, 4, &error), error);
    CHECK_OK(brim_sim_add_solid(sim, &paddle, &index, &error), error);
    CHECK(index == 3);
    CHECK_OK(
        brim_sim_move_solid(sim, index, (BrimVec3){-0.1f, 0, 0}, (BrimVec3){0, 0, 20}, 0.1, &error),
        error);
    CHECK_OK(step_times(sim, 4, &error), error);
    CHECK_OK(brim_sim_save(sim, at("host.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("host.brim"), &resumed, &error), error);
    CHECK_OK(brim_sim_add_solid(resumed, &paddle, &again, &error), error);
    CHECK(again == index);
    CHECK_OK(step_times(sim, 12, &error), error);
    CHECK_OK(step_times(resumed, 12, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    brim_sim_destroy(&sim);
    brim_sim_destroy(&resumed);
}

/// The speed of a solid over the last step has a say in the length of the next one.
TEST(saved_with_the_hosts_moving_solid_goes_on_bit_for_bit) {
    enum { STEPS = 20 };
    Case c = case_box(2, 0.64, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.64f, 0.24f, 0}));
    c.def.cfl = 2;
    BrimKeyframe keys[3] = {{.time = 0}, {.time = 0.1, .position = {0.3f, 0, 0}}, {.time = 0.2}};
    BrimSolidDef solid = brim_default_solid_def();
    solid.shape = box_between((BrimVec3){0.11f, 0.41f, 0}, (BrimVec3){0.19f, 0.49f, 0});
    solid.motion = BRIM_MOTION_KEYFRAMES;
    solid.keyframes = keys, solid.keyframe_count = 3;
    BrimError error;
    BrimSim *sim;
    uint64_t whole = 0;
    for (int save = -1; save < STEPS; save++) { // -1: not at all
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(brim_sim_add_solid(sim, &solid, NULL, &error), error);
        for (int i = 0; i < STEPS; i++) {
            if (i == save) {
                CHECK_OK(brim_sim_save(sim, at("any.brim"), &error), error);
                brim_sim_destroy(&sim);
                CHECK_OK(brim_sim_load(&c.def, at("any.brim"), &sim, &error), error);
                CHECK_OK(brim_sim_add_solid(sim, &solid, NULL, &error), error);
            }
            CHECK_OK(brim_sim_step(sim, &error), error);
        }
        if (save < 0) whole = particle_hash(sim);
        CHECK(particle_hash(sim) == whole);
        brim_sim_destroy(&sim);
    }
}

/// A host that moves a solid in each frame may save after it told where to.
TEST(saved_between_a_move_and_the_step_goes_on_bit_for_bit) {
    Case c = case_box(2, 0.64, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.64f, 0.24f, 0}));
    case_solid(&c, box_between((BrimVec3){0.11f, 0.41f, 0}, (BrimVec3){0.19f, 0.49f, 0}));
    c.def.cfl = 2;
    BrimError error;
    BrimSim *sim, *resumed = NULL;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int frame = 0; frame < 8; frame++) {
        BrimVec3 to = {0.05f * (float)(frame + 1) * (frame % 2 ? 1 : 0.2f), 0, 0}, still = {0};
        CHECK_OK(brim_sim_move_solid(sim, 0, to, still, 1.0 / 24, &error), error);
        brim_sim_destroy(&resumed);
        CHECK_OK(brim_sim_save(sim, at("moved.brim"), &error), error);
        CHECK_OK(brim_sim_load(&c.def, at("moved.brim"), &resumed, &error), error);
        CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        CHECK_OK(brim_sim_advance_frame(resumed, &error), error);
        CHECK(brim_sim_stats(sim)->step == brim_sim_stats(resumed)->step);
        CHECK(particle_hash(sim) == particle_hash(resumed));
    }
    brim_sim_destroy(&sim);
    brim_sim_destroy(&resumed);
}

// ------------------------------------------------------------------------------------ balance

static bool balanced(const BrimSim *sim) {
    const BrimStats *s = brim_sim_stats(sim);
    return s->seeded + s->emitted - s->drained - s->left == s->particles &&
           s->particles == (int64_t)brim_sim_particles(sim).count;
}

/// What a source emits a second, m^2 or m^3, in an empty box without gravity: through a box of
/// 0.1 x 0.2 (x 0.2) m, or a ball of 0.1 m.
static double emitted_volume(int dim, float flow, float speed, double cfl, double seconds,
                             BrimVec3 direction, bool round, BrimError *error) {
    Case c = case_box(dim, 1, 40, 40, 40);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between((BrimVec3){0.1f, 0.4f, 0.4f}, (BrimVec3){0.2f, 0.6f, 0.6f});
    if (round) c.sources[0].shape = ball((BrimVec3){0.3f, 0.5f, 0.5f}, 0.1f);
    c.sources[0].velocity =
        (BrimVec3){direction.x * speed, direction.y * speed, direction.z * speed};
    c.sources[0].flow = flow;
    c.def.cfl = cfl;
    for (int i = 0; i < 6; i++) c.def.sides[i] = BRIM_SIDE_OPEN;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return -1;
    double volume = -1;
    if (run_until(sim, seconds, error) == BRIM_OK && balanced(sim)) {
        double cell = pow(1.0 / 40, dim);
        volume = (double)brim_sim_stats(sim)->emitted * cell / c.def.particles_per_cell /
                 brim_sim_time(sim);
    }
    brim_sim_destroy(&sim);
    return volume;
}

TEST(sources_emit_the_volume_asked_for) {
    BrimError error = {0};
    const BrimVec3 right = {1, 0, 0}, slanted = {0.8f, 0.6f, 0};
    // free stream: cross-section times speed
    CHECK_NEAR(emitted_volume(2, 0, 1.3f, 1, 1, right, false, &error) / (0.2 * 1.3), 1, 0.02);
    CHECK_NEAR(emitted_volume(3, 0, 1.3f, 2, 0.5, right, false, &error) / (0.04 * 1.3), 1, 0.02);
    // a round one, whose side falls between the points
    CHECK_NEAR(emitted_volume(2, 0, 1, 1, 1, right, true, &error) / 0.2, 1, 0.02);
    CHECK_NEAR(emitted_volume(3, 0, 1, 2, 1, right, true, &error) / (0.01 * 3.14159265), 1, 0.02);
    // asked flow, above and below the stream's own
    CHECK_NEAR(emitted_volume(2, 0.1f, 1, 1, 1, right, false, &error) / 0.1, 1, 0.02);
    CHECK_NEAR(emitted_volume(2, 0.3f, 1, 4, 1, right, false, &error) / 0.3, 1, 0.02);
    CHECK_NEAR(emitted_volume(2, 0.2f, 1.3f, 1, 1, slanted, false, &error) / 0.2, 1, 0.02);
    CHECK_NEAR(emitted_volume(3, 0.03f, 1, 2, 0.5, slanted, false, &error) / 0.03, 1, 0.02);
    // steps that cross much of the shape
    CHECK_NEAR(emitted_volume(2, 0.2f, 1, 7, 1, right, true, &error) / 0.2, 1, 0.02);
    CHECK_NEAR(emitted_volume(3, 0.03f, 1, 7, 1, slanted, true, &error) / 0.03, 1, 0.02);
    CHECK_OK(error.result, error);
}

TEST(a_source_starts_and_stops) {
    Case c = case_box(2, 1, 32, 32, 1);
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between((BrimVec3){0.125f, 0.5f, 0}, (BrimVec3){0.25f, 0.75f, 0});
    c.sources[0].velocity = (BrimVec3){1, 0, 0};
    c.sources[0].start = 0.1, c.sources[0].stop = 0.35;
    c.def.step = 0.013;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.085, &error), error);
    CHECK(brim_sim_stats(sim)->emitted == 0);
    CHECK_OK(run_until(sim, 0.5, &error), error);
    CHECK_NEAR((double)brim_sim_stats(sim)->emitted / 9 / 1024 / (0.25 * 0.25), 1, 0.02);
    CHECK(balanced(sim));
    brim_sim_destroy(&sim);
}

TEST(drains_and_open_sides_count_what_goes) {
    for (int open = 0; open < 2; open++) {
        Case c = case_box(2, 1, 32, 32, 1);
        case_liquid(&c, box_between((BrimVec3){0.25f, 0.5f, 0}, (BrimVec3){0.75f, 0.75f, 0}));
        if (open) {
            c.def.sides[2] = BRIM_SIDE_OPEN;
        } else {
            c.def.drain_count = 1;
            c.drains[0] = brim_default_drain_def();
            c.drains[0].shape = box_between((BrimVec3){-1, -1, 0}, (BrimVec3){2, 0.1f, 0});
        }
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        int64_t seeded = brim_sim_stats(sim)->seeded;
        CHECK(seeded == 16 * 8 * 9);
        for (int i = 0; i < 60; i++) { // all falls out, and the empty simulation steps on
            CHECK_OK(brim_sim_step(sim, &error), error);
            CHECK(balanced(sim));
        }
        const BrimStats *s = brim_sim_stats(sim);
        CHECK(s->particles == 0 && s->tiles == 0);
        CHECK((open ? s->left : s->drained) == seeded);
        brim_sim_destroy(&sim);
    }
}

// --------------------------------------------------------------------------------- edge cases

TEST(a_scene_without_liquid_steps) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_box(dim, 1, 16, 16, 16);
        if (dim == 3) case_solid(&c, ball((BrimVec3){0.5f, 0.5f, 0.5f}, 0.2f));
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int i = 0; i < 5; i++) CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        CHECK(brim_sim_particles(sim).count == 0 && brim_sim_frame(sim) == 5);
        CHECK_NEAR(brim_sim_time(sim), 5 / c.def.frame_rate, 1e-12);
        float *field = malloc(16 * 16 * 16 * 3 * sizeof *field);
        for (int f = 0; f <= BRIM_FIELD_SOLID; f++)
            CHECK_OK(brim_sim_field(sim, (BrimField)f, field, 16 * 16 * 16 * 3, &error), error);
        free(field);
        CHECK_OK(brim_sim_save(sim, at("empty.brim"), &error), error);
        brim_sim_destroy(&sim);
        CHECK_OK(brim_sim_load(&c.def, at("empty.brim"), &sim, &error), error);
        CHECK_OK(brim_sim_step(sim, &error), error);
        brim_sim_destroy(&sim);
    }
}

TEST(distances_to_solids_at_points) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_tank(dim, 32, 0.5f);
        case_solid(&c, ball((BrimVec3){0.5f, 0.5f, 0.5f}, 0.2f));
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        // in water: just outside, inside, far; in air, where there is no tile: inside
        const float x[4] = {0.5f, 0.5f, 0.1f, 0.5f}, z[4] = {0.5f, 0.5f, 0.1f, 0.5f};
        const float y[4] = {0.25f, 0.35f, 0.1f, 0.68f},
                    want[4] = {0.05f, -0.05f, 3 / 32.0f, -0.02f};
        float d[4];
        brim_sim_solid_distance(sim, 4, x, y, dim == 3 ? z : NULL, d);
        for (int i = 0; i < 4; i++) CHECK_NEAR(d[i], want[i], 0.05 / 32);
        brim_sim_destroy(&sim);
        c.def.solid_count = 0;
        CHECK_OK(case_create(&c, &sim, &error), error);
        brim_sim_solid_distance(sim, 1, x, y, z, d);
        CHECK_NEAR(d[0], 3 / 32.0, 1e-6);
        brim_sim_destroy(&sim);
    }
}

TEST(a_source_fills_an_empty_scene) {
    Case c = case_box(3, 1, 16, 16, 16);
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = ball((BrimVec3){0.5f, 0.7f, 0.5f}, 0.15f);
    c.sources[0].velocity = (BrimVec3){0, -1, 0};
    c.sources[0].start = 0.1;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.5, &error), error);
    CHECK(brim_sim_particles(sim).count > 500 && balanced(sim));
    brim_sim_destroy(&sim);
}

TEST(not_a_number_loses_the_simulation_and_says_so) {
    for (int steps = 0; steps < 4; steps += 3)
        for (int k = 0; k < 2; k++) {
            Case c = busy_case(3, BRIM_TRANSFER_FLIP);
            BrimError error;
            BrimSim *sim;
            CHECK_OK(case_create(&c, &sim, &error), error);
            CHECK_OK(step_times(sim, steps, &error), error);
            BrimParticles p = brim_sim_particles(sim);
            p.vy[p.count / 2] = k ? INFINITY : NAN;
            CHECK(step_times(sim, 2, &error) == BRIM_LOST_DIVERGED);
            CHECK(strstr(error.message, "step") && error.result == BRIM_LOST_DIVERGED);
            brim_sim_destroy(&sim);
        }
}

TEST(frames_fall_on_their_times) {
    for (int fixed = 0; fixed < 2; fixed++) {
        Case c = case_tank(2, 16, 0.5f);
        c.def.frame_rate = 24;
        c.def.step = fixed ? 0.0037 : 0;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int i = 1; i <= 7; i++) {
            CHECK_OK(brim_sim_advance_frame(sim, &error), error);
            CHECK(brim_sim_frame(sim) == i && brim_sim_time(sim) == i / 24.0);
            if (fixed) CHECK(brim_sim_step_count(sim) == 12 * i); // 11.26 steps a frame
        }
        brim_sim_destroy(&sim);
    }
}

TEST(solids_come_and_move_at_run_time) {
    Case c = case_tank(2, 32, 0.5f);
    BrimError error;
    BrimSim *sim;
    BrimSolidDef plate = brim_default_solid_def();
    int index = -1;
    plate.shape = box_between((BrimVec3){0.45f, 0.6f, 0}, (BrimVec3){0.55f, 0.9f, 0});
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(step_times(sim, 2, &error), error);
    CHECK(brim_sim_move_solid(sim, 0, (BrimVec3){0, 0, 0}, (BrimVec3){0, 0, 0}, 1, &error) ==
          BRIM_ERROR_INPUT);
    CHECK_OK(brim_sim_add_solid(sim, &plate, &index, &error), error);
    CHECK(index == 0);
    CHECK(brim_sim_move_solid(sim, 0, (BrimVec3){NAN, 0, 0}, (BrimVec3){0, 0, 0}, 1, &error) ==
          BRIM_ERROR_INPUT);
    CHECK_OK(step_times(sim, 2, &error), error);
    double still = energy_per_mass(sim);
    CHECK_OK(brim_sim_move_solid(sim, 0, (BrimVec3){0, -0.4f, 0}, (BrimVec3){0, 0, 0}, 0.5, &error),
             error);
    CHECK_OK(run_until(sim, brim_sim_time(sim) + 0.5, &error), error);
    CHECK(energy_per_mass(sim) > 100 * still);
    double centre[3];
    centre_of_mass(sim, centre);
    CHECK(centre[1] > 0.255); // the plate went in: the water rose
    BrimParticles p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count; i++) { // and is not inside it: [0.45, 0.55] x [0.2, 0.5]
        double inside = fmin(0.05 - fabs(p.x[i] - 0.5), 0.15 - fabs(p.y[i] - 0.35)) * 32;
        bool corner = fabs(fabs(p.y[i] - 0.35) - 0.15) * 32 < 1; // the grid rounds corners off
        CHECK_BELOW(inside, corner ? 0.4 : 0.05);
    }
    brim_sim_destroy(&sim);
}

/// Whether a call was refused with a message that ends so.
static bool refused(BrimResult result, const BrimError *error, const char *end) {
    size_t n = strlen(error->message), m = strlen(end);
    return result == BRIM_ERROR_INPUT && error->result == result && n >= m &&
           strcmp(error->message + n - m, end) == 0;
}

TEST(null_is_refused_with_a_message) {
    BrimSimDef def = brim_default_sim_def();
    BrimSim *sim = (BrimSim *)&def;
    BrimError e;
    CHECK(refused(brim_sim_create(NULL, &sim, &e), &e, "brim_sim_create: def is NULL") && !sim);
    CHECK(refused(brim_sim_create(&def, NULL, &e), &e, "brim_sim_create: sim is NULL"));
    CHECK(brim_sim_create(NULL, NULL, NULL) == BRIM_ERROR_INPUT);
    CHECK(refused(brim_sim_load(NULL, "a", &sim, &e), &e, "brim_sim_load: def is NULL"));
    CHECK(refused(brim_sim_load(&def, NULL, &sim, &e), &e, "path is NULL"));
    CHECK(refused(brim_sim_step(NULL, &e), &e, "sim is NULL"));
    CHECK(refused(brim_sim_advance_frame(NULL, &e), &e, "sim is NULL"));
    BrimEstimate estimate;
    CHECK(refused(brim_estimate(NULL, false, &estimate, &e), &e, "def is NULL"));
    CHECK(refused(brim_estimate(&def, false, NULL, &e), &e, "estimate is NULL"));
    BrimScene *scene;
    BrimRun *run;
    CHECK(refused(brim_scene_load(NULL, NULL, 0, &scene, &e), &e, "path is NULL") && !scene);
    CHECK(refused(brim_scene_load("a", NULL, 0, NULL, &e), &e, "scene is NULL"));
    CHECK(refused(brim_scene_parse("", 0, "a", NULL, 1, &scene, &e), &e, "sets is NULL"));
    CHECK(refused(brim_run_open(NULL, "a", NULL, &run, &e), &e, "scene is NULL") && !run);
    CHECK(brim_scene_locate(NULL, NULL) == BRIM_OK);
    BrimMesher *mesher;
    BrimMesh mesh;
    CHECK(refused(brim_mesher_create(&def, NULL, &mesher, &e), &e, "mesh_def is NULL") && !mesher);
    CHECK(refused(brim_sim_mesh(NULL, NULL, &mesh, &e), &e, "sim is NULL") && !mesh.position);
    CHECK(refused(brim_mesh_read("a", NULL, &e), &e, "mesh is NULL"));
    CHECK(refused(brim_frame_read("a", NULL, &e), &e, "frame is NULL"));
    CHECK(refused(brim_describe_file("a", NULL, 9, &e), &e, "text is NULL"));
    CHECK(refused(brim_table_read(NULL, NULL, &e), &e, "table is NULL"));
    CHECK(refused(brim_plot_svg(NULL, NULL, &e), &e, "svg is NULL"));
}

/// A fall begins at rest: the first step must see how fast it gets, and what comes out of sources.
TEST(sim_first_step_keeps_to_the_cfl_number) {
    for (int source = 0; source < 2; source++) {
        Case c = case_box(2, 0.1, 64, 64, 1);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.1f, 0.05f, 0}));
        c.def.cfl = 2; // above that a fall of one cell is the limit
        c.def.frame_rate = 24;
        c.def.source_count = source;
        c.sources[0] = brim_default_source_def();
        c.sources[0].shape = ball((BrimVec3){0.05f, 0.08f, 0}, 0.01f);
        c.sources[0].velocity = (BrimVec3){1, -1, 0};
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(brim_sim_step(sim, &error), error);
        double dt = brim_sim_stats(sim)->dt, speed = source ? sqrt(2) : 0;
        double cells = (speed + 9.81 * dt) * dt / (0.1 / 64);
        CHECK_BELOW(cells, 2.001);
        CHECK(cells > 1); // whole steps to the frame's end may be shorter
        brim_sim_destroy(&sim);
    }
}

/// So must later steps, when a source opens or gravity sets in.
TEST(sim_steps_keep_to_the_cfl_number_when_something_begins) {
    for (int keys = 0; keys < 2; keys++) {
        Case c = case_box(2, 1, 64, 64, 1);
        case_liquid(&c, box_between((BrimVec3){0.4f, 0.5f, 0}, (BrimVec3){0.6f, 0.8f, 0}));
        c.def.gravity = (BrimVec3){0, 0, 0};
        c.def.cfl = 2;
        c.def.frame_rate = 24;
        if (keys) {
            c.def.gravity_key_count = 3;
            c.gravity_keys[0] = (BrimGravityKey){0, {0, 0, 0}};
            c.gravity_keys[1] = (BrimGravityKey){0.05, {0, 0, 0}};
            c.gravity_keys[2] = (BrimGravityKey){0.06, {0, -40, 0}};
        } else {
            c.def.source_count = 1;
            c.sources[0] = brim_default_source_def();
            c.sources[0].shape = ball((BrimVec3){0.15f, 0.8f, 0}, 0.05f);
            c.sources[0].velocity = (BrimVec3){0, -3, 0};
            c.sources[0].start = 0.05;
        }
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 0.12) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            const BrimStats *s = brim_sim_stats(sim);
            CHECK_BELOW(s->max_speed * s->dt * 64, 2.02);
        }
        CHECK(brim_sim_stats(sim)->max_speed > 2);
        brim_sim_destroy(&sim);
    }
}

TEST(steps_by_cfl_do_not_turn_waves_over) {
    Case c = case_box(2, 1, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.7f, 0}));
    c.def.cfl = 100, c.def.frame_rate = 2;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    const BrimStats *s = brim_sim_stats(sim);
    while (brim_sim_time(sim) < 10) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK(s->dt <= sqrt(2 / 64.0 / 9.81));
    }
    CHECK_NEAR(s->volume_cells, 1, 0.05); // it comes back; with steps of a sixth of a second: 0.12
    brim_sim_destroy(&sim);
}
