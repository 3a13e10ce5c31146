#include "io/def_hash.h"
#include "base/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Field by field: padding and pointers never enter.
#define ADD(H, VALUE) ((H) = hash_bytes(H, &(VALUE), sizeof(VALUE)))

static uint64_t add_text(uint64_t h, const char *text) {
    return text ? hash_bytes(h, text, strlen(text) + 1) : hash_mix(h);
}

/// As much of a file as fills a block; less at its end.
static size_t read_block(int file, char *block, size_t size) {
    size_t n = 0;
    while (n < size) {
        ssize_t got = read(file, block + n, size - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    return n;
}

/// The content of a file; its name when it is none that has an end (a device, a pipe) or cannot be
/// read.
static uint64_t add_file(uint64_t h, const char *path) {
    int file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct stat info;
    if (file >= 0 && (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))) close(file), file = -1;
    if (file < 0) return add_text(h, path);
    char block[1 << 14];
    for (size_t n; (n = read_block(file, block, sizeof block)) > 0;) h = hash_bytes(h, block, n);
    close(file);
    return h;
}

static uint64_t add_canyon(uint64_t h, const BrimCanyonDef *c) {
    ADD(h, c->seed), ADD(h, c->bed), ADD(h, c->slope), ADD(h, c->width), ADD(h, c->depth);
    ADD(h, c->meander), ADD(h, c->wavelength), ADD(h, c->roughness), ADD(h, c->fall_count);
    for (int i = 0; i < c->fall_count && i < 4; i++) ADD(h, c->fall_x[i]), ADD(h, c->fall_drop[i]);
    return h;
}

static uint64_t add_shape(uint64_t h, const BrimShapeDef *s) {
    ADD(h, s->kind), ADD(h, s->position), ADD(h, s->rotation), ADD(h, s->scale), ADD(h, s->size);
    ADD(h, s->radius), ADD(h, s->tube), ADD(h, s->height), ADD(h, s->normal), ADD(h, s->blend);
    h = add_file(h, s->file);
    if (s->heights && s->heights_x > 0 && s->heights_z > 0)
        h = hash_bytes(h, s->heights, sizeof(float) * (size_t)s->heights_x * (size_t)s->heights_z);
    ADD(h, s->heights_x), ADD(h, s->heights_z);
    if (s->canyon) h = add_canyon(h, s->canyon);
    ADD(h, s->child_count);
    for (int i = 0; i < s->child_count; i++) h = add_shape(h, &s->children[i]);
    return h;
}

static uint64_t add_solid(uint64_t h, const BrimSolidDef *s) {
    h = add_shape(h, &s->shape);
    ADD(h, s->motion), ADD(h, s->axis), ADD(h, s->rate), ADD(h, s->start),
        ADD(h, s->keyframe_count);
    for (int i = 0; i < s->keyframe_count; i++) {
        const BrimKeyframe *k = &s->keyframes[i];
        ADD(h, k->time), ADD(h, k->position), ADD(h, k->rotation);
    }
    return h;
}

static uint64_t add_source(uint64_t h, const BrimSourceDef *s) {
    h = add_shape(h, &s->shape);
    ADD(h, s->velocity), ADD(h, s->flow), ADD(h, s->rate), ADD(h, s->start), ADD(h, s->stop);
    return h;
}

static uint64_t add_settings(uint64_t h, const BrimSimDef *d) {
    ADD(h, d->dim), ADD(h, d->size), ADD(h, d->cells), ADD(h, d->sides), ADD(h, d->gravity);
    ADD(h, d->frame_rate), ADD(h, d->step), ADD(h, d->cfl), ADD(h, d->step_min);
    ADD(h, d->step_max), ADD(h, d->density), ADD(h, d->transfer), ADD(h, d->flip_ratio);
    ADD(h, d->advection), ADD(h, d->surface), ADD(h, d->tolerance), ADD(h, d->max_iterations);
    ADD(h, d->preconditioner), ADD(h, d->particles_per_cell), ADD(h, d->jitter), ADD(h, d->seed);
    if (d->band_width) ADD(h, d->band_width), ADD(h, d->band_combine), ADD(h, d->band_order);
    if (d->attributes) ADD(h, d->attributes);
    ADD(h, d->volume), ADD(h, d->volume_tolerance), ADD(h, d->volume_time);
    ADD(h, d->pressure_from), ADD(h, d->gravity_key_count);
    for (int i = 0; i < d->gravity_key_count; i++)
        ADD(h, d->gravity_keys[i].time), ADD(h, d->gravity_keys[i].gravity);
    return h;
}

uint64_t def_hash(const BrimSimDef *d) {
    uint64_t h = add_settings(0, d);
    ADD(h, d->liquid_count), ADD(h, d->solid_count), ADD(h, d->source_count),
        ADD(h, d->drain_count);
    for (int i = 0; i < d->liquid_count; i++) {
        h = add_shape(h, &d->liquid[i].shape);
        ADD(h, d->liquid[i].velocity), ADD(h, d->liquid[i].spin);
        ADD(h, d->liquid[i].particles);
    }
    for (int i = 0; i < d->solid_count; i++) h = add_solid(h, &d->solids[i]);
    for (int i = 0; i < d->source_count; i++) h = add_source(h, &d->sources[i]);
    for (int i = 0; i < d->drain_count; i++) {
        h = add_shape(h, &d->drains[i].shape);
        ADD(h, d->drains[i].start), ADD(h, d->drains[i].stop);
    }
    return h;
}
