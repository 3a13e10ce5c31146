// The ray-traced picture as the rest of the pictures sees it.
#pragma once
#include "look/ray.h"

typedef struct WaterPicture {
    const BrimSimDef *def;
    const Solids *solids;
    const Mesh *water;
    const BrimFoamFrame *foam; ///< NULL: none
    View camera;
    float focus;                ///< distance along the camera's axis of what is sharp, m
    int samples;                ///< a pixel, before more are taken where they differ
    float blur;                 ///< s that the shutter is open
    Team *team;                 ///< NULL: the caller alone
    const BrimPictureDef *want; ///< whom to tell of progress
} WaterPicture;

/// BRIM_ERROR_MISSING when the build has no Embree.
BrimResult water_picture_draw(const WaterPicture *picture, Image *image, BrimError *error);
