// Rays against triangles: the one place that knows Embree. A build without it has no RayScene.
#pragma once
#include "look/look.h"

/// Triangles in a flat array; normals and velocities may be absent.
typedef struct Mesh {
    size_t vertex_count, triangle_count;
    const float *position;    ///< [vertices][3], m
    const float *normal;      ///< [vertices][3], unit, outward; NULL: use the triangles' own
    const float *velocity;    ///< [vertices][3], m/s; NULL: still
    const uint32_t *triangle; ///< [triangles][3], counter-clockwise from outside
} Mesh;

typedef struct RayScene RayScene;

typedef struct RayHit {
    float distance;  ///< along the direction as given
    BrimVec3 normal; ///< of the triangle, outward, not of unit length
    float u, v;      ///< weights of the triangle's second and third vertex
    uint32_t triangle;
    int mesh; ///< as told to ray_scene_add
} RayHit;

typedef struct Ray {
    BrimVec3 origin, direction;
    float time; ///< 0 to 1 within the shutter
} Ray;

/// BRIM_ERROR_MISSING when the build has no Embree.
BrimResult ray_scene_new(RayScene **scene, BrimError *error);
/// Copies a mesh in under a number that hits will tell. Vertices move by velocity over
/// [-blur / 2, blur / 2] seconds while the shutter is open.
BrimResult ray_scene_add(RayScene *scene, const Mesh *mesh, int number, float blur,
                         BrimError *error);
/// Balls of given centre and radius, [count][4], that move by velocity [count][3]; m, m/s. Hits
/// tell the ball as the triangle.
BrimResult ray_scene_add_balls(RayScene *scene, size_t count, const float *ball,
                               const float *velocity, int number, float blur, BrimError *error);
/// After the last mesh. The same tree for any number of threads.
BrimResult ray_scene_build(RayScene *scene, BrimError *error);
void ray_scene_free(RayScene **scene);

/// First triangle between two distances along the ray. May be called by many threads at once.
bool ray_meets(const RayScene *scene, const Ray *ray, float begin, float end, RayHit *hit);
/// Whether there is any.
bool ray_blocked(const RayScene *scene, const Ray *ray, float begin, float end);
