// brim fields: the table of scene keys, for people, for the manual and for tools.
#include "cli.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum Format { FORMAT_COLUMNS, FORMAT_MARKDOWN, FORMAT_JSON } Format;

static bool contains(const char *text, const char *part) {
    size_t n = strlen(part);
    for (; strlen(text) >= n; text++)
        if (strncasecmp(text, part, n) == 0) return true;
    return false;
}

static bool matches(const BrimFieldInfo *f, const char *pattern) {
    return !pattern || contains(f->key, pattern) || contains(f->help, pattern);
}

/// Range and unit in one text: "> 0 m".
static void allowed(const BrimFieldInfo *f, char *text, size_t size) {
    snprintf(text, size, "%s%s%s", f->range, *f->range && *f->unit ? " " : "", f->unit);
}

typedef struct Widths {
    int key, type, initial, allowed;
} Widths;

static void widen(int *width, const char *text, int limit) {
    int n = (int)strlen(text);
    if (n > limit) n = limit;
    if (n > *width) *width = n;
}

static Widths measure(const char *pattern) {
    Widths w = {3, 4, 7, 7};
    const BrimFieldInfo *f;
    for (int i = 0; (f = brim_scene_field(i)); i++) {
        if (!matches(f, pattern)) continue;
        char text[256];
        allowed(f, text, sizeof text);
        widen(&w.key, f->key, 40);
        widen(&w.type, f->type, 12);
        widen(&w.initial, f->initial, 20);
        widen(&w.allowed, text, 28);
    }
    return w;
}

/// Prints words from column `indent` on, broken at `width` columns.
static void print_wrapped(const char *text, int indent, int width) {
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > width) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_columns(const char *pattern) {
    Widths w = measure(pattern);
    int indent = w.key + w.type + w.initial + w.allowed + 8;
    int width = stream_width(stdout, 1 << 20);
    if (width < indent + 24) width = 1 << 20;
    bool paint = use_colour(stdout);
    printf("%s%-*s  %-*s  %-*s  %-*s  %s%s\n", paint ? "\033[1m" : "", w.key, "KEY", w.type, "TYPE",
           w.initial, "DEFAULT", w.allowed, "ALLOWED", "MEANING", paint ? "\033[0m" : "");
    const BrimFieldInfo *f;
    for (int i = 0; (f = brim_scene_field(i)); i++) {
        if (!matches(f, pattern)) continue;
        char text[256];
        allowed(f, text, sizeof text);
        printf("%-*s  %-*s  %-*s  %-*s  ", w.key, f->key, w.type, f->type, w.initial,
               *f->initial ? f->initial : "-", w.allowed, *text ? text : "-");
        print_wrapped(f->help, indent, width);
    }
}

/// A table cell: a bar would end it.
static void markdown_text(const char *text) {
    for (; *text; text++) {
        if (*text == '|') putchar('\\');
        putchar(*text);
    }
}

/// The section of a key: what stands before its first dot or bracket, "" for a key alone.
static int section_length(const char *key) {
    int n = (int)strcspn(key, ".[");
    return key[n] ? n : 0;
}

static void print_markdown(const char *pattern) {
    const char *section = NULL;
    int length = -1;
    const BrimFieldInfo *f;
    for (int i = 0; (f = brim_scene_field(i)); i++) {
        if (!matches(f, pattern)) continue;
        int n = section_length(f->key);
        bool heading = length != n || strncmp(section, f->key, (size_t)n) != 0;
        section = f->key, length = n;
        if (heading) {
            bool shape = f->key[0] == '<'; // a tag to Markdown
            printf("%s### %.*s\n\n", i ? "\n" : "",
                   shape ? 9
                   : n   ? n
                         : 7,
                   shape ? "any shape"
                   : n   ? f->key
                         : "General");
            puts("| key | type | default | allowed | unit | meaning |\n|---|---|---|---|---|---|");
        }
        printf("| `%s` | %s | ", f->key, f->type);
        if (*f->initial) printf("`%s`", f->initial);
        fputs(" | ", stdout);
        markdown_text(f->range);
        printf(" | %s | ", f->unit);
        markdown_text(f->help);
        puts(" |");
    }
}

static void print_json(const char *pattern) {
    const BrimFieldInfo *f;
    const char *separator = "[\n ";
    for (int i = 0; (f = brim_scene_field(i)); i++) {
        if (!matches(f, pattern)) continue;
        const char *const pairs[][2] = {{"key", f->key},         {"type", f->type},
                                        {"default", f->initial}, {"range", f->range},
                                        {"unit", f->unit},       {"help", f->help}};
        printf("%s", separator);
        for (int k = 0; k < 6; k++) {
            printf("%s\"%s\":", k ? "," : "{", pairs[k][0]);
            json_text(stdout, pairs[k][1]);
        }
        putchar('}');
        separator = ",\n ";
    }
    puts("\n]");
}

static int print_fields(Format format, const char *pattern) {
    int found = 0;
    const BrimFieldInfo *f;
    for (int i = 0; (f = brim_scene_field(i)); i++) found += matches(f, pattern);
    if (!found && pattern) {
        report_error("no scene key has '%s' in its name or meaning; 'brim fields' lists all",
                     pattern);
        return EXIT_OTHER;
    }
    switch (format) {
    case FORMAT_COLUMNS:
        print_columns(pattern);
        break;
    case FORMAT_MARKDOWN:
        print_markdown(pattern);
        break;
    case FORMAT_JSON:
        print_json(pattern);
        break;
    }
    return EXIT_DONE;
}

int command_fields(int argc, char **argv) {
    bool markdown = false, json = false;
    const Option options[] = {
        {"markdown", 0, OPTION_FLAG, &markdown, NULL, "a table for each section, as in the manual",
         0, 0},
        {"json", 0, OPTION_FLAG, &json, NULL, "a JSON list", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "fields",
        .arguments = "[options] [PATTERN]",
        .help = "Lists the keys of scene files with type, default, allowed values, unit and\n"
                "meaning: all of them, or those that have PATTERN in their name or meaning.",
        .options = options,
        .least = 0,
        .most = 1,
        .positional = "",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;
    if (markdown && json) {
        report_error("choose one of --markdown and --json");
        return EXIT_INPUT;
    }
    Format format = markdown ? FORMAT_MARKDOWN : json ? FORMAT_JSON : FORMAT_COLUMNS;
    return print_fields(format, count ? argv[1] : NULL);
}
