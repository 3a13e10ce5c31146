#include "io/gauge_files.h"
#include "base/error.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/rows.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 512 }; ///< time and six columns

typedef struct GaugeFile {
    RowsFile *rows;
    double rate;  ///< samples a second; 0: at the ends of steps
    int64_t next; ///< number of the next sample, which is at next / rate
    int columns;
    double time; ///< of the values, s
    double value[BRIM_GAUGE_COLUMNS];
} GaugeFile;

struct GaugeFiles {
    int count;
    GaugeFile file[];
};

// ------------------------------------------------------------------------------------ opening

/// Number of the first sample after a time.
static int64_t sample_after(double rate, double time) {
    int64_t k = (int64_t)floor(time * rate);
    while ((double)k / rate <= time) k++;
    while (k > 0 && (double)(k - 1) / rate > time) k--;
    return k;
}

static void format_header(const BrimSim *sim, int gauge, char line[LINE_BYTES]) {
    size_t n = (size_t)snprintf(line, LINE_BYTES, "time (s)");
    for (int i = 0; brim_sim_gauge_column(sim, gauge, i); i++)
        n +=
            (size_t)snprintf(line + n, LINE_BYTES - n, ",%s", brim_sim_gauge_column(sim, gauge, i));
    snprintf(line + n, LINE_BYTES - n, "\n");
}

/// What became of a file's rows.
typedef struct Kept {
    bool ours;      ///< the header is this gauge's
    bool any;       ///< rows up to the time were there
    bool whole;     ///< none of them is missing
    double last;    ///< time of the last one, s
    int64_t number; ///< of its sample
} Kept;

/// Copies rows before sample `next`, without a rate up to `time`.
static void copy_rows(FILE *in, const GaugeFile *f, double time, const char *header,
                      FileWriter *out, Kept *kept) {
    char line[LINE_BYTES];
    // An empty file is one whose header never reached the disk.
    bool empty = !fgets(line, sizeof line, in);
    *kept = (Kept){.ours = empty || strcmp(line, header) == 0, .whole = true};
    while (kept->ours && !empty && fgets(line, sizeof line, in)) {
        char *end;
        int commas = 0;
        double at = strtod(line, &end);
        for (const char *c = line; *c; c++) commas += *c == ',';
        if (!strchr(line, '\n')) break;
        int64_t number = f->rate > 0 && fabs(at * f->rate) < 1e15 ? llround(at * f->rate) : 0;
        bool good = *end == ',' && commas == f->columns;
        if (good && (f->rate > 0 ? number >= f->next : at > time * (1 + 1e-9))) break;
        // a row of another rate lies between samples
        good &= f->rate <= 0 || fabs(at * f->rate - (double)number) < 1e-3;
        kept->whole &= good && (!kept->any || f->rate <= 0 || number == kept->number + 1);
        kept->any = true, kept->last = at, kept->number = number;
        if (!kept->whole) break;
        file_write(out, line, strlen(line));
    }
    bool to_end =
        f->rate > 0 ? kept->number == f->next - 1 : fabs(kept->last - time) <= 1e-9 * fabs(time);
    kept->whole &= !kept->any || to_end;
}

static BrimResult keep_rows(const char *path, const GaugeFile *f, double time, const char *header,
                            FileWriter *out, BrimError *error) {
    uint64_t bytes;
    FILE *in;
    Kept kept;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    copy_rows(in, f, time, header, out, &kept);
    int code = ferror(in) ? errno : 0;
    fclose(in);
    if (code) return file_fail(error, "read", path, code);
    if (!kept.ours)
        return fail(error, BRIM_ERROR_INPUT,
                    "'%s' has other columns than this gauge: rename it, then resume", path);
    if (kept.whole) return BRIM_OK;
    return fail(
        error, BRIM_ERROR_DAMAGED,
        "'%s' lacks rows up to the checkpoint's %.6g s, or has them at another rate: restore them "
        "or the gauge's rate, or remove the file, then resume; without it rows "
        "begin at the checkpoint",
        path, time);
}

