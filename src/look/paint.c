// Lines, rectangles, title and legend over a finished image.
#include "look/look.h"
#include <stdio.h>
#include <string.h>

/// Pictures with a shorter side have no room for text.
enum { TEXT_SIDE = 160 };

void image_line(Image *image, float x0, float y0, float x1, float y1, float width, BrimVec3 colour,
                float alpha) {
    float reach = 0.5f * width + 1;
    int left = (int)fmaxf(floorf(fminf(x0, x1) - reach), 0);
    int right = (int)fminf(ceilf(fmaxf(x0, x1) + reach), (float)image->width);
    int top = (int)fmaxf(floorf(fminf(y0, y1) - reach), 0);
    int bottom = (int)fminf(ceilf(fmaxf(y0, y1) + reach), (float)image->height);
    float dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    for (int y = top; y < bottom; y++) {
        for (int x = left; x < right; x++) {
            float px = (float)x + 0.5f - x0, py = (float)y + 0.5f - y0;
            float t = length2 > 0 ? clampf((px * dx + py * dy) / length2, 0, 1) : 0;
            float distance = hypotf(px - t * dx, py - t * dy);
            float cover = clampf(0.5f * width + 0.5f - distance, 0, 1);
            if (cover > 0) image_blend(image, x, y, colour, alpha * cover);
        }
    }
}

void image_rectangle(Image *image, float x0, float y0, float x1, float y1, BrimVec3 colour,
                     float alpha) {
    for (int y = (int)floorf(y0); (float)y < y1; y++) {
        for (int x = (int)floorf(x0); (float)x < x1; x++) {
            float cover_x = fminf((float)x + 1, x1) - fmaxf((float)x, x0);
            float cover_y = fminf((float)y + 1, y1) - fmaxf((float)y, y0);
            image_blend(image, x, y, colour, alpha * cover_x * cover_y);
        }
    }
}

static void group_digits(char *out, size_t size, size_t count) {
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%zu", count);
    size_t at = 0;
    for (int i = 0; i < n && at + 2 < size; i++) {
        out[at++] = digits[i];
        if (i + 1 < n && (n - 1 - i) % 3 == 0) out[at++] = ',';
    }
    out[at] = 0;
}

/// Distance of four or five round marks over a range.
static float mark_step(float range) {
    float power = powf(10, floorf(log10f(range * 1.001f)));
    float lead = range / power;
    return power * (lead < 1.1f ? 0.25f : lead < 2.1f ? 0.5f : lead < 5.5f ? 1 : 2);
}

static void paint_marks(Image *image, const Scale *s, float u, float left, float right, float y,
                        BrimVec3 ink) {
    float step = mark_step(s->high - s->low), size = 10.5f * u;
    for (float i = ceilf(s->low / step - 0.001f); i * step <= s->high + 0.001f * step; i++) {
        float x = left + (right - left) * (i * step - s->low) / (s->high - s->low);
        char text[32];
        double value = (double)(i * step) * (s->percent ? 100 : 1);
        snprintf(text, sizeof text, fabs(value) >= 1000 ? "%.0f" : "%.3g", value == 0 ? 0 : value);
        image_line(image, x, y, x, y + 4 * u, fmaxf(1, u), ink, 0.7f);
        image_text(image, x - 0.5f * text_width(size, text), y + 18 * u, size, text, ink);
    }
}

static void paint_legend(Picture *p, float u, BrimVec3 ink) {
    Image *image = &p->image;
    const Scale *s = &p->scale;
    float left = 36 * u, right = left + 260 * u, pen = fmaxf(1, u);
    float top = (float)image->height - 48 * u, bottom = top + 10 * u;
    int columns = (int)(right - left);
    for (int i = 0; i < columns; i++) {
        float t = ((float)i + 0.5f) / (float)columns, x = left + (float)i;
        image_rectangle(image, x, top, x + 1, bottom,
                        scale_colour(s, s->low + t * (s->high - s->low)), 1);
    }
    image_line(image, left, top, right, top, pen, ink, 0.5f);
    image_line(image, left, bottom, right, bottom, pen, ink, 0.5f);
    image_line(image, left, top, left, bottom, pen, ink, 0.5f);
    image_line(image, right, top, right, bottom, pen, ink, 0.5f);
    image_text(image, left, top - 8 * u, 10.5f * u, s->name, ink);
    paint_marks(image, s, u, left, right, bottom, ink);
    image_text(image, right + 14 * u, bottom + 0.5f * u, 10.5f * u, s->percent ? "%" : s->unit,
               ink);
}

/// Title and the line below it.
typedef struct Title {
    float u; ///< what lengths are measured in, pixels; 0: the picture has no room for text
    char time[64], count[64];
} Title;

enum { TITLE_LEFT = 36, TIME_BASE = 52, TIME_SIZE = 18, COUNT_BASE = 75 };
static const float COUNT_SIZE = 10.5f;

static Title make_title(const Picture *p) {
    Title t = {0};
    int side = p->image.height < p->image.width ? p->image.height : p->image.width;
    if (side < TEXT_SIDE) return t;
    char count[40];
    t.u = (float)side / 720;
    snprintf(t.time, sizeof t.time, "%.3f s", p->time);
    group_digits(count, sizeof count, p->frame->count);
    snprintf(t.count, sizeof t.count, "%s particle%s", count, p->frame->count == 1 ? "" : "s");
    return t;
}

void paint_title_box(const Picture *p, float *right, float *bottom) {
    Title t = make_title(p);
    float wide = fmaxf(text_width(TIME_SIZE * t.u, t.time), text_width(COUNT_SIZE * t.u, t.count));
    // letters reach below the base line by a third of their size; and a little air
    *right = t.u > 0 ? TITLE_LEFT * t.u + wide + 8 * t.u : 0;
    *bottom = (COUNT_BASE + 10) * t.u;
}

void paint_text(Picture *p) {
    Title t = make_title(p);
    BrimVec3 ink = colour_hex(0x26323d), pale = colour_hex(0x5d6b78);
    float u = t.u;
    if (!(u > 0)) return;
    image_text(&p->image, TITLE_LEFT * u, TIME_BASE * u, TIME_SIZE * u, t.time, ink);
    image_text(&p->image, TITLE_LEFT * u, COUNT_BASE * u, COUNT_SIZE * u, t.count, pale);
    paint_legend(p, u, ink);
}
