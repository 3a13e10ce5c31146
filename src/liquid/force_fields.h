// Forces besides gravity, as accelerations of the velocity on faces: uniform, towards a point,
// around an axis, of wind, along a curve, towards a shape.
#pragma once
#include "step/stages.h"

typedef struct ForceField ForceField;

BrimResult force_fields_new(BrimSim *s, const BrimSimDef *def, BrimError *error);
void force_fields_free(BrimSim *s);
/// Adds what they do over `kick` seconds about `time` to the velocity of known faces. An error: a
/// formula is not a number.
BrimResult force_fields_push(BrimSim *s, double time, double kick, BrimError *error);
/// The strongest acceleration that they may give at a time, as far as samples tell, m/s^2.
double force_fields_strongest(const BrimSim *s, double time);
