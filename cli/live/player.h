// A recorded run that viewers look at, also while it is still being written, in a thread of its
// own.
#pragma once
#include "live/hub.h"

typedef struct Player Player;

/// Finds the frames and the scene of a run. Reports what is wrong and returns the exit code.
int player_open(const char *folder, Hub *hub, Player **player);
/// Starts the thread. False when there is none to be had.
bool player_start(Player *player);
void player_join(Player *player);
void player_close(Player **player);
