// What walls hold of the state beside their fields: the solids and how they were sampled.
#pragma once
#include "solid/solid.h"

typedef struct WallState {
    Solid **solids; ///< those of bodies among them
    int solid_count;
    SolidState *pending; ///< of solids that a checkpoint's host had added and will add again
    double (*pending_placed)[2]; ///< when they were placed last; NULL: none deforms
    int pending_count;
    double time;       ///< for which the solids are sampled, s
    int fine_count;    ///< fine tiles
    float *fine_block; ///< [threads_most] blocks of nodes at half cells
} WallState;
