// Pictures: geometry of the views against exact answers, colours where they must be, same bytes
// for any number of threads.
#include "base/hash.h"
#include "look/look.h"
#include "scratch.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BRIM_HAVE_PNG
#include <png.h>
#endif

// -------------------------------------------------------------------------------------- views

TEST(look_camera_holds_the_box) {
    static const float sizes[][3] = {{1, 1, 1}, {1, 2, 1}, {16, 4, 8}, {0.1f, 0.1f, 3}};
    static const int pictures[][2] = {{1280, 720}, {640, 640}, {300, 900}};
    for (int i = 0; i < 12; i++) {
        BrimVec3 size = vec(sizes[i % 4][0], sizes[i % 4][1], sizes[i % 4][2]);
        int w = pictures[i / 4][0], h = pictures[i / 4][1];
        View v = view_camera(size, w, h);
        float left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
        for (int k = 0; k < 8; k++) {
            BrimVec3 p =
                view_project(&v, vec(k & 1 ? size.x : 0, k & 2 ? size.y : 0, k & 4 ? size.z : 0));
            CHECK(p.z > 0);
            left = fminf(left, p.x), right = fmaxf(right, p.x);
            top = fminf(top, p.y), bottom = fmaxf(bottom, p.y);
        }
        CHECK(left > 0 && right < (float)w && top > 0 && bottom < (float)h);
        // as large as it can be: it touches the free area in one direction
        float wide = (right - left) / (0.9f * (float)w), tall = (bottom - top) / (0.78f * (float)h);
        CHECK_NEAR(fmaxf(wide, tall), 1, 0.01);
    }
}

TEST(look_view_goes_there_and_back) {
    View views[] = {view_camera(vec(1, 2, 1), 640, 360),
                    view_light(vec(1, 2, 1), vec(-0.4f, 1, 0.5f), 256)};
    for (int i = 0; i < 2; i++) {
        BrimVec3 p = vec(0.3f, 1.1f, 0.7f), at = view_project(&views[i], p);
        BrimVec3 back = view_point(&views[i], at.x, at.y, at.z);
        CHECK_NEAR(vec_length(vec_sub(back, p)), 0, 1e-5);
    }
}

TEST(look_box_span_is_exact) {
    BoxSpan s = box_span(vec(1, 2, 3), vec(-1, 1, 1), vec(0.5f, 0, 0));
    CHECK_NEAR(s.begin, 2, 1e-6);
    CHECK_NEAR(s.end, 4, 1e-6);
    CHECK(s.face == 0);
    s = box_span(vec(1, 2, 3), vec(0.5f, 5, 1), vec(0, -1, 0));
    CHECK_NEAR(s.begin, 3, 1e-6);
    CHECK_NEAR(s.end, 5, 1e-6);
    CHECK(s.face == 1);
    s = box_span(vec(1, 2, 3), vec(-1, 3, 1), vec(1, 0, 0));
    CHECK(s.begin > s.end);
}

// ------------------------------------------------------------------------------------- colours

static float luminance(BrimVec3 c) {
    return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z;
}

static float lab_root(float t) {
    return t > 0.008856f ? cbrtf(t) : t / 0.128419f + 4 / 29.0f;
}

/// CIELAB of linear sRGB, D65.
static BrimVec3 lab(BrimVec3 c) {
    float x = lab_root((0.4124f * c.x + 0.3576f * c.y + 0.1805f * c.z) / 0.9505f);
    float y = lab_root(luminance(c));
    float z = lab_root((0.0193f * c.x + 0.1192f * c.y + 0.9505f * c.z) / 1.089f);
    return vec(116 * y - 16, 500 * (x - y), 200 * (y - z));
}

static double difference(BrimVec3 a, BrimVec3 b) {
    return (double)vec_length(vec_sub(lab(a), lab(b)));
}

static BrimVec3 seen(const float eye[3][3], BrimVec3 c) {
    float out[3];
    for (int k = 0; k < 3; k++)
        out[k] = clampf(eye[k][0] * c.x + eye[k][1] * c.y + eye[k][2] * c.z, 0, 1);
    return vec(out[0], out[1], out[2]);
}

