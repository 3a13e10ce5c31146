// brim render: a picture of one frame, with the scene that its run folder remembers.
#include "cli.h"
#include "json.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Arguments {
    const char *picture, *size;
    int64_t frame;
    double max_speed;
} Arguments;

typedef struct Source {
    char folder[PATH_MAX];    ///< of the run; "" when the frame lies outside one
    char particles[PATH_MAX]; ///< the frame's file
    int frame;                ///< its number, -1 when its name tells none
} Source;

/// snprintf into a path; false, with a message, when it does not fit.
static bool make_path(char path[PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool make_path(char path[PATH_MAX], const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path, PATH_MAX, format, args);
    va_end(args);
    if (n >= 0 && n < PATH_MAX) return true;
    report_error("the path %.60s... is too long", path);
    return false;
}

// ------------------------------------------------------------------------- finding the frame

/// The number of "000123.ply", -1 for other names.
static int frame_number(const char *name) {
    int digits = (int)strspn(name, "0123456789");
    if (digits == 0 || digits > 9 || strcmp(name + digits, ".ply") != 0) return -1;
    return atoi(name);
}

/// The last frame in a folder, -1 when there is none.
static int last_frame(const char *particles) {
    DIR *folder = opendir(particles);
    if (!folder) return -1;
    int last = -1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int n = frame_number(entry->d_name);
        if (n > last) last = n;
    }
    closedir(folder);
    return last;
}

static int find_in_folder(Source *s, const char *folder, int64_t wanted) {
    char particles[PATH_MAX];
    if (!make_path(s->folder, "%s", folder) || !make_path(particles, "%s/particles", folder))
        return EXIT_INPUT;
    for (size_t n = strlen(s->folder); n > 1 && s->folder[n - 1] == '/';) s->folder[--n] = 0;
    int last = last_frame(particles);
    if (last < 0) {
        report_error("%s holds no frames (particles/*.ply); 'brim run SCENE.yaml -o %s' writes "
                     "them",
                     folder, folder);
        return EXIT_INPUT;
    }
    s->frame = wanted < 0 ? last : (int)wanted;
    if (!make_path(s->particles, "%s/particles/%06d.ply", s->folder, s->frame)) return EXIT_INPUT;
    struct stat status;
    if (stat(s->particles, &status) != 0) {
        report_error("%s has no frame %d; the last is %d", folder, s->frame, last);
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}

/// A frame by name: DIR/particles/000123.ply belongs to the run in DIR.
static int find_file(Source *s, const char *path) {
    if (!make_path(s->particles, "%s", path)) return EXIT_INPUT;
    const char *slash = strrchr(path, '/');
    s->frame = frame_number(slash ? slash + 1 : path);
    if (!make_path(s->folder, "%.*s/..", slash ? (int)(slash - path) : 1, slash ? path : "."))
        return EXIT_INPUT;
    char run[PATH_MAX];
    struct stat status;
    if (!make_path(run, "%s/run.json", s->folder)) return EXIT_INPUT;
    if (stat(run, &status) != 0) s->folder[0] = 0;
    return EXIT_DONE;
}

// ------------------------------------------------------------------------- finding the scene

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    size_t size = 0, capacity = 0;
    for (;;) {
        if (size + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *grown = realloc(text, capacity);
            if (!grown) break;
            text = grown;
        }
        size_t n = fread(text + size, 1, capacity - size - 1, file);
        size += n;
        if (n == 0) break;
    }
    if (ferror(file)) free(text), text = NULL;
    if (text) text[size] = 0;
    fclose(file);
    return text;
}

static int load_scene(const char *folder, BrimScene **scene) {
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
    } else if (brim_scene_parse(value, length, path, NULL, 0, scene, &error) != BRIM_OK) {
        code = report_result(&error, false);
    }
    free(text);
    return code;
}

/// A def for a frame of unknown origin: a box around the particles, cells from their density.
static BrimSimDef guess_def(const BrimFrame *frame) {
    BrimSimDef def = brim_default_sim_def();
    float high[3] = {0, 0, 0};
    bool flat = true;
    for (size_t i = 0; i < frame->count; i++) {
        high[0] = fmaxf(high[0], frame->x[i]);
        high[1] = fmaxf(high[1], frame->y[i]);
        high[2] = fmaxf(high[2], frame->z[i]);
        flat = flat && frame->z[i] == 0;
    }
    for (int k = 0; k < 3; k++)
        if (!(high[k] > 0)) high[k] = 1;
    def.dim = flat ? 2 : 3;
    double volume = (double)high[0] * high[1] * (flat ? 1 : high[2]);
    // a box that liquid fills to a quarter, eight (2D: four) particles a cell
    double spacing = pow(volume / 4 / (double)(frame->count + 1), flat ? 1 / 2.0 : 1 / 3.0);
    for (int k = 0; k < 3; k++) def.cells[k] = (int)fmin(ceil(high[k] / (2 * spacing)), 1e6);
    if (flat) def.cells[2] = 1;
    float cell = high[0] / (float)def.cells[0];
    def.size = (BrimVec3){high[0], high[1], flat ? cell : high[2]};
    def.particles_per_cell = flat ? 4 : 8;
    return def;
}

