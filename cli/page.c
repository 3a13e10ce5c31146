// brim report: one self-contained HTML page about a run.
#include "page.h"
#include "json.h"
#include "sheet.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Arguments {
    const char *output;
    int64_t frames;
} Arguments;

static const char style[] =
    ":root { color-scheme: light dark; --ink: #24292f; --faint: #57606a; --rule: #d8dee4;\n"
    "  --paper: #ffffff; --warn: #fff4e0; --edge: #e69f00; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #9da7b3;\n"
    "  --rule: #2d333b; --paper: #0d1117; --warn: #2b2110; --edge: #b47d16; } }\n"
    "body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink);\n"
    "  background: var(--paper); font: 15px/1.5 system-ui, Helvetica, Arial, sans-serif; }\n"
    "h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 0.6rem; }\n"
    ".sub { color: var(--faint); margin: 0 0 1.2rem; }\n"
    ".facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));\n"
    "  gap: 0.8rem 1.4rem; margin: 0; }\n"
    ".facts dt { color: var(--faint); font-size: 0.8rem; } .facts dd { margin: 0; }\n"
    ".warnings { background: var(--warn); border-left: 3px solid var(--edge);\n"
    "  padding: 0.6rem 1rem 0.6rem 2rem; margin: 0; }\n"
    ".frames { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr));\n"
    "  gap: 0.8rem; }\n"
    "figure { margin: 0; } figcaption { color: var(--faint); font-size: 0.8rem; }\n"
    "img, svg { max-width: 100%; height: auto; }\n"
    "table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }\n"
    "th, td { text-align: right; padding: 0.15rem 0.9rem 0.15rem 0; "
    "border-bottom: 1px solid var(--rule); }\n"
    "th:first-child, td:first-child { text-align: left; }\n"
    "pre { overflow-x: auto; font-size: 0.8rem; }\n";

void page_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fputc(*text, out);
    }
}

// --------------------------------------------------------------------------------------- facts

static void fact(FILE *out, const char *name, const char *value) {
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    page_text(out, value);
    fputs("</dd></div>\n", out);
}

static double column_sum(const Run *run, const char *name) {
    const double *values = brim_table_column(&run->stats, name);
    double sum = 0;
    for (size_t i = 0; values && i < run->stats.row_count; i++) sum += values[i];
    return sum;
}

static void put_domain(const Page *p) {
    const BrimSimDef *d = p->def;
    char text[128];
    if (d->dim == 2)
        snprintf(text, sizeof text, "%g x %g m, %d x %d cells", d->size.x, d->size.y, d->cells[0],
                 d->cells[1]);
    else
        snprintf(text, sizeof text, "%g x %g x %g m, %d x %d x %d cells", d->size.x, d->size.y,
                 d->size.z, d->cells[0], d->cells[1], d->cells[2]);
    fact(p->out, "Domain", text);
}

static void put_solver(const Page *p) {
    const BrimSimDef *d = p->def;
    char text[128];
    snprintf(text, sizeof text, "%s, tolerance %g",
             d->transfer == BRIM_TRANSFER_APIC ? "APIC" : "FLIP", d->tolerance);
    fact(p->out, "Method", text);
    if (d->step > 0)
        snprintf(text, sizeof text, "%g s", d->step);
    else
        snprintf(text, sizeof text, "CFL %g", d->cfl);
    fact(p->out, "Step", text);
}

static void put_cost(const Page *p) {
    char text[160], a[SHORT_TEXT], b[SHORT_TEXT];
    double seconds = column_sum(p->run, "ms_total") / 1000, steps = run_last(p->run, "step");
    snprintf(text, sizeof text, "%s for %s steps", show_duration(a, seconds),
             show_count(b, (int64_t)steps));
    fact(p->out, "Computing time", text);
    double updates = column_sum(p->run, "particles");
    snprintf(text, sizeof text, "%.3g million particle steps a second", updates / seconds / 1e6);
    fact(p->out, "Speed", text);
    fact(p->out, "Memory", show_bytes(a, run_last(p->run, "memory_bytes")));
}