/// Lightness as a colour-blind eye sees it does not matter to a map whose lightness runs one way.
TEST(look_maps_are_even_and_run_one_way) {
    static BrimVec3 colour[MAP_COLOURS];
    static const ColourMap maps[] = {COLOUR_BLUE_WHITE, COLOUR_WHITE_RED, COLOUR_MANY};
    for (int m = 0; m < 3; m++) {
        colour_map_fill(maps[m], colour);
        double least = INFINITY, most = 0;
        float way = luminance(colour[MAP_COLOURS - 1]) > luminance(colour[0]) ? 1 : -1;
        for (int i = 8; i < MAP_COLOURS; i += 8) {
            double step = difference(colour[i - 8], colour[i]);
            least = fmin(least, step), most = fmax(most, step);
            CHECK(way * (luminance(colour[i]) - luminance(colour[i - 8])) > 0);
        }
        // CIELAB is another model than the one the maps are made by, so not exactly even
        CHECK_BELOW(most / least, 2.2);
        CHECK_BELOW(0.5, least);
    }
}

/// Red-blind, green-blind and blue-blind eyes (Vienot 1999, Brettel 1997 in linear light).
TEST(look_maps_are_told_apart_by_colour_blind_eyes) {
    static const float eyes[3][3][3] = {
        {{0.11238f, 0.88762f, 0}, {0.11238f, 0.88762f, 0}, {0.00401f, -0.00401f, 1}},
        {{0.29275f, 0.70725f, 0}, {0.29275f, 0.70725f, 0}, {-0.02234f, 0.02234f, 1}},
        {{1, 0.14461f, -0.14461f}, {0, 0.85924f, 0.14076f}, {0, 0.85924f, 0.14076f}},
    };
    static BrimVec3 colour[MAP_COLOURS];
    for (int m = 0; m < 3; m++) {
        colour_map_fill((ColourMap)m, colour);
        for (int eye = 0; eye < 3; eye++) {
            BrimVec3 before = seen(eyes[eye], colour[0]);
            for (int i = 32; i < MAP_COLOURS; i += 32) {
                BrimVec3 here = seen(eyes[eye], colour[i]);
                CHECK_BELOW(2.0, difference(before, here)); // 2.3 is just noticeable
                before = here;
            }
        }
    }
}

TEST(look_map_ends_are_those_of_the_papers) {
    BrimPictureDef picture = brim_default_picture_def();
    picture.low = 0, picture.high = 2;
    Scale scale;
    scale_init(&scale, &picture, NULL, 0);
    BrimVec3 slow = scale_colour(&scale, 0), fast = scale_colour(&scale, 5);
    CHECK(slow.z > 4 * slow.x && luminance(slow) < 0.06f);
    CHECK(fast.x > 0.9f && fast.y > 0.9f && fast.z > 0.9f);
    picture.colour = "density";
    scale_init(&scale, &picture, NULL, 0);
    BrimVec3 rest = scale_colour(&scale, 0), full = scale_colour(&scale, 5);
    CHECK(rest.x > 0.9f && rest.y > 0.9f && rest.z > 0.9f);
    CHECK(full.x > 4 * full.y && full.x > 4 * full.z);
}

TEST(look_scale_is_a_round_number_above_the_speeds) {
    enum { N = 1000 };
    static float v[N];
    for (int i = 0; i < N; i++) v[i] = 3.3f * (float)i / N;
    v[N - 1] = 500; // one stray particle must not turn the rest dark
    BrimPictureDef picture = brim_default_picture_def();
    Scale scale;
    scale_init(&scale, &picture, v, N);
    CHECK_NEAR(scale.low, 0, 1e-6);
    CHECK_NEAR(scale.high, 4, 1e-6);
    for (int i = 0; i < N; i++) v[i] -= 5;
    picture.colour = "height";
    scale_init(&scale, &picture, v, N);
    CHECK_NEAR(scale.low, -5, 1e-6);
    CHECK_NEAR(scale.high, 5, 1e-6);
}

