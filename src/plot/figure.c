// brim_plot_svg: checks, then the panels row by row.
#include "base/error.h"
#include "plot/plot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 14, GAP = 26, ROW_GAP = 12, MOST_PANELS = 1000, MOST_CELLS = 100000 };

typedef struct Figure {
    const BrimPlotDef *plot;
    double width, panel_height, panel_width;
    int columns;
    LegendEntry *entries; ///< of the common legend
    int entry_count;
    LegendEntry *scratch; ///< room for the legend of any panel
    double *left;         ///< [columns] pixels left of the data, the same down a column
} Figure;

// -------------------------------------------------------------------------------------- checks

static BrimResult check_range(const double range[2], bool log, int index, const char *which,
                              BrimError *error) {
    if (range[0] == 0 && range[1] == 0) return BRIM_OK;
    if (isfinite(range[0]) && isfinite(range[1]) && range[0] < range[1] && (!log || range[0] > 0))
        return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT,
                "panel %d: the %s axis from %g to %g must be finite and ascending%s", index + 1,
                which, range[0], range[1], log ? ", above 0 since it is logarithmic" : "");
}

static BrimResult check_panel(const BrimPanelDef *p, int index, BrimError *error) {
    if (p->kind < BRIM_PANEL_LINES || p->kind > BRIM_PANEL_TABLE)
        return fail(error, BRIM_ERROR_INPUT, "panel %d: unknown kind %d", index + 1, (int)p->kind);
    if (p->kind == BRIM_PANEL_TABLE) {
        if (p->cells && p->rows > 0 && p->columns > 0 && p->rows <= MOST_CELLS / p->columns)
            return BRIM_OK;
        return fail(error, BRIM_ERROR_INPUT,
                    "panel %d: a table needs cells, with 1 to %d in rows times columns", index + 1,
                    MOST_CELLS);
    }
    if (p->kind == BRIM_PANEL_AREAS && p->y_log)
        return fail(error, BRIM_ERROR_INPUT, "panel %d: areas cannot stand on a logarithmic axis",
                    index + 1);
    if (p->series_count < 0 || (p->series_count > 0 && !p->series) || p->level_count < 0 ||
        (p->level_count > 0 && !p->levels))
        return fail(error, BRIM_ERROR_INPUT, "panel %d: series or levels are missing", index + 1);
    for (int i = 0; i < p->series_count; i++) {
        const BrimSeries *s = &p->series[i];
        bool needs_x = p->kind != BRIM_PANEL_BARS;
        if (s->count > 0 && (!s->y || (needs_x && !s->x)))
            return fail(error, BRIM_ERROR_INPUT, "panel %d: series %d has no values", index + 1,
                        i + 1);
    }
    BrimResult result = check_range(p->x_range, p->x_log, index, "x", error);
    return result != BRIM_OK ? result : check_range(p->y_range, p->y_log, index, "y", error);
}

static BrimResult check(const BrimPlotDef *plot, BrimError *error) {
    if (plot->panel_count < 1 || plot->panel_count > MOST_PANELS || !plot->panels)
        return fail(error, BRIM_ERROR_INPUT, "a plot needs 1 to %d panels", MOST_PANELS);
    if (!(plot->width >= 0 && plot->width <= 20000) ||
        !(plot->panel_height >= 0 && plot->panel_height <= 20000) || plot->columns < 0 ||
        plot->columns > MOST_PANELS)
        return fail(error, BRIM_ERROR_INPUT,
                    "a plot's width and panel height must be from 0 to 20000, columns from 0 to %d",
                    MOST_PANELS);
    for (int i = 0; i < plot->panel_count; i++) {
        BrimResult result = check_panel(&plot->panels[i], i, error);
        if (result != BRIM_OK) return result;
    }
    return BRIM_OK;
}

// -------------------------------------------------------------------------------------- layout

static void gather_legend(Figure *f) {
    for (int i = 0; f->plot->one_legend && i < f->plot->panel_count; i++) {
        const BrimPanelDef *p = &f->plot->panels[i];
        if (p->kind == BRIM_PANEL_AREAS || p->kind == BRIM_PANEL_TABLE) continue;
        int count = legend_of_panel(p, f->scratch);
        for (int k = 0; k < count; k++) {
            int same = 0;
            while (same < f->entry_count && strcmp(f->entries[same].name, f->scratch[k].name) != 0)
                same++;
            if (same == f->entry_count) f->entries[f->entry_count++] = f->scratch[k];
        }
    }
}

static bool takes_row(const BrimPanelDef *p) {
    return p->wide || p->kind == BRIM_PANEL_TABLE;
}

