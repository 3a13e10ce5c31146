// Frames: PLY written and read back, those of other programs, bad headers; boxes of fields.
#include "base/hash.h"
#include "brim/brim.h"
#include "io/folder.h"
#include "io/ply.h"
#include "io/vti.h"
#include "scratch.h"
#include "test.h"

/// n particles whose values tell their id.
static BrimFrame make_particles(size_t n, uint32_t (*id)(size_t)) {
    BrimFrame f = {.count = n};
    float **arrays[] = {&f.x, &f.y, &f.z, &f.vx, &f.vy, &f.vz};
    f.id = malloc(n * sizeof *f.id);
    for (int a = 0; a < 6; a++) *arrays[a] = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        f.id[i] = id(i);
        for (int a = 0; a < 6; a++) (*arrays[a])[i] = hash_unit(hash_3(1, f.id[i], (uint64_t)a), 0);
    }
    return f;
}

static BrimParticles view(const BrimFrame *f) {
    return (BrimParticles){.count = f->count,
                           .x = f->x,
                           .y = f->y,
                           .z = f->z,
                           .vx = f->vx,
                           .vy = f->vy,
                           .vz = f->vz,
                           .id = f->id};
}

/// Ids increase and each record is that of its id.
static bool is_sorted_and_right(const BrimFrame *f) {
    const float *const arrays[] = {f->x, f->y, f->z, f->vx, f->vy, f->vz};
    for (size_t i = 0; i < f->count; i++) {
        if (i && f->id[i] <= f->id[i - 1]) return false;
        for (int a = 0; a < 6; a++)
            if (arrays[a][i] != hash_unit(hash_3(1, f->id[i], (uint64_t)a), 0)) return false;
    }
    return true;
}

static uint32_t dense_id(size_t i) {
    return (uint32_t)(i * 700001 % 1300000); // a permutation of 0 .. 1299999
}

static uint32_t sparse_id(size_t i) {
    return (uint32_t)i * 2654435761u + 0xffffffffu; // an odd factor: all different
}

static bool round_trip(size_t n, uint32_t (*id)(size_t), BrimError *error) {
    BrimFrame f = make_particles(n, id), back = {0};
    BrimParticles p = view(&f);
    const char *path = at("frame.ply");
    bool same = ply_write(path, &p, 0.5, 12, 2, error) == BRIM_OK &&
                brim_frame_read(path, &back, error) == BRIM_OK && back.count == n &&
                is_sorted_and_right(&back);
    brim_frame_free(&back);
    brim_frame_free(&f);
    return same;
}

TEST(io_ply_round_trip_sorted_by_id) {
    BrimError error = {0};
    CHECK(round_trip(0, dense_id, &error));
    CHECK(round_trip(1, dense_id, &error));
    CHECK(round_trip(1300000, dense_id, &error));
    CHECK(round_trip(1, sparse_id, &error));
    CHECK(round_trip(200000, sparse_id, &error));
}

static uint32_t same_id(size_t i) {
    return (uint32_t)i / 2;
}

TEST(io_ply_refuses_equal_ids) {
    BrimError error = {0};
    CHECK(!round_trip(3, same_id, &error));
    CHECK(error.result == BRIM_ERROR_INPUT && strstr(error.message, "same id"));
}

TEST(io_ply_bytes) {
    BrimError error;
    float x[2] = {1.5f, 2.5f}, y[2] = {3, 4}, v[2] = {-1, -2};
    uint32_t id[2] = {258, 1};
    // As in 2D: no z.
    BrimParticles p = {.count = 2, .x = x, .y = y, .vx = v, .vy = v, .id = id};
    const char *path = at("bytes.ply");
    CHECK_OK(ply_write(path, &p, 0.25, 6, 1, &error), error);
    size_t bytes;
    char *data = get_file(path, &bytes);
    const char header[] = "ply\nformat binary_little_endian 1.0\ncomment brim 0.1.0\n"
                          "comment time 0.25\ncomment frame 6\nelement vertex 2\n"
                          "property uint id\nproperty float x\nproperty float y\n"
                          "property float z\nproperty float vx\nproperty float vy\n"
                          "property float vz\nend_header\n";
    const unsigned char records[] = {
        1, 0, 0, 0,    0, 0, 0x20, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0,    0,    0, 0, 0,    0xc0,
        0, 0, 0, 0xc0, 0, 0, 0,    0,    2, 1, 0,    0,    0, 0, 0xc0, 0x3f, 0, 0, 0x40, 0x40,
        0, 0, 0, 0,    0, 0, 0x80, 0xbf, 0, 0, 0x80, 0xbf, 0, 0, 0,    0};
    CHECK(bytes == sizeof header - 1 + sizeof records);
    CHECK(memcmp(data, header, sizeof header - 1) == 0);
    CHECK(memcmp(data + sizeof header - 1, records, sizeof records) == 0);
    free(data);
}

