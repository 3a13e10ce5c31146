// Brim: liquids with particles on a sparse grid. This file is the whole public interface.
//
// A dam break in thirty lines:
//
//   #include <brim/brim.h>
//   #include <stdio.h>
//
//   int main(void) {
//       BrimShapeDef column = brim_default_shape_def();
//       column.kind = BRIM_SHAPE_BOX;
//       column.size = (BrimVec3){0.4f, 0.6f, 0.5f};
//       column.position = (BrimVec3){0.2f, 0.3f, 0.25f};
//       BrimLiquidDef water = {.shape = column};
//
//       BrimSimDef def = brim_default_sim_def();
//       def.cells[0] = 64, def.cells[1] = 64, def.cells[2] = 32;
//       def.size = (BrimVec3){1.0f, 1.0f, 0.5f};
//       def.liquid = &water, def.liquid_count = 1;
//
//       BrimError error;
//       BrimSim *sim = NULL;
//       if (brim_sim_create(&def, &sim, &error) != BRIM_OK) {
//           fprintf(stderr, "%s\n", error.message);
//           return 1;
//       }
//       for (int frame = 1; frame <= 48; frame++) {
//           if (brim_sim_advance_frame(sim, &error) != BRIM_OK) {
//               fprintf(stderr, "%s\n", error.message);
//               return 1;
//           }
//           BrimParticles p = brim_sim_particles(sim);
//           printf("frame %d: %zu particles, first at height %g m\n", frame, p.count, p.y[0]);
//       }
//       brim_sim_destroy(&sim);
//   }
//
// Rules that hold for every call:
// - SI units: metres, seconds, kilograms, radians unless a name says degrees. y points up.
// - The library never prints or exits, and keeps no global state but one Embree device, which the
//   first ray-traced picture makes. Errors come back as values.
// - `error` may be NULL. A result below zero says that the simulation is lost: destroy it. It can
//   neither be stepped nor saved any more.
//   A result above zero says that the call did nothing and the simulation is as it was.
// - NULL for what a call reads or fills in is refused with BRIM_ERROR_INPUT where it has an error;
//   other calls answer with 0, NULL, "" or false.
// - Destroy functions take the address of the pointer, set it to NULL and accept NULL.
// - One simulation belongs to one thread at a time; it uses def.threads threads of its own.
// - In 2D (def.dim = 2) the domain is one cell deep, z is 0, and masses, volumes and energies are
//   per metre of depth. Of rotations only z is read.
#ifndef BRIM_H
#define BRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BRIM_API __attribute__((visibility("default")))
#else
#define BRIM_API
#endif

#define BRIM_VERSION_MAJOR 0
#define BRIM_VERSION_MINOR 1
#define BRIM_VERSION_PATCH 0
#define BRIM_VERSION_STRING "0.1.0"
/// Version of the scene schema: a scene file opens with `brim: 1`.
#define BRIM_SCENE_VERSION 1

/// The version of the library that is linked, as "0.1.0".
BRIM_API const char *brim_version(void);

// ---------------------------------------------------------------------------------- errors

typedef enum BrimResult {
    BRIM_OK = 0,
    // the simulation is intact
    BRIM_ERROR_INPUT = 1,   ///< a value, a scene or a file's content is not acceptable
    BRIM_ERROR_IO = 2,      ///< a file or folder could not be read or written
    BRIM_ERROR_MEMORY = 3,  ///< memory ran out, or the request is larger than the limit allows
    BRIM_ERROR_MISSING = 4, ///< this build lacks an optional part
    BRIM_ERROR_DAMAGED = 5, ///< a checkpoint or frame is truncated or its checksum is wrong
    // the simulation is lost
    BRIM_LOST_DIVERGED = -1, ///< a value became NaN or infinite, or a solver failed
    BRIM_LOST_MEMORY = -2,   ///< memory ran out in the middle of a step
} BrimResult;

typedef struct BrimError {
    BrimResult result;
    char message[1024]; ///< what, where and what to do; one or more lines, no newline at the end
} BrimError;

// -------------------------------------------------------------------------------- formulas

typedef struct BrimVec3 {
    float x, y, z;
} BrimVec3;

/// A CSV file that formulas read: lines that begin with # are comments, the first other one names
/// the columns, the first column increases.
typedef struct BrimNamedTable {
    const char *name;
    const char *file;
} BrimNamedTable;

/// What formulas may use besides x, y, z (m), t (s) and pi. A formula is text such as
/// "0.3 + a * sin(2 * pi * t)"; the manual lists its functions. `table.column(x)` is a column of a
/// table over its first one, as a smooth curve.
typedef struct BrimNames {
    const char *let; ///< "a = 0.1; k = 2 * pi / a": names for parts of formulas; NULL: none
    const BrimNamedTable *tables;
    int table_count;
} BrimNames;

// ---------------------------------------------------------------------------------- shapes

typedef enum BrimShapeKind {
    BRIM_SHAPE_BOX,          ///< size; centred on position
    BRIM_SHAPE_SPHERE,       ///< radius (2D: a disk)
    BRIM_SHAPE_CYLINDER,     ///< radius, height; axis y, centred
    BRIM_SHAPE_CAPSULE,      ///< radius, height of the straight part; axis y, centred
    BRIM_SHAPE_PLANE,        ///< normal; solid on the side that the normal points away from
    BRIM_SHAPE_TORUS,        ///< radius (of the ring), tube; axis y
    BRIM_SHAPE_HEIGHT_FIELD, ///< ground below height(x, z): heights, a file, or a canyon
    BRIM_SHAPE_MESH,         ///< file: closed triangle mesh, OBJ, PLY or STL
    BRIM_SHAPE_UNION,        ///< of children
    BRIM_SHAPE_DIFFERENCE,   ///< first child without the others
    BRIM_SHAPE_SMOOTH_UNION, ///< of children, rounded over `blend`
} BrimShapeKind;

/// Procedural river canyon for BRIM_SHAPE_HEIGHT_FIELD: a winding bed that falls along x in steps.
typedef struct BrimCanyonDef {
    uint32_t seed;
    float bed;        ///< height of the bed at x = 0, m
    float slope;      ///< fall of the bed per metre along x, besides the waterfalls
    float width;      ///< of the bed, m
    float depth;      ///< of the canyon, bed to rim, m
    float meander;    ///< how far the bed winds to either side, m
    float wavelength; ///< of the meander along x, m
    float roughness;  ///< amplitude of the rock's relief, m
    int fall_count;
    float fall_x[4];    ///< where each waterfall stands, m
    float fall_drop[4]; ///< how far it drops, m
} BrimCanyonDef;

/// A region of space. The shape is built around its own origin, then scaled, rotated, moved.
typedef struct BrimShapeDef {
    BrimShapeKind kind;
    BrimVec3 position;
    BrimVec3 rotation; ///< degrees about x, then y, then z
    float scale;
    BrimVec3 size;    ///< box: full edge lengths; height field: extent in x and z, y unused
    float radius;     ///< sphere, cylinder, capsule; torus: ring
    float tube;       ///< torus: radius of the tube
    float height;     ///< cylinder, capsule
    BrimVec3 normal;  ///< plane
    float blend;      ///< smooth union: radius of the rounding, m
    const char *file; ///< mesh; height field: 8 or 16 bit PGM, scaled to [0, height]
    /// mesh of a solid: instead of a file, a sequence of files of one topology, OBJ, PLY or STL: a
    /// pattern with # for the digits of the frame's number, or a folder
    const char *frames;
    double frame_rate;    ///< frames a second
    double frame_start;   ///< time of the first frame, s
    bool frame_repeat;    ///< the first follows the last; else the mesh rests before and after
    const float *heights; ///< height field: [rows_z][rows_x] heights over size.x by size.z, m
    int heights_x, heights_z;
    const BrimCanyonDef *canyon; ///< height field: procedural
    const char *formula;         ///< height field: its height over x and z from its corner, m
    const BrimNames *names;      ///< for its formula and those of what has this shape; may be NULL
    const struct BrimShapeDef *children;
    int child_count;
} BrimShapeDef;

BRIM_API BrimShapeDef brim_default_shape_def(void);

// ---------------------------------------------------------------------------------- solids

typedef struct BrimKeyframe {
    double time;
    BrimVec3 position; ///< added to the shape's own position
    BrimVec3 rotation; ///< degrees about x, then y, then z, applied before the shape's position
} BrimKeyframe;

typedef enum BrimMotionKind {
    BRIM_MOTION_STILL,
    BRIM_MOTION_KEYFRAMES, ///< cubic between keyframes, at rest before the first, after the last
    BRIM_MOTION_ROTATION,  ///< constant rate about an axis through the shape's position
    BRIM_MOTION_FORMULA,   ///< path and turn, from the solid's start on
} BrimMotionKind;

typedef enum BrimGlass { BRIM_GLASS_AUTO, BRIM_GLASS_NO, BRIM_GLASS_YES } BrimGlass;

/// How a solid or a body looks in ray-traced pictures.
typedef struct BrimMaterial {
    BrimVec3 colour; ///< fraction of red, green and blue light that it reflects; zeros: by its kind
    float roughness; ///< 1 matte, 0 polished
    BrimGlass glass; ///< auto: solids with thin walls are, bodies are not
} BrimMaterial;

typedef struct BrimSolidDef {
    BrimShapeDef shape;
    BrimMotionKind motion;
    const BrimKeyframe *keyframes;
    int keyframe_count;
    BrimVec3 axis; ///< rotation
    float rate;    ///< rotation, degrees per second
    double start;  ///< the solid exists from this time on, s
    BrimVec3 path; ///< formula: added to the shape's own position, m
    BrimVec3 turn; ///< formula: degrees about x, then y, then z, as in a keyframe
    const char *path_formula[3], *turn_formula[3]; ///< of t; NULL: the number above
    BrimMaterial look;                             ///< does not change the result
} BrimSolidDef;

BRIM_API BrimSolidDef brim_default_solid_def(void);

