// By the table of keys: a key that changes the result and is not at its default enters with its
// name and its value. So a new key, or another order, leaves the hashes of scenes that do not use
// it.
#include "scene/def_hash.h"
#include "base/hash.h"
#include "base/sequence.h"
#include "scene/fields.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t add_text(uint64_t h, const char *text) {
    return text ? hash_bytes(h, text, strlen(text) + 1) : hash_mix(h);
}

static uint64_t add_count(uint64_t h, int count) {
    return hash_bytes(h, &count, sizeof count);
}

/// As much of a file as fills a block; less at its end.
static size_t read_block(int file, char *block, size_t size) {
    size_t n = 0;
    while (n < size) {
        ssize_t got = read(file, block + n, size - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    return n;
}

/// The content of a file; its name when it is none that has an end (a device, a pipe) or cannot be
/// read.
static uint64_t add_file(uint64_t h, const char *path) {
    int file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct stat info;
    if (file >= 0 && (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))) close(file), file = -1;
    if (file < 0) return add_text(h, path);
    char block[1 << 14];
    for (size_t n; (n = read_block(file, block, sizeof block)) > 0;) h = hash_bytes(h, block, n);
    close(file);
    return h;
}

/// The contents of a sequence of files, in order; its name when it is none.
static uint64_t add_files(uint64_t h, const char *path) {
    BrimError error;
    Sequence files;
    if (sequence_find(path, &files, &error) != BRIM_OK) return add_text(h, path);
    h = add_count(h, files.count);
    for (int i = 0; i < files.count; i++) h = add_file(h, files.file[i].path);
    sequence_free(&files);
    return h;
}

static uint64_t add_table(uint64_t h, const Table *table, const void *base, int dim);

static uint64_t add_shape(uint64_t h, const BrimShapeDef *shape, int dim) {
    char name[16];
    h = add_text(h, shape_name(shape->kind, name));
    // as read, with corners that no key stands for
    const ShapeRead read = {.def = *shape};
    const double position[6] = {shape->position.x, shape->position.y, shape->position.z,
                                shape->size.x,     shape->size.y,     shape->size.z};
    h = hash_bytes(h, position, sizeof position);
    h = add_table(h, &table_shape[shape->kind], &read, dim);
    return add_table(h, &table_placement, &read, dim);
}

static uint64_t add_items(uint64_t h, const Table *table, const char *items, int count, int dim) {
    h = add_count(h, count);
    for (int i = 0; i < count; i++) {
        const char *item = items + (size_t)i * table->size;
        if (item_has_shape(table, item))
            h = add_shape(h, (const BrimShapeDef *)(const void *)(item + table->shape_offset), dim);
        h = add_table(h, table, item, dim);
    }
    return h;
}

/// Formulas that stand for numbers of a field.
static uint64_t add_formulas(uint64_t h, const Field *field, const void *base) {
    bool vector =
        field->store == STORE_VECTOR || field->store == STORE_TURN || field->store == STORE_GRAVITY;
    for (int i = 0; i < (vector ? 3 : 1); i++) {
        const char *text;
        memcpy(&text, (const char *)base + field->formula + (size_t)i * sizeof text, sizeof text);
        if (text) h = add_text(add_count(add_text(h, field->info.key), i), text);
    }
    return h;
}

static uint64_t add_numbers(uint64_t h, const Field *field, const void *base, int dim) {
    double value[3];
    if (field->formula) h = add_formulas(h, field, base);
    int count = field_get(field, base, dim, value);
    if (count == 0 || field_is_default(field, base, dim)) return h;
    h = add_text(h, field->info.key);
    return hash_bytes(h, value, (size_t)count * sizeof *value);
}

static uint64_t add_field(uint64_t h, const Field *field, const void *base, int dim) {
    const char *at = (const char *)base + field->offset;
    const BrimShapeDef *shape = base;
    const BrimSimDef *sim = base;
    const void *pointer = NULL;
    int count = 0;
    switch (field->store) {
    case STORE_FILE:
    case STORE_FILES:
    case STORE_TEXT:
    case STORE_FORMULA:
    case STORE_LIST:
    case STORE_CANYON:
        memcpy(&pointer, at, sizeof pointer);
        if (field->store == STORE_LIST)
            memcpy(&count, (const char *)base + field->count_offset, sizeof count);
        if (!pointer || (field->store == STORE_LIST && count == 0)) return h;
        h = add_text(h, field->info.key);
        if (field->store == STORE_FILE) return add_file(h, pointer);
        if (field->store == STORE_FILES) return add_files(h, pointer);
        if (field->store == STORE_TEXT || field->store == STORE_FORMULA)
            return add_text(h, pointer);
        if (field->store == STORE_CANYON) return add_table(h, &table_canyon, pointer, dim);
        return add_items(h, field->list, pointer, count, dim);
    case STORE_GRAVITY:
        if (sim->gravity_key_count == 0) return add_numbers(h, field, base, dim);
        h = add_text(h, field->info.key);
        return add_items(h, field->list, (const char *)sim->gravity_keys, sim->gravity_key_count,
                         dim);
    case STORE_SHAPES:
        h = add_count(h, shape->child_count);
        for (int i = 0; i < shape->child_count; i++) h = add_shape(h, &shape->children[i], dim);
        return h;
    case STORE_HEIGHTS:
        if (!shape->heights || shape->heights_x <= 0 || shape->heights_z <= 0) return h;
        h = add_count(add_count(h, shape->heights_x), shape->heights_z);
        return hash_bytes(h, shape->heights,
                          sizeof(float) * (size_t)shape->heights_x * (size_t)shape->heights_z);
    case STORE_FALLS: {
        const BrimCanyonDef *canyon = base;
        count = canyon->fall_count < CANYON_FALLS ? canyon->fall_count : CANYON_FALLS;
        h = hash_bytes(add_count(h, count), canyon->fall_x, (size_t)count * sizeof(float));
        return hash_bytes(h, canyon->fall_drop, (size_t)count * sizeof(float));
    }
    default:
        return add_numbers(h, field, base, dim);
    }
}

static uint64_t add_table(uint64_t h, const Table *table, const void *base, int dim) {
    for (int i = 0; i < table->count; i++) {
        const Field *field = &table->fields[i];
        if (field->flags & (FIELD_SHORTHAND | FIELD_ASIDE)) continue;
        if (dim == 2 && field->flags & FIELD_3D) continue;
        h = add_field(h, field, base, dim);
    }
    return h;
}

uint64_t shape_hash(uint64_t hash, const BrimShapeDef *shape, int dim) {
    return add_shape(hash, shape, dim);
}

uint64_t def_hash(const BrimSimDef *def) {
    return add_table(0, &table_sim, def, def->dim);
}

uint64_t solid_hash(uint64_t h, const BrimSolidDef *solid, int dim) {
    return add_items(h, &table_solid, (const char *)solid, 1, dim);
}

uint64_t liquid_hash(uint64_t h, const BrimLiquidDef *liquid, int dim) {
    return add_items(h, &table_liquid, (const char *)liquid, 1, dim);
}
