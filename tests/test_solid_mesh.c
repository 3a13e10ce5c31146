// Meshes: three file types, damaged files, and distances against exact shapes.
#include "scratch.h"
#include "solid/distance_near.h"
#include "solid/mesh_frames.h"
#include "solid/solid.h"
#include "solid/triangle.h"
#include "test.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// A file being written in memory.
typedef struct Buffer {
    uint8_t *data;
    size_t size, capacity;
} Buffer;

static void put(Buffer *b, const void *data, size_t size) {
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->data = realloc(b->data, b->capacity);
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

__attribute__((format(printf, 2, 3))) static void say(Buffer *b, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(b, text, (size_t)n);
}

static void put_number(Buffer *b, const void *value, size_t bytes, bool big) {
    uint8_t raw[8];
    memcpy(raw, value, bytes); // little-endian hosts
    for (size_t i = 0; i < bytes; i++) put(b, &raw[big ? bytes - 1 - i : i], 1);
}

// ------------------------------------------------------------------------------------- meshes

static uint32_t vertex(Trimesh *m, double x, double y, double z) {
    trimesh_add_vertex(m, (double[3]){x, y, z});
    return (uint32_t)m->vertex_count - 1;
}

static void triangle(Trimesh *m, uint32_t a, uint32_t b, uint32_t c) {
    trimesh_add_polygon(m, (uint32_t[3]){a, b, c}, 3);
}

/// Box [low, high], 12 triangles.
static void add_box(Trimesh *m, const double low[3], const double high[3]) {
    uint32_t v[8];
    for (int i = 0; i < 8; i++)
        v[i] =
            vertex(m, i & 1 ? high[0] : low[0], i & 2 ? high[1] : low[1], i & 4 ? high[2] : low[2]);
    static const int quads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                    {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int q = 0; q < 6; q++) {
        uint32_t c[4];
        for (int i = 0; i < 4; i++) c[i] = v[quads[q][i]];
        trimesh_add_polygon(m, c, 4);
    }
}

static Trimesh unit_box(void) {
    Trimesh m = {0};
    add_box(&m, (double[3]){-0.5, -0.5, -0.5}, (double[3]){0.5, 0.5, 0.5});
    return m;
}

/// Octahedron split `levels` times, corners on the sphere. 8 * 4^levels triangles.
static Trimesh ball(double radius, int levels) {
    Trimesh m = {0};
    uint32_t v[6] = {vertex(&m, 1, 0, 0),  vertex(&m, -1, 0, 0), vertex(&m, 0, 1, 0),
                     vertex(&m, 0, -1, 0), vertex(&m, 0, 0, 1),  vertex(&m, 0, 0, -1)};
    for (int i = 0; i < 8; i++) {
        uint32_t a = v[i & 1], b = v[2 + (i >> 1 & 1)], c = v[4 + (i >> 2)];
        bool flip = (i ^ i >> 1 ^ i >> 2) & 1;
        triangle(&m, a, flip ? c : b, flip ? b : c);
    }
    for (int l = 0; l < levels; l++) {
        size_t n = m.triangle_count;
        uint32_t(*old)[3] = malloc(n * sizeof *old);
        memcpy(old, m.triangles, n * sizeof *old);
        m.triangle_count = 0;
        for (size_t t = 0; t < n; t++) {
            uint32_t mid[3];
            for (int i = 0; i < 3; i++) {
                const float *p = m.vertices[old[t][i]], *q = m.vertices[old[t][(i + 1) % 3]];
                double s[3] = {p[0] + (double)q[0], p[1] + (double)q[1], p[2] + (double)q[2]};
                double length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
                mid[i] = vertex(&m, s[0] / length, s[1] / length, s[2] / length);
            }
            triangle(&m, old[t][0], mid[0], mid[2]);
            triangle(&m, mid[0], old[t][1], mid[1]);
            triangle(&m, mid[2], mid[1], old[t][2]);
            triangle(&m, mid[0], mid[1], mid[2]);
        }
        free(old);
    }
    for (size_t i = 0; i < m.vertex_count; i++)
        for (int k = 0; k < 3; k++) m.vertices[i][k] *= (float)radius;
    return m;
}

// -------------------------------------------------------------------------------------- files

static Buffer write_obj(const Trimesh *m) {
    Buffer b = {0};
    say(&b, "# a mesh\r\no thing\nvn 0 1 0\n");
    for (size_t i = 0; i < m->vertex_count; i++)
        say(&b, "v %.9g %.9g %.9g\n", (double)m->vertices[i][0], (double)m->vertices[i][1],
            (double)m->vertices[i][2]);
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *c = m->triangles[t];
        if (t % 3 == 0)
            say(&b, "f %u %u %u\n", c[0] + 1, c[1] + 1, c[2] + 1);
        else if (t % 3 == 1)
            say(&b, "f %u/1/1 %u//1 \\\n %u/2\r\n", c[0] + 1, c[1] + 1, c[2] + 1);
        else
            say(&b, "f %d %d %d\n", (int)c[0] - (int)m->vertex_count,
                (int)c[1] - (int)m->vertex_count, (int)c[2] - (int)m->vertex_count);
    }
    return b;
}

