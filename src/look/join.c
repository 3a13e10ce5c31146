// Pictures side by side, as in the rows of a paper's figure.
#include "base/error.h"
#include "io/file.h"
#include <stdlib.h>
#include <string.h>

#ifdef BRIM_HAVE_PNG
#include <png.h>

enum { GAP = 8, MOST = 1024, MOST_SIDE = 32768 };

typedef struct Part {
    int width, height;
    unsigned char *pixels; ///< RGB
} Part;

static BrimResult read_part(Part *part, const char *path, BrimError *error) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path))
        return fail(error, BRIM_ERROR_IO, "'%s' cannot be read as PNG: %s", path, image.message);
    if (image.width > MOST_SIDE || image.height > MOST_SIDE) {
        png_image_free(&image);
        return fail(error, BRIM_ERROR_INPUT, "'%s' is larger than %d pixels", path, MOST_SIDE);
    }
    image.format = PNG_FORMAT_RGB;
    part->width = (int)image.width, part->height = (int)image.height;
    part->pixels = malloc(PNG_IMAGE_SIZE(image));
    if (!part->pixels) {
        png_image_free(&image);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture '%s'", path);
    }
    const png_color white = {255, 255, 255};
    if (png_image_finish_read(&image, &white, part->pixels, 0, NULL)) return BRIM_OK;
    return fail(error, BRIM_ERROR_DAMAGED, "'%s' is damaged: %s", path, image.message);
}

/// Cells of one size, that of the largest part; parts sit in their upper left corners.
static BrimResult lay_out(const Part *parts, int count, int columns, Part *sheet,
                          BrimError *error) {
    int width = 0, height = 0, rows = (count + columns - 1) / columns;
    for (int i = 0; i < count; i++) {
        if (parts[i].width > width) width = parts[i].width;
        if (parts[i].height > height) height = parts[i].height;
    }
    int64_t across = (int64_t)columns * (width + GAP) - GAP;
    int64_t down = (int64_t)rows * (height + GAP) - GAP;
    if (across > MOST_SIDE || down > MOST_SIDE)
        return fail(error, BRIM_ERROR_INPUT, "%d pictures of %d x %d do not fit %d pixels", count,
                    width, height, MOST_SIDE);
    sheet->width = (int)across, sheet->height = (int)down;
    sheet->pixels = malloc((size_t)across * (size_t)down * 3);
    if (!sheet->pixels)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for %d pictures", count);
    memset(sheet->pixels, 255, (size_t)across * (size_t)down * 3);
    for (int i = 0; i < count; i++) {
        size_t x = (size_t)(i % columns) * (size_t)(width + GAP);
        size_t y = (size_t)(i / columns) * (size_t)(height + GAP);
        for (int row = 0; row < parts[i].height; row++)
            memcpy(sheet->pixels + 3 * ((y + (size_t)row) * (size_t)across + x),
                   parts[i].pixels + 3 * (size_t)row * (size_t)parts[i].width,
                   3 * (size_t)parts[i].width);
    }
    return BRIM_OK;
}

static BrimResult write_sheet(const Part *sheet, const char *path, BrimError *error) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)sheet->width,
                       .height = (png_uint_32)sheet->height,
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t bytes = 0;
    unsigned char *data = NULL;
    bool packed = png_image_write_to_memory(&image, NULL, &bytes, 0, sheet->pixels, 0, NULL) &&
                  (data = malloc(bytes)) &&
                  png_image_write_to_memory(&image, data, &bytes, 0, sheet->pixels, 0, NULL);
    FileWriter *writer = NULL;
    BrimResult result = packed ? file_create(path, &writer, error)
                               : fail(error, BRIM_ERROR_MEMORY, "out of memory for '%s'", path);
    if (result == BRIM_OK) {
        file_write(writer, data, bytes);
        result = file_commit(&writer, error);
    }
    free(data);
    return result;
}

BrimResult brim_join_pictures(const char *const *pictures, int count, int columns, const char *path,
                              BrimError *error) {
    NEED(pictures, error);
    NEED(path, error);
    if (count < 1 || count > MOST || columns < 1 || columns > MOST)
        return fail(error, BRIM_ERROR_INPUT, "joining takes 1 to %d pictures in 1 to %d columns",
                    MOST, MOST);
    for (int i = 0; i < count; i++) NEED(pictures[i], error);
    Part *parts = calloc((size_t)count, sizeof *parts), sheet = {0};
    if (!parts) return fail(error, BRIM_ERROR_MEMORY, "out of memory for %d pictures", count);
    if (columns > count) columns = count;
    BrimResult result = BRIM_OK;
    for (int i = 0; i < count && result == BRIM_OK; i++)
        result = read_part(&parts[i], pictures[i], error);
    if (result == BRIM_OK) result = lay_out(parts, count, columns, &sheet, error);
    if (result == BRIM_OK) result = write_sheet(&sheet, path, error);
    for (int i = 0; i < count; i++) free(parts[i].pixels);
    free(parts), free(sheet.pixels);
    return result;
}
#else
BrimResult brim_join_pictures(const char *const *pictures, int count, int columns, const char *path,
                              BrimError *error) {
    (void)pictures, (void)count, (void)columns, (void)path;
    return fail(error, BRIM_ERROR_MISSING, "this build of Brim has no libpng, so no pictures");
}
#endif
