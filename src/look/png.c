// The picture file. Written beside its final name, so that a picture is complete or absent.
#include "base/error.h"
#include "look/look.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BRIM_HAVE_PNG
#include <png.h>

static const char note_key[] = "brim";

static void on_error(png_structp png, png_const_charp text) {
    (void)text;
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static void write_note(png_structp png, png_infop info, const char *note) {
    if (!note) return;
    png_text text = {.compression = PNG_TEXT_COMPRESSION_NONE,
                     .key = (char *)note_key,
                     .text = (char *)note,
                     .text_length = strlen(note)};
    png_set_text(png, info, &text, 1);
}

static bool write_rows(png_structp png, png_infop info, FILE *file, const Image *image,
                       const char *note, uint8_t *row) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB_gAMA_and_cHRM(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_compression_level(png, 6);
    write_note(png, info, note);
    png_write_info(png, info);
    for (int y = 0; y < image->height; y++) {
        const BrimVec3 *from = image->pixel + (size_t)y * (size_t)image->width;
        for (int x = 0; x < image->width; x++) {
            row[3 * x] = colour_byte(from[x].x);
            row[3 * x + 1] = colour_byte(from[x].y);
            row[3 * x + 2] = colour_byte(from[x].z);
        }
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    return true;
}

static bool write_image(FILE *file, const Image *image, const char *note) {
    uint8_t *row = malloc(3 * (size_t)image->width);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool written = row && info && write_rows(png, info, file, image, note, row);
    png_destroy_write_struct(&png, &info);
    free(row);
    return written;
}

BrimResult png_write(const Image *image, const char *note, const char *path, BrimError *error) {
    size_t length = strlen(path) + 8;
    char *partial = malloc(length);
    if (!partial) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    snprintf(partial, length, "%s.part", path);
    // A leftover of a killed process goes first; O_EXCL then never follows a link.
    unlink(partial);
    errno = 0;
    int descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (!file && descriptor >= 0) close(descriptor);
    bool written = file && write_image(file, image, note);
    if (file && fclose(file) != 0) written = false;
    if (written && rename(partial, path) != 0) written = false;
    BrimResult result = BRIM_OK;
    if (!written)
        result = fail(error, BRIM_ERROR_IO, "%s: the picture could not be written: %s", path,
                      errno ? strerror(errno) : "the disk may be full");
    if (!written && descriptor >= 0) unlink(partial);
    free(partial);
    return result;
}

/// The text under our key; false when the file is no PNG or not whole.
static bool read_note(png_structp png, png_infop info, FILE *file, char *text, size_t size) {
    png_textp notes;
    int count = 0;
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_read_info(png, info);
    png_get_text(png, info, &notes, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(notes[i].key, note_key) == 0) snprintf(text, size, "%s", notes[i].text);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    png_uint_32 rows = png_get_image_height(png, info);
    // rows without a place to go are read and checked all the same
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < rows; y++) png_read_row(png, NULL, NULL);
    png_read_end(png, NULL);
    return true;
}

bool png_note(FILE *file, char *text, size_t size) {
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool sound = info && read_note(png, info, file, text, size);
    png_destroy_read_struct(&png, &info, NULL);
    return sound;
}

#else

bool png_note(FILE *file, char *text, size_t size) {
    (void)file, (void)text, (void)size;
    return false;
}

BrimResult png_write(const Image *image, const char *note, const char *path, BrimError *error) {
    (void)image, (void)note;
    return fail(error, BRIM_ERROR_MISSING,
                "%s: this build cannot write pictures; install libpng (Debian: libpng-dev) and "
                "build again",
                path);
}

#endif
