// Fields as VTK image data: XML with the numbers appended as raw binary.
#pragma once
#include "brim/brim.h"
#include <stdint.h>
#include <stdio.h>

/// A box of cells, first[] <= cell < last[].
typedef struct CellBox {
    int first[3], last[3];
} CellBox;

/// What to write: the whole domain, or, when that has more than 2^24 cells, the liquid's bounds
/// (NULL when there is none) with a margin of three cells, clipped to the domain; one cell at
/// least.
CellBox vti_box(const BrimSimDef *def, const CellBox *liquid);

enum { VTI_FIELDS = 16 };

typedef struct VtiField {
    char name[32];
    int components;
    unsigned long long offset; ///< in the appended data, bytes
    float low, high;           ///< of all its numbers
    uint64_t not_numbers;
} VtiField;

/// What a file of fields holds.
typedef struct VtiFile {
    char version[32]; ///< of the Brim that wrote it, "" when it does not say
    int frame;        ///< -1 when it does not say
    double time;      ///< s, NAN when it does not say
    double cell;      ///< m
    int extent[6];    ///< first and last cell line along x, y, z; in 2D none along z
    uint64_t cells;
    uint64_t data; ///< where the appended data begin, bytes
    int count;
    VtiField field[VTI_FIELDS];
} VtiFile;

/// Reads a file as brim_write_fields writes them and looks at every number. BRIM_ERROR_INPUT when
/// it is another one, BRIM_ERROR_DAMAGED when it is not whole.
BrimResult vti_read(FILE *in, uint64_t bytes, const char *path, VtiFile *file, BrimError *error);
