// Picture files: which format a name means, and the note in either.
#include "base/error.h"
#include "look/look.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

PictureFormat picture_format(const char *path, BrimError *error) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    if (dot && strcasecmp(dot, ".png") == 0) return PICTURE_PNG;
    if (dot && strcasecmp(dot, ".exr") == 0) return PICTURE_EXR;
    fail(error, BRIM_ERROR_INPUT,
         "%s: a picture's name ends in .png (for a screen) or .exr (linear light)", path);
    return PICTURE_UNKNOWN;
}

BrimResult picture_write(const Image *image, const char *note, const char *path, BrimError *error) {
    switch (picture_format(path, error)) {
    case PICTURE_PNG:
        return png_write(image, note, path, error);
    case PICTURE_EXR:
        return exr_write(image, note, path, error);
    case PICTURE_UNKNOWN:
        break;
    }
    return BRIM_ERROR_INPUT;
}

BrimResult brim_picture_note(const char *path, char *text, size_t text_size, BrimError *error) {
    uint8_t head[4] = {0};
    NEED(path, error);
    NEED(text, error);
    if (text_size) text[0] = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return fail(error, BRIM_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
    bool exr = fread(head, 1, sizeof head, file) == sizeof head && exr_is(head);
    rewind(file);
    bool sound = exr ? exr_note(file, text, text_size) : png_note(file, text, text_size);
    fclose(file);
    return sound ? BRIM_OK
                 : fail(error, BRIM_ERROR_INPUT, "'%s' is not a whole PNG or EXR picture", path);
}
