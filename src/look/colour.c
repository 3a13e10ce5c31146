// Colours: sRGB and linear light, and the maps from numbers to colours.
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

BrimVec3 colour_to_oklab(BrimVec3 c) {
    float l = cbrtf(0.4122214708f * c.x + 0.5363325363f * c.y + 0.0514459929f * c.z);
    float m = cbrtf(0.2119034982f * c.x + 0.6806995451f * c.y + 0.1073969566f * c.z);
    float s = cbrtf(0.0883024619f * c.x + 0.2817188376f * c.y + 0.6299787005f * c.z);
    return vec(0.2104542553f * l + 0.7936177850f * m - 0.0040720468f * s,
               1.9779984951f * l - 2.4285922050f * m + 0.4505937099f * s,
               0.0259040371f * l + 0.7827717662f * m - 0.8086757660f * s);
}

/// Oklab (Ottosson 2020) lightness, chroma and hue (degrees) => linear sRGB, clamped to its gamut.
static BrimVec3 oklch(BrimVec3 lch) {
    float a = lch.y * cosf(lch.z * 0.01745329252f), b = lch.y * sinf(lch.z * 0.01745329252f);
    float l = lch.x + 0.3963377774f * a + 0.2158037573f * b;
    float m = lch.x - 0.1055613458f * a - 0.0638541728f * b;
    float s = lch.x - 0.0894841775f * a - 1.2914855480f * b;
    l = l * l * l, m = m * m * m, s = s * s * s;
    return vec(clampf(4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s, 0, 1),
               clampf(-1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s, 0, 1),
               clampf(-0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s, 0, 1));
}

/// A map's way through Oklab, 0 <= t <= 1, as lightness, chroma and hue. Lightness alone tells any
/// two colours of a map apart, so that it reads in grey and to colour-blind eyes.
static BrimVec3 map_curve(ColourMap map, float t) {
    switch (map) {
    case COLOUR_BLUE_WHITE:
        return vec(0.36f + 0.63f * t, 0.15f * (1 - t * t), 262 - 42 * t);
    case COLOUR_WHITE_RED:
        return vec(0.99f - 0.53f * t, 0.18f * sinf(1.57f * t), 40 - 14 * t);
    case COLOUR_MANY:
        break;
    }
    return vec(0.28f + 0.64f * t, 0.11f + 0.05f * t, 300 - 195 * t);
}

void colour_map_fill(ColourMap map, BrimVec3 colour[MAP_COLOURS]) {
    enum { FINE = 4096 };
    static const float fine = 1.0f / FINE;
    double way[FINE + 1] = {0};
    BrimVec3 before = colour_to_oklab(oklch(map_curve(map, 0)));
    for (int i = 1; i <= FINE; i++) {
        BrimVec3 here = colour_to_oklab(oklch(map_curve(map, (float)i * fine)));
        way[i] = way[i - 1] + (double)vec_length(vec_sub(here, before));
        before = here;
    }
    // equal steps along the way as the eye sees it
    for (int i = 0, k = 0; i < MAP_COLOURS; i++) {
        double wanted = way[FINE] * i / (MAP_COLOURS - 1);
        while (k + 1 < FINE && way[k + 1] < wanted) k++;
        double step = way[k + 1] - way[k], part = step > 0 ? (wanted - way[k]) / step : 0;
        colour[i] = oklch(map_curve(map, ((float)k + (float)part) * fine));
    }
}
