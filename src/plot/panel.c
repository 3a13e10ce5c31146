// The frame of one diagram: title, legend, axes with ticks and labels.
#include "plot/plot.h"
#include <math.h>

enum { TITLE_ROW = 20, X_TICKS = 18, X_LABEL = 16, Y_APART = 32, X_APART = 58 };

double panel_left_margin(const BrimPanelDef *panel, double height) {
    double x[2], y[2], widest = 0;
    char label[LABEL_BYTES];
    Axis axis;
    panel_ranges(panel, x, y);
    axis_make(&axis, y, panel->y_log, height, 0, Y_APART);
    for (int i = 0; i < axis.ticks; i++) {
        axis_label(&axis, i, label);
        widest = fmax(widest, style_text_width(label, SMALL_FONT));
    }
    return widest + 9 + (panel->y_label ? 18 : 0);
}

static void line(Text *t, double x1, double y1, double x2, double y2, const char *class,
                 const char *stroke) {
    text_add(t,
             "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\" stroke=\"%s\"/>\n",
             x1, y1, x2, y2, class, stroke);
}

static void draw_y_axis(Text *t, const Frame *f, double left) {
    char label[LABEL_BYTES];
    Box b = f->box;
    for (int i = 0; i < f->y.ticks; i++) {
        double at = f->y.pixel_low + (f->y.tick[i] - f->y.low) / (f->y.high - f->y.low) *
                                         (f->y.pixel_high - f->y.pixel_low);
        axis_label(&f->y, i, label);
        line(t, b.x, at, b.x + b.width, at, "rule", RULE);
        style_text(t, b.x - 6, at + 3.5, SMALL_FONT, "end", "faint", false, label);
    }
    axis_exponent_label(&f->y, label);
    if (*label) style_text(t, b.x, b.y - 4, SMALL_FONT, "start", "faint", false, label);
    if (!f->panel->y_label) return;
    double x = b.x - left + 10, y = b.y + b.height / 2;
    text_add(t, "<g transform=\"rotate(-90 %.1f %.1f)\">", x, y);
    style_text(t, x, y, FONT, "middle", "ink", false, f->panel->y_label);
    text_add(t, "</g>\n");
}

static void draw_x_ticks(Text *t, const Frame *f) {
    char label[LABEL_BYTES];
    double base = f->box.y + f->box.height;
    for (int i = 0; i < f->x.ticks; i++) {
        double at = f->x.pixel_low + (f->x.tick[i] - f->x.low) / (f->x.high - f->x.low) *
                                         (f->x.pixel_high - f->x.pixel_low);
        axis_label(&f->x, i, label);
        line(t, at, base, at, base + 4, "axis", FAINT);
        style_text(t, at, base + 15, SMALL_FONT, "middle", "faint", false, label);
    }
    axis_exponent_label(&f->x, label);
    if (*label)
        style_text(t, f->box.x + f->box.width, base + 15 + X_LABEL, SMALL_FONT, "end", "faint",
                   false, label);
}

static void draw_categories(Text *t, const Frame *f) {
    const BrimPanelDef *p = f->panel;
    double group = f->box.width / f->x.high;
    for (int k = 0; p->categories && k < (int)f->x.high; k++)
        if (p->categories[k])
            style_text(t, f->box.x + group * (k + 0.5), f->box.y + f->box.height + 15, SMALL_FONT,
                       "middle", "ink", false, p->categories[k]);
}

static void draw_axes(Text *t, const Frame *f, double left) {
    Box b = f->box;
    draw_y_axis(t, f, left);
    if (f->panel->kind == BRIM_PANEL_BARS)
        draw_categories(t, f);
    else
        draw_x_ticks(t, f);
    if (f->panel->x_label)
        style_text(t, b.x + b.width / 2, b.y + b.height + X_TICKS + X_LABEL - 3, FONT, "middle",
                   "ink", false, f->panel->x_label);
}

void panel_draw(Text *t, const BrimPanelDef *panel, Box outer, double left, bool own_legend,
                LegendEntry *scratch) {
    double top = outer.y + 8, width = outer.width - left;
    if (panel->title) {
        style_text(t, outer.x + left, top + 8, TITLE_FONT, "start", "ink", true, panel->title);
        top += TITLE_ROW;
    }
    int entries = own_legend ? legend_of_panel(panel, scratch) : 0;
    if (entries > 1) {
        legend_draw(t, scratch, entries, outer.x + left, top - 3, width);
        top += legend_height(scratch, entries, width) + 2;
    }
    Frame f = {.panel = panel};
    double x[2], y[2];
    panel_ranges(panel, x, y);
    double below = X_TICKS + (panel->x_label ? X_LABEL : 0) + 4;
    f.box = (Box){outer.x + left, top, width, fmax(outer.y + outer.height - below - top, 20)};
    axis_make(&f.y, y, panel->y_log, f.box.y + f.box.height, f.box.y, Y_APART);
    if (f.y.exponent) { // room for the power of ten above the axis
        f.box.y += 12, f.box.height = fmax(f.box.height - 12, 20);
        axis_make(&f.y, y, panel->y_log, f.box.y + f.box.height, f.box.y, Y_APART);
    }
    axis_make(&f.x, x, panel->x_log, f.box.x, f.box.x + f.box.width, X_APART);
    draw_axes(t, &f, left);
    marks_draw(t, &f);
    Box b = f.box;
    line(t, b.x, b.y + b.height, b.x + b.width, b.y + b.height, "axis", FAINT);
    line(t, b.x, b.y, b.x, b.y + b.height, "axis", FAINT);
}
