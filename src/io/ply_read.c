#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/ply.h"
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024, MAX_PROPERTIES = 256, MAX_AFTER = 16, CHUNK_BYTES = 1 << 20 };

typedef enum Type { INT8, UINT8, INT16, UINT16, INT32, UINT32, FLOAT32, FLOAT64, TYPE_COUNT } Type;

static const struct {
    const char *name, *alias;
    int bytes;
} types[TYPE_COUNT] = {
    [INT8] = {"char", "int8", 1},        [UINT8] = {"uchar", "uint8", 1},
    [INT16] = {"short", "int16", 2},     [UINT16] = {"ushort", "uint16", 2},
    [INT32] = {"int", "int32", 4},       [UINT32] = {"uint", "uint32", 4},
    [FLOAT32] = {"float", "float32", 4}, [FLOAT64] = {"double", "float64", 8},
};

/// The columns of a BrimFrame, in its order.
enum { X, Y, Z, VX, VY, VZ, ID, COLUMNS };
static const char *const column_names[COLUMNS] = {"x", "y", "z", "vx", "vy", "vz", "id"};

/// Where a column lies in a record.
typedef struct Column {
    bool present;
    Type type;
    uint64_t offset;
} Column;

/// A property of an element after the vertices: a number, or a list with its length before it.
typedef struct Property {
    bool list;
    Type length, type;
    int column; ///< whose name it has, COLUMNS: none
} Property;

/// An element after the vertices: passed over, unless it is the interior or the bend.
typedef struct After {
    uint64_t count;
    int properties;
} After;

/// Numbers of a cell below a narrow band in an element of its own, first after the vertices, and of
/// a node of a warped grid's lattice in one behind it.
enum { INTERIOR_WORDS = 6, BEND_WORDS = 3 };

typedef struct Reader {
    FILE *in;
    const char *path;
    uint64_t bytes;  ///< of the whole file
    uint64_t before; ///< bytes of the elements before the vertices
    uint64_t count;  ///< vertices
    uint64_t stride; ///< bytes of a vertex
    bool big_endian;
    Column columns[COLUMNS];
    const char *wanted; ///< a property besides those columns; NULL: none
    Column extra;       ///< that property
    Column kind;        ///< property `type` of particles: 1 is spray
    bool all;           ///< other properties as well
    Column others[BRIM_EXTRA_MAX];
    char other_names[BRIM_EXTRA_MAX][32];
    int other_count;
    After after[MAX_AFTER];
    int after_count;
    bool interior; ///< the first of them are the cells below a narrow band
    bool bend;     ///< the next of them are how a warped grid is bent
    Property after_properties[MAX_PROPERTIES]; ///< of all elements in `after`
    int after_property_count;
    PlyNotes notes;
} Reader;

// ---------------------------------------------------------------------------------- header

typedef enum Section { NO_ELEMENT, OTHER_BEFORE, VERTEX, OTHER_AFTER } Section;

/// The element whose properties are being read.
typedef struct Element {
    Section section;
    uint64_t count, stride;
    int properties;
} Element;

static BrimResult ends_early(const Reader *r, BrimError *error) {
    return fail(error, BRIM_ERROR_DAMAGED, "'%s' is damaged: it ends early", r->path);
}

static BrimResult bad(const Reader *r, const char *what, BrimError *error) {
    return fail(error, BRIM_ERROR_INPUT, "'%s' is not a PLY file that Brim reads: %s", r->path,
                what);
}

/// A line of the header without its end. False when it is too long, and at the end of the file,
/// with what there was of it.
static bool read_line(FILE *in, char line[LINE_BYTES]) {
    int n = 0;
    for (int c; (c = fgetc(in)) != '\n';) {
        line[n] = 0;
        if (c == EOF || c == 0 || n == LINE_BYTES - 1) return false;
        line[n++] = (char)c;
    }
    if (n && line[n - 1] == '\r') n--;
    line[n] = 0;
    return true;
}

static BrimResult read_format(Reader *r, const char *format, BrimError *error) {
    if (strcmp(format, "binary_little_endian") == 0) return BRIM_OK;
    r->big_endian = strcmp(format, "binary_big_endian") == 0;
    if (r->big_endian) return BRIM_OK;
    return bad(r,
               strcmp(format, "ascii") == 0 ? "it is text; save it as binary PLY"
                                            : "its format line is unknown",
               error);
}

