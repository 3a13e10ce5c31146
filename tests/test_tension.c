// Surface tension against exact answers.
#include "cases.h"
#include "liquid/tension.h"
#include "step/stages.h"
#include "test.h"
#include <stdlib.h>

#define PI 3.14159265358979

TEST(curvature_of_exact_distances) {
    // A ball of radius 6: 1 / 6 in 2D, 2 / 6 in 3D, at points near its surface.
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 12; k++) {
            double angle = 0.5 * k, at[3] = {6.3 * cos(angle), 6.3 * sin(angle), 0.2 * k};
            float phi[27];
            for (int i = 0; i < 27; i++) {
                double x = at[0] + i % 3 - 1, y = at[1] + i / 3 % 3 - 1, z = at[2] + i / 9 - 1;
                phi[i] = (float)(sqrt(x * x + y * y + (dim == 3 ? z * z : 0)) - 6);
            }
            double r = phi[13] + 6, exact = (dim - 1) / r;
            CHECK_NEAR(curvature_of(dim, &phi[13], 3, 9), exact, 0.03 * exact);
        }
}

/// A drop of so many cells a diameter in the middle of a box without gravity; radius 1 m, density
/// 1 kg/m^3, sigma 1 N/m times scale^3.
static Case case_drop(int dim, double cells, double scale) {
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

TEST(a_drop_stays_round) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_drop(dim, 12.8, 1);
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        double unit = sqrt(0.5), worst = 0, sum = 0; // sqrt(sigma / rho D)
        int count = 0;
        while (brim_sim_time(sim) < 10) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            worst = fmax(worst, brim_sim_stats(sim)->max_speed);
            if (brim_sim_time(sim) < 5) continue;
            BrimSim *s = sim;
            int64_t middle = grid_cell(&s->grid, s->grid.cells[0] / 2, s->grid.cells[1] / 2,
                                       s->grid.cells[2] / 2);
            sum += (double)s->pressure[middle] * s->dx / s->kick, count++;
        }
        printf("%dD: speed %.4f, end %.4f, pressure %.4f, steps %lld, dt %g\n", dim, worst / unit,
               brim_sim_stats(sim)->max_speed / unit, sum / count / (dim - 1), (long long)sim->step,
               sim->dt);
        brim_sim_destroy(&sim);
    }
}

TEST(a_drop_rings) {
    for (double cells = 12.8; cells < 30; cells *= 2) {
        Case c = case_drop(2, cells, 1);
        BrimError error;
        BrimSim *sim;
        Ring *ring = calloc(1, sizeof *ring);
        CHECK_OK(case_create(&c, &sim, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        double middle = 0.5 * (double)c.def.size.x, exact = sqrt(6);
        for (size_t i = 0; i < p.count; i++) { // mode 2: a strain of 5 % of the radius
            p.vx[i] = (float)(0.05 * exact * ((double)p.x[i] - middle));
            p.vy[i] = (float)(-0.05 * exact * ((double)p.y[i] - middle));
        }
        while (brim_sim_time(sim) < 8) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            p = brim_sim_particles(sim);
            double x2 = 0, y2 = 0, x1 = 0, y1 = 0, n = (double)p.count;
            for (size_t i = 0; i < p.count; i++) {
                double x = (double)p.x[i] - middle, y = (double)p.y[i] - middle;
                x1 += x, y1 += y, x2 += x * x, y2 += y * y;
            }
            ring_add(ring, brim_sim_time(sim), (x2 - x1 * x1 / n - y2 + y1 * y1 / n) / n);
        }
        ring_fit(ring, exact, 0);
        printf("%g cells: frequency %.4f of exact, decay %.4f, amplitude %g\n", cells,
               ring->frequency / exact, ring->decay, hypot(ring->a, ring->b));
        brim_sim_destroy(&sim);
        free(ring);
    }
}
