// What stands inside a frame. Coordinates are those of the figure; a nested <svg> cuts at the
// frame.
#include "plot/plot.h"
#include <math.h>
#include <stdio.h>

// --------------------------------------------------------------------------------------- lines

/// What one column of half a pixel keeps of a curve: enough to draw it as if nothing were left out.
typedef struct Column {
    double at;
    size_t first, low, high, last;
} Column;

static void put(Text *t, const Frame *f, const BrimSeries *s, size_t i, bool *pen) {
    text_add(t, "%c%.2f %.2f", *pen ? 'L' : 'M', axis_pixel(&f->x, s->x[i]),
             axis_pixel(&f->y, s->y[i]));
    *pen = true;
}

static void put_column(Text *t, const Frame *f, const BrimSeries *s, const Column *c, bool *pen) {
    put(t, f, s, c->first, pen);
    size_t a = c->low < c->high ? c->low : c->high, b = c->low < c->high ? c->high : c->low;
    if (a != c->first) put(t, f, s, a, pen);
    if (b != a && b != c->first) put(t, f, s, b, pen);
    if (c->last != b && c->last != c->first) put(t, f, s, c->last, pen);
}

static void curve(Text *t, const Frame *f, const BrimSeries *s) {
    bool pen = false, open = false;
    Column c = {0};
    for (size_t i = 0; i < s->count; i++) {
        double x = axis_pixel(&f->x, s->x[i]), y = axis_pixel(&f->y, s->y[i]);
        bool gap = isnan(x) || isnan(y);
        double at = floor(2 * x);
        if (open && (gap || at != c.at)) put_column(t, f, s, &c, &pen), open = false;
        if (gap) {
            pen = false;
        } else if (!open) {
            c = (Column){at, i, i, i, i};
            open = true;
        } else {
            if (s->y[i] < s->y[c.low]) c.low = i;
            if (s->y[i] > s->y[c.high]) c.high = i;
            c.last = i;
        }
    }
    if (open) put_column(t, f, s, &c, &pen);
}

static void draw_line(Text *t, const Frame *f, const BrimSeries *s, int position) {
    int colour = style_colour(s->colour, position);
    const char *dash = style_dasharray(style_dash(s->dash, position));
    text_add(t, "<path class=\"s%d\" stroke=\"%s\" fill=\"none\" stroke-width=\"1.5\" ", colour,
             style_hex(colour));
    if (dash) text_add(t, "stroke-dasharray=\"%s\" ", dash);
    text_add(t, "stroke-linejoin=\"round\" d=\"");
    curve(t, f, s);
    text_add(t, "\"/>\n");
    for (size_t i = 0; s->points && i < s->count; i++) {
        double x = axis_pixel(&f->x, s->x[i]), y = axis_pixel(&f->y, s->y[i]);
        if (isnan(x) || isnan(y)) continue;
        text_add(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" class=\"f%d\" fill=\"%s\"/>\n", x, y,
                 colour, style_hex(colour));
    }
}

// --------------------------------------------------------------------------------------- areas

static double value_or_zero(const BrimSeries *s, size_t k) {
    return k < s->count && isfinite(s->y[k]) ? s->y[k] : 0;
}

static double stacked(const BrimPanelDef *p, int upto, size_t k) {
    double sum = 0;
    for (int i = 0; i < upto; i++) sum += value_or_zero(&p->series[i], k);
    return sum;
}

/// Where a log axis has no place for a value: its foot.
static double pixel_or_foot(const Axis *a, double value) {
    double at = axis_pixel(a, value);
    return isnan(at) ? a->pixel_low : at;
}

static void draw_area(Text *t, const Frame *f, int index) {
    const BrimPanelDef *p = f->panel;
    const double *x = p->series[0].x;
    size_t count = p->series[0].count;
    int colour = style_colour(p->series[index].colour, index);
    text_add(t, "<path class=\"f%d\" fill=\"%s\" fill-opacity=\"0.8\" d=\"", colour,
             style_hex(colour));
    char pen = 'M';
    for (size_t k = 0; k < count; k++, pen = 'L')
        text_add(t, "%c%.2f %.2f", pen, pixel_or_foot(&f->x, x[k]),
                 pixel_or_foot(&f->y, stacked(p, index + 1, k)));
    for (size_t k = count; k-- > 0;)
        text_add(t, "L%.2f %.2f", axis_pixel(&f->x, x[k]), axis_pixel(&f->y, stacked(p, index, k)));
    text_add(t, "%s\"/>\n", count ? "Z" : "");
}

// ---------------------------------------------------------------------------- bars, histograms

