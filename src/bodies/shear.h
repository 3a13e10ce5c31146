// Friction of a viscous liquid on bodies.
//
// The viscosity holds the liquid at walls with the velocity v_0 that these had, and its momentum
// that went into them is F = sum of viscous_drag, by the functions at each face's wall. Had they
// another velocity, at most F - C (v - v_0) would be theirs, C = sum of viscous_grip: the liquid
// beside a wall gives way with it. With that C inside A a light body in honey is stable, and what
// stands still feels F itself.
#pragma once
#include "step/state.h"

/// (viscous_drag, viscous_grip, v) => shear, grip of bodies. False when out of memory.
bool shear_gather(BrimSim *s, double kick);
/// Adds it, at v, to contact, and to extra.
void shear_pull(BrimSim *s, double kick);
/// Takes it, at the velocity that came out, from contact => shear.
void shear_settle(BrimSim *s);
