// Particles far from all others: each is drawn as a ball of its own volume, the same wherever it
// is.
#pragma once
#include "mesh/mesh.h"

enum { DROP_VERTICES = 42, DROP_TRIANGLES = 80 };

typedef struct Drops {
    uint32_t *particle; ///< [count] in the order of their cells
    size_t count;
} Drops;

/// Particles whose ball can touch no other water, no solid and no side. False: out of memory.
bool drops_find(Drops *drops, const Bins *bins, const MeshScale *scale, const SolidList *solids,
                const BrimParticles *particles);
/// Adds their balls to a finished mesh. False: out of memory, or more than 2^32 vertices.
bool drops_draw(const Drops *drops, const MeshScale *scale, const BrimParticles *particles,
                BrimMesh *mesh);
void drops_free(Drops *drops);
