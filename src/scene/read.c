#include "scene/read.h"
#include "base/sequence.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t path_append(Reader *r, const char *text) {
    size_t before = r->path_length, room = sizeof r->path - before;
    int n = snprintf(r->path + before, room, "%s", text);
    r->path_length += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    return before;
}

size_t path_key(Reader *r, const char *key) {
    char shown[NODE_SHOW], text[NODE_SHOW + 1];
    snprintf(text, sizeof text, "%s%s", r->path_length ? "." : "", node_show(key, shown));
    return path_append(r, text);
}

size_t path_index(Reader *r, int index) {
    char text[16];
    snprintf(text, sizeof text, "[%d]", index);
    return path_append(r, text);
}

void path_pop(Reader *r, size_t length) {
    r->path_length = length;
    r->path[length] = 0;
}

static bool read_number(const Node *node, double *value) {
    return node->kind == NODE_TEXT && node->plain && number_parse(node->text, value);
}

/// Why a number that lies within what is allowed is refused all the same, or nothing.
static const char *refuse_rounded(const Node *node, const Field *field) {
    double value;
    if (!read_number(node, &value) || !strpbrk(node->text, "0123456789")) return "";
    const int rounds = field_rounds(field, value);
    return rounds > 0   ? "; so large a number is infinite here"
           : rounds < 0 ? "; so small a number is 0 here"
                        : "";
}

void refuse_value(Reader *r, const Node *node, const Field *field) {
    char value[NODE_SHOW], allowed[240];
    field_allowed(field, r->dim, allowed, sizeof allowed);
    bool flat =
        r->dim == 3 && field->store == STORE_VECTOR && node->kind == NODE_LIST && node->count == 2;
    report_add(r->report, node, r->path, "%s is not allowed: %s%s%s", report_value(node, value),
               allowed, refuse_rounded(node, field), flat ? "; a scene in 2D has \"dim: 2\"" : "");
}

/// A number that the field allows, or a refusal.
static bool read_allowed(Reader *r, const Field *field, const Node *node, double *value) {
    if (read_number(node, value) && field_allows(field, *value)) return true;
    refuse_value(r, node, field);
    return false;
}

static bool read_choice(Reader *r, const Field *field, const Node *node, double *value) {
    int index = node->kind == NODE_TEXT ? choice_index(field->info.range, node->text) : -1;
    if (field->store == STORE_FLAG) index = index < 0 || !node->plain ? -1 : 1 - index;
    *value = index;
    if (index < 0) refuse_value(r, node, field);
    return index >= 0;
}

/// A list of words of the range text, each once or more.
static bool read_set(Reader *r, const Field *field, const Node *node, double *value) {
    uint32_t bits = 0;
    if (node->kind != NODE_LIST) {
        refuse_value(r, node, field);
        return false;
    }
    int i = 0;
    for (const Node *n = node->first; n; n = n->next, i++) {
        int index = n->kind == NODE_TEXT ? choice_index(field->info.range, n->text) : -1;
        if (index >= 0) {
            bits |= 1u << index;
            continue;
        }
        size_t before = path_index(r, i);
        refuse_value(r, n, field);
        path_pop(r, before);
        return false;
    }
    *value = bits;
    return true;
}

/// A list of two numbers, the first not above the second.
static bool read_pair(Reader *r, const Field *field, const Node *node, double value[3]) {
    bool good = node->kind == NODE_LIST && node->count == 2;
    const Node *n = good ? node->first : NULL;
    for (int i = 0; n; n = n->next, i++)
        good = good && read_number(n, &value[i]) && field_allows(field, value[i]);
    good = good && value[0] <= value[1];
    if (!good) refuse_value(r, node, field);
    return good;
}

/// Text that stands for a number where the field takes formulas; whether it is one.
static bool read_formula(Reader *r, const Field *field, const Node *node, void *base, int place) {
    const char *text = NULL;
    if (!field->formula || node->kind != NODE_TEXT || node_is_nothing(node) || !*node->text)
        return false;
    double number;
    if (!read_number(node, &number)) {
        text = pool_text(r->pool, node->text, strlen(node->text));
        if (!text) r->out_of_memory = true;
    }
    memcpy((char *)base + field->formula + (size_t)place * sizeof text, &text, sizeof text);
    return text != NULL;
}

/// A list of as many numbers as the simulation has dimensions. In 2D a third one may be given if
/// it says nothing: 0, or for a turn, which is about z, the first two 0.
static bool read_vector(Reader *r, const Field *field, const Node *node, void *base,
                        double value[3]) {
    bool turn = field->store == STORE_TURN && r->dim == 2;
    value[0] = value[1] = value[2] = 0;
    if (turn && node->kind == NODE_TEXT)
        return read_formula(r, field, node, base, 2) || read_allowed(r, field, node, &value[2]);
    bool fits = node->kind == NODE_LIST &&
                (node->count == 3 || (node->count == r->dim && r->dim == 2 && !turn));
    if (!fits) {
        refuse_value(r, node, field);
        return false;
    }
    int i = 0;
    for (const Node *n = node->first; n; n = n->next, i++) {
        bool spare = r->dim == 2 && (turn ? i < 2 : i == 2);
        if (!spare && read_formula(r, field, n, base, i)) continue;
        bool number = read_number(n, &value[i]);
        if (number && (spare ? value[i] == 0 : field_allows(field, value[i]))) continue;
        size_t before = path_index(r, i);
        refuse_value(r, n, field);
        path_pop(r, before);
        return false;
    }
    return true;
}

