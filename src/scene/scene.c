#include "base/error.h"
#include "scene/cells.h"
#include "scene/check.h"
#include "scene/read.h"
#include "scene/write.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct BrimScene {
    Pool pool; ///< all that def points to
    BrimSimDef def;
    char *json;
    Pool tree; ///< the text as it was read, for messages
    Node *root;
    const char *name; ///< of the file
    char note[512];   ///< what was made to fit
};

/// The folder of a file as an absolute name, so that a scene means the same from anywhere; "" when
/// it cannot be told.
static void folder_of(const char *name, char out[2 * PATH_MAX]) {
    const char *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) : 0;
    char here[PATH_MAX];
    out[0] = 0;
    if (length >= PATH_MAX) return;
    if (name[0] == '/') {
        snprintf(out, 2 * PATH_MAX, "%.*s", (int)length, name);
    } else if (getcwd(here, sizeof here)) {
        snprintf(out, 2 * PATH_MAX, "%s%s%.*s", here, length ? "/" : "", (int)length, name);
    }
}

/// A fixed step and a CFL number exclude each other; one given by --set takes the other's place.
static void choose_step(Reader *r, Node *root) {
    Node *time = node_get(root, "time");
    Node *step = node_get(time, "step"), *cfl = node_get(time, "cfl");
    if (!step || !cfl) return;
    if (!step->set == !cfl->set)
        report_add(r->report, step->line > cfl->line ? step : cfl, "time",
                   "give step or cfl, not both");
    else
        node_remove(time, step->set ? "cfl" : "step");
}

/// The version and the dimension come first: all else depends on them.
static bool read_head(Reader *r, Node *root, BrimSimDef *def) {
    Node *version = node_get(root, "brim"), *dim = node_get(root, "dim");
    if (!version) {
        report_add(r->report, root, "brim", "is missing: a scene begins with \"brim: %d\"",
                   BRIM_SCENE_VERSION);
        return false;
    }
    char value[NODE_SHOW];
    double number = 0;
    if (version->kind != NODE_TEXT || !number_parse(version->text, &number) ||
        number != BRIM_SCENE_VERSION) {
        report_add(r->report, version, "brim", "%s is not allowed: this program reads version %d",
                   report_value(version, value), BRIM_SCENE_VERSION);
        return false;
    }
    int problems = r->report->count;
    snprintf(r->path, sizeof r->path, "dim");
    if (dim) read_field(r, table_find(&table_sim, "dim"), dim, def);
    r->path[0] = 0;
    r->dim = def->dim;
    return r->report->count == problems;
}

static void read_def(Reader *r, Node *root, BrimSimDef *def, char *note, size_t note_size) {
    *def = brim_default_sim_def();
    r->dim = def->dim;
    if (!read_head(r, root, def)) return;
    if (def->dim == 2) def->particles_per_cell = 9;
    choose_step(r, root);
    Scope scope = {{&table_sim}, def, false, 0};
    read_scope(r, &scope, root);
    if (r->report->count > 0 || r->out_of_memory) return;
    fit_cells(def, note, note_size);
    Problem problem;
    if (def_has_problem(def, &problem))
        report_add(r->report, node_nearest(root, problem.key), problem.key, "%s", problem.text);
}

static BrimResult no_memory(const char *name, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory reading the scene", name);
}

/// Before the sets, which would be blamed for it.
static BrimResult check_is_map(const Node *root, const char *name, BrimError *error) {
    if (root->kind == NODE_MAP || node_is_nothing(root)) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT,
                "%s:%d: the scene is %s: it must be a map of keys that begins with \"brim: %d\"",
                name, root->line, root->kind == NODE_LIST ? "a list" : "plain text",
                BRIM_SCENE_VERSION);
}

