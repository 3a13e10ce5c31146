#include "projection/faces.h"
#include "surface/level_set.h"
#include <math.h>

const float tile_zeros[TILE * TILE * TILE];
const float tile_far[TILE * TILE * TILE] = {[0 ... TILE * TILE * TILE - 1] = LEVEL_SET_CUT};
const float tile_unknown[TILE * TILE * TILE] = {[0 ... TILE * TILE * TILE - 1] = NAN};
