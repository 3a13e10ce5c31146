// Every array on the grid that a simulation holds, said once. Members of the state, allocation,
// release, byte counts, the memory estimate, sharing of memory, what follows its tiles in the sort,
// and the sections of a checkpoint follow from this table.
#pragma once
#include <stdint.h>

/// The parts of a step, in order, by which lives of fields are told: name, function (stage_ and
/// that; declared in stages.h), what it does. step.c says when each runs and what it reads and
/// writes.
#define STAGE_LIST(S)                                                                              \
    S(SOLIDS, solids,                                                                              \
      "places the solids for the end of the step; samples them on the tiles that they touch")      \
    S(ATOMISE, atomise,                                                                            \
      "spray: takes fast particles of torn liquid, and flies. (x, v, phi) => flying")              \
    S(ADVECT, advect, "moves particles through the flow and out of solids. (x, v) => (x, key)")    \
    S(TRACE, trace, "band: carries velocity and depth along")                                      \
    S(EMIT, emit, "appends what sources emit, marks what drains take. (x) => (tail, key)")         \
    S(LAND, land,                                                                                  \
      "spray: what took off goes from the liquid, what met something comes back. => (key, tail)")  \
    S(EXCHANGE, exchange,                                                                          \
      "band: takes particles below it, makes those that came up into it. => (key, tail)")          \
    S(IMMERSE, immerse,                                                                            \
      "twins of bodies come among the particles, unsorted; liquid inside moves out. => tail")      \
    S(SORT, sort, "(x, key) => sorted particles, grid, fields on the new tiles")                   \
    S(STRESS, stress,                                                                              \
      "MPM sub-steps: pressure and friction between particles. (x, v) => (x, v, key)")             \
    S(WEIGH, weigh,                                                                                \
      "(x) => density, when it is due; what particles are to be moved for is spread and shifted")  \
    S(SPREAD, spread,                                                                              \
      "displacements that restore the rest density and lead out of solids. => potential")          \
    S(SHIFT, shift, "moves particles by them; they are sorted again. (x) => (x, key)")             \
    S(SWAP, swap, "band: what was carried along becomes the velocity")                             \
    S(DEFORM, deform, "the elastic step. (bodies) => velocities of twins")                         \
    S(TO_GRID, to_grid, "(x, v, affine) => velocity, with a band old")                             \
    S(SURFACE, surface, "(x) => level set and liquid cells")                                       \
    S(COMBINE, combine,                                                                            \
      "band: velocity carried along and that of particles are joined by eq. (3) or (2)")           \
    S(FORCES, forces, "gravity and other forces")                                                  \
    S(VISCOSITY, viscosity, "friction within the liquid")                                          \
    S(FRICTION, friction, "friction at walls")                                                     \
    S(TENSION, tension, "surface tension, as a pull on the faces between liquid and air")          \
    S(PRESSURE, pressure, "finds the pressure that makes the flow free of divergence")             \
    S(SUBTRACT, subtract, "takes its gradient off")                                                \
    S(EXTRAPOLATE, extrapolate,                                                                    \
      "velocity into air and solids as far as a particle can travel in the next step")             \
    S(TO_PARTICLES, to_particles, "=> (v, affine)")                                                \
    S(SYNC, sync,                                                                                  \
      "what twins got goes back to the bodies; rules (14) and (15). (velocity, v) => (bodies, v)") \
    S(WEIGH_AFTER, weigh_after,                                                                    \
      "statistics of the density as it is; at the end of a frame its errors")                      \
    S(EMERGE, emerge, "twins go")                                                                  \
    S(MEASURE, measure, "statistics; an error: a value is not a number, or particles are missing")

/// AT_REST is between steps: output, checkpoints, the host.
typedef enum StageId {
#define STAGE_ID(NAME, ...) AT_##NAME,
    STAGE_LIST(STAGE_ID)
#undef STAGE_ID
        AT_REST,
    STAGE_IDS
} StageId;

/// Lives: stages in which a field has a value. FROM wraps around the end of the step.
#define ONLY(A) (UINT64_C(1) << AT_##A)
#define UPTO(A) ((UINT64_C(2) << AT_##A) - 1)
#define ALL_STAGES ((UINT64_C(1) << STAGE_IDS) - 1)
#define SPAN(A, B) ((UPTO(B) & ~UPTO(A)) | ONLY(A))
#define FROM(A, B) ((ALL_STAGES & ~UPTO(A)) | ONLY(A) | UPTO(B))
#define ALWAYS_LIVE ALL_STAGES
/// The surface is found anew when a host changes solids, too.
#define AT_SURFACE_OR_REST (ONLY(SURFACE) | ONLY(REST))

