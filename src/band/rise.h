// Which liquid came up into the band.
#pragma once
#include "band/band.h"

/// An exchange of particles across the band's edge.
typedef struct BandExchange {
    const uint8_t *hidden; ///< [rows] cells that shall hold none; the sim's own are those before
    const uint8_t *rim;    ///< [rows] cells to look at for liquid that came up
    const uint8_t *edge;   ///< [rows] those of them in which to make or take some more
    float extra;           ///< particles to make there, a part of all; or, below 0, to take
    bool far;              ///< particles may have left the tiles around theirs
} BandExchange;

/// Adds the points of a tile at which a particle is to be made to what a thread has in its
/// scratch. False when out of memory.
bool band_rising(BrimSim *s, const BandExchange *e, int slot, int thread);
