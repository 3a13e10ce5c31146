// The frames of a run folder and the scene that it remembers.
#pragma once
#include "cli.h"
#include <limits.h>

typedef struct Frames {
    char folder[PATH_MAX]; ///< of the run; "" for a file outside one
    char file[PATH_MAX];   ///< the one frame that was named, "" for a folder
    int *number;           ///< [count] rising; -1 when the file's name tells none
    int count;
    BrimScene *scene; ///< NULL outside a run
} Frames;

/// snprintf into a path; false, with a message, when it does not fit.
bool make_path(char path[PATH_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

/// A whole file with a zero at its end, in new memory; NULL with errno when it cannot be read.
char *read_text(const char *path);

/// Lists the frames of a folder or takes a single file, and loads the scene. Returns an exit code.
int frames_find(Frames *frames, const char *from);
/// The same with keys of the scene changed, as with --set.
int frames_find_set(Frames *frames, const char *from, const TextList *sets);
void frames_free(Frames *frames);
/// Adds the numbers of the frames above `after` in a run's folder to a list, which stays rising.
/// Returns an exit code, without a message when memory runs out.
int frames_list(const char *run, int after, int **number, int *count);
/// Adds frames that a folder has got since; without them the list stays as it is.
void frames_again(Frames *frames);
/// Leaves in the list the frames that were asked for: one, or those from `first` to `last`; -1 for
/// `frame` and `last`: not asked. Returns an exit code.
int frames_choose(Frames *frames, int64_t frame, int64_t first, int64_t last);
/// Path of frame `index` in the list.
bool frames_path(const Frames *frames, int index, char path[PATH_MAX]);
/// Numbers from one frame to the next in an unbroken run, 1 when there is one frame.
int frames_step(const Frames *frames);

/// Makes a folder unless it is there. Returns an exit code.
int frames_folder(const char *path);
