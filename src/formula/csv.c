// CSV files of numbers as formulas read them: lines that begin with # are left out, the first other
// line names the columns, and the first column increases.
#include "base/error.h"
#include "base/memory.h"
#include "formula/program.h"
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COLUMNS_MOST = 256, ROWS_MOST = 20000000, BYTES_MOST = 1 << 30 };

size_t decimal_read(const char *text, double *value) {
    size_t n = 0, digits = 0;
    if (text[n] == '-' || text[n] == '+') n++;
    for (; isdigit((unsigned char)text[n]) || text[n] == '.'; n++) digits += text[n] != '.';
    if (!digits) return 0;
    if (text[n] == 'e' || text[n] == 'E') { // an e without digits is not part of it
        size_t m = n + 1 + (text[n + 1] == '-' || text[n + 1] == '+');
        if (isdigit((unsigned char)text[m])) {
            while (isdigit((unsigned char)text[m])) m++;
            n = m;
        }
    }
    char word[64];
    if (n >= sizeof word) return 0;
    memcpy(word, text, n);
    word[n] = 0;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return 0;
    locale_t before = uselocale(c);
    char *end;
    *value = strtod(word, &end);
    uselocale(before);
    freelocale(c);
    return *end ? 0 : n;
}

void csv_free(CsvTable *table) {
    free(table->names);
    free(table->values);
    *table = (CsvTable){0};
}

int csv_find(const CsvTable *table, const char *name, size_t length) {
    for (int i = 0; i < table->column_count; i++)
        if (strlen(table->names[i]) == length && memcmp(table->names[i], name, length) == 0)
            return i;
    return -1;
}

/// A line of a text, without its end.
typedef struct Line {
    const char *at;
    size_t length;
    int number; ///< from 1
} Line;

/// The next line that holds something. False at the end.
static bool next_line(const char **text, const char *end, Line *line) {
    while (*text < end) {
        const char *stop = memchr(*text, '\n', (size_t)(end - *text));
        line->at = *text, line->length = (size_t)((stop ? stop : end) - *text), line->number++;
        *text = stop ? stop + 1 : end;
        while (line->length && isspace((unsigned char)line->at[line->length - 1])) line->length--;
        while (line->length && isspace((unsigned char)*line->at)) line->at++, line->length--;
        if (line->length && *line->at != '#') return true;
    }
    return false;
}

/// The part of a line up to the next comma or semicolon or its end, without blanks and quotes.
static bool next_cell(Line *line, char cell[64]) {
    size_t n = 0, skip = 0;
    if (!line->at) return false;
    while (n < line->length && line->at[n] != ',' && line->at[n] != ';') n++;
    const char *word = line->at;
    size_t length = n;
    while (length && (isspace((unsigned char)*word) || *word == '"')) word++, length--;
    while (length && (isspace((unsigned char)word[length - 1]) || word[length - 1] == '"'))
        length--;
    snprintf(cell, 64, "%.*s", (int)(length < 63 ? length : 63), word);
    skip = n < line->length ? n + 1 : n;
    line->at = n < line->length ? line->at + skip : NULL;
    line->length -= skip;
    return true;
}

static BrimResult read_head(Line line, const char *path, CsvTable *table, BrimError *error) {
    char cell[64];
    Line rest = line;
    int count = 0;
    while (next_cell(&rest, cell)) count++;
    if (count < 2 || count > COLUMNS_MOST)
        return fail(error, BRIM_ERROR_INPUT, "%s:%d: names %d column%s: 2 to %d are needed", path,
                    line.number, count, count == 1 ? "" : "s", COLUMNS_MOST);
    table->names = calloc((size_t)count, sizeof *table->names);
    if (!table->names) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    for (; next_cell(&line, cell); table->column_count++) {
        size_t n = 0; // "height (m)" is height
        while (n < NAME_BYTES - 1 && (isalnum((unsigned char)cell[n]) || cell[n] == '_')) n++;
        memcpy(table->names[table->column_count], cell, n);
    }
    double number;
    if (decimal_read(table->names[0], &number))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s:%d: the first line must name the columns, as in \"time,x\"", path,
                    line.number);
    return BRIM_OK;
}

static BrimResult read_row(Line line, const char *path, CsvTable *table, int row, int rows,
                           BrimError *error) {
    char cell[64];
    int column = 0, number = line.number;
    for (; next_cell(&line, cell); column++) {
        double value = 0;
        if (column >= table->column_count) continue; // told below
        if (decimal_read(cell, &value) != strlen(cell) || !*cell || !(fabs(value) <= 1e30))
            return fail(error, BRIM_ERROR_INPUT, "%s:%d: \"%s\" in column %d is not a number", path,
                        number, cell, column + 1);
        table->values[(size_t)column * (size_t)rows + (size_t)row] = value;
    }
    if (column != table->column_count)
        return fail(error, BRIM_ERROR_INPUT, "%s:%d: %s values than the %d columns named above",
                    path, number, column < table->column_count ? "fewer" : "more",
                    table->column_count);
    const double *first = table->values + row;
    if (row > 0 && !(first[0] > first[-1]))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s:%d: the first column must increase: %g comes after %g", path, number,
                    first[0], first[-1]);
    return BRIM_OK;
}

BrimResult csv_parse(const char *text, size_t length, const char *path, CsvTable *table,
                     BrimError *error) {
    const char *end = text + length, *at = text;
    Line line = {0};
    *table = (CsvTable){0};
    if (!next_line(&at, end, &line))
        return fail(error, BRIM_ERROR_INPUT, "%s: holds no table: a line of names, then numbers",
                    path);
    BrimResult r = read_head(line, path, table, error);
    const char *body = at;
    Line count = line;
    int rows = 0;
    while (r == BRIM_OK && rows < ROWS_MOST && next_line(&at, end, &count)) rows++;
    if (r == BRIM_OK && (rows < 2 || rows == ROWS_MOST))
        r = fail(error, BRIM_ERROR_INPUT, "%s: holds %d rows of numbers: 2 to %d are needed", path,
                 rows, (int)ROWS_MOST - 1);
    if (r == BRIM_OK) {
        table->values = memory_new((size_t)rows * (size_t)table->column_count * sizeof(double));
        if (!table->values) r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    }
    for (int row = 0; row < rows && r == BRIM_OK && next_line(&body, end, &line); row++)
        r = read_row(line, path, table, row, rows, error);
    table->row_count = rows;
    if (r != BRIM_OK) csv_free(table);
    return r;
}

BrimResult csv_read(const char *path, CsvTable *table, BrimError *error) {
    struct stat info;
    *table = (CsvTable){0};
    if (stat(path, &info) != 0)
        return fail(error, BRIM_ERROR_INPUT, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_size > BYTES_MOST)
        return fail(error, BRIM_ERROR_INPUT, "%s: name a regular file of at most 1 GiB", path);
    FILE *file = fopen(path, "rb");
    if (!file) return fail(error, BRIM_ERROR_INPUT, "%s cannot be read: %s", path, strerror(errno));
    char *text = memory_new((size_t)info.st_size + 1);
    size_t got = text ? fread(text, 1, (size_t)info.st_size, file) : 0;
    fclose(file);
    BrimResult r = text ? csv_parse(text, got, path, table, error)
                        : fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    free(text);
    return r;
}
