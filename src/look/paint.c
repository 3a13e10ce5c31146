// Lines, rectangles, title and legend over a finished image.
#include "look/look.h"
#include <stdio.h>
#include <string.h>

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

/// Marks at four or five round numbers from 0 to the top of the scale.
static float mark_step(float max) {
    float power = powf(10, floorf(log10f(max * 1.001f)));
    float lead = max / power;
    float step = lead < 1.1f   ? 0.25f
                 : lead < 1.6f ? 0.5f
                 : lead < 2.1f ? 0.5f
                 : lead < 5.5f ? 1
                               : 2;
    return step * power;
}

static void paint_legend(Picture *p, float u, BrimVec3 ink) {
    Image *image = &p->image;
    float left = 36 * u, right = left + 260 * u;
    float top = (float)image->height - 48 * u, bottom = top + 10 * u;
    int columns = (int)(right - left);
    for (int i = 0; i < columns; i++) {
        float t = ((float)i + 0.5f) / (float)columns;
        float x = left + (float)i;
        image_rectangle(image, x, top, x + 1, bottom, speed_colour(&p->scale, t * p->scale.max), 1);
    }
    float pen = fmaxf(1, u);
    image_line(image, left, top, right, top, pen, ink, 0.5f);
    image_line(image, left, bottom, right, bottom, pen, ink, 0.5f);
    image_line(image, left, top, left, bottom, pen, ink, 0.5f);
    image_line(image, right, top, right, bottom, pen, ink, 0.5f);
    image_text(image, left, top - 8 * u, 10.5f * u, "speed", ink);
    float step = mark_step(p->scale.max);
    for (int i = 0; (float)i * step <= 1.001f * p->scale.max; i++) {
        float x = left + (right - left) * (float)i * step / p->scale.max;
        char text[32];
        snprintf(text, sizeof text, "%.3g", (double)((float)i * step));
        image_line(image, x, bottom, x, bottom + 4 * u, pen, ink, 0.7f);
        image_text(image, x - 0.5f * text_width(10.5f * u, text), bottom + 18 * u, 10.5f * u, text,
                   ink);
    }
    image_text(image, right + 14 * u, bottom + 0.5f * u, 10.5f * u, "m/s", ink);
}

void paint_text(Picture *p) {
    float u = (float)(p->image.height < p->image.width ? p->image.height : p->image.width) / 720;
    BrimVec3 ink = colour_hex(0x26323d), pale = colour_hex(0x5d6b78);
    char text[64], count[40];
    snprintf(text, sizeof text, "%.3f s", p->time);
    image_text(&p->image, 36 * u, 52 * u, 18 * u, text, ink);
    group_digits(count, sizeof count, p->frame->count);
    snprintf(text, sizeof text, "%s particle%s", count, p->frame->count == 1 ? "" : "s");
    image_text(&p->image, 36 * u, 75 * u, 10.5f * u, text, pale);
    paint_legend(p, u, ink);
}
