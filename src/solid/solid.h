// Solids: signed distances that may move. A Shape is still; a Solid is a shape with a motion.
//
// In 2D (dim = 2) z of all points is taken as 0, position z and rotations about x and y are
// ignored, and each shape is its cut at its own z = 0, with distances measured in the plane:
//   box            a rectangle, whatever its size in z
//   sphere         a disk
//   cylinder       a rectangle of 2 radius by height
//   capsule        a rectangle with round ends
//   torus          two disks of radius `tube`, 2 radius apart
//   plane          a line; its normal's z is dropped
//   height field   its first row of heights (z = 0); a canyon along the middle of its bed
//   mesh           its outline at z = 0; a mesh that only touches z = 0 is cut just beside it
#pragma once
#include "base/team.h"
#include "brim/brim.h"

typedef struct Shape Shape;
struct Trimesh;

/// Builds a shape from its def. Meshes are read and turned into a distance on a grid of spacing
/// `resolution` metres or half of it; height-field files are read too. The def may go afterwards.
BrimResult shape_new(const BrimShapeDef *def, int dim, float resolution, Shape **shape,
                     BrimError *error);
void shape_free(Shape **shape);
size_t shape_bytes(const Shape *shape);

/// Signed distance at n points, m: negative inside. Exact for the simple shapes; a bound not above
/// the distance for unions (inside), differences and smooth unions. Where parts of those share a
/// face it is that to the rest of the surface up to 1.5 times `resolution`, as seen in 98
/// directions (2D: 16): up to 3 % more where the surface is flat, 30 % at edges. For height fields
/// exact within three times `resolution` of the surface and a bound beyond; for meshes
/// interpolated, and a bound outside their box. (x, y, z) [n] => distance [n]
void shape_distance(const Shape *shape, int n, const float *x, const float *y, const float *z,
                    float *distance);
/// Box that holds the shape; infinite extents for planes, for the sides and depth of height fields,
/// and for z in 2D. False when empty.
bool shape_bounds(const Shape *shape, float low[3], float high[3]);
/// Thinnest wall where it can be told (simple shapes; shells made by difference, to about a
/// percent, from samples), else INFINITY. Takes milliseconds: not for every step.
float shape_thickness(const Shape *shape);

/// Rotation matrix (row major), position: world = rotation * local + position.
typedef struct Placement {
    float rotation[9];
    float position[3];
} Placement;

typedef struct Solid Solid;

/// Who tells where a solid is and how it moves that no def tells: a body in the water.
typedef struct SolidBody {
    /// As shape_distance, of the body as it is now.
    void (*distance)(const void *context, int n, const float *x, const float *y, const float *z,
                     float *distance);
    /// Velocity of the body's surface nearest to a point, m/s.
    BrimVec3 (*velocity)(const void *context, const float point[3]);
    /// Speed of its fastest part, m/s.
    float (*fastest)(const void *context);
    bool (*bounds)(const void *context, float low[3], float high[3]);
    float thickness; ///< of its thinnest wall, m; INFINITY: not known
    float known;     ///< m from its surface: farther off its velocity is not known, and 0
    const void *context;
} SolidBody;
/// A solid that is a body. Motion and start of the others do not apply, nor can the host move it.
BrimResult solid_new_body(const SolidBody *body, int dim, Solid **solid, BrimError *error);
bool solid_is_body(const Solid *solid);
/// Around its pivot, as it was placed last; NULL for a body.
const Shape *solid_shape(const Solid *solid);

BrimResult solid_new(const BrimSolidDef *def, int dim, float resolution, Solid **solid,
                     BrimError *error);
/// One that rests: a closed mesh in memory, which `name` stands for in messages.
BrimResult solid_new_surface(const struct Trimesh *mesh, const char *name, int dim,
                             float resolution, Solid **solid, BrimError *error);
void solid_free(Solid **solid);
size_t solid_bytes(const Solid *solid);

/// Whether the solid moves at any time (keyframes, rotation, or moved by the host).
bool solid_moves(const Solid *solid);
/// Whether the solid is there at `time`.
bool solid_exists(const Solid *solid, double time);
/// Whether its motion has a finite value at `time`, as that of formulas may not.
bool solid_follows(const Solid *solid, double time);
/// Places the solid for `time`; its velocity is the mean over [time - dt, time], so that what it
/// sweeps is what it moved (dt = 0: the instantaneous velocity). False when out of memory, which
/// only a mesh that deforms needs.
bool solid_place(Solid *solid, double time, double dt);
/// Threads that help to place it, as a mesh that deforms needs; as long as they live.
void solid_set_team(Solid *solid, Team *team);
/// Only what deforms: solid_set_state tells all but that.
bool solid_deform(Solid *solid, double time, double dt);
/// Whether its shape changes.
bool solid_deforms(const Solid *solid);
/// When it was placed last, and over which step, s.
void solid_placed(const Solid *solid, double *time, double *dt);
/// The host's hand: from placement now to this one over [time, time + duration], straight and at an
/// even pace, turning the short way. Values must be finite.
void solid_move(Solid *solid, BrimVec3 position, BrimVec3 rotation, double time, double duration);

/// As shape_distance, at the current placement.
void solid_distance(const Solid *solid, int n, const float *x, const float *y, const float *z,
                    float *distance);
/// Velocity of the solid's material at a point, m/s.
BrimVec3 solid_velocity(const Solid *solid, float x, float y, float z);
/// How far from its surface that is known, m; farther off a body says 0.
float solid_velocity_reach(const Solid *solid);
/// Speed of a body's fastest part, m/s.
double solid_body_speed(const Solid *solid);
/// How far the solid's material that is at a point at time `from` will be from there at time `to`,
/// m.
double solid_way(const Solid *solid, double from, double to, const float point[3]);
/// The fastest that a part of the solid moves relative to the whole as it deforms, m/s.
double solid_flexing(const Solid *solid);
bool solid_bounds(const Solid *solid, float low[3], float high[3]);
float solid_thickness(const Solid *solid);

/// The part of a solid's state that a checkpoint must hold: moves by the host, and how the solid
/// was placed last, which a move since then does not change.
typedef struct SolidState {
    double move_start, move_end; ///< s; equal when the host has not moved it
    double velocity[3];          ///< of the pivot, m/s
    double spin[3];              ///< rad/s
    Placement placement;
    float from_position[3], to_position[3];
    float from_rotation[3], to_rotation[3]; ///< degrees
    int32_t hosted;
    int32_t removed; ///< by the host
} SolidState;
/// The host takes the solid away, for good.
void solid_remove(Solid *solid);
SolidState solid_state(const Solid *solid);
/// Whether all of its numbers are finite.
bool solid_state_sound(const SolidState *state);
void solid_set_state(Solid *solid, const SolidState *state);
