// Text => program. A plain descent by precedence; each rule leaves one value on the stack.
#include "base/error.h"
#include "base/memory.h"
#include "formula/program.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFINITIONS_MOST = 256 };

/// name = text, in the order in which they are given.
typedef struct Definition {
    char name[NAME_BYTES];
    const char *from, *to; ///< its expression
    int slot;              ///< -1: not in the program yet
} Definition;

/// A column that the program holds already.
typedef struct UsedColumn {
    int table, column;
} UsedColumn;

typedef struct Parser {
    const char *from, *at, *to; ///< the statement at work
    Formula *f;
    const BrimNames *names;
    unsigned allowed;
    Definition *definitions;
    int definition_count;
    int visible; ///< definitions that the statement may use: those before it
    int depth;   ///< of brackets and names
    int stack;   ///< values on the stack
    UsedColumn used[SLOTS_MOST];
    BrimError *error;
    BrimResult result;
} Parser;

static const char variables[] = "xyzt";

// ------------------------------------------------------------------------------------- errors

__attribute__((format(printf, 2, 3))) static void complain(Parser *p, const char *format, ...) {
    char text[600];
    if (p->result != BRIM_OK) return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int length = (int)(p->to - p->from), place = (int)(p->at - p->from) + 1;
    p->result = fail(p->error, BRIM_ERROR_INPUT, "in \"%.*s%s\", character %d: %s",
                     length < 120 ? length : 120, p->from, length < 120 ? "" : "...", place, text);
}

static void no_memory(Parser *p) {
    if (p->result == BRIM_OK)
        p->result = fail(p->error, BRIM_ERROR_MEMORY, "out of memory for a formula");
}

static size_t add_word(char *out, size_t size, size_t n, const char *word) {
    int more = snprintf(out + n, size - n, "%s%s", n ? ", " : "", word);
    return n + (size_t)more < size ? n + (size_t)more : size - 1;
}

/// "x, t, pi, h": what has a value here.
static void list_names(const Parser *p, char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (int v = 0; v < FORMULA_VARIABLES; v++)
        if (p->allowed >> v & 1) n = add_word(out, size, n, (const char[2]){variables[v], 0});
    n = add_word(out, size, n, "pi");
    for (int i = 0; i < p->visible; i++) n = add_word(out, size, n, p->definitions[i].name);
}

static void list_functions(char *out, size_t size) {
    const Function *f;
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; (f = function_at(i)); i++)
        if (isalpha((unsigned char)f->name[0])) n = add_word(out, size, n, f->name);
}

// ------------------------------------------------------------------------------------ program

static void emit(Parser *p, OpCode code, int index, double number, int pushes) {
    Formula *f = p->f;
    if (p->result != BRIM_OK) return;
    p->stack += pushes;
    if (f->op_count == OPS_MOST || p->stack > STACK_MOST) {
        complain(p, "the formula is too long: give parts of it names, or shorten it");
        return;
    }
    if (f->op_count == f->op_capacity) {
        int capacity = f->op_capacity ? 2 * f->op_capacity : 16;
        Op *larger = realloc(f->ops, (size_t)capacity * sizeof *larger);
        if (!larger) {
            no_memory(p);
            return;
        }
        f->ops = larger, f->op_capacity = capacity;
    }
    f->ops[f->op_count++] = (Op){code, index, number};
}

static void emit_sign(Parser *p, const char *sign) {
    int index = function_find(sign, strlen(sign));
    int arguments = function_at(index)->arguments;
    emit(p, arguments == 1 ? OP_ONE : OP_TWO, index, 0, 1 - arguments);
}

// -------------------------------------------------------------------------------------- words

static void skip_blanks(Parser *p) {
    while (p->at < p->to && isspace((unsigned char)*p->at)) p->at++;
}

/// Takes a sign when it comes next.
static bool take(Parser *p, const char *sign) {
    size_t n = strlen(sign);
    skip_blanks(p);
    if ((size_t)(p->to - p->at) < n || memcmp(p->at, sign, n) != 0) return false;
    p->at += n;
    return true;
}

static void expect(Parser *p, const char *sign) {
    if (!take(p, sign))
        complain(p, p->at < p->to ? "\"%s\" is missing" : "ends without \"%s\"", sign);
}

static size_t word_length(const char *at, const char *to) {
    size_t n = 0;
    if (at == to || !(isalpha((unsigned char)*at) || *at == '_')) return 0;
    while (at + n < to && (isalnum((unsigned char)at[n]) || at[n] == '_')) n++;
    return n;
}