// ---------------------------------------------------------------------------------- bodies

/// A region that holds the part of a body inside it.
typedef struct BrimPinDef {
    BrimShapeDef shape;
    const BrimKeyframe *keyframes; ///< carry what it holds along; none = it stays where it is
    int keyframe_count;
} BrimPinDef;

/// A hand that drags a point of a body's surface along a path, as brim_sim_drag does.
typedef struct BrimGrabDef {
    BrimVec3 at;                   ///< the nearest vertex at rest is held, m
    const BrimKeyframe *keyframes; ///< positions are added to that vertex's; none = it stays there
    int keyframe_count;
    double start, stop; ///< holds between these times, s
    float force;        ///< the most that it pulls with, N; 0 = no limit
} BrimGrabDef;

BRIM_API BrimGrabDef brim_default_grab_def(void);

/// A body that swims: it moves, turns and bends as water, weight and walls make it.
/// How a body and the liquid move each other: as a moving wall inside the pressure solve, or by
/// particles that fill the body and take part in the transfers (Brandt et al. 2019).
typedef enum BrimCoupling { BRIM_COUPLING_STRONG, BRIM_COUPLING_IMMERSED } BrimCoupling;
/// How an elastic step is solved: Newton's method for the midpoint rule, or projective dynamics for
/// implicit Euler's, which is for immersed bodies alone.
typedef enum BrimBodySolver { BRIM_BODY_NEWTON, BRIM_BODY_PROJECTIVE } BrimBodySolver;
/// What a body's motions are made of: its vibrations, or motions of handles blended over it.
typedef enum BrimSubspace { BRIM_SUBSPACE_MODES, BRIM_SUBSPACE_HANDLES } BrimSubspace;

typedef struct BrimBodyDef {
    BrimShapeDef shape; ///< at rest, where it is at the start
    float density;      ///< kg/m^3
    bool rigid;         ///< keeps its shape; the following four are not read
    float young;        ///< Young's modulus, Pa
    float poisson;      ///< Poisson's ratio, 0 to 0.49; 2D is plane strain
    BrimCoupling coupling;
    float flip;    ///< immersed: share of FLIP in what its particles take from the grid, 0 to 1
    bool keep_out; ///< immersed: liquid and other bodies beside it do not move into it
    BrimSubspace subspace;
    int modes;           ///< vibrations that it can bend by; 0 = 12 with pins, 24 without
    int handles;         ///< points whose motions are blended
    float handle_radius; ///< of their reach, over their largest distance
    int order;           ///< of their motions: 1 affine, 2 quadratic
    BrimBodySolver solver;
    int iterations;    ///< of a projective step
    int samples;       ///< points that a projective step looks at; 0 = all
    int elements;      ///< of its lattice, at most; 0 = 150, 2D: 400
    float damping;     ///< of all motion, 1/s
    float friction;    ///< Coulomb's coefficient against walls, solids, other bodies and itself
    bool self_contact; ///< parts of it that were apart at rest push each other where they meet
    BrimVec3 velocity; ///< at the start, m/s
    BrimVec3 spin;     ///< at the start, rad/s about its centre of mass
    const BrimPinDef *pins;
    int pin_count;
    const BrimGrabDef *grabs;
    int grab_count;
    BrimMaterial look; ///< does not change the result
} BrimBodyDef;

BRIM_API BrimBodyDef brim_default_body_def(void);

// ------------------------------------------------------------------------------ tetrahedra

/// A volume cut into tetrahedra.
typedef struct BrimTets {
    size_t vertex_count, tet_count;
    float (*position)[3];              ///< m
    uint32_t (*corner)[4];             ///< the fourth sees the others counter-clockwise
    double volume;                     ///< m3
    float least_angle, greatest_angle; ///< between faces of one, degrees
} BrimTets;

/// Fills a 3D shape with tetrahedra: about `count` of them, or with edges of about `edge` m; one of
/// the two is 0. Isosurface stuffing: their angles are between 10 and 165 degrees. tets is to be
/// freed by brim_tets_free.
BRIM_API BrimResult brim_tets_fill(const BrimShapeDef *shape, int count, double edge,
                                   BrimTets *tets, BrimError *error);
/// Reads .msh (Gmsh 2 and 4), .mesh (Medit), .vtk (legacy) in ASCII, or .node and .ele (TetGen).
BRIM_API BrimResult brim_tets_read(const char *path, BrimTets *tets, BrimError *error);
BRIM_API void brim_tets_free(BrimTets *tets);
/// Writes .msh (Gmsh 2.2), .mesh or .vtk by the ending of the path.
BRIM_API BrimResult brim_write_tets(const BrimTets *tets, const char *path, BrimError *error);

// ------------------------------------------------------------------- liquid, sources, drains

typedef struct BrimLiquidDef {
    BrimShapeDef shape;
    BrimVec3 velocity; ///< m/s
    BrimVec3 spin;     ///< rad/s about the shape's position, added to velocity
    int particles;     ///< this many at random positions, whatever the density; 0 = regular seeding
    double density;    ///< kg/m^3; 0 = the def's. Where one differs particles have a mass
    const char *velocity_formula[3]; ///< of x, y and z; NULL: the component of velocity
} BrimLiquidDef;

/// A motion by formulas of the time t: added to the shape's own place, m and degrees; numbers where
/// there is no formula.
typedef struct BrimPath {
    BrimVec3 path, turn;
    const char *path_formula[3], *turn_formula[3];
} BrimPath;

/// Emits a stream that fills its shape and leaves it with `velocity`. The volume that enters is
/// `flow`, or `rate` particles a second, or, with both zero, what the stream's own speed carries.
typedef struct BrimSourceDef {
    BrimShapeDef shape;
    BrimVec3 velocity;  ///< m/s
    float flow;         ///< m^3/s (2D: m^2/s); 0 = unset
    float rate;         ///< particles/s; 0 = unset
    double start, stop; ///< s
    double density;     ///< kg/m^3; 0 = the def's
    /// Formulas of t that replace the numbers; NULL: none. Nothing enters while a flow formula is
    /// 0.
    const char *velocity_formula[3], *flow_formula;
    /// How the shape moves. The velocity turns with it, and its own is added.
    BrimPath motion;
} BrimSourceDef;

BRIM_API BrimSourceDef brim_default_source_def(void);

/// Removes every particle inside its shape and counts it; or, with a rate, removes that much liquid
/// a second, which the pressure draws in.
typedef struct BrimDrainDef {
    BrimShapeDef shape;
    double start, stop;       ///< s
    double rate;              ///< m^3/s (2D: m^2/s); 0 = all that is inside
    const char *rate_formula; ///< of t; NULL: none
    BrimPath motion;
} BrimDrainDef;

BRIM_API BrimDrainDef brim_default_drain_def(void);

typedef enum BrimForceKind {
    BRIM_FORCE_UNIFORM, ///< acceleration
    BRIM_FORCE_POINT,   ///< towards `at` with `strength`
    BRIM_FORCE_VORTEX,  ///< about the axis through `at` with `strength`, towards it with `pull`
    BRIM_FORCE_WIND,    ///< takes the surface along to `velocity` and gusts, `drag` a second
    BRIM_FORCE_CURVE,   ///< along a line through points with `strength`, towards it with `pull`
    BRIM_FORCE_TARGET,  ///< towards the shape with `strength`; inside it liquid comes to rest
} BrimForceKind;

typedef struct BrimForcePoint {
    BrimVec3 at; ///< m
} BrimForcePoint;

/// Accelerates the liquid, besides gravity. Bodies and atomised spray do not feel it.
typedef struct BrimForceDef {
    BrimForceKind kind;
    bool within;                         ///< it acts only inside `shape`; a target must have one
    BrimShapeDef shape;                  ///< where; the target itself
    BrimVec3 acceleration;               ///< uniform, m/s^2
    const char *acceleration_formula[3]; ///< of x, y, z, t; NULL: none
    BrimVec3 at;                         ///< point, vortex, m
    const char *at_formula[3];           ///< of t; NULL: none
    BrimVec3 axis;                       ///< vortex
    float strength;                      ///< m/s^2
    const char *strength_formula;        ///< of t; NULL: none
    float pull;                          ///< vortex, curve, m/s^2
    float radius;      ///< point, vortex, curve: it fades to nothing there, m; 0 = everywhere
    BrimVec3 velocity; ///< wind, m/s
    const char *velocity_formula[3]; ///< of t; NULL: none
    float drag;                      ///< wind, 1/s
    float turbulence, scale; ///< wind: root mean square of a gust's components, m/s; its size, m
    const BrimForcePoint *points; ///< curve, two or more
    int point_count;
    float damping;      ///< target: how soon liquid rests inside, 1/s
    float hold;         ///< target: part of gravity that is taken away inside
    double start, stop; ///< s
} BrimForceDef;

BRIM_API BrimForceDef brim_default_force_def(void);

typedef struct BrimGravityKey {
    double time;
    BrimVec3 gravity;
} BrimGravityKey;

// ---------------------------------------------------------------------------------- gauges

/// What a gauge measures. Columns in brackets are missing in 2D, where forces and flows are per
/// metre of depth.
typedef enum BrimGaugeKind {
    BRIM_GAUGE_HEIGHT, ///< length of the line `from`, `to` in water; farthest water along it
    BRIM_GAUGE_POINT,  ///< pressure; velocity x, y, (z) at `from`
    /// force x, y, (z) and torque (x), (y), z of the pressure on a solid, a side or a body
    BRIM_GAUGE_FORCE,
    BRIM_GAUGE_FLOW,  ///< flow through the rectangle `from`, `to`, flat along one axis; wet area
    BRIM_GAUGE_FRONT, ///< place of the farthest water in the box `from`, `to` along an axis
    /// position x, y, (z) and velocity x, y, (z) of the point of a body that is at `from` at first
    BRIM_GAUGE_MOTION,
} BrimGaugeKind;

enum { BRIM_GAUGE_COLUMNS = 6 }; ///< most that a gauge has

