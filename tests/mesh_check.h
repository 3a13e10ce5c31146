// What a closed surface must be, whatever made it.
#pragma once
#include <brim/brim.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int mesh_by_key(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline double mesh_area(const BrimMesh *m, size_t triangle, double normal[3]) {
    const float *a = m->position[m->triangle[triangle][0]];
    const float *b = m->position[m->triangle[triangle][1]];
    const float *c = m->position[m->triangle[triangle][2]];
    double u[3], v[3], length = 0;
    for (int k = 0; k < 3; k++) u[k] = (double)b[k] - a[k], v[k] = (double)c[k] - a[k];
    for (int k = 0; k < 3; k++) {
        normal[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
        length += normal[k] * normal[k];
    }
    length = sqrt(length);
    for (int k = 0; k < 3; k++) normal[k] /= length > 0 ? length : 1;
    return 0.5 * length;
}

/// The triangles around each vertex form one closed ring: following the edge opposite to the vertex
/// from triangle to triangle comes back after as many as the vertex has.
static inline bool mesh_rings_close(const BrimMesh *m, const uint64_t *edge, size_t edges) {
    uint32_t *degree = calloc(m->vertex_count + 1, sizeof *degree);
    uint32_t *first = calloc(m->vertex_count + 1, sizeof *first); // a triangle of each vertex
    bool fine = degree && first;
    for (size_t i = 0; fine && i < 3 * m->triangle_count; i++) {
        degree[m->triangle[i / 3][i % 3]]++;
        first[m->triangle[i / 3][i % 3]] = (uint32_t)(i / 3);
    }
    uint64_t *owner = malloc((edges + 1) * sizeof *owner); // triangle of each directed edge
    fine = fine && owner;
    for (size_t i = 0; fine && i < edges; i++) {
        uint64_t key =
            (uint64_t)m->triangle[i / 3][i % 3] << 32 | m->triangle[i / 3][(i % 3 + 1) % 3];
        const uint64_t *at = bsearch(&key, edge, edges, sizeof *edge, mesh_by_key);
        owner[at - edge] = i / 3;
    }
    for (size_t v = 0; fine && v < m->vertex_count; v++) {
        uint32_t steps = 0, t = first[v];
        if (degree[v] < 3) fine = false;
        do {
            int k = 0;
            while (m->triangle[t][k] != v) k++;
            // across the edge (v, next corner): the neighbour has it the other way round
            uint64_t key = (uint64_t)m->triangle[t][(k + 1) % 3] << 32 | v;
            const uint64_t *at = bsearch(&key, edge, edges, sizeof *edge, mesh_by_key);
            t = at ? (uint32_t)owner[at - edge] : first[v];
            steps++;
        } while (t != first[v] && steps <= degree[v]);
        fine = fine && steps == degree[v];
    }
    free(degree), free(first), free(owner);
    return fine;
}

/// NULL when the mesh is closed, two-manifold, consistently oriented, without degenerate triangles
/// (of less than 1e-7 square cells), with unit normals; else what is wrong.
static inline const char *mesh_problem(const BrimMesh *m, double cell) {
    size_t edges = 3 * m->triangle_count;
    uint64_t *edge = malloc((edges + 1) * sizeof *edge);
    const char *problem = edge ? NULL : "out of memory";
    for (size_t i = 0; i < m->triangle_count && !problem; i++) {
        double normal[3];
        for (int k = 0; k < 3; k++) {
            if (m->triangle[i][k] >= m->vertex_count) problem = "an index is out of range";
            edge[3 * i + (size_t)k] =
                (uint64_t)m->triangle[i][k] << 32 | m->triangle[i][(k + 1) % 3];
        }
        if (!problem && !(mesh_area(m, i, normal) > 1e-7 * cell * cell))
            problem = "a triangle has no area";
    }
    if (!problem) qsort(edge, edges, sizeof *edge, mesh_by_key);
    for (size_t i = 0; i < edges && !problem; i++) {
        uint64_t back = edge[i] << 32 | edge[i] >> 32;
        if (i && edge[i] == edge[i - 1])
            problem = "two triangles run along an edge the same way";
        else if (!bsearch(&back, edge, edges, sizeof *edge, mesh_by_key))
            problem = "an edge has one triangle";
    }
    if (!problem && !mesh_rings_close(m, edge, edges)) problem = "a vertex joins two sheets";
    for (size_t v = 0; v < m->vertex_count && !problem; v++) {
        double length2 = 0;
        for (int k = 0; k < 3; k++) {
            length2 += (double)m->normal[v][k] * m->normal[v][k];
            if (!isfinite(m->position[v][k]) || !isfinite(m->velocity[v][k]))
                problem = "a value is not a number";
        }
        if (!problem && fabs(length2 - 1) > 1e-5) problem = "a normal is not a unit vector";
    }
    free(edge);
    return problem;
}
