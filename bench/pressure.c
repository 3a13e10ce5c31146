// The pressure solver by itself: the Poisson problem of a dam break in mid-splash, with ghost-fluid
// surface, solved down to a millionth of its residual, at growing resolution, with the multigrid
// preconditioner and with the plain reference.
#include "bench.h"
#include "grid/grid.h"
#include "solve/solve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float STEP = 0.004f; ///< s
/// The shortest distance from a cell centre to the surface, in cells, that ghost fluid may see.
static const float LEAST_FRACTION = 0.05f;
enum { REPEATS = 3 };

typedef struct Solve {
    int iterations;
    double prepare_ms, solve_ms; ///< least of REPEATS
    bool converged;
} Solve;

typedef struct Result {
    int64_t unknowns;
    Solve multigrid, plain;
} Result;

/// The state that the problem is made of, dense: [n][n][n] and [n][n][n][3].
typedef struct Splash {
    int n;
    float *level_set, *velocity;
} Splash;

typedef struct Problem {
    Grid grid;
    float *a[3], *diag, *rhs;
    int64_t unknowns;
} Problem;

static float *new_floats(size_t count) {
    float *array = aligned_alloc(64, (count * sizeof *array + 63) / 64 * 64);
    if (!array) give_up("no memory for the pressure problem");
    memset(array, 0, count * sizeof *array);
    return array;
}

static size_t at(const Splash *s, int x, int y, int z) {
    return ((size_t)z * (size_t)s->n + (size_t)y) * (size_t)s->n + (size_t)x;
}

/// A corner column that has reached the far walls and splashes up there.
static Splash run_dam(int n) {
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    water.shape.kind = BRIM_SHAPE_BOX;
    water.shape.size = (BrimVec3){0.375f, 0.625f, 0.375f};
    water.shape.position = (BrimVec3){0.1875f, 0.3125f, 0.1875f};
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = n;
    def.size = (BrimVec3){1, 1, 1};
    def.liquid = &water, def.liquid_count = 1;
    def.step = STEP;
    def.frame_rate = 2; // the first frame, at 0.5 s, is mid-splash
    BrimSim *sim = NULL;
    BrimError error;
    if (brim_sim_create(&def, &sim, &error) != BRIM_OK ||
        brim_sim_advance_frame(sim, &error) != BRIM_OK)
        give_up("%s", error.message);

    size_t cells = (size_t)n * (size_t)n * (size_t)n;
    Splash s = {n, new_floats(cells), new_floats(3 * cells)};
    if (brim_sim_field(sim, BRIM_FIELD_LEVEL_SET, s.level_set, cells, &error) != BRIM_OK ||
        brim_sim_field(sim, BRIM_FIELD_VELOCITY, s.velocity, 3 * cells, &error) != BRIM_OK)
        give_up("%s", error.message);
    brim_sim_destroy(&sim);
    return s;
}

static void make_tiles(const Splash *s, Grid *grid) {
    BrimError error;
    if (grid_init(grid, 3, (int[]){s->n, s->n, s->n}, &error) != BRIM_OK)
        give_up("%s", error.message);
    uint8_t *want = calloc(grid_box(grid), 1);
    int32_t *from = malloc(grid_box(grid) * sizeof *from);
    if (!want || !from) give_up("no memory for the pressure problem");
    for (int z = 0; z < s->n; z++)
        for (int y = 0; y < s->n; y++)
            for (int x = 0; x < s->n; x++)
                if (s->level_set[at(s, x, y, z)] < 0)
                    want[grid_box_index(grid, x / TILE, y / TILE, z / TILE)] = 1;
    if (!grid_rebuild(grid, want, from, NULL)) give_up("no memory for the pressure problem");
    free(want);
    free(from);
}

/// Coefficients and divergence of one liquid cell; faces of the domain are walls.
static void fill_cell(const Splash *s, Problem *p, int x, int y, int z) {
    int64_t cell = grid_cell(&p->grid, x, y, z);
    float inside = s->level_set[at(s, x, y, z)];
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side <= 1; side += 2) {
            int to[3] = {x, y, z};
            to[axis] += side;
            if (to[axis] < 0 || to[axis] >= s->n) continue;
            size_t other = at(s, to[0], to[1], to[2]);
            float outside = s->level_set[other];
            p->rhs[cell] -= (float)side * 0.5f *
                            (s->velocity[3 * at(s, x, y, z) + (size_t)axis] +
                             s->velocity[3 * other + (size_t)axis]);
            if (outside < 0) {
                p->diag[cell] += 1;
                if (side < 0) p->a[axis][cell] = 1;
            } else {
                float fraction = inside / (inside - outside);
                p->diag[cell] += 1 / (fraction > LEAST_FRACTION ? fraction : LEAST_FRACTION);
            }
        }
    p->unknowns++;
}

