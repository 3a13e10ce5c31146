#include "io/vtp.h"
#include "base/error.h"
#include "io/file.h"
#include <string.h>

enum { CHUNK = 4096 };

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [VTP_FLOAT32] = {"Float32", 4}, [VTP_UINT32] = {"UInt32", 4}, [VTP_UINT8] = {"UInt8", 1}};

// ------------------------------------------------------------------------------------- header

/// Declares an array of `bytes` in the appended data and moves on to the next.
static void declare(FileWriter *w, const char *type, const char *name, int components,
                    uint64_t bytes, uint64_t *offset) {
    file_print(w,
               "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" "
               "offset=\"%llu\"/>\n",
               type, name, components, (unsigned long long)*offset);
    *offset += sizeof(uint64_t) + bytes;
}

static uint64_t array_bytes(const VtpData *d, const VtpArray *a) {
    return (uint64_t)d->points * (uint64_t)a->components * types[a->type].bytes;
}

static size_t cell_count(const VtpData *d) {
    return d->surface ? d->triangles : d->points;
}

static size_t cell_corners(const VtpData *d) {
    return d->surface ? 3 : 1;
}

static void write_xml(FileWriter *w, const VtpData *d, double time, int frame) {
    const char *cells = d->surface ? "Polys" : "Verts";
    uint64_t offset = 0;
    file_print(w,
               "<?xml version=\"1.0\"?>\n<!-- brim %s, frame %d -->\n"
               "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"%s\" "
               "header_type=\"UInt64\">\n<PolyData>\n"
               "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
               "format=\"ascii\">%.17g</DataArray>\n</FieldData>\n"
               "<Piece NumberOfPoints=\"%zu\" NumberOfVerts=\"%zu\" NumberOfLines=\"0\" "
               "NumberOfStrips=\"0\" NumberOfPolys=\"%zu\">\n<Points>\n",
               BRIM_VERSION_STRING, frame,
               __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian", time,
               d->points, d->surface ? 0 : d->points, d->triangles);
    declare(w, "Float32", "Points", 3, array_bytes(d, &d->position), &offset);
    file_print(w, "</Points>\n<%s>\n", cells);
    uint64_t n = cell_count(d);
    declare(w, "Int32", "connectivity", 1, n * cell_corners(d) * sizeof(int32_t), &offset);
    declare(w, "Int32", "offsets", 1, n * sizeof(int32_t), &offset);
    file_print(w, "</%s>\n<PointData Vectors=\"velocity\">\n", cells);
    for (int i = 0; i < d->array_count; i++)
        declare(w, types[d->array[i].type].name, d->array[i].name, d->array[i].components,
                array_bytes(d, &d->array[i]), &offset);
    file_print(w, "</PointData>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_");
}

// ---------------------------------------------------------------------------------------- data

static void write_size(FileWriter *w, uint64_t bytes) {
    file_write(w, &bytes, sizeof bytes);
}

static void write_array(FileWriter *w, const VtpData *d, const VtpArray *a) {
    unsigned char chunk[CHUNK * 12], *out = chunk;
    size_t bytes = types[a->type].bytes;
    write_size(w, array_bytes(d, a));
    for (size_t i = 0; i < d->points; i++) {
        for (int c = 0; c < a->components; c++, out += bytes)
            memcpy(out, (const char *)a->part[c] + i * a->stride, bytes);
        if ((i + 1) % CHUNK && i + 1 < d->points) continue;
        file_write(w, chunk, (size_t)(out - chunk));
        out = chunk;
    }
}

/// first, first + step, ...
static void write_counting(FileWriter *w, size_t count, int32_t first, int32_t step) {
    int32_t chunk[CHUNK];
    write_size(w, count * sizeof *chunk);
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t n = count - at < CHUNK ? count - at : CHUNK;
        for (size_t i = 0; i < n; i++) chunk[i] = first + (int32_t)(at + i) * step;
        file_write(w, chunk, n * sizeof *chunk);
    }
}

BrimResult vtp_write(const VtpData *d, double time, int frame, const char *path, BrimError *error) {
    size_t cells = cell_count(d), corners = cell_corners(d);
    if (d->points > INT32_MAX || cells > INT32_MAX / corners)
        return fail(error, BRIM_ERROR_INPUT,
                    "'%s': %zu points and %zu cells are more than a VTP file of Brim holds, 2^31",
                    path, d->points, cells);
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    write_xml(w, d, time, frame);
    write_array(w, d, &d->position);
    if (d->surface) {
        write_size(w, cells * sizeof *d->triangle);
        if (cells) file_write(w, d->triangle, cells * sizeof *d->triangle);
    } else {
        write_counting(w, cells, 0, 1);
    }
    write_counting(w, cells, (int32_t)corners, (int32_t)corners);
    for (int i = 0; i < d->array_count; i++) write_array(w, d, &d->array[i]);
    file_print(w, "\n</AppendedData>\n</VTKFile>\n");
    return file_commit(&w, error);
}
