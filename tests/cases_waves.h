// Waves with a known frequency and decay, for the tests and for `make validate`.
#pragma once
#include "cases.h"

/// A damped cosine fitted to a wave: rad/s, 1/s.
typedef struct Wave {
    double frequency, decay;
} Wave;

/// Re = 1 / viscosity and the wave that fits 0.3 to 8 s of its exact elevation, by the linear
/// solution that Wu, Eatock Taylor and Greaves (2001) give for a basin of 2 x 1 that slips, g = 1,
/// and a wave as long as it. In Laplace's space, with n = nu k^2 and w^2 = g k tanh k:
///   (1 - w^2 / (s^2 + 4 n s + 4 n^2 (1 - sqrt(1 + s / n)) + w^2)) / s
static const struct {
    double re;
    Wave wave;
} wu_2001[3] = {{20, {1.4444, 0.5418}}, {200, {1.7571, 0.08673}}, {2000, {1.7688, 0.00950}}};

/// The same of half of that basin with so many cells along it, of one seed. step: s
static inline BrimResult viscous_wave_of(int cells, double re, double step, BrimTracking tracking,
                                         uint32_t seed, Wave *wave, BrimError *error) {
    SloshHeights heights;
    Case c = case_slosh(cells, 1, 0.02, &heights);
    BrimSim *sim;
    Ring *ring = calloc(1, sizeof *ring);
    c.def.gravity = (BrimVec3){0, -1, 0};
    c.def.viscosity = 1000 / re;
    c.def.slip = BRIM_SLIP_FREE;
    c.def.transfer = BRIM_TRANSFER_APIC;
    c.def.step = step;
    c.def.tracking = tracking;
    c.def.seed = seed;
    BrimResult r = case_create(&c, &sim, error);
    while (r == BRIM_OK && brim_sim_time(sim) < 8) {
        double centre[3];
        centre_of_mass(sim, centre);
        if (brim_sim_time(sim) > 0.3) ring_add(ring, brim_sim_time(sim), centre[0] - 0.5);
        r = brim_sim_step(sim, error);
    }
    ring_fit(ring, 1.7, 2 * 9.87 / re);
    *wave = (Wave){ring->frequency, ring->decay};
    brim_sim_destroy(&sim);
    free(ring);
    return r;
}

/// The mean over seeds 1 to `seeds`. Viscosity takes 7 % in 8 s of a wave of two cells (Re 2000), 5
/// % of which are 0.007 cells: the level set of a few particles a cell is uneven by more.
static inline BrimResult viscous_wave(int cells, double re, double step, BrimTracking tracking,
                                      int seeds, Wave *wave, BrimError *error) {
    Wave sum = {0};
    for (int seed = 1; seed <= seeds; seed++) {
        Wave one;
        BrimResult r = viscous_wave_of(cells, re, step, tracking, (uint32_t)seed, &one, error);
        if (r != BRIM_OK) return r;
        sum.frequency += one.frequency / seeds, sum.decay += one.decay / seeds;
    }
    *wave = sum;
    return BRIM_OK;
}
