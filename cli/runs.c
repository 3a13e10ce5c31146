#include "runs.h"
#include "frames.h"
#include "json.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int out_of_memory(void) {
    report_error("out of memory");
    return EXIT_MEMORY;
}

static int read_stats(Run *run, const char *path) {
    BrimError error;
    if (brim_table_read(path, &run->stats, &error) != BRIM_OK) return report_result(&error, false);
    if (run->stats.row_count > 0) return EXIT_DONE;
    report_error("%s has no rows yet: the run did not finish its first step", path);
    return EXIT_INPUT;
}

static int read_scene(Run *run, const char *path) {
    const char *value;
    size_t length;
    BrimError error;
    run->record = read_text(path);
    if (!run->record) {
        report_error("%s: %s", path, strerror(errno));
        return EXIT_IO;
    }
    if (!json_member(run->record, "scene", &value, &length)) {
        report_error("%s has no \"scene\"; it is not the record of a run", path);
        return EXIT_INPUT;
    }
    // A run that was copied without its meshes still has its statistics.
    if (brim_scene_parse(value, length, path, NULL, 0, &run->scene, &error) != BRIM_OK)
        report_warning("continuing without the scene: %s", error.message);
    return EXIT_DONE;
}

/// Splits what the user named into the folder and its stats.csv.
static int find_files(Run *run, const char *path, char **stats) {
    struct stat status;
    if (stat(path, &status) != 0) {
        report_error("%s: %s", path, strerror(errno));
        return EXIT_IO;
    }
    if (S_ISDIR(status.st_mode)) {
        size_t n = strlen(path);
        while (n > 1 && path[n - 1] == '/') n--;
        run->folder = strndup(path, n);
        if (!run->folder || asprintf(stats, "%s/stats.csv", run->folder) < 0) *stats = NULL;
    } else {
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        run->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
        *stats = strdup(path);
        // a gauge goes by its own name, statistics by that of their run
        size_t n = strlen(name);
        if (strcmp(name, "stats.csv") != 0 && n > 4 && strcmp(name + n - 4, ".csv") == 0)
            run->label = strndup(name, n - 4);
    }
    return run->folder && *stats ? EXIT_DONE : out_of_memory();
}

int run_open(Run *run, const char *path) {
    *run = (Run){0};
    char *stats = NULL, *record = NULL;
    struct stat status;
    int code = find_files(run, path, &stats);
    if (code == EXIT_DONE && stat(stats, &status) != 0) {
        report_error("%s holds no stats.csv; 'brim run SCENE.yaml -o %s' writes it", path, path);
        code = EXIT_INPUT;
    }
    if (code == EXIT_DONE) code = read_stats(run, stats);
    if (code == EXIT_DONE && asprintf(&record, "%s/run.json", run->folder) < 0) {
        record = NULL;
        code = out_of_memory();
    }
    if (code == EXIT_DONE && stat(record, &status) == 0) code = read_scene(run, record);
    free(stats), free(record);
    if (code != EXIT_DONE) run_close(run);
    return code;
}

void run_close(Run *run) {
    brim_table_free(&run->stats);
    brim_scene_destroy(&run->scene);
    free(run->record), free(run->folder), free(run->label);
    *run = (Run){0};
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int run_labels(Run *runs, int count) {
    bool alike = false;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            alike |= strcmp(last_part(runs[i].folder), last_part(runs[k].folder)) == 0;
    for (int i = 0; i < count; i++) {
        if (runs[i].label) continue;
        runs[i].label = strdup(alike ? runs[i].folder : last_part(runs[i].folder));
        if (!runs[i].label) return out_of_memory();
    }
    return EXIT_DONE;
}

double run_last(const Run *run, const char *column) {
    const double *values = brim_table_column(&run->stats, column);
    return values ? values[run->stats.row_count - 1] : NAN;
}

int run_frames(const Run *run, int **frames, int *count) {
    *frames = NULL, *count = 0;
    int code = frames_list(run->folder, -1, frames, count);
    return code == EXIT_MEMORY ? out_of_memory() : code;
}
