// Closed triangle meshes: reading OBJ, PLY and STL, the outside of tetrahedra (tetmesh.h), and the
// check that a mesh has an inside.
#pragma once
#include "brim/brim.h"

typedef struct Trimesh {
    float (*vertices)[3];
    size_t vertex_count, vertex_capacity;
    uint32_t (*triangles)[3]; ///< indices of vertices
    size_t triangle_count, triangle_capacity;
    bool oriented; ///< set by trimesh_close: neighbours agree which side is out
    bool joined;   ///< set by a reader: the indices alone say which vertices are one, and close it
} Trimesh;

typedef enum MeshFormat { MESH_OBJ, MESH_PLY, MESH_STL } MeshFormat;

/// Reads a file, checks and welds it. The format goes by the name's ending. The mesh is to be
/// freed in any case.
BrimResult trimesh_load(const char *path, Trimesh *mesh, BrimError *error);
/// OBJ, PLY and STL alone, as the file has it: neither checked nor welded.
BrimResult trimesh_load_raw(const char *path, Trimesh *mesh, BrimError *error);
/// Whether a name ends as those of OBJ, PLY or STL do.
bool trimesh_format(const char *path, MeshFormat *format);
/// The same for bytes in memory; `name` stands for the file in messages. Takes memory in
/// proportion to `size`, whatever the bytes say.
BrimResult trimesh_parse(MeshFormat format, const uint8_t *data, size_t size, const char *name,
                         Trimesh *mesh, BrimError *error);
/// Volume that a closed mesh encloses, by the sense of its triangles.
double trimesh_volume(const Trimesh *mesh);
void trimesh_free(Trimesh *mesh);

/// Welds vertices at equal positions, drops triangles that this leaves without three corners,
/// and refuses a mesh with edges that do not join exactly two triangles. A joined mesh is taken as
/// it is: where a body touches itself, two of its vertices may be at one place.
BrimResult trimesh_close(Trimesh *mesh, const char *name, BrimError *error);
/// The same where `same` [vertices] says which vertices are one.
BrimResult trimesh_close_as(Trimesh *mesh, const uint32_t *same, const char *name,
                            BrimError *error);
/// same [vertices]: vertices with equal numbers may be one => the lowest of those that are at the
/// same place; in a joined mesh each is by itself. False when out of memory.
bool trimesh_same(const Trimesh *mesh, uint32_t *same);

/// Whether every edge is passed as often the one way as the other: then the winding number tells
/// the inside, whatever meets whatever. False also when out of memory.
bool trimesh_balanced(const Trimesh *mesh);

/// The three parsers of trimesh_parse, without trimesh_close.
BrimResult trimesh_parse_obj(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                             BrimError *error);
BrimResult trimesh_parse_ply(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                             BrimError *error);
BrimResult trimesh_parse_stl(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                             BrimError *error);

/// False when out of memory.
bool trimesh_add_vertex(Trimesh *mesh, const double position[3]);
/// Cuts a polygon of valid vertex indices into triangles. False when out of memory.
bool trimesh_add_polygon(Trimesh *mesh, const uint32_t *corners, size_t count);
/// Whether a coordinate is one that a mesh may have, m.
bool trimesh_coordinate_ok(double value);
BrimResult trimesh_out_of_memory(const char *name, BrimError *error);
