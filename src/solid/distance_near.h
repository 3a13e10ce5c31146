// The signed distance to a mesh that moves, near its surface: made anew in each step, by threads.
//
// Triangles are offered to all nodes around them, rows of nodes at a time, so that those next
// to the surface know their distance exactly; from there on the eikonal equation carries distance
// and triangle outwards, all nodes at once, pass by pass, and last the distance to that triangle
// counts where it is less. A node's value comes from its triangles in their order and from its
// neighbours' values of the pass before: it is the same however nodes are shared out among threads,
// and whatever pose the mesh had before.
#pragma once
#include "base/simd.h"
#include "base/team.h"
#include "solid/distance_grid.h"

/// Distance where nothing is known; its square is finite.
#define DISTANCE_FAR 1e18f

/// A triangle as its kernel takes it: its corners a at 0, b on the first of three axes of its own
/// and c in the plane of the first two. Places are relative to node 0 of the grid, m.
typedef struct TriangleFrame {
    float corner[3];                      ///< a
    float along[3], across[3], normal[3]; ///< the axes, unit
    float length;                         ///< of ab
    float apex[2];                        ///< c; its second is 0 where the triangle has no area
    float by[2];                          ///< 1 / length^2 of ac, bc, or 0
    int low[3], high[3];                  ///< nodes within reach of its box
} TriangleFrame;

/// The nodes of a grid to which triangles are offered.
typedef struct DistanceRows {
    int n[2];          ///< nodes along x, a multiple of eight, and y
    float step, reach; ///< m: between nodes; from a triangle's plane
    float *value;      ///< [nodes] distances, or their squares
    uint32_t *nearest; ///< [nodes] triangles
} DistanceRows;

/// What of eight nodes a pass changed: any of them, the first, the last.
enum { CHANGED_ANY = 1, CHANGED_FIRST = 2, CHANGED_LAST = 4 };

/// Points that are looked up at once.
enum { DISTANCE_POINTS = 16 };

typedef struct DistanceKernels {
    /// Offers triangle `id` to nodes of its box within reach of its plane, rows [low, high] along y
    /// and z: who is nearer to it takes it. Values are squares.
    void (*offer)(const TriangleFrame *t, uint32_t id, const DistanceRows *rows, const int low[2],
                  const int high[2]);
    /// One pass over a row of n nodes, n a multiple of eight, in those of its eights that `eights`
    /// [n / 8] marks: nodes farther than `near` take what comes from the six beside them. d[0] and
    /// triangle[0] are the row itself, 1 and 2 those before and after it along y, 3 and 4 along z,
    /// NULL where there is none. Nothing above `most` is taken. => (to, to_triangle) [n] where
    /// marked; eights: what changed; whether any did
    bool (*spread)(const float *const d[5], const uint32_t *const triangle[5], int n, float step,
                   float near, float most, uint8_t *eights, float *to, uint32_t *to_triangle);
    /// Nodes with values above `near` and not above `most`: the distance to their triangle where
    /// that is less.
    void (*refine)(const TriangleFrame *triangles, const DistanceRows *rows, const int low[2],
                   const int high[2], float near, float most);
    /// Values between the nodes of a grid that has more than one along x; for points outside of it
    /// a bound, from the nearest place in it. (x, y, z) [DISTANCE_POINTS] => out
    void (*sample)(const DistanceGrid *grid, const float *x, const float *y, const float *z,
                   float *out);
} DistanceKernels;
BRIM_KERNELS(DistanceKernels, distance_kernels)

/// Memory of distance_grid_near that stays from step to step.
typedef struct DistanceWork {
    uint32_t *nearest; ///< [nodes] triangle of each; of no meaning beyond `reach`
    float *value;      ///< [nodes] scratch, as the rest
    uint32_t *triangle;
    int32_t *crossings;
    uint8_t *inside;
    TriangleFrame *frame; ///< [triangles]
    int32_t (*span)[2];   ///< [triangles] layers of nodes within reach
    int32_t *change;      ///< [layers + 1] of how many triangles reach each
    uint8_t *live;        ///< what passes changed: see Near
    size_t grid_room;     ///< of the grid's values
    size_t room[9];
} DistanceWork;

void distance_work_free(DistanceWork *work);
/// But for the grid's values.
size_t distance_work_bytes(const DistanceWork *work);

/// Nodes at multiples of `spacing` that reach `margin` nodes beyond the bounds in `grid`, rows of
/// whole eights. Returns how many nodes there are.
size_t distance_grid_fit(DistanceGrid *grid, int dim, double spacing, int margin);

/// Distances with sign within `reach` nodes of a mesh, that far beyond: (grid but for value, mesh)
/// => (grid->value, work->nearest). Exact up to 1.75 nodes, farther off too large by a fraction
/// of one. sound: see distance_grid_inside. False when out of memory.
bool distance_grid_near(DistanceGrid *grid, const Trimesh *mesh, float reach, bool sound,
                        Team *team, DistanceWork *work);
