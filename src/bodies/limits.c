// No pass may carry a body through a wall, however heavy the one that presses it: the penalty of
// contact.c is a Newton step of what touches now, and where passes do not settle the last may end
// in a wall that it did not see. What a pass came to is brought back by impulses, each one-sided,
// that hold all vertices of all bodies at least where they may be:
//   v += A^-1 sum of J_i^T p_i,   p_i >= 0,   gap_i + dn J_i dv >= least_i,   one of the two equal
// by projected Gauss-Seidel. A is that of the pass, so that bodies that touch give way together.
// Walls do not move by it, and none is asked for more than rest would do: nothing gains energy.
#include "base/memory.h"
#include "bodies/bodies.h"
#include "bodies/contact.h"
#include "elastic/dense.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Depth that is left to the penalty, in cells; how exactly it is kept.
static const double ALLOWED = 0.1, EXACT = 0.01;
/// Impulses bring new vertices into walls: rounds of looking for them, and sweeps of each.
enum { ROUNDS = 4, SWEEPS = 200 };

typedef struct Limit {
    double gap, least; ///< m at the end of the step: at v as the pass left it; allowed
    double give;       ///< s/kg: gap per impulse
    double impulse;    ///< kg m/s
} Limit;

typedef struct Limits {
    Limit *limit;
    double *row; ///< [limits][2][n] J, A^-1 J^T
    double *v;   ///< [n] change of all bodies' v
    size_t count, room, row_room;
    int n;        ///< numbers of all bodies
    bool crossed; ///< one of them is not kept
    double dn, dx;
} Limits;

static int numbers_before(const Bodies *b, int body) {
    int n = 0;
    for (int k = 0; k < body; k++) n += b->body[k].elastic->dofs;
    return n;
}

static bool add_limit(BrimSim *s, const Vertex *x, const Touch *t, void *context) {
    Limits *l = context;
    size_t n = (size_t)l->n;
    if (!memory_grow((void **)&l->limit, &l->room, sizeof *l->limit, l->count + 1, l->count) ||
        !memory_grow((void **)&l->row, &l->row_room, sizeof *l->row, 2 * n * (l->count + 1),
                     2 * n * l->count))
        return false;
    const Body *b = &s->bodies->body[x->body];
    const float *at = b->row + x->vertex * (size_t)b->elastic->r;
    double *row = l->row + 2 * n * l->count, gap = CONTACT_SKIN * l->dx - t->depth, still = gap;
    for (int a = 0; a < s->dim; a++) still -= l->dn * t->normal[a] * (x->v[a] - t->speed[a]);
    double least = fmin(-ALLOWED * l->dx, fmin(t->start, still));
    l->limit[l->count++] = (Limit){.gap = gap, .least = least};
    l->crossed |= gap < least - EXACT * l->dx;
    memset(row, 0, 2 * n * sizeof *row);
    row += numbers_before(s->bodies, x->body);
    for (int i = 0; i < b->elastic->r; i++)
        for (int a = 0; a < b->dim; a++) row[i * b->dim + a] = at[i] * t->normal[a];
    return true;
}

/// `step` of all bodies <=> numbers [n].
static void copy_steps(const Bodies *b, double *numbers, bool out) {
    for (int k = 0; k < b->count; k++) {
        size_t size = (size_t)b->body[k].elastic->dofs * sizeof *numbers;
        memcpy(out ? numbers : b->body[k].step, out ? b->body[k].step : numbers, size);
        numbers += b->body[k].elastic->dofs;
    }
}

/// A^-1 J^T of all.
static void find_answers(const Bodies *b, Limits *l) {
    for (size_t i = 0; i < l->count; i++) {
        double *row = l->row + 2 * (size_t)l->n * i, *answer = row + l->n;
        copy_steps(b, row, false);
        joint_comply(b);
        copy_steps(b, answer, true);
        l->limit[i].give = l->dn * dense_dot(row, answer, l->n);
    }
}

/// The deepest that a sweep found, m.
static double sweep(Limits *l) {
    double deepest = 0;
    for (size_t i = 0; i < l->count; i++) {
        Limit *t = &l->limit[i];
        const double *row = l->row + 2 * (size_t)l->n * i;
        if (!(t->give > 0)) continue;
        double lack = t->least - t->gap - l->dn * dense_dot(row, l->v, l->n);
        double impulse = fmax(0, t->impulse + lack / t->give), more = impulse - t->impulse;
        t->impulse = impulse;
        for (int k = 0; more != 0 && k < l->n; k++) l->v[k] += more * row[l->n + k];
        deepest = fmax(deepest, lack);
    }
    return deepest;
}

/// (v, change, limit) of all bodies += what the limits ask for.
static void take_limits(Bodies *b, const Limits *l, double kick) {
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        int first = numbers_before(b, k);
        for (int i = 0; i < body->elastic->dofs; i++) {
            body->elastic->v[i] += l->v[first + i];
            body->change[i] += l->v[first + i];
            for (size_t t = 0; t < l->count; t++)
                body->limit[i] +=
                    l->limit[t].impulse * l->row[2 * (size_t)l->n * t + (size_t)(first + i)] / kick;
        }
    }
}

bool contact_limit(BrimSim *s, double kick) {
    Bodies *b = s->bodies;
    Limits l = {.dn = contact_time(b->body[0].elastic), .dx = s->dx};
    l.n = numbers_before(b, b->count);
    for (int k = 0; k < b->count; k++)
        memset(b->body[k].limit, 0, (size_t)b->body[k].elastic->dofs * sizeof(double));
    l.v = malloc((size_t)l.n * sizeof *l.v);
    bool ok = l.v != NULL;
    for (int round = 0; ok && round < ROUNDS; round++) {
        l.count = 0, l.crossed = false;
        ok = contact_visit(s, true, &(TouchVisit){add_limit, &l});
        if (!ok || !l.crossed) break;
        find_answers(b, &l);
        memset(l.v, 0, (size_t)l.n * sizeof *l.v);
        for (int n = 0; n < SWEEPS && sweep(&l) > EXACT * l.dx; n++) {
        }
        take_limits(b, &l, kick);
    }
    free(l.limit), free(l.row), free(l.v);
    return ok;
}
