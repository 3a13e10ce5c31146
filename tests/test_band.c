// The narrow band: like particles everywhere, with far fewer of them.
#include "band/band.h"
#include "cases.h"
#include "scratch.h"
#include "test.h"

/// Deep water with all that has a state: a slanted surface that sloshes, a turning solid, a source
/// above, a drain at the floor, one open side above the water.
static Case deep_case(int dim, BrimTransfer transfer) {
    int n = dim == 3 ? 28 : 48;
    Case c = case_box(dim, 1, n, n, n / 2);
    float deep = dim == 3 ? 0.5f : 0;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.6f, 0.62f, deep}));
    case_liquid(&c, box_between((BrimVec3){0.6f, 0, 0}, (BrimVec3){1, 0.4f, deep}));
    case_solid(&c, box_between((BrimVec3){0.2f, 0.1f, 0}, (BrimVec3){0.5f, 0.2f, 0.4f}));
    c.solids[0].motion = BRIM_MOTION_ROTATION;
    c.solids[0].axis = (BrimVec3){0, 0, 1};
    c.solids[0].rate = 100;
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = ball((BrimVec3){0.7f, 0.8f, 0.25f}, 0.08f);
    c.sources[0].velocity = (BrimVec3){0.5f, -1, 0};
    c.def.drain_count = 1;
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = box_between((BrimVec3){0.8f, 0, 0}, (BrimVec3){1, 0.08f, 0.3f});
    c.drains[0].start = 0.1;
    c.def.sides[3] = BRIM_SIDE_OPEN;
    c.def.transfer = transfer;
    c.def.frame_rate = 30;
    c.def.band_width = 3;
    return c;
}

enum { DEEP_STEPS = 24 };

static BrimResult step_times(BrimSim *sim, int count, BrimError *error) {
    BrimResult r = BRIM_OK;
    for (int i = 0; i < count && r == BRIM_OK; i++) r = brim_sim_step(sim, error);
    return r;
}

static uint64_t deep_hash(Case *c, BrimError *error) {
    BrimSim *sim;
    if (case_create(c, &sim, error) != BRIM_OK) return 0;
    uint64_t h = step_times(sim, DEEP_STEPS, error) == BRIM_OK ? particle_hash(sim) : 0;
    brim_sim_destroy(&sim);
    return h;
}

TEST(band_same_bits_for_any_thread_count_and_instruction_set) {
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            Case c = deep_case(dim, (BrimTransfer)transfer);
            BrimError error = {0};
            uint64_t expected = deep_hash(&c, &error);
            CHECK_OK(error.result, error);
            for (int threads = 2; threads <= 5; threads += 3) {
                c.def.threads = threads;
                CHECK(deep_hash(&c, &error) == expected);
            }
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                if (isa_choose((BrimIsa)isa) != (BrimIsa)isa) continue;
                c.def.isa = (BrimIsa)isa;
                CHECK(deep_hash(&c, &error) == expected);
            }
        }
}

TEST(band_resumes_bit_for_bit) {
    static const int saved_after[] = {0, 1, 13};
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 3; k++) {
            Case c = deep_case(dim, k == 1 ? BRIM_TRANSFER_APIC : BRIM_TRANSFER_FLIP);
            c.liquid[0].velocity = (BrimVec3){0.5f, 0.3f, 0};
            BrimError error;
            BrimSim *sim, *resumed;
            CHECK_OK(case_create(&c, &sim, &error), error);
            CHECK_OK(step_times(sim, saved_after[k], &error), error);
            CHECK_OK(brim_sim_save(sim, at("band.brim"), &error), error);
            CHECK_OK(brim_sim_load(&c.def, at("band.brim"), &resumed, &error), error);
            CHECK(brim_sim_stats(sim)->interior > 0);
            CHECK_OK(step_times(sim, DEEP_STEPS, &error), error);
            CHECK_OK(step_times(resumed, DEEP_STEPS, &error), error);
            CHECK(particle_hash(sim) == particle_hash(resumed));
            CHECK(brim_sim_stats(sim)->kinetic_energy == brim_sim_stats(resumed)->kinetic_energy);
            brim_sim_destroy(&sim);
            brim_sim_destroy(&resumed);
        }
}

