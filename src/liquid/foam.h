// Spray, foam and bubbles after Ihmsen, Akinci, Akinci and Teschner (2012), from two frames of a
// liquid: what its particles do in between is a straight path each.
//
//   paths    particles of both frames, matched by id => where each one is at any time between them
//   bins     the liquid at one time, sorted by cell of a kernel's radius
//   block    a tile of bins and its neighbours' particles, in one array
//   kernels  sums over the particles around a point
//   born     trapped air, crests and energy of the earlier frame => new particles
//   move     one sub-step: what a particle is, by the liquid around it; its way; walls; its age
//
// The path's velocity is what the particle covered over the time it took. FLIP moves particles by
// the grid's velocity and not by their own, so it is free of their noise, and foam that goes by it
// stays with the water. The state after an interval is the foam alone: with the frame that it
// belongs to, everything that the next interval needs.
#pragma once
#include "base/simd.h"
#include "base/team.h"
#include "brim/brim.h"
#include "formula/formula.h"
#include "grid/grid.h"
#include "solid/solid.h"

/// Sum of the kernel 1 - d / h, h two spacings, in full water in 3D; sums in 2D are scaled to it.
#define FOAM_FULL 8.37758f

/// Lengths and what is derived from the defs.
typedef struct FoamScale {
    int dim;
    float spacing;    ///< of the liquid's particles, m
    float radius;     ///< h, of the kernel, m
    float rest;       ///< sum of the kernel in full water, in this dimension
    float size[3];    ///< of the domain, m
    float cell;       ///< edge of the simulation's cells, m
    int per_cell;     ///< particles in a full cell
    int stand;        ///< stand-ins along the edge of a cell below a narrow band
    float inv_radius; ///< of the bins' cells as of the kernel, 1/m
    int cells[3];     ///< of the bins
    /// Share of a kernel on the near side of a plane at distance (i / FOAM_WALL_STEPS) h.
    float wall[65];
} FoamScale;
enum { FOAM_WALL_STEPS = 64 };

void foam_scale_init(FoamScale *scale, const BrimSimDef *def);
/// Stand-ins of a cell below a band. Sums over them are those of full water when they are as many
/// as particles in a full cell.
size_t foam_stand_ins(const FoamScale *scale);
/// Share of the kernel that a wall at a distance leaves, 0.5 to 1.
float foam_wall_share(const FoamScale *scale, float distance);

// ---------------------------------------------------------------------------------------- liquid

/// A frame of the liquid, by id.
typedef struct FoamLiquid {
    size_t count, capacity;
    float *x[3], *v[3]; ///< m, m/s; inside the domain
    uint32_t *id;
    BrimInterior *interior; ///< cells below a narrow band
    size_t interior_count, interior_capacity;
} FoamLiquid;

/// Copies particles, and cells below a band; BRIM_ERROR_INPUT when one has values that are not
/// numbers.
BrimResult foam_liquid_set(FoamLiquid *liquid, const FoamScale *scale,
                           const BrimParticles *particles, int frame, BrimError *error);
void foam_liquid_free(FoamLiquid *liquid);

/// Particles on their way from one frame to the next: x + w t for 0 <= t <= duration.
typedef struct FoamPaths {
    size_t count, capacity;
    float *x[3], *w[3]; ///< m, m/s
    uint8_t *halves; ///< 1: there in the first half of the interval, 2: in the second; 3: in both
    uint32_t *from;  ///< index in the earlier frame, UINT32_MAX: not there
    float fastest;   ///< m/s
    float duration;  ///< s
} FoamPaths;

bool foam_paths_make(FoamPaths *paths, const FoamLiquid *a, const FoamLiquid *b, double duration);
void foam_paths_free(FoamPaths *paths);

// ------------------------------------------------------------------------------------------ bins

/// Particles by tile and cell, of the tiles that are wanted.
typedef struct FoamBins {
    Grid grid;               ///< tiles with particles, and those beside them
    uint32_t *start;         ///< [tiles * tile_cells + 1]
    float *x[3], *u[3];      ///< [count] m, m/s
    float *n[3];             ///< [count] normals, 0 away from the surface; NULL: not asked for
    uint32_t *source;        ///< [count] index of the particle in what was sorted
    uint32_t *chosen;        ///< [chosen_count] interior cells near the tiles that are wanted
    uint8_t *want;           ///< [tile box] tiles whose particles are sorted in
    uint8_t *have;           ///< [tile box] tiles that exist; kept for grid_rebuild
    uint32_t *key, *by_tile; ///< [particles]
    uint32_t *first;         ///< [tile box + 1]
    int32_t *spare;          ///< [tile box]
    size_t count, capacity, key_capacity, start_capacity, chosen_count, chosen_capacity;
    size_t too_many; ///< particles and stand-ins that were more than can be sorted; 0: none
} FoamBins;

/// Where particles are: x + t w of those that `halves` has a bit of `half` for; NULL: of all.
/// Below a narrow band a lattice of stand-ins fills each cell and goes with its velocity: kernels
/// see full water there. They come behind the particles, and bear nothing.
typedef struct FoamPlaces {
    size_t count;
    float *const *x, *const *w;
    float time;
    const uint8_t *halves;
    uint8_t half;
    const BrimInterior *interior;
    size_t interior_count;
    float interior_time; ///< s since the frame that the cells are of
} FoamPlaces;

BrimResult foam_bins_init(FoamBins *bins, const FoamScale *scale, BrimError *error);
void foam_bins_free(FoamBins *bins);
/// The cell of a point, inside the domain. => tile in the box; cell in the tile
uint32_t foam_cell(const FoamScale *scale, const Grid *grid, const float x[3], uint32_t *cell);
/// want [tile box]: of the tiles that have it, those around them get it too.
void foam_spread(FoamBins *bins);
/// (places, want) => bins; `normals`: with room for n. False when out of memory, or when there are
/// too many: foam_bins_fail tells which.
bool foam_bins_sort(FoamBins *bins, const FoamScale *scale, const FoamPlaces *places, bool normals,
                    Team *team);
