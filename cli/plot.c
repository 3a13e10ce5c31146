// brim plot: statistics of one or more runs over time, as SVG.
#include "sheet.h"
#include <stdlib.h>
#include <string.h>

typedef struct Arguments {
    const char *output, *title;
    SheetChoice choice;
    TextList labels;
    double width;
    int64_t columns;
} Arguments;

static int open_runs(Run *runs, int count, char **paths, const TextList *labels) {
    for (int i = 0; i < count; i++) {
        int code = run_open(&runs[i], paths[i]);
        if (code != EXIT_DONE) return code;
        if (i >= labels->count) continue;
        free(runs[i].label);
        if (!(runs[i].label = strdup(labels->items[i]))) {
            report_error("out of memory");
            return EXIT_MEMORY;
        }
    }
    return run_labels(runs, count);
}

static int draw(const Arguments *a, const Run *runs, int count, const char *path) {
    Sheet sheet = {.plot = {.title = a->title, .width = a->width, .columns = (int)a->columns}};
    int code = sheet_add_runs(&sheet, runs, count, &a->choice);
    BrimError error;
    char *svg = NULL;
    if (code == EXIT_DONE) {
        if (brim_plot_svg(&sheet.plot, &svg, &error) == BRIM_OK &&
            brim_write_text(path, svg, &error) == BRIM_OK)
            say(stdout, "%s\n", path);
        else
            code = report_result(&error, false);
    }
    brim_text_free(&svg);
    sheet_free(&sheet);
    return code;
}

static bool sound(const Arguments *a, int count) {
    if (a->choice.x && strcmp(a->choice.x, "time") != 0 && strcmp(a->choice.x, "step") != 0) {
        report_error("--x must be time or step, not '%s'", a->choice.x);
        return false;
    }
    if (a->labels.count > count) {
        report_error("%d labels for %d runs", a->labels.count, count);
        return false;
    }
    size_t n = a->output ? strlen(a->output) : 0;
    if (a->output && (n < 5 || strcmp(a->output + n - 4, ".svg") != 0)) {
        report_error("plots are SVG: choose a name that ends in .svg, not '%s'", a->output);
        return false;
    }
    if (!a->output && count > 1) {
        report_error("-o FILE.svg is needed to plot several runs");
        return false;
    }
    return true;
}

static int plot(const Arguments *a, int count, char **paths) {
    if (!sound(a, count)) return EXIT_INPUT;
    Run *runs = calloc((size_t)count, sizeof *runs);
    if (!runs) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    int code = open_runs(runs, count, paths, &a->labels);
    char *path = NULL;
    if (code == EXIT_DONE) {
        // a gauge's plot lies beside its file
        bool gauge = brim_table_column(&runs[0].stats, "time (s)") != NULL;
        int n = a->output ? asprintf(&path, "%s", a->output)
                : gauge   ? asprintf(&path, "%s/%s.svg", runs[0].folder, runs[0].label)
                          : asprintf(&path, "%s/plot.svg", runs[0].folder);
        if (n < 0) {
            path = NULL;
            report_error("out of memory");
            code = EXIT_MEMORY;
        }
    }
    if (code == EXIT_DONE) code = draw(a, runs, count, path);
    for (int i = 0; i < count; i++) run_close(&runs[i]);
    free(runs), free(path);
    return code;
}

int command_plot(int argc, char **argv) {
    Arguments a = {0};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.output, "FILE.svg",
         "default DIR/plot.svg for one run, NAME.svg for a gauge", 0, 0},
        {"columns", 0, OPTION_TEXT, &a.choice.columns, "A,B+C",
         "columns of stats.csv: one panel each, + joins", 0, 0},
        {"label", 0, OPTION_LIST, &a.labels, "TEXT",
         "name of a run in the legend, once for each DIR in order", 0, 0},
        {"title", 0, OPTION_TEXT, &a.title, "TEXT", "above the panels", 0, 0},
        {"x", 0, OPTION_TEXT, &a.choice.x, "time|step", "horizontal axis; default time", 0, 0},
        {"log", 0, OPTION_FLAG, &a.choice.log, NULL, "logarithmic vertical axes", 0, 0},
        {"across", 0, OPTION_INTEGER, &a.columns, "N", "panels in a row; default 2", 1, 12},
        {"width", 0, OPTION_NUMBER, &a.width, "PIXELS", "default 760", 120, 20000},
        {0},
    };
    const Usage usage = {
        .command = "plot",
        .arguments = "DIR [DIR ...] -o FILE.svg [options]",
        .help =
            "Plots the statistics of runs over time: volume, energies, largest speed,\n"
            "iterations and time by stage; several runs overlaid. Prints the plot's\n"
            "path. A DIR may also be a stats.csv, or a gauge's DIR/gauges/NAME.csv, of which all\n"
            "columns are shown. --columns takes any column of the file, and 'stages' for the\n"
            "time by stage.",
        .options = options,
        .least = 1,
        .most = 64,
        .positional = "a run folder",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code == ARGS_OK) code = plot(&a, count, argv + 1);
    free((void *)a.labels.items);
    return code;
}
