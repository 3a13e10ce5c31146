#include "scene/write.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Writer {
    FILE *out;
    int dim;
    int indent;
    bool first; ///< nothing stands yet in the object or list that is open
} Writer;

static void new_line(Writer *w) {
    fprintf(w->out, "%s\n%*s", w->first ? "" : ",", 2 * w->indent, "");
    w->first = false;
}

static void open_bracket(Writer *w, char bracket) {
    fputc(bracket, w->out);
    w->indent++;
    w->first = true;
}

static void close_bracket(Writer *w, char bracket) {
    w->indent--;
    if (!w->first) fprintf(w->out, "\n%*s", 2 * w->indent, "");
    fputc(bracket, w->out);
    w->first = false;
}

/// U+FFFD stands for bytes that are no UTF-8, as names of files may have: JSON cannot hold them.
static void write_text(Writer *w, const char *text) {
    fputc('"', w->out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int n = utf8_length(c);
        if (n == 0)
            fputs("\\ufffd", w->out);
        else if (*c == '"' || *c == '\\')
            fprintf(w->out, "\\%c", *c);
        else if (*c < ' ' || *c == 127)
            fprintf(w->out, "\\u%04x", *c);
        else if (*c == 0xc2 && c[1] < 0xa0) // controls that YAML does not take as they are
            fprintf(w->out, "\\u%04x", c[1]);
        else
            fwrite(c, 1, (size_t)n, w->out);
        c += n ? n : 1;
    }
    fputc('"', w->out);
}

static void write_key(Writer *w, const char *key) {
    new_line(w);
    write_text(w, key);
    fputs(": ", w->out);
}

static void write_number(Writer *w, double value, bool single) {
    char text[32];
    number_print(value, single, text);
    fputs(text, w->out);
}

static void write_table(Writer *w, const Table *table, const void *base);
static void write_shape(Writer *w, const BrimShapeDef *shape);

static void write_items(Writer *w, const Table *table, const char *items, int count) {
    open_bracket(w, '[');
    for (int i = 0; i < count; i++) {
        const char *item = items + (size_t)i * table->size;
        new_line(w);
        open_bracket(w, '{');
        if (item_has_shape(table, item))
            write_shape(w, (const BrimShapeDef *)(item + table->shape_offset));
        write_table(w, table, item);
        close_bracket(w, '}');
    }
    close_bracket(w, ']');
}

static void write_children(Writer *w, const BrimShapeDef *shape) {
    open_bracket(w, '[');
    for (int i = 0; i < shape->child_count; i++) {
        new_line(w);
        open_bracket(w, '{');
        write_shape(w, &shape->children[i]);
        close_bracket(w, '}');
    }
    close_bracket(w, ']');
}

static void write_heights(Writer *w, const BrimShapeDef *shape) {
    const float *height = shape->heights;
    if (w->dim == 3) open_bracket(w, '[');
    for (int z = 0; z < shape->heights_z; z++) {
        if (w->dim == 3) new_line(w);
        for (int x = 0; x < shape->heights_x; x++) {
            fputs(x == 0 ? "[" : ", ", w->out);
            write_number(w, (double)*height++, true);
        }
        fputc(']', w->out);
    }
    if (w->dim == 3) close_bracket(w, ']');
}

static void write_canyon(Writer *w, const BrimCanyonDef *canyon) {
    open_bracket(w, '{');
    write_table(w, &table_canyon, canyon);
    close_bracket(w, '}');
}

static void write_falls(Writer *w, const BrimCanyonDef *canyon) {
    Fall falls[CANYON_FALLS];
    for (int i = 0; i < canyon->fall_count; i++)
        falls[i] = (Fall){canyon->fall_x[i], canyon->fall_drop[i]};
    write_items(w, &table_fall, (const char *)falls, canyon->fall_count);
}

static void write_list(Writer *w, const Field *field, const void *base) {
    const char *items;
    int count;
    memcpy(&items, (const char *)base + field->offset, sizeof items);
    memcpy(&count, (const char *)base + field->count_offset, sizeof count);
    write_items(w, field->list, items, count);
}

/// The formula that stands for a number of a field; NULL: none.
static const char *formula_of(const Field *field, const void *base, int place) {
    const char *text = NULL;
    if (field->formula)
        memcpy(&text, (const char *)base + field->formula + (size_t)place * sizeof text,
               sizeof text);
    return text;
}

static void write_numbers(Writer *w, const Field *field, const void *base) {
    double value[3];
    bool flat_turn = field->store == STORE_TURN && w->dim == 2;
    int count = field_get(field, base, w->dim, value);
    bool single = field->store == STORE_FLOAT || field->store == STORE_VECTOR ||
                  field->store == STORE_PAIR || field->store == STORE_TURN ||
                  field->store == STORE_GRAVITY;
    bool list = field->store == STORE_VECTOR || field->store == STORE_CELLS ||
                field->store == STORE_GRAVITY || count > 1;
    if (list) fputc('[', w->out);
    for (int i = 0; i < count; i++) {
        const char *formula = formula_of(field, base, flat_turn ? 2 : i);
        if (i) fputs(", ", w->out);
        if (formula)
            write_text(w, formula);
        else
            write_number(w, value[i], single);
    }
    if (list) fputc(']', w->out);
}

