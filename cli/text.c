// Text on its way out: names of files may hold anything, terminals and JSON may not get all of it.
#include "cli.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Bytes of the UTF-8 character at `c`, 0 when there is none: a stray or missing byte, one that is
/// longer than it need be, half of a surrogate pair, beyond U+10FFFF.
static int utf8_length(const unsigned char *c) {
    if (c[0] < 0x80) return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
    int n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    for (int i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    bool longer = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return longer || beyond ? 0 : n;
}

/// Whether a terminal would obey the character instead of showing it.
static bool is_control(const unsigned char *c, int length) {
    if (length == 1) return (c[0] < 0x20 && c[0] != '\n' && c[0] != '\t') || c[0] == 0x7f;
    return length == 2 && c[0] == 0xc2 && c[1] < 0xa0; // U+0080 to U+009F
}

void text_show(const char *text, char *out, size_t size) {
    size_t at = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int n = utf8_length(c);
        bool plain = n > 0 && !is_control(c, n);
        if (n == 0) n = 1;
        if (at + 4 * (size_t)n + 1 > size) break;
        for (int i = 0; i < n; i++, c++)
            at += (size_t)snprintf(out + at, size - at, plain ? "%c" : "\\x%02x", *c);
    }
    out[at] = 0;
}

void vsay(FILE *out, const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) return;
    size_t size = 4 * strlen(text) + 1;
    char *shown = out == stderr || isatty(fileno(out)) ? malloc(size) : NULL;
    if (shown) text_show(text, shown, size);
    fputs(shown ? shown : text, out);
    free(shown), free(text);
}

void say(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsay(out, format, args);
    va_end(args);
}

void json_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int n = utf8_length(c);
        if (n == 0)
            fputs("\\ufffd", out);
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fwrite(c, 1, (size_t)n, out);
        c += n ? n : 1;
    }
    fputc('"', out);
}
