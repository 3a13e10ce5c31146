// Fields as VTK image data: XML with the numbers appended as raw binary.
#pragma once
#include "brim/brim.h"
#include <stdint.h>

/// A box of cells, first[] <= cell < last[].
typedef struct CellBox {
    int first[3], last[3];
} CellBox;

/// What to write: the whole domain, or, when that has more than 2^24 cells, the liquid's bounds
/// (NULL when there is none) with a margin of three cells, clipped to the domain; one cell at
/// least.
CellBox vti_box(const BrimSimDef *def, const CellBox *liquid);