TEST(look_density_error_of_a_full_and_a_crowded_cell) {
    enum { CELLS = 8, PER = 4, N = CELLS * CELLS * PER };
    static float x[N + PER], y[N + PER], z[N + PER];
    int n = 0;
    for (int i = 0; i < 2 * CELLS; i++)
        for (int j = 0; j < 2 * CELLS; j++, n++)
            x[n] = ((float)i + 0.5f) / (2 * CELLS), y[n] = ((float)j + 0.5f) / (2 * CELLS);
    BrimSimDef def = brim_default_sim_def();
    def.dim = 2, def.size = vec(1, 1, 1.0f / CELLS), def.particles_per_cell = PER;
    def.cells[0] = def.cells[1] = CELLS, def.cells[2] = 1;
    BrimFrame frame = {.count = N, .x = x, .y = y, .z = z, .vx = z, .vy = z, .vz = z};
    BrimPictureDef picture = brim_default_picture_def();
    picture.colour = "density";
    float *value;
    BrimError error;
    CHECK_OK(values_new(&def, &frame, &picture, &value, &error), error);
    for (int i = 0; i < N; i++) CHECK_NEAR(value[i], 0, 1e-5); // the walls too
    free(value);
    // four more in the middle of a cell: twice as full there, as its own weights count
    for (int k = 0; k < PER; k++, n++) x[n] = y[n] = 4.5f / CELLS;
    frame.count = (size_t)n;
    CHECK_OK(values_new(&def, &frame, &picture, &value, &error), error);
    CHECK_NEAR(value[N], 1, 1e-5);
    CHECK_NEAR(value[0], 0, 1e-5);
    free(value);
}

TEST(look_colours_survive_the_file_format) {
    CHECK(colour_byte(colour_hex(0x123456).x) == 0x12);
    CHECK(colour_byte(colour_hex(0x123456).y) == 0x34);
    CHECK(colour_byte(colour_hex(0x123456).z) == 0x56);
    CHECK(colour_byte(-1) == 0 && colour_byte(2) == 255);
}

// -------------------------------------------------------------------------------------- solids

TEST(look_traced_sphere_is_where_it_should_be) {
    BrimSolidDef ball = brim_default_solid_def();
    ball.shape.kind = BRIM_SHAPE_SPHERE;
    ball.shape.radius = 0.3f;
    ball.shape.position = vec(0.5f, 0.5f, 0.5f);
    BrimSimDef def = brim_default_sim_def();
    def.size = vec(1, 1, 1);
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    def.solids = &ball, def.solid_count = 1;
    Solids solids;
    BrimError error;
    CHECK_OK(solids_new(&solids, &def, 0, NULL, &error), error);
    View v = view_camera(def.size, 160, 90);
    SolidHit *hit = malloc(160 * 90 * sizeof *hit);
    CHECK(hit);
    solids_trace(&solids, &v, NULL, hit, NULL);
    int met = 0;
    float worst = 0, worst_normal = 0;
    bool agree = true;
    for (int i = 0; i < 160 * 90; i++) {
        BrimVec3 o, d = view_ray(&v, (float)(i % 160) + 0.5f, (float)(i / 160) + 0.5f, &o);
        BrimVec3 c = vec_sub(o, ball.shape.position);
        float a = vec_dot(d, d), b = vec_dot(c, d), q = b * b - a * (vec_dot(c, c) - 0.09f);
        // the rim itself may fall to either side
        if (fabsf(q) < 0.02f) continue;
        agree = agree && (q > 0) == (hit[i].near < INFINITY);
        if (q < 0 || !(hit[i].near < INFINITY)) continue;
        met++;
        float depth = (-b - sqrtf(q)) / a;
        worst = fmaxf(worst, fabsf(hit[i].near - depth));
        BrimVec3 normal = vec_mul(vec_add(c, vec_mul(d, depth)), 1 / 0.3f);
        BrimVec3 n = vec((float)hit[i].near_normal[0] / 127, (float)hit[i].near_normal[1] / 127,
                         (float)hit[i].near_normal[2] / 127);
        worst_normal = fmaxf(worst_normal, vec_length(vec_sub(n, normal)));
    }
    free(hit);
    solids_free(&solids);
    CHECK(agree);
    CHECK(met > 200);
    CHECK_BELOW(worst, 0.01);
    CHECK_BELOW(worst_normal, 0.05);
}

// ------------------------------------------------------------------------------------ pictures

#ifdef BRIM_HAVE_PNG

