// What is around a scene: our sky and sun, or a picture of surroundings in Radiance's format.
#include "base/error.h"
#include "base/memory.h"
#include "look/tracer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const float pi = 3.14159265f;

// ------------------------------------------------------------------------------------ pictures

enum { SIDE_MOST = 32768 };

/// Four bytes, three of a colour and their common exponent => light.
static BrimVec3 from_bytes(const uint8_t b[4]) {
    float scale = b[3] ? ldexpf(1, (int)b[3] - 136) : 0;
    return vec(scale * (float)b[0], scale * (float)b[1], scale * (float)b[2]);
}

/// A row in runs, each of the four bytes by itself; rows before 1991's format are not read.
static bool read_row(FILE *file, int width, uint8_t *row) {
    uint8_t head[4];
    if (fread(head, 1, 4, file) != 4 || head[0] != 2 || head[1] != 2 ||
        ((int)head[2] << 8 | head[3]) != width)
        return false;
    for (int k = 0; k < 4; k++) {
        for (int x = 0; x < width;) {
            int n = getc(file), value = 0;
            bool run = n > 128;
            if (n == EOF || n == 0) return false;
            if (run) n -= 128, value = getc(file);
            if (x + n > width || value == EOF) return false;
            for (; n > 0; n--, x++) {
                if (!run && (value = getc(file)) == EOF) return false;
                row[4 * x + k] = (uint8_t)value;
            }
        }
    }
    return true;
}

static bool read_head(FILE *file, int *width, int *height) {
    char line[256];
    if (!fgets(line, sizeof line, file) || strncmp(line, "#?", 2) != 0) return false;
    while (fgets(line, sizeof line, file) && line[0] != '\n') continue;
    return fgets(line, sizeof line, file) && sscanf(line, "-Y %d +X %d", height, width) == 2 &&
           *width >= 8 && *height >= 1 && *width <= SIDE_MOST && *height <= SIDE_MOST;
}

BrimResult sky_picture_read(const char *path, SkyPicture *sky, BrimError *error) {
    FILE *file = fopen(path, "rb");
    if (!file) return fail(error, BRIM_ERROR_IO, "%s: %s", path, strerror(errno));
    uint8_t *row = NULL;
    bool whole = read_head(file, &sky->width, &sky->height), memory = true;
    if (whole) {
        sky->pixel = memory_new((size_t)sky->width * (size_t)sky->height * sizeof *sky->pixel);
        row = memory_new(4 * (size_t)sky->width);
        memory = sky->pixel && row;
    }
    for (int y = 0; whole && memory && y < sky->height; y++) {
        whole = read_row(file, sky->width, row);
        BrimVec3 *out = sky->pixel + (size_t)y * (size_t)sky->width;
        for (int x = 0; whole && x < sky->width; x++) out[x] = from_bytes(row + 4 * x);
    }
    fclose(file);
    free(row);
    if (whole && memory) return BRIM_OK;
    free(sky->pixel);
    sky->pixel = NULL;
    if (!memory) return fail(error, BRIM_ERROR_MEMORY, "out of memory for %s", path);
    return fail(error, BRIM_ERROR_INPUT,
                "%s is not a whole Radiance picture (.hdr, RGBE in runs, -Y +X)", path);
}

static BrimVec3 picture_light(const SkyPicture *s, BrimVec3 d) {
    float across = (atan2f(d.x, -d.z) + s->turn) / (2 * pi) + 0.5f;
    float down = acosf(clampf(d.y, -1, 1)) / pi;
    float x = (across - floorf(across)) * (float)s->width - 0.5f;
    float y = clampf(down * (float)s->height - 0.5f, 0, (float)(s->height - 1));
    int i = (int)floorf(x), k = (int)y, below = k + 1 < s->height ? k + 1 : k;
    float fx = x - (float)i, fy = y - (float)k;
    int left = (i + s->width) % s->width, right = (i + 1) % s->width;
    const BrimVec3 *a = s->pixel + (size_t)k * (size_t)s->width;
    const BrimVec3 *b = s->pixel + (size_t)below * (size_t)s->width;
    BrimVec3 top = vec_mix(a[left], a[right], fx), low = vec_mix(b[left], b[right], fx);
    return vec_mul(vec_mix(top, low, fy), s->strength);
}

