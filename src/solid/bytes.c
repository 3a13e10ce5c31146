#include "solid/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// Larger meshes and pictures than this are a mistake.
static const int64_t largest_file = (int64_t)4 << 30;

static BrimResult read_all(int file, const char *path, uint8_t *data, size_t size,
                           BrimError *error) {
    size_t at = 0;
    while (at < size) {
        ssize_t got = read(file, data + at, size - at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail(error, BRIM_ERROR_IO, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            return fail(error, BRIM_ERROR_IO, "%s: ended at byte %zu of %zu while being read", path,
                        at, size);
        at += (size_t)got;
    }
    return BRIM_OK;
}

static BrimResult read_opened(int file, const char *path, uint8_t **data, size_t *size,
                              BrimError *error) {
    struct stat info;
    if (fstat(file, &info) != 0)
        return fail(error, BRIM_ERROR_IO, "%s: cannot read: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail(error, BRIM_ERROR_IO, "%s: not a regular file", path);
    if (info.st_size > largest_file)
        return fail(error, BRIM_ERROR_INPUT, "%s: %lld bytes are more than the limit of 4 GiB",
                    path, (long long)info.st_size);
    *size = (size_t)info.st_size;
    *data = memory_new(*size);
    if (!*data)
        return fail(error, BRIM_ERROR_MEMORY, "%s: no memory for its %zu bytes", path, *size);
    BrimResult result = read_all(file, path, *data, *size, error);
    if (result != BRIM_OK) {
        free(*data);
        *data = NULL;
    }
    return result;
}

BrimResult bytes_read(const char *path, uint8_t **data, size_t *size, BrimError *error) {
    *data = NULL;
    // a pipe would otherwise wait for its writer
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return fail(error, BRIM_ERROR_IO, "%s: cannot open: %s", path, strerror(errno));
    BrimResult result = read_opened(file, path, data, size, error);
    close(file);
    return result;
}

static bool is_blank(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == 0;
}

/// Length of a backslash that ends its line, newline included; 0 when there is none at `at`.
static size_t joined_line(const Text *t) {
    const uint8_t *p = t->data + t->at;
    size_t left = t->size - t->at;
    if (left >= 2 && p[0] == '\\' && p[1] == '\n') return 2;
    if (left >= 3 && p[0] == '\\' && p[1] == '\r' && p[2] == '\n') return 3;
    return 0;
}

bool text_word(Text *t, Word *word) {
    for (; t->at < t->size; t->at++) {
        size_t joined = joined_line(t);
        if (joined) {
            t->at += joined - 1;
            t->line++;
        } else if (!is_blank(t->data[t->at])) {
            break;
        }
    }
    if (t->at == t->size || t->data[t->at] == '\n') return false;
    size_t start = t->at;
    while (t->at < t->size && !is_blank(t->data[t->at]) && t->data[t->at] != '\n' &&
           !joined_line(t))
        t->at++;
    *word = (Word){(const char *)t->data + start, t->at - start};
    return true;
}

bool text_word_anywhere(Text *t, Word *word) {
    while (!text_word(t, word))
        if (!text_next_line(t)) return false;
    return true;
}

bool text_next_line(Text *t) {
    const uint8_t *newline = memchr(t->data + t->at, '\n', t->size - t->at);
    if (!newline) {
        t->at = t->size;
        return false;
    }
    t->at = (size_t)(newline - t->data) + 1;
    t->line++;
    return true;
}

bool word_is(Word word, const char *text) {
    return word.length == strlen(text) && memcmp(word.start, text, word.length) == 0;
}

bool word_integer(Word word, int64_t *value) {
    size_t i = 0;
    bool negative = word.length && word.start[0] == '-';
    if (word.length && (word.start[0] == '-' || word.start[0] == '+')) i++;
    if (i == word.length) return false;
    int64_t v = 0;
    for (; i < word.length; i++) {
        int digit = word.start[i] - '0';
        if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10) return false;
        v = 10 * v + digit;
    }
    *value = negative ? -v : v;
    return true;
}

/// Digits with an optional point. Digits beyond 18 only move the exponent. False without digits.
static bool read_digits(Word word, size_t *at, uint64_t *mantissa, int64_t *exponent) {
    bool any = false, point = false;
    for (; *at < word.length; ++*at) {
        char c = word.start[*at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        any = true;
        if (*mantissa < 100000000000000000u) {
            *mantissa = 10 * *mantissa + (uint64_t)(c - '0');
            *exponent -= point;
        } else {
            *exponent += !point;
        }
    }
    return any;
}

bool word_number(Word word, double *value) {
    size_t i = 0;
    bool negative = word.length && word.start[0] == '-';
    if (word.length && (word.start[0] == '-' || word.start[0] == '+')) i++;
    uint64_t mantissa = 0;
    int64_t exponent = 0, written = 0;
    if (!read_digits(word, &i, &mantissa, &exponent)) return false;
    if (i < word.length && (word.start[i] == 'e' || word.start[i] == 'E')) {
        Word rest = {word.start + i + 1, word.length - i - 1};
        if (!word_integer(rest, &written)) return false;
        i = word.length;
    }
    if (i != word.length) return false;
    written = written > 10000 ? 10000 : written < -10000 ? -10000 : written;
    exponent += written;
    exponent = exponent > 400 ? 400 : exponent < -400 ? -400 : exponent;
    double v = (double)mantissa;
    // powers of ten up to 22 are exact, so common numbers are rounded once
    v = exponent < 0 ? v / pow(10, (double)-exponent) : v * pow(10, (double)exponent);
    if (mantissa == 0) v = 0;
    if (!isfinite(v)) return false;
    *value = negative ? -v : v;
    return true;
}
