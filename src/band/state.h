// What a narrow band holds of the state beside its fields.
#pragma once
#include "band/kernels.h"

typedef struct BandState {
    const BandKernels *kernels; ///< NULL without a band
    uint32_t *swallowed; ///< keys of cells below the band, one for each particle that a source's
                         ///< water pushed there in the last projection; written by density
    size_t swallowed_count, swallowed_capacity;
    double swallow_time; ///< over which it flows on, s: as long as it took to come
    double swallow_left; ///< of that, s
    int64_t resampled;   ///< particles made less those taken
} BandState;