static void read_comment(Reader *r, const char *text) {
    char word[32];
    if (sscanf(text, "comment brim %31s", word) == 1) strcpy(r->notes.version, word);
    if (sscanf(text, "comment time %lf", &r->notes.time) == 1) return;
    if (sscanf(text, "comment frame %d", &r->notes.frame) == 1) return;
    PlyNotes *n = &r->notes;
    long long count[5];
    unsigned long long settings;
    if (sscanf(text, "comment foam spray %lld foam %lld bubbles %lld born %lld gone %lld",
               &count[0], &count[1], &count[2], &count[3], &count[4]) == 5)
        n->foam = true, n->spray = count[0], n->foams = count[1], n->bubbles = count[2],
        n->born = count[3], n->gone = count[4];
    else if (sscanf(text, "comment foam next %u settings %llx", &n->next_id, &settings) == 2)
        n->settings = settings;
}

/// Adds the finished element to what lies before the vertices, or makes it the vertices.
static BrimResult close_element(Reader *r, const Element *e, BrimError *error) {
    if (e->section == VERTEX) r->count = e->count, r->stride = e->stride;
    if (e->section != OTHER_BEFORE) return BRIM_OK;
    if (e->stride && e->count > (r->bytes - r->before) / e->stride) return ends_early(r, error);
    r->before += e->count * e->stride;
    return BRIM_OK;
}

static BrimResult read_element(Reader *r, Element *e, const char *line, BrimError *error) {
    char name[64], digits[20];
    int used = 0;
    if (sscanf(line, "element %63s %19[0-9] %n", name, digits, &used) != 2 || !used || line[used])
        return bad(r, "an element line is malformed", error);
    bool vertex = strcmp(name, "vertex") == 0;
    if (vertex && e->section >= VERTEX) return bad(r, "it has two vertex elements", error);
    BrimResult result = close_element(r, e, error);
    Section section = vertex ? VERTEX : e->section >= VERTEX ? OTHER_AFTER : OTHER_BEFORE;
    *e = (Element){.section = section, .count = strtoull(digits, NULL, 10)};
    if (section == OTHER_AFTER) {
        if (r->after_count == MAX_AFTER) return bad(r, "it has too many elements", error);
        r->interior |= r->after_count == 0 && strcmp(name, "interior") == 0;
        r->bend |= r->after_count == r->interior && strcmp(name, "bend") == 0;
        r->after[r->after_count++] = (After){.count = e->count};
    }
    if (strcmp(name, "face") == 0) r->notes.surface = true, r->notes.faces = e->count;
    return result;
}

static bool find_type(const char *name, Type *type) {
    for (int t = 0; t < TYPE_COUNT; t++) {
        if (strcmp(name, types[t].name) != 0 && strcmp(name, types[t].alias) != 0) continue;
        *type = (Type)t;
        return true;
    }
    return false;
}

/// Keeps a property that is no column, if its name can stand in other formats too.
static void add_other(Reader *r, const char *name, Type type, uint64_t offset) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t n = strlen(name);
    if (!r->all || r->other_count == BRIM_EXTRA_MAX || n >= sizeof r->other_names[0] ||
        strspn(name, allowed) != n)
        return;
    strcpy(r->other_names[r->other_count], name);
    r->others[r->other_count++] = (Column){true, type, offset};
}

static BrimResult add_column(Reader *r, const char *name, Type type, uint64_t offset,
                             BrimError *error) {
    if (strcmp(name, "type") == 0 && type == UINT32) r->kind = (Column){true, type, offset};
    if (r->wanted && strcmp(name, r->wanted) == 0) r->extra = (Column){true, type, offset};
    for (int i = 0; i < COLUMNS; i++) {
        if (strcmp(name, column_names[i]) != 0) continue;
        bool real = type == FLOAT32 || type == FLOAT64;
        if (i == ID && real) continue; // a label of another program, not our id
        if (i != ID && !real)
            return bad(r, "x, y, z and vx, vy, vz must be float or double", error);
        if (r->columns[i].present) return bad(r, "a property comes twice", error);
        r->columns[i] = (Column){true, type, offset};
        return BRIM_OK;
    }
    add_other(r, name, type, offset);
    return BRIM_OK;
}

