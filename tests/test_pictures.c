// Whole pictures: against small stored ones, the same bytes for any number of threads, still water
// that stays still. BRIM_WRITE_REFERENCES=1 build/unit-tests picture writes the stored ones anew;
// look at them before they are committed.
#include "look/look.h"
#include "scratch.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined BRIM_HAVE_PNG && defined BRIM_HAVE_EMBREE
#include <png.h>

enum { WIDTH = 128, HEIGHT = 72, BYTES = WIDTH * HEIGHT * 3 };

/// RGB bytes of a picture of the right size, NULL when there is none.
static uint8_t *read_picture(const char *path, int width, int height) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    uint8_t *bytes = NULL;
    if (png_image_begin_read_from_file(&image, path) && image.width == (unsigned)width &&
        image.height == (unsigned)height) {
        image.format = PNG_FORMAT_RGB;
        bytes = malloc(PNG_IMAGE_SIZE(image));
        if (bytes) png_image_finish_read(&image, NULL, bytes, 0, NULL);
    }
    png_image_free(&image);
    return bytes;
}

/// What is drawn: a tank of 1 m with a ball, a cup of glass and waves.
typedef struct Stage {
    BrimSimDef def;
    BrimSolidDef solids[2];
    BrimShapeDef walls[2];
    BrimMesh mesh;
    BrimFrame frame;
    BrimPictureDef picture;
} Stage;

static float wave(float x, float z) {
    return 0.32f + 0.05f * sinf(7 * x + 2) * cosf(5 * z) + 0.02f * sinf(19 * z + 4 * x);
}

static void put_vertex(BrimMesh *m, float x, float y, float z, bool top) {
    size_t i = m->vertex_count++;
    const float h = 1e-3f;
    BrimVec3 n = vec_unit(vec((wave(x - h, z) - wave(x + h, z)) / (2 * h), 1,
                              (wave(x, z - h) - wave(x, z + h)) / (2 * h)));
    if (!top) n = vec(0, -1, 0);
    memcpy(m->position[i], (const float[3]){x, y, z}, sizeof *m->position);
    memcpy(m->normal[i], (const float[3]){n.x, n.y, n.z}, sizeof *m->normal);
    memcpy(m->velocity[i], (const float[3]){0, 0, 0}, sizeof *m->velocity);
}

static void put_quad(BrimMesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    memcpy(m->triangle[m->triangle_count++], (const uint32_t[3]){a, b, c}, sizeof *m->triangle);
    memcpy(m->triangle[m->triangle_count++], (const uint32_t[3]){a, c, d}, sizeof *m->triangle);
}

/// Water below the waves, a closed mesh of N x N squares above and below and a wall around.
static bool make_waves(BrimMesh *m) {
    enum { N = 40, ROW = N + 1, TOP = ROW * ROW };
    m->position = malloc(2 * TOP * sizeof *m->position);
    m->normal = malloc(2 * TOP * sizeof *m->normal);
    m->velocity = malloc(2 * TOP * sizeof *m->velocity);
    m->triangle = malloc((4 * N * N + 8 * N) * sizeof *m->triangle);
    if (!m->position || !m->normal || !m->velocity || !m->triangle) return false;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < TOP; i++) {
            float x = (float)(i % ROW) / N, z = (float)(i / ROW) / N;
            put_vertex(m, x, side ? 0 : wave(x, z), z, !side);
        }
    for (uint32_t z = 0; z < N; z++)
        for (uint32_t x = 0; x < N; x++) {
            uint32_t a = z * ROW + x, b = a + ROW;
            put_quad(m, a, b, b + 1, a + 1);
            put_quad(m, TOP + a, TOP + a + 1, TOP + b + 1, TOP + b);
        }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t far = N * ROW + i, left = i * ROW, right = left + N;
        put_quad(m, i, i + 1, TOP + i + 1, TOP + i);
        put_quad(m, far + 1, far, TOP + far, TOP + far + 1);
        put_quad(m, left + ROW, left, TOP + left, TOP + left + ROW);
        put_quad(m, right, right + ROW, TOP + right + ROW, TOP + right);
    }
    return true;
}

