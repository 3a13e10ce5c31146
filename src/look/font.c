// A stroke font, drawn for this program: each glyph is a few strokes on a grid.
//
// Strokes are points of two hexadecimal digits, x then y, with a blank between strokes. The base
// line is at y = 3, lower-case letters reach 9, digits 12, descenders 0. A stroke that begins with
// ~ is the control polygon of a smooth curve.
#include "look/look.h"
#include <stdlib.h>
#include <string.h>

typedef struct Glyph {
    char letter;
    int8_t width;
    const char *strokes;
} Glyph;

static const Glyph glyphs[] = {
    {'0', 6, "~030c6c6303"},
    {'1', 6, "1a4c43"},
    {'2', 6, "~0a0c6c6803 0363"},
    {'3', 6, "~0a0c6c6828 ~2868630305"},
    {'4', 6, "434c0666"},
    {'5', 6, "5c1c08 ~080969630305"},
    {'6', 6, "~0309696303 ~5c2c0a06"},
    {'7', 6, "0c6c23"},
    {'8', 6, "~181c5c5818 ~0308686303"},
    {'9', 6, "~060c6c6606 ~69654313"},
    {'a', 6, "~0309696303 6963"},
    {'b', 6, "0c03 ~0309696303"},
    {'c', 5, "~585909035354"},
    {'d', 6, "6c63 ~0309696303"},
    {'e', 6, "0666 ~666909035364"},
    {'f', 4, "~4c1c18 1813 0939"},
    {'g', 6, "~0309696303 6963 ~63603001"},
    {'h', 6, "0c03 ~06096966 6663"},
    {'i', 0, "0903 0c0c"},
    {'j', 2, "2923 ~232000 2c2c"},
    {'k', 5, "0c03 5906 2753"},
    {'l', 0, "0c03"},
    {'m', 9, "0903 ~06094946 4643 ~46499996 9693"},
    {'n', 6, "0903 ~06096966 6663"},
    {'o', 6, "~0309696303"},
    {'p', 6, "0900 ~0309696303"},
    {'q', 6, "6960 ~0309696303"},
    {'r', 4, "0903 ~060949"},
    {'s', 5, "~5859090656530304"},
    {'t', 4, "1c16 ~161343 0939"},
    {'u', 6, "0906 ~06036366 6963"},
    {'v', 6, "093369"},
    {'w', 8, "0923496389"},
    {'x', 6, "0963 0369"},
    {'y', 6, "0933 6920"},
    {'z', 6, "09690363"},
    {'.', 0, "0303"},
    {',', 1, "1301"},
    {':', 0, "0404 0808"},
    {'/', 5, "025c"},
    {'-', 4, "0646"},
    {'+', 6, "0666 3933"},
    {'=', 6, "0868 0565"},
    {'(', 2, "~2d0a0522"},
    {')', 2, "~0d2a2502"},
    {'_', 6, "0262"},
    {'%', 8, "038c ~090c3c3909 ~5356868353"},
    {' ', 2, ""},
};

enum { BASE_LINE = 3, CAP = 12, GAP = 3, POINTS = 128 };

static const Glyph *find_glyph(char letter) {
    if (letter >= 'A' && letter <= 'Z') letter = (char)(letter - 'A' + 'a');
    for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
        if (glyphs[i].letter == letter) return &glyphs[i];
    return &glyphs[sizeof glyphs / sizeof *glyphs - 1];
}

typedef struct Stroke {
    int count;
    float x[POINTS], y[POINTS];
} Stroke;

static int hex_digit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/// Cuts the corners of a polygon (Chaikin); a closed one stays closed, an open one keeps its ends.
static void cut_corners(Stroke *s) {
    Stroke from = *s;
    int last = from.count - 1, n = 0;
    bool closed = from.x[0] == from.x[last] && from.y[0] == from.y[last];
    if (2 * from.count > POINTS) return;
    for (int i = 0; i < last; i++) {
        bool keep_start = !closed && i == 0, keep_end = !closed && i == last - 1;
        float a = keep_start ? 0 : 0.25f, b = keep_end ? 1 : 0.75f;
        s->x[n] = from.x[i] + a * (from.x[i + 1] - from.x[i]);
        s->y[n++] = from.y[i] + a * (from.y[i + 1] - from.y[i]);
        s->x[n] = from.x[i] + b * (from.x[i + 1] - from.x[i]);
        s->y[n++] = from.y[i] + b * (from.y[i + 1] - from.y[i]);
    }
    if (closed) s->x[n] = s->x[0], s->y[n++] = s->y[0];
    s->count = n;
}

/// Reads the stroke at `text`; returns where the next one begins.
static const char *read_stroke(const char *text, Stroke *s) {
    bool smooth = *text == '~';
    text += smooth;
    s->count = 0;
    for (; text[0] && text[0] != ' '; text += 2, s->count++) {
        s->x[s->count] = (float)hex_digit(text[0]);
        s->y[s->count] = (float)hex_digit(text[1]);
    }
    for (int i = 0; smooth && i < 3; i++) cut_corners(s);
    return *text ? text + 1 : text;
}

float text_width(float size, const char *text) {
    float unit = size / (CAP - BASE_LINE), width = 0;
    for (; *text; text++) width += unit * (float)(find_glyph(*text)->width + GAP);
    return width > 0 ? width - unit * GAP : 0;
}

float image_text(Image *image, float x, float y, float size, const char *text, BrimVec3 colour) {
    float unit = size / (CAP - BASE_LINE), pen = fmaxf(1.15f, 0.115f * size);
    for (; *text; text++) {
        const Glyph *glyph = find_glyph(*text);
        for (const char *at = glyph->strokes; *at;) {
            Stroke s;
            at = read_stroke(at, &s);
            for (int i = 0; i + 1 < s.count; i++)
                image_line(image, x + unit * s.x[i], y - unit * (s.y[i] - BASE_LINE),
                           x + unit * s.x[i + 1], y - unit * (s.y[i + 1] - BASE_LINE), pen, colour,
                           1);
        }
        x += unit * (float)(glyph->width + GAP);
    }
    return x;
}
