#include "emit/lattice.h"
#include "base/hash.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include "emit/stream.h"
#include "gauge/gauge.h"
#include "warp/space.h"
#include <math.h>
#include <stdlib.h>

/// Points of a lattice that follow one another: one distance decides on all of them when the
/// surface is far.
enum { GROUP = 16, GROUPS = SEED_BATCH / GROUP };

static float between(const SeedBatch *b, int i, int j) {
    float x = b->x[i] - b->x[j], y = b->y[i] - b->y[j], z = b->z[i] - b->z[j];
    return sqrtf(x * x + y * y + z * z);
}

/// Moves a point at distance d from a solid along the distance's gradient to the distance `to`.
static void move_off(const Solid *solid, int dim, float d, float to, float step, SeedBatch *b,
                     int i) {
    float x[6], y[6], z[6], near[6], g[3] = {0}, length = 0;
    for (int n = 0; n < 2 * dim; n++) {
        float by = n & 1 ? step : -step;
        x[n] = b->x[i] + (n >> 1 == 0 ? by : 0), y[n] = b->y[i] + (n >> 1 == 1 ? by : 0);
        z[n] = b->z[i] + (n >> 1 == 2 ? by : 0);
    }
    solid_distance(solid, 2 * dim, x, y, z, near);
    for (int a = 0; a < dim; a++) g[a] = near[2 * a + 1] - near[2 * a], length += g[a] * g[a];
    if (length <= 0) return;
    float by = (to - d) / sqrtf(length);
    b->x[i] += by * g[0], b->y[i] += by * g[1], b->z[i] += by * g[2];
}

/// A number in 0..1 that a point of a lattice keeps wherever that drifts.
static float chance(const Appender *a, const SeedBatch *lattice, int i) {
    const float at[3] = {lattice->x[i], lattice->y[i], lattice->z[i]};
    uint64_t place[3];
    for (int k = 0; k < 3; k++)
        place[k] = (uint64_t)(int64_t)floorf((float)((double)at[k] - a->way[k]) / a->spacing);
    return hash_unit(hash_3(a->s->def.seed, hash_3(place[0], place[1], place[2]), 1), 0);
}

/// Takes points inside a solid out of `in`. Each stands for a box of one spacing. With jitter one
/// that a solid cuts is kept by the hash, as likely as its free part is large, in the middle of
/// that: so there are as many particles as there is room, wherever the lattice meets the solid.
/// lattice: where the points are at the end of the step; move: they go to that middle
static void leave_out_solid(const Appender *a, const Solid *solid, const SeedBatch *lattice,
                            SeedBatch *b, bool move, bool in[SEED_BATCH]) {
    float x[SEED_BATCH], y[SEED_BATCH], z[SEED_BATCH], d[SEED_BATCH];
    int at[SEED_BATCH], count = 0, groups = 0, middle[GROUPS];
    const float margin = 0.5f * a->s->dx; // for the spacing, and distances that are interpolated
    for (int first = 0; first < b->count; first += GROUP) {
        int m = first + GROUP / 2 < b->count ? first + GROUP / 2 : b->count - 1;
        x[groups] = b->x[m], y[groups] = b->y[m], z[groups] = b->z[m];
        middle[groups++] = m;
    }
    solid_distance(solid, groups, x, y, z, d);
    for (int i = 0; i < b->count; i++) {
        int g = i / GROUP;
        if (!in[i]) continue;
        if (fabsf(d[g]) > between(b, i, middle[g]) + margin)
            in[i] = d[g] >= 0;
        else
            at[count++] = i;
    }
    for (int k = 0; k < count; k++) x[k] = b->x[at[k]], y[k] = b->y[at[k]], z[k] = b->z[at[k]];
    solid_distance(solid, count, x, y, z, d);
    for (int k = 0; k < count; k++) {
        int i = at[k];
        if (!a->jitter || a->s->def.jitter == 0) {
            in[i] = d[k] >= a->skin;
            continue;
        }
        float part = 0.5f + d[k] / a->spacing;
        in[i] = part > chance(a, lattice, i);
        if (in[i] && part < 1 && move)
            move_off(solid, a->s->dim, d[k], 0.5f * part * a->spacing, 0.25f * a->spacing, b, i);
    }
}

