// Welding, and the check that every edge joins two triangles: only then is there an inside. Files
// of Brim itself join their triangles by indices and need neither.
#include "base/error.h"
#include "base/memory.h"
#include "solid/trimesh.h"
#include <stdlib.h>
#include <string.h>

typedef struct Corner {
    float position[3];
    uint32_t group, index;
} Corner;

static int compare_position(const float *a, const float *b) {
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_corners(const void *pa, const void *pb) {
    const Corner *a = pa, *b = pb;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    int order = compare_position(a->position, b->position);
    return order ? order : a->index < b->index ? -1 : 1;
}

static int compare_keys(const void *pa, const void *pb) {
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

bool trimesh_same(const Trimesh *m, uint32_t *first) {
    for (size_t i = 0; i < m->vertex_count && m->joined; i++) first[i] = (uint32_t)i;
    if (m->joined) return true;
    Corner *corners = memory_new(m->vertex_count * sizeof *corners);
    if (!corners) return false;
    for (size_t i = 0; i < m->vertex_count; i++) {
        memcpy(corners[i].position, m->vertices[i], sizeof corners[i].position);
        corners[i].group = first[i], corners[i].index = (uint32_t)i;
    }
    qsort(corners, m->vertex_count, sizeof *corners, compare_corners);
    for (size_t i = 0; i < m->vertex_count; i++) {
        bool same = i > 0 && corners[i].group == corners[i - 1].group &&
                    !compare_position(corners[i].position, corners[i - 1].position);
        first[corners[i].index] = same ? first[corners[i - 1].index] : corners[i].index;
    }
    free(corners);
    return true;
}

static void weld(Trimesh *m, const uint32_t *first) {
    size_t kept = 0;
    for (size_t t = 0; t < m->triangle_count; t++) {
        uint32_t a = first[m->triangles[t][0]], b = first[m->triangles[t][1]];
        uint32_t c = first[m->triangles[t][2]];
        if (a == b || b == c || c == a) continue;
        m->triangles[kept][0] = a, m->triangles[kept][1] = b, m->triangles[kept][2] = c;
        kept++;
    }
    m->triangle_count = kept;
}

typedef struct EdgeCount {
    size_t open, crowded, flipped; ///< of one triangle; of more than two; of two that disagree
    size_t uneven;                 ///< passed more often one way than the other
    uint64_t example;              ///< first edge that is open or crowded
} EdgeCount;

/// Keys hold low vertex, high vertex, direction; sorted, so the triangles of an edge are a run.
static EdgeCount count_edges(const uint64_t *keys, size_t count) {
    EdgeCount c = {0};
    for (size_t i = 0, end; i < count; i = end) {
        size_t backward = 0;
        for (end = i; end < count && keys[end] >> 1 == keys[i] >> 1; end++)
            backward += keys[end] & 1;
        size_t sides = end - i;
        if (sides != 2 && !c.open && !c.crowded) c.example = keys[i];
        c.open += sides == 1;
        c.crowded += sides > 2;
        c.flipped += sides == 2 && backward != 1;
        c.uneven += 2 * backward != sides;
    }
    return c;
}

static bool check_edges(const Trimesh *m, EdgeCount *count) {
    uint64_t *keys = memory_new(3 * m->triangle_count * sizeof *keys);
    if (!keys) return false;
    for (size_t t = 0; t < m->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            uint64_t a = m->triangles[t][i], b = m->triangles[t][(i + 1) % 3];
            keys[3 * t + (size_t)i] = a < b ? a << 32 | b << 1 : b << 32 | a << 1 | 1;
        }
    qsort(keys, 3 * m->triangle_count, sizeof *keys, compare_keys);
    *count = count_edges(keys, 3 * m->triangle_count);
    free(keys);
    return true;
}

bool trimesh_balanced(const Trimesh *m) {
    EdgeCount count;
    return check_edges(m, &count) && count.uneven == 0;
}

static BrimResult refuse_edges(const Trimesh *m, const EdgeCount *c, const char *name,
                               BrimError *error) {
    const float *a = m->vertices[c->example >> 32];
    const float *b = m->vertices[(c->example & 0xffffffffu) >> 1];
    return fail(error, BRIM_ERROR_INPUT,
                "%s: the mesh is not closed, so it has no inside: %zu open edges and %zu edges of "
                "more than two triangles, among %zu triangles. The first is from (%g, %g, %g) to "
                "(%g, %g, %g). Close holes, remove inner faces and merge doubled vertices.",
                name, c->open, c->crowded, m->triangle_count, (double)a[0], (double)a[1],
                (double)a[2], (double)b[0], (double)b[1], (double)b[2]);
}

BrimResult trimesh_close_as(Trimesh *mesh, const uint32_t *same, const char *name,
                            BrimError *error) {
    EdgeCount count;
    weld(mesh, same);
    if (mesh->triangle_count == 0)
        return fail(error, BRIM_ERROR_INPUT, "%s: the mesh has no triangles", name);
    if (!check_edges(mesh, &count)) return trimesh_out_of_memory(name, error);
    bool crowded = count.crowded && !(mesh->joined && count.uneven == 0);
    if (count.open || crowded) return refuse_edges(mesh, &count, name, error);
    mesh->oriented = count.flipped == 0;
    return BRIM_OK;
}

BrimResult trimesh_close(Trimesh *mesh, const char *name, BrimError *error) {
    if (mesh->vertex_count >> 31)
        return fail(error, BRIM_ERROR_INPUT, "%s: more than 2^31 vertices", name);
    uint32_t *same = memory_zero(mesh->vertex_count * sizeof *same);
    BrimResult r = same && trimesh_same(mesh, same) ? trimesh_close_as(mesh, same, name, error)
                                                    : trimesh_out_of_memory(name, error);
    free(same);
    return r;
}
