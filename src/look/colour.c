// Colours: sRGB and linear light, and the scale from speed to colour.
#include "look/look.h"
#include <string.h>

static float to_linear(float c) {
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

BrimVec3 colour_hex(unsigned rgb) {
    return vec(to_linear((float)(rgb >> 16 & 255) / 255), to_linear((float)(rgb >> 8 & 255) / 255),
               to_linear((float)(rgb & 255) / 255));
}

uint8_t colour_byte(float linear) {
    float c = clampf(linear, 0, 1);
    c = c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1 / 2.4f) - 0.055f;
    return (uint8_t)(255 * c + 0.5f);
}

/// Oklab (Ottosson 2020) lightness, chroma and hue (degrees) => linear sRGB, clamped to its gamut.
static BrimVec3 oklch(float lightness, float chroma, float hue) {
    float a = chroma * cosf(hue * 0.01745329252f), b = chroma * sinf(hue * 0.01745329252f);
    float l = lightness + 0.3963377774f * a + 0.2158037573f * b;
    float m = lightness - 0.1055613458f * a - 0.0638541728f * b;
    float s = lightness - 0.0894841775f * a - 1.2914855480f * b;
    l = l * l * l, m = m * m * m, s = s * s * s;
    return vec(clampf(4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s, 0, 1),
               clampf(-1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s, 0, 1),
               clampf(-0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s, 0, 1));
}

static void fill_colours(SpeedScale *scale, float top) {
    for (int i = 0; i < SPEED_COLOURS; i++) {
        float t = (float)i / (SPEED_COLOURS - 1);
        float chroma = 0.14f * (1 - t * t) + 0.4f * t * (1 - top) + 0.004f;
        scale->colour[i] = oklch(0.36f + (top - 0.36f) * t, chroma, 262 - 42 * t);
    }
}

/// The speed that all but one in 100 particles stay below; bins by powers of 2^(1/8).
static float common_speed(const BrimFrame *frame, int threads) {
    enum { BINS = 512, PER_OCTAVE = 8, MIDDLE = 256 };
    int64_t bins[BINS] = {0};
#pragma omp parallel for num_threads(threads) reduction(+ : bins[:BINS])
    for (size_t i = 0; i < frame->count; i++) {
        float v = frame_speed(frame, i);
        int bin = v > 0 ? MIDDLE + (int)floorf(PER_OCTAVE * log2f(v)) : 0;
        bins[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
    }
    int64_t above = (int64_t)(frame->count / 100);
    int bin = BINS - 1;
    while (bin > 0 && (above -= bins[bin]) >= 0) bin--;
    return exp2f((float)(bin + 1 - MIDDLE) / PER_OCTAVE);
}

/// A short number not below x.
static float round_up(float x) {
    float power = powf(10, floorf(log10f(x)));
    static const float steps[] = {1, 1.5f, 2, 3, 4, 5, 6, 8, 10};
    for (int i = 0; i < 9; i++)
        if (steps[i] * power >= 0.999f * x) return steps[i] * power;
    return 10 * power;
}

void speed_scale_init(SpeedScale *scale, const BrimFrame *frame, double max, float top,
                      int threads) {
    fill_colours(scale, top);
    scale->max = (float)max;
    // water at rest still has a scale: slower than 1 mm/s is drawn as rest
    if (!(max > 0)) scale->max = round_up(fmaxf(common_speed(frame, threads), 1e-3f));
}