typedef struct BrimGaugeDef {
    const char *name; ///< letters, digits, '_', '-': names the file
    BrimGaugeKind kind;
    double rate;       ///< rows a second in the run's file; 0 = a row for each step
    BrimVec3 from, to; ///< m
    int solid;         ///< force: on this one of the def's solids; -1 = none
    int side;          ///< force: on this side, 1 to 6: x-, x+, y-, y+, z-, z+; 0 = none
    int towards;       ///< front: where it runs to, 0 to 5: x-, x+, y-, y+, z-, z+
    int body;          ///< force, motion: this one of the def's bodies; -1 = none
} BrimGaugeDef;

BRIM_API BrimGaugeDef brim_default_gauge_def(void);

// ------------------------------------------------------------------------------ simulation

/// Points at which the cells of a nodal pressure are integrated.
typedef enum BrimQuadrature {
    BRIM_QUADRATURE_GAUSS,   ///< 2 along each axis
    BRIM_QUADRATURE_CORNERS, ///< the corners: 7 neighbours a node where the grid is regular
} BrimQuadrature;

typedef enum BrimTransfer { BRIM_TRANSFER_FLIP, BRIM_TRANSFER_APIC } BrimTransfer;
/// How the liquid keeps its volume. DENSITY: implicit density projection, which moves particles and
/// leaves velocities alone, and pushes out what is inside solids. For comparison: NONE; DIRECT, the
/// density error joins the pressure's right-hand side; AVERAGED, so too, spread over volume_time;
/// CONTROL, on a warped grid: the volume within the surface is held by a divergence of all liquid.
typedef enum BrimVolume {
    BRIM_VOLUME_DENSITY,
    BRIM_VOLUME_NONE,
    BRIM_VOLUME_DIRECT,
    BRIM_VOLUME_AVERAGED,
    BRIM_VOLUME_CONTROL
} BrimVolume;
/// What the liquid does at walls when it has a viscosity.
typedef enum BrimSlip { BRIM_SLIP_NONE, BRIM_SLIP_FREE } BrimSlip;
typedef enum BrimSurface { BRIM_SURFACE_GHOST_FLUID, BRIM_SURFACE_FLAGS } BrimSurface;
typedef enum BrimAdvection { BRIM_ADVECTION_RK2, BRIM_ADVECTION_RK3 } BrimAdvection;
typedef enum BrimPreconditioner {
    BRIM_PRECONDITIONER_MULTIGRID,
    BRIM_PRECONDITIONER_JACOBI, ///< the plain reference solver
} BrimPreconditioner;
/// Whether particles carry the surface along (Lim, Kim and Hong 2015).
typedef enum BrimTracking { BRIM_TRACKING_OFF, BRIM_TRACKING_RESPONSIVE } BrimTracking;
/// The surface without memory: by Brim's level set, or exactly as in the paper, for comparison.
typedef enum BrimRough { BRIM_ROUGH_BRIM, BRIM_ROUGH_PAPER } BrimRough;
/// How memory fades between two speeds: by speed or by its square.
typedef enum BrimBlend { BRIM_BLEND_LINEAR, BRIM_BLEND_SQUARE } BrimBlend;
/// How the narrow band joins the particles' velocity and the grid's own: by the depth of a face, or
/// by the particles' weight on it. The latter gains energy; it is there for comparison.
typedef enum BrimBandCombine { BRIM_BAND_DISTANCE, BRIM_BAND_DENSITY } BrimBandCombine;
typedef enum BrimSide { BRIM_SIDE_WALL, BRIM_SIDE_OPEN } BrimSide;

/// Instruction set of the kernels. Results are the same bits on all of them.
typedef enum BrimIsa { BRIM_ISA_AUTO, BRIM_ISA_BASE, BRIM_ISA_AVX2, BRIM_ISA_AVX512 } BrimIsa;

typedef enum BrimSurfaceOutput {
    BRIM_SURFACE_OUTPUT_NONE,
    BRIM_SURFACE_OUTPUT_PLY,
    BRIM_SURFACE_OUTPUT_OBJ,
} BrimSurfaceOutput;

/// How spray, foam and bubbles form and what becomes of them. Start from
/// brim_default_foam_def(). Limits are pairs: none below the first, all above the second.
typedef struct BrimFoamDef {
    float trapped[2];   ///< of the sum over neighbours that indicates trapped air, m/s
    float trapped_rate; ///< particles a second that a particle of the liquid makes by it, 1/s
    float crest[2];     ///< of the sum over neighbours that indicates a crest
    float crest_rate;   ///< 1/s
    float crest_facing; ///< least cosine between a crest's velocity and its normal
    float energy[2];    ///< of kinetic energy, J/kg
    float life[2];      ///< of foam, s: between these, by chance
    float size[2];      ///< radius, in spacings of the liquid's particles: between these, by chance
    float density[2];   ///< of the liquid around, relative to full: below spray, above bubbles
    float drag;         ///< of spray, 1/s: it falls no faster than gravity / drag
    float buoyancy;     ///< of bubbles, in units of gravity
    float bubble_time;  ///< in which bubbles take on the liquid's velocity, s
    float spread;       ///< of velocities at birth, relative to the liquid's
    int most;           ///< particles; there are no births beyond
    int threads;        ///< 0 = one for each core; the result does not depend on it
    BrimIsa isa;
    uint32_t cookie; ///< set by brim_default_foam_def
} BrimFoamDef;

typedef struct BrimOutputDef {
    bool particles;            ///< DIR/particles/NNNNNN.ply
    bool interior;             ///< these hold the cells below a narrow band too; so with foam
    bool foam;                 ///< DIR/foam/NNNNNN.ply, made with BrimSimDef.foam from particles
    bool fields;               ///< DIR/fields/NNNNNN.vti
    BrimSurfaceOutput surface; ///< DIR/surface/NNNNNN.ply or .obj; 3D
    int surface_resolution;    ///< this and the following as in BrimMeshDef
    double surface_radius;
    int surface_smooth;
    bool surface_anisotropic;
    bool surface_positions;
    bool vdb;             ///< DIR/vdb/NNNNNN.vdb: level set and velocity; 3D, needs OpenVDB
    bool paraview;        ///< DIR/paraview/: run.pvd and VTP files, made from the particle frames
    int every;            ///< write each n-th frame
    int checkpoint_every; ///< frames between checkpoints; 0 = only at interrupt and at the end
} BrimOutputDef;

/// What particles may carry besides position, velocity and id.
typedef enum BrimAttributeBit {
    BRIM_ATTRIBUTE_AGE = 1,    ///< s since it was seeded or emitted
    BRIM_ATTRIBUTE_SOURCE = 2, ///< which liquid it came from; sources count on behind the last one
} BrimAttributeBit;

/// Everything that defines a simulation. Start from brim_default_sim_def(). All pointers are
/// read by brim_sim_create and need not outlive it.
typedef enum BrimFraming { BRIM_FRAME_DOMAIN, BRIM_FRAME_WATER } BrimFraming;

/// Where a camera stands at a time; smooth in between.
typedef struct BrimCameraKey {
    double time;          ///< s
    BrimVec3 eye, target; ///< m
    float angle;          ///< of view from bottom to top, degrees
} BrimCameraKey;

/// How ray-traced pictures of a scene look. None of it changes the simulation.
typedef struct BrimLookDef {
    BrimVec3 liquid_colour; ///< share of red, green and blue light left after liquid_clarity
    float liquid_clarity;   ///< m
    BrimVec3 sun;           ///< towards it
    float sun_strength, sky_strength, exposure;
    const char *sky_picture; ///< Radiance .hdr file, all around, instead of our sky; NULL: none
    float sky_turn;          ///< of the picture about y, degrees
    bool ground, box, caustics;
    BrimFraming frame;    ///< what a camera without a place of its own frames
    BrimVec3 eye, target; ///< m; the same point: found
    float angle;          ///< of view from bottom to top, degrees
    float aperture;       ///< diameter of the lens, m; 0 = all is sharp
    float focus;          ///< distance of what is sharp, m; 0 = the target's
    const BrimCameraKey *keyframes;
    int keyframe_count;
} BrimLookDef;

