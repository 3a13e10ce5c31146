// Numbered pictures into an H.264 film, by the ffmpeg program.
#pragma once
#include "cli.h"

/// Whether ffmpeg is there to be run.
bool film_can_encode(void);
/// Joins `count` pictures, FOLDER/000000.png, 000001.png, ..., into a film at `path`, which appears
/// when complete. Returns an exit code.
int film_encode(const char *folder, int count, double frame_rate, const char *path);