typedef struct Cloud {
    float x[6000], y[6000], z[6000], vx[6000], vy[6000], vz[6000];
    BrimFrame frame;
} Cloud;

/// A pool with a few drops above it.
static Cloud *cloud_new(int count, bool flat) {
    Cloud *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    for (int i = 0; i < count; i++) {
        uint64_t a = hash_3(1, (uint64_t)i, 0), b = hash_3(2, (uint64_t)i, 0);
        c->x[i] = hash_unit(a, 0);
        c->y[i] = hash_unit(a, 1) * (i % 50 ? 0.4f : 1);
        c->z[i] = flat ? 0 : hash_unit(b, 0);
        c->vx[i] = 2 * hash_unit(b, 1);
    }
    c->frame = (BrimFrame){.count = (size_t)count,
                           .x = c->x,
                           .y = c->y,
                           .z = c->z,
                           .vx = c->vx,
                           .vy = c->vy,
                           .vz = c->vz};
    return c;
}

static BrimSimDef cube_def(int dim) {
    BrimSimDef def = brim_default_sim_def();
    def.dim = dim;
    def.size = vec(1, 1, dim == 2 ? 1 / 16.0f : 1);
    def.cells[0] = def.cells[1] = 16, def.cells[2] = dim == 2 ? 1 : 16;
    def.particles_per_cell = dim == 2 ? 4 : 8;
    def.threads = 2;
    return def;
}

static const char *temporary(void) {
    return at("look.png");
}

static BrimPictureDef small_picture(void) {
    BrimPictureDef picture = brim_default_picture_def();
    picture.width = 320, picture.height = 180;
    picture.high = 2;
    return picture;
}

/// Draws and reads back: RGB bytes [180][320][3], NULL on failure.
static uint8_t *draw(const BrimSimDef *def, const BrimFrame *frame, BrimError *error) {
    BrimPictureDef picture = small_picture();
    picture.threads = def->threads;
    if (brim_write_picture(def, frame, NULL, 0.5, &picture, temporary(), error) != BRIM_OK)
        return NULL;
    png_image image = {.version = PNG_IMAGE_VERSION};
    uint8_t *bytes = NULL;
    snprintf(error->message, sizeof error->message, "not a PNG of the right size");
    if (png_image_begin_read_from_file(&image, temporary()) && image.width == 320 &&
        image.height == 180) {
        image.format = PNG_FORMAT_RGB;
        bytes = malloc(PNG_IMAGE_SIZE(image));
        if (bytes) png_image_finish_read(&image, NULL, bytes, 0, NULL);
    }
    png_image_free(&image);
    unlink(temporary());
    return bytes;
}

enum { BYTES = 320 * 180 * 3 };

static void same_for_all_threads(Test *test_, int dim) {
    BrimSolidDef box = brim_default_solid_def();
    box.shape.kind = BRIM_SHAPE_BOX;
    box.shape.size = vec(0.2f, 0.5f, 0.2f);
    box.shape.position = vec(0.6f, 0.25f, dim == 2 ? 0 : 0.5f);
    BrimSimDef def = cube_def(dim);
    def.solids = &box, def.solid_count = 1;
    Cloud *cloud = cloud_new(6000, dim == 2);
    CHECK(cloud);
    BrimError error;
    uint8_t *first = NULL;
    static const int threads[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        def.threads = threads[i];
        uint8_t *bytes = draw(&def, &cloud->frame, &error);
        if (!bytes) fprintf(stderr, "%s\n", error.message);
        CHECK(bytes);
        if (first) CHECK(memcmp(first, bytes, BYTES) == 0);
        if (first)
            free(bytes);
        else
            first = bytes;
    }
    free(first);
    free(cloud);
}

TEST(look_3d_is_the_same_for_all_threads) {
    same_for_all_threads(test_, 3);
}

TEST(look_2d_is_the_same_for_all_threads) {
    same_for_all_threads(test_, 2);
}

