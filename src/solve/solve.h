// Poisson problems on tiles: conjugate gradients with a multigrid preconditioner.
//
// The system is   (A x)_c = diag_c x_c - sum over the 6 (2D: 4) faces f of c of a_f x_neighbour,
// symmetric, positive (semi-)definite, with face coefficients a_f >= 0. The solver knows nothing
// of water: the caller gives coefficients, right-hand side and tolerance.
//
// - ax, ay, az [cells]: coefficient of the face between a cell and its lower neighbour along that
//   axis; 0 where the face is closed or one of the two cells is not an unknown, and on faces
//   towards cells without a tile.
// - diag [cells]: > 0 in unknown cells: the sum of the cell's face coefficients plus the
//   coefficients towards known values (air); 0 in cells that are no unknowns.
// - x and rhs are 0 in cells that are no unknowns.
#pragma once
#include "base/memory.h"
#include "base/team.h"
#include "brim/brim.h"
#include "grid/grid.h"

typedef struct Poisson Poisson;

/// A term Z of low rank that is added to A: symmetric, not negative.
typedef struct PoissonTerm {
    /// (x [cells]) => out [count] = Z x at `cell`; returns x.Zx.
    double (*apply)(void *context, const float *x, float *out);
    /// x.Zx of an x that is 1 in a closed component and 0 elsewhere, where Z decides on the
    /// constant that A leaves open there; 0 where it does not but for rounding. NULL: nowhere.
    double (*level)(void *context, const float *x);
    void *context;
    size_t count;
    const int64_t *cell; ///< [count] the unknowns that it joins
    float *out, *kept;   ///< [count] scratch
} PoissonTerm;

typedef struct PoissonParams {
    double tolerance; ///< stop when max |rhs - A x| <= tolerance (absolute), or
    double reduction; ///< when max |r| <= reduction * max |r at x = 0|, whichever comes first
    int max_iterations;
    BrimPreconditioner preconditioner;
    const PoissonTerm *term; ///< NULL: none
} PoissonParams;

typedef struct PoissonReport {
    int iterations;
    double residual; ///< max |rhs - A x| at the end, computed from x in double precision
    double initial;  ///< max |rhs - A x| of the start value
    bool converged;
    bool limited; ///< not converged, and x in single precision comes no closer: as good as it gets
    int singular; ///< constants of closed components that nothing decides on
} PoissonReport;

/// team: whose threads work on it, NULL: the caller alone. work: memory that the solver may use
/// from a call of prepare until the last solve, shared with others before and after; NULL: the
/// solver has its own.
Poisson *poisson_new(BrimIsa isa, Team *team, WorkMemory *work);
void poisson_free(Poisson **solver);
size_t poisson_bytes(const Poisson *solver);
/// Gives back what larger systems than the last one needed, which is gone with it.
void poisson_release(Poisson *solver);

/// The closed component of the system that an unknown lies in; -1: none.
int poisson_component(const Poisson *solver, int64_t cell);

/// Arrays of a system to come, [cells] each, in what the solver works with anyway.
typedef struct PoissonRoom {
    float *a[3], *diag; ///< prepare keeps what differs from cell to cell
    float *rhs;         ///< stays until the last solve
} PoissonRoom;

/// Floats a cell that a system with room takes at most, but for coarser levels.
enum { POISSON_ROOM = 8 };

/// Room for a caller who has no arrays of its own, to be written before prepare. False when out of
/// memory.
bool poisson_room(Poisson *solver, const Grid *grid, PoissonRoom *room);

/// Takes a system: builds the coarser levels. The arrays stay the caller's and must not change
/// until the last solve, but for those in the memory of poisson_room, which is gone. used
/// [slot]: 0 for tiles without unknowns, of which nothing is read, not even of rhs and x in a
/// solve; NULL when all may hold some. False when out of memory.
bool poisson_prepare(Poisson *solver, const Grid *grid, const uint8_t *used, const float *ax,
                     const float *ay, const float *az, const float *diag);

/// The same for a system that is known to have no closed components, however little its values are
/// held: none are sought.
bool poisson_prepare_held(Poisson *solver, const Grid *grid, const uint8_t *used, const float *ax,
                          const float *ay, const float *az, const float *diag);

/// Whether a cell of the system is an unknown.
bool poisson_has(const Poisson *solver, int slot, int cell);

/// Solves A x = rhs from the start value in x (zeros are fine). `rhs` is overwritten. In closed
/// components (no known value touches them) whose constants the term does not decide on either, or
/// not on all of them, the part of rhs that no x can meet is removed, and the same part of x is
/// zero. Returns false on a value that is not finite.
bool poisson_solve(Poisson *solver, float *rhs, float *x, const PoissonParams *params,
                   PoissonReport *report);

/// One V-cycle on the system, as the preconditioner of an operator that this one stands for: y = C
/// r, C symmetric and positive semidefinite. r is 0 in cells that are no unknowns; y is written in
/// tiles that hold some. In closed components the mean of r is left out. longer: seven half sweeps
/// instead of three on the finest level, and twice through all below it, for coefficients that
/// differ much from axis to axis.
void poisson_cycle(Poisson *solver, bool longer, const float *r, float *y);
/// Number of closed components.
int poisson_closed(const Poisson *solver);
