// The bodies of a simulation: made from the def, moved, saved.
#include "bodies/bodies.h"
#include "base/error.h"
#include "base/memory.h"
#include "bodies/immersed.h"
#include "bodies/pins.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODES_PINNED = 12, MODES_FREE = 24, ELEMENTS_2D = 400, ELEMENTS = 150, ELEMENTS_RIGID = 64 };

static void shape_field(const void *context, int n, const float *x, const float *y, const float *z,
                        float *distance) {
    shape_distance(context, n, x, y, z, distance);
}

static Region region_of(const Shape *shape) {
    Region r = {.distance = shape_field, .context = shape};
    float low[3], high[3];
    shape_bounds(shape, low, high);
    for (int a = 0; a < 3; a++) r.low[a] = low[a], r.high[a] = high[a];
    return r;
}

static ElasticParams params_of(const BrimBodyDef *def, int dim) {
    ElasticParams p = elastic_default_params();
    p.dim = dim, p.density = def->density, p.rigid = def->rigid;
    p.young = def->young, p.poisson = def->poisson, p.damping = def->damping;
    p.modes = def->modes ? def->modes : def->pin_count ? MODES_PINNED : MODES_FREE;
    if (def->subspace == BRIM_SUBSPACE_HANDLES) p.subspace = ELASTIC_HANDLES;
    if (def->solver == BRIM_BODY_PROJECTIVE) p.solver = ELASTIC_PROJECTIVE;
    p.iterations = def->iterations, p.samples = def->samples;
    p.handles = def->handles, p.radius = def->handle_radius, p.order = def->order;
    p.elements = def->elements ? def->elements
                 : def->rigid  ? ELEMENTS_RIGID
                 : dim == 2    ? ELEMENTS_2D
                               : ELEMENTS;
    return p;
}

/// Velocity and spin at the start; those of a pinned body as far as its functions tell them.
static void start_moving(Elastic *e, const BrimBodyDef *def) {
    const double v[3] = {def->velocity.x, def->velocity.y, def->velocity.z};
    const double w[3] = {def->spin.x, def->spin.y, def->spin.z};
    int n = e->dim;
    if (e->pinned) return;
    for (int i = 0; i < e->r; i++) {
        double x[3] = {0};
        for (int a = 0; a < n && i > 0; a++) x[a] = e->rest[i * n + a];
        const double u[3] = {w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2],
                             w[0] * x[1] - w[1] * x[0]};
        for (int a = 0; a < n; a++) e->v[i * n + a] = u[a] + e->whole[i] * v[a];
    }
}

/// From the store, or computed and put there.
static BrimResult find_elastic(Body *b, const ElasticParams *p, const BodyStore *store,
                               const BodyKey *key, BrimError *error) {
    size_t size = 0;
    uint8_t *bytes = store ? store->get(store->context, key, &size) : NULL;
    if (bytes) b->elastic = elastic_unpack(p, bytes, size);
    free(bytes);
    if (b->elastic) return BRIM_OK;
    Region region = region_of(b->shape);
    BrimResult r = elastic_new(&region, p, &b->elastic, error);
    if (r != BRIM_OK || !store) return r;
    bytes = elastic_pack(b->elastic, &size);
    if (bytes) store->put(store->context, key, bytes, size);
    free(bytes);
    return r;
}

static BrimResult make_elastic(Body *b, const BrimBodyDef *def, Team *team, const BodyStore *store,
                               const BodyKey *key, BrimError *error) {
    ElasticParams p = params_of(def, b->dim);
    p.team = team;
    Shape **pins = calloc((size_t)def->pin_count + 1, sizeof *pins);
    Region *regions = calloc((size_t)def->pin_count + 1, sizeof *regions);
    BrimResult r = pins && regions ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; r == BRIM_OK && i < def->pin_count; i++) {
        r = shape_new(&def->pins[i].shape, b->dim, b->dx, &pins[i], error);
        if (r == BRIM_OK) regions[i] = region_of(pins[i]);
    }
    p.pins = regions, p.pin_count = def->pin_count;
    for (int i = 0; i < def->pin_count; i++) p.carried |= def->pins[i].keyframe_count > 0;
    if (r == BRIM_OK) r = find_elastic(b, &p, store, key, error);
    for (int i = 0; pins && i < def->pin_count; i++) shape_free(&pins[i]);
    free(pins);
    free(regions);
    return r;
}

