// Stiffness and mass of a body at rest, and the vibrations that have the lowest frequencies.
#pragma once
#include "elastic/lattice.h"
#include "elastic/material.h"
#include "elastic/sparse.h"

typedef struct Modes {
    int count;
    double *omega2; ///< [count] (rad/s)^2, rising
    double *shape;  ///< [nodes][dim][count] of unit mass, kg^-1/2; 0 at held nodes
    double *answer; ///< [given_count][nodes][dim] m
    Sparse mass;    ///< scalar, over all nodes, kg (2D: kg/m)
} Modes;

typedef struct ModesParams {
    Material material;
    double density;      ///< kg/m3
    const uint8_t *held; ///< [nodes] which cannot move; NULL: none
    /// Displacements of held nodes, [given_count][nodes][dim], m: what the body then does at rest
    /// is wanted too.
    const double *given;
    int given_count;
    int wanted; ///< besides motions that do not deform; 0: only the mass is found
} ModesParams;

/// Shift-invert subspace iteration. The body's rigid motions, as far as it is free, are left out.
BrimResult modes_new(const Lattice *lattice, const Points *points, const double *filled,
                     const ModesParams *params, Modes *modes, BrimError *error);
void modes_free(Modes *modes);