/// encoding: 0 ascii, 1 little, 2 big
static Buffer write_ply(const Trimesh *m, int encoding) {
    static const char *const formats[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    Buffer b = {0};
    say(&b, "ply\nformat %s 1.0\ncomment made by a test\nelement vertex %zu\n", formats[encoding],
        m->vertex_count);
    say(&b, "property float x\nproperty uchar red\nproperty float y\nproperty double z\n");
    say(&b, "element face %zu\nproperty list uchar float weights\n", m->triangle_count);
    say(&b, "property list uchar int vertex_indices\nend_header\n");
    for (size_t i = 0; i < m->vertex_count; i++) {
        const float *p = m->vertices[i];
        if (encoding == 0) {
            say(&b, "%.9g 7 %.9g %.17g\n", (double)p[0], (double)p[1], (double)p[2]);
            continue;
        }
        double z = p[2];
        put_number(&b, &p[0], 4, encoding == 2);
        put(&b, "\7", 1);
        put_number(&b, &p[1], 4, encoding == 2);
        put_number(&b, &z, 8, encoding == 2);
    }
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *c = m->triangles[t];
        if (encoding == 0) {
            say(&b, "1 nan 3 %u %u %u\n", c[0], c[1], c[2]);
            continue;
        }
        put(&b, "\1xxxx\3", 6);
        for (int i = 0; i < 3; i++) put_number(&b, &c[i], 4, encoding == 2);
    }
    return b;
}

static Buffer write_stl(const Trimesh *m, bool binary) {
    Buffer b = {0};
    uint32_t count = (uint32_t)m->triangle_count;
    if (binary) {
        char header[80] = "solid in name only";
        put(&b, header, sizeof header);
        put_number(&b, &count, 4, false);
    } else {
        say(&b, "solid facet of vertex\n");
    }
    for (size_t t = 0; t < m->triangle_count; t++) {
        if (binary)
            put(&b, "normal not ", 12);
        else
            say(&b, " facet normal 0 0 0\n  outer loop\n");
        for (int i = 0; i < 3; i++) {
            const float *p = m->vertices[m->triangles[t][i]];
            if (binary)
                for (int k = 0; k < 3; k++) put_number(&b, &p[k], 4, false);
            else
                say(&b, "   vertex %.9g %.9g %.9g\n", (double)p[0], (double)p[1], (double)p[2]);
        }
        if (binary)
            put(&b, "\0", 2);
        else
            say(&b, "  endloop\n endfacet\n");
    }
    if (!binary) say(&b, "endsolid\n");
    return b;
}

enum { FILE_TYPES = 6 };

static Buffer write_type(const Trimesh *m, int type, MeshFormat *format) {
    *format = type == 0 ? MESH_OBJ : type < 4 ? MESH_PLY : MESH_STL;
    return type == 0 ? write_obj(m) : type < 4 ? write_ply(m, type - 1) : write_stl(m, type == 4);
}

TEST(mesh_all_formats_agree) {
    Trimesh m = ball(1.5, 2);
    double volume[FILE_TYPES];
    for (int type = 0; type < FILE_TYPES; type++) {
        MeshFormat format;
        Buffer b = write_type(&m, type, &format);
        Trimesh read = {0};
        BrimError error;
        CHECK_OK(trimesh_parse(format, b.data, b.size, "ball", &read, &error), error);
        CHECK(read.triangle_count == 128 && read.oriented);
        volume[type] = 0;
        for (size_t t = 0; t < read.triangle_count; t++) {
            const float *p = read.vertices[read.triangles[t][0]];
            const float *q = read.vertices[read.triangles[t][1]];
            const float *r = read.vertices[read.triangles[t][2]];
            volume[type] += (double)p[0] * (q[1] * r[2] - q[2] * r[1]) +
                            (double)p[1] * (q[2] * r[0] - q[0] * r[2]) +
                            (double)p[2] * (q[0] * r[1] - q[1] * r[0]);
        }
        CHECK_NEAR(volume[type], volume[0], 1e-9);
        trimesh_free(&read);
        free(b.data);
    }
    CHECK_NEAR(volume[0] / 6, 4.0 / 3 * M_PI * 3.375, 1.5);
    trimesh_free(&m);
}

