// Fields as numbers and as text: lookup, defaults, ranges.
#include "scene/fields.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *field_key(const Table *table, const Field *field) {
    return field->info.key + strlen(table->prefix);
}

const Field *table_find(const Table *table, const char *key) {
    for (int i = 0; i < table->count; i++)
        if (strcmp(field_key(table, &table->fields[i]), key) == 0) return &table->fields[i];
    return NULL;
}

bool table_has_group(const Table *table, const char *group) {
    size_t length = strlen(group);
    for (int i = 0; i < table->count; i++) {
        const char *key = field_key(table, &table->fields[i]);
        if (strncmp(key, group, length) == 0 && key[length] == '.') return true;
    }
    return false;
}

bool field_applies(const Table *table, const Field *field, const void *base) {
    if (!field->of) return true;
    return *(const int *)(const void *)((const char *)base + table->kind_offset) == field->of - 1;
}

const char *shape_name(BrimShapeKind kind, char out[16]) {
    snprintf(out, 16, "%s", table_shape[kind].prefix);
    out[strlen(out) - 1] = 0;
    return out;
}

int shape_kind(const char *name) {
    char known[16];
    for (int k = 0; k < SHAPE_KINDS; k++)
        if (strcmp(shape_name((BrimShapeKind)k, known), name) == 0) return k;
    return -1;
}

int field_get(const Field *field, const void *base, int dim, double out[3]) {
    const char *at = (const char *)base + field->offset;
    switch (field->store) {
    case STORE_FLOAT:
        return out[0] = (double)*(const float *)at, 1;
    case STORE_DOUBLE:
        return out[0] = *(const double *)at, 1;
    case STORE_INT:
    case STORE_CHOICE:
        return out[0] = *(const int *)at, 1;
    case STORE_UINT:
    case STORE_SET:
        return out[0] = *(const uint32_t *)at, 1;
    case STORE_FLAG:
        return out[0] = *(const bool *)at, 1;
    case STORE_PAIR:
        for (int a = 0; a < 2; a++) out[a] = (double)((const float *)at)[a];
        return 2;
    case STORE_CELLS:
        for (int a = 0; a < 3; a++) out[a] = ((const int *)at)[a];
        return dim;
    case STORE_VECTOR:
    case STORE_GRAVITY:
    case STORE_TURN: {
        BrimVec3 v = *(const BrimVec3 *)at;
        out[0] = v.x, out[1] = v.y, out[2] = v.z;
        if (field->store != STORE_TURN || dim == 3) return dim;
        return out[0] = v.z, 1;
    }
    default:
        return 0;
    }
}

void field_set(const Field *field, void *base, const double in[3]) {
    char *at = (char *)base + field->offset;
    switch (field->store) {
    case STORE_FLOAT:
        *(float *)at = (float)in[0];
        break;
    case STORE_DOUBLE:
        *(double *)at = in[0];
        break;
    case STORE_INT:
    case STORE_CHOICE:
        *(int *)at = (int)in[0];
        break;
    case STORE_UINT:
    case STORE_SET:
        *(uint32_t *)at = (uint32_t)in[0];
        break;
    case STORE_FLAG:
        *(bool *)at = in[0] != 0;
        break;
    case STORE_PAIR:
        for (int a = 0; a < 2; a++) ((float *)at)[a] = (float)in[a];
        break;
    case STORE_CELLS:
        for (int a = 0; a < 3; a++) ((int *)at)[a] = (int)in[a];
        break;
    case STORE_VECTOR:
    case STORE_GRAVITY:
    case STORE_TURN:
        *(BrimVec3 *)at = (BrimVec3){(float)in[0], (float)in[1], (float)in[2]};
        break;
    default:
        break;
    }
}

