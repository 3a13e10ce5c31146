// Height fields: from heights, pictures and the procedural canyon.
#include "scratch.h"
#include "solid/height_field.h"
#include "solid/solid.h"
#include "solid/triangle.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static float distance_at(const Shape *s, double x, double y, double z) {
    float fx = (float)x, fy = (float)y, fz = (float)z, d = NAN;
    shape_distance(s, 1, &fx, &fy, &fz, &d);
    return d;
}

static BrimShapeDef ground_of(const float *heights, int nx, int nz, float x, float z) {
    BrimShapeDef def = brim_default_shape_def();
    def.kind = BRIM_SHAPE_HEIGHT_FIELD;
    def.heights = heights, def.heights_x = nx, def.heights_z = nz;
    def.size = (BrimVec3){x, 0, z};
    return def;
}

static double random_in(uint32_t *state, double low, double high) {
    *state = *state * 1664525u + 1013904223u;
    return low + (high - low) * (*state >> 8) * 0x1p-24;
}

TEST(ground_slope_is_exact) {
    // rises by 3 over 4 along x: a true plane, so the distance is 4/5 of the height above it
    const float heights[6] = {0, 1.5f, 3, 0, 1.5f, 3};
    BrimShapeDef def = ground_of(heights, 3, 2, 4, 10);
    def.position = (BrimVec3){100, 1, -5};
    Shape *s;
    BrimError error;
    CHECK_OK(shape_new(&def, 3, 0.2f, &s, &error), error);
    CHECK_NEAR(distance_at(s, 102, 2.5, 0), 0, 1e-5);
    CHECK_NEAR(distance_at(s, 102, 3.0, 0), 0.4, 1e-5);
    CHECK_NEAR(distance_at(s, 102, 2.0, 0), -0.4, 1e-5);
    CHECK(distance_at(s, 102, 20, 0) >= 0.6f && distance_at(s, 102, -20, 0) <= -0.6f);
    // beyond the edges it goes on level
    CHECK_NEAR(distance_at(s, 110, 4.3, 0), 0.3, 1e-5);
    CHECK_NEAR(distance_at(s, -1e6, 0.7, 1e6), -0.3, 1e-5);
    float low[3], high[3];
    CHECK(shape_bounds(s, low, high));
    CHECK(isinf(low[0]) && isinf(low[1]) && high[1] == 4);
    shape_free(&s);
}

/// Distance to the triangles of a table by trying them all.
static double slow_distance(const float *h, int nx, int nz, double dx, const double p[3]) {
    double best = INFINITY;
    for (int j = 0; j + 1 < nz; j++)
        for (int i = 0; i + 1 < nx; i++) {
            float x0 = (float)(i * dx), x1 = (float)((i + 1) * dx);
            float z0 = (float)(j * dx), z1 = (float)((j + 1) * dx);
            float a[3] = {x0, h[j * nx + i], z0}, b[3] = {x1, h[j * nx + i + 1], z0};
            float c[3] = {x0, h[(j + 1) * nx + i], z1}, d[3] = {x1, h[(j + 1) * nx + i + 1], z1};
            best = fmin(best, fmin(triangle_distance2(p, a, b, c), triangle_distance2(p, d, c, b)));
        }
    return sqrt(best);
}

