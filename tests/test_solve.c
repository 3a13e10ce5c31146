// The Poisson solver against its plain twin, exact solutions and its promises on iterations.
#include "base/hash.h"
#include "base/memory.h"
#include "base/simd.h"
#include "solve/level.h"
#include "solve/solve.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

typedef struct System {
    Grid grid;
    size_t cells; ///< of all tiles
    float *a[3], *diag, *rhs, *x;
} System;

static void system_free(System *s) {
    grid_free(&s->grid);
    for (int k = 0; k < 3; k++) free(s->a[k]);
    free(s->diag), free(s->rhs), free(s->x);
}

/// A system without faces on the tiles that `want` names (all when NULL).
static System system_new(int dim, int nx, int ny, int nz, const uint8_t *want) {
    System s = {0};
    grid_init(&s.grid, dim, (int[3]){nx, ny, nz}, NULL);
    size_t box = grid_box(&s.grid);
    uint8_t *all = malloc(box);
    int32_t *from = malloc(box * sizeof *from);
    memset(all, 1, box);
    grid_rebuild(&s.grid, want ? want : all, from, NULL);
    free(all), free(from);
    s.cells = (size_t)s.grid.tile_count * (size_t)s.grid.tile_cells;
    for (int k = 0; k < 3; k++) s.a[k] = memory_zero(s.cells * sizeof(float));
    s.diag = memory_zero(s.cells * sizeof(float));
    s.rhs = memory_zero(s.cells * sizeof(float));
    s.x = memory_zero(s.cells * sizeof(float));
    return s;
}

#define EACH_CELL(s)                                 \
    for (int z = 0; z < (s)->grid.cells[2]; z++)     \
        for (int y = 0; y < (s)->grid.cells[1]; y++) \
            for (int x = 0; x < (s)->grid.cells[0]; x++)

/// Opens the face between a cell and its lower neighbour along an axis.
static void open_face(System *s, int axis, int x, int y, int z, float coefficient) {
    int64_t here = grid_cell(&s->grid, x, y, z);
    int64_t there = grid_cell(&s->grid, x - (axis == 0), y - (axis == 1), z - (axis == 2));
    s->a[axis][here] = coefficient;
    s->diag[here] += coefficient;
    s->diag[there] += coefficient;
}

static double unit(uint64_t seed, uint64_t id, uint64_t step) {
    return (double)hash_unit(hash_3(seed, id, step), 0);
}

/// (rhs - A x) of one cell, straight from the definition.
static double residual_at(const System *s, const float *rhs, int x, int y, int z) {
    int64_t c = grid_cell(&s->grid, x, y, z);
    double r = (double)rhs[c] - (double)s->diag[c] * (double)s->x[c];
    for (int axis = 0; axis < s->grid.dim; axis++)
        for (int side = 0; side < 2; side++) {
            int d = side ? 1 : -1;
            int64_t n =
                grid_cell(&s->grid, x + d * (axis == 0), y + d * (axis == 1), z + d * (axis == 2));
            if (n >= 0) r += (double)s->a[axis][side ? n : c] * (double)s->x[n];
        }
    return r;
}

static double largest_residual(const System *s, const float *rhs) {
    double most = 0;
    EACH_CELL(s) {
        if (grid_cell(&s->grid, x, y, z) >= 0)
            most = fmax(most, fabs(residual_at(s, rhs, x, y, z)));
    }
    return most;
}

static bool solve_with(System *s, BrimIsa isa, int threads, const PoissonParams *params,
                       PoissonReport *report) {
    Team *team = team_new(threads);
    Poisson *p = poisson_new(isa, team, NULL);
    bool sound = p && poisson_prepare(p, &s->grid, NULL, s->a[0], s->a[1], s->a[2], s->diag) &&
                 poisson_solve(p, s->rhs, s->x, params, report);
    poisson_free(&p);
    team_free(&team);
    return sound;
}

static void random_rhs(System *s, uint64_t seed) {
    for (size_t c = 0; c < s->cells; c++)
        s->rhs[c] = s->diag[c] > 0 ? (float)(unit(seed, c, 1) - 0.5) : 0;
}

/// Random tiles, unknowns, cut faces, and ghost-fluid terms with theta down to 0.01.
static System random_system(int dim, int nx, int ny, int nz, uint64_t seed) {
    uint8_t want[512];
    for (size_t i = 0; i < sizeof want; i++) want[i] = unit(seed, i, 2) < 0.8;
    System s = system_new(dim, nx, ny, nz, want);
    uint8_t *unknown = calloc(s.cells + 1, 1);
    for (size_t c = 0; c < s.cells; c++) unknown[c] = unit(seed, c, 3) < 0.95;
    EACH_CELL(&s) {
        int64_t c = grid_cell(&s.grid, x, y, z);
        if (c < 0 || !unknown[c]) continue;
        for (int axis = 0; axis < dim; axis++) {
            int64_t n = grid_cell(&s.grid, x - (axis == 0), y - (axis == 1), z - (axis == 2));
            double cut = unit(seed, (uint64_t)c, 4 + (uint64_t)axis);
            if (n < 0 || !unknown[n] || cut < 0.1) continue;
            open_face(&s, axis, x, y, z, (float)(cut < 0.15 ? 0.002 : cut));
        }
        double theta = unit(seed, (uint64_t)c, 7);
        if (unit(seed, (uint64_t)c, 8) < 0.1) s.diag[c] += (float)(1 / fmax(0.01, theta));
    }
    free(unknown);
    random_rhs(&s, seed);
    return s;
}

