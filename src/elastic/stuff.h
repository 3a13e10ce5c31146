// Tetrahedra that fill a region: isosurface stuffing (Labelle and Shewchuk 2007) of its distance.
#pragma once
#include "elastic/lattice.h"
#include "solid/tetmesh.h"

/// The edge of lattice that gives about `wanted` tetrahedra for a volume, m.
double stuff_edge(double volume, double wanted);

/// Fills a region with tetrahedra whose dihedral angles are between 10 and 165 degrees. `edge` is
/// that of the lattice, m. name: of the region in messages.
BrimResult stuff_region(const Region *region, double edge, const char *name, Tetmesh *mesh,
                        BrimError *error);