TEST(band_holds_few_particles_and_none_below) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_tank(dim, 48, 0.75f);
        c.def.band_width = 3;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int round = 0; round < 2; round++) {
            BrimParticles p = brim_sim_particles(sim);
            float lowest = 1;
            for (size_t i = 0; i < p.count; i++) lowest = fminf(lowest, p.y[i]);
            CHECK_NEAR(lowest, 0.75 - 3.0 / 48, 1.01 / 48);
            const BrimStats *s = brim_sim_stats(sim);
            CHECK(s->particles <= 4 * s->seeded / 36); // four layers of 36
            CHECK_NEAR((double)(s->particles + s->interior) / (double)s->seeded, 1, 1e-3);
            CHECK_OK(step_times(sim, 20, &error), error);
        }
        brim_sim_destroy(&sim);
    }
}

/// Largest speed of a tank with a ball in it after half a second, m/s.
static double speed_at_rest(int dim, int width, double *error_of_pressure, BrimError *error) {
    Case c = case_tank(dim, 32, 0.75f);
    case_solid(&c, ball((BrimVec3){0.5f, 0.3f, 0.5f}, 0.15f));
    c.def.band_width = width;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return INFINITY;
    double speed =
        run_until(sim, 0.5, error) == BRIM_OK ? brim_sim_stats(sim)->max_speed : INFINITY;
    *error_of_pressure = pressure_error(sim);
    brim_sim_destroy(&sim);
    return speed;
}

/// A region of so many particles at random places is no full water and has nothing below a band.
TEST(band_leaves_scattered_particles_alone) {
    Case c = case_box(2, 1, 40, 40, 1);
    case_liquid(&c, box_between((BrimVec3){0.2f, 0.2f, 0}, (BrimVec3){0.8f, 0.8f, 0}));
    c.liquid[0].particles = 500;
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK(brim_sim_particles(sim).count == 500);
    CHECK(brim_sim_stats(sim)->interior == 0);
    brim_sim_destroy(&sim);
}

/// Liquid below the band counts in the first statistics, and in the first step's length.
TEST(band_knows_the_speed_of_what_it_hides) {
    Case c = case_tank(2, 40, 1); // all hidden
    c.liquid[0].velocity.x = 20;
    c.def.band_width = 3;
    c.def.cfl = 2;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_NEAR(brim_sim_stats(sim)->kinetic_energy / (0.5 * 1000 * 20 * 20), 1, 0.05);
    CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_BELOW(brim_sim_stats(sim)->dt, 2.1 / (40 * 20.0));
    brim_sim_destroy(&sim);
}

/// Drops with a hidden core that flatten lose little of it: what is not deep any more gets
/// particles.
TEST(band_of_drops_that_flatten_keeps_them) {
    double kept = 0;
    for (int k = 0; k < 2; k++) {
        Case c = case_box(2, 1, 48, 48, 1);
        case_liquid(&c, ball((BrimVec3){0.5f, 0.6f, 0}, k ? 0.12f : 0.08f));
        c.def.band_width = 3;
        c.def.cfl = 6;
        c.def.volume = BRIM_VOLUME_NONE; // nothing makes good what is lost
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK(brim_sim_stats(sim)->interior > 0);
        CHECK_OK(run_until(sim, 0.8, &error), error);
        const BrimStats *s = brim_sim_stats(sim);
        kept += 0.5 * (double)(s->particles + s->interior) / (double)s->seeded;
        brim_sim_destroy(&sim);
    }
    CHECK_NEAR(kept, 1, 0.03);
}

/// A particle alone beside a thin wall and a tile's side falls no faster than it should.
TEST(band_beside_a_thin_wall_lets_a_drop_fall) {
    for (int width = 0; width <= 3; width += 3) {
        Case c = case_box(2, 1, 32, 32, 1);
        const float h = 1.0f / 32;
        case_liquid(&c, box_between((BrimVec3){16.02f * h, 28 * h, 0},
                                    (BrimVec3){16.04f * h, 28.02f * h, 0}));
        c.liquid[0].particles = 1;
        case_solid(&c, box_between((BrimVec3){13.6f * h, 0, 0}, (BrimVec3){14.6f * h, 1, 0}));
        c.def.band_width = width;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK(brim_sim_particles(sim).count == 1);
        CHECK_OK(run_until(sim, 0.3, &error), error);
        CHECK_NEAR(brim_sim_stats(sim)->max_speed / (9.81 * brim_sim_time(sim)), 1, 0.1);
        brim_sim_destroy(&sim);
    }
}