static BrimShapeDef cylinder(float height, float radius, float tall) {
    BrimShapeDef c = brim_default_shape_def();
    c.kind = BRIM_SHAPE_CYLINDER;
    c.position = vec(0.3f, height, 0.6f), c.radius = radius, c.height = tall;
    return c;
}

/// Particles on a lattice below the waves, faster the higher.
static bool fill_frame(BrimFrame *f, int dim) {
    enum { N = 32, MOST = N * N * N };
    float **const arrays[] = {&f->x, &f->y, &f->z, &f->vx, &f->vy, &f->vz};
    for (int k = 0; k < 6; k++)
        if (!(*arrays[k] = calloc(MOST, sizeof(float)))) return false;
    if (!(f->id = calloc(MOST, sizeof *f->id))) return false;
    for (int i = 0; i < (dim == 2 ? N * N : MOST); i++) {
        float x = ((float)(i % N) + 0.5f) / N, y = ((float)(i / N % N) + 0.5f) / N;
        float z = dim == 2 ? 0 : ((float)(i / (N * N)) + 0.5f) / N;
        if (y > wave(x, z)) continue;
        size_t n = f->count++;
        f->x[n] = x, f->y[n] = y * (x < 0.5f ? 0.9f : 1), f->z[n] = z;
        f->vx[n] = 4 * y, f->vy[n] = x, f->id[n] = (uint32_t)n;
    }
    return true;
}

static Stage *stage_new(int dim) {
    Stage *s = calloc(1, sizeof *s);
    if (!s || !make_waves(&s->mesh) || !fill_frame(&s->frame, dim)) return NULL;
    s->def = brim_default_sim_def();
    s->def.dim = dim;
    s->def.size = vec(1, 1, dim == 2 ? 1 / 16.0f : 1);
    s->def.cells[0] = s->def.cells[1] = 16, s->def.cells[2] = dim == 2 ? 1 : 16;
    s->def.particles_per_cell = dim == 2 ? 4 : 8;
    s->solids[0] = s->solids[1] = brim_default_solid_def();
    s->solids[0].shape.kind = BRIM_SHAPE_SPHERE;
    s->solids[0].shape.radius = 0.16f, s->solids[0].shape.position = vec(0.72f, 0.36f, 0.4f);
    s->walls[0] = cylinder(0.35f, 0.15f, 0.5f), s->walls[1] = cylinder(0.4f, 0.12f, 0.5f);
    s->solids[1].shape.kind = BRIM_SHAPE_DIFFERENCE;
    s->solids[1].shape.children = s->walls, s->solids[1].shape.child_count = 2;
    s->def.solids = s->solids, s->def.solid_count = 2;
    s->picture = brim_default_picture_def();
    s->picture.width = WIDTH, s->picture.height = HEIGHT;
    s->picture.samples = 16, s->picture.threads = 2;
    return s;
}

static void stage_free(Stage *s) {
    if (!s) return;
    free(s->mesh.position), free(s->mesh.normal), free(s->mesh.velocity), free(s->mesh.triangle);
    free(s->frame.x), free(s->frame.y), free(s->frame.z), free(s->frame.id);
    free(s->frame.vx), free(s->frame.vy), free(s->frame.vz);
    free(s);
}

static uint8_t *draw(const Stage *s, BrimError *error) {
    const char *path = at("picture.png");
    if (brim_write_picture(&s->def, &s->frame, &s->mesh, 0.25, &s->picture, path, error) != BRIM_OK)
        return NULL;
    uint8_t *bytes = read_picture(path, s->picture.width, s->picture.height);
    unlink(path);
    return bytes;
}

/// Mean over the bytes of two pictures' difference, of 255.
static double mean_difference(const uint8_t *a, const uint8_t *b) {
    double sum = 0;
    for (int i = 0; i < BYTES; i++) sum += abs(a[i] - b[i]);
    return sum / BYTES;
}

/// Share of bytes that differ by more than 16.
static double far_off(const uint8_t *a, const uint8_t *b) {
    int count = 0;
    for (int i = 0; i < BYTES; i++) count += abs(a[i] - b[i]) > 16;
    return (double)count / BYTES;
}

static void upside_down(uint8_t *to, const uint8_t *from) {
    for (int y = 0; y < HEIGHT; y++)
        memcpy(to + (size_t)y * WIDTH * 3, from + (size_t)(HEIGHT - 1 - y) * WIDTH * 3, WIDTH * 3);
}

