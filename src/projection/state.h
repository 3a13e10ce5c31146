// What the pressure projection holds of the state beside its fields.
#pragma once
#include "solve/solve.h"

/// Tiles that running sources meet (projection/inlet.h).
typedef struct Inlets {
    struct InletTile *tile; ///< [count]
    int32_t *at;            ///< [tiles] 1 + the tile's place among them, 0: no source there
    size_t room, tiles_room;
    int count;
    bool begins; ///< a stream begins before liquid
} Inlets;

typedef struct ProjectionState {
    Poisson *poisson;
    Inlets inlets;
    Grid system;       ///< tiles of the linear system: see step/system.h
    double kick;       ///< over which the last pressure acted, s
    double kick_now;   ///< seconds of gravity and pressure of this step
    double flow_share; ///< what is shown has so much more of the flow's part; 0: steps are alike
} ProjectionState;
