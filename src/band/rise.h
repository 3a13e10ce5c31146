// Which liquid came up into the band.
#pragma once
#include "band/band.h"

/// Makes particle i of a tile from where it rose: place, velocity, key and what else it carries.
typedef void BandFill(BrimSim *s, int slot, const Risen *risen, uint32_t i);

/// An exchange of particles across the band's edge.
typedef struct BandExchange {
    const uint8_t *hidden; ///< [rows] cells that shall hold none; the sim's own are those before
    const uint8_t *rim;    ///< [rows] cells to look at for liquid that came up
    const uint8_t *edge;   ///< [rows] those of them in which to make or take some more
    float extra;           ///< particles to make there, a part of all; or, below 0, to take
    bool far;              ///< particles may have left the tiles around theirs
    BandFill *fill;        ///< makes a particle
} BandExchange;

/// Adds the points of a tile at which a particle is to be made to what a thread has in its
/// scratch. False when out of memory.
bool band_rising(BrimSim *s, const BandExchange *e, int slot, int thread);
/// Particles in cells to be hidden go, those that rose come, and the masks become those of the
/// exchange. (next masks, path) => interior, hidden, keys, tail; taken: how many went, or NULL.
/// False when out of memory.
bool band_exchange(BrimSim *s, const BandExchange *e, int64_t *taken);
/// What the grid does not carry along below a band, particle i takes from the nearest particle of
/// the cells around it; from none it is as new.
void band_inherit(BrimSim *s, uint32_t i);
