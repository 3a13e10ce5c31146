// brim info: a checkpoint, a frame or its fields in a few lines.
#include "base/error.h"
#include "io/checkpoint.h"
#include "io/file.h"
#include "io/ply.h"
#include "io/vti.h"
#include "vdb/vdb.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/// Text that fills a buffer and stops at its end.
typedef struct Text {
    char *at;
    size_t left;
} Text;

static void say(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(Text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (n < 0 || !t->left) return;
    size_t used = (size_t)n < t->left ? (size_t)n : t->left - 1;
    t->at += used, t->left -= used;
}

static const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

// ------------------------------------------------------------------------------ checkpoints

static void say_sections(Text *t, const Checkpoint *c) {
    say(t, "\nsections      bytes, stored as");
    uint64_t raw = 0, stored = 0;
    const CheckpointEntry *e;
    for (int i = 0; (e = checkpoint_section(c, i)); i++) {
        say(t, "\n  %-15s %14llu %14llu", e->name, (unsigned long long)e->raw_bytes,
            (unsigned long long)e->stored_bytes);
        raw += e->raw_bytes, stored += e->stored_bytes;
    }
    say(t, "\n  %-15s %14llu %14llu", "together", (unsigned long long)raw,
        (unsigned long long)stored);
}

static void say_meta(Text *t, const CheckpointMeta *m) {
    say(t, "\ntime          %.6g s, step %lld, frame %d", m->time, (long long)m->step, m->frame);
    say(t, "\ndomain        %d x %d", m->cells[0], m->cells[1]);
    if (m->dim == 3) say(t, " x %d", m->cells[2]);
    say(t, " cells\nparticles     %lld = %lld seeded + %lld emitted - %lld drained - %lld left",
        (long long)m->particles, (long long)m->seeded, (long long)m->emitted, (long long)m->drained,
        (long long)m->left);
    // numbers of a damaged file may be anything: unsigned sums do not overflow
    uint64_t due =
        (uint64_t)m->seeded + (uint64_t)m->emitted - (uint64_t)m->drained - (uint64_t)m->left;
    long long resampled = (long long)((uint64_t)m->particles - due);
    if (resampled) say(t, " %+lld by the narrow band", resampled);
}

static BrimResult describe_checkpoint(const char *path, Text *t, BrimError *error) {
    Checkpoint *c;
    BrimResult result = checkpoint_open(path, &c, error);
    if (result != BRIM_OK) return result;
    say(t, "Brim checkpoint, format %d, all checksums right", CHECKPOINT_VERSION);
    CheckpointMeta meta;
    size_t bytes;
    if (checkpoint_find(c, CHECKPOINT_META, &bytes) && bytes == sizeof meta) {
        result = checkpoint_read(c, CHECKPOINT_META, &meta, sizeof meta, error);
        if (result == BRIM_OK) say_meta(t, &meta);
    }
    if (result == BRIM_OK) say_sections(t, c);
    checkpoint_close(&c);
    return result;
}

// ---------------------------------------------------------------------------------- frames

static void say_range(Text *t, const char *name, const float *values, size_t n) {
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) low = fminf(low, values[i]), high = fmaxf(high, values[i]);
    say(t, "\n  %s           %.6g to %.6g m", name, (double)low, (double)high);
}

static void say_values(Text *t, const BrimFrame *f, bool surface) {
    double fastest = 0;
    uint32_t low = UINT32_MAX, high = 0;
    size_t not_numbers = 0;
    for (size_t i = 0; i < f->count; i++) {
        double vx = f->vx[i], vy = f->vy[i], vz = f->vz[i];
        double speed = sqrt(vx * vx + vy * vy + vz * vz);
        fastest = fmax(fastest, speed);
        low = f->id[i] < low ? f->id[i] : low, high = f->id[i] > high ? f->id[i] : high;
        not_numbers += !isfinite(speed + (double)f->x[i] + (double)f->y[i] + (double)f->z[i]);
    }
    if (!surface) say(t, "\nids           %u to %u", low, high);
    say(t, "\nfastest       %.6g m/s\nbounding box", fastest);
    say_range(t, "x", f->x, f->count);
    say_range(t, "y", f->y, f->count);
    say_range(t, "z", f->z, f->count);
    if (not_numbers)
        say(t, "\nWARNING: %zu %s%s with values that are not numbers", not_numbers,
            surface ? "point" : "particle", plural((int64_t)not_numbers));
}

