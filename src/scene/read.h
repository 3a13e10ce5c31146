// Nodes => structs, by the table of fields. Problems go into the report; reading goes on, so that
// a person sees several at once.
#pragma once
#include "scene/fields.h"
#include "scene/report.h"

typedef struct Reader {
    Report *report;
    Pool *pool;         ///< for all that the def points to
    const char *folder; ///< that file names are relative to
    int dim;
    const BrimNames *names; ///< of the def: shapes point to it
    bool out_of_memory;
    size_t path_length;
    char path[256]; ///< key of the node being read: "solids[0].box.low"
} Reader;

/// One map and the struct it goes to.
typedef struct Scope {
    const Table *tables[2]; ///< the second may be NULL
    void *base;
    bool shapes; ///< names of shapes are keys here, read by read_shape
    size_t path_length;
} Scope;

/// Appends ".key" or "[index]" to the path; the result restores it with path_pop.
size_t path_key(Reader *r, const char *key);
size_t path_index(Reader *r, int index);
void path_pop(Reader *r, size_t length);

void refuse_value(Reader *r, const Node *node, const Field *field);
/// All keys of a map, the required ones among them checked.
void read_scope(Reader *r, const Scope *scope, const Node *map);
void read_field(Reader *r, const Field *field, const Node *node, void *base);
/// Items of a list into a new array of the table's structs.
void *read_items(Reader *r, const Table *table, const Node *list, int *count);
/// The key of `map` that names a shape, read into *shape.
void read_shape(Reader *r, const Node *map, BrimShapeDef *shape);
