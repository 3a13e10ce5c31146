// Keys of the scene that may change between steps.
#pragma once
#include "step/state.h"

enum { SETTINGS_MOST = 64 }; ///< that a simulation can have changed