TEST(mesh_truncated_files_are_refused) {
    Trimesh m = unit_box();
    for (int type = 0; type < FILE_TYPES; type++) {
        MeshFormat format;
        Buffer b = write_type(&m, type, &format);
        // the last bytes of text may be no loss
        for (size_t size = 0; size + 12 < b.size; size++) {
            uint8_t *cut = malloc(size ? size : 1); // own block, so that a sanitizer sees overruns
            memcpy(cut, b.data, size);
            Trimesh read = {0};
            BrimError error;
            BrimResult result = trimesh_parse(format, cut, size, "cut.mesh", &read, &error);
            trimesh_free(&read);
            free(cut);
            CHECK(result == BRIM_ERROR_INPUT);
            CHECK(strstr(error.message, "cut.mesh"));
        }
        free(b.data);
    }
    trimesh_free(&m);
}

static bool refused(MeshFormat format, const char *text, const char *because) {
    Trimesh m = {0};
    BrimError error = {0};
    BrimResult result =
        trimesh_parse(format, (const uint8_t *)text, strlen(text), "file", &m, &error);
    trimesh_free(&m);
    if (result == BRIM_ERROR_INPUT && strstr(error.message, because)) return true;
    fprintf(stderr, "result %d: %s\n", result, error.message);
    return false;
}

TEST(mesh_bad_files_say_where) {
    CHECK(refused(MESH_OBJ, "v 0 0 0\nv 1 0 x\n", "file:2"));
    CHECK(refused(MESH_OBJ, "v 0 0 0\n\nv 1 nan 0\n", "file:3"));
    CHECK(refused(MESH_OBJ, "v 0 0 1e30\n", "file:1"));
    CHECK(refused(MESH_OBJ, "v 0 0 0\nf 1 1 2\n", "file:2: a face names vertex 2"));
    CHECK(refused(MESH_OBJ, "v 0 0 0\nf -2 1 1\n", "vertex -2"));
    CHECK(refused(MESH_OBJ, "v 0 0 0\nf 0 1 1\n", "vertex 0"));
    CHECK(refused(MESH_OBJ, "v 0 0 0\nf 1 1\n", "three"));
    CHECK(refused(MESH_OBJ, "", "no triangles"));
    CHECK(refused(MESH_PLY, "plx\n", "ply"));
    CHECK(refused(MESH_PLY,
                  "ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nproperty "
                  "float y\nproperty float z\nelement face 1\nproperty list uchar int "
                  "vertex_indices\nend_header\n0 0 0\n",
                  "truncated"));
    CHECK(refused(MESH_PLY, "ply\nformat ascii 1.0\nelement vertex 5\nelement face 5\nend_header\n",
                  "truncated"));
    CHECK(refused(MESH_PLY,
                  "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                  "property float z\nelement face 1\nproperty list uchar int vertex_indices\n"
                  "end_header\n0 0 0\n3 0 0 1\n",
                  "file:11: a face names a vertex that does not exist"));
    CHECK(refused(MESH_STL, "solid\nfacet normal 0 0 1\nvertex 1 2\n", "file:3"));
    CHECK(refused(MESH_STL, "solid\nfacet normal 0 0 1\nvertex 1 2 3\nendfacet\n", "file:4"));
}

TEST(mesh_open_and_crowded_are_refused) {
    BrimError error;
    Trimesh m = unit_box();
    m.triangle_count--;
    CHECK(trimesh_close(&m, "holed.obj", &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "holed.obj") && strstr(error.message, "3 open edges"));
    trimesh_free(&m);
    // two boxes that share an edge
    m = unit_box();
    add_box(&m, (double[3]){0.5, 0.5, -0.5}, (double[3]){1.5, 1.5, 0.5});
    CHECK(trimesh_close(&m, "two.obj", &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "1 edges of more than two"));
    trimesh_free(&m);
}

