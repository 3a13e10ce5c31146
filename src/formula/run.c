// What functions do, and the run of a compiled formula.
#include "formula/program.h"
#include <math.h>
#include <string.h>

static double sign(double x) {
    return (x > 0) - (x < 0);
}
static double step(double x) {
    return x >= 0;
}
static double negate(double x) {
    return -x;
}
static double invert(double x) {
    return x == 0;
}
static double add(double x, double y) {
    return x + y;
}
static double subtract(double x, double y) {
    return x - y;
}
static double multiply(double x, double y) {
    return x * y;
}
static double divide(double x, double y) {
    return x / y;
}
static double less(double x, double y) {
    return x < y;
}
static double at_most(double x, double y) {
    return x <= y;
}
static double more(double x, double y) {
    return x > y;
}
static double at_least(double x, double y) {
    return x >= y;
}
static double equal(double x, double y) {
    return x == y;
}
static double unequal(double x, double y) {
    return x != y;
}
static double both(double x, double y) {
    return x != 0 && y != 0;
}
static double either(double x, double y) {
    return x != 0 || y != 0;
}
/// Remainder with the sign of y, so that it repeats evenly over 0.
static double repeat(double x, double y) {
    return x - y * floor(x / y);
}
static double choose(double condition, double yes, double no) {
    return condition != 0 ? yes : no;
}
static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
static double smooth_step(double low, double high, double x) {
    double t = clamp((x - low) / (high - low), 0, 1);
    return t * t * (3 - 2 * t);
}

// names that no text can have stand for signs
static const Function functions[] = {
    {"sin", 1, {.one = sin}},       {"cos", 1, {.one = cos}},
    {"tan", 1, {.one = tan}},       {"asin", 1, {.one = asin}},
    {"acos", 1, {.one = acos}},     {"atan", 1, {.one = atan}},
    {"sinh", 1, {.one = sinh}},     {"cosh", 1, {.one = cosh}},
    {"tanh", 1, {.one = tanh}},     {"exp", 1, {.one = exp}},
    {"log", 1, {.one = log}},       {"log10", 1, {.one = log10}},
    {"sqrt", 1, {.one = sqrt}},     {"abs", 1, {.one = fabs}},
    {"floor", 1, {.one = floor}},   {"ceil", 1, {.one = ceil}},
    {"sign", 1, {.one = sign}},     {"step", 1, {.one = step}},
    {"atan2", 2, {.two = atan2}},   {"hypot", 2, {.two = hypot}},
    {"min", 2, {.two = fmin}},      {"max", 2, {.two = fmax}},
    {"mod", 2, {.two = repeat}},    {"if", 3, {.three = choose}},
    {"clamp", 3, {.three = clamp}}, {"smoothstep", 3, {.three = smooth_step}},
    {"keys", 0, {.one = NULL}},     {"-", 1, {.one = negate}},
    {"!", 1, {.one = invert}},      {"+", 2, {.two = add}},
    {"--", 2, {.two = subtract}},   {"*", 2, {.two = multiply}},
    {"/", 2, {.two = divide}},      {"^", 2, {.two = pow}},
    {"<", 2, {.two = less}},        {"<=", 2, {.two = at_most}},
    {">", 2, {.two = more}},        {">=", 2, {.two = at_least}},
    {"==", 2, {.two = equal}},      {"!=", 2, {.two = unequal}},
    {"&", 2, {.two = both}},        {"|", 2, {.two = either}},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

const Function *function_at(int index) {
    return index >= 0 && index < FUNCTIONS ? &functions[index] : NULL;
}

int function_find(const char *name, size_t length) {
    for (int i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, name, length) == 0)
            return i;
    return -1;
}

/// Slope at a point of a curve: that of the chord through its neighbours, less where the curve
/// would overshoot; 0 where it turns. At the ends that of the first and the last piece.
static double slope(int count, const double *at, const double *value, int i) {
    if (i == 0) return (value[1] - value[0]) / (at[1] - at[0]);
    if (i == count - 1) return (value[i] - value[i - 1]) / (at[i] - at[i - 1]);
    double before = (value[i] - value[i - 1]) / (at[i] - at[i - 1]);
    double after = (value[i + 1] - value[i]) / (at[i + 1] - at[i]);
    if (!(before * after > 0)) return 0;
    double most = 3 * fmin(fabs(before), fabs(after));
    double chord = (value[i + 1] - value[i - 1]) / (at[i + 1] - at[i - 1]);
    return fabs(chord) < most ? chord : copysign(most, chord);
}