/// Takes points in solids out of `in`; see leave_out_solid.
static void leave_out_solids(const Appender *a, const SeedBatch *lattice, SeedBatch *b, bool move,
                             bool in[SEED_BATCH]) {
    for (int k = 0; k < a->s->walls.solid_count && !a->past_solids; k++)
        if (solid_exists(a->s->walls.solids[k], a->s->walls.time))
            leave_out_solid(a, a->s->walls.solids[k], lattice, b, move, in);
    for (int k = 0; bodies_immersed(a->s) && k < a->s->bodies->count; k++)
        leave_out_solid(a, a->s->bodies->body[k].twins->solid, lattice, b, move, in);
}

/// Takes points outside the domain out of `in`.
static void leave_out_beyond(const Appender *a, const SeedBatch *b, bool in[SEED_BATCH]) {
    const Grid *g = &a->s->grid;
    const float *const x[3] = {b->x, b->y, b->z};
    for (int axis = 0; axis < a->s->dim; axis++) {
        const float low = a->skin, high = (float)g->cells[axis] * a->s->dx - a->skin;
        for (int i = 0; i < b->count; i++) in[i] &= x[axis][i] > low && x[axis][i] < high;
    }
}

/// Points of a batch moved upstream by a part of the drift: whether they lie in the shape, and in
/// room, where no wall is.
static void upstream(const Appender *a, const SeedBatch *b, float part, bool in[SEED_BATCH],
                     bool room[SEED_BATCH]) {
    float d[SEED_BATCH];
    SeedBatch at = *b;
    bool any = false;
    for (int i = 0; i < b->count && part > 0; i++) {
        at.x[i] -= part * a->back[0];
        at.y[i] -= part * a->back[1];
        at.z[i] -= part * a->back[2];
    }
    if (a->mover) solid_place(a->mover, a->until - (double)part * a->span, 0);
    port_distance(a->shape, a->mover, b->count, at.x, at.y, at.z, d);
    for (int i = 0; i < b->count; i++) any |= room[i] = in[i] = d[i] < -a->skin;
    if (!any) return;
    if (!a->within) leave_out_beyond(a, &at, room);
    leave_out_solids(a, b, &at, false, room);
}

/// Takes those out of `in` that only came by a wall inside the shape: farther up their lines there
/// is room, so the stream does not begin here. inside: which were in the shape, in a wall
static void leave_out_passed(const Appender *a, const SeedBatch *b, const bool inside[SEED_BATCH],
                             bool in[SEED_BATCH]) {
    enum { FARTHEST = 1000 };
    float length = 0;
    for (int k = 0; k < 3; k++) length += a->back[k] * a->back[k];
    float step = a->spacing / sqrtf(length); // parts of the drift
    SeedBatch some = {0};
    int from[SEED_BATCH];
    for (int i = 0; i < b->count; i++) {
        if (!in[i] || !inside[i]) continue;
        some.x[some.count] = b->x[i], some.y[some.count] = b->y[i], some.z[some.count] = b->z[i];
        from[some.count++] = i;
    }
    for (int k = 1; k < FARTHEST && some.count > 0; k++) {
        bool shape[SEED_BATCH], room[SEED_BATCH];
        int left = 0;
        upstream(a, &some, 1 + (float)k * step, shape, room);
        for (int i = 0; i < some.count; i++) {
            if (room[i]) in[from[i]] = false;
            if (room[i] || !shape[i]) continue;
            some.x[left] = some.x[i], some.y[left] = some.y[i], some.z[left] = some.z[i];
            from[left++] = from[i];
        }
        some.count = left;
    }
}

