// Frames as OpenVDB files: from a simulation as it is, or from what a run has written.
#include "vdb/frame.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/vti.h"
#include "surface/level_set.h"
#include "vdb/vdb.h"
#include <stdlib.h>
#include <string.h>

#ifdef BRIM_HAVE_VDB

/// Cells around the liquid's bounds that may have a velocity.
enum { MARGIN = 3 };

static double cell_size(const BrimSimDef *def) {
    return (double)def->size.x / def->cells[0];
}

/// Cells whose level set is cut have no velocity worth the name.
static float level_cut(double cell) {
    return 0.999f * LEVEL_SET_CUT * (float)cell;
}

static BrimResult no_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for an OpenVDB file");
}

/// A layer of cells across z.
typedef struct Layer {
    int low[3], high[3];     ///< low[2] + 1 = high[2]
    float *velocity, *level; ///< [y][x][3], [y][x]
} Layer;

static size_t layer_cells(const Layer *l) {
    return (size_t)(l->high[0] - l->low[0]) * (size_t)(l->high[1] - l->low[1]);
}

static bool layer_new(Layer *l) {
    l->velocity = memory_new(3 * layer_cells(l) * sizeof *l->velocity);
    l->level = memory_new(layer_cells(l) * sizeof *l->level);
    return l->velocity && l->level;
}

static void layer_free(Layer *l) {
    free(l->velocity), free(l->level);
}

static BrimResult add_layer(Vdb *vdb, const Layer *l, double cell, BrimError *error) {
    int count = l->high[0] - l->low[0];
    BrimResult result = BRIM_OK;
    for (int y = l->low[1]; y < l->high[1] && result == BRIM_OK; y++) {
        size_t at = (size_t)(y - l->low[1]) * (size_t)count;
        result = vdb_add_velocity_row(vdb, (const int[3]){l->low[0], y, l->low[2]}, count,
                                      l->velocity + 3 * at, l->level + at, level_cut(cell), error);
    }
    return result;
}

/// Velocity from the grid of a simulation.
static BrimResult velocity_of_sim(Vdb *vdb, const BrimSim *sim, BrimError *error) {
    const BrimSimDef *def = brim_sim_def(sim);
    Layer l = {0};
    int low[3], high[3];
    if (!brim_sim_bounds(sim, low, high)) return BRIM_OK;
    for (int a = 0; a < 3; a++) {
        low[a] = low[a] > MARGIN ? low[a] - MARGIN : 0;
        high[a] = high[a] + MARGIN < def->cells[a] ? high[a] + MARGIN : def->cells[a];
        l.low[a] = low[a], l.high[a] = high[a];
    }
    BrimResult result = layer_new(&l) ? BRIM_OK : no_memory(error);
    for (int z = low[2]; z < high[2] && result == BRIM_OK; z++) {
        l.low[2] = z, l.high[2] = z + 1;
        size_t n = layer_cells(&l);
        result =
            brim_sim_field_box(sim, BRIM_FIELD_VELOCITY, l.low, l.high, l.velocity, 3 * n, error);
        if (result == BRIM_OK)
            result =
                brim_sim_field_box(sim, BRIM_FIELD_LEVEL_SET, l.low, l.high, l.level, n, error);
        if (result == BRIM_OK) result = add_layer(vdb, &l, cell_size(def), error);
    }
    layer_free(&l);
    return result;
}

static const VtiField *find_field(const VtiFile *v, const char *name, int components) {
    for (int i = 0; i < v->count; i++)
        if (strcmp(v->field[i].name, name) == 0 && v->field[i].components == components)
            return &v->field[i];
    return NULL;
}

static bool read_layer(FILE *in, const VtiFile *v, const VtiField *f, int z, size_t cells,
                       float *out) {
    size_t floats = cells * (size_t)f->components;
    uint64_t at = v->data + f->offset + sizeof(uint64_t) + (uint64_t)z * floats * sizeof *out;
    return fseeko(in, (off_t)at, SEEK_SET) == 0 && fread(out, sizeof *out, floats, in) == floats;
}

/// Velocity from a file that brim_write_fields wrote.
static BrimResult velocity_of_file(Vdb *vdb, const BrimSimDef *def, const char *path,
                                   BrimError *error) {
    FILE *in;
    uint64_t bytes;
    VtiFile v;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    result = vti_read(in, bytes, path, &v, error);
    const VtiField *velocity = NULL, *level = NULL;
    if (result == BRIM_OK) {
        velocity = find_field(&v, "velocity", 3), level = find_field(&v, "level_set", 1);
        if (!velocity || !level)
            result = fail(error, BRIM_ERROR_INPUT, "'%s' lacks velocity or level_set", path);
    }
    const int *e = v.extent;
    Layer l = {.low = {e[0], e[2], e[4]}, .high = {e[1], e[3], e[5]}};
    for (int a = 0; a < 3 && result == BRIM_OK; a++)
        if (l.low[a] < 0 || l.high[a] > def->cells[a])
            result = fail(error, BRIM_ERROR_INPUT, "'%s' has cells outside the domain", path);
    if (result == BRIM_OK && !layer_new(&l)) result = no_memory(error);
    for (int z = e[4]; result == BRIM_OK && z < e[5]; z++) {
        l.low[2] = z, l.high[2] = z + 1;
        if (!read_layer(in, &v, velocity, z - e[4], layer_cells(&l), l.velocity) ||
            !read_layer(in, &v, level, z - e[4], layer_cells(&l), l.level))
            result = fail(error, BRIM_ERROR_DAMAGED, "'%s' is damaged: it ends early", path);
        else
            result = add_layer(vdb, &l, cell_size(def), error);
    }
    layer_free(&l);
    fclose(in);
    return result;
}

