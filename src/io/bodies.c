// Bodies of a frame: their surfaces in one file, their state in another.
#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_mesh(BrimMesh *m) {
    free(m->position), free(m->normal), free(m->velocity), free(m->triangle), free(m->body);
}

static bool mesh_room(BrimMesh *m) {
    m->position = memory_new((m->vertex_count + 1) * sizeof *m->position);
    m->normal = memory_zero((m->vertex_count + 1) * sizeof *m->normal);
    m->velocity = memory_new((m->vertex_count + 1) * sizeof *m->velocity);
    m->triangle = memory_new((m->triangle_count + 1) * sizeof *m->triangle);
    m->body = memory_new((m->vertex_count + 1) * sizeof *m->body);
    return m->position && m->normal && m->velocity && m->triangle && m->body;
}

/// In 2D the outline becomes a closed slice one cell deep about z = 0: each vertex twice, four
/// triangles a segment, of which those on the two sides all meet in one vertex.
static void add_surface(const BrimBodySurface *s, int body, bool flat, float depth, BrimMesh *m) {
    size_t first = m->vertex_count, copies = flat ? 2 : 1;
    uint32_t up = (uint32_t)s->vertex_count, hub = (uint32_t)first;
    for (size_t i = 0; i < copies * s->vertex_count; i++) {
        size_t from = i % s->vertex_count, to = m->vertex_count++;
        memcpy(m->position[to], s->position[from], sizeof *m->position);
        memcpy(m->velocity[to], s->velocity[from], sizeof *m->velocity);
        m->body[to] = body;
        if (flat) m->position[to][2] = (i < s->vertex_count ? -0.5f : 0.5f) * depth;
    }
    for (size_t t = 0; t < s->triangle_count; t++) {
        uint32_t a = hub + s->triangle[t][0], b = hub + s->triangle[t][1];
        uint32_t c = hub + s->triangle[t][2];
        const uint32_t slice[4][3] = {
            {a, b, b + up}, {a, b + up, a + up}, {hub, b, a}, {hub + up, a + up, b + up}};
        for (int k = 0; k < (flat ? 4 : 1); k++) {
            uint32_t *to = m->triangle[m->triangle_count];
            if (flat && k >= 2 && (a == hub || b == hub)) continue; // no area
            memcpy(to, slice[k], sizeof slice[k]);
            if (!flat) to[0] = a, to[1] = b, to[2] = c;
            m->triangle_count++;
        }
    }
}

/// Normals by the triangles around each vertex, large ones first.
static void find_normals(BrimMesh *m) {
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *v = m->triangle[t];
        float e[3], f[3];
        for (int a = 0; a < 3; a++) {
            e[a] = m->position[v[1]][a] - m->position[v[0]][a];
            f[a] = m->position[v[2]][a] - m->position[v[0]][a];
        }
        const float n[3] = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2],
                            e[0] * f[1] - e[1] * f[0]};
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++) m->normal[v[k]][a] += n[a];
    }
    for (size_t i = 0; i < m->vertex_count; i++) {
        float *n = m->normal[i], length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int a = 0; a < 3; a++) n[a] = length > 0 ? n[a] / length : a == 1;
    }
}

BrimResult brim_write_bodies(const BrimSim *sim, const char *path, BrimError *error) {
    NEED(sim, error);
    NEED(path, error);
    const BrimSimDef *def = brim_sim_def(sim);
    bool flat = def->dim == 2;
    int count = brim_sim_body_count(sim);
    BrimMesh m = {0};
    BrimBodySurface s;
    BrimResult r = BRIM_OK;
    for (int i = 0; r == BRIM_OK && i < count; i++) {
        r = brim_sim_body_surface(sim, i, &s, error);
        m.vertex_count += s.vertex_count * (flat ? 2 : 1);
        m.triangle_count += s.triangle_count * (flat ? 4 : 1);
    }
    if (r == BRIM_OK && !mesh_room(&m))
        r = fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    if (r == BRIM_OK) {
        m.vertex_count = m.triangle_count = 0;
        for (int i = 0; i < count; i++) {
            brim_sim_body_surface(sim, i, &s, NULL);
            add_surface(&s, i, flat, def->size.x / (float)def->cells[0], &m);
        }
        find_normals(&m);
        r = brim_write_mesh(&m, brim_sim_time(sim), brim_sim_frame(sim), BRIM_MESH_PLY, path,
                            error);
    }
    free_mesh(&m);
    return r;
}

BrimResult brim_write_body_states(const BrimSim *sim, const char *path, BrimError *error) {
    NEED(sim, error);
    NEED(path, error);
    FileWriter *out;
    BrimResult r = file_create(path, &out, error);
    if (r != BRIM_OK) return r;
    static const char header[] =
        "time,body,center_x,center_y,center_z,velocity_x,velocity_y,velocity_z,spin_x,spin_y,"
        "spin_z,low_x,low_y,low_z,high_x,high_y,high_z,mass,kinetic,elastic,pressure_x,pressure_y,"
        "pressure_z,contact_x,contact_y,contact_z,hand_x,hand_y,hand_z\n";
    file_write(out, header, sizeof header - 1);
    for (int i = 0; r == BRIM_OK && i < brim_sim_body_count(sim); i++) {
        BrimBodyState b;
        char row[1024];
        r = brim_sim_body_state(sim, i, &b, error);
        if (r != BRIM_OK) break;
        const BrimVec3 v[8] = {b.center, b.velocity, b.spin,    b.low,
                               b.high,   b.pressure, b.contact, b.hand};
        int n = snprintf(row, sizeof row, "%.9g,%d", brim_sim_time(sim), i);
        for (int k = 0; k < 8; k++) {
            if (k == 5)
                n += snprintf(row + n, sizeof row - (size_t)n, ",%.9g,%.9g,%.9g", b.mass, b.kinetic,
                              b.elastic);
            n += snprintf(row + n, sizeof row - (size_t)n, ",%.9g,%.9g,%.9g", (double)v[k].x,
                          (double)v[k].y, (double)v[k].z);
        }
        row[n++] = '\n';
        file_write(out, row, (size_t)n);
    }
    if (r == BRIM_OK) return file_commit(&out, error);
    file_abort(&out);
    return r;
}
