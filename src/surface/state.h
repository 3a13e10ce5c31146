// What responsive tracking holds of the state beside its fields.
#pragma once
#include "surface/track_kernels.h"
#include "surface/track_planes.h"

typedef struct TrackingState {
    const TrackKernels *kernels; ///< NULL without tracking
    const PlaneKernels *planes;
    double speed_low, speed_high; ///< m/s; below the first all of the past counts, above the other
                                  ///< none; chosen when a simulation begins
} TrackingState;
