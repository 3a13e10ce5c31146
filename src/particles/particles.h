// The particle store: structure of arrays, kept sorted by tile and cell.
#pragma once
#include "brim/brim.h"
#include "grid/grid.h"
#include "grid/space.h"
#include "particles/attributes.h"

/// Arrays may be read this far beyond their end by kernels that take whole vectors.
enum { PARTICLE_PADDING = 16 };

/// Keys of particles that go: through a drain, over an open side, or below the narrow band.
enum {
    KEY_DRAINED = 0xffffffffu,
    KEY_LEFT = 0xfffffffeu,
    KEY_HIDDEN = 0xfffffffdu,
    KEY_GONE = KEY_HIDDEN ///< the lowest of them
};

/// Bytes a particle: 28 in attributes (APIC: 36 more; 4 for each other number that it carries) and
/// 12 in key, order and spare.
typedef struct Particles {
    size_t count;  ///< sorted ones and those of the tail
    size_t sorted; ///< [0, sorted) are in tile order; the tail was appended since
    size_t capacity;
    uint32_t carries;      ///< rows of the table of attributes that there are, as bits
    float *attr[ATTR_MAX]; ///< [count]; NULL where unused. Words are read by particle_words
    uint32_t *key;   ///< [count] tile box index * tile_cells + cell; from advect, emit to sort
    uint32_t *order; ///< [count] scratch of the sort
    float *spare;    ///< [count] scratch: the array that a sorted attribute goes to

    // written by the sort, for the grid of that sort
    size_t tile_capacity, at_capacity, start_capacity, mask_capacity;
    uint32_t *tile_start; ///< [tiles + 1] first particle of each tile
    uint32_t *start_at;   ///< [tiles] the tile's place in cell_start; 0: it has no particles
    uint32_t *cell_start; ///< [(places + 1) * tile_cells + 1] first particle of each cell; place 0,
                          ///< which tiles without particles share, holds zeros
    uint8_t *occupied;    ///< [tiles * tile_rows] cells that hold a particle
} Particles;

/// Whether particles have a row of the table of attributes.
static inline bool particles_carry(const Particles *p, int row) {
    return p->carries >> row & 1;
}
/// An attribute of words.
static inline uint32_t *particle_words(const Particles *p, int place) {
    return (uint32_t *)(void *)p->attr[place];
}

/// Values of a new particle for the rows that the table gives one. origin: which liquid or source
/// it came from.
void particle_start(Particles *p, size_t i, uint32_t origin);
/// Whether there are such rows, and the same values as another particle's.
bool particles_inherit(const Particles *p);
void particle_inherit(Particles *p, size_t i, size_t from);
/// Numbers that a particle carries.
int particle_numbers(const Particles *p);

/// Frees the arrays.
void particles_free(Particles *p);
size_t particles_bytes(const Particles *p);
/// Room for `count` particles in all; keeps those there are. False when out of memory.
bool particles_reserve(Particles *p, size_t count);
/// Gives back memory that more particles needed on more tiles.
void particles_release(Particles *p, const Grid *g);

/// Room for where the particles of so many tiles begin; what was told before is lost.
bool particles_fit_tiles(Particles *p, const Grid *g, size_t tiles);
/// (tile_start) => start_at, room in cell_start, its zeros and its end. False when out of memory.
bool particles_fit_cells(Particles *p, const Grid *g);

/// Range of a tile's particles.
static inline uint32_t tile_first(const Particles *p, int slot) {
    return p->tile_start[slot];
}
static inline uint32_t tile_end(const Particles *p, int slot) {
    return p->tile_start[slot + 1];
}
static inline bool tile_holds(const Particles *p, int slot) {
    return p->tile_start[slot] != p->tile_start[slot + 1];
}
/// First particle of each of a tile's cells, and behind the last one where they end.
static inline const uint32_t *cell_starts(const Particles *p, const Grid *g, int slot) {
    return p->cell_start + (size_t)p->start_at[slot] * (size_t)g->tile_cells;
}
/// The same from one cell on, told by its place in a field.
static inline const uint32_t *cell_starts_from(const Particles *p, const Grid *g, int64_t cell) {
    return cell_starts(p, g, (int)(cell / g->tile_cells)) + cell % g->tile_cells;
}

/// The key of the cell that holds a point inside the domain (points on the far side belong to the
/// last cell).
static inline uint32_t cell_key(const Grid *g, Space s, float x, float y, float z) {
    int cx = (int)space_to_grid(s, x), cy = (int)space_to_grid(s, y);
    int cz = g->dim == 3 ? (int)space_to_grid(s, z) : 0;
    cx = cx < g->cells[0] ? cx : g->cells[0] - 1;
    cy = cy < g->cells[1] ? cy : g->cells[1] - 1;
    cz = cz < g->cells[2] ? cz : g->cells[2] - 1;
    uint32_t tile = (uint32_t)grid_box_index(g, cx >> 3, cy >> 3, cz >> 3);
    return tile * (uint32_t)g->tile_cells + (uint32_t)(((cz & 7) * 8 + (cy & 7)) * 8 + (cx & 7));
}
