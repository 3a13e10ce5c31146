// A file in memory, and a cursor that reads text from it without running over its end.
#pragma once
#include "brim/brim.h"

/// Reads a whole regular file. *data is never NULL on success; release with free().
BrimResult bytes_read(const char *path, uint8_t **data, size_t *size, BrimError *error);

typedef struct Text {
    const uint8_t *data;
    size_t size, at;
    int64_t line; ///< of `at`, from 1
} Text;

/// A piece of text, not ended by a zero.
typedef struct Word {
    const char *start;
    size_t length;
} Word;

/// Text from the start of a buffer.
static inline Text text_of(const uint8_t *data, size_t size) {
    return (Text){data, size, 0, 1};
}

/// The next word on this line; false (and no move past the newline) when the line has no more.
/// A backslash before the newline joins the next line to this one.
bool text_word(Text *text, Word *word);
/// The next word on this or any later line; false at the end.
bool text_word_anywhere(Text *text, Word *word);
/// Moves to the start of the next line; false at the end.
bool text_next_line(Text *text);

bool word_is(Word word, const char *text);
/// A finite decimal number, or false. Independent of the locale.
bool word_number(Word word, double *value);
/// A decimal integer with optional sign that fits 63 bits, or false.
bool word_integer(Word word, int64_t *value);
