// PLY, ascii and binary of either byte order: vertex x, y, z and the faces' vertex_indices. Other
// elements and properties are read past.
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include "solid/trimesh.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 16, MAX_PROPERTIES = 64 };

typedef enum Type { I8, U8, I16, U16, I32, U32, F32, F64, TYPE_COUNT } Type;
typedef enum Role { ROLE_OTHER, ROLE_X, ROLE_Y, ROLE_Z, ROLE_CORNERS } Role;
typedef enum ElementRole { ELEMENT_OTHER, ELEMENT_VERTEX, ELEMENT_FACE } ElementRole;
typedef enum Encoding { ASCII, LITTLE, BIG } Encoding;

static const int type_bytes[TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 8};

typedef struct Property {
    uint8_t type, count_type, is_list, role;
} Property;

typedef struct Element {
    ElementRole role;
    int64_t count;
    int property_count;
    Property properties[MAX_PROPERTIES];
} Element;

typedef struct Ply {
    Text text; ///< its `at` is the cursor in binary files too
    const char *name;
    Encoding encoding;
    int element_count;
    Element elements[MAX_ELEMENTS];
    Trimesh *mesh;
    uint32_t *corners;
    size_t corner_capacity;
    BrimError *error;
} Ply;

static BrimResult bad(Ply *p, const char *what) {
    if (p->encoding == ASCII)
        return fail(p->error, BRIM_ERROR_INPUT, "%s:%lld: %s", p->name, (long long)p->text.line,
                    what);
    return fail(p->error, BRIM_ERROR_INPUT, "%s: offset %zu: %s", p->name, p->text.at, what);
}

// ------------------------------------------------------------------------------------ header

static bool find_type(Word word, uint8_t *type) {
    static const char *const names[TYPE_COUNT][2] = {
        {"char", "int8"}, {"uchar", "uint8"}, {"short", "int16"},   {"ushort", "uint16"},
        {"int", "int32"}, {"uint", "uint32"}, {"float", "float32"}, {"double", "float64"}};
    for (int i = 0; i < TYPE_COUNT; i++)
        if (word_is(word, names[i][0]) || word_is(word, names[i][1])) {
            *type = (uint8_t)i;
            return true;
        }
    return false;
}

static BrimResult header_format(Ply *p, Encoding *encoding) {
    Word word;
    if (!text_word(&p->text, &word)) return bad(p, "'format' needs a name");
    if (word_is(word, "ascii"))
        *encoding = ASCII;
    else if (word_is(word, "binary_little_endian"))
        *encoding = LITTLE;
    else if (word_is(word, "binary_big_endian"))
        *encoding = BIG;
    else
        return bad(p, "unknown format; known: ascii, binary_little_endian, binary_big_endian");
    return BRIM_OK;
}

static BrimResult header_element(Ply *p) {
    if (p->element_count == MAX_ELEMENTS) return bad(p, "more than 16 elements");
    Word name, count;
    Element *e = &p->elements[p->element_count];
    if (!text_word(&p->text, &name) || !text_word(&p->text, &count) ||
        !word_integer(count, &e->count) || e->count < 0)
        return bad(p, "'element' needs a name and a count");
    e->role = word_is(name, "vertex") ? ELEMENT_VERTEX
              : word_is(name, "face") ? ELEMENT_FACE
                                      : ELEMENT_OTHER;
    p->element_count++;
    return BRIM_OK;
}

static uint8_t property_role(const Element *e, const Property *property, Word name) {
    if (e->role == ELEMENT_FACE && property->is_list)
        return word_is(name, "vertex_indices") || word_is(name, "vertex_index") ? ROLE_CORNERS
                                                                                : ROLE_OTHER;
    if (e->role != ELEMENT_VERTEX || property->is_list) return ROLE_OTHER;
    return word_is(name, "x")   ? ROLE_X
           : word_is(name, "y") ? ROLE_Y
           : word_is(name, "z") ? ROLE_Z
                                : ROLE_OTHER;
}

