// Points of a seeding lattice become particles: those of a region of liquid, and those that a
// stream carries into its source's shape.
#pragma once
#include "emit/emit.h"
#include "particles/seed.h"

/// Appends particles to the unsorted tail.
typedef struct Appender {
    BrimSim *s;
    Particles *to; ///< NULL: the simulation's own
    const Shape *shape;
    Solid *mover;       ///< the shape, where it moves; NULL: it stays
    double until, span; ///< when and how long it moved, s
    bool past_solids;   ///< points in solids count too
    float spacing;
    float skin; ///< of shape and walls: no point of a stream may lie on them
    BrimVec3 velocity, spin, centre;
    const LiquidFlow *flow; ///< formulas that replace components of velocity; NULL: none
    uint32_t origin;        ///< for the attribute `source`
    double density;         ///< of the liquid, kg/m^3; 0 = the def's
    bool jitter;
    bool dry;       ///< only counts
    uint8_t *tiles; ///< [tile box] marks tiles that get particles, when dry; may be NULL
    const Shape *const *earlier; ///< regions seeded before: their points are taken
    int earlier_count;
    const float *back;     ///< drift of the lattice: points that were inside before it are not new
    double way[3];         ///< of the lattice so far, m
    bool within;           ///< the shape lies wholly in the domain
    int windows;           ///< parts of the drift at whose ends a point may have been inside
    uint32_t *points;      ///< [cells] counts points, when dry; may be NULL
    bool into_air;         ///< none in liquid, nor in a cell of particles that wait
    const uint32_t *taken; ///< [taken_count] keys of those cells, in order
    size_t taken_count;
    bool hide;           ///< none where the band has no particles
    int64_t hidden;      ///< so many were not made
    int64_t count, most; ///< counting ends beyond `most`, when that is not 0
    bool full;           ///< out of memory
} Appender;

/// Appends those of a batch of lattice points that are to be particles, or counts them. context: an
/// Appender. False ends the visits: out of memory, or more than `most`.
bool appender_visit(void *context, const SeedBatch *lattice);
/// Bounds of a shape, cut to the domain. False when nothing is left.
bool emit_bounds(const BrimSim *s, const Shape *shape, float low[3], float high[3]);
/// The order of keys, for qsort and bsearch.
int compare_keys(const void *a, const void *b);