/// Text and sets => scene
static BrimResult build(BrimScene *scene, const char *text, size_t length, const char *name,
                        const char *const *sets, int set_count, BrimError *error) {
    Pool *tree = &scene->tree;
    scene->name = pool_text(tree, name, strlen(name));
    if (!scene->name) return no_memory(name, error);
    BrimResult result = node_parse(tree, text, length, name, NULL, &scene->root, error);
    if (result == BRIM_OK) result = check_is_map(scene->root, name, error);
    for (int i = 0; result == BRIM_OK && i < set_count; i++) {
        const char *set = pool_text(tree, sets[i], strlen(sets[i]));
        result = set ? node_set(tree, scene->root, set, error) : no_memory(name, error);
    }
    if (result != BRIM_OK) return result;

    char folder[2 * PATH_MAX];
    folder_of(name, folder);
    Report report = {.name = name};
    Reader reader = {
        .report = &report, .pool = &scene->pool, .folder = folder, .names = &scene->def.names};
    read_def(&reader, scene->root, &scene->def, scene->note, sizeof scene->note);
    if (reader.out_of_memory) return no_memory(name, error);
    result = report_result(&report, error);
    if (result != BRIM_OK) return result;
    scene->json = def_json(&scene->def);
    return scene->json ? BRIM_OK : no_memory(name, error);
}

BrimResult brim_scene_parse(const char *text, size_t length, const char *name,
                            const char *const *sets, int set_count, BrimScene **scene,
                            BrimError *error) {
    NEED(scene, error);
    *scene = NULL;
    if (set_count > 0) NEED(sets, error);
    for (int i = 0; i < set_count; i++) NEED(sets[i], error);
    if (!text) length = 0, text = "";
    if (!name) name = "scene";
    BrimScene *s = calloc(1, sizeof *s);
    if (!s) return no_memory(name, error);
    BrimResult result = build(s, text, length, name, sets, set_count, error);
    if (result != BRIM_OK) brim_scene_destroy(&s);
    *scene = s;
    return result;
}

static BrimResult read_file(const char *path, char **text, size_t *length, BrimError *error) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(error, BRIM_ERROR_IO, "%s: cannot read the scene: %s", path, strerror(errno));
    size_t capacity = 64 * 1024, used = 0;
    char *bytes = malloc(capacity);
    while (bytes && used <= NODE_TEXT_BYTES) {
        size_t got = fread(bytes + used, 1, capacity - used, file);
        used += got;
        if (got == 0) break;
        if (used < capacity) continue;
        capacity *= 2;
        char *more = realloc(bytes, capacity);
        if (!more) free(bytes);
        bytes = more;
    }
    int reason = ferror(file) ? errno : 0;
    fclose(file);
    if (!bytes) return no_memory(path, error);
    *text = bytes;
    *length = used;
    if (!reason) return BRIM_OK;
    free(bytes);
    return fail(error, BRIM_ERROR_IO, "%s: cannot read the scene: %s", path, strerror(reason));
}

BrimResult brim_scene_load(const char *path, const char *const *sets, int set_count,
                           BrimScene **scene, BrimError *error) {
    NEED(scene, error);
    *scene = NULL;
    NEED(path, error);
    char *text = NULL;
    size_t length = 0;
    BrimResult result = read_file(path, &text, &length, error);
    if (result != BRIM_OK) return result;
    result = brim_scene_parse(text, length, path, sets, set_count, scene, error);
    free(text);
    return result;
}

void brim_scene_destroy(BrimScene **scene) {
    if (!scene || !*scene) return;
    pool_free(&(*scene)->pool);
    pool_free(&(*scene)->tree);
    free((*scene)->json);
    free(*scene);
    *scene = NULL;
}

const BrimSimDef *brim_scene_def(const BrimScene *scene) {
    return scene ? &scene->def : NULL;
}

const char *brim_scene_note(const BrimScene *scene) {
    return scene->note;
}

const char *brim_scene_json(const BrimScene *scene) {
    return scene ? scene->json : NULL;
}

BrimResult brim_scene_locate(const BrimScene *scene, BrimError *error) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]";
    if (!error) return BRIM_OK;
    if (!scene || error->result != BRIM_ERROR_INPUT) return error->result;
    char path[256], place[2 * NODE_SHOW + PATH_MAX];
    size_t length = strspn(error->message, letters);
    if (length == 0 || length >= sizeof path || error->message[length] != ':') return error->result;
    memcpy(path, error->message, length);
    path[length] = 0;
    const Node *node = node_nearest(scene->root, path);
    if (!node || node == scene->root) return error->result;
    if (node->set)
        snprintf(place, sizeof place, "--set %.*s", NODE_SHOW, node->set);
    else
        snprintf(place, sizeof place, "%s:%d", scene->name, node->line);
    BrimError plain = *error;
    return fail(error, plain.result, "%.400s: %.600s", place, plain.message);
}