static Problem make_problem(const Splash *s) {
    Problem p = {0};
    make_tiles(s, &p.grid);
    size_t cells = (size_t)p.grid.tile_count * (size_t)p.grid.tile_cells;
    for (int axis = 0; axis < 3; axis++) p.a[axis] = new_floats(cells);
    p.diag = new_floats(cells), p.rhs = new_floats(cells);
    for (int z = 0; z < s->n; z++)
        for (int y = 0; y < s->n; y++)
            for (int x = 0; x < s->n; x++)
                if (s->level_set[at(s, x, y, z)] < 0) fill_cell(s, &p, x, y, z);
    return p;
}

static void solve_once(const Problem *p, BrimPreconditioner preconditioner, Solve *best) {
    size_t cells = (size_t)p->grid.tile_count * (size_t)p->grid.tile_cells;
    float *rhs = new_floats(cells), *x = new_floats(cells);
    memcpy(rhs, p->rhs, cells * sizeof *rhs);
    Team *team = team_new(core_count());
    Poisson *solver = poisson_new(BRIM_ISA_AUTO, team, NULL);
    double start = now_ms();
    if (!solver || !poisson_prepare(solver, &p->grid, NULL, p->a[0], p->a[1], p->a[2], p->diag))
        give_up("no memory for the pressure solver");
    double prepared = now_ms();
    PoissonParams params = {
        .reduction = 1e-6, .max_iterations = 20000, .preconditioner = preconditioner};
    PoissonReport report;
    if (!poisson_solve(solver, rhs, x, &params, &report)) give_up("the pressure solver failed");
    double solved = now_ms();
    best->iterations = report.iterations;
    best->converged = report.converged;
    if (best->prepare_ms == 0 || prepared - start < best->prepare_ms)
        best->prepare_ms = prepared - start;
    if (best->solve_ms == 0 || solved - prepared < best->solve_ms)
        best->solve_ms = solved - prepared;
    poisson_free(&solver);
    team_free(&team);
    free(rhs);
    free(x);
}

static void run_solver(const void *argument, void *result) {
    Result *out = result;
    Splash splash = run_dam(*(const int *)argument);
    Problem problem = make_problem(&splash);
    out->unknowns = problem.unknowns;
    for (int i = 0; i < REPEATS; i++)
        solve_once(&problem, BRIM_PRECONDITIONER_MULTIGRID, &out->multigrid);
    solve_once(&problem, BRIM_PRECONDITIONER_JACOBI, &out->plain);
}

static void report_solve(Report *report, int n, const char *name, int64_t unknowns, Solve solve,
                         Want want) {
    char what[64];
    snprintf(what, sizeof what, "%d^3, %.2f M cells, %s", n, 1e-6 * (double)unknowns, name);
    if (!solve.converged) give_up("%s: did not converge in %d iterations", what, solve.iterations);
    report_row(report,
               (Row){"pressure", what, "iterations to 1e-6", solve.iterations, "", want, 25});
    report_row(report, (Row){"pressure", what, "time to build levels", solve.prepare_ms, "ms",
                             WANT_NOTHING, 0});
    report_row(report,
               (Row){"pressure", what, "time to solve", solve.solve_ms, "ms", WANT_NOTHING, 0});
    report_row(report, (Row){"pressure", what, "time per cell and iteration",
                             1e6 * solve.solve_ms / solve.iterations / (double)unknowns, "ns",
                             WANT_NOTHING, 0});
}

void bench_pressure(Report *report) {
    static const int SIZES[] = {64, 128, 256};
    double first = 0, last = 0;
    for (int i = 0; i < 3; i++) {
        Result result = {0};
        in_child(run_solver, &SIZES[i], &result, sizeof result);
        report_solve(report, SIZES[i], "multigrid", result.unknowns, result.multigrid,
                     WANT_AT_MOST);
        report_solve(report, SIZES[i], "plain", result.unknowns, result.plain, WANT_NOTHING);
        last = result.multigrid.iterations;
        if (i == 0) first = last;
    }
    report_row(report, (Row){"pressure", "multigrid", "iterations, 256^3 against 64^3",
                             last / first, "times", WANT_AT_MOST, 1.5});
}
