// Meshes that deform: a sequence of files of one topology. Between frames vertices follow cubics
// through four of them (Catmull-Rom), so that velocities have no jumps; before the first and after
// the last the mesh rests, or the sequence begins anew.
#pragma once
#include "solid/distance_near.h"
#include "solid/trimesh.h"

typedef struct MeshFrames {
    int count, dim;
    double rate, first; ///< frames a second; time of the first, s
    bool repeat;
    float (*frame)[3];    ///< [count][vertices]
    double *speed;        ///< [count] that no vertex exceeds between a frame and the next, m/s
    Trimesh mesh;         ///< as it is now
    float (*velocity)[3]; ///< [vertices] mean over the last step, m/s
    double fastest;       ///< of them
    bool placed;          ///< the distance is that of the mesh

    Trimesh slice;  ///< 2D: its cut at z = 0
    uint32_t *from; ///< [segments] 2D: triangle that each is cut from
    size_t from_room;
    Team *team;            ///< that finds distances; NULL: the caller alone
    DistanceWork distance; ///< and the triangle (2D: segment) nearest to each node
} MeshFrames;

/// Reads all frames of def->frames and checks that they are one closed mesh that moves.
BrimResult mesh_frames_new(const BrimShapeDef *def, int dim, MeshFrames **frames, BrimError *error);
void mesh_frames_free(MeshFrames **frames);
size_t mesh_frames_bytes(const MeshFrames *frames);

/// Brings vertices to `time`, their velocity to the mean over [time - dt, time] (dt = 0: that of
/// the instant), and the distance, on nodes `resolution` apart or half of it, to theirs. False when
/// out of memory.
bool mesh_frames_place(MeshFrames *frames, double time, double dt, double resolution,
                       DistanceGrid *grid);
/// Velocity of the surface nearest to a point, m/s.
void mesh_frames_velocity(const MeshFrames *frames, const DistanceGrid *grid, const float point[3],
                          double velocity[3]);
/// A way that no vertex exceeds from one time to another, m.
double mesh_frames_way(const MeshFrames *frames, double from, double to);