/// What hosts and files see of the liquid includes that below the band.
TEST(band_fields_include_the_liquid_below) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_tank(dim, 20, 0.9f);
        c.def.band_width = 3;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(step_times(sim, 2, &error), error);
        int low[3], high[3], z = dim == 3 ? 20 : 1;
        CHECK(brim_sim_bounds(sim, low, high));
        for (int a = 0; a < dim; a++) CHECK(low[a] == 0 && high[a] >= 17);
        size_t count = (size_t)(20 * 20 * z);
        float *density = malloc(count * sizeof *density), most = 0, least = 2;
        CHECK_OK(brim_sim_field(sim, BRIM_FIELD_DENSITY, density, count, &error), error);
        for (size_t i = 0; i < count; i++) {
            if (i / 20 % 20 >= 16) continue; // the surface
            most = fmaxf(most, density[i]), least = fminf(least, density[i]);
        }
        CHECK_BELOW(most, 1.5);
        CHECK_BELOW(0.5, least);
        CHECK_NEAR(density[20 * 20 * (z / 2) + 20 * 5 + 10], 1, 1e-5);
        free(density);
        brim_sim_destroy(&sim);
    }
}

TEST(band_at_rest_stays_at_rest) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimError error = {0};
        double pressure, speed = speed_at_rest(dim, 3, &pressure, &error);
        CHECK_OK(error.result, error);
        CHECK_BELOW(pressure, 0.01);
        double plain = speed_at_rest(dim, 0, &pressure, &error);
        CHECK_OK(error.result, error);
        CHECK_BELOW(speed, 1.5 * plain);
    }
}

/// What comes and goes by chance at the band's edge must not build up to waves.
TEST(band_at_rest_stays_so_for_long) {
    for (int transfer = 0; transfer < 2; transfer++) {
        Case c = case_tank(2, 40, 0.71f);
        c.def.transfer = (BrimTransfer)transfer;
        c.def.band_width = 2;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, quick() ? 2 : 25, &error), error);
        CHECK_BELOW(brim_sim_stats(sim)->max_speed, 0.02);
        CHECK_NEAR(brim_sim_stats(sim)->volume, 1, 0.01);
        brim_sim_destroy(&sim);
    }
}

TEST(band_of_a_thin_sheet_is_plain_flip) {
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        Case c = case_box(2, 1, 48, 32, 1);
        case_liquid(&c, box_between((BrimVec3){0.1f, 0, 0}, (BrimVec3){0.6f, 0.04f, 0}));
        c.def.band_width = k ? 3 : 0;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 0.5, &error), error);
        hash[k] = particle_hash(sim);
        CHECK(brim_sim_stats(sim)->interior == 0);
        brim_sim_destroy(&sim);
    }
    CHECK(hash[0] == hash[1]);
}

TEST(band_full_of_liquid_needs_no_particles) {
    Case c = case_tank(2, 24, 1);
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(step_times(sim, 10, &error), error);
    CHECK(brim_sim_particles(sim).count == 0);
    CHECK(brim_sim_stats(sim)->interior == brim_sim_stats(sim)->seeded);
    CHECK_BELOW(brim_sim_stats(sim)->max_speed, 1e-3);
    brim_sim_destroy(&sim);
}

/// Kinetic energy after `seconds` of an eddy in a full tank, which the grid alone carries, J.
static double eddy_energy(int order, double seconds, BrimError *error) {
    Case c = case_box(2, 1, 24, 24, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.5f, 1, 0}));
    case_liquid(&c, box_between((BrimVec3){0.5f, 0, 0}, (BrimVec3){1, 1, 0}));
    c.liquid[0].velocity.y = 1;
    c.liquid[1].velocity.y = -1;
    c.def.band_width = 3;
    c.def.cfl = 1;
    c.def.band_order = order;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return NAN;
    double energy =
        run_until(sim, seconds, error) == BRIM_OK ? brim_sim_stats(sim)->kinetic_energy : NAN;
    brim_sim_destroy(&sim);
    return energy;
}