/// Reads a PLY out of header text and body bytes.
static BrimResult read_ply(const char *header, const void *body, size_t body_bytes,
                           BrimFrame *frame, BrimError *error) {
    size_t n = strlen(header);
    char *data = malloc(n + body_bytes + 1);
    memcpy(data, header, n);
    if (body_bytes) memcpy(data + n, body, body_bytes);
    FILE *in = fmemopen(data, n + body_bytes, "rb");
    if (!in) abort();
    BrimResult result = ply_read(in, n + body_bytes, "memory", frame, NULL, error);
    fclose(in);
    free(data);
    return result;
}

TEST(io_ply_of_other_programs) {
    BrimError error;
    BrimFrame f;
    // Big-endian, an element before, doubles, another order, bytes between, lists after, CR LF.
    const char *header = "ply\r\nformat binary_big_endian 1.0\r\ncomment hi\r\nobj_info x\r\n"
                         "element camera 2\r\nproperty short a\r\nelement vertex 1\r\n"
                         "property uchar red\r\nproperty double z\r\nproperty float32 x\r\n"
                         "property double y\r\nproperty float id\r\nelement face 0\r\n"
                         "property list uchar int vertex_indices\r\nend_header\r\n";
    const unsigned char body[] = {9, 9, 9,    9,    7, 0x40, 0x08, 0, 0, 0, 0, 0, 0, 0x3f, 0x80,
                                  0, 0, 0xbf, 0xe0, 0, 0,    0,    0, 0, 0, 1, 2, 3, 4};
    CHECK_OK(read_ply(header, body, sizeof body, &f, &error), error);
    CHECK(f.count == 1 && f.x[0] == 1 && f.y[0] == -0.5f && f.z[0] == 3);
    CHECK(f.vx[0] == 0 && f.vy[0] == 0 && f.vz[0] == 0 && f.id[0] == 0);
    brim_frame_free(&f);
    CHECK(f.x == NULL && f.count == 0);
    CHECK(read_ply(header, body, sizeof body - 1, &f, &error) == BRIM_ERROR_DAMAGED && !f.x);
    // A short id, no velocity.
    const unsigned char two[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1};
    CHECK_OK(read_ply("ply\nformat binary_little_endian 1.0\nelement vertex 1 \n"
                      "property float x\nproperty float y\nproperty float z\nproperty ushort id\n"
                      "end_header\n",
                      two, sizeof two, &f, &error),
             error);
    CHECK(f.id[0] == 259 && f.x[0] == 1);
    brim_frame_free(&f);
}

#define LITTLE "ply\nformat binary_little_endian 1.0\n"
#define XYZ "property float x\nproperty float y\nproperty float z\n"
#define VELOCITY "property float vx\nproperty float vy\nproperty float vz\n"