// --------------------------------------------------------------------- kernels, bit for bit

/// Arrays of a one-level hierarchy filled with noise where there are unknowns.
typedef struct Fixture {
    System s;
    Level level;
    float zeros[512];
    float *field[8];
} Fixture;

/// Gives all faces between unknowns of the tile at (x0, 8, 8), and those around it, the same
/// coefficient. `whole`: all of its cells and those beside them are unknowns with the same diag;
/// else some are none, and diag is anything.
static void make_uniform(System *s, int x0, bool whole) {
    for (int z = 7; z <= 16; z++)
        for (int y = 7; y <= 16; y++)
            for (int x = x0 - 1; x <= x0 + 8; x++) {
                int64_t c = grid_cell(&s->grid, x, y, z);
                double u = unit(77, (uint64_t)c, 1);
                if (c >= 0) s->diag[c] = whole ? 4.3f : u < 0.7 ? (float)(4.3 + u) : 0;
            }
    for (int z = 7; z <= 17; z++)
        for (int y = 7; y <= 17; y++)
            for (int x = x0 - 1; x <= x0 + 9; x++)
                for (int axis = 0; axis < 3; axis++) {
                    int64_t c = grid_cell(&s->grid, x, y, z);
                    int64_t n =
                        grid_cell(&s->grid, x - (axis == 0), y - (axis == 1), z - (axis == 2));
                    if (c >= 0)
                        s->a[axis][c] = n >= 0 && s->diag[c] > 0 && s->diag[n] > 0 ? 0.7f : 0;
                }
}

static void fixture_init(Fixture *f, int dim, uint64_t seed) {
    f->s = dim == 3 ? random_system(3, 37, 27, 19, seed) : random_system(2, 60, 43, 1, seed);
    memset(f->zeros, 0, sizeof f->zeros);
    if (dim == 3) make_uniform(&f->s, 8, true), make_uniform(&f->s, 24, false);
    for (int k = 0; k < 8; k++) {
        f->field[k] = memory_zero(f->s.cells * sizeof(float));
        for (size_t c = 0; c < f->s.cells; c++)
            f->field[k][c] = f->s.diag[c] > 0 ? (float)unit(seed, c, 20 + (uint64_t)k) - 0.5f : 0;
    }
    f->level = (Level){.grid = &f->s.grid,
                       .ax = f->s.a[0],
                       .ay = f->s.a[1],
                       .az = f->s.a[2],
                       .diag = f->s.diag,
                       .inverse = f->field[0],
                       .zeros = f->zeros,
                       .rows = memory_zero((size_t)f->s.grid.tile_count * sizeof(uint64_t)),
                       .uniform = memory_zero((size_t)f->s.grid.tile_count * sizeof(Uniform))};
    // Another tile full of unknowns, for the kernels' loops over full tiles.
    for (int c = 0; c < f->s.grid.tile_cells; c++) f->s.diag[c] += 1;
    for (int slot = 0; slot < f->s.grid.tile_count; slot++)
        f->level.rows[slot] = poisson_kernels_ref.invert(&f->level, slot);
}

static void fixture_free(Fixture *f) {
    system_free(&f->s);
    for (int k = 0; k < 8; k++) free(f->field[k]);
    free(f->level.rows), free(f->level.uniform);
}

/// Runs every kernel on every tile; all that they write ends up in the fields or in `other`.
static void run_kernels(Fixture *f, const PoissonKernels *k, uint64_t *other) {
    const Level *l = &f->level;
    float **v = f->field;
    float block[5][512] = {0};
    for (int slot = 0; slot < f->s.grid.tile_count; slot++) {
        size_t at = (size_t)slot * (size_t)f->s.grid.tile_cells;
        TileLinks links;
        TileDots dots;
        *other = hash_3(*other, k->invert(l, slot), 1);
        l->uniform[slot] = k->uniform(l, slot);
        *other = hash_bytes(*other, &l->uniform[slot], sizeof(Uniform));
        k->links(l, slot, &links);
        k->coarsen(l, slot, &(CoarseBlock){block[0], block[1], block[2], block[3]});
        k->smooth(l, slot, v[1], v[2]);
        k->restrict_residual(l, slot, v[1], v[3], block[4]);
        k->prolong(l, slot, block[4], v[3]);
        k->correct(l, slot, v[1], v[3], v[4]);
        k->apply(l, slot, v[3], v[5], v[1], v[4], &dots);
        float most = k->update(l->rows[slot], 0.3f, 0.7f, v[1] + at, v[2] + at, v[5] + at,
                               v[6] + at, v[7] + at, v[3] + at);
        TileMost rest = k->residual(l, slot, v[1], v[7], v[6]);
        *other = hash_bytes(*other, &links, sizeof links);
        *other = hash_bytes(*other, block, sizeof block);
        *other = hash_bytes(*other, &dots, sizeof dots);
        *other = hash_bytes(*other, &most, sizeof most);
        *other = hash_bytes(*other, &rest, sizeof rest);
    }
}

