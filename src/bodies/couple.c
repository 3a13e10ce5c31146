#include "base/error.h"
#include "base/memory.h"
#include "base/timer.h"
#include "bodies/bodies.h"
#include "bodies/contact.h"
#include "bodies/pins.h"
#include "bodies/shear.h"
#include "bodies/sums.h"
#include "elastic/dense.h"
#include "step/stages.h"
#include "step/system.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Passes but for the last are solved to this part of the right-hand side.
static const double EARLY = 1e-2;
/// Forces are sums over many cells, so each must be solved better than the flow alone needs.
static const double TIGHTER = 0.1;
/// A pass that changed no body's velocity by more than this part of what the kick changed is the
/// last.
static const double SETTLED = 0.02;
/// A pass went too far when it ends uphill by more than this part of the slope that it began with.
static const double UPHILL = 0.3;
/// Passes: at least, and until they settle at most; how often one is shortened.
enum { MORE = 4, PASSES = 2, PASSES_MOST = 16, HALVINGS = 8 };

/// [dim][r] => [r][dim]
static void by_number(const Body *body, const double *from, double *to) {
    int r = body->elastic->r, dim = body->dim;
    for (int i = 0; i < r; i++)
        for (int a = 0; a < dim; a++) to[i * dim + a] = from[a * r + i];
}

/// Z x: see PoissonTerm.
static double apply(void *context, const float *x, float *out) {
    Bodies *b = context;
    double dot = 0, begin = timer_ms();
    memset(out, 0, b->cell_count * sizeof *out);
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        double v[ELASTIC_DOFS_MOST];
        walls_pull(b, body, x, v);
        by_number(body, v, body->pulled);
        memcpy(body->step, body->pulled, (size_t)body->elastic->dofs * sizeof *body->step);
    }
    joint_comply(b);
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        double v[ELASTIC_DOFS_MOST];
        dot += b->mass * dense_dot(body->pulled, body->step, body->elastic->dofs);
        body_by_component(body, body->step, v);
        walls_push(body, b->mass, v, out);
    }
    b->ms += timer_ms() - begin;
    return dot;
}

/// Part of what walls could do to a component's volume, if all of them moved outwards, below which
/// the sum of what they do is nothing but cut cells that turn.
static const double SAME_VOLUME = 3e-3;

/// See PoissonTerm: whether the bodies can change the volume of a component.
static double level(void *context, const float *x) {
    Bodies *b = context;
    double swell = 0, most = 0;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        double v[ELASTIC_DOFS_MOST], sum = 0;
        size_t r = (size_t)body->elastic->r;
        walls_pull(b, body, x, v);
        by_number(body, v, body->pulled);
        swell += elastic_follows(body->elastic, body->pulled);
        for (size_t n = 0; n < body->cell_count; n++) {
            const float *row = body->cell_row + n * r, *push = body->cell[n].push;
            double size = 0, area = 0;
            if (x[b->cell[body->cell[n].at]] == 0) continue;
            for (size_t i = 0; i < r; i++) size += (double)row[i] * row[i];
            for (int a = 0; a < body->dim; a++) area += (double)push[a] * push[a];
            sum += sqrt(size * area);
        }
        most += sum * sum;
    }
    return swell > SAME_VOLUME * SAME_VOLUME * most ? apply(b, x, b->out) : 0;
}

// -------------------------------------------------------------------------------------- passes

