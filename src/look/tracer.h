// The ray-traced picture: what its files share.
//
//   tracer        meshes => tree, pixels => image
//   tracer_path   a ray through water and glass => light
//   tracer_light  sun, floor and solids: the light that leaves a matte surface
//   sky           what is around: our sky, or a picture
//   caustics      the sun's light on the floor, gathered by the water
#pragma once
#include "base/hash.h"
#include "look/contour.h"
#include "look/water_picture.h"

enum { MESH_WATER, MESH_SOLID, MESH_TANK, MESH_GLASS, MESH_FOAM };

/// A picture of all that is around, as in Radiance's files: [height][width], top first.
typedef struct SkyPicture {
    int width, height;
    BrimVec3 *pixel; ///< NULL: none
    float turn;      ///< about y, rad
    float strength;
} SkyPicture;

/// A map of the floor.
typedef struct FloorMap {
    float *value; ///< [count_z][count_x]; NULL: none
    int count_x, count_z;
    BrimVec3 low; ///< where it begins
    float step;   ///< between its points, m
} FloorMap;

typedef struct Tracer {
    const Solids *solids;
    const BrimLookDef *look;
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
    BrimVec3 deep;       ///< what scatters back out of deep water
    BrimVec3 sun;        ///< towards it
    BrimVec3
        sun_power; ///< irradiance over pi: what a white matte surface that faces it shines with
    BrimVec3 sky_mean, floor_mean; ///< light that a matte surface gets from above, from below
    SkyPicture sky;
    float frame_time;  ///< s
    float lens, focus; ///< radius of the lens and distance of what is sharp, m
    FloorMap lit;      ///< of the sun's light on the floor, 1 = all of it
    float line;        ///< spacing of the floor's lines, m
    FloorMap open;     ///< share of the sky that the floor sees
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
    float moved; ///< by the water that is met first, from frame to frame, pixels; else INFINITY
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

/// Sun, sky and water as the look has them. BRIM_ERROR_IO or _INPUT: the sky's picture.
BrimResult tracer_light(Tracer *t, BrimError *error);
/// Light that arrives from a direction when nothing is in its way.
BrimVec3 sky_light(const Tracer *t, BrimVec3 direction, bool with_sun);
BrimResult sky_picture_read(const char *path, SkyPicture *sky, BrimError *error);
/// Follows photons from the sun through water to the floor. (t->lit)
BrimResult tracer_gather(Tracer *t, BrimError *error);
/// Value at a place, 0 beyond the map.
float floor_map_at(const FloorMap *map, BrimVec3 p);
/// How much a map counts there: 1 inside, less towards its edge, so that none shows.
float floor_map_share(const FloorMap *map, BrimVec3 p);
/// The floor around the domain, points as many as a picture needs; nothing allocated yet.
void floor_map_place(const Tracer *t, int points, FloorMap *map);
/// Share of light that is left after a way through water.
BrimVec3 water_filter(const Tracer *t, float distance);
/// Share that water, n = 1.333, reflects; from inside when `wet`. *bent is the cosine of the ray
/// that goes on, 0 when all is reflected.
float water_mirror(float cosine, bool wet, float *bent);

/// Fills t->open
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
    if (!t->look->ground) return INFINITY;
    return ray->direction.y < 0 && above > 0 ? -above / ray->direction.y : INFINITY;
}

// ---------------------------------------------------------------------------------------- path

/// Light that comes to the eye along a ray.
BrimVec3 tracer_look(const Tracer *t, const Ray *ray, Sampler *sampler);
