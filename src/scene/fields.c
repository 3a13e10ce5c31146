#include "scene/fields.h"
#include "scene/fields_look.h"
#include "scene/row.h"
#include <stddef.h>
#include <string.h>

#define SIM(MEMBER) offsetof(BrimSimDef, MEMBER)
#define SHAPE(MEMBER) offsetof(ShapeRead, def.MEMBER)
#define LIST(MEMBER, COUNT_MEMBER, TABLE) \
    AT(LIST, SIM(MEMBER)), .count_offset = SIM(COUNT_MEMBER), .list = &(TABLE)
#define SIDE "wall, open"

// key, type, default, range, unit, help; where it goes

static const Field sim_fields[] = {
    {{"brim", "integer", "required", "1", "",
      "version of the scene format; every scene says `brim: 1`"},
     .store = STORE_VERSION,
     .flags = FIELD_REQUIRED},
    {{"dim", "integer", "3", "2 to 3", "", "2D or 3D; in 2D vectors have two numbers"},
     AT(INT, SIM(dim))},
    {{"domain.size", "vector", "required", "1e-9 to 1e7", "m",
      "edges of the box; its low corner is the origin"},
     AT(VECTOR, SIM(size)),
     .flags = FIELD_REQUIRED},
    {{"domain.cells", "vector", "required", "4 to 262135", "cells",
      "cells along each edge, or one number: cells along x, the others follow from size; cells are "
      "cubes: y+ and z+ move outward to whole cells"},
     AT(CELLS, SIM(cells)),
     .flags = FIELD_REQUIRED},
    {{"domain.sides", "choice", "wall", SIDE, "", "all sides at once; or a map with some of them"},
     AT(SIDES, SIM(sides)),
     .flags = FIELD_SHORTHAND},
    {{"domain.sides.x-", "choice", "wall", SIDE, "",
      "the side at x = 0; what leaves through an open side is counted"},
     AT(CHOICE, SIM(sides[0]))},
    {{"domain.sides.x+", "choice", "wall", SIDE, "", "the far end along x"},
     AT(CHOICE, SIM(sides[1]))},
    {{"domain.sides.y-", "choice", "wall", SIDE, "", "the floor"}, AT(CHOICE, SIM(sides[2]))},
    {{"domain.sides.y+", "choice", "wall", SIDE, "", "the ceiling"}, AT(CHOICE, SIM(sides[3]))},
    {{"domain.sides.z-", "choice", "wall", SIDE, "", "the side at z = 0; 3D only"},
     AT(CHOICE, SIM(sides[4])),
     .flags = FIELD_3D},
    {{"domain.sides.z+", "choice", "wall", SIDE, "", "the far side along z; 3D only"},
     AT(CHOICE, SIM(sides[5])),
     .flags = FIELD_3D},

    {{"gravity", "vector", "[0, -9.81, 0]", "", "m/s^2",
      "constant; or formulas of t; or a list of {time, gravity}, linear in between"},
     AT(GRAVITY, SIM(gravity)),
     .flags = FIELD_LIVE,
     .list = &table_gravity,
     .formula = SIM(gravity_formula),
     .variables = FORMULA_T},

    {{"let", "text", "", "", "",
      "names for use in formulas, separated by new lines or semicolons: `a = 0.1`; each may use "
      "those before it"},
     AT(TEXT, SIM(names.let))},
    {{"tables", "list", "[]", "", "", "CSV files that formulas read: NAME.COLUMN(x)"},
     LIST(names.tables, names.table_count, table_named)},

    {{"time.duration", "number", "4", "> 0", "s", "simulated time"},
     AT(DOUBLE, SIM(duration)),
     .flags = FIELD_ASIDE},
    {{"time.frame_rate", "number", "24", "> 0", "1/s",
      "frames per second; steps end exactly on frames"},
     AT(DOUBLE, SIM(frame_rate))},
    {{"time.step", "number", "0", ">= 0", "s", "fixed time step; 0 = chosen by cfl"},
     AT(DOUBLE, SIM(step)),
     .flags = FIELD_LIVE},
    {{"time.cfl", "number", "2", "0.01 to 100", "cells",
      "how many cells the fastest water may cross in a step"},
     AT(DOUBLE, SIM(cfl)),
     .flags = FIELD_LIVE},
    {{"time.step_min", "number", "0", ">= 0", "s", "shortest step that cfl may ask for"},
     AT(DOUBLE, SIM(step_min))},
    {{"time.step_max", "number", "0", ">= 0", "s",
      "longest step that cfl may ask for; 0 = a frame"},
     AT(DOUBLE, SIM(step_max))},

    {{"density", "number", "1000", "> 0", "kg/m^3", "of the liquid"}, AT(FLOAT, SIM(density))},
    {{"viscosity", "number", "0", ">= 0", "Pa s",
      "of the liquid: water 0.001, oil 0.1, honey 10; 0 = none"},
     AT(DOUBLE, SIM(viscosity)),
     .flags = FIELD_LIVE},
    {{"surface_tension", "number", "0", ">= 0", "N/m",
      "of the liquid against air: water 0.073; 0 = none. It matters in drops and ripples of less "
      "than a few cm"},
     AT(DOUBLE, SIM(surface_tension)),
     .flags = FIELD_LIVE},
    {{"walls.contact_angle", "number", "90", "0 to 180", "degrees",
      "at which a surface with tension meets walls and solids, measured through the liquid: less "
      "than 90 wets them"},
     AT(DOUBLE, SIM(contact_angle))},
    {{"walls.slip", "choice", "none", "none, free", "",
      "what a liquid with a viscosity does at walls and solids: none, it sticks to them; free, it "
      "slides along"},
     AT(CHOICE, SIM(slip))},
    {{"walls.friction", "number", "0", "0 to 1", "",
      "coefficient of turbulent friction at walls and solids: the stress over density u^2 / 2, "
      "about 0.005; 0 = none"},
     AT(DOUBLE, SIM(wall_friction))},
    {{"walls.roughness", "number", "0", ">= 0", "m",
      "friction by the log law instead, from the height of the walls' roughness (glass 1e-6, "
      "concrete 1e-3) and the viscosity; 0 = none"},
     AT(DOUBLE, SIM(wall_roughness))},

    {{"solver.transfer", "choice", "flip", "flip, apic", "",
      "how particles and grid exchange velocity"},
     AT(CHOICE, SIM(transfer))},
    {{"solver.flip_ratio", "number", "0.97", "0 to 1", "", "1 = pure FLIP, 0 = PIC; used by flip"},
     AT(FLOAT, SIM(flip_ratio)),
     .flags = FIELD_LIVE},
    {{"solver.advection", "choice", "rk2", "rk2, rk3", "", "Runge-Kutta order of particle paths"},
     AT(CHOICE, SIM(advection))},
    {{"solver.surface", "choice", "ghost-fluid", "ghost-fluid, flags", "",
      "free surface from the level set, or from cell flags"},
     AT(CHOICE, SIM(surface))},
    {{"solver.tolerance", "number", "1e-4", "> 0", "",
      "largest relative volume change that a step may leave in a cell: div u times dt"},
     AT(DOUBLE, SIM(tolerance)),
     .flags = FIELD_LIVE},
    {{"solver.max_iterations", "integer", "300", "1 to 100000", "",
      "beyond this the run stops with an error"},
     AT(INT, SIM(max_iterations))},
    {{"solver.preconditioner", "choice", "multigrid", "multigrid, jacobi", "",
      "jacobi is the plain reference"},
     AT(CHOICE, SIM(preconditioner))},
    {{"solver.volume", "choice", "density", "density, none, direct, averaged, control", "",
      "how the liquid keeps its volume: by density projection; the others are for comparison, "
      "control on a warped grid alone"},
     AT(CHOICE, SIM(volume))},
    {{"solver.volume_tolerance", "number", "0.05", "> 0", "",
      "largest density error that a density solve may leave; the next step corrects what is left"},
     AT(DOUBLE, SIM(volume_tolerance))},
    {{"solver.volume_time", "number", "1", "> 0", "s",
      "averaged: time over which it corrects an error"},
     AT(DOUBLE, SIM(volume_time))},
    {{"solver.pressure_from", "number", "0", ">= 0", "s",
      "before this time there is no pressure and no volume control"},
     AT(DOUBLE, SIM(pressure_from))},

    {{"grid.warp", "number", "0", "0 to 0.9", "",
      "bends the grid towards the surface and fast water: at 0.75 cells at a flat surface are four "
      "times thinner; 0 = a regular grid"},
     AT(DOUBLE, SIM(warp))},
    {{"grid.nodal", "flag", "false", "true, false", "",
      "pressure at cell corners and velocity at cell centres, as on a warped grid, even if the "
      "grid is regular"},
     AT(FLAG, SIM(nodal))},
    {{"grid.still", "flag", "false", "true, false", "",
      "with warp: the mesh stays as it is at the start"},
     AT(FLAG, SIM(warp_still))},
    {{"grid.quadrature", "choice", "gauss", "gauss, corners", "",
      "quadrature points for the pressure on a warped or nodal grid"},
     AT(CHOICE, SIM(quadrature))},
    {{"grid.surface", "number", "1", "0 to 100", "",
      "how strongly the grid bends towards the surface"},
     AT(DOUBLE, SIM(warp_surface))},
    {{"grid.speed", "number", "1", "0 to 100", "", "how strongly it bends towards fast water"},
     AT(DOUBLE, SIM(warp_speed))},
    {{"grid.solids", "number", "0", "0 to 100", "", "how strongly it bends towards solids"},
     AT(DOUBLE, SIM(warp_solids))},
    {{"grid.focus.weight", "number", "0", "0 to 100", "",
      "how strongly it bends towards a box, the region of interest; 0 = none"},
     AT(DOUBLE, SIM(focus))},
    {{"grid.focus.center", "vector", "[0, 0, 0]", REACH, "m",
      "middle of the region; numbers, or formulas of t"},
     AT(VECTOR, SIM(focus_center)),
     .formula = SIM(focus_formula),
     .variables = FORMULA_T},
    {{"grid.focus.size", "vector", "[0, 0, 0]", REACH, "m", "edges of the region"},
     AT(VECTOR, SIM(focus_size))},

    {{"surface.tracking", "choice", "off", "off, responsive", "",
      "particles carry the surface along: calm water is smooth and does not flicker, fast water "
      "follows its particles"},
     AT(CHOICE, SIM(tracking))},
    {{"surface.speed", "pair", "[0, 0]", ">= 0", "m/s",
      "with tracking: water slower than the first remembers its surface, faster than the second "
      "does not; [0, 0] = [0.3, 1] sqrt(g H), H the height of the liquid at the start"},
     AT(PAIR, SIM(tracking_speed))},
    {{"surface.blend", "choice", "linear", "linear, square", "",
      "with tracking: how memory fades between the two speeds, by speed or by its square"},
     AT(CHOICE, SIM(tracking_blend))},
    {{"surface.memory", "number", "0.5", ">= 0", "s",
      "with tracking: time in which a calm surface returns to the particles; 0 = at once"},
     AT(DOUBLE, SIM(tracking_memory))},
    {{"surface.passes", "integer", "3", "0 to 100", "",
      "with tracking: double passes of the filter that smooths ripples out of the particles' "
      "surface"},
     AT(INT, SIM(tracking_passes))},
    {{"surface.rough", "choice", "brim", "brim, paper", "",
      "with tracking: the particles' surface, from Brim's level set or from eq. (15) of the paper, "
      "which lies half a cell too high; for comparison"},
     AT(CHOICE, SIM(tracking_rough))},

    {{"mpm.substeps", "integer", "0", "0 to 64", "",
      "MPM sub-steps between two projections: particles push one another apart where they crowd; 2 "
      "is a good number, more are taken if sound and viscosity need them; 0 = none"},
     AT(INT, SIM(mpm_substeps))},
    {{"mpm.sound", "number", "1", "0 to 16", "cells",
      "with sub-steps: how far sound travels between particles in a step, that is, how hard they "
      "push; 0 = no pressure"},
     AT(DOUBLE, SIM(mpm_sound))},
    {{"mpm.viscosity", "number", "0", ">= 0", "Pa s",
      "with sub-steps: explicit viscosity, for small values; use viscosity for larger ones"},
     AT(DOUBLE, SIM(mpm_viscosity))},
    {{"mpm.control", "number", "0", "0 to 1", "",
      "with solver.volume: averaged: fraction of the density error that one step's pressure "
      "removes (k of eq. 13); 0 = by solver.volume_time"},
     AT(DOUBLE, SIM(mpm_control))},

    {{"spray.speed", "pair", "[0, 0]", ">= 0", "m/s",
      "liquid that has broken up turns to spray above the first speed, within spray.time above the "
      "second; spray flies on its own until it meets liquid, a wall or a solid; [0, 0] = no spray"},
     AT(PAIR, SIM(spray_speed))},
    {{"spray.time", "number", "0.05", "> 0", "s",
      "time in which broken-up liquid faster than the second speed turns to spray"},
     AT(DOUBLE, SIM(spray_time))},
    {{"spray.drag", "number", "0.5", "0 to 100", "",
      "drag coefficient of the drops, each the size of a particle, in still air; 0.5 is a sphere, "
      "0 none"},
     AT(DOUBLE, SIM(spray_drag))},

    {{"band.width", "integer", "0", "0 or 2 to 16", "cells",
      "narrow band: there are particles only down to this depth below the surface, the grid "
      "carries the rest; 0 = particles everywhere, 3 is a good width"},
     AT(INT, SIM(band_width))},
    {{"band.flip", "integer", "0", "0 to 16", "cells",
      "with FLIP: particles down to this depth keep their own velocity, deeper ones in the band "
      "take the grid's (PIC); 0 = the whole band is FLIP"},
     AT(INT, SIM(band_flip))},
    {{"band.combine", "choice", "distance", "distance, density", "",
      "how the velocities of particles and grid are combined; density gains energy, for "
      "comparison"},
     AT(CHOICE, SIM(band_combine))},
    {{"band.order", "integer", "2", "1 to 2", "",
      "spatial order of advection on the grid below the band; 1, as in the paper, damps eddies in "
      "deep water"},
     AT(INT, SIM(band_order))},

    {{"particles.per_cell", "integer", "8 (2D: 9)", "1 to 64", "",
      "a cube number (2D: a square): 1, 8, 27, 64 (2D: 1, 4, 9, 16, 25, ...)"},
     AT(INT, SIM(particles_per_cell))},
    {{"particles.jitter", "number", "0.5", "0 to 1", "",
      "random shift at seeding, as a fraction of the spacing between particles"},
     AT(FLOAT, SIM(jitter))},

    {{"particles.attributes", "list", "[]", "age, source", "",
      "what particles carry besides position and velocity, in frames too: age, time since seeding "
      "or emission (s); source, the number of the liquid they came from, or, counting on after the "
      "liquids, of the source"},
     AT(SET, SIM(attributes))},

    {{"seed", "integer", "1", "0 to 4294967295", "", "of all random numbers"}, AT(UINT, SIM(seed))},
    {{"threads", "integer", "0", "0 to 1024", "",
      "0 = one for each core; results do not depend on it"},
     AT(INT, SIM(threads)),
     .flags = FIELD_ASIDE},
    {{"isa", "choice", "auto", "auto, base, avx2, avx512", "",
      "instruction set; results do not depend on it"},
     AT(CHOICE, SIM(isa)),
     .flags = FIELD_ASIDE},
    {{"memory_limit", "number", "0", ">= 0", "bytes",
      "larger simulations are refused; 0 = the machine's memory"},
     AT(DOUBLE, SIM(memory_limit)),
     .flags = FIELD_ASIDE},

    {{"cache", "text", "", "", "",
      "folder in which the precomputed data of bodies is stored; none = computed every time"},
     AT(TEXT, SIM(cache)),
     .flags = FIELD_ASIDE},

    {{"liquid", "list", "[]", "", "", "liquid present at the start"},
     LIST(liquid, liquid_count, table_liquid)},
    {{"solids", "list", "[]", "", "", "obstacles, still or moving"},
     LIST(solids, solid_count, table_solid)},
    {{"bodies", "list", "[]", "", "", "elastic or rigid bodies that the water moves"},
     LIST(bodies, body_count, table_body)},
    {{"sources", "list", "[]", "", "", "where water enters"},
     LIST(sources, source_count, table_source)},
    {{"drains", "list", "[]", "", "", "where liquid is removed, and counted"},
     LIST(drains, drain_count, table_drain)},

    {{"forces", "list", "[]", "", "", "forces on the liquid in addition to gravity"},
     LIST(forces, force_count, table_force)},

    {{"gauges", "list", "[]", "", "", "measurements during the run: gauges/NAME.csv"},
     LIST(gauges, gauge_count, table_gauge),
     .flags = FIELD_ASIDE},

    {{"foam.trapped", "pair", "[2, 8]", ">= 0", "m/s",
      "range of the trapped-air measure, the approach speed of neighbours: no foam below, all "
      "above"},
     AT(PAIR, SIM(foam.trapped)),
     .flags = FIELD_ASIDE},
    {{"foam.trapped_rate", "number", "200", ">= 0", "1/s",
      "foam particles per second from trapped air, for each liquid particle"},
     AT(FLOAT, SIM(foam.trapped_rate)),
     .flags = FIELD_ASIDE},
    {{"foam.crest", "pair", "[0.1, 0.5]", ">= 0", "",
      "range of the crest measure, normals of neighbours that diverge: no foam below, all above"},
     AT(PAIR, SIM(foam.crest)),
     .flags = FIELD_ASIDE},
    {{"foam.crest_rate", "number", "200", ">= 0", "1/s",
      "foam particles per second on a crest, for each liquid particle"},
     AT(FLOAT, SIM(foam.crest_rate)),
     .flags = FIELD_ASIDE},
    {{"foam.crest_facing", "number", "0.6", "0 to 1", "",
      "smallest cosine between a crest's velocity and its normal"},
     AT(FLOAT, SIM(foam.crest_facing)),
     .flags = FIELD_ASIDE},
    {{"foam.energy", "pair", "[0.5, 8]", ">= 0", "J/kg",
      "kinetic energy of the liquid: no whitewater below the first, the full amount above the "
      "second"},
     AT(PAIR, SIM(foam.energy)),
     .flags = FIELD_ASIDE},
    {{"foam.life", "pair", "[2, 5]", "> 0", "s", "lifetime of foam: random between these"},
     AT(PAIR, SIM(foam.life)),
     .flags = FIELD_ASIDE},
    {{"foam.size", "pair", "[0.1, 0.3]", "> 0", "spacings",
      "radius, in spacings between the liquid's particles: random between these"},
     AT(PAIR, SIM(foam.size)),
     .flags = FIELD_ASIDE},
    {{"foam.density", "pair", "[0.2, 0.7]", ">= 0", "",
      "liquid around a particle, relative to full: below the first it is spray, above the second a "
      "bubble, in between foam"},
     AT(PAIR, SIM(foam.density)),
     .flags = FIELD_ASIDE},
    {{"foam.drag", "number", "2", ">= 0", "1/s",
      "of spray in air: it falls no faster than gravity over drag"},
     AT(FLOAT, SIM(foam.drag)),
     .flags = FIELD_ASIDE},
    {{"foam.buoyancy", "number", "2", ">= 0", "",
      "of bubbles, in units of gravity: they rise at buoyancy x bubble_time x gravity"},
     AT(FLOAT, SIM(foam.buoyancy)),
     .flags = FIELD_ASIDE},
    {{"foam.bubble_time", "number", "0.02", "> 0", "s",
      "time in which bubbles take on the velocity of the liquid around them"},
     AT(FLOAT, SIM(foam.bubble_time)),
     .flags = FIELD_ASIDE},
    {{"foam.spread", "number", "0.1", "0 to 1", "",
      "of velocities at birth, relative to the liquid's"},
     AT(FLOAT, SIM(foam.spread)),
     .flags = FIELD_ASIDE},
    {{"foam.most", "integer", "10000000", "1 to 1000000000", "",
      "most foam particles; at this number no more are created"},
     AT(INT, SIM(foam.most)),
     .flags = FIELD_ASIDE},

    LOOK_FIELDS,

    {{"output.particles", "flag", "true", "true, false", "", "write particles/NNNNNN.ply"},
     AT(FLAG, SIM(output.particles)),
     .flags = FIELD_ASIDE},
    {{"output.interior", "flag", "false", "true, false", "",
      "with a narrow band: frames hold the cells below it too, 24 bytes each, for brim mesh, foam "
      "and render; so with output.foam"},
     AT(FLAG, SIM(output.interior)),
     .flags = FIELD_ASIDE},
    {{"output.foam", "flag", "false", "true, false", "",
      "write foam/NNNNNN.ply: spray, foam and bubbles, made by the keys of foam"},
     AT(FLAG, SIM(output.foam)),
     .flags = FIELD_ASIDE},
    {{"output.fields", "flag", "false", "true, false", "",
      "write fields/NNNNNN.vti: pressure, velocity, level set, density"},
     AT(FLAG, SIM(output.fields)),
     .flags = FIELD_ASIDE},
    {{"output.surface", "choice", "none", "none, ply, obj", "",
      "write surface/NNNNNN.ply or .obj: closed triangle surface; 3D only"},
     AT(CHOICE, SIM(output.surface)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.surface_resolution", "integer", "2", "1 to 3", "",
      "resolution of the surface, as a multiple of the grid's"},
     AT(INT, SIM(output.surface_resolution)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.surface_radius", "number", "0", "0 or 0.5 to 4", "cells",
      "reach of a particle; 0 = three particle spacings"},
     AT(DOUBLE, SIM(output.surface_radius)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.surface_smooth", "integer", "3", "0 to 100", "",
      "passes of smoothing; the volume is kept"},
     AT(INT, SIM(output.surface_smooth)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.surface_anisotropic", "flag", "false", "true, false", "",
      "kernels stretched along the surface (Yu and Turk)"},
     AT(FLAG, SIM(output.surface_anisotropic)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.surface_positions", "flag", "false", "true, false", "",
      "uses positions alone, even with surface.tracking"},
     AT(FLAG, SIM(output.surface_positions)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.vdb", "flag", "false", "true, false", "",
      "write vdb/NNNNNN.vdb, OpenVDB: level set of the surface, velocity; 3D only"},
     AT(FLAG, SIM(output.vdb)),
     .flags = FIELD_ASIDE | FIELD_3D},
    {{"output.paraview", "flag", "false", "true, false", "",
      "write paraview/run.pvd and .vtp files: particles, surface and foam as ParaView plays them"},
     AT(FLAG, SIM(output.paraview)),
     .flags = FIELD_ASIDE},
    {{"output.every", "integer", "1", "1 to 1000000", "frames", "write every n-th frame"},
     AT(INT, SIM(output.every)),
     .flags = FIELD_ASIDE},
    {{"output.checkpoint_every", "integer", "10", "0 to 1000000", "frames",
      "between checkpoints, the first at the start; 0 = only at interrupt and at the end"},
     AT(INT, SIM(output.checkpoint_every)),
     .flags = FIELD_ASIDE},
};
const Table table_sim = {"", sim_fields, COUNT(sim_fields), sizeof(BrimSimDef), NO_SHAPE, NULL,
                         0,  0};

