// The signed distance to a closed mesh, sampled on a dense grid.
#pragma once
#include "base/team.h"
#include "solid/trimesh.h"

typedef struct DistanceGrid {
    int n[3]; ///< nodes; n[2] = 1 in 2D
    float spacing;
    float origin[3];       ///< of node 0
    float low[3], high[3]; ///< bounds of the mesh
    float *value;          ///< [n z][y][x], negative inside
} DistanceGrid;

/// Distances are exact at nodes of cells that the surface crosses, nearly so up to five nodes away,
/// and too large by a fraction of a cell farther off.
/// In 2D the mesh is first cut at z = 0. Spacing is half of `resolution` where that is cheap, else
/// `resolution`. An oriented mesh is inside where its winding number is not 0, so parts may
/// overlap; another one where a ray crosses it an odd number of times.
BrimResult distance_grid_new(const Trimesh *mesh, const char *name, int dim, double resolution,
                             DistanceGrid *grid, BrimError *error);
void distance_grid_free(DistanceGrid *grid);
size_t distance_grid_bytes(const DistanceGrid *grid);

/// Trilinear. Outside the grid a bound that is not above the distance. (x, y, z) [n] => out [n]
void distance_grid_sample(const DistanceGrid *grid, int n, const float *x, const float *y,
                          const float *z, float *out);

/// The cut of a mesh at z = 0 as segments: triangles whose last two corners are one, in order
/// along the outline, z = 0. A mesh that only touches the plane is cut just beside it.
BrimResult trimesh_slice(const Trimesh *mesh, const char *name, Trimesh *slice, BrimError *error);

/// The same; empty where the mesh does not cross z = 0. from [triangles] => the triangle that each
/// segment is cut from, or NULL. False when out of memory.
bool trimesh_cut(const Trimesh *mesh, Trimesh *slice, uint32_t *from);

/// Fills value [nodes] with distances without sign. False when out of memory.
bool distance_grid_unsigned(DistanceGrid *grid, const Trimesh *mesh);

enum { DISTANCE_SLABS_MOST = 64 };
/// Layers of a grid, along its last axis, in slabs that cost about the same to work on.
typedef struct DistanceSlabs {
    int count;
    int first[DISTANCE_SLABS_MOST + 1]; ///< layers of each, to that of the next
    const int32_t (*span)[2]; ///< [triangles] layers that each reaches: first, last; NULL: unknown
} DistanceSlabs;

/// How many slabs keep a team busy, at most.
static inline int distance_slabs_for(const Team *team) {
    const int wanted = 4 * team_threads(team);
    return wanted < DISTANCE_SLABS_MOST ? wanted : DISTANCE_SLABS_MOST;
}

/// inside [nodes] => 1 or 0, by rays along each axis that vote; along one of them for a mesh that
/// is known to be sound. slabs: for rays along x, or NULL. crossings [nodes]: scratch.
void distance_grid_inside(const DistanceGrid *grid, const Trimesh *mesh, bool sound,
                          const DistanceSlabs *slabs, Team *team, int32_t *crossings,
                          uint8_t *inside);
