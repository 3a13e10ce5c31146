// Events: what a hand did to a simulation, as lines of text. The same parser reads what comes from
// viewers and what lies in files.
#include "base/error.h"
#include "scene/fields.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What follows a verb, in order: i index, k key with its values, p position, r rotation, v
/// velocity, a radius, t duration.
typedef struct Verb {
    const char *name, *parts;
} Verb;

static const Verb verbs[] = {
    [BRIM_EVENT_SET] = {"set", "k"},         [BRIM_EVENT_MOVE] = {"move", "iprt"},
    [BRIM_EVENT_GRAB] = {"grab", "ipv"},     [BRIM_EVENT_DRAG] = {"drag", "ipt"},
    [BRIM_EVENT_RELEASE] = {"release", "i"}, [BRIM_EVENT_POUR] = {"pour", "pva"},
    [BRIM_EVENT_STIR] = {"stir", "pva"},
};
enum { VERBS = sizeof verbs / sizeof *verbs, LONGEST = 512, WORDS_MOST = 12 };

// ------------------------------------------------------------------------------------ reading

/// Words of a line; false when there are too many.
static bool split(char *line, char *words[WORDS_MOST], int *count) {
    char *rest = NULL;
    *count = 0;
    for (char *w = strtok_r(line, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (*count == WORDS_MOST) return false;
        words[(*count)++] = w;
    }
    return *count > 0;
}

static bool take(char *words[], int count, int *at, double least, double most, double *value) {
    if (*at >= count || !number_parse(words[*at], value)) return false;
    (*at)++;
    return *value >= least && *value <= most;
}

static bool take_vector(char *words[], int count, int *at, BrimVec3 *vector) {
    double v[3];
    for (int a = 0; a < 3; a++)
        if (!take(words, count, at, -1e7, 1e7, &v[a])) return false;
    *vector = (BrimVec3){(float)v[0], (float)v[1], (float)v[2]};
    return true;
}

static bool take_key(char *words[], int count, int *at, BrimEvent *e) {
    if (*at >= count || strlen(words[*at]) >= sizeof e->key) return false;
    strcpy(e->key, words[(*at)++]);
    while (*at < count && e->count < 3)
        if (!take(words, count, at, -1e30, 1e30, &e->values[e->count++])) return false;
    return e->count > 0;
}

static bool take_part(char part, char *words[], int count, int *at, BrimEvent *e) {
    double number = 0;
    switch (part) {
    case 'i':
        if (!take(words, count, at, -1, 1e6, &number) || number != floor(number)) return false;
        e->index = (int)number;
        return true;
    case 'k':
        return take_key(words, count, at, e);
    case 'p':
        return take_vector(words, count, at, &e->position);
    case 'r':
        return take_vector(words, count, at, &e->rotation);
    case 'v':
        return take_vector(words, count, at, &e->velocity);
    case 'a':
        if (!take(words, count, at, 0, 1e7, &number)) return false;
        e->radius = (float)number;
        return true;
    default: // 't'
        return take(words, count, at, 0, 1e9, &e->duration);
    }
}

BrimResult brim_event_parse(const char *text, size_t length, BrimEvent *event, BrimError *error) {
    char line[LONGEST + 1], *words[WORDS_MOST];
    int count = 0, at = 1;
    NEED(text, error);
    NEED(event, error);
    *event = (BrimEvent){0};
    if (length == 0 || length > LONGEST || memchr(text, 0, length))
        return fail(error, BRIM_ERROR_INPUT, "an event is a line of at most %d characters",
                    LONGEST);
    memcpy(line, text, length);
    line[length] = 0;
    if (!split(line, words, &count))
        return fail(error, BRIM_ERROR_INPUT, "an event has 1 to %d words", WORDS_MOST);
    for (int k = 0; k < VERBS; k++) {
        if (strcmp(words[0], verbs[k].name) != 0) continue;
        event->kind = (BrimEventKind)k;
        for (const char *part = verbs[k].parts; *part; part++)
            if (!take_part(*part, words, count, &at, event)) {
                *event = (BrimEvent){0};
                return fail(error, BRIM_ERROR_INPUT, "%s: word %d is missing or not allowed",
                            verbs[k].name, at + 1);
            }
        if (at == count) return BRIM_OK;
        *event = (BrimEvent){0};
        return fail(error, BRIM_ERROR_INPUT, "%s: too many words", verbs[k].name);
    }
    return fail(error, BRIM_ERROR_INPUT,
                "no event begins with '%.20s': one of set, move, grab, drag, release, pour, stir",
                words[0]);
}

// ------------------------------------------------------------------------------------ writing

static void print_vector(FILE *out, BrimVec3 v) {
    const float all[3] = {v.x, v.y, v.z};
    for (int a = 0; a < 3; a++) {
        char text[32];
        number_print((double)all[a], true, text);
        fprintf(out, " %s", text);
    }
}

static void print_number(FILE *out, double value, bool single) {
    char text[32];
    number_print(value, single, text);
    fprintf(out, " %s", text);
}

static void print_part(FILE *out, char part, const BrimEvent *e) {
    if (part == 'i') fprintf(out, " %d", e->index);
    if (part == 'p') print_vector(out, e->position);
    if (part == 'r') print_vector(out, e->rotation);
    if (part == 'v') print_vector(out, e->velocity);
    if (part == 'a') print_number(out, (double)e->radius, true);
    if (part == 't') print_number(out, e->duration, false);
    if (part != 'k') return;
    fprintf(out, " %s", e->key);
    for (int i = 0; i < e->count; i++) print_number(out, e->values[i], false);
}

bool brim_event_print(const BrimEvent *event, char *text, size_t size) {
    if (!event || !text || size == 0 || (unsigned)event->kind >= VERBS) return false;
    FILE *out = fmemopen(text, size, "w");
    *text = 0;
    if (!out) return false;
    fputs(verbs[event->kind].name, out);
    for (const char *part = verbs[event->kind].parts; *part; part++) print_part(out, *part, event);
    fputc(0, out);
    return (fflush(out) == 0) & (fclose(out) == 0);
}

// -------------------------------------------------------------------------------------- files

static BrimResult bad_line(const char *path, int line, const char *what, BrimError *error) {
    return fail(error, BRIM_ERROR_INPUT, "%.400s:%d: %.400s", path, line, what);
}

/// "STEP verb ..." => an event of the list.
static BrimResult add_line(BrimEvents *list, char *line, const char *path, int number,
                           BrimError *error) {
    BrimError why;
    char *end = NULL;
    errno = 0;
    long long step = strtoll(line, &end, 10);
    if (end == line || *end != ' ' || errno || step < 0)
        return bad_line(path, number, "a line begins with the number of a step", error);
    if (list->count > 0 && step < list->event[list->count - 1].step)
        return bad_line(path, number, "its step is before that of the line above", error);
    BrimEvent event;
    BrimResult r = brim_event_parse(end + 1, strlen(end + 1), &event, &why);
    if (r != BRIM_OK) return bad_line(path, number, why.message, error);
    event.step = step;
    if ((list->count & (list->count - 1)) == 0) { // room for twice as many at each power of two
        size_t room = list->count ? 2 * list->count : 1;
        BrimEvent *larger = realloc(list->event, room * sizeof event);
        if (!larger) return fail(error, BRIM_ERROR_MEMORY, "out of memory for events");
        list->event = larger;
    }
    list->event[list->count++] = event;
    return BRIM_OK;
}

BrimResult brim_events_read(const char *path, BrimEvents *events, BrimError *error) {
    NEED(events, error);
    *events = (BrimEvents){0};
    NEED(path, error);
    FILE *file = fopen(path, "r");
    if (!file) return fail(error, BRIM_ERROR_IO, "%s: %s", path, strerror(errno));
    char line[LONGEST + 64];
    BrimResult r = BRIM_OK;
    for (int number = 1; r == BRIM_OK && fgets(line, sizeof line, file); number++) {
        size_t n = strlen(line);
        if (n + 1 == sizeof line)
            r = bad_line(path, number, "the line is too long", error);
        else if (n && line[n - 1] != '\n')
            break; // torn: its writer did not come to the end of it
        else if (n > 1 && line[0] != '#')
            line[n - 1] = 0, r = add_line(events, line, path, number, error);
    }
    if (r == BRIM_OK && ferror(file)) r = fail(error, BRIM_ERROR_IO, "%s: cannot be read", path);
    fclose(file);
    if (r != BRIM_OK) brim_events_free(events);
    return r;
}

void brim_events_free(BrimEvents *events) {
    if (!events) return;
    free(events->event);
    *events = (BrimEvents){0};
}
