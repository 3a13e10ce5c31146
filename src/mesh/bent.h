// Surfaces on a warped grid are made in its reference space, where its cells are a regular grid's
// and hold as many particles everywhere, and then bent into space.
#pragma once
#include "brim/brim.h"
#include "grid/space.h"
#include "warp/map.h"

/// The vertices of a mesh of reference space => where they are in space; normals as those of a
/// gradient, J^-1 n.
void bend_mesh(const WarpMap *map, Space space, BrimMesh *mesh);

/// The particles of a frame that says how its grid is bent, in reference space.
typedef struct Bent {
    WarpMap map;
    float *x[3]; ///< [count], as long as cells were dx wide, m; one piece of memory
} Bent;

/// Fails where the frame's grid is not that of the def, or no grid.
BrimResult bent_find(const BrimSimDef *def, const BrimParticles *particles, int threads, Bent *bent,
                     BrimError *error);
void bent_free(Bent *bent);