static BrimResult read_property_after(Reader *r, const char *line, BrimError *error) {
    char length[16], type[16], name[64] = "";
    Property p = {.list = sscanf(line, "property list %15s %15s", length, type) == 2};
    bool known = p.list ? find_type(length, &p.length) && p.length < FLOAT32
                        : sscanf(line, "property %15s %63s", type, name) >= 1;
    if (!known || !find_type(type, &p.type)) return bad(r, "a property line is malformed", error);
    while (p.column < COLUMNS && strcmp(name, column_names[p.column]) != 0) p.column++;
    if (r->after_property_count == MAX_PROPERTIES)
        return bad(r, "it has too many properties", error);
    r->after_properties[r->after_property_count++] = p;
    r->after[r->after_count - 1].properties++;
    return BRIM_OK;
}

static BrimResult read_property(Reader *r, Element *e, const char *line, BrimError *error) {
    if (e->section == OTHER_AFTER) return read_property_after(r, line, error);
    if (e->section == NO_ELEMENT) return bad(r, "a property comes before any element", error);
    char type_name[16], name[64];
    if (strncmp(line, "property list", 13) == 0)
        return bad(r, "lists are read only after the vertices", error);
    Type type;
    if (sscanf(line, "property %15s %63s", type_name, name) != 2 || !find_type(type_name, &type))
        return bad(r, "a property line is malformed", error);
    if (++e->properties > MAX_PROPERTIES) return bad(r, "it has too many properties", error);
    BrimResult result =
        e->section == VERTEX ? add_column(r, name, type, e->stride, error) : BRIM_OK;
    e->stride += (uint64_t)types[type].bytes;
    return result;
}

/// Whether an element after the vertices is laid out as Brim writes it, x, y, z and so on as float:
/// what another program calls by its name is passed over.
static bool is_ours(const Reader *r, int element, int words) {
    bool same = r->after[element].properties == words;
    const Property *p = r->after_properties;
    for (int i = 0; i < element; i++) p += r->after[i].properties;
    for (int i = 0; i < words && same; i++)
        same = !p[i].list && p[i].type == FLOAT32 && p[i].column == X + i;
    return same;
}

static bool starts(const char *line, const char *word) {
    return strncmp(line, word, strlen(word)) == 0;
}

static BrimResult read_header(Reader *r, BrimError *error) {
    char line[LINE_BYTES], format[32];
    bool whole = read_line(r->in, line);
    if (!whole && feof(r->in) && starts("ply", line)) return ends_early(r, error);
    if (!whole || strcmp(line, "ply") != 0) return bad(r, "it does not begin with 'ply'", error);
    whole = read_line(r->in, line);
    if (!whole && feof(r->in)) return ends_early(r, error);
    if (!whole || sscanf(line, "format %31s", format) != 1)
        return bad(r, "the format line is missing", error);
    BrimResult result = read_format(r, format, error);
    Element element = {0};
    while (result == BRIM_OK) {
        if (!read_line(r->in, line))
            return feof(r->in) ? ends_early(r, error) : bad(r, "its header does not end", error);
        if (strcmp(line, "end_header") == 0) break;
        if (starts(line, "comment"))
            read_comment(r, line);
        else if (starts(line, "element "))
            result = read_element(r, &element, line, error);
        else if (starts(line, "property "))
            result = read_property(r, &element, line, error);
        else if (!starts(line, "obj_info"))
            result = bad(r, "its header has an unknown line", error);
    }
    if (result == BRIM_OK) result = close_element(r, &element, error);
    // what is not read is passed over with all behind it
    const bool first = r->interior;
    r->interior = first && is_ours(r, 0, INTERIOR_WORDS);
    r->bend = r->bend && first == r->interior && is_ours(r, first, BEND_WORDS);
    if (result == BRIM_OK &&
        !(r->columns[X].present && r->columns[Y].present && r->columns[Z].present))
        result = bad(r, "it lacks vertices with x, y and z", error);
    return result;
}

// ---------------------------------------------------------------------------------- values

/// An unsigned number of 1, 2, 4 or 8 bytes in the file's byte order.
static uint64_t load(const unsigned char *p, int bytes, bool big_endian) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 2:
        memcpy(&two, p, sizeof two);
        return big_endian ? be16toh(two) : le16toh(two);
    case 4:
        memcpy(&four, p, sizeof four);
        return big_endian ? be32toh(four) : le32toh(four);
    case 8:
        memcpy(&eight, p, sizeof eight);
        return big_endian ? be64toh(eight) : le64toh(eight);
    default:
        return *p;
    }
}

