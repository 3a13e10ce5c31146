#pragma once
#include "brim/brim.h"

/// Hash of all in a def that decides the result. Left out: duration and output, so that a run can
/// be prolonged, and threads, isa and memory_limit, which change no bit. Files count by content.
uint64_t def_hash(const BrimSimDef *def);
/// The same of one solid or liquid that a program adds; h: hash of what came before.
uint64_t solid_hash(uint64_t h, const BrimSolidDef *solid, int dim);
uint64_t liquid_hash(uint64_t h, const BrimLiquidDef *liquid, int dim);
/// The same of a shape, added to a hash.
uint64_t shape_hash(uint64_t hash, const BrimShapeDef *shape, int dim);
