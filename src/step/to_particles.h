// What a tile's particles read of the grid: for methods by which some of them take another velocity
// than FLIP's.
#pragma once
#include "step/state.h"

/// The rows of a field's components that a tile's particles read. => blocks of halo 1, in the first
/// three of the thread's scratch
void read_blocks(const BrimSim *s, int slot, float *const field[3], ThreadScratch *scratch,
                 const float *blocks[3]);
/// Trilinear value at a particle in a block of halo 1, of values in cells, or on their lower faces
/// along an axis.
float span_value(const BrimSim *s, const Span *span, const float *block, Place place, uint32_t i);
/// Some particles' velocities become the grid's. => was: what they were
void take_grid(const BrimSim *s, const Span *part, const float *const blocks[3],
               float *const was[3]);