TEST(look_one_particle_is_seen) {
    BrimSimDef def = cube_def(3);
    BrimError error;
    Cloud *cloud = cloud_new(1, false);
    CHECK(cloud);
    cloud->x[0] = cloud->z[0] = 0.5f, cloud->y[0] = 0.6f, cloud->vx[0] = 0;
    uint8_t *one = draw(&def, &cloud->frame, &error);
    cloud->frame.count = 0;
    uint8_t *none = draw(&def, &cloud->frame, &error);
    CHECK(one && none);
    View v = view_camera(def.size, 320, 180);
    BrimVec3 at = view_project(&v, vec(0.5f, 0.6f, 0.5f));
    size_t i = 3 * ((size_t)at.y * 320 + (size_t)at.x);
    CHECK(one[i + 2] > one[i] + 60);        // a blue drop
    CHECK(abs(none[i + 2] - none[i]) < 30); // pale floor or wall without it
    free(one);
    free(none);
    free(cloud);
}

TEST(look_2d_colour_is_the_speed) {
    BrimSimDef def = cube_def(2);
    def.cells[0] = def.cells[1] = 4; // spacing 1/8 m: a disk of some 20 pixels
    BrimError error;
    Cloud *cloud = cloud_new(1, true);
    CHECK(cloud);
    cloud->x[0] = cloud->y[0] = 0.5f, cloud->vx[0] = 0.6f, cloud->vy[0] = 0.8f;
    uint8_t *bytes = draw(&def, &cloud->frame, &error);
    CHECK(bytes);
    Scale scale;
    BrimPictureDef picture = small_picture();
    scale_init(&scale, &picture, NULL, 0);
    BrimVec3 colour = scale_colour(&scale, 1);
    size_t i = 3 * ((size_t)(180 * (0.06 + 0.86) / 2) * 320 + 160);
    CHECK(abs(bytes[i] - colour_byte(colour.x)) <= 1);
    CHECK(abs(bytes[i + 1] - colour_byte(colour.y)) <= 1);
    CHECK(abs(bytes[i + 2] - colour_byte(colour.z)) <= 1);
    free(bytes);
    free(cloud);
}

TEST(look_particles_that_are_not_numbers_are_left_out) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = cube_def(dim);
        Cloud *cloud = cloud_new(2000, dim == 2);
        CHECK(cloud);
        for (int i = 0; i < 10; i++) cloud->y[i] = -1e6f;
        uint8_t *far = draw(&def, &cloud->frame, &error);
        for (int i = 0; i < 10; i++) cloud->y[i] = i % 2 ? NAN : INFINITY;
        for (int i = 0; i < 10; i++) cloud->vx[i] = NAN;
        uint8_t *bad = draw(&def, &cloud->frame, &error);
        CHECK(far && bad);
        CHECK(memcmp(far, bad, BYTES) == 0);
        free(far);
        free(bad);
        free(cloud);
    }
}

TEST(look_2d_title_stands_clear_of_the_tank) {
    BrimSimDef def = cube_def(2);
    def.size = vec(2, 1, 1 / 16.0f), def.cells[0] = 32; // as wide as the picture is
    Cloud *cloud = cloud_new(10, true);
    BrimError error;
    CHECK(cloud);
    uint8_t *bytes = draw(&def, &cloud->frame, &error);
    CHECK(bytes);
    BrimPictureDef want = small_picture();
    Picture p = {.def = &def, .frame = &cloud->frame, .want = &want, .time = 0.5};
    p.image.width = 320, p.image.height = 180;
    float right, bottom;
    paint_title_box(&p, &right, &bottom);
    CHECK(right > 30 && bottom > 15);
    int tank = 0, ink = 0;
    for (int y = 0; y < (int)bottom; y++)
        for (int x = 0; x < (int)right; x++) {
            const uint8_t *c = bytes + 3 * (y * 320 + x);
            tank += c[0] == 0xc9 && c[1] == 0xce && c[2] == 0xd3; // air in the tank
            ink += c[0] < 0x80;
        }
    CHECK(tank == 0);
    CHECK(ink > 10);
    free(bytes), free(cloud);
}

static float from_half(uint16_t h) {
    float size = h >> 10 & 31 ? ldexpf((float)((h & 1023) + 1024), (h >> 10 & 31) - 25)
                              : ldexpf((float)(h & 1023), -24);
    return h >> 15 ? -size : size;
}

