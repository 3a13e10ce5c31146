// What the pressure projection holds of the state beside its fields.
#pragma once
#include "solve/solve.h"

typedef struct ProjectionState {
    Poisson *poisson;
    Grid system;       ///< tiles of the linear system: see step/system.h
    double kick;       ///< over which the last pressure acted, s
    double kick_now;   ///< seconds of gravity and pressure of this step
    double flow_share; ///< what is shown has so much more of the flow's part; 0: steps are alike
} ProjectionState;
