// Files for other programs: VTP and PVD for ParaView, OpenVDB.
#include "cases.h"
#include "scratch.h"
#include "test.h"
#include "vdb/vdb.h"

// ------------------------------------------------------------------------------- a VTP reader

/// A VTP file, read by its own header alone.
typedef struct Vtp {
    char *text;
    size_t bytes;
    const char *data; ///< appended
    size_t points, verts, polys;
    double time;
} Vtp;

static size_t attribute(const char *text, const char *name) {
    char *at_name = strstr(text, name);
    return at_name ? strtoull(at_name + strlen(name) + 2, NULL, 10) : SIZE_MAX;
}

static Vtp vtp_open(const char *path) {
    static const char mark[] = "<AppendedData encoding=\"raw\">\n_";
    Vtp v = {0};
    v.text = get_file(path, &v.bytes);
    v.data = strstr(v.text, mark);
    if (!v.data) return v;
    v.data += strlen(mark);
    v.points = attribute(v.text, "NumberOfPoints");
    v.verts = attribute(v.text, "NumberOfVerts"), v.polys = attribute(v.text, "NumberOfPolys");
    v.time = strtod(strchr(strstr(v.text, "\"TimeValue\""), '>') + 1, NULL);
    return v;
}

/// The numbers of an array, NULL when it is not there, of another type or size, or out of the file.
static const void *vtp_array(const Vtp *v, const char *name, const char *type, int components,
                             size_t count) {
    char start[128];
    snprintf(start, sizeof start,
             "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\"",
             type, name, components);
    char *found = strstr(v->text, start);
    if (!found) return NULL;
    const char *at_data = v->data + attribute(found, " offset");
    uint64_t size, wanted = count * (size_t)components * (strcmp(type, "UInt8") == 0 ? 1 : 4);
    if (at_data + 8 > v->text + v->bytes) return NULL;
    memcpy(&size, at_data, sizeof size);
    return size == wanted && at_data + 8 + size <= v->text + v->bytes ? at_data + 8 : NULL;
}

static float float_at(const void *array, size_t i) {
    float value;
    memcpy(&value, (const char *)array + 4 * i, sizeof value);
    return value;
}

static int32_t int_at(const void *array, size_t i) {
    int32_t value;
    memcpy(&value, (const char *)array + 4 * i, sizeof value);
    return value;
}

/// A run's folder with particles and surface of frame 3 of a small splash.
static bool make_frame(const char *folder, BrimMesh *mesh, BrimError *error) {
    Case c = case_box(3, 1, 16, 16, 8);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.6f, 0.5f}));
    c.def.attributes = BRIM_ATTRIBUTE_AGE | BRIM_ATTRIBUTE_SOURCE;
    BrimSim *sim = NULL;
    char path[512];
    BrimMeshDef mesh_def = brim_default_mesh_def();
    bool good = case_create(&c, &sim, error) == BRIM_OK;
    for (int i = 0; i < 3 && good; i++) good = brim_sim_advance_frame(sim, error) == BRIM_OK;
    snprintf(path, sizeof path, "%s/particles", folder);
    good = good && folder_make(path, error) == BRIM_OK;
    snprintf(path, sizeof path, "%s/surface", folder);
    good = good && folder_make(path, error) == BRIM_OK;
    snprintf(path, sizeof path, "%s/paraview", folder);
    good = good && folder_make(path, error) == BRIM_OK;
    snprintf(path, sizeof path, "%s/particles/000003.ply", folder);
    good = good && brim_write_particles(sim, path, error) == BRIM_OK;
    good = good && brim_sim_mesh(sim, &mesh_def, mesh, error) == BRIM_OK;
    snprintf(path, sizeof path, "%s/surface/000003.ply", folder);
    good = good && brim_write_mesh(mesh, 0.125, 3, BRIM_MESH_PLY, path, error) == BRIM_OK;
    brim_sim_destroy(&sim);
    return good;
}

// ------------------------------------------------------------------------------------ ParaView

