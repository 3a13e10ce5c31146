// Cubic cells on a box of any size.
#pragma once
#include "brim/brim.h"
#include <stddef.h>

/// Cells along the axes for which none were given, and a box of whole cells: where an edge is no
/// whole number of them its far side moves outward, by less than a cell. Cells that were given for
/// an axis must be those that so many make; others are left for def_has_problem to refuse. Boxes
/// (of liquid, still solids, sources, drains) that ended on a side that moved end on it again.
/// `note` says what moved; "" when nothing did.
void fit_cells(BrimSimDef *def, char *note, size_t note_size);
