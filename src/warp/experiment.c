// The cases of brim_warp_test.
#include "base/error.h"
#include "base/memory.h"
#include "warp/still.h"
#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;
/// Residual left, as a part of the right-hand side.
static const double REDUCTION = 1e-9;

BrimWarpTestDef brim_default_warp_test_def(void) {
    return (BrimWarpTestDef){.kind = BRIM_WARP_DISK, .dim = 2, .cells = 64, .order = 2};
}

void brim_warp_test_free(BrimWarpTest *test) {
    if (!test) return;
    free(test->x), free(test->y), free(test->value);
    *test = (BrimWarpTest){0};
}

/// A sphere, or a plane through a point.
typedef struct Level {
    double at[3], normal[3], radius;
} Level;

static double sphere(const void *context, const double x[3]) {
    const Level *l = context;
    double sum = 0;
    for (int a = 0; a < 3; a++) sum += (x[a] - l->at[a]) * (x[a] - l->at[a]);
    return sqrt(sum) - l->radius;
}

static double plane(const void *context, const double x[3]) {
    const Level *l = context;
    double sum = 0;
    for (int a = 0; a < 3; a++) sum += (x[a] - l->at[a]) * l->normal[a];
    return sum;
}

/// Adds a value to show; x, y in metres.
static void show(BrimWarpTest *t, double x, double y, double value) {
    t->x[t->count] = (float)x, t->y[t->count] = (float)y, t->value[t->count] = (float)value;
    t->count++;
}

static bool solve(StillBox *s) {
    return still_solve(s, REDUCTION) && s->report.converged;
}

#define EACH_NODE_2D(s)                           \
    for (int y = 0; y <= (s)->grid.cells[1]; y++) \
        for (int x = 0; x <= (s)->grid.cells[0]; x++)
#define EACH_CELL(s)                                 \
    for (int z = 0; z < (s)->grid.cells[2]; z++)     \
        for (int y = 0; y < (s)->grid.cells[1]; y++) \
            for (int x = 0; x < (s)->grid.cells[0]; x++)

// ------------------------------------------------------------------------------------------- disk

/// Whether a node is a corner of a cell that the surface passes through.
static bool touches_cut(const StillBox *s, int x, int y) {
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            int64_t at = still_at(s, x + i, y + j, 0);
            if (at < 0 || s->phi[at] >= 0) return true;
        }
    return false;
}

static bool disk(StillBox *s, const Level *level, BrimWarpTest *t) {
    const double n = s->grid.cells[0];
    double count = 0;
    s->b[still_at(s, (int)(n / 2), (int)(n / 2), 0)] = -1;
    if (!solve(s)) return false;
    EACH_NODE_2D(s) {
        int64_t i = still_at(s, x, y, 0);
        double at[3];
        if (s->phi[i] >= 0) continue;
        still_place(s, x, y, 0, 0, at);
        show(t, at[0] / n, at[1] / n, s->q[i]);
        if (!touches_cut(s, x, y)) continue;
        double r = sphere(level, at) + level->radius;
        t->error += fabs(s->q[i] - log(r / level->radius) / (2 * PI)), count++;
    }
    t->error /= count;
    return true;
}

// ----------------------------------------------------------------------------------------- vortex

/// u* = - (u . grad) u of u = (sin x cos y, - cos x sin y), which is the gradient of
/// p = (cos 2x + cos 2y) / 4: nothing must be left.
static bool vortex(StillBox *s, BrimWarpTest *t) {
    const double h = PI / s->grid.cells[0], all = 1.0 * s->grid.cells[0] * s->grid.cells[1];
    double at[3], mean = 0;
    EACH_CELL(s) {
        still_place(s, x, y, z, 0.5, at);
        for (int a = 0; a < 2; a++)
            s->u[a][still_at(s, x, y, z)] = (float)(-sin(2 * h * at[a]) / 2);
    }
    still_rhs(s);
    if (!solve(s)) return false;
    still_update(s);
    for (int pass = 0; pass < 2; pass++) EACH_NODE_2D(s) {
            int64_t i = still_at(s, x, y, 0);
            double share = 1 / (double)s->op.weight[i] / all; // of the area
            still_place(s, x, y, 0, 0, at);
            double off = h * s->q[i] - (cos(2 * h * at[0]) + cos(2 * h * at[1])) / 4;
            if (pass == 0) mean += share * off;
            if (pass == 0) continue;
            t->error += share * fabs(off - mean);
            show(t, h * at[0], h * at[1], h * s->q[i]);
        }
    EACH_CELL(s) {
        int64_t i = still_at(s, x, y, z);
        t->speed += (fabs((double)s->u[0][i]) + fabs((double)s->u[1][i])) / (2 * all);
    }
    return true;
}

