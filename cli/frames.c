#include "frames.h"
#include "json.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool make_path(char path[PATH_MAX], const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path, PATH_MAX, format, args);
    va_end(args);
    if (n >= 0 && n < PATH_MAX) return true;
    report_error("the path %.60s... is too long", path);
    return false;
}

// ------------------------------------------------------------------------- finding the frames

/// The number of "000123.ply", -1 for other names.
static int frame_number(const char *name) {
    int digits = (int)strspn(name, "0123456789");
    if (digits == 0 || digits > 9 || strcmp(name + digits, ".ply") != 0) return -1;
    return atoi(name);
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static bool add_number(int **number, int *count, int value) {
    int *grown = realloc(*number, ((size_t)*count + 1) * sizeof *grown);
    if (!grown) return false;
    *number = grown;
    grown[(*count)++] = value;
    return true;
}

int frames_list(const char *run, int after, int **number, int *count) {
    char particles[PATH_MAX];
    if (!make_path(particles, "%s/particles", run)) return EXIT_INPUT;
    errno = 0;
    DIR *folder = opendir(particles);
    bool room = folder || errno != ENOMEM;
    for (struct dirent *entry; folder && room && (entry = readdir(folder));) {
        int n = frame_number(entry->d_name);
        if (n > after) room = add_number(number, count, n);
    }
    if (folder) closedir(folder);
    if (*count) qsort(*number, (size_t)*count, sizeof **number, by_number);
    return room ? EXIT_DONE : EXIT_MEMORY;
}

static int list_frames(Frames *f, const char *from) {
    int code = frames_list(f->folder, -1, &f->number, &f->count);
    if (code == EXIT_MEMORY)
        report_error("out of memory for the list of frames in %s", from);
    else if (code == EXIT_DONE && f->count == 0) {
        report_error("%s holds no frames (particles/*.ply); 'brim run SCENE.yaml -o %s' writes "
                     "them",
                     from, from);
        code = EXIT_INPUT;
    }
    return code;
}

/// A frame by name: DIR/particles/000123.ply belongs to the run in DIR.
static int take_file(Frames *f, const char *path) {
    const char *slash = strrchr(path, '/');
    char run[PATH_MAX];
    struct stat status;
    if (!make_path(f->file, "%s", path) ||
        !make_path(f->folder, "%.*s/..", slash ? (int)(slash - path) : 1, slash ? path : ".") ||
        !make_path(run, "%s/run.json", f->folder))
        return EXIT_INPUT;
    if (stat(run, &status) != 0) f->folder[0] = 0;
    int number = frame_number(slash ? slash + 1 : path);
    if (add_number(&f->number, &f->count, number)) return EXIT_DONE;
    report_error("out of memory");
    return EXIT_MEMORY;
}

// ------------------------------------------------------------------------- finding the scene

/// Opens a regular file; a pipe would wait for its writer, a device might not end.
static FILE *open_regular(const char *path) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = regular ? fdopen(descriptor, "rb") : NULL;
    if (file) return file;
    close(descriptor);
    if (!regular) errno = EINVAL;
    return NULL;
}

char *read_text(const char *path) {
    FILE *file = open_regular(path);
    if (!file) return NULL;
    char *text = NULL;
    size_t size = 0, capacity = 0;
    for (;;) {
        if (size + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *grown = realloc(text, capacity);
            if (!grown) free(text);
            text = grown;
            if (!text) break;
        }
        size_t n = fread(text + size, 1, capacity - size - 1, file);
        size += n;
        if (n == 0) break;
    }
    int code = text ? errno : ENOMEM;
    if (ferror(file)) free(text), text = NULL;
    if (text) text[size] = 0;
    fclose(file);
    errno = code;
    return text;
}

static int load_scene(const char *folder, const TextList *sets, BrimScene **scene) {
    char path[PATH_MAX];
    if (!make_path(path, "%s/run.json", folder)) return EXIT_INPUT;
    char *text = read_text(path);
    if (!text) {
        report_error("%s: %s", path, strerror(errno));
        return EXIT_IO;
    }
    const char *value;
    size_t length;
    BrimError error;
    int code = EXIT_DONE;
    if (!json_member(text, "scene", &value, &length)) {
        report_error("%s has no \"scene\"; it is not the record of a run", path);
        code = EXIT_INPUT;
    } else if (brim_scene_parse(value, length, path, sets->items, sets->count, scene, &error) !=
               BRIM_OK) {
        code = report_result(&error, false);
    }
    free(text);
    return code;
}

int frames_find(Frames *f, const char *from) {
    return frames_find_set(f, from, &(TextList){0});
}

int frames_find_set(Frames *f, const char *from, const TextList *sets) {
    *f = (Frames){0};
    struct stat status;
    if (stat(from, &status) != 0) {
        report_error("%s: %s", from, strerror(errno));
        return EXIT_IO;
    }
    int code;
    if (S_ISDIR(status.st_mode)) {
        if (!make_path(f->folder, "%s", from)) return EXIT_INPUT;
        for (size_t n = strlen(f->folder); n > 1 && f->folder[n - 1] == '/';) f->folder[--n] = 0;
        code = list_frames(f, from);
    } else {
        code = take_file(f, from);
    }
    if (code == EXIT_DONE && *f->folder) code = load_scene(f->folder, sets, &f->scene);
    return code;
}

void frames_free(Frames *f) {
    brim_scene_destroy(&f->scene);
    free(f->number);
    *f = (Frames){0};
}

void frames_again(Frames *f) {
    int last = f->count ? f->number[f->count - 1] : -1;
    frames_list(f->folder, last, &f->number, &f->count);
}

int frames_choose(Frames *f, int64_t frame, int64_t first, int64_t last) {
    if (frame >= 0 && (first > 0 || last >= 0)) {
        report_error("choose one of --frame and a range with --first and --last");
        return EXIT_INPUT;
    }
    int low = f->number[0], high = f->number[f->count - 1], kept = 0;
    if (frame >= 0) first = last = frame;
    for (int i = 0; i < f->count; i++)
        if (f->number[i] >= first && (last < 0 || f->number[i] <= last))
            f->number[kept++] = f->number[i];
    f->count = kept;
    if (kept) return EXIT_DONE;
    if (frame >= 0)
        report_error("%s has no frame %d; it has frames from %d to %d", f->folder, (int)frame, low,
                     high);
    else
        report_error("%s has no frames in that range; it has frames from %d to %d", f->folder, low,
                     high);
    return EXIT_INPUT;
}

int frames_folder(const char *path) {
    struct stat status;
    if (mkdir(path, 0777) == 0) return EXIT_DONE;
    int code = errno;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) return EXIT_DONE;
    report_error("cannot create the folder '%s': %s", path, strerror(code));
    return EXIT_IO;
}

bool frames_path(const Frames *f, int index, char path[PATH_MAX]) {
    if (*f->file) return make_path(path, "%s", f->file);
    return make_path(path, "%s/particles/%06d.ply", f->folder, f->number[index]);
}

int frames_step(const Frames *f) {
    int step = 0;
    for (int i = 1; i < f->count; i++) {
        int gap = f->number[i] - f->number[i - 1];
        if (step == 0 || gap < step) step = gap;
    }
    return step > 0 ? step : 1;
}