TEST(band_of_second_order_keeps_eddies) {
    BrimError error = {0};
    double start = eddy_energy(2, 0.05, &error);
    double first = eddy_energy(1, 2, &error), second = eddy_energy(2, 2, &error);
    CHECK_OK(error.result, error);
    CHECK_BELOW(start / second, 2);
    CHECK_BELOW(first / second, 0.8);
}

/// Deep water in gaps of less than a cell between a solid and the walls stays, and stays at rest.
TEST(band_with_a_narrow_gap_below_stays_at_rest) {
    for (int k = 0; k < 3; k++) {
        static const float gap[3] = {0.2f, 0.3f, 0.7f}; // cells
        float g = gap[k] / 61, low = k == 1 ? g : 0.3f;
        Case c = case_box(2, 1, 61, 61, 1);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.7f, 0}));
        case_solid(&c, k == 1 ? box_between((BrimVec3){low, 0.1f, 0}, (BrimVec3){0.3f, 0.4f, 0})
                              : box_between((BrimVec3){low, g, 0}, (BrimVec3){0.7f, 0.2f, 0}));
        c.def.band_width = 3;
        c.def.volume = BRIM_VOLUME_NONE;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 0.5, &error), error);
        const BrimStats *s = brim_sim_stats(sim);
        CHECK_BELOW(s->max_speed, 0.05);
        CHECK_NEAR((double)(s->particles + s->interior) / (double)s->seeded, 1, 0.01);
        brim_sim_destroy(&sim);
    }
}

/// A box at the lid of a full tank, with a face of the liquid below it shut.
TEST(band_below_a_solid_at_the_lid_stays_at_rest) {
    Case c = case_box(2, 0.5625, 9, 11, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.5625f, 0.6875f, 0}));
    case_solid(&c, box_between((BrimVec3){0.0525f, 0.4163f, 0}, (BrimVec3){0.1526f, 0.8821f, 0}));
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 1, &error), error);
    CHECK_BELOW(brim_sim_stats(sim)->max_speed, 0.01);
    brim_sim_destroy(&sim);
}

/// A piston that presses a tank full to the brim, and goes back: nothing is made of nothing. (Water
/// without a surface cannot tear: it spreads thinly until one comes.)
TEST(band_of_a_tank_without_air_makes_no_water) {
    Case c = case_box(2, 1, 53, 53, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.7f, 0}));
    case_solid(&c, box_between((BrimVec3){-0.5f, -0.1f, 0}, (BrimVec3){0.02f, 1.1f, 0}));
    BrimKeyframe keys[3] = {{.time = 0.1}, {.time = 0.5, .position = {0.3f, 0, 0}}, {.time = 0.9}};
    c.solids[0].motion = BRIM_MOTION_KEYFRAMES;
    c.solids[0].keyframes = keys, c.solids[0].keyframe_count = 3;
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 2, &error), error);
    const BrimStats *s = brim_sim_stats(sim);
    CHECK_NEAR((double)(s->particles + s->interior) / (double)s->seeded, 1, 0.02);
    brim_sim_destroy(&sim);
}

/// Mean kinetic energy over a second of a small wave in a tank after `from` seconds, J/m.
static double wave_energy(int width, BrimVolume volume, double from, BrimError *error) {
    Case c = case_box(2, 1, 48, 48, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.5f, 0}));
    case_liquid(&c, box_between((BrimVec3){0, 0.5f, 0}, (BrimVec3){0.5f, 0.5f + 2.0f / 48, 0}));
    c.def.band_width = width;
    c.def.volume = volume;
    c.def.step = 0.01;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return NAN;
    BrimResult r = run_until(sim, from, error);
    double sum = 0;
    int steps = 0;
    for (; r == BRIM_OK && brim_sim_time(sim) < from + 1; steps++) {
        r = brim_sim_step(sim, error);
        sum += brim_sim_stats(sim)->kinetic_energy;
    }
    brim_sim_destroy(&sim);
    return r == BRIM_OK ? sum / steps : NAN;
}