static void put_machine(const Page *p) {
    const char *machine, *value;
    size_t length;
    char text[256];
    if (!json_member(p->run->record, "machine", &machine, &length) ||
        !json_member(machine, "cpu", &value, &length) || length < 2)
        return;
    snprintf(text, sizeof text, "%.*s", (int)length - 2, value + 1);
    fact(p->out, "Machine", text);
    if (json_member(p->run->record, "threads", &value, &length)) {
        snprintf(text, sizeof text, "%.*s", (int)length, value);
        fact(p->out, "Threads", text);
    }
}

static void put_facts(const Page *p) {
    char text[SHORT_TEXT];
    fputs("<dl class=\"facts\">\n", p->out);
    put_domain(p);
    put_solver(p);
    fact(p->out, "Particles at the end", show_count(text, (int64_t)run_last(p->run, "particles")));
    snprintf(text, sizeof text, "%.4g s", run_last(p->run, "time"));
    fact(p->out, "Simulated", text);
    put_cost(p);
    put_machine(p);
    fputs("</dl>\n", p->out);
}

// ---------------------------------------------------------------------------------- statistics

static void put_number(FILE *out, double value) {
    if (fabs(value) >= 1e5 && fabs(value) < 1e15 && value == floor(value)) {
        char text[SHORT_TEXT];
        fprintf(out, "<td>%s</td>", show_count(text, (int64_t)value));
    } else {
        fprintf(out, "<td>%.5g</td>", value);
    }
}

static void put_statistics(const Page *p) {
    const BrimTable *t = &p->run->stats;
    fputs("<details><summary>All columns of stats.csv</summary>\n<table>\n<tr><th>column</th>"
          "<th>first</th><th>last</th><th>least</th><th>mean</th><th>most</th></tr>\n",
          p->out);
    for (int c = 0; c < t->column_count; c++) {
        const double *v = t->values[c];
        double low = v[0], high = v[0], sum = 0;
        for (size_t i = 0; i < t->row_count; i++)
            low = fmin(low, v[i]), high = fmax(high, v[i]), sum += v[i];
        fputs("<tr><td>", p->out);
        page_text(p->out, t->names[c]);
        fputs("</td>", p->out);
        const double shown[] = {v[0], v[t->row_count - 1], low, sum / (double)t->row_count, high};
        for (int i = 0; i < 5; i++) put_number(p->out, shown[i]);
        fputs("</tr>\n", p->out);
    }
    fputs("</table>\n</details>\n", p->out);
}

// --------------------------------------------------------------------------------------- plots

static void add_crowding(Sheet *sheet, const Crowding *c) {
    BrimPanelDef *panel = c->known ? sheet_panel(sheet) : NULL;
    BrimSeries *series = sheet_memory(sheet, sizeof *series);
    if (!panel || !series) return;
    *series = (BrimSeries){.x = c->edge, .y = c->share, .count = (size_t)c->bins};
    *panel = (BrimPanelDef){.kind = BRIM_PANEL_HISTOGRAM,
                            .title = "Particles in a cell, last frame",
                            .x_label = "relative to a full cell",
                            .y_label = "% of the cells",
                            .series = series,
                            .series_count = 1};
}

