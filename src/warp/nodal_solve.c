#include "warp/nodal_solve.h"
#include "base/memory.h"
#include "solve/cg.h"
#include "solve/solve.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Of the damped steps: sum |K_ij| bounds the spectrum, so that anything below 2 is stable.
static const float DAMPING = 1.85f;
/// Of the cycle's answer: on bent cells the 7-point matrix, without what couples the axes, gives
/// too much. A positive factor keeps the preconditioner positive definite.
static const float CYCLE = 0.8f;
/// Part of its first residual at which a descent begins anew from the true one.
static const double DESCENT = 1e-5;
/// Down to this part of it what a descent says of its residual holds: single precision is off by a
/// hundredth of that at most.
static const double TRUSTED = 1e-4;

enum { VECTORS = 8 };
/// A few tiles keep one thread busy.
enum { TILES_A_THREAD = 4 };

struct NodalSolver {
    NodalOperator *op;
    Poisson *cycle; ///< on the 7-point matrix
    float *store;
    size_t store_capacity, cells;
    Team *team;
    float *r, *z, *y, *w, *p, *s, *e, *t; ///< [nodes]
    int32_t *active;                      ///< tiles that hold unknowns
    int active_count;
    CgDots *dots; ///< [active]
    double *most; ///< [active] largest weighted residual
    size_t active_capacity, dots_capacity, most_capacity;
    const float *b; ///< of the solve under way
    double *x;
    float alpha, beta;
    bool changed;       ///< e is not yet in x
    double first, left; ///< largest residual at the start of the descent, and now by its recurrence
    int32_t *component; ///< [node] of a closed component, from 1 on; 0: none
    int64_t *queue;
    size_t component_capacity, queue_capacity;
    int closed;
};

NodalSolver *nodal_solver_new(BrimIsa isa, Team *team) {
    NodalSolver *s = memory_zero(sizeof *s);
    if (!s) return NULL;
    s->team = team;
    s->cycle = poisson_new(isa, team, NULL);
    if (!s->cycle) free(s), s = NULL;
    return s;
}

void nodal_solver_free(NodalSolver **solver) {
    NodalSolver *s = *solver;
    if (!s) return;
    poisson_free(&s->cycle);
    free(s->store), free(s->component), free(s->queue);
    free(s->active), free(s->dots), free(s->most);
    free(s);
    *solver = NULL;
}

size_t nodal_solver_bytes(const NodalSolver *s) {
    return sizeof *s + poisson_bytes(s->cycle) + s->store_capacity * sizeof(float) +
           s->component_capacity * sizeof *s->component + s->queue_capacity * sizeof *s->queue +
           s->active_capacity * sizeof *s->active + s->dots_capacity * sizeof *s->dots +
           s->most_capacity * sizeof *s->most;
}

// ------------------------------------------------------------------------------ closed components

/// The coefficient between a node and its neighbour along a link, forward or backward; *other is
/// the neighbour, -1 where there is none.
static float link_between(const NodalOperator *op, int64_t node, int link, int sign,
                          int64_t *other) {
    const Grid *g = op->grid;
    const int64_t n = g->tile_cells;
    const int slot = (int)(node / n), i = (int)(node % n);
    const signed char *d = nodal_link[link];
    *other = grid_near(g, slot, (i & 7) + sign * d[0], (i >> 3 & 7) + sign * d[1],
                       (i >> 6) + sign * d[2]);
    if (*other < 0) return 0;
    int64_t from = sign > 0 ? node : *other, tile = from / n;
    return op->used[tile] ? op->link[(tile * op->links + link) * n + from % n] : 0;
}

/// Marks all nodes that hang together with those in the queue.
static void flood(NodalSolver *s, size_t count, int32_t mark) {
    for (size_t k = 0; k < count; k++)
        for (int link = 0; link < s->op->links; link++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int64_t other;
                float a = link_between(s->op, s->queue[k], link, sign, &other);
                if (a == 0 || s->component[other]) continue;
                s->component[other] = mark;
                s->queue[count++] = other;
            }
}

/// Numbers the closed components: what no anchored node hangs together with.
static void find_closed(NodalSolver *s) {
    const NodalOperator *op = s->op;
    size_t count = 0;
    memset(s->component, 0, s->cells * sizeof *s->component);
    for (size_t i = 0; i < s->cells; i++)
        if (op->used[i / (size_t)op->grid->tile_cells] && op->smooth[i] > 0 && op->anchor[i] != 0)
            s->component[i] = -1, s->queue[count++] = (int64_t)i;
    flood(s, count, -1);
    s->closed = 0;
    for (size_t i = 0; i < s->cells; i++) {
        if (!op->used[i / (size_t)op->grid->tile_cells] || op->smooth[i] == 0) continue;
        if (s->component[i]) continue;
        s->component[i] = ++s->closed, s->queue[0] = (int64_t)i;
        flood(s, 1, s->closed);
    }
}

