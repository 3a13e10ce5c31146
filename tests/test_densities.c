// Liquids of different density: masses of particles, density on faces, pressure.
#include "cases.h"
#include "projection/mixed.h"
#include "step/state.h"
#include "test.h"

/// A closed tank of 16 x 32 cells, 0.5 m x 1 m, full of two layers that meet half way up.
static Case two_layers(double below, double above) {
    Case c = case_box(2, 0.5, 16, 32, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.5f, 0.5f, 1}));
    case_liquid(&c, box_between((BrimVec3){0, 0.5f, 0}, (BrimVec3){0.5f, 1, 1}));
    c.liquid[0].density = below, c.liquid[1].density = above;
    c.def.jitter = 0;
    c.def.volume = BRIM_VOLUME_NONE;
    c.def.step = 0.005;
    c.def.tolerance = 1e-7;
    return c;
}

/// Cell x, y of the grid.
static int64_t cell_of(const BrimSim *s, int x, int y) {
    int slot = grid_slot(&s->grid, x >> 3, y >> 3, 0);
    return (int64_t)slot * s->grid.tile_cells + (y & 7) * 8 + (x & 7);
}

TEST(densities_are_there_only_where_they_differ) {
    Case c = two_layers(0, 0);
    BrimSim *sim = NULL;
    BrimError error;
    CHECK(case_create(&c, &sim, &error) == BRIM_OK);
    CHECK(!sim->mixed[0] && !sim->inverse_density[0] && !sim->particles.attr[ATTR_MASS]);
    brim_sim_destroy(&sim);
}

TEST(densities_equal_to_the_scenes_change_nothing) {
    double energy[2];
    for (int k = 0; k < 2; k++) {
        Case c = two_layers(k ? 1000 : 0, 0);
        c.liquid[1].velocity = (BrimVec3){0.3f, 0, 0};
        BrimSim *sim = NULL;
        BrimError error;
        CHECK(case_create(&c, &sim, &error) == BRIM_OK);
        for (int i = 0; i < 5; i++) CHECK(brim_sim_step(sim, &error) == BRIM_OK);
        CHECK(k == (sim->mixed[0] != NULL));
        energy[k] = brim_sim_stats(sim)->kinetic_energy;
        brim_sim_destroy(&sim);
    }
    CHECK(energy[0] == energy[1] && energy[0] > 0);
}

TEST(densities_hydrostatic_pressure_of_two_layers) {
    Case c = two_layers(2500, 0);
    BrimSim *s = NULL;
    BrimError error;
    double worst = 0, sum = 0;
    CHECK(case_create(&c, &s, &error) == BRIM_OK);
    CHECK(brim_sim_step(s, &error) == BRIM_OK);
    for (int y = 1; y < 32; y++) {
        int64_t me = cell_of(s, 5, y), below = cell_of(s, 5, y - 1);
        double drop = (double)pressure_at(s, below) - (double)pressure_at(s, me);
        double density = drop / (9.81 * s->projection.kick); // of the scene's
        sum += density;
        if (y < 15) worst = fmax(worst, fabs(density - 2.5));
        if (y > 17) worst = fmax(worst, fabs(density - 1));
    }
    CHECK_BELOW(worst, 1e-4);
    CHECK_NEAR(sum, 15 * 2.5 + 15 * 1 + 1.75, 1e-3); // between the middles of the last cells
    for (int i = 0; i < 50; i++) CHECK(brim_sim_step(s, &error) == BRIM_OK);
    CHECK_BELOW(brim_sim_stats(s)->max_speed, 1e-4);
    brim_sim_destroy(&s);
}

/// Below a surface: the pressure on the floor is the weight above it.
TEST(densities_pressure_below_a_surface) {
    Case c = two_layers(0, 400);
    c.liquid[1].shape = box_between((BrimVec3){0, 0.5f, 0}, (BrimVec3){0.5f, 0.8125f, 1});
    BrimSim *s = NULL;
    BrimError error;
    CHECK(case_create(&c, &s, &error) == BRIM_OK);
    CHECK(brim_sim_step(s, &error) == BRIM_OK);
    double floor = (double)pressure_at(s, cell_of(s, 8, 0)) / (9.81 * s->projection.kick);
    CHECK_NEAR(floor, 15.5 + 0.4 * 10, 0.05);
    for (int i = 0; i < 50; i++) CHECK(brim_sim_step(s, &error) == BRIM_OK);
    CHECK_BELOW(brim_sim_stats(s)->max_speed, 5e-3);
    brim_sim_destroy(&s);
}

/// A wave between two layers: (rho_1 + rho_2) omega^2 = (rho_1 - rho_2) g k tanh(k h) for equal
/// depths h. It begins with its velocity, and comes to rest after a quarter of the period.
TEST(densities_period_of_an_internal_wave) {
    Case c = two_layers(1500, 500);
    const double k = M_PI / 0.5, h = 0.5;
    const double omega = sqrt(0.5 * 9.81 * k * tanh(k * h));
    const char *low[2] = {"0.02 * sin(6.2831853 * x) * cosh(6.2831853 * y) / 11.5487",
                          "-0.02 * cos(6.2831853 * x) * sinh(6.2831853 * y) / 11.5487"};
    const char *high[2] = {"-0.02 * sin(6.2831853 * x) * cosh(6.2831853 * (1 - y)) / 11.5487",
                           "-0.02 * cos(6.2831853 * x) * sinh(6.2831853 * (1 - y)) / 11.5487"};
    for (int a = 0; a < 2; a++)
        c.liquid[0].velocity_formula[a] = low[a], c.liquid[1].velocity_formula[a] = high[a];
    c.def.transfer = BRIM_TRANSFER_APIC;
    c.def.step = 0.004;
    BrimSim *s = NULL;
    BrimError error;
    double time[3] = {0}, energy[3] = {INFINITY, INFINITY, INFINITY};
    CHECK(case_create(&c, &s, &error) == BRIM_OK);
    do { // until the one in the middle is the least
        for (int i = 0; i < 2; i++) time[i] = time[i + 1], energy[i] = energy[i + 1];
        CHECK(brim_sim_step(s, &error) == BRIM_OK);
        time[2] = s->velocity_time, energy[2] = brim_sim_stats(s)->kinetic_energy;
    } while (!(energy[1] < energy[2]) && s->time < 2 / omega);
    double bend = energy[0] - 2 * energy[1] + energy[2];
    double rest = time[1] + 0.5 * (time[1] - time[0]) * (energy[0] - energy[2]) / bend;
    CHECK_NEAR(rest * omega / (0.5 * M_PI), 1, 0.03);
    brim_sim_destroy(&s);
}

TEST(densities_out_of_range_or_beside_others_are_refused) {
    BrimSim *sim = NULL;
    BrimError error;
    Case c = two_layers(1e6, 0);
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "liquid[0].density"));
    c = two_layers(900, 0);
    c.def.viscosity = 1;
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "viscosity"));
}
