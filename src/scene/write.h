// A def as JSON that is itself a scene and reads back as the same def.
#pragma once
#include "scene/fields.h"

/// malloc'ed text; NULL when out of memory.
char *def_json(const BrimSimDef *def);
