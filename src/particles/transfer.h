// Particle kernels on blocks: a tile's particles against the tile's neighbourhood of the grid.
#pragma once
#include "base/simd.h"
#include "particles/particles.h"

enum {
    /// Edge of the block that particles -> grid writes: the tile and one cell around it.
    SCATTER_EDGE = TILE + 2,
    /// Floats of a scatter block: (momentum, weight) pairs for each velocity component.
    SCATTER_3D = SCATTER_EDGE * SCATTER_EDGE * SCATTER_EDGE * 2 * 3,
    SCATTER_2D = SCATTER_EDGE * SCATTER_EDGE * 2 * 2,
    /// Floats of the first, or the last, column along x of one component.
    SCATTER_SIDE_3D = SCATTER_EDGE * SCATTER_EDGE * 2,
    SCATTER_SIDE_2D = SCATTER_EDGE * 2,
};

/// Where a scatter block holds something. Other rows are not even cleared.
typedef struct ScatterRows {
    uint16_t rows[SCATTER_EDGE]; ///< [z] bit y; in 2D only [0]
    uint16_t columns;            ///< bit x
} ScatterRows;

/// One component of the blocks around a tile, by neighbour.
typedef struct ScatterNear {
    uint64_t reach[27]; ///< rows of the tile that the block gives something to, bit z * 8 + y
    const float *block[27];
    const float *side[27]; ///< the block's first and last columns, packed: [2][z][y] pairs
} ScatterNear;

/// A tile's particles, and where its block's first cell lies.
typedef struct Span {
    int count;
    float *attr[ATTR_MAX];
    float corner[3]; ///< block's low corner in cells from the domain's
    union {
        Space space;
        struct {
            float dx, inv_dx; ///< for lengths
        };
    };
    int dim;
} Span;

/// Where a particle is along an axis, in cells from the block's low corner.
static inline float span_at(const Span *p, int axis, int i) {
    return space_to_grid(p->space, p->attr[ATTR_X + axis][i]) - p->corner[axis];
}

/// What is nearer to a solid than this touches it, cells.
#define SOLID_TOUCH 2e-3f
/// Where the distance rises by less than this over a cell's length the grid does not resolve a
/// wall.
#define SLOPE_MIN 0.5f
/// A point no deeper than this, cells, came from outside: rounding may leave it a hair inside.
#define FROM_OUTSIDE 0.1f
/// Pushes out of a solid at most: in a concave corner the first may end in the other wall.
#define SOLID_PUSHES 3
/// Sub-steps near solids are this part of a stride: a wall of one cell must not be jumped.
#define NEAR_SOLIDS 0.5f

typedef struct MoveParams {
    int halo;       ///< of the velocity blocks
    float time;     ///< s
    int substeps;   ///< at most
    float stride;   ///< cells that a sub-step shall cross where fewer will do; 0: all sub-steps
    float straight; ///< cells: sixteen particles that go no farther, and meet no solid, take one
                    ///< step with the velocity where they start; 0: none do
    float reach;    ///< cells that a particle may cross: those farther from solids do not meet them
    BrimAdvection scheme;
    const float *velocity[3]; ///< blocks, m/s; not a number where the grid knows none
    const float *solid;       ///< block of nodal distances, m; NULL when no solid is near
    bool fine;                ///< with nodes at half cells as well
    bool still;               ///< those solids do not move
    const float *wall[3];     ///< blocks of their velocity on faces, m/s; NULL when they are still.
                              ///< `solid` is where they are at the step's end
    float wall_reach;         ///< cells that those go in the step at most
    float solid_depth;     ///< cells that a particle may go into solids; one that is deeper, not on
    float low[3], high[3]; ///< the domain's box, drawn in by a hair at walls, m
} MoveParams;

typedef struct TransferKernels {
    /// Particles -> block. (x, v, affine) [n] => (momentum, weight) pairs [dim][z][y][x], added.
    /// Trilinear on the faces; a particle weighs 1, or its mass where particles have one.
    void (*to_block)(const Span *p, bool affine, float *block);
    /// Sums one component of the blocks that reach a tile, over the neighbours in order, and
    /// divides. => velocity (and the same in `old`, or NULL) [cells], 0 where the weight is not
    /// above `least`; known [rows], one bit a cell where it is; weight (or NULL) [cells].
    void (*gather)(const ScatterNear *near, int dim, float least, float *velocity, float *old,
                   float *weight, uint8_t *known);
    /// Block -> particles. v = ratio v + interpolated block, so that the caller's block decides:
    /// FLIP: new - ratio old; PIC and APIC: new, ratio 0. affine: gradient as well. Where the block
    /// is not a number (a crack with all faces shut) a particle keeps its velocity.
    void (*from_block)(const Span *p, bool affine, float ratio, const float *const block[3],
                       int halo);
    /// Moves particles through the velocity by Runge-Kutta sub-steps, out of solids after each.
    /// Where the grid knows no velocity a particle flies with its own. Those that would leave the
    /// block stay where they are: => far [count], their indices. Returns how many.
    int (*move)(const Span *p, const MoveParams *params, uint32_t *far);
    /// Keys of the cells that hold the particles. (x) [n] => key [n]
    void (*find_keys)(const Span *p, const Grid *grid, uint32_t *key);
} TransferKernels;

BRIM_KERNELS(TransferKernels, transfer_kernels)
