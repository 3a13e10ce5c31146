// The 2D picture in the making.
#pragma once
#include "look/look.h"

typedef struct Flat {
    const Picture *picture;
    int fine;    ///< samples of a pixel along each side
    View view;   ///< in samples: parallel, looking along -z
    Water disks; ///< [samples]
} Flat;

/// Lines between cells.
void flat_grid(const Flat *flat, Image *image);
/// The line where the level set of the particles is zero.
BrimResult flat_level_set(const Flat *flat, Image *image, BrimError *error);
