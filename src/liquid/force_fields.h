// Forces besides gravity, as accelerations of the velocity on faces: uniform, towards a point,
// around an axis, of wind, along a curve, towards a shape.
#pragma once
#include "grid/mask.h"
#include "step/stages.h"

typedef struct ForceField ForceField;

BrimResult force_fields_new(BrimSim *s, const BrimSimDef *def, BrimError *error);
void force_fields_free(BrimSim *s);
/// Faces of a tile along an axis that forces act on, gravity too: the known ones, and near solids
/// those of liquid whose velocity no particle of its own tells, as in a sliver beside a thin wall:
/// pressure acts there as well, and alone it would drive them. On a warped grid its known cells.
TileMask faces_forced(const BrimSim *s, int slot, int axis);
/// Adds what they do over `kick` seconds about `time` to the velocity there. An error: a formula is
/// not a number.
BrimResult force_fields_push(BrimSim *s, double time, double kick, BrimError *error);
/// The strongest acceleration that they may give at a time, as far as samples tell, m/s^2.
double force_fields_strongest(const BrimSim *s, double time);