/// An element `interior` is taken for cells below a band where it has their properties, no others.
TEST(io_ply_interior_of_other_programs) {
    static const struct {
        const char *properties;
        size_t bytes, taken;
    } cases[] = {
        {XYZ VELOCITY, 24, 1},
        {VELOCITY XYZ, 24, 0},
        {XYZ "property float nx\nproperty float ny\nproperty float nz\n", 24, 0},
        {XYZ, 12, 0},
        {XYZ VELOCITY "property uchar red\n", 25, 0},
        {XYZ "property float vx\nproperty float vy\nproperty double vz\n", 28, 0},
        {"property list uchar float x\n", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        BrimError error;
        BrimFrame f;
        char header[512], data[1024], text[256];
        float body[32] = {5, 6, 7, 0, 2, 3, 4, 5, 6}; // x y z of the vertex, then the interior
        int n = snprintf(header, sizeof header,
                         LITTLE "element vertex 1\n" XYZ "element interior 1\n%send_header\n",
                         cases[i].properties);
        CHECK_OK(read_ply(header, body, 12 + cases[i].bytes, &f, &error), error);
        CHECK(f.count == 1 && f.x[0] == 5 && f.z[0] == 7);
        CHECK(f.interior_count == cases[i].taken && !f.interior == !cases[i].taken);
        if (f.interior) CHECK(f.interior->position[1] == 2 && f.interior->velocity[2] == 6);
        brim_frame_free(&f);
        // what is passed over is there in full nonetheless
        memcpy(data, header, (size_t)n);
        memcpy(data + n, body, sizeof body);
        put_file(at("interior.ply"), data, (size_t)n + 12 + cases[i].bytes);
        CHECK_OK(brim_describe_file(at("interior.ply"), text, sizeof text, &error), error);
        put_file(at("interior.ply"), data, (size_t)n + 11 + cases[i].bytes);
        CHECK(brim_describe_file(at("interior.ply"), text, sizeof text, &error) ==
              BRIM_ERROR_DAMAGED);
    }
}

TEST(io_ply_refuses_bad_headers) {
    static const struct {
        const char *header, *reason;
        BrimResult result;
    } cases[] = {
        {"", "ends early", BRIM_ERROR_DAMAGED},
        {"pl", "ends early", BRIM_ERROR_DAMAGED},
        {"water", "begin with 'ply'", BRIM_ERROR_INPUT},
        {"plyx\n", "begin with 'ply'", BRIM_ERROR_INPUT},
        {"ply\n", "ends early", BRIM_ERROR_DAMAGED},
        {"ply\nformat bin", "ends early", BRIM_ERROR_DAMAGED},
        {"ply\nend_header\n", "format line", BRIM_ERROR_INPUT},
        {"ply\nformat ascii 1.0\n", "save it as binary", BRIM_ERROR_INPUT},
        {"ply\nformat binary_middle 1.0\n", "unknown", BRIM_ERROR_INPUT},
        {LITTLE, "ends early", BRIM_ERROR_DAMAGED},
        {LITTLE "element vertex 1\nproperty fl", "ends early", BRIM_ERROR_DAMAGED},
        {LITTLE "end_header\n", "lacks vertices", BRIM_ERROR_INPUT},
        {LITTLE "element vertex -1\n" XYZ "end_header\n", "malformed", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 1 2\n" XYZ "end_header\n", "malformed", BRIM_ERROR_INPUT},
        {LITTLE "property float x\n", "before any element", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 0\nproperty list uchar int x\n", "lists", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 0\nproperty half x\n", "malformed", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 0\nproperty int x\n", "float or double", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 0\n" XYZ "property float x\n", "twice", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 0\n" XYZ "element vertex 0\n", "two vertex", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 0\nproperty float x\nend_header\n", "lacks", BRIM_ERROR_INPUT},
        {LITTLE "surprise\n", "unknown line", BRIM_ERROR_INPUT},
        {LITTLE "element vertex 1\n" XYZ "end_header\n", "more than", BRIM_ERROR_DAMAGED},
        {LITTLE "element vertex 9999999999999999999\n" XYZ "end_header\n", "more than",
         BRIM_ERROR_DAMAGED},
        {LITTLE "element a 9999999999999999999\nproperty double b\nelement vertex 0\n" XYZ
                "end_header\n",
         "ends early", BRIM_ERROR_DAMAGED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        BrimError error = {0};
        BrimFrame f;
        CHECK(read_ply(cases[i].header, NULL, 0, &f, &error) == cases[i].result);
        if (!strstr(error.message, cases[i].reason))
            test_fail(test_, __FILE__, __LINE__, "case %zu says: %s", i, error.message);
    }
}

/// Describes a PLY of no vertices, two faces and a marker.
static BrimResult describe_faces(const void *body, size_t bytes, BrimError *error) {
    static const char header[] = LITTLE
        "element vertex 0\n" XYZ "element face 2\nproperty list uchar ushort vertex_indices\n"
        "property float area\nelement nothing 9999999999999999999\nelement mark 1\n"
        "property uchar m\nend_header\n";
    char data[1024], text[256];
    memcpy(data, header, sizeof header - 1);
    memcpy(data + sizeof header - 1, body, bytes);
    put_file(at("faces.ply"), data, sizeof header - 1 + bytes);
    return brim_describe_file(at("faces.ply"), text, sizeof text, error);
}

TEST(io_ply_is_as_long_as_its_header_says) {
    // a triangle with its area, a face without corners with its area, the marker, one byte more
    const unsigned char body[] = {3, 0, 0, 1, 0, 2, 0, 9, 9, 9, 9, 0, 9, 9, 9, 9, 7, 1};
    BrimError error;
    CHECK_OK(describe_faces(body, sizeof body - 1, &error), error);
    for (size_t n = 0; n < sizeof body - 1; n++)
        CHECK(describe_faces(body, n, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, "ends early"));
    CHECK(describe_faces(body, sizeof body, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, "is longer than its header says, by 1 byte"));
}

TEST(io_vti_box) {
    BrimSimDef def = {.dim = 3, .size = {4, 4, 4}, .cells = {400, 400, 400}};
    CellBox liquid = {{0, 200, 350}, {101, 201, 400}}, box = vti_box(&def, &liquid);
    CHECK(box.first[0] == 0 && box.last[0] == 104);
    CHECK(box.first[1] == 197 && box.last[1] == 204);
    CHECK(box.first[2] == 347 && box.last[2] == 400);
    box = vti_box(&def, NULL);
    for (int a = 0; a < 3; a++) CHECK(box.first[a] == 0 && box.last[a] == 1);
    def.cells[0] = def.cells[1] = def.cells[2] = 20;
    box = vti_box(&def, &liquid);
    CHECK(box.first[0] == 0 && box.last[0] == 20 && box.last[2] == 20);
}