TEST(mesh_of_bodies_that_touch_is_read_by_its_indices) {
    // as a frame of bodies: two that share an edge, and one whose vertex met another of its own
    BrimError error;
    Trimesh m = unit_box();
    add_box(&m, (double[3]){0.5, 0.5, -0.5}, (double[3]){1.5, 1.5, 0.5});
    Trimesh folded = ball(0.4, 2);
    CHECK_OK(trimesh_close(&folded, "ball", &error), error);
    memcpy(folded.vertices[folded.triangles[5][0]], folded.vertices[folded.triangles[100][0]],
           sizeof *folded.vertices);
    for (int i = 0; i < 2; i++) {
        const Trimesh *t = i ? &folded : &m;
        const char *path = at(i ? "folded-1.ply" : "bodies-1.ply");
        float(*zeros)[3] = calloc(t->vertex_count, sizeof *zeros);
        BrimMesh mesh = {.vertex_count = t->vertex_count,
                         .triangle_count = t->triangle_count,
                         .position = t->vertices,
                         .normal = zeros,
                         .velocity = zeros,
                         .triangle = t->triangles};
        CHECK_OK(brim_write_mesh(&mesh, 0, 0, BRIM_MESH_PLY, path, &error), error);
        Trimesh read = {0};
        CHECK_OK(trimesh_load(path, &read, &error), error);
        CHECK(read.vertex_count == t->vertex_count && read.triangle_count == t->triangle_count);
        CHECK_NEAR(trimesh_volume(&read), trimesh_volume(t), 1e-6);
        trimesh_free(&read);

        BrimSimDef def = brim_default_sim_def(); // what `brim render` does with such a frame
        BrimPictureDef picture = brim_default_picture_def();
        BrimFrame none = {0};
        def.dim = 3, def.size = (BrimVec3){2, 2, 2};
        for (int a = 0; a < 3; a++) def.cells[a] = 8;
        picture.width = picture.height = 32, picture.samples = 1, picture.bodies = path;
        CHECK_OK(brim_write_picture(&def, &none, NULL, 0, &picture, at("bodies.png"), &error),
                 error);
        free(zeros);
    }
    BrimMesh second = {.vertex_count = m.vertex_count,
                       .triangle_count = m.triangle_count,
                       .position = m.vertices,
                       .triangle = m.triangles};
    CHECK_OK(brim_write_mesh(&second, 0, 0, BRIM_MESH_PLY, at("bodies-2.ply"), &error), error);
    BrimShapeDef shape = {.kind = BRIM_SHAPE_MESH, .frames = at("bodies-#.ply"), .frame_rate = 1};
    MeshFrames *frames = NULL;
    CHECK_OK(mesh_frames_new(&shape, 3, &frames, &error), error);
    mesh_frames_free(&frames);
    m.triangle_count--; // a hole stays a hole
    second.triangle_count--;
    CHECK_OK(brim_write_mesh(&second, 0, 0, BRIM_MESH_PLY, at("hole.ply"), &error), error);
    Trimesh read = {0};
    CHECK(trimesh_load(at("hole.ply"), &read, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "3 open edges"));
    trimesh_free(&read), trimesh_free(&m), trimesh_free(&folded);
}

TEST(mesh_concave_polygon_keeps_its_outline) {
    Trimesh m = {0};
    // an L of area 3, so that a fan from its first corner would leave it
    static const double corners[6][2] = {{2, 1}, {1, 1}, {1, 2}, {0, 2}, {0, 0}, {2, 0}};
    uint32_t index[6];
    for (int i = 0; i < 6; i++) index[i] = vertex(&m, corners[i][0], 5, corners[i][1]);
    CHECK(trimesh_add_polygon(&m, index, 6));
    double area = 0, sum = 0;
    for (size_t t = 0; t < m.triangle_count; t++) {
        const float *a = m.vertices[m.triangles[t][0]], *b = m.vertices[m.triangles[t][1]];
        const float *c = m.vertices[m.triangles[t][2]];
        double twice =
            (double)(b[0] - a[0]) * (c[2] - a[2]) - (double)(b[2] - a[2]) * (c[0] - a[0]);
        area += fabs(twice) / 2, sum += twice / 2;
    }
    CHECK(m.triangle_count == 4);
    CHECK_NEAR(area, 3, 1e-6);
    CHECK_NEAR(fabs(sum), 3, 1e-6);
    trimesh_free(&m);
}

// ---------------------------------------------------------------------------------- distances

static float sample(const DistanceGrid *g, double x, double y, double z) {
    float fx = (float)x, fy = (float)y, fz = (float)z, d = NAN;
    distance_grid_sample(g, 1, &fx, &fy, &fz, &d);
    return d;
}

static double box_distance(const double *p, const double *low, const double *high, int dim) {
    double out = 0, in = -INFINITY;
    for (int i = 0; i < dim; i++) {
        double q = fmax(low[i] - p[i], p[i] - high[i]);
        out += q > 0 ? q * q : 0;
        in = fmax(in, q);
    }
    return sqrt(out) + fmin(in, 0);
}

static double random_in(uint32_t *state, double low, double high) {
    *state = *state * 1664525u + 1013904223u;
    return low + (high - low) * (*state >> 8) * 0x1p-24;
}

