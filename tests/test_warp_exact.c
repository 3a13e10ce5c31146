// Pressure on a warped grid against exact answers: Poisson's equation, Taylor-Green, still water,
// pistons, waves.
#include "base/memory.h"
#include "cases.h"
#include "warp/nodal_kernels.h"
#include "warp_box.h"

// --------------------------------------------------------------------------------- exact solutions

/// Figure 7: errors no larger than the paper's, order 2.
TEST(warp_disk_is_second_order) {
    static const double paper[2][3] = {{2.3e-4, 5.2e-5, 1.3e-5}, {1.3e-4, 2.8e-5, 5.6e-6}};
    static const double first[2][3] = {{4.95e-3, 3.05e-3, 1.55e-3}, {4.4e-3, 1.5e-3, 4.5e-4}};
    for (int warped = 0; warped < 2; warped++) {
        double error[3];
        for (int k = 0; k < 3; k++) {
            BrimWarpTestDef def = brim_default_warp_test_def();
            def.cells = 32 << k;
            def.strength = warped ? 0.75 : 0;
            BrimWarpTest t = case_of(def);
            error[k] = t.error;
            CHECK_BELOW(error[k], paper[warped][k]);
            def.order = 1;
            t = case_of(def);
            CHECK_BELOW(t.error, first[warped][k]);
            CHECK(t.error > 20 * error[k]);
        }
        CHECK(log2(error[0] / error[2]) / 2 > 1.9);
    }
}

/// Figure 11.
TEST(warp_taylor_green_is_second_order) {
    for (int warped = 0; warped < 2; warped++) {
        double error[3], speed[3];
        for (int k = 0; k < 3; k++) {
            BrimWarpTestDef def = brim_default_warp_test_def();
            def.kind = BRIM_WARP_VORTEX;
            def.cells = 32 << k;
            def.strength = warped ? 0.75 : 0;
            BrimWarpTest t = case_of(def);
            error[k] = t.error, speed[k] = t.speed;
        }
        CHECK(log2(error[0] / error[1]) > 1.95 && log2(error[1] / error[2]) > 1.95);
        if (warped)
            CHECK(log2(speed[0] / speed[2]) / 2 > 1.95);
        else
            for (int k = 0; k < 3; k++) {
                CHECK_NEAR(error[k], 3.254e-4 / (1 << 2 * k), 0.01e-4);
                CHECK_BELOW(speed[k], 1e-6);
            }
    }
}

/// - Lap p of p = cos(pi r / 2R) as a source in a ball. => mean error
static double ball_error(int n, double strength) {
    double R = 0.37 * n, k = acos(-1) / (2 * R), sum = 0, count = 0;
    Body ball = {{n / 2.0, n / 2.0, n / 2.0}, {0}, R};
    StillBox s;
    box_init(&s, 3, n, n, n, strength, 0, &ball);
    still_level(&s, distance, &ball);
    still_assemble(&s);
    EACH_CELL(&s) {
        double d[8][3], N[8], at[3];
        Element e;
        map_corners(&s.warp.map, x, y, z, d);
        element_shape(&e, 3, WARP_RULE_GAUSS, d);
        for (int g = 0; g < 8; g++) {
            const int corner[3] = {x, y, z};
            element_values(3, WARP_RULE_GAUSS, g, N);
            for (int a = 0; a < 3; a++) {
                at[a] = corner[a];
                for (int c = 0; c < 8; c++) at[a] += N[c] * ((c >> a & 1) + d[c][a]);
            }
            double r = fmax(1e-9, distance(&ball, at) + R);
            double source = k * k * cos(k * r) + 2 * k * sin(k * r) / r;
            for (int c = 0; c < 8; c++) {
                int64_t i = still_at(&s, x + (c & 1), y + (c >> 1 & 1), z + (c >> 2));
                if (s.op.smooth[i] > 0) s.b[i] += (float)(e.weight[g] * N[c] * source);
            }
        }
    }
    still_solve(&s, 1e-8);
    for (int z = 0; z <= n; z++)
        for (int y = 0; y <= n; y++)
            for (int x = 0; x <= n; x++) {
                int64_t i = still_at(&s, x, y, z);
                double at[3];
                still_place(&s, x, y, z, 0, at);
                if (s.phi[i] >= 0) continue;
                sum += fabs(s.q[i] - cos(k * (distance(&ball, at) + R))), count++;
            }
    still_free(&s);
    return sum / count;
}

TEST(warp_ball_is_second_order) {
    for (int warped = 0; warped < 2; warped++) {
        double strength = warped ? 0.75 : 0, e[3];
        for (int k = 0; k < 3; k++) e[k] = ball_error(8 << k, strength);
        CHECK_BELOW(e[2], warped ? 4.7e-4 : 3.8e-4);
        CHECK(log2(e[0] / e[2]) / 2 > 1.95);
    }
}

