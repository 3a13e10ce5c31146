// Files that a command makes of a run's frames, one each: surfaces, foam, files for other programs.
#pragma once
#include "frames.h"

typedef struct FrameFiles {
    char folder[PATH_MAX];
    const char *prefix, *suffix; ///< around the frame's number
    const char *what;            ///< for messages: "surfaces"
} FrameFiles;

bool file_exists(const char *path);
/// False, with a message, when it does not fit.
bool frame_file(const FrameFiles *files, int number, char path[PATH_MAX]);
/// Whether `from` can be the folder of a run, for a command. Returns an exit code.
int frames_need_folder(const char *from, const char *command);
/// Chooses the folder: the one that was asked for, or `name` in the run's. Files that are there are
/// only kept (resume) or replaced (overwrite) when the user says so. Returns an exit code.
int frame_files_choose(FrameFiles *files, const Frames *frames, const char *folder,
                       const char *name, bool resume, bool overwrite);
