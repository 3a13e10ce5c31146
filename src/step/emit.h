// Seeding and sources, as far as creating a simulation needs them.
#pragma once
#include "step/stages.h"

/// Particles that the region shapes[index] will hold: regions before it take theirs first. Marks
/// tiles [tile box] that get any, when not NULL. Beyond `most` (when not 0) counting ends.
int64_t emit_count(BrimSim *s, const Shape *const *shapes, int index, int64_t most, uint8_t *tiles);
/// Seeds the region shapes[index]. False when out of memory.
bool emit_liquid(BrimSim *s, const BrimLiquidDef *def, const Shape *const *shapes, int index);
/// Sets a source's bounds and the speed of its stream; an error names the scene's key.
BrimResult emit_prepare(BrimSim *s, Source *source, int index, BrimError *error);
/// Particles a second that a source emits while it runs.
double emit_rate(const BrimSim *s, const Source *source);
