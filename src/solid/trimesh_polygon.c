// Polygons into triangles by clipping ears, so that concave faces keep their outline.
#include "base/memory.h"
#include "solid/trimesh.h"
#include <math.h>

/// Clipping takes time with the square of the corners; faces beyond this are cut as a fan.
enum { LARGEST_CLIPPED = 512 };

static bool add_triangle(Trimesh *m, uint32_t a, uint32_t b, uint32_t c) {
    if (!memory_grow((void **)&m->triangles, &m->triangle_capacity, sizeof *m->triangles,
                     m->triangle_count + 1, m->triangle_count))
        return false;
    uint32_t *t = m->triangles[m->triangle_count++];
    t[0] = a, t[1] = b, t[2] = c;
    return true;
}

static bool add_fan(Trimesh *m, const uint32_t *corners, size_t count) {
    for (size_t i = 1; i + 1 < count; i++)
        if (!add_triangle(m, corners[0], corners[i], corners[i + 1])) return false;
    return true;
}

typedef struct Flat {
    double x, y;
} Flat;

/// Projects corners along the main axis of the polygon's normal, counter-clockwise.
static void flatten(const Trimesh *m, const uint32_t *corners, int count, Flat *flat) {
    double n[3] = {0};
    for (int i = 0; i < count; i++) {
        const float *a = m->vertices[corners[i]], *b = m->vertices[corners[(i + 1) % count]];
        const float *o = m->vertices[corners[0]];
        for (int k = 0; k < 3; k++) {
            int u = (k + 1) % 3, v = (k + 2) % 3;
            n[k] += ((double)a[u] - o[u]) * ((double)b[v] - o[v]) -
                    ((double)a[v] - o[v]) * ((double)b[u] - o[u]);
        }
    }
    double x = fabs(n[0]), y = fabs(n[1]), z = fabs(n[2]);
    int axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    int u = (axis + 1) % 3, v = (axis + 2) % 3;
    if (n[axis] < 0) {
        int swap = u;
        u = v, v = swap;
    }
    for (int i = 0; i < count; i++)
        flat[i] = (Flat){m->vertices[corners[i]][u], m->vertices[corners[i]][v]};
}

static double turn(Flat a, Flat b, Flat c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Whether corner i of what is left makes a triangle that holds no other corner.
static bool is_ear(const Flat *flat, const int *left, int count, int i) {
    Flat a = flat[left[(i + count - 1) % count]], b = flat[left[i]];
    Flat c = flat[left[(i + 1) % count]];
    if (!(turn(a, b, c) > 0)) return false;
    for (int k = 2; k < count - 1; k++) {
        Flat p = flat[left[(i + k) % count]];
        if (turn(a, b, p) >= 0 && turn(b, c, p) >= 0 && turn(c, a, p) >= 0) return false;
    }
    return true;
}

static bool add_clipped(Trimesh *m, const uint32_t *corners, int count) {
    Flat flat[LARGEST_CLIPPED];
    int left[LARGEST_CLIPPED];
    flatten(m, corners, count, flat);
    for (int i = 0; i < count; i++) left[i] = i;
    while (count > 3) {
        int ear = 0;
        while (ear < count && !is_ear(flat, left, count, ear)) ear++;
        if (ear == count) ear = 1; // crossed or flat polygons have none: any cut will do
        int before = left[(ear + count - 1) % count], after = left[(ear + 1) % count];
        if (!add_triangle(m, corners[before], corners[left[ear]], corners[after])) return false;
        for (int i = ear; i + 1 < count; i++) left[i] = left[i + 1];
        count--;
    }
    return add_triangle(m, corners[left[0]], corners[left[1]], corners[left[2]]);
}

bool trimesh_add_polygon(Trimesh *mesh, const uint32_t *corners, size_t count) {
    if (count == 3 || count > LARGEST_CLIPPED) return add_fan(mesh, corners, count);
    return add_clipped(mesh, corners, (int)count);
}
