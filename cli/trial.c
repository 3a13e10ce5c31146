// Trials of an experiment: find the scene, simulate, keep the statistics of every step.
#include "reproduce.h"
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void setup_set(Result *r, Setup *setup, const char *format, ...) {
    enum { MOST = sizeof setup->sets / sizeof *setup->sets };
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (setup->set_count == MOST)
        result_fail(r, EXIT_OTHER, "%s: more than %d keys", setup->label, MOST);
    else
        setup->sets[setup->set_count++] = sheet_text(&r->sheet, "%s", text);
}

// --------------------------------------------------------------------------- finding the scene

/// The folder of the program that runs, "" when the system does not tell.
static void program_folder(char folder[PATH_MAX]) {
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
}

/// Looks in --scenes; without it in scenes/, beside the build folder and where `make install` puts
/// scenes.
const char *trial_scene(Result *r, const char *name) {
    char folder[PATH_MAX];
    if (r->scenes) {
        const char *path = sheet_text(&r->sheet, "%s/%s", r->scenes, name);
        if (access(path, R_OK) == 0) return path;
        result_fail(r, EXIT_IO, "the scene %s is not in %s, the folder that --scenes names", name,
                    r->scenes);
        return NULL;
    }
    program_folder(folder);
    const char *paths[] = {
        sheet_text(&r->sheet, "scenes/%s", name),
        sheet_text(&r->sheet, "%s/../scenes/%s", folder, name),
        sheet_text(&r->sheet, "%s/../share/brim/scenes/%s", folder, name),
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (access(paths[i], R_OK) == 0) return paths[i];
    result_fail(r, EXIT_IO,
                "the scene %s is neither in scenes/ nor in %s/../share/brim/scenes; "
                "--scenes DIR says where it is",
                name, folder);
    return NULL;
}

// ----------------------------------------------------------------------------------- recording

static bool name_columns(Result *r, Trial *t) {
    int count = 1;
    while (brim_stats_column(count - 1)) count++;
    t->steps.names = sheet_memory(&r->sheet, (size_t)count * sizeof(char *));
    t->steps.values = sheet_memory(&r->sheet, (size_t)count * sizeof(double *));
    if (!t->steps.names || !t->steps.values) return false;
    t->steps.column_count = count;
    t->steps.names[0] = (char *)"frame";
    for (int i = 1; i < count; i++) t->steps.names[i] = (char *)brim_stats_column(i - 1);
    return true;
}

static bool record(Trial *t, const BrimSim *sim) {
    BrimTable *s = &t->steps;
    if (s->row_count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 1024;
        for (int i = 0; i < s->column_count; i++) {
            double *grown = realloc(s->values[i], capacity * sizeof(double));
            if (!grown) return false;
            s->values[i] = grown;
        }
        t->capacity = capacity;
    }
    s->values[0][s->row_count] = brim_sim_frame(sim);
    for (int i = 1; i < s->column_count; i++)
        s->values[i][s->row_count] = brim_stats_value(brim_sim_stats(sim), i - 1);
    s->row_count++;
    return true;
}

// --------------------------------------------------------------------------------- simulating

double cpu_clock(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void simulate(Result *r, Trial *t, const Setup *setup, BrimSim *sim) {
    int frames = brim_sim_frame_count(sim);
    Progress progress = progress_start(sim, frames, isatty(STDERR_FILENO));
    if (setup->watch) setup->watch(sim, setup->context);
    while (r->code == EXIT_DONE && brim_sim_frame(sim) < frames) {
        double wall = wall_clock(), cpu = cpu_clock();
        if (brim_sim_step(sim, &t->error) != BRIM_OK) break;
        t->wall += wall_clock() - wall, t->cpu += cpu_clock() - cpu;
        if (!record(t, sim)) result_fail(r, EXIT_MEMORY, "out of memory");
        if (setup->watch) setup->watch(sim, setup->context);
        progress_step(&progress, sim);
    }
    progress_end(&progress, sim);
}

static Trial *new_trial(Result *r, const Setup *setup) {
    Trial **grown = realloc(r->trials, (size_t)(r->trial_count + 1) * sizeof *grown);
    Trial *t = grown ? sheet_memory(&r->sheet, sizeof *t) : NULL;
    if (grown) r->trials = grown;
    if (!t || !name_columns(r, t)) {
        result_fail(r, EXIT_MEMORY, "out of memory");
        return NULL;
    }
    t->label = setup->label, t->colour = setup->colour, t->dash = setup->dash;
    r->trials[r->trial_count++] = t;
    return t;
}

static void say_done(const Trial *t) {
    char wall[SHORT_TEXT];
    fprintf(stderr, "  %-34s %8zu steps  %s%s%s\n", t->label, t->steps.row_count,
            show_duration(wall, t->wall), t->error.result == BRIM_OK ? "" : "  broke down: ",
            t->error.result == BRIM_OK ? "" : t->error.message);
}

Trial *trial_run(Result *r, const Setup *setup) {
    BrimError error;
    BrimScene *scene = NULL;
    BrimSim *sim = NULL;
    Setup own = *setup;
    if (r->threads) setup_set(r, &own, "threads=%d", r->threads);
    const char *path = r->code == EXIT_DONE ? trial_scene(r, setup->scene) : NULL;
    Trial *t = path ? new_trial(r, setup) : NULL;
    if (!t) return NULL;
    BrimResult result = brim_scene_load(path, own.sets, own.set_count, &scene, &error);
    BrimSimDef def;
    if (result == BRIM_OK) {
        def = *brim_scene_def(scene);
        if (setup->change) setup->change(r, &def, setup->context);
        r->def = &def;
        if (r->code == EXIT_DONE) result = brim_sim_create(&def, &sim, &error);
    }
    if (result != BRIM_OK && r->code == EXIT_DONE) r->code = report_result(&error, false);
    if (sim) simulate(r, t, setup, sim);
    if (sim) say_done(t);
    if (sim && r->code == EXIT_DONE && t->steps.row_count == 0)
        result_fail(r, EXIT_DIVERGED, "%s: %s", t->label, t->error.message);
    brim_sim_destroy(&sim);
    brim_scene_destroy(&scene);
    r->def = NULL;
    return r->code == EXIT_DONE ? t : NULL;
}

// ------------------------------------------------------------------------------------ columns

const double *trial_column(const Trial *t, const char *name) {
    return brim_table_column(&t->steps, name);
}

double trial_last(const Trial *t, const char *name) {
    const double *v = trial_column(t, name);
    return v ? v[t->steps.row_count - 1] : NAN;
}

double trial_end_mean(const Trial *t, const char *name, double seconds) {
    const double *v = trial_column(t, name), *time = trial_column(t, "time");
    size_t i = t->steps.row_count;
    double sum = 0, from = time[i - 1] - seconds;
    int count = 0;
    while (v && i-- > 0 && (count == 0 || time[i] > from)) sum += v[i], count++;
    return v ? sum / count : NAN;
}

double trial_sum(const Trial *t, const char *name) {
    const double *v = trial_column(t, name);
    double sum = 0;
    for (size_t i = 0; v && i < t->steps.row_count; i++) sum += v[i];
    return v ? sum : NAN;
}

double trial_most(const Trial *t, const char *name, double from) {
    const double *v = trial_column(t, name), *time = trial_column(t, "time");
    double most = v ? -INFINITY : NAN;
    for (size_t i = 0; v && i < t->steps.row_count; i++)
        if (time[i] >= from) most = fmax(most, v[i]);
    return most;
}
