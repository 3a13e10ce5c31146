#include "plot/plot.h"

enum { LINE = 22, SQUARE = 11, SPACE = 16 };

static double sample_width(const LegendEntry *e) {
    return e->filled ? SQUARE : LINE;
}

int legend_of_panel(const BrimPanelDef *panel, LegendEntry *entries) {
    int count = 0;
    bool filled = panel->kind != BRIM_PANEL_LINES;
    for (int i = 0; i < panel->series_count; i++) {
        const BrimSeries *s = &panel->series[i];
        if (!s->name) continue;
        entries[count++] = (LegendEntry){s->name, style_colour(s->colour, i),
                                         style_dash(s->dash, i), filled, s->points};
    }
    return count;
}

static double entry_width(const LegendEntry *e) {
    return sample_width(e) + 5 + style_text_width(e->name, FONT) + SPACE;
}

static void sample(Text *t, const LegendEntry *e, double x, double y) {
    const char *dash = style_dasharray(e->dash), *hex = style_hex(e->colour);
    if (e->filled) {
        text_add(t,
                 "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"9\" class=\"f%d\" fill=\"%s\" "
                 "fill-opacity=\"0.8\"/>\n",
                 x, y - 8.5, SQUARE, e->colour, hex);
        return;
    }
    text_add(t,
             "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"s%d\" stroke=\"%s\" "
             "stroke-width=\"1.8\"%s%s%s/>\n",
             x, y - 4, x + LINE, y - 4, e->colour, hex, dash ? " stroke-dasharray=\"" : "",
             dash ? dash : "", dash ? "\"" : "");
    if (e->points)
        text_add(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" class=\"f%d\" fill=\"%s\"/>\n",
                 x + LINE / 2.0, y - 4, e->colour, hex);
}

/// Width of the columns that entries stand in when they need several rows; 0 when one row does.
static double column_width(const LegendEntry *entries, int count, double width) {
    double all = 0, widest = 0;
    for (int i = 0; i < count; i++) {
        double own = entry_width(&entries[i]);
        all += own;
        if (own > widest) widest = own;
    }
    return all - SPACE > width ? widest : 0;
}

/// Rows of the legend; draws it when `t` is not NULL.
static int lay_out(Text *t, const LegendEntry *entries, int count, double x, double y,
                   double width) {
    double at = 0, column = column_width(entries, count, width);
    int row = 0;
    for (int i = 0; i < count; i++) {
        double own = column > 0 ? column : entry_width(&entries[i]);
        if (at > 0 && at + own - SPACE > width) at = 0, row++;
        if (t) {
            double baseline = y + row * LEGEND_ROW + 11;
            sample(t, &entries[i], x + at, baseline);
            style_text(t, x + at + sample_width(&entries[i]) + 5, baseline, FONT, "start", "ink",
                       false, entries[i].name);
        }
        at += own;
    }
    return count ? row + 1 : 0;
}

double legend_height(const LegendEntry *entries, int count, double width) {
    return LEGEND_ROW * lay_out(NULL, entries, count, 0, 0, width);
}

void legend_draw(Text *t, const LegendEntry *entries, int count, double x, double y, double width) {
    lay_out(t, entries, count, x, y, width);
}
