// The system of viscosity on a tile, from the level set, walls and solids.
#pragma once
#include "step/tiles.h"

/// What the build of the system is told and tells.
typedef struct ViscousBuild {
    float strength;          ///< nu kick / dx^2
    TeamLargest speed, most; ///< largest |u| and largest diagonal of a face in the system
} ViscousBuild;

/// (velocity, known, phi, walls) => the fields viscous_*: coefficients, right-hand side in r, start
/// value in u. context: ViscousBuild
TileTask viscous_build_tile;
