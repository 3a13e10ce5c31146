// The step on a warped grid: the same stages, with velocity at cell centres, pressure and level set
// at nodes, and a mesh that moves between two steps.
//
// Particles hold reference positions, in metres of the regular grid, so that sort, tiles and keys
// are those of any simulation; `space` has where they are. Fields of the state have other places
// here: velocity and old are at cell centres, not a number where none is known; phi (cells, in
// space) and pressure are at nodes, node i at the lower corner of cell i; known[0] are the cells
// with a velocity, liquid those that the projection changed.
#pragma once
#include "grid/mask.h"
#include "step/stage.h"
#include "step/tiles.h"
#include "warp/level.h"
#include "warp/nodal_solve.h"
#include "warp/particles.h"
#include "warp/sizing.h"

/// Cells that particles keep from the sides.
#define WARP_SIDE 1e-3f

typedef struct WarpState {
    Warp mesh;
    const WarpKernels *kernels;
    const WarpLevelKernels *level;
    const struct NodalKernels *nodal;
    WarpSizing sizing;
    NodalOperator op;
    NodalSolver *solver;
    double *q; ///< [nodes] solution under way
    size_t q_capacity;
    float *distance, *speed; ///< [centres of the coarse lattice] what the mesh is bent by
    float *solid, *extra;    ///< [centres] distance to solids, region of interest; NULL without
    Formula *focus[3];       ///< of the region's middle; NULL where a component is a number
    Formula *wish;           ///< what it is instead; NULL: a box or a view
    float *closest[3];       ///< [centres] nearest point of the surface, cells
    double *f;               ///< [centres]
    double down[3];          ///< direction of gravity while the surface is found, 0 without
    bool slanted[3];         ///< [axis] images in the domain's sides across it are slanted
    float *space[3];         ///< [particles] positions in space, m
    size_t space_capacity;
    size_t rest_at;   ///< where in `work` the blocks of the density at rest begin
    uint32_t *splits; ///< [tiles + 1] particles to split, then where they begin
    size_t splits_capacity;
    double *gone; ///< [tiles] liquid that leaves, cells
    size_t gone_capacity;
    double stretch;    ///< largest factor from a speed in space to one in reference space
    float *stretch_at; ///< [centres] the same by coarse cell
    float
        *solid_memory; ///< of what follows, in tiles near solids; NULL without; written by to_grid
    size_t solid_capacity;
    float *open;                 ///< [tile][point][cell] open part
    float *wall[3], *covered[3]; ///< [tile][cell] see NodalSolids
    NodalSolids solids;          ///< of this step's projection
    bool walls_move;             ///< some of these move; false when they are out of date
    WarpMotion motion;
    int32_t
        *inlet_at; ///< [slot] 1 + place of the tile in `inlet`, 0: no source is before its sides
    float *inlet;  ///< [place][part covered, flux in m/s][axis][cell]
    size_t inlet_at_capacity, inlet_capacity;
    int inlet_count; ///< 0: none, or they are out of date
} WarpState;

/// For def.warp or def.nodal. => s->warp
BrimResult warp_create(BrimSim *s, BrimError *error);
void warp_destroy(BrimSim *s);
size_t warp_state_bytes(const BrimSim *s);

/// Bends the mesh towards the surface of particles that were seeded on the regular grid, then seeds
/// anew: as many particles to a cell of the mesh.
BrimResult warp_start(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                      int count, BrimError *error);
/// The step's stages on such a grid.
extern const Stage warped_stages[];
extern const int warped_stage_count;

/// Moves the mesh, then places the solids. (phi, velocity on the old mesh) => solids on the new one
BrimResult warp_solids(BrimSim *s, BrimError *error);
/// (velocity on the old mesh, xi) => (xi on the new mesh, key)
BrimResult warp_advect(BrimSim *s, BrimError *error);
/// Towards the wanted number of particles a cell of the mesh. (xi, volume) => (xi, volume, tail,
/// key)
BrimResult warp_resample(BrimSim *s, BrimError *error);
/// After the density projection, which may have moved some over open sides.
BrimResult warp_sort_again(BrimSim *s, BrimError *error);
/// (xi) => density, when it is due
BrimResult warp_weigh(BrimSim *s, BrimError *error);
/// (xi, v) => (velocity, old, known)
BrimResult warp_to_grid(BrimSim *s, BrimError *error);
/// (xi) => phi
BrimResult warp_surface(BrimSim *s, BrimError *error);
/// (phibar) => curvature at nodes
BrimResult warp_tension(BrimSim *s, BrimError *error);
/// Curvature in space, 1/cells, at the nodes of a tile where `curvature` [nodes] is a number, from
/// distances in reference space, a block with halo 1.
void warp_curve(const BrimSim *s, int slot, const float *distance, float *curvature);
/// (velocity, phi) => pressure
BrimResult warp_pressure(BrimSim *s, BrimError *error);
/// Volume within the surface as the last pressure had it, cells.
double warp_filled(BrimSim *s);
/// (velocity, pressure) => (velocity, liquid)
BrimResult warp_subtract(BrimSim *s, BrimError *error);
/// Velocity as far as a particle can travel in the next step; not a number elsewhere.
BrimResult warp_extrapolate(BrimSim *s, BrimError *error);
/// (velocity, old) => v, affine
BrimResult warp_to_particles(BrimSim *s, BrimError *error);
/// At the end of a frame: statistics of the density as it is.
BrimResult warp_weigh_after(BrimSim *s, BrimError *error);
/// (xi) => space, statistics
BrimResult warp_measure(BrimSim *s, BrimError *error);