// ------------------------------------------------------------------------------------------ pulse

static bool pulse(StillBox *s, BrimWarpTest *t) {
    const int n = s->grid.cells[0];
    double alternating = 0, size = 0, at[3];
    s->u[1][still_at(s, n / 2, n / 2, 0)] = 1;
    still_rhs(s);
    if (!solve(s)) return false;
    EACH_NODE_2D(s) {
        int64_t i = still_at(s, x, y, 0);
        still_place(s, x, y, 0, 0, at);
        show(t, at[0] / n, at[1] / n, s->q[i] / n);
        if (x == n || y == n) continue;
        double corner[4];
        for (int k = 0; k < 4; k++) corner[k] = s->q[still_at(s, x + (k & 1), y + (k >> 1), 0)];
        alternating += fabs(corner[0] - corner[1] - corner[2] + corner[3]) / 4;
        for (int k = 0; k < 4; k++) size += fabs(corner[k]) / 4;
    }
    t->checkerboard = alternating / size;
    return true;
}

// ------------------------------------------------------------------------------------------- pool

static bool pool(StillBox *s, const Level *level, BrimWarpTest *t) {
    const double n = s->grid.cells[0];
    for (size_t i = 0; i < s->count; i++)
        for (int a = 0; a < s->grid.dim; a++) s->u[a][i] = (float)-level->normal[a];
    still_rhs(s);
    if (!solve(s)) return false;
    still_update(s);
    EACH_CELL(s) {
        int64_t i = still_at(s, x, y, z);
        double sum = 0, at[3];
        if (!(s->updated[i >> TILE_SHIFT] >> (i & 7) & 1)) continue;
        for (int a = 0; a < s->grid.dim; a++) sum += (double)s->u[a][i] * (double)s->u[a][i];
        t->speed = fmax(t->speed, sqrt(sum));
        still_place(s, x, y, z, 0.5, at);
        if (s->grid.dim == 2) show(t, at[0] / n, at[1] / n, sqrt(sum));
    }
    return true;
}

// ----------------------------------------------------------------------------------------- closed

/// Dimensions of the null space of a symmetric semidefinite matrix, by Cholesky with pivots.
static int nullity(double *K, int n) {
    double first = 0;
    for (int step = 0; step < n; step++) {
        int best = step;
        for (int i = step; i < n; i++)
            if (K[(size_t)i * (size_t)n + (size_t)i] > K[(size_t)best * (size_t)n + (size_t)best])
                best = i;
        double pivot = K[(size_t)best * (size_t)n + (size_t)best];
        if (step == 0) first = pivot;
        if (!(pivot > 1e-10 * first)) return n - step;
        for (int i = 0; i < n; i++) { // symmetric exchange
            double *a = K + (size_t)i * (size_t)n, v = a[step];
            a[step] = a[best], a[best] = v;
        }
        for (int i = 0; i < n; i++) {
            double v = K[(size_t)step * (size_t)n + (size_t)i];
            K[(size_t)step * (size_t)n + (size_t)i] = K[(size_t)best * (size_t)n + (size_t)i];
            K[(size_t)best * (size_t)n + (size_t)i] = v;
        }
        const double *row = K + (size_t)step * (size_t)n;
        for (int i = step + 1; i < n; i++) {
            double part = K[(size_t)i * (size_t)n + (size_t)step] / pivot;
            if (part == 0) continue;
            for (int j = step + 1; j < n; j++)
                K[(size_t)i * (size_t)n + (size_t)j] -= part * row[j];
        }
    }
    return 0;
}