TEST(solve_kernels_match_reference) {
    for (int round = 0; round < 4; round++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const int dim = 2 + (round & 1);
            Fixture plain, fast;
            uint64_t plain_hash = 0, fast_hash = 0;
            bool same = true;
            int uniform = 0, regular = 0;
            fixture_init(&plain, dim, 2);
            fixture_init(&fast, dim, 2);
            plain.level.longer = fast.level.longer = round > 1;
            run_kernels(&plain, &poisson_kernels_ref, &plain_hash);
            run_kernels(&fast, poisson_kernels_for(isa_choose((BrimIsa)isa)), &fast_hash);
            for (int k = 0; k < 8; k++)
                for (size_t c = 0; c < plain.s.cells; c++)
                    same = same && plain.field[k][c] == fast.field[k][c];
            for (int slot = 0; slot < fast.s.grid.tile_count; slot++)
                uniform += fast.level.uniform[slot].a > 0,
                    regular += fast.level.uniform[slot].diag > 0;
            fixture_free(&plain);
            fixture_free(&fast);
            CHECK(uniform == (dim == 3 ? 2 : 0));
            CHECK(regular == (dim == 3));
            CHECK(same);
            CHECK(plain_hash == fast_hash);
        }
}

/// The preconditioner of conjugate gradients must be symmetric: so must its smoother be.
TEST(solve_smoother_is_symmetric) {
    for (int longer = 0; longer < 2; longer++) {
        Fixture f;
        fixture_init(&f, 3, 5);
        f.level.longer = longer;
        double ab = 0, ba = 0;
        for (int slot = 0; slot < f.s.grid.tile_count; slot++) {
            poisson_kernels_ref.smooth(&f.level, slot, f.field[1], f.field[3]);
            poisson_kernels_ref.smooth(&f.level, slot, f.field[2], f.field[4]);
        }
        for (size_t c = 0; c < f.s.cells; c++) {
            ab += (double)f.field[3][c] * (double)f.field[2][c];
            ba += (double)f.field[4][c] * (double)f.field[1][c];
        }
        fixture_free(&f);
        CHECK_NEAR(ab, ba, 1e-5 * fabs(ab));
    }
}

static double dot(const System *s, const float *a, const float *b) {
    double sum = 0;
    for (size_t c = 0; c < s->cells; c++) sum += (double)a[c] * (double)b[c];
    return sum;
}

/// A cycle as another solver's preconditioner is symmetric and positive, and the longer one comes
/// nearer to the inverse.
TEST(solve_cycle_is_symmetric) {
    System s = random_system(3, 60, 43, 37, 11);
    Poisson *solver = poisson_new(BRIM_ISA_AUTO, NULL, NULL);
    float *v[5];
    double left[2];
    for (int k = 0; k < 5; k++) {
        v[k] = memory_zero(s.cells * sizeof(float));
        for (size_t c = 0; c < s.cells && k < 2; c++)
            v[k][c] = s.diag[c] > 0 ? (float)unit(5, c, 20 + (uint64_t)k) - 0.5f : 0;
    }
    CHECK(poisson_prepare(solver, &s.grid, NULL, s.a[0], s.a[1], s.a[2], s.diag));
    PoissonParams params = {0, 1e-6, 200, BRIM_PRECONDITIONER_MULTIGRID, NULL};
    PoissonReport report;
    float *rhs = memory_new(s.cells * sizeof(float));
    memcpy(rhs, v[0], s.cells * sizeof(float));
    CHECK(poisson_solve(solver, rhs, v[4], &params, &report) && report.converged);
    for (int longer = 0; longer < 2; longer++) {
        poisson_cycle(solver, longer, v[0], v[2]);
        poisson_cycle(solver, longer, v[1], v[3]);
        const double ab = dot(&s, v[2], v[1]), ba = dot(&s, v[3], v[0]);
        const double aa = dot(&s, v[2], v[0]);
        CHECK_NEAR(ab, ba, 1e-5 * aa);
        CHECK(aa > 0);
        for (size_t c = 0; c < s.cells; c++) v[2][c] -= v[4][c];
        left[longer] = sqrt(dot(&s, v[2], v[2]) / dot(&s, v[4], v[4]));
    }
    CHECK_BELOW(left[1], 0.8 * left[0]);
    for (int k = 0; k < 5; k++) free(v[k]);
    free(rhs);
    poisson_free(&solver);
    system_free(&s);
}

// -------------------------------------------------------------------------- against the oracle

static const PoissonParams jacobi_params = {0, 1e-4, 4000, BRIM_PRECONDITIONER_JACOBI, NULL};
static const PoissonParams multigrid_params = {0, 1e-4, 60, BRIM_PRECONDITIONER_MULTIGRID, NULL};