TEST(band_waves_have_the_energy_of_full_flip) {
    BrimError error = {0};
    double band = wave_energy(3, BRIM_VOLUME_NONE, 3, &error);
    double full = wave_energy(0, BRIM_VOLUME_NONE, 3, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(band / full, 1, 0.05);
    // chance in the particles of the band's edge moves the surface a little
    band = wave_energy(3, BRIM_VOLUME_DENSITY, 3, &error);
    full = wave_energy(0, BRIM_VOLUME_DENSITY, 3, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(band / full, 1, 0.25);
}

/// Volume poured against volume there: a stream into a tank with a turning solid.
TEST(band_accounts_for_all_liquid) {
    Case c = deep_case(2, BRIM_TRANSFER_FLIP);
    c.def.drain_count = 0;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 150; i++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        const BrimStats *s = brim_sim_stats(sim);
        double due = (double)(s->seeded + s->emitted - s->drained - s->left);
        CHECK_NEAR((double)(s->particles + s->interior) / due, 1, 0.01);
        CHECK_NEAR(s->volume, 1, 0.02);
    }
    CHECK(brim_sim_stats(sim)->emitted > 1000 && brim_sim_stats(sim)->interior > 0);
    brim_sim_destroy(&sim);
}

/// What a wide drain takes in deep water, in particles; => the largest error of the account, as a
/// part of what was seeded.
static double drain_deep(int dim, int band_width, BrimVolume volume, double *worst,
                         BrimError *error) {
    int n = dim == 3 ? 24 : 48;
    Case c = case_box(dim, 1, n, n, n);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.85f, 1}));
    c.def.drain_count = 1;
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = box_between((BrimVec3){0.35f, 0.1f, 0.35f}, (BrimVec3){0.65f, 0.4f, 0.65f});
    c.drains[0].start = 0.05;
    c.def.frame_rate = 60;
    c.def.volume = volume;
    c.def.band_width = band_width;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return 0;
    *worst = 0;
    while (brim_sim_time(sim) < 0.4 && brim_sim_step(sim, error) == BRIM_OK) {
        const BrimStats *s = brim_sim_stats(sim);
        double due = (double)(s->seeded - s->drained);
        double off = (double)(s->particles + s->interior) - due;
        *worst = fmax(*worst, fabs(off) / (double)s->seeded);
    }
    double drained = (double)brim_sim_stats(sim)->drained;
    brim_sim_destroy(&sim);
    return drained;
}

/// Nothing comes out of the void that a drain leaves: it takes as much as without the band.
TEST(band_drains_no_more_than_there_is) {
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 2; k++) {
            BrimVolume volume = k ? BRIM_VOLUME_DENSITY : BRIM_VOLUME_NONE;
            BrimError error = {0};
            double worst, plain = drain_deep(dim, 0, volume, &worst, &error);
            CHECK_OK(error.result, error);
            CHECK(plain > 1000 && worst == 0);
            double band = drain_deep(dim, 3, volume, &worst, &error);
            CHECK_OK(error.result, error);
            CHECK_BELOW(worst, 0.01);
            CHECK_NEAR(band / plain, 1, 0.05);
        }
}

/// A drain that takes whole rows of cells far below the band.
TEST(band_above_a_flat_drain_goes_on) {
    Case c = case_box(2, 1, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.8f, 1}));
    c.def.drain_count = 1;
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = box_between((BrimVec3){0.3f, 0.255f, 0}, (BrimVec3){0.7f, 0.275f, 1});
    c.drains[0].start = 0.05;
    c.def.band_width = 3;
    c.def.frame_rate = 50;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.2, &error), error);
    CHECK(brim_sim_stats(sim)->drained > 100);
    brim_sim_destroy(&sim);
}

