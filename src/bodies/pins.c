#include "bodies/pins.h"
#include "base/error.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "solid/keyframes.h"
#include "solid/rotation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pins_free(Body *b) {
    for (int i = 0; b->pin && i < b->pin_count; i++) free(b->pin[i].keys);
    free(b->pin);
    b->pin = NULL, b->pin_count = 0;
}

BrimResult pins_of_def(Body *b, const BrimBodyDef *def, BrimError *error) {
    if (!b->elastic->params.carried) return BRIM_OK;
    b->pin = memory_zero((size_t)def->pin_count * sizeof *b->pin);
    if (!b->pin) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    b->pin_count = def->pin_count;
    for (int i = 0; i < def->pin_count; i++) {
        const BrimPinDef *from = &def->pins[i];
        BodyPin *to = &b->pin[i];
        const double pivot[3] = {from->shape.position.x, from->shape.position.y,
                                 from->shape.position.z};
        memcpy(to->pivot, pivot, sizeof pivot);
        if (!from->keyframe_count) continue;
        BrimResult r = keyframes_check(from->keyframes, from->keyframe_count, error);
        if (r != BRIM_OK) return r;
        to->keys = memory_new((size_t)from->keyframe_count * sizeof *to->keys);
        if (!to->keys) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
        memcpy(to->keys, from->keyframes, (size_t)from->keyframe_count * sizeof *to->keys);
        to->key_count = from->keyframe_count;
    }
    return BRIM_OK;
}

/// How a pin displaces what it holds: u = map [3][4] (1, X).
static void pin_map(const Body *b, const BodyPin *pin, double time, double map[12]) {
    double value[6] = {0}, rate[6], turn[9];
    if (pin->key_count) keyframes_at(pin->keys, pin->key_count, b->dim, time, value, rate);
    rotation_from_degrees(value + 3, turn);
    for (int a = 0; a < 3; a++) {
        map[4 * a] = value[a];
        for (int c = 0; c < 3; c++) {
            double m = turn[3 * a + c] - (a == c);
            map[4 * a + c + 1] = m;
            map[4 * a] -= m * pin->pivot[c];
        }
    }
}

/// N/m of all points of a pin together: a thousand times what the body itself would give way.
static double pin_stiffness(const Body *b) {
    const Elastic *e = b->elastic;
    double size = b->dim == 3 ? cbrt(e->volume) : 1;
    return 1e3 * e->params.young * size + 9.81 * e->mass / (0.01 * b->dx);
}

/// f [r][dim] += scale gram x, x [r][dim]
static void add_gram(const Elastic *e, const double *gram, double scale, const double *x,
                     double *f) {
    for (int i = 0; i < e->r; i++)
        for (int j = 0; j < e->r; j++) {
            double g = scale * gram[i * e->r + j];
            for (int a = 0; a < e->dim; a++) f[i * e->dim + a] += g * x[j * e->dim + a];
        }
}

static void pull_body(Body *b, double end, double kick) {
    const Elastic *e = b->elastic;
    size_t r = (size_t)e->r, dofs = (size_t)e->dofs;
    double reached[ELASTIC_DOFS_MOST], stiffness = pin_stiffness(b);
    for (int i = 0; i < e->dofs; i++) reached[i] = e->d[i] + e->dn * e->v[i];
    for (int p = 0; p < b->pin_count; p++) {
        const double *gram = e->pin_gram + (size_t)p * r * r;
        const double *moment = e->pin_moment + (size_t)p * r * 4;
        double map[12];
        pin_map(b, &b->pin[p], end, map);
        add_gram(e, gram, -stiffness, reached, b->hand);
        for (size_t i = 0; i < r; i++)
            for (int a = 0; a < b->dim; a++)
                for (int c = 0; c <= b->dim; c++)
                    b->hand[i * (size_t)b->dim + (size_t)a] +=
                        stiffness * moment[4 * i + (size_t)c] * map[4 * a + c];
        for (size_t i = 0; i < r; i++)
            for (size_t j = 0; j < r; j++)
                for (size_t a = 0; a < (size_t)b->dim; a++)
                    b->extra[(i * (size_t)b->dim + a) * dofs + j * (size_t)b->dim + a] +=
                        kick * e->dn * stiffness * gram[i * r + j];
    }
    b->touching = true;
}

void pins_pull(BrimSim *s, double kick) {
    double end = s->velocity_time + 0.5 * s->dt_next;
    for (int k = 0; k < s->bodies->count; k++)
        if (s->bodies->body[k].pin_count) pull_body(&s->bodies->body[k], end, kick);
}

void pins_follow(BrimSim *s) {
    for (int k = 0; k < s->bodies->count; k++) {
        Body *b = &s->bodies->body[k];
        const Elastic *e = b->elastic;
        double change[ELASTIC_DOFS_MOST];
        if (!b->pin_count) continue;
        for (int i = 0; i < e->dofs; i++) change[i] = e->v[i] - b->work[i];
        for (int p = 0; p < b->pin_count; p++)
            add_gram(e, e->pin_gram + (size_t)p * (size_t)(e->r * e->r), -pin_stiffness(b) * e->dn,
                     change, b->hand);
    }
}
