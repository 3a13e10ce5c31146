// brim check: validates a scene and says what it will cost, before anything is spent.
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Arguments {
    TextList sets;
    bool json, no_calibration;
} Arguments;

static void print_json(const BrimEstimate *e, const char *scene, const char *note) {
    fputs("{\"event\":\"estimate\",\"scene\":", stdout);
    json_text(stdout, scene);
    fputs(",\"note\":", stdout);
    json_text(stdout, note);
    printf(",\"particles\":%lld,\"tiles\":%lld,\"memory_bytes\":%lld,\"disk_bytes\":%lld,"
           "\"steps\":%lld,\"seconds\":",
           (long long)e->particles, (long long)e->tiles, (long long)e->memory_bytes,
           (long long)e->disk_bytes, (long long)e->steps);
    json_number(stdout, e->seconds > 0 ? e->seconds : NAN);
    fputs(",\"warnings\":[", stdout);
    for (int i = 0; i < e->warning_count; i++) {
        if (i) putchar(',');
        json_text(stdout, e->warnings[i]);
    }
    puts("]}");
}

static void row(const char *name, const char *value, const char *note) {
    printf("  %-11s%16s%s%s\n", name, value, *note ? "   " : "", note);
}

static void print_table(const BrimEstimate *e, const BrimSimDef *def, const char *scene,
                        const char *scene_note) {
    char text[SHORT_TEXT], note[128];
    say(stdout, "%s is a valid scene.\n\n", scene);
    if (def->dim == 2)
        snprintf(note, sizeof note, "2D, %d x %d", def->cells[0], def->cells[1]);
    else
        snprintf(note, sizeof note, "%d x %d x %d", def->cells[0], def->cells[1], def->cells[2]);
    int64_t cells = (int64_t)def->cells[0] * def->cells[1] * def->cells[2];
    row("cells", show_count(text, cells), note);
    row("particles", show_count(text, e->particles), "seeded, and emitted until the end");
    row("tiles", show_count(text, e->tiles),
        def->dim == 2 ? "of 8 x 8 cells" : "of 8 x 8 x 8 cells");
    row("memory", show_bytes(text, (double)e->memory_bytes), "");
    row("disk", show_bytes(text, (double)e->disk_bytes), "frames, checkpoints, statistics");
    snprintf(note, sizeof note, "%g s at %g frames/s", def->duration, def->frame_rate);
    row("steps", show_count(text, e->steps), note);
    if (e->seconds > 0)
        row("time", show_duration(text, e->seconds), "from a few steps on this machine");
    else
        row("time", "not measured", "");
    if (e->warning_count || *scene_note) putchar('\n');
    fflush(stdout);
    if (*scene_note) fprintf(stderr, "note: %s\n", scene_note);
    for (int i = 0; i < e->warning_count; i++) report_warning("%s", e->warnings[i]);
}

/// A line that the next message rewrites: large or slow scenes take several seconds.
static void say_busy(bool on) {
    if (!isatty(STDERR_FILENO)) return;
    fputs(on ? "estimating by a coarse run and a few steps (--no-calibration skips them)"
             : "\r\033[K",
          stderr);
}

static int check(const char *path, const Arguments *a) {
    BrimError error;
    BrimScene *scene = NULL;
    if (brim_scene_load(path, a->sets.items, a->sets.count, &scene, &error) != BRIM_OK)
        return report_result(&error, a->json);
    BrimEstimate *estimate = calloc(1, sizeof *estimate);
    int code = EXIT_DONE;
    if (report_dry(path, scene, a->json) != EXIT_DONE) {
        code = EXIT_INPUT;
    } else if (!estimate) {
        report_error("out of memory");
        code = EXIT_MEMORY;
    } else {
        say_busy(!a->no_calibration && !a->json);
        BrimResult r = brim_estimate(brim_scene_def(scene), !a->no_calibration, estimate, &error);
        say_busy(false);
        bool told = r == BRIM_OK || (r == BRIM_ERROR_MEMORY && estimate->memory_bytes > 0);
        const char *note = brim_scene_note(scene);
        if (told && a->json) print_json(estimate, path, note);
        if (told && !a->json) print_table(estimate, brim_scene_def(scene), path, note);
        if (r != BRIM_OK) brim_scene_locate(scene, &error), code = report_result(&error, a->json);
    }
    free(estimate);
    brim_scene_destroy(&scene);
    return code;
}

int command_check(int argc, char **argv) {
    Arguments a = {0};
    const Option options[] = {
        {"set", 0, OPTION_LIST, &a.sets, "KEY=VALUE", "override a key of the scene; repeatable", 0,
         0},
        {"json", 0, OPTION_FLAG, &a.json, NULL, "print one JSON object", 0, 0},
        {"no-calibration", 0, OPTION_FLAG, &a.no_calibration, NULL,
         "skip the coarse run and trial steps that estimate steps, disk and time", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "check",
        .arguments = "SCENE.yaml [options]",
        .help = "Validates a scene and estimates particles, tiles, memory, disk, steps and time.\n"
                "Warns about walls thinner than a cell, emitters inside solids and liquid outside\n"
                "the domain. Warnings leave the exit code at 0; a bad scene makes it 2, one too\n"
                "large for the machine 4.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a scene file",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code == ARGS_OK) code = check(argv[1], &a);
    free((void *)a.sets.items);
    return code;
}
