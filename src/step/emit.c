// Stage 3: particles come from the seeding and from sources, and go through drains.
//
// A source holds a lattice of points that drifts with the stream. Each step emits the points that
// entered its shape since the last one, where they are now: so a stream is as evenly filled as
// seeded water, at any speed and any time step.
#include "step/emit.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include "gauge/gauge.h"
#include "particles/seed.h"
#include "step/stream.h"
#include "warp/space.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Points of a stream are in its shape, and out of walls, when they are so by this part of the
/// spacing: one that lay on a side at the end of a step would be in or out by rounding, and lost or
/// made twice when the next step judges otherwise. Sides of cells are such places.
static const float TIE = 0.01f;

/// Appends particles to the unsorted tail.
typedef struct Appender {
    BrimSim *s;
    Particles *to; ///< NULL: the simulation's own
    const Shape *shape;
    Solid *mover;       ///< the shape, where it moves; NULL: it stays
    double until, span; ///< when and how long it moved, s
    bool past_solids;   ///< points in solids count too
    float spacing;
    float skin; ///< of shape and walls; no point of a stream may lie on them, see TIE
    BrimVec3 velocity, spin, centre;
    const LiquidFlow *flow; ///< formulas that replace components of velocity; NULL: none
    uint32_t origin;        ///< for the attribute `source`
    double density;         ///< of the liquid, kg/m^3; 0 = the def's
    bool jitter;
    bool dry;       ///< only counts
    uint8_t *tiles; ///< [tile box] marks tiles that get particles, when dry; may be NULL
    const Shape *const *earlier; ///< regions seeded before: their points are taken
    int earlier_count;
    const float *back;     ///< drift of the lattice: points that were inside before it are not new
    double way[3];         ///< of the lattice so far, m
    bool within;           ///< the shape lies wholly in the domain
    int windows;           ///< parts of the drift at whose ends a point may have been inside
    uint32_t *points;      ///< [cells] counts points, when dry; may be NULL
    bool into_air;         ///< none in liquid, nor in a cell of particles that wait
    const uint32_t *taken; ///< [taken_count] keys of those cells, in order
    size_t taken_count;
    bool hide;           ///< none where the band has no particles
    int64_t hidden;      ///< so many were not made
    int64_t count, most; ///< counting ends beyond `most`, when that is not 0
    bool full;           ///< out of memory
} Appender;

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

BrimResult flow_new(LiquidFlow *flow, const BrimLiquidDef *def, int dim, BrimError *error) {
    BrimResult r = BRIM_OK;
    *flow = (LiquidFlow){{NULL}};
    for (int a = 0; a < dim && r == BRIM_OK; a++)
        if (def->velocity_formula[a])
            r = formula_new(def->velocity_formula[a], def->shape.names, FORMULA_PLACE,
                            &flow->velocity[a], error);
    return r;
}

void flow_free(LiquidFlow *flow) {
    for (int a = 0; a < 3; a++) formula_free(&flow->velocity[a]);
}

BrimResult flow_check(const Particles *p, size_t from, BrimError *error) {
    for (size_t i = from; i < p->count; i++)
        for (int a = 0; a < 3; a++) {
            float v = p->attr[ATTR_VX + a][i];
            if (fabsf(v) <= 1e7f) continue;
            return fail(error, BRIM_ERROR_INPUT,
                        "liquid: the velocity along %c is %g m/s at (%g, %g, %g) m: change its "
                        "formula",
                        "xyz"[a], (double)v, (double)p -> attr[ATTR_X][i],
                        (double)p -> attr[ATTR_Y][i], (double)p -> attr[ATTR_Z][i]);
        }
    return BRIM_OK;
}

