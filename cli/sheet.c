#include "sheet.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------- memory

void *sheet_memory(Sheet *sheet, size_t bytes) {
    void **grown = realloc(sheet->owned, (size_t)(sheet->owned_count + 1) * sizeof *sheet->owned);
    void *memory = grown ? calloc(1, bytes ? bytes : 1) : NULL;
    if (grown) sheet->owned = grown;
    if (memory)
        sheet->owned[sheet->owned_count++] = memory;
    else
        sheet->failed = true;
    return memory;
}

const char *sheet_text(Sheet *sheet, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = sheet_memory(sheet, (size_t)n + 1);
    if (!text) return "";
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

BrimPanelDef *sheet_panel(Sheet *sheet) {
    size_t count = (size_t)sheet->plot.panel_count;
    BrimPanelDef *grown = realloc(sheet->panels, (count + 1) * sizeof *grown);
    if (!grown) {
        sheet->failed = true;
        return NULL;
    }
    sheet->plot.panels = sheet->panels = grown;
    sheet->plot.panel_count++;
    grown[count] = (BrimPanelDef){0};
    return &grown[count];
}

void sheet_free(Sheet *sheet) {
    for (int i = 0; i < sheet->owned_count; i++) free(sheet->owned[i]);
    free(sheet->owned), free(sheet->panels);
    *sheet = (Sheet){0};
}

// ------------------------------------------------------------------------------------- columns

typedef enum AxisKind {
    FREE,
    FROM_ZERO,
    NOISY, ///< from 0, and jumps from step to step: drawn as means over stretches of the run
} AxisKind;

typedef struct Column {
    const char *name, *group, *title, *legend, *unit;
    double span; ///< least length of its axis
    AxisKind axis;
} Column;

static const Column known[] = {
    {"volume", "Liquid volume", "Liquid volume", "inside the level set", "relative to the start",
     0.04, FREE},
    {"volume_cells", "Liquid volume", "Cells with liquid", "cells with liquid",
     "relative to the start", 0.04, FREE},
    {"volume_ratio", "Liquid volume", "Volume by particle count", "particle count, cut at full",
     "relative to the start", 0.04, FREE},
    {"kinetic_energy", "Energy", "Kinetic energy", "kinetic", "J", 0, FROM_ZERO},
    {"potential_energy", "Energy", "Potential energy", "potential", "J", 0, FROM_ZERO},
    {"max_speed", "Speed", "Largest speed", "largest", "m/s", 0, FROM_ZERO},
    {"max_divergence", "Divergence left", "Divergence left", "divergence", "|div u| dt", 0, FREE},
    {"residual", "Divergence left", "Residual", "residual", "|div u| dt", 0, FREE},
    {"iterations", "Solver iterations", "Iterations, pressure", "pressure", "per step", 0, NOISY},
    {"density_iterations", "Solver iterations", "Iterations, density", "density", "per step", 0,
     NOISY},
    {"density_error_mean", "Density error", "Density error, mean", "mean, before", "relative", 0,
     FROM_ZERO},
    {"density_error_max", "Density error", "Density error, largest", "largest, before", "relative",
     0, FROM_ZERO},
    {"density_error_mean_after", "Density error", "Density error, mean", "mean, after", "relative",
     0, FROM_ZERO},
    {"density_error_max_after", "Density error", "Density error, largest", "largest, after",
     "relative", 0, FROM_ZERO},
    {"displaced_mean", "Displacement", "Displacement, mean", "mean", "cells", 0, FROM_ZERO},
    {"displaced_max", "Displacement", "Displacement, largest", "largest", "cells", 0, FROM_ZERO},
    {"dt", "Time step", "Time step", "step", "s", 0, FROM_ZERO},
    {"particles", "Particles", "Particles", "particles", "count", 0, FROM_ZERO},
    {"spray", "Particles", "Spray", "spray", "count", 0, FROM_ZERO},
    {"particles_in_solids", "Particles", "Particles in solids", "in solids", "count", 0, FROM_ZERO},
    {"tiles", "Tiles", "Tiles", "tiles", "count", 0, FROM_ZERO},
    {"memory_bytes", "Memory", "Memory", "memory", "bytes", 0, FROM_ZERO},
    {"ms_total", "Time a step", "Time a step", "all stages", "ms a step", 0, NOISY},
};
enum { KNOWN = sizeof known / sizeof *known };

/// A column of a gauge, "pressure (Pa)": its unit is in its name.
static Column describe_gauge(Sheet *sheet, const char *name) {
    const char *unit = strrchr(name, '(');
    char *title = (char *)sheet_text(sheet, "%.*s", (int)(unit - name - 1), name);
    char *end = (char *)sheet_text(sheet, "%s", unit + 1);
    if (*title) title[0] = (char)toupper((unsigned char)title[0]);
    if (*end) end[strlen(end) - 1] = 0;
    return (Column){name, title, title, title, end, 0, FREE};
}

/// What is known of a column, or what its name tells.
static Column describe(Sheet *sheet, const char *name) {
    for (int i = 0; i < KNOWN; i++)
        if (strcmp(known[i].name, name) == 0) return known[i];
    if (strstr(name, " (")) return describe_gauge(sheet, name);
    bool stage = strncmp(name, "ms_", 3) == 0;
    char *words = (char *)sheet_text(sheet, "%s", stage ? name + 3 : name);
    for (char *c = words; *c; c++)
        if (*c == '_') *c = ' ';
    Column column = {name, stage ? "Time a step" : words, NULL, words, stage ? "ms a step" : "",
                     0,    stage ? NOISY : FREE};
    column.title = stage ? sheet_text(sheet, "Time a step: %s", words) : words;
    return column;
}

/// The column of time of a gauge's table.
static const char GAUGE_TIME[] = "time (s)";

static bool is_gauge(const Run *run) {
    return brim_table_column(&run->stats, GAUGE_TIME) != NULL;
}

static bool every_run_has(const Run *runs, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (!brim_table_column(&runs[i].stats, name)) return false;
    return true;
}

static int unknown_column(const Run *run, const char *name) {
    const char *nearest =
        nearest_name(name, (const char *const *)run->stats.names, run->stats.column_count);
    report_error("%s/%s%s has no column '%s'%s%s%s; its columns are:", run->folder,
                 is_gauge(run) ? run->label : "stats", ".csv", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    for (int i = 0; i < run->stats.column_count; i++)
        say(stderr, "%s%s", i ? " " : "  ", run->stats.names[i]);
    fprintf(stderr, is_gauge(run) ? "\n" : "\nand 'stages' for the time by stage.\n");
    return EXIT_INPUT;
}

static bool all_flat(const Run *runs, int count) {
    for (int i = 0; i < count; i++)
        if (!runs[i].scene || brim_scene_def(runs[i].scene)->dim != 2) return false;
    return true;
}

// --------------------------------------------------------------------------------------- means

enum { BUCKETS = 160 };

static size_t buckets_of(const BrimTable *stats) {
    return stats->row_count < BUCKETS ? stats->row_count : BUCKETS;
}

/// Adds the means over equal stretches of rows: values [rows] => out [buckets].
static void add_means(const BrimTable *stats, const double *values, double *out) {
    size_t rows = stats->row_count, buckets = buckets_of(stats);
    for (size_t b = 0; b < buckets; b++) {
        size_t first = b * rows / buckets, end = (b + 1) * rows / buckets;
        double sum = 0;
        for (size_t i = first; i < end; i++) sum += values[i];
        out[b] += sum / (double)(end - first);
    }
}

// --------------------------------------------------------------------------------------- lines

typedef struct Source {
    const Run *runs;
    int count;
    const SheetChoice *choice;
} Source;

static const char *x_column(const SheetChoice *choice, const Run *run) {
    return is_gauge(run) ? GAUGE_TIME : choice->x ? choice->x : "time";
}

static const char *x_label(const SheetChoice *choice) {
    return choice->x && strcmp(choice->x, "step") == 0 ? "step" : "time (s)";
}

static void set_values(Sheet *sheet, BrimSeries *s, const Source *from, const Run *run,
                       const char *column) {
    s->x = brim_table_column(&run->stats, x_column(from->choice, run));
    s->y = brim_table_column(&run->stats, column);
    s->count = run->stats.row_count;
    size_t buckets = buckets_of(&run->stats);
    if (describe(sheet, column).axis != NOISY || s->count < 2 * buckets) return;
    double *x = sheet_memory(sheet, buckets * sizeof *x);
    double *y = sheet_memory(sheet, buckets * sizeof *y);
    if (!x || !y) return;
    add_means(&run->stats, s->x, x);
    add_means(&run->stats, s->y, y);
    s->x = x, s->y = y, s->count = buckets;
}

/// One panel with `names` [n] of every run: colours tell runs apart, dashes columns; with a single
/// run both tell columns apart.
static void add_lines(Sheet *sheet, const Source *from, const char *const *names, int n) {
    BrimPanelDef *panel = sheet_panel(sheet);
    BrimSeries *series = sheet_memory(sheet, (size_t)(from->count * n) * sizeof *series);
    if (!panel || !series) return;
    Column first = describe(sheet, names[0]);
    panel->title = n > 1 ? first.group : first.title;
    panel->x_label = x_label(from->choice);
    panel->y_label = first.unit;
    if (strcmp(first.unit, "J") == 0 && all_flat(from->runs, from->count)) panel->y_label = "J/m";
    panel->y_span = first.span, panel->y_zero = first.axis != FREE,
    panel->y_log = from->choice->log;
    panel->series = series, panel->series_count = from->count * n;
    for (int r = 0; r < from->count; r++) {
        const Run *run = &from->runs[r];
        for (int i = 0; i < n; i++) {
            BrimSeries *s = &series[r * n + i];
            const char *column = describe(sheet, names[i]).legend;
            s->name = n == 1             ? run->label
                      : from->count == 1 ? column
                                         : sheet_text(sheet, "%s, %s", run->label, column);
            set_values(sheet, s, from, run, names[i]);
            if (n > 1 && from->count > 1) s->colour = r + 1, s->dash = i + 1;
        }
    }
}

// -------------------------------------------------------------------------------------- stages

enum { SHOWN_STAGES = 6, MOST_STAGES = 64 };

typedef struct Stages {
    const char *name[MOST_STAGES]; ///< columns, the slowest of all runs first
    double sum[MOST_STAGES];
    int count;
} Stages;

static double column_sum(const BrimTable *stats, const char *name) {
    const double *values = brim_table_column(stats, name);
    double sum = 0;
    for (size_t i = 0; values && i < stats->row_count; i++)
        sum += isfinite(values[i]) ? values[i] : 0;
    return sum;
}

/// The stages of the first run, ordered by the time that they take in all.
static Stages find_stages(const Source *from) {
    const BrimTable *stats = &from->runs[0].stats;
    Stages stages = {0};
    for (int c = 0; c < stats->column_count && stages.count < MOST_STAGES; c++) {
        const char *name = stats->names[c];
        if (strncmp(name, "ms_", 3) != 0 || strcmp(name, "ms_total") == 0) continue;
        double sum = 0;
        for (int r = 0; r < from->count; r++) sum += column_sum(&from->runs[r].stats, name);
        int at = stages.count++;
        for (; at > 0 && stages.sum[at - 1] < sum; at--) {
            stages.sum[at] = stages.sum[at - 1];
            stages.name[at] = stages.name[at - 1];
        }
        stages.sum[at] = sum, stages.name[at] = name;
    }
    return stages;
}

/// Adds a stage's means to the series that shows it: its own, or the last one for all others.
static void add_stage(Sheet *sheet, const BrimTable *stats, const Stages *stages, int index,
                      BrimSeries *series) {
    int at = index < SHOWN_STAGES ? index : SHOWN_STAGES;
    const double *values = brim_table_column(stats, stages->name[index]);
    if (!series[at].y) {
        series[at].y = sheet_memory(sheet, buckets_of(stats) * sizeof(double));
        series[at].x = series[0].x, series[at].count = buckets_of(stats);
        char *name = (char *)sheet_text(sheet, "%s", stages->name[index] + 3);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = ' ';
        series[at].name = at < SHOWN_STAGES ? name : "other";
    }
    if (values && series[at].y) add_means(stats, values, (double *)series[at].y);
}

/// Returns the highest sum of the stages, ms.
static double add_stages(Sheet *sheet, const Source *from, const Stages *stages, const Run *run) {
    const BrimTable *stats = &run->stats;
    int shown = stages->count > SHOWN_STAGES ? SHOWN_STAGES + 1 : stages->count;
    BrimPanelDef *panel = sheet_panel(sheet);
    BrimSeries *series = sheet_memory(sheet, (size_t)(shown + 1) * sizeof *series);
    double *x = sheet_memory(sheet, buckets_of(stats) * sizeof *x), top = 0;
    if (!panel || !series || !x) return 0;
    add_means(stats, brim_table_column(stats, x_column(from->choice, run)), x);
    *panel =
        (BrimPanelDef){.kind = BRIM_PANEL_AREAS,
                       .title = from->count > 1 ? sheet_text(sheet, "Time by stage: %s", run->label)
                                                : "Time by stage",
                       .x_label = x_label(from->choice),
                       .y_label = "ms a step",
                       .series = series,
                       .series_count = shown};
    series[0].x = x;
    for (int i = 0; i < stages->count; i++) add_stage(sheet, stats, stages, i, series);
    if (sheet->failed) return 0;
    for (size_t b = 0; b < buckets_of(stats); b++) {
        double sum = 0;
        for (int i = 0; i < shown; i++) sum += series[i].y[b];
        top = fmax(top, sum);
    }
    return top;
}

/// A panel for each run, all on one scale.
static void add_stage_panels(Sheet *sheet, const Source *from) {
    Stages stages = find_stages(from);
    int first = sheet->plot.panel_count;
    double top = 0;
    for (int r = 0; r < from->count; r++)
        top = fmax(top, add_stages(sheet, from, &stages, &from->runs[r]));
    for (int i = first; i < sheet->plot.panel_count; i++) {
        if (top > 0) sheet->panels[i].y_range[1] = 1.05 * top;
        sheet->panels[i].wide = from->count == 1 && first % 2 == 0;
    }
}

// -------------------------------------------------------------------------------------- choice

/// Cuts "a+b" into names of columns that exist; `usual` ones may be missing.
static int add_group(Sheet *sheet, const Source *from, char *group, bool usual) {
    enum { MOST = 32 };
    const char *names[MOST];
    int n = 0;
    char *state = NULL;
    for (char *name = strtok_r(group, "+", &state); name; name = strtok_r(NULL, "+", &state)) {
        bool there = every_run_has(from->runs, from->count, name);
        if (!there && usual) continue;
        for (int r = 0; r < from->count && !there; r++)
            if (!brim_table_column(&from->runs[r].stats, name))
                return unknown_column(&from->runs[r], name);
        if (n == MOST) {
            report_error("--columns: at most %d columns in one panel", MOST);
            return EXIT_INPUT;
        }
        names[n++] = name;
    }
    if (n > 0) add_lines(sheet, from, names, n);
    return EXIT_DONE;
}

/// All columns of a gauge, a panel each.
static const char *gauge_columns(Sheet *sheet, const BrimTable *table) {
    const char *all = "";
    for (int i = 0; i < table->column_count; i++)
        if (strcmp(table->names[i], GAUGE_TIME) != 0)
            all = sheet_text(sheet, "%s%s%s", all, *all ? "," : "", table->names[i]);
    return all;
}

static const char *usual_columns(Sheet *sheet, const Run *runs, int count) {
    if (is_gauge(&runs[0])) return gauge_columns(sheet, &runs[0].stats);
    if (count == 1)
        return "volume+volume_cells+volume_ratio,kinetic_energy+potential_energy,max_speed,"
               "iterations+density_iterations,density_error_mean+density_error_mean_after,"
               "displaced_max,stages";
    return every_run_has(runs, count, "volume")
               ? "volume,max_speed,kinetic_energy,potential_energy,iterations,ms_total,stages"
               : "volume_cells,max_speed,kinetic_energy,potential_energy,iterations,ms_total,"
                 "stages";
}

int sheet_add_runs(Sheet *sheet, const Run *runs, int count, const SheetChoice *choice) {
    Source from = {runs, count, choice};
    for (int r = 0; r < count; r++)
        if (!brim_table_column(&runs[r].stats, x_column(choice, &runs[r])))
            return unknown_column(&runs[r], x_column(choice, &runs[r]));
    char *parts = (char *)sheet_text(
        sheet, "%s", choice->columns ? choice->columns : usual_columns(sheet, runs, count));
    char *state = NULL;
    for (char *part = strtok_r(parts, ",", &state); part; part = strtok_r(NULL, ",", &state)) {
        if (strcmp(part, "stages") == 0) {
            add_stage_panels(sheet, &from);
        } else {
            int code = add_group(sheet, &from, part, !choice->columns);
            if (code != EXIT_DONE) return code;
        }
        sheet->plot.one_legend |= count > 1 && !choice->columns;
    }
    if (sheet->failed) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    if (sheet->plot.panel_count == 0) {
        report_error("--columns names no columns");
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}
