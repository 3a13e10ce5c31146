// The one table of scene keys. It feeds the defaults, the reading of scenes, the range checks, the
// error messages, the JSON of a scene, `brim fields` and the manual.
//
// A Field says where its value lives in the struct of its Table. Default and range are kept as the
// text that people read ("1e-4", "> 0", "0 to 1", "0 or 2 to 16", "flip, apic"), and are read from
// there.
#pragma once
#include "brim/brim.h"
#include "formula/formula.h"

typedef enum FieldStore {
    STORE_VERSION, ///< `brim: 1`; goes nowhere
    STORE_FLOAT,
    STORE_DOUBLE,
    STORE_INT,
    STORE_UINT,
    STORE_FLAG,    ///< bool
    STORE_CHOICE,  ///< enum; its value is the place in the range text
    STORE_SET,     ///< uint32_t of bits: a list of words of the range text
    STORE_VECTOR,  ///< BrimVec3; two numbers in 2D
    STORE_PAIR,    ///< float[2], the second not below the first
    STORE_TURN,    ///< BrimVec3 about the axes; one number, about z, in 2D
    STORE_CELLS,   ///< int[3]; also one number: the cells along x
    STORE_SIDES,   ///< one word for all sides; the six of them are fields of their own
    STORE_GRAVITY, ///< BrimVec3, or a list of keys
    STORE_TEXT,    ///< const char *
    STORE_FORMULA, ///< const char *: text, or a number as text
    STORE_FILE,    ///< const char *, resolved against the folder of the scene
    STORE_FILES, ///< const char *: a numbered sequence of files (base/sequence.h), resolved as FILE
    STORE_LIST,  ///< pointer and count, items of `list`
    STORE_SHAPES,  ///< the children of a shape
    STORE_HEIGHTS, ///< rows of numbers
    STORE_CANYON,  ///< a map of its own
    STORE_FALLS,   ///< waterfalls of a canyon, items of `list`
    STORE_KIND,    ///< stands for the shape in `<shape>`; described, never stored
} FieldStore;

enum {
    FIELD_REQUIRED = 1,
    FIELD_3D = 2,        ///< has no meaning in 2D
    FIELD_SHORTHAND = 4, ///< read, never written: another field says the same
    FIELD_QUIET = 16,    ///< not written where it is at its default
    FIELD_ASIDE = 8,     ///< does not change the result: a checkpoint goes on with another value
    FIELD_LIVE = 32,     ///< may change between steps: brim_sim_set
};

typedef struct Field {
    BrimFieldInfo info; ///< key in full
    FieldStore store;
    size_t offset;
    unsigned flags;
    size_t count_offset;      ///< STORE_LIST
    const struct Table *list; ///< STORE_LIST, STORE_GRAVITY, STORE_FALLS: the items
    size_t formula; ///< offset of const char *[numbers], where text may stand for numbers; 0: none
    unsigned variables; ///< of such formulas: bits of formula.h
    int of;             ///< 1 + the kind of item that has it, in a table of kinds; 0: all have it
} Field;

typedef struct Table {
    const char *prefix; ///< of the keys: "solids[]."
    const Field *fields;
    int count;
    size_t size;         ///< of the struct
    size_t shape_offset; ///< NO_SHAPE when the struct has none
    const char *kinds;   ///< "height, point": items are of one of these, a group of keys each
    size_t kind_offset;  ///< of the enum that says which
    size_t within;       ///< of the bool that says whether there is a shape; 0: there is
} Table;

#define NO_SHAPE ((size_t)-1)
enum { SHAPE_KINDS = BRIM_SHAPE_SMOOTH_UNION + 1, CANYON_FALLS = 4 };

/// What a shape is read into: corners of a box become its position and size.
typedef struct ShapeRead {
    BrimShapeDef def;
    BrimVec3 low, high;
} ShapeRead;

typedef struct Fall {
    float x, drop;
} Fall;

extern const Table table_sim, table_gravity, table_liquid, table_solid, table_keyframe, table_body,
    table_pin, table_pin_key, table_grab, table_grab_key, table_named, table_source, table_drain,
    table_gauge, table_camera_key, table_canyon, table_fall, table_force, table_force_point;
/// By BrimShapeKind; the prefix without its dot is the name of the kind. Struct: ShapeRead.
extern const Table table_shape[SHAPE_KINDS];
/// Rotation and scale, which all shapes have.
extern const Table table_placement;

/// Key of a field within its table.
const char *field_key(const Table *table, const Field *field);
/// Whether an item of a table has a shape.
static inline bool item_has_shape(const Table *table, const void *item) {
    if (table->shape_offset == NO_SHAPE) return false;
    return !table->within || *(const bool *)((const char *)item + table->within);
}
/// By its key within the table; NULL when there is none.
const Field *table_find(const Table *table, const char *key);
/// Whether keys that begin with `group` and a dot exist.
bool table_has_group(const Table *table, const char *group);
/// Whether the struct is of a kind that has the field.
bool field_applies(const Table *table, const Field *field, const void *base);
/// -1 when `name` is no shape.
int shape_kind(const char *name);
/// Name of a kind without the prefix's dot.
const char *shape_name(BrimShapeKind kind, char out[16]);

/// Values as numbers, whatever their store: vectors, flags, choices. 0 for stores without numbers.
int field_get(const Field *field, const void *base, int dim, double out[3]);
void field_set(const Field *field, void *base, const double in[3]);
/// Whether a field has the default's numbers.
bool field_is_default(const Field *field, const void *base, int dim);
/// Puts the defaults of a table into a struct; other members stay as they are.
void table_defaults(const Table *table, void *base);

/// Whether a number is allowed; not-a-number and numbers too large for the store never are.
bool field_allows(const Field *field, double value);
/// Whether a number of the scene is infinite (1) or 0 (-1) where the field keeps it; else 0.
int field_rounds(const Field *field, double value);
/// "a number > 0 (m)", "one of flip, apic"
void field_allowed(const Field *field, int dim, char *out, size_t size);
/// The place of a word in "flip, apic"; -1 when it is not there.
int choice_index(const char *choices, const char *word);
void choice_name(const char *choices, int index, char *out, size_t size);

/// Decimal number that is the whole text; hexadecimal is refused, .inf is not.
bool number_parse(const char *text, double *value);
/// The shortest text that reads back as the same float (`single`) or double.
void number_print(double value, bool single, char out[32]);
