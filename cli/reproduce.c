// brim reproduce: arguments, the table and the files that all experiments share.
#include "reproduce.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const Experiment *const papers[] = {
    idp_experiments, nbflip_experiments, warp_experiments,        warp_scene_experiments,
    rim_experiments, rst_experiments,    rim_immersed_experiments};
enum { PAPERS = sizeof papers / sizeof *papers };

// ------------------------------------------------------------------------------------- result

void result_fail(Result *r, int code, const char *format, ...) {
    if (r->code != EXIT_DONE) return; // the first failure is the one to tell
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report_error("%s", text);
    r->code = code;
}

const char *result_path(Result *r, const char *suffix) {
    return sheet_text(&r->sheet, "%s/%s%s", r->folder, r->experiment->name, suffix);
}

void result_row(Result *r, double ours, double low, double high, const char *paper,
                const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    Row *grown = realloc(r->rows, (size_t)(r->row_count + 1) * sizeof *grown);
    if (!grown) {
        result_fail(r, EXIT_MEMORY, "out of memory");
        return;
    }
    r->rows = grown;
    r->rows[r->row_count++] = (Row){sheet_text(&r->sheet, "%s", text), paper, ours, low, high};
}

void result_check(Result *r, bool holds, const char *paper, const char *what) {
    result_row(r, holds, 1, 1, paper, "%s (1 = yes)", what);
}

BrimPanelDef *result_lines(Result *r, int first, const char *column, double scale,
                           const char *title, const char *y_label) {
    int count = r->trial_count - first;
    BrimPanelDef *panel = sheet_panel(&r->sheet);
    BrimSeries *series = sheet_memory(&r->sheet, (size_t)count * sizeof *series);
    if (!panel || !series) {
        result_fail(r, EXIT_MEMORY, "out of memory");
        return NULL;
    }
    *panel = (BrimPanelDef){.title = title, .x_label = "time (s)", .y_label = y_label};
    panel->series = series, panel->series_count = count;
    for (int i = 0; i < count; i++) {
        const Trial *t = r->trials[first + i];
        size_t rows = t->steps.row_count;
        const double *v = trial_column(t, column);
        double *y = sheet_memory(&r->sheet, rows * sizeof *y);
        if (!y) continue;
        for (size_t k = 0; k < rows; k++) y[k] = v ? scale * v[k] : NAN;
        series[i] = (BrimSeries){.name = t->label,
                                 .x = trial_column(t, "time"),
                                 .y = y,
                                 .count = rows,
                                 .colour = t->colour,
                                 .dash = t->dash};
    }
    return panel;
}

void result_level(Result *r, double low, double high, const char *label) {
    BrimPanelDef *panel = &r->sheet.panels[r->sheet.plot.panel_count - 1];
    BrimLevel *levels = sheet_memory(&r->sheet, (size_t)(panel->level_count + 1) * sizeof *levels);
    if (!levels) return;
    if (panel->level_count)
        memcpy(levels, panel->levels, (size_t)panel->level_count * sizeof *levels);
    levels[panel->level_count++] = (BrimLevel){low, high, label};
    panel->levels = levels;
}

static bool inside(const Row *row) {
    if (isnan(row->low) && isnan(row->high)) return true;
    return !isnan(row->ours) && !(row->ours < row->low) && !(row->ours > row->high);
}

// -------------------------------------------------------------------------------------- table

enum { RANGE_TEXT = 64 };

static const char *show_range(const Row *row, char text[RANGE_TEXT]) {
    if (isnan(row->low) && isnan(row->high))
        text[0] = 0;
    else if (isnan(row->low))
        snprintf(text, RANGE_TEXT, "at most %.4g", row->high);
    else if (isnan(row->high))
        snprintf(text, RANGE_TEXT, "at least %.4g", row->low);
    else if (row->low == row->high)
        snprintf(text, RANGE_TEXT, "%.4g", row->low);
    else
        snprintf(text, RANGE_TEXT, "%.4g to %.4g", row->low, row->high);
    return text;
}

static const char *verdict(const Row *row) {
    if (isnan(row->low) && isnan(row->high)) return "";
    return inside(row) ? "ok" : "OUTSIDE";
}

