// Meshes of tetrahedra: reading .msh, .mesh, .vtk and .node/.ele files, checks, their outer
// surface, writing.
#pragma once
#include "solid/trimesh.h"

typedef struct Tetmesh {
    float (*vertices)[3]; ///< m
    size_t vertex_count, vertex_capacity;
    uint32_t (*tets)[4]; ///< indices of vertices; the fourth sees the others counter-clockwise
    size_t tet_count, tet_capacity;
} Tetmesh;

typedef enum TetFormat {
    TET_MSH,  ///< Gmsh 2 and 4, ASCII
    TET_MESH, ///< Medit, ASCII
    TET_VTK,  ///< legacy VTK, ASCII
    TET_NODE, ///< TetGen .node: vertices
    TET_ELE,  ///< TetGen .ele: tetrahedra of the vertices that are there
} TetFormat;

void tetmesh_free(Tetmesh *mesh);

/// Whether a file's name has the ending of such a format.
bool tetmesh_format(const char *path, TetFormat *format);
/// Reads a file (of .node and .ele both, whichever is named) and checks it. The mesh is to be freed
/// in any case.
BrimResult tetmesh_load(const char *path, Tetmesh *mesh, BrimError *error);
/// The same for bytes in memory, without the check; elements of other kinds are passed over.
BrimResult tetmesh_parse(TetFormat format, const uint8_t *data, size_t size, const char *name,
                         Tetmesh *mesh, BrimError *error);
/// Refuses meshes without tetrahedra, with inverted or flat ones. All inverted alike are turned.
BrimResult tetmesh_check(Tetmesh *mesh, const char *name, BrimError *error);

/// The triangles that only one tetrahedron has, seen from outside counter-clockwise.
BrimResult tetmesh_surface(const Tetmesh *mesh, const char *name, Trimesh *surface,
                           BrimError *error);

double tetmesh_volume(const Tetmesh *mesh, size_t tet);

/// False when out of memory.
bool tetmesh_add_vertex(Tetmesh *mesh, const double position[3]);
bool tetmesh_add_tet(Tetmesh *mesh, const uint32_t corners[4]);
