// Surfaces as PLY, OBJ and VTP.
#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/vtp.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, FACE_BYTES = 13 };

static uint32_t little(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return htole32(word);
}

static void ply_header(FileWriter *w, const BrimMesh *m, double time, int frame) {
    file_print(w,
               "ply\nformat binary_little_endian 1.0\ncomment brim %s\ncomment time %.17g\n"
               "comment frame %d\nelement vertex %zu\n",
               BRIM_VERSION_STRING, time, frame, m->vertex_count);
    static const char *const names[] = {"x", "y", "z", "nx", "ny", "nz", "vx", "vy", "vz"};
    for (int i = 0; i < 9; i++)
        if (i < 3 || (i < 6 ? m->normal : m->velocity) || !m->vertex_count)
            file_print(w, "property float %s\n", names[i]);
    if (m->body) file_print(w, "property int body\n");
    file_print(w, "element face %zu\nproperty list uchar uint vertex_indices\nend_header\n",
               m->triangle_count);
}

static void ply_body(FileWriter *w, const BrimMesh *m) {
    uint32_t record[BATCH * 10];
    for (size_t first = 0; first < m->vertex_count; first += BATCH) {
        size_t n = m->vertex_count - first < BATCH ? m->vertex_count - first : BATCH, at = 0;
        for (size_t i = first; i < first + n; i++) {
            for (int k = 0; k < 3; k++) record[at++] = little(m->position[i][k]);
            for (int k = 0; k < 3 && m->normal; k++) record[at++] = little(m->normal[i][k]);
            for (int k = 0; k < 3 && m->velocity; k++) record[at++] = little(m->velocity[i][k]);
            if (m->body) record[at++] = htole32((uint32_t)m->body[i]);
        }
        file_write(w, record, at * sizeof *record);
    }
    uint8_t face[BATCH][FACE_BYTES];
    for (size_t first = 0; first < m->triangle_count; first += BATCH) {
        size_t n = m->triangle_count - first < BATCH ? m->triangle_count - first : BATCH;
        for (size_t i = 0; i < n; i++) {
            face[i][0] = 3;
            for (int k = 0; k < 3; k++) {
                uint32_t v = htole32(m->triangle[first + i][k]);
                memcpy(&face[i][1 + 4 * k], &v, sizeof v);
            }
        }
        file_write(w, face, n * FACE_BYTES);
    }
}

static void obj_body(FileWriter *w, const BrimMesh *m, double time, int frame) {
    file_print(w, "# brim %s, time %.17g s, frame %d\n", BRIM_VERSION_STRING, time, frame);
    for (size_t i = 0; i < m->vertex_count; i++)
        file_print(w, "v %.9g %.9g %.9g\n", (double)m->position[i][0], (double)m->position[i][1],
                   (double)m->position[i][2]);
    for (size_t i = 0; i < m->vertex_count; i++)
        file_print(w, "vn %.5f %.5f %.5f\n", (double)m->normal[i][0], (double)m->normal[i][1],
                   (double)m->normal[i][2]);
    for (size_t i = 0; i < m->triangle_count; i++) {
        unsigned long v[3];
        for (int k = 0; k < 3; k++) v[k] = (unsigned long)m->triangle[i][k] + 1;
        file_print(w, "f %lu//%lu %lu//%lu %lu//%lu\n", v[0], v[0], v[1], v[1], v[2], v[2]);
    }
}

static VtpArray vtp_vector(const char *name, const float (*v)[3]) {
    static const float none[1][3];
    if (!v) v = none; // an empty surface
    return (VtpArray){name, VTP_FLOAT32, 3, {&v[0][0], &v[0][1], &v[0][2]}, sizeof *v};
}

static BrimResult write_vtp(const BrimMesh *m, double time, int frame, const char *path,
                            BrimError *error) {
    VtpData d = {.points = m->vertex_count,
                 .position = vtp_vector("", (const float(*)[3])m->position),
                 .array = {vtp_vector("velocity", (const float(*)[3])m->velocity),
                           vtp_vector("Normals", (const float(*)[3])m->normal)},
                 .array_count = 2,
                 .surface = true,
                 .triangles = m->triangle_count,
                 .triangle = (const uint32_t(*)[3])m->triangle};
    return vtp_write(&d, time, frame, path, error);
}

BrimResult brim_write_mesh(const BrimMesh *mesh, double time, int frame, BrimMeshFormat format,
                           const char *path, BrimError *error) {
    NEED(mesh, error);
    NEED(path, error);
    if (format == BRIM_MESH_VTP) return write_vtp(mesh, time, frame, path, error);
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    if (format == BRIM_MESH_OBJ) {
        obj_body(w, mesh, time, frame);
    } else {
        ply_header(w, mesh, time, frame);
        ply_body(w, mesh);
    }
    return file_commit(&w, error);
}
