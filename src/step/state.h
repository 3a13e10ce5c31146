// The state of a simulation, grouped by the stage that writes it.
//
// Shapes: [faces] and [cells] are fields on the grid, slot * tile_cells + cell; [rows] are masks of
// one byte a row of eight cells; [tiles] one value a tile. Velocities live on lower faces.
#pragma once
#include "band/kernels.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/team.h"
#include "grid/block.h"
#include "grid/grid.h"
#include "particles/density.h"
#include "particles/particles.h"
#include "particles/sort.h"
#include "particles/transfer.h"
#include "projection/faces.h"
#include "solid/solid.h"
#include "solve/solve.h"
#include "surface/level_set.h"

/// Cells that particles may go into solids where the density projection pushes them out again: less
/// than half the thinnest wall that holds water, so that they leave on the side they came from.
#define SOLID_DEPTH 0.25f

/// How solids meet a tile.
enum { SOLID_FAR, SOLID_STILL, SOLID_MOVING };

/// On how many of a tile's faces a band has a velocity that the grid carried along.
enum { TRACED_NONE, TRACED_SOME, TRACED_ALL };

/// Solids farther from a tile than this many cells do not touch it; distances are cut here.
#define SOLID_REACH 3.0f

enum {
    /// Nodes at half cells along a tile's edge, those on its far side included, and most along that
    /// of a block with halo.
    FINE_EDGE = 2 * TILE + 1,
    FINE_BLOCK_EDGE = 2 * (TILE + 2 * BLOCK_HALO_MAX),
};

/// A source at work: the lattice of its stream moves with the stream's speed.
typedef struct Source {
    BrimSourceDef def;
    Shape *shape;
    float low[3], high[3]; ///< bounds, cut to the domain
    float drift[3];        ///< speed of the lattice, m/s
    uint32_t origin;       ///< its particles' attribute `source`
    double points;         ///< cross-section: points that enter when it drifts by one spacing
} Source;

typedef struct Drain {
    BrimDrainDef def;
    Shape *shape;
    float low[3], high[3];
} Drain;

/// A particle to make at a point, and where its liquid came from, both in cells of its tile.
typedef struct Risen {
    float at[3], from[3];
} Risen;

/// Arrays of one thread.
typedef struct ThreadScratch {
    float block[7][BLOCK_MAX]; ///< blocks of fields
    Risen *risen;              ///< what rose into a band, tile after tile
    size_t risen_count, risen_capacity;
} ThreadScratch;

struct BrimSim {
    // create
    BrimSimDef def; ///< lists are empty: they live on in the members below
    BrimIsa isa;
    int threads_most; ///< of the team
    Team *team;
    int dim;
    float dx, inv_dx; ///< m
    Sides sides;
    double cell_volume;   ///< m^3, 2D: m^2
    double particle_mass; ///< kg, 2D: kg/m
    const TransferKernels *transfer;
    const LevelSetKernels *level_set;
    const FaceKernels *faces;
    LevelSetProfile profile;
    uint64_t def_hash; ///< of the def with its lists, for checkpoints
    Solid **solids;
    int solid_count;
    SolidState *pending; ///< of solids that a checkpoint's host had added and will add again
    int pending_count;
    Source *sources;
    int source_count;
    Drain *drains;
    int drain_count;
    BrimGravityKey *gravity_keys;
    ThreadScratch *scratch; ///< [threads_most]

    // step: choose dt
    double time, dt;
    double dt_next; ///< the step after this one, s: velocities are brought to its middle
    int64_t step;
    int frame;
    bool primed;          ///< the grid has a velocity
    double velocity_time; ///< time for which velocities stand: half a step ahead of positions

    // emit, sort
    Grid grid;
    Particles particles;
    SortScratch sort;
    int64_t seeded, emitted, drained, left;
    uint32_t next_id;
    size_t field_tiles; ///< capacity of all fields below, tiles
    WorkMemory work;    ///< blocks of particles -> grid, then vectors of the solver