static uint64_t little(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/// An EXR file of 320 x 180 as sRGB bytes, by its own table of rows; NULL when it is not one.
static uint8_t *read_exr(const char *path) {
    enum { ROW = 8 + 6 * 320, ROWS = 180 * (8 + ROW) };
    FILE *file = fopen(path, "rb");
    uint8_t *data = calloc(1, 2 * ROWS), *bytes = malloc(BYTES);
    size_t size = file && data ? fread(data, 1, 2 * ROWS, file) : 0;
    bool sound = size > ROWS && little(data, 4) == 20000630 && little(data + 4, 4) == 2 && bytes;
    const uint8_t *table = data + size - ROWS;
    for (int y = 0; sound && y < 180; y++) {
        uint64_t row = little(table + 8 * y, 8);
        sound = row + ROW <= size && little(data + row, 4) == (uint64_t)y &&
                little(data + row + 4, 4) == 6 * 320;
        for (int x = 0; sound && x < 320; x++)
            for (int c = 0; c < 3; c++) { // the channels are B, G, R
                const uint8_t *at = data + row + 8 + 2 * ((2 - c) * 320 + x);
                bytes[3 * (y * 320 + x) + c] = colour_byte(from_half((uint16_t)little(at, 2)));
            }
    }
    if (file) fclose(file);
    free(data);
    if (sound) return bytes;
    free(bytes);
    return NULL;
}

TEST(look_exr_holds_the_light_of_the_png) {
    BrimSimDef def = cube_def(3);
    Cloud *cloud = cloud_new(500, false);
    BrimError error;
    CHECK(cloud);
    uint8_t *png = draw(&def, &cloud->frame, &error);
    BrimPictureDef picture = small_picture();
    picture.note = "frame 7";
    CHECK_OK(brim_write_picture(&def, &cloud->frame, NULL, 0.5, &picture, at("look.EXR"), &error),
             error);
    uint8_t *exr = read_exr(at("look.EXR"));
    CHECK(png && exr);
    int worst = 0;
    for (int i = 0; i < BYTES; i++)
        if (abs(png[i] - exr[i]) > worst) worst = abs(png[i] - exr[i]);
    CHECK(worst <= 1); // a half float has 11 bits
    char note[32];
    CHECK_OK(brim_picture_note(at("look.EXR"), note, sizeof note, &error), error);
    CHECK(strcmp(note, "frame 7") == 0);
    CHECK(truncate(at("look.EXR"), 300000) == 0); // not whole
    CHECK(brim_picture_note(at("look.EXR"), note, sizeof note, &error) != BRIM_OK);
    unlink(at("look.EXR"));
    free(png), free(exr), free(cloud);
}

TEST(look_other_names_are_no_pictures) {
    static const char *const names[] = {"look.gif", "look", "a.png/look", "look.png.jpg"};
    BrimSimDef def = cube_def(3);
    BrimFrame none = {0};
    BrimError error;
    BrimPictureDef picture = small_picture();
    for (int i = 0; i < 4; i++) {
        CHECK(brim_write_picture(&def, &none, NULL, 0, &picture, at(names[i]), &error) ==
              BRIM_ERROR_INPUT);
        CHECK(strstr(error.message, ".png") && strstr(error.message, ".exr"));
        CHECK(access(at(names[i]), F_OK) != 0);
    }
}

TEST(look_refuses_what_it_cannot_draw) {
    BrimSimDef def = cube_def(3);
    BrimFrame none = {0};
    BrimError error;
    BrimPictureDef picture = small_picture();
    picture.width = 8;
    CHECK(brim_write_picture(&def, &none, NULL, 0, &picture, temporary(), &error) ==
          BRIM_ERROR_INPUT);
    picture = small_picture();
    picture.high = NAN;
    CHECK(brim_write_picture(&def, &none, NULL, 0, &picture, temporary(), &error) ==
          BRIM_ERROR_INPUT);
    picture = small_picture();
    CHECK(brim_write_picture(&def, &none, NULL, 0, &picture, "/nowhere/at/all.png", &error) ==
          BRIM_ERROR_IO);
    CHECK(strstr(error.message, "/nowhere/at/all.png"));
    def.size.y = 0;
    CHECK(brim_write_picture(&def, &none, NULL, 0, &picture, temporary(), &error) ==
          BRIM_ERROR_INPUT);
    CHECK(access(temporary(), F_OK) != 0);
}

#endif