/// Prints the table; returns how many rows are outside their range.
static int print_table(const Result *r) {
    int wide = 8, bad = 0, ranges = 0;
    for (int i = 0; i < r->row_count; i++) wide = (int)fmax(wide, (double)strlen(r->rows[i].what));
    printf("%s: %s\n%s%s%s\n\n", r->experiment->name, r->experiment->what, r->experiment->paper,
           r->quick ? "; shortened: " : "", r->quick ? r->experiment->quick : "");
    printf("%-*s  %-16s  %10s  %-18s\n", wide, "quantity", "paper", "ours", "range");
    for (int i = 0; i < r->row_count; i++) {
        const Row *row = &r->rows[i];
        char range[RANGE_TEXT];
        printf("%-*s  %-16s  %10.4g  %-18s%s\n", wide, row->what, row->paper, row->ours,
               show_range(row, range), verdict(row));
        bad += !inside(row), ranges += *range != 0;
    }
    if (bad)
        printf("\n%d of %d outside their range\n", bad, ranges);
    else
        printf("\nall %d within their range\n", ranges);
    return bad;
}

/// A field of CSV, quoted.
static void put_field(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_bound(FILE *out, double bound) {
    if (isnan(bound))
        fputc(',', out);
    else
        fprintf(out, ",%.9g", bound);
}

static void put_table(const Result *r, FILE *out) {
    fputs("quantity,paper,ours,low,high,verdict\n", out);
    for (int i = 0; i < r->row_count; i++) {
        const Row *row = &r->rows[i];
        put_field(out, row->what);
        fputc(',', out);
        put_field(out, row->paper);
        fprintf(out, ",%.9g", row->ours);
        put_bound(out, row->low);
        put_bound(out, row->high);
        fprintf(out, ",%s\n", verdict(row));
    }
}

/// The statistics of all trials, a row for each frame.
static void put_trials(const Result *r, FILE *out) {
    const BrimTable *head = r->trial_count ? &r->trials[0]->steps : NULL;
    fputs("trial", out);
    for (int c = 0; head && c < head->column_count; c++) fprintf(out, ",%s", head->names[c]);
    fputc('\n', out);
    for (int i = 0; i < r->trial_count; i++) {
        const BrimTable *s = &r->trials[i]->steps;
        for (size_t row = 0; row < s->row_count; row++) {
            bool last = row + 1 == s->row_count;
            if (!last && s->values[0][row] == (row ? s->values[0][row - 1] : 0)) continue;
            put_field(out, r->trials[i]->label);
            for (int c = 0; c < s->column_count; c++) fprintf(out, ",%.9g", s->values[c][row]);
            fputc('\n', out);
        }
    }
}

static void write_csv(Result *r, const char *suffix, void (*put)(const Result *, FILE *)) {
    char *text = NULL;
    size_t bytes = 0;
    BrimError error;
    FILE *out = open_memstream(&text, &bytes);
    if (out) put(r, out);
    if (!out || fclose(out) != 0)
        result_fail(r, EXIT_MEMORY, "out of memory");
    else if (brim_write_text(result_path(r, suffix), text, &error) != BRIM_OK)
        r->code = report_result(&error, false);
    free(text);
}

static void write_plot(Result *r) {
    char *svg = NULL;
    BrimError error;
    BrimPlotDef *plot = &r->sheet.plot;
    if (plot->panel_count == 0) return;
    plot->note = sheet_text(&r->sheet, "%s. Brim %s%s%s.", r->experiment->paper, brim_version(),
                            r->quick ? "; shortened: " : "", r->quick ? r->experiment->quick : "");
    if (brim_plot_svg(plot, &svg, &error) != BRIM_OK ||
        brim_write_text(result_path(r, ".svg"), svg, &error) != BRIM_OK)
        r->code = report_result(&error, false);
    brim_text_free(&svg);
}

// ----------------------------------------------------------------------------------- command

static bool make_folders(const char *path) {
    char *copy = strdup(path);
    if (!copy) {
        report_error("out of memory");
        return false;
    }
    bool made = true;
    for (char *at = copy + 1; made; at++) {
        if (*at && *at != '/') continue;
        char kept = *at;
        *at = 0;
        struct stat status;
        made = mkdir(copy, 0777) == 0 ||
               (errno == EEXIST && stat(copy, &status) == 0 && S_ISDIR(status.st_mode));
        *at = kept;
        if (!kept) break;
    }
    if (!made) report_error("cannot make the folder %s: %s", path, strerror(errno));
    free(copy);
    return made;
}

static void release(Result *r) {
    for (int i = 0; i < r->trial_count; i++)
        for (int c = 0; c < r->trials[i]->steps.column_count; c++)
            free(r->trials[i]->steps.values[c]);
    free(r->trials), free(r->rows);
    sheet_free(&r->sheet);
}

static int reproduce(Result *r) {
    if (!*r->folder) {
        report_error("the name of the folder is empty");
        return EXIT_INPUT;
    }
    if (!make_folders(r->folder)) return EXIT_IO;
    r->experiment->run(r);
    if (r->code == EXIT_DONE && r->sheet.failed) result_fail(r, EXIT_MEMORY, "out of memory");
    if (r->code == EXIT_DONE) write_csv(r, ".csv", put_trials);
    if (r->code == EXIT_DONE) write_csv(r, "-table.csv", put_table);
    if (r->code == EXIT_DONE) write_plot(r);
    pictures_discard(r);
    int code = r->code;
    if (code == EXIT_DONE) {
        if (print_table(r) > 0) code = EXIT_OTHER;
        if (r->pictures) say(stdout, "%s\n", r->pictures);
        say(stdout, "written: %s{.csv,-table.csv,.svg}\n", result_path(r, ""));
    }
    release(r);
    return code;
}

static void list(void) {
    printf("%-16s %-9s %-9s %s\n", "name", "full", "quick", "what");
    for (int p = 0; p < PAPERS; p++)
        for (const Experiment *e = papers[p]; e->name; e++)
            printf("%-16s %-9s %-9s %s\n", e->name, e->full_time, e->quick_time, e->what);
    printf("\nTimes are estimates for two cores; --quick runs the shortened version.\n");
}

static int unknown(const char *name) {
    const char *names[256];
    int count = 0;
    for (int p = 0; p < PAPERS; p++)
        for (const Experiment *e = papers[p]; e->name && count < 256; e++) names[count++] = e->name;
    const char *nearest = nearest_name(name, names, count);
    report_error("there is no experiment '%s'%s%s%s; 'brim reproduce --list' names them", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return EXIT_INPUT;
}

static const Experiment *find(const char *name) {
    for (int p = 0; p < PAPERS; p++)
        for (const Experiment *e = papers[p]; e->name; e++)
            if (strcmp(e->name, name) == 0) return e;
    return NULL;
}

int command_reproduce(int argc, char **argv) {
    Result r = {0};
    bool wants_list = false;
    int64_t threads = 0;
    const Option options[] = {
        {"list", 0, OPTION_FLAG, &wants_list, NULL, "names the experiments and the time each takes",
         0, 0},
        {"output", 'o', OPTION_TEXT, &r.folder, "DIR", "folder for the results; default out/NAME",
         0, 0},
        {"quick", 0, OPTION_FLAG, &r.quick, NULL, "a shortened version that is still meaningful", 0,
         0},
        {"threads", 0, OPTION_INTEGER, &threads, "N", "threads; 0 is one for each core", 0, 1024},
        {"scenes", 0, OPTION_TEXT, &r.scenes, "DIR", "where the scenes are; found by default", 0,
         0},
        {0},
    };
    const Usage usage = {
        .command = "reproduce",
        .arguments = "NAME [options]",
        .help = "Runs an experiment of a paper, prints the paper's values beside Brim's and the\n"
                "range that Brim guarantees, and writes NAME.csv (statistics over time),\n"
                "NAME-table.csv and NAME.svg. Exit code 1 when a value is outside its range.",
        .options = options,
        .least = 0,
        .most = 1,
        .positional = "the name of an experiment",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;
    if (wants_list) {
        list();
        return EXIT_DONE;
    }
    if (count == 0) {
        report_error("brim reproduce needs the name of an experiment; --list shows them");
        return EXIT_INPUT;
    }
    r.experiment = find(argv[1]);
    if (!r.experiment) return unknown(argv[1]);
    r.threads = (int)threads;
    if (!r.folder) r.folder = sheet_text(&r.sheet, "out/%s", argv[1]);
    return reproduce(&r);
}
