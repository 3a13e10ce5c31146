// Drops: a few particles far from all others. Cut out of the lattice such a drop would be another
// polyhedron wherever it is, and flicker as it flies; each is drawn as an ellipsoid instead, which
// has the volume of its particles, is spread as they are, and moves and deforms as they do.
#pragma once
#include "mesh/mesh.h"

enum { DROP_MOST = 12, DROP_VERTICES = 42, DROP_TRIANGLES = 80 };

/// Particles of one drop, in the order in which they were found.
typedef struct Drop {
    uint32_t particle[DROP_MOST];
    int count;
} Drop;

typedef struct Drops {
    Drop *drop; ///< [count] in the order of their cells
    size_t count;
    uint8_t *marked; ///< [particles] 1: part of a drop
} Drops;

/// Groups of at most DROP_MOST particles that are linked with each other and can touch no other
/// water, no solid and no side. False: out of memory.
bool drops_find(Drops *drops, const Bins *bins, const MeshScale *scale, const SolidList *solids,
                const BrimParticles *particles);
/// Adds their ellipsoids to a finished mesh. False: out of memory, or more than 2^32 vertices.
bool drops_draw(const Drops *drops, const MeshScale *scale, const BrimParticles *particles,
                BrimMesh *mesh);
void drops_free(Drops *drops);