static const Field gravity_fields[] = {
    {{"gravity[].time", "number", "required", ">= 0", "s", "times increase from key to key"},
     AT(DOUBLE, offsetof(BrimGravityKey, time)),
     .flags = FIELD_REQUIRED},
    {{"gravity[].gravity", "vector", "required", "", "m/s^2",
      "at that time; constant before the first and after the last"},
     AT(VECTOR, offsetof(BrimGravityKey, gravity)),
     .flags = FIELD_REQUIRED},
};
const Table table_gravity = {"gravity[].",
                             gravity_fields,
                             COUNT(gravity_fields),
                             sizeof(BrimGravityKey),
                             NO_SHAPE,
                             NULL,
                             0,
                             0};

static const Field named_fields[] = {
    {{"tables[].name", "text", "required", "", "", "name that formulas use"},
     AT(TEXT, offsetof(BrimNamedTable, name)),
     .flags = FIELD_REQUIRED},
    {{"tables[].file", "text", "required", "", "",
      "CSV: a line of column names, then numbers; the first column increases"},
     AT(FILE, offsetof(BrimNamedTable, file)),
     .flags = FIELD_REQUIRED},
};
const Table table_named = {
    "tables[].", named_fields, COUNT(named_fields), sizeof(BrimNamedTable), NO_SHAPE, NULL, 0, 0};

