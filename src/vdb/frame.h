// Frames of a run as OpenVDB files.
#pragma once
#include "brim/brim.h"

/// Whether a scene can be written: BRIM_ERROR_MISSING in a build without OpenVDB,
/// BRIM_ERROR_INPUT in 2D.
BrimResult vdb_check(const BrimSimDef *def, BrimError *error);
/// Edge of the level set's voxels for a surface of this resolution, m.
double vdb_voxel(const BrimSimDef *def, int resolution);
/// A simulation whose surface has been made.
BrimResult vdb_write_sim(const BrimSim *sim, const BrimMesh *mesh, double voxel, const char *path,
                         BrimError *error);
