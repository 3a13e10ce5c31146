// Moving solids: keyframes, rotation, the host's hand.
#include "solid/rotation.h"
#include "solid/solid.h"
#include "test.h"
#include <string.h>

static float at(const Solid *s, float x, float y, float z) {
    float d = NAN;
    solid_distance(s, 1, &x, &y, &z, &d);
    return d;
}

static BrimSolidDef box_solid(float x, float y, float z) {
    BrimSolidDef def = brim_default_solid_def();
    def.shape.size = (BrimVec3){x, y, z};
    return def;
}

/// Where the solid's pivot is at a time.
static void place_at(Solid *s, double time, double p[3]) {
    float low[3], high[3];
    solid_place(s, time, 0);
    solid_bounds(s, low, high);
    for (int i = 0; i < 3; i++) p[i] = 0.5 * ((double)low[i] + high[i]);
}

TEST(rotation_round_trips) {
    for (int i = 0; i < 200; i++) {
        double angles[3] = {37.0 * i, 89.9 * sin(i), 11.3 * i}, r[9], back[3], again[9];
        if (i % 10 == 0) angles[1] = i % 20 ? 90 : -90;
        rotation_from_degrees(angles, r);
        rotation_to_degrees(r, back);
        rotation_from_degrees(back, again);
        for (int k = 0; k < 9; k++) CHECK_NEAR(again[k], r[k], 1e-7);
        double axis[3] = {sin(i) * cos(2 * i), sin(i) * sin(2 * i), cos(i)}, v[3];
        double angle = i * 0.9; // up to 180 degrees
        rotation_about(axis, angle, r);
        rotation_vector(r, v);
        for (int k = 0; k < 3; k++) CHECK_NEAR(v[k], axis[k] * angle * M_PI / 180, 1e-7);
    }
}

TEST(solid_still) {
    BrimSolidDef def = box_solid(1, 1, 1);
    def.shape.position = (BrimVec3){3, 0, 0};
    def.start = 2;
    Solid *s;
    BrimError error;
    CHECK_OK(solid_new(&def, 3, 0.1f, &s, &error), error);
    CHECK(!solid_moves(s) && !solid_exists(s, 1.99) && solid_exists(s, 2));
    solid_place(s, 5, 0.1);
    CHECK_NEAR(at(s, 4, 0, 0), 0.5, 1e-6);
    CHECK(solid_velocity(s, 1, 2, 3).y == 0);
    CHECK_NEAR(solid_thickness(s), 1, 0);
    solid_free(&s);
}

TEST(solid_rotation_is_exact) {
    BrimSolidDef def = box_solid(4, 1, 1);
    def.shape.position = (BrimVec3){1, 2, 3};
    def.motion = BRIM_MOTION_ROTATION;
    def.axis = (BrimVec3){0, 0, 2};
    def.rate = 450; // more than half a turn in the step below
    Solid *s;
    BrimError error;
    CHECK_OK(solid_new(&def, 3, 0.1f, &s, &error), error);
    CHECK(solid_moves(s));
    double w = 450 * M_PI / 180;
    for (int k = 0; k < 2; k++) {
        solid_place(s, 0.2, k ? 0.5 : 0); // turned by 90 degrees: upright
        CHECK_NEAR(at(s, 1, 4.5f, 3), 0.5, 1e-5);
        CHECK_NEAR(at(s, 2, 2, 3), 0.5, 1e-5);
        BrimVec3 v = solid_velocity(s, 3, 3, 3);
        CHECK_NEAR(v.x, -w * 1, 1e-5);
        CHECK_NEAR(v.y, w * 2, 1e-5);
        CHECK_NEAR(v.z, 0, 1e-6);
    }
    solid_free(&s);
}

static const BrimKeyframe path[4] = {
    {0.5, {0, 0, 0}, {0, 0, 0}},
    {1.0, {1, 0, 0}, {0, 30, 40}},
    {2.0, {2, 1, -1}, {20, 60, 90}},
    {2.5, {2, 3, -1}, {50, 10, 90}},
};

