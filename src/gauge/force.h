// What gauges of force on regular and on warped grids share.
#pragma once
#include "gauge/gauge.h"

ShareOfTile share_of_solid_warped, share_of_side_warped;

/// What torques are about: the centre of a solid's shape, or of a body's mass.
void gauge_centre(const BrimSim *s, const BrimGaugeDef *gauge, double centre[3]);

/// Adds a force that acts at a place.
static inline void add_force(TileShare *share, const double arm[3], const double force[3]) {
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        share->value[a] += force[a];
        share->value[3 + a] += arm[b] * force[c] - arm[c] * force[b];
    }
}
