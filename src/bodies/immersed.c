#include "bodies/immersed.h"
#include "base/error.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "bodies/contact.h"
#include "bodies/pins.h"
#include "elastic/dense.h"
#include "elastic/rows.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Liquid nearer than this to a body does not move towards it, and bodies neither, in cells: rules
/// (14) and (15).
static const float NEAR = 0.5f;
/// Part of its depth inside another by which a body comes out in a step.
static const float RECOVER = 0.25f;
/// Liquid inside a body moves out by no more than this in a step, cells.
static const float PUSH_MOST = 0.5f;
/// And comes to lie so far outside, cells.
static const float CLEAR = 0.05f;
/// Newton's iterations of an elastic step.
enum { ITERATIONS = 2 };

bool bodies_immersed(const BrimSim *s) {
    return s->bodies && s->bodies->count > 0 && s->bodies->body[0].twins;
}

double immersed_speed(const BrimSim *s) {
    float most = 0;
    for (int k = 0; k < s->bodies->count; k++) most = fmaxf(most, s->bodies->body[k].fastest);
    return most;
}

// ----------------------------------------------------------------------- distance to a body

/// Distance and unit normal, out of the body.
static float outside(const Body *b, const float p[3], float normal[3]) {
    float h = 0.25f * b->dx, x[7], y[7], z[7], d[7], length = 0;
    for (int i = 0; i < 7; i++) x[i] = p[0], y[i] = p[1], z[i] = p[2];
    x[1] += h, x[2] -= h, y[3] += h, y[4] -= h, z[5] += h, z[6] -= h;
    body_distance(b, b->dim == 3 ? 7 : 5, x, y, z, d);
    for (int a = 0; a < 3; a++) normal[a] = a < b->dim ? d[2 * a + 1] - d[2 * a + 2] : 0;
    for (int a = 0; a < 3; a++) length += normal[a] * normal[a];
    length = sqrtf(length);
    for (int a = 0; a < 3; a++) normal[a] = length > 0 ? normal[a] / length : 0;
    return d[0];
}

/// Whether a point is no farther from a body's bounds than `margin`, m.
static bool near_bounds(const Body *b, const float p[3], float margin) {
    for (int a = 0; a < b->dim; a++)
        if (p[a] < b->low[a] - margin || p[a] > b->high[a] + margin) return false;
    return true;
}

// --------------------------------------------------------------------------------- twins come

/// Nodes of a body's lattice from its numbers: node [dim][nodes] = U x. context of loops over
/// nodes.
typedef struct Spreading {
    const Body *body;
    const double *x; ///< [dim][r]
} Spreading;

enum { NODES_A_TASK = 64, TWINS_A_TASK = 256 };

static void spread_nodes(void *context, int item, int thread) {
    const Spreading *job = context;
    const Elastic *e = job->body->elastic;
    int count = e->lattice.node_count, end = (item + 1) * NODES_A_TASK;
    (void)thread;
    for (int n = item * NODES_A_TASK; n < end && n < count; n++)
        for (int a = 0; a < e->dim; a++)
            job->body->twins->node[a * count + n] =
                dense_dot(e->basis + (size_t)n * (size_t)e->r, job->x + a * e->r, e->r);
}

/// A value of nodes at a twin.
static void at_twin(const Body *b, size_t i, double out[3]) {
    const Lattice *l = &b->elastic->lattice;
    const Twins *t = b->twins;
    const int32_t *node = l->node + (size_t)t->element[i] * (size_t)l->per_element;
    const float *value = t->value + i * (size_t)l->per_element;
    out[0] = out[1] = out[2] = 0;
    for (int k = 0; k < l->per_element; k++)
        for (int a = 0; a < l->dim; a++)
            out[a] += (double)value[k] * t->node[a * l->node_count + node[k]];
}

