// Friction within the liquid: implicit and variational, after Batty and Bridson (2008).
//
// The velocity after a step k is the one that loses least by friction for what it changes:
//   (M + 2 k nu D^T W D) u = M u*
// with D the rate of strain, D_aa at cell centres and D_ab on edges (2D: nodes), M and W the liquid
// parts of control volumes around faces, centres and edges. What is outside the liquid has no
// weight, so the surface is free of stress by itself.
//
// As a matrix: a face of component a is tied to the faces of the same component beside it, along
// its own axis by 2 k nu W and across by k nu W of the edge between them, and by k nu W of the edge
// to the two faces of the other component that meet there. In cells: nu stands for nu / dx^2.
// Products are taken of differences: a diagonal would drown the mass.
#pragma once
#include "projection/faces.h"
#include "solve/solve.h"

/// Edges across two axes: xy 0, xz 1, yz 2.
static inline int edge_of(int a, int b) {
    return a + b - 1;
}

/// The system on one tile: coefficients with those of the tiles beside it, [component] and [axis].
typedef struct ViscousTile {
    const float *mass[3], *diagonal[3];
    TileView along[3][3]; ///< [axis][component]
    TileView cross[3];    ///< by edge_of
} ViscousTile;

enum { VISCOUS_EDGE = TILE + 2, VISCOUS_BLOCK = VISCOUS_EDGE * VISCOUS_EDGE * VISCOUS_EDGE };

/// Stands for the mass of a face that has the velocity of a wall.
#define VISCOUS_HELD -1.0f

typedef struct ViscosityKernels {
    /// q = A p on the faces of the system, 0 on others. block: p with a halo of one cell, as
    /// viscous_block makes it. Returns p . q.
    double (*apply)(const ViscousTile *t, int dim, const float *const block[3], float *const q[3]);
    /// u += alpha p, r -= alpha q. => largest |r| and |u|; returns r . r / diagonal.
    double (*step)(int cells, float alpha, const float *p, const float *q, const float *diagonal,
                   float *u, float *r, float most[2]);
    /// p = r / diagonal + beta p
    void (*turn)(int cells, float beta, const float *r, const float *diagonal, float *p);
    /// r . z over faces of the system
    double (*dot)(int cells, const float *r, const float *z, const float *diagonal);
    /// p = z + beta p on faces of the system
    void (*turn_to)(int cells, float beta, const float *z, const float *diagonal, float *p);
} ViscosityKernels;

BRIM_KERNELS(ViscosityKernels, viscosity_kernels)

/// What viscosity holds of the state beside its fields.
typedef struct ViscosityState {
    const ViscosityKernels *kernels; ///< NULL without viscosity
    Poisson *component[3];           ///< preconditioners of very viscous liquids, [axis]
    int iterations;                  ///< of the last solve
} ViscosityState;

/// A tile of a field with a halo of one cell, zeros where no tile is. => block [z][y][x]
void viscous_block(const Grid *g, int slot, const float *field, float *block);
