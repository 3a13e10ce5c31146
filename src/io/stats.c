#include "io/stats.h"
#include "base/error.h"
#include "io/file.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { ROW_BYTES = 2048 }; ///< 30 columns of at most 24 characters, with room to grow

static size_t format_header(char row[ROW_BYTES]) {
    size_t n = 0;
    for (int i = 0; stats_column(i); i++)
        n += (size_t)snprintf(row + n, ROW_BYTES - n, "%s%s", i ? "," : "", stats_column(i)->name);
    row[n++] = '\n', row[n] = 0;
    return n;
}

static size_t format_row(const BrimStats *stats, char row[ROW_BYTES]) {
    size_t n = 0;
    for (int i = 0; stats_column(i); i++) {
        const StatsColumn *column = stats_column(i);
        const char *value = (const char *)stats + column->offset;
        if (i) row[n++] = ',';
        if (column->count)
            n += (size_t)snprintf(row + n, ROW_BYTES - n, "%lld",
                                  (long long)*(const int64_t *)value);
        else
            n += (size_t)snprintf(row + n, ROW_BYTES - n, "%.9g", *(const double *)value);
    }
    row[n++] = '\n', row[n] = 0;
    return n;
}

static int count_commas(const char *line) {
    int n = 0;
    for (; *line; line++) n += *line == ',';
    return n;
}

/// Where the columns of this version are in a file that may be another's.
typedef struct ColumnMap {
    int from[128]; ///< by column of this version; -1: the file lacks it
    int columns;   ///< of the file
} ColumnMap;

/// A field of a row: its first character and its length.
static const char *find_field(const char *row, int index, int *length) {
    for (; index > 0 && row; index--) row = strchr(row, ',') ? strchr(row, ',') + 1 : NULL;
    *length = row ? (int)strcspn(row, ",\n") : 0;
    return row;
}

/// False when the header is none of ours: those begin with step and time.
static bool map_columns(const char *header, ColumnMap *map) {
    int length;
    map->columns = count_commas(header) + 1;
    for (int i = 0; stats_column(i); i++) {
        map->from[i] = -1;
        for (int k = 0; k < map->columns && map->from[i] < 0; k++) {
            const char *name = find_field(header, k, &length);
            if ((int)strlen(stats_column(i)->name) == length &&
                strncmp(stats_column(i)->name, name, (size_t)length) == 0)
                map->from[i] = k;
        }
    }
    return map->from[0] == 0 && map->from[1] == 1;
}

/// A row in the columns of this version; what the file lacks is not a number.
static void translate(const ColumnMap *map, const char *row, char out[ROW_BYTES]) {
    size_t n = 0;
    for (int i = 0; stats_column(i); i++) {
        int length;
        const char *field = map->from[i] < 0 ? "nan" : find_field(row, map->from[i], &length);
        if (map->from[i] < 0) length = 3;
        n += (size_t)snprintf(out + n, ROW_BYTES - n, "%s%.*s", i ? "," : "", length, field);
    }
    snprintf(out + n, ROW_BYTES - n, "\n");
}

/// Copies the rows up to `step`. A checkpoint never knows more than the rows that were synced
/// before it: where some are missing, somebody took them.
static BrimResult copy_rows(const char *path, int64_t step, FileWriter *out, BrimError *error) {
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    char line[ROW_BYTES], row[ROW_BYTES];
    ColumnMap map = {.columns = 0};
    // An empty file is one whose header never reached the disk.
    bool ours = !fgets(line, sizeof line, in) || map_columns(line, &map);
    long long last = 0;
    bool later = true; // no row up to `step`: begun at a checkpoint, or not at all
    while (ours && fgets(line, sizeof line, in)) {
        long long at = 0;
        if (!strchr(line, '\n')) break;
        bool whole = count_commas(line) + 1 == map.columns && sscanf(line, "%lld,", &at) == 1;
        if (whole && at > step) break;
        later = false;
        if (!whole || at < 1 || (last && at != last + 1)) break;
        translate(&map, line, row);
        file_write(out, row, strlen(row));
        last = at;
    }
    int code = ferror(in) ? errno : 0;
    fclose(in);
    if (code) return file_fail(error, "read", path, code);
    if (ours && (later || last == step)) return BRIM_OK;
    if (ours)
        return fail(
            error, BRIM_ERROR_DAMAGED,
            "'%s' has no row for step %lld, but the checkpoint is at step %lld: put it back, "
            "or remove the file, then resume; without it rows begin at the checkpoint",
            path, last + 1, (long long)step);
    return fail(error, BRIM_ERROR_INPUT,
                "'%s' is not a table of statistics written by Brim: rename it, then resume", path);
}

static BrimResult prepare(const char *path, int64_t step, BrimError *error) {
    FileWriter *out;
    BrimResult result = file_create(path, &out, error);
    if (result != BRIM_OK) return result;
    char header[ROW_BYTES];
    file_write(out, header, format_header(header));
    if (step > 0 && access(path, F_OK) == 0) result = copy_rows(path, step, out, error);
    if (result == BRIM_OK) return file_commit(&out, error);
    file_abort(&out);
    return result;
}

BrimResult stats_open(const char *path, int64_t step, RowsFile **file, BrimError *error) {
    *file = NULL;
    BrimResult result = prepare(path, step, error);
    return result == BRIM_OK ? rows_open(path, file, error) : result;
}

BrimResult stats_append(RowsFile *f, const BrimStats *stats, BrimError *error) {
    char row[ROW_BYTES];
    size_t n = format_row(stats, row);
    return rows_append(f, row, n, error);
}
