// Meshing for those who hold the solids themselves: the simulation and the mesher.
#pragma once
#include "brim/brim.h"
#include "solid/solid.h"

BrimResult mesh_check(const BrimSimDef *def, const BrimMeshDef *mesh, BrimError *error);
/// The surface of particles with the solids where they are. Of the def only domain and particles
/// per cell are read. On failure *mesh is empty.
BrimResult mesh_make(const BrimSimDef *def, const BrimMeshDef *mesh_def, Solid *const *solids,
                     int solid_count, const BrimParticles *particles, BrimMesh *mesh,
                     BrimError *error);