/// "[0, -9.81, 0]", "1e-4", "true", "flip" => numbers; what is not given is 0.
static void read_initial(const Field *field, double out[3]) {
    const char *text = field->info.initial;
    out[0] = out[1] = out[2] = 0;
    if (field->store == STORE_CHOICE) {
        int index = choice_index(field->info.range, text);
        out[0] = index < 0 ? 0 : index;
    } else if (field->store == STORE_SET) {
        return; // all sets are empty at first
    } else if (field->store == STORE_FLAG) {
        out[0] = strcmp(text, "true") == 0;
    } else {
        if (*text == '[') text++;
        for (int i = 0; i < 3; i++) {
            char word[32];
            size_t length = strcspn(text, " ,]");
            snprintf(word, sizeof word, "%.*s", (int)length, text);
            if (!number_parse(word, &out[i])) break;
            text += length;
            text += strspn(text, " ,]");
        }
    }
}

bool field_is_default(const Field *field, const void *base, int dim) {
    double initial[3], value[3];
    char store[64] = {0}; // numbers as the store holds them: 0.1f is not 0.1
    Field copy = *field;
    copy.offset = 0;
    read_initial(field, initial);
    field_set(&copy, store, initial);
    int count = field_get(field, base, dim, value);
    field_get(&copy, store, dim, initial);
    for (int i = 0; i < count; i++)
        if (value[i] != initial[i]) return false;
    return true;
}

void table_defaults(const Table *table, void *base) {
    for (int i = 0; i < table->count; i++) {
        const Field *field = &table->fields[i];
        if (field->flags & FIELD_SHORTHAND) continue;
        double value[3];
        read_initial(field, value);
        field_set(field, base, value);
    }
}

typedef struct Range {
    double low, high;
    bool open; ///< the low end itself is not allowed
    bool zero; ///< 0 is allowed too, apart from the rest
} Range;

static bool has_zero_apart(const char *range) {
    return strncmp(range, "0 or ", 5) == 0;
}

/// "> 0", ">= 0", "0 to 1", "0 or 2 to 16", "1" or ""
static Range read_range(const char *text) {
    Range range = {.low = -INFINITY, .high = INFINITY, .zero = has_zero_apart(text)};
    char first[32];
    if (!*text) return range;
    if (range.zero) text += strlen("0 or ");
    if (*text == '>') {
        range.open = text[1] != '=';
        number_parse(text + (range.open ? 2 : 3), &range.low);
        return range;
    }
    const char *to = strstr(text, " to ");
    snprintf(first, sizeof first, "%.*s", (int)(to ? to - text : (long)strlen(text)), text);
    number_parse(first, &range.low);
    range.high = range.low;
    if (to) number_parse(to + 4, &range.high);
    return range;
}

static double store_limit(FieldStore store) {
    switch (store) {
    case STORE_FLOAT:
    case STORE_VECTOR:
    case STORE_PAIR:
    case STORE_TURN:
    case STORE_GRAVITY:
    case STORE_HEIGHTS:
        return (double)FLT_MAX;
    case STORE_INT:
    case STORE_CELLS:
        return INT_MAX;
    case STORE_UINT:
        return UINT32_MAX;
    default:
        return DBL_MAX;
    }
}

/// Words of "age, source".
static int choice_count(const char *choices) {
    int count = *choices != 0;
    for (; *choices; choices++) count += *choices == ',';
    return count;
}

bool field_allows(const Field *field, double value) {
    bool may_be_infinite = strcmp(field->info.initial, ".inf") == 0;
    if (isnan(value)) return false;
    if (isinf(value)) return may_be_infinite && value > 0;
    if (fabs(value) > store_limit(field->store)) return false;
    bool whole = field->store == STORE_INT || field->store == STORE_UINT ||
                 field->store == STORE_CELLS || field->store == STORE_VERSION;
    if (whole && value != floor(value)) return false;
    if (field->store == STORE_CHOICE || field->store == STORE_FLAG) {
        char name[32];
        if (value < 0) return false;
        choice_name(field->info.range, (int)value, name, sizeof name);
        return *name != 0;
    }
    if (field->store == STORE_SET)
        return value >= 0 && value < 1u << choice_count(field->info.range);
    Range range = read_range(field->info.range);
    if (range.zero && value == 0) return true;
    if (store_limit(field->store) == (double)FLT_MAX) { // 1e-6 as a float is less than 1e-6
        value = (double)(float)value;
        range.low = (double)(float)range.low, range.high = (double)(float)range.high;
    }
    return value <= range.high && (range.open ? value > range.low : value >= range.low);
}

