// Whether a def makes sense. Messages name the keys of the scene format.
#pragma once
#include "brim/brim.h"

/// Set by brim_default_sim_def, so that a def that did not start there is refused.
#define BRIM_DEF_COOKIE 0x6d697262u

typedef struct Problem {
    char key[256];  ///< "solids[0].box.size"
    char text[512]; ///< what is wrong and what is allowed
} Problem;

/// True when something is wrong; the first thing found is in *problem.
bool def_has_problem(const BrimSimDef *def, Problem *problem);
/// A liquid or a solid by itself, as a program adds it.
BrimResult liquid_check(const BrimLiquidDef *liquid, int dim, BrimError *error);
BrimResult solid_check(const BrimSolidDef *solid, int dim, BrimError *error);
BrimResult def_check(const BrimSimDef *def, BrimError *error);
BrimResult foam_def_check(const BrimFoamDef *def, BrimError *error);
