// Skinning handles (Brandt et al. 2018): points of a body, each with a weight that falls off with
// the distance along the body. A subspace of affine or quadratic motions of the handles, blended.
#pragma once
#include "elastic/lattice.h"

typedef struct Handles {
    int count;
    int32_t *node;  ///< [count] where they sit
    double radius;  ///< beyond which a weight is 0, m
    double *weight; ///< [nodes][count], each row adds up to 1
} Handles;

/// Chooses handles as far from one another as can be. The radius is `factor` times the largest
/// distance of a node to its nearest handle. Weights are (1 - (d / radius)^2)^2 of the distance
/// along edges of elements, divided by their sum.
BrimResult handles_new(const Lattice *lattice, int wanted, double factor, Handles *handles,
                       BrimError *error);
void handles_free(Handles *handles);

/// Functions of a handle: 1 + dim, and with order 2 the products of coordinates too.
int handle_functions(int dim, int order);
/// The functions of handle h at every node: columns [handle_functions][nodes].
void handle_columns(const Lattice *lattice, const Handles *handles, int h, int order,
                    double *columns);