/// Part of the weight of the liquid beside a cell that its pressure holds, along an axis: in free
/// fall there is none, and no head.
static double held_part(const BrimSim *s, int64_t row, int axis, double kick, double g) {
    TileCoord c = s->projection.system.coord[row / s->grid.tile_cells];
    int slot = grid_slot(&s->grid, c.x, c.y, c.z), in = (int)(row % s->grid.tile_cells);
    int64_t cell = (int64_t)slot * s->grid.tile_cells + in;
    double slope = 0;
    int n = 0;
    for (int side = -1; side <= 1; side += 2) {
        int64_t next = grid_step(&s->grid, slot, in, axis, side);
        int64_t beside = next < 0 ? -1 : wet_cell(s, next);
        if (beside < 0 || !system_has(s, beside)) continue;
        float open = open_part(s, axis, side > 0 ? next : cell);
        if (open == 0) continue;
        slope += side * ((double)s->pressure[beside] - s->pressure[row]), n++;
    }
    // q = p kick / (rho dx): the slope of p over rho g
    double part = n ? slope / (n * kick * g) : 0;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

typedef struct Heads {
    const BrimSim *s;
    const Body *body;
    double g[3], kick;
} Heads;
enum { CELLS_A_TASK = 128 };

/// What the pressure on the wall differs from that in the middle of its cell, times the area that
/// is closed there along each axis: cell_work [dim][cells], N.
static void find_heads(void *context, int piece, int thread) {
    const Heads *h = context;
    const BrimSim *s = h->s;
    const Bodies *b = s->bodies;
    size_t count = h->body->cell_count, from = (size_t)piece * CELLS_A_TASK;
    (void)thread;
    for (size_t n = from; n < from + CELLS_A_TASK && n < count; n++) {
        const BodyCell *c = &h->body->cell[n];
        double head = 0;
        for (int a = 0; a < s->dim; a++)
            if (h->g[a] != 0)
                head += h->g[a] * c->head[a] * held_part(s, b->cell[c->at], a, h->kick, h->g[a]);
        head *= b->mass / s->dx; // density times the area of a face
        for (int a = 0; a < s->dim; a++)
            h->body->cell_work[(size_t)a * count + n] = head * c->area[a];
    }
}

/// Weight, and what the pressure on the wall differs from that in the middle of its cell.
static void outer_forces(const BrimSim *s, Body *body, BrimVec3 gravity, double kick) {
    const Elastic *e = body->elastic;
    Heads heads = {s, body, {gravity.x, gravity.y, gravity.z}, kick};
    double sum[ELASTIC_DOFS_MOST];
    team_for(s->team, team_parts(body->cell_count, CELLS_A_TASK), 1, find_heads, &heads);
    sum_kernels()->pull(s->dim, body->cell_count, e->r, e->r, body->cell_work, body->cell_row, sum);
    by_number(body, sum, body->head);
    memcpy(body->force, body->head, (size_t)e->dofs * sizeof *body->force);
    elastic_add_gravity(e, heads.g, body->force);
}

/// All forces but elastic ones, without the pressure, at v; A, right-hand sides and residuals.
/// False when a body broke down, or out of memory.
static bool prepare(BrimSim *s, double kick) {
    Bodies *b = s->bodies;
    if (!bodies_held(s, kick)) return false;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        Elastic *e = body->elastic;
        double f[ELASTIC_DOFS_MOST];
        for (int i = 0; i < e->dofs; i++) f[i] = body->force[i] + body->contact[i] + body->hand[i];
        if (!elastic_prepare(e, f, body->touching ? body->extra : NULL, body->step)) return false;
        for (int i = 0; i < e->dofs; i++)
            body->residual[i] = e->params.rigid ? e->w[i] + kick * f[i] - e->v[i] : body->step[i];
    }
    return true;
}

/// What is left of the impulses, along the last pass's change of velocity: positive as long as that
/// goes down in energy.
static double downhill(const Bodies *b) {
    double sum = 0;
    for (int k = 0; k < b->count; k++) {
        const Body *body = &b->body[k];
        const Elastic *e = body->elastic;
        for (int i = 0; i < e->dofs; i++)
            sum += body->change[i] * (body->residual[i] + e->kick * body->pressure[i]);
    }
    return sum;
}