/// node = U x, x [r][dim]
static void spread(BrimSim *s, Body *b, const double *x) {
    const Elastic *e = b->elastic;
    double by_axis[ELASTIC_DOFS_MOST];
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < e->dim; a++) by_axis[a * e->r + i] = x[i * e->dim + a];
    Spreading job = {b, by_axis};
    team_for(s->team, (e->lattice.node_count + NODES_A_TASK - 1) / NODES_A_TASK, 1, spread_nodes,
             &job);
}

/// Twins' places from the body's numbers.
static void place_twins(BrimSim *s, Body *b) {
    Twins *t = b->twins;
    float low[3], high[3];
    domain_box(s, low, high);
    spread(s, b, b->elastic->d);
    for (size_t i = 0; i < t->count; i++) {
        double d[3];
        at_twin(b, i, d);
        t->within[i] = true;
        for (int a = 0; a < s->dim; a++) {
            float end = (float)s->grid.cells[a] * s->dx, x = t->rest[i][a] + (float)d[a];
            // a wall stops a body with no more than that of it beyond
            float beyond[2] = {s->sides.open[2 * a] ? 0 : -0.5f * s->dx,
                               s->sides.open[2 * a + 1] ? end : end + 0.5f * s->dx};
            if (x < beyond[0] || x >= beyond[1]) t->within[i] = false;
            t->place[i][a] = fminf(fmaxf(x, low[a]), high[a]);
        }
        t->place[i][2] = s->dim == 3 ? t->place[i][2] : 0;
    }
}

/// Puts a point inside a body on its surface, or as far that way as may be.
static void to_surface(const Body *b, float most, float p[3]) {
    float n[3], d = outside(b, p, n), by = fminf(CLEAR * b->dx - d, most);
    for (int a = 0; a < 3; a++) p[a] += by * n[a];
}

/// Liquid that is at `at` and came by `way`, relative to the body, stays outside of it: where it
/// would go in it stops, on that side. What was inside leaves on the side that was nearest. False
/// when nothing is in its way.
static bool leave_body(const Body *b, const float way[3], float at[3]) {
    float n[3], d, from[3], length = 0, along = 0;
    for (int a = 0; a < 3; a++) length += way[a] * way[a], from[a] = at[a] - way[a];
    length = sqrtf(length);
    if (!near_bounds(b, at, length)) return false;
    body_distance(b, 1, &at[0], &at[1], &at[2], &d);
    if (d >= length + CLEAR * b->dx) return false;
    if (outside(b, from, n) < 0) {
        for (int a = 0; a < 3; a++) along += way[a] * n[a];
        if (d >= 0 && along >= 0) return false; // on its way out
        memcpy(at, from, sizeof from);
        to_surface(b, PUSH_MOST * b->dx, at);
        return true;
    }
    int pieces = (int)fminf(ceilf(2 * length / b->dx), 16);
    for (int k = 1; k <= pieces; k++) {
        float p[3];
        for (int a = 0; a < 3; a++) p[a] = from[a] + way[a] * (float)k / (float)pieces;
        body_distance(b, 1, &p[0], &p[1], &p[2], &d);
        if (d >= 0) continue;
        memcpy(at, p, sizeof p);
        to_surface(b, INFINITY, at);
        return true;
    }
    return false;
}

bool immersed_remember(BrimSim *s) {
    Bodies *b = s->bodies;
    const Particles *p = &s->particles;
    if (!memory_fit((void **)&b->before, &b->before_room, 3 * sizeof *b->before, p->count + 1))
        return false;
    b->before_count = p->count;
    for (size_t a = 0; a < 3 && p->count; a++)
        memcpy(b->before + a * p->count, p->attr[ATTR_X + a], p->count * sizeof *b->before);
    return true;
}

/// Moves liquid out of bodies before it is sorted.
typedef struct Pushing {
    BrimSim *s;
    float time; ///< that bodies moved for since the liquid's places were remembered, s
} Pushing;

