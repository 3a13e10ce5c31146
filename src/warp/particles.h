// Particle kernels on a warped mesh: the map and its inverse, velocities at cell centres. A tile's
// particles against a block of the tile and what lies around it, as in particles/transfer.h.
//
// Positions are reference positions in cells from the block's low corner. Beyond a wall blocks of
// velocities hold the mirror image, the component towards the wall reversed.
#pragma once
#include "particles/transfer.h"
#include "warp/map.h"

enum {
    /// Edge of the block that particles -> grid writes: the tile and one cell around it.
    WARP_EDGE = TILE + 2,
    WARP_CELLS_3D = WARP_EDGE * WARP_EDGE * WARP_EDGE,
    WARP_CELLS_2D = WARP_EDGE * WARP_EDGE,
    /// Numbers of a cell there: weight, momentum.
    WARP_NUMBERS = 4,
    /// Cells that particles may have left their tile by where no block is read.
    WARP_FAR = 24,
};

/// A map as kernels see it.
typedef struct WarpLattice {
    int dim, cells[3], coarse[3];
    int stride[3];     ///< from a coarse node to the next along each axis
    float per_cell[3]; ///< coarse cells a cell
    const float *d[3]; ///< displacement, cells
} WarpLattice;

WarpLattice warp_lattice(const WarpMap *m);

/// How particles move: through the flow of the old mesh, to their place in the new one.
typedef struct WarpMove {
    WarpLattice old, new;
    int halo;   ///< of the velocity blocks
    float time; ///< s
    float side; ///< cells that particles keep from the walls
    BrimAdvection scheme;
    const float *velocity[3]; ///< blocks, m/s; not a number where the grid knows none
} WarpMove;

/// What the statistics want of a tile's particles, weighed by their volume.
typedef struct WarpSums {
    double volume;              ///< cells
    double square, position[3]; ///< of |v|^2 and of positions in space, m
    float fastest2;             ///< of |v|^2
} WarpSums;

typedef struct WarpKernels {
    /// (xi, v, volume, affine) [n] => (weight, momentum) [z][y][x][4], added; trilinear about cell
    /// centres. centre: blocks of where the centres are in space, cells from the block's corner,
    /// with halo 1, for APIC; NULL for FLIP.
    void (*to_block)(const Span *p, const WarpLattice *lattice, const float *const centre[3],
                     float *block);
    /// (xi, volume) => weight [z][y][x] alone, added.
    void (*volumes)(const Span *p, float *block);
    /// v = ratio v + interpolated block (halo 1). lattice: gradients in space as well, for APIC;
    /// NULL for FLIP. A particle of which no cell around is known keeps its velocity, one beside
    /// unknown cells its gradient.
    void (*from_block)(const Span *p, float ratio, const float *const block[3],
                       const WarpLattice *lattice);
    /// (xi, v) => xi. Rest and uniform flow are exact however the mesh moves. Those that would
    /// leave the block stay: => far [count], their indices. Returns how many.
    int (*move)(const Span *p, const WarpMove *move, uint32_t *far);
    /// (xi, v) => places in space, m; sums
    void (*measure)(const Span *p, const WarpLattice *lattice, float *const space[3],
                    WarpSums *sums);
    /// (xi, v) => the largest |J^-T v|^2, the square of a speed in reference space
    float (*rate)(const Span *p, const WarpLattice *lattice);
    /// out [n] = volume / det J; particles may be WARP_FAR cells beyond the tile, when the block
    /// has such a halo.
    void (*weigh)(const Span *p, const WarpLattice *lattice, float *out);
    /// At the points first + i step of a box, i in [0, edge) along each axis: displacement and det
    /// J, each [z][y][x] or NULL. Points beyond the domain count as on its side.
    void (*points)(const WarpLattice *lattice, const float first[3], float step, int edge,
                   float *const d[3], float *det);
} WarpKernels;

BRIM_KERNELS(WarpKernels, warp_kernels)
/// The same, value by value in double precision.
extern const WarpKernels warp_kernels_ref;

/// One particle's way, value by value: for those that leave their block. velocity: at a point of
/// reference space in cells, false where none is known.
typedef bool WarpFlow(const void *context, const double xi[3], double u[3]);
void warp_move_one(const WarpMove *move, const Span *p, int i, WarpFlow *flow, const void *context);
