// CSV files of numbers: read whole, then cut at commas and line ends.
#include "base/error.h"
#include "io/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 1000 };

BrimResult brim_write_text(const char *path, const char *text, BrimError *error) {
    NEED(path, error);
    NEED(text, error);
    FileWriter *writer;
    BrimResult result = file_create(path, &writer, error);
    if (result != BRIM_OK) return result;
    file_write(writer, text, strlen(text));
    return file_commit(&writer, error);
}

static BrimResult read_all(const char *path, char **text, BrimError *error) {
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    *text = bytes < SIZE_MAX ? malloc((size_t)bytes + 1) : NULL;
    if (!*text) {
        fclose(in);
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory while reading", path);
    }
    // a file that is being written may have grown: what was there at opening is enough
    size_t n = fread(*text, 1, (size_t)bytes, in);
    (*text)[n] = 0;
    bool bad = ferror(in);
    fclose(in);
    if (!bad) return BRIM_OK;
    free(*text);
    *text = NULL;
    return fail(error, BRIM_ERROR_IO, "%s could not be read", path);
}

static BrimResult read_names(BrimTable *table, char *line, const char *path, BrimError *error) {
    int count = 1;
    for (const char *c = line; *c; c++) count += *c == ',';
    if (count > MOST_COLUMNS || !*line)
        return fail(error, BRIM_ERROR_INPUT, "%s: the first line must name 1 to %d columns", path,
                    MOST_COLUMNS);
    table->names = calloc((size_t)count, sizeof(char *));
    table->values = calloc((size_t)count, sizeof(double *));
    if (!table->names || !table->values)
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory while reading", path);
    table->column_count = count;
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(line, ",\r");
        table->names[i] = strndup(line, length);
        if (!table->names[i])
            return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory while reading", path);
        line += strcspn(line, ",");
        if (*line) line++;
    }
    return BRIM_OK;
}

/// One row at `line`; false when it has another number of columns.
static bool read_row(BrimTable *table, size_t row, const char *line) {
    for (int i = 0; i < table->column_count; i++) {
        char *end;
        size_t length = strcspn(line, ",\r");
        double value = strtod(line, &end);
        table->values[i][row] = length && end == line + length ? value : NAN;
        line += length;
        if (i + 1 < table->column_count && *line++ != ',') return false;
    }
    return *line == 0 || strcmp(line, "\r") == 0;
}

static BrimResult read_rows(BrimTable *table, char *text, const char *path, BrimError *error) {
    size_t rows = 0;
    for (const char *c = text; *c; c++) rows += *c == '\n';
    for (int i = 0; i < table->column_count; i++) {
        table->values[i] = malloc((rows ? rows : 1) * sizeof(double));
        if (!table->values[i])
            return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory while reading", path);
    }
    for (size_t row = 0; row < rows; row++) {
        char *end = strchr(text, '\n');
        *end = 0;
        if (!read_row(table, row, text))
            return fail(error, BRIM_ERROR_INPUT,
                        "%s: line %zu does not have the %d columns that the first line names", path,
                        row + 2, table->column_count);
        text = end + 1;
    }
    table->row_count = rows;
    return BRIM_OK;
}

BrimResult brim_table_read(const char *path, BrimTable *table, BrimError *error) {
    NEED(table, error);
    *table = (BrimTable){0};
    NEED(path, error);
    char *text = NULL;
    BrimResult result = read_all(path, &text, error);
    if (result != BRIM_OK) return result;
    char *end = strchr(text, '\n');
    if (!end) {
        result = fail(error, BRIM_ERROR_INPUT, "%s holds no table: it has no first line", path);
    } else {
        *end = 0;
        result = read_names(table, text, path, error);
        if (result == BRIM_OK) result = read_rows(table, end + 1, path, error);
    }
    free(text);
    if (result != BRIM_OK) brim_table_free(table);
    return result;
}

void brim_table_free(BrimTable *table) {
    if (!table) return;
    for (int i = 0; i < table->column_count; i++) {
        if (table->names) free(table->names[i]);
        if (table->values) free(table->values[i]);
    }
    free((void *)table->names);
    free((void *)table->values);
    *table = (BrimTable){0};
}

const double *brim_table_column(const BrimTable *table, const char *name) {
    for (int i = 0; table && name && i < table->column_count; i++)
        if (strcmp(table->names[i], name) == 0) return table->values[i];
    return NULL;
}