TEST(export_paraview_holds_what_the_frames_hold) {
    BrimError error = {0};
    BrimMesh mesh = {0};
    BrimFrame f;
    CHECK(make_frame(at("run"), &mesh, &error));
    CHECK_OK(brim_write_paraview(at("run"), at("run/paraview"), 3, 24, &error), error);
    CHECK_OK(brim_frame_read_all(at("run/particles/000003.ply"), &f, &error), error);
    CHECK(f.extra_count == 2 && strcmp(f.extra_name[0], "age") == 0 && !f.extra[0].whole);
    CHECK(strcmp(f.extra_name[1], "source") == 0 && f.extra[1].whole);
    Vtp v = vtp_open(at("run/paraview/particles_000003.vtp"));
    CHECK(v.data && v.points == f.count && v.verts == f.count && v.polys == 0 && v.time == 0.125);
    const void *p = vtp_array(&v, "Points", "Float32", 3, f.count);
    const void *vel = vtp_array(&v, "velocity", "Float32", 3, f.count);
    const void *id = vtp_array(&v, "id", "UInt32", 1, f.count);
    const void *age = vtp_array(&v, "age", "Float32", 1, f.count);
    const void *source = vtp_array(&v, "source", "UInt32", 1, f.count);
    const void *corner = vtp_array(&v, "connectivity", "Int32", 1, f.count);
    const void *end = vtp_array(&v, "offsets", "Int32", 1, f.count);
    CHECK(p && vel && id && age && source && corner && end);
    size_t wrong = 0;
    double oldest = 0;
    for (size_t i = 0; i < f.count; i++) {
        wrong += float_at(p, 3 * i) != f.x[i] || float_at(p, 3 * i + 2) != f.z[i];
        wrong += float_at(vel, 3 * i + 1) != f.vy[i] || int_at(id, i) != (int32_t)f.id[i];
        wrong += float_at(age, i) != ((const float *)f.extra[0].values)[i];
        wrong += int_at(source, i) != 0 || int_at(corner, i) != (int32_t)i;
        wrong += int_at(end, i) != (int32_t)i + 1;
        oldest = fmax(oldest, (double)float_at(age, i));
    }
    CHECK(wrong == 0);
    CHECK_NEAR(oldest, 0.125, 1e-6);
    static const char end_of_file[] = "\n</AppendedData>\n</VTKFile>\n";
    size_t tail = strlen(end_of_file);
    CHECK(v.bytes > tail && strcmp(v.text + v.bytes - tail, end_of_file) == 0);
    BrimParticles view = brim_frame_particles(&f);
    CHECK(view.extra_count == 2 && strcmp(view.extra[1].name, "source") == 0);
    brim_frame_free(&f);
    free(v.text);
    v = vtp_open(at("run/paraview/surface_000003.vtp"));
    CHECK(v.data && v.points == mesh.vertex_count && v.polys == mesh.triangle_count && !v.verts);
    p = vtp_array(&v, "Points", "Float32", 3, v.points);
    vel = vtp_array(&v, "velocity", "Float32", 3, v.points);
    corner = vtp_array(&v, "connectivity", "Int32", 1, 3 * v.polys);
    end = vtp_array(&v, "offsets", "Int32", 1, v.polys);
    CHECK(p && vel && corner && end && vtp_array(&v, "Normals", "Float32", 3, v.points));
    CHECK(memcmp(p, mesh.position, 12 * v.points) == 0);
    CHECK(memcmp(vel, mesh.velocity, 12 * v.points) == 0);
    CHECK(memcmp(corner, mesh.triangle, 12 * v.polys) == 0);
    CHECK(int_at(end, v.polys - 1) == (int32_t)(3 * v.polys));
    free(v.text);
    brim_mesh_free(&mesh);
}