static Solid *keyed(Test *test_) {
    BrimSolidDef def = box_solid(2, 1, 0.5f);
    def.shape.position = (BrimVec3){10, 0, 0};
    def.motion = BRIM_MOTION_KEYFRAMES;
    def.keyframes = path, def.keyframe_count = 4;
    Solid *s = NULL;
    BrimError error;
    if (solid_new(&def, 3, 0.1f, &s, &error) != BRIM_OK)
        test_fail(test_, __FILE__, __LINE__, "%s", error.message);
    return s;
}

TEST(solid_keyframes_are_met) {
    Solid *s = keyed(test_);
    for (int k = 0; k < 4; k++) {
        double p[3];
        place_at(s, path[k].time, p);
        CHECK_NEAR(p[0], 10 + path[k].position.x, 1e-5);
        CHECK_NEAR(p[1], path[k].position.y, 1e-5);
        CHECK_NEAR(p[2], path[k].position.z, 1e-5);
        // the box's own x axis ends at half of 2 along the first column of the rotation
        double angles[3] = {path[k].rotation.x, path[k].rotation.y, path[k].rotation.z}, r[9];
        rotation_from_degrees(angles, r);
        CHECK_NEAR(at(s, (float)(p[0] + r[0]), (float)(p[1] + r[3]), (float)(p[2] + r[6])), 0,
                   1e-5);
    }
    double a[3], b[3];
    place_at(s, 2.0, a);
    place_at(s, 2.1, b);
    CHECK_NEAR(a[0], b[0], 1e-6); // no overshoot where x has come to rest
    place_at(s, -1, a);
    CHECK_NEAR(a[0], 10, 1e-6);
    CHECK(solid_velocity(s, 1, 2, 3).x == 0);
    solid_free(&s);
}

TEST(solid_keyframe_velocity_is_the_derivative) {
    Solid *s = keyed(test_);
    const double h = 1e-3;
    for (double t = 0.4; t < 2.7; t += 0.0371) {
        // the mean over a short step, the instantaneous one and finite differences agree
        float x = 10.7f, y = 0.8f, z = -0.4f;
        solid_place(s, t + h, 2 * h);
        BrimVec3 mean = solid_velocity(s, x, y, z);
        solid_place(s, t, 0);
        BrimVec3 now = solid_velocity(s, x, y, z);
        CHECK_NEAR(mean.x, now.x, 0.04);
        CHECK_NEAR(mean.y, now.y, 0.04);
        CHECK_NEAR(mean.z, now.z, 0.04);
        // material at rest in the solid: distance is carried along with the velocity
        double d0 = at(s, x, y, z);
        solid_place(s, t + h, 0);
        double d1 = at(s, (float)(x + h * now.x), (float)(y + h * now.y), (float)(z + h * now.z));
        CHECK_NEAR(d0, d1, 3e-5);
    }
    solid_free(&s);
}

TEST(solid_mean_velocity_sweeps_what_it_moved) {
    Solid *s = keyed(test_);
    double a[3], b[3];
    place_at(s, 1.1, a);
    place_at(s, 1.6, b);
    solid_place(s, 1.6, 0.5);
    BrimVec3 v = solid_velocity(s, (float)b[0], (float)b[1], (float)b[2]);
    CHECK_NEAR(v.x, (b[0] - a[0]) / 0.5, 1e-5);
    CHECK_NEAR(v.y, (b[1] - a[1]) / 0.5, 1e-5);
    CHECK_NEAR(v.z, (b[2] - a[2]) / 0.5, 1e-5);
    solid_free(&s);
}

TEST(solid_many_turns_in_a_step) {
    BrimKeyframe turns[3] = {
        {.time = 0}, {.time = 1, .rotation = {0, 0, 720}}, {.time = 2, .rotation = {0, 0, 1440}}};
    BrimSolidDef def = box_solid(1, 1, 1);
    def.motion = BRIM_MOTION_KEYFRAMES;
    def.keyframes = turns, def.keyframe_count = 3;
    for (int dim = 2; dim <= 3; dim++) {
        Solid *s;
        BrimError error;
        CHECK_OK(solid_new(&def, dim, 0.1f, &s, &error), error);
        solid_place(s, 2, 2);
        CHECK_NEAR(solid_velocity(s, 1, 0, 0).y, 720 * M_PI / 180, 1e-4);
        solid_free(&s);
    }
}