typedef struct BrimSimDef {
    int dim;           ///< 2 or 3
    BrimVec3 size;     ///< of the domain, m; cells are cubes, so size and cells must agree
    int cells[3];      ///< cells[2] is 1 in 2D
    BrimSide sides[6]; ///< x-, x+, y-, y+, z-, z+
    BrimVec3 gravity;  ///< m/s^2
    const BrimGravityKey *gravity_keys; ///< linear in between; replaces gravity when present
    int gravity_key_count;
    const char *gravity_formula[3]; ///< of t; NULL: the component of gravity
    BrimNames names;                ///< for formulas of the def itself; those of shapes have theirs

    double duration;           ///< s
    double frame_rate;         ///< frames/s
    double step;               ///< fixed time step, s; 0 = by cfl
    double cfl;                ///< cells that the fastest particle may cross in a step
    double step_min, step_max; ///< limits of the cfl step, s; step_max 0 = a frame

    float density;          ///< of the liquid, kg/m^3
    double viscosity;       ///< dynamic, Pa s; 0 = none
    BrimSlip slip;          ///< at walls and solids; counts only with a viscosity
    double wall_friction;   ///< coefficient of turbulent friction, stress over density u^2 / 2
    double wall_roughness;  ///< height of roughness, m, for friction by the log law; 0 = none
    double surface_tension; ///< N/m; 0 = none
    double contact_angle;   ///< between surface and walls, through the liquid, degrees

    BrimTransfer transfer;
    float flip_ratio; ///< 1 = pure FLIP, 0 = PIC
    BrimAdvection advection;
    BrimSurface surface;
    double tolerance; ///< largest |div u| dt left in a cell
    int max_iterations;
    BrimPreconditioner preconditioner;
    BrimVolume volume;
    double volume_tolerance; ///< largest density error that a solve for displacements may leave
    double volume_time;      ///< of BRIM_VOLUME_AVERAGED, s
    double pressure_from;    ///< before this time nothing keeps the liquid apart, s

    double warp;     ///< strength of a grid that bends towards the surface, 0 to 0.9; 0 = regular
    bool nodal;      ///< pressure at nodes, velocity at cell centres, also on a regular grid
    bool warp_still; ///< the mesh stays as it was made at the start
    BrimQuadrature quadrature;                    ///< of the pressure on such grids
    double warp_surface, warp_speed, warp_solids; ///< weights of what the grid bends towards
    double focus;                                 ///< weight of a region of interest; 0 = none
    BrimVec3 focus_center, focus_size;            ///< of that region, a box, m
    const char *focus_formula[3];                 ///< of t; NULL: the component of focus_center
    BrimVec3 focus_target;   ///< of a camera at focus_center, m, whose view is the region instead
    double focus_angle;      ///< of that view, degrees; 0 = a box
    const char *focus_field; ///< of x, y, z, t: the region instead, 1 where the grid is to be fine,
                             ///< 0 where not; NULL: a box or a view

    BrimTracking tracking;    ///< whether particles carry the surface along
    BrimRough tracking_rough; ///< what it is without memory
    float tracking_speed[2];  ///< m/s: slower water remembers its surface, faster water does not;
                              ///< 0, 0: [0.3, 1] sqrt(g H), H the liquid's height at the start
    BrimBlend tracking_blend; ///< how it fades in between
    double tracking_memory;   ///< s, in which the past fades; 0 = none
    int tracking_passes;      ///< of the filter that what fades in goes through

    int mpm_substeps;     ///< MPM sub-steps between two projections, at least; 0 = none
    double mpm_sound;     ///< cells that sound between particles goes in a step; 0 = no pressure
    double mpm_viscosity; ///< explicit, of the sub-steps, Pa s
    double mpm_control;   ///< with BRIM_VOLUME_AVERAGED: part of the density's error that a step's
                          ///< pressure takes away, k of eq. 13; 0 = by volume_time

    float spray_speed[2]; ///< m/s: torn liquid turns to spray, slower than the first none, faster
                          ///< than the second all in spray_time; 0, 0: no spray
    double spray_time;    ///< s
    double spray_drag;    ///< coefficient of the drops' drag in air

    int band_width; ///< cells below the surface that hold particles; 0 = all, else 2 to 16
    int band_flip;  ///< cells below the surface with FLIP, below that PIC; 0 = the whole band
    BrimBandCombine band_combine;
    int band_order; ///< of the interpolation of what the grid carries below the band: 1 or 2

    int particles_per_cell; ///< a square (2D) or cube (3D) number
    float jitter;           ///< 0 to 1, of the spacing between particles
    uint32_t attributes;    ///< what else particles carry: bits of BrimAttributeBit
    uint32_t seed;

    int threads; ///< 0 = one for each core
    BrimIsa isa;
    double memory_limit; ///< bytes; 0 = what the machine has. Larger scenes are refused
    const char *cache;   ///< folder in which what bodies pre-compute is kept; NULL = none

    const BrimLiquidDef *liquid;
    int liquid_count;
    const BrimSolidDef *solids;
    int solid_count;
    const BrimBodyDef *bodies;
    int body_count;
    const BrimSourceDef *sources;
    int source_count;
    const BrimDrainDef *drains;
    int drain_count;
    const BrimForceDef *forces;
    int force_count;
    const BrimGaugeDef *gauges; ///< do not change the result
    int gauge_count;

    BrimOutputDef output; ///< read by brim_run_open, ignored by brim_sim_create
    BrimFoamDef foam;     ///< so too
    BrimLookDef look;     ///< read by brim_write_picture

    uint32_t cookie; ///< set by brim_default_sim_def
} BrimSimDef;

BRIM_API BrimSimDef brim_default_sim_def(void);

typedef struct BrimSim BrimSim;

/// Checks the def, seeds the liquid. On error *sim is NULL.
BRIM_API BrimResult brim_sim_create(const BrimSimDef *def, BrimSim **sim, BrimError *error);
BRIM_API void brim_sim_destroy(BrimSim **sim);

/// One time step. The step never crosses a frame time.
BRIM_API BrimResult brim_sim_step(BrimSim *sim, BrimError *error);
/// Steps until the next frame time.
BRIM_API BrimResult brim_sim_advance_frame(BrimSim *sim, BrimError *error);

BRIM_API double brim_sim_time(const BrimSim *sim);
BRIM_API int64_t brim_sim_step_count(const BrimSim *sim);
/// Frames completed: 0 after create.
BRIM_API int brim_sim_frame(const BrimSim *sim);
/// Frames in the whole simulation, duration times frame_rate.
BRIM_API int brim_sim_frame_count(const BrimSim *sim);
/// The def's numbers, threads and isa as chosen. Its lists are empty: their shapes have become the
/// simulation's own. Valid as long as the simulation.
BRIM_API const BrimSimDef *brim_sim_def(const BrimSim *sim);
BRIM_API int brim_sim_threads(const BrimSim *sim);
BRIM_API const char *brim_sim_isa_name(const BrimSim *sim);

/// A number that particles carry beyond position, velocity and id.
typedef struct BrimAttribute {
    const char *name, *unit;
    bool whole;         ///< values are uint32_t, else float
    const void *values; ///< [count]
} BrimAttribute;
enum { BRIM_EXTRA_MAX = 8 };

/// A cell of the regular grid, full of liquid but without particles: it lies below a narrow band.
typedef struct BrimInterior {
    float position[3]; ///< of its middle, m
    float velocity[3]; ///< of the liquid there, m/s
} BrimInterior;

/// The particles where they are, without copying. Valid until the next call that changes the
/// simulation. Velocities may be written before the first step and between steps. With a narrow
/// band there are none below it. Particles are in storage order; `id` is stable, unique and counts
/// from 0; after 2^32 particles made in a run, as by a band over very many steps, it starts over.
typedef struct BrimParticles {
    size_t count;
    const float *x, *y, *z; ///< m
    float *vx, *vy, *vz;    ///< m/s
    const uint32_t *id;
    size_t spray;    ///< the last so many fly by themselves and are no part of the liquid's surface
    int extra_count; ///< attributes that the def asked for
    BrimAttribute extra[BRIM_EXTRA_MAX];
    const BrimInterior *interior; ///< [interior_count]; NULL: not known. Not set by a simulation
    size_t interior_count;
    const float (*bend)[3]; ///< [bend_count], see brim_sim_bend; NULL: not known. Not set by a
                            ///< simulation
    size_t bend_count;
} BrimParticles;

BRIM_API BrimParticles brim_sim_particles(const BrimSim *sim);
/// The cells below a narrow band, in storage order => new array, for free(); empty without a band.
BRIM_API BrimResult brim_sim_interior(const BrimSim *sim, BrimInterior **cells, size_t *count,
                                      BrimError *error);

/// How a warped grid is bent: by how much (m) the nodes of the coarse lattice that carries it lie
/// off their places on a regular grid, along rows of x, then y, then z => new array, for free();
/// empty on a regular grid. Frames of 3D scenes hold it, so that their surfaces are made on the
/// bent grid.
BRIM_API BrimResult brim_sim_bend(const BrimSim *sim, float (**bend)[3], size_t *count,
                                  BrimError *error);

typedef enum BrimField {
    BRIM_FIELD_PRESSURE,  ///< Pa, 1 component
    BRIM_FIELD_VELOCITY,  ///< m/s, 3 components, averaged to cell centres
    BRIM_FIELD_LEVEL_SET, ///< m, negative in the liquid, cut at two cells; below a narrow band's
                          ///< surface at its width and two
    BRIM_FIELD_DENSITY,   ///< relative to the full seeding, 1 component; full below a narrow band
    BRIM_FIELD_SOLID,     ///< m, signed distance to the solids, negative inside
} BrimField;

/// Where the nodes of the grid are, m: from node low to node high of each axis, both included, x
/// fastest => out [nodes][3]. Node i is the low corner of cell i. A regular grid's are evenly
/// apart.
BRIM_API BrimResult brim_sim_nodes(const BrimSim *sim, const int low[3], const int high[3],
                                   float *out, size_t out_floats, BrimError *error);
/// Reads the nodes from a file of fields of a warped grid (.vts) => new array [nodes][3], for
/// free().
BRIM_API BrimResult brim_read_nodes(const char *path, float **nodes, size_t *count,
                                    BrimError *error);
BRIM_API int brim_field_components(BrimField field);
/// The smallest box of cells that holds all liquid, also that below a narrow band: low[] <= cell <
/// high[]. False when there is none.
BRIM_API bool brim_sim_bounds(const BrimSim *sim, int low[3], int high[3]);
/// Copies a field to a dense array [cells z][y][x][components]. Cells without a tile read as air.
BRIM_API BrimResult brim_sim_field(const BrimSim *sim, BrimField field, float *out,
                                   size_t out_floats, BrimError *error);
/// The same for the cells from `low` to one before `high`.
BRIM_API BrimResult brim_sim_field_box(const BrimSim *sim, BrimField field, const int low[3],
                                       const int high[3], float *out, size_t out_floats,
                                       BrimError *error);
/// Distance to the solids at points, m, as the simulation sees it: between cell corners,
/// negative inside, cut at three cells. z is not read in 2D. => out [count]
BRIM_API void brim_sim_solid_distance(const BrimSim *sim, size_t count, const float *x,
                                      const float *y, const float *z, float *out);

// ------------------------------------------------------------------------- bodies, changes

/// A body as it is now; 2D: of a metre of depth.
typedef struct BrimBodyState {
    BrimVec3 center;    ///< of mass, m
    BrimVec3 velocity;  ///< of the centre, m/s, half a step ahead as all velocities
    BrimVec3 spin;      ///< rad/s; 0 for a body with pins
    BrimVec3 low, high; ///< bounds, m
    double mass;        ///< kg
    double kinetic;     ///< energy of its motion, J
    double elastic;     ///< energy of its deformation, J, in the middle of the step to come as well
    BrimVec3 pressure;  ///< force of the water, friction included, N, in the last step
    BrimVec3 contact;   ///< force of walls, solids and other bodies, N
    BrimVec3 hand;      ///< force of hands, N
} BrimBodyState;

