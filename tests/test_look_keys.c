// The look of a scene: light, liquid, solids, camera, surroundings.
#include "look/tracer.h"
#include "scratch.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

TEST(look_camera_goes_smoothly_from_key_to_key) {
    const BrimCameraKey keys[3] = {{0, {0, 0, 0}, {1, 0, 0}, 30},
                                   {1, {1, 2, 0}, {2, 0, 0}, 40},
                                   {3, {3, 2, 0}, {4, 0, 0}, 60}};
    BrimLookDef look = {.keyframes = keys, .keyframe_count = 3};
    CHECK_NEAR(look_camera(&look, -1).angle, 30, 1e-6); // at rest before and after
    CHECK_NEAR(look_camera(&look, 9).eye.x, 3, 1e-6);
    CHECK_NEAR(look_camera(&look, 1).eye.y, 2, 1e-6);
    float before = -1;
    for (double t = 0; t <= 3; t += 0.01) {
        BrimCamera c = look_camera(&look, t), next = look_camera(&look, t + 1e-3);
        CHECK(c.eye.x >= before);                          // no way back
        CHECK(fabsf(next.eye.x - c.eye.x) < 1e-3f * 2.2f); // no jump
        before = c.eye.x;
    }
    // the same speed on both sides of the key in the middle
    double left = (double)(look_camera(&look, 1).eye.x - look_camera(&look, 0.99).eye.x);
    double right = (double)(look_camera(&look, 1.01).eye.x - look_camera(&look, 1).eye.x);
    CHECK_NEAR(left / right, 1, 0.05);
    look.keyframe_count = 0, look.eye = vec(1, 2, 3), look.angle = 20;
    CHECK_NEAR(look_camera(&look, 5).eye.y, 2, 1e-6);
}

TEST(look_liquid_has_its_colour_after_its_clarity) {
    BrimSimDef def = brim_default_sim_def();
    BrimError error;
    Tracer t = {.look = &def.look};
    CHECK_OK(tracer_light(&t, &error), error);
    BrimVec3 left = water_filter(&t, 1), glass = water_filter(&t, 0.09f);
    CHECK_NEAR(left.x, 0.25, 1e-4);
    CHECK_NEAR(left.z, 0.87, 1e-4);
    CHECK(glass.x > 0.85f && glass.y > 0.95f); // 9 cm of water are nearly clear
    def.look.liquid_clarity = 3;
    CHECK_OK(tracer_light(&t, &error), error);
    CHECK_NEAR(water_filter(&t, 3).y, 0.68, 1e-4);
}

/// A picture of 16 x 8 pixels in runs: the upper half is (2, 1, 0.5), the lower 0.25.
static void write_sky(const char *path) {
    FILE *f = fopen(path, "wb");
    fputs("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 8 +X 16\n", f);
    for (int y = 0; y < 8; y++) {
        const uint8_t up[4] = {128, 64, 32, 130}, down[4] = {128, 128, 128, 127};
        fwrite((const uint8_t[4]){2, 2, 0, 16}, 1, 4, f);
        for (int k = 0; k < 4; k++) fputc(128 + 16, f), fputc(y < 4 ? up[k] : down[k], f);
    }
    fclose(f);
}

TEST(look_surroundings_from_a_picture) {
    const char *path = at("sky.hdr");
    BrimSimDef def = brim_default_sim_def();
    BrimError error;
    Tracer t = {.look = &def.look};
    write_sky(path);
    def.look.sky_picture = path, def.look.sky_strength = 2;
    CHECK_OK(tracer_light(&t, &error), error);
    BrimVec3 up = sky_light(&t, vec(0.1f, 1, 0.2f), true),
             down = sky_light(&t, vec(0, -1, 0), false);
    CHECK_NEAR(up.x, 4, 1e-5);
    CHECK_NEAR(up.z, 1, 1e-5);
    CHECK_NEAR(down.y, 0.5, 1e-5);
    CHECK_NEAR(t.sky_mean.x, 4, 0.2); // what a level surface sees
    free(t.sky.pixel);
    FILE *f = fopen(path, "wb");
    fputs("#?RADIANCE\n\n-Y 8 +X 16\n\2\2", f);
    fclose(f);
    CHECK(tracer_light(&t, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "sky.hdr"));
    def.look.sky_picture = "/nowhere.hdr";
    CHECK(tracer_light(&t, &error) == BRIM_ERROR_IO);
}

