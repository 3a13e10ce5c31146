#include "film.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
static int run_program(const char *const *argv, int log) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A file in the folder that no name leads to, for what ffmpeg has to say; -1 on failure.
static int nameless_file(const char *folder) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/log-XXXXXX", folder) >= PATH_MAX) return -1;
    int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}

/// The last line of an open file that says something.
static void last_line(int from, char *text, size_t size) {
    char line[512];
    int copy = from >= 0 && lseek(from, 0, SEEK_SET) == 0 ? dup(from) : -1;
    FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;
    snprintf(text, size, "no message");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line) snprintf(text, size, "%s", line);
    }
    if (file) fclose(file);
}

/// Makes the file that the film is written to, new and its own: what stood there goes, a link is
/// not followed. Tells which file it is.
static bool make_partial(const char *path, struct stat *made) {
    if (unlink(path) != 0 && errno != ENOENT) return false;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0) return false;
    bool known = fstat(file, made) == 0;
    close(file);
    return known;
}

/// The film takes its place, if it is still the file that was made for it.
static bool keep_partial(const char *partial, const struct stat *made, const char *path) {
    struct stat now;
    if (lstat(partial, &now) != 0) return false;
    if (now.st_dev == made->st_dev && now.st_ino == made->st_ino) return rename(partial, path) == 0;
    errno = ESTALE;
    return false;
}

int film_encode(const char *folder, int count, double frame_rate, const char *path) {
    char pictures[PATH_MAX], film[PATH_MAX], rate[32], frames[32], why[512];
    // "file:", or a name with a colon would be a protocol, and one with a dash in front an option
    if (snprintf(pictures, sizeof pictures, "file:%s/%%06d.png", folder) >= PATH_MAX ||
        snprintf(film, sizeof film, "file:%s.brim-tmp", path) >= PATH_MAX) {
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
        film,
        NULL};
    const char *partial = film + strlen("file:");
    struct stat made;
    int log = nameless_file(folder);
    bool ready = log >= 0 && make_partial(partial, &made);
    int code = ready ? run_program(command, log) : -1;
    snprintf(why, sizeof why, "%s", strerror(errno));
    if (ready && code != 0) last_line(log, why, sizeof why);
    if (log >= 0) close(log);
    if (code == 0 && keep_partial(partial, &made, path)) return EXIT_DONE;
    if (code == 0) snprintf(why, sizeof why, "%s", strerror(errno));
    if (ready) unlink(partial);
    report_error("%s: ffmpeg could not write the film: %s\nIts frames are kept in %s", path, why,
                 folder);
    return EXIT_IO;
}
