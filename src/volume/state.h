// What the density projection holds of the state beside its fields.
#pragma once
#include "particles/density.h"

typedef struct VolumeState {
    const DensityKernels *kernels;
    double waited;    ///< since the last projection, s
    double travelled; ///< cells that the fastest particle went since the last projection
    bool crowded;     ///< it had far to move particles, found some inside solids, or a solid came
    bool weighs;      ///< the density is measured in this step
    int64_t inside;   ///< particles inside solids, of this step
    double pressed_cells; ///< liquid that has no room, cells; written by weigh after
} VolumeState;
