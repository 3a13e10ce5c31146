// A run for ParaView: its frames as VTP files, and run.pvd, which names them with their times.
//
//   DIR/paraview/run.pvd
//   DIR/paraview/particles_000000.vtp   position, velocity, id, and what else the particles carry
//   DIR/paraview/surface_000000.vtp     triangles, normals, velocity; where there is a surface
//   DIR/paraview/foam_000000.vtp        velocity, id, type, age, life, size; where there is foam
//   DIR/fields/000000.vti               as they are
#include "base/error.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/vtp.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static BrimResult no_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for a frame for ParaView");
}

static bool is_there(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

// --------------------------------------------------------------------------------- three kinds

static VtpArray vector(const char *name, const float *x, const float *y, const float *z,
                       size_t stride) {
    return (VtpArray){name, VTP_FLOAT32, 3, {x, y, z}, stride};
}

static VtpArray number(const char *name, VtpType type, const void *values, size_t stride) {
    return (VtpArray){name, type, 1, {values}, stride};
}

static BrimResult write_particles(const char *from, const char *to, int frame, double time,
                                  BrimError *error) {
    BrimFrame f;
    BrimResult result = brim_frame_read_all(from, &f, error);
    if (result != BRIM_OK) return result;
    enum { STEP = sizeof(float) };
    VtpData d = {.points = f.count, .position = vector("", f.x, f.y, f.z, STEP)};
    d.array[d.array_count++] = vector("velocity", f.vx, f.vy, f.vz, STEP);
    d.array[d.array_count++] = number("id", VTP_UINT32, f.id, STEP);
    for (int i = 0; i < f.extra_count; i++)
        d.array[d.array_count++] = number(
            f.extra_name[i], f.extra[i].whole ? VTP_UINT32 : VTP_FLOAT32, f.extra[i].values, STEP);
    result = vtp_write(&d, time, frame, to, error);
    brim_frame_free(&f);
    return result;
}

static BrimResult write_surface(const char *from, const char *to, int frame, double time,
                                BrimError *error) {
    BrimMesh m;
    BrimResult result = brim_mesh_read(from, &m, error);
    if (result == BRIM_OK) result = brim_write_mesh(&m, time, frame, BRIM_MESH_VTP, to, error);
    brim_mesh_free(&m);
    return result;
}

static BrimResult write_foam(const char *from, const char *to, int frame, double time,
                             BrimError *error) {
    BrimFoamFrame f;
    BrimResult result = brim_foam_read(from, &f, error);
    if (result != BRIM_OK) return result;
    enum { STEP = sizeof(BrimFoamParticle) };
    const BrimFoamParticle *p = f.particle, none = {0};
    if (!f.count) p = &none;
    VtpData d = {.points = f.count,
                 .position = vector("", p->position, p->position + 1, p->position + 2, STEP),
                 .array = {vector("velocity", p->velocity, p->velocity + 1, p->velocity + 2, STEP),
                           number("id", VTP_UINT32, &p->id, STEP),
                           number("type", VTP_UINT8, &p->type, STEP),
                           number("age", VTP_FLOAT32, &p->age, STEP),
                           number("life", VTP_FLOAT32, &p->life, STEP),
                           number("size", VTP_FLOAT32, &p->size, STEP)},
                 .array_count = 6};
    result = vtp_write(&d, time, frame, to, error);
    brim_foam_free(&f);
    return result;
}

typedef BrimResult (*Convert)(const char *from, const char *to, int frame, double time,
                              BrimError *error);

/// Parts of a frame: sub-folders of the run and beginnings of names here.
static const struct {
    const char *name;
    Convert convert;
} kinds[] = {{"particles", write_particles}, {"surface", write_surface}, {"foam", write_foam}};
enum { KINDS = sizeof kinds / sizeof *kinds, FIELDS = KINDS };

// ---------------------------------------------------------------------------------- collection

/// A file of the series.
typedef struct Entry {
    int frame, kind; ///< FIELDS: a .vti or .vts
    bool warped;
} Entry;

typedef struct Series {
    Entry *entry;
    size_t count, capacity;
    bool fields, out_of_memory;
} Series;

static bool note_entry(const char *name, void *context) {
    Series *s = context;
    Entry e = {.kind = s->fields ? FIELDS : 0};
    bool found = false;
    int used = 0;
    if (s->fields) found = sscanf(name, "%6d.vti%n", &e.frame, &used) == 1 && used && !name[used];
    if (s->fields && !found) {
        used = 0;
        found = sscanf(name, "%6d.vts%n", &e.frame, &used) == 1 && used && !name[used];
        e.warped = found;
    }
    for (int k = 0; k < KINDS && !s->fields && !found; k++) {
        size_t n = strlen(kinds[k].name);
        if (strncmp(name, kinds[k].name, n) != 0) continue;
        e.kind = k, used = 0;
        found =
            sscanf(name + n, "_%6d.vtp%n", &e.frame, &used) == 1 && used && !name[n + (size_t)used];
    }
    if (!found || e.frame < 0) return true;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 64;
        Entry *larger = realloc(s->entry, capacity * sizeof *larger);
        s->out_of_memory = !larger;
        if (!larger) return false;
        s->entry = larger, s->capacity = capacity;
    }
    s->entry[s->count++] = e;
    return true;
}