/// The surface of a body as it is now; 2D: segments, whose last two corners are one. Belongs to the
/// simulation and is good until the next step.
typedef struct BrimBodySurface {
    size_t vertex_count, triangle_count;
    const float (*position)[3];    ///< m
    const float (*velocity)[3];    ///< m/s
    const uint32_t (*triangle)[3]; ///< counter-clockwise from outside
} BrimBodySurface;

BRIM_API int brim_sim_body_count(const BrimSim *sim);
BRIM_API BrimResult brim_sim_body_state(const BrimSim *sim, int index, BrimBodyState *state,
                                        BrimError *error);
BRIM_API BrimResult brim_sim_body_surface(const BrimSim *sim, int index, BrimBodySurface *surface,
                                          BrimError *error);

/// Distance to the surface of a body at points, m, negative inside; of elastic bodies cut at three
/// and a half cells. (x, y, z) [count] => distance [count]
BRIM_API BrimResult brim_sim_body_distance(const BrimSim *sim, int index, size_t count,
                                           const float *x, const float *y, const float *z,
                                           float *distance, BrimError *error);

/// Takes hold of the first body that a ray meets, at the point where it meets it, which stays where
/// it is until it is dragged. *grab names the hold; *point (may be NULL) is that point. In 2D a ray
/// that leaves the plane takes the body that it goes through, at the nearest point of its outline.
/// BRIM_ERROR_INPUT when there is no body. Bodies without pins are pulled with at most 20 times
/// their weight. A hand is felt after the step that is already under way.
BRIM_API BrimResult brim_sim_grab(BrimSim *sim, BrimVec3 origin, BrimVec3 direction, int *grab,
                                  BrimVec3 *point, BrimError *error);
/// Takes hold of a vertex of a body's surface.
BRIM_API BrimResult brim_sim_grab_vertex(BrimSim *sim, int body, size_t vertex, int *grab,
                                         BrimError *error);
/// Drags the held point to a target, straight and at an even pace during the next `duration`
/// seconds of simulated time; with 0 as fast as the hand can pull.
BRIM_API BrimResult brim_sim_drag(BrimSim *sim, int grab, BrimVec3 target, double duration,
                                  BrimError *error);
/// Lets go. The name may be given again to a later hold.
BRIM_API BrimResult brim_sim_release(BrimSim *sim, int grab, BrimError *error);

typedef struct BrimGrabState {
    int body;
    BrimVec3 point;  ///< that is held, m
    BrimVec3 target; ///< to which it is pulled, m
    BrimVec3 force;  ///< with which it is pulled, N, in the last step
} BrimGrabState;
BRIM_API BrimResult brim_sim_grab_state(const BrimSim *sim, int grab, BrimGrabState *state,
                                        BrimError *error);

/// What a program changes while a simulation runs is kept in checkpoints: a loaded simulation goes
/// on with it bit for bit. Changes are made between steps.

/// Gravity now, m/s^2.
BRIM_API BrimVec3 brim_sim_gravity(const BrimSim *sim);
/// From now on gravity is this, m/s^2, whatever the def says. Velocities stand half a step ahead of
/// positions: it acts from the middle of the next step on.
BRIM_API BrimResult brim_sim_set_gravity(BrimSim *sim, BrimVec3 gravity, BrimError *error);
/// Adds liquid where its shape holds neither liquid nor solids. The particles come in with the next
/// step, and count as emitted; *added tells how many, 0 when there is no room. Their attribute
/// `source` counts on behind the def's liquids and sources.
BRIM_API BrimResult brim_sim_add_liquid(BrimSim *sim, const BrimLiquidDef *liquid, int64_t *added,
                                        BrimError *error);
/// How many changes were made by this and the following functions, since the start of what was
/// loaded, too; velocities that a program writes into the particles are not among them.
BRIM_API int64_t brim_sim_change_count(const BrimSim *sim);
/// A hash of all in the def that decides the result, and of these changes in their order: without
/// any it is the one in run.json.
BRIM_API uint64_t brim_sim_scene_hash(const BrimSim *sim);

/// Adds a solid; *index names it in brim_sim_move_solid. Solids of the def come first.
BRIM_API BrimResult brim_sim_add_solid(BrimSim *sim, const BrimSolidDef *solid, int *index,
                                       BrimError *error);
/// From now on the host moves this solid: it travels to this placement (added to its shape's own,
/// like a keyframe) during the next `duration` seconds of simulated time. With 0 it is there at
/// once, as if it had appeared: water is pushed out of it, and gets no speed from it.
BRIM_API BrimResult brim_sim_move_solid(BrimSim *sim, int index, BrimVec3 position,
                                        BrimVec3 rotation, double duration, BrimError *error);
/// Removes a solid; the indices of the others do not change. After brim_sim_load a solid that
/// the program had added and removed is added again like the others, and is gone.
BRIM_API BrimResult brim_sim_remove_solid(BrimSim *sim, int index, BrimError *error);

/// How a solid stands.
typedef struct BrimSolidState {
    bool present;      ///< it is there: its start has come
    float rotation[9]; ///< row major; point = rotation * local + position
    BrimVec3 position; ///< of its pivot, the shape's own position, m
    bool deforms;      ///< its surface changes: a mesh of frames
} BrimSolidState;

/// The solids of the def, those added later, and one for each body.
BRIM_API int brim_sim_solid_count(const BrimSim *sim);
/// As the last step left it. A body's says only that it is there: see brim_sim_body_surface.
BRIM_API BrimResult brim_sim_solid_state(const BrimSim *sim, int index, BrimSolidState *state,
                                         BrimError *error);

/// A key of the scene that may change between steps, with its value now.
typedef struct BrimSetting {
    char key[48]; ///< "solver.flip_ratio", "sources[1].velocity"
    const char *range, *unit, *help;
    int count;        ///< of values: 3 for a vector
    double values[3]; ///< in the unit
} BrimSetting;

/// The settings of this simulation, one after the other; false past the last.
BRIM_API bool brim_sim_setting(const BrimSim *sim, int index, BrimSetting *setting);
/// Changes one. Checkpoints hold it. BRIM_ERROR_INPUT when the simulation has no such setting or
/// the value is not allowed.
BRIM_API BrimResult brim_sim_set(BrimSim *sim, const char *key, const double *values, int count,
                                 BrimError *error);

// ---------------------------------------------------------------------------------- events

/// Something that was done to a simulation between two steps.
typedef enum BrimEventKind {
    BRIM_EVENT_SET,     ///< set KEY VALUE...: brim_sim_set
    BRIM_EVENT_MOVE,    ///< move SOLID POSITION ROTATION DURATION: brim_sim_move_solid
    BRIM_EVENT_GRAB,    ///< grab HOLD ORIGIN DIRECTION: brim_sim_grab by a ray
    BRIM_EVENT_DRAG,    ///< drag HOLD POSITION DURATION: brim_sim_drag
    BRIM_EVENT_RELEASE, ///< release HOLD: brim_sim_release
    BRIM_EVENT_POUR,    ///< pour POSITION VELOCITY RADIUS: a ball of liquid, where there is room
    BRIM_EVENT_STIR,    ///< stir POSITION VELOCITY RADIUS: liquid in a ball takes on a velocity
} BrimEventKind;

typedef struct BrimEvent {
    int64_t step; ///< comes after so many steps
    BrimEventKind kind;
    int index;                             ///< of a solid; name of a hold, -1 in a new one
    BrimVec3 position, rotation, velocity; ///< m, degrees, m/s; grab: the last is the direction
    float radius;                          ///< m
    double duration;                       ///< s
    char key[48];                          ///< set
    int count;
    double values[3];
} BrimEvent;

/// Reads "move 0 0.1 0 0 0 0 0 0.05": a verb and its numbers, vectors as three, in the order above.
/// `step` is left at 0. `text` need not end with a zero. Allocates nothing.
BRIM_API BrimResult brim_event_parse(const char *text, size_t length, BrimEvent *event,
                                     BrimError *error);
/// Writes what brim_event_parse reads back to the same bits. False when it does not fit.
BRIM_API bool brim_event_print(const BrimEvent *event, char *text, size_t size);
/// Does it. The same events between the same steps give the same bits. A grab without a name gets
/// that of its hold; one with a name is refused when the hold gets another.
BRIM_API BrimResult brim_sim_apply(BrimSim *sim, BrimEvent *event, BrimError *error);

/// Events in the order of their steps.
typedef struct BrimEvents {
    size_t count;
    BrimEvent *event;
} BrimEvents;

/// A file with a line for each: the step, a space, the event's text. Lines that begin with # are
/// comments; a last line without its end is left out.
BRIM_API BrimResult brim_events_read(const char *path, BrimEvents *events, BrimError *error);
BRIM_API void brim_events_free(BrimEvents *events);

// ------------------------------------------------------------------------------ statistics

typedef enum BrimStage {
    BRIM_STAGE_SOLIDS,
    BRIM_STAGE_BODIES, ///< their dynamics and surfaces, also within the pressure solve
    BRIM_STAGE_EMIT,
    BRIM_STAGE_ADVECT,
    BRIM_STAGE_BAND,
    BRIM_STAGE_SORT,
    BRIM_STAGE_DENSITY,
    BRIM_STAGE_TO_GRID,
    BRIM_STAGE_SURFACE,
    BRIM_STAGE_FORCES,
    BRIM_STAGE_PROJECT,
    BRIM_STAGE_EXTRAPOLATE,
    BRIM_STAGE_TO_PARTICLES,
    BRIM_STAGE_MEASURE,
    BRIM_STAGE_COUNT
} BrimStage;