static void write_set(Writer *w, const Field *field, uint32_t bits) {
    char name[32];
    fputc('[', w->out);
    for (int i = 0; bits; i++, bits >>= 1) {
        if (!(bits & 1)) continue;
        choice_name(field->info.range, i, name, sizeof name);
        write_text(w, name);
        if (bits >> 1) fputs(", ", w->out);
    }
    fputc(']', w->out);
}

static void write_value(Writer *w, const Field *field, const void *base) {
    const char *at = (const char *)base + field->offset;
    const BrimSimDef *def = base;
    char name[32];
    switch (field->store) {
    case STORE_VERSION:
        fprintf(w->out, "%d", BRIM_SCENE_VERSION);
        break;
    case STORE_FLAG:
        fputs(*(const bool *)at ? "true" : "false", w->out);
        break;
    case STORE_CHOICE:
        choice_name(field->info.range, *(const int *)at, name, sizeof name);
        write_text(w, name);
        break;
    case STORE_SET:
        write_set(w, field, *(const uint32_t *)at);
        break;
    case STORE_GRAVITY:
        if (def->gravity_key_count > 0)
            write_items(w, field->list, (const char *)def->gravity_keys, def->gravity_key_count);
        else
            write_numbers(w, field, base);
        break;
    case STORE_TEXT:
    case STORE_FORMULA:
    case STORE_FILE:
    case STORE_FILES:
        write_text(w, *(const char *const *)at);
        break;
    case STORE_LIST:
        write_list(w, field, base);
        break;
    case STORE_SHAPES:
        write_children(w, base);
        break;
    case STORE_HEIGHTS:
        write_heights(w, base);
        break;
    case STORE_CANYON:
        write_canyon(w, *(const BrimCanyonDef *const *)at);
        break;
    case STORE_FALLS:
        write_falls(w, base);
        break;
    default:
        write_numbers(w, field, base);
    }
}

/// Whether a field has a value to write: no empty pointers, no infinity (the default where it is
/// allowed, and not JSON), and of step and cfl the one that rules.
static bool is_written(const Writer *w, const Field *field, const void *base) {
    if (field->flags & FIELD_SHORTHAND || (w->dim == 2 && field->flags & FIELD_3D)) return false;
    const void *pointer = NULL;
    if (field->store == STORE_GRAVITY && ((const BrimSimDef *)base)->gravity_key_count > 0)
        return true;
    if (field->flags & FIELD_QUIET && field_is_default(field, base, w->dim) &&
        !formula_of(field, base, 0) && !formula_of(field, base, 1) && !formula_of(field, base, 2))
        return false;
    switch (field->store) {
    case STORE_KIND:
        return false;
    case STORE_FORMULA:
    case STORE_TEXT:
    case STORE_FILE:
    case STORE_FILES:
    case STORE_HEIGHTS:
    case STORE_CANYON:
        memcpy(&pointer, (const char *)base + field->offset, sizeof pointer);
        return pointer != NULL;
    case STORE_DOUBLE: {
        const BrimSimDef *def = base;
        if (strcmp(field->info.key, "time.step") == 0) return def->step > 0;
        if (strcmp(field->info.key, "time.cfl") == 0) return !(def->step > 0);
        double value;
        memcpy(&value, (const char *)base + field->offset, sizeof value);
        return isfinite(value);
    }
    default:
        return true;
    }
}

/// The fields of a struct; groups ("solver.") become objects.
static void write_table(Writer *w, const Table *table, const void *base) {
    char open[64] = "";
    int depth = 0;
    for (int i = 0; i < table->count; i++) {
        const Field *field = &table->fields[i];
        if (!field_applies(table, field, base) || !is_written(w, field, base)) continue;
        const char *key = field_key(table, field);
        size_t kept = 0; // of `open`, as far as the field's own groups agree with it
        for (size_t n = 1; n <= strlen(open); n++)
            if (open[n - 1] == '.' && strncmp(open, key, n) == 0) kept = n;
        for (size_t n = kept; n < strlen(open); n++)
            if (open[n] == '.') close_bracket(w, '}'), depth--;
        open[kept] = 0;
        for (const char *dot; (dot = strchr(key + kept, '.')); kept = (size_t)(dot - key) + 1) {
            char group[64];
            snprintf(group, sizeof group, "%.*s", (int)(dot - key - (long)kept), key + kept);
            write_key(w, group);
            open_bracket(w, '{');
            snprintf(open, sizeof open, "%.*s", (int)(dot - key) + 1, key);
            depth++;
        }
        write_key(w, key + kept);
        write_value(w, field, base);
    }
    for (; depth > 0; depth--) close_bracket(w, '}');
}

static void write_shape(Writer *w, const BrimShapeDef *shape) {
    char name[16];
    write_key(w, shape_name(shape->kind, name));
    open_bracket(w, '{');
    write_table(w, &table_shape[shape->kind], shape);
    write_table(w, &table_placement, shape);
    close_bracket(w, '}');
}

char *def_json(const BrimSimDef *def) {
    char *text = NULL;
    size_t size = 0;
    Writer w = {.out = open_memstream(&text, &size), .dim = def->dim, .first = true};
    if (!w.out) return NULL;
    open_bracket(&w, '{');
    write_table(&w, &table_sim, def);
    close_bracket(&w, '}');
    fputc('\n', w.out);
    bool failed = ferror(w.out);
    if (fclose(w.out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
