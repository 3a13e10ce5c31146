// MPM sub-steps: splines, forces, what they do to crowded and to viscous liquid.
#include "base/hash.h"
#include "cases.h"
#include "liquid/mpm.h"
#include "scratch.h"
#include "step/stages.h"
#include "test.h"
#include <string.h>

TEST(mpm_splines_are_a_partition_of_unity) {
    for (float f = 0; f < 1; f += 0.125f) {
        float w[4], d[4], sum = 0, mean = 0, slope = 0, moment = 0;
        mpm_weights(f, w, d);
        for (int k = 0; k < 4; k++) {
            sum += w[k], slope += d[k];
            mean += w[k] * (float)(k - 1), moment += d[k] * (float)(k - 1);
        }
        CHECK_NEAR(sum, 1, 1e-6);
        CHECK_NEAR(mean, f, 1e-6); // linear fields are interpolated exactly
        CHECK_NEAR(slope, 0, 1e-6);
        CHECK_NEAR(moment, 1, 1e-6);
    }
}

/// A tank of 1 m with chance in its particles' places, no gravity and nothing else to part them.
static Case crowded(int dim) {
    Case c = case_box(dim, 1, 24, 24, dim == 3 ? 12 : 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 1, dim == 3 ? 0.5f : 1}));
    c.def.gravity = (BrimVec3){0};
    c.def.jitter = 1;
    c.def.volume = BRIM_VOLUME_NONE;
    c.def.mpm_substeps = 2;
    c.def.mpm_sound = 1;
    c.def.step = 0.01;
    return c;
}

/// Deviation of the density at nodes in a simulation at rest in its stage.
static double unevenness(BrimSim *s, double *mean) {
    double sum = 0, sum2 = 0, count = 0;
    for (size_t i = 0; i < sim_cells(s); i++) {
        size_t slot = i / (size_t)s->grid.tile_cells, row = i % (size_t)s->grid.tile_cells / 8;
        if (!(row_inside(&s->grid, (int)slot, (int)row) >> (i % 8) & 1)) continue;
        sum += s->node_mass[i], sum2 += (double)s->node_mass[i] * s->node_mass[i], count++;
    }
    *mean = sum / count;
    return sqrt(sum2 / count - *mean * *mean);
}

TEST(mpm_density_is_full_up_to_the_walls) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = crowded(dim);
        c.def.jitter = 0;
        BrimSim *s = NULL;
        BrimError error;
        double mean;
        CHECK_OK(case_create(&c, &s, &error), error);
        stage_begin(s, AT_STRESS);
        CHECK_OK(stage_stress(s, &error), error);
        CHECK_BELOW(unevenness(s, &mean), 1e-3); // by images; without them 0.58 at a wall
        CHECK_NEAR(mean, 1, 1e-3);
        stage_begin(s, AT_REST);
        brim_sim_destroy(&s);
    }
}

TEST(mpm_keeps_momentum_and_parts_what_is_crowded) {
    Case c = case_box(2, 1, 32, 32, 1);
    c.liquid[0] = (BrimLiquidDef){.shape = ball((BrimVec3){0.5f, 0.5f, 0}, 0.25f),
                                  .velocity = {0.3f, -0.2f, 0},
                                  .particles = 3000}; // of 1809 that fill it
    c.def.liquid_count = 1;
    c.def.gravity = (BrimVec3){0};
    c.def.mpm_substeps = 4, c.def.mpm_sound = 1, c.def.step = 0.01;
    c.def.mpm_viscosity = 1;
    BrimSim *s = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK_OK(stages_run(s, AT_STRESS, AT_SORT, &error), error);
    double sum[2] = {0}, out = 0;
    BrimParticles p = brim_sim_particles(s);
    for (size_t i = 0; i < p.count; i++) {
        sum[0] += p.vx[i], sum[1] += p.vy[i];
        out += (p.vx[i] - 0.3) * (p.x[i] - 0.5) + (p.vy[i] + 0.2) * (p.y[i] - 0.5);
    }
    CHECK_NEAR(sum[0] / (double)p.count, 0.3, 1e-5);
    CHECK_NEAR(sum[1] / (double)p.count, -0.2, 1e-5);
    CHECK(out / (double)p.count > 0.01); // m^2/s: outwards
    brim_sim_destroy(&s);
}

TEST(mpm_evens_out_chance) {
    Case c = crowded(2);
    BrimSim *s = NULL;
    BrimError error;
    double mean, before = 0, after = 0;
    CHECK_OK(case_create(&c, &s, &error), error);
    for (int i = 0; i < 60; i++) {
        stage_begin(s, AT_STRESS);
        CHECK_OK(stage_stress(s, &error), error);
        double now = unevenness(s, &mean);
        if (i == 0) before = now;
        after = now;
        CHECK_OK(stages_run(s, AT_SORT, AT_SORT, &error), error);
        BrimParticles p = brim_sim_particles(s);
        for (size_t k = 0; k < p.count; k++) p.vx[k] *= 0.8f, p.vy[k] *= 0.8f; // comes to rest
    }
    CHECK(after < 0.5 * before);
    stage_begin(s, AT_REST);
    brim_sim_destroy(&s);
}