// ------------------------------------------------------------------------------------ still water

/// Hydrostatic pressure is a multiple of the distance, and M makes that exact.
TEST(warp_still_water_rests) {
    static const double tilt[4] = {0, 7, 23, 41};
    for (int dim = 2; dim <= 3; dim++)
        for (int warped = 0; warped < 2; warped++)
            for (int k = 0; k < 4; k++) {
                BrimWarpTestDef def = {.kind = BRIM_WARP_POOL,
                                       .dim = dim,
                                       .cells = dim == 3 ? 16 : 32,
                                       .strength = warped ? 0.75 : 0,
                                       .order = 2,
                                       .tilt = tilt[k]};
                BrimWarpTest t = case_of(def);
                CHECK_BELOW(t.speed, 2e-5); // single precision
                def.drop_slivers = true;
                t = case_of(def);
                CHECK_BELOW(t.speed, 0.01);
                def.order = 1;
                t = case_of(def);
                CHECK(k == 0 || t.speed > 0.03); // level water needs no second order
            }
}

/// A pressure on the surface that is linear in space, 0.7 + slope x, goes on through all of the
/// liquid and pushes it evenly, whatever the shape and the mesh; an even one moves nothing.
TEST(warp_pressure_on_the_surface_balances) {
    for (int dim = 2; dim <= 3; dim++)
        for (int warped = 0; warped < 2; warped++)
            for (int even = 0; even < 2; even++) {
                const int n = dim == 3 ? 16 : 32;
                const double slope = even ? 0 : 0.1;
                Body drop = {{0.47 * n, 0.52 * n, dim == 3 ? 0.5 * n : 0}, {0}, 0.31 * n};
                StillBox s;
                box_init(&s, dim, n, n, dim == 3 ? n : 1, warped ? 0.75 : 0, 8, &drop);
                float *jump = memory_zero(s.count * sizeof *jump);
                still_level(&s, distance, &drop);
                for (int z = 0; z <= (dim == 3 ? n : 0); z++)
                    for (int y = 0; y <= n; y++)
                        for (int x = 0; x <= n; x++) {
                            double at[3];
                            still_place(&s, x, y, z, 0, at);
                            jump[still_at(&s, x, y, z)] = (float)(0.35 + 0.5 * slope * at[0]);
                        }
                s.problem.jump = jump, s.problem.jump_scale = 2;
                CHECK(still_drop_slivers(&s) && still_assemble(&s));
                still_rhs(&s);
                CHECK(still_solve(&s, 1e-7));
                still_update(&s);
                double worst = 0;
                int cells = 0;
                EACH_CELL(&s) {
                    int64_t i = still_at(&s, x, y, z);
                    if (!was_updated(&s, i)) continue;
                    cells++;
                    for (int a = 0; a < dim; a++)
                        worst = fmax(worst, fabs((double)s.u[a][i] + (a == 0 ? slope : 0)));
                }
                still_free(&s);
                free(jump);
                CHECK(cells > 100);
                CHECK_BELOW(worst, 1e-4); // single precision
            }
}

/// A piston of any thickness at a wall drives the channel before it at its own speed.
TEST(warp_piston_thinner_than_a_cell) {
    static const double thick[3] = {0.4, 0.9, 2.3};
    for (int dim = 2; dim <= 3; dim++)
        for (int far = 0; far < 2; far++)
            for (int warped = 0; warped < 2; warped++)
                for (int k = 0; k < 3; k++) {
                    const int n = 16;
                    double surface = far ? n - 11.3 : 11.3;
                    Body level = {{surface, 0, 0}, {far ? -1 : 1, 0, 0}, 0};
                    StillBox s;
                    box_init(&s, dim, n, 8, dim == 3 ? 8 : 1, warped ? 0.6 : 0, 8, &level);
                    float *open = memory_new(s.count * sizeof *open);
                    float *speed = memory_zero(s.count * sizeof *speed);
                    float *cover = memory_zero(s.count * sizeof *cover);
                    EACH_CELL(&s) {
                        double low[3], high[3];
                        int64_t i = still_at(&s, x, y, z);
                        still_place(&s, x, y, z, 0, low);
                        still_place(&s, x + 1, y, z, 0, high);
                        double inside = far ? (high[0] - (n - thick[k])) / (high[0] - low[0])
                                            : (thick[k] - low[0]) / (high[0] - low[0]);
                        open[i] = (float)(1 - fmin(1, fmax(0, inside)));
                        speed[i] = far ? -1 : 1;
                        cover[i] = x == (far ? n - 1 : 0);
                    }
                    s.problem.solids = (NodalSolids){
                        .open = open, .open_points = 1, .velocity = {speed}, .covered = {cover}};
                    still_level(&s, distance, &level);
                    bool sound = still_assemble(&s);
                    still_rhs(&s);
                    sound = sound && still_solve(&s, 1e-9);
                    still_update(&s);
                    double off = 0;
                    int count = 0;
                    EACH_CELL(&s) {
                        int64_t i = still_at(&s, x, y, z);
                        if (!was_updated(&s, i)) continue;
                        off = fmax(off, fabs((double)s.u[0][i] - (far ? -1 : 1)));
                        off = fmax(off, fabs((double)s.u[1][i])), count++;
                    }
                    free(open), free(speed), free(cover);
                    still_free(&s);
                    CHECK(sound && count > 50);
                    CHECK_BELOW(off, 1e-5);
                }
}

