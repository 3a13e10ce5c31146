// The one parser for what comes from the network: small, bounded, without allocation; fuzzed.
#include "live/message.h"
#include "live/frame.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Word {
    const char *name;
    MessageKind kind;
    bool number;      ///< followed by one
    double low, high; ///< its range
} Word;

static const Word words[] = {
    {"play", MESSAGE_PLAY, false, 0, 0},       {"pause", MESSAGE_PAUSE, false, 0, 0},
    {"step", MESSAGE_STEP, false, 0, 0},       {"restart", MESSAGE_RESTART, false, 0, 0},
    {"speed", MESSAGE_SPEED, true, 0, 1000},   {"seek", MESSAGE_SEEK, true, 0, 1e9},
    {"steer", MESSAGE_STEER, false, 0, 0},     {"show", MESSAGE_SHOW, true, -1, VALUES_MOST - 1},
    {"got", MESSAGE_GOT, true, 0, UINT32_MAX},
};

/// A decimal number that is all of the text.
static bool parse_number(const char *text, double *number) {
    if (strspn(text, "+-.0123456789eE") != strlen(text) || !*text) return false;
    char *end = NULL;
    *number = strtod(text, &end);
    return !*end && isfinite(*number);
}

bool message_parse(const char *text, size_t length, Message *message) {
    char line[MESSAGE_LONGEST + 1];
    *message = (Message){0};
    if (length == 0 || length > MESSAGE_LONGEST) return false;
    memcpy(line, text, length);
    line[length] = 0;
    if (strlen(line) != length) return false;
    char *space = strchr(line, ' ');
    if (space) *space = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const Word *w = &words[i];
        if (strcmp(line, w->name) != 0) continue;
        message->kind = w->kind;
        if (!w->number) return !space;
        return space && parse_number(space + 1, &message->number) && message->number >= w->low &&
               message->number <= w->high;
    }
    message->kind = MESSAGE_EVENT;
    return brim_event_parse(text, length, &message->event, NULL) == BRIM_OK;
}

bool message_steers(const Message *m) {
    return m->kind != MESSAGE_STEER && m->kind != MESSAGE_SHOW && m->kind != MESSAGE_GOT;
}
