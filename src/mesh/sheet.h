// Thin sheets. A sheet thinner than the spacing of particles has them farther apart than in full
// water, and by chance there are gaps between them; drawn each for itself they would tear it into a
// net. A point that has particles around it on all sides in a plane lies in a sheet, whose
// thickness is their volume over the area that they take.
#pragma once
#include "mesh/mesh.h"

/// (block) => sparse: cells with as many particles around them as a thin sheet may have. Only there
/// sheet_distance can change anything.
void sheet_cells(const Block *block, const MeshScale *scale, Touched sparse);

/// Distance at `at` from the surface of such a sheet, blended into phi, the distance by the
/// particles themselves and their sums, by how much the particles around look like a sheet.
float sheet_distance(const Block *block, const NodeInput *input, const float at[3],
                     const LevelSums *sums, float phi);
/// Takes a vertex of a sheet that is drawn thicker than it is, so that the lattice holds it, back
/// to where the sheet's surface is, but not through that of the particles, phi away.
void sheet_thin(const Block *block, const NodeInput *input, const LevelSums *near, float phi,
                float at[3]);