int field_rounds(const Field *field, double value) {
    const double limit = store_limit(field->store);
    if (limit < (double)FLT_MAX) return 0;
    if (fabs(value) > limit) return 1;
    return limit == (double)FLT_MAX && value != 0 && (float)value == 0 ? -1 : 0;
}

/// " > 0", " from 0 to 1" or ", 0 or 2 to 16"
static void range_words(const char *range, const char *before, char out[64]) {
    bool zero = has_zero_apart(range), from = *range != '>' && !zero && strstr(range, " to ");
    snprintf(out, 64, "%s%s%s", !*range ? "" : zero ? ", " : before, from ? "from " : "", range);
}

void field_allowed(const Field *field, int dim, char *out, size_t size) {
    const BrimFieldInfo *info = &field->info;
    char range[64], numbers[48] = "a number";
    const char *unit = *info->unit ? info->unit : "dimensionless";
    range_words(info->range, " ", range);
    bool turn = field->store == STORE_TURN && dim == 2;
    switch (field->store) {
    case STORE_INT:
    case STORE_UINT:
    case STORE_VERSION:
        snprintf(out, size, "a whole number%s", range);
        break;
    case STORE_FLAG:
        snprintf(out, size, "true or false");
        break;
    case STORE_CHOICE:
    case STORE_SIDES:
    case STORE_KIND:
        snprintf(out, size, "one of %s", info->range);
        break;
    case STORE_SET:
        snprintf(out, size, "a list of words, each one of %s", info->range);
        break;
    case STORE_CELLS:
        snprintf(out, size, "one whole number or a list of %d, each%s", dim, range);
        break;
    case STORE_VECTOR:
    case STORE_TURN:
    case STORE_GRAVITY:
        if (turn) snprintf(numbers, sizeof numbers, "one number, about z");
        if (!turn)
            snprintf(numbers, sizeof numbers, "a list of %d numbers%s", dim,
                     field->formula ? " or formulas" : "");
        if (!turn) range_words(info->range, ", each ", range);
        snprintf(out, size, "%s%s (%s)%s", numbers, range, unit,
                 field->store == STORE_GRAVITY ? ", or a list of {time, gravity}" : "");
        break;
    case STORE_PAIR:
        range_words(info->range, ", each ", range);
        snprintf(out, size, "a list of two numbers%s (%s), the first not above the second", range,
                 unit);
        break;
    case STORE_FLOAT:
    case STORE_DOUBLE:
        snprintf(out, size, "a number%s (%s)%s", range, unit,
                 field->formula ? " or a formula" : "");
        break;
    case STORE_TEXT:
    case STORE_FORMULA:
        snprintf(out, size, "%s: %s", field->store == STORE_TEXT ? "text" : "a formula",
                 info->help);
        break;
    case STORE_FILE:
        snprintf(out, size, "the name of a file: %s", info->help);
        break;
    case STORE_FILES:
        snprintf(out, size, "the name of files: %s", info->help);
        break;
    case STORE_CANYON:
        snprintf(out, size, "a map with the keys of the canyon");
        break;
    case STORE_SHAPES:
        snprintf(out, size, "a list of at least one shape");
        break;
    default:
        snprintf(out, size, "a list");
    }
}

int choice_index(const char *choices, const char *word) {
    size_t length = strlen(word);
    for (int i = 0; *choices; i++) {
        size_t n = strcspn(choices, ",");
        if (n == length && strncmp(choices, word, n) == 0) return i;
        choices += n;
        choices += strspn(choices, ", ");
    }
    return -1;
}

void choice_name(const char *choices, int index, char *out, size_t size) {
    for (; index > 0 && *choices; index--) {
        choices += strcspn(choices, ",");
        choices += strspn(choices, ", ");
    }
    snprintf(out, size, "%.*s", (int)strcspn(choices, ","), choices);
}