/// One row of stats.csv: the last step.
typedef struct BrimStats {
    int64_t step;
    double time, dt;                                   ///< s, at the end of the step
    int64_t particles, seeded, emitted, drained, left; ///< counts since the start; seeded + emitted
                                                       ///< + resampled - drained - left = particles
    int64_t resampled; ///< with a band: particles that it made less those it took
    int64_t interior;  ///< with a band: particles' worth of liquid below it, where there are none
    int64_t spray;     ///< of the particles: those that fly by themselves
    int64_t atomised, rejoined; ///< since the start: became spray, became liquid again
    double volume_ratio; ///< eq. 19 of the density paper, relative to seeded + emitted - gone
    double volume_cells; ///< cells that hold liquid, relative to the start
    double volume; ///< of the liquid less what is compressed, relative to what should be there
    double kinetic_energy, potential_energy; ///< J
    double max_speed;                        ///< m/s
    double max_divergence;                   ///< largest |div u| dt of the projected field
    int64_t iterations;
    double residual;                              ///< of the solver, same unit as max_divergence
    double density_error_mean, density_error_max; ///< of density / rest - 1, before the projection
    double density_error_mean_after, density_error_max_after;
    double displaced_mean, displaced_max; ///< by the density projection, cells
    int64_t particles_in_solids; ///< at the end of the step; counted by the density projection
    int64_t density_iterations;
    double cell_least, cell_most; ///< volume of the smallest and largest cell of a warped grid, of
                                  ///< a regular one's; 1 without
    int64_t tiles;
    int64_t memory_bytes;
    double ms_total;
    double ms[BRIM_STAGE_COUNT];
} BrimStats;

BRIM_API const BrimStats *brim_sim_stats(const BrimSim *sim);
/// Columns of stats.csv, in order; NULL past the last.
BRIM_API const char *brim_stats_column(int index);
/// The value of a column. Counts are exact up to 2^53.
BRIM_API double brim_stats_value(const BrimStats *stats, int index);
/// "advect", "to_grid", ...
BRIM_API const char *brim_stage_name(BrimStage stage);

/// The gauges of the def, in its order.
BRIM_API int brim_sim_gauge_count(const BrimSim *sim);
BRIM_API const char *brim_sim_gauge_name(const BrimSim *sim, int gauge);
/// Columns of a gauge with their units, "pressure (Pa)"; NULL past the last.
BRIM_API const char *brim_sim_gauge_column(const BrimSim *sim, int gauge, int column);
/// What a gauge shows at the end of the last step => values [columns, at most BRIM_GAUGE_COLUMNS].
/// NaN: velocities out of water, a front without water, and before the first step all that the
/// flow tells. Velocities and flows are half a step ahead of the rest, as those of particles.
BRIM_API BrimResult brim_sim_gauge_read(const BrimSim *sim, int gauge, double *values,
                                        BrimError *error);

// ----------------------------------------------------------------------------- checkpoints

/// Writes the full state beside `path`, syncs, renames.
BRIM_API BrimResult brim_sim_save(const BrimSim *sim, const char *path, BrimError *error);
/// Makes a simulation that continues bit for bit. `def` must be the one that was saved.
BRIM_API BrimResult brim_sim_load(const BrimSimDef *def, const char *path, BrimSim **sim,
                                  BrimError *error);

// ---------------------------------------------------------------------------------- scenes

/// A scene file in memory: owns the def and all it points to.
typedef struct BrimScene BrimScene;

/// `sets` are "key=value" strings that override the file, as in "time.step=0.002".
BRIM_API BrimResult brim_scene_load(const char *path, const char *const *sets, int set_count,
                                    BrimScene **scene, BrimError *error);
/// The same from text; `name` stands for the file in messages. Files that the scene names are
/// looked up beside `name`.
BRIM_API BrimResult brim_scene_parse(const char *text, size_t length, const char *name,
                                     const char *const *sets, int set_count, BrimScene **scene,
                                     BrimError *error);
BRIM_API void brim_scene_destroy(BrimScene **scene);
/// Puts file and line before an error that begins with a key of the scene, as those of
/// brim_sim_create do ("sources[0]: the shape lies outside ..."). Returns error->result.
BRIM_API BrimResult brim_scene_locate(const BrimScene *scene, BrimError *error);
BRIM_API const BrimSimDef *brim_scene_def(const BrimScene *scene);
/// What was changed to make the scene fit, as a note to its author: sides of the domain that moved
/// outward to whole cells. "" when nothing was. Valid as long as scene.
BRIM_API const char *brim_scene_note(const BrimScene *scene);
/// The scene after defaults as JSON (which is YAML: it can be run again). Valid as long as scene.
BRIM_API const char *brim_scene_json(const BrimScene *scene);

/// One scene key, as `brim fields` prints it.
typedef struct BrimFieldInfo {
    const char *key;     ///< "solver.tolerance", "solids[].shape"
    const char *type;    ///< "number", "integer", "vector", "choice", "text", "list", "flag"
    const char *initial; ///< default, as text
    const char *range;   ///< "> 0", "flip, apic"
    const char *unit;    ///< "m", "" when it has none
    const char *help;    ///< one line
} BrimFieldInfo;

/// NULL past the last.
BRIM_API const BrimFieldInfo *brim_scene_field(int index);

// -------------------------------------------------------------------------------- estimates

typedef struct BrimEstimate {
    int64_t particles; ///< seeded, and emitted until the end
    int64_t tiles;
    int64_t memory_bytes;
    int64_t disk_bytes; ///< frames, checkpoints and statistics of the whole run
    double seconds;     ///< wall time of the whole run; 0 without calibration
    int64_t steps;
    int warning_count;
    char warnings[16][256]; ///< thin walls, emitters or liquid inside solids, liquid outside
} BrimEstimate;

/// What a run will cost. `calibrate` runs a few steps to estimate the time.
/// BRIM_ERROR_MEMORY when the machine is too small for it; the estimate is filled then too.
BRIM_API BrimResult brim_estimate(const BrimSimDef *def, bool calibrate, BrimEstimate *estimate,
                                  BrimError *error);

// ------------------------------------------------------------------------------------ runs

/// A run writes a simulation into a folder: frames, statistics, gauges, checkpoints, run.json.
typedef struct BrimRun BrimRun;

typedef struct BrimRunOptions {
    bool resume;    ///< continue from the newest complete checkpoint in the folder
    bool overwrite; ///< empty a folder that holds an earlier run first
    int frames;     ///< stop after this many frames; 0 = the scene's duration
} BrimRunOptions;

/// Opens the folder and writes frame 0 and a checkpoint, or goes on from one. A scene, an option or
/// a checkpoint that is refused leaves the folder as it was, and so does a run that is complete
/// already: brim_run_done is true then. A run that got past frame 0 and has no intact
/// checkpoint is refused: only overwrite starts it again.
BRIM_API BrimResult brim_run_open(const BrimScene *scene, const char *folder,
                                  const BrimRunOptions *options, BrimRun **run, BrimError *error);
/// One step; writes its row of statistics, and frames and checkpoints when due.
BRIM_API BrimResult brim_run_step(BrimRun *run, BrimError *error);
BRIM_API bool brim_run_done(const BrimRun *run);
BRIM_API int brim_run_frame_count(const BrimRun *run);
BRIM_API BrimSim *brim_run_sim(BrimRun *run);
/// Writes a checkpoint now; use it on interrupt. Runs that end do so by themselves.
BRIM_API BrimResult brim_run_checkpoint(BrimRun *run, BrimError *error);
/// What --resume did: the checkpoint used, damaged ones passed over. "" for a new run.
BRIM_API const char *brim_run_message(const BrimRun *run);
/// Checkpoints that were passed over, damaged or unreadable; the message names them.
BRIM_API int brim_run_passed_over(const BrimRun *run);
/// The newest checkpoint in the folder, "" when there is none.
BRIM_API const char *brim_run_last_checkpoint(const BrimRun *run);
BRIM_API void brim_run_close(BrimRun **run);

// ----------------------------------------------------------------------------------- files

/// Writes particles as binary little-endian PLY: id, x, y, z, vx, vy, vz; sorted by id.
BRIM_API BrimResult brim_write_particles(const BrimSim *sim, const char *path, BrimError *error);
/// Writes pressure, velocity, level set and density as VTK image data, for ParaView.
BRIM_API BrimResult brim_write_fields(const BrimSim *sim, const char *path, BrimError *error);

/// Particles read back from a PLY file.
typedef struct BrimFrame {
    size_t count;
    float *x, *y, *z, *vx, *vy, *vz;
    uint32_t *id;
    size_t spray;    ///< the last so many are spray: property `type` 1
    int extra_count; ///< what else they carry: of brim_frame_read_all
    BrimAttribute extra[BRIM_EXTRA_MAX];
    char extra_name[BRIM_EXTRA_MAX][32];
    BrimInterior *interior; ///< [interior_count]; NULL: the file does not tell
    size_t interior_count;
    float (*bend)[3]; ///< [bend_count], of a warped grid; NULL: the file does not tell
    size_t bend_count;
} BrimFrame;

BRIM_API BrimResult brim_frame_read(const char *path, BrimFrame *frame, BrimError *error);
/// The same with other properties of the particles, as many as there is room for; units are "".
BRIM_API BrimResult brim_frame_read_all(const char *path, BrimFrame *frame, BrimError *error);
BRIM_API void brim_frame_free(BrimFrame *frame);
/// The frame's arrays as they are, for functions that take particles.
BRIM_API BrimParticles brim_frame_particles(const BrimFrame *frame);
/// One property of a PLY file's particles by name, in the order of brim_frame_read: new array
/// [*count], release with free().
BRIM_API BrimResult brim_frame_values(const char *path, const char *name, float **values,
                                      size_t *count, BrimError *error);

/// Describes a checkpoint or a frame in a few lines of text, checksum verified.
BRIM_API BrimResult brim_describe_file(const char *path, char *text, size_t text_size,
                                       BrimError *error);