/// A drain that opens far below the band, where no particle would rise else.
TEST(band_above_a_drain_far_below_resumes_bit_for_bit) {
    Case c = case_box(2, 1, 96, 96, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.85f, 1}));
    c.def.drain_count = 1;
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = ball((BrimVec3){0.37f, 0.37f, 0}, 0.003f);
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim, *resumed;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(step_times(sim, 10, &error), error);
    CHECK_OK(brim_sim_save(sim, at("drain.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("drain.brim"), &resumed, &error), error);
    CHECK_OK(step_times(sim, 3, &error), error);
    CHECK_OK(step_times(resumed, 3, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    brim_sim_destroy(&sim);
    brim_sim_destroy(&resumed);
}

/// Particles that fill whole tiles within a step: there the grid has nothing to carry along.
TEST(band_that_a_fast_stream_fills_goes_on) {
    static const float speeds[] = {16, 20, 35};
    for (int k = 0; k < 3; k++) {
        Case c = case_box(2, 1.92f, 96, 128, 1);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1.92f, 0.64f, 1}));
        c.def.source_count = 1;
        c.sources[0] = brim_default_source_def();
        c.sources[0].shape = box_between((BrimVec3){0.48f, 1.29f, 0}, (BrimVec3){1.44f, 1.39f, 1});
        c.sources[0].velocity = (BrimVec3){0, -speeds[k], 0};
        c.sources[0].start = 0.1, c.sources[0].stop = 0.16;
        c.def.band_width = 3;
        c.def.step = 0.02; // as many cells as m/s
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(step_times(sim, 14, &error), error);
        CHECK(brim_sim_stats(sim)->emitted > 1000);
        brim_sim_destroy(&sim);
    }
}

/// A simulation with a band and one without, both run until a time.
static void run_both(Case *c, double until, BrimStats stats[2], BrimError *error) {
    for (int k = 0; k < 2; k++) {
        BrimSim *sim;
        c->def.band_width = 3 * k;
        if (case_create(c, &sim, error) != BRIM_OK) return;
        run_until(sim, until, error);
        stats[k] = *brim_sim_stats(sim);
        brim_sim_destroy(&sim);
    }
}

/// A stream that rises from the floor of deep water brings its momentum, and its volume.
TEST(band_with_a_source_below_is_moved_by_it) {
    Case c = case_box(2, 1, 48, 48, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.7f, 0}));
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between((BrimVec3){0.42f, 0.05f, 0}, (BrimVec3){0.58f, 0.15f, 0});
    c.sources[0].velocity = (BrimVec3){0, 1, 0};
    BrimStats s[2];
    BrimError error = {0};
    run_both(&c, 1, s, &error);
    CHECK_OK(error.result, error);
    CHECK(s[1].interior > 2000);
    CHECK_NEAR(s[1].kinetic_energy / s[0].kinetic_energy, 1, 0.5); // a jet that meanders
    CHECK_NEAR(s[1].volume, 1, 0.02);
    CHECK_NEAR((double)(s[1].particles + s[1].interior) / (double)s[0].particles, 1, 0.01);
    CHECK_BELOW(s[1].max_divergence, 1.01 * c.def.tolerance);
}

/// A source that pours more into a tank than it holds, at small steps.
TEST(band_of_a_tank_too_full_does_not_explode) {
    Case c = case_box(2, 1, 48, 48, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.9f, 0}));
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between((BrimVec3){0.4f, 0.1f, 0}, (BrimVec3){0.6f, 0.2f, 0});
    c.sources[0].velocity = (BrimVec3){0, 1, 0};
    c.def.cfl = 0.3;
    BrimStats s[2];
    BrimError error = {0};
    run_both(&c, quick() ? 0.2 : 1, s, &error);
    CHECK_OK(error.result, error);
    CHECK_BELOW(s[1].max_speed, 2 * s[0].max_speed);
}