/// Counts of spray, foam and bubbles over time, from the headers of the frames that have them.
static int add_foam(Sheet *sheet, const Page *p) {
    static const char *const names[3] = {"spray", "foam", "bubbles"};
    int *frames = NULL, all = 0, code = run_frames(p->run, &frames, &all);
    size_t n = 0;
    double *values = sheet_memory(sheet, 4 * ((size_t)all + 1) * sizeof *values);
    BrimSeries *series = sheet_memory(sheet, 3 * sizeof *series);
    for (int i = 0; i < all && values && series && code == EXIT_DONE; i++) {
        char path[PATH_MAX];
        BrimFoamFrame foam;
        BrimError error;
        if (snprintf(path, sizeof path, "%s/foam/%06d.ply", p->run->folder, frames[i]) >=
                PATH_MAX ||
            access(path, F_OK) != 0)
            continue;
        if (brim_foam_read_counts(path, &foam, &error) != BRIM_OK) {
            code = report_result(&error, false);
            break;
        }
        values[n] = foam.time;
        values[all + (int)n] = (double)foam.counts.spray;
        values[2 * all + (int)n] = (double)foam.counts.foam;
        values[3 * all + (int)n] = (double)foam.counts.bubbles;
        n++;
    }
    free(frames);
    BrimPanelDef *panel = n && code == EXIT_DONE ? sheet_panel(sheet) : NULL;
    if (!panel) return code;
    for (int k = 0; k < 3; k++)
        series[k] =
            (BrimSeries){.name = names[k], .x = values, .y = values + (k + 1) * all, .count = n};
    *panel = (BrimPanelDef){.kind = BRIM_PANEL_LINES,
                            .title = "Whitewater",
                            .x_label = "time (s)",
                            .y_label = "particles",
                            .series = series,
                            .series_count = 3,
                            .y_zero = true};
    return code;
}

static int put_plots(const Page *p) {
    Sheet sheet = {.plot = {.width = 960}};
    SheetChoice choice = {0};
    BrimError error;
    char *svg = NULL;
    int code = sheet_add_runs(&sheet, p->run, 1, &choice);
    if (code == EXIT_DONE) {
        add_crowding(&sheet, &p->crowding);
        code = add_foam(&sheet, p);
    }
    if (code == EXIT_DONE) {
        if (brim_plot_svg(&sheet.plot, &svg, &error) == BRIM_OK)
            fputs(svg, p->out);
        else
            code = report_result(&error, false);
    }
    brim_text_free(&svg);
    sheet_free(&sheet);
    return code;
}

// -------------------------------------------------------------------------------------- gauges

static int put_gauge(const Page *p, const char *name) {
    Run gauge = {0};
    Sheet sheet = {.plot = {.width = 960, .columns = 3}};
    SheetChoice choice = {0};
    char path[PATH_MAX], *svg = NULL;
    BrimError error;
    snprintf(path, sizeof path, "%s/gauges/%s.csv", p->run->folder, name);
    fputs("<h3>", p->out);
    page_text(p->out, name);
    fputs("</h3>\n", p->out);
    if (brim_table_read(path, &gauge.stats, &error) != BRIM_OK || gauge.stats.row_count == 0) {
        brim_table_free(&gauge.stats);
        fputs("<p>No samples.</p>\n", p->out);
        return EXIT_DONE;
    }
    gauge.label = (char *)name;
    int code = sheet_add_runs(&sheet, &gauge, 1, &choice);
    if (code == EXIT_DONE) {
        if (brim_plot_svg(&sheet.plot, &svg, &error) == BRIM_OK)
            fputs(svg, p->out);
        else
            code = report_result(&error, false);
    }
    brim_text_free(&svg);
    sheet_free(&sheet);
    brim_table_free(&gauge.stats);
    return code;
}

static int put_gauges(const Page *p) {
    int code = EXIT_DONE;
    if (p->def->gauge_count) fputs("<h2>Gauges</h2>\n", p->out);
    for (int i = 0; i < p->def->gauge_count && code == EXIT_DONE; i++)
        code = put_gauge(p, p->def->gauges[i].name);
    return code;
}

// ---------------------------------------------------------------------------------------- page

/// A part of the page that is made before the parts above it: crowding comes from the frames.
typedef struct Part {
    char *text;
    size_t bytes;
} Part;

static int make_part(Page *page, Part *part, int (*make)(Page *, const Arguments *),
                     const Arguments *a) {
    page->out = open_memstream(&part->text, &part->bytes);
    if (!page->out) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    int code = make(page, a);
    bool full = ferror(page->out);
    if (fclose(page->out) == 0 && !full) return code;
    report_error("out of memory");
    return EXIT_MEMORY;
}

static int make_frames(Page *page, const Arguments *a) {
    fputs("<h2>Frames</h2>\n", page->out);
    return page_frames(page, (int)a->frames, 480, page->def->dim == 2 ? 400 : 300);
}

