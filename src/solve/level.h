// One level of the multigrid hierarchy, and the kernels that work on its tiles.
//
// Level 0 is the caller's system. A cell of level k + 1 stands for 2 x 2 x 2 cells of level k
// (2 x 2 in 2D), its tiles are of the same kind, and its operator is half of P^T A P with P
// constant in each coarse cell: the fine faces that cross a coarse face are summed, and so are the
// terms towards known values. On a regular grid that is the same stencil at twice the cell width,
// and next to cut cells and ghost-fluid surfaces it stays consistent with the fine level.
#pragma once
#include "base/simd.h"
#include "grid/grid.h"

/// What need not be read from memory: a is the coefficient of all faces between unknowns of a tile
/// and towards those beside it, as everywhere but near solids; 0 when they differ. Where besides
/// all cells are unknowns with the same diag, as deep in the liquid, diag is that; else 0.
typedef struct Uniform {
    float a, diag;
} Uniform;

/// What `longer` smoothing has more of.
enum { LEVEL_LONGER = 2 };

typedef struct Level {
    const Grid *grid;
    const uint8_t *used;              ///< [slot] 0: no unknowns, not to be read; NULL: read all
    const float *ax, *ay, *az, *diag; ///< [cells], as in solve.h; az is not read in 2D
    const int32_t *face_at;    ///< [slot] 1 + the tile's place in ax, ay, az; 0: it has none,
                               ///< being uniform. NULL: its slot is its place
    float *inverse;            ///< [cells] 1 / diag, 0 where there is no unknown
    const int32_t *inverse_at; ///< [slot] the same for it: 0 where diag is everywhere the same
    const int32_t *diag_at;    ///< [slot] and for diag
    uint64_t *rows;            ///< [slot] bit z*8 + y: the row holds an unknown
    bool longer;               ///< smoothing has 2 LEVEL_LONGER half sweeps more
    Uniform *uniform;          ///< [slot]
    float *b;                  ///< [cells] right-hand side; on level 0 the residual of CG
    float *z, *y;              ///< [cells] solution before and after the last smoothing
    const float *zeros;        ///< a tile of zeros, stands for tiles that do not exist

    Grid own;     ///< grid of a coarse level
    float *store; ///< coarse: holds the arrays above
    size_t store_capacity;
    int32_t (*child)[8]; ///< coarse: [slot][dz*4 + dy*2 + dx] => slot on the finer level, or -1
    size_t child_capacity, rows_capacity, uniform_capacity;
} Level;

/// Cells of a tile as bits: bit y*8 + x of plane z. 2D uses plane 0.
typedef struct TileBits {
    uint64_t plane[8];
} TileBits;

/// Which cells and faces of a tile carry a system.
typedef struct TileLinks {
    TileBits unknown;
    TileBits x, y, z;  ///< the face towards the lower neighbour is open
    TileBits anchored; ///< a known value touches the cell: diag exceeds the sum of its faces
} TileLinks;

/// What an application of A yields besides A y.
typedef struct TileDots {
    double ry, yw, ys; ///< r.y, y.Ay, y.s
} TileDots;

/// Largest |r| and |b| of a tile.
typedef struct TileMost {
    float r, b;
} TileMost;

/// First cell that a tile covers in the operator of the coarser level.
typedef struct CoarseBlock {
    float *ax, *ay, *az, *diag;
} CoarseBlock;

