// Messages, JSON and numbers for people.
#include "cli.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

int exit_code(BrimResult result) {
    switch (result) {
    case BRIM_OK:
        return EXIT_DONE;
    case BRIM_ERROR_INPUT:
        return EXIT_INPUT;
    case BRIM_ERROR_IO:
        return EXIT_IO;
    case BRIM_ERROR_MEMORY:
    case BRIM_LOST_MEMORY:
        return EXIT_MEMORY;
    case BRIM_LOST_DIVERGED:
        return EXIT_DIVERGED;
    case BRIM_ERROR_DAMAGED:
        return EXIT_DAMAGED;
    case BRIM_ERROR_MISSING:
        return EXIT_OTHER;
    }
    return EXIT_OTHER;
}

bool use_colour(FILE *stream) {
    const char *no_colour = getenv("NO_COLOR");
    return isatty(fileno(stream)) && !(no_colour && *no_colour);
}

int stream_width(FILE *stream, int otherwise) {
    struct winsize size;
    if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return otherwise;
}

static void report(const char *kind, const char *colour, const char *format, va_list args) {
    fflush(stdout);
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    bool paint = use_colour(stderr);
    fprintf(stderr, "brim: %s%s:%s ", paint ? colour : "", kind, paint ? "\033[0m" : "");
    vsay(stderr, format, args);
    fputc('\n', stderr);
}

void report_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    report("error", "\033[1;31m", format, args);
    va_end(args);
}

void report_warning(const char *format, ...) {
    va_list args;
    va_start(args, format);
    report("warning", "\033[1;33m", format, args);
    va_end(args);
}

int report_result(const BrimError *error, bool json) {
    int code = exit_code(error->result);
    report_error("%s", error->message);
    if (json) {
        printf("{\"event\":\"error\",\"exit_code\":%d,\"message\":", code);
        json_text(stdout, error->message);
        puts("}");
        fflush(stdout);
    }
    return code;
}

void json_number(FILE *out, double value) {
    if (!isfinite(value)) {
        fputs("null", out);
        return;
    }
    char text[SHORT_TEXT];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    fputs(text, out);
}

char *show_count(char text[SHORT_TEXT], int64_t count) {
    char digits[SHORT_TEXT];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)count), at = 0;
    for (int i = 0; i < n && at < SHORT_TEXT - 2; i++) {
        text[at++] = digits[i];
        int left = n - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') text[at++] = ',';
    }
    text[at] = 0;
    return text;
}

char *show_bytes(char text[SHORT_TEXT], double bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 5) bytes /= 1024, unit++;
    snprintf(text, SHORT_TEXT, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes, units[unit]);
    return text;
}

char *show_duration(char text[SHORT_TEXT], double seconds) {
    if (!(seconds < 1e9)) {
        snprintf(text, SHORT_TEXT, "very long");
    } else if (seconds < 0.95) {
        snprintf(text, SHORT_TEXT, "%.2f s", seconds);
    } else if (seconds < 9.95) {
        snprintf(text, SHORT_TEXT, "%.1f s", seconds);
    } else if (seconds < 59.5) {
        snprintf(text, SHORT_TEXT, "%.0f s", seconds);
    } else {
        long long s = llround(seconds);
        if (s < 3600)
            snprintf(text, SHORT_TEXT, "%lld:%02lld min", s / 60, s % 60);
        else
            snprintf(text, SHORT_TEXT, "%lld:%02lld h", s / 3600, s / 60 % 60);
    }
    return text;
}

double wall_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int report_dry(const char *path, const BrimScene *scene, bool json) {
    const BrimSimDef *def = brim_scene_def(scene);
    if (def->liquid_count > 0 || def->source_count > 0 || def->body_count > 0) return EXIT_DONE;
    BrimError error = {.result = BRIM_ERROR_INPUT};
    snprintf(error.message, sizeof error.message,
             "%s: the scene has neither liquid nor sources, so there would never be any water: add "
             "one of them",
             path);
    return report_result(&error, json);
}
