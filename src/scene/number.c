// Numbers as text, with a decimal point whatever the locale of the host program.
#include "scene/fields.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char decimal_characters[] = "0123456789.eE+-";

bool number_parse(const char *text, double *value) {
    bool infinite = strcmp(text, ".inf") == 0 || strcmp(text, "+.inf") == 0;
    if (infinite || strcmp(text, "-.inf") == 0) {
        *value = infinite ? INFINITY : -INFINITY;
        return true;
    }
    size_t length = strspn(text, decimal_characters);
    if (length == 0 || text[length]) return false;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return false;
    locale_t before = uselocale(c);
    char *end;
    *value = strtod(text, &end);
    uselocale(before);
    freelocale(c);
    return end != text && !*end;
}

void number_print(double value, bool single, char out[32]) {
    snprintf(out, 32, "%s", value > 0 ? ".inf" : value < 0 ? "-.inf" : ".nan");
    if (!isfinite(value)) return;
    if (value == floor(value) && fabs(value) < 1e9) {
        snprintf(out, 32, "%.0f", value);
        return;
    }
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    for (int digits = 4; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        double back = strtod(out, NULL);
        if (single ? (float)back == (float)value : back == value) break;
    }
    if (c) {
        uselocale(before);
        freelocale(c);
    }
}