/// Draws and compares. Another processor rounds otherwise and turns single samples, no more.
static void compare(Test *test_, Stage *s, const char *name) {
    char path[128];
    BrimError error = {0};
    CHECK(s);
    snprintf(path, sizeof path, "tests/reference/%s.png", name);
    if (getenv("BRIM_WRITE_REFERENCES"))
        CHECK_OK(brim_write_picture(&s->def, &s->frame, &s->mesh, 0.25, &s->picture, path, &error),
                 error);
    uint8_t *drawn = draw(s, &error), *stored = read_picture(path, WIDTH, HEIGHT);
    if (!drawn) fprintf(stderr, "%s\n", error.message);
    CHECK(drawn && stored);
    CHECK_BELOW(mean_difference(drawn, stored), 0.6);
    CHECK_BELOW(far_off(drawn, stored), 0.004);
    static uint8_t turned[BYTES];
    upside_down(turned, stored);
    CHECK(mean_difference(drawn, turned) > 6); // another picture would be noticed
    free(drawn), free(stored);
    stage_free(s);
}

TEST(picture_of_water_as_stored) {
    compare(test_, stage_new(3), "water");
}

TEST(picture_of_water_from_another_side_as_stored) {
    Stage *s = stage_new(3);
    CHECK(s);
    s->picture.camera = (BrimCamera){vec(-1.2f, 0.9f, 1.9f), vec(0.5f, 0.25f, 0.5f), 34};
    compare(test_, s, "water-left");
}

TEST(picture_of_particles_as_stored) {
    Stage *s = stage_new(3);
    CHECK(s);
    s->picture.style = BRIM_STYLE_PARTICLES;
    compare(test_, s, "particles");
}

TEST(picture_of_a_flat_scene_as_stored) {
    Stage *s = stage_new(2);
    CHECK(s);
    s->picture.colour = "density", s->picture.grid = s->picture.level_set = true;
    compare(test_, s, "flat-density");
}

TEST(picture_of_water_is_the_same_for_all_threads) {
    static const int threads[] = {1, 2, 3, 8};
    Stage *s = stage_new(3);
    CHECK(s);
    uint8_t *first = NULL;
    BrimError error;
    s->picture.samples = 2, s->picture.shutter = 0.5;
    for (int i = 0; i < 4; i++) {
        s->picture.threads = threads[i];
        uint8_t *bytes = draw(s, &error);
        CHECK(bytes);
        if (first) CHECK(memcmp(first, bytes, BYTES) == 0);
        if (first)
            free(bytes);
        else
            first = bytes;
    }
    free(first);
    stage_free(s);
}

TEST(picture_of_moving_water_is_blurred) {
    Stage *s = stage_new(3);
    CHECK(s);
    BrimError error;
    for (size_t i = 0; i < s->mesh.vertex_count; i++) s->mesh.velocity[i][1] = 8;
    uint8_t *sharp = draw(s, &error);
    s->picture.shutter = 0.5;
    uint8_t *blurred = draw(s, &error);
    CHECK(sharp && blurred);
    CHECK_BELOW(0.6, mean_difference(sharp, blurred));
    for (size_t i = 0; i < s->mesh.vertex_count; i++) s->mesh.velocity[i][1] = 0;
    uint8_t *still = draw(s, &error);
    CHECK(still);
    CHECK_BELOW(mean_difference(sharp, still), 0.3); // still water has more samples
    free(sharp), free(blurred), free(still);
    stage_free(s);
}

// A roof keeps the sun from the water; what is left is the sky, and light through the water.
TEST(picture_of_shadowed_water_is_not_black) {
    Stage *s = stage_new(3);
    CHECK(s);
    BrimError error;
    s->solids[0].shape.kind = BRIM_SHAPE_BOX;
    s->solids[0].shape.size = vec(1, 0.03f, 1),
    s->solids[0].shape.position = vec(0.5f, 0.75f, 0.5f);
    uint8_t *bytes = draw(s, &error);
    CHECK(bytes);
    int dark = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        const uint8_t *c = bytes + 3 * i;
        dark += 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] < 40;
    }
    CHECK_BELOW((double)dark / (WIDTH * HEIGHT), 0.002);
    free(bytes);
    stage_free(s);
}