static const Field liquid_fields[] = {
    {{"liquid[].<shape>", "shape", "required", SHAPE_NAMES, "",
      "one of these keys, and below it the keys of that shape"},
     .store = STORE_KIND},
    {{"liquid[].velocity", "vector", "[0, 0, 0]", REACH, "m/s",
      "at the start; numbers, or formulas of x, y and z"},
     AT(VECTOR, offsetof(BrimLiquidDef, velocity)),
     .formula = offsetof(BrimLiquidDef, velocity_formula),
     .variables = FORMULA_PLACE},
    {{"liquid[].spin", "vector", "[0, 0, 0]", REACH, "rad/s",
      "rotation about the shape's center, added to velocity (2D: one number)"},
     AT(TURN, offsetof(BrimLiquidDef, spin))},
    {{"liquid[].particles", "integer", "0", "0 to 2000000000", "",
      "this many at random positions, whatever the density; 0 = regular seeding"},
     AT(INT, offsetof(BrimLiquidDef, particles))},
    {{"liquid[].density", "number", "0", ">= 0", "kg/m^3",
      "of this liquid, 0.01 to 100 times the scene's; 0 = that"},
     AT(DOUBLE, offsetof(BrimLiquidDef, density))},
};
const Table table_liquid = {"liquid[].",
                            liquid_fields,
                            COUNT(liquid_fields),
                            sizeof(BrimLiquidDef),
                            offsetof(BrimLiquidDef, shape),
                            NULL,
                            0,
                            0};