/// Points of a stream that came into room of its shape during the drift, out of nowhere or of a
/// wall, even if they have left the shape by now.
static void choose_new(const Appender *a, const SeedBatch *b, bool in[SEED_BATCH]) {
    bool was[SEED_BATCH], shape[SEED_BATCH];
    upstream(a, b, 0, shape, in);
    for (int w = 1; w <= a->windows; w++) {
        upstream(a, b, (float)w / (float)a->windows, shape, was);
        for (int i = 0; i < b->count; i++)
            in[i] = w < a->windows ? in[i] | was[i] : in[i] & !was[i];
    }
    leave_out_passed(a, b, shape, in);
}

/// Which of a batch are in the liquid's shape and not in a solid. Points beside solids may move.
static void choose(const Appender *a, SeedBatch *b, bool in[SEED_BATCH]) {
    const SeedBatch lattice = *b;
    float d[SEED_BATCH];
    if (a->back) {
        choose_new(a, b, in);
    } else {
        port_distance(a->shape, a->mover, b->count, b->x, b->y, b->z, d);
        for (int i = 0; i < b->count; i++) in[i] = d[i] < 0;
    }
    for (int k = 0; k < a->earlier_count; k++) {
        shape_distance(a->earlier[k], b->count, b->x, b->y, b->z, d);
        for (int i = 0; i < b->count; i++) in[i] &= d[i] >= 0;
    }
    leave_out_solids(a, &lattice, b, true, in);
    leave_out_beyond(a, b, in);
}

/// Adds what formulas change over a cell to a gradient of velocity [9].
static void add_gradient(const BrimSim *s, const LiquidFlow *flow, const float at[3],
                         float *gradient) {
    for (int a = 0; a < s->dim; a++)
        for (int b = 0; b < s->dim && flow->velocity[a]; b++) {
            double low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
            low[b] -= 0.25 * (double)s->dx, high[b] += 0.25 * (double)s->dx;
            double change = formula_at(flow->velocity[a], high[0], high[1], high[2], 0) -
                            formula_at(flow->velocity[a], low[0], low[1], low[2], 0);
            if (isfinite(change)) gradient[3 * a + b] += (float)(2 * change);
        }
}

