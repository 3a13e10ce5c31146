// The picture file for compositing: OpenEXR, scanlines of half floats, linear light, not
// compressed. A short format of its own code: header of named attributes, a table of offsets, rows.
#include "base/error.h"
#include "io/file.h"
#include "look/look.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 20000630, VERSION = 2, CHANNELS = 3, ROW_HEAD = 8, HEADER_MOST = 65536 };

// ------------------------------------------------------------------------------------ numbers

static uint16_t half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000;
    float size = fabsf(value);
    if (!(size < INFINITY)) return (uint16_t)(sign | (size > 0 ? 0x7c00 : 0x7e00));
    if (size > 65504) return (uint16_t)(sign | 0x7bff); // the largest half: light has no infinity
    if (size < 6.103515625e-5f) return (uint16_t)(sign | (uint32_t)(size * 16777216 + 0.5f));
    // to the nearest: the 13 bits that go are rounded into those that stay
    uint32_t rest = (bits & 0x7fffffff) - (112u << 23);
    return (uint16_t)(sign | (rest + 0xfff + (rest >> 13 & 1)) >> 13);
}

/// Little-endian, whatever the machine.
static void put_bytes(FileWriter *w, uint64_t value, int bytes) {
    uint8_t out[8];
    for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(value >> 8 * i);
    file_write(w, out, (size_t)bytes);
}

static void put_float(FileWriter *w, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_bytes(w, bits, 4);
}

static uint32_t get32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// -------------------------------------------------------------------------------------- header

/// Name, type and size of an attribute; its value follows.
static void put_attribute(FileWriter *w, const char *name, const char *type, size_t bytes) {
    file_write(w, name, strlen(name) + 1);
    file_write(w, type, strlen(type) + 1);
    put_bytes(w, bytes, 4);
}

static void put_channels(FileWriter *w) {
    enum { HALF = 1, BYTES = 18 };
    put_attribute(w, "channels", "chlist", CHANNELS * BYTES + 1);
    for (int i = 0; i < CHANNELS; i++) {
        const char name[2] = {"BGR"[i], 0};
        file_write(w, name, 2);
        put_bytes(w, HALF, 4);
        put_bytes(w, 0, 4); // not "linear to the eye"; three bytes reserved
        put_bytes(w, 1, 4), put_bytes(w, 1, 4);
    }
    put_bytes(w, 0, 1);
}

static void put_window(FileWriter *w, const char *name, const Image *image) {
    put_attribute(w, name, "box2i", 16);
    put_bytes(w, 0, 8);
    put_bytes(w, (uint64_t)image->width - 1, 4), put_bytes(w, (uint64_t)image->height - 1, 4);
}

static void put_header(FileWriter *w, const Image *image, const char *note) {
    put_bytes(w, MAGIC, 4), put_bytes(w, VERSION, 4);
    if (note) {
        put_attribute(w, "brim", "string", strlen(note));
        file_write(w, note, strlen(note));
    }
    put_channels(w);
    put_attribute(w, "compression", "compression", 1), put_bytes(w, 0, 1);
    put_window(w, "dataWindow", image), put_window(w, "displayWindow", image);
    put_attribute(w, "lineOrder", "lineOrder", 1), put_bytes(w, 0, 1);
    put_attribute(w, "pixelAspectRatio", "float", 4), put_float(w, 1);
    put_attribute(w, "screenWindowCenter", "v2f", 8), put_float(w, 0), put_float(w, 0);
    put_attribute(w, "screenWindowWidth", "float", 4), put_float(w, 1);
    put_bytes(w, 0, 1);
}

// ---------------------------------------------------------------------------------------- file

/// A row: its number, its bytes, then the channels one after the other, by name.
static void put_row(FileWriter *w, const Image *image, int y, uint8_t *row) {
    size_t width = (size_t)image->width;
    const BrimVec3 *from = image->pixel + (size_t)y * width;
    for (size_t x = 0; x < width; x++) {
        const float channel[CHANNELS] = {from[x].z, from[x].y, from[x].x};
        for (size_t c = 0; c < CHANNELS; c++) {
            uint16_t bits = half(channel[c]);
            row[2 * (c * width + x)] = (uint8_t)bits;
            row[2 * (c * width + x) + 1] = (uint8_t)(bits >> 8);
        }
    }
    put_bytes(w, (uint64_t)y, 4), put_bytes(w, 2 * CHANNELS * width, 4);
    file_write(w, row, 2 * CHANNELS * width);
}

BrimResult exr_write(const Image *image, const char *note, const char *path, BrimError *error) {
    FileWriter *writer = NULL;
    size_t bytes = 2 * CHANNELS * (size_t)image->width;
    uint8_t *row = malloc(bytes);
    if (!row) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult result = file_create(path, &writer, error);
    if (result == BRIM_OK) {
        put_header(writer, image, note);
        uint64_t first = file_written(writer) + 8 * (uint64_t)image->height;
        for (int y = 0; y < image->height; y++)
            put_bytes(writer, first + (uint64_t)y * (ROW_HEAD + bytes), 8);
        for (int y = 0; y < image->height; y++) put_row(writer, image, y, row);
        result = file_commit(&writer, error);
    }
    free(row);
    return result;
}

// ---------------------------------------------------------------------------------------- note

/// What a header tells; end is 0 when it is not one of ours.
typedef struct Header {
    uint32_t width, height;
    size_t end;
} Header;

static Header read_header(const uint8_t *data, size_t size, char *text, size_t text_size) {
    Header h = {0};
    size_t at = 8;
    while (at < size && data[at]) {
        const char *name = (const char *)data + at;
        size_t n = strnlen(name, size - at) + 1, m = at + n < size ? 1 : 0;
        if (m) m += strnlen(name + n, size - at - n);
        if (!m || at + n + m + 4 > size) return h;
        size_t value = at + n + m + 4, bytes = get32(data + value - 4);
        if (bytes > size - value) return h;
        if (strcmp(name, "brim") == 0)
            snprintf(text, text_size, "%.*s", (int)bytes, (const char *)data + value);
        if (strcmp(name, "dataWindow") == 0 && bytes == 16)
            h.width = get32(data + value + 8) + 1, h.height = get32(data + value + 12) + 1;
        at = value + bytes;
    }
    if (at < size) h.end = at + 1;
    return h;
}

bool exr_is(const uint8_t head[4]) {
    return get32(head) == MAGIC;
}

bool exr_note(FILE *file, char *text, size_t text_size) {
    uint8_t *data = malloc(HEADER_MOST);
    size_t size = data ? fread(data, 1, HEADER_MOST, file) : 0;
    Header h = {0};
    if (size > 8 && exr_is(data)) h = read_header(data, size, text, text_size);
    free(data);
    if (!h.end || fseek(file, 0, SEEK_END) != 0) return false;
    uint64_t row = ROW_HEAD + 2 * CHANNELS * (uint64_t)h.width;
    return (uint64_t)ftell(file) == h.end + h.height * (8 + row);
}
