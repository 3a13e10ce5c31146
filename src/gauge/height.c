// Height of water along a line: how much of it is wet, as a wire gauge tells, and how far the
// farthest water is from its first end.
#include "gauge/gauge.h"
#include <math.h>

/// Part of a piece of line in water, between levels that are linear along it.
static double wet_part(double a, double b) {
    if (a < 0) return b < 0 ? 1 : a / (a - b);
    return b < 0 ? b / (b - a) : 0;
}

bool gauge_height(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    const double from[3] = {gauge->from.x, gauge->from.y, gauge->from.z};
    const double to[3] = {gauge->to.x, gauge->to.y, gauge->to.z};
    double length = 0, wet = 0, top = 0, before = 0;
    for (int a = 0; a < s->dim; a++) length += (to[a] - from[a]) * (to[a] - from[a]);
    length = sqrt(length);
    // a quarter of a cell: finer than the level set can bend
    int pieces = (int)fmin(1e6, ceil(4 * length * s->inv_dx));
    double piece = length / pieces;
    for (int i = 0; i <= pieces; i++) {
        double at[3] = {0};
        for (int a = 0; a < s->dim; a++) at[a] = from[a] + (to[a] - from[a]) * i / pieces;
        double level = probe_level(s, at);
        if (i > 0) {
            double part = wet_part(before, level);
            wet += part * piece;
            if (part > 0) top = (i - 1 + (level < 0 ? 1 : part)) * piece;
        }
        before = level;
    }
    value[0] = wet, value[1] = top;
    return true;
}
