// Particles of a test's own.
#pragma once
#include <brim/brim.h>
#include <stdlib.h>

enum { CLOUD_MOST = 300000 };

typedef struct Cloud {
    float *x, *y, *z, *vx, *vy, *vz;
    uint32_t *id;
    size_t count;
} Cloud;

static inline Cloud cloud_new(void) {
    Cloud c = {0};
    float **const arrays[] = {&c.x, &c.y, &c.z, &c.vx, &c.vy, &c.vz};
    for (int i = 0; i < 6; i++) *arrays[i] = calloc(CLOUD_MOST, sizeof(float));
    c.id = calloc(CLOUD_MOST, sizeof *c.id);
    return c;
}

static inline void cloud_free(Cloud *c) {
    free(c->x), free(c->y), free(c->z), free(c->vx), free(c->vy), free(c->vz), free(c->id);
}

static inline void cloud_add(Cloud *c, double x, double y, double z) {
    if (c->count == CLOUD_MOST) return;
    c->x[c->count] = (float)x, c->y[c->count] = (float)y, c->z[c->count] = (float)z;
    c->id[c->count] = (uint32_t)c->count;
    c->count++;
}

static inline BrimParticles cloud_view(const Cloud *c) {
    return (BrimParticles){.count = c->count,
                           .x = c->x,
                           .y = c->y,
                           .z = c->z,
                           .vx = c->vx,
                           .vy = c->vy,
                           .vz = c->vz,
                           .id = c->id};
}
