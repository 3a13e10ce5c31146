// Stage 4: particles go through drains, and come from sources and from the host.
#include "emit/emit.h"
#include "warp/space.h"
#include <string.h>

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

/// False when out of memory.
static bool emit_all(BrimSim *s) {
    drains_empty(s);
    for (int k = 0; k < s->source_count; k++)
        if (!emit_source(s, &s->sources[k])) return false;
    return come_in(s);
}

BrimResult stage_emit(BrimSim *s, BrimError *error) {
    return emit_all(s) ? BRIM_OK : step_out_of_memory(s, "emit", error);
}
