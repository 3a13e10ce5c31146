// A body in the water: its surface as it is now, and the distance to it.
#pragma once
#include "bodies/clusters.h"
#include "bodies/fold.h"
#include "elastic/elastic.h"
#include "solid/distance_near.h"
#include "solid/solid.h"

/// A cell of liquid whose walls a body closes in part.
typedef struct BodyCell {
    int32_t at;    ///< in the list of all such cells
    float area[3]; ///< closed part of the upper face less that of the lower, along each axis
    float push[3]; ///< and what triangles there turn and stretch on: B is this (x) the functions
    float head[3]; ///< from the cell's centre to the wall, m
    uint32_t first, count; ///< in wall_triangle: those of the surface there
} BodyCell;

/// A pin that moves, or one of a body that has such.
typedef struct BodyPin {
    double pivot[3];    ///< about which it turns
    BrimKeyframe *keys; ///< NULL: it stays
    int key_count;
} BodyPin;

typedef struct Body {
    Elastic *elastic;
    Shape *shape; ///< at rest
    int dim;
    float dx;

    Trimesh surface;      ///< as it is now, m; 2D: segments, the last two corners are one
    double (*rest)[3];    ///< [vertices] at rest, m
    float *row;           ///< [vertices][r]; the functions there
    float *places;        ///< [vertices / SUM_PLACES][r][SUM_PLACES] the same, for mix
    float (*velocity)[3]; ///< [vertices] m/s
    float fastest;        ///< of them, m/s
    float (*normal)[3];   ///< [vertices] unit, out of the body
    float *vertex_area;   ///< [vertices] of the surface at rest, m2 (2D: m); 0 where held
    double surface_area;  ///< of all of them
    double friction;      ///< Coulomb's coefficient against walls, solids, other bodies and itself
    bool *touches;        ///< [vertices] scratch
    float low[3], high[3];
    double rotation[9], centre[3]; ///< x = rotation (X - rest centre) + centre; rigid: exactly

    DistanceGrid grid;     ///< bodies that deform: on nodes at half cells, near the surface
    DistanceWork distance; ///< and the triangle nearest to each

    // whether it touches itself: see fold.h
    bool folds;              ///< it may
    float (*rest_normal)[3]; ///< [vertices] at rest
    Clusters clusters;       ///< of its surface
    Fold *fold;              ///< [vertices] where it may do so in this step, the first fold_count
    size_t fold_count;
    float *sight;                 ///< [vertices] m: see folds_new
    float (*way)[3], (*drift)[3]; ///< [vertices] scratch: see ClusterPose
    bool *folded;                 ///< [vertices] scratch

    BodyPin *pin; ///< bodies with pins that move
    int pin_count;

    // coupling
    BodyCell *cell;
    float *cell_row;         ///< [cells][r] the functions at the wall
    uint32_t *wall_triangle; ///< triangles, by cell
    double (*wall_area)[3];  ///< [triangles] normal times area
    double *cell_work;       ///< [dim][cells] scratch of B and B^T
    bool enclosed;           ///< all cells lie in closed components of the liquid
    bool *wets;              ///< [triangles] bodies that are enclosed: which count for that
    double enclosed_area;    ///< sum of the closed area of all cells, in faces
    double *lack; ///< [dim][r] bodies that are enclosed: what the sum of B's rows lacks of the
                  ///< body's change of volume
    size_t cell_count, cell_room, row_room, wall_room, area_room, work_room;
    double *force;       ///< [r][dim] all but elastic ones, N: of the step
    double *pressure;    ///< [r][dim] of the liquid's pressure in the middle of cells, N
    double *head;        ///< [r][dim] of what it differs from that on the wall, N; in force too
    double *contact;     ///< [r][dim] of walls, solids and other bodies, N
    double *limit;       ///< [r][dim] of what a pass would have gone through, N: see limits.c
    double *shear;       ///< [r][dim] of a viscous liquid's friction, N: see shear.h
    double *grip;        ///< [dofs][dofs] how it changes with v, N s/m; NULL: no viscosity
    double *hand;        ///< [r][dim] of hands and of pins that move, N
    double *extra;       ///< [dofs][dofs] what contact adds to A
    double *work;        ///< [r][dim]
    double *step;        ///< [r][dim] scratch of Newton's method and the pressure solve
    double *pulled;      ///< [r][dim] scratch
    double *residual;    ///< [r][dim] impulses that do not yet balance, but for the pressure's
    double *change;      ///< [r][dim] of v in the last pass
    bool touching;       ///< contact acts
    int first;           ///< of its unknowns among those of all bodies that meet; -1: it meets none
    struct Twins *twins; ///< immersed bodies: see immersed.h; else NULL
} Body;

/// Makes the surface of a body from its shape; `spacing` of its vertices, m.
BrimResult body_surface(Body *body, double spacing, BrimError *error);
/// Vertices that a pin holds at rest touch nothing: what they would push against is the pin's
/// affair, as is what is so near to it that contact would push.
void body_spare(Body *body, const Shape *pin);
void body_free(Body *body);
size_t body_bytes(const Body *body);

/// Brings surface, bounds and distance to the body's place; velocities are those of v as they were.
/// False when out of memory.
bool body_place(Body *body);
/// The velocities of the surface alone.
void body_speeds(Body *body);

enum { BODY_PIECE = 128 };
/// What numbers of the body make of a piece of its vertices, displacements or velocities.
typedef struct BodyPiece {
    size_t from, count; ///< vertices
    size_t stride;      ///< from one component to the next
    double x[3 * BODY_PIECE];
} BodyPiece;

/// How many pieces there are.
int body_pieces(const Body *body);
/// numbers [dim][r] => piece, summed function by function.
void body_mix(const Body *body, int index, const double *numbers, BodyPiece *piece);
/// numbers [r][dim] => [dim][r]
void body_by_component(const Body *body, const double *numbers, double *out);

/// Signed distance, m; see SolidBody.
void body_distance(const void *body, int n, const float *x, const float *y, const float *z,
                   float *distance);
BrimVec3 body_velocity(const void *body, const float point[3]);
float body_fastest(const void *body);
bool body_bounds(const void *body, float low[3], float high[3]);
/// A body as a solid.
SolidBody body_solid(const Body *body);

/// The point of the surface nearest to a point, and the functions there: row [r].
void body_wall(const Body *body, const float point[3], float foot[3], float *row);

/// Closed outlines of a 2D distance with corners kept: segments as triangles whose last two corners
/// are one, inside on their left.
BrimResult outline_new(const Shape *shape, const double low[2], const int nodes[2], double spacing,
                       Trimesh *out, BrimError *error);