static void push_liquid(void *context, int item, int thread) {
    const Pushing *job = context;
    const BrimSim *s = job->s;
    const Particles *p = &s->particles;
    const Bodies *bodies = s->bodies;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL);
    size_t end = (size_t)(item + 1) * TWINS_A_TASK, known = bodies->before_count;
    float low[3], high[3];
    (void)thread;
    domain_box(s, low, high);
    for (size_t i = (size_t)item * TWINS_A_TASK; i < end && i < p->count; i++) {
        float at[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]}, way[3] = {0};
        if (p->key[i] >= KEY_GONE || material[i]) continue;
        bool moved = false;
        for (int k = 0; k < bodies->count; k++) {
            const Body *b = &bodies->body[k];
            float length = job->time * b->fastest;
            for (int a = 0; a < s->dim && i < known; a++)
                way[a] = at[a] - bodies->before[(size_t)a * known + i], length += fabsf(way[a]);
            if (!b->twins->keep_out || !near_bounds(b, at, length)) continue;
            BrimVec3 v = body_velocity(b, at);
            const float wall[3] = {v.x, v.y, v.z};
            for (int a = 0; a < s->dim; a++) way[a] -= job->time * wall[a];
            moved |= leave_body(b, way, at);
        }
        if (!moved) continue;
        for (int a = 0; a < s->dim; a++)
            p->attr[ATTR_X + a][i] = at[a] = fminf(fmaxf(at[a], low[a]), high[a]);
        p->key[i] = cell_key(&s->grid, s->space, at[0], at[1], at[2]);
        for (int a = 0; a < s->dim; a++) // beyond an open side
            if (at[a] < 0 || at[a] >= (float)s->grid.cells[a] * s->dx) p->key[i] = KEY_LEFT;
    }
}

static void push_all(BrimSim *s, double time) {
    Pushing job = {s, (float)time};
    team_for(s->team, (int)((s->particles.count + TWINS_A_TASK - 1) / TWINS_A_TASK), 4, push_liquid,
             &job);
}

static void append_twins(BrimSim *s, int index) {
    const Twins *t = s->bodies->body[index].twins;
    Particles *p = &s->particles;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->within[i]) continue;
        size_t at = p->count++;
        for (int a = 0; a < 3; a++) {
            p->attr[ATTR_X + a][at] = t->place[i][a];
            p->attr[ATTR_VX + a][at] = 0;
        }
        for (int k = ATTR_AFFINE; p->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
            p->attr[k][at] = 0;
        particle_words(p, ATTR_ID)[at] = (uint32_t)i;
        particle_start(p, at, 0);
        p->attr[ATTR_MASS][at] = t->mass;
        particle_words(p, ATTR_MATERIAL)[at] = (uint32_t)index + 1;
        p->key[at] = cell_key(&s->grid, s->space, t->place[i][0], t->place[i][1], t->place[i][2]);
    }
}

BrimResult stage_immerse(BrimSim *s, BrimError *error) {
    size_t all = s->particles.count;
    for (int k = 0; k < s->bodies->count; k++) {
        place_twins(s, &s->bodies->body[k]);
        all += s->bodies->body[k].twins->count;
    }
    if (s->primed) push_all(s, s->dt);
    if (!particles_reserve(&s->particles, all)) return step_out_of_memory(s, "immerse", error);
    for (int k = 0; k < s->bodies->count; k++) append_twins(s, k);
    return BRIM_OK;
}

// -------------------------------------------------------------------------------------- density

static void rigid_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileCoord c = g->coord[slot];
    TileMask rigid = {{0}};
    (void)thread, (void)context;
    for (int k = 0; k < s->bodies->count; k++) {
        const Body *b = &s->bodies->body[k];
        float low[3] = {(float)(c.x * TILE) * s->dx, (float)(c.y * TILE) * s->dx,
                        (float)(c.z * TILE) * s->dx};
        bool far = false;
        for (int a = 0; a < s->dim; a++)
            far |= low[a] > b->high[a] || low[a] + TILE * s->dx < b->low[a];
        if (far) continue;
        for (int r = 0; r < g->tile_rows; r++) {
            float x[TILE], y[TILE], z[TILE], d[TILE];
            for (int i = 0; i < TILE; i++) {
                x[i] = low[0] + ((float)i + 0.5f) * s->dx;
                y[i] = low[1] + ((float)(r & 7) + 0.5f) * s->dx;
                z[i] = s->dim == 3 ? low[2] + ((float)(r >> 3) + 0.5f) * s->dx : 0;
            }
            body_distance(b, TILE, x, y, z, d);
            for (int i = 0; i < TILE; i++)
                if (d[i] < 0) rigid.slice[r >> 3] |= (uint64_t)1 << ((r & 7) * TILE + i);
        }
    }
    mask_store(g, s->rigid, slot, &rigid);
}

