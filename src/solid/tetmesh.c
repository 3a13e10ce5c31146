#include "solid/tetmesh.h"
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void tetmesh_free(Tetmesh *m) {
    free(m->vertices);
    free(m->tets);
    *m = (Tetmesh){0};
}

bool tetmesh_add_vertex(Tetmesh *m, const double position[3]) {
    if (!memory_grow((void **)&m->vertices, &m->vertex_capacity, sizeof *m->vertices,
                     m->vertex_count + 1, m->vertex_count))
        return false;
    for (int a = 0; a < 3; a++) m->vertices[m->vertex_count][a] = (float)position[a] + 0.0f;
    m->vertex_count++;
    return true;
}

bool tetmesh_add_tet(Tetmesh *m, const uint32_t corners[4]) {
    if (!memory_grow((void **)&m->tets, &m->tet_capacity, sizeof *m->tets, m->tet_count + 1,
                     m->tet_count))
        return false;
    memcpy(m->tets[m->tet_count++], corners, sizeof *m->tets);
    return true;
}

double tetmesh_volume(const Tetmesh *m, size_t tet) {
    const uint32_t *t = m->tets[tet];
    double e[3][3];
    for (int k = 0; k < 3; k++)
        for (int a = 0; a < 3; a++)
            e[k][a] = (double)m->vertices[t[k + 1]][a] - m->vertices[t[0]][a];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
            e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

// --------------------------------------------------------------------------------------- checks

/// Longest edge of a tetrahedron, cubed: what its volume is small against.
static double size_of(const Tetmesh *m, size_t tet) {
    double most = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) {
            double sum = 0;
            for (int a = 0; a < 3; a++) {
                double d =
                    (double)m->vertices[m->tets[tet][i]][a] - m->vertices[m->tets[tet][j]][a];
                sum += d * d;
            }
            most = fmax(most, sum);
        }
    return most * sqrt(most);
}

BrimResult tetmesh_check(Tetmesh *m, const char *name, BrimError *error) {
    size_t inverted = 0, first = 0;
    if (m->tet_count == 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: holds no tetrahedra (of %zu vertices): a mesh of a volume is needed, not "
                    "of a surface",
                    name, m->vertex_count);
    for (size_t t = 0; t < m->tet_count; t++) {
        double volume = tetmesh_volume(m, t);
        if (fabs(volume) <= 1e-9 * size_of(m, t))
            return fail(error, BRIM_ERROR_INPUT,
                        "%s: tetrahedron %zu is flat: its corners lie in a plane. Remesh the body",
                        name, t + 1);
        if (volume < 0 && inverted++ == 0) first = t;
    }
    if (inverted > 0 && inverted < m->tet_count)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: %zu of %zu tetrahedra are inverted, the first is %zu: they overlap "
                    "their neighbours. Remesh the body",
                    name, inverted, m->tet_count, first + 1);
    for (size_t t = 0; inverted > 0 && t < m->tet_count; t++) { // the other convention
        uint32_t x = m->tets[t][0];
        m->tets[t][0] = m->tets[t][1], m->tets[t][1] = x;
    }
    return BRIM_OK;
}

// --------------------------------------------------------------------------------------- surface

typedef struct Face {
    uint32_t key[3]; ///< corners, rising
    uint32_t corner[3];
} Face;

static int by_key(const void *a, const void *b) {
    const Face *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->key[i] != y->key[i]) return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

static void sort3(uint32_t k[3]) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (k[j] > k[j + 1]) {
                uint32_t x = k[j];
                k[j] = k[j + 1], k[j + 1] = x;
            }
}

/// Faces without a twin as triangles; vertices that none of them has are left out.
static bool keep_single(const Tetmesh *m, const Face *face, size_t count, Trimesh *surface) {
    uint32_t *number = memory_new((m->vertex_count + 1) * sizeof *number);
    bool ok = number;
    for (size_t i = 0; ok && i < m->vertex_count; i++) number[i] = UINT32_MAX;
    for (size_t f = 0; ok && f < count; f++) {
        size_t same = 1;
        while (f + same < count && by_key(&face[f], &face[f + same]) == 0) same++;
        if (same > 1) {
            f += same - 1;
            continue;
        }
        uint32_t corner[3];
        for (int k = 0; ok && k < 3; k++) {
            uint32_t v = face[f].corner[k];
            if (number[v] == UINT32_MAX) {
                const double p[3] = {m->vertices[v][0], m->vertices[v][1], m->vertices[v][2]};
                number[v] = (uint32_t)surface->vertex_count;
                ok = trimesh_add_vertex(surface, p);
            }
            corner[k] = number[v];
        }
        ok = ok && trimesh_add_polygon(surface, corner, 3);
    }
    free(number);
    return ok;
}

BrimResult tetmesh_surface(const Tetmesh *m, const char *name, Trimesh *surface, BrimError *error) {
    static const int side[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    Face *face = memory_new((4 * m->tet_count + 1) * sizeof *face);
    if (!face) return trimesh_out_of_memory(name, error);
    for (size_t t = 0; t < m->tet_count; t++)
        for (int f = 0; f < 4; f++) {
            Face *to = &face[4 * t + (size_t)f];
            for (int k = 0; k < 3; k++) to->key[k] = to->corner[k] = m->tets[t][side[f][k]];
            sort3(to->key);
        }
    qsort(face, 4 * m->tet_count, sizeof *face, by_key);
    bool ok = keep_single(m, face, 4 * m->tet_count, surface);
    free(face);
    return ok ? BRIM_OK : trimesh_out_of_memory(name, error);
}

// --------------------------------------------------------------------------------------- loading

static bool ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

bool tetmesh_format(const char *path, TetFormat *format) {
    static const char *ending[] = {".msh", ".mesh", ".vtk", ".node", ".ele"};
    for (int i = 0; i < 5; i++)
        if (ends_with(path, ending[i])) {
            *format = (TetFormat)i;
            return true;
        }
    return false;
}

static BrimResult load_one(const char *path, TetFormat format, Tetmesh *m, BrimError *error) {
    uint8_t *data;
    size_t size;
    BrimResult r = bytes_read(path, &data, &size, error);
    if (r != BRIM_OK) return r;
    r = tetmesh_parse(format, data, size, path, m, error);
    free(data);
    return r;
}

BrimResult tetmesh_load(const char *path, Tetmesh *m, BrimError *error) {
    TetFormat format;
    BrimResult r = BRIM_OK;
    if (!tetmesh_format(path, &format))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: cannot tell the format: meshes of tetrahedra end in .msh, .mesh, .vtk, "
                    ".node or .ele",
                    path);
    if (format != TET_NODE && format != TET_ELE) {
        r = load_one(path, format, m, error);
        return r == BRIM_OK ? tetmesh_check(m, path, error) : r;
    }
    size_t stem = strlen(path) - (format == TET_NODE ? 5 : 4);
    char *other = memory_new(stem + 6);
    if (!other) return trimesh_out_of_memory(path, error);
    snprintf(other, stem + 6, "%.*s.node", (int)stem, path);
    r = load_one(other, TET_NODE, m, error);
    snprintf(other, stem + 6, "%.*s.ele", (int)stem, path);
    if (r == BRIM_OK) r = load_one(other, TET_ELE, m, error);
    if (r == BRIM_OK) r = tetmesh_check(m, other, error);
    free(other);
    return r;
}
