// What a particle carries, said once. Room, sort, spans, checkpoints and frames follow from this
// table: a new attribute is a row here, and its physics.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// A row: NAME, names in files (one for each number, or one for all: then numbered), numbers, type
/// (FLOAT, WORD: uint32_t), when it is there, whether frames have it (FRAME, INNER), value of a new
/// particle (GIVEN by who makes it, ZERO, ONE, ORIGIN: which liquid or source it came from), unit,
/// meaning. Rows that are there when ASKED for are the choices of the scene's particles.attributes,
/// in this order.
#define PARTICLE_ATTRIBUTES(A)                                                                   \
    A(X, "x y z", 3, FLOAT, ALWAYS, FRAME, GIVEN, "m", "position")                               \
    A(VX, "vx vy vz", 3, FLOAT, ALWAYS, FRAME, GIVEN, "m/s", "velocity")                         \
    A(AFFINE, "affine", 9, FLOAT, APIC, INNER, GIVEN, "m/s",                                     \
      "change of velocity component a over one cell along axis b, at 3 a + b")                   \
    A(ID, "id", 1, WORD, ALWAYS, FRAME, GIVEN, "", "unique number; counts from 0")               \
    A(VOLUME, "volume", 1, FLOAT, WARP, FRAME, GIVEN, "cells",                                   \
      "that it stands for on a warped grid")                                                     \
    A(AGE, "age", 1, FLOAT, ASKED, FRAME, ZERO, "s", "time since it was seeded or emitted")      \
    A(SOURCE, "source", 1, WORD, ASKED, FRAME, ORIGIN, "",                                       \
      "where it came from: the number of its liquid; those of sources follow the last liquid's") \
    A(PHI, "phi", 1, FLOAT, TRACKED, FRAME, ZERO, "cells",                                       \
      "distance to the surface, below 0 in the liquid, as it was carried along")                 \
    A(NORMAL, "normal", 1, WORD, TRACKED, FRAME, ZERO, "",                                       \
      "of that surface, and how smooth it is there, packed (particles/normal.h); 0: unknown")      \
    A(TYPE, "type", 1, WORD, SPRAY, FRAME, ZERO, "", "0: liquid, 1: spray that flies by itself") \
    A(MASS, "mass", 1, FLOAT, MATERIAL, FRAME, ONE, "",                                          \
      "over that of as much liquid of the scene's density")                                      \
    A(MATERIAL, "material", 1, WORD, MATERIAL, FRAME, ZERO, "",                                  \
      "0: liquid; else what it belongs to, counted from 1")

/// Those choices, as the table of keys lists them: "age, source".
#define ATTRIBUTE_CHOICES (PARTICLE_ATTRIBUTES(ATTRIBUTE_CHOICE_) + 2)
#define ATTRIBUTE_CHOICE_(NAME, FILES, NUMBERS, TYPE, WHEN, ...) ATTRIBUTE_CHOICE_##WHEN(FILES)
#define ATTRIBUTE_CHOICE_ASKED(FILES) ", " FILES
#define ATTRIBUTE_CHOICE_ALWAYS(FILES) ""
#define ATTRIBUTE_CHOICE_APIC(FILES) ""
#define ATTRIBUTE_CHOICE_WARP(FILES) ""
#define ATTRIBUTE_CHOICE_TRACKED(FILES) ""
#define ATTRIBUTE_CHOICE_SPRAY(FILES) ""
#define ATTRIBUTE_CHOICE_MATERIAL(FILES) ""

/// Places of the numbers: ATTR_X, ATTR_Y, ATTR_Z, ...; all have four bytes.
enum {
#define PLACE(NAME, FILES, NUMBERS, ...) ATTR_##NAME, ATTR_END_##NAME = ATTR_##NAME + (NUMBERS)-1,
    PARTICLE_ATTRIBUTES(PLACE)
#undef PLACE
        ATTR_MAX,
    ATTR_Y = ATTR_X + 1,
    ATTR_Z = ATTR_X + 2,
    ATTR_VY = ATTR_VX + 1,
    ATTR_VZ = ATTR_VX + 2,
};

/// The rows: ROW_X, ROW_VX, ...
enum {
#define NUMBER(NAME, ...) ROW_##NAME,
    PARTICLE_ATTRIBUTES(NUMBER)
#undef NUMBER
        ROW_COUNT
};

typedef enum AttributeType { ATTRIBUTE_FLOAT, ATTRIBUTE_WORD } AttributeType;
typedef enum AttributeWhen {
    ATTRIBUTE_ALWAYS,
    ATTRIBUTE_APIC,
    ATTRIBUTE_WARP,
    ATTRIBUTE_ASKED,
    ATTRIBUTE_TRACKED,
    ATTRIBUTE_SPRAY,
    ATTRIBUTE_MATERIAL ///< particles differ in mass
} AttributeWhen;
typedef enum AttributeStart {
    ATTRIBUTE_GIVEN,
    ATTRIBUTE_ZERO,
    ATTRIBUTE_ONE,
    ATTRIBUTE_ORIGIN
} AttributeStart;

typedef struct AttributeRow {
    int first, numbers; ///< places
    const char *files;  ///< names of the numbers, or one for all
    AttributeType type;
    AttributeWhen when;
    bool frame; ///< written to frames
    AttributeStart start;
    const char *unit, *meaning;
} AttributeRow;

extern const AttributeRow attribute_rows[ROW_COUNT];

enum { ATTRIBUTE_NAME = 24 };
/// Row that a place belongs to.
int attribute_row(int place);
/// Name of a place in files.
void attribute_name(int place, char name[ATTRIBUTE_NAME]);
/// Rows that a simulation has, as bits. when: what it does, bits 1 << AttributeWhen; asked: bits of
/// particles.attributes.
uint32_t attributes_wanted(uint32_t when, uint32_t asked);
