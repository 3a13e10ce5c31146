// The ends of a panel's axes, from what the panel asks for or from its data.
#include "plot/plot.h"
#include <math.h>

static bool given(const double range[2]) {
    return range[0] != 0 || range[1] != 0;
}

/// An empty range becomes [0, 1]; one without length gets some.
static void settle(double range[2], double least) {
    if (!(range[0] <= range[1])) range[0] = 0, range[1] = 1;
    double largest = fmax(fabs(range[0]), fabs(range[1]));
    least = fmax(least, largest > 0 ? 1e-6 * largest : 1);
    double missing = least - (range[1] - range[0]);
    if (missing > 0) range[0] -= missing / 2, range[1] += missing / 2;
}

static void range_of_x(const BrimPanelDef *p, double x[2]) {
    size_t longest = 0;
    for (int i = 0; i < p->series_count; i++) {
        const BrimSeries *s = &p->series[i];
        if (s->count > longest) longest = s->count;
        if (p->kind == BRIM_PANEL_BARS) continue;
        range_include(x, s->x, s->count, p->x_log);
        if (p->kind == BRIM_PANEL_HISTOGRAM && s->count > 1)
            range_include(x, &(double){2 * s->x[s->count - 1] - s->x[s->count - 2]}, 1, p->x_log);
    }
    if (p->kind == BRIM_PANEL_BARS) x[0] = 0, x[1] = (double)longest;
    settle(x, 0);
    if (p->x_log)
        x[0] -= 0.08, x[1] += 0.08;
    else if (x[0] > 0 && x[0] < 0.05 * x[1])
        x[0] = 0; // a first step at 5 ms belongs to an axis from 0
}

static void range_of_stack(const BrimPanelDef *p, double y[2]) {
    y[0] = 0;
    for (size_t k = 0; p->series_count && k < p->series[0].count; k++) {
        double sum = 0;
        for (int i = 0; i < p->series_count; i++)
            if (k < p->series[i].count && isfinite(p->series[i].y[k])) sum += p->series[i].y[k];
        range_include(y, &sum, 1, false);
    }
}

static void range_of_y(const BrimPanelDef *p, double y[2]) {
    if (p->kind == BRIM_PANEL_AREAS) range_of_stack(p, y);
    for (int i = 0; i < p->series_count && p->kind != BRIM_PANEL_AREAS; i++)
        range_include(y, p->series[i].y, p->series[i].count, p->y_log);
    for (int i = 0; i < p->level_count; i++) {
        range_include(y, &p->levels[i].low, 1, p->y_log);
        range_include(y, &p->levels[i].high, 1, p->y_log);
    }
    bool from_zero = p->kind == BRIM_PANEL_BARS || p->kind == BRIM_PANEL_HISTOGRAM || p->y_zero;
    if (from_zero && !p->y_log) range_include(y, &(double){0}, 1, false);
    settle(y, p->y_span);
    double room = 0.06 * (y[1] - y[0]);
    if (y[0] != 0 || p->y_log) y[0] -= room;
    if (y[1] != 0 || p->y_log) y[1] += room;
}

static void chosen(const double range[2], bool log, double out[2]) {
    for (int i = 0; i < 2; i++) out[i] = log ? log10(range[i]) : range[i];
}

void panel_ranges(const BrimPanelDef *panel, double x[2], double y[2]) {
    x[0] = y[0] = INFINITY, x[1] = y[1] = -INFINITY;
    if (given(panel->x_range))
        chosen(panel->x_range, panel->x_log, x);
    else
        range_of_x(panel, x);
    if (given(panel->y_range))
        chosen(panel->y_range, panel->y_log, y);
    else
        range_of_y(panel, y);
}
