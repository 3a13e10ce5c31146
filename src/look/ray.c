// Embree 3 behind ray.h.
#include "look/ray.h"
#include "base/error.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef BRIM_HAVE_EMBREE
#include <embree3/rtcore.h>

enum { MESHES_MOST = 8 };

bool brim_traces_rays(void) {
    return true;
}

struct RayScene {
    RTCDevice device;
    RTCScene scene;
    int number[MESHES_MOST]; ///< by Embree's geometry id
};

static BrimResult out_of_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's triangles");
}

/// What stays free for allocations that nobody can refuse, as task groups of TBB: it ends the
/// process where it cannot have them, even while Embree cleans up.
static const size_t RESERVE = (size_t)32 << 20;

/// Told by Embree before it takes a block: whether there is room for it and the reserve. Where
/// there is not Embree gives up in good order.
static bool has_room(void *unused, ssize_t bytes, bool post) {
    (void)unused;
    if (bytes < 0 || post) return true;
    void *volatile trial = malloc((size_t)bytes + RESERVE);
    free(trial);
    return trial != NULL;
}

/// The first error since the last call.
static BrimResult check_device(RTCDevice device, BrimError *error) {
    enum RTCError code = rtcGetDeviceError(device);
    if (code == RTC_ERROR_NONE) return BRIM_OK;
    if (code == RTC_ERROR_OUT_OF_MEMORY) return out_of_memory(error);
    return fail(error, BRIM_ERROR_INPUT, "Embree cannot take the picture's triangles (error %d)",
                (int)code);
}

/// The device, the same for all pictures of the process; NULL when out of memory. A device holds
/// TBB to one thread; where it ends, or another begins, TBB makes a thread for each core, and ends
/// the process when these cannot have their stacks. So it never ends.
static RTCDevice the_device(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static RTCDevice device;
    pthread_mutex_lock(&mutex);
    // one thread builds: with several the order of triangles in the tree's leaves, and with it
    // which of two touching ones a ray meets first, would depend on chance
    if (!device && has_room(NULL, 0, false)) {
        device = rtcNewDevice("threads=1,set_affinity=0");
        if (device) rtcSetDeviceMemoryMonitorFunction(device, has_room, NULL);
    }
    pthread_mutex_unlock(&mutex);
    return device;
}

BrimResult ray_scene_new(RayScene **scene, BrimError *error) {
    RayScene *s = *scene = calloc(1, sizeof *s);
    if (!s) return out_of_memory(error);
    s->device = has_room(NULL, 0, false) ? the_device() : NULL;
    if (s->device) rtcGetDeviceError(s->device); // what a picture before left there
    s->scene = s->device ? rtcNewScene(s->device) : NULL;
    if (!s->scene) {
        ray_scene_free(scene);
        return out_of_memory(error);
    }
    // robust: no ray slips between two triangles
    rtcSetSceneFlags(s->scene, RTC_SCENE_FLAG_ROBUST);
    rtcSetSceneBuildQuality(s->scene, RTC_BUILD_QUALITY_HIGH);
    return BRIM_OK;
}

/// Positions at one end of the shutter.
static bool add_positions(RTCGeometry g, const Mesh *m, unsigned step, float shift) {
    float *to = rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, step, RTC_FORMAT_FLOAT3,
                                        3 * sizeof(float), m->vertex_count);
    if (!to) return false;
    memcpy(to, m->position, 3 * m->vertex_count * sizeof(float));
    for (size_t i = 0; shift != 0 && i < 3 * m->vertex_count; i++) to[i] += shift * m->velocity[i];
    return true;
}

static bool fill_geometry(RTCGeometry g, const Mesh *m, float blur) {
    bool moves = m->velocity && blur > 0;
    rtcSetGeometryTimeStepCount(g, moves ? 2 : 1);
    if (!add_positions(g, m, 0, moves ? -0.5f * blur : 0)) return false;
    if (moves && !add_positions(g, m, 1, 0.5f * blur)) return false;
    uint32_t *to = rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                           3 * sizeof(uint32_t), m->triangle_count);
    if (!to) return false;
    memcpy(to, m->triangle, 3 * m->triangle_count * sizeof(uint32_t));
    rtcCommitGeometry(g);
    return true;
}

BrimResult ray_scene_add(RayScene *s, const Mesh *mesh, int number, float blur, BrimError *error) {
    if (mesh->triangle_count == 0) return BRIM_OK;
    RTCGeometry g = rtcNewGeometry(s->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    if (!g) return out_of_memory(error);
    bool filled = fill_geometry(g, mesh, blur);
    unsigned id = filled ? rtcAttachGeometry(s->scene, g) : RTC_INVALID_GEOMETRY_ID;
    rtcReleaseGeometry(g);
    BrimResult result = check_device(s->device, error);
    if (result != BRIM_OK) return result;
    if (id >= MESHES_MOST) return out_of_memory(error);
    s->number[id] = number;
    return BRIM_OK;
}

/// Balls at one end of the shutter.
static bool add_balls(RTCGeometry g, size_t count, const float *ball, const float *velocity,
                      unsigned step, float shift) {
    float *to = rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, step, RTC_FORMAT_FLOAT4,
                                        4 * sizeof(float), count);
    if (!to) return false;
    memcpy(to, ball, 4 * count * sizeof(float));
    for (size_t i = 0; shift != 0 && i < count; i++)
        for (int a = 0; a < 3; a++) to[4 * i + (size_t)a] += shift * velocity[3 * i + (size_t)a];
    return true;
}

