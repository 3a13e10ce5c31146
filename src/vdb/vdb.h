// OpenVDB behind a C interface. vdb.cc is the one C++ file of the library; it is compiled when the
// OpenVDB headers are there (BRIM_HAVE_VDB), and all that follows needs it.
//
// A file holds two grids, both in metres:
//
//   surface   float, level set: signed distance, negative in the water, three voxels to either side
//             of the surface, beyond them cut; voxel corners are at multiples of the voxel's edge
//   velocity  three floats, m/s, at the centres of the cells of the simulation
#pragma once
#include "brim/brim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A file in the making.
typedef struct Vdb Vdb;

/// `cell` is the edge of a cell of the simulation, m. NULL: out of memory.
Vdb *vdb_new(double cell, double time, int frame);
void vdb_free(Vdb **vdb);

/// The level set of a closed surface; `voxel` is the edge of a voxel, m.
BrimResult vdb_add_surface(Vdb *vdb, const BrimMesh *mesh, double voxel, BrimError *error);
/// velocity [count][3] of the cells first[], first[] + (1, 0, 0), ...; cells with level >= cut have
/// none.
BrimResult vdb_add_velocity_row(Vdb *vdb, const int first[3], int count, const float *velocity,
                                const float *level, float cut, BrimError *error);
/// Velocity at cell centres as the mean of the particles around, weighted by how near they are
/// (trilinear). The order of the particles decides the last bits.
BrimResult vdb_add_velocity_particles(Vdb *vdb, const BrimParticles *particles, BrimError *error);

/// The file's bytes in new memory, release with free(). Same grids, same bytes.
BrimResult vdb_bytes(const Vdb *vdb, void **bytes, size_t *count, BrimError *error);

// -------------------------------------------------------------------------------- reading back

typedef struct VdbFile VdbFile;

typedef struct VdbGrid {
    char name[64], type[32]; ///< "surface", "float"
    char kind[32];           ///< OpenVDB's class: "level set", "unknown"
    char unit[16];           ///< "" when it does not say
    uint64_t active;         ///< voxels with a value of their own
    double voxel;            ///< edge, m
    double low[3], high[3];  ///< corners of the box of active voxels, m
} VdbGrid;

/// BRIM_ERROR_DAMAGED when it is cut short or is no OpenVDB file.
BrimResult vdb_open(const char *path, VdbFile **file, BrimError *error);
void vdb_close(VdbFile **file);
int vdb_grid_count(const VdbFile *file);
VdbGrid vdb_grid(const VdbFile *file, int index);
/// "brim 0.1.0" and the like; time NAN and frame -1 when the file does not say.
const char *vdb_creator(const VdbFile *file);
double vdb_time(const VdbFile *file);
int vdb_frame(const VdbFile *file);
/// The value at a point, m, linear between voxels: 1 or 3 numbers. Returns how many, 0 for grids of
/// another type.
int vdb_probe(const VdbFile *file, int index, const double at[3], double out[3]);

#ifdef __cplusplus
}
#endif