TEST(ground_distance_is_true_near_the_surface) {
    enum { N = 33 };
    static float heights[N * N];
    uint32_t seed = 1;
    for (int i = 0; i < N * N; i++) heights[i] = (float)random_in(&seed, 0, 0.15);
    // a cliff of many cells
    for (int j = 0; j < N; j++)
        for (int i = 17; i < N; i++) heights[j * N + i] += 1.5f;
    BrimShapeDef def = ground_of(heights, N, N, 3.2f, 3.2f);
    Shape *s;
    BrimError error;
    CHECK_OK(shape_new(&def, 3, 0.1f, &s, &error), error);
    int near = 0;
    for (int k = 0; k < 4000; k++) {
        double p[3] = {random_in(&seed, 0.8, 2.4), random_in(&seed, -0.5, 2.2),
                       random_in(&seed, 0.8, 2.4)};
        double exact = slow_distance(heights, N, N, 0.1, p), d = distance_at(s, p[0], p[1], p[2]);
        if (exact < 0.29) {
            CHECK_NEAR(fabs(d), exact, 1e-5);
            near++;
        } else {
            CHECK(fabs(d) > 0.28 && fabs(d) < exact + 1e-5);
        }
        if (p[1] < 0 || (p[0] > 1.7 && p[1] < 1.5)) CHECK(d < 0);
        if (p[1] > 1.65 || (p[0] < 1.6 && p[1] > 0.15)) CHECK(d > 0);
    }
    CHECK(near > 1000);
    shape_free(&s);
}

TEST(ground_2d_is_the_first_row) {
    const float heights[6] = {1, 2, 3, 9, 9, 9};
    BrimShapeDef def = ground_of(heights, 3, 2, 2, 0);
    Shape *s;
    BrimError error;
    CHECK_OK(shape_new(&def, 2, 0.2f, &s, &error), error);
    CHECK_NEAR(distance_at(s, 1, 2.3, 0.4), 0.3 / sqrt(2), 1e-5);
    CHECK_NEAR(distance_at(s, 1, 1.7, 0.4), -0.3 / sqrt(2), 1e-5);
    shape_free(&s);
}

TEST(ground_fine_heights_are_thinned) {
    static float heights[2001];
    for (int i = 0; i <= 2000; i++) heights[i] = (float)i * 0.0005f;
    BrimShapeDef def = ground_of(heights, 2001, 1, 1, 1);
    Shape *s;
    BrimError error;
    CHECK_OK(shape_new(&def, 3, 0.1f, &s, &error), error);
    CHECK(shape_bytes(s) < 2000);
    CHECK_NEAR(distance_at(s, 0.5, 0.6, 0.5), 0.1 / sqrt(2), 1e-5);
    shape_free(&s);
}

// ----------------------------------------------------------------------------------- pictures

static BrimResult parse(const char *bytes, size_t size, Picture *picture, BrimError *error) {
    return picture_parse_pgm((const uint8_t *)bytes, size, "map.pgm", picture, error);
}

TEST(picture_formats) {
    Picture p;
    BrimError error;
    static const char ascii[] = "P2 # ascii\n# 3 columns\n3 2\n10\n0 5 10\n1 2 3\n";
    CHECK_OK(parse(ascii, sizeof ascii - 1, &p, &error), error);
    CHECK(p.columns == 3 && p.rows == 2 && p.value[1] == 0.5f && p.value[5] == 0.3f);
    free(p.value);
    static const char bytes[] = "P5\n2 2\n255\n\0\x33\xff\n"; // the last pixel is a newline
    CHECK_OK(parse(bytes, sizeof bytes - 1, &p, &error), error);
    CHECK(p.value[0] == 0 && p.value[1] == 0.2f && p.value[2] == 1 && p.value[3] == 10 / 255.0f);
    free(p.value);
    static const char wide[] = "P5 2 1 65535\n\x80\x00\xff\xff";
    CHECK_OK(parse(wide, sizeof wide - 1, &p, &error), error);
    CHECK(p.value[0] == 32768 / 65535.0f && p.value[1] == 1);
    free(p.value);
}

TEST(picture_damage_is_refused) {
    static const char *const bad[] = {"",
                                      "P6 1 1 255\n123",
                                      "P5\n",
                                      "P5 2 2 255\nabc",
                                      "P5 2 2 65535\nabcdefg",
                                      "P2 2 2 9\n1 2 3",
                                      "P2 2 2 9\n1 2 3 10",
                                      "P2 2 2 9\n1 2 x 4",
                                      "P5 -1 2 255\nabc",
                                      "P5 99999999999 99999999999 255\nabc",
                                      "P5 2 2 0\nabcd",
                                      "P5 2 2 70000\nabcdefgh"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Picture p;
        BrimError error;
        CHECK(parse(bad[i], strlen(bad[i]), &p, &error) == BRIM_ERROR_INPUT);
        CHECK(p.value == NULL && strstr(error.message, "map.pgm"));
    }
}