TEST(mpm_shear_wave_decays_as_it_should) {
    // u = sin(pi x) cos(pi y), v = -cos(pi x) sin(pi y): walls are free of stress
    Case c = crowded(2);
    c.def.jitter = 0;
    c.def.mpm_sound = 0;
    c.def.mpm_viscosity = 5; // nu = 0.005 m^2/s
    BrimSim *s = NULL;
    BrimError error;
    const double pi = 3.14159265358979;
    CHECK_OK(case_create(&c, &s, &error), error);
    BrimParticles p = brim_sim_particles(s);
    double before = 0, after = 0;
    for (size_t i = 0; i < p.count; i++) {
        p.vx[i] = (float)(sin(pi * p.x[i]) * cos(pi * p.y[i]));
        p.vy[i] = (float)(-cos(pi * p.x[i]) * sin(pi * p.y[i]));
        before += p.vx[i] * sin(pi * p.x[i]) * cos(pi * p.y[i]);
    }
    for (int i = 0; i < 50; i++) {
        CHECK_OK(stages_run(s, AT_STRESS, AT_SORT, &error), error);
    }
    p = brim_sim_particles(s); // moved by no more than what stress gave
    for (size_t i = 0; i < p.count; i++) after += p.vx[i] * sin(pi * p.x[i]) * cos(pi * p.y[i]);
    double rate = -log(after / before) / 0.5;
    CHECK_NEAR(rate / (2 * 0.005 * pi * pi), 1, 0.03);
    brim_sim_destroy(&s);
}

TEST(mpm_takes_as_many_substeps_as_it_needs) {
    Case c = crowded(2);
    BrimSim *s = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK(mpm_substeps(s, 0.01) == 2);
    s->def.mpm_sound = 3;
    CHECK(mpm_substeps(s, 0.01) == 6);
    s->def.mpm_viscosity = 100; // 0.1 m^2/s: 0.576 cells^2 in 0.01 s
    s->def.mpm_sound = 0;
    CHECK(mpm_substeps(s, 0.01) == 4);
    brim_sim_destroy(&s);
}

/// A dam that breaks, with all that sub-steps go with.
static Case dam(int dim) {
    Case c = case_box(dim, 1, 32, 32, 16);
    float z = dim == 3 ? 0.5f : 1;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.6f, z}));
    case_solid(&c, box_between((BrimVec3){0.6f, 0, 0}, (BrimVec3){0.7f, 0.15f, z}));
    c.def.mpm_substeps = 2, c.def.mpm_sound = 1;
    return c;
}

/// The largest energy of a run of 48 frames, relative to the start.
static double most_energy(Case *c, BrimError *error) {
    BrimSim *s = NULL;
    if (case_create(c, &s, error) != BRIM_OK) return NAN;
    const BrimStats *stats = brim_sim_stats(s);
    double start = stats->kinetic_energy + stats->potential_energy, most = 0;
    for (int i = 0; i < 48 && brim_sim_advance_frame(s, error) == BRIM_OK; i++)
        most = fmax(most, stats->kinetic_energy + stats->potential_energy);
    bool whole = brim_sim_frame(s) == 48 && stats->particles == stats->seeded;
    brim_sim_destroy(&s);
    return whole ? most / start : NAN;
}

TEST(mpm_brings_no_energy) {
    // velocities stand half a step ahead, so both begin above 1; pressure between particles adds
    // none
    for (int volume = 0; volume < 2; volume++) {
        Case c = dam(2);
        BrimError error;
        c.def.volume = volume ? BRIM_VOLUME_NONE : BRIM_VOLUME_DENSITY;
        double with = most_energy(&c, &error);
        c.def.mpm_substeps = 0;
        CHECK_BELOW(with, most_energy(&c, &error) + 1e-3);
    }
}

TEST(mpm_same_bits_for_any_thread_count_set_and_resumed) {
    for (int kind = 0; kind < 3; kind++) {
        Case c = dam(kind ? 3 : 2);
        if (kind == 1)
            c.def.band_width = 3, c.def.transfer = BRIM_TRANSFER_APIC,
            c.def.tracking = BRIM_TRACKING_RESPONSIVE, c.def.sides[3] = BRIM_SIDE_OPEN;
        if (kind == 2) c.def.mpm_viscosity = 5;
        BrimSim *sim[4] = {NULL};
        BrimError error;
        const char *path = at("mpm.ckpt");
        CHECK_OK(case_create(&c, &sim[0], &error), error);
        c.def.threads = 3;
        CHECK_OK(case_create(&c, &sim[1], &error), error);
        c.def.isa = BRIM_ISA_BASE;
        CHECK_OK(case_create(&c, &sim[2], &error), error);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) CHECK_OK(brim_sim_advance_frame(sim[k], &error), error);
        CHECK_OK(brim_sim_save(sim[0], path, &error), error);
        CHECK_OK(brim_sim_load(&c.def, path, &sim[3], &error), error);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 4; k++) CHECK_OK(brim_sim_advance_frame(sim[k], &error), error);
        for (int k = 1; k < 4; k++) CHECK(particle_hash(sim[0]) == particle_hash(sim[k]));
        for (int k = 0; k < 4; k++) brim_sim_destroy(&sim[k]);
    }
}