double curve_at(int count, const double *at, const double *value, double x) {
    if (!(x > at[0])) return x <= at[0] ? value[0] : NAN;
    if (x >= at[count - 1]) return value[count - 1];
    int low = 0, high = count - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (at[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    double h = at[high] - at[low], t = (x - at[low]) / h, u = 1 - t;
    double a = h * slope(count, at, value, low), b = h * slope(count, at, value, high);
    return value[low] * (1 + 2 * t) * u * u + value[high] * (1 + 2 * u) * t * t + a * t * u * u -
           b * t * t * u;
}

/// The curve through pairs of time and value that lie on the stack above the time to look up.
static double keys_at(int pairs, const double (*stack)[BATCH], int i) {
    double at[STACK_MOST / 2], value[STACK_MOST / 2];
    for (int k = 0; k < pairs; k++) {
        at[k] = stack[1 + 2 * k][i], value[k] = stack[2 + 2 * k][i];
        if (k > 0 && !(at[k] > at[k - 1])) return NAN;
    }
    return pairs > 1 ? curve_at(pairs, at, value, stack[0][i]) : value[0];
}

/// Runs the program for up to BATCH points.
static void run(const Formula *f, int n, const double *const variable[FORMULA_VARIABLES],
                double *out) {
    double stack[STACK_MOST + 1][BATCH], slot[SLOTS_MOST][BATCH];
    int top = 0; // values on the stack
    for (int k = 0; k < f->op_count; k++) {
        const Op *op = &f->ops[k];
        const Function *function = &functions[op->index < FUNCTIONS ? op->index : 0];
        double *a = top > 0 ? stack[top - 1] : NULL;
        switch (op->code) {
        case OP_NUMBER:
            for (int i = 0; i < n; i++) stack[top][i] = op->number;
            top++;
            break;
        case OP_VARIABLE:
            memcpy(stack[top++], variable[op->index], (size_t)n * sizeof(double));
            break;
        case OP_LOAD:
            memcpy(stack[top++], slot[op->index], (size_t)n * sizeof(double));
            break;
        case OP_STORE:
            memcpy(slot[op->index], a, (size_t)n * sizeof(double));
            break;
        case OP_ONE:
            for (int i = 0; i < n; i++) a[i] = function->of.one(a[i]);
            break;
        case OP_TWO:
            top--, a = stack[top - 1];
            for (int i = 0; i < n; i++) a[i] = function->of.two(a[i], stack[top][i]);
            break;
        case OP_THREE:
            top -= 2, a = stack[top - 1];
            for (int i = 0; i < n; i++)
                a[i] = function->of.three(a[i], stack[top][i], stack[top + 1][i]);
            break;
        case OP_COLUMN: {
            const Column *c = &f->columns[op->index];
            for (int i = 0; i < n; i++) a[i] = curve_at(c->count, c->at, c->value, a[i]);
            break;
        }
        case OP_KEYS:
            top -= 2 * op->index;
            for (int i = 0; i < n; i++)
                stack[top - 1][i] =
                    keys_at(op->index, (const double(*)[BATCH]) & stack[top - 1], i);
            break;
        }
    }
    memcpy(out, stack[0], (size_t)n * sizeof(double));
}

void formula_values(const Formula *f, int n, const double *const variable[FORMULA_VARIABLES],
                    double *out) {
    for (int first = 0; first < n; first += BATCH) {
        const double *some[FORMULA_VARIABLES];
        for (int v = 0; v < FORMULA_VARIABLES; v++)
            some[v] = variable[v] ? variable[v] + first : NULL;
        run(f, n - first < BATCH ? n - first : BATCH, some, out + first);
    }
}

double formula_at(const Formula *f, double x, double y, double z, double t) {
    const double *const variable[FORMULA_VARIABLES] = {&x, &y, &z, &t};
    double out;
    run(f, 1, variable, &out);
    return out;
}