TEST(solve_does_not_read_tiles_without_unknowns) {
    System s = random_system(3, 37, 27, 19, 3), all = system_new(3, 37, 27, 19, NULL);
    uint8_t used[512] = {0};
    for (size_t c = 0; c < all.cells; c++)
        all.a[0][c] = all.a[1][c] = all.a[2][c] = all.diag[c] = all.rhs[c] = all.x[c] = NAN;
    for (int t = 0; t < s.grid.tile_count; t++) {
        TileCoord at = s.grid.coord[t];
        int slot = grid_slot(&all.grid, at.x, at.y, at.z);
        used[slot] = 1;
        float *const from[6] = {s.a[0], s.a[1], s.a[2], s.diag, s.rhs, s.x};
        float *const to[6] = {all.a[0], all.a[1], all.a[2], all.diag, all.rhs, all.x};
        for (int k = 0; k < 6; k++) memcpy(to[k] + slot * 512, from[k] + t * 512, 512 * 4);
    }
    CHECK(s.grid.tile_count < all.grid.tile_count);
    PoissonReport report, all_report;
    CHECK(solve_with(&s, BRIM_ISA_AUTO, 2, &multigrid_params, &report));
    Team *team = team_new(2);
    Poisson *p = poisson_new(BRIM_ISA_AUTO, team, NULL);
    CHECK(p && poisson_prepare(p, &all.grid, used, all.a[0], all.a[1], all.a[2], all.diag));
    CHECK(poisson_solve(p, all.rhs, all.x, &multigrid_params, &all_report));
    poisson_free(&p);
    team_free(&team);
    CHECK(report.iterations == all_report.iterations && report.residual == all_report.residual);
    for (int t = 0; t < s.grid.tile_count; t++) {
        TileCoord at = s.grid.coord[t];
        int slot = grid_slot(&all.grid, at.x, at.y, at.z);
        CHECK(memcmp(all.x + slot * 512, s.x + t * 512, 512 * 4) == 0);
    }
    system_free(&s);
    system_free(&all);
}

TEST(solve_matches_jacobi) {
    const int shape[5][4] = {
        {2, 70, 45, 1}, {2, 9, 130, 1}, {3, 37, 27, 19}, {3, 8, 8, 8}, {3, 3, 60, 5}};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const int *n = shape[seed % 5];
        System s = random_system(n[0], n[1], n[2], n[3], seed);
        System plain = random_system(n[0], n[1], n[2], n[3], seed);
        PoissonReport report, plain_report;
        CHECK(solve_with(&plain, BRIM_ISA_AUTO, 1, &jacobi_params, &plain_report));
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
        CHECK(plain_report.converged && report.converged);
        CHECK(report.singular == plain_report.singular);
        CHECK_BELOW(report.iterations, 40);
        // The right-hand side comes back as the one that was solved for.
        CHECK_NEAR(largest_residual(&s, s.rhs), report.residual, 1e-9);
        CHECK_NEAR(largest_residual(&plain, plain.rhs), plain_report.residual, 1e-9);
        double most = 0, off = 0;
        for (size_t c = 0; c < s.cells; c++) {
            most = fmax(most, fabs((double)s.x[c]));
            off = fmax(off, fabs((double)s.x[c] - (double)plain.x[c]));
            CHECK(s.diag[c] > 0 || s.x[c] == 0);
        }
        CHECK_BELOW(off, 2e-3 * most);
        system_free(&s);
        system_free(&plain);
    }
}

/// A pool below air, open faces but for those around a ball.
static System pool_with_ball(int dim) {
    System s = system_new(dim, 28, 24, dim == 3 ? 20 : 1, NULL);
    EACH_CELL(&s) {
        int64_t c = grid_cell(&s.grid, x, y, z);
        double r = hypot(hypot(x - 7, y - 7), dim == 3 ? z - 7 : 0);
        if (y > 20) continue;
        if (y == 20) s.diag[c] += 2; // the surface half a cell above
        const int at[3] = {x, y, z};
        for (int axis = 0; axis < dim; axis++)
            if (at[axis] > 0 && r > 3)
                open_face(&s, axis, x, y, z, r < 5 ? (float)unit(4, (uint64_t)c, 1) : 1);
    }
    random_rhs(&s, 5);
    return s;
}

TEST(solve_with_coefficients_in_its_own_memory_gives_the_same_bits) {
    for (int kind = 0; kind < 4; kind++) {
        const int dim = kind & 1 ? 3 : 2;
        const PoissonParams *params = kind & 2 ? &jacobi_params : &multigrid_params;
        System s = pool_with_ball(dim), own = pool_with_ball(dim);
        PoissonReport report, own_report;
        PoissonRoom room;
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 2, params, &report));
        Team *team = team_new(2);
        Poisson *p = poisson_new(BRIM_ISA_AUTO, team, NULL);
        for (int again = 0; again < 2; again++) { // and once more with the same solver
            CHECK(p && poisson_room(p, &own.grid, &room));
            for (int k = 0; k < dim; k++) memcpy(room.a[k], own.a[k], own.cells * sizeof(float));
            random_rhs(&own, 5);
            memcpy(room.diag, own.diag, own.cells * sizeof(float));
            memcpy(room.rhs, own.rhs, own.cells * sizeof(float));
            CHECK(poisson_prepare(p, &own.grid, NULL, room.a[0], room.a[1], room.a[2], room.diag));
            memset(own.x, 0, own.cells * sizeof(float));
            CHECK(poisson_solve(p, room.rhs, own.x, params, &own_report));
            CHECK(own_report.iterations == report.iterations && report.iterations > 2);
            CHECK(memcmp(own.x, s.x, s.cells * sizeof(float)) == 0);
        }
        poisson_free(&p);
        team_free(&team);
        system_free(&s);
        system_free(&own);
    }
}

