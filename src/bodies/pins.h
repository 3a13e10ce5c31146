// Pins that move: what they hold follows them, by springs at the end of the step as for hands.
#pragma once
#include "bodies/body.h"

/// The paths of a body's pins, when one of them has any.
BrimResult pins_of_def(Body *body, const BrimBodyDef *def, BrimError *error);
void pins_free(Body *body);

/// Adds force and stiffness of pins that move to the bodies' hand, extra, touching.
void pins_pull(BrimSim *s, double kick);
/// The same forces at the velocities that came out.
void pins_follow(BrimSim *s);