/// What to say of an interval that failed, of so many particles of what.
BrimResult foam_bins_fail(const FoamBins *bins, size_t count, const char *what, BrimError *error);

// ----------------------------------------------------------------------------------------- block

enum { FOAM_EDGE = TILE + 2 };

/// The particles of a tile and of the cells around it, rows of cells along x together.
typedef struct FoamBlock {
    int tile; ///< slot
    uint32_t start[FOAM_EDGE * FOAM_EDGE * FOAM_EDGE + 1];
    uint32_t count;
    size_t capacity;
    float *x[3], *u[3], *n[3]; ///< readable FOAM_LANES floats beyond the end
} FoamBlock;
enum { FOAM_LANES = 8 };

/// False when out of memory.
bool foam_block_fill(FoamBlock *block, const FoamBins *bins, int slot);
void foam_block_free(FoamBlock *block);

// --------------------------------------------------------------------------------------- kernels

/// Sums over the particles around a point, W = 1 - d / h.
typedef struct FoamSums {
    float weight; ///< of W
    float u[3];   ///< of W u, m/s
    float out[3]; ///< of W (point - particle) / d: points out of the liquid
} FoamSums;

/// The particle that potentials are asked for, as its neighbours see it.
typedef struct FoamSelf {
    float x[3], u[3], n[3];
} FoamSelf;

typedef struct FoamPair {
    float trapped; ///< sum of |v_ij| (1 - v_ij . x_ij) W, m/s
    float crest;   ///< sum of (1 - n_i . n_j) W over neighbours below the surface's tangent plane
    float surface; ///< sum of W over particles at the surface, itself too
} FoamPair;

typedef struct FoamKernels {
    /// `cell` of the tile, in which the point lies; inv = 1 / h.
    void (*sums)(const FoamBlock *block, int cell, const float at[3], float inv, FoamSums *sums);
    void (*pair)(const FoamBlock *block, int cell, const FoamSelf *self, float inv, FoamPair *pair);
} FoamKernels;

BRIM_KERNELS(FoamKernels, foam_kernels)

// ------------------------------------------------------------------------------------- the method

/// (min(I, b) - min(I, a)) / (b - a)
float foam_clamp(float value, const float limits[2]);
/// Out of the mean of FoamSums.out around a particle: its normal, or 0 when it is not at the
/// surface.
void foam_normal(const FoamScale *scale, const float out[3], float normal[3]);
/// Particles that are born a second at a liquid particle, 1/s.
float foam_rate(const BrimFoamDef *def, const FoamSelf *self, const FoamPair *pair);

/// The solids and drains of a scene.
typedef struct FoamWalls {
    Solid **solids, **present; ///< [solid_count], those that exist
    Solid **drains;            ///< [drain_count]
    double (*drain_time)[2];   ///< when each is open, s
    int solid_count, present_count, drain_count;
    BrimSide sides[6];
    BrimGravityKey *keys; ///< of gravity
    int key_count;
    BrimVec3 gravity;
    Formula *formula[3]; ///< of its components; NULL: the number above
} FoamWalls;

BrimResult foam_walls_init(FoamWalls *walls, const BrimSimDef *def, BrimError *error);
void foam_walls_free(FoamWalls *walls);
/// Places the solids for `time`, with their mean velocity over the dt before it. False when out of
/// memory.
bool foam_walls_place(FoamWalls *walls, double time, double dt);
enum { FOAM_POINTS = 128 };
/// Distance to the nearest solid of n <= FOAM_POINTS points, m, and which it is; INFINITY and -1
/// where all are farther than `reach`.
void foam_walls_distance(const FoamWalls *walls, int n, float *const x[3], float reach,
                         float *distance, int *solid);
/// Outward normal of a solid near a point, from differences over `step`; 0 where it has none.
void foam_walls_normal(const FoamWalls *walls, int solid, const float x[3], int dim, float step,
                       float normal[3]);
/// Whether a point is in a drain that is open at `time`.
void foam_walls_drained(const FoamWalls *walls, double time, int n, float *const x[3], bool *in);
BrimVec3 foam_gravity(const FoamWalls *walls, double time);

struct BrimFoam {
    BrimFoamDef def;
    FoamScale scale;
    FoamWalls walls;
    const FoamKernels *kernels;
    Team *team;
    uint64_t settings; ///< hash of all that a later frame depends on, but for the liquid
    uint32_t seed;

    bool band; ///< frames must tell of the cells below it
    bool begun;
    int frame;   ///< of `liquid` and of the particles
    double time; ///< s
    FoamLiquid liquid, next;
    FoamPaths paths;
    FoamBins bins;
    FoamBlock *block;           ///< [threads of the team]
    BrimFoamParticle *particle; ///< [count] by id
    size_t count, capacity;
    uint32_t next_id;
    BrimFoamCounts counts;
};

/// Foam on its way to the next frame.
typedef struct FoamWork {
    BrimFoam *foam;
    BrimFoamParticle *particle; ///< [count]; life 0: gone
    float *begin;               ///< [count] s after the interval's start at which it is born
    size_t count, capacity;
    uint32_t next_id;
    int64_t born;
} FoamWork;

/// Adds the particles that are born between frames. BRIM_ERROR_MEMORY.
BrimResult foam_born(FoamWork *work, BrimError *error);
/// Moves all over [begin, begin + dt] of the interval.
BrimResult foam_move(FoamWork *work, float begin, float dt, BrimError *error);
