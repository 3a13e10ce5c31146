// Surfaces read back from the PLY files that brim_write_mesh writes.
#include "io/mesh_read.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 256, RECORD_FLOATS = 9, FACE_BYTES = 13, BATCH = 4096 };

typedef struct Reader {
    FILE *in;
    const char *path;
    uint64_t bytes; ///< of the whole file
    bool bodies;    ///< vertices say which body they belong to
    BrimMesh *mesh;
    BrimError *error;
} Reader;

static BrimResult not_ours(const Reader *r) {
    return fail(r->error, BRIM_ERROR_INPUT,
                "'%s' is not a surface that Brim wrote; 'brim mesh --overwrite' makes it again",
                r->path);
}

static BrimResult damaged(const Reader *r, const char *what) {
    return fail(r->error, BRIM_ERROR_DAMAGED,
                "'%s' is damaged: %s; 'brim mesh --overwrite' makes it again", r->path, what);
}

/// Bytes of a vertex.
static size_t record_size(const Reader *r) {
    return (RECORD_FLOATS + (size_t)r->bodies) * sizeof(uint32_t);
}

static BrimResult read_header(Reader *r) {
    static const char *const lines[] = {
        "property float x",  "property float y",  "property float z",
        "property float nx", "property float ny", "property float nz",
        "property float vx", "property float vy", "property float vz",
    };
    char line[LINE_BYTES];
    int properties = 0;
    bool list = false, little = false, first = true;
    unsigned long long vertices = 0, faces = 0;
    for (;; first = false) {
        if (!fgets(line, sizeof line, r->in)) return damaged(r, "it ends early");
        line[strcspn(line, "\r\n")] = 0;
        if (first && strcmp(line, "ply") != 0) return not_ours(r);
        if (feof(r->in)) return damaged(r, "it ends early");
        if (strcmp(line, "end_header") == 0) break;
        if (strcmp(line, "format binary_little_endian 1.0") == 0) little = true;
        if (sscanf(line, "element vertex %llu", &vertices) == 1) continue;
        if (sscanf(line, "element face %llu", &faces) == 1) continue;
        if (strcmp(line, "property list uchar uint vertex_indices") == 0) list = true;
        if (strcmp(line, "property int body") == 0) {
            if (properties != RECORD_FLOATS || r->bodies) return not_ours(r);
            r->bodies = true;
        }
        if (strncmp(line, "property float ", 15) != 0) continue;
        if (properties == RECORD_FLOATS || strcmp(line, lines[properties]) != 0) return not_ours(r);
        properties++;
    }
    if (!little || !list || properties != RECORD_FLOATS) return not_ours(r);
    long start = ftell(r->in);
    uint64_t rest = start < 0 || (uint64_t)start > r->bytes ? 0 : r->bytes - (uint64_t)start;
    uint64_t record = record_size(r);
    if (vertices > UINT32_MAX || vertices > rest / record ||
        faces > (rest - vertices * record) / FACE_BYTES)
        return damaged(r, "it ends early");
    if (rest > vertices * record + faces * FACE_BYTES)
        return damaged(r, "it is longer than its header says");
    r->mesh->vertex_count = (size_t)vertices, r->mesh->triangle_count = (size_t)faces;
    return BRIM_OK;
}

static BrimResult read_vertices(const Reader *r) {
    BrimMesh *m = r->mesh;
    uint32_t records[BATCH * (RECORD_FLOATS + 1)];
    const size_t words = record_size(r) / sizeof *records;
    for (size_t first = 0; first < m->vertex_count; first += BATCH) {
        size_t n = m->vertex_count - first < BATCH ? m->vertex_count - first : BATCH;
        if (fread(records, record_size(r), n, r->in) != n) return damaged(r, "it ends early");
        for (size_t i = 0; i < n; i++) {
            const uint32_t *record = records + i * words;
            float value[RECORD_FLOATS];
            for (int k = 0; k < RECORD_FLOATS; k++) {
                uint32_t word = le32toh(record[k]);
                memcpy(&value[k], &word, sizeof word);
                if (!isfinite(value[k])) return damaged(r, "it holds a value that is not finite");
            }
            memcpy(m->position[first + i], value, 3 * sizeof(float));
            memcpy(m->normal[first + i], value + 3, 3 * sizeof(float));
            memcpy(m->velocity[first + i], value + 6, 3 * sizeof(float));
            if (m->body) m->body[first + i] = (int32_t)le32toh(record[RECORD_FLOATS]);
        }
    }
    return BRIM_OK;
}

static BrimResult read_faces(const Reader *r) {
    BrimMesh *m = r->mesh;
    uint8_t face[BATCH][FACE_BYTES];
    for (size_t first = 0; first < m->triangle_count; first += BATCH) {
        size_t n = m->triangle_count - first < BATCH ? m->triangle_count - first : BATCH;
        if (fread(face, FACE_BYTES, n, r->in) != n) return damaged(r, "it ends early");
        for (size_t i = 0; i < n; i++) {
            if (face[i][0] != 3) return damaged(r, "a face is not a triangle");
            for (int k = 0; k < 3; k++) {
                uint32_t v;
                memcpy(&v, &face[i][1 + 4 * k], sizeof v);
                m->triangle[first + i][k] = le32toh(v);
                if (le32toh(v) >= m->vertex_count)
                    return damaged(r, "a triangle names a vertex that does not exist");
            }
        }
    }
    return BRIM_OK;
}

static BrimResult allocate(const Reader *r) {
    BrimMesh *m = r->mesh;
    size_t vertices = m->vertex_count + 1;
    m->position = memory_new(vertices * sizeof *m->position);
    m->normal = memory_new(vertices * sizeof *m->normal);
    m->velocity = memory_new(vertices * sizeof *m->velocity);
    m->triangle = memory_new((m->triangle_count + 1) * sizeof *m->triangle);
    if (r->bodies) m->body = memory_new(vertices * sizeof *m->body);
    if (m->position && m->normal && m->velocity && m->triangle && (m->body || !r->bodies))
        return BRIM_OK;
    return fail(r->error, BRIM_ERROR_MEMORY, "out of memory for the surface '%s'", r->path);
}

BrimResult mesh_read(FILE *in, uint64_t bytes, const char *path, BrimMesh *mesh, BrimError *error) {
    *mesh = (BrimMesh){0};
    Reader r = {.in = in, .path = path, .bytes = bytes, .mesh = mesh, .error = error};
    BrimResult result = read_header(&r);
    if (result == BRIM_OK) result = allocate(&r);
    if (result == BRIM_OK) result = read_vertices(&r);
    if (result == BRIM_OK) result = read_faces(&r);
    if (result != BRIM_OK) brim_mesh_free(mesh);
    return result;
}

BrimResult brim_mesh_read(const char *path, BrimMesh *mesh, BrimError *error) {
    NEED(mesh, error);
    *mesh = (BrimMesh){0};
    NEED(path, error);
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    result = mesh_read(in, bytes, path, mesh, error);
    fclose(in);
    return result;
}