/// out[i] = column of record i, for n records.
static void decode_floats(const Reader *r, const Column *c, const unsigned char *records, size_t n,
                          float *out) {
    const unsigned char *p = records + c->offset;
    for (size_t i = 0; i < n; i++, p += r->stride) {
        if (c->type == FLOAT32) {
            uint32_t word = (uint32_t)load(p, 4, r->big_endian);
            memcpy(&out[i], &word, sizeof word);
        } else {
            uint64_t word = load(p, 8, r->big_endian);
            double value;
            memcpy(&value, &word, sizeof value);
            out[i] = (float)value;
        }
    }
}

static void decode_ids(const Reader *r, const unsigned char *records, size_t n, uint32_t *out) {
    const Column *c = &r->columns[ID];
    const unsigned char *p = records + c->offset;
    for (size_t i = 0; i < n; i++, p += r->stride)
        out[i] = (uint32_t)load(p, types[c->type].bytes, r->big_endian);
}

/// Real numbers as float, whole ones as 32 bits.
static void decode_other(const Reader *r, int index, const unsigned char *records, size_t n,
                         void *out) {
    const Column *c = &r->others[index];
    const unsigned char *p = records + c->offset;
    if (c->type == FLOAT32 || c->type == FLOAT64) {
        decode_floats(r, c, records, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++, p += r->stride) {
        uint64_t word = load(p, types[c->type].bytes, r->big_endian);
        if (c->type == INT8) word = (uint64_t)(int8_t)word;
        if (c->type == INT16) word = (uint64_t)(int16_t)word;
        ((uint32_t *)out)[i] = (uint32_t)word;
    }
}

static void decode(const Reader *r, const unsigned char *records, size_t first, size_t n,
                   BrimFrame *f) {
    float *const out[] = {f->x, f->y, f->z, f->vx, f->vy, f->vz};
    for (int i = X; i <= VZ; i++) {
        if (r->columns[i].present)
            decode_floats(r, &r->columns[i], records, n, out[i] + first);
        else
            memset(out[i] + first, 0, n * sizeof(float));
    }
    if (r->columns[ID].present)
        decode_ids(r, records, n, f->id + first);
    else
        for (size_t i = 0; i < n; i++) f->id[first + i] = (uint32_t)(first + i);
    for (int i = 0; i < f->extra_count; i++)
        decode_other(r, i, records, n, (uint32_t *)f->extra[i].values + first);
}

/// Notes which of n records are spray. spray [count], a bit each, or NULL: nobody asks
static void decode_kinds(const Reader *r, const unsigned char *records, size_t first, size_t n,
                         bool *spray) {
    const unsigned char *p = records + r->kind.offset;
    for (size_t i = 0; spray && i < n; i++, p += r->stride)
        spray[first + i] = load(p, types[r->kind.type].bytes, r->big_endian) == 1;
}

/// Brings spray behind the rest, both in the order that they have, in an array of four-byte values;
/// spare [count].
static void part_values(const bool *spray, size_t count, uint32_t *values, uint32_t *spare) {
    size_t kept = 0, apart = 0;
    for (size_t i = 0; i < count; i++) {
        if (spray[i])
            spare[apart++] = values[i];
        else
            values[kept++] = values[i];
    }
    memcpy(values + kept, spare, apart * sizeof *values);
}

/// The same for arrays of a frame or of one property. Returns how many are spray; SIZE_MAX when out
/// of memory.
static size_t part_spray(const bool *spray, size_t count, void *const *arrays, int array_count) {
    size_t apart = 0;
    for (size_t i = 0; spray && i < count; i++) apart += spray[i];
    if (!apart) return 0;
    uint32_t *spare = memory_new(apart * sizeof *spare);
    if (!spare) return SIZE_MAX;
    for (int k = 0; k < array_count; k++) part_values(spray, count, arrays[k], spare);
    free(spare);
    return apart;
}

static bool part_frame(const bool *spray, BrimFrame *f) {
    void *arrays[COLUMNS + BRIM_EXTRA_MAX] = {f->x, f->y, f->z, f->vx, f->vy, f->vz, f->id};
    for (int i = 0; i < f->extra_count; i++) arrays[COLUMNS + i] = (void *)f->extra[i].values;
    f->spray = part_spray(spray, f->count, arrays, COLUMNS + f->extra_count);
    return f->spray != SIZE_MAX;
}

static bool allocate(BrimFrame *f, size_t count) {
    f->count = count;
    float **const arrays[] = {&f->x, &f->y, &f->z, &f->vx, &f->vy, &f->vz};
    bool ready = (f->id = memory_new(count * sizeof *f->id)) != NULL;
    for (int i = 0; i < 6; i++) ready &= (*arrays[i] = memory_new(count * sizeof(float))) != NULL;
    return ready;
}

static bool allocate_others(const Reader *r, BrimFrame *f) {
    bool ready = true;
    for (int i = 0; i < r->other_count; i++) {
        Type type = r->others[i].type;
        memcpy(f->extra_name[i], r->other_names[i], sizeof f->extra_name[i]);
        f->extra[i] = (BrimAttribute){.unit = "",
                                      .whole = type != FLOAT32 && type != FLOAT64,
                                      .values = memory_new(f->count * sizeof(uint32_t))};
        f->extra_count = i + 1;
        ready &= f->extra[i].values != NULL;
    }
    return ready;
}

static BrimResult read_vertices(const Reader *r, BrimFrame *frame, BrimError *error) {
    size_t per_chunk = r->stride < CHUNK_BYTES ? CHUNK_BYTES / (size_t)r->stride : 1;
    unsigned char *chunk = memory_new(per_chunk * (size_t)r->stride);
    bool whole = true, *spray = r->kind.present ? memory_new((size_t)r->count + 1) : NULL;
    if (!chunk || (r->kind.present && !spray) || !allocate(frame, (size_t)r->count) ||
        !allocate_others(r, frame)) {
        free(chunk), free(spray);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the %llu particles of '%s'",
                    (unsigned long long)r->count, r->path);
    }
    for (size_t at = 0; at < frame->count && whole; at += per_chunk) {
        size_t n = frame->count - at < per_chunk ? frame->count - at : per_chunk;
        whole = fread(chunk, (size_t)r->stride, n, r->in) == n;
        if (whole) decode(r, chunk, at, n, frame), decode_kinds(r, chunk, at, n, spray);
    }
    bool parted = !whole || part_frame(spray, frame);
    free(chunk), free(spray);
    if (!parted) return fail(error, BRIM_ERROR_MEMORY, "out of memory for '%s'", r->path);
    if (whole) return BRIM_OK;
    if (ferror(r->in)) return file_fail(error, "read", r->path, errno);
    return ends_early(r, error);
}