static int by_time(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->frame != y->frame) return x->frame < y->frame ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/// Whether `to` lies in the folder `run`, so that "../fields" are its fields.
static bool is_inside(const char *run, const char *to) {
    struct stat a, b;
    char *above = path_new("%s/..", to);
    bool inside = above && stat(run, &a) == 0 && stat(above, &b) == 0 && a.st_dev == b.st_dev &&
                  a.st_ino == b.st_ino;
    free(above);
    return inside;
}

static BrimResult list_series(Series *s, const char *run, const char *to, BrimError *error) {
    if (!folder_visit(to, note_entry, s) && !s->out_of_memory)
        return file_fail(error, "read the folder", to, errno);
    char *fields = path_new("%s/fields", run);
    s->fields = true;
    if (fields && is_inside(run, to)) folder_visit(fields, note_entry, s);
    s->out_of_memory |= !fields;
    free(fields);
    if (s->out_of_memory) return no_memory(error);
    if (s->count) qsort(s->entry, s->count, sizeof *s->entry, by_time);
    return BRIM_OK;
}

static BrimResult write_pvd(const Series *s, double frame_rate, const char *path,
                            BrimError *error) {
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    file_print(w, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n"
                  "<Collection>\n");
    for (size_t i = 0; i < s->count; i++) {
        const Entry *e = &s->entry[i];
        file_print(w, "<DataSet timestep=\"%.17g\" part=\"%d\" name=\"%s\" file=\"",
                   e->frame / frame_rate, e->kind,
                   e->kind == FIELDS ? "fields" : kinds[e->kind].name);
        if (e->kind == FIELDS)
            file_print(w, "../fields/%06d.%s", e->frame, e->warped ? "vts" : "vti");
        else
            file_print(w, "%s_%06d.vtp", kinds[e->kind].name, e->frame);
        file_print(w, "\"/>\n");
    }
    file_print(w, "</Collection>\n</VTKFile>\n");
    return file_commit(&w, error);
}

// -------------------------------------------------------------------------------------- public

BrimResult brim_write_paraview(const char *run, const char *to, int frame, double frame_rate,
                               BrimError *error) {
    NEED(run, error);
    NEED(to, error);
    if (frame < 0 || frame > 999999 || !(frame_rate > 0))
        return fail(error, BRIM_ERROR_INPUT,
                    "brim_write_paraview: frame %d at %g frames a second is not allowed", frame,
                    frame_rate);
    BrimResult result = BRIM_OK;
    for (int k = 0; k < KINDS && result == BRIM_OK; k++) {
        char *from = path_new("%s/%s/%06d.ply", run, kinds[k].name, frame);
        char *path = path_new("%s/%s_%06d.vtp", to, kinds[k].name, frame);
        if (!from || !path)
            result = no_memory(error);
        else if (k == 0 || is_there(from))
            result = kinds[k].convert(from, path, frame, frame / frame_rate, error);
        free(from), free(path);
    }
    Series series = {0};
    char *path = path_new("%s/run.pvd", to);
    if (result == BRIM_OK) result = path ? list_series(&series, run, to, error) : no_memory(error);
    if (result == BRIM_OK) result = write_pvd(&series, frame_rate, path, error);
    free(path), free(series.entry);
    return result;
}