static const Field solid_fields[] = {
    {{"solids[].<shape>", "shape", "required", SHAPE_NAMES, "",
      "one of these keys, and below it the keys of that shape"},
     .store = STORE_KIND},
    {{"solids[].rate", "number", "0", REACH, "deg/s",
      "constant rotation about axis through the shape's center"},
     AT(FLOAT, offsetof(BrimSolidDef, rate))},
    {{"solids[].axis", "vector", "[0, 1, 0]", "", "",
      "of the constant rotation; 3D only: in 2D it is z"},
     AT(VECTOR, offsetof(BrimSolidDef, axis)),
     .flags = FIELD_3D},
    {{"solids[].keyframes", "list", "[]", "", "",
      "motion: smooth between keyframes, at rest before and after"},
     AT(LIST, offsetof(BrimSolidDef, keyframes)),
     .count_offset = offsetof(BrimSolidDef, keyframe_count),
     .list = &table_keyframe},
    {{"solids[].path", "vector", "[0, 0, 0]", REACH, "m",
      "motion by formulas of t: added to the shape's own position"},
     AT(VECTOR, offsetof(BrimSolidDef, path)),
     .formula = offsetof(BrimSolidDef, path_formula),
     .variables = FORMULA_T,
     .flags = FIELD_QUIET},
    {{"solids[].turn", "vector", "[0, 0, 0]", REACH, "deg",
      "motion by formulas of t: about x, then y, then z through the shape's center (2D: one)"},
     AT(TURN, offsetof(BrimSolidDef, turn)),
     .formula = offsetof(BrimSolidDef, turn_formula),
     .variables = FORMULA_T,
     .flags = FIELD_QUIET},
    {{"solids[].start", "number", "0", ">= 0", "s", "the solid exists from this time on"},
     AT(DOUBLE, offsetof(BrimSolidDef, start))},
    SOLID_LOOK_FIELDS,
};
const Table table_solid = {"solids[].",
                           solid_fields,
                           COUNT(solid_fields),
                           sizeof(BrimSolidDef),
                           offsetof(BrimSolidDef, shape),
                           NULL,
                           0,
                           0};