/// Goes to the first vertex. The count is checked against the file before anything is allocated.
static BrimResult find_vertices(const Reader *r, BrimError *error) {
    off_t start = ftello(r->in);
    if (start < 0) return file_fail(error, "read", r->path, errno);
    uint64_t skipped = (uint64_t)start + r->before;
    if (skipped > r->bytes || r->count > (r->bytes - skipped) / r->stride)
        return fail(error, BRIM_ERROR_DAMAGED,
                    "'%s' is damaged: it names %llu particles, which is more than it holds",
                    r->path, (unsigned long long)r->count);
    if (fseeko(r->in, (off_t)skipped, SEEK_SET) != 0)
        return file_fail(error, "read", r->path, errno);
    return BRIM_OK;
}

// ------------------------------------------------------------------------- after the vertices

static bool skip(FILE *in, uint64_t bytes) {
    unsigned char rest[1024];
    while (bytes > 0) {
        size_t n = bytes < sizeof rest ? (size_t)bytes : sizeof rest;
        if (fread(rest, 1, n, in) != n) return false;
        bytes -= n;
    }
    return true;
}

static bool skip_property(const Reader *r, const Property *p) {
    uint64_t count = 1;
    if (p->list) {
        unsigned char length[8];
        size_t bytes = (size_t)types[p->length].bytes;
        if (fread(length, 1, bytes, r->in) != bytes) return false;
        count = load(length, (int)bytes, r->big_endian);
    }
    return skip(r->in, count * (uint64_t)types[p->type].bytes);
}

/// Each record is a byte or more: the loop ends with the file at the latest.
static bool skip_element(const Reader *r, const After *e, const Property *properties) {
    for (uint64_t i = 0; e->properties && i < e->count; i++)
        for (int k = 0; k < e->properties; k++)
            if (!skip_property(r, &properties[k])) return false;
    return true;
}

