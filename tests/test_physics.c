// Water against exact answers, on grids small enough for every build. `make validate` runs the same
// cases at full size.
#include "cases.h"
#include "test.h"

// --------------------------------------------------------------------------------------- rest

/// What is left of motion in a tank at rest, per mass over g times depth.
typedef struct Rest {
    double end;         ///< after 5 s
    double early, late; ///< means over seconds 2-3 and 4-5
    double pressure;    ///< largest deviation from linear, relative to rho g depth
} Rest;

static BrimResult rest(Case *c, double depth, Rest *out, BrimError *error) {
    BrimSim *sim;
    double sum[2] = {0}, scale = 1 / (9.81 * depth);
    int count[2] = {0};
    BrimResult r = case_create(c, &sim, error);
    if (r != BRIM_OK) return r;
    while (r == BRIM_OK && brim_sim_time(sim) < 5 - 1e-9) {
        r = brim_sim_step(sim, error);
        double t = brim_sim_time(sim);
        int part = t > 4 ? 1 : t > 2 && t <= 3 ? 0 : -1;
        if (part >= 0) sum[part] += energy_per_mass(sim) * scale, count[part]++;
    }
    *out = (Rest){energy_per_mass(sim) * scale, sum[0] / count[0], sum[1] / count[1],
                  pressure_error(sim)};
    brim_sim_destroy(&sim);
    return r;
}

TEST(a_tank_without_jitter_stays_at_rest) {
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            Case c = case_tank(dim, dim == 2 ? 32 : 12, 0.5f);
            c.def.jitter = 0;
            c.def.step = dim == 2 ? 0.005 : 0.01;
            c.def.transfer = (BrimTransfer)transfer;
            c.def.tolerance = 1e-5; // on such coarse cells 1e-4 alone allows 1e-8
            Rest r;
            BrimError error;
            CHECK_OK(rest(&c, 0.5, &r, &error), error);
            CHECK_BELOW(r.end, 1e-8);
            CHECK_BELOW(r.late, 1e-8);
            CHECK_BELOW(r.pressure, 1e-3);
        }
}

TEST(a_tank_with_jitter_calms_down) {
    if (quick()) return;
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            Case c = case_tank(dim, dim == 2 ? 32 : 12, 0.5f);
            c.def.step = dim == 2 ? 0.005 : 0.01;
            c.def.transfer = (BrimTransfer)transfer;
            Rest r;
            BrimError error;
            CHECK_OK(rest(&c, 0.5, &r, &error), error);
            CHECK_BELOW(r.end, 1e-5);
            CHECK_BELOW(r.late, r.early);
        }
}

TEST(a_full_closed_box_stays_at_rest) {
    for (int dim = 2; dim <= 3; dim++) { // no air anywhere: the pressure is known up to a constant
        Case c = case_tank(dim, dim == 2 ? 24 : 12, 1);
        c.def.step = 0.01;
        c.def.tolerance = 1e-5;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1, &error), error);
        CHECK_BELOW(energy_per_mass(sim) / 9.81, 1e-9);
        CHECK_BELOW(pressure_error(sim), 1e-3);
        brim_sim_destroy(&sim);
    }
}

/// Under a ball on the floor the wedge is too thin for particles, but no air; as beside one at a
/// wall.
TEST(a_tank_with_a_ball_at_a_wall_stays_at_rest) {
    static const BrimVec3 places[] = {{0.5f, 0.2f, 0.5f}, {0.2f, 0.35f, 0.5f}, {0.8f, 0.35f, 0.5f}};
    for (int k = 0; k < 3; k++) {
        Case c = case_tank(3, 32, 0.7f);
        case_solid(&c, ball(places[k], 0.2f));
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, quick() ? 0.1 : 0.5, &error), error);
        CHECK_BELOW(brim_sim_stats(sim)->max_speed, 0.3);
        brim_sim_destroy(&sim);
    }
}

TEST(a_tank_with_a_tilted_solid_stays_at_rest) {
    Case c = case_tank(2, 32, 0.6f);
    BrimShapeDef block = box_between((BrimVec3){0.3f, 0.2f, 0}, (BrimVec3){0.65f, 0.4f, 0});
    block.rotation.z = 25;
    case_solid(&c, block);
    c.def.step = 0.005;
    BrimError error;
    Rest r;
    CHECK_OK(rest(&c, 0.6, &r, &error), error);
    CHECK_BELOW(r.end, 1e-5);
}