static int make_warnings(Page *page, const Arguments *a) {
    (void)a;
    fputs("<h2>Warnings</h2>\n<ul class=\"warnings\">\n", page->out);
    int count = page_warnings(page);
    if (count == 0) fputs("<li>None.</li>\n", page->out);
    fputs("</ul>\n", page->out);
    return EXIT_DONE;
}

static int make_rest(Page *page, const Arguments *a) {
    (void)a;
    fputs("<h2>Over time</h2>\n", page->out);
    int code = put_plots(page);
    if (code == EXIT_DONE) code = put_gauges(page);
    fputs("<h2>Statistics</h2>\n", page->out);
    put_statistics(page);
    fputs("<h2>Scene</h2>\n<details><summary>The scene after defaults</summary>\n<pre>", page->out);
    page_text(page->out, brim_scene_json(page->run->scene));
    fputs("</pre>\n</details>\n", page->out);
    return code;
}

static void put_head(const Page *p) {
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", p->out);
    page_text(p->out, p->run->label);
    fputs(" - Brim</title>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<style>\n",
          p->out);
    fprintf(p->out, "%s</style>\n</head>\n<body>\n<h1>", style);
    page_text(p->out, p->run->label);
    fprintf(p->out, "</h1>\n<p class=\"sub\">A run of Brim; this page by Brim %s</p>\n",
            brim_version());
    put_facts(p);
}

static int make_page(Page *page, const Arguments *a) {
    Part frames = {0}, warnings = {0}, rest = {0};
    FILE *out = page->out;
    int code = make_part(page, &frames, make_frames, a);
    if (code == EXIT_DONE) code = make_part(page, &warnings, make_warnings, a);
    if (code == EXIT_DONE) code = make_part(page, &rest, make_rest, a);
    page->out = out;
    if (code == EXIT_DONE) {
        put_head(page);
        fprintf(out, "%s%s%s</body>\n</html>\n", warnings.text, frames.text, rest.text);
    }
    free(frames.text), free(warnings.text), free(rest.text);
    return code;
}

static int write_page(const Run *run, const Arguments *a, const char *path) {
    Page page = {.run = run, .def = brim_scene_def(run->scene)};
    Part whole = {0};
    BrimError error;
    int code = make_part(&page, &whole, make_page, a);
    if (code == EXIT_DONE) {
        if (brim_write_text(path, whole.text, &error) == BRIM_OK)
            say(stdout, "%s\n", path);
        else
            code = report_result(&error, false);
    }
    free(whole.text);
    return code;
}

static int report(const char *folder, const Arguments *a) {
    Run run;
    char *path = NULL;
    int code = run_open(&run, folder);
    if (code != EXIT_DONE) return code;
    if (!run.scene) {
        report_error("the scene of %s is unknown: run.json is missing or cannot be read; 'brim "
                     "plot' needs only stats.csv",
                     run.folder);
        code = EXIT_INPUT;
    }
    if (code == EXIT_DONE) code = run_labels(&run, 1);
    if (code == EXIT_DONE && asprintf(&path, "%s%s", a->output ? a->output : run.folder,
                                      a->output ? "" : "/report.html") < 0) {
        path = NULL;
        report_error("out of memory");
        code = EXIT_MEMORY;
    }
    if (code == EXIT_DONE) code = write_page(&run, a, path);
    free(path);
    run_close(&run);
    return code;
}

int command_report(int argc, char **argv) {
    Arguments a = {.frames = 12};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.output, "FILE.html", "default DIR/report.html", 0, 0},
        {"frames", 0, OPTION_INTEGER, &a.frames, "N", "pictures of frames; default 12", 0, 400},
        {0},
    };
    const Usage usage = {
        .command = "report",
        .arguments = "DIR [options]",
        .help = "Summarises a run in one HTML page that needs no other file: scene, statistics,\n"
                "plots, pictures of frames, and warnings of volume drift, compressed cells, slow\n"
                "stages and a solver that did not converge. Prints the page's path.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a run folder",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;
    return report(argv[1], &a);
}