TEST(solid_moved_by_the_host) {
    BrimSolidDef def = box_solid(2, 1, 1);
    def.shape.position = (BrimVec3){5, 0, 0};
    Solid *s;
    BrimError error;
    CHECK_OK(solid_new(&def, 3, 0.1f, &s, &error), error);
    solid_move(s, (BrimVec3){1, 2, 0}, (BrimVec3){0, 0, 90}, 3, 0.5);
    CHECK(solid_moves(s));
    solid_place(s, 3, 0.1);
    CHECK_NEAR(at(s, 7, 0, 0), 1, 1e-6);
    CHECK_NEAR(solid_velocity(s, 5, 0, 0).y, 0, 1e-6);
    solid_place(s, 3.25, 0.25);
    BrimVec3 v = solid_velocity(s, 5.5f, 2, 0);
    CHECK_NEAR(v.x, 2 - M_PI * 1, 1e-5); // the pivot is at (5.5, 1, 0) now
    CHECK_NEAR(v.y, 4, 1e-5);
    SolidState saved = solid_state(s);
    solid_place(s, 3.5, 0.25);
    CHECK_NEAR(at(s, 6, 4, 0), 1, 1e-5);
    CHECK_NEAR(at(s, 7, 2, 0), 0.5, 1e-5);
    solid_place(s, 4, 0.25);
    CHECK_NEAR(solid_velocity(s, 6, 3, 0).x, 0, 1e-6);

    // a second solid with the saved state goes on alike
    Solid *copy;
    CHECK_OK(solid_new(&def, 3, 0.1f, &copy, &error), error);
    solid_set_state(copy, &saved);
    solid_place(copy, 3.4, 0.1);
    solid_place(s, 3.4, 0.1);
    CHECK(at(copy, 5, 1, 0) == at(s, 5, 1, 0));
    // from 350 to 10 degrees it turns by 20, not by 340
    solid_move(copy, (BrimVec3){0}, (BrimVec3){0, 0, 350}, 4, 0);
    solid_move(copy, (BrimVec3){0}, (BrimVec3){0, 0, 10}, 5, 1);
    solid_place(copy, 5.5, 0.5);
    CHECK_NEAR(solid_velocity(copy, 6, 0, 0).y, 20 * M_PI / 180, 1e-5);
    CHECK_NEAR(at(copy, 7, 0, 0), 1, 1e-5);
    solid_free(&copy);
    solid_free(&s);
}

TEST(solid_2d_motion) {
    BrimSolidDef def = box_solid(2, 1, 0);
    def.motion = BRIM_MOTION_ROTATION;
    def.rate = 90;
    Solid *s;
    BrimError error;
    CHECK_OK(solid_new(&def, 2, 0.1f, &s, &error), error);
    solid_place(s, 1, 0.1); // about z, whatever the axis
    CHECK_NEAR(at(s, 0, 1.5f, 0), 0.5, 1e-5);
    CHECK_NEAR(solid_velocity(s, 1, 0, 0).y, M_PI / 2, 1e-5);
    solid_free(&s);
}

TEST(solid_refuses_bad_motion) {
    BrimSolidDef def = box_solid(1, 1, 1);
    BrimKeyframe keys[2] = {{.time = 1}, {.time = 1}};
    Solid *s;
    BrimError error;
    def.motion = BRIM_MOTION_KEYFRAMES;
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    def.keyframes = keys, def.keyframe_count = 2;
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    CHECK(strstr(error.message, "keyframe 2"));
    keys[1].time = 2, keys[1].position.x = NAN;
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    def.motion = BRIM_MOTION_ROTATION;
    def.axis = (BrimVec3){0};
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
}