/// The lower end of bars: 0, or the foot of a log axis.
static double foot(const Frame *f) {
    return f->y.log ? f->y.pixel_low : axis_pixel(&f->y, 0);
}

static void draw_bars(Text *t, const Frame *f, int index) {
    const BrimPanelDef *p = f->panel;
    const BrimSeries *s = &p->series[index];
    double group = (f->x.pixel_high - f->x.pixel_low) / (f->x.high - f->x.low);
    double width = fmin(0.76 * group / p->series_count, 46);
    int colour = style_colour(s->colour, index);
    for (size_t k = 0; k < s->count; k++) {
        double y = axis_pixel(&f->y, s->y[k]), zero = foot(f);
        if (isnan(y)) continue;
        double middle = f->x.pixel_low + group * ((double)k + 0.5);
        double left = middle + width * (index - p->series_count / 2.0);
        text_add(t,
                 "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"f%d\" "
                 "fill=\"%s\" fill-opacity=\"0.85\"/>\n",
                 left + 0.5, fmin(y, zero), fmax(width - 1, 0.5), fabs(y - zero), colour,
                 style_hex(colour));
        char label[LABEL_BYTES];
        number_label(s->y[k], label);
        if (style_text_width(label, SMALL_FONT) > width + 8) continue;
        style_text(t, left + width / 2, y < zero || s->y[k] >= 0 ? fmin(y, zero) - 3 : y + 10,
                   SMALL_FONT, "middle", "faint", false, label);
    }
}

static void draw_histogram(Text *t, const Frame *f, int index) {
    const BrimSeries *s = &f->panel->series[index];
    if (s->count < 2) return;
    int colour = style_colour(s->colour, index);
    const char *dash = style_dasharray(style_dash(s->dash, index));
    double width = s->x[1] - s->x[0], zero = foot(f);
    text_add(t,
             "<path class=\"s%d f%d\" fill=\"%s\" stroke=\"%s\" fill-opacity=\"0.25\" "
             "stroke-width=\"1.4\"",
             colour, colour, style_hex(colour), style_hex(colour));
    if (dash) text_add(t, " stroke-dasharray=\"%s\"", dash);
    text_add(t, " d=\"M%.2f %.2f", pixel_or_foot(&f->x, s->x[0]), zero);
    for (size_t k = 0; k < s->count; k++) {
        double y = isfinite(s->y[k]) ? pixel_or_foot(&f->y, s->y[k]) : zero;
        text_add(t, "L%.2f %.2fL%.2f %.2f", pixel_or_foot(&f->x, s->x[k]), y,
                 pixel_or_foot(&f->x, s->x[k] + width), y);
    }
    text_add(t, "L%.2f %.2fZ\"/>\n", pixel_or_foot(&f->x, s->x[s->count - 1] + width), zero);
}

// -------------------------------------------------------------------------------------- levels

static void draw_level(Text *t, const Frame *f, const BrimLevel *level) {
    double low = axis_pixel(&f->y, level->low), high = axis_pixel(&f->y, level->high);
    if (isnan(low) || isnan(high)) return;
    double left = f->box.x, right = f->box.x + f->box.width;
    if (low != high)
        text_add(t,
                 "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"band\" "
                 "fill=\"" FAINT "\" fill-opacity=\"0.14\"/>\n",
                 left, fmin(low, high), right - left, fabs(low - high));
    else
        text_add(t,
                 "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"axis\" "
                 "stroke=\"" FAINT "\" stroke-dasharray=\"3 3\"/>\n",
                 left, low, right, low);
    if (level->label)
        style_text(t, right - 4, fmin(low, high) - 3, SMALL_FONT, "end", "faint", false,
                   level->label);
}

void marks_draw(Text *t, const Frame *f) {
    const BrimPanelDef *p = f->panel;
    // one pixel more on each side: a line along the edge keeps its width
    double x = f->box.x - 1, y = f->box.y - 1, w = f->box.width + 2, h = f->box.height + 2;
    text_add(t,
             "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
             "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
             x, y, w, h, x, y, w, h);
    for (int i = 0; i < p->level_count; i++) draw_level(t, f, &p->levels[i]);
    for (int i = 0; i < p->series_count; i++) {
        if (p->kind == BRIM_PANEL_LINES)
            draw_line(t, f, &p->series[i], i);
        else if (p->kind == BRIM_PANEL_AREAS)
            draw_area(t, f, i);
        else if (p->kind == BRIM_PANEL_BARS)
            draw_bars(t, f, i);
        else
            draw_histogram(t, f, i);
    }
    text_add(t, "</svg>\n");
}
