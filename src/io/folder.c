#include "io/folder.h"
#include "base/error.h"
#include "io/file.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINTS "checkpoints"
#define PARTICLES "particles"
#define FIELDS "fields"
#define SURFACE "surface"
#define FOAM "foam"
#define BODIES "bodies"
#define VDB "vdb"
#define PARAVIEW "paraview"
#define GAUGES "gauges"
#define DAMAGED_SUFFIX ".damaged"

char *checkpoint_path(const char *folder, int64_t step) {
    return path_new("%s/" CHECKPOINTS "/step-%08lld.brim", folder, (long long)step);
}

char *particles_path(const char *folder, int frame) {
    return path_new("%s/" PARTICLES "/%06d.ply", folder, frame);
}

char *fields_path(const char *folder, int frame, bool warped) {
    return path_new("%s/" FIELDS "/%06d.%s", folder, frame, warped ? "vts" : "vti");
}

char *bodies_path(const char *folder, int frame, const char *ending) {
    return path_new("%s/" BODIES "/%06d.%s", folder, frame, ending);
}

char *surface_path(const char *folder, int frame, BrimMeshFormat format) {
    return path_new("%s/" SURFACE "/%06d.%s", folder, frame,
                    format == BRIM_MESH_OBJ ? "obj" : "ply");
}

char *foam_path(const char *folder, int frame) {
    return path_new("%s/" FOAM "/%06d.ply", folder, frame);
}

char *vdb_path(const char *folder, int frame) {
    return path_new("%s/" VDB "/%06d.vdb", folder, frame);
}

char *paraview_path(const char *folder) {
    return path_new("%s/" PARAVIEW, folder);
}

char *gauge_path(const char *folder, const char *name) {
    return path_new("%s/" GAUGES "/%s.csv", folder, name);
}

static BrimResult no_memory(const char *folder, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory while reading the folder '%s'", folder);
}

// --------------------------------------------------------------------------- whose file it is

/// Length of `name` without `suffix`, or its whole length when it ends otherwise.
static size_t without(const char *name, size_t length, const char *suffix) {
    size_t n = strlen(suffix);
    bool ends = length > n && strncmp(name + length - n, suffix, n) == 0;
    return ends ? length - n : length;
}

/// `name` is PREFIX, then at least `digits` digits, then SUFFIX. *number may be NULL.
static bool is_numbered(const char *name, size_t length, const char *prefix, size_t digits,
                        const char *suffix, int64_t *number) {
    size_t before = strlen(prefix), end = without(name, length, suffix);
    if (end == length || strncmp(name, prefix, before) != 0) return false;
    if (end < before + digits || end > before + 18) return false;
    int64_t value = 0;
    for (size_t i = before; i < end; i++) {
        if (!isdigit((unsigned char)name[i])) return false;
        value = value * 10 + (name[i] - '0');
    }
    if (number) *number = value;
    return true;
}

static bool is_checkpoint(const char *name, size_t length, int64_t *step) {
    return is_numbered(name, length, "step-", 8, ".brim", step);
}

static bool is_temporary(const char *name) {
    size_t length = strlen(name);
    return without(name, length, FILE_TEMP_SUFFIX) < length;
}

/// A file that a run wrote into its sub-folder `part`; "" is the folder itself.
static bool is_ours(const char *part, const char *name) {
    size_t n = without(name, strlen(name), FILE_TEMP_SUFFIX);
    if (strcmp(part, PARTICLES) == 0 || strcmp(part, FOAM) == 0)
        return is_numbered(name, n, "", 6, ".ply", NULL);
    if (strcmp(part, VDB) == 0) return is_numbered(name, n, "", 6, ".vdb", NULL);
    if (strcmp(part, PARAVIEW) == 0)
        return is_numbered(name, n, "particles_", 6, ".vtp", NULL) ||
               is_numbered(name, n, "surface_", 6, ".vtp", NULL) ||
               is_numbered(name, n, "foam_", 6, ".vtp", NULL) ||
               (n == 7 && strncmp(name, "run.pvd", n) == 0);
    if (strcmp(part, FIELDS) == 0)
        return is_numbered(name, n, "", 6, ".vti", NULL) ||
               is_numbered(name, n, "", 6, ".vts", NULL);
    if (strcmp(part, SURFACE) == 0)
        return is_numbered(name, n, "", 6, ".ply", NULL) ||
               is_numbered(name, n, "", 6, ".obj", NULL);
    if (strcmp(part, BODIES) == 0)
        return is_numbered(name, n, "", 6, ".ply", NULL) ||
               is_numbered(name, n, "", 6, ".csv", NULL);
    if (strcmp(part, GAUGES) == 0) return without(name, n, ".csv") < n;
    if (strcmp(part, CHECKPOINTS) == 0)
        return is_checkpoint(name, without(name, n, DAMAGED_SUFFIX), NULL);
    return (n == 8 && strncmp(name, "run.json", n) == 0) ||
           (n == 9 && strncmp(name, "stats.csv", n) == 0);
}

