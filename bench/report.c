// The table on the terminal and the CSV under bench/results/, which is kept in the repository.
#include "bench.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct Report {
    FILE *csv;
    char path[512];
    char machine[192]; ///< "Intel(R) Xeon(R) Processor, 2 cores"
    char date[16];
    char commit[16]; ///< of the sources, short; "" outside a repository
    int met, missed;
};

static void name_processor(char *out, size_t size) {
    snprintf(out, size, "processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value);
        break;
    }
    fclose(file);
}

/// Letters and digits of a name, lower case, with a dash for whatever lies between; no "(R)".
static void name_for_file(const char *name, char *out, size_t size) {
    size_t n = 0;
    for (const char *c = name; *c && n + 2 < size; c++) {
        if (strncmp(c, "(R)", 3) == 0 || strncmp(c, "(r)", 3) == 0) {
            c += 2;
        } else if (isalnum((unsigned char)*c)) {
            out[n++] = (char)tolower((unsigned char)*c);
        } else if (n > 0 && out[n - 1] != '-') {
            out[n++] = '-';
        }
    }
    out[n] = '\0';
}

static void name_commit(char *out, size_t size) {
    FILE *git = popen("git rev-parse --short HEAD 2>/dev/null", "r");
    if (!git) return;
    if (!fgets(out, (int)size, git)) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    pclose(git);
}

static double total_memory_gib(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return 0;
    double kib = 0;
    if (fscanf(file, "MemTotal: %lf", &kib) != 1) kib = 0;
    fclose(file);
    return kib / (1 << 20);
}

Report *report_open(const char *suffix) {
    Report *report = calloc(1, sizeof *report);
    if (!report) give_up("out of memory");
    char processor[128], file_name[192];
    name_processor(processor, sizeof processor);
    snprintf(report->machine, sizeof report->machine, "%s, %d cores", processor, core_count());
    name_for_file(report->machine, file_name, sizeof file_name);
    time_t now = time(NULL);
    strftime(report->date, sizeof report->date, "%Y-%m-%d", gmtime(&now));

    name_commit(report->commit, sizeof report->commit);

    snprintf(report->path, sizeof report->path, "bench/results/%s-%s%s.csv", report->date,
             file_name, suffix);
    mkdir("bench/results", 0777);
    report->csv = fopen(report->path, "w");
    if (!report->csv)
        give_up("cannot write %s: %s; run it from the top of the source tree", report->path,
                strerror(errno));
    fprintf(report->csv, "date,version,commit,machine,item,case,metric,value,unit,target\n");
    printf("Brim %s on %s, %.0f GiB, %s; times are the least of several runs\n", brim_version(),
           report->machine, total_memory_gib(), report->date);
    return report;
}

static bool meets(Row row) {
    return row.want == WANT_AT_MOST ? row.value <= row.target : row.value >= row.target;
}

void report_row(Report *report, Row row) {
    const char *sign = row.want == WANT_AT_MOST ? "<=" : ">=";
    printf("%-10s %-34s %-30s %10.4g %-14s", row.item, row.what, row.metric, row.value, row.unit);
    fprintf(report->csv, "%s,%s,%s,\"%s\",%s,\"%s\",\"%s\",%.6g,%s,", report->date, brim_version(),
            report->commit, report->machine, row.item, row.what, row.metric, row.value, row.unit);
    if (row.want != WANT_NOTHING) {
        printf("  %s %-6.4g %s", sign, row.target, meets(row) ? "ok" : "MISSED");
        fprintf(report->csv, "%s %.6g", sign, row.target);
        meets(row) ? report->met++ : report->missed++;
    }
    putchar('\n');
    fputc('\n', report->csv);
    fflush(stdout);
}

void report_close(Report *report) {
    bool written = fclose(report->csv) == 0;
    printf("%d targets met, %d missed; %s %s\n", report->met, report->missed,
           written ? "written to" : "could not write", report->path);
    free(report);
}
