// Figures as SVG text.
//
//   figure   checks, layout of the panels, one legend, title           => SVG
//   panel    frame of one diagram: title, legend, axes, what is inside
//   marks    lines, areas, bars, histograms, levels inside a frame
//   cells    tables
//   axis     range, round ticks and their labels, value => pixel
//   style    palette, dashes, colours of a dark page, width of text
//   text     growing text, safe for XML
//
// Light colours are attributes, so that every program that reads SVG shows them; a style sheet
// replaces them on a dark page. No ids: several figures can stand in one HTML page.
#pragma once
#include "brim/brim.h"

// --------------------------------------------------------------------------------------- text

/// Remembers when memory ran out: later additions do nothing.
typedef struct Text {
    char *data;
    size_t length, capacity;
    bool failed;
} Text;

void text_add(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Escapes what XML would read as markup; what XML cannot hold becomes U+FFFD.
void text_escaped(Text *t, const char *words);

// -------------------------------------------------------------------------------------- style

enum { COLOURS = 8, DASHES = 8 };
enum { FONT = 11, SMALL_FONT = 10, TITLE_FONT = 12, HEAD_FONT = 14 };

#define INK "#24292f"   ///< text, axes
#define FAINT "#57606a" ///< labels of ticks, notes
#define RULE "#d8dee4"  ///< grid lines
#define PAPER "#ffffff"

/// Index into the palette, from 0; `chosen` counts from 1, 0 = by position.
int style_colour(int chosen, int position);
int style_dash(int chosen, int position);
const char *style_hex(int colour);
/// stroke-dasharray, NULL for a solid line.
const char *style_dasharray(int dash);
/// Opens <svg>: size, font, dark colours, paper.
void style_open(Text *t, double width, double height);
/// Pixels that `words` take at a font size, within some percent of common sans-serif fonts.
double style_text_width(const char *words, double size);
/// <text> at a baseline; anchor is "start", "middle" or "end"; class "ink" or "faint".
void style_text(Text *t, double x, double y, double size, const char *anchor, const char *class,
                bool bold, const char *words);

// --------------------------------------------------------------------------------------- axis

enum { MOST_TICKS = 16, LABEL_BYTES = 48 };

typedef struct Axis {
    double low, high; ///< log: of log10
    bool log;
    double pixel_low, pixel_high;
    double tick[MOST_TICKS]; ///< in the axis' own measure, log10 for log
    int ticks;
    int decimals, exponent; ///< labels show value / 10^exponent
} Axis;

/// Grows [low, high] by the finite values; log: by the log10 of those above 0.
void range_include(double range[2], const double *values, size_t count, bool log);
/// Ticks at least `apart` pixels from each other. The range must be finite and not empty.
void axis_make(Axis *a, const double range[2], bool log, double pixel_low, double pixel_high,
               double apart);
/// NaN when the axis cannot show the value.
double axis_pixel(const Axis *a, double value);
void axis_label(const Axis *a, int tick, char label[LABEL_BYTES]);
/// "x10^6" in front of all labels, "" when there is none.
void axis_exponent_label(const Axis *a, char label[LABEL_BYTES]);
/// A number for people: five digits, a true minus sign.
void number_label(double value, char label[LABEL_BYTES]);

// -------------------------------------------------------------------------------------- panels

typedef struct Box {
    double x, y, width, height;
} Box;

typedef struct Frame {
    const BrimPanelDef *panel;
    Box box; ///< of the data
    Axis x, y;
} Frame;

typedef struct LegendEntry {
    const char *name;
    int colour, dash;
    bool filled, points;
} LegendEntry;

enum { LEGEND_ROW = 16 };
/// Height of a legend in a given width.
double legend_height(const LegendEntry *entries, int count, double width);
void legend_draw(Text *t, const LegendEntry *entries, int count, double x, double y, double width);
/// The named series of a panel => entries [series_count], how many.
int legend_of_panel(const BrimPanelDef *panel, LegendEntry *entries);

/// Ends of the axes of a panel.
void panel_ranges(const BrimPanelDef *panel, double x[2], double y[2]);
/// Pixels left of the data: labels of the ticks and of the axis.
double panel_left_margin(const BrimPanelDef *panel, double height);
void panel_draw(Text *t, const BrimPanelDef *panel, Box outer, double left, bool own_legend,
                LegendEntry *scratch);
void marks_draw(Text *t, const Frame *frame);

double cells_height(const BrimPanelDef *panel);
void cells_draw(Text *t, const BrimPanelDef *panel, Box outer);
