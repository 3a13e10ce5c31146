#include "solve/solve.h"
#include "base/memory.h"
#include "solve/solver.h"
#include <math.h>
#include <stdlib.h>

/// Part of its first residual at which a descent begins anew from the true one.
static const double DESCENT = 1e-7;

Poisson *poisson_new(BrimIsa isa, Team *team, WorkMemory *work) {
    Poisson *s = memory_zero(sizeof *s);
    if (!s) return NULL;
    s->kernels = poisson_kernels_for(isa_choose(isa));
    s->team = team;
    s->work = work ? work : &s->own;
    return s;
}

void poisson_free(Poisson **solver) {
    Poisson *s = *solver;
    if (!s) return;
    levels_free(s);
    closed_free(s);
    free(s);
    *solver = NULL;
}

size_t poisson_bytes(const Poisson *s) {
    return sizeof *s + levels_bytes(s) + closed_bytes(s);
}

void poisson_release(Poisson *s) {
    levels_release(s);
    closed_release(s);
}

static void take_system(Poisson *s, const Grid *grid, const uint8_t *used, const float *ax,
                        const float *ay, const float *az, const float *diag) {
    Level *l = &s->level[0];
    l->grid = grid, l->used = used, l->ax = ax, l->ay = ay, l->az = az, l->diag = diag;
    l->face_at = l->diag_at = NULL;
}

bool poisson_room(Poisson *s, const Grid *grid, PoissonRoom *room) {
    static const int vector[3] = {VECTOR_B, VECTOR_P, VECTOR_S}; // that setting up does not touch
    size_t cells = (size_t)grid->tile_count * (size_t)grid->tile_cells;
    if (!levels_reserve(s, cells, ARRAYS)) return false;
    for (int k = 0; k < 3; k++) room->a[k] = s->work->at + (size_t)vector[k] * cells;
    room->diag = s->work->at + VECTOR_Z * cells, room->rhs = s->work->at + ARRAY_RHS * cells;
    return true;
}

bool poisson_prepare(Poisson *s, const Grid *grid, const uint8_t *used, const float *ax,
                     const float *ay, const float *az, const float *diag) {
    take_system(s, grid, used, ax, ay, az, diag);
    return levels_build(s) && closed_find(s) && levels_keep_system(s);
}

bool poisson_prepare_held(Poisson *s, const Grid *grid, const uint8_t *used, const float *ax,
                          const float *ay, const float *az, const float *diag) {
    take_system(s, grid, used, ax, ay, az, diag);
    s->closed.count = s->closed.held = 0;
    return levels_build(s);
}

bool poisson_has(const Poisson *s, int slot, int cell) {
    return level_diag_of(&s->level[0], slot, cell) > 0;
}

double largest_residual(const Poisson *s) {
    float most = 0;
    for (int i = 0; i < s->active_count; i++) {
        if (!isfinite(s->most[i].r)) return NAN;
        if (s->most[i].r > most) most = s->most[i].r;
    }
    return most;
}

static double largest_rhs(void *context) {
    const Poisson *s = ((Task *)context)->solver;
    float most = 0;
    for (int i = 0; i < s->active_count; i++)
        if (s->most[i].b > most) most = s->most[i].b;
    return most;
}

static void residual_of_tile(void *context, int index, int thread) {
    const Task *t = context;
    Poisson *s = t->solver;
    s->most[index] =
        t->kernels->residual(&s->level[0], s->active[index], t->rhs, t->x, s->level[0].b);
}

double term_add(const PoissonParams *params, const float *x, float *to) {
    const PoissonTerm *term = params->term;
    if (!term || term->count == 0) return 0;
    double dot = term->apply(term->context, x, term->out);
    for (size_t i = 0; i < term->count; i++) to[term->cell[i]] += term->out[i];
    return dot;
}

/// rhs -= Z x, and back to the same bits.
static void term_take(const Task *t) {
    const PoissonTerm *term = t->params->term;
    if (!term || term->count == 0) return;
    term->apply(term->context, t->x, term->out);
    for (size_t i = 0; i < term->count; i++) {
        term->kept[i] = t->rhs[term->cell[i]];
        t->rhs[term->cell[i]] -= term->out[i];
    }
}

static void term_give_back(const Task *t) {
    const PoissonTerm *term = t->params->term;
    for (size_t i = 0; term && i < term->count; i++) t->rhs[term->cell[i]] = term->kept[i];
}

/// level[0].b = rhs - A x, after x got mean zero in closed components. Returns its largest entry.
static double true_residual(void *context) {
    Task *t = context;
    Poisson *s = t->solver;
    closed_remove_mean(s, t->x);
    term_take(t);
    team_for(t->team, s->active_count, TILES_A_THREAD, residual_of_tile, t);
    term_give_back(t);
    return largest_residual(s);
}

bool poisson_solve(Poisson *s, float *rhs, float *x, const PoissonParams *params,
                   PoissonReport *report) {
    bool plain = params->preconditioner == BRIM_PRECONDITIONER_JACOBI;
    Task task = {.solver = s,
                 .kernels = plain ? &poisson_kernels_ref : s->kernels,
                 .team = plain ? NULL : s->team,
                 .rhs = rhs,
                 .x = x,
                 .params = params};
    CgSystem system = plain ? jacobi_system(&task) : multigrid_system(&task);
    system.residual = true_residual, system.scale = largest_rhs, system.descent = DESCENT;
    closed_find_levels(s, params->term);
    closed_remove_mean(s, rhs);
    CgParams limits = {params->tolerance, params->reduction, params->max_iterations};
    CgReport out = cg_solve(&system, &limits);
    int singular = s->closed.count - s->closed.held + (s->closed.held ? s->closed.joint.open : 0);
    *report = (PoissonReport){out.iterations, out.residual, out.initial,
                              out.converged,  out.limited,  singular};
    return isfinite(report->residual);
}