/// What leaves deep water over an open side or through a drain is counted, at large steps too.
TEST(band_counts_what_leaves_at_large_steps) {
    for (int k = 0; k < 4; k++) {
        Case c = case_box(2, 2, 92, 46, 1);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){2, 0.8f, 0}));
        c.def.cfl = 5;
        if (k >= 2) c.def.step = 0.04; // up to seven cells
        if (k & 1) {
            c.def.drain_count = 1;
            c.drains[0] = brim_default_drain_def();
            c.drains[0].shape = box_between((BrimVec3){0.5f, 0, 0}, (BrimVec3){1.5f, 0.03f, 0});
        } else {
            c.def.sides[1] = BRIM_SIDE_OPEN;
        }
        c.def.volume = BRIM_VOLUME_NONE; // nothing makes good what is not counted
        BrimStats s[2];
        BrimError error = {0};
        run_both(&c, k & 1 ? 0.3 : 0.6, s, &error);
        CHECK_OK(error.result, error);
        int64_t gone[2] = {s[0].left + s[0].drained, s[1].left + s[1].drained};
        CHECK(gone[0] > 2000);
        CHECK_NEAR((double)gone[1] / (double)gone[0], 1, 0.03);
        CHECK_NEAR((double)(s[1].particles + s[1].interior + gone[1]) / (double)s[1].seeded, 1,
                   0.01);
    }
}

/// A dry tank that a stream fills until most of the water lies below the band.
TEST(band_of_a_tank_that_fills) {
    Case c = case_box(2, 1, 32, 32, 1);
    c.def.source_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between((BrimVec3){0.2f, 0.85f, 0}, (BrimVec3){0.5f, 0.95f, 0});
    c.sources[0].velocity = (BrimVec3){0, -1, 0};
    c.sources[0].stop = 1.5;
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 4, &error), error);
    const BrimStats *s = brim_sim_stats(sim);
    CHECK(s->interior > s->particles && s->emitted > 3500);
    CHECK_NEAR((double)(s->particles + s->interior) / (double)s->emitted, 1, 0.01);
    CHECK_NEAR(s->volume, 1, 0.015);
    brim_sim_destroy(&sim);
}

/// A pillar in deep water: what lies between it and the hidden liquid is no part of the band, or
/// its errors would run up along it.
TEST(band_at_a_pillar_is_as_even_as_elsewhere) {
    Case c = case_box(3, 1, 40, 40, 24);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.5f, 0.8f, 0.6f}));
    case_liquid(&c, box_between((BrimVec3){0.5f, 0, 0}, (BrimVec3){1, 0.6f, 0.6f}));
    BrimShapeDef pillar = brim_default_shape_def();
    pillar.kind = BRIM_SHAPE_CYLINDER;
    pillar.position = (BrimVec3){0.53f, 0.5f, 0.31f};
    pillar.radius = 0.13f, pillar.height = 1.2f;
    case_solid(&c, pillar);
    c.def.volume = BRIM_VOLUME_DENSITY;
    c.def.band_width = 3;
    c.def.frame_rate = 50;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    int most = 0;
    double farthest = 0;
    while (brim_sim_time(sim) < 0.8) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        const BrimStats *s = brim_sim_stats(sim);
        most = s->density_iterations > most ? s->density_iterations : most;
        farthest = fmax(farthest, s->displaced_max);
    }
    CHECK(brim_sim_stats(sim)->interior > brim_sim_stats(sim)->particles);
    CHECK(most > 0);
    CHECK_BELOW(most, 8);
    CHECK_BELOW(farthest, 0.8);
    brim_sim_destroy(&sim);
}