static const Field keyframe_fields[] = {
    {{"solids[].keyframes[].time", "number", "required", ">= 0", "s",
      "times increase from keyframe to keyframe"},
     AT(DOUBLE, offsetof(BrimKeyframe, time)),
     .flags = FIELD_REQUIRED},
    {{"solids[].keyframes[].position", "vector", "[0, 0, 0]", REACH, "m",
      "added to the shape's own position"},
     AT(VECTOR, offsetof(BrimKeyframe, position))},
    {{"solids[].keyframes[].rotation", "vector", "[0, 0, 0]", REACH, "deg",
      "about x, then y, then z through the shape's center (2D: one number)"},
     AT(TURN, offsetof(BrimKeyframe, rotation))},
};
const Table table_keyframe = {"solids[].keyframes[].",
                              keyframe_fields,
                              COUNT(keyframe_fields),
                              sizeof(BrimKeyframe),
                              NO_SHAPE,
                              NULL,
                              0,
                              0};

#define GAUGE_KINDS "height, point, force, flow, front, motion"
#define SIDE_NAMES "x-, x+, y-, y+, z-, z+"
#define GAUGE(MEMBER) offsetof(BrimGaugeDef, MEMBER)
#define GAUGE_PLACE(KEY, MEMBER, KIND, HELP)                                                  \
    {                                                                                         \
        {"gauges[]." KEY, "vector", "required", REACH, "m", HELP}, AT(VECTOR, GAUGE(MEMBER)), \
            .flags = FIELD_REQUIRED, .of = 1 + BRIM_GAUGE_##KIND                              \
    }
