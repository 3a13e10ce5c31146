#include "plot/plot.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void range_include(double range[2], const double *values, size_t count, bool log) {
    for (size_t i = 0; i < count; i++) {
        double v = log ? log10(values[i]) : values[i];
        if (!(fabs(v) < 1e200)) continue;
        range[0] = fmin(range[0], v);
        range[1] = fmax(range[1], v);
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below `step`.
static double round_step(double step) {
    double power = pow(10, floor(log10(step)));
    double head = step / power;
    return power * (head <= 1 + 1e-9 ? 1 : head <= 2 + 1e-9 ? 2 : head <= 5 + 1e-9 ? 5 : 10);
}

static void linear_ticks(Axis *a, double apart) {
    double pixels = fabs(a->pixel_high - a->pixel_low);
    double most = fmin(fmax(floor(pixels / apart), 1), MOST_TICKS - 2);
    double step = round_step((a->high - a->low) / most);
    double slack = 1e-9 * (a->high - a->low);
    double first = ceil((a->low - slack) / step);
    for (int i = 0; a->ticks < MOST_TICKS && (first + i) * step <= a->high + slack; i++)
        a->tick[a->ticks++] = (first + i) * step;
    double largest = fmax(fabs(a->low), fabs(a->high));
    int power = (int)floor(log10(largest) + 1e-9);
    if (power >= 5 || power < -2) a->exponent = 3 * (int)floor(power / 3.0);
    a->decimals = (int)fmax(0, a->exponent - floor(log10(step) + 1e-9));
}

/// Whole decades; with less than two of them in view 2 and 5 as well.
static void log_ticks(Axis *a, double apart) {
    double pixels = fabs(a->pixel_high - a->pixel_low), span = a->high - a->low;
    double every = fmax(1, ceil(apart * span / pixels));
    static const double inside[] = {0, 0.30103, 0.69897};
    int parts = span < 2 ? 3 : 1;
    for (double decade = floor(a->low); decade <= a->high; decade++) {
        if (fmod(decade, every) != 0) continue;
        for (int i = 0; i < parts && a->ticks < MOST_TICKS; i++) {
            double at = decade + inside[i];
            if (at >= a->low - 1e-9 && at <= a->high + 1e-9) a->tick[a->ticks++] = at;
        }
    }
}

void axis_make(Axis *a, const double range[2], bool log, double pixel_low, double pixel_high,
               double apart) {
    *a = (Axis){.low = range[0],
                .high = range[1],
                .log = log,
                .pixel_low = pixel_low,
                .pixel_high = pixel_high};
    if (log)
        log_ticks(a, apart);
    else
        linear_ticks(a, apart);
}

double axis_pixel(const Axis *a, double value) {
    double v = a->log ? log10(value) : value;
    if (!isfinite(v)) return NAN;
    double at = (v - a->low) / (a->high - a->low);
    // far outside is outside: coordinates stay short
    return a->pixel_low + fmin(fmax(at, -10), 11) * (a->pixel_high - a->pixel_low);
}

/// ASCII '-' => U+2212
static void true_minus(const char *from, char label[LABEL_BYTES]) {
    size_t n = 0;
    for (; *from && n + 4 < LABEL_BYTES; from++) {
        if (*from == '-') {
            memcpy(label + n, "\xe2\x88\x92", 3);
            n += 3;
        } else {
            label[n++] = *from;
        }
    }
    label[n] = 0;
}

static void power_of_ten(int exponent, char label[LABEL_BYTES]) {
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[16];
    snprintf(digits, sizeof digits, "%d", exponent);
    strcpy(label, "10");
    for (const char *d = digits; *d; d++) strcat(label, *d == '-' ? "⁻" : raised[*d - '0']);
}

void axis_label(const Axis *a, int tick, char label[LABEL_BYTES]) {
    char ascii[LABEL_BYTES];
    double v = a->tick[tick];
    if (a->log && fabs(v - rint(v)) < 1e-6 && (v < -2 || v > 3)) {
        power_of_ten((int)rint(v), label);
        return;
    }
    if (a->log) {
        snprintf(ascii, sizeof ascii, "%.3g", pow(10, v));
    } else {
        double shown = v / pow(10, a->exponent);
        if (fabs(shown) < 0.5 * pow(10, -a->decimals)) shown = 0; // no "-0.0"
        snprintf(ascii, sizeof ascii, "%.*f", a->decimals, shown);
    }
    true_minus(ascii, label);
}

void axis_exponent_label(const Axis *a, char label[LABEL_BYTES]) {
    label[0] = 0;
    if (!a->exponent) return;
    char power[LABEL_BYTES];
    power_of_ten(a->exponent, power);
    snprintf(label, LABEL_BYTES, "×%.40s", power);
}

void number_label(double value, char label[LABEL_BYTES]) {
    char ascii[LABEL_BYTES];
    snprintf(ascii, sizeof ascii, "%.4g", value);
    true_minus(ascii, label);
}