/// Contact comes and goes within a pass: where the last one went too far, uphill again, part of it
/// is taken back. before: downhill() where it began. False as prepare.
static bool take_back(BrimSim *s, double kick, double before) {
    Bodies *b = s->bodies;
    double low = 0, high = 1, at = 1, now = downhill(b), at_high = now, at_low = before;
    for (int n = 0; n < HALVINGS && now < -UPHILL * before; n++) {
        double part = at_low / (at_low - at_high), next;
        next = low + (high - low) * fmin(fmax(part, 0.1), 0.9);
        for (int k = 0; k < b->count; k++) {
            Body *body = &b->body[k];
            for (int i = 0; i < body->elastic->dofs; i++)
                body->elastic->v[i] += (next - at) * body->change[i];
        }
        if (!prepare(s, kick)) return false;
        at = next, now = downhill(b);
        if (now < 0)
            high = at, at_high = now;
        else
            low = at, at_low = now;
    }
    return true;
}

/// v_free of all bodies, and flow of the cells. False when a body broke down.
static bool iterate(BrimSim *s) {
    Bodies *b = s->bodies;
    for (size_t i = 0; i < b->cell_count; i++) b->flow[i] = -b->sway[i];
    if (!joint_step(b)) return false;
    for (int k = 0; k < b->count; k++)
        if (b->body[k].first < 0 && !elastic_factor(b->body[k].elastic)) return false;
    joint_comply(b);
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        double v[ELASTIC_DOFS_MOST];
        memcpy(body->work, body->elastic->v, (size_t)body->elastic->dofs * sizeof *body->work);
        elastic_take(body->elastic, body->step);
        body_by_component(body, body->elastic->v, v);
        walls_push(body, 1, v, b->flow);
    }
    return true;
}

/// v = v_free + rho dx^d A^-1 B^T q
static void take_pressure(BrimSim *s) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        double v[ELASTIC_DOFS_MOST];
        walls_pull(b, body, s->pressure, v);
        by_number(body, v, body->step);
        for (int i = 0; i < body->elastic->dofs; i++)
            body->pressure[i] = b->mass * body->step[i] / body->elastic->kick;
    }
    joint_comply(b);
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        Elastic *e = body->elastic;
        for (int i = 0; i < e->dofs; i++) {
            e->v[i] += b->mass * body->step[i];
            body->change[i] = e->v[i] - body->work[i];
        }
    }
}

/// Contact and hands at the velocity that came out: see elastic_iterate.
static void settle_forces(BrimSim *s) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        const Elastic *e = body->elastic;
        double change[ELASTIC_DOFS_MOST], v[ELASTIC_DOFS_MOST];
        if (!body->touching) continue;
        for (int i = 0; i < e->dofs; i++) v[i] = e->v[i] - body->work[i];
        dense_apply(body->extra, e->dofs, e->dofs, v, change);
        joint_follow(b, k, change);
        for (int i = 0; i < e->dofs; i++) body->contact[i] += body->hand[i] - change[i] / e->kick;
    }
    hands_follow(s);
    pins_follow(s);
    for (int k = 0; k < b->count; k++)
        for (int i = 0; i < b->body[k].elastic->dofs && b->body[k].touching; i++)
            b->body[k].contact[i] -= b->body[k].hand[i];
    shear_settle(s);
}

/// Ends the kick; flow => of the final velocities.
static void finish(BrimSim *s) {
    Bodies *b = s->bodies;
    settle_forces(s);
    for (int k = 0; k < b->count; k++)
        for (int i = 0; i < b->body[k].elastic->dofs; i++)
            b->body[k].contact[i] += b->body[k].limit[i];
    for (size_t i = 0; i < b->cell_count; i++) b->flow[i] = -b->sway[i];
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        Elastic *e = body->elastic;
        double f[ELASTIC_DOFS_MOST], v[ELASTIC_DOFS_MOST];
        for (int i = 0; i < e->dofs; i++)
            f[i] = body->force[i] + body->contact[i] + body->hand[i] + body->pressure[i] +
                   body->shear[i];
        elastic_end(e, f, b->count == 1 && body->cell_count == 0 && !body->touching);
        body_by_component(body, e->v, v);
        walls_push(body, 1, v, b->flow);
    }
}

