#include "particles/particles.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void particles_free(Particles *p) {
    for (int a = 0; a < ATTR_MAX; a++) free(p->attr[a]);
    free(p->id);
    free(p->key);
    free(p->order);
    free(p->spare);
    free(p->cell_start);
    free(p->occupied);
    *p = (Particles){0};
}

static int attribute_count(const Particles *p) {
    return p->affine ? ATTR_MAX : ATTR_AFFINE;
}

size_t particles_bytes(const Particles *p) {
    return p->capacity * 4 * (size_t)(attribute_count(p) + 4) + p->start_capacity * 4 +
           p->mask_capacity;
}

/// A larger copy of *array with its first `keep` elements.
static bool enlarge(void **array, size_t capacity, size_t keep) {
    void *larger = memory_new((capacity + PARTICLE_PADDING) * 4);
    if (!larger) return false;
    if (keep) memcpy(larger, *array, keep * 4);
    free(*array);
    *array = larger;
    return true;
}

bool particles_reserve(Particles *p, size_t count) {
    if (count <= p->capacity) return true;
    size_t capacity = memory_reserve(p->capacity, count);
    bool ok = true;
    for (int a = 0; a < attribute_count(p) && ok; a++)
        ok = enlarge((void **)&p->attr[a], capacity, p->count);
    ok = ok && enlarge((void **)&p->id, capacity, p->count);
    ok = ok && enlarge((void **)&p->key, capacity, p->count);
    ok = ok && enlarge((void **)&p->order, capacity, 0);
    ok = ok && enlarge((void **)&p->spare, capacity, 0);
    if (ok) p->capacity = capacity;
    return ok;
}