void immersed_rigid(BrimSim *s) {
    tiles_for(s, rigid_tile, NULL);
}

static void restore_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL), *id = particle_words(p, ATTR_ID);
    (void)thread, (void)context;
    for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++) {
        if (!material[i]) continue;
        const float *at = s->bodies->body[material[i] - 1].twins->place[id[i]];
        for (int a = 0; a < s->dim; a++) p->attr[ATTR_X + a][i] = at[a];
        p->key[i] = cell_key(&s->grid, s->space, at[0], at[1], at[2]);
    }
}

void immersed_restore(BrimSim *s) {
    tiles_for(s, restore_tile, NULL);
    push_all(s, 0);
}

// --------------------------------------------------------------------------------- elastic step

/// One pass under weight, walls and solids, hands and pins. False when a body broke down.
static bool iterate(BrimSim *s, double kick) {
    Bodies *b = s->bodies;
    if (!bodies_held(s, kick)) return false;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        Elastic *e = body->elastic;
        double f[ELASTIC_DOFS_MOST];
        memcpy(body->work, e->v, (size_t)e->dofs * sizeof *e->v);
        for (int i = 0; i < e->dofs; i++) f[i] = body->force[i] + body->contact[i] + body->hand[i];
        if (!elastic_iterate(e, f, body->touching ? body->extra : NULL)) return false;
    }
    return true;
}

/// Contact, hands and pins at the velocity that came out.
static void settle_forces(BrimSim *s) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        const Elastic *e = body->elastic;
        double change[ELASTIC_DOFS_MOST], v[ELASTIC_DOFS_MOST];
        if (!body->touching) continue;
        for (int i = 0; i < e->dofs; i++) v[i] = e->v[i] - body->work[i];
        dense_apply(body->extra, e->dofs, e->dofs, v, change);
        for (int i = 0; i < e->dofs; i++) body->contact[i] += body->hand[i] - change[i] / e->kick;
    }
    hands_follow(s);
    pins_follow(s);
    for (int k = 0; k < b->count; k++)
        for (int i = 0; i < b->body[k].elastic->dofs && b->body[k].touching; i++)
            b->body[k].contact[i] -= b->body[k].hand[i];
}

/// Velocities of twins by v*, and what of them the particles carry. g: gravity's kick, m/s
static void send_twins(BrimSim *s, Body *b, const float g[3]) {
    Twins *t = b->twins;
    spread(s, b, b->elastic->v);
    for (size_t i = 0; i < t->count; i++) {
        double v[3];
        at_twin(b, i, v);
        for (int a = 0; a < 3; a++)
            t->speed[i][a] = (float)v[a], t->sent[i][a] = (float)v[a] - (a < s->dim ? g[a] : 0);
    }
}

static void send_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL), *id = particle_words(p, ATTR_ID);
    (void)thread, (void)context;
    for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++)
        for (int a = 0; a < s->dim && material[i]; a++)
            p->attr[ATTR_VX + a][i] = s->bodies->body[material[i] - 1].twins->sent[id[i]][a];
}

