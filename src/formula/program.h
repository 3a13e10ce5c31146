// Inside of a Formula.
#pragma once
#include "formula/formula.h"

/// What a program may need at most.
enum {
    STACK_MOST = 48,  ///< values at once
    SLOTS_MOST = 96,  ///< names
    OPS_MOST = 8192,  ///< operations
    DEPTH_MOST = 200, ///< brackets and names within one another
    NAME_BYTES = 48,
    BATCH = 32, ///< points at a time
};

typedef enum OpCode {
    OP_NUMBER,   ///< push `number`
    OP_VARIABLE, ///< push variable `index`
    OP_STORE,    ///< keep the top in slot `index`
    OP_LOAD,     ///< push slot `index`
    OP_ONE,      ///< function `index` of the top
    OP_TWO,      ///< function `index` of the two on top
    OP_THREE,
    OP_COLUMN, ///< column `index` of the formula at the top
    OP_KEYS,   ///< smooth curve through `index` pairs above the time
} OpCode;

typedef struct Op {
    OpCode code;
    int index;
    double number;
} Op;

/// A column over the first one of its table, which increases.
typedef struct Column {
    int count;
    double *at, *value;
} Column;

struct Formula {
    Op *ops;
    int op_count, op_capacity;
    Column *columns;
    int column_count;
    int slot_count;
    unsigned uses;
};

typedef struct Function {
    const char *name;
    int arguments; ///< 1 to 3; 0: as many as there are, keys
    union {
        double (*one)(double);
        double (*two)(double, double);
        double (*three)(double, double, double);
    } of;
} Function;

/// NULL past the last.
const Function *function_at(int index);
int function_find(const char *name, size_t length);

/// Between `count` values with a cubic that does not overshoot; the first and the last beyond them.
double curve_at(int count, const double *at, const double *value, double x);

/// The columns of a CSV file whose names begin with an identifier; the first one increases.
typedef struct CsvTable {
    int column_count, row_count;
    char (*names)[NAME_BYTES];
    double *values; ///< [column][row]
} CsvTable;

BrimResult csv_read(const char *path, CsvTable *table, BrimError *error);
/// The same from text; `path` stands in messages.
BrimResult csv_parse(const char *text, size_t length, const char *path, CsvTable *table,
                     BrimError *error);
void csv_free(CsvTable *table);
/// Column of that name; -1 when there is none.
int csv_find(const CsvTable *table, const char *name, size_t length);

/// Decimal number at the start of a text that ends with 0, whatever the locale; its length, 0 when
/// there is none.
size_t decimal_read(const char *text, double *value);
