// Meshing for those who hold the solids themselves: the simulation and the mesher.
#pragma once
#include "brim/brim.h"
#include "grid/grid.h"
#include "solid/solid.h"

BrimResult mesh_check(const BrimSimDef *def, const BrimMeshDef *mesh, BrimError *error);
/// Cells that are full of water although they hold no particles.
typedef struct FilledCells {
    const Grid *grid;
    const uint8_t *mask; ///< [tiles * 64]; NULL: none
} FilledCells;

/// The surface of particles with the solids where they are. Of the def only domain and particles
/// per cell are read. On failure *mesh is empty.
BrimResult mesh_make(const BrimSimDef *def, const BrimMeshDef *mesh_def, Solid *const *solids,
                     int solid_count, const BrimParticles *particles, FilledCells filled,
                     BrimMesh *mesh, BrimError *error);