// ------------------------------------------------------------------------------------- our own

static BrimVec3 clear_sky(const Tracer *t, BrimVec3 d) {
    float up = fmaxf(d.y, 0);
    BrimVec3 horizon = vec(0.56f, 0.69f, 0.83f), zenith = vec(0.07f, 0.19f, 0.48f);
    BrimVec3 sky = vec_mix(horizon, zenith, powf(up, 0.5f));
    float toward = fmaxf(0, vec_dot(d, t->sun));
    float glow_8 = toward * toward * toward * toward, glow_64;
    glow_8 *= glow_8, glow_64 = glow_8 * glow_8 * glow_8 * glow_8, glow_64 *= glow_64;
    float glow = fminf(1, t->look->sun_strength) * (0.22f * glow_8 + 0.35f * glow_64);
    sky = vec_add(sky, vec_mul(vec(1.0f, 0.92f, 0.78f), glow));
    return vec_mul(sky, t->look->sky_strength);
}

BrimVec3 sky_light(const Tracer *t, BrimVec3 direction, bool with_sun) {
    BrimVec3 d = vec_unit(direction);
    if (t->sky.pixel) return picture_light(&t->sky, d);
    BrimVec3 sky = clear_sky(t, d);
    if (with_sun) {
        float toward = vec_dot(d, t->sun);
        float disk = 14 * t->look->sun_strength * smooth_step(0.9988f, 0.9997f, toward);
        sky = vec_add(sky, vec_mul(vec(1.0f, 0.95f, 0.86f), disk));
    }
    return sky;
}

/// Mean over the upper half, by the cosine with the vertical.
static BrimVec3 picture_mean(const SkyPicture *s) {
    enum { ROWS = 24, COLUMNS = 64 };
    BrimVec3 sum = vec(0, 0, 0);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        float up = sqrtf(((float)(i / COLUMNS) + 0.5f) / ROWS), flat = sqrtf(1 - up * up);
        float angle = 2 * pi * ((float)(i % COLUMNS) + 0.5f) / COLUMNS;
        BrimVec3 light = picture_light(s, vec(flat * cosf(angle), up, flat * sinf(angle)));
        sum = vec_add(sum, vec_mul(light, 1.0f / (ROWS * COLUMNS)));
    }
    return sum;
}

/// Light of a colour left after `clarity` => absorption, 1/m.
static BrimVec3 absorption(const BrimLookDef *look) {
    BrimVec3 c = look->liquid_colour;
    float k = -1 / fmaxf(look->liquid_clarity, 1e-6f);
    return vec(k * logf(clampf(c.x, 1e-4f, 0.9999f)), k * logf(clampf(c.y, 1e-4f, 0.9999f)),
               k * logf(clampf(c.z, 1e-4f, 0.9999f)));
}

BrimResult tracer_light(Tracer *t, BrimError *error) {
    const BrimLookDef *look = t->look;
    BrimVec3 c = look->liquid_colour;
    t->sun = vec_unit(look->sun);
    t->sun_power = vec_mul(vec(2.30f, 2.08f, 1.74f), look->sun_strength);
    t->sky_mean = vec_mul(vec(0.33f, 0.45f, 0.66f), look->sky_strength);
    t->absorption = absorption(look);
    t->deep = vec_mul(vec_tint(c, c), 0.2f);
    if (look->sky_picture && *look->sky_picture) {
        BrimResult result = sky_picture_read(look->sky_picture, &t->sky, error);
        if (result != BRIM_OK) return result;
        t->sky.turn = look->sky_turn * pi / 180, t->sky.strength = look->sky_strength;
        t->sky_mean = picture_mean(&t->sky);
    }
    // a floor that gives back a fifth of what it gets
    BrimVec3 lit = vec_add(vec_mul(t->sun_power, fmaxf(0, t->sun.y)), t->sky_mean);
    t->floor_mean = vec_mul(lit, 0.205f);
    if (!look->ground) t->floor_mean = vec_mul(t->sky_mean, 0.5f);
    return BRIM_OK;
}
