// Memory of the fields, by the table in field_table.h.
#pragma once
#include "step/field_table.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BrimSim BrimSim;

typedef enum FieldShape { SHAPE_CELL, SHAPE_ROW, SHAPE_TILE, SHAPE_NODES } FieldShape;
/// Tiles on which a field exists; each kind has a capacity of its own.
/// Those in WORK and SYSTEM have no memory of their own: see fields_take and system_begin.
typedef enum FieldWhere {
    WHERE_ALL,
    WHERE_SOLIDS,
    WHERE_PUSHED,
    WHERE_FINE,
    WHERE_WET,
    WHERE_WORK,
    WHERE_SYSTEM,
    WHERE_COUNT
} FieldWhere;
typedef enum FieldWhen {
    WHEN_ALWAYS,
    WHEN_OLD,    ///< FLIP, or a band
    WHEN_SOLIDS, ///< there are, or were, solids
    WHEN_MOVING, ///< some of them move
    WHEN_BAND,
    WHEN_BAND_WEIGHT, ///< a band that is joined by density
    WHEN_VOLUME,      ///< something keeps the volume
    WHEN_ERROR,       ///< the pressure does, by the error of the density
    WHEN_KEPT,        ///< that, and solids
    WHEN_DENSITY,     ///< the density projection does
    WHEN_PUSH,        ///< that, and solids
    WHEN_VISCOSITY,   ///< the liquid has one
    WHEN_FRICTION,    ///< walls have one
    WHEN_TENSION,     ///< its surface has one
    WHEN_WARP,        ///< pressure at nodes, with or without a grid that bends
    WHEN_WARP_BAND,   ///< and a band
    WHEN_TRACKING,    ///< particles carry the surface along
    WHEN_MPM,         ///< there are MPM sub-steps
    WHEN_READ,        ///< gauges, or fields in frames, read the pressure
    WHEN_SPRAY,       ///< fast ones fly by themselves
    WHEN_MATERIAL,    ///< particles differ in mass
    WHEN_RIGID,       ///< cells may be full and stay: a band, or immersed bodies
} FieldWhen;
/// In checkpoints: not, always, once there is a flow; or not, and it does not follow its tiles.
typedef enum FieldKeep { KEEP_NO, KEEP_YES, KEEP_PRIMED, KEEP_HERE } FieldKeep;

typedef struct FieldRow {
    const char *name;
    size_t offset; ///< of the member in the state, a pointer or three
    size_t value;  ///< bytes
    int parts;
    FieldShape shape;
    FieldWhere where;
    FieldWhen when;
    uint64_t life; ///< stages, as bits
    FieldKeep keep;
    const char *unit, *meaning;
} FieldRow;

enum {
#define NUMBER(NAME, ...) FIELD_##NAME,
    FIELD_TABLE(NUMBER)
#undef NUMBER
        FIELD_COUNT,
    FIELD_BUFFERS = 3 * FIELD_COUNT ///< at most: one for each part of each field
};

extern const FieldRow field_rows[FIELD_COUNT];

/// Memory that fields with lives that do not meet take turns with.
typedef struct FieldBuffer {
    void *at;       ///< NULL while none of them is wanted
    size_t a_tile;  ///< bytes
    size_t tiles;   ///< capacity
    uint64_t lives; ///< of all of them
    FieldWhere where;
} FieldBuffer;

typedef struct FieldMemory {
    FieldBuffer buffer[FIELD_BUFFERS];
    int buffers;
    int16_t of[FIELD_COUNT][3]; ///< the buffer of each part, -1: none
    int16_t work[FIELD_COUNT];  ///< in WORK: parts of others before it
    size_t tiles[WHERE_COUNT];  ///< capacity
} FieldMemory;

/// Deals out the buffers; once, when dim is known.
void fields_plan(BrimSim *s);
/// Parts that a field has in the simulation's dimensions, and bytes of one of them on all tiles.
int field_parts(const BrimSim *s, const FieldRow *row);
size_t field_bytes(const BrimSim *s, const FieldRow *row);
/// A part of a field; NULL when there is none.
void *field_memory(const BrimSim *s, int field, int part);

/// Makes every field that is wanted on tiles of a kind, large enough for so many; keeps what is
/// alive. False when out of memory.
bool fields_reserve(BrimSim *s, FieldWhere where, size_t tiles);
/// Gives a field in WORK, on all tiles, its memory: that of the solver and of blocks of particles,
/// which none of them uses while it lives, and of which other such fields of the same stages have
/// other parts. Called by its first stage; nothing is kept but those. False when out of memory.
bool fields_take(BrimSim *s, int field);
/// Gives back what many more tiles needed.
void fields_release(BrimSim *s);
void fields_free(BrimSim *s);
/// Bytes that are allocated; and that a wet tile needs of fields, in the mean.
size_t fields_bytes(const BrimSim *s);
size_t fields_bytes_a_tile(const BrimSim *s);

/// Fields of a kind that are alive go where their tiles went: from [count] => where each was, which
/// is in the same order; -1: new, gets zeros.
void fields_follow(BrimSim *s, FieldWhere where, const int32_t *from, int count);
/// The same for things of `bytes` each in one array.
void follow(void *array, size_t bytes, const int32_t *from, int count);
/// Two fields of the same shape change places, with all that shares their memory.
void fields_swap(BrimSim *s, int a, int b);