TEST(mesh_ball_distance) {
    Trimesh m = ball(1, 5);
    DistanceGrid g;
    BrimError error;
    const double resolution = 0.1;
    CHECK_OK(trimesh_close(&m, "ball", &error), error);
    CHECK_OK(distance_grid_new(&m, "ball", 3, resolution, &g, &error), error);
    uint32_t seed = 3;
    double near = 0, far = 0, deep = 0;
    for (int i = 0; i < 20000; i++) {
        double p[3] = {random_in(&seed, -2, 2), random_in(&seed, -2, 2), random_in(&seed, -2, 2)};
        double exact = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - 1;
        double d = sample(&g, p[0], p[1], p[2]);
        if (fabs(exact) > 0.03 * resolution) CHECK((d < 0) == (exact < 0));
        if (fabs(exact) < 2 * resolution) near = fmax(near, fabs(d - exact));
        if (exact > 0) far = fmax(far, d - exact);
        if (exact < 0 && exact > -0.8) deep = fmax(deep, fabs(d - exact));
        CHECK(exact < 0 || d > 0.55 * exact - 0.01);
    }
    CHECK_BELOW(near, 0.025 * resolution);
    CHECK_BELOW(far, 0.2 * resolution);
    CHECK_BELOW(deep, 0.35 * resolution);
    distance_grid_free(&g);
    trimesh_free(&m);
}

TEST(mesh_box_distance) {
    // not lined up with the grid, and once so
    for (int aligned = 0; aligned < 2; aligned++) {
        double low[3] = {-0.52, -0.31, 0.13}, high[3] = {0.47, 0.55, 0.71};
        if (aligned)
            for (int i = 0; i < 3; i++) low[i] = -0.5, high[i] = 0.5;
        Trimesh m = {0};
        add_box(&m, low, high);
        DistanceGrid g;
        BrimError error;
        CHECK_OK(trimesh_close(&m, "box", &error), error);
        CHECK_OK(distance_grid_new(&m, "box", 3, 0.05, &g, &error), error);
        uint32_t seed = 5;
        for (int i = 0; i < 20000; i++) {
            double p[3];
            for (int k = 0; k < 3; k++) p[k] = random_in(&seed, -0.7, 0.8);
            double exact = box_distance(p, low, high, 3), d = sample(&g, p[0], p[1], p[2]);
            if (fabs(exact) > 0.13 * 0.05) CHECK((d < 0) == (exact < 0));
            if (fabs(exact) < 0.05) CHECK_NEAR(d, exact, 0.18 * 0.05); // edges are rounded
        }
        // on the faces, away from edges
        for (int i = 0; i < 2000; i++) {
            double p[3];
            int face = i % 3;
            for (int k = 0; k < 3; k++) p[k] = random_in(&seed, low[k] + 0.1, high[k] - 0.1);
            p[face] = (i & 1 ? high : low)[face] + random_in(&seed, -0.05, 0.05);
            CHECK_NEAR(sample(&g, p[0], p[1], p[2]), box_distance(p, low, high, 3), 0.002 * 0.05);
        }
        distance_grid_free(&g);
        trimesh_free(&m);
    }
}

/// A block of 3 x 2 x 1 with a notch of 1 x 1 x 1 in the middle of its top: a U.
static Trimesh u_profile(void) {
    static const double outline[8][2] = {{0, 0}, {3, 0}, {3, 2}, {2, 2},
                                         {2, 1}, {1, 1}, {1, 2}, {0, 2}};
    Trimesh m = {0};
    uint32_t front[8], back[8], reversed[8];
    for (int i = 0; i < 8; i++) front[i] = vertex(&m, outline[i][0], outline[i][1], 1);
    for (int i = 0; i < 8; i++) back[i] = vertex(&m, outline[i][0], outline[i][1], 0);
    for (int i = 0; i < 8; i++) reversed[i] = back[7 - i];
    trimesh_add_polygon(&m, front, 8);
    trimesh_add_polygon(&m, reversed, 8);
    for (int i = 0; i < 8; i++) {
        int j = (i + 1) % 8;
        trimesh_add_polygon(&m, (uint32_t[4]){front[i], back[i], back[j], front[j]}, 4);
    }
    return m;
}

static double u_distance(double x, double y) {
    double p[2] = {x, y};
    double block = box_distance(p, (double[2]){0, 0}, (double[2]){3, 2}, 2);
    double notch = box_distance(p, (double[2]){1, 1}, (double[2]){2, 3}, 2);
    return fmax(block, -notch);
}

