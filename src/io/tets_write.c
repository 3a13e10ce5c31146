// Tetrahedra as files of other programs.
#include "base/error.h"
#include "io/file.h"
#include <string.h>
#include <strings.h>

static void write_vertices(FileWriter *out, const BrimTets *t, bool numbered, const char *after) {
    for (size_t i = 0; i < t->vertex_count; i++) {
        if (numbered) file_print(out, "%zu ", i + 1);
        const float *p = t->position[i];
        file_print(out, "%.9g %.9g %.9g%s\n", (double)p[0], (double)p[1], (double)p[2], after);
    }
}

static void write_msh(FileWriter *out, const BrimTets *t) {
    file_print(out, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%zu\n", t->vertex_count);
    write_vertices(out, t, true, "");
    file_print(out, "$EndNodes\n$Elements\n%zu\n", t->tet_count);
    for (size_t i = 0; i < t->tet_count; i++) {
        const uint32_t *c = t->corner[i];
        file_print(out, "%zu 4 2 0 1 %u %u %u %u\n", i + 1, c[0] + 1, c[1] + 1, c[2] + 1, c[3] + 1);
    }
    file_print(out, "$EndElements\n");
}

static void write_medit(FileWriter *out, const BrimTets *t) {
    file_print(out, "MeshVersionFormatted 2\nDimension 3\nVertices\n%zu\n", t->vertex_count);
    write_vertices(out, t, false, " 0");
    file_print(out, "Tetrahedra\n%zu\n", t->tet_count);
    for (size_t i = 0; i < t->tet_count; i++) {
        const uint32_t *c = t->corner[i];
        file_print(out, "%u %u %u %u 0\n", c[0] + 1, c[1] + 1, c[2] + 1, c[3] + 1);
    }
    file_print(out, "End\n");
}

static void write_vtk(FileWriter *out, const BrimTets *t) {
    file_print(out,
               "# vtk DataFile Version 3.0\ntetrahedra\nASCII\nDATASET UNSTRUCTURED_GRID\n"
               "POINTS %zu float\n",
               t->vertex_count);
    write_vertices(out, t, false, "");
    file_print(out, "CELLS %zu %zu\n", t->tet_count, 5 * t->tet_count);
    for (size_t i = 0; i < t->tet_count; i++) {
        const uint32_t *c = t->corner[i];
        file_print(out, "4 %u %u %u %u\n", c[0], c[1], c[2], c[3]);
    }
    file_print(out, "CELL_TYPES %zu\n", t->tet_count);
    for (size_t i = 0; i < t->tet_count; i++) file_print(out, "10\n");
}

BrimResult brim_write_tets(const BrimTets *tets, const char *path, BrimError *error) {
    NEED(tets, error);
    NEED(path, error);
    const char *ending = strrchr(path, '.');
    bool msh = ending && strcasecmp(ending, ".msh") == 0;
    bool medit = ending && strcasecmp(ending, ".mesh") == 0;
    if (!msh && !medit && !(ending && strcasecmp(ending, ".vtk") == 0))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: tetrahedra are written to files that end in .msh, .mesh or .vtk", path);
    FileWriter *out;
    BrimResult r = file_create(path, &out, error);
    if (r != BRIM_OK) return r;
    if (msh)
        write_msh(out, tets);
    else if (medit)
        write_medit(out, tets);
    else
        write_vtk(out, tets);
    return file_commit(&out, error);
}
