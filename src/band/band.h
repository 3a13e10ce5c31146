// The narrow band (Ferstl et al. 2016): particles live only near the surface; below the band the
// grid carries the liquid. One file for each part: start.c, trace.c, resample.c and rise.c,
// density.c, distance.c, combine.c, calm.c, port.c.
#pragma once
#include "grid/mask.h"
#include "step/stages.h"

/// Masks of the step to come, on the tiles before the sort: [rows] each.
typedef struct BandNext {
    uint8_t *interior, *hidden;
    uint8_t *rim;  ///< cells outside `hidden` into which liquid without particles may have come
    uint8_t *edge; ///< those beside it, where the account is made good
    bool deep;     ///< some liquid is deep; for band_trace, as the next
    bool far;      ///< some may go farther than the next tile
} BandNext;

static inline BandNext band_next(const BrimSim *s) {
    return (BandNext){s->next_interior, s->next_hidden, s->rim, s->edge, false, false};
}

/// Depth below which faces take the grid's own velocity, in cells: r = R - 1 of eq. (3).
static inline float band_inner(const BrimSim *s) {
    return (float)(s->def.band_width - 1);
}

/// Depths are cut here: enough to tell the band's edge after a step.
static inline float band_cut(const BrimSim *s) {
    return (float)(s->def.band_width + 2);
}

/// The masks' bit of a cell by its index into fields.
static inline bool band_bit(const uint8_t *mask, int64_t cell) {
    return mask[cell >> 3] >> (cell & 7) & 1;
}

/// Whether any of the 27 tiles around one has a bit in a mask.
static inline bool band_any_near(const BrimSim *s, const uint8_t *mask, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && mask_any(&s->grid, mask, t)) return true;
    }
    return false;
}

/// Whether a port is so near a tile that it has a say in its depths.
bool band_port_near(const BrimSim *s, int slot);
/// The same of sources alone.
bool band_source_near(const BrimSim *s, int slot);
/// Takes the particles that displacements pushed into hidden cells near sources. (key) => key,
/// swallowed; false when out of memory
bool band_swallow(BrimSim *s);
/// The largest depth that ports allow in the cells of a tile, in cells => depth [cells]
void band_port_depths(const BrimSim *s, int slot, float *depth);
/// Whether a tile or one beside it holds liquid as deep as the grid's own velocity goes.
bool band_deep_near(const BrimSim *s, int slot);
/// Part of a cell that hidden liquid fills, 0 to 1.
static inline float band_part(const BrimSim *s, int slot, int cell) {
    int64_t i = (int64_t)slot * s->grid.tile_cells + cell;
    if (!band_bit(s->hidden, i)) return 0;
    return s->walls.solid_count ? 1 - solid_volume_of(s, i) : 1;
}
/// Particles that all hidden liquid would have.
double band_hidden_particles(const BrimSim *s);
/// => full: cells with particles, and interior ones
void band_full(BrimSim *s);
/// Hidden cells of a tile, and slivers of liquid in solids beside such. (hidden, rock, occupied)
TileMask band_below_cells(const BrimSim *s, int slot);
/// The same of all tiles => below, rigid
void band_below(BrimSim *s);
/// A velocity component at a point given in its own nodes, in cells of the domain; its gradient
/// over a cell when not NULL. 0 where none is known.
float band_velocity(const BrimSim *s, int axis, const float node[3], float *gradient);

/// The masks of a tile that no deep liquid can reach. => next masks, path
void band_leave_tile(BrimSim *s, int slot, const BandNext *next);
/// phi [cells]: the level set carried along. => next masks of a tile
void band_mask_tile(const BrimSim *s, int slot, float *phi, const BandNext *next);

/// Paths of a tile's cells that would cross a wall stay on their side of it, and the level set is
/// carried along from that side alone. (back, phi) => back, phi [cells]; phi as carried along
void band_keep_sides(const BrimSim *s, int slot, float back[3][BAND_CELLS], float *phi,
                     float *block);

/// Some of a tile's particles take the grid's velocity after FLIP, wholly or in part: those that
/// are about to leave the band, and, with band.flip, those in its inner layer. span: all of them
void band_calm(const BrimSim *s, int slot, const Span *span, ThreadScratch *scratch);

/// With density projection. Hidden liquid has the rest density, and weighs on the cells beside it.
/// => hidden_part
void band_weigh_begin(BrimSim *s);
/// Whether a tile and all around it are hidden, and far from solids: the density is that at rest.
bool band_all_hidden(const BrimSim *s, int slot);
/// Adds the hidden liquid to a tile's density [cells]. (hidden_part) => density
void band_weigh(const BrimSim *s, int slot, float *density);