    // solids: NULL without solids; wall_speed NULL without moving ones. Fields hold only the tiles
    // near solids, in the order of their slots: read them by solid_cell and the like
    double solid_time;    ///< for which the solids are sampled, s
    uint8_t *tile_solid;  ///< [tiles] SOLID_FAR, _STILL, _MOVING
    int32_t *solid_at;    ///< [tiles] 1 + the tile's place in the fields, 0 far from all solids
    int32_t *solid_from;  ///< [tiles near solids] scratch: places before they changed
    uint8_t *shut[3];     ///< [rows of all tiles] faces with no open part; see solid_masks.h
    uint8_t *cut[3];      ///< [rows of all tiles] faces that are not wholly open
    uint8_t *rock;        ///< [rows of all tiles] cells whose centres lie in a solid
    size_t solid_tiles;   ///< capacity of the fields, tiles
    float *solid_phi;     ///< [nodes] distance, m; low corner of each cell
    float *open[3];       ///< [faces] part of the face that is not inside a solid, 0..1
    float *solid_part;    ///< [cells] of the weight of the cell's trilinear kernel, inside solids;
                          ///< NULL when nothing keeps the volume
    float *solid_volume;  ///< [cells] part of the cell inside solids
    float *wall_speed[3]; ///< [faces] velocity of the solid there, m/s

    // thin walls; see solid_fine.h
    int32_t *fine_at;   ///< [tiles near solids] 1 + the tile's place in solid_fine, 0: none, -1: to
                        ///< be sampled
    int32_t *fine_from; ///< [fine tiles] scratch: places before they changed
    int32_t *fine_slot; ///< [fine tiles] scratch
    int fine_count;     ///< fine tiles
    size_t fine_tiles;  ///< capacity of the fields, tiles
    float *solid_fine;  ///< [fine tiles][nodes at half cells] distance, m
    float *fine_block;  ///< [threads_most] blocks of such nodes
    uint8_t *foreign;   ///< [rows of all tiles] cells that a wall parts, with particles only in
                        ///< parts that the cell does not belong to; written by sort

    // band: NULL without one
    const BandKernels *band;
    uint8_t *interior; ///< [rows] a cell or more below the surface by the level set carried along:
                       ///< liquid even where no particle is
    uint8_t *hidden;   ///< [rows] cells below the band: they hold no particles
    uint8_t *full;     ///< [rows] interior or with particles; written by surface
    uint8_t *below;    ///< [rows] full for the density: hidden, and slivers inside solids beside
                       ///< such; written by density
    uint8_t *rigid;    ///< [rows] those that no displacement enters: all but near sources
    uint8_t *traced; ///< [tiles] TRACED_NONE, _SOME, _ALL: how much of `old`, then `velocity`, was
                     ///< carried along
    uint8_t *marks;  ///< scratch: masks and flags while distances are found
    float *deepest, *shallowest; ///< [tiles] least and largest phi; written by surface
    uint32_t *swallowed; ///< keys of cells below the band, one for each particle that a source's
                         ///< water pushed there in the last projection; written by density
    double swallow_time; ///< over which it flows on, s: as long as it took to come
    double swallow_left; ///< of that, s
    size_t swallowed_count, swallowed_capacity;
    int64_t resampled;   ///< particles made less those taken, by the band
    double band_missing; ///< of those that were seeded and came since; written by measure

    // density; NULL when nothing keeps the volume
    const DensityKernels *weigh;
    double waited;     ///< since the last projection, s
    double travelled;  ///< cells that the fastest particle went since the last projection
    bool crowded;      ///< it had far to move particles, found some inside solids, or a solid came
    float *density;    ///< [cells] of particles and solids, relative to rest
    float *push[3];    ///< [cells near solids, by solid_cell] displacement out of solids, cells
    float *push_depth; ///< the same: of the deepest particle inside a solid, cells; 0 = none
    uint8_t *pushed;   ///< [rows] cells with such a particle

    // particles -> grid
    int32_t *scatter_at;       ///< [tiles] index of the tile's block, -1 without particles
    ScatterRows *scatter_rows; ///< [tiles] where the block holds something
    float *old[3];             ///< [faces] velocity before forces and pressure, m/s; FLIP or band.
                               ///< With a band where particles are near, and from its trace on what
                               ///< the grid carries along
    uint8_t *known[3];         ///< [rows] faces with a velocity
    uint8_t *reached; ///< [tiles] with a band: particles gave `old` a velocity there, also on
                      ///< faces beyond thin walls, which are not known

    // surface
    float *phi;      ///< [cells] signed distance to the liquid's surface in cells, cut at +-2;
                     ///< with a band as deep as it needs
    uint8_t *liquid; ///< [rows] cells in which pressure is solved
    uint8_t *wet;    ///< [tiles] whether the tile has such cells

    // project
    float *velocity[3]; ///< [faces] m/s; extrapolate makes it reach into air and solids
    float *pressure;    ///< [cells] p kick / (rho dx), m/s; start value of the next solve
    double kick;        ///< over which the pressure acted, s
    float *rhs;         ///< [cells] m/s
    float *coefficient[3], *diagonal; ///< [faces], [cells]
    Poisson *poisson;

