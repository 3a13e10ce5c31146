// The stages of a time step, in the order in which step.c runs them.
#pragma once
#include "step/stage.h"
#include "step/tiles.h"

/// Gravity at a time, m/s^2.
BrimVec3 gravity_at(const BrimSim *s, double time);
/// The speed that steps are chosen for, of particles, sources and solids, m/s.
double step_speed(const BrimSim *s);
/// The strongest pull of gravity and forces in this step or the next, m/s^2.
double strongest_pull(const BrimSim *s);
/// Length of the step that begins at `time` in frame `frame`, s; never crosses the frame's end.
double choose_dt(const BrimSim *s, double time, int frame);
/// The longest step in which ripples of surface tension do not grow, s.
double step_for_tension(const BrimSim *s);
/// The longest step that waves allow, s: the time in which water falls one cell. Steps take turns
/// with positions and velocities, as a leapfrog does, so a wave with omega dt > 2 turns over in
/// each; with omega^2 = g k and dt^2 = 2 dx / g these are waves shorter than pi cells, as rough as
/// the grid.
double step_for_waves(const BrimSim *s);
/// The longest step that is chosen, by all but speeds; a fixed one, s.
double step_at_rest(const BrimSim *s);

/// stage_solids and so on, as the list in field_table.h tells. An error loses the simulation.
#define STAGE_FUNCTION(NAME, FUNCTION, ...) \
    BrimResult stage_##FUNCTION(BrimSim *s, BrimError *error);
STAGE_LIST(STAGE_FUNCTION)
#undef STAGE_FUNCTION

bool sort_particles(BrimSim *s);
bool density_moves(const BrimSim *s);
/// False, and nothing happened: out of memory.
bool find_surface(BrimSim *s);
/// Sums over a tile's particles for it. => tile_sums
void measure_particles(BrimSim *s, int slot);

/// The error of a stage that found no memory.
BrimResult step_out_of_memory(const BrimSim *s, const char *stage, BrimError *error);
/// A stage begins.
void stage_begin(BrimSim *s, StageId id);

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
/// The same at the nodes of a box, `fine` to a cell and `edge` along each axis from `first` on as
/// counted from the tile's low corner, slice by slice; without a solid INFINITY, -1.
bool solids_sample_nodes(const BrimSim *s, int slot, int fine, int first, int edge, float *phi,
                         int16_t *owner);
/// Finds the tiles near solids anew. Those that stay keep their values, new ones are sampled.
/// (solid_at of before, in the slots of now) => solid_at. False when out of memory.
bool solids_arrange(BrimSim *s);
/// Distances to solids as a block, m.
void solid_block(const BrimSim *s, int slot, int halo, float missing, float *block);
/// Distances to solids at the corners of a cell, m: x + 2 y + 4 z. False where a tile is missing.
bool solid_corners(const BrimSim *s, int slot, int cell, float value[8]);
/// The fastest flow on a tile and those around it, m/s.
float speed_around(const BrimSim *s, int slot);
/// Band: keeps the tiles of liquid without particles in the next sort.
void band_keep_tiles(BrimSim *s);
/// Band: (phi near the surface, liquid) => phi, deepest: distance as deep as the band needs.
void band_distance(BrimSim *s);
/// Memory for it; find_surface has asked for it. False: out of memory.
bool band_distance_room(BrimSim *s);
/// Whether a solid meets a tile or one beside it.
bool solid_near(const BrimSim *s, int slot);
/// Whether a solid may be nearer than so many cells to a place in a tile.
bool solid_within(const BrimSim *s, int slot, float cells);
/// The box that particles stay in, m: drawn in at walls; beyond open sides they may go a cell.
void domain_box(const BrimSim *s, float low[3], float high[3]);
/// Attribute `age`: a tile's particles grow older by a step.
void grow_older(BrimSim *s, int slot);
/// (x) => key: the cell that each particle is in now, or KEY_LEFT beyond an open side.
void find_keys(BrimSim *s, int slot);
/// Velocity at a point by looking tiles up one by one; NaN components where none is known.
void velocity_lookup(const BrimSim *s, const float at[3], float v[3]);
/// Velocity of the solids at a point in the same way, m/s; 0 far from them. Only where some move.
void wall_lookup(const BrimSim *s, const float at[3], float v[3]);
/// Runs the stages of the step from one to the first of another, and books their times.
BrimResult stages_run(BrimSim *s, StageId first, StageId last, BrimError *error);
/// Runs one step.
BrimResult step_run(BrimSim *s, BrimError *error);
