// Tables: the first column to the left, the others to the right; rules above and below the head.
#include "plot/plot.h"
#include <math.h>

enum { ROW = 20, TOP = 26 };

double cells_height(const BrimPanelDef *panel) {
    return (panel->title ? TOP : 6) + ROW * panel->rows + 10.0;
}

static const char *cell(const BrimPanelDef *panel, int row, int column) {
    const char *words = panel->cells[row * panel->columns + column];
    return words ? words : "";
}

static double column_width(const BrimPanelDef *panel, int column) {
    double width = 0;
    for (int row = 0; row < panel->rows; row++)
        width = fmax(width, style_text_width(cell(panel, row, column), FONT));
    return width;
}

static void rule(Text *t, double x, double y, double width, const char *class) {
    text_add(t,
             "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\" stroke=\"%s\"/>\n",
             x, y, x + width, y, class, class[0] == 'a' ? FAINT : RULE);
}

void cells_draw(Text *t, const BrimPanelDef *panel, Box outer) {
    double natural = 0, y = outer.y;
    for (int c = 0; c < panel->columns; c++) natural += column_width(panel, c);
    double gap = panel->columns > 1 ? (outer.width - natural) / (panel->columns - 1) : 0;
    gap = fmin(fmax(gap, 8), 48);
    double width = fmin(outer.width, natural + gap * (panel->columns - 1));
    if (panel->title) {
        style_text(t, outer.x, y + 14, TITLE_FONT, "start", "ink", true, panel->title);
        y += TOP;
    }
    rule(t, outer.x, y, width, "axis");
    for (int row = 0; row < panel->rows; row++, y += ROW) {
        double x = outer.x;
        for (int c = 0; c < panel->columns; c++) {
            double own = column_width(panel, c);
            style_text(t, c ? x + own : x, y + 14, FONT, c ? "end" : "start", "ink", row == 0,
                       cell(panel, row, c));
            x += own + gap;
        }
        bool edge = row == 0 || row == panel->rows - 1;
        rule(t, outer.x, y + ROW, width, edge ? "axis" : "rule");
    }
}