TEST(mesh_concave_sign) {
    for (int turned = 0; turned < 2; turned++) {
        Trimesh m = u_profile();
        BrimError error;
        // inside out, or with neighbours that disagree, the inside is the same
        for (size_t t = 0; turned && t < m.triangle_count; t += 2) {
            uint32_t swap = m.triangles[t][0];
            m.triangles[t][0] = m.triangles[t][1], m.triangles[t][1] = swap;
        }
        DistanceGrid g;
        CHECK_OK(trimesh_close(&m, "u", &error), error);
        CHECK(m.oriented == !turned);
        CHECK_OK(distance_grid_new(&m, "u", 3, 0.1, &g, &error), error);
        uint32_t seed = 11;
        for (int i = 0; i < 10000; i++) {
            double x = random_in(&seed, -0.5, 3.5), y = random_in(&seed, -0.5, 2.5);
            double z = random_in(&seed, -0.2, 1.2);
            double exact = fmax(u_distance(x, y), fmax(-z, z - 1));
            if (fabs(exact) > 0.02) CHECK((sample(&g, x, y, z) < 0) == (exact < 0));
        }
        distance_grid_free(&g);
        trimesh_free(&m);
    }
}

TEST(mesh_overlapping_parts_are_one) {
    Trimesh m = unit_box();
    add_box(&m, (double[3]){0.2, -0.3, -0.3}, (double[3]){1.3, 0.3, 0.3});
    DistanceGrid g;
    BrimError error;
    CHECK_OK(trimesh_close(&m, "two", &error), error);
    CHECK_OK(distance_grid_new(&m, "two", 3, 0.1, &g, &error), error);
    CHECK(sample(&g, 0.35, 0, 0) < 0 && sample(&g, 1, 0, 0) < 0 && sample(&g, -0.3, 0, 0) < 0);
    CHECK(sample(&g, 1, 0.4, 0) > 0);
    distance_grid_free(&g);
    trimesh_free(&m);
}

TEST(mesh_2d_is_the_outline) {
    for (int sunk = 0; sunk < 3; sunk++) { // from z = 0 up, across z = 0, up to z = 0
        Trimesh m = u_profile();
        for (size_t i = 0; i < m.vertex_count; i++) m.vertices[i][2] -= 0.5f * (float)sunk;
        DistanceGrid g;
        BrimError error;
        CHECK_OK(trimesh_close(&m, "u", &error), error);
        CHECK_OK(distance_grid_new(&m, "u", 2, 0.05, &g, &error), error);
        CHECK(g.n[2] == 1);
        uint32_t seed = 13;
        for (int i = 0; i < 5000; i++) {
            double x = random_in(&seed, -0.1, 3.1), y = random_in(&seed, -0.1, 2.1);
            double exact = u_distance(x, y), d = sample(&g, x, y, 0);
            if (fabs(exact) > 0.01) CHECK((d < 0) == (exact < 0));
            if (exact > -0.05 && exact < 0) CHECK_NEAR(d, exact, 0.01);
        }
        CHECK_NEAR(sample(&g, 0.5, 1, 0), -0.5, 0.005);
        distance_grid_free(&g);
        trimesh_free(&m);
    }
    Trimesh m = unit_box();
    for (size_t i = 0; i < m.vertex_count; i++) m.vertices[i][2] += 5;
    DistanceGrid g;
    BrimError error;
    CHECK(distance_grid_new(&m, "high", 2, 0.1, &g, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "z = 0"));
    trimesh_free(&m);
}

TEST(mesh_absurd_size_is_refused) {
    Trimesh m = unit_box();
    DistanceGrid g;
    BrimError error;
    CHECK(distance_grid_new(&m, "huge.stl", 3, 1e-4, &g, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "huge.stl") && strstr(error.message, "scale"));
    trimesh_free(&m);
}

TEST(mesh_as_a_shape) {
    Trimesh m = unit_box();
    Buffer b = write_stl(&m, true);
    const char *path = at("box.stl");
    put_file(path, b.data, b.size);
    BrimShapeDef def = brim_default_shape_def();
    def.kind = BRIM_SHAPE_MESH;
    def.file = path, def.scale = 2;
    def.position = (BrimVec3){3, 0, 0};
    def.rotation = (BrimVec3){0, 0, 45};
    Shape *s;
    BrimError error;
    BrimResult result = shape_new(&def, 3, 0.05f, &s, &error);
    unlink(path);
    CHECK_OK(result, error);
    float x[3] = {3, 3 + 2 * (float)M_SQRT2, 9}, y[3] = {0, 0, 0}, z[3] = {0, 0, 0}, d[3];
    shape_distance(s, 3, x, y, z, d);
    CHECK_NEAR(d[0], -1, 0.05);
    CHECK_NEAR(d[1], M_SQRT2, 0.4); // beyond the grid: a bound
    CHECK(d[1] < M_SQRT2 + 0.01);
    CHECK(d[2] < 6 - M_SQRT2 + 0.01 && d[2] > 4);
    float low[3], high[3];
    CHECK(shape_bounds(s, low, high));
    CHECK_NEAR(low[0], 3 - M_SQRT2, 1e-5);
    CHECK(shape_bytes(s) > 40 * 40 * 40 * 4);
    shape_free(&s);
    free(b.data);
    trimesh_free(&m);
}