/// Two closed rooms: the constant of each is fixed, and what pours into one has nowhere to go.

// ---------------------------------------------------------------------------------------- sloshing

/// Small waves in a box of 1 m: elevation carried by the velocity at the surface, the mesh still.
/// => period, s; *left: amplitude of the last crest over the first
static double slosh(double strength, double *left) {
    enum { N = 32 };
    const double h = 1.0 / N, depth = 0.513, dt = 0.01, g = 9.81, end = 3.6;
    Body level = {{0, depth * N, 0}, {0, 1, 0}, 0};
    StillBox s;
    box_init(&s, 2, N, N, 1, strength, 0, &level);
    double eta[N + 1], column[N + 1], last = 0, crossing[8], crest = 0, time = 0;
    int crossings = 0;
    for (int x = 0; x <= N; x++) {
        double at[3];
        still_place(&s, x, 0, 0, 0, at);
        column[x] = at[0];
        eta[x] = 0.01 * cos(acos(-1) * at[0] * h); // cells
    }
    last = eta[0];
    for (; time < end; time += dt) {
        for (int y = 0; y <= N; y++)
            for (int x = 0; x <= N; x++) {
                double at[3];
                still_place(&s, x, y, 0, 0, at);
                s.phi[still_at(&s, x, y, 0)] = (float)(at[1] - depth * N - eta[x]);
            }
        for (size_t i = 0; i < s.count; i++) s.u[1][i] -= (float)(g * dt);
        still_assemble(&s);
        still_rhs(&s);
        still_solve(&s, 1e-7);
        still_update(&s);
        // velocities above the surface repeat the last ones; then upwards at the surface
        for (int x = 0; x < N; x++)
            for (int y = 1; y < N; y++) {
                int64_t i = still_at(&s, x, y, 0), below = still_at(&s, x, y - 1, 0);
                if (!was_updated(&s, i))
                    for (int a = 0; a < 2; a++) s.u[a][i] = s.u[a][below];
            }
        double up[N];
        for (int x = 0; x < N; x++)
            for (int y = 0; y < N - 1; y++) {
                double low[3], high[3];
                still_place(&s, x, y, 0, 0.5, low);
                still_place(&s, x, y + 1, 0, 0.5, high);
                double part = (depth * N - low[1]) / (high[1] - low[1]);
                if (part < 0 || part >= 1) continue;
                double a = (double)s.u[1][still_at(&s, x, y, 0)];
                double b = (double)s.u[1][still_at(&s, x, y + 1, 0)];
                up[x] = a + part * (b - a);
            }
        for (int x = 0; x <= N; x++) {
            double v = x == 0 ? up[0] : x == N ? up[N - 1] : (up[x - 1] + up[x]) / 2;
            eta[x] += dt / h * v;
        }
        // the amount of water does not change
        double mean = 0;
        for (int x = 0; x < N; x++) mean += (eta[x] + eta[x + 1]) / 2 * (column[x + 1] - column[x]);
        for (int x = 0; x <= N; x++) eta[x] -= mean / N;
        if (last * eta[0] < 0 && crossings < 8)
            crossing[crossings++] = time + dt * last / (last - eta[0]);
        if (time > 2) crest = fmax(crest, eta[0]);
        last = eta[0];
    }
    still_free(&s);
    *left = crest / 0.01;
    return 2 * (crossing[crossings - 1] - crossing[0]) / (crossings - 1);
}

TEST(warp_sloshing_period) {
    const double exact = 1.1778;
    for (int warped = 0; warped < 2; warped++) {
        double left, period = slosh(warped ? 0.75 : 0, &left);
        CHECK_NEAR(period, exact, 0.002 * exact);
        CHECK_NEAR(left, 1, 0.01);
    }
}