TEST(picture_surface_goes_to_a_file_and_back) {
    Stage *s = stage_new(3);
    CHECK(s);
    BrimError error;
    BrimMesh back;
    const char *path = at("surface.ply");
    CHECK_OK(brim_write_mesh(&s->mesh, 0.5, 3, BRIM_MESH_PLY, path, &error), error);
    CHECK_OK(brim_mesh_read(path, &back, &error), error);
    size_t n = s->mesh.vertex_count, triangles = s->mesh.triangle_count;
    CHECK(back.vertex_count == n && back.triangle_count == triangles);
    CHECK(memcmp(back.position, s->mesh.position, n * sizeof *back.position) == 0);
    CHECK(memcmp(back.normal, s->mesh.normal, n * sizeof *back.normal) == 0);
    CHECK(memcmp(back.velocity, s->mesh.velocity, n * sizeof *back.velocity) == 0);
    CHECK(memcmp(back.triangle, s->mesh.triangle, triangles * sizeof *back.triangle) == 0);
    brim_mesh_free(&back);
    FILE *more = fopen(path, "ab");
    CHECK(more && fputc(0, more) == 0 && fclose(more) == 0);
    CHECK(brim_mesh_read(path, &back, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, "longer than its header says"));
    CHECK_OK(brim_write_mesh(&s->mesh, 0.5, 3, BRIM_MESH_PLY, path, &error), error);
    // a triangle that names a vertex which is not there would be read from anywhere
    FILE *file = fopen(path, "r+b");
    CHECK(file && fseek(file, -4, SEEK_END) == 0 && fwrite("\xff\xff\xff\x7f", 4, 1, file) == 1);
    fclose(file);
    CHECK(brim_mesh_read(path, &back, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, path) && !back.position);
    CHECK(truncate(path, 200) == 0); // in the header
    CHECK(brim_mesh_read(path, &back, &error) == BRIM_ERROR_DAMAGED);
    unlink(path);
    stage_free(s);
}

// ---------------------------------------------------------------------------------- still water

/// A pool at rest, simulated, meshed and drawn: nothing may flicker. Its surface moves by 1e-5
/// cells, and edges of it by as little past the samples of a pixel.
TEST(picture_of_a_still_pool_stays_still) {
    enum { FRAMES = 30, WIDE = 96, HIGH = 54 };
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    water.shape.kind = BRIM_SHAPE_BOX;
    water.shape.size = vec(1, 0.53f, 1), water.shape.position = vec(0.5f, 0.265f, 0.5f);
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = 12;
    def.size = vec(1, 1, 1);
    def.liquid = &water, def.liquid_count = 1;
    def.tracking = BRIM_TRACKING_RESPONSIVE;
    def.jitter = 0.5f;
    BrimError error;
    BrimSim *sim = NULL;
    CHECK_OK(brim_sim_create(&def, &sim, &error), error);
    BrimPictureDef picture = brim_default_picture_def();
    picture.width = WIDE, picture.height = HIGH, picture.threads = 2;
    BrimMeshDef mesh_def = brim_default_mesh_def();
    uint8_t *first = NULL;
    int worst = 0;
    for (int frame = 0; frame < FRAMES; frame++) {
        BrimMesh mesh;
        BrimFrame none = {0};
        const char *path = at("still.png");
        CHECK_OK(brim_sim_mesh(sim, &mesh_def, &mesh, &error), error);
        CHECK_OK(brim_write_picture(&def, &none, &mesh, 0, &picture, path, &error), error);
        brim_mesh_free(&mesh);
        uint8_t *bytes = read_picture(path, WIDE, HIGH);
        unlink(path);
        CHECK(bytes);
        for (int i = 0; first && i < WIDE * HIGH * 3; i++) {
            int off = abs(bytes[i] - first[i]);
            if (off > worst) worst = off;
        }
        if (first)
            free(bytes);
        else
            first = bytes;
        if (frame + 1 < FRAMES) CHECK_OK(brim_sim_advance_frame(sim, &error), error);
    }
    brim_sim_destroy(&sim);
    free(first);
    CHECK_BELOW(worst, 2); // of 255, in the worst pixel
}

#endif