// -------------------------------------------------------------------------------- surfaces

/// How particles become a surface. Lengths are in cells of the simulation.
typedef struct BrimMeshDef {
    double radius;    ///< of the kernel that joins particles, 0.5 to 4; 0 = three spacings
    int resolution;   ///< nodes along a cell's edge: 1, 2 or 3
    int smooth;       ///< passes of smoothing, 0 to 100; each piece of water keeps its volume
    bool anisotropic; ///< kernels stretched along the surface (Yu and Turk)
    bool positions;   ///< by positions alone, also where particles carry the surface (tracking)
    int threads;      ///< 0 = one for each core; the result does not depend on it
    BrimIsa isa;
} BrimMeshDef;

BRIM_API BrimMeshDef brim_default_mesh_def(void);

/// A closed surface of triangles, each seen counter-clockwise from the air. Every edge belongs to
/// two triangles. Without water: no vertices. Where water touches a side of the domain the surface
/// lies exactly on it (0 or the domain's size), up to a bevel of a sixteenth of the node spacing
/// where two sides meet. A vertex where the free surface ends on a side has the free surface's
/// normal: triangles with all corners on one side are to be shaded by their own, flat.
typedef struct BrimMesh {
    size_t vertex_count, triangle_count;
    float (*position)[3];    ///< [vertex_count], m
    float (*normal)[3];      ///< [vertex_count], unit, out of the water
    float (*velocity)[3];    ///< [vertex_count], m/s
    uint32_t (*triangle)[3]; ///< [triangle_count]
    int32_t *body;           ///< [vertex_count] the scene's body that it belongs to; NULL: none has
} BrimMesh;

/// Makes surfaces for the frames of one scene: holds its solids. 3D only. With a narrow band frames
/// must hold the cells below it (BrimOutputDef.interior).
typedef struct BrimMesher BrimMesher;

BRIM_API BrimResult brim_mesher_create(const BrimSimDef *def, const BrimMeshDef *mesh_def,
                                       BrimMesher **mesher, BrimError *error);
BRIM_API void brim_mesher_destroy(BrimMesher **mesher);
/// The surface of a frame's particles; `time` places moving solids. Particles outside the domain
/// count as on its sides. With def->tracking and particles that carry the surface (extra: phi and
/// normal, as brim_frame_read_all gives them) it is that surface. On failure *mesh is empty. Free
/// it with brim_mesh_free.
BRIM_API BrimResult brim_mesher_mesh(BrimMesher *mesher, const BrimParticles *particles,
                                     double time, BrimMesh *mesh, BrimError *error);
/// The same for a simulation as it is, with its solids where they are.
BRIM_API BrimResult brim_sim_mesh(const BrimSim *sim, const BrimMeshDef *mesh_def, BrimMesh *mesh,
                                  BrimError *error);
BRIM_API void brim_mesh_free(BrimMesh *mesh);

/// The solids of a def by themselves, for whoever draws them.
typedef struct BrimSolids BrimSolids;

BRIM_API BrimResult brim_solids_create(const BrimSimDef *def, BrimSolids **solids,
                                       BrimError *error);
BRIM_API void brim_solids_destroy(BrimSolids **solids);
/// How a solid stands at a time by the def's own motion.
BRIM_API BrimResult brim_solids_state(BrimSolids *solids, int index, double time,
                                      BrimSolidState *state, BrimError *error);
/// The surface of a solid around its pivot, edges kept, without normals and velocities; what has no
/// end is cut a little outside the domain. 2D: a slice one cell deep. One that deforms is as it was
/// at the time of the last brim_solids_state. Free it with brim_mesh_free.
BRIM_API BrimResult brim_solids_mesh(const BrimSolids *solids, int index, BrimMesh *mesh,
                                     BrimError *error);
/// Volume inside, m^3.
BRIM_API double brim_mesh_volume(const BrimMesh *mesh);

/// How far a surface jumps from one frame to the next beyond the flow, m: distances between the
/// two, each carried half the time towards the other by its vertices' velocity. Vertices on the
/// domain's sides are left out.
typedef struct BrimMeshJump {
    double median, most_of_it, largest; ///< half, 99 % and all of the vertices are within
    double beyond;                      ///< part of the vertices farther than was looked
} BrimMeshJump;

/// Distances are cut at `farthest`, m. `size` is the domain's. Empty surfaces do not jump.
BRIM_API BrimResult brim_mesh_jump(const BrimMesh *before, const BrimMesh *after, double dt,
                                   BrimVec3 size, double farthest, BrimMeshJump *jump,
                                   BrimError *error);

typedef enum BrimMeshFormat {
    /// binary little-endian: x, y, z, nx, ny, nz, vx, vy, vz, body; triangles. Without normals,
    /// velocities or bodies where the mesh has none
    BRIM_MESH_PLY,
    BRIM_MESH_OBJ, ///< text: positions, normals, triangles; no velocities
    BRIM_MESH_VTP, ///< VTK PolyData, for ParaView: positions, triangles, Normals, velocity
} BrimMeshFormat;

/// The surfaces of all bodies with the velocity and the body's number of each vertex, as PLY; 2D:
/// closed slices, one cell deep, about z = 0.
BRIM_API BrimResult brim_write_bodies(const BrimSim *sim, const char *path, BrimError *error);
/// A row for each body: what BrimBodyState holds, as CSV.
BRIM_API BrimResult brim_write_body_states(const BrimSim *sim, const char *path, BrimError *error);

BRIM_API BrimResult brim_write_mesh(const BrimMesh *mesh, double time, int frame,
                                    BrimMeshFormat format, const char *path, BrimError *error);
/// A surface that brim_write_mesh wrote as PLY.
BRIM_API BrimResult brim_mesh_read(const char *path, BrimMesh *mesh, BrimError *error);

// ---------------------------------------------------------------------- for other programs

/// Writes a frame of the run in folder `run` for ParaView into the folder `to`, which must exist:
/// particles_NNNNNN.vtp from particles/NNNNNN.ply, and surface_ and foam_ where the run has them;
/// then run.pvd anew, with all frames in the folder and their times. In RUN/paraview it names the
/// run's fields too.
BRIM_API BrimResult brim_write_paraview(const char *run, const char *to, int frame,
                                        double frame_rate, BrimError *error);

/// Whether this build writes OpenVDB files: whether it has OpenVDB.
BRIM_API bool brim_writes_vdb(void);
/// Writes a 3D simulation as OpenVDB file: `surface`, a narrow-band level set of the surface that
/// brim_sim_mesh makes, m, voxels of a cell divided by the def's resolution; `velocity` at the
/// centres of cells, m/s. The same bytes for any number of threads. BRIM_ERROR_MISSING in a build
/// without OpenVDB.
BRIM_API BrimResult brim_write_vdb(const BrimSim *sim, const BrimMeshDef *mesh_def,
                                   const char *path, BrimError *error);

/// A frame that a run has written.
typedef struct BrimVdbFrame {
    const BrimMesh *surface;
    double voxel; ///< edge of the level set's voxels, m
    /// Velocity comes from this file, written by brim_write_fields, except in frame 0, where the
    /// grid has none yet; NULL: from the particles.
    const char *fields;
    const BrimParticles *particles;
    double time; ///< s
    int frame;
} BrimVdbFrame;

/// The same file from such a frame; of the def only the domain is read.
BRIM_API BrimResult brim_write_vdb_frame(const BrimSimDef *def, const BrimVdbFrame *frame,
                                         const char *path, BrimError *error);

// ------------------------------------------------------------------------------------ foam

typedef enum BrimFoamType {
    BRIM_FOAM_SPRAY,  ///< flies
    BRIM_FOAM_FOAM,   ///< floats, and ages
    BRIM_FOAM_BUBBLE, ///< rises
} BrimFoamType;

typedef struct BrimFoamParticle {
    float position[3], velocity[3]; ///< m, m/s
    float age, life;                ///< s since it was born, and left as foam
    float size;                     ///< radius, m
    uint32_t id;
    uint8_t type; ///< BrimFoamType
} BrimFoamParticle;

typedef struct BrimFoamCounts {
    int64_t spray, foam, bubbles; ///< present
    int64_t born, gone;           ///< since the frame before
} BrimFoamCounts;

BRIM_API BrimFoamDef brim_default_foam_def(void);

/// Foam of the frames of one scene, taken in order; seeded by the scene's seed. With a narrow band
/// frames must hold the cells below it (BrimOutputDef.interior), and particles_per_cell must be a
/// square (2D) or a cube (3D), as scene files ask anyway.
typedef struct BrimFoam BrimFoam;

BRIM_API BrimResult brim_foam_create(const BrimSimDef *def, const BrimFoamDef *foam_def,
                                     BrimFoam **foam, BrimError *error);
BRIM_API void brim_foam_destroy(BrimFoam **foam);
/// Goes on to a later frame, of which these are the liquid's particles: in any order, matched by id
/// with those before. The first one has no foam. A failure leaves all as it was.
BRIM_API BrimResult brim_foam_advance(BrimFoam *foam, const BrimParticles *liquid, int frame,
                                      double time, BrimError *error);
/// Takes a frame of foam that brim_foam_write wrote, and the liquid of the same frame, as if
/// brim_foam_advance had just come there. BRIM_ERROR_INPUT when it was made with other settings.
BRIM_API BrimResult brim_foam_restore(BrimFoam *foam, const BrimParticles *liquid, int frame,
                                      double time, const char *path, BrimError *error);

/// A frame of foam, with all that is needed to go on from it.
typedef struct BrimFoamFrame {
    size_t count;
    BrimFoamParticle *particle; ///< [count] by id
    BrimFoamCounts counts;
    int frame;         ///< -1 before the first
    double time;       ///< s
    uint32_t next_id;  ///< that the next one born gets
    uint64_t settings; ///< a hash of what it was made with
} BrimFoamFrame;

