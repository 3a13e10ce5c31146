#include "plot/plot.h"
#include <string.h>

/// Okabe and Ito's colours, which stay apart for colour-blind eyes, with black in the middle and a
/// brown for their yellow, which white paper swallows; and lighter ones for a dark page.
static const char *const palette[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#b0508a",
                                             "#e69f00", "#24292f", "#3fa7dd", "#8c6239"};
static const char *const dark_palette[COLOURS] = {"#4da6e8", "#ff8a3d", "#2fcf9f", "#e08fc0",
                                                  "#f5bf42", "#e6edf3", "#8fd3f7", "#c9a27a"};
static const char *const dashes[DASHES] = {NULL,    "7 3",         "2 2.5",   "9 3 2 3",
                                           "4.5 2", "9 3 2 3 2 3", "1.2 2.6", "13 4"};

int style_colour(int chosen, int position) {
    return chosen > 0 ? (chosen - 1) % COLOURS : position % COLOURS;
}

int style_dash(int chosen, int position) {
    return chosen > 0 ? (chosen - 1) % DASHES : position % DASHES;
}

const char *style_hex(int colour) {
    return palette[colour];
}

const char *style_dasharray(int dash) {
    return dashes[dash];
}

void style_open(Text *t, double width, double height) {
    text_add(t,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"brim-plot\" width=\"%.0f\" "
             "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica Neue, Helvetica, "
             "Arial, Liberation Sans, DejaVu Sans, sans-serif\">\n<style>\n"
             "@media (prefers-color-scheme: dark) {\n"
             ".brim-plot .paper { fill: #0d1117; }\n"
             ".brim-plot .ink { fill: #e6edf3; }\n.brim-plot .faint { fill: #9da7b3; }\n"
             ".brim-plot .axis { stroke: #9da7b3; }\n.brim-plot .rule { stroke: #2d333b; }\n"
             ".brim-plot .band { fill: #9da7b3; }\n",
             width, height, width, height);
    for (int i = 0; i < COLOURS; i++)
        text_add(t, ".brim-plot .s%d { stroke: %s; } .brim-plot .f%d { fill: %s; }\n", i,
                 dark_palette[i], i, dark_palette[i]);
    text_add(t,
             "}\n</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\" fill=\"" PAPER
             "\"/>\n",
             width, height);
}

/// Advance of a character, thousandths of the font size, as in Helvetica.
static int advance(unsigned char c) {
    if (strchr("ijl|'", c)) return 230;
    if (strchr("fIt.,:;/()[]! ", c)) return 290;
    if (strchr("rs-\"*", c)) return 380;
    if (strchr("mMW@%", c)) return 860;
    if (strchr("w", c)) return 720;
    if (c >= 'A' && c <= 'Z') return 680;
    return 556;
}

double style_text_width(const char *words, double size) {
    double width = 0;
    for (const unsigned char *c = (const unsigned char *)words; *c; c++)
        if ((*c & 0xc0) != 0x80) width += advance(*c); // one advance for a UTF-8 character
    return 1.08 * width * size / 1000;                 // the fallback fonts run wider
}

void style_text(Text *t, double x, double y, double size, const char *anchor, const char *class,
                bool bold, const char *words) {
    text_add(t,
             "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\" class=\"%s\" "
             "fill=\"%s\"%s>",
             x, y, size, anchor, class, strcmp(class, "faint") == 0 ? FAINT : INK,
             bold ? " font-weight=\"600\"" : "");
    text_escaped(t, words);
    text_add(t, "</text>\n");
}