/// The surface passes centres and walls at all depths when its level is slanted to the grid.
TEST(water_below_a_slanted_level_stays_at_rest) {
    if (quick()) return;
    static const double angle[] = {5, 15}, limit[] = {8e-5, 2.2e-4};
    for (int k = 0; k < 2; k++) {
        Case c = case_box(2, 1, 32, 32, 32);
        const float x = (float)sin(angle[k] * M_PI / 180), y = (float)cos(angle[k] * M_PI / 180);
        BrimShapeDef level = brim_default_shape_def();
        level.kind = BRIM_SHAPE_PLANE;
        level.position = (BrimVec3){0.5f, 0.45f, 0};
        level.normal = (BrimVec3){-x, y, 0};
        case_liquid(&c, level);
        c.def.gravity = (BrimVec3){9.81f * x, -9.81f * y, 0};
        c.def.step = 1.0 / 24;
        BrimError error;
        BrimSim *sim;
        double sum = 0;
        int count = 0;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 20) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            if (brim_sim_time(sim) > 12) sum += energy_per_mass(sim), count++;
        }
        CHECK_BELOW(sum / count, limit[k]);
        brim_sim_destroy(&sim);
    }
}

/// A gap of less than a cell between water and a box above it is no room to be filled.
TEST(water_below_a_lid_stays_at_rest) {
    static const double gap[] = {0.5, 0.7, 0.9};
    for (int k = 0; k < 3; k++) {
        const double dx = 1.0 / 64, depth = 0.5 + 0.37 * dx;
        Case c = case_tank(2, 64, (float)depth);
        case_solid(&c, box_between((BrimVec3){0.403f, (float)(depth + gap[k] * dx), 0},
                                   (BrimVec3){0.603f, 0.9f, 1}));
        c.def.step = 0.01;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 2, &error), error);
        CHECK_BELOW(energy_per_mass(sim), 1e-5);
        brim_sim_destroy(&sim);
    }
}

// ---------------------------------------------------------------------------------- free fall

/// Largest distance of a particle from its parabola after half a second, relative to the fall.
static double parabola_error(Case *c, BrimError *error) {
    BrimSim *sim;
    if (case_create(c, &sim, error) != BRIM_OK) return NAN;
    BrimParticles p = brim_sim_particles(sim);
    BrimVec3 v = c->liquid[0].velocity, g = c->def.gravity;
    float *start = malloc(3 * p.count * sizeof *start);
    double worst = 0;
    for (size_t i = 0; i < p.count && start; i++) {
        float *at = start + 3 * (size_t)p.id[i];
        at[0] = p.x[i], at[1] = p.y[i], at[2] = p.z[i];
    }
    if (!start || run_until(sim, 0.5, error) != BRIM_OK) worst = NAN;
    double t = brim_sim_time(sim);
    p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count && start; i++) {
        const float *at = start + 3 * (size_t)p.id[i];
        worst = fmax(worst, fabs(p.x[i] - (at[0] + v.x * t + 0.5 * g.x * t * t)));
        worst = fmax(worst, fabs(p.y[i] - (at[1] + v.y * t + 0.5 * g.y * t * t)));
        worst = fmax(worst, fabs(p.z[i] - (at[2] + v.z * t + 0.5 * g.z * t * t)));
    }
    free(start);
    brim_sim_destroy(&sim);
    return worst / (0.5 * 9.81 * 0.25);
}

TEST(free_fall_is_an_exact_parabola) {
    static const double steps[] = {0.01, 0.005, 0.0037, 0, 0}; // most do not divide a frame
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++)
            for (int k = 0; k < 5; k++) {
                Case c = case_box(dim, 1, 24, 72, 24);
                float z = dim == 3 ? 1.0f : 0;
                case_liquid(&c, box_between((BrimVec3){0.3f, 2.2f, 0.3f * z},
                                            (BrimVec3){0.55f, 2.5f, 0.6f * z}));
                if (k & 1) c.liquid[0].velocity = (BrimVec3){0.4f, 0.9f, -0.3f * z};
                c.def.transfer = (BrimTransfer)transfer;
                c.def.volume = BRIM_VOLUME_NONE; // which evens out the random seeding on the way
                c.def.step = steps[k];
                c.def.cfl = k == 3 ? 1 : 5;
                BrimError error = {0};
                double worst = parabola_error(&c, &error);
                CHECK_OK(error.result, error);
                CHECK_BELOW(worst, 1e-5);
            }
}