static BrimResult spare_held(Body *b, const BrimBodyDef *def, BrimError *error) {
    for (int i = 0; i < def->pin_count; i++) {
        Shape *pin;
        BrimResult r = shape_new(&def->pins[i].shape, b->dim, b->dx, &pin, error);
        if (r != BRIM_OK) return r;
        body_spare(b, pin);
        shape_free(&pin);
    }
    return BRIM_OK;
}

/// Walls thinner than a cell would need a finer surface than the liquid can see.
static BrimResult make_body(const BrimSim *s, const BrimBodyDef *def, const BodyStore *store,
                            const BodyKey *key, Body *b, BrimError *error) {
    b->dim = s->dim, b->dx = s->dx, b->friction = def->friction, b->first = -1;
    b->folds = def->self_contact && !def->rigid;
    BrimResult r = shape_new(&def->shape, s->dim, s->dx, &b->shape, error);
    if (r != BRIM_OK) return r;
    float thickness = shape_thickness(b->shape);
    if (thickness < 0.999f * s->dx)
        return fail(error, BRIM_ERROR_INPUT,
                    "the body is %.3g m thick and cells are %.3g m: it would leak. Make it at "
                    "least as thick as a cell, or cells smaller than %.3g m",
                    (double)thickness, (double)s->dx, (double)thickness);
    bool immersed = def->coupling == BRIM_COUPLING_IMMERSED;
    if (immersed && thickness < 1.999f * s->dx)
        return fail(error, BRIM_ERROR_INPUT,
                    "the body is %.3g m thick and cells are %.3g m: water would pass through an "
                    "immersed body thinner than two cells. Make it %.3g m thick, or cells %.3g m, "
                    "or use coupling: strong",
                    (double)thickness, (double)s->dx, 2 * (double)s->dx, 0.5 * (double)thickness);
    r = make_elastic(b, def, s->team, store, key, error);
    if (r != BRIM_OK) return r;
    double spacing = fmin(s->dx, 0.45 * thickness);
    r = body_surface(b, spacing, error);
    if (r == BRIM_OK) r = spare_held(b, def, error);
    if (r == BRIM_OK) r = pins_of_def(b, def, error);
    if (r != BRIM_OK) return r;
    start_moving(b->elastic, def);
    if (immersed) r = twins_new(s, b, def->flip, def->keep_out, error);
    if (r != BRIM_OK) return r;
    body_speeds(b);
    return body_place(b) ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "out of memory");
}

static BrimResult of_body(BrimResult r, int index, BrimError *error) {
    char text[sizeof error->message];
    if (!error) return r;
    snprintf(text, sizeof text, "bodies[%d]: %.900s", index, error->message);
    memcpy(error->message, text, sizeof text);
    return r;
}

BrimResult bodies_new(BrimSim *s, const BrimSimDef *def, const BodyStore *store, BrimError *error) {
    Bodies *b = s->bodies = memory_zero(sizeof *b);
    Solid **solids = realloc(s->walls.solids,
                             (size_t)(s->walls.solid_count + def->body_count + 1) * sizeof *solids);
    if (solids) s->walls.solids = solids;
    if (b) b->body = memory_zero((size_t)def->body_count * sizeof *b->body);
    if (!b || !solids || !b->body) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    b->first_solid = s->walls.solid_count;
    for (int i = 0; i < def->body_count; i++) {
        Body *body = &b->body[i];
        b->count = i + 1;
        const BodyKey *key = store ? &store->key[i] : NULL;
        BrimResult r = make_body(s, &def->bodies[i], store, key, body, error);
        bool wall = r == BRIM_OK && !body->twins;
        SolidBody solid = wall ? body_solid(body) : (SolidBody){0};
        if (wall) r = solid_new_body(&solid, s->dim, &s->walls.solids[s->walls.solid_count], error);
        if (r != BRIM_OK) return of_body(r, i, error);
        s->walls.solid_count += wall;
        r = hands_of_def(s, &def->bodies[i], i, error);
        if (r != BRIM_OK) return of_body(r, i, error);
    }
    for (int i = 0; i < b->count; i++) {
        BrimResult r = bodies_check(s, i, error);
        if (r != BRIM_OK) return of_body(r, i, error);
    }
    return BRIM_OK;
}