TEST(export_paraview_series_names_all_frames_with_their_times) {
    BrimError error = {0};
    BrimMesh mesh = {0};
    CHECK(make_frame(at("series"), &mesh, &error));
    brim_mesh_free(&mesh);
    size_t bytes;
    char *ply = get_file(at("series/particles/000003.ply"), &bytes);
    put_file(at("series/particles/000010.ply"), ply, bytes);
    free(ply);
    CHECK_OK(folder_make(at("series/fields"), &error), error);
    put_text(at("series/fields/000003.vti"), "");
    CHECK_OK(brim_write_paraview(at("series"), at("series/paraview"), 10, 24, &error), error);
    CHECK_OK(brim_write_paraview(at("series"), at("series/paraview"), 3, 24, &error), error);
    char *pvd = get_file(at("series/paraview/run.pvd"), NULL);
    static const char *const lines[] = {
        "<DataSet timestep=\"0.125\" part=\"0\" name=\"particles\" file=\"particles_000003.vtp\"/>",
        "<DataSet timestep=\"0.125\" part=\"1\" name=\"surface\" file=\"surface_000003.vtp\"/>",
        "<DataSet timestep=\"0.125\" part=\"3\" name=\"fields\" file=\"../fields/000003.vti\"/>",
        "<DataSet timestep=\"0.41666666666666669\" part=\"0\" name=\"particles\" "
        "file=\"particles_000010.vtp\"/>",
        "</Collection>"};
    const char *last = pvd;
    for (int i = 0; i < 5; i++) {
        last = strstr(last, lines[i]);
        CHECK(last);
    }
    free(pvd);
    // in another folder the run's fields cannot be named
    CHECK_OK(folder_make(at("apart"), &error), error);
    CHECK_OK(brim_write_paraview(at("series"), at("apart"), 3, 24, &error), error);
    pvd = get_file(at("apart/run.pvd"), NULL);
    CHECK(strstr(pvd, "surface_000003.vtp") && !strstr(pvd, "fields"));
    free(pvd);
    CHECK(brim_write_paraview(at("series"), at("apart"), 4, 24, &error) == BRIM_ERROR_IO);
    CHECK(brim_write_paraview(at("series"), at("apart"), -1, 24, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_write_paraview(NULL, at("apart"), 3, 24, &error) == BRIM_ERROR_INPUT);
}

TEST(export_vtp_of_an_empty_surface_is_whole) {
    BrimError error = {0};
    BrimMesh mesh = {0};
    CHECK_OK(brim_write_mesh(&mesh, 0, 0, BRIM_MESH_VTP, at("empty.vtp"), &error), error);
    Vtp v = vtp_open(at("empty.vtp"));
    CHECK(v.data && v.points == 0 && v.polys == 0);
    CHECK(vtp_array(&v, "Points", "Float32", 3, 0) && vtp_array(&v, "offsets", "Int32", 1, 0));
    free(v.text);
}

// ------------------------------------------------------------------------------------- OpenVDB

#ifdef BRIM_HAVE_VDB

/// The box from 0.1, 0.2, 0.3 to 0.7, 0.6, 0.9 as a closed surface.
static const float box_low[3] = {0.1f, 0.2f, 0.3f}, box_high[3] = {0.7f, 0.6f, 0.9f};
static float box_corner[8][3];
static uint32_t box_triangle[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
                                       {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
                                       {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};

static BrimMesh box_mesh(void) {
    for (int i = 0; i < 8; i++)
        for (int a = 0; a < 3; a++) box_corner[i][a] = i >> a & 1 ? box_high[a] : box_low[a];
    return (BrimMesh){
        .vertex_count = 8, .triangle_count = 12, .position = box_corner, .triangle = box_triangle};
}

/// Signed distance to that box, negative inside.
static double box_distance(const double p[3]) {
    double outside = 0, inside = -INFINITY;
    for (int a = 0; a < 3; a++) {
        double d = fmax((double)box_low[a] - p[a], p[a] - (double)box_high[a]);
        outside += d > 0 ? d * d : 0, inside = fmax(inside, d);
    }
    return outside > 0 ? sqrt(outside) : inside;
}

static const BrimSimDef *vdb_def(void) {
    static BrimSimDef def;
    def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = 20;
    def.size = (BrimVec3){1, 1, 1};
    return &def;
}

TEST(export_vdb_level_set_is_the_distance) {
    BrimError error = {0};
    BrimMesh mesh = box_mesh();
    BrimVdbFrame frame = {.surface = &mesh, .voxel = 0.025, .time = 0.5, .frame = 12};
    CHECK_OK(brim_write_vdb_frame(vdb_def(), &frame, at("box.vdb"), &error), error);
    VdbFile *file;
    CHECK_OK(vdb_open(at("box.vdb"), &file, &error), error);
    CHECK(vdb_grid_count(file) == 1 && vdb_frame(file) == 12 && vdb_time(file) == 0.5);
    VdbGrid g = vdb_grid(file, 0);
    CHECK(strcmp(g.name, "surface") == 0 && strcmp(g.kind, "level set") == 0);
    CHECK(strcmp(g.type, "float") == 0 && strcmp(g.unit, "m") == 0);
    CHECK_NEAR(g.voxel, 0.025, 1e-12);
    // a band of three voxels to either side, to a voxel
    for (int a = 0; a < 3; a++) {
        CHECK_NEAR(g.low[a], (double)box_low[a] - 3 * 0.025, 0.0251);
        CHECK_NEAR(g.high[a], (double)box_high[a] + 3 * 0.025, 0.0251);
    }
    // at voxels' own places, so that nothing is interpolated
    for (int i = 0; i < 41 * 41; i++) {
        const double p[3] = {0.025 * (i % 41 + 0.5), 0.025 * (i / 41 + 0.5),
                             0.025 * (i * 7 % 41 + 0.5)};
        double value[3], d = box_distance(p);
        CHECK(vdb_probe(file, 0, p, value) == 1);
        CHECK_BELOW(fabs(value[0]), 0.075001);
        // towards the band's end OpenVDB leaves out voxels across from edges
        if (fabs(d) <= 0.05)
            CHECK_NEAR(value[0], d, 1e-6);
        else
            CHECK(value[0] * d > 0 && fabs(value[0]) > 0.0499);
    }
    vdb_close(&file);
    CHECK(!file);
}

TEST(export_vdb_velocity_is_that_of_the_particles) {
    enum { N = 8 * 8 * 8 };
    static float x[3][N], v[3][N];
    BrimError error = {0};
    // a field linear in x and y: means over the particles around a centre are exact where these
    // stand in pairs to either side of it
    for (int i = 0; i < N; i++) {
        const int c[3] = {i & 7, i >> 3 & 7, i >> 6};
        for (int a = 0; a < 3; a++) x[a][i] = 0.25f + 0.025f * ((float)c[a] + 0.5f);
        v[0][i] = 2 + x[1][i], v[1][i] = -x[0][i], v[2][i] = 0.5f;
    }
    BrimParticles p = {
        .count = N, .x = x[0], .y = x[1], .z = x[2], .vx = v[0], .vy = v[1], .vz = v[2]};
    BrimMesh mesh = box_mesh();
    BrimVdbFrame frame = {.surface = &mesh, .voxel = 0.05, .particles = &p};
    CHECK_OK(brim_write_vdb_frame(vdb_def(), &frame, at("velocity.vdb"), &error), error);
    VdbFile *file;
    CHECK_OK(vdb_open(at("velocity.vdb"), &file, &error), error);
    CHECK(vdb_grid_count(file) == 2);
    VdbGrid g = vdb_grid(file, 1);
    CHECK(strcmp(g.name, "velocity") == 0 && strcmp(g.type, "vec3s") == 0);
    CHECK(strcmp(g.unit, "m/s") == 0);
    CHECK_NEAR(g.voxel, 0.05, 1e-12);
    // particles fill the cells 5 to 8 along each axis; their weights reach one cell further
    CHECK(g.active == 6 * 6 * 6);
    CHECK_NEAR(g.low[0], 4.5 * 0.05, 1e-9);
    for (int i = 6; i < 8; i++) {
        const double at_centre[3] = {(i + 0.5) * 0.05, (13 - i + 0.5) * 0.05, 6.5 * 0.05};
        double value[3];
        CHECK(vdb_probe(file, 1, at_centre, value) == 3);
        CHECK_NEAR(value[0], 2 + at_centre[1], 1e-6);
        CHECK_NEAR(value[1], -at_centre[0], 1e-6);
        CHECK_NEAR(value[2], 0.5, 1e-6);
    }
    vdb_close(&file);
    v[0][3] = NAN;
    CHECK(brim_write_vdb_frame(vdb_def(), &frame, at("nan.vdb"), &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "not a number") && !exists(at("nan.vdb")));
}

TEST(export_vdb_of_a_run_and_of_its_files_are_the_same_bytes) {
    Case c = case_box(3, 1, 16, 16, 8);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.6f, 0.5f}));
    BrimError error = {0};
    BrimMeshDef mesh_def = brim_default_mesh_def();
    char *first = NULL;
    size_t bytes = 0;
    for (int threads = 1; threads <= 3; threads++) {
        BrimSim *sim = NULL;
        c.def.threads = mesh_def.threads = threads;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int i = 0; i < 3; i++) CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        CHECK_OK(brim_write_vdb(sim, &mesh_def, at("sim.vdb"), &error), error);
        size_t n;
        char *again = get_file(at("sim.vdb"), &n);
        if (!first) {
            first = again, bytes = n;
        } else {
            CHECK(n == bytes && memcmp(first, again, n) == 0);
            free(again);
        }
        if (threads == 3) {
            BrimMesh mesh;
            CHECK_OK(brim_write_fields(sim, at("sim.vti"), &error), error);
            CHECK_OK(brim_sim_mesh(sim, &mesh_def, &mesh, &error), error);
            BrimVdbFrame frame = {
                .surface = &mesh, .voxel = 1.0 / 32, .time = brim_sim_time(sim), .frame = 3};
            char fields[512];
            snprintf(fields, sizeof fields, "%s", at("sim.vti"));
            frame.fields = fields;
            CHECK_OK(brim_write_vdb_frame(&c.def, &frame, at("files.vdb"), &error), error);
            again = get_file(at("files.vdb"), &n);
            CHECK(n == bytes && memcmp(first, again, n) == 0);
            free(again);
            brim_mesh_free(&mesh);
            // water where there is some, and air above
            VdbFile *file;
            CHECK_OK(vdb_open(at("files.vdb"), &file, &error), error);
            double wet[3], dry[3], speed[3];
            CHECK(vdb_probe(file, 0, (const double[3]){0.15, 0.1, 0.25}, wet) == 1 && wet[0] < 0);
            CHECK(vdb_probe(file, 0, (const double[3]){0.15, 0.9, 0.25}, dry) == 1 && dry[0] > 0);
            CHECK(vdb_probe(file, 1, (const double[3]){0.4, 0.1, 0.25}, speed) == 3);
            CHECK(speed[0] > 0.1); // the dam runs out
            vdb_close(&file);
        }
        brim_sim_destroy(&sim);
    }
    free(first);
}

