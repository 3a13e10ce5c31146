#include "scene/report.h"
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void report_add(Report *report, const Node *where, const char *key, const char *format, ...) {
    report->count++;
    if (report->count > REPORT_LINES) return;
    char line[512], shown[NODE_SHOW];
    size_t n = 0;
    if (where && where->set)
        n = (size_t)snprintf(line, 200, "--set %s: ", node_show(where->set, shown));
    else if (where)
        n = (size_t)snprintf(line, 200, "%.180s:%d: ", report->name, where->line);
    else
        n = (size_t)snprintf(line, 200, "%.180s: ", report->name);
    n += (size_t)snprintf(line + n, 120, "%.100s%s", key, *key ? ": " : "");
    va_list args;
    va_start(args, format);
    vsnprintf(line + n, sizeof line - n, format, args);
    va_end(args);

    size_t room = sizeof report->text - report->length;
    int wrote =
        snprintf(report->text + report->length, room, "%s%s", report->length ? "\n" : "", line);
    if (wrote > 0) report->length += (size_t)wrote < room ? (size_t)wrote : room - 1;
}

const char *report_value(const Node *node, char out[NODE_SHOW]) {
    char shown[NODE_SHOW];
    if (node->kind == NODE_MAP)
        snprintf(out, NODE_SHOW, "a map");
    else if (node->kind == NODE_LIST)
        snprintf(out, NODE_SHOW, "a list of %d", node->count);
    else if (node_is_nothing(node))
        snprintf(out, NODE_SHOW, "nothing");
    else if (node->plain)
        node_show(node->text, out);
    else
        snprintf(out, NODE_SHOW, "\"%.56s\"", node_show(node->text, shown));
    return out;
}

BrimResult report_result(const Report *report, BrimError *error) {
    if (report->count == 0) return BRIM_OK;
    if (report->count <= REPORT_LINES) return fail(error, BRIM_ERROR_INPUT, "%s", report->text);
    return fail(error, BRIM_ERROR_INPUT, "%.990s\nand %d more", report->text,
                report->count - REPORT_LINES);
}

int word_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    int rows[3][LONGEST + 1];
    int na = (int)strlen(a), nb = (int)strlen(b);
    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (int j = 0; j <= nb; j++) rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[na % 3][nb];
}