TEST(solve_same_bits_for_threads_and_instruction_sets) {
    for (int dim = 2; dim <= 3; dim++) {
        uint64_t hash[6];
        const int threads[6] = {1, 2, 3, 8, 2, 2};
        const BrimIsa isa[6] = {BRIM_ISA_AUTO, BRIM_ISA_AUTO, BRIM_ISA_AUTO,
                                BRIM_ISA_AUTO, BRIM_ISA_BASE, BRIM_ISA_AVX2};
        for (int k = 0; k < 6; k++) {
            System s = dim == 3 ? random_system(3, 60, 40, 33, 3) : random_system(2, 99, 80, 1, 3);
            PoissonReport report;
            CHECK(solve_with(&s, isa[k], threads[k], &multigrid_params, &report));
            hash[k] = hash_bytes((uint64_t)report.iterations, s.x, s.cells * sizeof(float));
            system_free(&s);
        }
        for (int k = 1; k < 6; k++) CHECK(hash[k] == hash[0]);
    }
}

// ------------------------------------------------------------------------------ exact solutions

/// Poisson on a disk of radius 0.3, p = 0 on its rim by ghost fluid. p = G(s) - G(0.3) at distance
/// s from the centre with G1 = s^2/4 (laplacian 1) or G3 = cos(pi s). Returns the largest error.
static double disk_error(int n, bool cosine) {
    const double radius = 0.3, centre = 0.503, h = 1.0 / n, pi = acos(-1.0);
    System s = system_new(2, n, n, 1, NULL);
    double *phi = malloc((size_t)n * (size_t)n * sizeof *phi);
    EACH_CELL(&s)
    phi[y * n + x] = hypot((x + 0.5) * h - centre, (y + 0.5) * h - centre) - radius;
    EACH_CELL(&s) {
        int64_t c = grid_cell(&s.grid, x, y, z);
        double here = phi[y * n + x], distance = here + radius;
        for (int axis = 0; axis < 2; axis++) {
            int lower = axis ? x + (y - 1) * n : x - 1 + y * n;
            if ((axis ? y : x) == 0) continue;
            double there = phi[lower];
            int64_t m = grid_cell(&s.grid, x - (axis == 0), y - (axis == 1), z);
            if (here < 0 && there < 0) open_face(&s, axis, x, y, z, 1);
            if (here < 0 && there >= 0) s.diag[c] += (float)(1 / fmax(1e-3, here / (here - there)));
            if (here >= 0 && there < 0)
                s.diag[m] += (float)(1 / fmax(1e-3, there / (there - here)));
        }
        double laplacian =
            !cosine ? 1 : -pi * pi * cos(pi * distance) - pi * sin(pi * distance) / distance;
        if (here < 0) s.rhs[c] = (float)(-laplacian * h * h);
    }
    PoissonParams params = {0, 1e-7, 60, BRIM_PRECONDITIONER_MULTIGRID, NULL};
    PoissonReport report;
    double most = solve_with(&s, BRIM_ISA_AUTO, 1, &params, &report) ? 0 : INFINITY;
    EACH_CELL(&s) {
        double d = phi[y * n + x] + radius;
        double exact = cosine ? cos(pi * d) - cos(pi * radius) : (d * d - radius * radius) / 4;
        double off = fabs((double)s.x[grid_cell(&s.grid, x, y, z)] - exact);
        if (d < radius) most = fmax(most, off);
    }
    free(phi);
    system_free(&s);
    return most;
}

TEST(solve_disk_second_order) {
    for (int cosine = 0; cosine < 2; cosine++) {
        // Least-squares slope of log error over log n, for n = 32, 64, ..., 512.
        double slope = 0;
        for (int k = -2; k <= 2; k++)
            slope += k * log2(disk_error(128 << (k + 2) >> 2, cosine)) / 10;
        CHECK_BELOW(slope, -1.8);
    }
}

/// A column `depth` cells deep with the free surface on top, at rest: rhs of gravity is zero but
/// at the bottom and the top, and pressure is linear.
TEST(solve_hydrostatic_column) {
    const int depth = 256;
    System s = system_new(3, 8, depth, 8, NULL);
    EACH_CELL(&s) {
        if (x > 0) open_face(&s, 0, x, y, z, 1);
        if (y > 0) open_face(&s, 1, x, y, z, 1);
        if (z > 0) open_face(&s, 2, x, y, z, 1);
        if (y == depth - 1) s.diag[grid_cell(&s.grid, x, y, z)] += 2; // surface half a cell above
        // The closed bottom face lets nothing of the acceleration through.
        if (y == 0) s.rhs[grid_cell(&s.grid, x, y, z)] = 1;
    }
    PoissonParams params = {0, 1e-7, 60, BRIM_PRECONDITIONER_MULTIGRID, NULL};
    PoissonReport report;
    CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &params, &report));
    CHECK(report.converged || report.limited);
    // Single precision holds 256 to 3e-5.
    CHECK_BELOW(report.residual, 2e-4);
    EACH_CELL(&s)
    CHECK_NEAR(s.x[grid_cell(&s.grid, x, y, z)], depth - 0.5 - y, 5e-3);
    system_free(&s);
}

// ---------------------------------------------------------------------------- closed components

