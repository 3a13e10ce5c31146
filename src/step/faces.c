#include "step/faces.h"

const float tile_zeros[TILE * TILE * TILE];
