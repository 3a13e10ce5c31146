// The ray-traced picture: what its files share.
//
//   tracer        meshes => tree, pixels => image
//   tracer_path   a ray through water and glass => light
//   tracer_light  sky, sun, floor and solids: the light that leaves a matte surface
#pragma once
#include "base/hash.h"
#include "look/contour.h"
#include "look/water_picture.h"

enum { MESH_WATER, MESH_SOLID, MESH_TANK, MESH_GLASS, MESH_FOAM };

typedef struct Tracer {
    const Solids *solids;
    const Mesh *water;
    // Each by itself, since water lies on solids and on glass: what touches must not be skipped.
    RayScene *surface; ///< of the water
    RayScene *matte;   ///< solids
    RayScene *tank;    ///< its edges, which cast no shadows
    RayScene *glass;   ///< clear solids; NULL: none
    RayScene *white;   ///< spray, foam and bubbles; NULL: none
    const BrimFoamFrame *foam;
    View camera;
    BrimVec3 size;       ///< of the domain, m
    float cell;          ///< m
    float extent;        ///< diagonal of the domain, m
    float skin;          ///< rays start this far from what they leave, m
    float lift;          ///< and this far from solids, whose triangles cut their true surface, m
    BrimVec3 absorption; ///< of water, 1/m
    float line;          ///< spacing of the floor's lines, m
    float *open;         ///< [open_z][open_x] share of the sky that the floor sees
    int open_x, open_z;
    BrimVec3 open_low; ///< where the map begins
    float open_step;   ///< between its points, m
    Team *team;
} Tracer;

/// Meshes into a tree, light of the floor. On failure there is nothing to free.
BrimResult tracer_new(Tracer *t, const WaterPicture *picture, BrimError *error);
void tracer_free(Tracer *t);

// ------------------------------------------------------------------------------------ sampling

/// Points of the unit square that fill it evenly over a pixel's samples, each use in a turn of its
/// own: a function of (pixel, sample, use), so the same for any number of threads.
typedef struct Sampler {
    uint32_t pixel;
    int sample, use;
} Sampler;

typedef struct Square {
    float x, y;
} Square;

/// Point `k` of `of` that one use takes for each sample.
static inline Square sampler_next(Sampler *s, int k, int of) {
    uint64_t h = hash_3(0x6272696d, s->pixel, (uint64_t)s->use);
    // the additive recurrence of the plastic number: its next points fall between all earlier ones
    double i = s->sample * of + k, x = hash_unit(h, 0) + 0.7548776662466927 * i;
    double y = hash_unit(h, 1) + 0.5698402909980532 * i;
    if (k == of - 1) s->use++;
    return (Square){(float)(x - floor(x)), (float)(y - floor(y))};
}

// --------------------------------------------------------------------------------------- light

BrimVec3 tracer_sun(void);
/// Light that arrives from a direction when nothing is in its way.
BrimVec3 sky_light(BrimVec3 direction, bool with_sun);
/// What scatters back out of deep water.
BrimVec3 deep_water(void);
/// Share of light that is left after a way through water.
BrimVec3 water_filter(const Tracer *t, float distance);
/// Share that water, n = 1.333, reflects; from inside when `wet`. *bent is the cosine of the ray
/// that goes on, 0 when all is reflected.
float water_mirror(float cosine, bool wet, float *bent);

/// Fills t->open.
BrimResult tracer_light_floor(Tracer *t, BrimError *error);

/// A point of a matte surface that a ray met.
typedef struct Spot {
    BrimVec3 point, normal; ///< normal towards the ray's side
    BrimVec3 direction;     ///< of the ray
    float travelled;        ///< by the ray from the eye, m
    float time;             ///< within the shutter
    bool wet;               ///< under water
    int depth;              ///< surfaces met before
} Spot;

BrimVec3 light_floor(const Tracer *t, const Spot *spot, Sampler *sampler);
BrimVec3 light_solid(const Tracer *t, const Spot *spot, Sampler *sampler);
BrimVec3 light_foam(const Tracer *t, const Spot *spot, Sampler *sampler);
BrimVec3 light_tank(const Tracer *t, const Spot *spot, Sampler *sampler);

/// Distance along a ray to the floor, INFINITY when it never comes there. The floor lies a few
/// skins below y = 0, so that water's underside is met before it.
static inline float floor_distance(const Tracer *t, const Ray *ray) {
    float above = ray->origin.y + 4 * t->skin;
    return ray->direction.y < 0 && above > 0 ? -above / ray->direction.y : INFINITY;
}

// ---------------------------------------------------------------------------------------- path

/// Light that comes to the eye along a ray.
BrimVec3 tracer_look(const Tracer *t, const Ray *ray, Sampler *sampler);
