// brim run --preview: a quick picture of where a run stands.
#pragma once
#include "cli.h"

typedef struct Preview {
    bool on;
    char path[4096];
    double started; ///< wall clock, s
    double due;     ///< wall clock at which the next one may be drawn, s
    double spent;   ///< on pictures so far, s
    int count, steps;
    const BrimSimDef *def;
} Preview;

void preview_start(Preview *preview, bool on, const char *folder, const BrimSimDef *def);
/// Draws one when it is time. A picture that fails is the last one: the run matters
/// more.
void preview_step(Preview *preview, const BrimSim *sim);