BrimResult stage_deform(BrimSim *s, BrimError *error) {
    Bodies *b = s->bodies;
    double kick = s->projection.kick_now, time = s->velocity_time;
    BrimVec3 at = gravity_at(s, time + 0.5 * kick);
    const double g[3] = {at.x, at.y, at.z};
    bool ok = true;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        elastic_begin(body->elastic, s->dt_next, kick);
        folds_find(s, body);
        memset(body->force, 0, (size_t)body->elastic->dofs * sizeof *body->force);
        elastic_add_gravity(body->elastic, g, body->force);
    }
    s->velocity_time = time + kick; // hands and pins go by the end of the kick
    for (int i = 0; ok && i < ITERATIONS; i++) ok = iterate(s, kick);
    if (ok) settle_forces(s);
    s->velocity_time = time;
    if (!ok)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage deform: a body's motion is not a number",
                    (long long)s->step + 1, s->time);
    const float kicked[3] = {(float)(g[0] * kick), (float)(g[1] * kick), (float)(g[2] * kick)};
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        Elastic *e = body->elastic;
        double f[ELASTIC_DOFS_MOST];
        for (int i = 0; i < e->dofs; i++) f[i] = body->force[i] + body->contact[i] + body->hand[i];
        elastic_end(e, f, false);
        memcpy(body->twins->star, e->v, (size_t)e->dofs * sizeof *e->v);
        send_twins(s, body, kicked);
    }
    tiles_for(s, send_tile, NULL);
    return BRIM_OK;
}

// --------------------------------------------------------------------------------- back to bodies

/// v_p of the twins in a tile. Particles have R v_sent + (u - R u_old) by now, R the liquid's
/// ratio.
static void take_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL), *id = particle_words(p, ATTR_ID);
    float ratio = particles_carry(p, ROW_AFFINE) ? 0 : s->def.flip_ratio;
    (void)thread, (void)context;
    for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++) {
        if (!material[i]) continue;
        Twins *t = s->bodies->body[material[i] - 1].twins;
        float u[3] = {0}, share = ratio > 0 ? t->flip : 0;
        velocity_lookup(s, t->place[id[i]], u);
        for (int a = 0; a < s->dim; a++) {
            float sent = t->sent[id[i]][a];
            float rest = p->attr[ATTR_VX + a][i] - ratio * sent; // u - R u_old
            float old = ratio > 0 ? (u[a] - rest) / ratio : 0;
            if (u[a] == u[a]) t->speed[id[i]][a] = share * (sent - old) + u[a];
        }
    }
}

/// v += (U^T B^T m B U)^-1 U^T B^T m (v_p - v_p by v).
static void fit(BrimSim *s, Body *b) {
    const Elastic *e = b->elastic;
    const Lattice *l = &e->lattice;
    Twins *t = b->twins;
    const RowKernels *rows = row_kernels();
    int nodes = l->node_count;
    double *sum = calloc((size_t)(e->dim * nodes) + 1, sizeof *sum), rhs[ELASTIC_COLUMNS_MOST];
    if (!sum) return;
    spread(s, b, e->v);
    for (size_t i = 0; i < t->count; i++) {
        const int32_t *node = l->node + (size_t)t->element[i] * (size_t)l->per_element;
        const float *value = t->value + i * (size_t)l->per_element;
        double v[3];
        if (!t->within[i]) continue;
        at_twin(b, i, v);
        for (int a = 0; a < e->dim; a++) {
            double change = t->weight * ((double)t->speed[i][a] - v[a]);
            for (int k = 0; k < l->per_element; k++)
                sum[a * nodes + node[k]] += (double)value[k] * change;
        }
    }
    for (int a = 0; a < e->dim; a++) {
        memset(rhs, 0, (size_t)e->r * sizeof *rhs);
        rows->add(rhs, e->r, 1, sum + a * nodes, 1, e->basis, e->r, nodes);
        dense_solve(t->gram, e->r, rhs);
        for (int i = 0; i < e->r; i++) e->v[i * e->dim + a] += rhs[i];
    }
    free(sum);
}

