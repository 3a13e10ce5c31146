#include "film.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool film_can_encode(void) {
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%.*s/ffmpeg", (int)n, list);
        if (length < PATH_MAX && access(path, X_OK) == 0) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

/// Runs a program with its standard error in `log`. Returns its exit code, -1 when it did not run.
static int run_program(const char *const *argv, const char *log) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The last line of a file that says something.
static void last_line(const char *path, char *text, size_t size) {
    char line[512];
    FILE *file = fopen(path, "r");
    snprintf(text, size, "no message");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line) snprintf(text, size, "%s", line);
    }
    if (file) fclose(file);
}

int film_encode(const char *folder, int count, double frame_rate, const char *path) {
    char pictures[PATH_MAX], partial[PATH_MAX], log[PATH_MAX], rate[32], frames[32], why[512];
    if (snprintf(pictures, sizeof pictures, "%s/%%06d.png", folder) >= PATH_MAX ||
        snprintf(log, sizeof log, "%s/ffmpeg.log", folder) >= PATH_MAX ||
        snprintf(partial, sizeof partial, "%s.brim-tmp", path) >= PATH_MAX) {
        report_error("the path %.60s... is too long", path);
        return EXIT_INPUT;
    }
    snprintf(rate, sizeof rate, "%.9g", frame_rate);
    snprintf(frames, sizeof frames, "%d", count); // of an attempt before there may be more
    // H.264 of this kind wants even sides; players expect the colours of high definition
    const char *const command[] = {
        "ffmpeg",
        "-nostdin",
        "-loglevel",
        "error",
        "-y",
        "-framerate",
        rate,
        "-i",
        pictures,
        "-frames:v",
        frames,
        "-vf",
        "crop=trunc(iw/2)*2:trunc(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv",
        "-c:v",
        "libx264",
        "-crf",
        "18",
        "-pix_fmt",
        "yuv420p",
        "-colorspace",
        "bt709",
        "-color_primaries",
        "bt709",
        "-color_trc",
        "bt709",
        "-movflags",
        "+faststart",
        "-f",
        "mp4",
        partial,
        NULL};
    int code = run_program(command, log);
    last_line(log, why, sizeof why);
    unlink(log);
    if (code == 0 && rename(partial, path) == 0) return EXIT_DONE;
    if (code == 0) snprintf(why, sizeof why, "%s", strerror(errno));
    unlink(partial);
    report_error("%s: ffmpeg could not write the film: %s\nIts frames are in %s", path, why,
                 folder);
    return EXIT_IO;
}