/// Deep enough that whole tiles, and all around them, hold nothing but hidden liquid.
TEST(band_far_below_same_bits_for_any_thread_count_and_resumed) {
    Case c = case_box(3, 1, 44, 44, 44);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.5f, 0.95f, 1}));
    case_liquid(&c, box_between((BrimVec3){0.5f, 0, 0}, (BrimVec3){1, 0.85f, 1}));
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim, *threads, *resumed;
    CHECK_OK(case_create(&c, &sim, &error), error);
    c.def.threads = 3;
    CHECK_OK(case_create(&c, &threads, &error), error);
    CHECK_OK(step_times(sim, 5, &error), error);
    CHECK_OK(step_times(threads, 5, &error), error);
    CHECK(particle_hash(sim) == particle_hash(threads));
    CHECK_OK(brim_sim_save(sim, at("far.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("far.brim"), &resumed, &error), error);
    CHECK_OK(step_times(sim, 5, &error), error);
    CHECK_OK(step_times(resumed, 5, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    CHECK(brim_sim_stats(sim)->interior > 4 * brim_sim_stats(sim)->particles);
    brim_sim_destroy(&sim);
    brim_sim_destroy(&threads);
    brim_sim_destroy(&resumed);
}

/// A wall of one cell that the host adds, and adds again after loading, in deep water.
TEST(band_with_the_hosts_solids_goes_on_bit_for_bit) {
    Case c = case_box(2, 1, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, 0}));
    c.liquid[0].velocity = (BrimVec3){0.4f, 0, 0};
    c.def.band_width = 3;
    BrimSolidDef wall = brim_default_solid_def();
    wall.shape = box_between((BrimVec3){0.5f, 0, 0}, (BrimVec3){0.52f, 0.8f, 0});
    wall.shape.rotation = (BrimVec3){0, 0, 17};
    BrimError error;
    BrimSim *sim, *resumed;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(brim_sim_add_solid(sim, &wall, NULL, &error), error);
    CHECK_OK(step_times(sim, 10, &error), error);
    CHECK_OK(brim_sim_save(sim, at("wall.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("wall.brim"), &resumed, &error), error);
    CHECK_OK(brim_sim_add_solid(resumed, &wall, NULL, &error), error);
    CHECK_OK(step_times(sim, 15, &error), error);
    CHECK_OK(step_times(resumed, 15, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    brim_sim_destroy(&sim);
    brim_sim_destroy(&resumed);
}

/// A solid that comes into deep water, and a checkpoint before the next step.
TEST(band_saved_when_a_solid_came_goes_on_bit_for_bit) {
    Case c = case_box(2, 1, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, 0}));
    c.liquid[0].velocity = (BrimVec3){0.4f, 0, 0};
    c.def.band_width = 3;
    c.def.particles_per_cell = 4;
    BrimSolidDef rock = brim_default_solid_def();
    rock.shape = box_between((BrimVec3){0.4f, 0.3f, 0}, (BrimVec3){0.6f, 0.6f, 0});
    rock.shape.rotation.z = 17;
    BrimError error;
    BrimSim *sim, *resumed;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(step_times(sim, 10, &error), error);
    CHECK_OK(brim_sim_add_solid(sim, &rock, NULL, &error), error);
    CHECK_OK(brim_sim_save(sim, at("rock.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("rock.brim"), &resumed, &error), error);
    CHECK_OK(brim_sim_add_solid(resumed, &rock, NULL, &error), error);
    CHECK_OK(step_times(sim, 6, &error), error);
    CHECK_OK(step_times(resumed, 6, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    brim_sim_destroy(&sim);
    brim_sim_destroy(&resumed);
}

/// A full tank in which a solid begins to move, and a checkpoint before the next step.
TEST(band_saved_when_a_solid_begins_to_move_goes_on_bit_for_bit) {
    Case c = case_box(2, 1, 48, 48, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 1, 0}));
    case_solid(&c, box_between((BrimVec3){0.4f, 0.4f, 0}, (BrimVec3){0.6f, 0.6f, 0}));
    c.def.band_width = 3;
    BrimError error;
    BrimSim *sim, *resumed;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(step_times(sim, 3, &error), error);
    CHECK_OK(brim_sim_move_solid(sim, 0, (BrimVec3){0.1f, 0, 0}, (BrimVec3){0}, 0.2, &error),
             error);
    CHECK_OK(brim_sim_save(sim, at("begins.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("begins.brim"), &resumed, &error), error);
    CHECK_OK(step_times(sim, 2, &error), error);
    CHECK_OK(step_times(resumed, 2, &error), error);
    CHECK(particle_hash(sim) == particle_hash(resumed));
    brim_sim_destroy(&sim);
    brim_sim_destroy(&resumed);
}

/// What lies below the band holds no particles, and lacks none.
TEST(band_with_errors_in_the_pressure_has_no_sink_below) {
    for (int k = 0; k < 2; k++) {
        Case c = case_box(2, 1, 48, 48, 1);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.7f, 0}));
        c.def.band_width = 3;
        c.def.volume = k ? BRIM_VOLUME_AVERAGED : BRIM_VOLUME_DIRECT;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 0.5) CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_NEAR(brim_sim_stats(sim)->volume, 1, 0.03);
        brim_sim_destroy(&sim);
    }
}
