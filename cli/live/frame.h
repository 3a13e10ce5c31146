// What viewers are sent: messages in memory, shared by all clients that are to get them.
//
// All numbers are little-endian. A frame:
//
//   u32 magic "BRF1"   u8 kind, dim, value, 0   u32 serial   u32 step
//   f64 time           f32 low, high            u32 count    u32 runs
//   u32 solids         u32 bodies               f32 cell     u32 frame
//   u32 frames         f32 steps a second
//   [solids]  u32 present, f32 rotation[9] (row major), position[3]
//   [bodies]  u32 vertices, f32 position[vertices][3]
//   particles: [runs] u16 tile[3], below, u32 count; [count] u16 position[3]; [count] u8 value
//   surface:   [count] u16 position[3], i8 normal[2]; [runs] u32 triangle[3]
//
// Geometry: the first three words as above, u32 solids, bodies, then for each of them
//   u32 vertices, triangles, f32 position[vertices][3], u32 triangle[triangles][3]
//
// A run of particles shares a tile of 8 cells, from which positions reach half a tile to all sides:
// coordinate = (8 tile - 4 + 16 q / 65535) cells. Runs with below = 1 come last: full cells below a
// narrow band, where there are no particles, by their middles. Values of particles span `low` to
// `high`. A surface's positions span the domain and a cell on all sides; its normals are
// octahedral.
#pragma once
#include <brim/brim.h>
#include <stdatomic.h>

enum {
    FRAME_MAGIC = 0x31465242,
    FRAME_PARTICLES = 1,
    FRAME_SURFACE = 2,
    FRAME_GEOMETRY = 3,
    FRAME_HEAD = 64,
    FRAME_RUN = 12,
    FRAME_SOLID = 52,
};

/// Bytes to be sent; whoever holds one says so.
typedef struct Parcel {
    atomic_int holders;
    uint32_t serial; ///< rising with each one made
    bool text;
    size_t size;
    unsigned char bytes[];
} Parcel;

/// Held once; NULL when out of memory.
Parcel *parcel_new(size_t size, bool text);
Parcel *parcel_text(const char *text);
Parcel *parcel_hold(Parcel *parcel);
void parcel_drop(Parcel **parcel);

/// Values that colour particles: names of `value` in messages.
typedef struct ValueName {
    char name[32], unit[16];
} ValueName;
enum { VALUES_OWN = 4, VALUES_MOST = VALUES_OWN + BRIM_EXTRA_MAX };
/// Speed, the velocity's components, then what else the particles carry => names [VALUES_MOST];
/// returns how many.
int value_names(const BrimParticles *particles, ValueName *names);

typedef struct FrameHead {
    int dim;
    float cell;    ///< m
    BrimVec3 size; ///< of the domain, m
    int64_t step;
    double time;
    int frame, frames;
    float steps_a_second;
    int solid_count, body_count;
    const BrimSolidState *solids;
    const BrimBodySurface *bodies;
} FrameHead;

/// Particles with one of their values, and the cells below a band where `interior` tells of them.
/// Order decides on the size alone: what is near in memory should be near in space. NULL when out
/// of memory.
Parcel *frame_particles(const FrameHead *head, const BrimParticles *particles, int value);
Parcel *frame_surface(const FrameHead *head, const BrimMesh *mesh);
/// Surfaces of solids, around their pivots, and triangles of bodies: what frames move.
Parcel *frame_geometry(const BrimMesh *solids, int solid_count, const BrimBodySurface *bodies,
                       int body_count);