/// Three boxes of cells in a row along x, with walls between; the last one open at its top.
static System three_boxes(void) {
    System s = system_new(3, 40, 14, 11, NULL);
    EACH_CELL(&s) {
        bool wall = x == 13 || x == 14 || x == 29;
        if (wall) continue;
        bool after_wall = x == 15 || x == 30;
        if (x > 0 && !after_wall) open_face(&s, 0, x, y, z, 0.3f);
        if (y > 0) open_face(&s, 1, x, y, z, 0.7f);
        if (z > 0) open_face(&s, 2, x, y, z, 1);
        if (x > 29 && y == 13) s.diag[grid_cell(&s.grid, x, y, z)] += 40;
    }
    return s;
}

/// Mean of a field over the columns [from, to).
static double mean_between(const System *s, const float *field, int from, int to) {
    double sum = 0, count = 0;
    EACH_CELL(s) {
        if (x >= from && x < to) sum += (double)field[grid_cell(&s->grid, x, y, z)], count++;
    }
    return sum / count;
}

TEST(solve_closed_components) {
    for (int compatible = 0; compatible < 2; compatible++) {
        System s = three_boxes();
        random_rhs(&s, 4);
        EACH_CELL(&s) {
            int64_t c = grid_cell(&s.grid, x, y, z);
            if (s.diag[c] > 0) s.rhs[c] += x < 13 ? 3 : x < 29 ? -1 : 2;
        }
        double mean[2] = {mean_between(&s, s.rhs, 0, 13), mean_between(&s, s.rhs, 15, 29)};
        EACH_CELL(&s) {
            int64_t c = grid_cell(&s.grid, x, y, z);
            if (compatible && x < 29 && s.diag[c] > 0) s.rhs[c] -= (float)mean[x > 13];
        }
        float *rhs = memory_new(s.cells * sizeof(float));
        memcpy(rhs, s.rhs, s.cells * sizeof(float));
        PoissonReport report;
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
        CHECK(report.converged);
        CHECK(report.singular == 2);
        CHECK_BELOW(report.iterations, 20);
        CHECK_NEAR(mean_between(&s, s.x, 0, 13), 0, 1e-5);
        CHECK_NEAR(mean_between(&s, s.x, 15, 29), 0, 1e-5);
        CHECK(fabs(mean_between(&s, s.x, 30, 40)) > 0.1);
        // What was taken out of the right-hand side is its mean in the closed boxes, no more.
        EACH_CELL(&s) {
            int64_t c = grid_cell(&s.grid, x, y, z);
            double removed = s.diag[c] > 0 && x < 29 && !compatible ? mean[x > 13] : 0;
            CHECK_NEAR((double)rhs[c] - (double)s.rhs[c], removed, 2e-6);
        }
        CHECK_NEAR(largest_residual(&s, s.rhs), report.residual, 1e-9);
        free(rhs);
        system_free(&s);
    }
}

TEST(solve_closed_box) {
    System s = system_new(3, 48, 48, 48, NULL);
    EACH_CELL(&s) {
        if (x > 0) open_face(&s, 0, x, y, z, 1);
        if (y > 0) open_face(&s, 1, x, y, z, 1);
        if (z > 0) open_face(&s, 2, x, y, z, 1);
    }
    random_rhs(&s, 9);
    PoissonReport report;
    CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
    CHECK(report.converged && report.singular == 1);
    CHECK_BELOW(report.iterations, 12);
    system_free(&s);
}

// ---------------------------------------------------------------------------------- iterations

/// Lowers phi [z][y][x] to the distance from a ball, near it. Lengths in parts of the domain.
static void add_ball(float *phi, int n, double cx, double cy, double cz, double radius) {
    const double h = 1.0 / n;
    int low[3], high[3];
    const double c[3] = {cx, cy, cz};
    for (int a = 0; a < 3; a++) {
        low[a] = (int)fmax(0, floor((c[a] - radius) / h) - 2);
        high[a] = (int)fmin(n - 1, ceil((c[a] + radius) / h) + 2);
    }
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x++) {
                double dx = (x + 0.5) * h - cx, dy = (y + 0.5) * h - cy, dz = (z + 0.5) * h - cz;
                float *p = &phi[((size_t)z * (size_t)n + (size_t)y) * (size_t)n + (size_t)x];
                *p = fminf(*p, (float)(sqrt(dx * dx + dy * dy + dz * dz) - radius));
            }
}

/// Signed distance, roughly, of a splash: a wavy pool, blobs, droplets of a cell or two, a thick
/// and a thin sheet.
static float *splash_phi(int n) {
    const double h = 1.0 / n;
    float *phi = malloc((size_t)n * (size_t)n * (size_t)n * sizeof *phi), *p = phi;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                double x = (i + 0.5) * h, y = (j + 0.5) * h, z = (k + 0.5) * h;
                double pool =
                    y - 0.22 - 0.05 * sin(9 * x) * cos(7 * z) - 0.03 * sin(23 * x + 5 * z);
                double sheet = fmax(fabs(y - 0.6 - 0.1 * sin(6 * x) * sin(5 * z)) - 0.02,
                                    hypot(x - 0.5, z - 0.5) - 0.35);
                double thin = fmax(fabs(x - 0.3 - 0.05 * sin(11 * y)) - 0.7 * h, y - 0.55);
                *p++ = (float)fmin(pool, fmin(sheet, thin));
            }
    for (uint64_t b = 0; b < 160; b++)
        add_ball(phi, n, unit(1, b, 0), 0.3 + 0.7 * unit(1, b, 1), unit(1, b, 2),
                 b < 40 ? 0.01 + 0.05 * unit(1, b, 3) : 1.2 * h);
    return phi;
}