TEST(export_vdb_refuses_what_it_cannot_write_or_read) {
    BrimError error = {0};
    BrimSimDef flat = *vdb_def();
    flat.dim = 2;
    BrimMesh mesh = box_mesh(), none = {0};
    BrimVdbFrame frame = {.surface = &mesh, .voxel = 0.05};
    CHECK(brim_write_vdb_frame(&flat, &frame, at("no.vdb"), &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "3D"));
    frame.voxel = 0;
    CHECK(brim_write_vdb_frame(vdb_def(), &frame, at("no.vdb"), &error) == BRIM_ERROR_INPUT);
    frame.voxel = 0.05, frame.fields = at("missing.vti"), frame.frame = 1;
    CHECK(brim_write_vdb_frame(vdb_def(), &frame, at("no.vdb"), &error) == BRIM_ERROR_IO);
    CHECK(!exists(at("no.vdb")));
    // no water: an empty level set
    frame = (BrimVdbFrame){.surface = &none, .voxel = 0.05};
    CHECK_OK(brim_write_vdb_frame(vdb_def(), &frame, at("none.vdb"), &error), error);
    VdbFile *file;
    CHECK_OK(vdb_open(at("none.vdb"), &file, &error), error);
    VdbGrid g = vdb_grid(file, 0);
    CHECK(g.active == 0 && strcmp(g.kind, "level set") == 0);
    vdb_close(&file);
    frame.surface = &mesh;
    CHECK_OK(brim_write_vdb_frame(vdb_def(), &frame, at("whole.vdb"), &error), error);
    size_t bytes;
    char *whole = get_file(at("whole.vdb"), &bytes), text[1024];
    put_file(at("cut.vdb"), whole, bytes / 2);
    free(whole);
    CHECK(vdb_open(at("cut.vdb"), &file, &error) == BRIM_ERROR_DAMAGED && !file);
    put_text(at("text.vdb"), "no grids here");
    CHECK(brim_describe_file(at("text.vdb"), text, sizeof text, &error) == BRIM_ERROR_DAMAGED);
    CHECK_OK(brim_describe_file(at("whole.vdb"), text, sizeof text, &error), error);
    CHECK(strstr(text, "level set, float, m, ") && strstr(text, "voxels of 0.05 m"));
}

#else

TEST(export_vdb_is_missing_in_this_build) {
    BrimError error = {0};
    BrimMesh none = {0};
    BrimSimDef def = brim_default_sim_def();
    BrimVdbFrame frame = {.surface = &none, .voxel = 0.05};
    CHECK(!brim_writes_vdb());
    CHECK(brim_write_vdb_frame(&def, &frame, at("no.vdb"), &error) == BRIM_ERROR_MISSING);
    CHECK(strstr(error.message, "setup.sh --vdb") && !exists(at("no.vdb")));
}

#endif