static BrimResult write_file(const Vdb *vdb, const char *path, BrimError *error) {
    void *bytes;
    size_t count;
    FileWriter *w;
    BrimResult result = vdb_bytes(vdb, &bytes, &count, error);
    if (result != BRIM_OK) return result;
    result = file_create(path, &w, error);
    if (result == BRIM_OK) {
        file_write(w, bytes, count);
        result = file_commit(&w, error);
    }
    free(bytes);
    return result;
}

BrimResult vdb_write_sim(const BrimSim *sim, const BrimMesh *mesh, double voxel, const char *path,
                         BrimError *error) {
    const BrimSimDef *def = brim_sim_def(sim);
    Vdb *vdb = vdb_new(cell_size(def), brim_sim_time(sim), brim_sim_frame(sim));
    if (!vdb) return no_memory(error);
    BrimParticles particles = brim_sim_particles(sim);
    BrimResult result = vdb_add_surface(vdb, mesh, voxel, error);
    // before the first step the grid has none
    if (result == BRIM_OK)
        result = brim_sim_step_count(sim) ? velocity_of_sim(vdb, sim, error)
                                          : vdb_add_velocity_particles(vdb, &particles, error);
    if (result == BRIM_OK) result = write_file(vdb, path, error);
    vdb_free(&vdb);
    return result;
}

bool brim_writes_vdb(void) {
    return true;
}

static BrimResult write_frame(const BrimSimDef *def, const BrimVdbFrame *frame, const char *path,
                              BrimError *error) {
    Vdb *vdb = vdb_new(cell_size(def), frame->time, frame->frame);
    if (!vdb) return no_memory(error);
    BrimResult result = vdb_add_surface(vdb, frame->surface, frame->voxel, error);
    if (result == BRIM_OK && frame->fields && frame->frame > 0)
        result = velocity_of_file(vdb, def, frame->fields, error);
    else if (result == BRIM_OK && frame->particles)
        result = vdb_add_velocity_particles(vdb, frame->particles, error);
    if (result == BRIM_OK) result = write_file(vdb, path, error);
    vdb_free(&vdb);
    return result;
}

#else

static BrimResult missing(BrimError *error) {
    return fail(error, BRIM_ERROR_MISSING,
                "this build of Brim cannot write OpenVDB files: install libopenvdb-dev and "
                "libboost-dev (scripts/setup.sh --vdb), then make");
}

bool brim_writes_vdb(void) {
    return false;
}

BrimResult vdb_write_sim(const BrimSim *sim, const BrimMesh *mesh, double voxel, const char *path,
                         BrimError *error) {
    return missing(error);
}

static BrimResult write_frame(const BrimSimDef *def, const BrimVdbFrame *frame, const char *path,
                              BrimError *error) {
    return missing(error);
}

#endif

BrimResult vdb_check(const BrimSimDef *def, BrimError *error) {
#ifndef BRIM_HAVE_VDB
    return missing(error);
#endif
    if (def->dim != 3)
        return fail(error, BRIM_ERROR_INPUT, "OpenVDB files need a 3D scene; this one is %dD",
                    def->dim);
    return BRIM_OK;
}

BrimResult brim_write_vdb(const BrimSim *sim, const BrimMeshDef *mesh_def, const char *path,
                          BrimError *error) {
    NEED(sim, error);
    NEED(mesh_def, error);
    NEED(path, error);
    const BrimSimDef *def = brim_sim_def(sim);
    BrimMesh mesh = {0};
    BrimResult result = vdb_check(def, error);
    if (result == BRIM_OK) result = brim_sim_mesh(sim, mesh_def, &mesh, error);
    if (result == BRIM_OK)
        result = vdb_write_sim(sim, &mesh, vdb_voxel(def, mesh_def->resolution), path, error);
    brim_mesh_free(&mesh);
    return result;
}

double vdb_voxel(const BrimSimDef *def, int resolution) {
    return (double)def->size.x / def->cells[0] / (resolution > 0 ? resolution : 1);
}

BrimResult brim_write_vdb_frame(const BrimSimDef *def, const BrimVdbFrame *frame, const char *path,
                                BrimError *error) {
    NEED(def, error);
    NEED(frame, error);
    NEED(path, error);
    BrimResult result = vdb_check(def, error);
    if (result != BRIM_OK) return result;
    NEED(frame->surface, error);
    if (!(frame->voxel > 0))
        return fail(error, BRIM_ERROR_INPUT, "an OpenVDB file needs voxels larger than %g m",
                    frame->voxel);
    return write_frame(def, frame, path, error);
}