/// A row: name, type of a value, parts (1, or 3: one for each axis), shape (a value for each CELL
/// or its lower face, byte mask of a ROW of eight cells, TILE, or half-cell NODES), where (ALL
/// tiles, tiles near SOLIDS, PUSHED ones among them that hold particles, FINE ones with thin walls,
/// WET ones; WORK: all, see fields_take;
/// SYSTEM: those of a linear system, see step/system.h), when (see FieldWhen), life, saved (NO,
/// YES, PRIMED: once there is a flow; HERE: not, and it stays in place when tiles move), unit,
/// meaning. Fields whose lives do not meet share memory.
#define FIELD_TABLE(F)                                                                             \
    /* flow */                                                                                     \
    F(velocity, float, 3, CELL, ALL, ALWAYS, FROM(SWAP, EXCHANGE), PRIMED, "m/s",                  \
      "flow on lower faces; extrapolate makes it reach into air and solids")                       \
    F(carried, float, 3, CELL, ALL, BAND, FROM(REST, SWAP), NO, "m/s",                             \
      "velocity that the grid carried along; becomes velocity by the swap")                        \
    F(old, float, 3, CELL, ALL, OLD, SPAN(TO_GRID, TO_PARTICLES), NO, "m/s",                       \
      "velocity before forces and pressure; with a band where particles are near")                 \
    F(known, uint8_t, 3, ROW, ALL, ALWAYS, SPAN(TO_GRID, EXTRAPOLATE), NO, "",                     \
      "faces with a velocity")                                                                     \
    F(inverse_density, float, 3, CELL, ALL, MATERIAL, SPAN(TO_GRID, SUBTRACT), NO, "",             \
      "of the scene's liquid over that on the face, where mixed")                                  \
    F(mixed, uint8_t, 3, ROW, ALL, MATERIAL, SPAN(TO_GRID, SUBTRACT), NO, "",                      \
      "faces whose density is not that of the scene's liquid")                                     \
    F(scatter_at, int32_t, 1, TILE, ALL, ALWAYS, SPAN(STRESS, WEIGH_AFTER), NO, "",                \
      "index of the tile's block of particles -> grid, -1 without particles")                      \
    F(scatter_rows, ScatterRows, 1, TILE, ALL, ALWAYS, SPAN(TO_GRID, TO_PARTICLES), NO, "",        \
      "where that block holds something")                                                          \
    F(tile_speed, float, 1, TILE, ALL, ALWAYS, FROM(EXTRAPOLATE, EXCHANGE), PRIMED, "m/s",         \
      "largest velocity component")                                                                \
    F(tile_reach, uint8_t, 1, TILE, ALL, ALWAYS, ALWAYS_LIVE, NO, "cells",                         \
      "that the tile's particles may cross in the next step, and one that their interpolation "    \
      "reads there; 0 without particles")                                                          \
    /* walls */                                                                                    \
    F(tile_solid, uint8_t, 1, TILE, ALL, SOLIDS, ALWAYS_LIVE, NO, "",                              \
      "how solids meet the tile: SOLID_FAR, _STILL, _MOVING")                                      \
    F(solid_at, int32_t, 1, TILE, ALL, SOLIDS, ALWAYS_LIVE, NO, "",                                \
      "1 + the tile's place in the fields near solids, 0 far from all")                            \
    F(shut, uint8_t, 3, ROW, ALL, SOLIDS, ALWAYS_LIVE, NO, "", "faces with no open part")          \
    F(cut, uint8_t, 3, ROW, ALL, SOLIDS, ALWAYS_LIVE, NO, "", "faces that are not wholly open")    \
    F(rock, uint8_t, 1, ROW, ALL, SOLIDS, ALWAYS_LIVE, NO, "",                                     \
      "cells whose centres lie in a solid")                                                        \
    F(foreign, uint8_t, 1, ROW, ALL, SOLIDS, ALWAYS_LIVE, NO, "",                                  \
      "cells that a wall parts, with particles only in parts that the cell does not belong to; "   \
      "written by sort")                                                                           \
    F(solid_from, int32_t, 1, TILE, SOLIDS, SOLIDS, ALWAYS_LIVE, HERE, "",                         \
      "places near solids before they changed")                                                    \
    F(solid_phi, float, 1, CELL, SOLIDS, SOLIDS, ALWAYS_LIVE, NO, "m",                             \
      "distance to solids at the low corner of each cell")                                         \
    F(open, float, 3, CELL, SOLIDS, SOLIDS, ALWAYS_LIVE, NO, "",                                   \
      "part of the face that is not inside a solid, 0..1")                                         \
    F(solid_volume, float, 1, CELL, SOLIDS, SOLIDS, ALWAYS_LIVE, NO, "",                           \
      "part of the cell inside solids")                                                            \
    F(solid_part, float, 1, CELL, SOLIDS, SOLIDS, ALWAYS_LIVE, NO, "",                             \
      "part inside solids of the weight of the density's kernel")                                  \
    F(solid_least, float, 1, TILE, SOLIDS, SOLIDS, ALWAYS_LIVE, NO, "cells",                       \
      "least distance to solids at the tile's nodes, those on its far sides included")             \
    F(wall_speed, float, 3, CELL, SOLIDS, MOVING, ALWAYS_LIVE, NO, "m/s",                          \
      "velocity of the solid at the face")                                                         \
    F(fine_at, int32_t, 1, TILE, SOLIDS, SOLIDS, ALWAYS_LIVE, NO, "",                              \
      "1 + the tile's place in the fine fields, 0: none, -1: to be sampled")                       \
    F(fine_from, int32_t, 1, TILE, FINE, SOLIDS, ALWAYS_LIVE, HERE, "",                            \
      "places of fine tiles before they changed")                                                  \
    F(fine_slot, int32_t, 1, TILE, FINE, SOLIDS, ALWAYS_LIVE, HERE, "", "tiles that are fine")     \
    F(solid_fine, float, 1, NODES, FINE, SOLIDS, ALWAYS_LIVE, NO, "m",                             \
      "distance to solids at half cells, the tile's far side included")                            \
    /* surface */                                                                                  \
    F(phi, float, 1, CELL, ALL, ALWAYS, FROM(SURFACE, EXCHANGE), NO, "cells",                      \
      "signed distance to the liquid's surface, cut at +-2; with a band as deep as it needs")      \
    F(liquid, uint8_t, 1, ROW, ALL, ALWAYS, FROM(SURFACE, REST), NO, "",                           \
      "cells in which pressure is solved")                                                         \
    F(wet, uint8_t, 1, TILE, ALL, ALWAYS, FROM(SURFACE, REST), NO, "",                             \
      "whether the tile has such cells")                                                           \
    F(added, uint8_t, 1, ROW, ALL, ALWAYS, AT_SURFACE_OR_REST, NO, "",                             \
      "cells that are liquid by rule: films, slivers, wedges")                                     \
    /* tracking */                                                                                 \
    F(tracked, float, 1, CELL, ALL, TRACKING, SPAN(SURFACE, REST), YES, "cells",                   \
      "distance to the surface that particles carry along, before rules; cut at +-2")              \
    F(rough, float, 1, CELL, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "cells",                       \
      "distance by averaged positions")                                                            \
    F(smooth, float, 1, CELL, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "cells",                      \
      "distance by the particles' planes; then how far tracked differs from it")                   \
    F(steady, float, 1, CELL, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                           \
      "how much of the past counts: alpha gamma, 0..1; -1 without planes")                         \
    F(even, float, 1, CELL, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "cells",                        \
      "distance by |grad phi| = 1, and its filter")                                                \
    F(even_next, float, 1, CELL, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "cells",                   \
      "the same, a pass later")                                                                    \
    F(near_air, uint8_t, 1, ROW, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                        \
      "cells whose distance positions are asked for")                                              \
    F(asked, uint8_t, 1, ROW, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                           \
      "cells whose distance particles' planes tell")                                               \
    F(sunk, uint8_t, 1, ROW, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "", "cells below the surface") \
    F(beside, uint8_t, 1, ROW, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                          \
      "cells with a face through which the surface goes")                                          \
    F(around, uint8_t, 1, ROW, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                          \
      "those and the cells with a face to one")                                                    \
    F(kept, uint8_t, 1, ROW, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                            \
      "cells beside the surface, whose distance stands")                                           \
    F(track_tile, uint8_t, 1, TILE, ALL, TRACKING, AT_SURFACE_OR_REST, NO, "",                     \
      "what the tile has to do with the surface: TRACK_SLOW and the like")                         \
    /* spray */                                                                                    \
    F(sprayed, uint32_t, 1, TILE, ALL, SPRAY, ONLY(ATOMISE), NO, "",                               \
      "particles of the tile that take off, then those of the tiles before it")                    \
    /* MPM sub-steps; nodes are the cells' middles */                                              \
    F(node_mass, float, 1, CELL, ALL, MPM, ONLY(STRESS), NO, "cells",                              \
      "liquid about a node, and what rests there")                                                 \
    F(node_rest, float, 1, CELL, ALL, MPM, ONLY(STRESS), NO, "cells",                              \
      "solids and liquid below a band about a node")                                               \
    F(node_velocity, float, 3, CELL, ALL, MPM, ONLY(STRESS), NO, "m/s", "of the liquid there")     \
    F(node_push, float, 3, CELL, ALL, MPM, ONLY(STRESS), NO, "m/s^2", "force over mass")           \
    /* band */                                                                                     \
    F(interior, uint8_t, 1, ROW, ALL, BAND, ALWAYS_LIVE, YES, "",                                  \
      "a cell or more below the surface by the level set carried along: liquid even where no "     \
      "particle is")                                                                               \
    F(hidden, uint8_t, 1, ROW, ALL, BAND, ALWAYS_LIVE, YES, "",                                    \
      "cells below the band: they hold no particles")                                              \
    F(full, uint8_t, 1, ROW, ALL, BAND, FROM(WEIGH, REST), NO, "", "interior or with particles")   \
    F(below, uint8_t, 1, ROW, ALL, BAND, SPAN(WEIGH, WEIGH_AFTER), NO, "",                         \
      "full for the density: hidden, and slivers inside solids beside such")                       \
    F(rigid, uint8_t, 1, ROW, ALL, RIGID, SPAN(WEIGH, WEIGH_AFTER), NO, "",                        \
      "those that no displacement enters: all but near sources; cells in immersed bodies")         \
    F(traced, uint8_t, 1, TILE, ALL, BAND, FROM(REST, COMBINE), NO, "",                            \
      "how much of the tile's velocity was carried along: TRACED_NONE, _SOME, _ALL")               \
    F(reached, uint8_t, 1, TILE, ALL, BAND, SPAN(TO_GRID, COMBINE), NO, "",                        \
      "particles gave old a velocity, also on faces beyond thin walls, which are not known")       \
    F(weight, float, 3, CELL, ALL, BAND_WEIGHT, SPAN(TO_GRID, COMBINE), NO, "",                    \
      "of the particles on a face")                                                                \
    F(deepest, float, 1, TILE, ALL, BAND, FROM(SURFACE, EXCHANGE), NO, "cells", "least phi")       \
    F(shallowest, float, 1, TILE, ALL, BAND, FROM(SURFACE, EXCHANGE), NO, "cells", "largest phi")  \
    F(path, float, 3, CELL, WORK, BAND, SPAN(TRACE, EXCHANGE), NO, "cells",                        \
      "how far the liquid at a cell's centre came in the step")                                    \
    F(next_interior, uint8_t, 1, ROW, ALL, BAND, SPAN(TRACE, EXCHANGE), NO, "",                    \
      "interior after the step, on the tiles before the sort")                                     \
    F(next_hidden, uint8_t, 1, ROW, ALL, BAND, SPAN(TRACE, EXCHANGE), NO, "", "hidden, likewise")  \
    F(rim, uint8_t, 1, ROW, ALL, BAND, SPAN(TRACE, EXCHANGE), NO, "",                              \
      "cells outside next_hidden into which liquid without particles may have come")               \
    F(edge, uint8_t, 1, ROW, ALL, BAND, SPAN(TRACE, EXCHANGE), NO, "",                             \
      "those beside it, where the account is made good")                                           \
    F(risen, RisenTile, 1, TILE, ALL, BAND, ONLY(EXCHANGE), NO, "", "what rose in the tile")       \
    F(air, uint8_t, 1, ROW, ALL, BAND, AT_SURFACE_OR_REST, NO, "", "cells of air that are open")   \
    F(shut_off, uint8_t, 1, ROW, ALL, BAND, AT_SURFACE_OR_REST, NO, "",                            \
      "cells without liquid that solids shut off")                                                 \
    F(fixed, uint8_t, 1, ROW, ALL, BAND, AT_SURFACE_OR_REST | ONLY(TRACE), NO, "",                 \
      "cells whose depth the particles gave")                                                      \
    F(lit, uint8_t, 1, TILE, ALL, BAND, AT_SURFACE_OR_REST | ONLY(TRACE), NO, "",                  \
      "tiles with a cell beside air")                                                              \
    F(near_lit, uint8_t, 1, TILE, ALL, BAND, AT_SURFACE_OR_REST, NO, "",                           \
      "tiles that depths may reach")                                                               \
    F(around_lit, uint8_t, 1, TILE, ALL, BAND, AT_SURFACE_OR_REST, NO, "",                         \
      "those and the tiles around them whose depths are read")                                     \
    F(changed, uint8_t, 1, TILE, ALL, BAND, AT_SURFACE_OR_REST, NO, "",                            \
      "tiles whose depths the last pass changed")                                                  \
    F(changing, uint8_t, 1, TILE, ALL, BAND, AT_SURFACE_OR_REST | ONLY(TRACE), NO, "",             \
      "this pass")                                                                                 \
    F(depth, float, 1, CELL, WORK, BAND, AT_SURFACE_OR_REST, NO, "cells", "below the surface")     \
    F(deeper, float, 1, CELL, WORK, BAND, AT_SURFACE_OR_REST, NO, "cells",                         \
      "the same, a pass later")                                                                    \
    F(lattice_points, uint32_t, 1, CELL, WORK, BAND, ONLY(REST), NO, "",                           \
      "points of the seeding lattice in a cell, when a simulation begins")                         \
    /* volume */                                                                                   \
    F(density, float, 1, CELL, ALL, DENSITY, SPAN(WEIGH, SHIFT), NO, "",                           \
      "of particles and solids, relative to rest")                                                 \
    F(compression, float, 1, CELL, ALL, ERROR, SPAN(WEIGH, PRESSURE), NO, "",                      \
      "the same, where the pressure mends it")                                                     \
    F(settled, float, 1, CELL, ALL, ALWAYS, ONLY(WEIGH_AFTER), NO, "",                             \
      "the same at the end of a step")                                                             \
    F(pressed, double, 1, TILE, ALL, ALWAYS, ONLY(WEIGH_AFTER), NO, "cells",                       \
      "liquid in the tile that has no room")                                                       \
    F(hidden_part, float, 1, CELL, ALL, BAND, ONLY(WEIGH), NO, "",                                 \
      "part of the cell that hidden liquid fills")                                                 \
    F(hidden_part_after, float, 1, CELL, ALL, BAND, ONLY(WEIGH_AFTER), NO, "",                     \
      "the same at the end of a step")                                                             \
    F(weighed, uint8_t, 1, ROW, ALL, VOLUME, SPAN(WEIGH, SHIFT) | ONLY(WEIGH_AFTER), NO, "",       \
      "cells that take part in the density projection")                                            \
    F(weighed_at, int32_t, 1, TILE, ALL, VOLUME, SPAN(SPREAD, SHIFT), NO, "",                      \
      "1 + the place of a tile that has such cells among them, 0: it has none")                    \
    F(errors, DensityErrors, 1, TILE, ALL, VOLUME, SPAN(WEIGH, SPREAD) | ONLY(WEIGH_AFTER), NO,    \
      "", "density errors of the tile, as sums")                                                   \
    F(push_at, int32_t, 1, TILE, ALL, PUSH, SPAN(WEIGH, SHIFT) | ONLY(WEIGH_AFTER), NO, "",        \
      "1 + the place of a tile near solids with particles among such, 0: it is none")              \
    F(push, float, 3, CELL, PUSHED, DENSITY, SPAN(WEIGH, SHIFT) | ONLY(WEIGH_AFTER), NO, "cells",  \
      "displacement out of solids")                                                                \
    F(push_depth, float, 1, CELL, PUSHED, DENSITY, SPAN(WEIGH, SHIFT) | ONLY(WEIGH_AFTER), NO,     \
      "cells", "of the deepest particle inside a solid; 0 = none")                                 \
    F(pushed, uint8_t, 1, ROW, ALL, PUSH, SPAN(WEIGH, SHIFT) | ONLY(WEIGH_AFTER), NO, "",          \
      "cells with such a particle")                                                                \
    F(potential, float, 1, CELL, ALL, DENSITY, SPAN(SPREAD, SHIFT), NO, "cells^2",                 \
      "whose gradient displaces particles, by weighed_at")                                         \
    F(shift, float, 3, CELL, WORK, DENSITY, ONLY(SHIFT), NO, "cells", "displacement of faces")     \
    F(shift_known, uint8_t, 3, ROW, ALL, DENSITY, ONLY(SHIFT), NO, "", "faces that have one")      \
    F(shift_most, float, 1, TILE, ALL, DENSITY, ONLY(SHIFT), NO, "cells", "largest displacement")  \
    F(shift_sizes, float, 1, TILE, ALL, DENSITY, ONLY(SHIFT), NO, "cells",                         \
      "large ones of all tiles, sorted")                                                           \
    F(shift_sums, ShiftSums, 1, TILE, ALL, DENSITY, ONLY(SHIFT), NO, "cells",                      \
      "how far the tile's particles were moved")                                                   \
    F(rubbed, float, 3, CELL, ALL, FRICTION, ONLY(FRICTION), NO, "m/s",                            \
      "what friction at walls takes from the velocity of lower faces")                             \
    /* viscosity: the system of all velocity components, on lower faces */                         \
    F(viscous_u, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "m/s",                       \
      "its solution; on walls and in solids their velocity")                                       \
    F(viscous_r, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "m/s",                       \
      "right-hand side, then what is left of it")                                                  \
    F(viscous_p, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "m/s", "search direction")   \
    F(viscous_q, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "m/s",                       \
      "preconditioned residual, then the image of the search direction")                           \
    F(viscous_mass, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "",                       \
      "liquid part of the face's control volume, and what ties the face to walls")                 \
    F(viscous_diagonal, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "",                   \
      "of the system; 0 on faces that are not in it")                                              \
    F(viscous_along_x, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "",                    \
      "coefficient between a component's face and the same one of the cell below along x")         \
    F(viscous_along_y, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "", "along y")         \
    F(viscous_along_z, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "", "along z")         \
    F(viscous_cross, float, 3, CELL, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "",                      \
      "coefficient between components at the cell's low edge across xy, xz, yz")                   \
    F(viscous_grip, float, 3, CELL, SOLIDS, VISCOSITY, SPAN(VISCOSITY, REST), NO, "",              \
      "how solids beside a face hold it, of a cell's mass within the kick")                        \
    F(viscous_drag, float, 3, CELL, SOLIDS, VISCOSITY, SPAN(VISCOSITY, REST), NO, "m/s",           \
      "what they got of its momentum, of a cell's mass")                                           \
    F(viscous_used, uint8_t, 1, TILE, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "",                     \
      "whether the tile has faces in the system")                                                  \
    F(viscous_sums, ViscousSums, 1, TILE, ALL, VISCOSITY, ONLY(VISCOSITY), NO, "",                 \
      "scalar products of the tile")                                                               \
    /* surface tension */                                                                          \
    F(tension_phi, float, 1, CELL, ALL, TENSION, ONLY(TENSION), NO, "cells",                       \
      "distance to the surface as far as its curvature needs it")                                  \
    F(tension_next, float, 1, CELL, ALL, TENSION, ONLY(TENSION), NO, "cells",                      \
      "the same, a pass later")                                                                    \
    F(curvature, float, 1, CELL, ALL, TENSION, SPAN(TENSION, SUBTRACT), NO, "1/cells",             \
      "of the surface, positive for drops; 0 far from it")                                         \
    F(curvature_next, float, 1, CELL, ALL, TENSION, ONLY(TENSION), NO, "1/cells",                  \
      "the same, a pass later")                                                                    \
    F(curved, uint8_t, 1, TILE, ALL, TENSION, ONLY(TENSION), NO, "",                               \
      "whether the surface is near the tile")                                                      \
    F(pull, float, 3, CELL, ALL, TENSION, ONLY(TENSION), NO, "m/s",                                \
      "of surface tension on faces between liquid and air, against the axis")                      \
    F(pulled, uint8_t, 3, ROW, ALL, TENSION, ONLY(TENSION), NO, "", "faces that touch liquid")     \
    /* projection; the system serves the density too */                                            \
    F(wet_at, int32_t, 1, TILE, ALL, ALWAYS, ALWAYS_LIVE, NO, "",                                  \
      "1 + the tile's place in the fields of wet tiles, 0: it was dry in the last solve")          \
    F(wet_from, int32_t, 1, TILE, WET, ALWAYS, ALWAYS_LIVE, HERE, "", "places before that")        \
    F(pressure, float, 1, CELL, WET, ALWAYS, ALWAYS_LIVE, PRIMED, "m/s",                           \
      "p kick / (rho dx); start value of the next solve")                                          \
    F(weight_pressure, float, 1, CELL, WET, READ, SPAN(PRESSURE, REST), PRIMED, "m/s",             \
      "the same of gravity alone, where steps change: see projection/weight.c")                    \
    F(coefficient, float, 3, CELL, SYSTEM, ALWAYS, ONLY(SPREAD) | ONLY(PRESSURE), NO, "",          \
      "of the linear system, between a cell and the one below; until the solver takes it")         \
    F(diagonal, float, 1, CELL, SYSTEM, ALWAYS, ONLY(SPREAD) | ONLY(PRESSURE), NO, "",             \
      "of the linear system, 0 in cells that are not in it; until the solver takes it")            \
    F(rhs, float, 1, CELL, SYSTEM, ALWAYS, ONLY(SPREAD) | ONLY(PRESSURE), NO, "m/s",               \
      "right-hand side of the linear system; for the density in cells")                            \
    F(gradient, float, 3, CELL, WORK, ALWAYS, ONLY(SUBTRACT), NO, "m/s",                           \
      "of the pressure along an axis, as it was subtracted")                                       \
    F(touched, uint8_t, 3, ROW, ALL, ALWAYS, ONLY(SUBTRACT), NO, "", "faces that have one")        \
    F(grown, uint8_t, 3, ROW, ALL, ALWAYS, ONLY(EXTRAPOLATE), NO, "", "known, a layer later")      \
    F(slid, float, 3, CELL, WORK, SOLIDS, ONLY(EXTRAPOLATE), NO, "m/s",                            \
      "velocity of cut faces along their walls")                                                   \
    /* warp: velocity, old and known[0] are of cell centres there; phi and pressure of nodes, */   \
    /* node i at the low corner of cell i */                                                       \
    F(nodal_rhs, float, 1, CELL, ALL, WARP, ONLY(PRESSURE), NO, "m/s",                             \
      "right-hand side of the pressure at nodes")                                                  \
    F(nodal_left, float, 1, CELL, ALL, WARP, ONLY(SUBTRACT), NO, "m/s", "what is left of it")      \
    F(block_at, int32_t, 1, TILE, ALL, WARP, ALWAYS_LIVE, HERE, "",                                \
      "index of the tile's block of what particles give to the grid, -1 without particles")        \
    F(own, uint8_t, 1, ROW, ALL, WARP, SPAN(TO_GRID, EXTRAPOLATE), NO, "",                         \
      "cells that particles gave a velocity")                                                      \
    F(phibar, float, 1, CELL, ALL, WARP, SPAN(SURFACE, TENSION) | ONLY(REST), NO, "cells",         \
      "distance to the surface in reference space, at nodes")                                      \
    F(sliver, uint8_t, 1, ROW, ALL, WARP, AT_SURFACE_OR_REST, NO, "",                              \
      "nodes too near to the surface, which count as air")                                         \
    F(signs, uint8_t, 1, TILE, ALL, WARP, ONLY(SOLIDS) | ONLY(REST), NO, "",                       \
      "of the level set in the tile: bit 0 some nodes are liquid, bit 1 some are air")             \
    F(cell_depth, float, 1, CELL, WORK, WARP_BAND, ONLY(TRACE) | ONLY(REST), NO, "cells",          \
      "of cell centres below the surface; then the level set there")                               \
    F(cell_deeper, float, 1, CELL, WORK, WARP_BAND, ONLY(TRACE) | ONLY(REST), NO, "cells",         \
      "the same, a pass later")                                                                    \
    /* measure */                                                                                  \
    F(tile_sums, TileSums, 1, TILE, ALL, ALWAYS, SPAN(TO_PARTICLES, MEASURE) | ONLY(REST), NO, "", \
      "sums over a tile's particles and cells")
