// The values of brim render's options.
#include "render.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool parse_size(const char *text, BrimPictureDef *picture) {
    char *end;
    if (!text) return true;
    long width = strtol(text, &end, 10);
    long height = end != text && (*end == 'x' || *end == 'X') ? strtol(end + 1, &end, 10) : 0;
    if (*end || width < 16 || height < 16 || width > 16384 || height > 16384) {
        report_error("--size needs WIDTHxHEIGHT from 16x16 to 16384x16384, such as 1920x1080, "
                     "not '%s'",
                     text);
        return false;
    }
    picture->width = (int)width, picture->height = (int)height;
    return true;
}

/// A named view: from a direction, as far away as the domain is large.
static bool named_camera(const char *name, BrimVec3 size, BrimCamera *camera) {
    static const struct {
        const char *name;
        float x, y, z;
    } views[] = {{"front", 0, 0.18f, 1}, {"back", 0, 0.18f, -1}, {"left", -1, 0.18f, 0},
                 {"right", 1, 0.18f, 0}, {"top", 0, 1, 0},       {"corner", 0.7f, 0.5f, 0.7f}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (strcmp(name, views[i].name) != 0) continue;
        float away = 1.45f * sqrtf(size.x * size.x + size.y * size.y + size.z * size.z);
        camera->target = (BrimVec3){0.5f * size.x, 0.42f * size.y, 0.5f * size.z};
        camera->eye =
            (BrimVec3){camera->target.x + away * views[i].x, camera->target.y + away * views[i].y,
                       camera->target.z + away * views[i].z};
        return true;
    }
    return false;
}

bool parse_camera(const char *text, BrimVec3 size, BrimCamera *camera) {
    if (!text || strcmp(text, "auto") == 0 || named_camera(text, size, camera)) return true;
    BrimVec3 *e = &camera->eye, *t = &camera->target;
    int used = 0;
    int n = sscanf(text, "%f,%f,%f:%f,%f,%f%n", &e->x, &e->y, &e->z, &t->x, &t->y, &t->z, &used);
    bool sound = n == 6;
    if (sound && text[used] == ':') {
        int more = 0;
        sound = sscanf(text + used, ":%f%n", &camera->angle, &more) == 1 && camera->angle > 0 &&
                camera->angle < 170;
        used += more;
    }
    if (sound && !text[used] && (e->x != t->x || e->y != t->y || e->z != t->z)) return true;
    report_error("--camera needs auto, front, back, left, right, top, corner or "
                 "X,Y,Z:X,Y,Z[:DEGREES] (eye, target in metres, angle of view), not '%s'",
                 text);
    return false;
}

bool parse_range(const char *text, BrimPictureDef *picture) {
    int used = 0;
    if (!text) return true;
    if (sscanf(text, "%lf:%lf%n", &picture->low, &picture->high, &used) == 2 && !text[used] &&
        picture->low < picture->high)
        return true;
    report_error("--range needs LOW:HIGH, such as 0:4, not '%s'", text);
    return false;
}

bool parse_style(const char *text, bool water, BrimPictureDef *picture) {
    picture->style = water ? BRIM_STYLE_WATER : BRIM_STYLE_PARTICLES;
    if (!text) return true;
    if (strcmp(text, "water") == 0)
        picture->style = BRIM_STYLE_WATER;
    else if (strcmp(text, "particles") == 0)
        picture->style = BRIM_STYLE_PARTICLES;
    else {
        report_error("--style needs water or particles, not '%s'", text);
        return false;
    }
    return true;
}

bool is_pattern(const char *path) {
    const char *at = path ? strchr(path, '%') : NULL;
    if (!at) return false;
    const char *letter = at + 1 + strspn(at + 1, "0123456789");
    return letter - at <= 4 && *letter == 'd' && !strchr(letter, '%');
}

bool ends_with(const char *path, const char *end) {
    size_t n = path ? strlen(path) : 0, m = strlen(end);
    return n > m && strcasecmp(path + n - m, end) == 0;
}
