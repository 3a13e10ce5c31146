// What is wrong with a scene, one line for each thing: place, key, what it is, what is allowed.
#pragma once
#include "scene/fields.h"
#include "scene/node.h"

enum { REPORT_LINES = 5 };

typedef struct Report {
    const char *name; ///< of the file
    int count;
    size_t length;
    char text[sizeof((BrimError){0}.message)];
} Report;

/// "dam.yaml:12: solver.tolerance: ..." or "--set solver.tolerance=-1: solver.tolerance: ..."
void report_add(Report *report, const Node *where, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// The value as a message shows it: its text, "a list of 2", "a map", "nothing".
const char *report_value(const Node *node, char out[NODE_SHOW]);
BrimResult report_result(const Report *report, BrimError *error);

/// How many letters must be added, taken, changed or swapped to make one word of the other.
int word_distance(const char *a, const char *b);