// ------------------------------------------------------------------------------------ state

static bool see_entry(const char *name, void *context) {
    FolderState *state = context;
    if (strcmp(name, "run.json") == 0)
        *state = FOLDER_RUN;
    else if (!(is_temporary(name) && is_ours("", name)))
        *state = FOLDER_OTHER;
    return *state != FOLDER_RUN;
}

BrimResult folder_state(const char *folder, FolderState *state, BrimError *error) {
    *state = FOLDER_EMPTY;
    if (folder_visit(folder, see_entry, state)) return BRIM_OK;
    if (errno != ENOENT) return file_fail(error, "use the folder", folder, errno);
    *state = FOLDER_MISSING;
    return BRIM_OK;
}

BrimResult folder_lock(const char *folder, int *lock, BrimError *error) {
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) return file_fail(error, "use the folder", folder, errno);
    // Other failures: a file system without locks, where there is nothing to ask.
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return BRIM_OK;
    close(*lock);
    *lock = -1;
    return fail(error, BRIM_ERROR_INPUT,
                "another run is writing into '%s': wait for it to end or choose another folder",
                folder);
}

static BrimResult make_part(const char *folder, const char *part, BrimError *error) {
    char *path = path_new("%s/%s", folder, part);
    if (!path) return no_memory(folder, error);
    BrimResult result = folder_make(path, error);
    free(path);
    return result;
}

BrimResult folder_prepare(const char *folder, const BrimOutputDef *output, bool bodies, bool gauges,
                          BrimError *error) {
    BrimResult result = make_part(folder, CHECKPOINTS, error);
    if (result == BRIM_OK && output->particles) result = make_part(folder, PARTICLES, error);
    if (result == BRIM_OK && output->fields) result = make_part(folder, FIELDS, error);
    if (result == BRIM_OK && output->surface != BRIM_SURFACE_OUTPUT_NONE)
        result = make_part(folder, SURFACE, error);
    if (result == BRIM_OK && output->foam) result = make_part(folder, FOAM, error);
    if (result == BRIM_OK && bodies) result = make_part(folder, BODIES, error);
    if (result == BRIM_OK && output->vdb) result = make_part(folder, VDB, error);
    if (result == BRIM_OK && output->paraview) result = make_part(folder, PARAVIEW, error);
    if (result == BRIM_OK && gauges) result = make_part(folder, GAUGES, error);
    return result == BRIM_OK ? folder_sync(folder, error) : result;
}

// ---------------------------------------------------------------------------------- removal

typedef struct Removal {
    const char *folder, *part; ///< part: "particles", or "" for the folder itself
    bool temporary_only;
    int failure; ///< errno
    char *path;  ///< that could not be removed
} Removal;

static bool remove_entry(const char *name, void *context) {
    Removal *r = context;
    if (!is_ours(r->part, name) || (r->temporary_only && !is_temporary(name))) return true;
    // Last of all, so that a removal cut short can be repeated.
    if (!r->temporary_only && strcmp(name, "run.json") == 0) return true;
    char *path = path_new("%s/%s/%s", r->folder, r->part, name);
    if (path && unlink(path) == 0) {
        free(path);
        return true;
    }
    r->failure = path ? errno : ENOMEM;
    r->path = path;
    return false;
}

static BrimResult remove_from(const char *folder, const char *part, bool temporary_only,
                              BrimError *error) {
    char *path = path_new("%s/%s", folder, part);
    if (!path) return no_memory(folder, error);
    Removal r = {.folder = folder, .part = part, .temporary_only = temporary_only};
    BrimResult result = BRIM_OK;
    if (!folder_visit(path, remove_entry, &r) && !r.failure && errno != ENOENT)
        result = file_fail(error, "read the folder", path, errno);
    if (r.failure) result = file_fail(error, "remove", r.path ? r.path : path, r.failure);
    // Fails, as it should, for a folder that still holds files of others.
    if (!temporary_only && *part) rmdir(path);
    free(r.path), free(path);
    return result;
}