static void append(Appender *a, float x, float y, float z) {
    BrimSim *s = a->s;
    Particles *p = a->to ? a->to : &s->particles;
    float at[3] = {x, y, z};
    if (a->jitter && s->def.jitter > 0) {
        uint64_t h = hash_3(s->def.seed, s->next_id, 0), h2 = hash_mix(h);
        const float r[3] = {hash_unit(h, 0), hash_unit(h, 1), hash_unit(h2, 0)};
        for (int k = 0; k < s->dim; k++) {
            at[k] += (r[k] - 0.5f) * s->def.jitter * a->spacing;
            // 1e-3 cells from the sides, as advection keeps it
            float high = (float)s->grid.cells[k] * s->dx - 1e-3f * s->dx;
            at[k] = fminf(fmaxf(at[k], 1e-3f * s->dx), high);
        }
    }
    size_t i = p->count++;
    const float dx = at[0] - a->centre.x, dy = at[1] - a->centre.y, dz = at[2] - a->centre.z;
    float own[3] = {a->velocity.x, a->velocity.y, a->velocity.z};
    for (int k = 0; k < s->dim && a->flow; k++)
        if (a->flow->velocity[k])
            own[k] = (float)formula_at(a->flow->velocity[k], at[0], at[1], at[2], 0);
    const float v[3] = {own[0] + a->spin.y * dz - a->spin.z * dy,
                        own[1] + a->spin.z * dx - a->spin.x * dz,
                        own[2] + a->spin.x * dy - a->spin.y * dx};
    for (int k = 0; k < 3; k++) {
        p->attr[ATTR_X + k][i] = k < s->dim ? at[k] : 0;
        p->attr[ATTR_VX + k][i] = k < s->dim ? v[k] : 0;
    }
    // change of velocity over a cell: a rigid rotation's gradient is its cross product matrix
    float turn[9] = {0, -a->spin.z, a->spin.y, a->spin.z, 0, -a->spin.x, -a->spin.y, a->spin.x, 0};
    for (int k = 0; k < 9; k++) turn[k] *= s->dx;
    if (a->flow && p->attr[ATTR_AFFINE]) add_gradient(s, a->flow, at, turn);
    for (int k = ATTR_AFFINE; p->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
        p->attr[k][i] = turn[k - ATTR_AFFINE];
    particle_words(p, ATTR_ID)[i] = s->next_id++;
    particle_start(p, i, a->origin);
    if (p->attr[ATTR_MASS] && a->density > 0)
        p->attr[ATTR_MASS][i] = (float)(a->density / s->def.density);
    p->key[i] = cell_key(&s->grid, s->space, at[0], at[1], at[2]);
    if (s->warp && !a->to) warp_take_in(s, i);
}

/// Index of the cell of a point, -1 without a tile.
static int64_t cell_at(const BrimSim *s, const SeedBatch *b, int i) {
    uint32_t key = cell_key(&s->grid, s->space, b->x[i], b->y[i], b->z[i]);
    uint32_t cells = (uint32_t)s->grid.tile_cells;
    int32_t slot = s->grid.slot_of[key / cells];
    return slot < 0 ? -1 : (int64_t)slot * cells + key % cells;
}

/// Counts points by cell; passes over those in cells that the band keeps free.
static int visit_cells(Appender *a, const SeedBatch *b, bool in[SEED_BATCH]) {
    int hidden = 0;
    for (int i = 0; i < b->count; i++) {
        int64_t cell = in[i] ? cell_at(a->s, b, i) : -1;
        if (cell < 0) continue;
        if (a->points) a->points[cell]++;
        if (a->hide && a->s->hidden[cell >> 3] >> (cell & 7) & 1) in[i] = false, hidden++;
    }
    a->hidden += hidden;
    return hidden;
}

int compare_keys(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/// Takes points in liquid out of `in`, and those in cells that particles wait for.
static void leave_out_liquid(const Appender *a, const SeedBatch *b, bool in[SEED_BATCH]) {
    const BrimSim *s = a->s;
    for (int i = 0; i < b->count; i++) {
        if (!in[i]) continue;
        const double at[3] = {b->x[i], b->y[i], b->z[i]};
        uint32_t key = cell_key(&s->grid, s->space, b->x[i], b->y[i], b->z[i]);
        in[i] =
            probe_level(s, at) >= 0 &&
            !(a->taken_count && bsearch(&key, a->taken, a->taken_count, sizeof key, compare_keys));
    }
}

bool appender_visit(void *context, const SeedBatch *lattice) {
    Appender *a = context;
    bool in[SEED_BATCH];
    SeedBatch points = *lattice, *b = &points;
    choose(a, b, in);
    if (a->into_air) leave_out_liquid(a, b, in);
    Particles *to = a->to ? a->to : &a->s->particles;
    int n = 0;
    for (int i = 0; i < b->count; i++) n += in[i];
    a->count += n;
    for (int i = 0; a->tiles && i < b->count; i++)
        if (in[i])
            a->tiles[cell_key(&a->s->grid, a->s->space, b->x[i], b->y[i], b->z[i]) /
                     (uint32_t)a->s->grid.tile_cells] = 1;
    if (a->most && a->count > a->most) return false;
    if (a->points || a->hide) n -= visit_cells(a, b, in);
    if (a->dry || !n) return true;
    if (to->count + (size_t)n > UINT32_MAX - 16 || !particles_reserve(to, to->count + (size_t)n)) {
        a->full = true;
        return false;
    }
    for (int i = 0; i < b->count; i++)
        if (in[i]) append(a, b->x[i], b->y[i], b->z[i]);
    return true;
}

bool emit_bounds(const BrimSim *s, const Shape *shape, float low[3], float high[3]) {
    if (!shape_bounds(shape, low, high)) return false;
    for (int a = 0; a < s->dim; a++) {
        low[a] = fmaxf(low[a], 0);
        high[a] = fminf(high[a], (float)s->grid.cells[a] * s->dx);
        if (!(low[a] <= high[a])) return false;
    }
    return true;
}

float emit_spacing(const BrimSim *s) {
    return s->dx / (float)seed_per_axis(s->dim, s->def.particles_per_cell);
}