BrimResult ray_scene_add_balls(RayScene *s, size_t count, const float *ball, const float *velocity,
                               int number, float blur, BrimError *error) {
    if (count == 0) return BRIM_OK;
    RTCGeometry g = rtcNewGeometry(s->device, RTC_GEOMETRY_TYPE_SPHERE_POINT);
    if (!g) return out_of_memory(error);
    rtcSetGeometryTimeStepCount(g, blur > 0 ? 2 : 1);
    bool filled = add_balls(g, count, ball, velocity, 0, -0.5f * blur) &&
                  (blur <= 0 || add_balls(g, count, ball, velocity, 1, 0.5f * blur));
    if (filled) rtcCommitGeometry(g);
    unsigned id = filled ? rtcAttachGeometry(s->scene, g) : RTC_INVALID_GEOMETRY_ID;
    rtcReleaseGeometry(g);
    if (id >= MESHES_MOST) return out_of_memory(error);
    s->number[id] = number;
    return BRIM_OK;
}

BrimResult ray_scene_build(RayScene *s, BrimError *error) {
    rtcCommitScene(s->scene);
    return check_device(s->device, error);
}

void ray_scene_free(RayScene **scene) {
    RayScene *s = *scene;
    *scene = NULL;
    if (!s) return;
    if (s->scene) rtcReleaseScene(s->scene);
    free(s);
}

static struct RTCRay embree_ray(const Ray *ray, float begin, float end) {
    return (struct RTCRay){.org_x = ray->origin.x,
                           .org_y = ray->origin.y,
                           .org_z = ray->origin.z,
                           .dir_x = ray->direction.x,
                           .dir_y = ray->direction.y,
                           .dir_z = ray->direction.z,
                           .tnear = begin,
                           .tfar = end,
                           .time = ray->time,
                           .mask = 0xffffffffu};
}

bool ray_meets(const RayScene *s, const Ray *ray, float begin, float end, RayHit *hit) {
    struct RTCRayHit r = {
        .ray = embree_ray(ray, begin, end),
        .hit = {.geomID = RTC_INVALID_GEOMETRY_ID, .primID = RTC_INVALID_GEOMETRY_ID},
    };
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcIntersect1(s->scene, &context, &r);
    if (r.hit.geomID == RTC_INVALID_GEOMETRY_ID) return false;
    *hit = (RayHit){.distance = r.ray.tfar,
                    .normal = vec(r.hit.Ng_x, r.hit.Ng_y, r.hit.Ng_z),
                    .u = r.hit.u,
                    .v = r.hit.v,
                    .triangle = r.hit.primID,
                    .mesh = s->number[r.hit.geomID]};
    return true;
}

bool ray_blocked(const RayScene *s, const Ray *ray, float begin, float end) {
    struct RTCRay r = embree_ray(ray, begin, end);
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcOccluded1(s->scene, &context, &r);
    return r.tfar < 0;
}

#else

bool brim_traces_rays(void) {
    return false;
}

BrimResult ray_scene_new(RayScene **scene, BrimError *error) {
    *scene = NULL;
    return fail(error, BRIM_ERROR_MISSING,
                "this build cannot trace rays; install Embree 3 (Debian: libembree-dev) and build "
                "again");
}

BrimResult ray_scene_add(RayScene *s, const Mesh *mesh, int number, float blur, BrimError *error) {
    (void)s, (void)mesh, (void)number, (void)blur;
    return fail(error, BRIM_ERROR_MISSING, "this build cannot trace rays");
}

BrimResult ray_scene_add_balls(RayScene *s, size_t count, const float *ball, const float *velocity,
                               int number, float blur, BrimError *error) {
    (void)s, (void)count, (void)ball, (void)velocity, (void)number, (void)blur;
    return fail(error, BRIM_ERROR_MISSING, "this build cannot trace rays");
}

BrimResult ray_scene_build(RayScene *s, BrimError *error) {
    (void)s;
    return fail(error, BRIM_ERROR_MISSING, "this build cannot trace rays");
}

void ray_scene_free(RayScene **scene) {
    *scene = NULL;
}

bool ray_meets(const RayScene *s, const Ray *ray, float begin, float end, RayHit *hit) {
    (void)s, (void)ray, (void)begin, (void)end, (void)hit;
    return false;
}

bool ray_blocked(const RayScene *s, const Ray *ray, float begin, float end) {
    (void)s, (void)ray, (void)begin, (void)end;
    return false;
}

#endif
