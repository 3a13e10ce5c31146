#pragma once
#include <time.h>

/// Milliseconds of a clock that only goes forward.
static inline double timer_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}
