// What the density projection holds of the state beside its fields.
#pragma once
#include "particles/density.h"
#include <stdbool.h>
#include <stdint.h>

/// Mean and largest density error of cells, as sums.
typedef struct DensityErrors {
    double sum, cells;
    double waiting; ///< sum of what errors are cut by
    float largest;
} DensityErrors;

typedef struct VolumeState {
    const DensityKernels *kernels;
    float ramp;       ///< cells over which a particle's weight passes from a cell to the next
    double waited;    ///< since the last projection, s
    double travelled; ///< cells that the fastest particle went since the last projection
    bool settling;    ///< before the first step, see settle.h
    bool crowded;     ///< it had far to move particles, found some inside solids, or a solid came
    bool weighs;      ///< the density is measured in this step
    bool again;       ///< its projection is followed by another one
    int64_t inside;   ///< particles inside solids, of this step
    int pushed_tiles; ///< near solids and with particles
    DensityErrors found;  ///< by the last projection
    double moved;         ///< longest way of a particle by it, cells
    double pressed_cells; ///< liquid that has no room, cells; written by weigh after
    double control_start; ///< volume by the level set over that of the particles, at the start
    double control_sum;   ///< of what the volume was too large, part times s
} VolumeState;
