// Inside of a Shape: a tree whose leaves know the way from the outermost frame to their own.
#pragma once
#include "solid/distance_grid.h"
#include "solid/height_field.h"
#include "solid/mesh_frames.h"
#include "solid/solid.h"

/// Points are evaluated in pieces of this many, so that scratch arrays fit the stack and L1.
enum { CHUNK = 256 };

/// outer = scale * rotation * local + position
typedef struct Frame {
    double rotation[9];
    double position[3];
    double scale;
} Frame;

struct Shape {
    BrimShapeKind kind;
    int dim;
    float resolution; ///< m
    Frame frame;
    float to_local[9];  ///< rotation^T / scale; in 2D its z row and column are 0
    float position[3];  ///< of the frame
    float scale;        ///< of the frame: local distance to metres
    float half[3];      ///< box; cylinder, capsule: half[1]; INFINITY in z in 2D
    float radius, tube; ///< local
    float normal[3];    ///< plane, local
    float blend;        ///< smooth union, m
    HeightField ground;
    DistanceGrid mesh;
    MeshFrames *frames; ///< a mesh that deforms
    int child_count;
    Shape **children; ///< [child_count]
};

/// A mesh as it is in memory; `name` stands for it in messages.
BrimResult shape_new_surface(const Trimesh *mesh, const char *name, int dim, float resolution,
                             Shape **shape, BrimError *error);

/// Local distances of one leaf, times scale. n <= CHUNK. (x, y, z) [n] local => distance [n]
void shape_leaf_distance(const Shape *shape, int n, const float *x, const float *y, const float *z,
                         float *distance);

/// Box around the shape after a placement.
bool shape_bounds_placed(const Shape *shape, const Placement *placement, float low[3],
                         float high[3]);

/// As shape_distance, but for faces that parts of a union or a difference share: 0 there.
void shape_distance_bound(const Shape *shape, int n, const float *x, const float *y, const float *z,
                          float *distance);
/// Whether two parts' distances d and e, signed as in the whole, are those of a point near a face
/// that the parts share.
bool seam_between(const Shape *shape, float d, float e);
/// The distance at such a point, from a bound of it.
float seam_distance(const Shape *shape, float x, float y, float z, float bound);