/// All kernels work on one tile. `slot` names it on its level. Rows without unknowns are neither
/// read nor written, so z, y, p and s must be zero there from the beginning. In cells that are no
/// unknowns all vectors are zero and stay so.
typedef struct PoissonKernels {
    /// inverse = 1 / diag; returns the rows that hold unknowns.
    uint64_t (*invert)(const Level *level, int slot);
    /// What is uniform in the tile, given level->rows; nothing in 2D, where tiles are cheap and
    /// few.
    Uniform (*uniform)(const Level *level, int slot);
    /// The tile's links, for finding closed components.
    void (*links)(const Level *level, int slot, TileLinks *links);
    /// Fills the part of a coarse tile that covers the tile.
    void (*coarsen)(const Level *fine, int slot, const CoarseBlock *to);

    /// z = S b, S: red, black, red Gauss-Seidel inside the tile from zero, as if the values of all
    /// other tiles were zero; black and red LEVEL_LONGER times more on a level that is `longer`. S
    /// is symmetric.
    void (*smooth)(const Level *level, int slot, const float *b, float *z);
    /// y = z + S (b - A z)
    void (*correct)(const Level *level, int slot, const float *b, const float *z, float *y);
    /// coarse[] = sums of b - A z over the cells of each coarse cell; coarse points to the first
    /// cell that the tile covers.
    void (*restrict_residual)(const Level *level, int slot, const float *b, const float *z,
                              float *coarse);
    /// z += coarse value of each cell.
    void (*prolong)(const Level *level, int slot, const float *coarse, float *z);

    /// w = A y and its dot products.
    void (*apply)(const Level *level, int slot, const float *y, float *w, const float *r,
                  const float *s, TileDots *dots);
    /// p = y + beta p, s = w + beta s, x += alpha p, r -= alpha s; returns max |r|. Works on
    /// the given rows; all pointers are to the tile.
    float (*update)(uint64_t rows, float alpha, float beta, const float *y, const float *w,
                    float *p, float *s, float *x, float *r);
    /// r = b - A x in double precision, rounded once. A value that is not finite shows in the
    /// maxima.
    TileMost (*residual)(const Level *level, int slot, const float *b, const float *x, float *r);
} PoissonKernels;

BRIM_KERNELS(PoissonKernels, poisson_kernels)

/// The same kernels in plain loops: what the fast ones are tested against, bit for bit.
extern const PoissonKernels poisson_kernels_ref;

/// A neighbour's slot, -1 where there is nothing to read.
static inline int32_t level_neighbour(const Level *l, int slot, int direction) {
    int32_t next = l->grid->neighbour[slot][direction];
    return next >= 0 && l->used && !l->used[next] ? -1 : next;
}

/// A tile's coefficients; zeros, which nobody reads, where it has none.
static inline const float *level_faces(const Level *l, const float *field, int slot) {
    size_t cells = (size_t)l->grid->tile_cells;
    if (slot < 0) return l->zeros;
    if (!l->face_at) return field + (size_t)slot * cells;
    return l->face_at[slot] ? field + (size_t)(l->face_at[slot] - 1) * cells : l->zeros;
}

static inline const float *level_inverse(const Level *l, int slot) {
    size_t cells = (size_t)l->grid->tile_cells;
    if (!l->inverse_at) return l->inverse + (size_t)slot * cells;
    return l->inverse_at[slot] ? l->inverse + (size_t)(l->inverse_at[slot] - 1) * cells : l->zeros;
}

/// diag of a tile; zeros, which nobody reads, where it is everywhere the same.
static inline const float *level_diag(const Level *l, int slot) {
    size_t cells = (size_t)l->grid->tile_cells;
    if (!l->diag_at) return l->diag + (size_t)slot * cells;
    return l->diag_at[slot] ? l->diag + (size_t)(l->diag_at[slot] - 1) * cells : l->zeros;
}

/// The same of one cell, wherever it is.
static inline float level_diag_of(const Level *l, int slot, int cell) {
    return l->diag_at && !l->diag_at[slot] ? l->uniform[slot].diag : level_diag(l, slot)[cell];
}

/// Index of the first coarse cell covered by the child `octant` inside its coarse tile.
static inline int level_block(int octant) {
    return (octant >> 2) * 256 + (octant >> 1 & 1) * 32 + (octant & 1) * 4;
}

/// Diag of a coarse cell, as a part of its cells' diag, below which it is nothing but rounding.
#define LEVEL_ROUNDING 1e-6f
/// A cell is anchored when diag exceeds the sum of its faces by more than this part: larger than
/// the rounding of six additions.
#define LEVEL_ANCHOR 2e-6f