float liquid_velocity(const BrimLiquidDef *def, const LiquidFlow *flow, const float at[3],
                      int axis) {
    const float d[3] = {at[0] - def->shape.position.x, at[1] - def->shape.position.y,
                        at[2] - def->shape.position.z};
    float own[3] = {def->velocity.x, def->velocity.y, def->velocity.z};
    if (flow && flow->velocity[axis])
        own[axis] = (float)formula_at(flow->velocity[axis], at[0], at[1], at[2], 0);
    const float v[3] = {own[0] + def->spin.y * d[2] - def->spin.z * d[1],
                        own[1] + def->spin.z * d[0] - def->spin.x * d[2],
                        own[2] + def->spin.x * d[1] - def->spin.y * d[0]};
    return v[axis];
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

static int compare_keys(const void *a, const void *b) {
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

static bool visit(void *context, const SeedBatch *lattice) {
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

/// Bounds of a shape, cut to the domain. False when nothing is left.
static bool bounds(const BrimSim *s, const Shape *shape, float low[3], float high[3]) {
    if (!shape_bounds(shape, low, high)) return false;
    for (int a = 0; a < s->dim; a++) {
        low[a] = fmaxf(low[a], 0);
        high[a] = fminf(high[a], (float)s->grid.cells[a] * s->dx);
        if (!(low[a] <= high[a])) return false;
    }
    return true;
}

/// Whether none of a source's shape is cut off.
static bool lies_within(const BrimSim *s, const Source *source) {
    bool within = true;
    for (int a = 0; a < s->dim; a++)
        within &= source->low[a] > 0 && source->high[a] < (float)s->grid.cells[a] * s->dx;
    return within;
}

static float spacing_of(const BrimSim *s) {
    return s->dx / (float)seed_per_axis(s->dim, s->def.particles_per_cell);
}

/// So many points at random in the shape, however dense. Gives up when hardly any place is free.
static bool visit_random(Appender *a, const float low[3], const float high[3], int wanted) {
    BrimSim *s = a->s;
    SeedBatch b;
    int64_t batches = 16 + 64 * ((int64_t)wanted / SEED_BATCH + 1);
    for (int64_t k = 0; k < batches && a->count < wanted; k++) {
        b.count = wanted - a->count < SEED_BATCH ? (int)(wanted - a->count) : SEED_BATCH;
        for (int i = 0; i < b.count; i++) {
            uint64_t h = hash_3(s->def.seed, (uint64_t)k, (uint64_t)i + 1), h2 = hash_mix(h);
            b.x[i] = low[0] + hash_unit(h, 0) * (high[0] - low[0]);
            b.y[i] = low[1] + hash_unit(h, 1) * (high[1] - low[1]);
            b.z[i] = s->dim == 3 ? low[2] + hash_unit(h2, 0) * (high[2] - low[2]) : 0;
        }
        if (!visit(a, &b)) return false;
    }
    return true;
}

static bool visit_liquid(Appender *a, const float low[3], const float high[3], int particles) {
    const float none[3] = {0};
    if (particles > 0) {
        a->jitter = false;
        return visit_random(a, low, high, particles);
    }
    return seed_lattice(a->s->dim, a->spacing, none, low, high, visit, a);
}

enum { RANDOM_SAMPLE = 1 << 20 };

int64_t emit_count(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index,
                   int64_t most, uint8_t *tiles) {
    float low[3], high[3];
    if (!bounds(s, shapes[index], low, high)) return 0;
    Appender a = {.s = s,
                  .shape = shapes[index],
                  .spacing = spacing_of(s),
                  .dry = true,
                  .most = most,
                  .earlier = shapes,
                  .earlier_count = index,
                  .tiles = tiles};
    // So many at random: a sample tells the tiles, and how many find a place.
    int sample = def->particles > RANDOM_SAMPLE ? RANDOM_SAMPLE : def->particles;
    visit_liquid(&a, low, high, sample);
    double share = sample > 0 ? (double)a.count / sample : 1;
    return sample == def->particles ? a.count : (int64_t)(share * def->particles);
}

void emit_cells(BrimSim *s, const Shape *const *shapes, int index, uint32_t *points) {
    float low[3], high[3];
    const float none[3] = {0};
    if (!bounds(s, shapes[index], low, high)) return;
    Appender a = {.s = s,
                  .shape = shapes[index],
                  .spacing = spacing_of(s),
                  .jitter = true,
                  .dry = true,
                  .points = points,
                  .earlier = shapes,
                  .earlier_count = index};
    seed_lattice(s->dim, a.spacing, none, low, high, visit, &a);
}

bool emit_liquid(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index) {
    float low[3], high[3];
    if (!bounds(s, shapes[index], low, high)) return true;
    Appender a = {.s = s,
                  .shape = shapes[index],
                  .spacing = spacing_of(s),
                  .velocity = def->velocity,
                  .spin = def->spin,
                  .flow = &s->flows[index],
                  .centre = def->shape.position,
                  .density = def->density,
                  .origin = (uint32_t)index,
                  .jitter = true,
                  .hide = has_band(s),
                  .earlier = shapes,
                  .earlier_count = index};
    bool ok = visit_liquid(&a, low, high, def->particles);
    s->seeded += a.count;
    s->band.resampled -= a.hidden;
    return ok;
}

bool emit_waiting(BrimSim *s, const BrimLiquidDef *def, const LiquidFlow *flow, const Shape *shape,
                  uint32_t origin) {
    float low[3], high[3];
    if (!bounds(s, shape, low, high)) return true;
    size_t before = s->waiting.count;
    uint32_t id = s->next_id;
    uint32_t *taken = memory_new((before + 1) * sizeof *taken);
    if (!taken) return false;
    if (before) memcpy(taken, s->waiting.key, before * sizeof *taken);
    qsort(taken, before, sizeof *taken, compare_keys);
    s->waiting.carries = s->particles.carries;
    Appender a = {.s = s,
                  .to = &s->waiting,
                  .shape = shape,
                  .spacing = spacing_of(s),
                  .velocity = def->velocity,
                  .spin = def->spin,
                  .flow = flow,
                  .centre = def->shape.position,
                  .density = def->density,
                  .origin = origin,
                  .jitter = true,
                  .into_air = true,
                  .taken = taken,
                  .taken_count = before};
    bool ok = visit_liquid(&a, low, high, def->particles);
    free(taken);
    if (!ok) s->waiting.count = before, s->next_id = id;
    return ok;
}

/// What the host added since the last step comes in. False when out of memory.
static bool come_in(BrimSim *s) {
    Particles *p = &s->particles, *w = &s->waiting;
    if (!w->count) return true;
    if (p->count + w->count > UINT32_MAX - 16 || !particles_reserve(p, p->count + w->count))
        return false;
    for (int a = 0; a < ATTR_MAX; a++)
        if (p->attr[a]) memcpy(p->attr[a] + p->count, w->attr[a], w->count * sizeof(float));
    memcpy(p->key + p->count, w->key, w->count * sizeof *w->key);
    for (size_t i = 0; s->warp && i < w->count; i++) warp_take_in(s, p->count + i);
    p->count += w->count;
    s->emitted += (int64_t)w->count;
    particles_free(w);
    return true;
}

float emit_spacing(const BrimSim *s) {
    return spacing_of(s);
}

double emit_rate(const BrimSim *s, const Source *source) {
    double drift = 0;
    if (source_varies(source)) return source->points * (double)source->pace / spacing_of(s);
    for (int k = 0; k < 3; k++) drift += (double)source->drift[k] * source->drift[k];
    return source->points * sqrt(drift) / spacing_of(s);
}

/// Drifts of one spacing after which a stream repeats itself, or nearly so.
static int windows_of(const float direction[3]) {
    int along = 0;
    for (int k = 0; k < 3; k++) along += direction[k] != 0;
    return along > 1 ? 128 : 1;
}

/// Points that enter the shape while the lattice drifts by one spacing: its cross-section. A stream
/// along an axis repeats itself after one spacing; a slanted one enters by rows at several
/// sides, each at its own pace, so the mean over a long drift counts.
static double cross_section(BrimSim *s, const Source *source, const float direction[3],
                            float spacing, bool past_solids) {
    float back[3], offset[3];
    for (int k = 0; k < 3; k++) back[k] = direction[k] * spacing;
    int windows = windows_of(direction);
    Appender a = {.s = s,
                  .shape = source->shape,
                  .spacing = spacing,
                  .skin = TIE * spacing,
                  .dry = true,
                  .past_solids = past_solids,
                  .back = back,
                  .windows = 1};
    for (int i = 0; i < windows; i++) {
        for (int k = 0; k < 3; k++) {
            offset[k] = fmodf((float)i * back[k], spacing);
            a.way[k] = (double)i * back[k];
        }
        seed_lattice(s->dim, spacing, offset, source->low, source->high, visit, &a);
    }
    return (double)a.count / windows;
}

/// The cross-section of the shape itself, in points of the lattice that may be parts of one: by a
/// finer lattice, unless the shape has so many points that none is needed.
static double fine_section(BrimSim *s, const Source *source, const float direction[3], int most,
                           bool past_solids) {
    enum { FINEST = 8 };
    double points = windows_of(direction);
    for (int a = 0; a < s->dim; a++)
        points *= 1 + (double)(source->high[a] - source->low[a]) / (double)spacing_of(s);
    int finer = FINEST;
    while (finer > 1 && points * pow(finer, s->dim) > most) finer--;
    if (finer == 1) return source->points;
    return cross_section(s, source, direction, spacing_of(s) / (float)finer, past_solids) /
           pow(finer, s->dim - 1);
}

double emit_section(BrimSim *s, const Source *source, const float direction[3], int most,
                    double *fine) {
    Source at_rest = *source; // as its shape was made
    if (!bounds(s, source->shape, at_rest.low, at_rest.high)) return *fine = 0;
    at_rest.points = cross_section(s, &at_rest, direction, spacing_of(s), true);
    *fine = fine_section(s, &at_rest, direction, most, true);
    return at_rest.points;
}

BrimResult emit_prepare(BrimSim *s, Source *source, int index, BrimError *error) {
    enum { MOST = 2000000 };
    const BrimSourceDef *def = &source->def;
    float direction[3] = {def->velocity.x, def->velocity.y, s->dim == 3 ? def->velocity.z : 0};
    float speed = sqrtf(direction[0] * direction[0] + direction[1] * direction[1] +
                        direction[2] * direction[2]);
    if (!bounds(s, source->shape, source->low, source->high))
        return fail(error, BRIM_ERROR_INPUT,
                    "sources[%d]: the shape lies outside the domain: move "
                    "it inside",
                    index);
    if (source_varies(source)) return BRIM_OK; // each step anew: streams_place
    if (!(speed > 0))
        return fail(error, BRIM_ERROR_INPUT,
                    "sources[%d].velocity: must not be zero: it is the "
                    "direction and speed in which the stream leaves its shape",
                    index);
    for (int k = 0; k < 3; k++) direction[k] /= speed;
    source->points = cross_section(s, source, direction, spacing_of(s), false);
    source->fine = fine_section(s, source, direction, MOST, false);
    double drift = speed;
    // Where the shape's sides fall between points the lattice makes up for it by its pace.
    if (source->points > 0) drift *= source->fine / source->points;
    double volume = s->cell_volume / s->def.particles_per_cell;
    double flow = def->flow > 0 ? def->flow : def->rate * volume;
    if (flow > 0) {
        if (source->points > 0) drift = flow / (source->points * volume) * spacing_of(s);
        if (drift > 4 * speed)
            return fail(error, BRIM_ERROR_INPUT,
                        "sources[%d]: a flow of %.3g needs a speed of %.3g m/s through this shape, "
                        "far above its velocity of %.3g m/s: raise the velocity, widen the shape "
                        "or lower the flow",
                        index, flow, drift, (double)speed);
    }
    for (int k = 0; k < 3; k++) source->drift[k] = (float)(direction[k] * drift);
    return BRIM_OK;
}

/// Emits what entered the source's shape in the part of the step during which it runs.
static bool emit_source(BrimSim *s, Source *source) {
    bool varies = source_varies(source);
    double from = fmax(s->time, source->def.start), to = fmin(s->time + s->dt, source->def.stop);
    if (to <= from) return true;
    float spacing = spacing_of(s), back[3], offset[3], low[3], high[3], length = 0;
    double way[3];
    for (int k = 0; k < 3; k++) { // downstream of the shape too: what passed through it is there
        back[k] = (float)(source->drift[k] * (to - from));
        source->phase[k] += varies ? source->drift[k] * (to - from) : 0;
        way[k] = varies ? source->phase[k] : source->drift[k] * to;
        offset[k] = (float)fmod(way[k], spacing);
        length += back[k] * back[k];
        low[k] = fmaxf(source->low[k] + fminf(back[k], 0), 0);
        high[k] = fminf(source->high[k] + fmaxf(back[k], 0), (float)s->grid.cells[k] * s->dx);
    }
    Appender a = {.s = s,
                  .shape = source->shape,
                  .spacing = spacing,
                  .skin = TIE * spacing,
                  .velocity = source->def.velocity,
                  .origin = source->origin,
                  .density = source->def.density,
                  .jitter = true,
                  .back = back,
                  .way = {way[0], way[1], way[2]},
                  .within = lies_within(s, source),
                  .windows = (int)fmaxf(1, ceilf(sqrtf(length) / spacing))};
    if (varies) {
        a.velocity = (BrimVec3){source->stream[0], source->stream[1], source->stream[2]};
        a.spin = (BrimVec3){source->spin[0], source->spin[1], source->spin[2]};
        a.centre = (BrimVec3){source->centre[0], source->centre[1], source->centre[2]};
        a.mover = source->mover, a.until = to, a.span = to - from;
        if (!(source->pace > 0)) return true;
    }
    bool ok = seed_lattice(s->dim, spacing, offset, low, high, visit, &a);
    if (a.mover) solid_place(a.mover, s->time + s->dt, s->dt);
    s->emitted += a.count;
    return ok;
}

/// Whether a tile meets a box.
static bool meets(const BrimSim *s, int slot, const float low[3], const float high[3]) {
    float first[3], last[3];
    if (s->warp) {
        warp_tile_box(s, slot, TILE, first, last);
        for (int a = 0; a < s->dim; a++)
            if (high[a] < first[a] || low[a] > last[a]) return false;
        return true;
    }
    const int16_t c[3] = {s->grid.coord[slot].x, s->grid.coord[slot].y, s->grid.coord[slot].z};
    for (int a = 0; a < s->dim; a++) // particles may have moved out of their tile: one tile more
        if (high[a] < (float)(c[a] - 1) * TILE * s->dx || low[a] > (float)(c[a] + 2) * TILE * s->dx)
            return false;
    return true;
}

/// A drain at work. far: particles may lie anywhere
typedef struct Draining {
    int index;
    bool far;
    TeamCount taken;
} Draining;

/// Where particles are in space, m.
static void find_places(const BrimSim *s, uint32_t first, int n, float *const x[3]) {
    for (int i = 0; i < n; i++) {
        float at[3];
        for (int a = 0; a < 3; a++) at[a] = s->particles.attr[ATTR_X + a][first + (uint32_t)i];
        if (s->warp) {
            for (int a = 0; a < 3; a++) at[a] = space_to_grid(s->space, at[a]);
            warp_to_place(s, at);
            for (int a = 0; a < 3; a++) at[a] = space_from_grid(s->space, at[a]);
        }
        for (int a = 0; a < 3; a++) x[a][i] = at[a];
    }
}

/// Marks the sorted particles inside a drain.
static void drain_tile(BrimSim *s, int slot, int thread, void *context) {
    Draining *d = context;
    const Drain *drain = &s->drains[d->index];
    int64_t taken = 0;
    Particles *p = &s->particles;
    if (!d->far && !meets(s, slot, drain->low, drain->high)) return;
    uint32_t end = tile_end(p, slot);
    for (uint32_t i = tile_first(p, slot); i < end; i += SEED_BATCH) {
        int n = end - i < SEED_BATCH ? (int)(end - i) : SEED_BATCH;
        float x[3][SEED_BATCH], distance[SEED_BATCH];
        find_places(s, i, n, (float *const[3]){x[0], x[1], x[2]});
        port_distance(drain->shape, drain->mover, n, x[0], x[1], x[2], distance);
        for (int k = 0; k < n; k++) {
            uint32_t at = i + (uint32_t)k;
            if (!(distance[k] < 0) || p->key[at] >= KEY_LEFT) continue;
            if (!drain_takes(s, d->index, particle_words(p, ATTR_ID)[at])) continue;
            p->key[at] = KEY_DRAINED, taken++;
        }
    }
    team_add(&d->taken, taken);
}

/// False when out of memory.
static bool emit_all(BrimSim *s) {
    bool far = s->drain_count && crosses_tiles(s); // then look at all
    drains_shares(s);
    for (int k = 0; k < s->drain_count; k++) {
        const Drain *d = &s->drains[k];
        double now = s->time + s->dt;
        if (now < d->def.start || now > d->def.stop) continue;
        Draining draining = {k, far, 0};
        tiles_for(s, drain_tile, &draining);
        drain_took(s, k, draining.taken);
    }
    for (int k = 0; k < s->source_count; k++)
        if (!emit_source(s, &s->sources[k])) return false;
    return come_in(s);
}

BrimResult stage_emit(BrimSim *s, BrimError *error) {
    return emit_all(s) ? BRIM_OK : step_out_of_memory(s, "emit", error);
}