// ------------------------------------------------------------------------------ spin and waves

/// Part of the angular momentum that a spun block has after a turn; 0 on error.
static double spin_kept(int n, double step, BrimTransfer transfer, BrimError *error) {
    Case c = case_spin(2, n, step, transfer);
    c.def.volume = BRIM_VOLUME_NONE;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return 0;
    const double centre[3] = {SPIN_BOX / 2, SPIN_BOX / 2, SPIN_BOX / 2};
    double before = spin_about(sim, centre, 2), after = 0;
    if (run_until(sim, 1, error) == BRIM_OK) after = spin_about(sim, centre, 2);
    brim_sim_destroy(&sim);
    return after / before;
}

TEST(apic_keeps_the_angular_momentum_of_a_spun_block) {
    if (quick()) return;
    BrimError error = {0};
    double apic = spin_kept(96, 0.0002, BRIM_TRANSFER_APIC, &error);
    double flip = spin_kept(96, 0.001, BRIM_TRANSFER_FLIP, &error);
    CHECK_OK(error.result, error);
    printf("     angular momentum kept over a turn: APIC %.4f, FLIP %.4f\n", apic, flip);
    CHECK_NEAR(apic, 1, 0.01);
    CHECK(flip > 0.7 && flip < 1.02);
}

TEST(sloshing_has_the_period_of_linear_theory) {
    if (quick()) return;
    for (int transfer = 0; transfer < 2; transfer++) {
        SloshHeights heights;
        Case c = case_slosh(64, 0.5, 0.0125, &heights);
        c.def.transfer = (BrimTransfer)transfer;
        c.def.step = 0.005;
        BrimError error;
        double period = slosh_period(&c, 3, &error);
        CHECK_NEAR(period / SLOSH_PERIOD_05, 1, 0.01);
    }
}

TEST(taylor_green_converges) {
    if (quick()) return;
    for (int transfer = 0; transfer < 2; transfer++) {
        double error_at[2], loss[2];
        for (int k = 0; k < 2; k++) {
            Case c = case_vortex(k ? 64 : 32, (BrimTransfer)transfer);
            BrimError error;
            CHECK_OK(vortex_error(&c, 0.25, &error_at[k], &loss[k], &error), error);
        }
        CHECK_BELOW(error_at[0], 0.05);
        CHECK_BELOW(error_at[1], 0.6 * error_at[0]); // first order in the step, which goes with dx
        CHECK_BELOW(loss[1], 0.6 * loss[0]);
    }
}

TEST(a_box_and_its_mirror_image_act_alike) {
    // A dam at the left wall and one at the right: after a short time, before chaos, the
    // centres of mass mirror one another.
    for (int transfer = 0; transfer < 2; transfer++) {
        double centre[2][3], energy[2];
        for (int side = 0; side < 2; side++) {
            Case c = case_box(2, 1, 40, 40, 1); // cells fill their tiles
            float low = side ? 0.7f : 0;
            case_liquid(&c, box_between((BrimVec3){low, 0, 0}, (BrimVec3){low + 0.3f, 0.6f, 0}));
            c.def.jitter = 0;
            c.def.step = 0.005;
            c.def.transfer = (BrimTransfer)transfer;
            BrimError error;
            BrimSim *sim;
            CHECK_OK(case_create(&c, &sim, &error), error);
            CHECK_OK(run_until(sim, 0.3, &error), error);
            centre_of_mass(sim, centre[side]);
            energy[side] = energy_per_mass(sim);
            brim_sim_destroy(&sim);
        }
        CHECK_NEAR(centre[0][0], 1 - centre[1][0], 1e-4);
        CHECK_NEAR(centre[0][1], centre[1][1], 1e-4);
        CHECK_NEAR(energy[0] / energy[1], 1, 2e-3);
    }
}

// ---------------------------------------------------------------------------------- dam break

TEST(dam_break_front_runs_as_measured) {
    DamRun run;
    BrimError error;
    Case c = case_dam(12);
    CHECK_OK(dam_run(&c, &run, &error), error);
    double shift = 0, front = dam_front_deviation(&run, &shift);
    double height = dam_height_deviation(&run);
    CHECK_BELOW(front, 0.1); // rms of x / a over one constant shift in time
    CHECK_BELOW(fabs(shift), 0.4);
    CHECK_BELOW(height, 0.06); // rms of h / (2 a)
}