/// A splash around a solid ball with cut cells, ghost-fluid theta down to 0.01.
static System splash(int n) {
    const double h = 1.0 / n;
    float *phi = splash_phi(n);
    size_t stride[3] = {1, (size_t)n, (size_t)n * (size_t)n};
    System s = system_new(3, n, n, n, NULL);
    EACH_CELL(&s) {
        size_t here = (size_t)x + (size_t)y * stride[1] + (size_t)z * stride[2];
        int at[3] = {x, y, z};
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] == 0) continue;
            double face[3] = {(x + 0.5) * h, (y + 0.5) * h, (z + 0.5) * h};
            face[axis] -= 0.5 * h;
            double solid =
                sqrt((face[0] - 0.6) * (face[0] - 0.6) + (face[1] - 0.2) * (face[1] - 0.2) +
                     (face[2] - 0.4) * (face[2] - 0.4)) -
                0.13;
            double open = fmin(1, fmax(0, 0.5 + solid / h));
            float p = phi[here], q = phi[here - stride[axis]];
            if (open < 1e-3 || (p >= 0 && q >= 0)) continue;
            if (p < 0 && q < 0) {
                open_face(&s, axis, x, y, z, (float)open);
                continue;
            }
            int64_t cell =
                p < 0 ? grid_cell(&s.grid, x, y, z)
                      : grid_cell(&s.grid, x - (axis == 0), y - (axis == 1), z - (axis == 2));
            s.diag[cell] += (float)open / fmaxf(0.01f, fminf(p, q) / (fminf(p, q) - fmaxf(p, q)));
        }
    }
    free(phi);
    return s;
}

static int splash_iterations(int n, double reduction) {
    System s = splash(n);
    random_rhs(&s, 77);
    PoissonParams params = {0, reduction, 60, BRIM_PRECONDITIONER_MULTIGRID, NULL};
    PoissonReport report;
    bool sound = solve_with(&s, BRIM_ISA_AUTO, 1, &params, &report);
    system_free(&s);
    return sound && (report.converged || report.limited) ? report.iterations : 1000;
}

TEST(solve_iterations_hardly_grow) {
    int coarse = splash_iterations(64, 1e-6), fine = splash_iterations(128, 1e-6);
    CHECK_BELOW(coarse, 16);
    CHECK_BELOW(fine, 1.3 * coarse + 1);
}

// ---------------------------------------------------------------------------------- odd inputs

TEST(solve_zero_rhs_and_warm_start) {
    System s = random_system(3, 37, 27, 19, 2);
    memset(s.rhs, 0, s.cells * sizeof(float));
    PoissonReport report;
    CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
    CHECK(report.converged && report.iterations == 0 && report.residual == 0);
    random_rhs(&s, 3);
    CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
    CHECK(report.converged && report.iterations > 1);
    CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
    CHECK(report.converged && report.iterations == 0);
    CHECK_BELOW(report.initial, 1e-4);
    system_free(&s);
}

TEST(solve_not_finite) {
    for (int k = 0; k < 3; k++) {
        System s = random_system(3, 20, 20, 20, 6);
        size_t c = 0;
        while (!(s.diag[c] > 0)) c++;
        (k == 2 ? s.x : s.rhs)[c] = k == 0 ? NAN : INFINITY;
        PoissonReport report;
        CHECK(!solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
        system_free(&s);
    }
}

TEST(solve_empty) {
    const uint8_t none[64] = {0};
    for (int tiles = 0; tiles < 2; tiles++) {
        System s = system_new(3, 16, 16, 16, tiles ? NULL : none);
        PoissonReport report;
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
        CHECK(report.converged && report.iterations == 0);
        system_free(&s);
    }
}

/// Two cells that see only each other: on coarser levels nothing is left of them.
TEST(solve_closed_within_a_coarse_cell) {
    for (int dim = 2; dim <= 3; dim++) {
        System s = system_new(dim, 17, 23, dim == 3 ? 9 : 1, NULL);
        PoissonReport report;
        open_face(&s, 0, 9, 6, 0, 1);
        s.rhs[grid_cell(&s.grid, 9, 6, 0)] = 1;
        s.rhs[grid_cell(&s.grid, 8, 6, 0)] = -1;
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
        CHECK(report.converged && report.singular == 1);
        system_free(&s);
    }
}

/// One solver for systems of changing shape: it must leave nothing of the last one behind.
TEST(solve_reuse) {
    Poisson *p = poisson_new(BRIM_ISA_AUTO, NULL, NULL);
    for (int round = 0; round < 6; round++) {
        uint64_t seed = (uint64_t)round % 3;
        System s = seed == 1 ? random_system(2, 50, 50, 1, 1) : random_system(3, 40, 40, 30, seed);
        System fresh =
            seed == 1 ? random_system(2, 50, 50, 1, 1) : random_system(3, 40, 40, 30, seed);
        PoissonReport report;
        CHECK(poisson_prepare(p, &s.grid, NULL, s.a[0], s.a[1], s.a[2], s.diag));
        CHECK(poisson_solve(p, s.rhs, s.x, &multigrid_params, &report));
        CHECK(solve_with(&fresh, BRIM_ISA_AUTO, 1, &multigrid_params, &report));
        CHECK(memcmp(s.x, fresh.x, s.cells * sizeof(float)) == 0);
        system_free(&s);
        system_free(&fresh);
    }
    CHECK(poisson_bytes(p) > 0);
    poisson_free(&p);
    CHECK(p == NULL);
}

/// A term of rank two on every third unknown: Z = sum of weight u u^T.
typedef struct RankTwo {
    size_t count;
    int64_t *cell;
    float *u[2], *out, *kept;
    double weight;
} RankTwo;

static double apply_rank_two(void *context, const float *x, float *out) {
    const RankTwo *r = context;
    double part[2] = {0}, dot = 0;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < r->count; i++) part[k] += (double)r->u[k][i] * (double)x[r->cell[i]];
        dot += r->weight * part[k] * part[k];
    }
    for (size_t i = 0; i < r->count; i++)
        out[i] = (float)(r->weight * (part[0] * r->u[0][i] + part[1] * r->u[1][i]));
    return dot;
}