// ---------------------------------------------------------------------------- meshes that move

/// A ball that is pinched and turned.
static Trimesh pinched_ball(void) {
    Trimesh m = ball(1, 3);
    for (size_t i = 0; i < m.vertex_count; i++) {
        float *v = m.vertices[i], pinch = 0.25f + 0.75f * v[2] * v[2], x = v[0], y = v[1];
        v[0] = pinch * (x * cosf(v[2]) - y * sinf(v[2])) + 3.1f;
        v[1] = pinch * (x * sinf(v[2]) + y * cosf(v[2])) - 1.7f;
    }
    return m;
}

TEST(distance_to_a_mesh_that_moves_is_exact_near_it) {
    Trimesh m = pinched_ball();
    m.oriented = true;
    DistanceGrid g = {.low = {2, -3, -1}, .high = {4.2f, -0.6f, 1}};
    DistanceWork work = {0};
    const float h = 0.07f, reach = 7;
    size_t nodes = distance_grid_fit(&g, 3, h, 7), near = 0, wrong = 0;
    CHECK(g.n[0] % 8 == 0);
    CHECK(distance_grid_near(&g, &m, reach, true, NULL, &work));
    double error = 0, far = 0, mean = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < nodes; i += 7) { // a node in seven: the search is slow
        size_t y = i / (size_t)g.n[0], z = y / (size_t)g.n[1];
        double p[3] = {g.origin[0] + (double)h * (double)(i % (size_t)g.n[0]),
                       g.origin[1] + (double)h * (double)(y % (size_t)g.n[1]),
                       g.origin[2] + (double)h * (double)z};
        double best = INFINITY, mine = INFINITY;
        for (size_t t = 0; t < m.triangle_count; t++) {
            const uint32_t *v = m.triangles[t];
            double d = triangle_distance2(p, m.vertices[v[0]], m.vertices[v[1]], m.vertices[v[2]]);
            best = fmin(best, d);
            if (t == work.nearest[i]) mine = d;
        }
        double exact = sqrt(best), d = fabsf(g.value[i]);
        if (exact <= 1.74 * (double)h) {
            error = fmax(error, fabs(d - exact)), near++;
            wrong += sqrt(mine) > exact + 1e-5;
        } else {
            double off = fabs(d - fmin(exact, (double)(reach * h)));
            far = fmax(far, off);
            if (exact < (double)(reach * h)) mean += off, beyond++;
        }
    }
    CHECK(near > 500 && wrong == 0);
    CHECK_BELOW(error, 1e-4 * (double)h);
    CHECK_BELOW(far, 0.4 * (double)h);
    CHECK_BELOW(mean / (double)beyond, 0.03 * (double)h);

    Team *team = team_new(3);
    DistanceGrid other = g;
    DistanceWork others = {0};
    other.value = NULL;
    CHECK(distance_grid_near(&other, &m, reach, true, team, &others));
    CHECK(memcmp(g.value, other.value, nodes * sizeof *g.value) == 0);
    distance_grid_free(&g), distance_grid_free(&other);
    distance_work_free(&work), distance_work_free(&others);
    team_free(&team);
    trimesh_free(&m);
}

