// Where an elastic body may come to touch itself.
#pragma once
#include "step/state.h"

typedef struct Body Body;

/// A vertex of a body's surface beside another part of the same surface.
typedef struct Fold {
    uint32_t vertex, triangle;
    double weight[3]; ///< of the triangle's corners: the foot
    double normal[3]; ///< out of the surface at the foot
    double start;     ///< m, distance at the start of the step
} Fold;

/// What finding folds needs of the shape at rest, with the normals there. False when out of memory.
bool folds_new(Body *body);
/// Finds the folds that may touch within the step that begins: after elastic_begin, with the
/// velocities of the surface those of the step before.
void folds_find(const BrimSim *s, Body *body);
/// The functions at a fold's vertex less those at its foot: row [r]. Velocities (x) row: how fast
/// they part.
void fold_row(const Body *body, const Fold *fold, float *row);