/// Numbers of an element after the vertices, `words` to each of its `count`, as new memory.
static BrimResult read_words(const Reader *r, int element, int words, void **out, size_t *count,
                             BrimError *error) {
    const uint64_t bytes = 4 * (uint64_t)words, n = r->after[element].count;
    off_t start = ftello(r->in);
    if (start < 0) return file_fail(error, "read", r->path, errno);
    if (n > (r->bytes - (uint64_t)start) / bytes) return ends_early(r, error);
    *out = memory_new((size_t)((n + 1) * bytes));
    if (!*out)
        return fail(error, BRIM_ERROR_MEMORY,
                    "out of memory for what follows the particles of '%s'", r->path);
    *count = (size_t)n;
    if (fread(*out, (size_t)bytes, (size_t)n, r->in) != n) return ends_early(r, error);
    for (uint64_t i = 0; i < n * (uint64_t)words; i++) {
        unsigned char *at = (unsigned char *)*out + 4 * i;
        uint32_t word = (uint32_t)load(at, 4, r->big_endian);
        memcpy(at, &word, sizeof word);
    }
    return BRIM_OK;
}

/// The cells below a narrow band and how a warped grid is bent, right behind the vertices.
static BrimResult read_after(const Reader *r, BrimFrame *frame, BrimError *error) {
    BrimResult result = BRIM_OK;
    void *interior = NULL, *bend = NULL;
    if (r->interior)
        result = read_words(r, 0, INTERIOR_WORDS, &interior, &frame->interior_count, error);
    frame->interior = interior;
    if (result == BRIM_OK && r->bend)
        result = read_words(r, r->interior, BEND_WORDS, &bend, &frame->bend_count, error);
    frame->bend = bend;
    return result;
}

/// Whether what follows the vertices is what the header names, no less and no more.
static BrimResult check_rest(const Reader *r, BrimError *error) {
    const int read = r->interior + r->bend;
    const Property *properties = r->after_properties;
    for (int i = 0; i < read; i++) properties += r->after[i].properties;
    for (int i = read; i < r->after_count; properties += r->after[i++].properties)
        if (!skip_element(r, &r->after[i], properties)) return ends_early(r, error);
    off_t end = ftello(r->in);
    if (end < 0) return file_fail(error, "read", r->path, errno);
    if ((uint64_t)end == r->bytes) return BRIM_OK;
    unsigned long long more = r->bytes - (uint64_t)end;
    return fail(error, BRIM_ERROR_DAMAGED,
                "'%s' is damaged: it is longer than its header says, by %llu byte%s", r->path, more,
                more == 1 ? "" : "s");
}

BrimResult ply_read(FILE *in, uint64_t bytes, const char *path, BrimFrame *frame, PlyNotes *notes,
                    BrimError *error) {
    *frame = (BrimFrame){0};
    Reader r = {.in = in, .path = path, .bytes = bytes, .notes = {.time = NAN, .frame = -1}};
    BrimResult result = read_header(&r, error);
    if (result == BRIM_OK) result = find_vertices(&r, error);
    if (result == BRIM_OK) result = read_vertices(&r, frame, error);
    if (result == BRIM_OK) result = read_after(&r, frame, error);
    if (result == BRIM_OK && notes) result = check_rest(&r, error);
    if (result != BRIM_OK) brim_frame_free(frame);
    if (notes) *notes = r.notes;
    return result;
}

BrimResult ply_read_notes(FILE *in, uint64_t bytes, const char *path, PlyNotes *notes,
                          uint64_t *count, BrimError *error) {
    Reader r = {.in = in, .path = path, .bytes = bytes, .notes = {.time = NAN, .frame = -1}};
    BrimResult result = read_header(&r, error);
    *notes = r.notes, *count = r.count;
    return result;
}

BrimResult brim_frame_read(const char *path, BrimFrame *frame, BrimError *error) {
    NEED(frame, error);
    *frame = (BrimFrame){0};
    NEED(path, error);
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    result = ply_read(in, bytes, path, frame, NULL, error);
    fclose(in);
    return result;
}

BrimResult brim_frame_read_all(const char *path, BrimFrame *frame, BrimError *error) {
    NEED(frame, error);
    *frame = (BrimFrame){0};
    NEED(path, error);
    Reader r = {.path = path, .all = true, .notes = {.time = NAN, .frame = -1}};
    BrimResult result = file_open(path, &r.in, &r.bytes, error);
    if (result != BRIM_OK) return result;
    result = read_header(&r, error);
    if (result == BRIM_OK) result = find_vertices(&r, error);
    if (result == BRIM_OK) result = read_vertices(&r, frame, error);
    if (result == BRIM_OK) result = read_after(&r, frame, error);
    if (result != BRIM_OK) brim_frame_free(frame);
    fclose(r.in);
    return result;
}

