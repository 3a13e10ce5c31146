// The contact sheet: frames spread evenly over the run, drawn as PNG and put into the page.
#include "page.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// -------------------------------------------------------------------------------- base64

static void put_base64(FILE *out, const unsigned char *data, size_t bytes) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        unsigned v = (unsigned)data[i] << 16;
        if (left > 1) v |= (unsigned)data[i + 1] << 8;
        if (left > 2) v |= data[i + 2];
        fputc(digit[v >> 18], out);
        fputc(digit[v >> 12 & 63], out);
        fputc(left > 1 ? digit[v >> 6 & 63] : '=', out);
        fputc(left > 2 ? digit[v & 63] : '=', out);
    }
}

static bool put_file(FILE *out, const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    unsigned char buffer[3 * 4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;) put_base64(out, buffer, n);
    bool good = !ferror(in);
    fclose(in);
    return good;
}

// ------------------------------------------------------------------------------- crowding

static int by_index(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t cell_of(const BrimSimDef *def, const BrimFrame *frame, size_t i) {
    const float at[3] = {frame->x[i], frame->y[i], frame->z[i]};
    const float size[3] = {def->size.x, def->size.y, def->size.z};
    uint64_t index = 0;
    for (int k = 2; k >= 0; k--) {
        int cells = def->cells[k];
        int c = size[k] > 0 ? (int)floorf(at[k] / size[k] * (float)cells) : 0;
        index = index * (uint64_t)cells + (uint64_t)(c < 0 ? 0 : c >= cells ? cells - 1 : c);
    }
    return index;
}

static void count_cell(Crowding *c, size_t particles) {
    size_t bin = particles / (size_t)c->unit, last = (size_t)c->bins - 1;
    c->cells++;
    c->compressed += (double)particles > 1.5 * c->full;
    if (particles > c->most) c->most = particles;
    c->share[bin < last ? bin : last]++;
}

static void find_crowding(Crowding *c, const BrimSimDef *def, const BrimFrame *frame) {
    *c = (Crowding){.full = def->particles_per_cell};
    c->unit = (def->particles_per_cell + 31) / 32;
    c->bins = 4 * def->particles_per_cell / c->unit + 1;
    uint64_t *cell = malloc((frame->count ? frame->count : 1) * sizeof *cell);
    if (!cell) return;
    for (size_t i = 0; i < frame->count; i++) cell[i] = cell_of(def, frame, i);
    qsort(cell, frame->count, sizeof *cell, by_index);
    for (size_t first = 0, end; first < frame->count; first = end) {
        for (end = first; end < frame->count && cell[end] == cell[first];) end++;
        count_cell(c, end - first);
    }
    free(cell);
    for (int i = 0; i < c->bins; i++) {
        c->edge[i] = (i - 0.5) * c->unit / c->full;
        c->share[i] *= c->cells ? 100.0 / (double)c->cells : 0;
    }
    c->known = c->cells > 0;
}

// ------------------------------------------------------------------------------- pictures

/// A speed that one particle in a hundred exceeds: the top of the common colour scale.
static double high_speed(const BrimFrame *frame) {
    enum { BINS = 4096 };
    size_t bins[BINS] = {0}, above = 0;
    double top = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < frame->count; i++) {
            double v =
                sqrt((double)frame->vx[i] * frame->vx[i] + (double)frame->vy[i] * frame->vy[i] +
                     (double)frame->vz[i] * frame->vz[i]);
            if (pass == 0)
                top = fmax(top, v);
            else
                bins[(int)fmin(v / top * (BINS - 1), BINS - 1)]++;
        }
        if (!(top > 0)) return 0;
    }
    for (int b = BINS - 1; b > 0; b--) {
        above += bins[b];
        if (above * 100 >= frame->count) return top * (b + 1) / BINS;
    }
    return top / BINS;
}

typedef struct Strip {
    Page *page;
    int *frames, count; ///< chosen ones
    BrimPictureDef picture;
    char *picture_path; ///< a temporary file
} Strip;

static int read_frame(const Strip *s, int index, BrimFrame *frame) {
    char *path = NULL;
    BrimError error;
    *frame = (BrimFrame){0};
    if (asprintf(&path, "%s/particles/%06d.ply", s->page->run->folder, s->frames[index]) < 0) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    int code = EXIT_DONE;
    if (brim_frame_read(path, frame, &error) != BRIM_OK) code = report_result(&error, false);
    free(path);
    return code;
}

