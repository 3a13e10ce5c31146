// From particles to a closed triangle surface, at a cost that follows the surface.
//
//   bins      particles sorted by cell; cells told apart: far from water, deep in it, or in between
//   block     the particles around a tile, with their mirror images behind the domain's sides
//   level     signed distance to the surface at a point from the particles of a block
//   nodes     the lattice nodes of a tile: which are in the water, and how far from its surface
//   march     marching cubes over nodes: vertices, then triangles
//   smooth    volume-preserving smoothing; normals
//   groups    water that hangs together, and the volume of its particles
//   sheet     thin sheets stay whole where their particles are far apart
//   drops     a few particles far from all others, as ellipsoids without the lattice
//
// The lattice has `resolution` nodes along a cell's edge and one layer more outside the domain:
//
//   g        0  1         2         3                 the layers g = 0 and g = 1 stand SIDE to
//            o  x---------x---------x ...             either side of the domain's side, so that a
//            |  |         |         |                 vertex between them is exactly on it, and the
//         outside  inside                             surface is bevelled by no more than that
//         where
//                                                     sides meet each other or the free surface
//
// Tiles of nodes are as wide as tiles of cells, 8 cells: node g of an axis is in tile g / edge.
// Positions and distances are in cells.
#pragma once
#include "base/simd.h"
#include "base/team.h"
#include "brim/brim.h"
#include "grid/grid.h"
#include "grid/mask.h"
#include "grid/space.h"
#include "mesh/mesher.h"
#include "solid/solid.h"
#include "surface/level_set.h"

enum {
    RESOLUTION_MAX = 3,
    NODES_MAX = TILE * RESOLUTION_MAX + 1, ///< of a tile along an axis, with the next tile's first
    NODES_ALL = NODES_MAX * NODES_MAX * NODES_MAX,
    RING_MAX = NODES_MAX + 2, ///< with a ring of nodes around them
    RING_ALL = RING_MAX * RING_MAX * RING_MAX,
    HALO_MAX = 10,                     ///< cells around those that a tile's nodes touch
    TOUCH = TILE + 2,                  ///< cells that a tile's nodes touch: 8 T - 2 to 8 T + 7
    BLOCK_EDGE = TOUCH + 2 * HALO_MAX, ///< of the largest block, in cells
};

/// Half the distance between the two layers of nodes at a side, as a part of the node spacing.
#define MESH_SIDE 0.0625f
/// A vertex stays this part of an edge away from its ends, so that no triangle has no area; and a
/// node is in the water from as far below its surface on.
#define MESH_SNAP 0.01f

/// What the surface is made of, in cells.
typedef struct MeshScale {
    int cells[3];   ///< of the domain
    int nodes[3];   ///< of the lattice, with the layers outside
    int resolution; ///< nodes a cell
    int edge;       ///< nodes of a tile along an axis
    int halo;       ///< cells around a tile that its nodes may look at
    union {
        Space space;
        struct {
            float dx, inv_dx; ///< of a cell, m
        };
    };
    float size[3];     ///< of the domain, m
    float spacing;     ///< of particles in full water
    float radius;      ///< of the kernel
    float shift;       ///< how deep inside a solid a node can be and touch one outside
    float reach;       ///< no water farther than this from all particles, but in sheets
    float sheet;       ///< radius of the neighbourhood that tells a sheet
    float alone;       ///< radius of a ball of one particle's volume
    float full;        ///< sum of a kernel's weights deep in the water
    float dense_count; ///< particles in a cell from which on it counts as filled
    LevelSetProfile profile;
} MeshScale;

/// Position of node g along an axis.
static inline float node_position(const MeshScale *s, int axis, int g) {
    int i = g - 1, last = s->cells[axis] * s->resolution;
    float side = MESH_SIDE / (float)s->resolution;
    if (i <= 0) return i < 0 ? -side : side;
    if (i >= last) return i > last ? (float)s->cells[axis] + side : (float)s->cells[axis] - side;
    return (float)i / (float)s->resolution;
}

static inline bool node_outside(const MeshScale *s, int axis, int g) {
    return g == 0 || g >= s->nodes[axis] - 1;
}

