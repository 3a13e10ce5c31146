// The state of a simulation, grouped by the stage that writes it.
//
// Shapes: [faces] and [cells] are fields on the grid, slot * tile_cells + cell; [rows] are masks of
// one byte a row of eight cells; [tiles] one value a tile. Velocities live on lower faces.
#pragma once
#include "band/state.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/team.h"
#include "formula/formula.h"
#include "grid/block.h"
#include "grid/grid.h"
#include "liquid/mpm.h"
#include "liquid/spray.h"
#include "liquid/viscosity.h"
#include "particles/particles.h"
#include "particles/sort.h"
#include "particles/transfer.h"
#include "projection/faces.h"
#include "projection/state.h"
#include "step/fields.h"
#include "surface/level_set.h"
#include "surface/state.h"
#include "volume/state.h"
#include "walls/state.h"

/// Cells that particles may go into solids where the density projection pushes them out again: less
/// than half the thinnest wall that holds water, so that they leave on the side they came from.
#define SOLID_DEPTH 0.25f

/// How solids meet a tile.
enum { SOLID_FAR, SOLID_STILL, SOLID_MOVING };

/// On how many of a tile's faces a band has a velocity that the grid carried along.
enum { TRACED_NONE, TRACED_SOME, TRACED_ALL };

/// Solids farther from a tile than this many cells do not touch it; distances are cut here.
#define SOLID_REACH 3.0f
/// Solids are taken to be this much thicker, in cells: the surface of a wall that lies exactly on
/// grid nodes is inside it, whatever the rounding, so that such a wall of one cell holds water.
#define SOLID_SKIN 0.01f

enum {
    /// Nodes at half cells along a tile's edge, those on its far side included, and most along that
    /// of a block with halo.
    FINE_EDGE = 2 * TILE + 1,
    FINE_BLOCK_EDGE = 2 * (TILE + 2 * BLOCK_HALO_MAX),
};

/// Formulas of a liquid's velocity; NULL where a component is a number.
typedef struct LiquidFlow {
    Formula *velocity[3];
} LiquidFlow;

/// A source at work: the lattice of its stream moves with the stream's speed.
typedef struct Source {
    BrimSourceDef def;
    Shape *shape;
    float low[3], high[3]; ///< bounds, cut to the domain
    float drift[3];        ///< speed of the lattice, m/s
    uint32_t origin;       ///< its particles' attribute `source`
    double points;         ///< cross-section: points that enter when it drifts by one spacing
    double fine;           ///< the same in parts of points
    bool blocked;          ///< walls inside its shape stand in the stream's way

    // what changes with time (emit/stream.h)
    Solid *mover; ///< the shape, where it moves; NULL: it stays
    Formula *velocity_at[3], *flow_at;
    float direction[3], pace; ///< of the lattice as the shape sees it; that the section is of
    float stream[3];          ///< velocity of the water at the shape's place, m/s
    float spin[3], centre[3]; ///< of the shape
    double phase[3];          ///< way of the lattice so far, m
} Source;

/// Where a particle is at the end of the step, m, and the source that takes it there, or -1.
typedef struct ConveyedPlace {
    float x[3];
    int32_t source;
} ConveyedPlace;

/// Particles inside sources (emit/convey.h).
typedef struct Conveyed {
    ConveyedPlace *place; ///< of the particles on some tiles
    int64_t *first;       ///< [tiles] that of the tile's first particle, -1: all go with the flow
    size_t room, tiles_room;
    bool any;
} Conveyed;

typedef struct Drain {
    BrimDrainDef def;
    Shape *shape;
    float low[3], high[3];
    Solid *mover; ///< the shape, where it moves; NULL: it stays
    Formula *rate_at;
    double rate;  ///< now, m^3/s
    double owed;  ///< particles to take
    double share; ///< of those inside that it takes in this step
} Drain;

/// A particle to make at a point, and where its liquid came from, both in cells of its tile.
typedef struct Risen {
    float at[3], from[3];
} Risen;

/// What rose in a tile: where it lies in which thread's scratch, and among all.
typedef struct RisenTile {
    uint32_t thread, first, count, place;
    double hidden; ///< liquid below the band, in particles
} RisenTile;

/// What statistics sum over a tile.
typedef struct TileSums {
    double speed2;      ///< sum of |v|^2, times mass
    double position[3]; ///< sum of x, times mass
    double filled;      ///< sum over cells of min(particles, full), eq. (19) of the density paper
    double cells;       ///< cells with a particle, or below the band
    double hidden;      ///< particles' worth of liquid below the band
    double volume;      ///< on a warped grid: what the particles stand for, cells
    float fastest2;     ///< largest |v|^2
    float rate;         ///< fastest in reference space, m/s; on a warped grid
} TileSums;

/// Scalar products of a tile in the solve for viscosity.
typedef struct ViscousSums {
    double pq, rz;
    float most[2]; ///< largest |r| and |u|
} ViscousSums;

/// A setting that changed since the simulation was made.
typedef struct SettingChange {
    char key[48];
    int64_t count;
    double values[3];
} SettingChange;

/// Arrays of one thread.
typedef struct ThreadScratch {
    float block[7][BLOCK_MAX]; ///< blocks of fields
    Risen *risen;              ///< what rose into a band, tile after tile
    size_t risen_count, risen_capacity;
} ThreadScratch;

typedef struct Bodies Bodies;

