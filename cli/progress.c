// The progress line: rewritten in place on a terminal, a plain line now and then elsewhere.
#include "cli.h"
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const double redraw_seconds = 0.1; // faster than this only flickers
static const double plain_seconds = 5.0;  // between lines in a log
static const double memory_seconds = 4.0; // how far back the means look

Progress progress_start(const BrimSim *sim, int frames, bool on) {
    setlocale(LC_CTYPE, "");
    double now = wall_clock();
    return (Progress){
        .on = on,
        .terminal = isatty(STDERR_FILENO),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .frames = frames,
        .end = frames / brim_sim_def(sim)->frame_rate,
        .shown = now,
        .last_wall = now,
        .last_time = brim_sim_time(sim),
    };
}

/// Sums in which a step fades with the wall time since.
static void update_sums(Progress *p, const BrimSim *sim, double now) {
    double time = brim_sim_time(sim), fade = exp((p->last_wall - now) / memory_seconds);
    p->sum_wall = fade * p->sum_wall + now - p->last_wall;
    p->sum_time = fade * p->sum_time + time - p->last_time;
    p->sum_ms = fade * p->sum_ms + brim_sim_stats(sim)->ms_total;
    p->sum_steps = fade * p->sum_steps + 1;
    p->last_wall = now, p->last_time = time;
}

static double seconds_left(const Progress *p) {
    double left = (p->end - p->last_time) * p->sum_wall / p->sum_time;
    return left > 0 ? left : 0;
}

static void draw_bar(char *out, size_t size, int cells, double fraction, bool utf8) {
    static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    size_t at = 0;
    double filled = fraction * cells;
    for (int i = 0; i < cells && at + 4 < size; i++) {
        double part = filled - i;
        const char *mark = part > 0.5 ? "#" : "-";
        if (utf8) mark = eighths[part >= 1 ? 8 : part <= 0 ? 0 : (int)(part * 8)];
        at += (size_t)snprintf(out + at, size - at, "%s", mark);
    }
}

/// The parts of the line, most needed first; a narrow terminal gets fewer of them.
static int write_parts(const Progress *p, const BrimSim *sim, char parts[5][64]) {
    char count[SHORT_TEXT], left[SHORT_TEXT];
    int n = 0;
    snprintf(parts[n++], 64, "frame %*d of %d", p->frames > 999 ? 4 : 3, brim_sim_frame(sim),
             p->frames);
    snprintf(parts[n++], 64, "%s left", show_duration(left, seconds_left(p)));
    snprintf(parts[n++], 64, "%.3f s", brim_sim_time(sim));
    snprintf(parts[n++], 64, "%s particles",
             show_count(count, (int64_t)brim_sim_particles(sim).count));
    double ms = p->sum_steps > 0 ? p->sum_ms / p->sum_steps : 0;
    snprintf(parts[n++], 64, "%.*f ms/step", ms < 100 ? 1 : 0, ms);
    return n;
}

static void draw_line(const Progress *p, const BrimSim *sim) {
    char parts[5][64], line[512], bar[256] = "";
    int n = write_parts(p, sim, parts), width = stream_width(stderr, 80) - 1;
    int used = 0, shown = 0;
    while (shown < n && used + (int)strlen(parts[shown]) + 2 <= width)
        used += (int)strlen(parts[shown++]) + 2;
    // in reading order: frame, time, particles, step time, time left
    static const int order[] = {0, 2, 3, 4, 1};
    size_t at = 0;
    line[0] = 0;
    for (int k = 0; k < n; k++)
        if (order[k] < shown)
            at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", at ? "  " : "",
                                   parts[order[k]]);
    int cells = width - (int)at - 3;
    if (cells > 40) cells = 40;
    if (cells >= 6)
        draw_bar(bar, sizeof bar, cells, p->end > 0 ? p->last_time / p->end : 1, p->utf8);
    if (*bar)
        fprintf(stderr, "\r\033[K%s%s%s %s", p->utf8 ? "▕" : "[", bar, p->utf8 ? "▏" : "]", line);
    else
        fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}

static void plain_line(const Progress *p, const BrimSim *sim) {
    char parts[5][64];
    write_parts(p, sim, parts);
    fprintf(stderr, "%s, %s, %s, %s, %s\n", parts[0], parts[2], parts[3], parts[4], parts[1]);
}

void progress_step(Progress *p, const BrimSim *sim) {
    double now = wall_clock();
    update_sums(p, sim, now);
    if (!p->on || now - p->shown < (p->terminal ? redraw_seconds : plain_seconds)) return;
    p->shown = now;
    if (p->terminal)
        draw_line(p, sim);
    else
        plain_line(p, sim);
}

void progress_end(Progress *p, const BrimSim *sim) {
    if (!p->on) return;
    if (p->terminal) {
        draw_line(p, sim);
        fputc('\n', stderr);
    } else {
        plain_line(p, sim);
    }
}

// --------------------------------------------------------------------------- countable parts

CountProgress count_progress_start(int total, bool on) {
    setlocale(LC_CTYPE, "");
    double now = wall_clock();
    return (CountProgress){.on = on,
                           .terminal = isatty(STDERR_FILENO),
                           .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                           .total = total,
                           .began = now,
                           .shown = now};
}

static void draw_count(CountProgress *p, double part) {
    char bar[256] = "", left[SHORT_TEXT], time[64] = "";
    double worked = p->done - p->skipped + part, wall = wall_clock() - p->began;
    if (worked > 0.01)
        snprintf(time, sizeof time, "  %s left",
                 show_duration(left, wall / worked * (p->total - p->done - part)));
    int frame = p->done < p->total ? p->done + 1 : p->total;
    if (!p->terminal) {
        fprintf(stderr, "frame %d of %d, %.0f %%%s%s\n", frame, p->total,
                100 * (p->done + part) / p->total, *time ? "," : "", *time ? time + 1 : "");
        return;
    }
    draw_bar(bar, sizeof bar, 30, (p->done + part) / p->total, p->utf8);
    fprintf(stderr, "\r\033[K%s%s%s frame %d of %d%s", p->utf8 ? "▕" : "[", bar,
            p->utf8 ? "▏" : "]", frame, p->total, time);
    fflush(stderr);
}

void count_progress_part(CountProgress *p, double share) {
    double now = wall_clock();
    if (!p->on || now - p->shown < (p->terminal ? redraw_seconds : plain_seconds)) return;
    p->shown = now;
    draw_count(p, share);
}

void count_progress_step(CountProgress *p, int done, int skipped) {
    p->done = done, p->skipped = skipped;
    count_progress_part(p, 0);
}

void count_progress_end(CountProgress *p) {
    if (p->on && p->terminal) fprintf(stderr, "\r\033[K");
    fflush(stderr);
}
