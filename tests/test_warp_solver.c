// The solver of the pressure on a warped grid: closed rooms, iterations.
#include "base/memory.h"
#include "cases.h"
#include "solve/solve.h"
#include "warp/nodal_kernels.h"
#include "warp/particles.h"
#include "warp_box.h"

TEST(warp_closed_rooms_are_found) {
    StillBox s;
    box_init(&s, 2, 32, 16, 1, 0, 0, NULL);
    float *open = memory_new(s.count * sizeof *open);
    EACH_CELL(&s) open[still_at(&s, x, y, z)] = x != 16;
    s.problem.solids = (NodalSolids){.open = open, .open_points = 1};
    CHECK(still_assemble(&s));
    s.u[1][still_at(&s, 5, 5, 0)] = 1;
    still_rhs(&s);
    CHECK(still_solve(&s, 1e-6));
    int singular = s.report.singular, iterations = s.report.iterations;
    double sum = 0, other = 0;
    for (int y = 0; y <= 16; y++)
        for (int x = 0; x <= 32; x++) {
            double q = s.q[still_at(&s, x, y, 0)];
            if (x <= 16)
                sum += q;
            else
                other = fmax(other, fabs(q));
        }
    free(open);
    still_free(&s);
    CHECK(singular == 2 && iterations < 30);
    CHECK_NEAR(sum, 0, 1e-5);
    CHECK_BELOW(other, 1e-6);
}

// -------------------------------------------------------------------------------------- iterations

static double drop_over_waves(const void *context, const double x[3]) {
    double n = *(const double *)context, k = 2 * acos(-1) / n;
    double drop = -0.13 * n, pool = x[1] - n * (0.4 + 0.05 * sin(k * x[0]) * cos(k * x[2]));
    double square = 0;
    const double at[3] = {0.5 * n, 0.72 * n, 0.5 * n};
    for (int a = 0; a < 3; a++) square += (x[a] - at[a]) * (x[a] - at[a]);
    drop += sqrt(square);
    return drop < pool ? drop : pool;
}

/// The 7-point cycle between two damped steps does for 27 points: section 8 of the method note.
TEST(warp_solver_iterations) {
    static const struct {
        double strength;
        int coarse, fine; ///< iterations to 1e-3 and 1e-6, at most
    } expect[3] = {{0, 6, 11}, {0.75, 8, 14}, {0.9, 11, 20}};
    for (int k = 0; k < 3; k++) {
        double n = 32;
        BrimError error;
        StillBox s;
        CHECK_OK(still_init(&s, 3, (int[3]){32, 32, 32}, expect[k].strength, 0, 1, &error), error);
        if (k > 0) CHECK_OK(still_bend(&s, drop_over_waves, &n, &error), error);
        still_level(&s, drop_over_waves, &n);
        CHECK(still_drop_slivers(&s) && still_assemble(&s));
        for (size_t i = 0; i < s.count; i++)
            for (int a = 0; a < 3; a++) s.u[a][i] = (float)unit(i / 64, (uint64_t)a) - 0.5f;
        still_rhs(&s);
        CHECK(still_solve(&s, 1e-3));
        CHECK(s.report.converged && s.report.iterations <= expect[k].coarse);
        CHECK(still_solve(&s, 1e-6));
        CHECK(s.report.converged && s.report.iterations <= expect[k].fine);
        still_free(&s);
    }
}

/// A pool with drops of several sizes in the air over it.
static double drops_over_pool(const void *context, const double x[3]) {
    double n = *(const double *)context, least = x[1] - n * (0.25 + 0.03 * sin(8.3 * x[0] / n));
    for (uint64_t i = 0; i < 9; i++) {
        double square = 0;
        for (uint64_t a = 0; a < 3; a++) {
            double at = a == 1 ? 0.35 + 0.5 * unit(i, a) : 0.15 + 0.7 * unit(i, a);
            square += (x[a] - n * at) * (x[a] - n * at);
        }
        least = fmin(least, sqrt(square) - n * (0.04 + 0.09 * unit(i, 3)));
    }
    return least;
}

/// Flows to project, m/s: noise by blocks of 8 x 8 x 1 and of 2 x 2 x 2 cells, and long waves.
enum { FLOWS = 3 };
static double flow_of(int kind, double n, const double x[3], int axis) {
    if (kind == 2)
        return sin(12.6 * x[0] / n + axis) * cos(18.8 * x[1] / n + 2 * axis) *
               sin(6.3 * x[2] / n + 3 * axis);
    const int wide = kind == 0 ? 8 : 2, deep = kind == 0 ? 1 : 2;
    return unit((uint64_t)(x[0] / wide) + ((uint64_t)(x[1] / wide) << 10) +
                    ((uint64_t)(x[2] / deep) << 20),
                (uint64_t)axis) -
           0.5;
}

