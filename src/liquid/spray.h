// Atomised spray (Lim, Kim and Hong 2015, section 4): particles of fast, torn liquid fly by
// themselves until they meet liquid or something solid again.
//
// While a step runs they are held apart, in `flying`, so that grid, surface and density see nothing
// of them. Between steps they lie in the particles' arrays behind the liquid, [count, count +
// spray): frames, checkpoints and the host find one list.
#pragma once
#include "particles/particles.h"

/// What a particle is: the attribute `type`.
enum { TYPE_LIQUID, TYPE_SPRAY };

typedef struct Spray {
    Particles flying; ///< during a step
    uint32_t *from;   ///< [chosen] places in the liquid of those that took off in this step
    size_t chosen, from_capacity;
    int64_t count;              ///< particles that fly; written by land
    int64_t atomised, rejoined; ///< took off and came back since the start
} Spray;

void spray_free(BrimSim *s);
size_t spray_bytes(const BrimSim *s);
/// A step begins: takes the spray out of the particles' arrays. False when out of memory.
bool spray_take(BrimSim *s);
/// A step ends: puts it back behind the liquid. False when out of memory.
bool spray_put_back(BrimSim *s);
