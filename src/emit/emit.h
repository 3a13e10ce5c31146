// Where liquid comes from and goes to: seeding, sources, drains.
#pragma once
#include "step/stages.h"

/// Particles that the region shapes[index] will hold: regions before it take theirs first. Marks
/// tiles [tile box] that get any, when not NULL. Beyond `most` (when not 0) counting ends.
int64_t emit_count(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index,
                   int64_t most, uint8_t *tiles);
/// Seeds the region shapes[index]. False when out of memory.
bool emit_liquid(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index);
/// Adds the particles of a region of air, as the simulation is now, to those that come in with the
/// next step. False when out of memory: then none is added.
bool emit_waiting(BrimSim *s, const BrimLiquidDef *def, const LiquidFlow *flow, const Shape *shape,
                  uint32_t origin);
/// Sets a source's bounds and the speed of its stream; an error names the scene's key.
BrimResult emit_prepare(BrimSim *s, Source *source, int index, BrimError *error);
/// Points of a source's lattice that enter its shape, solids left out of account, when it drifts by
/// one spacing along a direction; fine: the same in parts of points, by at most `most` of them.
double emit_section(BrimSim *s, const Source *source, const float direction[3], int most,
                    double *fine);
/// Between the points of a lattice, m.
float emit_spacing(const BrimSim *s);
/// Particles a second that a source emits while it runs, as it is now.
double emit_rate(const BrimSim *s, const Source *source);
/// Adds the lattice points of the region shapes[index] to those of each cell, on tiles that exist.
void emit_cells(BrimSim *s, const Shape *const *shapes, int index, uint32_t *points);
/// Emits what entered the source's shape in the part of the step during which it runs. False when
/// out of memory.
bool emit_source(BrimSim *s, Source *source);
/// Marks what goes through drains in this step => keys
void drains_empty(BrimSim *s);
/// Formulas of a liquid's velocity.
BrimResult flow_new(LiquidFlow *flow, const BrimLiquidDef *def, int dim, BrimError *error);
void flow_free(LiquidFlow *flow);
/// Whether particles from one on have velocities that make sense.
BrimResult flow_check(const Particles *p, size_t from, BrimError *error);
/// A component of a region's velocity at a point, m/s. flow: its formulas, or NULL.
float liquid_velocity(const BrimLiquidDef *def, const LiquidFlow *flow, const float at[3],
                      int axis);

/// Band: finds the cells too deep for particles, before any is seeded: tiles, interior, hidden.
/// tiles [tile box]: where the regions are. False when out of memory.
bool band_start(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes, int count,
                const uint8_t *tiles);
/// Band: velocity below the band before the first step => old, traced.
void band_start_velocity(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                         int count);
