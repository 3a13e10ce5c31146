// Friction of turbulent flow at walls and solids: what no grid of this size resolves.
//
// The wall takes the stress rho C u^2 from the layer of liquid on it, as thick as the cell, or as
// the liquid where that is thinner:
//   du/dt = -C |u| u / h
// C is half the friction coefficient (walls.friction), or that of the log law's mean velocity in
// such a layer (walls.roughness k, viscosity nu):
//   C = (0.41 / (ln(h / z0) - 1))^2,  z0 = k / 30 + 0.11 nu / (sqrt(C) u)
// Implicit in u, so that no step is too long.
#pragma once
#include <math.h>

/// Layers thinner than a few times the roughness have no log law; what the divisor is at least.
#define FRICTION_LEAST 1.0

/// C of the log law, for a layer of mean speed u, m/s, and thickness h, m. roughness: k, m;
/// nu: m^2/s.
static inline double friction_log_law(double u, double h, double roughness, double nu) {
    double c = 0.003;
    for (int i = 0; i < 4; i++) { // the factor 0.11 nu / u* is inside a logarithm
        double z0 = roughness / 30 + (u > 0 ? 0.11 * nu / (sqrt(c) * u) : h);
        double root = 0.41 / fmax(log(h / z0) - 1, FRICTION_LEAST);
        c = root * root;
    }
    return c;
}
