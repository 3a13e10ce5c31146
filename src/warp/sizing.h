// What the grid bends towards: eq. (2), from distances and speeds at the coarse lattice's centres.
#pragma once
#include "warp/deform.h"

typedef struct WarpSizing {
    double surface; ///< alpha: how sharply distance to the surface counts; 0 = not at all
    double speed;   ///< beta, of |u| / unit_speed; 0 = not at all
    double solid;   ///< gamma, of the distance to solids; 0 = not at all
    double length;  ///< longest edge of the domain, cells
    double unit_speed;
    double of_surface, of_speed, of_solid; ///< weights of the three
} WarpSizing;

/// alpha 7, beta 1.57 of sqrt(g L), gamma 7; weights 1, of solids 0.
WarpSizing warp_default_sizing(const int cells[3], double gravity, double cell_width);

/// f [centres] = - exp(-alpha distance / L) + exp(-beta speed / unit) - exp(-gamma solid / L), each
/// times its weight, + extra, blurred by a Gaussian of one coarse cell, mean zero, scaled to a
/// least value of -strength. distance, solid: cells; speed: as unit_speed; extra: any; each
/// [centres] or NULL. Fails on values that are not finite.
BrimResult warp_size(Warp *w, const WarpSizing *sizing, const float *distance, const float *speed,
                     const float *solid, const float *extra, double *f, BrimError *error);

/// Where no point of the surface is known, cells.
#define WARP_NOWHERE 1e8f

/// Carries known points of the surface to all centres: closest [axis][centres], cells in space, all
/// WARP_NOWHERE where none is known. distance [centres] => how far the nearest is, cells; `none`
/// where there is no surface at all. Overwrites closest.
void warp_sweep_distance(Warp *w, float *const closest[3], double none, float *distance);