/// (phi, velocity) => mesh of the end of the step
BrimResult warp_move_mesh(BrimSim *s, BrimError *error);
/// After the potentials of the mesh were read from a checkpoint. False: a cell is inverted, or a
/// value is not a number.
bool warp_restore(BrimSim *s);
/// (xi) => space. False: out of memory.
bool warp_place(BrimSim *s);
/// Room for it alone.
bool warp_place_reserve(BrimSim *s);
/// Sums of a tile for the statistics: particles weighed by their volume over that of a seeded one.
/// Writes space.
void warp_sum_tile(const BrimSim *s, int slot, int thread, TileSums *out);
/// The largest speed in reference space of those tiles whose particles may have that of all. (sums
/// of tiles) => their rate
void warp_find_rates(BrimSim *s);

// ----------------------------------------------------------------------------------------- sources

/// What sources that begin at the domain's sides let in. => inlet. False: out of memory.
bool warp_find_inlets(BrimSim *s);
/// The part of a cell's face on a side of the domain that a source is before.
float warp_inlet_part(const BrimSim *s, int axis, int64_t cell);
/// b [nodes] -= integral of N u . n over what they let in to a tile's nodes, m/s.
void warp_add_inlets(const BrimSim *s, int slot, float *b);

// ------------------------------------------------------------------------------------------ solids

/// Samples the solids on all tiles, after the mesh has changed. False: out of memory.
bool warp_sample_solids(BrimSim *s);
/// What solids are to the pressure and to velocities beside the domain's sides. => solids. False:
/// out of memory.
bool warp_open_cells(BrimSim *s);
/// Whether the larger part of a cell is inside solids.
bool warp_mostly_solid(const BrimSim *s, int64_t cell);
/// Velocity in cells that are mostly inside solids: along their walls.
void warp_slip(BrimSim *s);
/// Takes such cells out of a mask.
void warp_leave_cut(const BrimSim *s, int slot, TileMask *cells);
/// Takes such cells out of a tile's known ones where a cell beside them says more.
void warp_forget_cut(const BrimSim *s, int slot, TileMask *known);
/// Particles of a tile that have moved, up to `reach` cells, out of solids.
void warp_leave_solids(BrimSim *s, int slot, float reach);
/// Whether a point of the seeding lattice, cells of reference space, is outside solids. One that a
/// solid cuts is kept by chance, as often as its free part is large, in the middle of that.
bool warp_seed_beside(const BrimSim *s, double spacing, uint64_t chance, double xi[3]);

// ----------------------------------------------------------------------------- what these share

/// A cell-centred vector at a point of reference space, cells; beyond walls the mirror image. False
/// when no cell around knows one.
bool warp_sample(const BrimSim *s, float *const field[3], const double xi[3], double out[3]);
/// Position of a particle in reference space, cells.
static inline void warp_particle(const BrimSim *s, size_t i, double xi[3]) {
    for (int a = 0; a < 3; a++)
        xi[a] = space_to_grid_double(s->space, (double)s->particles.attr[ATTR_X + a][i]);
}
/// Volume of a particle, cells.
static inline double warp_volume(const BrimSim *s, size_t i) {
    return (double)s->particles.attr[ATTR_VOLUME][i];
}
/// out = J^-T v: a speed in space as one in reference space.
static inline void warp_pull_back(const double inverse[3][3], const double v[3], double out[3]) {
    for (int i = 0; i < 3; i++)
        out[i] = inverse[0][i] * v[0] + inverse[1][i] * v[1] + inverse[2][i] * v[2];
}
/// Particles into the blocks of their tiles, WARP_NUMBERS to a cell or 1, the weight alone; in
/// `work` with room for so many floats more behind them. => block_at, rest_at. False: out of
/// memory.
bool warp_scatter(BrimSim *s, int numbers, size_t more);
/// What a block gave to mirror images beyond walls goes to the cells before them.
void warp_fold(const BrimSim *s, int slot, int numbers, float *block);
/// A block.
static inline float *warp_block(const BrimSim *s, int slot, size_t floats) {
    return s->work.at + (size_t)s->block_at[slot] * floats;
}
/// A cell-centred vector as blocks, mirrored beyond walls; not a number where none is known.
void warp_load(const BrimSim *s, int slot, float *const field[3], int halo, float *const to[3]);
/// sum [cells of the tile][numbers] of the blocks that reach a tile, over the neighbours in order.
/// place [slot]: a tile's block, -1: none; NULL: all have one, in order of slots.
void warp_sum_blocks(const BrimSim *s, int slot, int numbers, const float *blocks,
                     const int32_t *place, float *sum);
/// Largest factor from a speed in space to one in reference space on a tile.
float warp_tile_stretch(const BrimSim *s, int slot);
/// Velocity and old two cells beyond the cells in known, and in solids as far as liquid is told
/// there: in a wedge a liquid node may lie farther in a solid than two cells. Elsewhere they become
/// not a number.
void warp_grow_to_liquid(BrimSim *s);
/// The key of the cell that a particle is in.
void warp_key(BrimSim *s, size_t i);
