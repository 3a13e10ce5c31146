// What experiments measure in a simulation besides its statistics.
#pragma once
#include "cli.h"

/// All of these: NaN or 0 when memory ran out.

/// Liquid inside the level set, in cells; each cell is filled as far as a level plane would cut it.
double measure_liquid(const BrimSim *sim);
/// Volume of the solids inside the domain, m^3 (2D: m^2).
double measure_solids(const BrimSim *sim);
/// Mean height of the surface over all columns, m.
double measure_level(const BrimSim *sim);
/// Mean height of the surface over the columns beside the walls, m.
double measure_rim_level(const BrimSim *sim);
/// Volume that the surface of a body encloses, and the part of it below a height, m^3. 3D.
double measure_body(const BrimSim *sim, int body, double height, double *below);
/// Particles deeper inside solids than they may be on their way.
double measure_inside(const BrimSim *sim);

/// Particles in the cells below a height.
typedef struct Counts {
    double mean, spread;        ///< spread: standard deviation
    double edge[64], share[64]; ///< of cells that hold 0, 1, 2, ... particles: left edge, percent
    int bins;
} Counts;
Counts measure_counts(const BrimSim *sim, double below);

/// Mean of |density / rest - 1| over the cells at least two cells below the surface.
double measure_density_error(const BrimSim *sim);