TEST(picture_as_ground) {
    const char *path = at("ground.pgm");
    put_text(path, "P2\n3 2\n100\n0 50 100\n0 50 100\n");
    BrimShapeDef def = ground_of(NULL, 0, 0, 4, 1);
    def.file = path, def.height = 3;
    Shape *s;
    BrimError error;
    BrimResult result = shape_new(&def, 3, 0.2f, &s, &error);
    unlink(path);
    CHECK_OK(result, error);
    CHECK_NEAR(distance_at(s, 2, 2, 0.5), 0.4, 1e-5);
    shape_free(&s);
}

// ------------------------------------------------------------------------------------- canyon

static const BrimCanyonDef river = {.seed = 7,
                                    .bed = 40,
                                    .slope = 0.02f,
                                    .width = 12,
                                    .depth = 25,
                                    .meander = 15,
                                    .wavelength = 90,
                                    .roughness = 2,
                                    .fall_count = 2,
                                    .fall_x = {60, 130},
                                    .fall_drop = {8, 10}};

TEST(canyon_is_a_river_bed) {
    double middle = 50;
    for (double x = 0; x <= 200; x += 0.5) {
        double z = canyon_middle(&river, middle, x);
        CHECK(fabs(z - middle) <= 15);
        double bed = canyon_height(&river, middle, x, z);
        double drop = (x > 60 ? 8 : 0) + (x > 130 ? 10 : 0);
        // pools below the falls and stones in the bed, but never a dam
        double lip = fmin(fabs(x - 60), fabs(x - 130));
        if (lip > 10) CHECK_NEAR(bed, 40 - 0.02 * x - drop, 1.2);
        for (int side = -1; side <= 1; side += 2)
            CHECK(canyon_height(&river, middle, x, z + side * 40) > bed + 10);
    }
    // the falls are steep
    for (int f = 0; f < 2; f++) {
        double x = river.fall_x[f], steepest = 0;
        for (double t = x - 5; t < x + 5; t += 0.1) {
            double z = canyon_middle(&river, middle, x);
            double a = canyon_height(&river, middle, t, z);
            steepest = fmax(steepest, a - canyon_height(&river, middle, t + 0.1, z));
        }
        CHECK(steepest > 0.3); // over 0.1 m: more than 70 degrees
    }
}

TEST(canyon_shape_does_not_depend_on_resolution) {
    BrimShapeDef def = ground_of(NULL, 0, 0, 200, 100);
    def.canyon = &river;
    Shape *coarse, *fine;
    BrimError error;
    CHECK_OK(shape_new(&def, 3, 1, &coarse, &error), error);
    CHECK_OK(shape_new(&def, 3, 0.5f, &fine, &error), error);
    uint32_t seed = 3;
    int differ = 0;
    for (int i = 0; i < 2000; i++) {
        double x = random_in(&seed, 0, 200), y = random_in(&seed, 0, 70),
               z = random_in(&seed, 0, 100);
        double a = distance_at(coarse, x, y, z), b = distance_at(fine, x, y, z);
        differ += (a < 0) != (b < 0);
        if (fabs(b) < 1.4 && fabs(a) < 2.9) CHECK_NEAR(a, b, 0.9);
    }
    CHECK(differ < 20);
    shape_free(&coarse);
    shape_free(&fine);
    CHECK_OK(shape_new(&def, 2, 0.5f, &fine, &error), error);
    CHECK_NEAR(distance_at(fine, 100, 30, 0), 0, 1.6); // along the bed
    shape_free(&fine);
    BrimCanyonDef bad = river;
    bad.fall_count = 5;
    def.canyon = &bad;
    CHECK(shape_new(&def, 3, 1, &fine, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "waterfalls"));
}
