// How rows of the tables of keys are written.
#pragma once
#include <stddef.h>

#define COUNT(A) ((int)(sizeof(A) / sizeof *(A)))
#define AT(STORE, OFFSET) .store = STORE_##STORE, .offset = OFFSET
// floats beyond are of no use for places, speeds and their squares
#define REACH "-1e7 to 1e7"
#define SHAPE_NAMES                                                                         \
    "box, sphere, cylinder, capsule, plane, torus, height_field, mesh, union, difference, " \
    "smooth_union"