static BrimResult describe_frame(FILE *in, uint64_t bytes, const char *path, Text *t,
                                 BrimError *error) {
    BrimFrame frame;
    PlyNotes notes;
    BrimResult result = ply_read(in, bytes, path, &frame, &notes, error);
    if (result != BRIM_OK) return result;
    say(t, "%s, binary PLY", notes.surface ? "surface" : notes.foam ? "foam" : "particle frame");
    if (*notes.version) say(t, " by Brim %s", notes.version);
    if (notes.frame >= 0) say(t, "\nframe         %d", notes.frame);
    if (isfinite(notes.time)) say(t, "\ntime          %.6g s", notes.time);
    say(t, "\n%-13s %zu", notes.surface ? "points" : "particles", frame.count);
    if (frame.interior) say(t, "\ninterior      %zu cells below the band", frame.interior_count);
    if (frame.bend) say(t, "\nbend          %zu nodes of a warped grid", frame.bend_count);
    if (notes.surface) say(t, "\nfaces         %llu", (unsigned long long)notes.faces);
    if (notes.foam)
        say(t,
            "\n  spray       %lld\n  foam        %lld\n  bubbles     %lld\nborn          %lld "
            "since the frame before, %lld gone",
            (long long)notes.spray, (long long)notes.foams, (long long)notes.bubbles,
            (long long)notes.born, (long long)notes.gone);
    if (frame.count) say_values(t, &frame, notes.surface);
    brim_frame_free(&frame);
    return BRIM_OK;
}

// ---------------------------------------------------------------------------------- fields

static const char *unit_of(const char *field) {
    static const char *const units[][2] = {{"pressure", "Pa"},
                                           {"velocity", "m/s"},
                                           {"level_set", "m"},
                                           {"density", "of rest density"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(field, units[i][0]) == 0) return units[i][1];
    return "";
}

static BrimResult describe_fields(FILE *in, uint64_t bytes, const char *path, Text *t,
                                  BrimError *error) {
    VtiFile v;
    BrimResult result = vti_read(in, bytes, path, &v, error);
    if (result != BRIM_OK) return result;
    const int *e = v.extent;
    say(t, "fields, VTK image data");
    if (*v.version) say(t, " by Brim %s", v.version);
    if (v.frame >= 0) say(t, "\nframe         %d", v.frame);
    if (isfinite(v.time)) say(t, "\ntime          %.6g s", v.time);
    say(t, "\ncells         %d x %d", e[1] - e[0], e[3] - e[2]);
    if (e[5] > e[4]) say(t, " x %d", e[5] - e[4]);
    say(t, " of %.6g m", v.cell);
    if (e[0] || e[2] || e[4]) say(t, ", from cell %d, %d, %d on", e[0], e[2], e[4]);
    for (int i = 0; i < v.count; i++) {
        const VtiField *f = &v.field[i];
        say(t, "\n%-13s %.6g to %.6g %s", f->name, (double)f->low, (double)f->high,
            unit_of(f->name));
        if (f->components > 1) say(t, ", %d components", f->components);
        if (f->not_numbers)
            say(t, "\nWARNING: %llu values of %s are not numbers",
                (unsigned long long)f->not_numbers, f->name);
    }
    return BRIM_OK;
}

// --------------------------------------------------------------------------------- OpenVDB

#ifdef BRIM_HAVE_VDB
static BrimResult describe_vdb(const char *path, Text *t, BrimError *error) {
    VdbFile *file;
    BrimResult result = vdb_open(path, &file, error);
    if (result != BRIM_OK) return result;
    say(t, "OpenVDB file");
    if (*vdb_creator(file)) say(t, " by %s", vdb_creator(file));
    if (vdb_frame(file) >= 0) say(t, "\nframe         %d", vdb_frame(file));
    if (isfinite(vdb_time(file))) say(t, "\ntime          %.6g s", vdb_time(file));
    for (int i = 0; i < vdb_grid_count(file); i++) {
        VdbGrid g = vdb_grid(file, i);
        say(t, "\n%-13s %s, %s%s%s, %llu voxels of %.6g m", g.name, g.kind, g.type,
            *g.unit ? ", " : "", g.unit, (unsigned long long)g.active, g.voxel);
        if (!g.active) continue;
        for (int a = 0; a < 3; a++)
            say(t, "\n  %c           %.6g to %.6g m", "xyz"[a], g.low[a], g.high[a]);
    }
    vdb_close(&file);
    return BRIM_OK;
}
#else
static BrimResult describe_vdb(const char *path, Text *t, BrimError *error) {
    return fail(error, BRIM_ERROR_MISSING,
                "'%s': this build of Brim cannot read OpenVDB files (scripts/setup.sh --vdb, make)",
                path);
}
#endif

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

BrimResult brim_describe_file(const char *path, char *text, size_t text_size, BrimError *error) {
    NEED(path, error);
    NEED(text, error);
    Text t = {text, text_size};
    if (text_size) *text = 0;
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    char start[8] = {0};
    size_t n = fread(start, 1, sizeof start, in);
    rewind(in);
    if (ends_with(path, ".ply") || (n >= 4 && strncmp(start, "ply", 3) == 0))
        result = describe_frame(in, bytes, path, &t, error);
    else if (ends_with(path, ".brim") || memcmp(start, CHECKPOINT_MAGIC, sizeof start) == 0)
        result = describe_checkpoint(path, &t, error);
    else if (ends_with(path, ".vti"))
        result = describe_fields(in, bytes, path, &t, error);
    else if (ends_with(path, ".vdb"))
        result = describe_vdb(path, &t, error);
    else
        result = fail(error, BRIM_ERROR_INPUT,
                      "'%s' is neither a checkpoint of Brim nor a frame (.ply, .vti, .vdb)", path);
    fclose(in);
    return result;
}
