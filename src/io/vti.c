#include "io/vti.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { WHOLE_CELLS = 1 << 24, MARGIN = 3 };

static const struct {
    BrimField field;
    const char *name;
} fields[] = {{BRIM_FIELD_PRESSURE, "pressure"},
              {BRIM_FIELD_VELOCITY, "velocity"},
              {BRIM_FIELD_LEVEL_SET, "level_set"},
              {BRIM_FIELD_DENSITY, "density"}};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static size_t domain_cells(const BrimSimDef *def) {
    return (size_t)def->cells[0] * (size_t)def->cells[1] * (size_t)def->cells[2];
}

static size_t box_cells(const CellBox *box) {
    size_t n = 1;
    for (int a = 0; a < 3; a++) n *= (size_t)(box->last[a] - box->first[a]);
    return n;
}

/// Corners of its cells; in 2D they lie in one plane.
static size_t box_nodes(const BrimSimDef *def, const CellBox *box) {
    size_t n = 1;
    for (int a = 0; a < def->dim; a++) n *= (size_t)(box->last[a] - box->first[a] + 1);
    return n;
}

static double cell_size(const BrimSimDef *def) {
    return (double)def->size.x / def->cells[0];
}

CellBox vti_box(const BrimSimDef *def, const CellBox *liquid) {
    CellBox box = {.last = {def->cells[0], def->cells[1], def->cells[2]}};
    if (domain_cells(def) <= WHOLE_CELLS) return box;
    if (!liquid) return (CellBox){.last = {1, 1, 1}};
    for (int a = 0; a < def->dim; a++) {
        int first = liquid->first[a] - MARGIN, last = liquid->last[a] + MARGIN;
        box.first[a] = first > 0 ? first : 0;
        box.last[a] = last < def->cells[a] ? last : def->cells[a];
    }
    return box;
}

/// In 2D the image is flat (no extent along z): ParaView then draws it as a plane at z = 0, where
/// the particles are.
static void write_xml(FileWriter *w, const BrimSim *sim, const CellBox *box) {
    const BrimSimDef *def = brim_sim_def(sim);
    double h = cell_size(def);
    char extent[128];
    snprintf(extent, sizeof extent, "%d %d %d %d %d %d", box->first[0], box->last[0], box->first[1],
             box->last[1], box->first[2], def->dim == 2 ? 0 : box->last[2]);
    const char *kind = def->warp > 0 ? "StructuredGrid" : "ImageData";
    file_print(w,
               "<?xml version=\"1.0\"?>\n"
               "<!-- brim %s, frame %d -->\n"
               "<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"%s\" "
               "header_type=\"UInt64\">\n"
               "<%s WholeExtent=\"%s\"",
               BRIM_VERSION_STRING, brim_sim_frame(sim), kind,
               __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian", kind,
               extent);
    if (!(def->warp > 0)) file_print(w, " Origin=\"0 0 0\" Spacing=\"%.9g %.9g %.9g\"", h, h, h);
    file_print(w,
               ">\n"
               "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
               "format=\"ascii\">%.17g</DataArray>\n</FieldData>\n"
               "<Piece Extent=\"%s\">\n",
               brim_sim_time(sim), extent);
    size_t offset = 0;
    if (def->warp > 0) {
        file_print(w, "<Points>\n<DataArray type=\"Float32\" Name=\"points\" "
                      "NumberOfComponents=\"3\" format=\"appended\" offset=\"0\"/>\n</Points>\n");
        offset = sizeof(uint64_t) + 3 * box_nodes(def, box) * sizeof(float);
    }
    file_print(w, "<CellData Scalars=\"level_set\" Vectors=\"velocity\">\n");
    for (int i = 0; i < FIELDS; i++) {
        int components = brim_field_components(fields[i].field);
        file_print(w,
                   "<DataArray type=\"Float32\" Name=\"%s\" NumberOfComponents=\"%d\" "
                   "format=\"appended\" offset=\"%zu\"/>\n",
                   fields[i].name, components, offset);
        offset += sizeof(uint64_t) + box_cells(box) * (size_t)components * sizeof(float);
    }
    file_print(w, "</CellData>\n</Piece>\n</%s>\n<AppendedData encoding=\"raw\">\n_", kind);
}

/// A dense field may be larger than memory although the water is not; the system would only tell
/// by killing the process.
static bool fits_in_memory(const BrimSim *sim, double bytes) {
    double limit = brim_sim_def(sim)->memory_limit;
    if (limit <= 0) limit = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return bytes + (double)brim_sim_stats(sim)->memory_bytes <= limit;
}

static BrimResult write_field(FileWriter *w, const BrimSim *sim, const CellBox *box,
                              BrimField field, BrimError *error) {
    size_t floats = box_cells(box) * (size_t)brim_field_components(field);
    double bytes_needed = (double)floats * sizeof(float);
    float *dense = fits_in_memory(sim, bytes_needed) ? memory_new(floats * sizeof *dense) : NULL;
    if (!dense)
        return fail(error, BRIM_ERROR_MEMORY,
                    "a field of %d x %d x %d cells needs %.1f GB for output, more than the machine "
                    "has: set output.fields to false",
                    box->last[0] - box->first[0], box->last[1] - box->first[1],
                    box->last[2] - box->first[2], 1e-9 * bytes_needed);
    BrimResult result = brim_sim_field_box(sim, field, box->first, box->last, dense, floats, error);
    if (result == BRIM_OK) {
        uint64_t bytes = floats * sizeof *dense;
        file_write(w, &bytes, sizeof bytes);
        file_write(w, dense, floats * sizeof *dense);
        result = file_status(w, error);
    }
    free(dense);
    return result;
}

/// Where the corners of a warped grid's cells are.
static BrimResult write_points(FileWriter *w, const BrimSim *sim, const CellBox *box,
                               BrimError *error) {
    const BrimSimDef *def = brim_sim_def(sim);
    size_t floats = 3 * box_nodes(def, box);
    const int high[3] = {box->last[0], box->last[1], def->dim == 3 ? box->last[2] : 0};
    float *points = fits_in_memory(sim, (double)floats * sizeof *points)
                        ? memory_new(floats * sizeof *points)
                        : NULL;
    if (!points)
        return fail(error, BRIM_ERROR_MEMORY,
                    "the corners of a warped grid need %.1f GB for output, more than the machine "
                    "has: set output.fields to false",
                    4e-9 * (double)floats);
    BrimResult result = brim_sim_nodes(sim, box->first, high, points, floats, error);
    uint64_t bytes = floats * sizeof *points;
    if (result == BRIM_OK) {
        file_write(w, &bytes, sizeof bytes);
        file_write(w, points, floats * sizeof *points);
        result = file_status(w, error);
    }
    free(points);
    return result;
}

BrimResult brim_write_fields(const BrimSim *sim, const char *path, BrimError *error) {
    NEED(sim, error);
    NEED(path, error);
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    CellBox liquid;
    bool any = brim_sim_bounds(sim, liquid.first, liquid.last);
    CellBox box = vti_box(brim_sim_def(sim), any ? &liquid : NULL);
    write_xml(w, sim, &box);
    if (brim_sim_def(sim)->warp > 0) result = write_points(w, sim, &box, error);
    for (int i = 0; i < FIELDS && result == BRIM_OK; i++)
        result = write_field(w, sim, &box, fields[i].field, error);
    if (result != BRIM_OK) {
        file_abort(&w);
        return result;
    }
    file_print(w, "\n</AppendedData>\n</VTKFile>\n");
    return file_commit(&w, error);
}