TEST(solve_with_a_term_of_low_rank) {
    System s = splash(24);
    float *rhs = malloc(s.cells * sizeof *rhs), *plain = malloc(s.cells * sizeof *plain);
    RankTwo r = {.weight = 3};
    r.cell = malloc(s.cells * sizeof *r.cell);
    r.out = malloc(s.cells * sizeof(float)), r.kept = malloc(s.cells * sizeof(float));
    for (int k = 0; k < 2; k++) r.u[k] = malloc(s.cells * sizeof(float));
    for (size_t c = 0; c < s.cells; c += 3)
        if (s.diag[c] > 0) {
            for (int k = 0; k < 2; k++)
                r.u[k][r.count] = (float)(unit(5, c, (uint64_t)(7 + k)) - 0.3);
            r.cell[r.count++] = (int64_t)c;
        }
    PoissonTerm term = {apply_rank_two, NULL, &r, r.count, r.cell, r.out, r.kept};
    random_rhs(&s, 3);
    memcpy(rhs, s.rhs, s.cells * sizeof *rhs);
    for (int k = 0; k < 2; k++) {
        PoissonParams params = k ? multigrid_params : jacobi_params;
        params.term = &term;
        PoissonReport report;
        memset(s.x, 0, s.cells * sizeof(float));
        memcpy(s.rhs, rhs, s.cells * sizeof *rhs);
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 2, &params, &report) && report.converged);
        // by the definition: rhs - A x - Z x
        memcpy(s.rhs, rhs, s.cells * sizeof *rhs);
        apply_rank_two(&r, s.x, r.out);
        for (size_t i = 0; i < r.count; i++) s.rhs[r.cell[i]] -= r.out[i];
        CHECK_BELOW(largest_residual(&s, s.rhs), 1.1e-4 * 0.5);
        CHECK(k == 0 || report.iterations < 25);
        if (k == 0) memcpy(plain, s.x, s.cells * sizeof *plain);
        for (size_t c = 0; c < s.cells; c++) CHECK_NEAR(s.x[c], plain[c], 2e-3);
    }
    free(rhs), free(plain), free(r.cell), free(r.out), free(r.kept), free(r.u[0]), free(r.u[1]);
    system_free(&s);
}

/// A body between pockets of two cells each that only it joins, by `count` ways to move: the n-th
/// is a wave over them and four times as stiff as the one before.
enum { POCKETS = 6 };
typedef struct Pockets {
    int count;
    int64_t cell[POCKETS];
    float out[POCKETS], kept[POCKETS];
} Pockets;

static double apply_pockets(void *context, const float *x, float *out) {
    const Pockets *p = context;
    double dot = 0, all[POCKETS] = {0};
    for (int n = 0; n < p->count; n++) {
        double part = 0, soft = pow(4, -n);
        for (int k = 0; k < POCKETS; k++)
            part += cos(M_PI * n * (k + 0.5) / POCKETS) * (double)x[p->cell[k]];
        for (int k = 0; k < POCKETS; k++)
            all[k] += soft * part * cos(M_PI * n * (k + 0.5) / POCKETS);
        dot += soft * part * part;
    }
    for (int k = 0; k < POCKETS; k++) out[k] = (float)all[k];
    return dot;
}

static double level_pockets(void *context, const float *x) {
    Pockets *p = context;
    return apply_pockets(p, x, p->out);
}

/// Its ways to move meet all volumes, or but for those that they cannot.
TEST(solve_pockets_that_a_body_holds_jointly) {
    for (int count = 1; count <= POCKETS; count++) {
        System s = system_new(2, 40, 40, 1, NULL);
        Pockets p = {.count = count};
        for (int k = 0; k < POCKETS; k++) {
            open_face(&s, 0, 9, 3 + 4 * k, 0, 1);
            p.cell[k] = grid_cell(&s.grid, 9, 3 + 4 * k, 0);
            s.rhs[p.cell[k]] = k & 1 ? -0.4f : 1;
        }
        PoissonTerm term = {apply_pockets, level_pockets, &p, POCKETS, p.cell, p.out, p.kept};
        PoissonParams params = multigrid_params;
        PoissonReport report;
        params.term = &term, params.tolerance = 1e-5;
        CHECK(solve_with(&s, BRIM_ISA_AUTO, 1, &params, &report));
        CHECK(report.converged && report.singular == POCKETS - count);
        CHECK(report.iterations < 20);
        system_free(&s);
    }
}
