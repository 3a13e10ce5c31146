// Particles of a recording, which are sorted by id, in the order of tiles, as viewers want them,
// and the cells below a narrow band.
#pragma once
#include <brim/brim.h>

typedef struct Ordered {
    BrimParticles view; ///< of what follows; without ids
    float *memory;
    size_t capacity; ///< of memory, floats
    char name[BRIM_EXTRA_MAX][32];
} Ordered;

/// False when out of memory.
bool order_particles(const BrimSimDef *def, const BrimFrame *frame, Ordered *ordered);
void order_free(Ordered *ordered);