// -------------------------------------------------------------------------------- drawing

static bool parse_size(const char *text, BrimPictureDef *picture) {
    char *end;
    if (!text) return true;
    long width = strtol(text, &end, 10);
    long height = end != text && (*end == 'x' || *end == 'X') ? strtol(end + 1, &end, 10) : 0;
    if (*end || width < 64 || height < 64 || width > 16384 || height > 16384) {
        report_error("--size needs WIDTHxHEIGHT from 64x64 to 16384x16384, such as 1920x1080, "
                     "not '%s'",
                     text);
        return false;
    }
    picture->width = (int)width, picture->height = (int)height;
    return true;
}

static bool picture_path(const Source *s, const Arguments *a, bool by_name, char path[PATH_MAX]) {
    if (a->picture) return make_path(path, "%s", a->picture);
    if (!by_name) return make_path(path, "%s/picture-%06d.png", s->folder, s->frame);
    size_t n = strlen(s->particles);
    if (n > 4 && strcmp(s->particles + n - 4, ".ply") == 0) n -= 4;
    return make_path(path, "%.*s.png", (int)n, s->particles);
}

static int draw(const Source *s, const BrimPictureDef *picture, const char *path) {
    BrimError error;
    BrimFrame frame = {0};
    BrimScene *scene = NULL;
    if (*s->folder) {
        int code = load_scene(s->folder, &scene);
        if (code != EXIT_DONE) return code;
    }
    int code = EXIT_DONE;
    if (brim_frame_read(s->particles, &frame, &error) != BRIM_OK) {
        code = report_result(&error, false);
    } else {
        BrimSimDef def = scene ? *brim_scene_def(scene) : guess_def(&frame);
        double time = s->frame > 0 ? s->frame / def.frame_rate : 0;
        if (brim_write_picture(&def, &frame, time, picture, path, &error) == BRIM_OK)
            printf("%s\n", path);
        else
            code = report_result(&error, false);
    }
    brim_frame_free(&frame);
    brim_scene_destroy(&scene);
    return code;
}

static int render(const char *from, const Arguments *a) {
    BrimPictureDef picture = brim_default_picture_def();
    picture.max_speed = a->max_speed;
    if (!parse_size(a->size, &picture)) return EXIT_INPUT;
    struct stat status;
    if (stat(from, &status) != 0) {
        report_error("%s: %s", from, strerror(errno));
        return EXIT_IO;
    }
    Source source = {0};
    bool by_name = !S_ISDIR(status.st_mode);
    if (by_name && a->frame >= 0) {
        report_error("--frame chooses a frame in a folder; %s is a single frame", from);
        return EXIT_INPUT;
    }
    int code = by_name ? find_file(&source, from) : find_in_folder(&source, from, a->frame);
    if (code != EXIT_DONE) return code;
    char path[PATH_MAX];
    if (!picture_path(&source, a, by_name, path)) return EXIT_INPUT;
    return draw(&source, &picture, path);
}

int command_render(int argc, char **argv) {
    Arguments a = {.frame = -1};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.picture, "FILE.png", "default DIR/picture-NNNNNN.png", 0,
         0},
        {"frame", 0, OPTION_INTEGER, &a.frame, "N", "frame number; default the last", 0, 999999},
        {"size", 0, OPTION_TEXT, &a.size, "WxH", "size in pixels; default 1280x720", 0, 0},
        {"max-speed", 0, OPTION_NUMBER, &a.max_speed, "V",
         "top of the colour scale, m/s; default from the frame", 0, 1e9},
        {0},
    };
    const Usage usage = {
        .command = "render",
        .arguments = "DIR|FILE.ply [options]",
        .help = "Draws a frame of a run as a PNG picture: particles coloured by speed, solids and\n"
                "the box. Prints the picture's path. A FILE.ply outside a run folder is drawn\n"
                "without solids, in a box around its particles.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a run folder or a frame",
    };
    int count = 0;
    ArgsResult parsed = args_parse(&usage, argc, argv, &count);
    if (parsed != ARGS_OK) return parsed == ARGS_HELP ? EXIT_DONE : EXIT_INPUT;
    return render(argv[1], &a);
}