static const Field gauge_fields[] = {
    {{"gauges[].name", "text", "required", "", "",
      "of its file, gauges/NAME.csv: letters, digits, _ and -"},
     AT(TEXT, GAUGE(name)),
     .flags = FIELD_REQUIRED},
    {{"gauges[].rate", "number", "0", "0 to 1e6", "1/s",
      "rows per second, interpolated between the ends of steps; 0 = one row per step"},
     AT(DOUBLE, GAUGE(rate))},
    GAUGE_PLACE("height.from", from, HEIGHT,
                "height of water: one end of a line, usually on the floor"),
    GAUGE_PLACE("height.to", to, HEIGHT, "the other end, above the water"),
    GAUGE_PLACE("point.at", from, POINT,
                "pressure and velocity: where; on a wall, the wall's values"),
    {{"gauges[].force.solid", "integer", "-1", "-1 to 1000000", "",
      "force and torque: number of a solid, from 0 in the order of solids; or give side or body"},
     AT(INT, GAUGE(solid)),
     .of = 1 + BRIM_GAUGE_FORCE},
    {{"gauges[].force.side", "choice", "none", "none, " SIDE_NAMES, "",
      "force and torque: a side of the domain that is a wall; or give solid or body"},
     AT(CHOICE, GAUGE(side)),
     .of = 1 + BRIM_GAUGE_FORCE},
    {{"gauges[].force.body", "integer", "-1", "-1 to 1000000", "",
      "force and torque: number of a body, from 0 in the order of bodies; not an immersed one"},
     AT(INT, GAUGE(body)),
     .of = 1 + BRIM_GAUGE_FORCE},
    GAUGE_PLACE("flow.low", from, FLOW,
                "flow through a rectangle: low corner; flat along one axis, the direction of "
                "positive flow (2D: a line)"),
    GAUGE_PLACE("flow.high", to, FLOW, "high corner"),
    {{"gauges[].front.towards", "choice", "x+", SIDE_NAMES, "",
      "position of a front: direction in which it moves"},
     AT(CHOICE, GAUGE(towards)),
     .of = 1 + BRIM_GAUGE_FRONT},
    GAUGE_PLACE("front.low", from, FRONT, "low corner of the box in which water counts"),
    GAUGE_PLACE("front.high", to, FRONT, "high corner"),
    {{"gauges[].motion.body", "integer", "-1", "-1 to 1000000", "",
      "position and velocity of a point of a body: its number, from 0 in the order of bodies"},
     AT(INT, GAUGE(body)),
     .of = 1 + BRIM_GAUGE_MOTION},
    GAUGE_PLACE("motion.at", from, MOTION, "where the point is at the start, on or in the body"),
};
const Table table_gauge = {.prefix = "gauges[].",
                           .fields = gauge_fields,
                           .count = COUNT(gauge_fields),
                           .size = sizeof(BrimGaugeDef),
                           .shape_offset = NO_SHAPE,
                           .kinds = GAUGE_KINDS,
                           .kind_offset = GAUGE(kind)};

static const Field placement_fields[] = {
    {{"<shape>.rotation", "vector", "[0, 0, 0]", "", "deg",
      "any shape: about x, then y, then z through its center (2D: one number)"},
     AT(TURN, SHAPE(rotation))},
    {{"<shape>.scale", "number", "1", "1e-6 to 1e6", "", "any shape: scaled about its center"},
     AT(FLOAT, SHAPE(scale))},
};
const Table table_placement = {
    "<shape>.", placement_fields, COUNT(placement_fields), sizeof(ShapeRead), NO_SHAPE, NULL, 0, 0};

#define PLACE(KEY, HELP) \
    { {KEY, "vector", "[0, 0, 0]", "", "m", HELP}, AT(VECTOR, SHAPE(position)) }
