// How the grid bends: displacements are the gradient of a potential whose Laplacian is the wanted
// change of a cell's volume (eq. 1 to 5 of Ibayashi et al.).
//
// The potential lives at the centres of a dense lattice, coarser than the grid: what it follows
// varies over a seventh of the domain. Its sides are Neumann, so the box maps to itself and the
// nodes on a side slide along it.
#pragma once
#include "base/team.h"
#include "brim/brim.h"
#include "warp/map.h"
#include <stdbool.h>

/// Strongest warp of a simulation: a plane is compressed ten times. At 1 the mesh collapses.
#define WARP_STRONGEST 0.9
/// Cells of the coarse lattice along the longest axis, at most.
enum { WARP_COARSE_2D = 64, WARP_COARSE_3D = 32 };

typedef struct Warp {
    struct Team *team;     ///< that shares the work, or NULL
    WarpMap map, before;   ///< the mesh of this step and of the one before
    double strength;       ///< s, 0 to below 1
    double *now, *last;    ///< [coarse cells] potential of this step and the one before, cells^2
    double *next, *spare;  ///< [coarse cells]
    float *place[3];       ///< [coarse cells] where the centres are in space, cells
    double *cosine[3];     ///< [mode][cell] along each axis, orthonormal
    double *transposed[3]; ///< [cell][mode]
} Warp;

/// What a step of the mesh did.
typedef struct WarpMotion {
    double part;        ///< of the wanted motion, 0 to 1
    double moved;       ///< the farthest node, cells
    double least, most; ///< determinant over the corners of all cells
} WarpMotion;

/// The lattice on which a grid's displacements are given, without them (d is NULL). `coarsest`:
/// cells along the longest axis, at most (0 = the above). Fails on fewer than two cells along an
/// axis and on numbers of cells that have no useful divisor.
BrimResult warp_lattice_of(WarpMap *map, int dim, const int cells[3], int coarsest,
                           BrimError *error);
/// A mesh that is not bent yet. `coarsest`: cells of the coarse lattice along the longest axis, at
/// most (0 = the above). Fails on a strength outside [0, 1), on fewer than two cells along an
/// axis and on numbers of cells that have no useful divisor.
BrimResult warp_init(Warp *w, int dim, const int cells[3], double strength, int coarsest,
                     BrimError *error);
void warp_free(Warp *w);
size_t warp_bytes(const Warp *w);

/// Number of cells of the coarse lattice: the length of fields at its centres.
size_t warp_centres(const Warp *w);
/// Centre i in reference space, cells.
void warp_centre(const Warp *w, size_t i, double xi[3]);

/// => place
void warp_places(Warp *w);
/// out [centres] = largest factor from a speed in space to one in reference space; returns the
/// largest of them.
float warp_stretch(const Warp *w, float *out);

/// out = Lap^-1 f, of mean zero; the mean of f is left out. f and out may be the same.
void warp_inverse_laplacian(Warp *w, const double *f, double *out);

/// eq. (5): one step towards Lap varphi = f. f [centres] as warp_size leaves it; overwritten.
/// Holds back where the least determinant would fall below 0.4 (1 - s) or a node would move more
/// than half a cell.
WarpMotion warp_step(Warp *w, double *f);
/// A step in which it stays where it is, and goes on after that as it was going.
void warp_hold(Warp *w);

/// The mesh of the potential in now, as after loading it; before is the same.
void warp_set(Warp *w);

/// A sizing function f [centres] of the present mesh: the smaller, the finer.
typedef BrimResult WarpSize(void *context, const Warp *w, double *f, BrimError *error);
/// The mesh to begin with: iterates varphi <- (varphi + Lap^-1 f) / 2 until it stays.
BrimResult warp_settle(Warp *w, WarpSize *size, void *context, BrimError *error);
