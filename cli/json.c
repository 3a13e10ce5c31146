// Finding a member in JSON text: skips values without building them.
#include "json.h"
#include <stdbool.h>
#include <string.h>

static const char *skip_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/// Past the string that opens at `at`, NULL when it does not end.
static const char *skip_string(const char *at) {
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
    return *at ? at + 1 : NULL;
}

/// Past the value that begins at `at`, NULL when it does not end.
static const char *skip_value(const char *at) {
    int depth = 0;
    do {
        at = skip_space(at);
        if (!*at) return NULL;
        if (*at == '"') {
            at = skip_string(at);
            if (!at) return NULL;
        } else if (*at == '{' || *at == '[') {
            depth++, at++;
        } else if (*at == '}' || *at == ']') {
            depth--, at++;
        } else if (*at == ',' || *at == ':') {
            if (!depth) return NULL;
            at++;
        } else {
            at += strcspn(at, " \t\r\n,:{}[]\"");
        }
    } while (depth > 0);
    return depth == 0 ? at : NULL;
}

bool json_member(const char *text, const char *name, const char **value, size_t *length) {
    const char *at = skip_space(text);
    size_t name_length = strlen(name);
    if (*at != '{') return false;
    at = skip_space(at + 1);
    while (*at == '"') {
        const char *key = at + 1, *key_end = skip_string(at);
        if (!key_end) return false;
        at = skip_space(key_end);
        if (*at != ':') return false;
        const char *begin = skip_space(at + 1), *end = skip_value(begin);
        if (!end) return false;
        if ((size_t)(key_end - 1 - key) == name_length && strncmp(key, name, name_length) == 0) {
            *value = begin, *length = (size_t)(end - begin);
            return true;
        }
        at = skip_space(end);
        if (*at == ',') at = skip_space(at + 1);
    }
    return false;
}