    // extrapolate
    float *tile_speed; ///< [tiles] largest velocity component, m/s

    // advect, sort
    uint8_t *tile_reach; ///< [tiles] cells that the tile's particles may cross in the next step,
                         ///< and one that their interpolation reads there; 0 without particles

    // measure
    double max_speed;                                  ///< of a particle, m/s
    double start_cells, start_volume, start_particles; ///< after seeding: reference of volumes
    BrimStats stats;
};

/// Index of a cell in the fields of solids, -1 far from all solids.
static inline int64_t solid_cell(const BrimSim *s, int64_t cell) {
    int shift = s->dim == 3 ? 9 : 6;
    int32_t at = s->solid_at[cell >> shift];
    return at ? ((int64_t)(at - 1) << shift) + (cell & ((1 << shift) - 1)) : -1;
}
/// Open part of a cell's lower face, distance at its low corner in m, part of it inside solids.
static inline float open_part(const BrimSim *s, int axis, int64_t cell) {
    int64_t i = solid_cell(s, cell);
    return i < 0 ? 1 : s->open[axis][i];
}
static inline float solid_distance_at(const BrimSim *s, int64_t node) {
    int64_t i = solid_cell(s, node);
    return i < 0 ? SOLID_REACH * s->dx : s->solid_phi[i];
}
static inline float solid_volume_of(const BrimSim *s, int64_t cell) {
    int64_t i = solid_cell(s, cell);
    return i < 0 ? 0 : s->solid_volume[i];
}

/// Nodes of a tile at half cells, and most of a block.
static inline size_t fine_tile_nodes(const BrimSim *s) {
    return (size_t)FINE_EDGE * FINE_EDGE * (s->dim == 3 ? FINE_EDGE : 1);
}
static inline size_t fine_block_nodes(const BrimSim *s) {
    return (size_t)FINE_BLOCK_EDGE * FINE_BLOCK_EDGE * (s->dim == 3 ? FINE_BLOCK_EDGE : 1);
}

/// Number of rows of all tiles, and of cells.
static inline size_t sim_rows(const BrimSim *s) {
    return (size_t)s->grid.tile_count * (size_t)s->grid.tile_rows;
}
static inline size_t sim_cells(const BrimSim *s) {
    return (size_t)s->grid.tile_count * (size_t)s->grid.tile_cells;
}

/// Cells with particles, and with a band those of its interior.
static inline const uint8_t *full_cells(const BrimSim *s) {
    return s->band ? s->full : s->particles.occupied;
}

/// Whether a tile or one beside it has particles; after particles -> grid.
static inline bool particles_near(const BrimSim *s, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->scatter_at[t] >= 0) return true;
    }
    return false;
}

/// Whether pressure acts in this step, and with it what keeps the volume.
static inline bool pressure_acts(const BrimSim *s) {
    return s->time + s->dt > s->def.pressure_from;
}

/// The cells of a row of a tile that lie inside the domain, as bits.
static inline uint8_t row_inside(const Grid *g, int slot, int row) {
    TileCoord c = g->coord[slot];
    if (c.y * TILE + (row & 7) >= g->cells[1] || c.z * TILE + (row >> 3) >= g->cells[2]) return 0;
    int n = g->cells[0] - c.x * TILE;
    return n >= TILE ? 0xff : (uint8_t)((1 << n) - 1);
}

/// The particles of a tile with their block's corner, for blocks with this halo.
static inline Span sim_span(const BrimSim *s, int slot, int halo) {
    const Particles *p = &s->particles;
    uint32_t first = tile_first(p, &s->grid, slot);
    TileCoord c = s->grid.coord[slot];
    Span span = {.count = (int)(tile_end(p, &s->grid, slot) - first),
                 .dx = s->dx,
                 .inv_dx = s->inv_dx,
                 .dim = s->dim,
                 .corner = {(float)(c.x * TILE - halo), (float)(c.y * TILE - halo),
                            (float)(c.z * TILE - halo)}};
    for (int a = 0; a < ATTR_MAX; a++)
        if (p->attr[a]) span.attr[a] = p->attr[a] + first;
    return span;
}

/// Some particles of a span, from one on.
static inline Span span_part(const Span *span, uint32_t from, uint32_t count) {
    Span part = *span;
    part.count = (int)count;
    for (int a = 0; a < ATTR_MAX; a++)
        if (part.attr[a]) part.attr[a] += from;
    return part;
}