static BrimResult header_property(Ply *p) {
    if (p->element_count == 0) return bad(p, "a property before the first element");
    Element *e = &p->elements[p->element_count - 1];
    if (e->property_count == MAX_PROPERTIES) return bad(p, "more than 64 properties");
    Property property = {0};
    Word word, name;
    if (!text_word(&p->text, &word)) return bad(p, "'property' needs a type");
    if (word_is(word, "list")) {
        property.is_list = 1;
        if (!text_word(&p->text, &word) || !find_type(word, &property.count_type) ||
            property.count_type >= F32 || !text_word(&p->text, &word))
            return bad(p, "a list needs an integer type for its length and a type");
    }
    if (!find_type(word, &property.type)) return bad(p, "unknown type of a property");
    if (!text_word(&p->text, &name)) return bad(p, "a property needs a name");
    property.role = property_role(e, &property, name);
    e->properties[e->property_count++] = property;
    return BRIM_OK;
}

static bool has_role(const Element *e, Role role) {
    int found = 0;
    for (int i = 0; i < e->property_count; i++) found += e->properties[i].role == role;
    return found == 1;
}

/// Elements that this reader can use, no larger than the file can hold.
static BrimResult header_check(Ply *p) {
    bool vertices = false, faces = false;
    for (int i = 0; i < p->element_count; i++) {
        const Element *e = &p->elements[i];
        int64_t least = 0; // bytes of a record; in ascii a digit and a blank, the last one bare
        for (int j = 0; j < e->property_count; j++)
            least += p->encoding == ASCII       ? 2
                     : e->properties[j].is_list ? type_bytes[e->properties[j].count_type]
                                                : type_bytes[e->properties[j].type];
        int64_t left = (int64_t)(p->text.size - p->text.at) + 1;
        if (e->count > 0 && (least == 0 || e->count > left / least))
            return fail(p->error, BRIM_ERROR_INPUT,
                        "%s: truncated: element %d has %lld records, more than the file holds",
                        p->name, i + 1, (long long)e->count);
        if (e->role == ELEMENT_VERTEX) {
            if (!has_role(e, ROLE_X) || !has_role(e, ROLE_Y) || !has_role(e, ROLE_Z) || vertices)
                return bad(p, "needs one element vertex with x, y and z");
            vertices = true;
        } else if (e->role == ELEMENT_FACE) {
            if (!has_role(e, ROLE_CORNERS) || faces || !vertices)
                return bad(p, "needs one element face, after vertex, with a list vertex_indices");
            faces = true;
        }
    }
    return faces ? BRIM_OK : bad(p, "needs the elements vertex and face");
}

static BrimResult read_header(Ply *p) {
    Word word;
    Encoding encoding = ASCII;
    bool formatted = false;
    if (!text_word(&p->text, &word) || !word_is(word, "ply"))
        return bad(p, "a PLY file opens with 'ply'");
    for (;;) {
        if (!text_next_line(&p->text)) return bad(p, "truncated: 'end_header' is missing");
        BrimResult result = BRIM_OK;
        if (!text_word(&p->text, &word)) continue;
        if (word_is(word, "format"))
            result = header_format(p, &encoding), formatted = true;
        else if (word_is(word, "element"))
            result = header_element(p);
        else if (word_is(word, "property"))
            result = header_property(p);
        else if (word_is(word, "end_header"))
            break;
        else if (word_is(word, "comment")) // "comment brim 1.2": frames of bodies, surfaces
            p->mesh->joined |= text_word(&p->text, &word) && word_is(word, "brim");
        else if (!word_is(word, "obj_info"))
            result = bad(p, "expected format, element, property, comment or end_header");
        if (result != BRIM_OK) return result;
    }
    if (!formatted) return bad(p, "the header has no 'format'");
    text_next_line(&p->text);
    p->encoding = encoding;
    return header_check(p);
}

// -------------------------------------------------------------------------------------- body

