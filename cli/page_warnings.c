// What a reader of a report should look at. Each check prints at most one item.
#include "page.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int warn(Page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int warn(Page *page, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("<li>", page->out);
    page_text(page->out, text);
    fputs("</li>\n", page->out);
    return 1;
}

static const double *column(const Page *page, const char *name) {
    return brim_table_column(&page->run->stats, name);
}

static int check_end(Page *page) {
    double time = run_last(page->run, "time"), end = page->def->duration;
    if (!(time < end - 0.5 / page->def->frame_rate)) return 0;
    return warn(page, "The run stopped at %.4g s of %.4g s.", time, end);
}

/// More than 1 % at the end, or more than 2 % for a while.
static int check_volume(Page *page) {
    const char *name = column(page, "volume") ? "volume" : "volume_cells";
    const double *volume = column(page, name), *time = column(page, "time");
    if (!volume || !time) return 0;
    size_t rows = page->run->stats.row_count, worst = 0;
    for (size_t i = 0; i < rows; i++)
        if (fabs(volume[i] - 1) > fabs(volume[worst] - 1)) worst = i;
    double last = 100 * (volume[rows - 1] - 1), most = 100 * (volume[worst] - 1);
    if (fabs(last) > 1)
        return warn(page,
                    "Volume drift: the liquid's volume (%s) ended %+.2f %% from what it "
                    "should be; the most was %+.2f %% at %.4g s.",
                    name, last, most, time[worst]);
    if (fabs(most) > 2)
        return warn(page, "The liquid's volume (%s) was off by %+.2f %% at %.4g s, and recovered.",
                    name, most, time[worst]);
    return 0;
}

/// More than one cell in a hundred over-full.
static int check_crowding(Page *page) {
    const Crowding *c = &page->crowding;
    if (!c->known || (double)c->compressed < 0.01 * (double)c->cells) return 0;
    return warn(page,
                "Compressed cells: in the last frame %.1f %% of the cells with liquid hold "
                "more than 1.5 times a full cell's particles; the fullest holds %.1f times.",
                100.0 * (double)c->compressed / (double)c->cells, (double)c->most / c->full);
}

static int check_solids(Page *page) {
    double inside = run_last(page->run, "particles_in_solids");
    if (!(inside > 0)) return 0;
    return warn(page, "%.0f particles are inside solids at the end.", inside);
}

/// A residual above the tolerance says that the solver ran out of iterations.
static int check_solver(Page *page) {
    const double *residual = column(page, "residual"), *iterations = column(page, "iterations");
    if (!residual || !iterations) return 0;
    size_t rows = page->run->stats.row_count, bad = 0;
    for (size_t i = 0; i < rows; i++)
        bad += residual[i] > page->def->tolerance * 1.001 ||
               iterations[i] >= page->def->max_iterations;
    if (!bad) return 0;
    return warn(page,
                "Solver not converged in %zu of %zu steps (tolerance %g, at most %d "
                "iterations).",
                bad, rows, page->def->tolerance, page->def->max_iterations);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, size_t count) {
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted) return NAN;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    double middle = sorted[count / 2];
    free(sorted);
    return middle;
}

/// The stage that took the most time of a step.
static const char *slowest_stage(const BrimTable *stats, size_t row, double *ms) {
    const char *name = "";
    *ms = 0;
    for (int c = 0; c < stats->column_count; c++) {
        if (strncmp(stats->names[c], "ms_", 3) != 0 || strcmp(stats->names[c], "ms_total") == 0)
            continue;
        if (stats->values[c][row] > *ms) *ms = stats->values[c][row], name = stats->names[c] + 3;
    }
    return name;
}

/// Steps that took ten times the usual, when they matter to the whole.
static int check_slow_steps(Page *page) {
    const BrimTable *stats = &page->run->stats;
    const double *ms = column(page, "ms_total");
    if (!ms || stats->row_count < 10) return 0;
    double usual = median(ms, stats->row_count), slow = 0, all = 0, stage_ms;
    size_t worst = 0, count = 0;
    for (size_t i = 0; i < stats->row_count; i++) {
        all += ms[i];
        if (ms[i] > 10 * usual) slow += ms[i], count++;
        if (ms[i] > ms[worst]) worst = i;
    }
    if (!(slow > 0.02 * all)) return 0;
    const char *stage = slowest_stage(stats, worst, &stage_ms);
    return warn(page,
                "Slow steps: %zu took more than ten times the usual %.3g ms, %.0f %% of all "
                "time; the slowest, step %zu, took %.3g ms, %.3g of them in stage %s.",
                count, usual, 100 * slow / all, worst + 1, ms[worst], stage_ms, stage);
}

/// One stage that takes more than 60 % of the time.
static int check_slow_stage(Page *page) {
    const BrimTable *stats = &page->run->stats;
    const double *total = column(page, "ms_total");
    if (!total) return 0;
    double all = 0;
    for (size_t i = 0; i < stats->row_count; i++) all += total[i];
    for (int c = 0; c < stats->column_count; c++) {
        if (strncmp(stats->names[c], "ms_", 3) != 0 || stats->values[c] == total) continue;
        double sum = 0;
        for (size_t i = 0; i < stats->row_count; i++) sum += stats->values[c][i];
        if (sum > 0.6 * all)
            return warn(page, "Slow stage: %s takes %.0f %% of the time.", stats->names[c] + 3,
                        100 * sum / all);
    }
    return 0;
}

/// Steps in which the fastest particle crosses more cells than the solver can follow well.
static int check_steps(Page *page) {
    const double *speed = column(page, "max_speed"), *dt = column(page, "dt");
    if (!speed || !dt) return 0;
    double cell = page->def->size.x / page->def->cells[0], most = 0, longest = 0;
    for (size_t i = 0; i < page->run->stats.row_count; i++) {
        most = fmax(most, speed[i] * dt[i] / cell);
        longest = fmax(longest, dt[i]);
    }
    // A wave of length l turns over in a step when sqrt(2 pi g / l) dt > 2.
    const BrimVec3 g = page->def->gravity;
    double pull = sqrt((double)g.x * g.x + (double)g.y * g.y + (double)g.z * g.z);
    double wave = 1.5708 * pull * longest * longest / cell;
    if (wave > 4)
        return warn(page,
                    "Long steps: at %.3g s a step waves shorter than %.0f cells are not followed; "
                    "shorten time.step, or use time.cfl.",
                    longest, wave);
    if (most <= 20) return 0;
    return warn(page, "Long steps: the fastest particle crossed %.0f cells in one step.", most);
}

int page_warnings(Page *page) {
    return check_end(page) + check_volume(page) + check_crowding(page) + check_solids(page) +
           check_solver(page) + check_slow_stage(page) + check_slow_steps(page) + check_steps(page);
}