/// The whole operator of a closed box from its elements, in double precision.
static bool closed(const StillBox *s, BrimWarpTest *t) {
    const int dim = s->grid.dim, m = s->grid.cells[0] + 1;
    const int n = dim == 3 ? m * m * m : m * m;
    const double open[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    double *K = memory_zero((size_t)n * (size_t)n * sizeof *K);
    if (!K) return false;
    EACH_CELL(s) {
        double d[8][3], local[8][8];
        Element e;
        map_corners(&s->warp.map, x, y, z, d);
        element_shape(&e, dim, s->problem.rule, d);
        element_stiffness(&e, open, NULL, &s->problem.surface, local);
        for (int i = 0; i < e.corners; i++)
            for (int j = 0; j < e.corners; j++) {
                int a = ((z + (i >> 2)) * m + y + (i >> 1 & 1)) * m + x + (i & 1);
                int b = ((z + (j >> 2)) * m + y + (j >> 1 & 1)) * m + x + (j & 1);
                K[(size_t)a * (size_t)n + (size_t)b] += local[i][j];
            }
    }
    t->null_space = nullity(K, n);
    free(K);
    return true;
}

// ------------------------------------------------------------------------------------------- call

static BrimResult check(const BrimWarpTestDef *def, BrimError *error) {
    bool flat = def->kind != BRIM_WARP_POOL && def->kind != BRIM_WARP_CLOSED;
    int most = def->kind == BRIM_WARP_CLOSED ? (def->dim == 3 ? 10 : 40)
               : def->dim == 3               ? 256
                                             : 4096;
    if (def->dim != 2 && def->dim != 3)
        return fail(error, BRIM_ERROR_INPUT, "warp test: dim is %d, not 2 or 3", def->dim);
    if (flat && def->dim != 2)
        return fail(error, BRIM_ERROR_INPUT, "warp test: this case is in 2D only");
    if (def->cells < 4 || def->cells > most || def->cells % 2)
        return fail(error, BRIM_ERROR_INPUT, "warp test: %d cells; even, from 4 to %d are possible",
                    def->cells, most);
    if (def->order != 1 && def->order != 2)
        return fail(error, BRIM_ERROR_INPUT, "warp test: order is %d, not 1 or 2", def->order);
    return BRIM_OK;
}

static BrimResult run(const BrimWarpTestDef *def, StillBox *s, BrimWarpTest *t, BrimError *error) {
    const double n = def->cells, angle = def->tilt * PI / 180;
    const bool flat = def->kind == BRIM_WARP_POOL;
    Level level = {.at = {n / 2, n / 2, def->dim == 3 ? n / 2 : 0},
                   .normal = {-sin(angle), cos(angle), 0},
                   .radius = 0.4 * n};
    // a surface that passes through no node by symmetry
    if (flat) level.at[1] += 0.013 * n;
    if (def->dim == 3 && flat) {
        level.normal[0] = -sin(angle) * 0.8, level.normal[2] = -sin(angle) * 0.6;
    }
    PointFunction *distance = flat ? plane : sphere;
    if (def->strength > 0) {
        BrimResult result = still_bend(s, distance, &level, error);
        if (result != BRIM_OK) return result;
    }
    map_determinants(&s->warp.map, &t->least, &t->most);
    s->problem.surface.order = def->order;
    s->problem.rule = def->one_point ? WARP_RULE_ONE : WARP_RULE_GAUSS;
    bool sound = true;
    if (def->kind == BRIM_WARP_DISK || flat) still_level(s, distance, &level);
    if (def->drop_slivers) sound = still_drop_slivers(s);
    if (def->kind != BRIM_WARP_CLOSED) sound = sound && still_assemble(s);
    if (!sound) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a warp test");
    switch (def->kind) {
    case BRIM_WARP_DISK:
        sound = disk(s, &level, t);
        break;
    case BRIM_WARP_VORTEX:
        sound = vortex(s, t);
        break;
    case BRIM_WARP_PULSE:
        sound = pulse(s, t);
        break;
    case BRIM_WARP_POOL:
        sound = pool(s, &level, t);
        break;
    case BRIM_WARP_CLOSED:
        sound = closed(s, t);
        break;
    }
    t->iterations = s->report.iterations;
    if (sound) return BRIM_OK;
    return fail(error, BRIM_LOST_DIVERGED,
                "warp test: the residual stays at %g of %g after %d "
                "iterations",
                s->report.residual, s->report.initial, s->report.iterations);
}

BrimResult brim_warp_test(const BrimWarpTestDef *def, BrimWarpTest *test, BrimError *error) {
    NEED(def, error);
    NEED(test, error);
    *test = (BrimWarpTest){0};
    BrimResult result = check(def, error);
    if (result != BRIM_OK) return result;
    StillBox box;
    const int cells[3] = {def->cells, def->cells, def->dim == 3 ? def->cells : 1};
    result =
        still_init(&box, def->dim, cells, def->strength, def->coarse_cells, def->threads, error);
    if (result != BRIM_OK) return result;
    size_t most = (size_t)(def->cells + 1) * (size_t)(def->cells + 1);
    test->x = memory_new(most * sizeof(float)), test->y = memory_new(most * sizeof(float));
    test->value = memory_new(most * sizeof(float));
    if (test->x && test->y && test->value)
        result = run(def, &box, test, error);
    else
        result = fail(error, BRIM_ERROR_MEMORY, "out of memory for a warp test");
    still_free(&box);
    if (result != BRIM_OK) brim_warp_test_free(test);
    return result;
}
