// The stages of a time step, in the order in which step.c runs them.
#pragma once
#include "step/tiles.h"

/// Gravity at a time, m/s^2.
BrimVec3 gravity_at(const BrimSim *s, double time);
/// Length of the step that begins at `time` in frame `frame`, s; never crosses the frame's end.
double choose_dt(const BrimSim *s, double time, int frame);
/// Places the solids for the end of the step; samples them on the tiles that they touch.
bool stage_solids(BrimSim *s);
/// (velocity, x, v) => (x, key). Moves particles through the flow and out of solids.
void stage_advect(BrimSim *s);
/// Appends what sources emit, marks what drains take. False when out of memory.
bool stage_emit(BrimSim *s);
/// Band: (velocity, phi, hidden) => (old: velocity carried along; next masks; coefficient: paths).
void band_trace(BrimSim *s);
/// Band: takes particles below it, makes those that came up into it. (next masks) => (key, tail,
/// interior, hidden). False when out of memory.
bool band_resample(BrimSim *s);
/// (x, key) => sorted particles, grid, fields on the new tiles. False when out of memory.
bool stage_sort(BrimSim *s);
/// (x) => density; with BRIM_VOLUME_DENSITY particles are moved by displacements that restore the
/// rest density and lead out of solids, and sorted again, unless that can wait for a later step.
/// Nothing without a way to keep the volume, or before pressure acts. An error loses the sim.
BrimResult stage_density(BrimSim *s, BrimError *error);
/// At the end of a frame: statistics of the density as it is. (x) => density. False when out of
/// memory.
bool density_after(BrimSim *s);
/// Band: (old: velocity carried along) => velocity; old is free for that of the particles.
void band_swap(BrimSim *s);
/// (x, v, affine) => (velocity, old, known); with a band (old, known). False when out of
/// memory.
bool stage_to_grid(BrimSim *s);
/// (x, interior) => (phi, liquid, deepest)
void stage_surface(BrimSim *s);
/// Band: (velocity carried along, old: that of particles, phi) => (velocity, old, known) by eq. (3)
/// or (2); old only where particles are near.
void band_combine(BrimSim *s);
/// Gravity over `kick` seconds on known faces.
void stage_forces(BrimSim *s, double kick);
/// (velocity, phi, open) => (velocity without divergence, pressure). `kick`: seconds over which the
/// pressure acts. An error loses the sim.
BrimResult stage_project(BrimSim *s, double kick, BrimError *error);
/// Velocity into air and solids as far as a particle can travel in the next step.
void stage_extrapolate(BrimSim *s);
/// (velocity, old) => (v, affine)
void stage_to_particles(BrimSim *s);
/// Statistics. An error: a value is not a number, or particles are missing.
BrimResult stage_measure(BrimSim *s, BrimError *error);

/// Cells that a particle may cross in the next step, as far as can be told now; and one that is
/// `speed` m/s fast.
double reach_estimate(const BrimSim *s);
/// Whether something may go farther than the next tile in this step.
bool crosses_tiles(const BrimSim *s);
double reach_at_speed(const BrimSim *s, double speed);
/// A reach in whole cells, with one more that interpolation reads there.
int reach_cells(double reach);
/// Samples the solids on a tile: tile_solid, solid_phi, open, wall_speed, parts of cells, masks.
TileTask solids_sample_tile;
/// Distances to the solids near a tile at `count` points, at most a slice of half cells: phi => the
/// lesser of it and theirs; owner: the solid it is of, or NULL. Returns whether one is near.
bool solids_sample(const BrimSim *s, int slot, int count, const float *x, const float *y,
                   const float *z, float *phi, int16_t *owner);
/// Finds the tiles near solids anew. Those that stay keep their values, new ones are sampled.
/// (solid_at of before, in the slots of now) => solid_at. False when out of memory.
bool solids_arrange(BrimSim *s);
/// Distances to solids as a block, m.
void solid_block(const BrimSim *s, int slot, int halo, float missing, float *block);
/// Distances to solids at the corners of a cell, m: x + 2 y + 4 z. False where a tile is missing.
bool solid_corners(const BrimSim *s, int slot, int cell, float value[8]);
/// The fastest flow on a tile and those around it, m/s.
float speed_around(const BrimSim *s, int slot);
/// Numbers the tiles with particles and makes room in `work` for a block of so many floats of
/// each. => scatter_at. False when out of memory.
bool scatter_reserve(BrimSim *s, size_t floats);
/// Moves things of `bytes` each to new places in their array: from [count] => where each was, which
/// is in the same order; -1: it is new and gets zeros.
void follow(void *array, size_t bytes, const int32_t *from, int count);
/// Band: keeps the tiles of liquid without particles in the next sort; fields follow after it.
void band_keep_tiles(BrimSim *s);
void band_follow(BrimSim *s);
/// Band: (phi near the surface, liquid) => phi, deepest: distance as deep as the band needs.
void band_distance(BrimSim *s);
/// Whether a solid meets a tile or one beside it.
bool solid_near(const BrimSim *s, int slot);
/// Distance to the solids at a point by looking nodes up one by one, m, and its gradient.
float solid_lookup(const BrimSim *s, const float at[3], float gradient[3]);
/// The box that particles stay in, m: drawn in at walls; beyond open sides they may go a cell.
void domain_box(const BrimSim *s, float low[3], float high[3]);
/// (x) => key: the cell that each particle is in now, or KEY_LEFT beyond an open side.
void find_keys(BrimSim *s, int slot);
/// Velocity at a point by looking tiles up one by one; NaN components where none is known.
void velocity_lookup(const BrimSim *s, const float at[3], float v[3]);
/// Makes every field that is needed, large enough for so many tiles; keeps contents. False when
/// out of memory.
bool fields_reserve(BrimSim *s, size_t tiles);
/// Gives back memory that a larger flow needed: fields, particles, work.
void fields_release(BrimSim *s);
/// The same for the fields of solids.
bool solid_fields_reserve(BrimSim *s, size_t tiles);
/// The same for those with thin walls.
bool fine_fields_reserve(BrimSim *s, size_t tiles);
void fields_free(BrimSim *s);
size_t fields_bytes(const BrimSim *s);

/// Runs one step.
BrimResult step_run(BrimSim *s, BrimError *error);
