// Pre-computed bodies in a folder: a file for each, named by the hash of what decides it.
#include "sim_cache.h"
#include "base/hash.h"
#include "base/memory.h"
#include "io/file.h"
#include "scene/def_hash.h"
#include <stdlib.h>

static uint64_t add_number(uint64_t h, double x) {
    return hash_bytes(h, &x, sizeof x);
}

BodyKey body_key(const BrimSimDef *def, const BrimBodyDef *body) {
    BodyKey key;
    for (int n = 0; n < 2; n++) {
        uint64_t h = add_number(0, n);
        h = shape_hash(h, &body->shape, def->dim);
        h = add_number(h, def->dim);
        h = add_number(h, def->cells[0] / (double)def->size.x);
        h = add_number(h, body->rigid);
        h = add_number(add_number(h, body->density), body->young);
        h = add_number(add_number(h, body->poisson), body->modes);
        h = add_number(add_number(h, body->elements), body->pin_count);
        if (body->solver == BRIM_BODY_PROJECTIVE) h = add_number(add_number(h, 1), body->samples);
        if (body->subspace == BRIM_SUBSPACE_HANDLES) {
            h = add_number(add_number(h, body->handles), body->handle_radius);
            h = add_number(h, body->order);
        }
        for (int i = 0; i < body->pin_count; i++) {
            h = shape_hash(h, &body->pins[i].shape, def->dim);
            h = add_number(h, body->pins[i].keyframe_count > 0);
        }
        key.hash[n] = h;
    }
    return key;
}

static char *cache_path(const char *folder, const BodyKey *key) {
    return path_new("%s/body-%016llx%016llx", folder, (unsigned long long)key->hash[0],
                    (unsigned long long)key->hash[1]);
}

uint8_t *cache_get(void *folder, const BodyKey *key, size_t *size) {
    char *path = cache_path(folder, key);
    FILE *in = NULL;
    uint64_t bytes = 0;
    uint8_t *data = NULL;
    if (path && file_open(path, &in, &bytes, NULL) == BRIM_OK) {
        data = memory_new((size_t)bytes + 1);
        if (data && fread(data, 1, (size_t)bytes, in) != (size_t)bytes) free(data), data = NULL;
        fclose(in);
    }
    free(path);
    *size = (size_t)bytes;
    return data;
}

void cache_put(void *folder, const BodyKey *key, const uint8_t *bytes, size_t size) {
    char *path = cache_path(folder, key);
    FileWriter *out = NULL;
    if (path && folder_make(folder, NULL) == BRIM_OK && file_create(path, &out, NULL) == BRIM_OK) {
        file_write(out, bytes, size);
        file_commit(&out, NULL);
    }
    free(path);
}