/// Takes the mean of each closed component out of a field, which is float or double.
static void remove_means(const NodalSolver *s, float *single, double *twice) {
    for (int c = 1; c <= s->closed; c++) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < s->cells; i++)
            if (s->component[i] == c) sum += single ? (double)single[i] : twice[i], count++;
        for (size_t i = 0; i < s->cells; i++) {
            if (s->component[i] != c) continue;
            if (single)
                single[i] -= (float)(sum / count);
            else
                twice[i] -= sum / count;
        }
    }
}

/// Whether a node of K is no unknown of the 7-point matrix: all that it hangs on lies across.
static bool has_loose_nodes(const NodalSolver *s) {
    const NodalOperator *op = s->op;
    for (int k = 0; k < s->active_count; k++) {
        size_t n = (size_t)op->grid->tile_cells, at = (size_t)s->active[k] * n;
        for (size_t i = at; i < at + n; i++)
            if (op->smooth[i] > 0 && op->diag[i] == 0) return true;
    }
    return false;
}

static bool reserve(NodalSolver *s, size_t tiles) {
    return memory_fit((void **)&s->store, &s->store_capacity, sizeof(float), VECTORS * s->cells) &&
           memory_fit((void **)&s->active, &s->active_capacity, sizeof *s->active, tiles) &&
           memory_fit((void **)&s->dots, &s->dots_capacity, sizeof *s->dots, tiles) &&
           memory_fit((void **)&s->most, &s->most_capacity, sizeof *s->most, tiles);
}

static void each_tile(NodalSolver *s, TeamTask *task) {
    team_for(s->team, s->active_count, TILES_A_THREAD, task, s);
}

static void sum_rows_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    nodal_sum_rows(s->op, s->active[index]);
}

bool nodal_prepare(NodalSolver *s, NodalOperator *op) {
    const Grid *g = op->grid;
    s->op = op;
    s->cells = (size_t)g->tile_count * (size_t)g->tile_cells;
    if (!reserve(s, (size_t)g->tile_count)) return false;
    float **const vector[VECTORS] = {&s->r, &s->z, &s->y, &s->w, &s->p, &s->s, &s->e, &s->t};
    for (size_t k = 0; k < VECTORS; k++) *vector[k] = s->store + k * s->cells;
    s->active_count = 0;
    for (int slot = 0; slot < g->tile_count; slot++) {
        const size_t n = (size_t)g->tile_cells, at = (size_t)slot * n;
        if (op->used[slot]) s->active[s->active_count++] = slot;
        // beside what is multiplied by K, and no part of it
        if (!op->used[slot]) memset(s->z + at, 0, n * sizeof(float));
        if (!op->used[slot]) memset(s->y + at, 0, n * sizeof(float));
    }
    each_tile(s, sum_rows_tile);
    op->flagged = false;
    if (!poisson_prepare(s->cycle, g, op->used, op->edge[0], op->edge[1], op->edge[2], op->diag))
        return false;
    // A closed component of K is made of closed ones of the 7-point matrix.
    s->closed = 0;
    if (poisson_closed(s->cycle) == 0 && !has_loose_nodes(s)) return true;
    if (!memory_fit((void **)&s->component, &s->component_capacity, sizeof *s->component,
                    s->cells) ||
        !memory_fit((void **)&s->queue, &s->queue_capacity, sizeof *s->queue, s->cells))
        return false;
    find_closed(s);
    return true;
}

// ------------------------------------------------------------------------------------------ tasks

typedef struct Nodes {
    size_t from, to;
    int slot;
} Nodes;

static Nodes nodes_of(const NodalSolver *s, int index) {
    int slot = s->active[index];
    size_t n = (size_t)s->op->grid->tile_cells;
    return (Nodes){(size_t)slot * n, (size_t)(slot + 1) * n, slot};
}

/// max |r_i| weight_i of a tile, NaN when one is not finite.
static double largest_of(const NodalSolver *s, const float *r, Nodes n) {
    double most = 0;
    for (size_t i = n.from; i < n.to; i++)
        most = larger_of(most, fabs((double)r[i] * (double)s->op->weight[i]));
    return isfinite(most) ? most : NAN;
}

static double largest(const NodalSolver *s) {
    double most = 0;
    for (int k = 0; k < s->active_count; k++) most = larger_of(most, s->most[k]);
    return most;
}

static void measure_rhs(void *context, int index, int thread) {
    NodalSolver *s = context;
    s->most[index] = largest_of(s, s->b, nodes_of(s, index));
}

/// z = S r
static void smooth_nodes(NodalSolver *s, Nodes n) {
    for (size_t i = n.from; i < n.to; i++) s->z[i] = DAMPING * s->op->smooth[i] * s->r[i];
}

static void smooth_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    smooth_nodes(s, nodes_of(s, index));
}

