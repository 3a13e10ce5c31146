// What the files of the tracked surface share.
#pragma once
#include "surface/rows.h"
#include "surface/track.h"

/// Bits of track_tile.
enum {
    TRACK_AIR = 1,    ///< has cells beside air that see particles
    TRACK_NEAR = 2,   ///< it or a tile beside it has: cells are measured
    TRACK_AROUND = 4, ///< it or a tile beside it is near: its particles are seen, and renewed
    TRACK_SLOW = 8,   ///< has particles whose past counts
    TRACK_WAY = 4,    ///< from this bit on: how far they go while it fades, TRACK_WAYS: a cell
    TRACK_WAYS = 15,
};

/// Whether a tile or one beside it has a bit.
bool track_near(const BrimSim *s, int slot, uint8_t bit);
/// Between track_surface and track_particles: what particles know, unpacked.
TrackSeen track_seen(const BrimSim *s);
/// What kernels see of a field that has numbers in the rows of a mask.
void track_around(const BrimSim *s, int slot, const float *field, const uint8_t *told,
                  TrackAround *out);
/// A mask and the cells with a face to one of it.
TileMask track_widened(const BrimSim *s, const uint8_t *mask, int slot);
