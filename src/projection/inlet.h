// Inlets: what sources do to the flow, for the pressure and for displacements.
#pragma once
#include "projection/faces.h"
#include "step/state.h"

/// A tile that a running source meets.
typedef struct InletTile {
    TileMask full;                    ///< cells that a source keeps full
    TileMask behind;                  ///< cells where a stream begins before liquid at rest
    TileMask held[6];                 ///< cells whose face in direction n has the source's velocity
    float inflow[TILE * TILE * TILE]; ///< of liquid, less what held faces let out, m/s
} InletTile;

/// The flow that a source keeps up: velocity = relative + that of the shape at a point, m/s.
typedef struct SourceFlow {
    float relative[3], shape[3];
} SourceFlow;

/// Whether a source runs in the step.
bool source_runs(const BrimSim *s, const Source *source);
SourceFlow source_flow(const BrimSim *s, const Source *source);

/// Whether walls block sources. => blocked of each
void inlets_block(BrimSim *s);
/// Whether a stream began about a cell before a point in it, or less.
bool source_begins(const BrimSim *s, const Source *source, const float x[3]);
/// Whether another source runs at a point or a cell down the stream from it.
bool source_crossed(const BrimSim *s, const Source *source, const float x[3]);

/// Finds what sources do on the tiles that they meet; liquid: cells that hold any [rows], NULL for
/// displacements; writes: => velocity of held faces. False when out of memory.
bool inlets_find(BrimSim *s, const uint8_t *liquid, bool writes);
/// As far as a particle reads from faces that a source holds it takes their velocity: what they
/// differ by from the particles around is the source's doing and comes anew in each step, so that
/// FLIP would add it up, in particles that stay beside the source to several times its speed.
void inlet_take(const BrimSim *s, int slot, const Span *span, ThreadScratch *scratch);
size_t inlets_bytes(const BrimSim *s);
void inlets_free(BrimSim *s);

/// NULL where no source is. Valid until tiles change.
static inline const InletTile *inlet_at(const BrimSim *s, int slot) {
    const Inlets *i = &s->projection.inlets;
    return i->count && i->at[slot] ? &i->tile[i->at[slot] - 1] : NULL;
}

/// No pressure acts through held faces.
static inline void inlet_hold(const BrimSim *s, int slot, Around *around) {
    const InletTile *inlet = inlet_at(s, slot);
    for (int n = 0; inlet && n < 2 * s->dim; n++)
        for (int z = 0; z < s->grid.tile_depth; z++) {
            around->side[n].slice[z] |= inlet->held[n].slice[z];
            around->wet[n].slice[z] &= ~inlet->held[n].slice[z];
        }
}

/// The liquid around a tile as the pressure sees it.
static inline Around pressure_around(const BrimSim *s, int slot) {
    Around around = around_tile(&s->grid, s->liquid, slot);
    inlet_hold(s, slot, &around);
    return around;
}

/// Cells of a tile that a source keeps full.
static inline TileMask inlet_full(const BrimSim *s, int slot) {
    const InletTile *inlet = inlet_at(s, slot);
    return inlet ? inlet->full : (TileMask){{0}};
}

/// Lower faces of a tile's cells along an axis that a source holds.
static inline TileMask inlet_faces(const BrimSim *s, int slot, int axis) {
    const InletTile *inlet = inlet_at(s, slot);
    return inlet ? inlet->held[2 * axis] : (TileMask){{0}};
}