#define LENGTH(KEY, MEMBER, HELP)                                                \
    {                                                                            \
        {KEY, "number", "required", "> 0", "m", HELP}, AT(FLOAT, SHAPE(MEMBER)), \
            .flags = FIELD_REQUIRED                                              \
    }
#define CHILDREN(KEY, HELP)                                                   \
    {                                                                         \
        {KEY, "list", "required", "", "", HELP}, AT(SHAPES, SHAPE(children)), \
            .flags = FIELD_REQUIRED                                           \
    }

static const Field box_fields[] = {
    {{"box.low", "vector", "", "", "m", "low corner; with high, instead of center and size"},
     AT(VECTOR, offsetof(ShapeRead, low)),
     .flags = FIELD_SHORTHAND},
    {{"box.high", "vector", "", "", "m", "high corner"},
     AT(VECTOR, offsetof(ShapeRead, high)),
     .flags = FIELD_SHORTHAND},
    PLACE("box.center", "of the box; with size"),
    {{"box.size", "vector", "required", "> 0", "m", "full edge lengths; or give low and high"},
     AT(VECTOR, SHAPE(size))},
};
static const Field sphere_fields[] = {
    PLACE("sphere.center", "of the sphere; in 2D a disk"),
    LENGTH("sphere.radius", radius, "of the sphere"),
};
static const Field cylinder_fields[] = {
    PLACE("cylinder.center", "middle of the axis, which is y unless rotated"),
    LENGTH("cylinder.radius", radius, "of the cylinder"),
    LENGTH("cylinder.height", height, "along the axis, end to end"),
};
static const Field capsule_fields[] = {
    PLACE("capsule.center", "middle of the axis, which is y unless rotated"),
    LENGTH("capsule.radius", radius, "of the sides and of both ends"),
    LENGTH("capsule.height", height, "of the straight part"),
};
static const Field plane_fields[] = {
    PLACE("plane.point", "any point of the plane"),
    {{"plane.normal", "vector", "[0, 1, 0]", "", "",
      "the shape is the side that it points away from"},
     AT(VECTOR, SHAPE(normal))},
};
static const Field torus_fields[] = {
    PLACE("torus.center", "middle of the axis, which is y unless rotated"),
    LENGTH("torus.radius", radius, "of the ring"),
    LENGTH("torus.tube", tube, "radius of the tube"),
};
static const Field height_field_fields[] = {
    PLACE("height_field.position", "of the corner with the lowest x and z, at height 0"),
    {{"height_field.length", "number", "required", "> 0", "m", "along x"},
     AT(FLOAT, SHAPE(size.x)),
     .flags = FIELD_REQUIRED},
    {{"height_field.width", "number", "required", "> 0", "m", "along z; 3D only"},
     AT(FLOAT, SHAPE(size.z)),
     .flags = FIELD_REQUIRED | FIELD_3D},
    {{"height_field.file", "text", "", "", "", "grey PGM picture, 8 or 16 bit; rows along z"},
     AT(FILE, SHAPE(file))},
    {{"height_field.height", "number", "0", ">= 0", "m", "of white in the picture"},
     AT(FLOAT, SHAPE(height))},
    {{"height_field.heights", "list", "", "", "m",
      "rows along z of heights along x; in 2D one list"},
     AT(HEIGHTS, SHAPE(heights))},
    {{"height_field.formula", "formula", "", "", "m",
      "height over x and z, both measured from the field's corner"},
     AT(FORMULA, SHAPE(formula)),
     .variables = FORMULA_X | FORMULA_Z},
    {{"height_field.canyon", "map", "", "", "", "a procedural river canyon"},
     AT(CANYON, SHAPE(canyon)),
     .list = &table_canyon},
};
static const Field mesh_fields[] = {
    {{"mesh.file", "text", "required", "", "",
      "closed triangle mesh: OBJ, PLY or STL; or tetrahedra: .msh, .mesh, .vtk, .node and .ele"},
     AT(FILE, SHAPE(file))},
    PLACE("mesh.position", "of the mesh's own origin"),
    {{"mesh.frames", "text", "", "", "",
      "instead of file, for solids: frames of a mesh that deforms, OBJ, PLY or STL of one "
      "topology; a pattern such as walk_####.obj, or a folder"},
     AT(FILES, SHAPE(frames))},
    {{"mesh.frame_rate", "number", "24", "> 0", "1/s", "of these frames"},
     AT(DOUBLE, SHAPE(frame_rate)),
     .flags = FIELD_QUIET},
    {{"mesh.frame_start", "number", "0", "-1e9 to 1e9", "s", "time of the first of them"},
     AT(DOUBLE, SHAPE(frame_start)),
     .flags = FIELD_QUIET},
    {{"mesh.repeat", "flag", "false", "true, false", "",
      "the first frame follows the last; else the mesh rests before the first and after the last"},
     AT(FLAG, SHAPE(frame_repeat)),
     .flags = FIELD_QUIET},
};
static const Field union_fields[] = {
    PLACE("union.position", "moves the whole; a moving solid turns about it"),
    CHILDREN("union.of", "shapes, a list; `union: [...]` is short for `union: {of: [...]}`"),
};
static const Field difference_fields[] = {
    PLACE("difference.position", "moves the whole; a moving solid turns about it"),
    CHILDREN("difference.of",
             "the first shape without the others; `difference: [...]` is short for this"),
};
static const Field smooth_union_fields[] = {
    PLACE("smooth_union.position", "moves the whole; a moving solid turns about it"),
    LENGTH("smooth_union.blend", blend, "radius of the rounding"),
    CHILDREN("smooth_union.of", "shapes, a list"),
};
#define SHAPE_TABLE(PREFIX, FIELDS) \
    { PREFIX, FIELDS, COUNT(FIELDS), sizeof(ShapeRead), NO_SHAPE, NULL, 0, 0 }