// -------------------------------------------------------------------------------- one property

/// A number of any type as float.
static float decode_number(const Reader *r, Type type, const unsigned char *p) {
    uint64_t word = load(p, types[type].bytes, r->big_endian);
    uint32_t low = (uint32_t)word;
    float single;
    double value;
    switch (type) {
    case INT8:
        return (float)(int8_t)word;
    case INT16:
        return (float)(int16_t)word;
    case INT32:
        return (float)(int32_t)word;
    case FLOAT32:
        memcpy(&single, &low, sizeof single);
        return single;
    case FLOAT64:
        memcpy(&value, &word, sizeof value);
        return (float)value;
    default:
        return (float)word;
    }
}

static BrimResult read_values(const Reader *r, float *values, BrimError *error) {
    unsigned char *record = memory_new((size_t)r->stride);
    bool whole = true, *spray = r->kind.present ? memory_new((size_t)r->count + 1) : NULL;
    if (!record || (r->kind.present && !spray)) {
        free(record), free(spray);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for '%s'", r->path);
    }
    for (size_t i = 0; i < (size_t)r->count && whole; i++) {
        whole = fread(record, (size_t)r->stride, 1, r->in) == 1;
        if (whole) values[i] = decode_number(r, r->extra.type, record + r->extra.offset);
        if (whole) decode_kinds(r, record, i, 1, spray);
    }
    void *array = values;
    bool parted = !whole || part_spray(spray, (size_t)r->count, &array, 1) != SIZE_MAX;
    free(record), free(spray);
    if (!parted) return fail(error, BRIM_ERROR_MEMORY, "out of memory for '%s'", r->path);
    return whole ? BRIM_OK : ends_early(r, error);
}

BrimResult brim_frame_values(const char *path, const char *name, float **values, size_t *count,
                             BrimError *error) {
    NEED(values, error);
    NEED(count, error);
    *values = NULL, *count = 0;
    NEED(path, error);
    NEED(name, error);
    Reader r = {.path = path, .wanted = name, .notes = {.time = NAN, .frame = -1}};
    BrimResult result = file_open(path, &r.in, &r.bytes, error);
    if (result != BRIM_OK) return result;
    result = read_header(&r, error);
    if (result == BRIM_OK && !r.extra.present)
        result =
            fail(error, BRIM_ERROR_INPUT, "'%s' has no property '%s' of its particles", path, name);
    if (result == BRIM_OK) result = find_vertices(&r, error);
    if (result == BRIM_OK && !(*values = memory_new((size_t)r.count * sizeof(float) + 1)))
        result = fail(error, BRIM_ERROR_MEMORY, "out of memory for the values of '%s'", path);
    if (result == BRIM_OK) result = read_values(&r, *values, error);
    fclose(r.in);
    if (result == BRIM_OK)
        *count = (size_t)r.count;
    else
        free(*values), *values = NULL;
    return result;
}

void brim_frame_free(BrimFrame *frame) {
    if (!frame) return;
    free(frame->x), free(frame->y), free(frame->z);
    free(frame->vx), free(frame->vy), free(frame->vz);
    free(frame->id), free(frame->interior), free(frame->bend);
    for (int i = 0; i < frame->extra_count; i++) free((void *)frame->extra[i].values);
    *frame = (BrimFrame){0};
}

BrimParticles brim_frame_particles(const BrimFrame *frame) {
    if (!frame) return (BrimParticles){0};
    BrimParticles p = {.count = frame->count,
                       .spray = frame->spray,
                       .x = frame->x,
                       .y = frame->y,
                       .z = frame->z,
                       .vx = frame->vx,
                       .vy = frame->vy,
                       .vz = frame->vz,
                       .id = frame->id,
                       .extra_count = frame->extra_count,
                       .interior = frame->interior,
                       .interior_count = frame->interior_count,
                       .bend = (const float(*)[3])frame->bend,
                       .bend_count = frame->bend_count};
    for (int i = 0; i < frame->extra_count; i++) {
        p.extra[i] = frame->extra[i];
        p.extra[i].name = frame->extra_name[i];
    }
    return p;
}
