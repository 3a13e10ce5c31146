// Inside of the Poisson solver: what its files share.
#pragma once
#include "solve/cg.h"
#include "solve/level.h"
#include "solve/solve.h"

enum { LEVEL_MAX = 20 }; ///< 2^18 cells along an axis need 17

/// The cells that a closed component has in one tile.
typedef struct ClosedPart {
    int32_t slot, component, cell_count;
    TileBits cells;
} ClosedPart;

/// Components whose constants a solve's term decides on jointly, see held.c.
enum { HELD = 32 };
typedef struct Held {
    int count;                              ///< 0 where they are too many to be looked at jointly
    int component[HELD];                    ///< [count]
    double root[HELD];                      ///< of their cells
    double value[HELD], vector[HELD][HELD]; ///< eigenvalues of L, vectors in columns; 0: left open
    int open;                               ///< number of those
} Held;

/// Closed components: sets of cells that no known value touches, where A has a constant in its
/// null space.
typedef struct Closed {
    int count;
    ClosedPart *part; ///< by component
    size_t part_count, part_capacity;
    double *sum; ///< [part]
    size_t sum_capacity;
    double *mean; ///< [component]
    size_t mean_capacity;
    double *cells; ///< [component] their number
    size_t cells_capacity;
    double *hidden; ///< [component] what the cycle does not see of the residual
    size_t hidden_capacity;
    double *level; ///< [component] 1.Z1 of the solve's term, which then decides on the constant; 0
    size_t level_capacity;
    int held; ///< components whose constant the term decides on
    Held joint;
} Closed;

/// Work arrays of the search for closed components, [slot of level 0].
typedef struct Flood {
    TileLinks *links;
    TileBits *reached;
    int32_t *queue;
    uint8_t *queued;
    size_t links_capacity, reached_capacity, queue_capacity, queued_capacity;
} Flood;

struct Poisson {
    const PoissonKernels *kernels;
    Team *team;
    int level_count;
    int serial_level; ///< from this level on one thread does the work
    Level level[LEVEL_MAX];
    int32_t *active; ///< slots of level 0 that hold unknowns
    int active_count;
    size_t active_capacity;
    WorkMemory *work; ///< vectors of level 0
    WorkMemory own;   ///< which `work` points to when the caller gave none
    float *p, *s;     ///< [cells] search direction and its image A p
    TileDots *dots;   ///< [active]
    TileMost *most;   ///< [active]
    size_t dots_capacity, most_capacity;
    int32_t *face_at; ///< [slot] as in Level
    float *faces;     ///< coefficients of tiles that are not uniform, and of those above such
    size_t face_floats, face_at_capacity, faces_capacity;
    int32_t *inverse_at; ///< [slot] as in Level
    float *inverses;     ///< of tiles whose diag differs from cell to cell
    float *diags;        ///< of the same
    size_t inverse_floats, inverse_at_capacity, inverse_capacity, diag_capacity;
    Closed closed;
    Flood flood;
    uint8_t *want; ///< coarse tiles wanted, [tile box]
    int32_t *from; ///< not used, but grid_rebuild tells it
    size_t want_capacity, from_capacity;
    float zeros[512];
};

/// Tiles that keep a thread busy, on the finest level and on coarser ones, where a tile has eight
/// others below it.
enum { TILES_A_THREAD = 12, COARSE_A_THREAD = 2 };

/// Vectors of the finest level in `work`, and behind them arrays that the caller may have there:
/// room for so many of them, and the vectors. False: out of memory.
enum { VECTOR_B, VECTOR_Z, VECTOR_Y, VECTOR_P, VECTOR_S, VECTORS, ARRAY_RHS = VECTORS, ARRAYS };
// and the diagonal and its inverse, which some tiles have
_Static_assert(ARRAYS + 2 == (int)POISSON_ROOM, "what estimates of memory go by");
bool levels_reserve(Poisson *solver, size_t cells, size_t arrays);
/// What the caller wrote to where poisson_room told moves to where it is little, as the vectors
/// need that memory. False: out of memory.
bool levels_keep_system(Poisson *solver);
/// Finds flood.links and the active tiles, then builds the coarse levels. False: out of memory.
bool levels_build(Poisson *solver);
void levels_free(Poisson *solver);
size_t levels_bytes(const Poisson *solver);
void levels_release(Poisson *solver);

/// Begins the flood of a tile: what its anchored cells reach inside it. links => reached
void closed_begin(Poisson *solver, int slot);
/// Finds the closed components from flood.links and what closed_begin reached. False: out of
/// memory.
bool closed_find(Poisson *solver);
void closed_free(Poisson *solver);
size_t closed_bytes(const Poisson *solver);
void closed_release(Poisson *solver);

/// Finds which components' constants a solve's term decides on; NULL: none.
void closed_find_levels(Poisson *solver, const PoissonTerm *term);
/// Takes out of a field what is constant in closed components and nothing decides on.
void closed_remove_mean(Poisson *solver, float *field);
/// Whether there are such.
bool closed_drifts(const Poisson *solver);
/// The cycle knows nothing of the term. Before it, the constants that the term decides on go out of
/// r, as no x of the cycle's meets them; after it they come back, and y has L^-1 r in their place.
void closed_hide_levels(Poisson *solver, float *r);
void closed_add_levels(Poisson *solver, float *r, float *y);
/// field = value in the cells of a component; closed.mean = sums of a field over components.
void closed_set(Poisson *solver, int component, float value, float *field);
void closed_sum(Poisson *solver, const float *field);

/// Finds L of the components with a level, its values and vectors.
void held_find(Poisson *solver, const PoissonTerm *term);
/// sum [component], sums over the cells of each => constants there: L^-1 of them, or, not inverse,
/// the part that the term leaves open.
void held_apply(const Held *held, bool inverse, double *sum);

/// level[0].y = M level[0].b, given level[0].z = S b on all tiles.
void cycle_run(Poisson *solver);

/// A solve. What its loops over tiles sum is kept for each tile and added by the caller in their
/// order.
typedef struct Task {
    Poisson *solver;
    const PoissonKernels *kernels;
    Team *team; ///< NULL: the caller alone
    float *rhs, *x;
    const PoissonParams *params;
    float alpha, beta; ///< of this iteration
    bool drifted;      ///< the residual of closed components may have a mean
} Task;

/// to += Z x of the term that the caller gave; returns x.Zx, 0 without one.
double term_add(const PoissonParams *params, const float *x, float *to);

/// The system of a solve, but for its residual and scale: those are the same for both.
CgSystem multigrid_system(Task *task), jacobi_system(Task *task);

/// Largest of most[active].r, NaN when one is not finite.
double largest_residual(const Poisson *solver);