#ifdef BRIM_HAVE_EMBREE

/// A square of water of 1 m, 0.3 m high, its top a lattice of waves of some height.
static void make_pool(Mesh *m, float height, float (*position)[3], float (*normal)[3],
                      uint32_t (*triangle)[3]) {
    enum { N = 64, ROW = N + 1 };
    m->vertex_count = ROW * ROW, m->triangle_count = 0;
    for (int i = 0; i < ROW * ROW; i++) {
        float x = (float)(i % ROW) / N, z = (float)(i / ROW) / N, k = 25;
        position[i][0] = x, position[i][2] = z;
        position[i][1] = 0.3f + height * sinf(k * x);
        BrimVec3 n = vec_unit(vec(-height * k * cosf(k * x), 1, 0));
        normal[i][0] = n.x, normal[i][1] = n.y, normal[i][2] = n.z;
    }
    for (uint32_t z = 0; z < N; z++)
        for (uint32_t x = 0; x < N; x++) {
            uint32_t a = z * ROW + x, b = a + ROW;
            memcpy(triangle[m->triangle_count++], (uint32_t[3]){a, b, b + 1}, 12);
            memcpy(triangle[m->triangle_count++], (uint32_t[3]){a, b + 1, a + 1}, 12);
        }
    m->position = position[0], m->normal = normal[0], m->triangle = triangle[0];
}

/// Mean and spread of the sun's light on the floor in the middle of the pool.
static BrimResult gather(float height, double *mean, double *spread, BrimError *error) {
    static float position[65 * 65][3], normal[65 * 65][3];
    static uint32_t triangle[2 * 64 * 64][3];
    BrimSimDef def = brim_default_sim_def();
    Mesh pool = {0};
    Solids none = {.size = vec(1, 1, 1), .cell = 1 / 32.0f};
    make_pool(&pool, height, position, normal, triangle);
    def.size = vec(1, 1, 1);
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    def.look.caustics = true, def.look.sun = vec(0, 1, 0);
    WaterPicture w = {.def = &def, .solids = &none, .water = &pool, .samples = 1};
    w.camera = view_water(def.size, false, 64, 36);
    Tracer t;
    BrimResult r = tracer_new(&t, &w, error);
    if (r != BRIM_OK) return r;
    double sum = 0, square = 0;
    int n = 0;
    for (float x = 0.2f; x < 0.8f; x += 0.01f)
        for (float z = 0.2f; z < 0.8f; z += 0.01f, n++) {
            double v = (double)floor_map_at(&t.lit, vec(x, 0, z));
            sum += v, square += v * v;
        }
    *mean = sum / n, *spread = sqrt(fmax(0, square / n - *mean * *mean));
    tracer_free(&t);
    return BRIM_OK;
}

TEST(look_caustics_gather_light_and_lose_none) {
    double flat, flat_spread, waves, waves_spread;
    BrimError error;
    CHECK_OK(gather(0, &flat, &flat_spread, &error), error);
    CHECK_NEAR(flat, 0.98, 0.005); // 2 % are mirrored
    CHECK_BELOW(flat_spread, 0.2); // chance alone
    CHECK_OK(gather(0.006f, &waves, &waves_spread, &error), error);
    CHECK_NEAR(waves, 0.98, 0.03);
    CHECK(waves_spread > 3 * flat_spread); // bright lines
}
#endif