/// w = r - K z, what the cycle works on
static void leave_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    nodal_apply(s->op, s->z, s->w, n.slot);
    for (size_t i = n.from; i < n.to; i++) s->w[i] = s->op->diag[i] > 0 ? s->r[i] - s->w[i] : 0;
}

/// z += CYCLE C w
static void correct_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    for (size_t i = n.from; i < n.to; i++) s->z[i] += s->op->diag[i] > 0 ? CYCLE * s->t[i] : 0;
}

/// y = z + S (r - K z)
static void finish_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    nodal_apply(s->op, s->z, s->y, n.slot);
    for (size_t i = n.from; i < n.to; i++)
        s->y[i] = s->z[i] + DAMPING * s->op->smooth[i] * (s->r[i] - s->y[i]);
}

/// w = K y with its dot products, summed by tile
static void apply_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    CgDots d = {0};
    nodal_apply(s->op, s->y, s->w, n.slot);
    for (size_t i = n.from; i < n.to; i++) {
        double y = (double)s->y[i];
        d.ry += y * (double)s->r[i], d.yw += y * (double)s->w[i], d.ys += y * (double)s->s[i];
    }
    s->dots[index] = d;
}

static void clear_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    for (size_t i = n.from; i < n.to; i++) s->e[i] = s->p[i] = s->s[i] = 0;
    smooth_nodes(s, n);
}

static void update_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    for (size_t i = n.from; i < n.to; i++) {
        s->p[i] = s->y[i] + s->beta * s->p[i];
        s->s[i] = s->w[i] + s->beta * s->s[i];
        s->e[i] += s->alpha * s->p[i];
        s->r[i] -= s->alpha * s->s[i];
    }
    s->most[index] = largest_of(s, s->r, n);
    smooth_nodes(s, n); // for the next iteration, while r is at hand
}

static void add_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    for (size_t i = n.from; i < n.to; i++) s->x[i] += (double)s->e[i];
}

static void residual_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    Nodes n = nodes_of(s, index);
    nodal_residual(s->op, s->b, s->x, s->r, n.slot);
    s->most[index] = largest_of(s, s->r, n);
}

static void measure_tile(void *context, int index, int thread) {
    NodalSolver *s = context;
    s->most[index] = largest_of(s, s->r, nodes_of(s, index));
}

// ------------------------------------------------------------------------------------------ solve

static double largest_rhs(void *context) {
    NodalSolver *s = context;
    each_tile(s, measure_rhs);
    return largest(s);
}

/// r = b - K x, after x got what the last descent found, and mean zero in closed components.
static double residual(void *context) {
    NodalSolver *s = context;
    const bool trusted = s->changed && !s->closed && s->left > TRUSTED * s->first;
    if (s->changed) each_tile(s, add_tile);
    s->changed = false;
    if (trusted) return s->left;
    remove_means(s, NULL, s->x);
    each_tile(s, residual_tile);
    if (s->closed) { // what rounding left of the mean of b
        remove_means(s, s->r, NULL);
        each_tile(s, measure_tile);
    }
    return s->first = largest(s);
}

/// A descent solves K e = r from e = 0.
static void begin(void *context) {
    NodalSolver *s = context;
    each_tile(s, clear_tile);
    s->changed = true, s->left = 0;
}

/// y = M r, with z = S r.
static double precondition(void *context) {
    NodalSolver *s = context;
    each_tile(s, leave_tile);
    poisson_cycle(s->cycle, true, s->w, s->t);
    each_tile(s, correct_tile);
    each_tile(s, finish_tile);
    return 0;
}

static CgDots apply(void *context, double beta) {
    NodalSolver *s = context;
    CgDots d = {0};
    (void)beta;
    each_tile(s, apply_tile);
    for (int k = 0; k < s->active_count; k++)
        d.ry += s->dots[k].ry, d.yw += s->dots[k].yw, d.ys += s->dots[k].ys;
    return d;
}

static double advance(void *context, double alpha, double beta) {
    NodalSolver *s = context;
    s->alpha = (float)alpha, s->beta = (float)beta;
    each_tile(s, update_tile);
    if (s->closed) {
        remove_means(s, s->r, NULL);
        each_tile(s, measure_tile);
        each_tile(s, smooth_tile);
    }
    return s->left = largest(s);
}

bool nodal_solve(NodalSolver *s, float *b, double *x, const NodalParams *params,
                 NodalReport *report) {
    CgSystem system = {s,    true,  DESCENT,      residual, largest_rhs,
                       NULL, begin, precondition, apply,    advance};
    CgParams limits = {params->tolerance, params->reduction, params->max_iterations};
    s->b = b, s->x = x, s->changed = false;
    remove_means(s, b, NULL);
    CgReport out = cg_solve(&system, &limits);
    *report = (NodalReport){out.iterations, out.residual, out.initial, out.converged, s->closed};
    return isfinite(report->residual);
}
