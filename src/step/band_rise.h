// Which liquid came up into the band.
#pragma once
#include "step/band.h"

/// An exchange of particles across the band's edge.
typedef struct BandExchange {
    const uint8_t *hidden; ///< [rows] cells that shall hold none; the sim's own are those before
    const uint8_t *rim;    ///< [rows] cells to look at for liquid that came up
    float extra;           ///< particles to make more of in the rim, a part of all; or, below 0,
                           ///< to take
} BandExchange;

/// A particle to make at a point that came from another, both in cells of the tile.
typedef void BandMake(void *context, const float at[3], const float from[3]);

/// Calls for each point of a tile at which a particle is to be made, when `make` is not NULL.
/// Returns how many there are.
uint32_t band_rising(const BrimSim *s, const BandExchange *e, int slot, BandMake *make,
                     void *context);
