// A run told beforehand by a coarse one of the same scene.
#pragma once
#include "brim/brim.h"

typedef struct Forecast {
    double steps;     ///< of the whole run
    double particles; ///< mean over the frames that are written
    double last;      ///< at the end
    double vertices;  ///< of the surface, mean over frames; below 0: not known
    double foam;      ///< particles of spray, foam and bubbles, mean over frames
} Forecast;

/// Whether a coarse run tells more than the scene itself: steps by CFL, or water that comes, goes
/// or is resampled.
bool forecast_helps(const BrimSimDef *def);
/// What the scene itself tells: particles at the start, and those that its sources emit.
typedef struct Supply {
    double seeded;
    const double *rate; ///< [source_count] particles a second
} Supply;

/// Particles that were seeded and emitted until a time.
double supply_until(const BrimSimDef *def, const Supply *supply, double time);
/// Runs the scene with a few thousand particles and scales what it did. False when the coarse scene
/// could not be run.
bool forecast_run(const BrimSimDef *def, const Supply *supply, Forecast *forecast);