/// Checkpoints first: a run whose removal was cut short can then not be resumed from where its
/// frames are gone.
static const char *const parts[] = {CHECKPOINTS, PARTICLES, FIELDS,   SURFACE, FOAM,
                                    BODIES,      VDB,       PARAVIEW, GAUGES,  ""};
enum { PARTS = sizeof parts / sizeof parts[0] };

BrimResult folder_empty(const char *folder, BrimError *error) {
    BrimResult result = BRIM_OK;
    for (int i = 0; i < PARTS && result == BRIM_OK; i++) {
        result = remove_from(folder, parts[i], false, error);
        if (i == 0 && result == BRIM_OK) folder_sync(folder, NULL);
    }
    return result;
}

BrimResult folder_clear(const char *folder, BrimError *error) {
    BrimResult result = folder_empty(folder, error);
    if (result != BRIM_OK) return result;
    char *path = path_new("%s/run.json", folder);
    if (!path) return no_memory(folder, error);
    if (unlink(path) != 0 && errno != ENOENT) result = file_fail(error, "remove", path, errno);
    free(path);
    return result;
}

void folder_sweep(const char *folder) {
    for (int i = 0; i < PARTS; i++) remove_from(folder, parts[i], true, NULL);
}

// ----------------------------------------------------------------------------------- frames

/// A frame later than the first, which every run writes before its first step.
static bool see_frame(const char *name, void *context) {
    static const char *const suffix[] = {".ply", ".vti", ".obj", ".vdb", ".vts"};
    bool *any = context;
    int64_t number;
    for (int i = 0; i < 5; i++)
        *any |= is_numbered(name, strlen(name), "", 6, suffix[i], &number) && number > 0;
    return !*any;
}

BrimResult folder_has_frames(const char *folder, bool *any, BrimError *error) {
    static const char *const with[] = {PARTICLES, FIELDS, SURFACE, VDB};
    BrimResult result = BRIM_OK;
    *any = false;
    for (int i = 0; i < 4 && result == BRIM_OK; i++) {
        char *path = path_new("%s/%s", folder, with[i]);
        if (!path) return no_memory(folder, error);
        if (!folder_visit(path, see_frame, any) && errno != ENOENT)
            result = file_fail(error, "read the folder", path, errno);
        free(path);
    }
    return result;
}

// ------------------------------------------------------------------------------ checkpoints

typedef struct StepList {
    int64_t *steps;
    int count, capacity;
    bool out_of_memory;
} StepList;

static bool list_entry(const char *name, void *context) {
    StepList *list = context;
    int64_t step;
    if (!is_checkpoint(name, strlen(name), &step)) return true;
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 16;
        int64_t *larger = realloc(list->steps, (size_t)capacity * sizeof *larger);
        list->out_of_memory = !larger;
        if (!larger) return false;
        list->steps = larger, list->capacity = capacity;
    }
    list->steps[list->count++] = step;
    return true;
}

static int newest_first(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

BrimResult folder_checkpoints(const char *folder, int64_t **steps, int *count, BrimError *error) {
    *steps = NULL, *count = 0;
    char *path = path_new("%s/" CHECKPOINTS, folder);
    if (!path) return no_memory(folder, error);
    StepList list = {0};
    BrimResult result = BRIM_OK;
    if (!folder_visit(path, list_entry, &list) && errno != ENOENT)
        result = file_fail(error, "read the folder", path, errno);
    if (list.out_of_memory) result = no_memory(folder, error);
    free(path);
    if (result != BRIM_OK) {
        free(list.steps);
        return result;
    }
    if (list.count) qsort(list.steps, (size_t)list.count, sizeof *list.steps, newest_first);
    *steps = list.steps, *count = list.count;
    return BRIM_OK;
}

void folder_prune(const char *folder) {
    int64_t *steps;
    int count;
    if (folder_checkpoints(folder, &steps, &count, NULL) != BRIM_OK) return;
    for (int i = 2; i < count; i++) {
        char *path = checkpoint_path(folder, steps[i]);
        if (path) unlink(path);
        free(path);
    }
    free(steps);
}