void bodies_free(BrimSim *s) {
    Bodies *b = s->bodies;
    if (!b) return;
    for (int i = 0; b->body && i < b->count; i++) body_free(&b->body[i]);
    hands_free(&b->hands);
    joint_free(&b->joint);
    free(b->body), free(b->at), free(b->cell), free(b->flow), free(b->sway);
    free(b->out), free(b->kept), free(b->before);
    free(b);
    s->bodies = NULL;
}

size_t bodies_bytes(const BrimSim *s) {
    const Bodies *b = s->bodies;
    if (!b) return 0;
    size_t bytes = sizeof *b + joint_bytes(&b->joint) + b->at_room * sizeof *b->at +
                   3 * b->before_room * sizeof *b->before;
    bytes += b->cell_room[0] * sizeof *b->cell + b->cell_room[1] * sizeof *b->flow +
             b->cell_room[2] * sizeof *b->sway + b->cell_room[3] * sizeof *b->out +
             b->cell_room[4] * sizeof *b->kept;
    for (int i = 0; i < b->count; i++) bytes += sizeof b->body[i] + body_bytes(&b->body[i]);
    return bytes;
}

bool bodies_move(BrimSim *s, double dt) {
    s->bodies->counted = false;
    for (int i = 0; i < s->bodies->count; i++) {
        elastic_move(s->bodies->body[i].elastic, dt);
        if (!body_place(&s->bodies->body[i])) return false;
    }
    return true;
}

/// What outlives a step: d, v, j, and the pose, S and dn whose stiffness an elastic body keeps.
enum { KEPT = 10 };

static size_t numbers_of(const Elastic *e) {
    return (size_t)e->dofs * (e->params.rigid ? 3 : 4) + (e->params.rigid ? 0 : KEPT);
}

size_t bodies_numbers(const BrimSim *s) {
    size_t count = 0;
    for (int i = 0; i < s->bodies->count; i++) count += numbers_of(s->bodies->body[i].elastic);
    return count;
}

void bodies_save(const BrimSim *s, double *numbers) {
    for (int i = 0; i < s->bodies->count; i++) {
        const Elastic *e = s->bodies->body[i].elastic;
        const double *from[4] = {e->d, e->v, e->j, e->at};
        for (int k = 0; k < (e->params.rigid ? 3 : 4); k++, numbers += e->dofs)
            memcpy(numbers, from[k], (size_t)e->dofs * sizeof *numbers);
        if (e->params.rigid) continue;
        memcpy(numbers, e->at_scale, sizeof e->at_scale);
        numbers[KEPT - 1] = e->at_dn, numbers += KEPT;
    }
}

bool bodies_restore(BrimSim *s, const double *numbers) {
    for (int i = 0; i < s->bodies->count; i++) {
        Elastic *e = s->bodies->body[i].elastic;
        double *to[4] = {e->d, e->v, e->j, e->at};
        for (int k = 0; k < (e->params.rigid ? 3 : 4); k++, numbers += e->dofs)
            memcpy(to[k], numbers, (size_t)e->dofs * sizeof *numbers);
        if (!e->params.rigid) {
            memcpy(e->at_scale, numbers, sizeof e->at_scale);
            e->at_dn = numbers[KEPT - 1], numbers += KEPT;
            if (!elastic_recall(e)) e->at_dn = 0;
        }
        body_speeds(&s->bodies->body[i]);
        if (!body_place(&s->bodies->body[i])) return false;
    }
    return true;
}
