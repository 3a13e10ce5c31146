// A simulation that viewers look at and steer, in a thread of its own.
#pragma once
#include "live/hub.h"

typedef struct EngineDef {
    const char *path;   ///< of the scene
    const char *folder; ///< for checkpoints and events, and all else when recording
    const char *const *sets;
    int set_count;
    bool record;    ///< frames and all else that the scene wants written
    bool overwrite; ///< an earlier run in the folder
    bool paused;    ///< until a viewer lets it go
    double speed;   ///< simulated seconds a second; 0 = as fast as it goes
    Hub *hub;
} EngineDef;

typedef struct Engine Engine;

/// Loads the scene and makes the simulation. Reports what is wrong and returns the exit code.
int engine_open(const EngineDef *def, Engine **engine);
/// Starts the thread. False when there is none to be had.
bool engine_start(Engine *engine);
/// Waits for its end: the step is finished and a checkpoint written. Returns the exit code.
int engine_join(Engine *engine);
/// What it left in the folder, for people.
void engine_summary(const Engine *engine);
void engine_close(Engine **engine);
