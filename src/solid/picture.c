// PGM pictures: height maps.
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include "solid/height_field.h"
#include <stdlib.h>

/// The next number of the header or of an ascii picture; '#' starts a comment.
static bool next_number(Text *text, int64_t *value) {
    Word word;
    while (text_word_anywhere(text, &word)) {
        if (word.start[0] != '#') return word_integer(word, value);
        text_next_line(text);
    }
    return false;
}

static BrimResult read_binary(const Text *text, const char *name, int64_t largest, Picture *picture,
                              BrimError *error) {
    size_t bytes = largest > 255 ? 2 : 1;
    size_t count = (size_t)picture->columns * (size_t)picture->rows;
    if (count > (text->size - text->at) / bytes)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: truncated: %d x %d pixels of %zu bytes after "
                    "offset %zu, but the file ends at %zu",
                    name, picture->columns, picture->rows, bytes, text->at, text->size);
    const uint8_t *p = text->data + text->at;
    for (size_t i = 0; i < count; i++, p += bytes) {
        int v = bytes == 2 ? p[0] << 8 | p[1] : p[0];
        v = v > largest ? (int)largest : v;
        picture->value[i] = (float)v / (float)largest;
    }
    return BRIM_OK;
}

static BrimResult read_ascii(Text *text, const char *name, int64_t largest, Picture *picture,
                             BrimError *error) {
    size_t count = (size_t)picture->columns * (size_t)picture->rows;
    for (size_t i = 0; i < count; i++) {
        int64_t v;
        if (!next_number(text, &v) || v < 0 || v > largest)
            return fail(error, BRIM_ERROR_INPUT,
                        "%s:%lld: pixel %zu of %zu is missing or not a number from 0 to %lld", name,
                        (long long)text->line, i + 1, count, (long long)largest);
        picture->value[i] = (float)v / (float)largest;
    }
    return BRIM_OK;
}

BrimResult picture_parse_pgm(const uint8_t *data, size_t size, const char *name, Picture *picture,
                             BrimError *error) {
    Text text = text_of(data, size);
    Word magic;
    int64_t columns, rows, largest;
    *picture = (Picture){0};
    if (!text_word(&text, &magic) || !(word_is(magic, "P2") || word_is(magic, "P5")))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: not a grey PGM picture: it opens with neither P2 "
                    "nor P5",
                    name);
    if (!next_number(&text, &columns) || !next_number(&text, &rows) ||
        !next_number(&text, &largest) || columns < 1 || rows < 1 || largest < 1 || largest > 65535)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s:%lld: the header needs columns, rows and a largest value up to 65535", name,
                    (long long)text.line);
    // each pixel takes a byte at least, so the picture is no larger than the file
    if (columns > (int64_t)size || rows > (int64_t)size / columns || columns > INT32_MAX)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: truncated: %lld x %lld pixels do not fit into its %zu bytes", name,
                    (long long)columns, (long long)rows, size);
    picture->columns = (int)columns, picture->rows = (int)rows;
    picture->value = memory_new((size_t)columns * (size_t)rows * sizeof *picture->value);
    if (!picture->value)
        return fail(error, BRIM_ERROR_MEMORY, "%s: no memory for the picture", name);
    BrimResult result;
    if (word_is(magic, "P5")) {
        text.at += text.at < text.size; // the one blank that ends the header
        result = read_binary(&text, name, largest, picture, error);
    } else {
        result = read_ascii(&text, name, largest, picture, error);
    }
    if (result != BRIM_OK) {
        free(picture->value);
        *picture = (Picture){0};
    }
    return result;
}