/// One number goes to the first place and leaves 0 in the others, to follow from the size.
static bool read_cells(Reader *r, const Field *field, const Node *node, double value[3]) {
    value[0] = value[1] = value[2] = 0;
    if (node->kind == NODE_TEXT) return read_allowed(r, field, node, &value[0]);
    if (node->kind != NODE_LIST || node->count != r->dim) {
        refuse_value(r, node, field);
        return false;
    }
    int i = 0;
    for (const Node *n = node->first; n; n = n->next, i++) {
        if (read_number(n, &value[i]) && field_allows(field, value[i])) continue;
        size_t before = path_index(r, i);
        refuse_value(r, n, field);
        path_pop(r, before);
        return false;
    }
    if (r->dim == 2) value[2] = 1;
    return true;
}

static void read_sides(Reader *r, const Field *field, const Node *node, BrimSide *sides) {
    int index = node->kind == NODE_TEXT ? choice_index(field->info.range, node->text) : -1;
    if (index < 0) {
        refuse_value(r, node, field);
        return;
    }
    for (int s = 0; s < 2 * r->dim; s++) sides[s] = (BrimSide)index;
}

static void read_text(Reader *r, const Field *field, const Node *node, const char **text) {
    if (node->kind != NODE_TEXT || !*node->text) {
        refuse_value(r, node, field);
        return;
    }
    *text = pool_text(r->pool, node->text, strlen(node->text));
    if (!*text) r->out_of_memory = true;
}

/// A path as seen from the folder of the scene; NULL when there is none.
static const char *read_path(Reader *r, const Field *field, const Node *node) {
    if (node->kind != NODE_TEXT || !*node->text || node_is_nothing(node)) {
        refuse_value(r, node, field);
        return NULL;
    }
    size_t length = strlen(r->folder) + strlen(node->text) + 2;
    char *path = pool_new(r->pool, length, 1);
    if (!path) {
        r->out_of_memory = true;
        return NULL;
    }
    bool whole = node->text[0] == '/' || !*r->folder;
    snprintf(path, length, "%s%s%s", whole ? "" : r->folder, whole ? "" : "/", node->text);
    return path;
}

static void read_file(Reader *r, const Field *field, const Node *node, const char **file) {
    const char *path = read_path(r, field, node);
    if (!path) return;
    *file = path;
    struct stat info;
    if (stat(path, &info) != 0 || access(path, R_OK) != 0)
        report_add(r->report, node, r->path, "%.200s cannot be read: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        report_add(r->report, node, r->path, "%.200s is a folder: name a file%s", path,
                   strstr(r->path, "mesh.file")
                       ? ", or use mesh.frames for a folder of a moving mesh's frames"
                       : "");
    else if (!S_ISREG(info.st_mode))
        report_add(r->report, node, r->path, "%.200s is a device or pipe: name a regular file",
                   path);
}

static void read_files(Reader *r, const Field *field, const Node *node, const char **files) {
    const char *path = read_path(r, field, node);
    BrimError error;
    Sequence found;
    if (!path) return;
    *files = path;
    if (sequence_find(path, &found, &error) != BRIM_OK)
        report_add(r->report, node, r->path, "%.400s", error.message);
    else
        sequence_free(&found);
}

/// Rows of numbers, all as long as the first; in 2D one row.
static void read_heights(Reader *r, const Field *field, const Node *node, BrimShapeDef *shape) {
    const Node *first_row = r->dim == 2 ? node : node->first;
    bool good = node->kind == NODE_LIST && node->count > 0 && first_row->kind == NODE_LIST;
    int rows = r->dim == 2 ? 1 : node->count, columns = good ? first_row->count : 0;
    if (columns < 2 || (r->dim == 3 && rows < 2)) {
        report_add(r->report, node, r->path,
                   r->dim == 2 ? "give a list of at least 2 heights along x (m)"
                               : "give at least 2 lists along z of at least 2 heights along x (m)");
        return;
    }
    float *heights = pool_new(r->pool, (size_t)rows * (size_t)columns, sizeof *heights);
    if (!heights) {
        r->out_of_memory = true;
        return;
    }
    const Node *row = first_row;
    for (int z = 0; z < rows; z++, row = row->next) {
        const Node *n = row->kind == NODE_LIST && row->count == columns ? row->first : NULL;
        for (int x = 0; x < columns; x++, n = n->next) {
            double value = 0;
            if (!n || !read_number(n, &value) || !field_allows(field, value)) {
                report_add(r->report, n ? n : row, r->path,
                           "row %d is not a list of %d numbers (m)", z, columns);
                return;
            }
            heights[z * columns + x] = (float)value;
        }
    }
    shape->heights = heights;
    shape->heights_x = columns;
    shape->heights_z = rows;
}

