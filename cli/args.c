// A small argument parser: one table of options for parsing, for help and for messages.
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LIMIT = 64, HELP_COLUMN = 24 };

static int option_count(const Option *options) {
    int n = 0;
    while (options[n].name) n++;
    return n;
}

/// Edits (insert, delete, replace) that turn a into b.
static int edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n >= NAME_LIMIT || m >= NAME_LIMIT) return NAME_LIMIT;
    int row[NAME_LIMIT + 1];
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best =
                diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *nearest_name(const char *text, const char *const *names, int count) {
    const char *nearest = NULL;
    int least = NAME_LIMIT;
    for (int i = 0; i < count; i++) {
        int d = edit_distance(text, names[i]);
        bool begins = strlen(text) >= 2 && strncmp(names[i], text, strlen(text)) == 0;
        if (begins) d = 0;
        if (d < least && (begins || d <= 1 + (int)strlen(names[i]) / 3)) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

static int bad(const Usage *usage) {
    fprintf(stderr, "Try 'brim %s --help'.\n", usage->command);
    return EXIT_INPUT;
}

static int unknown_option(const Usage *usage, const char *name) {
    const char *names[NAME_LIMIT] = {"help"};
    int n = 1;
    for (const Option *o = usage->options; o->name && n < NAME_LIMIT; o++) names[n++] = o->name;
    const char *nearest = nearest_name(name, names, n);
    if (nearest)
        report_error("unknown option --%s; did you mean --%s?", name, nearest);
    else
        report_error("unknown option --%s", name);
    return bad(usage);
}

static bool take_number(const Option *o, const char *text) {
    char *end = NULL;
    errno = 0;
    bool whole = o->kind == OPTION_INTEGER;
    long long integer = whole ? strtoll(text, &end, 10) : 0;
    double number = whole ? (double)integer : strtod(text, &end);
    if (end == text || *end || errno || !isfinite(number) || isspace((unsigned char)text[0])) {
        report_error("--%s needs %s, not '%s'", o->name, whole ? "a whole number" : "a number",
                     text);
        return false;
    }
    if (number < o->low || number > o->high) {
        report_error("--%s must be from %.10g to %.10g, not %s", o->name, o->low, o->high, text);
        return false;
    }
    if (whole)
        *(int64_t *)o->value = integer;
    else
        *(double *)o->value = number;
    return true;
}

static bool take_item(TextList *list, const char *text) {
    const char **items =
        realloc((void *)list->items, (size_t)(list->count + 1) * sizeof(const char *));
    if (!items) {
        report_error("out of memory");
        return false;
    }
    items[list->count++] = text;
    list->items = items;
    return true;
}

static bool take_value(const Option *o, const char *text) {
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)o->value = true;
        return true;
    case OPTION_TEXT:
        *(const char **)o->value = text;
        return true;
    case OPTION_LIST:
        return take_item(o->value, text);
    case OPTION_INTEGER:
    case OPTION_NUMBER:
        return take_number(o, text);
    }
    return false;
}

static const Option *find_option(const Usage *usage, const char *name, size_t length, char letter) {
    for (const Option *o = usage->options; o->name; o++) {
        if (letter ? o->letter == letter
                   : strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    }
    return NULL;
}

/// Reads the option at argv[*at], and its value from the same or the next argument.
static int take_option(const Usage *usage, int argc, char **argv, int *at) {
    const char *text = argv[*at];
    bool is_long = text[1] == '-';
    const char *name = text + (is_long ? 2 : 1);
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const Option *o = find_option(usage, name, length, is_long ? 0 : name[0]);
    if (!o && is_long) {
        char shown[NAME_LIMIT];
        snprintf(shown, sizeof shown, "%.*s", (int)length, name);
        return unknown_option(usage, shown);
    }
    if (!o) {
        report_error("unknown option -%c", name[0]);
        return bad(usage);
    }
    const char *value = equals ? equals + 1 : NULL;
    if (!is_long && length > 1) value = name + 1;
    if (o->kind == OPTION_FLAG && value) {
        report_error("--%s takes no value", o->name);
        return bad(usage);
    }
    if (o->kind != OPTION_FLAG && !value) {
        if (*at + 1 >= argc) {
            report_error("--%s needs a value: %s", o->name, o->argument);
            return bad(usage);
        }
        value = argv[++*at];
    }
    return take_value(o, value) ? ARGS_OK : bad(usage);
}

static void print_help(const Usage *usage) {
    printf("Usage: brim %s %s\n\n%s\n", usage->command, usage->arguments, usage->help);
    if (option_count(usage->options)) printf("\nOptions:\n");
    for (const Option *o = usage->options; o->name; o++) {
        char left[NAME_LIMIT], letter[8] = "";
        if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        printf("  %-*s%s\n", HELP_COLUMN, left, o->help);
    }
}

int args_parse(const Usage *usage, int argc, char **argv, int *count) {
    int n = 0;
    bool options_end = false;
    for (int i = 1; i < argc; i++) {
        char *text = argv[i];
        if (!options_end && strcmp(text, "--") == 0) {
            options_end = true;
        } else if (!options_end && (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)) {
            print_help(usage);
            return EXIT_DONE;
        } else if (!options_end && text[0] == '-' && text[1]) {
            int result = take_option(usage, argc, argv, &i);
            if (result != ARGS_OK) return result;
        } else {
            argv[++n] = text;
        }
    }
    *count = n;
    if (n < usage->least) {
        report_error("brim %s needs %s", usage->command, usage->positional);
        return bad(usage);
    }
    if (n > usage->most) {
        report_error("brim %s: unexpected argument '%s'", usage->command, argv[usage->most + 1]);
        return bad(usage);
    }
    return ARGS_OK;
}
