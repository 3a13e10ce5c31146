// The cut of a closed mesh at z = 0: closed outlines for 2D.
#include "base/error.h"
#include "solid/distance_grid.h"

/// Where an edge meets z = 0. Both triangles of an edge get the same bits.
static void crossing(const Trimesh *m, uint32_t a, uint32_t b, double out[3]) {
    if (a > b) {
        uint32_t swap = a;
        a = b, b = swap;
    }
    const float *p = m->vertices[a], *q = m->vertices[b];
    double t = (double)p[2] / ((double)p[2] - (double)q[2]);
    out[0] = p[0] + t * ((double)q[0] - p[0]);
    out[1] = p[1] + t * ((double)q[1] - p[1]);
    out[2] = 0;
}

static bool add_segment(Trimesh *slice, const double from[3], const double to[3]) {
    uint32_t n = (uint32_t)slice->vertex_count;
    return trimesh_add_vertex(slice, from) && trimesh_add_vertex(slice, to) &&
           trimesh_add_polygon(slice, (uint32_t[3]){n, n + 1, n + 1}, 3);
}

/// The segment of one triangle goes from its edge that falls to its edge that rises through z = 0.
static bool slice_triangle(const Trimesh *m, const uint32_t t[3], const bool above[3],
                           Trimesh *slice) {
    double from[3] = {0}, to[3] = {0};
    for (int i = 0; i < 3; i++) {
        int next = (i + 1) % 3;
        if (above[i] == above[next]) continue;
        crossing(m, t[i], t[next], above[i] ? from : to);
    }
    return add_segment(slice, from, to);
}

bool trimesh_cut(const Trimesh *m, Trimesh *slice, uint32_t *from) {
    bool any_above = false;
    for (size_t i = 0; i < m->vertex_count; i++) any_above |= m->vertices[i][2] > 0;
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t *t = m->triangles[i];
        bool above[3];
        for (int k = 0; k < 3; k++) {
            float z = m->vertices[t[k]][2];
            // vertices in the plane count as below it, or above when nothing else is
            above[k] = any_above ? z > 0 : z >= 0;
        }
        if (above[0] == above[1] && above[1] == above[2]) continue;
        if (from) from[slice->triangle_count] = (uint32_t)i;
        if (!slice_triangle(m, t, above, slice)) return false;
    }
    slice->oriented = m->oriented;
    return true;
}

BrimResult trimesh_slice(const Trimesh *m, const char *name, Trimesh *slice, BrimError *error) {
    if (!trimesh_cut(m, slice, NULL)) return trimesh_out_of_memory(name, error);
    if (slice->triangle_count == 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: the mesh does not cross z = 0, where a 2D scene cuts it", name);
    return BRIM_OK;
}