TEST(distance_at_many_points_is_the_same_bits_as_at_one) {
    // inside the grid, on its edges, outside; 3D and one node deep
    uint32_t seed = 11;
    for (int deep = 1; deep <= 6; deep += 5) {
        DistanceGrid g = {.n = {8, 5, deep}, .spacing = 0.3f, .origin = {-1, 0.5f, 0}};
        for (int a = 0; a < 3; a++) g.low[a] = g.origin[a] + 0.2f, g.high[a] = g.low[a] + 0.8f;
        float value[8 * 5 * 6], x[3][75], many[75], one;
        for (int i = 0; i < 8 * 5 * 6; i++) value[i] = (float)random_in(&seed, -1, 1);
        g.value = value;
        for (int trial = 0; trial < 50; trial++) {
            for (int i = 0; i < 75; i++)
                for (int a = 0; a < 3; a++) {
                    x[a][i] = g.origin[a] + (float)random_in(&seed, -0.5, 3);
                    if ((i + a) % 7 == 0) x[a][i] = g.origin[a] + g.spacing * (float)(i % 6);
                }
            x[trial % 3][trial] = trial & 1 ? INFINITY : NAN;
            distance_grid_sample(&g, 75 - trial, x[0], x[1], x[2], many);
            for (int i = 0; i < 75 - trial; i++) {
                distance_grid_sample(&g, 1, &x[0][i], &x[1][i], &x[2][i], &one);
                CHECK(memcmp(&one, &many[i], sizeof one) == 0);
            }
        }
    }
}

/// Numbers for a triangle that need not fit one another: what a kernel makes of them is arithmetic.
static TriangleFrame random_frame(uint32_t *seed) {
    TriangleFrame t = {.length = 1.3f, .apex = {(float)random_in(seed, -0.5, 0.5), 0.9f}};
    float *all[] = {t.corner, t.along, t.across, t.normal};
    for (int k = 0; k < 4; k++)
        for (int a = 0; a < 3; a++) all[k][a] = (float)random_in(seed, -1, 1);
    for (int a = 0; a < 2; a++) t.by[a] = (float)random_in(seed, -1, 1);
    for (int a = 0; a < 3; a++) t.low[a] = (int)random_in(seed, 0, 4);
    t.high[0] = t.low[0] + (int)random_in(seed, 0, 13);
    t.high[1] = t.low[1] + (int)random_in(seed, 0, 4), t.high[2] = t.low[2];
    return t;
}

TEST(distance_kernels_give_the_same_bits_on_every_processor) {
    enum { N = 48, WIDE = 24, HIGH = 9, DEEP = 4, NODES = WIDE * HIGH * DEEP };
    const BrimIsa sets[2] = {BRIM_ISA_BASE, isa_choose(BRIM_ISA_AUTO)};
    float value[2][NODES], d[5][N], to[2][N];
    uint32_t nearest[2][NODES], triangle[5][N], taken[2][N], seed = 5;
    uint8_t eights[2][N / 8];
    for (int trial = 0; trial < 200; trial++) {
        TriangleFrame t[2] = {random_frame(&seed), random_frame(&seed)};
        if (trial % 5 == 0) t[0].apex[1] = 0;
        float near = (float)random_in(&seed, 0, 2);
        for (int k = 0; k < 5; k++)
            for (int i = 0; i < N; i++) {
                bool none = random_in(&seed, 0, 1) < 0.2;
                d[k][i] = none ? DISTANCE_FAR : (float)random_in(&seed, 0, 3);
                triangle[k][i] = (uint32_t)(k * N + i);
            }
        for (int i = 0; i < N / 8; i++) eights[0][i] = eights[1][i] = random_in(&seed, 0, 1) < 0.7;
        memset(to, 0, sizeof to), memset(taken, 0, sizeof taken);
        for (int s = 0; s < 2; s++) {
            const DistanceKernels *kernels = distance_kernels_for(sets[s]);
            const DistanceRows all = {{WIDE, HIGH}, 0.11f, 0.3f, value[s], nearest[s]};
            const int low[2] = {0, 0}, high[2] = {HIGH - 1, DEEP - 1};
            for (int i = 0; i < NODES; i++) value[s][i] = d[i % 5][i % N], nearest[s][i] = 0;
            kernels->offer(&t[1], 1, &all, t[1].low + 1, t[1].high + 1);
            kernels->refine(t, &all, low, high, near, 2.7f);
            kernels->offer(&t[0], 0, &all, t[0].low + 1, t[0].high + 1);
            const float *rows[5] = {d[0], d[1], d[2], trial & 1 ? d[3] : NULL, d[4]};
            const uint32_t *of[5] = {triangle[0], triangle[1], triangle[2], triangle[3],
                                     triangle[4]};
            kernels->spread(rows, of, N, 0.4f, near, 2.7f, eights[s], to[s], taken[s]);
        }
        CHECK(memcmp(value[0], value[1], sizeof value[0]) == 0);
        CHECK(memcmp(nearest[0], nearest[1], sizeof nearest[0]) == 0);
        CHECK(memcmp(to[0], to[1], sizeof to[0]) == 0);
        CHECK(memcmp(taken[0], taken[1], sizeof taken[0]) == 0);
        CHECK(memcmp(eights[0], eights[1], sizeof eights[0]) == 0);
    }
}