/// Rule (15): a twin near another body does not come nearer. Each of the two gives way by the
/// other's share of mass. => whether any did
static bool part_twins(BrimSim *s, int index) {
    Body *b = &s->bodies->body[index];
    Twins *t = b->twins;
    bool any = false;
    for (int k = 0; k < s->bodies->count; k++) {
        const Body *other = &s->bodies->body[k];
        if (k == index || !other->twins->keep_out || !t->keep_out) continue;
        float share = other->twins->mass / (other->twins->mass + t->mass);
        if (other->elastic->pinned) share = 1;
        float dn = (float)s->dt_next, reach = NEAR * s->dx + dn * (b->fastest + other->fastest);
        for (size_t i = 0; i < t->count; i++) {
            float n[3], d, gap = 0;
            const float *at = t->place[i];
            if (!near_bounds(other, at, reach)) continue;
            body_distance(other, 1, &at[0], &at[1], &at[2], &d);
            if (!(d < reach)) continue;
            outside(other, at, n);
            // no nearer than that at the end of the step, and out again by a quarter
            gap = d < 0 ? -RECOVER * d / dn : fminf(0, NEAR * s->dx - d) / dn;
            BrimVec3 v = body_velocity(other, at);
            const float wall[3] = {v.x, v.y, v.z};
            for (int a = 0; a < s->dim; a++) gap += (wall[a] - t->speed[i][a]) * n[a];
            if (!(gap > 0)) continue;
            for (int a = 0; a < s->dim; a++) t->speed[i][a] += share * gap * n[a];
            any = true;
        }
    }
    return any;
}

/// Rule (14): liquid near a body does not move towards it.
static void part_liquid(void *context, int item, int thread) {
    BrimSim *s = context;
    Particles *p = &s->particles;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL);
    size_t end = (size_t)(item + 1) * TWINS_A_TASK;
    float near = NEAR * s->dx;
    (void)thread;
    for (size_t i = (size_t)item * TWINS_A_TASK; i < end && i < p->count; i++) {
        const float at[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]};
        if (material[i]) continue;
        for (int k = 0; k < s->bodies->count; k++) {
            const Body *b = &s->bodies->body[k];
            float d, n[3], gap = 0;
            if (!b->twins->keep_out || !near_bounds(b, at, near)) continue;
            body_distance(b, 1, &at[0], &at[1], &at[2], &d);
            if (!(d < near)) continue;
            outside(b, at, n);
            BrimVec3 v = body_velocity(b, at);
            const float wall[3] = {v.x, v.y, v.z};
            for (int a = 0; a < s->dim; a++) gap += (wall[a] - p->attr[ATTR_VX + a][i]) * n[a];
            for (int a = 0; a < s->dim && gap > 0; a++) p->attr[ATTR_VX + a][i] += gap * n[a];
        }
    }
}

BrimResult stage_sync(BrimSim *s, BrimError *error) {
    Bodies *b = s->bodies;
    bool sound = true;
    tiles_for(s, take_tile, NULL);
    for (int k = 0; k < b->count; k++) fit(s, &b->body[k]), body_speeds(&b->body[k]);
    for (int k = 0; k < b->count && b->count > 1; k++)
        if (part_twins(s, k)) fit(s, &b->body[k]);
    // those of the second are parted from where the first was going: each gives way by its share
    for (int k = 0; k < b->count; k++) body_speeds(&b->body[k]);
    // the liquid and other bodies may have pushed a body into a wall that its own step kept off
    if (!contact_limit(s, s->projection.kick_now)) return step_out_of_memory(s, "sync", error);
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        Elastic *e = body->elastic;
        for (int i = 0; i < e->dofs; i++) {
            body->pressure[i] = (e->v[i] - body->twins->star[i]) / s->projection.kick_now;
            body->pressure[i] -= body->limit[i], body->contact[i] += body->limit[i];
            sound &= isfinite(e->v[i]);
        }
        body_speeds(body);
    }
    if (!sound)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage sync: a body's velocity is not a number",
                    (long long)s->step + 1, s->time);
    team_for(s->team, (int)((s->particles.count + TWINS_A_TASK - 1) / TWINS_A_TASK), 4, part_liquid,
             s);
    return BRIM_OK;
}

