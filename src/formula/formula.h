// Formulas: numbers that depend on place and time, as text that people write in scenes.
//
//   0.3 + 0.06 / cosh(2 * (x - 2))^2
//   h = 0.3; a = 0.06; h + a * sin(2 * pi * t)      names of its own, each used after it is given
//   wave.eta(x - 2)                                 a column of a table, as a function
//
// Numbers are SI. A formula is compiled once into a short program for a stack, which works on many
// points at a time. It has no loops and no way to reach anything but its variables: it always ends.
#pragma once
#include "brim/brim.h"

typedef struct Formula Formula;

/// Variables, as bits of what a formula may use.
enum { FORMULA_X = 1, FORMULA_Y = 2, FORMULA_Z = 4, FORMULA_T = 8, FORMULA_VARIABLES = 4 };
#define FORMULA_PLACE (FORMULA_X | FORMULA_Y | FORMULA_Z)

/// Text => formula. names: what it may use besides its variables; may be NULL. An error says what
/// is wrong and where in the text.
BrimResult formula_new(const char *text, const BrimNames *names, unsigned variables,
                       Formula **formula, BrimError *error);
void formula_free(Formula **formula);
size_t formula_bytes(const Formula *formula);
/// Which variables it uses.
unsigned formula_uses(const Formula *formula);

/// At n points; arrays of variables that it does not use may be NULL. Values may be infinite or not
/// a number: the caller decides. variable [4][n]: x, y, z m, t s => out [n]
void formula_values(const Formula *formula, int n, const double *const variable[FORMULA_VARIABLES],
                    double *out);
double formula_at(const Formula *formula, double x, double y, double z, double t);

/// The definitions of names by themselves: whether they make sense.
BrimResult names_check(const BrimNames *names, BrimError *error);