/// The middle of a cell, in cells.
static void middle_of(const StillBox *s, size_t i, double out[3]) {
    const TileCoord t = s->grid.coord[i / 512];
    out[0] = t.x * TILE + (int)(i & 7) + 0.5;
    out[1] = t.y * TILE + (int)(i >> 3 & 7) + 0.5;
    out[2] = t.z * TILE + (int)(i >> 6 & 7) + 0.5;
}

/// The same liquid on a staggered grid, with the pressure at cell centres and the surface by ghost
/// fluid: what its solver takes to a part of the right-hand side, or as near as single precision
/// comes.
static bool solve_staggered(const StillBox *s, PointFunction *scene, int flow, double n,
                            double reduction, int *iterations) {
    const Grid *g = &s->grid;
    float *memory = calloc(6 * s->count, sizeof *memory), *a[3], *diag, *rhs, *x;
    double *phi = malloc(s->count * sizeof *phi);
    Poisson *solver = poisson_new(BRIM_ISA_AUTO, s->team, NULL);
    PoissonParams params = {.reduction = reduction,
                            .max_iterations = 200,
                            .preconditioner = BRIM_PRECONDITIONER_MULTIGRID};
    PoissonReport report = {0};
    if (!memory || !phi || !solver) return false;
    for (int k = 0; k < 3; k++) a[k] = memory + (size_t)k * s->count;
    diag = memory + 3 * s->count, rhs = memory + 4 * s->count, x = memory + 5 * s->count;
    for (size_t i = 0; i < s->count; i++) {
        double at[3];
        bool inside = true;
        middle_of(s, i, at);
        for (int k = 0; k < 3; k++) inside = inside && at[k] < n;
        phi[i] = inside ? scene(&n, at) : INFINITY; // beyond walls
    }
    for (size_t i = 0; i < s->count; i++)
        for (int k = 0; k < 3; k++) {
            const int64_t low = grid_step(g, (int)(i / 512), (int)(i % 512), k, -1);
            if (low < 0 || isinf(phi[i]) || isinf(phi[low])) continue;
            const bool wet = phi[i] < 0, below = phi[low] < 0;
            double at[3];
            middle_of(s, i, at);
            at[k] -= 0.5;
            const float u = (float)flow_of(flow, n, at, k);
            if (wet && below) a[k][i] = 1;
            if (wet) diag[i] += below ? 1 : (float)fmin(100, (phi[low] - phi[i]) / -phi[i]);
            if (below) diag[low] += wet ? 1 : (float)fmin(100, (phi[i] - phi[low]) / -phi[low]);
            if (wet) rhs[i] += u;
            if (below) rhs[low] -= u;
        }
    bool sound = poisson_prepare(solver, g, NULL, a[0], a[1], a[2], diag) &&
                 poisson_solve(solver, rhs, x, &params, &report) &&
                 (report.converged || report.limited);
    *iterations = report.iterations;
    poisson_free(&solver);
    free(memory), free(phi);
    return sound;
}

/// To 1e-6, no more than 1.3 times the iterations of the staggered system, mean of several flows.
TEST(warp_solver_iterations_as_staggered) {
    static PointFunction *const scenes[2] = {drop_over_waves, drops_over_pool};
    for (int n = 64; n <= (quick() ? 64 : 128); n *= 2)
        for (int k = n > 64; k < 3; k++) {
            PointFunction *scene = scenes[k == 2];
            const bool warped = k > 0;
            double size = n, sum = 0, staggered = 0;
            BrimError error;
            StillBox s;
            CHECK_OK(still_init(&s, 3, (int[3]){n, n, n}, warped ? 0.75 : 0, 32, 2, &error), error);
            s.problem.kernels = nodal_kernels_for(isa_choose(BRIM_ISA_AUTO));
            s.problem.map_kernels = warp_kernels_for(isa_choose(BRIM_ISA_AUTO));
            if (warped) CHECK_OK(still_bend(&s, scene, &size, &error), error);
            still_level(&s, scene, &size);
            CHECK(still_drop_slivers(&s) && still_assemble(&s));
            for (int flow = 0; flow < FLOWS; flow++) {
                int iterations;
                for (size_t i = 0; i < s.count; i++) {
                    double xi[3], x[3];
                    middle_of(&s, i, xi);
                    map_to_space(&s.warp.map, xi, x);
                    for (int a = 0; a < 3; a++) s.u[a][i] = (float)flow_of(flow, size, x, a);
                }
                still_rhs(&s);
                CHECK(still_solve(&s, 1e-6) && s.report.converged);
                CHECK(solve_staggered(&s, scene, flow, size, 1e-6, &iterations));
                sum += s.report.iterations, staggered += iterations;
            }
            // regular nodes 25 to 31 at 64^3; bent ones 34 to 31 and 38 to 36 there, 36 to 36 and
            // 43 to 40 at 128^3
            CHECK(sum <= (warped ? 1.2 : 1) * staggered);
            still_free(&s);
        }
}
