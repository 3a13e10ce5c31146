#include "plot/plot.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(Text *t, size_t more) {
    if (t->failed) return false;
    if (more < t->capacity - t->length) return true;
    size_t wanted = t->length + more + 1;
    if (wanted < 2 * t->capacity) wanted = 2 * t->capacity;
    char *grown = realloc(t->data, wanted);
    if (!grown) {
        t->failed = true;
        return false;
    }
    t->data = grown, t->capacity = wanted;
    return true;
}

void text_add(Text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
        t->length += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

/// Bytes of the UTF-8 character at `s` that XML may hold, 0 when there is none.
static int xml_character(const unsigned char *s) {
    if (s[0] < 0x80) return s[0] >= 0x20 || s[0] == '\t' || s[0] == '\n' || s[0] == '\r';
    int bytes = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    uint32_t code = s[0] & (0x7f >> bytes);
    for (int i = 1; i < bytes; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xd800 && code < 0xe000;
    bool beyond = code > 0x10ffff || code == 0xfffe || code == 0xffff;
    return code < least[bytes] || surrogate || beyond ? 0 : bytes;
}

void text_escaped(Text *t, const char *words) {
    for (const unsigned char *s = (const unsigned char *)words; *s;) {
        int bytes = xml_character(s);
        if (bytes == 0)
            text_add(t, "\xef\xbf\xbd");
        else if (*s == '<')
            text_add(t, "&lt;");
        else if (*s == '>')
            text_add(t, "&gt;");
        else if (*s == '&')
            text_add(t, "&amp;");
        else if (*s == '"')
            text_add(t, "&quot;");
        else
            text_add(t, "%.*s", bytes, (const char *)s);
        s += bytes ? bytes : 1;
    }
}
