// Drops, ripples and menisci with known answers, for the tests and for `make validate`.
#pragma once
#include "cases_waves.h"

#include <complex.h>
#include <stdlib.h>

#define PI 3.14159265358979

/// A drop of so many cells a diameter in the middle of a box without gravity; radius 1 m, density
/// 1 kg/m^3, sigma 1 N/m times scale^3.
static inline Case case_drop(int dim, double cells, double scale) {
    int n = (int)ceil(1.7 * cells / 8) * 8;
    double dx = 2 * scale / cells;
    Case c = case_box(dim, n * dx, n, n, n);
    float middle = (float)(0.5 * n * dx);
    case_liquid(&c, ball((BrimVec3){middle, middle, dim == 3 ? middle : 0}, (float)scale));
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.density = 1;
    c.def.surface_tension = pow(scale, 3);
    c.def.transfer = BRIM_TRANSFER_APIC;
    c.def.frame_rate = 4;
    c.def.threads = 2;
    return c;
}

/// Nothing of a drop is fast: all of its past counts.
static inline void track_drop(Case *c, double scale) {
    c->def.tracking = BRIM_TRACKING_RESPONSIVE;
    c->def.tracking_speed[0] = 3 * (float)scale, c->def.tracking_speed[1] = 6 * (float)scale;
}

/// Largest speed of a particle within some units of time over sqrt(sigma / rho D).
static inline BrimResult drop_rests(Case *c, double units, double *speed, BrimError *error) {
    BrimSim *sim;
    BrimResult r = case_create(c, &sim, error);
    *speed = 0;
    while (r == BRIM_OK && brim_sim_time(sim) < units) {
        r = brim_sim_step(sim, error);
        *speed = fmax(*speed, brim_sim_stats(sim)->max_speed / sqrt(0.5));
    }
    brim_sim_destroy(&sim);
    return r;
}

/// Mode 2 of a drop in 2D, a strain of 5 % of the radius; exact: sqrt(6) rad/s, no decay.
static inline BrimResult drop_rings(double cells, BrimTracking tracking, Wave *wave,
                                    BrimError *error) {
    Case c = case_drop(2, cells, 1);
    BrimSim *sim;
    Ring *ring = calloc(1, sizeof *ring);
    if (tracking) track_drop(&c, 1);
    BrimResult r = case_create(&c, &sim, error);
    BrimParticles p = brim_sim_particles(sim);
    double middle = 0.5 * (double)c.def.size.x, exact = sqrt(6);
    for (size_t i = 0; i < p.count; i++) {
        p.vx[i] = (float)(0.05 * exact * ((double)p.x[i] - middle));
        p.vy[i] = (float)(-0.05 * exact * ((double)p.y[i] - middle));
    }
    while (r == BRIM_OK && brim_sim_time(sim) < 8) {
        r = brim_sim_step(sim, error);
        p = brim_sim_particles(sim);
        double x2 = 0, y2 = 0, x1 = 0, y1 = 0, n = (double)p.count;
        for (size_t i = 0; i < p.count; i++) {
            double x = (double)p.x[i] - middle, y = (double)p.y[i] - middle;
            x1 += x, y1 += y, x2 += x * x, y2 += y * y;
        }
        ring_add(ring, brim_sim_time(sim), (x2 - x1 * x1 / n - y2 + y1 * y1 / n) / n);
    }
    ring_fit(ring, exact, 0);
    *wave = (Wave){ring->frequency, ring->decay};
    brim_sim_destroy(&sim);
    free(ring);
    return r;
}

/// Rate of a capillary wave of wave number k on a viscous liquid: -decay + i frequency, from
/// (n + 2 nu k^2)^2 + w0^2 = 4 nu^2 k^4 sqrt(1 + n / (nu k^2)).
static inline double complex wave_rate(double w0, double nuk2) {
    double complex n = -2 * nuk2 + I * w0;
    for (int i = 0; i < 50; i++) {
        double complex root = csqrt(1 + n / nuk2), shifted = n + 2 * nuk2;
        double complex f = shifted * shifted + w0 * w0 - 4 * nuk2 * nuk2 * root;
        n -= f / (2 * shifted - 2 * nuk2 / root);
    }
    return n;
}

/// Half a wave along a basin of 1 x 1 m without gravity, viscosity 0.01 m^2/s.
static inline BrimResult capillary_wave(int cells, BrimTracking tracking, Wave *wave, Wave *exact,
                                        BrimError *error) {
    SloshHeights heights;
    Case c = case_slosh(cells, 1, 0.03, &heights);
    BrimSim *sim;
    Ring *ring = calloc(1, sizeof *ring);
    double nu = 0.01, k = PI;
    double complex rate = wave_rate(sqrt(k * k * k * tanh(k)), nu * k * k);
    *exact = (Wave){cimag(rate), -creal(rate)};
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.density = 1;
    c.def.surface_tension = 1;
    c.def.viscosity = nu;
    c.def.slip = BRIM_SLIP_FREE;
    c.def.transfer = BRIM_TRANSFER_APIC;
    if (tracking) track_drop(&c, 1);
    BrimResult r = case_create(&c, &sim, error);
    while (r == BRIM_OK && brim_sim_time(sim) < 2.5) {
        double centre[3];
        centre_of_mass(sim, centre);
        ring_add(ring, brim_sim_time(sim), centre[0] - 0.5);
        r = brim_sim_step(sim, error);
    }
    ring_fit(ring, exact->frequency, exact->decay);
    *wave = (Wave){ring->frequency, ring->decay};
    brim_sim_destroy(&sim);
    free(ring);
    return r;
}

/// Height of the particles at the walls less that in the middle, m, of water of 0.5 m in a narrow
/// tank whose capillary length is 0.32 m, with a contact angle in degrees.
static inline BrimResult wall_draws(double angle, double *height, BrimError *error) {
    Case c = case_tank(2, 24, 0.5f);
    BrimSim *sim;
    double high[2] = {0}, count[2] = {0};
    c.def.density = 1, c.def.gravity = (BrimVec3){0, -1, 0};
    c.def.surface_tension = 0.1;
    c.def.contact_angle = angle;
    c.def.viscosity = 0.01;
    c.def.slip = BRIM_SLIP_FREE;
    c.def.transfer = BRIM_TRANSFER_APIC;
    BrimResult r = case_create(&c, &sim, error);
    if (r == BRIM_OK) r = run_until(sim, 6, error);
    if (r != BRIM_OK) return r;
    BrimParticles p = brim_sim_particles(sim);
    for (int column = 0; column < 24; column++) {
        double top = 0;
        for (size_t i = 0; i < p.count; i++)
            if ((int)(p.x[i] * 24) == column) top = fmax(top, (double)p.y[i]);
        int part = column == 0 || column == 23 ? 1 : column >= 8 && column < 16 ? 0 : -1;
        if (part >= 0) high[part] += top, count[part]++;
    }
    brim_sim_destroy(&sim);
    *height = high[1] / count[1] - high[0] / count[0];
    return BRIM_OK;
}