/// What the host changed since the start: see sim_host.c.
typedef struct HostChanges {
    bool gravity_set; ///< then this holds, m/s^2
    double gravity_x, gravity_y, gravity_z;
    int origins; ///< liquids and sources of the def: what is added counts on from there
    int64_t liquids_added;
    int64_t changes;
    int64_t hash; ///< of all of them; 0 without any
} HostChanges;

struct BrimSim {
    // create
    BrimSimDef def; ///< lists are empty: they live on in the members below
    BrimIsa isa;
    int threads_most; ///< of the team
    Team *team;
    int dim;
    union {
        Space space; ///< where things are
        struct {
            float dx, inv_dx; ///< of a cell, m: for lengths
        };
    };
    Sides sides;
    double cell_volume;   ///< m^3, 2D: m^2
    double particle_mass; ///< kg, 2D: kg/m
    const TransferKernels *transfer;
    const LevelSetKernels *level_set;
    const FaceKernels *faces;
    LevelSetProfile profile;
    uint64_t def_hash; ///< of the def with its lists, for checkpoints
    Bodies *bodies;    ///< NULL without; their solids are among those of the walls
    Source *sources;
    int source_count;
    Conveyed conveyed;
    struct ForceField *forces; ///< (liquid/force_fields.h)
    int force_count;
    Drain *drains;
    int drain_count;
    BrimGravityKey *gravity_keys;
    Formula *gravity_formula[3]; ///< NULL where a component is a number
    LiquidFlow *flows;           ///< [flow_count] of the def's liquids
    int flow_count;
    BrimGaugeDef *gauges;
    int gauge_count;
    ThreadScratch *scratch;  ///< [threads_most]
    SettingChange *settings; ///< [setting_count] by brim_sim_set, in its order
    int setting_count;

    // step: choose dt
    double time, dt;
    double dt_next; ///< the step after this one, s: velocities are brought to its middle
    int64_t step;
    int frame;
    bool primed;          ///< the grid has a velocity
    BrimResult lost;      ///< below zero: a step failed half way
    double velocity_time; ///< time for which velocities stand: half a step ahead of positions

    // emit, sort
    Grid grid;
    Particles particles;
    SortScratch sort;
    int64_t seeded, emitted, drained, left;
    uint32_t next_id;
    Particles waiting; ///< that the host added: they come in with the next step
    WorkMemory work;   ///< blocks of particles -> grid, then vectors of the solver

    // fields, by the table
    StageId stage;      ///< at work; AT_REST between steps
    FieldMemory memory; ///< what the members below point to
    uint64_t guarded;   ///< build for tests: the stage before, as a bit
#define FIELD_MEMBER_1(NAME, TYPE) TYPE *NAME;
#define FIELD_MEMBER_3(NAME, TYPE) TYPE *NAME[3];
#define FIELD_MEMBER(NAME, TYPE, PARTS, ...) FIELD_MEMBER_##PARTS(NAME, TYPE)
    FIELD_TABLE(FIELD_MEMBER)
#undef FIELD_MEMBER

    // rooms: what each method holds besides
    WallState walls;
    BandState band;
    TrackingState tracking;
    Mpm mpm;
    Spray spray;
    VolumeState volume;
    ViscosityState viscosity;
    ProjectionState projection;
    struct WarpState *warp; ///< a grid that bends, or NULL: see warp/stage.h
    HostChanges host;

    // measure
    double max_speed; ///< of a particle, m/s; on a warped grid in reference space
    double start_cells, start_volume, start_particles; ///< after seeding: reference of volumes
    BrimStats stats;
};

static inline bool has_band(const BrimSim *s) {
    return s->band.kernels;
}

static inline bool has_friction(const BrimSim *s) {
    return s->def.wall_friction > 0 || s->def.wall_roughness > 0;
}

/// Index of a cell in the fields of solids, -1 far from all solids.
static inline int64_t solid_cell(const BrimSim *s, int64_t cell) {
    int shift = s->dim == 3 ? 9 : 6;
    int32_t at = s->solid_at ? s->solid_at[cell >> shift] : 0;
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

/// Index of a cell in the fields of wet tiles, -1 where they have nothing.
static inline int64_t wet_cell(const BrimSim *s, int64_t cell) {
    int shift = s->dim == 3 ? 9 : 6;
    int32_t at = s->wet_at[cell >> shift];
    return at ? ((int64_t)(at - 1) << shift) + (cell & ((1 << shift) - 1)) : -1;
}
/// Of a cell, by the last solve; 0 in air.
static inline float pressure_at(const BrimSim *s, int64_t cell) {
    int64_t i = wet_cell(s, cell);
    return i < 0 ? 0 : s->pressure[i];
}

/// What the kernel of the density gives along an axis to each of the cells beside its own.
static inline float kernel_side(const BrimSim *s) {
    return s->volume.ramp / 8;
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

/// Whether fast particles may fly by themselves.
static inline bool has_spray(const BrimSim *s) {
    return s->def.spray_speed[1] > 0;
}

/// Whether there are MPM sub-steps.
static inline bool has_mpm(const BrimSim *s) {
    return s->def.mpm_substeps > 0;
}

/// Cells with particles, and with a band those of its interior.
static inline const uint8_t *full_cells(const BrimSim *s) {
    return has_band(s) ? s->full : s->particles.occupied;
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
    uint32_t first = tile_first(p, slot);
    TileCoord c = s->grid.coord[slot];
    Span span = {.count = (int)(tile_end(p, slot) - first),
                 .space = s->space,
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
