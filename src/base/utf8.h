// Text of others, byte by byte: what of it is UTF-8.
#pragma once
#include <stdbool.h>

/// Bytes of the character at `c`, 0 when there is none: a stray or missing byte, one that is longer
/// than it need be, half of a surrogate pair, beyond U+10FFFF. Never looks past a zero.
static inline int utf8_length(const unsigned char *c) {
    if (c[0] < 0x80) return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
    int n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    for (int i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    bool longer = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return longer || beyond ? 0 : n;
}