static BrimResult open_file(const char *path, const BrimSim *sim, int gauge, GaugeFile *f,
                            BrimError *error) {
    char header[LINE_BYTES];
    FileWriter *out;
    bool begun = brim_sim_step_count(sim) > 0;
    f->time = brim_sim_time(sim);
    f->next = begun && f->rate > 0 ? sample_after(f->rate, f->time) : 0;
    while (brim_sim_gauge_column(sim, gauge, f->columns)) f->columns++;
    BrimResult result = brim_sim_gauge_read(sim, gauge, f->value, error);
    if (result == BRIM_OK) result = file_create(path, &out, error);
    if (result != BRIM_OK) return result;
    format_header(sim, gauge, header);
    file_write(out, header, strlen(header));
    if (begun && access(path, F_OK) == 0) result = keep_rows(path, f, f->time, header, out, error);
    if (result == BRIM_OK) result = file_commit(&out, error);
    file_abort(&out);
    return result == BRIM_OK ? rows_open(path, &f->rows, error) : result;
}

BrimResult gauge_files_open(const char *folder, const BrimSim *sim, const BrimSimDef *def,
                            GaugeFiles **files, BrimError *error) {
    int count = brim_sim_gauge_count(sim);
    *files = NULL;
    if (count == 0) return BRIM_OK;
    GaugeFiles *all = calloc(1, sizeof *all + (size_t)count * sizeof *all->file);
    if (!all) return fail(error, BRIM_ERROR_MEMORY, "out of memory for gauges");
    all->count = count;
    BrimResult result = BRIM_OK;
    for (int i = 0; i < count && result == BRIM_OK; i++) {
        char *path = gauge_path(folder, brim_sim_gauge_name(sim, i));
        all->file[i].rate = def->gauges[i].rate;
        result = path ? open_file(path, sim, i, &all->file[i], error)
                      : fail(error, BRIM_ERROR_MEMORY, "out of memory for gauges");
        free(path);
    }
    if (result != BRIM_OK) gauge_files_close(&all);
    *files = all;
    return result;
}

// ------------------------------------------------------------------------------------ writing

static void print_row(FILE *out, double time, const double *value, int columns) {
    fprintf(out, "%.10g", time);
    for (int i = 0; i < columns; i++) {
        if (isnan(value[i]))
            fputs(",nan", out);
        else
            fprintf(out, ",%.9g", value[i]);
    }
    fputc('\n', out);
}

/// The samples from the last step's end to this one's. What is known only from this end on is taken
/// to have been so all the step.
static void print_samples(FILE *out, const GaugeFile *f, double time, const double *value,
                          int64_t end) {
    for (int64_t k = f->next; k < end; k++) {
        double at = (double)k / f->rate, part = (at - f->time) / (time - f->time);
        double sample[BRIM_GAUGE_COLUMNS];
        for (int i = 0; i < f->columns; i++)
            sample[i] =
                isnan(f->value[i]) ? value[i] : f->value[i] + part * (value[i] - f->value[i]);
        print_row(out, at, sample, f->columns);
    }
}

static BrimResult append_one(GaugeFile *f, const BrimSim *sim, int gauge, BrimError *error) {
    double time = brim_sim_time(sim), value[BRIM_GAUGE_COLUMNS];
    if (!(time > f->time)) return BRIM_OK;
    BrimResult result = brim_sim_gauge_read(sim, gauge, value, error);
    if (result != BRIM_OK) return result;
    int64_t end = f->rate > 0 ? sample_after(f->rate, time) : 0;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool ok = out != NULL;
    if (ok && f->rate > 0) print_samples(out, f, time, value, end);
    if (ok && !(f->rate > 0)) print_row(out, time, value, f->columns);
    if (ok) ok = !ferror(out);
    if (out) ok &= fclose(out) == 0;
    result = !ok     ? fail(error, BRIM_ERROR_MEMORY, "out of memory for rows of a gauge")
             : bytes ? rows_append(f->rows, text, bytes, error)
                     : BRIM_OK;
    free(text);
    if (result != BRIM_OK) return result;
    f->time = time, f->next = end;
    memcpy(f->value, value, sizeof value);
    return BRIM_OK;
}

BrimResult gauge_files_append(GaugeFiles *files, const BrimSim *sim, BrimError *error) {
    BrimResult result = BRIM_OK;
    for (int i = 0; files && i < files->count && result == BRIM_OK; i++)
        result = append_one(&files->file[i], sim, i, error);
    return result;
}

BrimResult gauge_files_sync(GaugeFiles *files, BrimError *error) {
    BrimResult result = BRIM_OK;
    for (int i = 0; files && i < files->count && result == BRIM_OK; i++)
        result = rows_sync(files->file[i].rows, error);
    return result;
}

void gauge_files_close(GaugeFiles **files) {
    if (!files || !*files) return;
    for (int i = 0; i < (*files)->count; i++) rows_close(&(*files)->file[i].rows);
    free(*files);
    *files = NULL;
}
