// Maps, lists of maps, and shapes: which field each key stands for.
#include "scene/read.h"
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 128 };

/// The last part of a key: "tolerance" of "solver.tolerance".
static const char *last_part(const char *key) {
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

typedef struct Guess {
    int distance;
    char key[KEY_BYTES];
} Guess;

/// `known` costs what must change in it; in another group one more.
static void guess_offer(Guess *guess, const char *given, const char *known) {
    int whole = word_distance(given, known);
    int part = 1 + word_distance(last_part(given), last_part(known));
    int distance = whole < part ? whole : part;
    if (distance >= guess->distance) return;
    guess->distance = distance;
    snprintf(guess->key, sizeof guess->key, "%s", known);
}

/// Appends "size, cells, ..." for the keys that stand in `group` ("" or "solver.").
static void list_keys(const Table *table, const char *group, char *out, size_t size) {
    size_t skip = strlen(group);
    const char *last = "";
    size_t last_length = 0;
    for (int i = 0; i < table->count; i++) {
        const Field *field = &table->fields[i];
        const char *key = field_key(table, field);
        if (strncmp(key, group, skip) != 0) continue;
        const char *name = field->store == STORE_KIND ? field->info.range : key + skip;
        size_t length = field->store == STORE_KIND ? strlen(name) : strcspn(name, ".");
        if (length == last_length && strncmp(name, last, length) == 0) continue;
        size_t n = strlen(out);
        snprintf(out + n, size - n, "%s%.*s", n ? ", " : "", (int)length, name);
        last = name, last_length = length;
    }
}

static void refuse_key(Reader *r, const Scope *scope, const Node *node, const char *key,
                       const char *group) {
    Guess guess = {1 + (int)strlen(last_part(key)) / 2, ""};
    char known[300] = "", base[256], name[16];
    for (int t = 0; t < 2 && scope->tables[t]; t++) {
        const Table *table = scope->tables[t];
        for (int i = 0; i < table->count; i++)
            if (table->fields[i].store != STORE_KIND)
                guess_offer(&guess, key, field_key(table, &table->fields[i]));
        list_keys(table, group, known, sizeof known);
    }
    for (int k = 0; scope->shapes && k < SHAPE_KINDS; k++)
        guess_offer(&guess, key, shape_name((BrimShapeKind)k, name));
    snprintf(base, sizeof base, "%.*s%s", (int)scope->path_length, r->path,
             scope->path_length ? "." : "");
    if (*guess.key)
        report_add(r->report, node, r->path, "unknown key: did you mean %s%s?", base, guess.key);
    else
        report_add(r->report, node, r->path, "unknown key: known here are %s", known);
}

static void read_group(Reader *r, const Scope *scope, const Node *map, const char *group);

/// One key of a map: a field, a group of fields, or unknown.
static void read_key(Reader *r, const Scope *scope, const Node *node, const char *group) {
    char key[KEY_BYTES];
    if (strchr(node->key, '.')) {
        report_add(r->report, node, r->path, "unknown key: groups are nested, not joined by dots");
        return;
    }
    snprintf(key, sizeof key, "%s%.90s", group, node->key);
    if (scope->shapes && !*group && shape_kind(key) >= 0) return;
    for (int t = 0; t < 2 && scope->tables[t]; t++) {
        const Table *table = scope->tables[t];
        const Field *field = table_find(table, key);
        bool is_group = table_has_group(table, key);
        if (field && field->store != STORE_KIND && !(is_group && node->kind == NODE_MAP)) {
            read_field(r, field, node, scope->base);
            return;
        }
        if (is_group) {
            size_t length = strlen(key);
            snprintf(key + length, sizeof key - length, ".");
            read_group(r, scope, node, key);
            return;
        }
    }
    refuse_key(r, scope, node, key, group);
}

static void read_group(Reader *r, const Scope *scope, const Node *map, const char *group) {
    char value[NODE_SHOW];
    if (node_is_nothing(map)) return;
    if (map->kind != NODE_MAP) {
        char known[300] = "";
        list_keys(scope->tables[0], group, known, sizeof known);
        report_add(r->report, map, r->path, "%s is not allowed: a map of %s",
                   report_value(map, value), known);
        return;
    }
    for (const Node *n = map->first; n; n = n->next) {
        size_t before = path_key(r, n->key);
        read_key(r, scope, n, group);
        path_pop(r, before);
    }
}

/// Whether a map lacks the group of a field that only one kind of item has.
static bool is_of_other_kind(const Node *map, const Field *field, const char *key) {
    char group[KEY_BYTES];
    if (!field->of) return false;
    snprintf(group, sizeof group, "%.*s", (int)strcspn(key, "."), key);
    return !node_get(map, group);
}

static void check_required(Reader *r, const Scope *scope, Node *map) {
    for (int t = 0; t < 2 && scope->tables[t]; t++) {
        const Table *table = scope->tables[t];
        for (int i = 0; i < table->count; i++) {
            const Field *field = &table->fields[i];
            const char *key = field_key(table, field);
            if (!(field->flags & FIELD_REQUIRED) || node_at(map, key)) continue;
            if (field->flags & FIELD_3D && r->dim == 2) continue;
            if (is_of_other_kind(map, field, key)) continue;
            char allowed[240];
            field_allowed(field, r->dim, allowed, sizeof allowed);
            size_t before = path_key(r, key);
            report_add(r->report, node_nearest(map, key), r->path, "is missing: %s", allowed);
            path_pop(r, before);
        }
    }
}

void read_scope(Reader *r, const Scope *scope, const Node *map) {
    read_group(r, scope, map, "");
    if (map->kind == NODE_MAP || node_is_nothing(map)) check_required(r, scope, (Node *)map);
}

static bool is_zero(BrimVec3 v) {
    return v.x == 0 && v.y == 0 && v.z == 0;
}

/// A rate means rotation, keyframes mean keyframes, path and turn formulas.
static void finish_solid(Reader *r, const Node *map, BrimSolidDef *solid) {
    bool formula = !is_zero(solid->path) || !is_zero(solid->turn);
    for (int i = 0; i < 3; i++) formula |= solid->path_formula[i] || solid->turn_formula[i];
    if (r->dim == 2) solid->axis = (BrimVec3){0, 0, 1};
    if (solid->rate != 0) solid->motion = BRIM_MOTION_ROTATION;
    if (solid->keyframe_count > 0) solid->motion = BRIM_MOTION_KEYFRAMES;
    if (formula) solid->motion = BRIM_MOTION_FORMULA;
    const Node *last = node_get(map, solid->keyframe_count > 0 ? "keyframes" : "rate");
    if ((solid->rate != 0) + (solid->keyframe_count > 0) + formula > 1)
        report_add(r->report, last ? last : map, r->path,
                   "give one of rate, keyframes, and path with turn");
}

/// Of which kind an item is: the one group of keys that it has.
static void read_kind(Reader *r, const Node *map, const Table *table, char *item) {
    int found = 0;
    char name[32];
    for (int k = 0; choice_name(table->kinds, k, name, sizeof name), *name; k++)
        if (node_get(map, name)) memcpy(item + table->kind_offset, &k, sizeof k), found++;
    if (found != 1)
        report_add(r->report, map, r->path, "has %s kind: give one of %s",
                   found ? "more than one" : "no", table->kinds);
}

/// Whether a map has the key of a shape.
static bool names_shape(const Node *map) {
    for (const Node *n = map->first; n; n = n->next)
        if (shape_kind(n->key) >= 0) return true;
    return false;
}

void *read_items(Reader *r, const Table *table, const Node *list, int *count) {
    char *items = pool_new(r->pool, (size_t)list->count, table->size);
    if (!items) {
        r->out_of_memory = true;
        return NULL;
    }
    int i = 0;
    for (const Node *n = list->first; n; n = n->next, i++) {
        size_t before = path_index(r, i);
        char *item = items + (size_t)i * table->size;
        bool has_shape = table->shape_offset != NO_SHAPE;
        table_defaults(table, item);
        Scope scope = {{table}, item, has_shape, r->path_length};
        read_scope(r, &scope, n);
        if (has_shape && n->kind == NODE_MAP && table->within) {
            bool within = names_shape(n); // it may go without
            memcpy(item + table->within, &within, sizeof within);
            ((BrimShapeDef *)(item + table->shape_offset))->names = r->names;
            has_shape = within;
        }
        if (has_shape && n->kind == NODE_MAP)
            read_shape(r, n, (BrimShapeDef *)(item + table->shape_offset));
        if (table->kinds && n->kind == NODE_MAP) read_kind(r, n, table, item);
        if (table == &table_solid) finish_solid(r, n, (BrimSolidDef *)item);
        path_pop(r, before);
    }
    *count = list->count;
    return items;
}

/// low and high, or center and size: never a mixture.
static void finish_box(Reader *r, const Node *map, ShapeRead *read) {
    const Node *low = node_get(map, "low"), *high = node_get(map, "high");
    const Node *center = node_get(map, "center"), *size = node_get(map, "size");
    BrimShapeDef *box = &read->def;
    if ((low || high) == (center || size) || (low && !high) || (high && !low) ||
        (center && !size)) {
        report_add(r->report, map, r->path, "give either low and high, or center and size (m)");
        return;
    }
    if (low) {
        const float a[3] = {read->low.x, read->low.y, read->low.z};
        const float b[3] = {read->high.x, read->high.y, read->high.z};
        for (int i = 0; i < r->dim; i++) {
            if (b[i] > a[i]) continue;
            report_add(r->report, high, r->path, "high must be above low along %c", "xyz"[i]);
            return;
        }
        box->size = (BrimVec3){b[0] - a[0], b[1] - a[1], b[2] - a[2]};
        box->position =
            (BrimVec3){0.5f * (a[0] + b[0]), 0.5f * (a[1] + b[1]), 0.5f * (a[2] + b[2])};
    }
}

/// `union: [...]` is short for `union: {of: [...]}`.
static void read_shape_body(Reader *r, const Node *node, ShapeRead *read) {
    const Table *table = &table_shape[read->def.kind];
    Scope scope = {{table, &table_placement}, read, false, r->path_length};
    const Field *children = table_find(table, "of");
    bool is_short = read->def.kind == BRIM_SHAPE_UNION || read->def.kind == BRIM_SHAPE_DIFFERENCE;
    int problems = r->report->count;
    if (is_short && node->kind == NODE_LIST)
        read_field(r, children, node, read);
    else
        read_scope(r, &scope, node);
    if (read->def.kind == BRIM_SHAPE_BOX && r->report->count == problems) finish_box(r, node, read);
}

void read_shape(Reader *r, const Node *map, BrimShapeDef *shape) {
    char names[200];
    const Node *body = NULL;
    int kinds = 0;
    for (const Node *n = map->kind == NODE_MAP ? map->first : NULL; n; n = n->next)
        if (shape_kind(n->key) >= 0) kinds++, body = n;
    if (map->kind != NODE_MAP || kinds != 1) {
        field_allowed(&table_liquid.fields[0], r->dim, names, sizeof names);
        report_add(r->report, map, r->path, "has %s shape: give %s",
                   kinds > 1 ? "more than one" : "no", names);
        return;
    }
    ShapeRead read = {.def = brim_default_shape_def()};
    read.def.kind = (BrimShapeKind)shape_kind(body->key);
    table_defaults(&table_shape[read.def.kind], &read);
    table_defaults(&table_placement, &read);
    size_t before = path_key(r, body->key);
    read_shape_body(r, body, &read);
    path_pop(r, before);
    read.def.names = r->names;
    *shape = read.def;
}