/// The foam of a frame; none when the run has none.
static BrimResult read_foam(const Strip *s, int index, BrimFoamFrame *foam, BrimError *error) {
    char path[PATH_MAX];
    *foam = (BrimFoamFrame){0};
    int n = snprintf(path, sizeof path, "%s/foam/%06d.ply", s->page->run->folder, s->frames[index]);
    return n < PATH_MAX && access(path, F_OK) == 0 ? brim_foam_read(path, foam, error) : BRIM_OK;
}

/// The colour scale that all pictures share.
static int find_scale(Strip *s) {
    for (int i = 0; i < s->count; i++) {
        BrimFrame frame;
        int code = read_frame(s, i, &frame);
        if (code != EXIT_DONE) return code;
        s->picture.high = fmax(s->picture.high, high_speed(&frame));
        if (i == s->count - 1) find_crowding(&s->page->crowding, s->page->def, &frame);
        brim_frame_free(&frame);
    }
    return EXIT_DONE;
}

static int put_picture(Strip *s, int index, bool *missing) {
    BrimFrame frame;
    BrimError error;
    FILE *out = s->page->out;
    int code = read_frame(s, index, &frame);
    if (code != EXIT_DONE) return code;
    double time = s->frames[index] / s->page->def->frame_rate;
    BrimPictureDef picture = s->picture;
    BrimFoamFrame foam;
    BrimResult result = read_foam(s, index, &foam, &error);
    picture.foam = &foam;
    if (result == BRIM_OK)
        result =
            brim_write_picture(s->page->def, &frame, NULL, time, &picture, s->picture_path, &error);
    brim_foam_free(&foam);
    brim_frame_free(&frame);
    if (result == BRIM_ERROR_MISSING) {
        *missing = true;
        return EXIT_DONE;
    }
    if (result != BRIM_OK) return report_result(&error, false);
    fprintf(out,
            "<figure><img alt=\"frame %d\" width=\"%d\" height=\"%d\" "
            "src=\"data:image/png;base64,",
            s->frames[index], s->picture.width, s->picture.height);
    if (!put_file(out, s->picture_path)) {
        report_error("%s: %s", s->picture_path, strerror(errno));
        return EXIT_IO;
    }
    fprintf(out, "\"><figcaption>frame %d, %.4g s</figcaption></figure>\n", s->frames[index], time);
    return EXIT_DONE;
}

/// An empty file to draw into, where temporary files belong.
static int make_temporary(char **path) {
    const char *folder = getenv("TMPDIR");
    if (asprintf(path, "%s/brim-report-XXXXXX.png", folder && *folder ? folder : "/tmp") < 0) {
        *path = NULL;
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    int descriptor = mkstemps(*path, 4);
    if (descriptor >= 0) {
        close(descriptor);
        return EXIT_DONE;
    }
    report_error("cannot make the temporary file %s: %s", *path, strerror(errno));
    return EXIT_IO;
}

static int put_pictures(Strip *s) {
    bool missing = false;
    int code = make_temporary(&s->picture_path);
    if (code == EXIT_DONE) {
        fputs("<div class=\"frames\">\n", s->page->out);
        for (int i = 0; i < s->count && code == EXIT_DONE && !missing; i++)
            code = put_picture(s, i, &missing);
        fputs("</div>\n", s->page->out);
        if (missing) fputs("<p>No pictures: this build of Brim has no libpng.</p>\n", s->page->out);
        unlink(s->picture_path);
    }
    free(s->picture_path);
    return code;
}

int page_frames(Page *page, int most, int width, int height) {
    Strip s = {.page = page, .picture = brim_default_picture_def()};
    int all = 0, *found = NULL;
    int code = run_frames(page->run, &found, &all);
    if (code != EXIT_DONE) return code;
    s.picture.width = width, s.picture.height = height;
    s.frames = found, s.count = all < most ? all : most;
    // evenly over the run, first and last among them
    for (int i = 0; i < s.count; i++)
        s.frames[i] = found[s.count > 1 ? (int)((int64_t)i * (all - 1) / (s.count - 1)) : all - 1];
    if (s.count == 0)
        fputs("<p>The run wrote no particle frames (output.particles).</p>\n", page->out);
    code = find_scale(&s);
    if (code == EXIT_DONE && s.count > 0) code = put_pictures(&s);
    free(found);
    return code;
}
