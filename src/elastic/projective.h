// Projective dynamics (Bouaziz et al. 2014), hyper-reduced by fitted targets (Brandt et al. 2018).
//
// A step of implicit Euler's rule: the numbers y at its end minimise
//   |y - s|^2 / (2 h^2) + sum over points of V [ mu |F - R|^2 + (n/2) lambda |F - D|^2 ],
//   s = d + dn (w + kick f),  h^2 = kick dn,  n = dim
// with R the rotation and D the matrix of determinant 1 nearest to F, found anew in each iteration
// while y stands still, then y while they do. Weights are SI: for small strains the sum is linear
// elasticity with Young's modulus and Poisson's ratio. The matrix for y is the same for every
// coordinate.
// With samples, R and D are found there only, and a smooth blend of few matrices is fitted to them
// that stands for the targets at all points. The fit is no gradient of an energy.
#pragma once
#include "elastic/elastic.h"

typedef struct Projective {
    double *stiffness; ///< [r][r] of all points, sum of weights V grad grad^T; and what pins hold
    int blend;         ///< matrices that are fitted; 0: targets are found at all points
    double *share;     ///< [samples][blend] of each matrix in a sample's target
    double *fit;       ///< [blend][blend] factor of share^T share
    double *lift;      ///< [dim][blend][r] what a matrix's entries do to the numbers

    // of the step
    double *factor;  ///< [r][r] of 1 + kick dn stiffness
    double factored; ///< the kick dn that it is of; 0: of none
    double *target;  ///< [samples][dim][dim]
    double *x, *b;   ///< [dim][r]
} Projective;

/// The matrix of determinant 1 nearest to P diag(s) Q^T has these in place of s.
void projective_volume(int dim, const double s[3], double out[3]);

/// Prepares a body whose points (all of them) and functions are known; keeps the samples.
BrimResult projective_new(Elastic *body, const Points *points, BrimError *error);
void projective_free(Projective **projective);
/// Room for the step. False when out of memory.
bool projective_start(Elastic *body);
size_t projective_bytes(const Elastic *body);
/// As elastic_iterate, but all iterations.
bool projective_iterate(Elastic *body, const double *f, const double *extra);
/// As elastic_comply.
void projective_comply(const Elastic *body, double *x);
