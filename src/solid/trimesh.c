#include "solid/trimesh.h"
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include "solid/tetmesh.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void trimesh_free(Trimesh *mesh) {
    free(mesh->vertices);
    free(mesh->triangles);
    *mesh = (Trimesh){0};
}

bool trimesh_coordinate_ok(double value) {
    return fabs(value) <= 1e9;
}

BrimResult trimesh_out_of_memory(const char *name, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "%s: no memory for the mesh", name);
}

bool trimesh_add_vertex(Trimesh *m, const double position[3]) {
    if (!memory_grow((void **)&m->vertices, &m->vertex_capacity, sizeof *m->vertices,
                     m->vertex_count + 1, m->vertex_count))
        return false;
    // adding 0 turns -0 into 0, so that equal positions have equal bits
    for (int i = 0; i < 3; i++) m->vertices[m->vertex_count][i] = (float)position[i] + 0.0f;
    m->vertex_count++;
    return true;
}

static BrimResult parse(MeshFormat format, const uint8_t *data, size_t size, const char *name,
                        Trimesh *mesh, BrimError *error) {
    BrimResult r = format == MESH_OBJ   ? trimesh_parse_obj(data, size, name, mesh, error)
                   : format == MESH_PLY ? trimesh_parse_ply(data, size, name, mesh, error)
                                        : trimesh_parse_stl(data, size, name, mesh, error);
    mesh->joined = r == BRIM_OK && mesh->joined && trimesh_balanced(mesh);
    return r;
}

BrimResult trimesh_parse(MeshFormat format, const uint8_t *data, size_t size, const char *name,
                         Trimesh *mesh, BrimError *error) {
    BrimResult result = parse(format, data, size, name, mesh, error);
    return result == BRIM_OK ? trimesh_close(mesh, name, error) : result;
}

static bool ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

/// The outer surface of a file of tetrahedra.
static BrimResult load_tets(const char *path, Trimesh *mesh, BrimError *error) {
    Tetmesh tets = {0};
    BrimResult r = tetmesh_load(path, &tets, error);
    if (r == BRIM_OK) r = tetmesh_surface(&tets, path, mesh, error);
    tetmesh_free(&tets);
    return r == BRIM_OK ? trimesh_close(mesh, path, error) : r;
}

bool trimesh_format(const char *path, MeshFormat *format) {
    *format = ends_with(path, ".obj") ? MESH_OBJ : ends_with(path, ".ply") ? MESH_PLY : MESH_STL;
    return *format != MESH_STL || ends_with(path, ".stl");
}

BrimResult trimesh_load_raw(const char *path, Trimesh *mesh, BrimError *error) {
    MeshFormat format;
    if (!trimesh_format(path, &format))
        return fail(
            error, BRIM_ERROR_INPUT,
            "%s: cannot tell the format: meshes end in .obj, .ply or .stl, those of tetrahedra "
            "in .msh, .mesh, .vtk, .node or .ele",
            path);
    uint8_t *data;
    size_t size;
    BrimResult result = bytes_read(path, &data, &size, error);
    if (result != BRIM_OK) return result;
    result = parse(format, data, size, path, mesh, error);
    free(data);
    return result;
}

BrimResult trimesh_load(const char *path, Trimesh *mesh, BrimError *error) {
    TetFormat tets;
    if (tetmesh_format(path, &tets)) return load_tets(path, mesh, error);
    BrimResult result = trimesh_load_raw(path, mesh, error);
    return result == BRIM_OK ? trimesh_close(mesh, path, error) : result;
}

double trimesh_volume(const Trimesh *m) {
    double sum = 0;
    for (size_t t = 0; t < m->triangle_count; t++) {
        const float *a = m->vertices[m->triangles[t][0]], *b = m->vertices[m->triangles[t][1]];
        const float *c = m->vertices[m->triangles[t][2]];
        sum += (double)a[0] * ((double)b[1] * c[2] - (double)b[2] * c[1]) +
               (double)a[1] * ((double)b[2] * c[0] - (double)b[0] * c[2]) +
               (double)a[2] * ((double)b[0] * c[1] - (double)b[1] * c[0]);
    }
    return sum / 6;
}