// ------------------------------------------------------------------------------------ twins go

typedef struct Leaving {
    uint32_t *first; ///< [tiles + 1] of each tile before
    uint32_t *gone;  ///< [tiles + 1] twins in the tiles before it
    int place;       ///< attribute that is being gathered
} Leaving;

static void count_twins(BrimSim *s, int slot, int thread, void *context) {
    Leaving *job = context;
    const uint32_t *material = particle_words(&s->particles, ATTR_MATERIAL);
    uint32_t end = tile_end(&s->particles, slot), count = 0;
    (void)thread;
    job->first[slot] = tile_first(&s->particles, slot);
    for (uint32_t i = job->first[slot]; i < end; i++) count += material[i] != 0;
    job->gone[slot + 1] = count;
}

/// A tile's values of an attribute without those of twins, to the spare array.
static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Leaving *job = context;
    const Particles *p = &s->particles;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL);
    const float *from = p->attr[job->place];
    uint32_t first = job->first[slot], end = job->first[slot + 1];
    float *to = p->spare + first - job->gone[slot];
    (void)thread;
    if (job->gone[slot] == job->gone[slot + 1]) {
        memcpy(to, from + first, (end - first) * sizeof *to);
        return;
    }
    for (uint32_t i = first; i < end; i++)
        if (!material[i]) *to++ = from[i];
}

/// Where cells begin without twins, and which hold a particle.
static void recount_tile(BrimSim *s, int slot, int thread, void *context) {
    const Leaving *job = context;
    Particles *p = &s->particles;
    const uint32_t *material = particle_words(p, ATTR_MATERIAL);
    size_t cells = (size_t)s->grid.tile_cells, base = (size_t)slot * cells;
    uint32_t *start = p->cell_start + p->start_at[slot] * cells;
    uint32_t gone = job->gone[slot], end = job->first[slot + 1], i = job->first[slot];
    bool any = job->gone[slot] != job->gone[slot + 1];
    (void)thread;
    p->tile_start[slot] = i - gone;
    if (i == end) return;
    for (size_t c = 0; c < cells; c++) {
        uint32_t next = c + 1 < cells ? start[c + 1] : end, left = 0;
        start[c] = i - gone;
        for (; i < next; i++) {
            if (any && material[i])
                gone++;
            else
                left++;
        }
        if (left == 0) p->occupied[(base + c) / 8] &= (uint8_t) ~(1u << (c & 7));
    }
}

BrimResult stage_emerge(BrimSim *s, BrimError *error) {
    Particles *p = &s->particles;
    size_t tiles = (size_t)s->grid.tile_count;
    Leaving job = {.first = calloc(tiles + 1, sizeof *job.first),
                   .gone = calloc(tiles + 1, sizeof *job.gone)};
    bool ok = job.first && job.gone;
    if (ok) {
        job.first[tiles] = (uint32_t)p->count;
        tiles_for(s, count_twins, &job);
        for (size_t t = 0; t < tiles; t++) job.gone[t + 1] += job.gone[t];
        tiles_for(s, recount_tile, &job);
        uint32_t count = (uint32_t)p->count - job.gone[tiles], places = 0;
        for (size_t t = 0; t < tiles; t++) places += p->start_at[t] != 0;
        for (int n = 0; n <= ATTR_MAX; n++) { // material tells which go: it is the last
            int place = n < ATTR_MAX ? n : ATTR_MATERIAL;
            if ((n < ATTR_MAX && place == ATTR_MATERIAL) || !p->attr[place]) continue;
            job.place = place;
            tiles_for(s, gather_tile, &job);
            float *kept = p->spare;
            p->spare = p->attr[place], p->attr[place] = kept;
        }
        p->count = p->sorted = count;
        p->tile_start[tiles] = p->cell_start[(places + 1) * (size_t)s->grid.tile_cells] = count;
    }
    free(job.first), free(job.gone);
    return ok ? BRIM_OK : step_out_of_memory(s, "emerge", error);
}
