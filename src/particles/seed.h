// Lattice of sampling points: particles_per_cell points in each cell, in a square or cube.
#pragma once
#include "particles/particles.h"

/// Points along an edge of a cell: 2 for 8 a cell in 3D, 3 for 9 in 2D.
int seed_per_axis(int dim, int per_cell);

/// Calls back with up to SEED_BATCH lattice points at a time that lie in a box: lattice points are
/// at (i + 1/2) * spacing + offset. Points are visited in a fixed order, x fastest.
enum { SEED_BATCH = 256 };
typedef struct SeedBatch {
    int count;
    float x[SEED_BATCH], y[SEED_BATCH], z[SEED_BATCH];
} SeedBatch;
typedef bool SeedVisit(void *context, const SeedBatch *batch);

/// False when the visitor returned false.
bool seed_lattice(int dim, float spacing, const float offset[3], const float low[3],
                  const float high[3], SeedVisit *visit, void *context);
