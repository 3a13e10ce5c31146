// Any bytes as a mesh (OBJ, PLY, STL) or a height map (PGM): read it or refuse it with a message.
// A mesh that was accepted is turned into a distance, in 3D and 2D, which must be finite.
#include "solid/distance_grid.h"
#include "solid/height_field.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void measure(const Trimesh *mesh, int dim) {
    float extent = 0;
    for (size_t t = 0; t < 3 * mesh->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            float a = mesh->vertices[mesh->triangles[t / 3][t % 3]][i];
            extent = fmaxf(extent, fabsf(a - mesh->vertices[mesh->triangles[0][0]][i]));
        }
    DistanceGrid grid;
    BrimError error = {0};
    if (distance_grid_new(mesh, "fuzz", dim, extent / 4, &grid, &error) != BRIM_OK) {
        if (!*error.message || grid.value) abort();
        return;
    }
    const float *first = mesh->vertices[mesh->triangles[0][0]];
    float x[4] = {first[0], 0, 1e9f, -1}, y[4] = {first[1], 0, -1e9f, 2};
    float z[4] = {first[2], 0, 1e9f, 5}, d[4];
    distance_grid_sample(&grid, 4, x, y, z, d);
    for (int i = 0; i < 4; i++)
        if (!isfinite(d[i])) abort();
    distance_grid_free(&grid);
}

static void try_mesh(MeshFormat format, const uint8_t *data, size_t size) {
    Trimesh mesh = {0};
    BrimError error = {0};
    BrimResult result = trimesh_parse(format, data, size, "fuzz", &mesh, &error);
    if (result != BRIM_OK && !*error.message) abort();
    if (mesh.vertex_capacity > 4 * size + 64 || mesh.triangle_capacity > 4 * size + 64) abort();
    if (result == BRIM_OK && mesh.triangle_count <= 500) {
        measure(&mesh, 3);
        measure(&mesh, 2);
    }
    trimesh_free(&mesh);
}

static void try_picture(const uint8_t *data, size_t size) {
    Picture picture;
    BrimError error = {0};
    if (picture_parse_pgm(data, size, "fuzz", &picture, &error) != BRIM_OK) {
        if (picture.value || !*error.message) abort();
        return;
    }
    size_t count = (size_t)picture.columns * (size_t)picture.rows;
    for (size_t i = 0; i < count; i++)
        if (!(picture.value[i] >= 0 && picture.value[i] <= 1)) abort();
    free(picture.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size >= 3 && memcmp(data, "ply", 3) == 0) {
        try_mesh(MESH_PLY, data, size);
    } else if (size >= 2 && data[0] == 'P') {
        try_picture(data, size);
    } else {
        try_mesh(MESH_OBJ, data, size);
        try_mesh(MESH_STL, data, size);
    }
    return 0;
}
