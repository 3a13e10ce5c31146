// Makes surfaces of a running simulation in a thread of its own, from copies of its particles, so
// that the simulation need not wait.
#pragma once
#include "live/hub.h"

typedef struct Surfacer Surfacer;

/// Whether a scene has surfaces that frames can show: 3D, on a regular grid.
bool surfacer_can(const BrimSimDef *def);
/// NULL when it cannot be had.
Surfacer *surfacer_new(const BrimSimDef *def, Hub *hub);
/// Whether it could begin another one.
bool surfacer_idle(Surfacer *surfacer);
/// Copies what is given and publishes its surface when that is done. False when out of memory.
bool surfacer_give(Surfacer *surfacer, const FrameHead *head, const BrimSim *sim);
/// Waits for its end.
void surfacer_free(Surfacer **surfacer);