/// Panels of the row that begins at `first`.
static int row_length(const Figure *f, int first) {
    const BrimPlotDef *plot = f->plot;
    if (takes_row(&plot->panels[first])) return 1;
    int n = 1;
    while (n < f->columns && first + n < plot->panel_count && !takes_row(&plot->panels[first + n]))
        n++;
    return n;
}

static double row_height(const Figure *f, int first) {
    const BrimPanelDef *p = &f->plot->panels[first];
    return p->kind == BRIM_PANEL_TABLE ? cells_height(p) : f->panel_height;
}

static void find_margins(Figure *f) {
    for (int first = 0, n; first < f->plot->panel_count; first += n) {
        n = row_length(f, first);
        for (int i = 0; i < n; i++) {
            const BrimPanelDef *p = &f->plot->panels[first + i];
            if (p->kind == BRIM_PANEL_TABLE) continue;
            f->left[i] = fmax(f->left[i], panel_left_margin(p, f->panel_height - 50));
        }
    }
}

static void draw_rows(Text *t, Figure *f, double y) {
    for (int first = 0, n; first < f->plot->panel_count; first += n) {
        n = row_length(f, first);
        double height = row_height(f, first);
        for (int i = 0; i < n; i++) {
            const BrimPanelDef *p = &f->plot->panels[first + i];
            Box outer = {MARGIN + i * (f->panel_width + GAP), y, f->panel_width, height};
            if (takes_row(p)) outer.width = f->width - 2 * MARGIN;
            if (p->kind == BRIM_PANEL_TABLE)
                cells_draw(t, p, outer);
            else
                panel_draw(t, p, outer, f->left[i],
                           !f->plot->one_legend || p->kind == BRIM_PANEL_AREAS, f->scratch);
        }
        y += height + ROW_GAP;
    }
}

static void draw(Text *t, Figure *f) {
    const BrimPlotDef *plot = f->plot;
    double top = plot->title ? 34 : 8, inner = f->width - 2 * MARGIN;
    int entries = f->entry_count > 1 ? f->entry_count : 0;
    double legend = legend_height(f->entries, entries, inner);
    legend += legend > 0 ? 6 : 0;
    double height = top + legend + (plot->note ? 20 : 4);
    for (int first = 0; first < plot->panel_count; first += row_length(f, first))
        height += row_height(f, first) + ROW_GAP;
    style_open(t, f->width, height);
    if (plot->title) style_text(t, MARGIN, 22, HEAD_FONT, "start", "ink", true, plot->title);
    legend_draw(t, f->entries, entries, MARGIN, top, inner);
    draw_rows(t, f, top + legend);
    if (plot->note)
        style_text(t, MARGIN, height - 10, SMALL_FONT, "start", "faint", false, plot->note);
    text_add(t, "</svg>\n");
}

static bool prepare(Figure *f) {
    const BrimPlotDef *plot = f->plot;
    size_t most = 1, all = 1;
    for (int i = 0; i < plot->panel_count; i++) {
        size_t count = (size_t)plot->panels[i].series_count;
        if (plot->panels[i].kind == BRIM_PANEL_TABLE) continue;
        all += count;
        if (count > most) most = count;
    }
    f->columns = plot->columns ? plot->columns : plot->panel_count > 1 ? 2 : 1;
    f->width = plot->width > 0 ? fmax(plot->width, 120) : 760;
    f->panel_height = plot->panel_height > 0 ? fmax(plot->panel_height, 90) : 240;
    f->panel_width = (f->width - 2 * MARGIN - (f->columns - 1) * GAP) / f->columns;
    f->panel_width = fmax(f->panel_width, 90);
    f->entries = calloc(all, sizeof *f->entries);
    f->scratch = calloc(most, sizeof *f->scratch);
    f->left = calloc((size_t)f->columns, sizeof *f->left);
    return f->entries && f->scratch && f->left;
}

BrimResult brim_plot_svg(const BrimPlotDef *plot, char **svg, BrimError *error) {
    NEED(svg, error);
    *svg = NULL;
    NEED(plot, error);
    BrimResult result = check(plot, error);
    if (result != BRIM_OK) return result;
    Figure f = {.plot = plot};
    Text t = {0};
    if (prepare(&f)) {
        gather_legend(&f);
        find_margins(&f);
        draw(&t, &f);
    } else {
        t.failed = true;
    }
    free(f.entries), free(f.scratch), free(f.left);
    if (t.failed) {
        free(t.data);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for a plot of %d panels",
                    plot->panel_count);
    }
    *svg = t.data;
    return BRIM_OK;
}

void brim_text_free(char **text) {
    if (!text) return;
    free(*text);
    *text = NULL;
}