static void read_children(Reader *r, const Field *field, const Node *node, BrimShapeDef *shape) {
    if (node->kind != NODE_LIST || node->count == 0) {
        refuse_value(r, node, field);
        return;
    }
    BrimShapeDef *children = pool_new(r->pool, (size_t)node->count, sizeof *children);
    if (!children) {
        r->out_of_memory = true;
        return;
    }
    int i = 0;
    for (const Node *n = node->first; n; n = n->next, i++) {
        size_t before = path_index(r, i);
        read_shape(r, n, &children[i]);
        for (const Node *k = n->kind == NODE_MAP ? n->first : NULL; k; k = k->next)
            if (shape_kind(k->key) < 0)
                report_add(r->report, k, r->path, "%s: a shape within a shape has no other keys",
                           k->key);
        path_pop(r, before);
    }
    shape->children = children;
    shape->child_count = node->count;
}

static void read_canyon(Reader *r, const Node *node, const BrimCanyonDef **out) {
    BrimCanyonDef *canyon = pool_new(r->pool, 1, sizeof *canyon);
    if (!canyon) {
        r->out_of_memory = true;
        return;
    }
    table_defaults(&table_canyon, canyon);
    Scope scope = {{&table_canyon}, canyon, false, r->path_length};
    read_scope(r, &scope, node);
    *out = canyon;
}

static void read_falls(Reader *r, const Field *field, const Node *node, BrimCanyonDef *canyon) {
    int count = 0;
    if (node->kind != NODE_LIST) {
        refuse_value(r, node, field);
        return;
    }
    const Fall *falls = read_items(r, &table_fall, node, &count);
    if (count > CANYON_FALLS) {
        report_add(r->report, node, r->path, "%d waterfalls are not allowed: at most %d", count,
                   CANYON_FALLS);
        return;
    }
    canyon->fall_count = count;
    for (int i = 0; i < count; i++) {
        canyon->fall_x[i] = falls[i].x;
        canyon->fall_drop[i] = falls[i].drop;
    }
}

static void read_gravity(Reader *r, const Field *field, const Node *node, BrimSimDef *def) {
    double value[3];
    if (node->kind == NODE_LIST && node->first && node->first->kind == NODE_MAP) {
        int count = 0;
        const BrimGravityKey *keys = read_items(r, &table_gravity, node, &count);
        def->gravity_keys = keys;
        def->gravity_key_count = count;
        if (count > 0) def->gravity = keys[0].gravity;
    } else if (read_vector(r, field, node, def, value)) {
        field_set(field, def, value);
    }
}

static void read_list(Reader *r, const Field *field, const Node *node, void *base) {
    int count = 0;
    const void *items = NULL;
    if (node->kind == NODE_LIST)
        items = read_items(r, field->list, node, &count);
    else if (!node_is_nothing(node))
        refuse_value(r, node, field);
    memcpy((char *)base + field->offset, &items, sizeof items);
    memcpy((char *)base + field->count_offset, &count, sizeof count);
}

void read_field(Reader *r, const Field *field, const Node *node, void *base) {
    double value[3] = {0, 0, 0};
    bool good = false;
    char *at = (char *)base + field->offset;
    if (r->dim == 2 && field->flags & FIELD_3D) {
        report_add(r->report, node, r->path, "has no meaning in 2D: remove it");
        return;
    }
    switch (field->store) {
    case STORE_FLOAT:
    case STORE_DOUBLE:
    case STORE_INT:
    case STORE_UINT:
    case STORE_VERSION:
        if (read_formula(r, field, node, base, 0)) break;
        good = read_allowed(r, field, node, value);
        break;
    case STORE_FLAG:
    case STORE_CHOICE:
        good = read_choice(r, field, node, value);
        break;
    case STORE_SET:
        good = read_set(r, field, node, value);
        break;
    case STORE_VECTOR:
    case STORE_TURN:
        good = read_vector(r, field, node, base, value);
        break;
    case STORE_PAIR:
        good = read_pair(r, field, node, value);
        break;
    case STORE_CELLS:
        good = read_cells(r, field, node, value);
        break;
    case STORE_SIDES:
        read_sides(r, field, node, (BrimSide *)at);
        break;
    case STORE_GRAVITY:
        read_gravity(r, field, node, base);
        break;
    case STORE_TEXT:
    case STORE_FORMULA:
        read_text(r, field, node, (const char **)at);
        break;
    case STORE_FILE:
        read_file(r, field, node, (const char **)at);
        break;
    case STORE_FILES:
        read_files(r, field, node, (const char **)at);
        break;
    case STORE_LIST:
        read_list(r, field, node, base);
        break;
    case STORE_SHAPES:
        read_children(r, field, node, base);
        break;
    case STORE_HEIGHTS:
        read_heights(r, field, node, base);
        break;
    case STORE_CANYON:
        read_canyon(r, node, (const BrimCanyonDef **)at);
        break;
    case STORE_FALLS:
        read_falls(r, field, node, base);
        break;
    case STORE_KIND:
        break;
    }
    if (good) field_set(field, base, value);
}