// ------------------------------------------------------------------------------------- solids

enum { SOLID_CHUNK = 128 };

/// The solids that exist, in place.
typedef struct SolidList {
    Solid *const *solids;
    int count;
} SolidList;

/// Distance to the nearest solid at n <= SOLID_CHUNK points, m.
void solids_nearest(const SolidList *list, int n, const float *x, const float *y, const float *z,
                    float *out);
/// Whether the surface of a solid may be within `margin` cells of a tile's cells, or these in one.
bool solids_near_tile(const SolidList *list, const MeshScale *scale, const int tile[3],
                      float margin);

// --------------------------------------------------------------------------------------- bins

/// Particles by cell, and by id within a cell, so that their order in memory does not matter. Those
/// inside a solid are left out: through a thin wall they would make water on its other side.
typedef struct Bins {
    Grid grid;         ///< tiles with particles and those around them
    uint32_t *start;   ///< [tiles * 512 + 1] first particle of each cell
    uint32_t *order;   ///< [count] particle
    size_t count;      ///< particles outside solids
    uint8_t *occupied; ///< [tiles * 64] cells with a particle
    uint8_t *deep;     ///< cells in the middle of 27 filled ones
    uint8_t *active;   ///< cells within reach of a particle that are not deep
} Bins;

/// BRIM_ERROR_INPUT when a position is not a finite number; BRIM_ERROR_MEMORY.
BrimResult bins_make(Bins *bins, const MeshScale *scale, const BrimParticles *particles,
                     const SolidList *solids, FilledCells filled, Team *team, BrimError *error);
void bins_free(Bins *bins);
/// Takes out the particles that are marked. What cells are stays as it was: around them are active
/// ones without water.
void bins_take_out(Bins *bins, const uint8_t *marked);

// -------------------------------------------------------------------------------------- block

/// Particles of the cells around a tile of nodes, in the order z, y, x of the cells.
typedef struct Block {
    int origin[3]; ///< cell coordinates of its first cell
    int edge;      ///< cells along an axis
    uint32_t start[BLOCK_EDGE * BLOCK_EDGE * BLOCK_EDGE + 1];
    uint32_t count;
    size_t capacity;
    float *x[3], *v[3]; ///< cells, m/s; readable 15 floats beyond the end
    float *g[7];        ///< stretched kernels alone: matrix and weight
    float
        *carried[5]; ///< carried surface alone: distance in cells, normal, CarriedSurface's steady
} Block;

struct StretchedKernel;
struct CarriedSurface;

/// Where the particles of a block come from.
typedef struct BlockInput {
    const MeshScale *scale;
    const Bins *bins;
    const BrimParticles *particles;
    const struct StretchedKernel *stretched; ///< NULL: particles as they are
    const struct CarriedSurface *carried;    ///< NULL: they know no surface
    bool all; ///< of all cells, not only what cells that the surface may pass can see
} BlockInput;

/// Fills the block with what cells that the surface may pass can see; others stay empty. False: out
/// of memory.
bool block_fill(Block *block, const BlockInput *input, const int tile[3], bool near_solid);
void block_free(Block *block);

// -------------------------------------------------------------------------------------- level

/// What the particles within the radius of a point say.
typedef struct LevelSums {
    float weight;    ///< sum of kernel weights
    float mean[3];   ///< weighted sum of offsets from the point, or of velocities
    float nearest;   ///< squared distance of the nearest, INFINITY when there is none
    float second[6]; ///< weighted sums of products of offsets: xx, yy, zz, xy, yz, zx
} LevelSums;

/// What the planes of particles around a point say (surface/track.h).
typedef struct PlaneSums {
    float all, planes; ///< weights: of all particles, of those whose planes face the point's air
    float steady;      ///< weighted sum of how much of the past counts
    float distance;    ///< weighted sum of distances to planes
} PlaneSums;