/// The foam as it is now, not copied: valid until the next call that changes it.
BRIM_API BrimFoamFrame brim_foam_frame(const BrimFoam *foam);
/// Binary little-endian PLY: id, x, y, z, vx, vy, vz, type, age, life, size; sorted by id.
BRIM_API BrimResult brim_foam_write(const BrimFoamFrame *frame, const char *path, BrimError *error);
/// Reads it back.
BRIM_API BrimResult brim_foam_read(const char *path, BrimFoamFrame *frame, BrimError *error);
/// The same without particles: count and counts alone, from the header.
BRIM_API BrimResult brim_foam_read_counts(const char *path, BrimFoamFrame *frame, BrimError *error);
BRIM_API void brim_foam_free(BrimFoamFrame *frame);
// ---------------------------------------------------------------------- warped grids at rest

/// Pressure on a warped grid that stands still, against exact answers: what the tables of the paper
/// on warped grids measure. A simulation needs none of this.
typedef enum BrimWarpCase {
    BRIM_WARP_DISK,   ///< 2D: a point source in a disk of radius 0.4 m; pressure against ln r
    BRIM_WARP_VORTEX, ///< 2D: what advection adds to a Taylor-Green vortex in [0, pi]^2
    BRIM_WARP_PULSE,  ///< 2D: one cell of a closed box moves up
    BRIM_WARP_POOL,   ///< 2D, 3D: a pool at rest, its surface tilted with gravity
    BRIM_WARP_CLOSED, ///< 2D, 3D: the operator of a closed box: its null space; few cells
} BrimWarpCase;

typedef struct BrimWarpTestDef {
    BrimWarpCase kind;
    int dim;           ///< 2 or 3
    int cells;         ///< along each axis
    double strength;   ///< of the warp, 0 to below 1
    int coarse_cells;  ///< of the lattice that the mesh is bent on, at most; 0 = 64
    int order;         ///< of the free surface, 1 or 2
    bool one_point;    ///< quadrature at the middle of each cell instead of at 2^dim points
    bool drop_slivers; ///< as a simulation does: nodes hardly below the surface are air
    double tilt;       ///< pool, degrees
    int threads;       ///< 0 = one for each core
} BrimWarpTestDef;

typedef struct BrimWarpTest {
    double error;         ///< disk: mean |p - exact| at nodes of cut cells; vortex: at all nodes
    double speed;         ///< left by the projection; vortex: mean, pool: largest, of g dt
    double checkerboard;  ///< mean alternating part of the pressure in a cell, of its mean size
    double least, most;   ///< volume of a cell, at its corners, relative to a regular one
    int iterations;       ///< of the solver, until the residual is 1e-9 of what it was
    int null_space;       ///< closed: dimensions
    size_t count;         ///< of values
    float *x, *y, *value; ///< [count] 2D: pressure at nodes, pool: speed of cells; m, m^2/s^2, 1
} BrimWarpTest;

BRIM_API BrimWarpTestDef brim_default_warp_test_def(void);
BRIM_API BrimResult brim_warp_test(const BrimWarpTestDef *def, BrimWarpTest *test,
                                   BrimError *error);
BRIM_API void brim_warp_test_free(BrimWarpTest *test);

// -------------------------------------------------------------------------------- pictures

typedef enum BrimStyle {
    BRIM_STYLE_WATER,     ///< the surface, ray-traced; 3D only, 2D scenes are drawn as particles
    BRIM_STYLE_PARTICLES, ///< spheres, in 2D disks, coloured by a quantity, with a legend
} BrimStyle;

typedef struct BrimCamera {
    BrimVec3 eye, target; ///< m; the same point: found from the domain
    float angle;          ///< of view from bottom to top, degrees; 0 = 36
} BrimCamera;

typedef struct BrimPictureDef {
    int width, height; ///< 16 to 16384
    BrimStyle style;
    BrimCamera camera;    ///< 3D
    int samples;          ///< water: rays a pixel, 1 to 4096; half to three times, as needed
    double shutter;       ///< water: share of a frame's time that motion blurs over, 0 to 1
    const char *colour;   ///< particles: "speed", "density", "id", or a name for `values`
    const float *values;  ///< [particles] with any other colour
    const char *unit;     ///< of the values, for the legend; may be NULL
    double low, high;     ///< ends of the colour scale; low = high: from the frame
    bool grid, level_set; ///< lines between cells, in 3D of `nodes` alone; 2D: of the surface
    const float *nodes;   ///< [z][y][x][3] of a warped grid, cells + 1 along each axis (2D: one
                          ///< along z), m; in 3D its middle slice is drawn. NULL: regular
    const BrimFoamFrame *foam; ///< drawn white, bubbles faint; NULL: none
    const char *bodies;        ///< file that brim_write_bodies wrote, drawn as solids; NULL: none
    int threads;               ///< 0 = one for each core; the bytes are the same for any number
    const char *note;          ///< kept in the file for brim_picture_note; NULL: none
    /// Told now and then how much of the picture is done, 0 to 1, by one thread at a time.
    void (*progress)(void *context, double share);
    void *progress_context;
} BrimPictureDef;

BRIM_API BrimPictureDef brim_default_picture_def(void);
/// Draws a frame as PNG or, when the path ends in .exr, as OpenEXR in linear light (half floats,
/// not compressed; water as bright as the scene is, without the curve for screens). `time` places
/// the moving solids. `mesh` is the water's surface; without one, or in a build without Embree,
/// water is drawn from particles that are joined on the screen. The file appears when it is
/// complete.
BRIM_API BrimResult brim_write_picture(const BrimSimDef *def, const BrimFrame *frame,
                                       const BrimMesh *mesh, double time,
                                       const BrimPictureDef *picture, const char *path,
                                       BrimError *error);
/// The ends of the colour scale that the frame by itself would get: for one scale over a film.
BRIM_API BrimResult brim_picture_range(const BrimSimDef *def, const BrimFrame *frame,
                                       const BrimPictureDef *picture, double *low, double *high,
                                       BrimError *error);
/// The note of a picture, "" when it has none. Fails when the picture is not whole.
BRIM_API BrimResult brim_picture_note(const char *path, char *text, size_t text_size,
                                      BrimError *error);
/// Whether this build can trace rays: whether it has Embree.
BRIM_API bool brim_traces_rays(void);
/// Puts PNG pictures side by side on white, in rows of `columns`, in the order given.
BRIM_API BrimResult brim_join_pictures(const char *const *pictures, int count, int columns,
                                       const char *path, BrimError *error);

// ----------------------------------------------------------------------------------- plots

/// One curve, histogram or set of bars. Values that are not finite leave a gap.
typedef struct BrimSeries {
    const char *name; ///< in the legend; NULL: not there
    const double *x; ///< lines, areas: abscissa; histogram: left edges, evenly spaced; bars: unused
    const double *y;
    size_t count;
    int colour;  ///< 1 to 8 of the palette; 0 = by position among the series
    int dash;    ///< 1 is solid, 2 to 8 are patterns; 0 = by position among the series
    bool points; ///< lines: mark each value
} BrimSeries;

/// A level across a panel, such as a paper's value; a shaded band when low and high differ.
typedef struct BrimLevel {
    double low, high;
    const char *label; ///< NULL: none
} BrimLevel;

typedef enum BrimPanelKind {
    BRIM_PANEL_LINES,
    BRIM_PANEL_AREAS,     ///< series stacked on each other; all share the first one's x
    BRIM_PANEL_BARS,      ///< a group of bars for each category, one bar a series
    BRIM_PANEL_HISTOGRAM, ///< y counts what lies in [x, x + width)
    BRIM_PANEL_TABLE,     ///< text in cells; the first row is the head
} BrimPanelKind;

/// One diagram. Zero-initialised members mean "none" or "from the data".
typedef struct BrimPanelDef {
    BrimPanelKind kind;
    const char *title;
    const char *x_label, *y_label; ///< with the unit: "time (s)"
    const BrimSeries *series;
    int series_count;
    const BrimLevel *levels;
    int level_count;
    const char *const *categories; ///< bars: as many as the longest series
    const char *const *cells;      ///< table: [rows][columns]; NULL is an empty cell
    int rows, columns;
    double x_range[2], y_range[2]; ///< ends of an axis; both 0 = from the data
    double y_span;     ///< least length of an axis from the data: small noise stays small
    bool y_zero;       ///< the axis from the data includes 0
    bool x_log, y_log; ///< values of 0 and below leave a gap
    bool wide;         ///< takes a whole row of the plot
} BrimPanelDef;

/// A figure: panels in rows. Colours are safe for colour-blind eyes and follow the reader's light
/// or dark page; text stays text.
typedef struct BrimPlotDef {
    const char *title;
    const char *note; ///< a line below the panels
    const BrimPanelDef *panels;
    int panel_count;
    int columns;         ///< panels in a row; 0 = one, or two when there are several
    double width;        ///< pixels; 0 = 760
    double panel_height; ///< pixels, axes and title included; 0 = 240
    bool one_legend;     ///< one for all panels but areas, above them
} BrimPlotDef;

/// The figure as SVG text, to be released with brim_text_free.
BRIM_API BrimResult brim_plot_svg(const BrimPlotDef *plot, char **svg, BrimError *error);
BRIM_API void brim_text_free(char **text);
/// Writes text beside `path`, syncs, renames: the file appears whole or not at all.
BRIM_API BrimResult brim_write_text(const char *path, const char *text, BrimError *error);

/// A CSV file of numbers such as stats.csv. A torn last row, as in a file that is being written, is
/// left out.
typedef struct BrimTable {
    int column_count;
    size_t row_count;
    char **names;    ///< [columns]
    double **values; ///< [columns][rows]; text that is no number reads as NaN
} BrimTable;

BRIM_API BrimResult brim_table_read(const char *path, BrimTable *table, BrimError *error);
BRIM_API void brim_table_free(BrimTable *table);
/// The column of that name, NULL when there is none.
BRIM_API const double *brim_table_column(const BrimTable *table, const char *name);

#ifdef __cplusplus
}
#endif

#endif