/// Whether the last pass hardly changed the velocities: by what the kick changed, and where contact
/// comes and goes by what weight alone would, for elastic impulses are much larger there.
static bool settled(const Bodies *b) {
    for (int k = 0; k < b->count; k++) {
        const Body *body = &b->body[k];
        const Elastic *e = body->elastic;
        double change = 0, kick = 0, weight = 0;
        for (int i = 0; i < e->dofs; i++) {
            change += (e->v[i] - body->work[i]) * (e->v[i] - body->work[i]);
            kick += (e->v[i] - e->w[i]) * (e->v[i] - e->w[i]);
            weight += e->kick * e->kick * body->force[i] * body->force[i];
        }
        if (body->touching && weight > 0 && weight < kick) kick = weight;
        if (change > SETTLED * SETTLED * kick + 1e-12 * e->mass) return false;
    }
    return true;
}

static bool touching(const Bodies *b) {
    bool any = false;
    for (int k = 0; k < b->count; k++) any |= b->body[k].touching;
    return any;
}

bool bodies_solve(BrimSim *s, double kick, const PoissonParams *params, PoissonReport *report,
                  bool *memory) {
    Bodies *b = s->bodies;
    BrimVec3 g = gravity_at(s, s->velocity_time - 0.5 * kick);
    double begin = timer_ms();
    b->mass = s->def.density * s->cell_volume;
    b->counted = false;
    *memory = !walls_gather(s) || !shear_gather(s, kick);
    if (*memory) return false;
    walls_enclose(s);
    PoissonTerm term = {apply, level, b, b->cell_count, b->cell, b->out, b->kept};
    int iterations = 0;
    for (int k = 0; k < b->count; k++) {
        elastic_begin(b->body[k].elastic, s->dt_next, kick);
        folds_find(s, &b->body[k]);
        outer_forces(s, &b->body[k], g, kick);
    }
    double before = 0, solving = 0;
    b->ms = 0;
    for (int pass = 0; pass < PASSES || (pass < PASSES_MOST && !settled(b)); pass++) {
        for (size_t i = 0; i < b->cell_count; i++) s->rhs[b->cell[i]] += b->flow[i];
        // what has not settled by now may want its own stiffness
        for (int k = 0; pass == PASSES && k < b->count; k++) b->body[k].elastic->at_dn = 0;
        walls_follow(s, s->dt_next);
        if (!prepare(s, kick) || (before > 0 && touching(b) && !take_back(s, kick, before)) ||
            !iterate(s))
            return false;
        for (size_t i = 0; i < b->cell_count; i++) s->rhs[b->cell[i]] -= b->flow[i];
        PoissonParams p = *params;
        p.term = &term;
        p.tolerance *= TIGHTER;
        p.max_iterations *= MORE; // soft bodies beside pockets of water that hardly open
        if (pass + 1 < PASSES) p.reduction = EARLY;
        double start = timer_ms();
        if (!poisson_solve(s->projection.poisson, s->rhs, s->pressure, &p, report)) return false;
        solving += timer_ms() - start;
        iterations += report->iterations;
        take_pressure(s);
        // a pressure that was not found says nothing of where walls are in the way
        *memory = report->converged && !contact_limit(s, kick);
        if (*memory) return false;
        before = downhill(b);
    }
    *memory = !report->converged && !contact_limit(s, kick);
    if (*memory) return false;
    report->iterations = iterations;
    report->converged |= report->residual <= params->tolerance; // what the flow needs
    finish(s);
    for (int k = 0; k < b->count; k++) body_speeds(&b->body[k]);
    b->counted = true;
    double own = timer_ms() - begin - (solving - b->ms);
    s->stats.ms[BRIM_STAGE_BODIES] += own, s->stats.ms[BRIM_STAGE_PROJECT] -= own;
    return true;
}