typedef struct LevelKernels {
    /// Particles around `at`. `plane` (normal, distance of the point from it), or NULL: a solid's
    /// surface, in which particles are mirrored.
    void (*sum)(const Block *block, float radius, const float at[3], const float plane[4],
                LevelSums *sums);
    /// The same with velocities instead of offsets.
    void (*velocity)(const Block *block, float radius, const float at[3], LevelSums *sums);
    /// Weights 1 - s^2 and the first and second moments of offsets.
    void (*moments)(const Block *block, float radius, const float at[3], LevelSums *sums);
    /// Sum of stretched kernels at `at`, as weight; nearest: the least |G (x - position)|^2.
    /// `radius` bounds how far kernels reach.
    void (*stretched)(const Block *block, float radius, const float at[3], const float plane[4],
                      LevelSums *sums);
    /// Planes of the particles within TRACK_REACH of `at`. out: towards the air, as long as that is
    /// certain (0..1).
    void (*planes)(const Block *block, const float at[3], const float out[3], const float plane[4],
                   PlaneSums *sums);
} LevelKernels;

BRIM_KERNELS(LevelKernels, level_kernels)

/// 0 below `low`, 1 above `high`, smooth in between.
static inline float ramp(float low, float high, float x) {
    float t = (x - low) / (high - low);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

/// Signed distance to the surface from such sums, within [-radius, radius].
float level_distance(const MeshScale *scale, const LevelSums *sums);

// -------------------------------------------------------------------------------------- nodes

typedef enum NodeKind { NODE_FAR, NODE_DEEP, NODE_ACTIVE } NodeKind;

/// Cells that a tile's nodes touch: [z][y][x].
typedef uint8_t Touched[TOUCH][TOUCH][TOUCH];

/// The nodes of a tile and the first of the next tiles: (edge + 1)^3, x fastest.
typedef struct Nodes {
    int tile[3];
    uint8_t kind[NODES_ALL]; ///< NodeKind
    float phi[NODES_ALL];    ///< distance to the water's surface
    bool in[NODES_ALL];      ///< in the water
    bool near_solid;
    Touched sparse; ///< cells in which a gap of a thin sheet may be
    /// Distance to solids where it is wanted, with a ring of nodes around: (edge + 3)^3.
    float solid[RING_ALL];
    uint8_t wanted[RING_ALL];
    /// Near a solid: above a film too thin to hold the node, how thick that film is, else -1. Such
    /// nodes count as in the water, or only the nodes that happen to lie in the film would show, as
    /// ribs; its surface goes back to where it is when the vertices are made.
    float film[NODES_ALL];
} Nodes;

/// Index of a node in arrays with the ring.
static inline int ring_index(const MeshScale *s, int x, int y, int z) {
    int edge = s->edge + 3;
    return ((z + 1) * edge + y + 1) * edge + x + 1;
}

/// Films thinner than this, in cells, are told to the nodes above them.
static inline float film_reach(const MeshScale *s) {
    return 1.5f / (float)s->resolution;
}

struct StretchScale;

typedef struct NodeInput {
    const MeshScale *scale;
    BlockInput block;
    const SolidList *solids;
    const struct StretchScale *stretch; ///< NULL: averaged positions
    const LevelKernels *kernels;
} NodeInput;

typedef enum NodesResult { NODES_NONE, NODES_SOME, NODES_NO_MEMORY } NodesResult;

/// Distances to solids: sets near_solid and, for nodes that are not far and for the neighbours of
/// active ones within the kernel's radius of a solid, solid.
void nodes_solid(Nodes *nodes, const NodeInput *input);
/// The solid's surface seen from a node: normal and distance. False when it is too far to matter.
bool node_plane(const Nodes *nodes, const MeshScale *scale, int x, int y, int z, float plane[4]);

/// Whether few particles are around a point away from solids and sides; phi: its distance to the
/// surface.
bool nodes_sparse(const Nodes *nodes, const Block *block, const NodeInput *input, const float at[3],
                  float *phi);
/// Takes a vertex away from solids and sides, in a thin sheet, to where the sheet ends.
void nodes_thin(const Nodes *nodes, const Block *block, const NodeInput *input, float at[3]);

/// Fills the nodes of nodes->tile. NODES_NONE: all are alike, and so are their neighbours.
NodesResult nodes_fill(Nodes *nodes, Block *block, const NodeInput *input);

// -------------------------------------------------------------------------------------- march

/// Triangles of a cube by which of its corners are in the water (bit x + 2 y + 4 z). Edges are
/// numbered 4 axis + (low corner's bits along the next two axes).
typedef struct MarchTable {
    uint8_t count[256];
    uint8_t edges[256][10][3];
} MarchTable;

void march_table_init(MarchTable *table);

/// Where a vertex lies: bits HELD << axis, ON << axis, and the others.
typedef enum VertexSide {
    VERTEX_HELD = 1,   ///< may not move along the axis: on a side or in the layer beside it
    VERTEX_SOLID = 8,  ///< on a solid
    VERTEX_ON = 16,    ///< exactly on a side across the axis
    VERTEX_WALL = 128, ///< where water ends at a side; not where its free surface meets the side
} VertexSide;

/// What a tile of nodes contributes. Its vertices lie on the edges from its own nodes to the next
/// along an axis: those along x in the order of their nodes, then those along y, then z.
typedef struct TileMesh {
    int tile[3];
    uint64_t *cut[3];   ///< [edge^3 / 64] nodes whose edge along an axis has a vertex
    uint32_t *rank[3];  ///< vertices before each word
    float (*vertex)[6]; ///< position in m, velocity
    uint8_t *sides;     ///< [vertex_count] VertexSide
    float *room;        ///< [vertex_count] how far smoothing may take it, m
    uint32_t vertex_count;
    uint32_t *cube; ///< node index * 256 + corners in the water
    uint32_t cube_count;
    uint32_t first_vertex, first_triangle, triangle_count;
} TileMesh;

/// Vertices and cubes of filled nodes. False: out of memory.
bool march_tile(TileMesh *out, const Nodes *nodes, const Block *block, const NodeInput *input);
void tile_mesh_free(TileMesh *tile);

/// Triangle corners of a tile: triangle [triangle_count] from its cubes; tile_of gives the tile of
/// nodes at tile coordinates.
typedef struct TileBox {
    int tiles[3];
    int32_t *slot_of; ///< [z][y][x] => index of a TileMesh, -1 without one
} TileBox;

void march_triangles(const TileMesh *tiles, int index, const TileBox *box, const MeshScale *scale,
                     const MarchTable *table, uint32_t (*triangle)[3]);

// ------------------------------------------------------------------------------------- smooth

/// (position, triangle) => normal: on a side the side's own; elsewhere the mean over the triangles
/// that are not part of a side, so that where the free surface ends its normal is its own.
BrimResult mesh_normals(BrimMesh *mesh, const uint8_t *sides, Team *team, BrimError *error);
/// What smoothing may not leave.
typedef struct SmoothBounds {
    float *room;   ///< [vertex_count] how far each may go from where it is, m
    float spacing; ///< of nodes, m
    float cell;    ///< m
    float size[3]; ///< of the domain, m
} SmoothBounds;

/// Pieces of the surface around water that hangs together, cavities in it too.
typedef struct MeshGroups {
    uint32_t *of;   ///< [vertex_count] the first vertex of a vertex's group
    double *volume; ///< [vertex_count] of the group's particles, at its first vertex, m^3
    float *part;    ///< [vertex_count] how far their number tells it, 0..1: carried surfaces know
} MeshGroups;

/// False: out of memory.
bool groups_find(MeshGroups *groups, const BlockInput *input, const BrimMesh *mesh);
void groups_free(MeshGroups *groups);

/// The surface of water that has less room than its particles' volume goes outwards, by no more
/// than VOLUME_REACH. Then positions are smoothed; vertices on sides stay on them, those on solids
/// stay, and none leaves its room. Smoothing keeps the volume of each piece of the surface to a
/// third of a percent. groups: NULL when particles do not tell the volume.
BrimResult mesh_smooth(BrimMesh *mesh, const uint8_t *sides, const SmoothBounds *bounds, int passes,
                       const MeshGroups *groups, Team *team, BrimError *error);
