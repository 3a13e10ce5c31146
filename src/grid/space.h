// Where things are: the one map from space to the grid and back. A point of space is in m from the
// domain's low corner, one of the grid in cells from there; cell i along an axis reaches from i to
// i + 1. (A grid that bends has a map of its own between the two on top of this one: warp/map.h.)
#pragma once
#include <math.h>

/// The map, the same along each axis.
typedef struct Space {
    float dx, inv_dx; ///< of a cell, m
} Space;

/// A coordinate in m => in cells, and back.
static inline float space_to_grid(Space s, float x) {
    return x * s.inv_dx;
}
static inline float space_from_grid(Space s, float cells) {
    return cells * s.dx;
}
/// The same in double precision.
static inline double space_to_grid_double(Space s, double x) {
    return x * (double)s.inv_dx;
}

/// The cell along an axis that holds a coordinate, and the coordinate of a cell's middle.
static inline int space_cell(Space s, float x) {
    return (int)floorf(space_to_grid(s, x));
}
static inline float space_middle(Space s, int cell) {
    return space_from_grid(s, (float)cell + 0.5f);
}
