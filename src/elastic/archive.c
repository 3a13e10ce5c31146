// What elastic_new computes as bytes, so that it need not be computed again. Of this machine's
// numbers; whoever keeps the bytes sees to it that they come back whole.
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "elastic/projective.h"
#include <stdlib.h>
#include <string.h>

enum { ARCHIVE_VERSION = 4 };

/// One walk over all members both writes and reads them.
typedef struct Archive {
    uint8_t *data;
    size_t size, at, room;
    bool reading, failed;
} Archive;

static void put(Archive *a, void *value, size_t bytes) {
    if (a->failed) return;
    if (a->reading) {
        a->failed = bytes > a->size - a->at;
        if (!a->failed) memcpy(value, a->data + a->at, bytes);
    } else {
        a->failed = !memory_grow((void **)&a->data, &a->room, 1, a->at + bytes, a->at);
        if (!a->failed) memcpy(a->data + a->at, value, bytes);
    }
    a->at += a->failed ? 0 : bytes;
}

/// An array of `count` items; new when it is read, NULL where there is none.
static void put_array(Archive *a, void *array, double count, size_t item) {
    void **at = array;
    if (a->failed) return;
    a->failed = !(count >= 0) || (a->reading && count * (double)item > (double)(a->size - a->at));
    size_t bytes = a->failed ? 0 : (size_t)count * item;
    if (a->reading && bytes) a->failed = !(*at = memory_new(bytes));
    if (bytes) put(a, *at, bytes);
}

static void put_lattice(Archive *a, Lattice *l) {
    put(a, &l->dim, sizeof l->dim);
    put(a, l->axes, sizeof l->axes);
    put(a, l->n, sizeof l->n);
    put(a, l->plane, sizeof l->plane);
    put(a, &l->element_count, sizeof l->element_count);
    put(a, &l->per_element, sizeof l->per_element);
    put(a, &l->node_count, sizeof l->node_count);
    put_array(a, &l->element_at, (double)l->n[0] * l->n[1] * l->n[2], sizeof *l->element_at);
    put_array(a, &l->cell, l->element_count, sizeof *l->cell);
    put_array(a, &l->node, (double)l->element_count * l->per_element, sizeof *l->node);
    put_array(a, &l->place, l->node_count, sizeof *l->place);
}

static void put_projective(Archive *a, Elastic *e) {
    Projective *p = e->projective;
    if (a->reading) p = e->projective = memory_zero(sizeof *p);
    a->failed |= !p;
    if (a->failed) return;
    double r = e->r;
    put(a, &p->blend, sizeof p->blend);
    double g = p->blend;
    put_array(a, &p->stiffness, r * r, sizeof *p->stiffness);
    put_array(a, &p->share, e->sample_count * g, sizeof *p->share);
    put_array(a, &p->fit, g * g, sizeof *p->fit);
    put_array(a, &p->lift, e->dim * g * r, sizeof *p->lift);
}

/// Pins that are told to whoever steps the body, or that springs hold.
static int pins_kept(const ElasticParams *p) {
    bool skinned = p->subspace == ELASTIC_HANDLES && !p->rigid;
    return p->carried || skinned ? p->pin_count : 0;
}

static void put_body(Archive *a, Elastic *e) {
    int version = ARCHIVE_VERSION, pins = pins_kept(&e->params);
    int wanted = pins;
    put(a, &version, sizeof version);
    put(a, &pins, sizeof pins);
    a->failed |= version != ARCHIVE_VERSION || pins != wanted;
    put(a, &e->dim, sizeof e->dim);
    put(a, &e->r, sizeof e->r);
    put(a, &e->dofs, sizeof e->dofs);
    put(a, &e->pinned, sizeof e->pinned);
    put(a, &e->volume, sizeof e->volume);
    put(a, &e->mass, sizeof e->mass);
    put(a, e->rest_centre, sizeof e->rest_centre);
    put(a, e->omega, sizeof e->omega);
    put_lattice(a, &e->lattice);
    double r = e->r;
    put_array(a, &e->basis, e->lattice.node_count * r, sizeof *e->basis);
    put_array(a, &e->rest, r * e->dim, sizeof *e->rest);
    put_array(a, &e->whole, r, sizeof *e->whole);
    put_array(a, &e->pin_gram, pins * r * r, sizeof *e->pin_gram);
    put_array(a, &e->pin_moment, pins * r * 4, sizeof *e->pin_moment);
    put_array(a, &e->hold, pins && !e->params.carried ? r * r : 0, sizeof *e->hold);
    put(a, &e->sample_count, sizeof e->sample_count);
    put_array(a, &e->sample_volume, e->sample_count, sizeof *e->sample_volume);
    put_array(a, &e->sample_gradient, e->sample_count * r * e->dim, sizeof *e->sample_gradient);
    if (e->params.solver == ELASTIC_PROJECTIVE && !e->params.rigid) put_projective(a, e);
}

uint8_t *elastic_pack(const Elastic *body, size_t *size) {
    Archive a = {0};
    Elastic copy = *body; // its arrays are only read
    put_body(&a, &copy);
    uint64_t sum = a.failed ? 0 : hash_bytes(0, a.data, a.at);
    put(&a, &sum, sizeof sum);
    if (a.failed) free(a.data);
    *size = a.at;
    return a.failed ? NULL : a.data;
}

Elastic *elastic_unpack(const ElasticParams *params, const uint8_t *data, size_t size) {
    uint64_t sum;
    if (size < sizeof sum) return NULL;
    memcpy(&sum, data + size - sizeof sum, sizeof sum);
    if (sum != hash_bytes(0, data, size - sizeof sum)) return NULL;
    Elastic *e = memory_zero(sizeof *e);
    if (!e) return NULL;
    Archive a = {.data = (uint8_t *)data, .size = size - sizeof sum, .reading = true};
    e->params = *params;
    put_body(&a, e);
    bool sound = !a.failed && a.at == a.size && e->dim == params->dim && e->r > 0 &&
                 e->dofs == e->r * e->dim && e->dofs <= ELASTIC_DOFS_MOST;
    e->material = material_of(params->young, params->poisson);
    e->params.pins = NULL;
    if (!sound || !elastic_start(e)) elastic_free(&e);
    return e;
}