static double decode(Type type, uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float single;
    double twice;
    switch (type) {
    case I8:
        return (int8_t)low;
    case U8:
        return (uint8_t)low;
    case I16:
        return (int16_t)low;
    case U16:
        return (uint16_t)low;
    case I32:
        return (int32_t)low;
    case U32:
        return low;
    case F32:
        memcpy(&single, &low, sizeof single);
        return single;
    default:
        memcpy(&twice, &bits, sizeof twice);
        return twice;
    }
}

/// One value; ascii numbers that nobody uses need not be numbers.
static BrimResult read_value(Ply *p, uint8_t type, bool used, double *value) {
    *value = 0;
    if (p->encoding == ASCII) {
        Word word;
        if (!text_word_anywhere(&p->text, &word)) return bad(p, "truncated");
        if (used && !word_number(word, value)) return bad(p, "not a number");
        return BRIM_OK;
    }
    size_t bytes = (size_t)type_bytes[type];
    if (p->text.size - p->text.at < bytes) return bad(p, "truncated");
    const uint8_t *at = p->text.data + p->text.at;
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++)
        bits |= (uint64_t)at[i] << 8 * (p->encoding == LITTLE ? i : bytes - 1 - i);
    *value = decode((Type)type, bits);
    p->text.at += bytes;
    return BRIM_OK;
}

static BrimResult read_corners(Ply *p, const Property *property, int64_t count) {
    if (!memory_grow((void **)&p->corners, &p->corner_capacity, sizeof *p->corners, (size_t)count,
                     0))
        return trimesh_out_of_memory(p->name, p->error);
    for (int64_t i = 0; i < count; i++) {
        double value;
        BrimResult result = read_value(p, property->type, true, &value);
        if (result != BRIM_OK) return result;
        if (!(value >= 0 && value < (double)p->mesh->vertex_count && value == floor(value)))
            return bad(p, "a face names a vertex that does not exist");
        p->corners[i] = (uint32_t)value;
    }
    if (count < 3) return bad(p, "a face needs at least three vertices");
    if (!trimesh_add_polygon(p->mesh, p->corners, (size_t)count))
        return trimesh_out_of_memory(p->name, p->error);
    return BRIM_OK;
}

static BrimResult read_list(Ply *p, const Property *property) {
    double count, value;
    BrimResult result = read_value(p, property->count_type, true, &count);
    if (result != BRIM_OK) return result;
    size_t left = p->text.size - p->text.at;
    size_t least = p->encoding == ASCII ? 1 : (size_t)type_bytes[property->type];
    if (!(count >= 0 && count <= (double)(left / least) && count == floor(count)))
        return bad(p, "truncated: a list is longer than the file");
    if (property->role == ROLE_CORNERS) return read_corners(p, property, (int64_t)count);
    for (int64_t i = 0; i < (int64_t)count && result == BRIM_OK; i++)
        result = read_value(p, property->type, false, &value);
    return result;
}

static BrimResult read_record(Ply *p, const Element *e) {
    double position[3] = {0};
    for (int i = 0; i < e->property_count; i++) {
        const Property *property = &e->properties[i];
        bool coordinate = property->role >= ROLE_X && property->role <= ROLE_Z;
        double value = 0;
        BrimResult result = property->is_list ? read_list(p, property)
                                              : read_value(p, property->type, coordinate, &value);
        if (result != BRIM_OK) return result;
        if (!coordinate) continue;
        if (!trimesh_coordinate_ok(value))
            return bad(p, "a coordinate is not finite or larger than 1e9");
        position[property->role - ROLE_X] = value;
    }
    if (e->role == ELEMENT_VERTEX && !trimesh_add_vertex(p->mesh, position))
        return trimesh_out_of_memory(p->name, p->error);
    return BRIM_OK;
}

BrimResult trimesh_parse_ply(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                             BrimError *error) {
    Ply p = {.text = text_of(data, size), .name = name, .mesh = mesh, .error = error};
    BrimResult result = read_header(&p);
    for (int i = 0; i < p.element_count && result == BRIM_OK; i++)
        for (int64_t n = 0; n < p.elements[i].count && result == BRIM_OK; n++)
            result = read_record(&p, &p.elements[i]);
    free(p.corners);
    return result;
}