const Table table_shape[SHAPE_KINDS] = {
    [BRIM_SHAPE_BOX] = SHAPE_TABLE("box.", box_fields),
    [BRIM_SHAPE_SPHERE] = SHAPE_TABLE("sphere.", sphere_fields),
    [BRIM_SHAPE_CYLINDER] = SHAPE_TABLE("cylinder.", cylinder_fields),
    [BRIM_SHAPE_CAPSULE] = SHAPE_TABLE("capsule.", capsule_fields),
    [BRIM_SHAPE_PLANE] = SHAPE_TABLE("plane.", plane_fields),
    [BRIM_SHAPE_TORUS] = SHAPE_TABLE("torus.", torus_fields),
    [BRIM_SHAPE_HEIGHT_FIELD] = SHAPE_TABLE("height_field.", height_field_fields),
    [BRIM_SHAPE_MESH] = SHAPE_TABLE("mesh.", mesh_fields),
    [BRIM_SHAPE_UNION] = SHAPE_TABLE("union.", union_fields),
    [BRIM_SHAPE_DIFFERENCE] = SHAPE_TABLE("difference.", difference_fields),
    [BRIM_SHAPE_SMOOTH_UNION] = SHAPE_TABLE("smooth_union.", smooth_union_fields),
};

#define CANYON(MEMBER) offsetof(BrimCanyonDef, MEMBER)
static const Field canyon_fields[] = {
    {{"height_field.canyon.seed", "integer", "1", "0 to 4294967295", "", "of the rock's relief"},
     AT(UINT, CANYON(seed))},
    {{"height_field.canyon.bed", "number", "required", ">= 0", "m", "height of the bed at x = 0"},
     AT(FLOAT, CANYON(bed)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.slope", "number", "0.01", "0 to 1", "",
      "fall of the bed per metre along x, not counting the waterfalls"},
     AT(FLOAT, CANYON(slope))},
    {{"height_field.canyon.width", "number", "required", "> 0", "m", "of the bed"},
     AT(FLOAT, CANYON(width)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.depth", "number", "required", "> 0", "m", "of the canyon, bed to rim"},
     AT(FLOAT, CANYON(depth)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.meander", "number", "0", ">= 0", "m",
      "how far the bed winds to either side"},
     AT(FLOAT, CANYON(meander))},
    {{"height_field.canyon.wavelength", "number", "100", "> 0", "m", "of the meander along x"},
     AT(FLOAT, CANYON(wavelength))},
    {{"height_field.canyon.roughness", "number", "0", ">= 0", "m",
      "amplitude of the rock's relief"},
     AT(FLOAT, CANYON(roughness))},
    {{"height_field.canyon.falls", "list", "[]", "", "",
      "waterfalls, at most four, a list of {x, drop}"},
     AT(FALLS, CANYON(fall_count)),
     .list = &table_fall},
};
const Table table_canyon = {"height_field.canyon.",
                            canyon_fields,
                            COUNT(canyon_fields),
                            sizeof(BrimCanyonDef),
                            NO_SHAPE,
                            NULL,
                            0,
                            0};

static const Field fall_fields[] = {
    {{"height_field.canyon.falls[].x", "number", "required", ">= 0", "m", "position; increasing"},
     AT(FLOAT, offsetof(Fall, x)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.falls[].drop", "number", "required", "> 0", "m", "how far it drops"},
     AT(FLOAT, offsetof(Fall, drop)),
     .flags = FIELD_REQUIRED},
};
const Table table_fall = {"height_field.canyon.falls[].",
                          fall_fields,
                          COUNT(fall_fields),
                          sizeof(Fall),
                          NO_SHAPE,
                          NULL,
                          0,
                          0};

/// The tables of lists and shapes in the order of the manual.
static const Table *const item_tables[] = {
    &table_gravity,
    &table_named,
    &table_liquid,
    &table_solid,
    &table_keyframe,
    &table_body,
    &table_pin,
    &table_pin_key,
    &table_grab,
    &table_grab_key,
    &table_source,
    &table_drain,
    &table_force,
    &table_force_point,
    &table_gauge,
    &table_camera_key,
    &table_placement,
    &table_shape[BRIM_SHAPE_BOX],
    &table_shape[BRIM_SHAPE_SPHERE],
    &table_shape[BRIM_SHAPE_CYLINDER],
    &table_shape[BRIM_SHAPE_CAPSULE],
    &table_shape[BRIM_SHAPE_PLANE],
    &table_shape[BRIM_SHAPE_TORUS],
    &table_shape[BRIM_SHAPE_HEIGHT_FIELD],
    &table_canyon,
    &table_fall,
    &table_shape[BRIM_SHAPE_MESH],
    &table_shape[BRIM_SHAPE_UNION],
    &table_shape[BRIM_SHAPE_DIFFERENCE],
    &table_shape[BRIM_SHAPE_SMOOTH_UNION],
};

const BrimFieldInfo *brim_scene_field(int index) {
    if (index < 0) return NULL;
    // keys that stand alone come before those in groups, so that a manual has them together
    for (int grouped = 0; grouped < 2; grouped++)
        for (int i = 0; i < table_sim.count; i++) {
            const BrimFieldInfo *info = &table_sim.fields[i].info;
            if (!!strchr(info->key, '.') == grouped && index-- == 0) return info;
        }
    for (int t = 0; t < COUNT(item_tables); t++) {
        if (index < item_tables[t]->count) return &item_tables[t]->fields[index].info;
        index -= item_tables[t]->count;
    }
    return NULL;
}