/// Takes a word when it comes next.
static bool take_word(Parser *p, const char *word) {
    skip_blanks(p);
    size_t n = word_length(p->at, p->to);
    if (n != strlen(word) || memcmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}

// -------------------------------------------------------------------------------------- rules

static void parse_any(Parser *p);

static bool deeper(Parser *p) {
    if (++p->depth <= DEPTH_MOST) return p->result == BRIM_OK;
    complain(p, "brackets or names are nested too deeply");
    return false;
}

/// The definition's own text is compiled where it is used first; then its value lies in a slot.
static void use_definition(Parser *p, Definition *d) {
    if (d->slot >= 0) {
        emit(p, OP_LOAD, d->slot, 0, 1);
        return;
    }
    Parser outer = *p;
    p->from = p->at = d->from, p->to = d->to;
    p->visible = (int)(d - p->definitions);
    if (deeper(p)) parse_any(p);
    skip_blanks(p);
    if (p->at < p->to) complain(p, "this is not understood");
    p->from = outer.from, p->at = outer.at, p->to = outer.to;
    p->visible = outer.visible, p->depth = outer.depth;
    if (p->result != BRIM_OK) return;
    if (p->f->slot_count == SLOTS_MOST) {
        complain(p, "uses more than %d names", SLOTS_MOST);
        return;
    }
    d->slot = p->f->slot_count++;
    emit(p, OP_STORE, d->slot, 0, 0);
}

/// Arguments in brackets; how many.
static int parse_arguments(Parser *p) {
    int count = 0;
    expect(p, "(");
    do {
        if (p->result != BRIM_OK) return 0;
        parse_any(p), count++;
    } while (take(p, ","));
    expect(p, ")");
    return count;
}

static void parse_function(Parser *p, int index, const char *word) {
    const Function *f = function_at(index);
    int count = parse_arguments(p);
    const char *after = p->at;
    p->at = word; // where errors point to
    if (f->arguments == 0 && (count < 5 || count % 2 == 0))
        complain(p, "keys(t, t1, v1, t2, v2, ...) needs a time and at least two pairs");
    else if (f->arguments != 0 && count != f->arguments)
        complain(p, "%s needs %d argument%s, not %d", f->name, f->arguments,
                 f->arguments == 1 ? "" : "s", count);
    p->at = after;
    if (f->arguments == 0)
        emit(p, OP_KEYS, count / 2, 0, 1 - count);
    else
        emit(p, (OpCode)(OP_ONE + f->arguments - 1), index, 0, 1 - f->arguments);
}

/// A copy of a column and of the first one, which it goes over. False when out of memory.
static bool add_column(Formula *f, const CsvTable *csv, int column) {
    size_t bytes = (size_t)csv->row_count * sizeof(double);
    Column *larger = realloc(f->columns, ((size_t)f->column_count + 1) * sizeof *larger);
    if (!larger) return false;
    f->columns = larger;
    Column *c = &larger[f->column_count];
    *c = (Column){csv->row_count, memory_new(bytes), memory_new(bytes)};
    if (!c->at || !c->value) {
        free(c->at);
        free(c->value);
        return false;
    }
    memcpy(c->at, csv->values, bytes);
    memcpy(c->value, csv->values + (size_t)column * (size_t)csv->row_count, bytes);
    f->column_count++;
    return true;
}

/// Index of a column in the program; -1 after an error.
static int find_column(Parser *p, int table, const char *name, size_t length) {
    CsvTable csv;
    BrimError error;
    BrimResult r = csv_read(p->names->tables[table].file, &csv, &error);
    if (r != BRIM_OK) {
        complain(p, "%.500s", error.message);
        return -1;
    }
    int column = csv_find(&csv, name, length), found = -1;
    for (int i = 0; i < p->f->column_count; i++)
        if (p->used[i].table == table && p->used[i].column == column) found = i;
    if (column < 0) {
        char known[300] = "";
        size_t n = 0;
        for (int i = 1; i < csv.column_count; i++)
            n = add_word(known, sizeof known, n, csv.names[i]);
        complain(p, "%s has no column %.*s: its columns are %s", p->names->tables[table].name,
                 (int)length, name, known);
    } else if (found < 0 && p->f->column_count == SLOTS_MOST) {
        complain(p, "uses more than %d columns", SLOTS_MOST);
    } else if (found < 0) {
        found = p->f->column_count;
        p->used[found] = (UsedColumn){table, column};
        if (!add_column(p->f, &csv, column)) no_memory(p);
    }
    csv_free(&csv);
    return p->result == BRIM_OK ? found : -1;
}

/// table.column(argument), after the table's name and dot.
static void parse_column(Parser *p, int table) {
    size_t length = word_length(p->at, p->to);
    const char *name = p->at;
    if (!length) {
        complain(p, "a column of %s is missing", p->names->tables[table].name);
        return;
    }
    int column = find_column(p, table, name, length);
    p->at += length;
    if (column < 0) return;
    if (parse_arguments(p) != 1) complain(p, "a column needs one argument: where to read it");
    emit(p, OP_COLUMN, column, 0, 0);
}

static void parse_name(Parser *p, size_t length) {
    const char *word = p->at;
    int count = p->names ? p->names->table_count : 0;
    p->at += length;
    for (int i = p->visible - 1; i >= 0; i--) {
        Definition *d = &p->definitions[i];
        if (strlen(d->name) != length || memcmp(d->name, word, length) != 0) continue;
        use_definition(p, d);
        return;
    }
    for (int i = 0; i < count && p->at < p->to && *p->at == '.'; i++) {
        const char *name = p->names->tables[i].name;
        if (strlen(name) != length || memcmp(name, word, length) != 0) continue;
        p->at++;
        parse_column(p, i);
        return;
    }
    int function = function_find(word, length);
    if (function >= 0) {
        parse_function(p, function, word);
        return;
    }
    if (length == 2 && memcmp(word, "pi", 2) == 0) {
        emit(p, OP_NUMBER, 0, M_PI, 1);
        return;
    }
    const char *variable = length == 1 ? strchr(variables, *word) : NULL;
    int v = variable ? (int)(variable - variables) : -1;
    if (v >= 0 && p->allowed >> v & 1) {
        p->f->uses |= 1u << v;
        emit(p, OP_VARIABLE, v, 0, 1);
        return;
    }
    char known[300], functions[300];
    list_names(p, known, sizeof known);
    list_functions(functions, sizeof functions);
    p->at = word;
    complain(p, "%.*s %s: known are %s; functions %s", (int)(length < 60 ? length : 60), word,
             v >= 0 ? "has no value here" : "is unknown", known, functions);
}

static void parse_primary(Parser *p) {
    double number;
    skip_blanks(p);
    if (p->result != BRIM_OK) return;
    if (p->at == p->to) {
        complain(p, "ends where a number, a name or ( is expected");
        return;
    }
    if (isdigit((unsigned char)*p->at) || *p->at == '.') {
        size_t length = decimal_read(p->at, &number);
        if (!length || p->at + length > p->to) {
            complain(p, "this is not a number");
            return;
        }
        p->at += length;
        emit(p, OP_NUMBER, 0, number, 1);
        return;
    }
    size_t length = word_length(p->at, p->to);
    if (length) {
        parse_name(p, length);
    } else if (take(p, "(")) {
        if (deeper(p)) parse_any(p);
        p->depth--;
        expect(p, ")");
    } else {
        complain(p, "a number, a name or ( is expected here");
    }
}

static void parse_unary(Parser *p);

/// a ^ b, from the right: -x^2 is -(x^2).
static void parse_power(Parser *p) {
    parse_primary(p);
    if (!take(p, "^")) return;
    if (deeper(p)) parse_unary(p);
    p->depth--;
    emit_sign(p, "^");
}

static void parse_unary(Parser *p) {
    bool minus = take(p, "-");
    if (!minus && !take(p, "+")) {
        parse_power(p);
        return;
    }
    if (deeper(p)) parse_unary(p);
    p->depth--;
    if (minus) emit_sign(p, "-");
}

static void parse_product(Parser *p) {
    parse_unary(p);
    while (p->result == BRIM_OK) {
        bool times = take(p, "*");
        if (!times && !take(p, "/")) return;
        parse_unary(p);
        emit_sign(p, times ? "*" : "/");
    }
}

static void parse_sum(Parser *p) {
    parse_product(p);
    while (p->result == BRIM_OK) {
        bool plus = take(p, "+");
        if (!plus && !take(p, "-")) return;
        parse_product(p);
        emit_sign(p, plus ? "+" : "--");
    }
}

static void parse_comparison(Parser *p) {
    static const char *const signs[] = {"<=", ">=", "==", "!=", "<", ">"};
    if (take_word(p, "not")) {
        if (deeper(p)) parse_comparison(p);
        p->depth--;
        emit_sign(p, "!");
        return;
    }
    parse_sum(p);
    for (int i = 0; i < 6; i++) {
        if (!take(p, signs[i])) continue;
        parse_sum(p);
        emit_sign(p, signs[i]);
        return;
    }
}

static void parse_both(Parser *p) {
    parse_comparison(p);
    while (p->result == BRIM_OK && take_word(p, "and")) {
        parse_comparison(p);
        emit_sign(p, "&");
    }
}

static void parse_any(Parser *p) {
    parse_both(p);
    while (p->result == BRIM_OK && take_word(p, "or")) {
        parse_both(p);
        emit_sign(p, "|");
    }
}

// --------------------------------------------------------------------------------- statements

/// The end of the statement at `at`: a semicolon, or a line's end outside brackets.
static const char *statement_end(const char *at) {
    int open = 0;
    for (; *at && *at != ';'; at++) {
        open += (*at == '(') - (*at == ')');
        if (*at == '\n' && open <= 0) break;
    }
    return at;
}

/// name = expression, when the statement is one.
static bool parse_definition(Parser *p) {
    skip_blanks(p);
    const char *name = p->at;
    size_t length = word_length(p->at, p->to);
    p->at += length;
    if (!length || !take(p, "=") || (p->at < p->to && *p->at == '=')) {
        p->at = p->from;
        return false;
    }
    const char *after = p->at;
    p->at = name;
    bool reserved = function_find(name, length) >= 0 || (length == 1 && strchr(variables, *name)) ||
                    (length == 2 && memcmp(name, "pi", 2) == 0);
    if (length >= NAME_BYTES)
        complain(p, "a name has at most %d letters", NAME_BYTES - 1);
    else if (reserved)
        complain(p, "%.*s already has a meaning: use another name", (int)length, name);
    for (int i = 0; i < p->definition_count && p->result == BRIM_OK; i++)
        if (strlen(p->definitions[i].name) == length &&
            memcmp(p->definitions[i].name, name, length) == 0)
            complain(p, "%.*s is given twice", (int)length, name);
    if (p->definition_count == DEFINITIONS_MOST)
        complain(p, "more names than %d", DEFINITIONS_MOST);
    if (p->result != BRIM_OK) return true;
    Definition *d = &p->definitions[p->definition_count++];
    *d = (Definition){.from = after, .to = p->to, .slot = -1};
    memcpy(d->name, name, length);
    return true;
}

/// Takes the statements of a text. expression: the last one is to be compiled; else all are
/// definitions.
static void parse_text(Parser *p, const char *text, bool expression) {
    bool found = false;
    while (*text && p->result == BRIM_OK) {
        const char *end = statement_end(text);
        p->from = p->at = text, p->to = end;
        text = *end ? end + 1 : end;
        skip_blanks(p);
        p->from = p->at;
        while (p->to > p->from && isspace((unsigned char)p->to[-1])) p->to--;
        if (p->from == p->to || *p->from == '#') continue;
        if (found) complain(p, "nothing may follow the formula itself");
        if (parse_definition(p)) continue;
        if (!expression) complain(p, "\"name = formula\" is expected");
        found = true;
        p->visible = p->definition_count;
        parse_any(p);
        skip_blanks(p);
        if (p->at < p->to) complain(p, "this is not understood");
    }
    if (expression && !found) complain(p, "there is no formula");
}

BrimResult formula_new(const char *text, const BrimNames *names, unsigned allowed,
                       Formula **formula, BrimError *error) {
    BrimError unused;
    *formula = NULL;
    Parser p = {.names = names, .allowed = allowed, .error = error ? error : &unused};
    p.f = calloc(1, sizeof *p.f);
    p.definitions = calloc(DEFINITIONS_MOST, sizeof *p.definitions);
    p.from = p.at = p.to = text;
    if (!p.f || !p.definitions)
        no_memory(&p);
    else if (names && names->let)
        parse_text(&p, names->let, false);
    if (p.result == BRIM_OK) parse_text(&p, text, true);
    free(p.definitions);
    if (p.result == BRIM_OK)
        *formula = p.f;
    else
        formula_free(&p.f);
    return p.result;
}

BrimResult names_check(const BrimNames *names, BrimError *error) {
    BrimError unused;
    Parser p = {.names = names, .error = error ? error : &unused};
    if (!names->let) return BRIM_OK;
    p.definitions = calloc(DEFINITIONS_MOST, sizeof *p.definitions);
    if (p.definitions)
        parse_text(&p, names->let, false);
    else
        no_memory(&p);
    for (int i = 0; i < p.definition_count && p.result == BRIM_OK; i++) {
        Formula *f;
        p.result = formula_new(p.definitions[i].name, names, FORMULA_PLACE | FORMULA_T, &f, error);
        formula_free(&f);
    }
    free(p.definitions);
    return p.result;
}

void formula_free(Formula **formula) {
    Formula *f = *formula;
    if (!f) return;
    for (int i = 0; i < f->column_count; i++) {
        free(f->columns[i].at);
        free(f->columns[i].value);
    }
    free(f->columns);
    free(f->ops);
    free(f);
    *formula = NULL;
}

size_t formula_bytes(const Formula *f) {
    size_t bytes = sizeof *f + (size_t)f->op_capacity * sizeof *f->ops +
                   (size_t)f->column_count * sizeof *f->columns;
    for (int i = 0; i < f->column_count; i++)
        bytes += 2 * (size_t)f->columns[i].count * sizeof(double);
    return bytes;
}

unsigned formula_uses(const Formula *f) {
    return f->uses;
}
