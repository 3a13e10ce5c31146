// The 3D picture in the making: what scene.c and its helpers share.
#pragma once
#include "look/look.h"

typedef struct Scene {
    const Picture *picture;
    int fine;          ///< samples of a pixel along each side
    View camera;       ///< in samples
    View sun;          ///< of the light
    float extent;      ///< diagonal of the domain, m
    Water water;       ///< [samples]
    SolidHit *hit;     ///< [samples]; NULL without solids
    float *surface;    ///< [samples] depth of what is lit: water, solid or floor
    float *shadow;     ///< [sun] depth of what the light meets first
    float *open, *lit; ///< [pixels] share of the sky, of the sun that reaches the surface
} Scene;

/// Unit vector towards the light.
BrimVec3 sun_direction(void);

/// Depth of the floor under a sample, INFINITY above the horizon.
float floor_depth(const Scene *s, int x, int y);
/// Normal of the water's surface at a sample, from the depths around it.
BrimVec3 water_normal(const Scene *s, int x, int y);
static inline BrimVec3 hit_normal(const int8_t normal[3]) {
    return vec_unit(vec((float)normal[0], (float)normal[1], (float)normal[2]));
}

/// surface => (open, lit)
void light_scene(Scene *s);
/// (water, hit, open, lit) => image
void shade_scene(const Scene *s, Image *image);
